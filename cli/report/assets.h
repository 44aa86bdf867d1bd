// Style and scripts of the page; the files lie in assets/, and the build turns them into text.
//
// Pure data.
#ifndef CLI_REPORT_ASSETS_H_
#define CLI_REPORT_ASSETS_H_

namespace pipefill {

extern const char kPageStyle[];
extern const char kPageScript[];  // common.js, timeline.js, overview.js, iterations.js, page.js

}  // namespace pipefill

#endif  // CLI_REPORT_ASSETS_H_
