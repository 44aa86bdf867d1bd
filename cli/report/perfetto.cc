#include "cli/report/perfetto.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/json.h"
#include "cli/report/unit_ledger.h"
#include "client/pages/hold_out.h"

namespace pipefill {
namespace {

// Threads of a device; tasks follow from kFirstTaskThread on.
constexpr int kMainThread = 1;
constexpr int kBubbleThread = 2;
constexpr int kFailureThread = 3;
constexpr size_t kFirstTaskThread = 10;

std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* ChunkName(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::kForward:
      return "forward";
    case ChunkKind::kBackward:
      return "backward";
    case ChunkKind::kOptimizer:
      return "optimizer";
    case ChunkKind::kOther:
      return "other";
  }
  return "other";
}

class PerfettoWriter {
 public:
  PerfettoWriter(const Trace& trace, const std::function<void(absl::string_view)>& write)
      : trace_(trace), write_(write), ledger_(trace) {}

  void Write() {
    FindOrigin();
    NameDevices();
    buffer_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    for (const auto& [key, pid] : pids_) WriteProcess(key, pid);
    for (const RankTrace& rank : trace_.ranks) WriteRank(rank);
    for (size_t t = 0; t < trace_.tasks.size(); ++t) WriteTask(t);
    absl::StrAppend(&buffer_, "\n]}\n");
    write_(buffer_);
  }

 private:
  // Node and device.
  using DeviceKey = std::pair<std::string, std::string>;

  DeviceKey KeyOf(size_t start, const std::string& device) const {
    return {trace_.starts[start].node, device};
  }

  void See(size_t start, int64_t ns) {
    origin_ns_ = std::min(origin_ns_, UnixNs(trace_.starts[start], ns));
  }

  void FindOrigin() {
    for (const RankTrace& rank : trace_.ranks) {
      if (rank.is_declared) See(rank.start, rank.attached_ns);
      if (!rank.iterations.empty()) See(rank.start, rank.iterations.front().begin_ns);
      if (!rank.bubbles.empty()) See(rank.start, rank.bubbles.front().begin_ns);
      if (!rank.chunks.empty()) See(rank.start, rank.chunks.front().begin_ns);
      if (!rank.failures.empty()) See(rank.start, rank.failures.front().begin_ns);
      if (!rank.controls.empty()) See(rank.start, rank.controls.front().now_ns);
    }
    for (const TaskTrace& task : trace_.tasks) {
      for (const UnitTrace& unit : task.units) See(task.start, unit.start_ns);
    }
    if (origin_ns_ == std::numeric_limits<int64_t>::max()) origin_ns_ = 0;
  }

  void NameDevices() {
    std::vector<std::tuple<int32_t, DeviceKey>> devices;
    for (const RankTrace& rank : trace_.ranks) {
      devices.emplace_back(rank.rank, KeyOf(rank.start, rank.device));
    }
    for (const TaskTrace& task : trace_.tasks) {
      devices.emplace_back(std::numeric_limits<int32_t>::max(), KeyOf(task.start, task.device));
    }
    std::sort(devices.begin(), devices.end());
    for (const auto& [rank, key] : devices) {
      pids_.try_emplace(key, static_cast<int>(pids_.size()) + 1);
    }
  }

  // "12.345", of a time.
  std::string Ts(size_t start, int64_t ns) const {
    return MicrosecondsText(UnixNs(trace_.starts[start], ns) - origin_ns_);
  }

  static std::string MicrosecondsText(int64_t ns) {
    const char* sign = ns < 0 ? "-" : "";
    const uint64_t size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
    return absl::StrFormat("%s%d.%03d", sign, size / 1000, size % 1000);
  }

  // `event` is what stands between the braces.
  void Put(const std::string& event) {
    absl::StrAppend(&buffer_, is_first_ ? "{" : ",\n{", event, "}");
    is_first_ = false;
    if (buffer_.size() < kPerfettoPieceBytes) return;
    write_(buffer_);
    buffer_.clear();
  }

  void PutName(const char* what, int pid, size_t tid, const std::string& name) {
    Put(absl::StrCat("\"ph\":\"M\",\"name\":\"", what, "_name\",\"pid\":", pid, ",\"tid\":", tid,
                     ",\"args\":{\"name\":", Quoted(name), "}"));
    Put(absl::StrCat("\"ph\":\"M\",\"name\":\"", what, "_sort_index\",\"pid\":", pid,
                     ",\"tid\":", tid,
                     ",\"args\":{\"sort_index\":", tid == 0 ? static_cast<size_t>(pid) : tid, "}"));
  }

  struct Span {
    int pid = 0;
    size_t tid = 0;
    size_t start = 0;  // index into Trace::starts
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    std::string quoted_name;
    std::string args;  // what stands between the braces; may be empty
    bool is_grey = false;
  };

  static Span NewSpan(int pid, size_t tid, size_t start) {
    Span span;
    span.pid = pid;
    span.tid = tid;
    span.start = start;
    return span;
  }

  void PutSpan(const Span& span) {
    Put(absl::StrCat(
        "\"ph\":\"X\",\"pid\":", span.pid, ",\"tid\":", span.tid,
        ",\"ts\":", Ts(span.start, span.begin_ns),
        ",\"dur\":", MicrosecondsText(std::max<int64_t>(0, span.end_ns - span.begin_ns)),
        ",\"name\":", span.quoted_name, span.is_grey ? ",\"cname\":\"grey\"" : "",
        span.args.empty() ? "" : ",\"args\":{", span.args, span.args.empty() ? "" : "}"));
  }

  void WriteProcess(const DeviceKey& key, int pid) {
    PutName("process", pid, 0, absl::StrCat(key.first, "/", key.second));
  }

  void WriteRank(const RankTrace& rank) {
    const int pid = pids_.at(KeyOf(rank.start, rank.device));
    PutName("thread", pid, kMainThread,
            absl::StrCat("main job ", rank.main_job, " rank ", rank.rank, " stage ", rank.stage));
    PutName("thread", pid, kBubbleThread, "bubbles");
    if (!rank.failures.empty()) PutName("thread", pid, kFailureThread, "stands still");
    WriteWork(rank, pid);
    WriteBubbles(rank, pid);
    for (const ControlPoint& point : rank.controls) WriteControl(rank, pid, point);
    WriteStates(rank, pid);
  }

  void WriteWork(const RankTrace& rank, int pid) {
    const HoldOut& hold_out = trace_.starts[rank.start].hold_out;
    Span span = NewSpan(pid, kMainThread, rank.start);
    for (const Iteration& iteration : rank.iterations) {
      span.begin_ns = iteration.begin_ns;
      span.end_ns = iteration.end_ns;
      span.is_grey = IsHeldOut(hold_out, iteration.number);
      span.quoted_name =
          absl::StrCat("\"iteration ", iteration.number, span.is_grey ? " (hold-out)\"" : "\"");
      PutSpan(span);
    }
    span.is_grey = false;
    for (const Chunk& chunk : rank.chunks) {
      span.begin_ns = chunk.begin_ns;
      span.end_ns = chunk.end_ns;
      span.quoted_name = absl::StrCat("\"", ChunkName(chunk.kind), "\"");
      PutSpan(span);
    }
  }

  void WriteBubbles(const RankTrace& rank, int pid) {
    Span span = NewSpan(pid, kBubbleThread, rank.start);
    for (const Bubble& bubble : rank.bubbles) {
      span.begin_ns = bubble.begin_ns;
      span.end_ns = bubble.end_ns;
      span.quoted_name = Quoted(BubbleText(NameOfSlot(rank, bubble.slot)));
      span.args = absl::StrCat("\"iteration\":", bubble.iteration);
      if (rank.says_offered) {
        absl::StrAppend(&span.args, ",\"offered\":", bubble.is_offered ? "true" : "false");
      }
      PutSpan(span);
    }
    span.tid = kFailureThread;
    span.quoted_name = "\"failure\"";
    span.args.clear();
    for (const Failure& failure : rank.failures) {
      span.begin_ns = failure.begin_ns;
      span.end_ns = failure.end_ns;
      PutSpan(span);
    }
  }

  void WriteControl(const RankTrace& rank, int pid, const ControlPoint& point) {
    const std::string head = absl::StrCat("\"ph\":\"C\",\"pid\":", pid,
                                          ",\"tid\":0,\"ts\":", Ts(rank.start, point.now_ns));
    Put(absl::StrCat(
        head, ",\"name\":\"lambda\",\"args\":{\"lambda\":", Number(point.overrun_ratio), "}"));
    std::string args = absl::StrCat("\"budget\":", Number(point.budget * 100));
    if (point.slowdown.has_value()) {
      absl::StrAppend(&args, ",\"slowdown\":", Number(*point.slowdown * 100));
    }
    if (point.slowdown_low.has_value() && point.slowdown_high.has_value()) {
      absl::StrAppend(&args, ",\"low\":", Number(*point.slowdown_low * 100),
                      ",\"high\":", Number(*point.slowdown_high * 100));
    }
    Put(absl::StrCat(head, ",\"name\":\"slowdown in %\",\"args\":{", args, "}"));
  }

  static std::string Number(double value) { return absl::StrFormat("%.6g", value); }

  void WriteStates(const RankTrace& rank, int pid) {
    std::string before;
    for (const ControlPoint& point : rank.controls) {
      if (point.state == before) continue;
      before = point.state;
      Put(absl::StrCat("\"ph\":\"i\",\"s\":\"p\",\"pid\":", pid, ",\"tid\":", kMainThread,
                       ",\"ts\":", Ts(rank.start, point.now_ns), ",\"name\":", Quoted(point.state),
                       ",\"args\":{\"reason\":", Quoted(point.text), "}"));
    }
  }

  void WriteTask(size_t t) {
    const TaskTrace& task = trace_.tasks[t];
    const int pid = pids_.at(KeyOf(task.start, task.device));
    const size_t tid = kFirstTaskThread + t;
    PutName("thread", pid, tid,
            absl::StrCat("job ", task.job_id, " ", task.job_name, " attempt ", task.attempt));
    for (size_t i = 0; i < task.units.size(); ++i) WriteUnit(task, i, pid, tid);
    for (const TaskEnd& end : task.ends) {
      Put(absl::StrCat("\"ph\":\"i\",\"s\":\"t\",\"pid\":", pid, ",\"tid\":", tid,
                       ",\"ts\":", Ts(task.start, end.now_ns),
                       ",\"name\":", Quoted(absl::StrCat("ended: ", end.cause))));
    }
  }

  void WriteUnit(const TaskTrace& task, size_t i, int pid, size_t tid) {
    const UnitTrace& unit = task.units[i];
    const UnitSplit split = ledger_.SplitOfUnit(unit);
    Span span = NewSpan(pid, tid, task.start);
    span.begin_ns = unit.start_ns;
    span.end_ns = unit.end_ns;
    span.quoted_name = absl::StrCat("\"unit ", i + 1, "\"");
    span.args =
        absl::StrCat("\"cpu_us\":", MicrosecondsText(unit.cpu_ns),
                     ",\"estimate_us\":", MicrosecondsText(unit.estimate_ns),
                     ",\"after_begin_us\":", MicrosecondsText(unit.start_ns - unit.bubble_begin_ns),
                     ",\"iteration\":", unit.iteration);
    PutSpan(span);
    if (split.overrun_ns <= 0) return;
    span.begin_ns = std::clamp(EndOfBubble(unit), unit.start_ns, unit.end_ns);
    span.quoted_name = "\"overrun\"";
    span.args = absl::StrCat("\"cpu_us\":", MicrosecondsText(split.overrun_ns));
    PutSpan(span);
  }

  // Its begin if the end was not recorded.
  int64_t EndOfBubble(const UnitTrace& unit) const {
    const size_t failure = ledger_.FailureOf(unit);
    if (failure != kNone) return trace_.ranks[unit.rank].failures[failure].end_ns;
    const size_t bubble = ledger_.BubbleOf(unit);
    if (bubble == kNone || !trace_.ranks[unit.rank].bubbles[bubble].is_closed) {
      return unit.start_ns;
    }
    return trace_.ranks[unit.rank].bubbles[bubble].end_ns;
  }

  const Trace& trace_;
  const std::function<void(absl::string_view)>& write_;
  const UnitLedger ledger_;
  int64_t origin_ns_ = std::numeric_limits<int64_t>::max();  // wall time
  std::map<DeviceKey, int> pids_;
  std::string buffer_;
  bool is_first_ = true;
};

}  // namespace

void WritePerfetto(const Trace& trace, const std::function<void(absl::string_view)>& write) {
  PerfettoWriter(trace, write).Write();
}

}  // namespace pipefill
