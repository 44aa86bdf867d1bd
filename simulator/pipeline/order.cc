#include "simulator/pipeline/order.h"

#include <algorithm>

namespace pipefill::simulator {
namespace {

// Appends operations; microbatches of one kind and chunk come in order.
class OrderBuilder {
 public:
  explicit OrderBuilder(int chunks)
      : forwards_(static_cast<size_t>(chunks)),
        backwards_(static_cast<size_t>(chunks)),
        weights_(static_cast<size_t>(chunks)) {}

  void Forward(int chunk) { Add(OperationKind::kForward, forwards_, chunk); }
  void Backward(int chunk) { Add(OperationKind::kBackward, backwards_, chunk); }
  void Input(int chunk) { Add(OperationKind::kBackwardInput, backwards_, chunk); }
  void Weight(int chunk) { Add(OperationKind::kBackwardWeight, weights_, chunk); }
  void InputAndWeight(int chunk) {
    Input(chunk);
    Weight(chunk);
  }

  int forwards(int chunk) const { return forwards_[static_cast<size_t>(chunk)]; }
  int backwards(int chunk) const { return backwards_[static_cast<size_t>(chunk)]; }
  int weights(int chunk) const { return weights_[static_cast<size_t>(chunk)]; }
  StageOrder Take() { return std::move(order_); }

 private:
  void Add(OperationKind kind, std::vector<int>& done, int chunk) {
    int& next = done[static_cast<size_t>(chunk)];
    order_.push_back({kind, next, chunk});
    ++next;
  }

  StageOrder order_;
  std::vector<int> forwards_;
  std::vector<int> backwards_;
  std::vector<int> weights_;
};

StageOrder Gpipe(const PipelineShape& shape) {
  OrderBuilder order(1);
  for (int i = 0; i < shape.microbatches; ++i) order.Forward(0);
  for (int i = 0; i < shape.microbatches; ++i) order.Backward(0);
  return order.Take();
}

// As many forwards as there are stages from here on, then backward and forward in turn.
StageOrder OneForwardOneBackward(const PipelineShape& shape, int stage) {
  OrderBuilder order(1);
  const int ahead = std::min(shape.stages - stage, shape.microbatches);
  for (int i = 0; i < ahead; ++i) order.Forward(0);
  for (int i = 0; i < shape.microbatches; ++i) {
    order.Backward(0);
    if (order.forwards(0) < shape.microbatches) order.Forward(0);
  }
  return order.Take();
}

// The k-th forward of a stage: rounds of `stages` microbatches go through all chunks. Backwards are
// the same with the chunks the other way round.
int ChunkOfForward(const PipelineShape& shape, int k) {
  return k % (shape.stages * shape.chunks) / shape.stages;
}

StageOrder Interleaved(const PipelineShape& shape, int stage) {
  OrderBuilder order(shape.chunks);
  const int count = shape.microbatches * shape.chunks;
  const int ahead =
      std::min(2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * shape.stages, count);
  for (int k = 0; k < ahead; ++k) order.Forward(ChunkOfForward(shape, k));
  for (int k = 0; k < count; ++k) {
    if (ahead + k < count) order.Forward(ChunkOfForward(shape, ahead + k));
    order.Backward(shape.chunks - 1 - ChunkOfForward(shape, k));
  }
  return order.Take();
}

// 1F1B in which stage s is s weight gradients behind: all stages then hold as many microbatches,
// input gradients come sooner, and what was put off fills the end.
StageOrder ZeroBubbleH1(const PipelineShape& shape, int stage) {
  OrderBuilder order(1);
  const int ahead = std::min(shape.stages - stage, shape.microbatches);
  for (int i = 0; i < ahead; ++i) order.Forward(0);
  for (int i = 0; i < shape.microbatches; ++i) {
    order.Input(0);
    if (i >= stage) order.Weight(0);
    if (order.forwards(0) < shape.microbatches) order.Forward(0);
  }
  while (order.weights(0) < shape.microbatches) order.Weight(0);
  return order.Take();
}

void WarmUpV(const PipelineShape& shape, int stage, OrderBuilder& order) {
  for (int i = 0; i < 2 * (shape.stages - stage) - 1; ++i) order.Forward(0);
  for (int i = 0; i < stage; ++i) {
    order.Forward(1);
    order.Forward(0);
  }
  for (int i = 0; i < shape.stages - stage; ++i) {
    order.Forward(1);
    order.InputAndWeight(1);
  }
}

void CoolDownV(const PipelineShape& shape, int stage, OrderBuilder& order) {
  for (int i = 0; i < stage; ++i) {
    order.Input(0);
    order.Input(1);
  }
  for (int i = 0; i < shape.stages - stage; ++i) order.InputAndWeight(0);
  while (order.weights(1) < order.backwards(1)) order.Weight(1);
  while (order.weights(0) < order.backwards(0)) order.Weight(0);
}

// Drawn for 2p - 1 microbatches and more; of fewer, those that there are keep their places.
StageOrder ZeroBubbleV(const PipelineShape& shape, int stage) {
  OrderBuilder order(2);
  const int count = std::max(2 * shape.stages - 1, shape.microbatches);
  WarmUpV(shape, stage, order);
  while (order.forwards(1) < order.forwards(0) || order.forwards(0) < count) {
    if (order.forwards(0) < count) order.Forward(0);
    order.InputAndWeight(0);
    order.Forward(1);
    order.InputAndWeight(1);
  }
  CoolDownV(shape, stage, order);
  StageOrder all = order.Take();
  std::erase_if(
      all, [&](const Operation& operation) { return operation.microbatch >= shape.microbatches; });
  return all;
}

}  // namespace

StageOrder OrderOf(const PipelineShape& shape, int stage) {
  switch (shape.schedule) {
    case Schedule::kGpipe:
      return Gpipe(shape);
    case Schedule::kOneForwardOneBackward:
      return OneForwardOneBackward(shape, stage);
    case Schedule::kInterleaved:
      return Interleaved(shape, stage);
    case Schedule::kZeroBubbleH1:
      return ZeroBubbleH1(shape, stage);
    case Schedule::kZeroBubbleV:
      break;
  }
  return ZeroBubbleV(shape, stage);
}

}  // namespace pipefill::simulator
