#include "simulator/pipeline/evaluation.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace pipefill::simulator {
namespace {

constexpr int64_t kNotYet = -1;

// Lengths of operations, drawn one after the other.
class Lengths {
 public:
  explicit Lengths(const PipelineTimes& times)
      : times_(times),
        random_(times.jitter.seed),
        sigma_(std::sqrt(std::log1p(times.jitter.share * times.jitter.share))) {}

  int64_t Next(size_t stage, const Operation& operation) {
    const StageTimes& own = times_.stages[stage];
    double length_ns = static_cast<double>(Mean(own, operation)) * own.slowness;
    if (sigma_ > 0) length_ns *= std::exp(sigma_ * normal_(random_) - sigma_ * sigma_ / 2);
    return static_cast<int64_t>(std::llround(length_ns));
  }

 private:
  static int64_t Mean(const StageTimes& stage, const Operation& operation) {
    const auto chunk = static_cast<size_t>(operation.chunk);
    switch (operation.kind) {
      case OperationKind::kForward:
        return stage.chunks[chunk].forward_ns;
      case OperationKind::kBackward:
        return stage.chunks[chunk].backward_input_ns + stage.chunks[chunk].backward_weight_ns;
      case OperationKind::kBackwardInput:
        return stage.chunks[chunk].backward_input_ns;
      case OperationKind::kBackwardWeight:
        return stage.chunks[chunk].backward_weight_ns;
      case OperationKind::kReduction:
        return stage.reduction_ns;
      case OperationKind::kOptimizer:
        break;
    }
    return stage.optimizer_ns;
  }

  const PipelineTimes& times_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  const double sigma_;
};

// One iteration in the making.
class Iteration {
 public:
  Iteration(const PipelineShape& shape, const PipelineTimes& times,
            const std::vector<StageOrder>& orders)
      : shape_(shape), times_(times), orders_(orders), last_(shape.stages * shape.chunks - 1) {
    const size_t parts = static_cast<size_t>(last_) + 1;
    const auto microbatches = static_cast<size_t>(shape.microbatches);
    forwards_.assign(parts, std::vector<int64_t>(microbatches, kNotYet));
    backwards_ = forwards_;
    run_.stages.resize(orders.size());
  }

  // `free_ns`: from when on each stage is free; afterwards for the next iteration.
  absl::StatusOr<IterationRun> Run(std::vector<int64_t>& free_ns, Lengths& lengths) {
    size_t left = 0;
    for (size_t s = 0; s < orders_.size(); ++s) {
      run_.stages[s].reserve(orders_[s].size());
      left += orders_[s].size();
    }
    while (left > 0) {
      size_t done = 0;
      for (size_t s = 0; s < orders_.size(); ++s) done += RunStage(s, free_ns[s], lengths);
      if (done == 0) {
        return absl::FailedPreconditionError(
            absl::StrCat("the schedule waits for itself: ", left, " operations never begin"));
      }
      left -= done;
    }
    run_.begin_ns = run_.stages[0].front().begin_ns;
    return std::move(run_);
  }

 private:
  // As many operations of the stage as can run by now.
  size_t RunStage(size_t stage, int64_t& free_ns, Lengths& lengths) {
    std::vector<TimedOperation>& timed = run_.stages[stage];
    const size_t before = timed.size();
    while (timed.size() < orders_[stage].size()) {
      const Operation& operation = orders_[stage][timed.size()];
      const int64_t ready_ns = ReadyNs(static_cast<int>(stage), operation);
      if (ready_ns == kNotYet) break;
      const int64_t begin_ns = std::max(free_ns, ready_ns);
      free_ns = begin_ns + lengths.Next(stage, operation);
      timed.push_back({operation, begin_ns, free_ns});
      Note(static_cast<int>(stage), operation, free_ns);
    }
    return timed.size() - before;
  }

  // When all that it waits for is there; kNotYet if some of it has not run.
  int64_t ReadyNs(int stage, const Operation& operation) const {
    const int part = VirtualStage(shape_, stage, operation.chunk);
    switch (operation.kind) {
      case OperationKind::kForward:
        return part == 0 ? 0 : Arrival(forwards_, part - 1, stage, operation.microbatch);
      case OperationKind::kBackward:
      case OperationKind::kBackwardInput: {
        const int64_t own_ns = End(forwards_, part, operation.microbatch);
        if (own_ns == kNotYet || part == last_) return own_ns;
        const int64_t gradient_ns = Arrival(backwards_, part + 1, stage, operation.microbatch);
        return gradient_ns == kNotYet ? kNotYet : std::max(own_ns, gradient_ns);
      }
      case OperationKind::kBackwardWeight:
        return End(backwards_, part, operation.microbatch);
      case OperationKind::kReduction:
        return 0;
      case OperationKind::kOptimizer:
        break;
    }
    return times_.waits_for_all ? AllReducedNs() : 0;
  }

  // When the last stage has done all but its optimizer step.
  int64_t AllReducedNs() const {
    int64_t latest_ns = 0;
    for (size_t s = 0; s < orders_.size(); ++s) {
      if (run_.stages[s].size() + 1 < orders_[s].size()) return kNotYet;
      const size_t last = orders_[s].size() - 2;
      latest_ns = std::max(latest_ns, run_.stages[s][last].end_ns);
    }
    return latest_ns;
  }

  using Ends = std::vector<std::vector<int64_t>>;  // [part][microbatch]

  static int64_t End(const Ends& ends, int part, int microbatch) {
    return ends[static_cast<size_t>(part)][static_cast<size_t>(microbatch)];
  }

  int64_t Arrival(const Ends& ends, int part, int stage, int microbatch) const {
    const int64_t end_ns = End(ends, part, microbatch);
    if (end_ns == kNotYet || PlaceOf(shape_, part).stage == stage) return end_ns;
    return end_ns + times_.transfer_ns;
  }

  void Note(int stage, const Operation& operation, int64_t end_ns) {
    const auto part = static_cast<size_t>(VirtualStage(shape_, stage, operation.chunk));
    const auto microbatch = static_cast<size_t>(operation.microbatch);
    if (operation.kind == OperationKind::kForward) forwards_[part][microbatch] = end_ns;
    if (operation.kind == OperationKind::kBackward ||
        operation.kind == OperationKind::kBackwardInput) {
      backwards_[part][microbatch] = end_ns;
    }
  }

  const PipelineShape& shape_;
  const PipelineTimes& times_;
  const std::vector<StageOrder>& orders_;
  const int last_;  // part of the model
  Ends forwards_;
  Ends backwards_;
  IterationRun run_;
};

bool IsSensible(int64_t ns) { return ns >= 0 && ns <= kOperationMaxNs; }

absl::Status CheckStage(const PipelineShape& shape, const StageTimes& stage, size_t number) {
  bool is_sensible = static_cast<int>(stage.chunks.size()) == shape.chunks &&
                     IsSensible(stage.reduction_ns) && IsSensible(stage.optimizer_ns) &&
                     stage.slowness > 0 && stage.slowness <= 1000;
  for (const ChunkTimes& chunk : stage.chunks) {
    is_sensible = is_sensible && IsSensible(chunk.forward_ns) &&
                  IsSensible(chunk.backward_input_ns) && IsSensible(chunk.backward_weight_ns);
  }
  if (is_sensible) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("bad times of stage ", number, "; each chunk needs times from 0 to an hour"));
}

}  // namespace

absl::Status CheckTimes(const PipelineShape& shape, const PipelineTimes& times) {
  if (static_cast<int>(times.stages.size()) != shape.stages) {
    return absl::InvalidArgumentError(
        absl::StrCat("times of ", times.stages.size(), " stages for a pipeline of ", shape.stages));
  }
  if (!IsSensible(times.transfer_ns) || !(times.jitter.share >= 0 && times.jitter.share <= 1)) {
    return absl::InvalidArgumentError(
        "bad transfer time or jitter; a transfer takes up to an hour, jitter goes from 0 to 100 %");
  }
  for (size_t s = 0; s < times.stages.size(); ++s) {
    if (absl::Status status = CheckStage(shape, times.stages[s], s); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<StageOrder> OrdersOf(const PipelineShape& shape, const PipelineTimes& times) {
  std::vector<StageOrder> orders;
  for (int stage = 0; stage < shape.stages; ++stage) {
    orders.push_back(OrderOf(shape, stage));
    if (!times.has_optimizer) continue;
    orders.back().push_back({OperationKind::kReduction});
    orders.back().push_back({OperationKind::kOptimizer});
  }
  return orders;
}

absl::Status EvaluateEach(const PipelineShape& shape, const PipelineTimes& times,
                          const std::vector<StageOrder>& orders, int iterations,
                          const std::function<void(IterationRun)>& visit) {
  Lengths lengths(times);
  std::vector<int64_t> free_ns(orders.size(), 0);
  for (int i = 0; i < iterations; ++i) {
    absl::StatusOr<IterationRun> run = Iteration(shape, times, orders).Run(free_ns, lengths);
    if (!run.ok()) return run.status();
    visit(*std::move(run));
    if (times.has_optimizer) continue;
    const int64_t all_ns = *std::max_element(free_ns.begin(), free_ns.end());
    std::fill(free_ns.begin(), free_ns.end(), all_ns);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<IterationRun>> Evaluate(const PipelineShape& shape,
                                                   const PipelineTimes& times,
                                                   const std::vector<StageOrder>& orders,
                                                   int iterations) {
  std::vector<IterationRun> runs;
  const absl::Status status =
      EvaluateEach(shape, times, orders, iterations,
                   [&runs](IterationRun run) { runs.push_back(std::move(run)); });
  if (!status.ok()) return status;
  return runs;
}

}  // namespace pipefill::simulator
