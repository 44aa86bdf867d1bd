// The turn page, which all tasks of a device may write: agentd gives out its seats and takes turns
// away, whatever stands there.
#include <sys/mman.h>

#include <bit>
#include <memory>

#include "agent/turn_board.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/page_script.h"

namespace pipefill {
namespace {

constexpr int32_t kRank = 0;

// The page as a task maps it.
class Mapping {
 public:
  explicit Mapping(int descriptor)
      : data_(mmap(nullptr, sizeof(TurnPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)) {
    CHECK(data_ != MAP_FAILED);
  }
  ~Mapping() { munmap(data_, sizeof(TurnPage)); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  TurnPage* page() const { return static_cast<TurnPage*>(data_); }

 private:
  void* const data_;
};

enum Step : uint8_t { kStore, kTakeSeat, kLeaveSeat, kWatch, kOrder, kSteps };

class Board {
 public:
  void Take(InputReader& input) {
    const auto step = static_cast<Step>(input.Take<uint8_t>() % kSteps);
    const uint32_t seat = input.Take<uint8_t>() % kSeats;
    switch (step) {
      case kStore:
        return StoreFrom(input, mapping_.page());
      case kTakeSeat:
        return TakeSeat();
      case kLeaveSeat:
        taken_ &= ~(1u << seat);
        return board_->LeaveSeat(seat);
      case kOrder:
        board_->OrderSave(seat, true);
        return board_->SetClosed(seat, seat * 31, true);
      case kWatch:
      case kSteps:
        return Watch(input.Take<uint32_t>(), seat);
    }
  }

  uint32_t taken() const { return taken_; }

 private:
  void TakeSeat() {
    const std::optional<uint32_t> seat = board_->TakeSeat(kRank);
    CHECK(seat.has_value() == (std::popcount(taken_) < static_cast<int>(kSeats)));
    if (!seat.has_value()) return;
    CHECK(*seat < kSeats && (taken_ >> *seat & 1) == 0);
    taken_ |= 1u << *seat;
  }

  void Watch(uint32_t later_ns, uint32_t running) {
    now_ns_ += later_ns;
    const int64_t before = board_->turns_taken_away();
    board_->Watch(Instant::FromNs(now_ns_), [&](uint32_t seat) { return seat == running; });
    CHECK(mapping_.page()->taken.load() == taken_);
    const int64_t taken_away = board_->turns_taken_away() - before;
    CHECK(taken_away == 0 || taken_away == 1);
    const uint32_t word = mapping_.page()->holder.load();
    // A turn is free, or that of a seat that somebody has.
    CHECK(IsFree(word) || (taken_ >> HolderOf(word) & 1) != 0);
    if (taken_away == 1) CHECK(IsFree(word));
  }

  const std::unique_ptr<TurnBoard> board_ = TurnBoard::Create().value();
  const Mapping mapping_{board_->descriptor()};
  uint32_t taken_ = 0;  // as it should be
  int64_t now_ns_ = 1'000'000'000;
};

}  // namespace

bool TakeInput(absl::string_view input) {
  Board board;
  InputReader reader(input);
  while (!reader.is_at_end()) board.Take(reader);
  return board.taken() != 0;
}

std::vector<std::string> Seeds() {
  InputWriter seed;
  const auto step = [&](Step what, uint8_t seat) { seed.Put(what).Put(seat); };
  const auto store = [&](size_t offset, uint64_t value) {
    step(kStore, 0);
    seed.Put(static_cast<uint32_t>(offset / sizeof(value))).Put(value);
  };
  const auto watch = [&](uint32_t later_ns, uint8_t running) {
    step(kWatch, running);
    seed.Put(later_ns);
  };
  step(kTakeSeat, 0);
  step(kTakeSeat, 0);
  store(offsetof(TurnPage, holder), TakenWord(0, 1));
  watch(10'000'000, 1);
  watch(70'000'000, 0);
  store(offsetof(TurnPage, seats), 1);
  step(kOrder, 1);
  step(kLeaveSeat, 0);
  store(offsetof(TurnPage, holder), 0xf);
  watch(1'000, 0);
  return {seed.Take()};
}

}  // namespace pipefill
