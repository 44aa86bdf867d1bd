#include "agent/standstill.h"

#include <algorithm>

#include "common/log.h"
#include "proto/local.pb.h"

namespace pipefill {
namespace {

// Before that many iterations have begun nobody knows how long one takes.
constexpr int64_t kIterationsKnown = 8;

}  // namespace

void Standstill::OnEdges(Instant now, Instant first_edge) {
  detector_.OnEdge(now);
  End(first_edge);
}

void Standstill::Look(Instant now, const ProcessTable& processes, pid_t rank_pid) {
  const RankTotals totals = parts_.account.rank();
  const SignalView signal = ReadSignal(parts_.signal);
  StallObservation seen = {.now = now,
                           .typical_iteration = absl::ZeroDuration(),
                           .is_bubble_open = signal.is_open(),
                           .cpu = std::nullopt};
  if (totals.iterations >= kIterationsKnown) {
    seen.typical_iteration = absl::Nanoseconds(totals.iteration_p50_ns);
  }
  if (processes.processes().contains(rank_pid)) seen.cpu = processes.UseOfFamily(rank_pid).cpu;
  detector_.Observe(seen);
  if (!detector_.is_standing()) return End(now);
  if (!is_open()) Begin(signal.seq, now);
}

void Standstill::Begin(uint32_t seq, Instant now) {
  begin_ = now;
  seq_ = seq;
  parts_.predictor.IgnoreIteration();
  parts_.account.OnFailureBegan(now);
  parts_.window.OpenFailure(seq, now, options_.unit_max);
  WakeGates(parts_.signal);
  v1::TraceRecord record;
  record.mutable_failure_began()->set_rank_key(rank_key_);
  record.mutable_failure_began()->set_now_ns(now.ns());
  record.mutable_failure_began()->set_seq(seq);
  parts_.trace.Append(record);
  spdlog::warn("main_job_stands rank_key={} seq={}", rank_key_, seq);
}

void Standstill::End(Instant now) {
  if (!is_open()) return;
  const Instant end = std::max(now, *begin_);
  const int64_t stood_ns = absl::ToInt64Nanoseconds(end - *begin_);
  begin_.reset();
  parts_.window.CloseFailure();
  parts_.account.OnFailureEnded(end);
  v1::TraceRecord record;
  record.mutable_failure_ended()->set_rank_key(rank_key_);
  record.mutable_failure_ended()->set_now_ns(end.ns());
  parts_.trace.Append(record);
  spdlog::info("main_job_moves rank_key={} stood_ns={}", rank_key_, stood_ns);
}

}  // namespace pipefill
