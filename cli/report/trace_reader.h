// Reads what agentd wrote (proto/local.proto: TraceRecords, each behind its length as a varint)
// into a Trace. The bytes are untrusted input: whatever they hold, reading ends, and what makes no
// sense is counted and left out.
//
//   torn tail            bytes after the last whole record are counted: agentd was writing, or died
//   several TraceStarts  each opens an AgentStart of its own; what is only said again is ignored
//   first iteration      not whole if the trace begins inside it; its bubbles are kept
//   dropped records      the iteration and the bubble that were open are not whole
//   unknown records      counted
//
// The only file that knows the wire format of a trace.
//
// Pure.
#ifndef CLI_REPORT_TRACE_READER_H_
#define CLI_REPORT_TRACE_READER_H_

#include <string>
#include <vector>

#include "cli/report/trace.h"

namespace pipefill {

struct TraceBytes {
  std::string source;  // for people: a file or a node
  std::string bytes;
};

// Traces of several agents, side by side in one Trace.
Trace ReadTraces(const std::vector<TraceBytes>& sources);

}  // namespace pipefill

#endif  // CLI_REPORT_TRACE_READER_H_
