#include "cli/report/testing/trace_builder.h"

#include "absl/strings/str_cat.h"
#include "cli/report/synthetic_trace.h"
#include "cli/report/trace_reader.h"
#include "client/pages/window_page.h"

namespace pipefill {

TraceBuilder::TraceBuilder() { Start("n1", 0); }

v1::TraceStart& TraceBuilder::Start(const std::string& node, double at_ms) {
  start_ = records_.size();
  v1::TraceStart& start = *Add().mutable_start();
  start.set_node(node);
  start.set_now_ns(Ns(at_ms));
  start.set_now_unix_ns(1'000'000'000'000'000'000 + Ns(at_ms));
  return start;
}

void TraceBuilder::SetHoldOut(const HoldOut& hold_out) {
  v1::TraceStart& start = *records_[start_].mutable_start();
  start.set_hold_out_block_iterations(hold_out.block_iterations);
  start.set_hold_out_one_in(hold_out.one_in);
}

int TraceBuilder::AddRank(const std::string& device, int32_t rank, const std::string& main_job) {
  const int key = static_cast<int>(ranks_.size()) + 1;
  ranks_[key] = {};
  v1::RankAttached& attached = *Add().mutable_rank_attached();
  attached.set_rank_key(key);
  attached.set_device(device);
  attached.set_now_ns(Ns(0));
  attached.mutable_rank()->set_main_job(main_job);
  attached.mutable_rank()->set_rank(rank);
  attached.mutable_rank()->set_stage(rank);
  attached.mutable_rank()->set_ranks(2);
  attached.mutable_rank()->set_stages(2);
  return key;
}

void TraceBuilder::Detach(int rank, double at_ms) {
  v1::RankDetached& detached = *Add().mutable_rank_detached();
  detached.set_rank_key(rank);
  detached.set_now_ns(Ns(at_ms));
}

v1::Edge& TraceBuilder::AddEdge(int rank, v1::EdgeKind kind, double at_ms) {
  v1::Edge& edge = *Add().mutable_edge();
  edge.set_rank_key(rank);
  edge.set_kind(kind);
  edge.set_time_ns(Ns(at_ms));
  edge.set_iteration(ranks_[rank].iteration);
  edge.set_seq(ranks_[rank].seq);
  return edge;
}

void TraceBuilder::BeginIteration(int rank, uint64_t number, double at_ms) {
  ranks_[rank].iteration = number;
  AddEdge(rank, v1::EDGE_KIND_ITERATION_BEGIN, at_ms);
}

void TraceBuilder::EndIteration(int rank, double at_ms) {
  AddEdge(rank, v1::EDGE_KIND_ITERATION_END, at_ms);
}

void TraceBuilder::Bubble(int rank, int slot, double begin_ms, double end_ms) {
  BeginBubble(rank, slot, begin_ms);
  EndBubble(rank, end_ms);
}

v1::Edge& TraceBuilder::BeginBubble(int rank, int slot, double at_ms) {
  RankState& state = ranks_[rank];
  if (!state.named[slot]) {
    state.named[slot] = true;
    v1::BubbleNamed& named = *Add().mutable_bubble_named();
    named.set_rank_key(rank);
    named.set_slot(slot);
    named.set_bubble_class(v1::BUBBLE_CLASS_HEAD);
    named.set_ordinal(slot);
  }
  state.slot = slot;
  state.begin_ns = Ns(at_ms);
  state.bubble_seq = ++state.seq;
  v1::Edge& edge = AddEdge(rank, v1::EDGE_KIND_BUBBLE_BEGIN, at_ms);
  edge.set_slot(slot);
  return edge;
}

void TraceBuilder::EndBubble(int rank, double at_ms) {
  ++ranks_[rank].seq;
  AddEdge(rank, v1::EDGE_KIND_BUBBLE_END, at_ms).set_slot(ranks_[rank].slot);
}

void TraceBuilder::BeginFailure(int rank, double at_ms) {
  ranks_[rank].failure_ns = Ns(at_ms);
  v1::FailureBegan& began = *Add().mutable_failure_began();
  began.set_rank_key(rank);
  began.set_now_ns(Ns(at_ms));
  began.set_seq(ranks_[rank].seq);
}

void TraceBuilder::EndFailure(int rank, double at_ms) {
  v1::FailureEnded& ended = *Add().mutable_failure_ended();
  ended.set_rank_key(rank);
  ended.set_now_ns(Ns(at_ms));
}

v1::FillControl& TraceBuilder::AddControl(int rank, double at_ms, double overrun_ratio) {
  v1::FillControlChanged& changed = *Add().mutable_fill_control();
  changed.set_rank_key(rank);
  changed.set_now_ns(Ns(at_ms));
  v1::FillControl& control = *changed.mutable_control();
  control.set_state(v1::FILL_STATE_FILLING);
  control.set_overrun_ratio(overrun_ratio);
  control.set_budget_ppm(10'000);
  return control;
}

void TraceBuilder::DropEdges(int rank, int64_t count) {
  v1::RecordsDropped& dropped = *Add().mutable_dropped();
  dropped.set_rank_key(rank);
  dropped.set_count(count);
}

void TraceBuilder::Iteration(int rank, uint64_t number, double at_ms) {
  BeginIteration(rank, number, at_ms);
  Bubble(rank, 0, at_ms + 20, at_ms + 50);
  EndIteration(rank, at_ms + 100);
}

int TraceBuilder::AddTask(int64_t job, const std::string& device, double at_ms) {
  const int key = static_cast<int>(tasks_.size()) + 1;
  v1::TaskAttached& attached = *Add().mutable_task_attached();
  attached.set_task_key(key);
  attached.mutable_attempt()->set_job_id(job);
  attached.mutable_attempt()->set_attempt(1);
  attached.mutable_attempt()->set_fence(static_cast<uint64_t>(key));
  attached.set_job_name(absl::StrCat("job", job));
  attached.set_device(device);
  attached.set_memory_bytes(100);
  attached.set_now_ns(Ns(at_ms));
  tasks_[key] = attached.attempt();
  return key;
}

v1::Unit& TraceBuilder::AddUnit(int task, int rank, double start_ms, double end_ms) {
  const RankState& state = ranks_[rank];
  v1::Unit& unit = *Add().mutable_unit();
  unit.set_task_key(task);
  unit.set_rank_key(rank);
  unit.set_start_ns(Ns(start_ms));
  unit.set_end_ns(Ns(end_ms));
  unit.set_cpu_ns(unit.end_ns() - unit.start_ns());
  unit.set_seq(state.bubble_seq);
  unit.set_seq_after(state.bubble_seq);
  unit.set_slot(state.slot);
  unit.set_bubble_begin_ns(state.begin_ns);
  unit.set_iteration(state.iteration);
  unit.set_latest_start_ns(25'000'000);
  unit.set_estimate_ns(1'000'000);
  return unit;
}

v1::Unit& TraceBuilder::AddFailureUnit(int task, int rank, double start_ms, double end_ms) {
  const RankState& state = ranks_[rank];
  v1::Unit& unit = AddUnit(task, rank, start_ms, end_ms);
  unit.set_slot(static_cast<int32_t>(kFailureSlot));
  unit.set_seq(state.seq);
  unit.set_seq_after(state.seq);
  unit.set_bubble_begin_ns(state.failure_ns);
  return unit;
}

v1::TaskSample& TraceBuilder::AddSample(int task, double at_ms, int64_t memory_bytes) {
  v1::TaskSample& sample = *Add().mutable_task_sample();
  sample.set_task_key(task);
  sample.set_now_ns(Ns(at_ms));
  sample.set_memory_bytes(memory_bytes);
  return sample;
}

v1::AttemptEnded& TraceBuilder::EndTask(int task, double at_ms) {
  v1::TaskEnded& ended = *Add().mutable_task_ended();
  ended.set_task_key(task);
  ended.set_now_ns(Ns(at_ms));
  *ended.mutable_end()->mutable_key() = tasks_[task];
  ended.mutable_end()->set_cause(v1::END_CAUSE_EXITED);
  return *ended.mutable_end();
}

v1::TraceRecord& TraceBuilder::Add() {
  records_.emplace_back();
  return records_.back();
}

std::string TraceBuilder::bytes() const { return SerializeTrace(records_); }

Trace TraceBuilder::Read() const { return ReadTraces({{"test", bytes()}}); }

TraceBuilder SmallRun() {
  constexpr uint64_t kIterations = 40;
  const HoldOut hold_out = {.block_iterations = 1, .one_in = 2};
  TraceBuilder builder;
  builder.SetHoldOut(hold_out);
  const int ranks[] = {builder.AddRank("cpu0", 0), builder.AddRank("cpu1", 1)};
  const int task = builder.AddTask(1, "cpu0", 1);
  double at_ms = 10;
  for (uint64_t i = 0; i < kIterations; ++i) {
    const bool is_held_out = IsHeldOut(hold_out, i);
    const double end_ms = at_ms + (is_held_out ? 100 : 101);
    for (int rank : ranks) {
      builder.BeginIteration(rank, i, at_ms);
      builder.Bubble(rank, 0, at_ms + 20, at_ms + 50);
      if (rank == ranks[0] && i >= 2 && !is_held_out) {
        builder.AddUnit(task, rank, at_ms + 21, at_ms + 41);
      }
      builder.EndIteration(rank, end_ms);
    }
    at_ms = end_ms + 1;
  }
  builder.AddSample(task, at_ms, 70);
  builder.EndTask(task, at_ms + 1);
  for (int rank : ranks) builder.Detach(rank, at_ms + 2);
  return builder;
}

}  // namespace pipefill
