// Devices, their main ranks and bubbles, and what is set for main jobs.
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "scheduler/convert/convert.h"

namespace pipefill::scheduler {
namespace {

v1::FillMode ToProto(FillMode from) {
  switch (from) {
    case FillMode::kUnknown:
      return v1::FILL_MODE_UNSPECIFIED;
    case FillMode::kOff:
      return v1::FILL_MODE_OFF;
    case FillMode::kReport:
      return v1::FILL_MODE_REPORT;
    case FillMode::kFill:
      return v1::FILL_MODE_FILL;
  }
  return v1::FILL_MODE_UNSPECIFIED;
}

BubbleClass FromProto(v1::BubbleClass from) {
  switch (from) {
    case v1::BUBBLE_CLASS_HEAD:
      return BubbleClass::kHead;
    case v1::BUBBLE_CLASS_MIDDLE:
      return BubbleClass::kMiddle;
    case v1::BUBBLE_CLASS_SCATTERED:
      return BubbleClass::kScattered;
    case v1::BUBBLE_CLASS_TAIL:
      return BubbleClass::kTail;
    case v1::BUBBLE_CLASS_FAILURE:
      return BubbleClass::kFailure;
    case v1::BUBBLE_CLASS_CUSTOM:
      return BubbleClass::kCustom;
    default:
      return BubbleClass::kUnknown;
  }
}

v1::BubbleClass ToProto(BubbleClass from) {
  switch (from) {
    case BubbleClass::kUnknown:
      return v1::BUBBLE_CLASS_UNSPECIFIED;
    case BubbleClass::kHead:
      return v1::BUBBLE_CLASS_HEAD;
    case BubbleClass::kMiddle:
      return v1::BUBBLE_CLASS_MIDDLE;
    case BubbleClass::kScattered:
      return v1::BUBBLE_CLASS_SCATTERED;
    case BubbleClass::kTail:
      return v1::BUBBLE_CLASS_TAIL;
    case BubbleClass::kFailure:
      return v1::BUBBLE_CLASS_FAILURE;
    case BubbleClass::kCustom:
      return v1::BUBBLE_CLASS_CUSTOM;
  }
  return v1::BUBBLE_CLASS_UNSPECIFIED;
}

FillControl FromProto(const v1::FillControl& from) {
  return {.state = v1::FillState_IsValid(from.state()) ? static_cast<FillState>(from.state())
                                                       : FillState::kUnknown,
          .text = from.text(),
          .overrun_ratio = from.overrun_ratio(),
          .slowdown = from.slowdown(),
          .slowdown_low = from.slowdown_low(),
          .slowdown_high = from.slowdown_high(),
          .hold_outs = from.hold_outs(),
          .filled = from.filled(),
          .budget_ppm = from.budget_ppm(),
          .back_offs = from.back_offs(),
          .retry_in_ns = from.retry_in_ns()};
}

v1::FillControl ToProto(const FillControl& from) {
  v1::FillControl to;
  to.set_state(static_cast<v1::FillState>(from.state));
  to.set_text(from.text);
  to.set_overrun_ratio(from.overrun_ratio);
  to.set_slowdown(from.slowdown);
  to.set_slowdown_low(from.slowdown_low);
  to.set_slowdown_high(from.slowdown_high);
  to.set_hold_outs(from.hold_outs);
  to.set_filled(from.filled);
  to.set_budget_ppm(from.budget_ppm);
  to.set_back_offs(from.back_offs);
  to.set_retry_in_ns(from.retry_in_ns);
  return to;
}

MainRank FromProto(const v1::MainRank& from) {
  return {.main_job = from.main_job(),
          .rank = from.rank(),
          .ranks = from.ranks(),
          .stage = from.stage(),
          .stages = from.stages(),
          .pid = from.pid(),
          .mode = scheduler::FromProto(from.mode()),
          .iterations = from.iterations(),
          .iteration_p50_ns = from.iteration_p50_ns(),
          .bubble_ns = from.bubble_ns(),
          .iteration_ns = from.iteration_ns(),
          .events_dropped = from.events_dropped(),
          .control = from.has_control() ? std::optional(FromProto(from.control())) : std::nullopt};
}

v1::MainRank ToProto(const MainRank& from) {
  v1::MainRank to;
  to.set_main_job(from.main_job);
  to.set_rank(from.rank);
  to.set_ranks(from.ranks);
  to.set_stage(from.stage);
  to.set_stages(from.stages);
  to.set_pid(from.pid);
  to.set_mode(ToProto(from.mode));
  to.set_iterations(from.iterations);
  to.set_iteration_p50_ns(from.iteration_p50_ns);
  to.set_bubble_ns(from.bubble_ns);
  to.set_iteration_ns(from.iteration_ns);
  to.set_events_dropped(from.events_dropped);
  if (from.control.has_value()) *to.mutable_control() = ToProto(*from.control);
  return to;
}

}  // namespace

FillMode FromProto(v1::FillMode from) {
  switch (from) {
    case v1::FILL_MODE_OFF:
      return FillMode::kOff;
    case v1::FILL_MODE_REPORT:
      return FillMode::kReport;
    case v1::FILL_MODE_FILL:
      return FillMode::kFill;
    default:
      return FillMode::kUnknown;
  }
}

Device FromProto(const v1::Device& from) {
  Device to{.key = {from.node(), from.name()},
            .backend = from.backend(),
            .detail = from.detail(),
            .memory_bytes = from.memory_bytes(),
            .memory_free_bytes = from.memory_free_bytes(),
            .resident = from.resident(),
            .resident_limit = from.resident_limit(),
            .main_rank = std::nullopt};
  if (from.has_main_rank()) to.main_rank = FromProto(from.main_rank());
  return to;
}

BubbleStats FromProto(const v1::BubbleStats& from) {
  return {.device = {from.node(), from.device()},
          .main_job = from.main_job(),
          .rank = from.rank(),
          .stage = from.stage(),
          .bubble_class = FromProto(from.bubble_class()),
          .ordinal = from.ordinal(),
          .count = from.count(),
          .p10_ns = from.p10_ns(),
          .p50_ns = from.p50_ns(),
          .p90_ns = from.p90_ns(),
          .memory_free_bytes = from.memory_free_bytes(),
          .bubble_ns = from.bubble_ns(),
          .offered_ns = from.offered_ns(),
          .filled_ns = from.filled_ns(),
          .overrun_ns = from.overrun_ns(),
          .unit_ns = {from.unit_ns().begin(), from.unit_ns().end()},
          .latest_start_ns = {from.latest_start_ns().begin(), from.latest_start_ns().end()},
          .guard_ns = from.guard_ns(),
          .units = from.units(),
          .overruns = from.overruns(),
          .offer = v1::BubbleOffer_IsValid(from.offer()) ? static_cast<BubbleOffer>(from.offer())
                                                         : BubbleOffer::kUnknown,
          .earliest_start_ns = from.earliest_start_ns()};
}

MainJobSettings FromProto(const v1::MainJobSettings& from) {
  return {.main_job = from.main_job(),
          .mode = FromProto(from.mode()),
          .budget_ppm = from.budget_ppm(),
          .is_paused = from.paused(),
          .static_share_ppm = from.static_share_ppm()};
}

v1::Device ToProto(const Device& from) {
  v1::Device to;
  to.set_node(from.key.node);
  to.set_name(from.key.name);
  to.set_backend(from.backend);
  to.set_detail(from.detail);
  to.set_memory_bytes(from.memory_bytes);
  to.set_memory_free_bytes(from.memory_free_bytes);
  to.set_resident(from.resident);
  to.set_resident_limit(from.resident_limit);
  if (from.main_rank.has_value()) *to.mutable_main_rank() = ToProto(*from.main_rank);
  return to;
}

v1::BubbleStats ToProto(const BubbleStats& from) {
  v1::BubbleStats to;
  to.set_node(from.device.node);
  to.set_device(from.device.name);
  to.set_main_job(from.main_job);
  to.set_rank(from.rank);
  to.set_stage(from.stage);
  to.set_bubble_class(ToProto(from.bubble_class));
  to.set_ordinal(from.ordinal);
  to.set_count(from.count);
  to.set_p10_ns(from.p10_ns);
  to.set_p50_ns(from.p50_ns);
  to.set_p90_ns(from.p90_ns);
  to.set_memory_free_bytes(from.memory_free_bytes);
  to.set_bubble_ns(from.bubble_ns);
  to.set_offered_ns(from.offered_ns);
  to.set_filled_ns(from.filled_ns);
  to.set_overrun_ns(from.overrun_ns);
  to.mutable_unit_ns()->Assign(from.unit_ns.begin(), from.unit_ns.end());
  to.mutable_latest_start_ns()->Assign(from.latest_start_ns.begin(), from.latest_start_ns.end());
  to.set_guard_ns(from.guard_ns);
  to.set_units(from.units);
  to.set_overruns(from.overruns);
  to.set_offer(static_cast<v1::BubbleOffer>(from.offer));
  to.set_earliest_start_ns(from.earliest_start_ns);
  return to;
}

v1::MainJobSettings ToProto(const MainJobSettings& from) {
  v1::MainJobSettings to;
  to.set_main_job(from.main_job);
  to.set_mode(ToProto(from.mode));
  to.set_budget_ppm(from.budget_ppm);
  to.set_paused(from.is_paused);
  to.set_static_share_ppm(from.static_share_ppm);
  return to;
}

}  // namespace pipefill::scheduler
