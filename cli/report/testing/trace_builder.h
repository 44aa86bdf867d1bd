// Writes traces by hand, in milliseconds from the agent's start.
//
// Edges of one rank are given in order of time. What a call adds can be changed until the next
// call.
//
// Thread-compatible: used from one thread.
#ifndef CLI_REPORT_TESTING_TRACE_BUILDER_H_
#define CLI_REPORT_TESTING_TRACE_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/report/trace.h"
#include "client/pages/hold_out.h"
#include "proto/local.pb.h"

namespace pipefill {

class TraceBuilder {
 public:
  static constexpr int64_t kStartNs = 1'000'000'000;
  static int64_t Ns(double ms) { return kStartNs + static_cast<int64_t>(ms * 1e6); }

  // Begins with the start of an agent on node n1, without hold-outs.
  TraceBuilder();

  // Another start of the agent, on a node of that name.
  v1::TraceStart& Start(const std::string& node, double at_ms);
  // Of the last start.
  void SetHoldOut(const HoldOut& hold_out);

  // Attached at 0 ms. Returns its key.
  int AddRank(const std::string& device, int32_t rank = 0, const std::string& main_job = "gpt");
  void Detach(int rank, double at_ms);
  void BeginIteration(int rank, uint64_t number, double at_ms);
  void EndIteration(int rank, double at_ms);
  // Both edges. Slot 0 is "head 0", 1 is "head 1", ...
  void Bubble(int rank, int slot, double begin_ms, double end_ms);
  v1::Edge& AddEdge(int rank, v1::EdgeKind kind, double at_ms);
  void DropEdges(int rank, int64_t count);

  // The halves of Bubble.
  v1::Edge& BeginBubble(int rank, int slot, double at_ms);
  void EndBubble(int rank, double at_ms);
  // The rank stands still from `at_ms`, at its last edge.
  void BeginFailure(int rank, double at_ms);
  void EndFailure(int rank, double at_ms);
  // Filling, with this lambda, a budget of 1 %, and no estimate yet.
  v1::FillControl& AddControl(int rank, double at_ms, double overrun_ratio);

  // One iteration of 100 ms from `at_ms` with one bubble of 30 ms, from 20 to 50 ms.
  void Iteration(int rank, uint64_t number, double at_ms);

  // Attempt 1 of `job`, launched at `at_ms`, with a cap of 100 bytes. Returns its key.
  int AddTask(int64_t job, const std::string& device, double at_ms);
  // A unit in the last bubble of `rank`; it could have started until 25 ms into it.
  v1::Unit& AddUnit(int task, int rank, double start_ms, double end_ms);
  // A unit in the failure that `rank` is in or had last.
  v1::Unit& AddFailureUnit(int task, int rank, double start_ms, double end_ms);
  v1::TaskSample& AddSample(int task, double at_ms, int64_t memory_bytes);
  v1::AttemptEnded& EndTask(int task, double at_ms);

  v1::TraceRecord& Add();
  std::vector<v1::TraceRecord>& records() { return records_; }
  std::string bytes() const;
  // What ReadTraces makes of it.
  Trace Read() const;

 private:
  struct RankState {
    uint64_t iteration = 0;
    uint32_t seq = 0;
    int slot = 0;
    int64_t begin_ns = 0;
    uint32_t bubble_seq = 0;
    int64_t failure_ns = 0;
    std::map<int, bool> named;
  };

  std::vector<v1::TraceRecord> records_;
  std::map<int, RankState> ranks_;
  std::map<int, v1::AttemptKey> tasks_;
  size_t start_ = 0;  // record of the last start
};

// A run of 40 iterations on cpu0 and cpu1 that keeps every rule: every other iteration is held out
// and takes 100 ms, filled ones take 101 ms; a bubble of 30 ms each; job 1 on cpu0 fills 20 ms of
// it, from iteration 2 on, and ends.
TraceBuilder SmallRun();

}  // namespace pipefill

#endif  // CLI_REPORT_TESTING_TRACE_BUILDER_H_
