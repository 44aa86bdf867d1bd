// Every bubble of a trace as one row of comma-separated values, for a reader's own analysis.
//
// Columns: node, main_job, rank, stage, device, iteration, held_out (0 or 1), iteration_begin_ns,
// iteration_end_ns, class, ordinal, begin_ns, end_ns, units, filled_ns, overrun_ns. Times are
// CLOCK_MONOTONIC of the node; filled and overrun are CPU time of units that started in the bubble.
// Only whole iterations; an iteration without bubbles has no row.
//
// Pure.
#ifndef CLI_REPORT_BUBBLE_CSV_H_
#define CLI_REPORT_BUBBLE_CSV_H_

#include <string>

#include "cli/report/trace.h"

namespace pipefill {

std::string BubbleCsv(const Trace& trace);

}  // namespace pipefill

#endif  // CLI_REPORT_BUBBLE_CSV_H_
