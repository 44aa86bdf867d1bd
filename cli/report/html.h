// The report as one HTML file: needs no other file and no network, light and dark.
//
// Size: about 20 bytes per shape of the timeline, at most kPageShapesMax of them, plus tables.
//
// Pure.
#ifndef CLI_REPORT_HTML_H_
#define CLI_REPORT_HTML_H_

#include <string>

#include "cli/report/figures.h"
#include "cli/report/trace.h"
#include "cli/report/trace_checker.h"

namespace pipefill {

// REQUIRES: figures and check were computed from `trace`.
std::string ReportPage(const Trace& trace, const Figures& figures, const CheckResult& check);

}  // namespace pipefill

#endif  // CLI_REPORT_HTML_H_
