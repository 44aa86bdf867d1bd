// A timeline as one static SVG picture, light and dark, for documents.
//
// Pure.
#ifndef CLI_REPORT_TIMELINE_SVG_H_
#define CLI_REPORT_TIMELINE_SVG_H_

#include <cstddef>
#include <string>

#include "cli/report/timeline.h"

namespace pipefill {

struct SvgOptions {
  std::string title;
  size_t devices_max = 4;  // further ones are left out; a line says so
  int width = 1200;        // pixels
  // What the legend calls work that is neither forward, backward nor optimizer.
  std::string other_work = "main job";
  bool shows_stages = true;  // below the names of devices
  int row_height = 62;       // of a device, pixels
  int row_gap = 14;
  bool shows_lengths = false;  // of named bubbles and of units, where the pointer is
  // Of the hatching: one per picture of a page, as a picture that is folded away takes its own
  // along.
  std::string hatch_id = "idle";
};

// Work of the main job solid, bubbles hatched, units in the colour of their job, overruns red,
// hold-outs marked; a legend above, an axis in milliseconds from the first iteration shown below.
std::string TimelineSvg(const Timeline& timeline, const SvgOptions& options);

}  // namespace pipefill

#endif  // CLI_REPORT_TIMELINE_SVG_H_
