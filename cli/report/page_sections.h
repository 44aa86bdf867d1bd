// The parts of the page that need no script: headline figures, tables, checks, definitions. Each
// returns one <section>; all text from the trace is escaped.
//
// Pure.
#ifndef CLI_REPORT_PAGE_SECTIONS_H_
#define CLI_REPORT_PAGE_SECTIONS_H_

#include <string>

#include "cli/report/figures.h"
#include "cli/report/trace_checker.h"

namespace pipefill {

// Tiles: idle, filled, cost with its interval on a scale, overrun, recovered; and the summary.
std::string HeadlineSection(const Figures& figures, const CheckResult& check);
std::string BubbleSection(const Figures& figures);
std::string JobSection(const Figures& figures);
std::string CheckSection(const CheckResult& check);
// Notes of the figures, and what each figure means.
std::string DefinitionSection(const Figures& figures);

}  // namespace pipefill

#endif  // CLI_REPORT_PAGE_SECTIONS_H_
