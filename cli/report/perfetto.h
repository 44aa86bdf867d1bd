// The whole trace in the Chrome trace event format, which ui.perfetto.dev and chrome://tracing
// open.
//
//   process   one per device, "n1/cpu0", in the order of ranks; also those with tasks alone
//   threads   "main job": iterations, hold-outs named so, with their chunks inside them
//             "bubbles": bubbles by name; "stands still": failures
//             one per task: its units; what a unit did after its bubble is a span "overrun" inside
//   counters  "lambda", "slowdown in %" with its interval and the budget
//   instants  changes of the state of filling, with the agent's reason
//
// Times are microseconds with three decimals from the first thing in the trace; nodes lie side by
// side by their wall clocks. Events of a thread are in order of begin as far as the trace is.
//
// Pure: writes to what it is given, in pieces.
#ifndef CLI_REPORT_PERFETTO_H_
#define CLI_REPORT_PERFETTO_H_

#include <cstddef>
#include <functional>

#include "absl/strings/string_view.h"
#include "cli/report/trace.h"

namespace pipefill {

// Pieces are about this large, so that no trace needs to be in memory as text.
inline constexpr size_t kPerfettoPieceBytes = 64 * 1024;

void WritePerfetto(const Trace& trace, const std::function<void(absl::string_view)>& write);

}  // namespace pipefill

#endif  // CLI_REPORT_PERFETTO_H_
