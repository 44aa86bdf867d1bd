#include "client/main_job/edge_recorder.h"

namespace pipefill::sdk {
namespace {

constexpr uint32_t kOrdinals = 1u << 24;

bool IsReportable(int bubble_class) {
  return (bubble_class >= PF_BUBBLE_HEAD && bubble_class <= PF_BUBBLE_TAIL) ||
         bubble_class == PF_BUBBLE_CUSTOM;
}

}  // namespace

void EdgeRecorder::MoveTo(SignalPage* signal, const WindowPage* window) {
  CloseAll(clock_.NowNs());
  in_iteration_ = false;
  signal_ = signal;
  window_ = window;
  seq_ = 0;
  for (uint32_t slot = 0; slot < names_.used(); ++slot) {
    signal_->bubble_names[slot].store(names_.name_of(slot), std::memory_order_release);
  }
}

void EdgeRecorder::IterationBegin(uint64_t iteration) {
  const uint64_t now_ns = clock_.NowNs();
  if (in_iteration_) {
    CountMisplaced();
    CloseAll(now_ns);
    Push(EdgeKind::kIterationEnd, now_ns);
  }
  const uint64_t iteration_before = iteration_;
  in_iteration_ = true;
  iteration_ = iteration;
  iteration_begin_ns_ = now_ns;
  signal_->iteration.store(iteration, std::memory_order_release);
  Push(EdgeKind::kIterationBegin, now_ns);
  is_first_edge_next_ = true;
  order_.StartIteration();
  if (reporting_ != Reporting::kChunks) return;
  if (is_bubble_open()) return GoOnInIteration(now_ns, iteration_before);
  OpenBubble(order_.bubble_name(), now_ns);
}

// The open bubble is now this iteration's head as well.
void EdgeRecorder::GoOnInIteration(uint64_t now_ns, uint64_t iteration_before) {
  // Gates that the hold-out before kept asleep wait for an edge, and none comes.
  if (!IsFillAllowed(*window_, now_ns, iteration_before)) WakeGates(now_ns);
}

void EdgeRecorder::IterationEnd() {
  if (!in_iteration_) return CountMisplaced();
  const uint64_t now_ns = clock_.NowNs();
  const bool goes_on =
      reporting_ == Reporting::kChunks && is_bubble_open() && order_.joins_next_head();
  if (!goes_on) CloseAll(now_ns);
  Push(EdgeKind::kIterationEnd, now_ns);
  if (reporting_ == Reporting::kChunks) order_.EndIteration();
  in_iteration_ = false;
}

void EdgeRecorder::BubbleBegin(int bubble_class, uint32_t ordinal) {
  if (!in_iteration_ || reporting_ == Reporting::kChunks || !IsReportable(bubble_class) ||
      ordinal >= kOrdinals) {
    return CountMisplaced();
  }
  reporting_ = Reporting::kBubbles;
  const uint64_t now_ns = clock_.NowNs();
  if (is_bubble_open()) {
    CountMisplaced();
    CloseBubble(now_ns);
  }
  OpenBubble(PackBubbleName(static_cast<BubbleClass>(bubble_class), ordinal), now_ns);
}

void EdgeRecorder::BubbleEnd() {
  if (!is_bubble_open() || reporting_ == Reporting::kChunks) return CountMisplaced();
  CloseBubble(clock_.NowNs());
}

void EdgeRecorder::ChunkBegin(int chunk_kind) {
  if (!in_iteration_ || reporting_ == Reporting::kBubbles) {
    if (!in_iteration_ && is_bubble_open()) CloseBubble(clock_.NowNs());
    return CountMisplaced();
  }
  if (chunk_kind < PF_CHUNK_FORWARD || chunk_kind > PF_CHUNK_OTHER) {
    CountMisplaced();
    chunk_kind = PF_CHUNK_OTHER;
  }
  if (chunk_depth_ > 0) {
    CountMisplaced();
    ++chunk_depth_;
    return;
  }
  const uint64_t now_ns = clock_.NowNs();
  if (is_bubble_open()) CloseBubble(now_ns);
  if (reporting_ == Reporting::kUnknown && is_first_edge_next_) RecordFirstHead(now_ns);
  reporting_ = Reporting::kChunks;
  chunk_depth_ = 1;
  chunk_kind_ = chunk_kind;
  order_.AddChunk(chunk_kind);
  Push(EdgeKind::kChunkBegin, now_ns, static_cast<uint64_t>(chunk_kind));
}

void EdgeRecorder::ChunkEnd() {
  if (chunk_depth_ == 0) return CountMisplaced();
  if (--chunk_depth_ > 0) return;
  const uint64_t now_ns = clock_.NowNs();
  Push(EdgeKind::kChunkEnd, now_ns, static_cast<uint64_t>(chunk_kind_));
  OpenBubble(order_.bubble_name(), now_ns);
}

void EdgeRecorder::Detach() {
  if (is_bubble_open()) CloseBubble(clock_.NowNs());
}

void EdgeRecorder::MemoryHint(uint64_t free_bytes) {
  if (!in_iteration_) return CountMisplaced();
  Push(EdgeKind::kMemoryHint, clock_.NowNs(), free_bytes);
}

uint32_t EdgeRecorder::SlotOf(uint32_t name) {
  const BubbleNames::Found found = names_.FindOrAdd(name);
  if (found.slot == kNoSlot) {
    signal_->bubbles_unnamed.fetch_add(1, std::memory_order_relaxed);
  } else if (found.is_new) {
    signal_->bubble_names[found.slot].store(name, std::memory_order_release);
  }
  return found.slot;
}

void EdgeRecorder::OpenBubble(uint32_t name, uint64_t now_ns) {
  slot_ = SlotOf(name);
  // Release for each: whoever sees one of these values also sees the even seq that came before.
  signal_->slot.store(slot_, std::memory_order_release);
  signal_->begin_ns.store(now_ns, std::memory_order_release);
  signal_->iteration.store(iteration_, std::memory_order_release);
  signal_->seq.store(++seq_, std::memory_order_release);
  Push(EdgeKind::kBubbleBegin, now_ns);
  WakeGates(now_ns);
}

void EdgeRecorder::CloseBubble(uint64_t now_ns) {
  signal_->seq.store(++seq_, std::memory_order_release);
  Push(EdgeKind::kBubbleEnd, now_ns);
}

void EdgeRecorder::CloseAll(uint64_t now_ns) {
  if (is_bubble_open()) CloseBubble(now_ns);
  if (chunk_depth_ > 0) Push(EdgeKind::kChunkEnd, now_ns, static_cast<uint64_t>(chunk_kind_));
  chunk_depth_ = 0;
}

void EdgeRecorder::RecordFirstHead(uint64_t now_ns) {
  slot_ = SlotOf(order_.bubble_name());
  ++seq_;
  Push(EdgeKind::kBubbleBegin, iteration_begin_ns_);
  ++seq_;
  Push(EdgeKind::kBubbleEnd, now_ns);
  signal_->seq.store(seq_, std::memory_order_release);
}

void EdgeRecorder::CountMisplaced() {
  signal_->calls_misplaced.fetch_add(1, std::memory_order_relaxed);
}

void EdgeRecorder::Push(EdgeKind kind, uint64_t now_ns, uint64_t value) {
  EdgeEvent edge = {.kind = kind,
                    .slot = kNoSlot,
                    .seq = seq_,
                    .time_ns = now_ns,
                    .iteration = iteration_,
                    .value = value};
  if (kind == EdgeKind::kBubbleBegin || kind == EdgeKind::kBubbleEnd || is_bubble_open()) {
    edge.slot = slot_;
  }
  uint64_t words[kEdgeWords];
  PackEdge(edge, words);
  signal_->events.Push(words);
  is_first_edge_next_ = false;
}

void EdgeRecorder::WakeGates(uint64_t now_ns) {
  if (slot_ >= kBubbleSlots || window_->gates.load(std::memory_order_relaxed) == 0) return;
  if (window_->entries[slot_].offered.load(std::memory_order_relaxed) == 0) return;
  if (!IsFillAllowed(*window_, now_ns, iteration_)) return;
  futex_.WakeAll(signal_->seq);
}

}  // namespace pipefill::sdk
