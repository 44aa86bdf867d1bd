// What is idle on the devices of a training run, from a model of it or from its trace: what the
// table, the JSON, the pictures and the forecast of `pipefill plan` are made of.
//
// Pure data.
#ifndef CLI_PLAN_IDLE_PLAN_H_
#define CLI_PLAN_IDLE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/pages/signal_page.h"

namespace pipefill {

enum class PlanWorkKind { kForward, kBackward, kWeight, kOptimizer, kOther };

// Times are nanoseconds from the begin of the iteration that is shown.
struct PlanWork {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  PlanWorkKind kind = PlanWorkKind::kOther;
};

struct PlanBubble {
  BubbleClass bubble_class = BubbleClass::kCustom;
  int64_t ordinal = 0;
  int64_t offset_ns = 0;  // mean; from the begin of the iteration
  // Of its length over the iterations looked at.
  int64_t mean_ns = 0;
  int64_t p10_ns = 0;
  int64_t p50_ns = 0;
  int64_t p90_ns = 0;
  std::optional<int64_t> memory_free_bytes;  // absent: not known
};

struct PlanDevice {
  std::string name;  // "stage 3", "rank 1 gpu 0"
  int stage = 0;     // or its number among the devices, where stages are not known
  int64_t iteration_ns = 0;
  double bubble_share = 0;          // of the iteration
  std::vector<PlanBubble> bubbles;  // in the order of the iteration
  std::vector<PlanWork> work;       // of one iteration, to draw; by begin
  std::optional<int64_t> memory_peak_bytes;
};

// Mean length of one piece of work of a kind, on one device. Of recorded runs only.
struct MeanWork {
  int stage = 0;
  PlanWorkKind kind = PlanWorkKind::kOther;
  double mean_ns = 0;
  double spread = 0;  // standard deviation as a share of the mean
  int64_t count = 0;  // per iteration
};

struct IdlePlan {
  std::string title;  // "4 stages x 8 microbatches, 1f1b"
  // Measured in a trace, or the outcome of a model.
  bool is_measured = false;
  int iterations = 0;        // looked at
  int64_t iteration_ns = 0;  // mean over devices
  double bubble_share = 0;   // of all devices' time
  std::vector<PlanDevice> devices;
  std::vector<MeanWork> mean_work;
  std::vector<std::string> notes;  // one line each: what the reader must know
};

// "forward", "backward", "weight", "optimizer", "other".
std::string Word(PlanWorkKind kind);
// One character for pictures made of text.
char Letter(PlanWorkKind kind);

}  // namespace pipefill

#endif  // CLI_PLAN_IDLE_PLAN_H_
