#include "cli/report/trace_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/control_text.h"
#include "cli/report/edge_sequence.h"
#include "cli/words.h"
#include "common/text.h"
#include "proto/local.pb.h"

namespace pipefill {
namespace {

constexpr size_t kRecordMaxBytes = 1 << 20;
constexpr size_t kTextMax = 128;

bool IsTime(int64_t ns) { return ns >= 0 && ns < kTimeMaxNs; }
// Until the year 2116.
bool IsUnixTime(int64_t ns) { return ns >= 0 && ns < 4 * kTimeMaxNs; }

// Names come from users and end up on terminals and in pages.
std::string CleanText(const std::string& text) {
  std::string clean = CutText(text, kTextMax);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return clean;
}

const char* CauseText(v1::EndCause cause) {
  switch (cause) {
    case v1::END_CAUSE_EXITED:
      return "exited";
    case v1::END_CAUSE_SIGNALLED:
      return "signalled";
    case v1::END_CAUSE_OUT_OF_MEMORY:
      return "out of memory";
    case v1::END_CAUSE_LAUNCH_FAILED:
      return "launch failed";
    case v1::END_CAUSE_CANCELLED:
      return "cancelled";
    case v1::END_CAUSE_LOST:
      return "lost";
    case v1::END_CAUSE_REFUSED:
      return "refused";
    case v1::END_CAUSE_MAX_RUNTIME:
      return "max runtime";
    default:
      return "unknown";
  }
}

BubbleClass ClassFrom(v1::BubbleClass value) {
  const bool is_known = value >= v1::BUBBLE_CLASS_HEAD && value <= v1::BUBBLE_CLASS_CUSTOM;
  return is_known ? static_cast<BubbleClass>(value) : BubbleClass::kCustom;
}

// Reads one varint off the front of `bytes`; nullopt (and `bytes` untouched) if it is cut off.
std::optional<uint64_t> TakeVarint(absl::string_view* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < std::min<size_t>(bytes->size(), 10); ++i) {
    const auto byte = static_cast<unsigned char>((*bytes)[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    bytes->remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

// Reads one source into the Trace shared by all.
class SourceReader {
 public:
  SourceReader(std::string source, Trace* trace) : source_(std::move(source)), trace_(trace) {}

  void Read(absl::string_view bytes) {
    v1::TraceRecord record;
    while (!bytes.empty()) {
      absl::string_view rest = bytes;
      const std::optional<uint64_t> length = TakeVarint(&rest);
      if (!length.has_value() || *length > rest.size() || *length > kRecordMaxBytes) break;
      if (record.ParseFromArray(rest.data(), static_cast<int>(*length))) {
        OnRecord(record);
      } else {
        ++trace_->counts.malformed;
      }
      ++trace_->counts.records;
      rest.remove_prefix(*length);
      bytes = rest;
    }
    trace_->counts.torn_bytes += static_cast<int64_t>(bytes.size());
    FinishStart();
  }

 private:
  struct OpenRank {
    size_t index = 0;  // into Trace::ranks
    EdgeSequence edges;
  };

  void OnRecord(const v1::TraceRecord& record) {
    switch (record.record_case()) {
      case v1::TraceRecord::kStart:
        return OnStart(record.start());
      case v1::TraceRecord::kRankAttached:
        return OnRankAttached(record.rank_attached());
      case v1::TraceRecord::kRankDetached:
        return OnRankDetached(record.rank_detached());
      case v1::TraceRecord::kBubbleNamed:
        return OnBubbleNamed(record.bubble_named());
      case v1::TraceRecord::kEdge:
        return OnEdge(record.edge());
      case v1::TraceRecord::kTaskAttached:
        return OnTaskAttached(record.task_attached());
      case v1::TraceRecord::kUnit:
        return OnUnit(record.unit());
      case v1::TraceRecord::kTaskSample:
        return OnTaskSample(record.task_sample());
      case v1::TraceRecord::kTaskEnded:
        return OnTaskEnded(record.task_ended());
      case v1::TraceRecord::kDropped:
        return OnDropped(record.dropped());
      case v1::TraceRecord::kFillControl:
        return OnFillControl(record.fill_control());
      case v1::TraceRecord::kFailureBegan:
        return OnFailureBegan(record.failure_began());
      case v1::TraceRecord::kFailureEnded:
        return OnFailureEnded(record.failure_ended());
      case v1::TraceRecord::RECORD_NOT_SET:
        ++trace_->counts.unknown;
    }
  }

  void OnStart(const v1::TraceStart& start) {
    if (!IsTime(start.now_ns()) || !IsUnixTime(start.now_unix_ns())) return Reject();
    // When the file was halved, the same start is said again at the head of the newer half.
    const bool is_repeat = start_ != kNone && trace_->starts[start_].start_ns == start.now_ns();
    if (is_repeat) return;
    FinishStart();
    AgentStart agent;
    agent.source = source_;
    agent.node = CleanText(start.node());
    agent.start_ns = agent.last_ns = start.now_ns();
    agent.unix_offset_ns = start.now_unix_ns() - start.now_ns();
    agent.hold_out = {.block_iterations = std::max<uint32_t>(start.hold_out_block_iterations(), 1),
                      .one_in = start.hold_out_one_in(),
                      .early_iterations = start.hold_out_early_iterations(),
                      .one_in_late = start.hold_out_one_in_late()};
    start_ = trace_->starts.size();
    trace_->starts.push_back(std::move(agent));
  }

  void OnRankAttached(const v1::RankAttached& attached) {
    if (!IsTime(attached.now_ns())) return Reject();
    const auto known = ranks_.find(attached.rank_key());
    if (known != ranks_.end()) {
      const RankTrace& rank = trace_->ranks[known->second.index];
      if (rank.is_declared && rank.attached_ns == attached.now_ns()) return;  // said again
      if (rank.is_declared) FinishRank(known->second, attached.now_ns());
      if (rank.is_declared) ranks_.erase(known);
    }
    RankTrace& rank = trace_->ranks[RankOf(attached.rank_key()).index];
    rank.is_declared = true;
    rank.device = CleanText(attached.device());
    rank.main_job = CleanText(attached.rank().main_job());
    rank.rank = attached.rank().rank();
    rank.ranks = attached.rank().ranks();
    rank.stage = attached.rank().stage();
    rank.stages = attached.rank().stages();
    rank.attached_ns = attached.now_ns();
    SawTime(attached.now_ns());
  }

  void OnRankDetached(const v1::RankDetached& detached) {
    if (!IsTime(detached.now_ns())) return Reject();
    OpenRank& open = RankOf(detached.rank_key());
    trace_->ranks[open.index].detached_ns = detached.now_ns();
    FinishRank(open, detached.now_ns());
    SawTime(detached.now_ns());
  }

  void OnEdge(const v1::Edge& edge) {
    if (!IsTime(edge.time_ns())) return Reject();
    if (edge.kind() < v1::EDGE_KIND_ITERATION_BEGIN || edge.kind() > v1::EDGE_KIND_CHUNK_END) {
      ++trace_->counts.unknown;
      return;
    }
    OpenRank& open = RankOf(edge.rank_key());
    const EdgeEvent event = {.kind = static_cast<EdgeKind>(edge.kind()),
                             .slot = static_cast<uint32_t>(edge.slot()),
                             .seq = edge.seq(),
                             .time_ns = static_cast<uint64_t>(edge.time_ns()),
                             .iteration = edge.iteration(),
                             .value = static_cast<uint64_t>(edge.value())};
    RankTrace& rank = trace_->ranks[open.index];
    open.edges.OnEdge(event, &rank, &trace_->counts);
    const bool is_of_last = !rank.bubbles.empty() && rank.bubbles.back().seq == edge.seq() &&
                            rank.bubbles.back().begin_ns == edge.time_ns();
    if (edge.offered() && edge.kind() == v1::EDGE_KIND_BUBBLE_BEGIN && is_of_last) {
      rank.bubbles.back().is_offered = rank.says_offered = true;
    }
    SawTime(edge.time_ns());
  }

  void OnFailureBegan(const v1::FailureBegan& began) {
    if (!IsTime(began.now_ns())) return Reject();
    OpenRank& open = RankOf(began.rank_key());
    open.edges.OnFailureBegan(began.now_ns(), began.seq(), &trace_->ranks[open.index]);
    SawTime(began.now_ns());
  }

  void OnFailureEnded(const v1::FailureEnded& ended) {
    if (!IsTime(ended.now_ns())) return Reject();
    OpenRank& open = RankOf(ended.rank_key());
    open.edges.OnFailureEnded(ended.now_ns(), &trace_->ranks[open.index]);
    SawTime(ended.now_ns());
  }

  void OnFillControl(const v1::FillControlChanged& changed) {
    const v1::FillControl& control = changed.control();
    std::vector<ControlPoint>& points = trace_->ranks[RankOf(changed.rank_key()).index].controls;
    const bool is_sound = IsTime(changed.now_ns()) && std::isfinite(control.overrun_ratio()) &&
                          control.overrun_ratio() >= 0 && control.back_offs() >= 0 &&
                          (points.empty() || points.back().now_ns <= changed.now_ns());
    if (!is_sound) return Reject();
    ControlPoint point;
    point.now_ns = changed.now_ns();
    point.state = Word(control.state());
    point.text = CleanText(control.text());
    point.overrun_ratio = control.overrun_ratio();
    if (HasEstimate(control)) point.slowdown = control.slowdown();
    if (HasInterval(control)) point.slowdown_low = control.slowdown_low();
    if (HasInterval(control)) point.slowdown_high = control.slowdown_high();
    point.budget = control.budget_ppm() / 1e6;
    point.back_offs = control.back_offs();
    points.push_back(std::move(point));
    SawTime(changed.now_ns());
  }

  void OnBubbleNamed(const v1::BubbleNamed& named) {
    RankTrace& rank = trace_->ranks[RankOf(named.rank_key()).index];
    rank.names[named.slot()] = {.bubble_class = ClassFrom(named.bubble_class()),
                                .ordinal = named.ordinal()};
  }

  void OnTaskAttached(const v1::TaskAttached& attached) {
    if (!IsTime(attached.now_ns()) || attached.memory_bytes() < 0) return Reject();
    const auto known = tasks_.find(attached.task_key());
    if (known != tasks_.end() && trace_->tasks[known->second].is_declared) {
      if (trace_->tasks[known->second].launched_ns == attached.now_ns()) return;  // said again
      tasks_.erase(known);
    }
    TaskTrace& task = TaskOf(attached.task_key());
    task.is_declared = true;
    task.device = CleanText(attached.device());
    task.job_id = attached.attempt().job_id();
    task.attempt = attached.attempt().attempt();
    task.fence = attached.attempt().fence();
    task.job_name = CleanText(attached.job_name());
    task.memory_bytes = attached.memory_bytes();
    task.launched_ns = attached.now_ns();
    SawTime(attached.now_ns());
  }

  void OnUnit(const v1::Unit& record) {
    const bool is_sound = IsTime(record.start_ns()) && IsTime(record.end_ns()) &&
                          record.start_ns() <= record.end_ns() && IsTime(record.cpu_ns()) &&
                          IsTime(record.bubble_begin_ns()) &&
                          record.latest_start_ns() < kTimeMaxNs && IsTime(record.estimate_ns());
    if (!is_sound) return Reject();
    UnitTrace unit;
    unit.start_ns = record.start_ns();
    unit.end_ns = record.end_ns();
    unit.cpu_ns = record.cpu_ns();
    const auto rank = ranks_.find(record.rank_key());
    unit.rank = rank == ranks_.end() ? kNone : rank->second.index;
    unit.seq = record.seq();
    unit.seq_after = record.seq_after();
    unit.slot = record.slot();
    unit.bubble_begin_ns = record.bubble_begin_ns();
    unit.iteration = record.iteration();
    unit.latest_start_ns = std::max<int64_t>(record.latest_start_ns(), -1);
    unit.estimate_ns = record.estimate_ns();
    TaskOf(record.task_key()).units.push_back(unit);
    SawTime(record.end_ns());
  }

  void OnTaskSample(const v1::TaskSample& sample) {
    if (!IsTime(sample.now_ns()) || !IsTime(sample.cpu_ns()) || sample.memory_bytes() < 0)
      return Reject();
    TaskOf(sample.task_key())
        .samples.push_back({.now_ns = sample.now_ns(),
                            .memory_bytes = sample.memory_bytes(),
                            .cpu_ns = sample.cpu_ns()});
    SawTime(sample.now_ns());
  }

  void OnTaskEnded(const v1::TaskEnded& ended) {
    if (!IsTime(ended.now_ns())) return Reject();
    TaskTrace& task = TaskOf(ended.task_key());
    if (!task.is_declared) {
      task.job_id = ended.end().key().job_id();
      task.attempt = ended.end().key().attempt();
      task.fence = ended.end().key().fence();
    }
    task.ends.push_back({.now_ns = ended.now_ns(),
                         .cause = CauseText(ended.end().cause()),
                         .exit_code = ended.end().exit_code(),
                         .signal = ended.end().signal()});
    SawTime(ended.now_ns());
  }

  void OnDropped(const v1::RecordsDropped& dropped) {
    if (dropped.count() < 0 || dropped.count() >= kTimeMaxNs) return Reject();
    if (dropped.rank_key() == 0) {
      int64_t& units_dropped = TaskOf(dropped.task_key()).units_dropped;
      units_dropped = std::min(units_dropped + dropped.count(), kTimeMaxNs);
      return;
    }
    OpenRank& open = RankOf(dropped.rank_key());
    RankTrace& rank = trace_->ranks[open.index];
    rank.edges_dropped = std::min(rank.edges_dropped + dropped.count(), kTimeMaxNs);
    open.edges.OnGap(&rank);
  }

  void Reject() { ++trace_->counts.malformed; }

  // The start that the current record belongs to; an unnamed one if the trace's head is missing.
  size_t CurrentStart() {
    if (start_ != kNone) return start_;
    AgentStart unnamed;
    unnamed.source = unnamed.node = CleanText(source_);
    start_ = trace_->starts.size();
    trace_->starts.push_back(std::move(unnamed));
    return start_;
  }

  // REQUIRES: IsTime(ns).
  void SawTime(int64_t ns) {
    AgentStart& start = trace_->starts[CurrentStart()];
    start.last_ns = std::max(start.last_ns, ns);
  }

  // The rank with that key; a new, undeclared one if there is none.
  OpenRank& RankOf(int32_t key) {
    const auto [found, is_new] = ranks_.try_emplace(key);
    if (is_new) {
      RankTrace rank;
      rank.start = CurrentStart();
      rank.device = absl::StrCat("rank ", key);
      found->second.index = trace_->ranks.size();
      trace_->ranks.push_back(std::move(rank));
    }
    return found->second;
  }

  TaskTrace& TaskOf(int32_t key) {
    const auto [found, is_new] = tasks_.try_emplace(key, trace_->tasks.size());
    if (is_new) {
      TaskTrace task;
      task.start = CurrentStart();
      task.device = absl::StrCat("task ", key);
      trace_->tasks.push_back(std::move(task));
    }
    return trace_->tasks[found->second];
  }

  void FinishRank(OpenRank& open, int64_t now_ns) {
    open.edges.Finish(now_ns, &trace_->ranks[open.index]);
  }

  void FinishStart() {
    if (start_ == kNone) return;
    for (auto& [key, open] : ranks_) FinishRank(open, trace_->starts[start_].last_ns);
    ranks_.clear();
    tasks_.clear();
  }

  const std::string source_;
  Trace* const trace_;
  size_t start_ = kNone;
  std::map<int32_t, OpenRank> ranks_;  // by key
  std::map<int32_t, size_t> tasks_;    // by key; index into Trace::tasks
};

}  // namespace

Trace ReadTraces(const std::vector<TraceBytes>& sources) {
  Trace trace;
  for (const TraceBytes& source : sources) {
    SourceReader(source.source, &trace).Read({source.bytes.data(), source.bytes.size()});
  }
  return trace;
}

}  // namespace pipefill
