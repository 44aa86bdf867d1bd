// The numbers that the page's scripts draw, as compact JSON. Bounded: what a long run holds beyond
// the limits is thinned out, and the data say so.
//
//   devices[]  name, rank, stage and flat arrays of integers; times in microseconds from the run's
//              first iteration, each begin as the distance from the begin before it:
//     iterations  number, begin, length, held out (0/1)
//     work        begin, length, kind (a ChunkKind)
//     bubbles     begin, length, index into names, filled
//     units       begin, length inside its bubble, length after it, CPU time after it, CPU time,
//                 index into jobs
//   rows       every iteration, or every row_stride-th: number, begin, time, flags (1 = held out,
//              2 = counted), then per device its filled share in permille, -1 without bubbles;
//              begins are no distances here
//   shown      first and last iteration of `devices`, and whether that is all
//   view       the piece to show first: begin, end
//
// Pure.
#ifndef CLI_REPORT_PAGE_DATA_H_
#define CLI_REPORT_PAGE_DATA_H_

#include <cstddef>
#include <string>

#include "cli/report/figures.h"
#include "cli/report/trace.h"

namespace pipefill {

// About 20 bytes each.
inline constexpr size_t kPageShapesMax = 150'000;
inline constexpr size_t kPageRowsMax = 6'000;

std::string PageData(const Trace& trace, const Figures& figures);

}  // namespace pipefill

#endif  // CLI_REPORT_PAGE_DATA_H_
