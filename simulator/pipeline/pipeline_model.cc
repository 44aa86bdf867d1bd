#include "simulator/pipeline/pipeline_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/main_job/chunk_order.h"
#include "client/pipefill.h"

namespace pipefill::simulator {
namespace {

// Iterations until the stages have found their places, and those looked at.
constexpr int kSettleIterations = 12;
constexpr int kIterationsWithJitter = 64;

int ChunkKindOf(OperationKind kind) {
  switch (kind) {
    case OperationKind::kForward:
      return PF_CHUNK_FORWARD;
    case OperationKind::kBackward:
    case OperationKind::kBackwardInput:
    case OperationKind::kBackwardWeight:
      return PF_CHUNK_BACKWARD;
    case OperationKind::kReduction:
      return PF_CHUNK_OTHER;
    case OperationKind::kOptimizer:
      break;
  }
  return PF_CHUNK_OPTIMIZER;
}

// Entry k: the name of the wait after k operations, as the SDK gives it from the second iteration
// on.
std::vector<uint32_t> NamesOf(const StageOrder& order) {
  sdk::ChunkOrder names;
  std::vector<uint32_t> found;
  for (int iteration = 0; iteration < 2; ++iteration) {
    names.StartIteration();
    found = {names.bubble_name()};
    for (const Operation& operation : order) {
      names.AddChunk(ChunkKindOf(operation.kind));
      found.push_back(names.bubble_name());
    }
    names.EndIteration();
  }
  return found;
}

struct Wait {
  int64_t begin_ns = 0;
  int64_t length_ns = 0;
};

int64_t FirstBegin(const IterationRun& run) {
  int64_t first_ns = INT64_MAX;
  for (const auto& operations : run.stages)
    first_ns = std::min(first_ns, operations.front().begin_ns);
  return first_ns;
}

// Entry k: the wait after k operations of `stage`, in an iteration that another one follows.
std::vector<Wait> WaitsOf(const IterationRun& run, const IterationRun& next, size_t stage,
                          bool has_optimizer) {
  const std::vector<TimedOperation>& operations = run.stages[stage];
  std::vector<Wait> waits;
  // With an optimizer what comes before the first operation belongs to the tail before.
  const int64_t first_ns = has_optimizer ? operations.front().begin_ns : FirstBegin(run);
  int64_t end_ns = first_ns;
  for (const TimedOperation& timed : operations) {
    waits.push_back({end_ns, timed.begin_ns - end_ns});
    end_ns = timed.end_ns;
  }
  const int64_t next_ns = has_optimizer ? next.stages[stage].front().begin_ns : FirstBegin(next);
  waits.push_back({end_ns, next_ns - end_ns});
  return waits;
}

// Nearest rank. `sorted` is not empty.
int64_t Quantile(const std::vector<int64_t>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

// Collects one stage's waits over iterations.
class StageWaits {
 public:
  explicit StageWaits(size_t count) : lengths_(count), offset_totals_ns_(count) {}

  void Add(const std::vector<Wait>& waits, int64_t iteration_begin_ns) {
    for (size_t k = 0; k < waits.size(); ++k) {
      lengths_[k].push_back(waits[k].length_ns);
      offset_totals_ns_[k] += waits[k].begin_ns - iteration_begin_ns;
      total_ns_ += waits[k].length_ns;
    }
  }

  int64_t total_ns() const { return total_ns_; }

  std::vector<StageBubble> Bubbles(const std::vector<uint32_t>& names) {
    std::vector<StageBubble> bubbles;
    for (size_t k = 0; k < lengths_.size(); ++k) {
      std::vector<int64_t> lengths = lengths_[k];
      std::sort(lengths.begin(), lengths.end());
      if (lengths.back() == 0) continue;
      const auto count = static_cast<int64_t>(lengths.size());
      bubbles.push_back(
          {.bubble_class = static_cast<BubbleClass>(names[k] >> 24),
           .ordinal = names[k] & 0xffffff,
           .offset_ns = offset_totals_ns_[k] / count,
           .mean_ns = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) / count,
           .p10_ns = Quantile(lengths, 0.1),
           .p50_ns = Quantile(lengths, 0.5),
           .p90_ns = Quantile(lengths, 0.9),
           .memory_free_bytes = std::nullopt,
           .lengths_ns = std::move(lengths_[k])});
    }
    return bubbles;
  }

 private:
  std::vector<std::vector<int64_t>> lengths_;
  std::vector<int64_t> offset_totals_ns_;
  int64_t total_ns_ = 0;
};

absl::Status AddMemory(const StageMemory& memory, const StageOrder& order, size_t number,
                       StageRun& stage) {
  const std::vector<int64_t> held = HeldBytes(order, memory.per_chunk);
  stage.memory_peak_bytes = memory.static_bytes + *std::max_element(held.begin(), held.end());
  if (*stage.memory_peak_bytes > memory.device_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("stage ", number, " does not fit its device: need=", *stage.memory_peak_bytes,
                     " have=", memory.device_bytes, " bytes; take fewer or smaller microbatches, ",
                     "more stages, or another schedule"));
  }
  for (StageBubble& bubble : stage.bubbles) {
    bubble.memory_free_bytes = memory.device_bytes - memory.static_bytes - held[bubble.ordinal];
  }
  return absl::OkStatus();
}

std::vector<TimedOperation> FromBegin(const IterationRun& run, size_t stage) {
  std::vector<TimedOperation> operations = run.stages[stage];
  for (TimedOperation& timed : operations) {
    timed.begin_ns -= run.begin_ns;
    timed.end_ns -= run.begin_ns;
  }
  return operations;
}

// Looks at the iterations behind the first ones, two at a time: where one ends is where the next
// one begins.
class Observer {
 public:
  Observer(const PipelineTimes& times, const std::vector<StageOrder>& orders)
      : has_optimizer_(times.has_optimizer) {
    for (const StageOrder& order : orders) waits_.emplace_back(order.size() + 1);
  }

  void Visit(IterationRun run) {
    if (seen_ == kSettleIterations) first_begin_ns_ = run.begin_ns;
    if (seen_ > kSettleIterations) {
      for (size_t s = 0; s < waits_.size(); ++s) {
        waits_[s].Add(WaitsOf(last_, run, s, has_optimizer_), last_.begin_ns);
      }
      shown_ = std::move(last_);
      end_ns_ = run.begin_ns;
    }
    last_ = std::move(run);
    ++seen_;
  }

  int64_t span_ns() const { return end_ns_ - first_begin_ns_; }
  // The last iteration that was looked at.
  const IterationRun& shown() const { return shown_; }
  StageWaits& waits(size_t stage) { return waits_[stage]; }

 private:
  const bool has_optimizer_;
  std::vector<StageWaits> waits_;
  IterationRun last_;
  IterationRun shown_;
  int seen_ = 0;
  int64_t first_begin_ns_ = 0;
  int64_t end_ns_ = 0;
};

absl::Status CheckModel(const PipelineModel& model) {
  if (absl::Status status = CheckShape(model.shape); !status.ok()) return status;
  if (absl::Status status = CheckTimes(model.shape, model.times); !status.ok()) return status;
  if (!model.memory.has_value()) return absl::OkStatus();
  if (static_cast<int>(model.memory->size()) != model.shape.stages) {
    return absl::InvalidArgumentError("memory is not given for each stage");
  }
  for (const StageMemory& memory : *model.memory) {
    const ActivationBytes& bytes = memory.per_chunk;
    if (memory.device_bytes < 0 || memory.static_bytes < 0 || bytes.kept_for_weight < 0 ||
        bytes.activation < bytes.kept_for_weight || bytes.activation > (int64_t{1} << 42)) {
      return absl::InvalidArgumentError(
          "bad memory: sizes are positive, an activation is at most 4 TiB, and what is kept for "
          "the weight gradient is a part of it");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PipelineRun> RunPipeline(const PipelineModel& model) {
  if (absl::Status status = CheckModel(model); !status.ok()) return status;
  const std::vector<StageOrder> orders = OrdersOf(model.shape, model.times);
  const int looked_at = model.times.jitter.share > 0 ? kIterationsWithJitter : 1;
  Observer observer(model.times, orders);
  const absl::Status evaluated =
      EvaluateEach(model.shape, model.times, orders, kSettleIterations + looked_at + 1,
                   [&observer](IterationRun run) { observer.Visit(std::move(run)); });
  if (!evaluated.ok()) return evaluated;

  const int64_t span_ns = observer.span_ns();
  PipelineRun result{.iteration_ns = span_ns / looked_at,
                     .bubble_share = 0,
                     .iterations = looked_at,
                     .stages = {}};
  for (size_t s = 0; s < orders.size(); ++s) {
    StageWaits& waits = observer.waits(s);
    StageRun stage{.bubbles = waits.Bubbles(NamesOf(orders[s])),
                   .bubble_share = 0,
                   .operations = FromBegin(observer.shown(), s),
                   .memory_peak_bytes = std::nullopt};
    if (span_ns > 0) {
      stage.bubble_share = static_cast<double>(waits.total_ns()) / static_cast<double>(span_ns);
    }
    if (model.memory.has_value()) {
      absl::Status fits = AddMemory((*model.memory)[s], orders[s], s, stage);
      if (!fits.ok()) return fits;
    }
    result.bubble_share += stage.bubble_share / static_cast<double>(orders.size());
    result.stages.push_back(std::move(stage));
  }
  return result;
}

}  // namespace pipefill::simulator
