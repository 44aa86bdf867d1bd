// The pages of a rank and of a task, into which their processes write whatever they like: what
// agentd's readers let through keeps the promises of agent/page_reader.h, and accounts of it can be
// kept.
//
// A step of the input begins with a byte: its lowest bit says whose page it is, the others what
// happens: a store, a push (page_script.h), or that agentd looks, so many nanoseconds (4 bytes)
// later.
#include <algorithm>
#include <memory>

#include "agent/page_reader.h"
#include "agent/rank_account.h"
#include "client/pages/window_page.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/page_script.h"

namespace pipefill {
namespace {

constexpr uint64_t kInt64Max = INT64_MAX;
constexpr uint32_t kGeneration = 1;
constexpr int64_t kStartNs = 1'000'000'000'000'000;
constexpr int32_t kTask = 1;

// One rank and one task on a device.
class Device {
 public:
  Device() { account_.OnAttached(kGeneration); }

  void Step(InputReader& input) {
    const auto what = input.Take<uint8_t>();
    const bool is_rank = (what & 1) == 0;
    switch (static_cast<PageStep>((what >> 1) % 3)) {
      case PageStep::kStore:
        return is_rank ? StoreFrom(input, signal_.get()) : StoreFrom(input, task_.get());
      case PageStep::kPush:
        return is_rank ? PushFrom<kEdgeWords>(input, signal_->events)
                       : PushFrom<kUnitWords>(input, task_->units);
      case PageStep::kLook:
        now_ns_ += input.Take<uint32_t>();
        return Look();
    }
  }

  void Look() {
    const Instant now = Instant::FromNs(now_ns_);
    const Drained<UnitRecord> units = units_.Drain(now);
    const Drained<EdgeEvent> edges = edges_.Drain(now);
    CHECK(units.records.size() + units.rejected <= kUnitRecords + 1);
    CHECK(edges.records.size() + edges.rejected <= kEdgeRecords + 1);
    account_.OnEdgesDropped(edges.dropped);
    for (const EdgeEvent& edge : edges.records) {
      CheckEdge(edge);
      account_.OnEdge(edge, /*is_offered=*/true);
    }
    for (const UnitRecord& unit : units.records) {
      CheckUnit(unit);
      account_.OnUnit(kTask, unit);
    }
    for (const SettledUnit& unit : account_.TakeSettled()) {
      CHECK(unit.overrun_ns >= 0 && unit.overrun_ns <= unit.cpu_ns);
    }
    CheckView(units_.View());
    CheckTotals();
    taken_ += edges.records.size() + units.records.size();
  }

  bool has_taken() const { return taken_ > 0; }

 private:
  void CheckEdge(const EdgeEvent& edge) {
    CHECK(edge.kind >= EdgeKind::kIterationBegin && edge.kind <= EdgeKind::kChunkEnd);
    CHECK(edge.time_ns >= last_edge_ns_);
    last_edge_ns_ = edge.time_ns;
    CHECK(edge.time_ns <= static_cast<uint64_t>(now_ns_) + kRecordAheadMaxNs);
    const bool is_begin = edge.kind == EdgeKind::kBubbleBegin;
    const bool is_bubble = is_begin || edge.kind == EdgeKind::kBubbleEnd;
    if (is_bubble) CHECK(((edge.seq & 1) != 0) == is_begin);
    CHECK(edge.slot == kNoSlot || (is_bubble && edges_.NameOf(edge.slot).has_value()));
  }

  void CheckUnit(const UnitRecord& unit) {
    CHECK(unit.bubble_begin_ns <= unit.start_ns && unit.start_ns <= unit.end_ns);
    CHECK(unit.end_ns >= last_unit_ns_);
    last_unit_ns_ = unit.end_ns;
    CHECK(unit.slot < kBubbleSlots || unit.slot == kFailureSlot);
    CHECK(std::max({unit.cpu_ns, unit.latest_start_ns, unit.estimate_ns}) <= kInt64Max);
  }

  static void CheckView(const TaskView& view) {
    CHECK(view.last_slot <= kNoSlot);
    const CheckpointView& checkpoint = view.checkpoint;
    CHECK(std::min({view.unit_estimate_ns, view.units_done, view.bubbles_denied, view.pieces_done,
                    checkpoint.saves_done, checkpoint.saves_failed, checkpoint.save_end_ns,
                    checkpoint.save_cost_ns, checkpoint.unsaved_ns, checkpoint.resumed_number,
                    checkpoint.resumed_useful_ns}) >= 0);
  }

  void CheckTotals() const {
    const TaskTotals task = account_.task(kTask);
    CHECK(task.in_bubble_ns >= 0 && task.overrun_ns >= 0);
    CHECK(task.unit_cpu_ns == task.in_bubble_ns + task.overrun_ns);
    CHECK(task.units_overrun <= task.units);
    const RankTotals rank = account_.rank();
    CHECK(std::min({rank.iterations, rank.iteration_p50_ns, rank.iteration_ns, rank.bubble_ns,
                    rank.fillable_ns, rank.overrun_ns, rank.edges_dropped, rank.unmatched}) >= 0);
    CHECK(rank.fillable_ns <= rank.bubble_ns);
    CHECK(account_.waiting_units() <= kWaitingUnitsMax);
  }

  // Zeroed, as agentd makes them.
  const std::unique_ptr<SignalPage> signal_ = std::make_unique<SignalPage>();
  const std::unique_ptr<TaskPage> task_ = std::make_unique<TaskPage>();
  SignalReader edges_{*signal_};
  TaskReader units_{*task_};
  RankAccount account_{HoldOut{.block_iterations = 1, .one_in = 8}};
  int64_t now_ns_ = kStartNs;
  uint64_t last_edge_ns_ = 0;
  uint64_t last_unit_ns_ = 0;
  size_t taken_ = 0;
};

}  // namespace

bool TakeInput(absl::string_view input) {
  Device device;
  InputReader reader(input);
  while (!reader.is_at_end()) device.Step(reader);
  device.Look();
  return device.has_taken();
}

std::vector<std::string> Seeds() {
  constexpr uint8_t kRankStore = 0;
  constexpr uint8_t kRankPush = 2;
  constexpr uint8_t kTaskPush = 3;
  constexpr uint8_t kLook = 4;
  InputWriter seed;
  // The names of slots 0 and 1.
  const uint64_t names =
      PackBubbleName(BubbleClass::kHead, 0) | uint64_t{PackBubbleName(BubbleClass::kTail, 0)} << 32;
  seed.Put(kRankStore);
  seed.Put(static_cast<uint32_t>(offsetof(SignalPage, bubble_names) / sizeof(uint64_t)));
  seed.Put(names);
  const auto edge = [&](const EdgeEvent& event) {
    uint64_t words[kEdgeWords];
    PackEdge(event, words);
    seed.Put(kRankPush);
    PutWords(words, seed);
  };
  constexpr uint64_t kBegin = kStartNs;
  edge({.kind = EdgeKind::kIterationBegin, .time_ns = kBegin, .iteration = 1});
  edge({.kind = EdgeKind::kBubbleBegin, .slot = 0, .seq = 1, .time_ns = kBegin, .iteration = 1});
  edge({.kind = EdgeKind::kMemoryHint, .time_ns = kBegin + 1, .iteration = 1, .value = 1 << 20});
  seed.Put(kTaskPush);
  uint64_t words[kUnitWords];
  PackUnit({.start_ns = kBegin + 100,
            .end_ns = kBegin + 900,
            .cpu_ns = 700,
            .bubble_begin_ns = kBegin,
            .iteration = 1,
            .latest_start_ns = 500,
            .estimate_ns = 600,
            .seq = 1,
            .seq_after = 1,
            .slot = 0,
            .generation = kGeneration},
           words);
  PutWords(words, seed);
  seed.Put(kLook).Put(uint32_t{2000});
  edge({.kind = EdgeKind::kBubbleEnd, .slot = 0, .seq = 2, .time_ns = kBegin + 800});
  edge({.kind = EdgeKind::kChunkBegin, .time_ns = kBegin + 900, .iteration = 1, .value = 1});
  edge({.kind = EdgeKind::kChunkEnd, .time_ns = kBegin + 1000, .iteration = 1, .value = 1});
  edge({.kind = EdgeKind::kIterationEnd, .time_ns = kBegin + 2000, .iteration = 1});
  seed.Put(kLook).Put(uint32_t{2000});
  return {seed.Take()};
}

}  // namespace pipefill
