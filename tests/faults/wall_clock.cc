// The wall clock of the processes that this library is loaded into (LD_PRELOAD), set by as many
// seconds as the file PIPEFILL_WALL_CLOCK holds (8 bytes, this machine's order), at once when they
// change. All other clocks are as they are. libfaketime would do, but breaks timers of the kernel
// too.
//
// Thread-safe.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

using Offset = std::atomic<int64_t>;
static_assert(sizeof(Offset) == sizeof(int64_t) && Offset::is_always_lock_free);

const Offset* MapOffset() {
  static const Offset none = 0;
  const char* path = std::getenv("PIPEFILL_WALL_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &none;
  void* memory = mmap(nullptr, sizeof(Offset), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? &none : static_cast<const Offset*>(memory);
}

int64_t OffsetSeconds() {
  static const Offset* const offset = MapOffset();
  return offset->load(std::memory_order_relaxed);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto code = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  const bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (code == 0 && is_wall) now->tv_sec += OffsetSeconds();
  return code;
}

extern "C" int gettimeofday(timeval* now, void*) noexcept {
  timespec wall = {};
  if (clock_gettime(CLOCK_REALTIME, &wall) != 0) return -1;
  *now = {.tv_sec = wall.tv_sec, .tv_usec = wall.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* result) noexcept {
  timespec wall = {};
  clock_gettime(CLOCK_REALTIME, &wall);
  if (result != nullptr) *result = wall.tv_sec;
  return wall.tv_sec;
}
