// The report as a table for people, 80 columns wide.
//
// Pure.
#ifndef CLI_REPORT_REPORT_TEXT_H_
#define CLI_REPORT_REPORT_TEXT_H_

#include <string>

#include "cli/report/figures.h"
#include "cli/report/trace.h"
#include "cli/report/trace_checker.h"

namespace pipefill {

std::string ReportText(const Trace& trace, const Figures& figures, const CheckResult& check);

}  // namespace pipefill

#endif  // CLI_REPORT_REPORT_TEXT_H_
