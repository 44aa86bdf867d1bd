#include "agent/trace_record.h"

namespace pipefill {

v1::TraceRecord EdgeTraceRecord(int32_t rank_key, const EdgeEvent& edge, bool is_offered) {
  v1::TraceRecord record;
  v1::Edge& out = *record.mutable_edge();
  out.set_rank_key(rank_key);
  out.set_kind(static_cast<v1::EdgeKind>(edge.kind));
  out.set_time_ns(static_cast<int64_t>(edge.time_ns));
  out.set_iteration(edge.iteration);
  out.set_seq(edge.seq);
  out.set_slot(static_cast<int32_t>(edge.slot));
  out.set_value(static_cast<int64_t>(edge.value));
  out.set_offered(edge.kind == EdgeKind::kBubbleBegin && is_offered);
  return record;
}

v1::TraceRecord UnitTraceRecord(int32_t task_key, int32_t rank_key, const UnitRecord& unit) {
  v1::TraceRecord record;
  v1::Unit& out = *record.mutable_unit();
  out.set_task_key(task_key);
  out.set_rank_key(rank_key);
  out.set_start_ns(static_cast<int64_t>(unit.start_ns));
  out.set_end_ns(static_cast<int64_t>(unit.end_ns));
  out.set_cpu_ns(static_cast<int64_t>(unit.cpu_ns));
  out.set_seq(unit.seq);
  out.set_seq_after(unit.seq_after);
  out.set_slot(static_cast<int32_t>(unit.slot));
  out.set_bubble_begin_ns(static_cast<int64_t>(unit.bubble_begin_ns));
  out.set_iteration(unit.iteration);
  out.set_latest_start_ns(static_cast<int64_t>(unit.latest_start_ns));
  out.set_estimate_ns(static_cast<int64_t>(unit.estimate_ns));
  return record;
}

v1::TraceRecord SlotNameTraceRecord(int32_t rank_key, uint32_t slot, const SlotName& name) {
  v1::TraceRecord record;
  v1::BubbleNamed& out = *record.mutable_bubble_named();
  out.set_rank_key(rank_key);
  out.set_slot(static_cast<int32_t>(slot));
  out.set_bubble_class(static_cast<v1::BubbleClass>(name.bubble_class));
  out.set_ordinal(static_cast<int32_t>(name.ordinal));
  return record;
}

}  // namespace pipefill
