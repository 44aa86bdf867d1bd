// Records of the trace from what the pages hold. The other kinds of TraceRecord are made where the
// event happens.
//
// Pure.
#ifndef AGENT_TRACE_RECORD_H_
#define AGENT_TRACE_RECORD_H_

#include <cstdint>

#include "agent/page_reader.h"
#include "client/pages/signal_page.h"
#include "client/pages/task_page.h"
#include "proto/local.pb.h"

namespace pipefill {

// `is_offered`: for a bubble's begin, whether units may start in it; else unused.
v1::TraceRecord EdgeTraceRecord(int32_t rank_key, const EdgeEvent& edge, bool is_offered = false);
// `rank_key`: the rank whose signal page has the unit's generation; 0 if it is not known any more.
v1::TraceRecord UnitTraceRecord(int32_t task_key, int32_t rank_key, const UnitRecord& unit);
v1::TraceRecord SlotNameTraceRecord(int32_t rank_key, uint32_t slot, const SlotName& name);

}  // namespace pipefill

#endif  // AGENT_TRACE_RECORD_H_
