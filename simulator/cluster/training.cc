#include "simulator/cluster/training.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace pipefill::simulator {
namespace {

constexpr int kDevicesMax = 1'000'000;

int StageOf(const LearnedTraining& training, int node) {
  return node % training.run.pipeline.shape.stages;
}

// The counts from which schedulerd takes the share of filled iterations.
scheduler::FillControl ControlOf(const StageOffer& offer) {
  static constexpr int64_t kIterations = 1'000'000;
  scheduler::FillControl control;
  control.state = scheduler::FillState::kFilling;
  control.filled = static_cast<int64_t>(offer.filled_share * static_cast<double>(kIterations));
  // From a few on the counts are believed.
  control.hold_outs = std::max<int64_t>(16, kIterations - control.filled);
  return control;
}

absl::Status CheckRun(const TrainingRun& run) {
  if (run.replicas < 1 || run.devices_per_stage < 1) {
    return absl::InvalidArgumentError("replicas and devices_per_stage must be at least 1");
  }
  if (run.replicas > kDevicesMax || run.devices_per_stage > kDevicesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("at most ", kDevicesMax, " devices are simulated"));
  }
  const auto devices = int64_t{run.replicas} * run.devices_per_stage * run.pipeline.shape.stages;
  if (devices > kDevicesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("devices=", devices, ": at most ", kDevicesMax, " are simulated"));
  }
  if (run.memory_free_bytes < 0) {
    return absl::InvalidArgumentError("memory_free_bytes must not be negative");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LearnedTraining> LearnTraining(const TrainingRun& run) {
  if (absl::Status status = CheckRun(run); !status.ok()) return status;
  absl::StatusOr<PipelineRun> pipeline = RunPipeline(run.pipeline);
  if (!pipeline.ok()) return pipeline.status();
  LearnedTraining training{.run = run, .bubble_share = pipeline->bubble_share};
  for (const StageRun& stage : pipeline->stages) {
    absl::StatusOr<StageOffer> offer =
        OfferOf(stage, pipeline->iteration_ns, run.rule, run.memory_free_bytes);
    if (!offer.ok()) return offer.status();
    training.stages.push_back(*std::move(offer));
  }
  return training;
}

std::string NodeName(const LearnedTraining& training, int node) {
  return absl::StrFormat("r%04d-s%03d", node / training.run.pipeline.shape.stages,
                         StageOf(training, node));
}

const StageOffer& OfferOfNode(const LearnedTraining& training, int node) {
  return training.stages[static_cast<size_t>(StageOf(training, node))];
}

std::vector<scheduler::Device> DevicesOfNode(const LearnedTraining& training, int node) {
  const std::string name = NodeName(training, node);
  const StageOffer& offer = OfferOfNode(training, node);
  std::vector<scheduler::Device> devices;
  for (int i = 0; i < training.run.devices_per_stage; ++i) {
    scheduler::Device device;
    device.key = {name, absl::StrCat("gpu", i)};
    device.backend = "sim";
    device.memory_bytes = training.run.memory_free_bytes;
    device.memory_free_bytes = training.run.memory_free_bytes;
    device.resident_limit = 1;
    device.main_rank.emplace();
    scheduler::MainRank& rank = *device.main_rank;
    rank.main_job = "main";
    rank.rank = node * training.run.devices_per_stage + i;
    rank.ranks = training.run.devices();
    rank.stage = StageOf(training, node);
    rank.stages = training.run.pipeline.shape.stages;
    rank.mode = scheduler::FillMode::kFill;
    rank.iteration_p50_ns = offer.iteration_ns;
    rank.iteration_ns = offer.iteration_ns;
    rank.bubble_ns =
        static_cast<int64_t>(offer.bubble_share * static_cast<double>(offer.iteration_ns));
    rank.control = ControlOf(offer);
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<scheduler::BubbleStats> BubblesOfNode(const LearnedTraining& training, int node) {
  std::vector<scheduler::BubbleStats> all;
  const StageOffer& offer = OfferOfNode(training, node);
  for (int i = 0; i < training.run.devices_per_stage; ++i) {
    for (scheduler::BubbleStats& stats :
         StatsOf(offer, {NodeName(training, node), absl::StrCat("gpu", i)})) {
      all.push_back(std::move(stats));
    }
  }
  return all;
}

}  // namespace pipefill::simulator
