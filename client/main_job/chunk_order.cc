#include "client/main_job/chunk_order.h"

namespace pipefill::sdk {

void ChunkOrder::StartIteration() {
  current_ = {};
  has_forward_ = false;
  has_backward_ = false;
}

void ChunkOrder::AddChunk(int kind) {
  if (kind == PF_CHUNK_FORWARD) has_forward_ = true;
  if (kind == PF_CHUNK_BACKWARD) {
    if (has_forward_ && !has_backward_) current_.middle = current_.chunks;
    has_backward_ = true;
  }
  if (kind == PF_CHUNK_OPTIMIZER) current_.has_optimizer = true;
  ++current_.chunks;
}

void ChunkOrder::EndIteration() {
  if (!is_learned_ || current_ == last_complete_) learned_ = current_;
  is_learned_ = true;
  last_complete_ = current_;
}

uint32_t ChunkOrder::bubble_name() const {
  return PackBubbleName(Classify(current_.chunks), current_.chunks);
}

BubbleClass ChunkOrder::Classify(uint32_t number) const {
  if (number == 0) return BubbleClass::kHead;
  if (!is_learned_) return BubbleClass::kScattered;
  if (number == learned_.chunks) return BubbleClass::kTail;
  if (number == learned_.middle) return BubbleClass::kMiddle;
  return BubbleClass::kScattered;
}

}  // namespace pipefill::sdk
