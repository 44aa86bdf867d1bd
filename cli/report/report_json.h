// The report as JSON for programs. Keys are stable: new ones are added, none changes its meaning.
// Shares and changes are fractions; times are nanoseconds. A figure that cannot be computed is
// null. What each figure is: figures.h.
//
//   bubble_ratio, bubble_filled, bubble_filled_all, overrun_ratio, recovered_device_share
//   slowdown, slowdown_lo95, slowdown_hi95, slowdown_pairs
//   slowdown_mean, slowdown_mean_lo95, slowdown_mean_hi95
//   iteration_filled_p50_ns, iteration_unfilled_p50_ns, start_up_change
//   main_job, iterations {use: count}, devices [], bubbles [], notes []
//   jobs [{job, name, units, unit_cpu_ns, in_bubble_cpu_ns, exclusive_equivalent_ns, ...}]
//   violations [text] (at most kViolationsKept per rule), violation_count
//   checked {rule: count}, not_checked {rule: count}, not_checked_reasons {rule: [text]}
//   trace {records, unknown, malformed, torn_bytes}
//
// Pure.
#ifndef CLI_REPORT_REPORT_JSON_H_
#define CLI_REPORT_REPORT_JSON_H_

#include <string>

#include "cli/report/figures.h"
#include "cli/report/trace.h"
#include "cli/report/trace_checker.h"

namespace pipefill {

std::string ReportJson(const Trace& trace, const Figures& figures, const CheckResult& check);

}  // namespace pipefill

#endif  // CLI_REPORT_REPORT_JSON_H_
