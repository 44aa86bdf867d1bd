// Measures the units of a task that runs alone, for `pipefill profile`: how long they take, by
// kind, and by size where they are elastic.
//
// PIPEFILL_PROFILE names a folder. The task writes its file `units.<pid>` there every second and at
// its end, so that one that is killed leaves what it had. Text, one line per kind and size:
//
//   pipefill-units 1
//   unit label=0 size=0 count=6000 total_ns=.. p50_ns=.. p90_ns=.. max_ns=..
//
// size 0 = not elastic. A unit's time is its CPU time, or the time it took if that is less: what
// other programs take away meanwhile does not count, nor does waiting for a disk. The first unit of
// a kind is left out once there is a second. A folder that cannot be written is nobody's error: the
// task goes on.
//
// Thread-compatible: belongs to one fill task's thread.
#ifndef CLIENT_PROFILE_PROFILE_RECORDER_H_
#define CLIENT_PROFILE_PROFILE_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "client/pipefill.h"
#include "client/platform/clock.h"
#include "client/profile/unit_times.h"

namespace pipefill::sdk {

inline constexpr char kProfileVariable[] = "PIPEFILL_PROFILE";

class ProfileRecorder {
 public:
  static constexpr uint64_t kWriteNs = 1'000'000'000;
  static constexpr size_t kKindsMax = 256;  // further ones are not measured

  // `clock` outlives this.
  ProfileRecorder(const Clock& clock, std::string path);
  // Writes the file. Call with the last stats before.
  ~ProfileRecorder();
  ProfileRecorder(const ProfileRecorder&) = delete;
  ProfileRecorder& operator=(const ProfileRecorder&) = delete;

  // What the task has done so far; what is new since the last call belongs to the kind that began
  // then.
  void OnStats(const pf_task_stats& stats);
  // A unit begins. Size 0 = not elastic.
  void Begin(uint32_t label, uint32_t size);
  // The size to try next: n_min, 2 n_min, 4 n_min .. n_max, round and round. REQUIRES: 1 <= n_min
  // <= n_max.
  uint32_t ChooseSize(uint32_t n_min, uint32_t n_max);

  std::string Text() const;

 private:
  using Kind = std::pair<uint32_t, uint32_t>;  // label, size

  void Add(uint64_t time_ns);
  void Write() const;

  const Clock& clock_;
  const std::string path_;
  std::map<Kind, UnitTimes> times_;
  std::set<Kind> warm_;  // have had their second unit
  Kind kind_;
  uint32_t step_ = 0;  // of ChooseSize
  uint64_t units_ = 0;
  uint64_t wall_ns_ = 0;
  uint64_t cpu_ns_ = 0;
  uint64_t written_at_ns_ = 0;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROFILE_PROFILE_RECORDER_H_
