// Agents of a large cluster in one process, each over a connection of its own. They keep to the
// protocol as agentd does (fences, ends repeated until acknowledged, reports) but run nothing: an
// attempt starts and ends at once, or runs until it is stopped.
//
// Thread-safe.
#ifndef TESTS_BENCHMARKS_SIMULATED_AGENTS_H_
#define TESTS_BENCHMARKS_SIMULATED_AGENTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/instant.h"
#include "common/loop.h"
#include "common/owner_thread.h"

namespace pipefill {

struct SimulatedAgentOptions {
  std::string address;
  int agents = 1;
  int devices = 1;  // of each agent, all with a main rank that may be filled
  int resident_limit = 2;
  // Each agent reports this often; not all at the same time.
  absl::Duration report_period = absl::Seconds(5);
  // Attempts run until they are stopped.
  bool holds_attempts = false;
};

class SimulatedAgents {
 public:
  explicit SimulatedAgents(const SimulatedAgentOptions& options);
  // Breaks all streams.
  ~SimulatedAgents();
  SimulatedAgents(const SimulatedAgents&) = delete;
  SimulatedAgents& operator=(const SimulatedAgents&) = delete;

  // Dials with all, a few at a time. False if not all were welcomed within `patience`.
  bool Connect(absl::Duration patience);
  // Returns after `length`.
  void Pause(absl::Duration length) const;
  // The same, or as soon as a stream broke: false.
  bool Watch(absl::Duration length) const;

  int64_t welcomed() const { return tally_.welcomed; }
  int64_t broken() const { return tally_.broken; }
  int64_t reports() const { return tally_.reports; }
  // One entry for each attempt that was run to its end, in no order: its job.
  std::vector<int64_t> DoneJobs() const;
  // The agent that says nothing any more, with its stream open, from now on: the one that runs the
  // job. Returns when it said its last word; nullopt if nobody runs the job.
  std::optional<Instant> Silence(int64_t job);

 private:
  class Agent;

  // What all agents count together.
  struct Tally {
    std::atomic<int64_t> welcomed = 0;
    std::atomic<int64_t> broken = 0;
    std::atomic<int64_t> reports = 0;
  };

  // Sends the reports that are due.
  void RunReports();

  const SimulatedAgentOptions options_;
  Tally tally_;
  const std::unique_ptr<EventLoop> loop_;
  std::vector<std::unique_ptr<Agent>> agents_;
  Instant reports_begin_;
  int64_t reports_due_ = 0;
  std::unique_ptr<OwnerThread> thread_;
};

}  // namespace pipefill

#endif  // TESTS_BENCHMARKS_SIMULATED_AGENTS_H_
