// The promises of pipefill, looked at after each thing that happens in a simulated cluster.
//
//   records on disk   each follows from those before it, by a second state that knows the records
//                     alone; ids and fences never come twice; a job has one result at most
//   recovery          a schedulerd begins with exactly what the records say
//   backups           so does whoever has one
//   views             count what is on disk, no more and no less
//   answers to users  what was acknowledged is on disk; one key, one job
//   nodes             at most one attempt of a job has its units run, and only the one that the
//                     records have live; tasks have no more memory and seats than the device has
//
// Beside it, which moves of jobs and tasks have been seen, and a fingerprint of the whole run.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_FAULTS_CHECKER_H_
#define SIMULATOR_FAULTS_CHECKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/virtual_time.h"
#include "scheduler/core/cluster_state.h"
#include "simulator/faults/moves.h"
#include "simulator/faults/sim_node.h"
#include "simulator/faults/sim_scheduler.h"

namespace pipefill::simulator {

class Checker : public StoreWatcher, public NodeWatcher {
 public:
  struct Limits {
    scheduler::ClusterLimits cluster;
    int64_t device_bytes = 0;
    int seats = 0;
  };

  // `world` outlives it. `on_event`, if any, gets one line for each thing that happens.
  Checker(const VirtualTime& world, const Limits& limits,
          std::function<void(const std::string&)> on_event);

  // --- StoreWatcher ---
  void OnRecords(const std::vector<std::string>& records) override;
  void OnPublished(const scheduler::ClusterView& view) override;
  void OnRecovered(scheduler::DurableState state) override;
  void OnUnrecoverable(const absl::Status& status) override;

  // --- NodeWatcher ---
  void OnProcess(int node, const AttemptSpec& spec) override;
  void OnProcessGone(int node, const AttemptKey& key) override;
  void OnWorking(int node, const AttemptKey& key, bool is_working) override;
  void OnGates(int node, bool are_open) override;
  void OnTaskPhases(TaskPhase before, TaskPhase after) override;

  // --- From whoever drives the run ---

  // A user was told that his job is there.
  void OnAcknowledged(const std::string& key, JobId job);
  // A user's wish was granted: the job is cancelled, or will be.
  void OnCancelGranted(JobId job);
  // The bytes of a backup that was just taken.
  void OnBackup(const std::string& bytes);
  // Something that should be true is not.
  void Fail(const std::string& what);
  // Something happened that no watcher is told of.
  void Note(const std::string& line);

  // By the records.
  const scheduler::ClusterState& state() const { return *state_; }
  scheduler::DurableState DurableState() { return state_->Durable(); }
  const std::vector<std::string>& violations() const { return violations_; }
  const Moves& moves() const { return moves_; }
  int64_t events() const { return events_; }
  int64_t attempts() const { return attempts_; }
  // Of everything that happened, in order.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  using Place = std::pair<int, std::string>;  // node, device

  void Mix(absl::string_view bytes);
  void OnRecord(const std::string& record);
  // Whether the records have the attempt as one that has not ended.
  bool IsLive(const AttemptKey& key) const;
  void CheckIds(const scheduler::Event& event);
  void CheckResult(const scheduler::Event& event);

  const VirtualTime& world_;
  const Limits limits_;
  const std::function<void(const std::string&)> on_event_;
  std::unique_ptr<scheduler::ClusterState> state_;
  JobId last_job_;
  Fence last_fence_;
  std::set<JobId> completed_;
  std::map<std::string, JobId> acknowledged_;
  std::map<AttemptKey, AttemptSpec> processes_;
  std::map<Place, std::set<AttemptKey>> by_place_;
  std::map<JobId, std::set<std::pair<int, AttemptKey>>> working_;
  std::vector<std::string> violations_;
  Moves moves_;
  int64_t events_ = 0;
  int64_t attempts_ = 0;
  uint64_t fingerprint_ = 0xcbf29ce484222325;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_CHECKER_H_
