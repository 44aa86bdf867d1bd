// Random parts of events, of which Check lets some pass, for tests of replay.
//
// Thread-compatible: draws from rapidcheck's generator.
#ifndef SCHEDULER_JOURNAL_TESTING_EVENT_DRAW_H_
#define SCHEDULER_JOURNAL_TESTING_EVENT_DRAW_H_

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/event.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {

inline constexpr int kSeats = 2;

inline std::string NodeName(int node) { return absl::StrCat("n", node); }
inline const std::vector<std::string> kNodeNames = {NodeName(0), NodeName(1)};

inline std::vector<Device> DevicesOf(int node) {
  return {FilledDevice(NodeName(node), "d0", kSeats, 300),
          FilledDevice(NodeName(node), "d1", 1, 200)};
}

class EventDraw {
 public:
  // `state` outlives it. `has_ties`: whether there are arrays and dependencies.
  EventDraw(const ClusterState& state, bool has_ties) : state_(state), has_ties_(has_ties) {}

  // Mostly the next one.
  JobId AnyNewJob() const {
    return JobId(state_.next_job_id().value() + *rc::gen::weightedElement<int>({{5, 0}, {1, 1}}));
  }
  JobId AnyJob() const {
    if (!has_ties_ || *rc::gen::element(0, 0, 1) == 0) {
      return JobId(*rc::gen::element<int64_t>(0, 1, 2, 3, 4, 5, 6, 7, 8));
    }
    return JobId(*rc::gen::inRange<int64_t>(0, state_.next_job_id().value() + 1));
  }
  static std::string AnyReason() { return *rc::gen::element<std::string>("", "too loud"); }
  static std::string AnyKey() { return *rc::gen::element<std::string>("", "k1", "k2"); }
  // At that second.
  JobSpec AnySpec(double second) const {
    JobSpec spec = SpecThatNeeds(*rc::gen::element<int64_t>(60, 100, 160, 240, 400),
                                 *rc::gen::element(0, 1, 2));
    spec.priority = *rc::gen::element(0, 0, 1, 2);
    spec.tenant = *rc::gen::element<std::string>("default", "vision");
    spec.is_held = *rc::gen::element(0, 0, 0, 0, 0, 0, 0, 1) == 1;
    if (*rc::gen::element(0, 0, 0, 0, 1) == 1) {
      spec.start_before = TimeAt(second + *rc::gen::inRange(1, 20)).wall;
    }
    if (*rc::gen::element(0, 1) == 1) spec.labels = {{"team", "vision"}};
    if (*rc::gen::element(0, 0, 1) == 1) {
      spec.profile = {.configurations = {LearnedConfiguration(1, 10'000'000, 0)},
                      .samples_total = 1'000};
    }
    if (!has_ties_) return spec;
    if (*rc::gen::element(0, 0, 1) == 1) {
      spec.array = ArraySpec{.ranges = {{3, 3 + *rc::gen::inRange(0, 4), 1}, {10, 14, 4}},
                             .throttle = *rc::gen::element(0, 0, 1, 2)};
    }
    for (int i = *rc::gen::element(0, 0, 1, 2); i > 0; --i) {
      spec.dependencies.push_back(
          {AnyJob(), *rc::gen::element(DependencyCondition::kOk, DependencyCondition::kAny,
                                       DependencyCondition::kNotOk)});
    }
    return spec;
  }

  // Of a job that exists, if there is one: current, stale, or made up.
  AttemptKey AnyAttempt() const {
    const auto job = state_.FindJob(AnyJob());
    if (!job.ok() || (*job)->attempts.empty()) return {JobId(1), AttemptNumber(1), Fence(1)};
    const size_t index = *rc::gen::inRange<size_t>(0, (*job)->attempts.size());
    const Attempt& attempt = (*job)->attempts[index];
    return {(*job)->id, attempt.number, attempt.fence};
  }

  // Devices have a rank of "gpt".
  MainJobUpdated AnyUpdate() const {
    MainJobChange change;
    change.main_job = *rc::gen::element<std::string>("gpt", "bert");
    if (*rc::gen::element(0, 1) == 1) change.is_paused = *rc::gen::element(0, 1) == 1;
    if (*rc::gen::element(0, 1) == 1) change.budget_ppm = *rc::gen::element(0, 5'000);
    return {state_.main_jobs().Changed(change)};
  }

 private:
  const ClusterState& state_;
  const bool has_ties_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_TESTING_EVENT_DRAW_H_
