#include "agent/page_reader.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "client/pages/window_page.h"

namespace pipefill {
namespace {

constexpr uint64_t kInt64Max = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

bool IsKnown(BubbleClass bubble_class) {
  return bubble_class >= BubbleClass::kHead && bubble_class <= BubbleClass::kCustom;
}

bool IsKnown(EdgeKind kind) {
  return kind >= EdgeKind::kIterationBegin && kind <= EdgeKind::kChunkEnd;
}

int64_t ToSigned(uint64_t value) {
  return value <= kInt64Max ? static_cast<int64_t>(value) : int64_t{0};
}

// What may be read now: [begin, end) of sequence numbers, no longer than the ring.
struct RingRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t dropped = 0;
  bool is_sound = true;
};

// `written` is whatever the other process put there.
RingRange FindRange(uint64_t next, uint64_t written, uint64_t capacity) {
  // It went back: start again from there.
  if (written < next) return {.begin = written, .end = written, .is_sound = false};
  if (written - next <= capacity) return {.begin = next, .end = written};
  return {.begin = written - capacity, .end = written, .dropped = written - next - capacity};
}

uint64_t LatestTimeFor(Instant now) { return static_cast<uint64_t>(now.ns()) + kRecordAheadMaxNs; }

}  // namespace

Drained<EdgeEvent> SignalReader::Drain(Instant now) {
  Drained<EdgeEvent> drained;
  const RingRange range = FindRange(next_, page_.events.written.load(std::memory_order_acquire),
                                    page_.events.kCapacity);
  drained.dropped = range.dropped;
  drained.rejected = range.is_sound ? 0 : 1;
  drained.records.reserve(range.end - range.begin);
  for (uint64_t sequence = range.begin; sequence < range.end; ++sequence) {
    uint64_t words[kEdgeWords];
    if (!page_.events.Read(sequence, words)) {
      ++drained.dropped;
      continue;
    }
    EdgeEvent edge = UnpackEdge(words);
    if (Accept(LatestTimeFor(now), edge)) {
      drained.records.push_back(edge);
    } else {
      ++drained.rejected;
    }
  }
  next_ = range.end;
  return drained;
}

bool SignalReader::Accept(uint64_t latest_ns, EdgeEvent& edge) {
  if (!IsKnown(edge.kind)) return false;
  if (edge.time_ns < last_ns_ || edge.time_ns > latest_ns) return false;
  const bool is_begin = edge.kind == EdgeKind::kBubbleBegin;
  if (is_begin || edge.kind == EdgeKind::kBubbleEnd) {
    const bool is_odd = (edge.seq & 1) != 0;
    if (is_odd != is_begin) return false;
    if (edge.slot != kNoSlot && !NameOf(edge.slot).has_value()) return false;
  } else {
    edge.slot = kNoSlot;
  }
  if (edge.kind == EdgeKind::kMemoryHint && edge.value > kInt64Max) return false;
  last_ns_ = edge.time_ns;
  return true;
}

std::optional<SlotName> SignalReader::NameOf(uint32_t slot) const {
  if (slot >= kBubbleSlots) return std::nullopt;
  const uint32_t packed = page_.bubble_names[slot].load(std::memory_order_acquire);
  const SlotName name = {.bubble_class = static_cast<BubbleClass>(packed >> 24),
                         .ordinal = packed & 0xffffff};
  if (!IsKnown(name.bubble_class)) return std::nullopt;
  return name;
}

Drained<UnitRecord> TaskReader::Drain(Instant now) {
  Drained<UnitRecord> drained;
  const uint32_t pieces = page_.pieces_done.load(std::memory_order_acquire);
  pieces_done_ += static_cast<uint32_t>(pieces - pieces_seen_);
  pieces_seen_ = pieces;
  const RingRange range =
      FindRange(next_, page_.units.written.load(std::memory_order_acquire), page_.units.kCapacity);
  drained.dropped = range.dropped;
  drained.rejected = range.is_sound ? 0 : 1;
  drained.records.reserve(range.end - range.begin);
  for (uint64_t sequence = range.begin; sequence < range.end; ++sequence) {
    uint64_t words[kUnitWords];
    if (!page_.units.Read(sequence, words)) {
      ++drained.dropped;
      continue;
    }
    const UnitRecord unit = UnpackUnit(words);
    if (Accept(LatestTimeFor(now), unit)) {
      drained.records.push_back(unit);
    } else {
      ++drained.rejected;
    }
  }
  next_ = range.end;
  return drained;
}

bool TaskReader::Accept(uint64_t latest_ns, const UnitRecord& unit) {
  if (unit.slot >= kBubbleSlots && unit.slot != kFailureSlot) return false;
  if (unit.bubble_begin_ns > unit.start_ns || unit.start_ns > unit.end_ns) return false;
  if (unit.end_ns < last_ns_ || unit.end_ns > latest_ns) return false;
  if (unit.latest_start_ns > kInt64Max || unit.estimate_ns > kInt64Max) return false;
  if (unit.cpu_ns > kInt64Max) return false;
  // Divided, so that nothing overflows; one clock tick of grace for units that are too short to
  // tell.
  if (unit.cpu_ns / kUnitCoresMax > unit.end_ns - unit.start_ns + 1) return false;
  last_ns_ = unit.end_ns;
  return true;
}

TaskView TaskReader::View() const {
  TaskView view;
  const uint32_t state = page_.state.load(std::memory_order_acquire);
  if (state <= static_cast<uint32_t>(TaskState::kDone)) view.state = static_cast<TaskState>(state);
  const int64_t start_ns = ToSigned(page_.unit_start_ns.load(std::memory_order_acquire));
  if (start_ns != 0) view.unit_start = Instant::FromNs(start_ns);
  view.last_slot = std::min(page_.last_slot.load(std::memory_order_acquire), kNoSlot);
  view.unit_estimate_ns = ToSigned(page_.unit_estimate_ns.load(std::memory_order_acquire));
  view.units_done = ToSigned(page_.units_done.load(std::memory_order_acquire));
  view.bubbles_denied = ToSigned(page_.bubbles_denied.load(std::memory_order_acquire));
  view.pieces_done = pieces_done_;
  view.checkpoint = ViewCheckpoint();
  return view;
}

CheckpointView TaskReader::ViewCheckpoint() const {
  const auto read = [](const PageField<uint64_t>& field) {
    return ToSigned(field.load(std::memory_order_acquire));
  };
  const uint32_t flags = page_.checkpoint_flags.load(std::memory_order_acquire);
  return {.has_hooks = (flags & kCheckpointHooks) != 0,
          .is_resumed = (flags & kCheckpointResumed) != 0,
          .saves_done = read(page_.saves_done),
          .saves_failed = read(page_.saves_failed),
          .save_end_ns = read(page_.save_end_ns),
          .save_cost_ns = read(page_.save_cost_ns),
          .unsaved_ns = read(page_.unsaved_ns),
          .resumed_fence = page_.resumed_fence.load(std::memory_order_acquire),
          .resumed_number = read(page_.resumed_number),
          .resumed_useful_ns = read(page_.resumed_useful_ns)};
}

}  // namespace pipefill
