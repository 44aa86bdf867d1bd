#include "simulator/pipeline/pipeline_model.h"

#include <algorithm>
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
  const auto rank = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[rank];
}

int64_t Mean(const std::vector<int64_t>& values) {
  const int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
  return sum / static_cast<int64_t>(values.size());
}

// Collects one stage's waits over iterations.
class StageWaits {
 public:
  explicit StageWaits(size_t count) : lengths_(count), offsets_(count) {}

  void Add(const std::vector<Wait>& waits, int64_t iteration_begin_ns) {
    for (size_t k = 0; k < waits.size(); ++k) {
      lengths_[k].push_back(waits[k].length_ns);
      offsets_[k].push_back(waits[k].begin_ns - iteration_begin_ns);
      total_ns_ += waits[k].length_ns;
    }
  }

  int64_t total_ns() const { return total_ns_; }

  std::vector<StageBubble> Bubbles(const std::vector<uint32_t>& names) {
    std::vector<StageBubble> bubbles;
    for (size_t k = 0; k < lengths_.size(); ++k) {
      std::vector<int64_t>& lengths = lengths_[k];
      std::sort(lengths.begin(), lengths.end());
      if (lengths.back() == 0) continue;
      bubbles.push_back({.bubble_class = static_cast<BubbleClass>(names[k] >> 24),
                         .ordinal = names[k] & 0xffffff,
                         .offset_ns = Mean(offsets_[k]),
                         .mean_ns = Mean(lengths),
                         .p10_ns = Quantile(lengths, 0.1),
                         .p50_ns = Quantile(lengths, 0.5),
                         .p90_ns = Quantile(lengths, 0.9),
                         .memory_free_bytes = std::nullopt});
    }
    return bubbles;
  }

 private:
  std::vector<std::vector<int64_t>> lengths_;
  std::vector<std::vector<int64_t>> offsets_;
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
  absl::StatusOr<std::vector<IterationRun>> runs =
      Evaluate(model.shape, model.times, orders, kSettleIterations + looked_at + 1);
  if (!runs.ok()) return runs.status();

  const std::vector<IterationRun>& all = *runs;
  const int64_t span_ns = all.back().begin_ns - all[kSettleIterations].begin_ns;
  PipelineRun result{.iteration_ns = span_ns / looked_at,
                     .bubble_share = 0,
                     .iterations = looked_at,
                     .stages = {}};
  for (size_t s = 0; s < orders.size(); ++s) {
    StageWaits waits(orders[s].size() + 1);
    for (size_t i = kSettleIterations; i + 1 < all.size(); ++i) {
      waits.Add(WaitsOf(all[i], all[i + 1], s, model.times.has_optimizer), all[i].begin_ns);
    }
    StageRun stage{.bubbles = waits.Bubbles(NamesOf(orders[s])),
                   .bubble_share = 0,
                   .operations = FromBegin(all[all.size() - 2], s),
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
