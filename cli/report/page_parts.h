// What pages are made of: the frame, tiles with figures, cells of tables.
//
// Pure.
#ifndef CLI_REPORT_PAGE_PARTS_H_
#define CLI_REPORT_PAGE_PARTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace pipefill {

struct PageParts {
  std::string title;         // of the browser's window
  std::string heading;       // text
  std::string about;         // text, one line below the heading
  std::string style = {};    // CSS rules beside those of all pages
  std::string sections;      // markup
  std::string scripts = {};  // markup
};

// One HTML file that needs no other file and no network, light and dark.
std::string PageMarkup(const PageParts& parts);

struct Tile {
  std::string name;
  std::string value;
  std::string text;
  std::string extra = {};  // markup
};

// A row of tiles.
std::string TilesMarkup(const std::vector<Tile>& tiles);
// A thin bar of `share`, from 0 to 1; "" without one.
std::string BarMarkup(std::optional<double> share);

// A table up to its first row; the first `texts` columns hold text, the others numbers.
std::string TableHead(const std::vector<std::string>& titles, size_t texts);
std::string MarkupCell(const std::string& markup);
std::string TextCell(const std::string& text);
std::string NumberCell(const std::string& text);

}  // namespace pipefill

#endif  // CLI_REPORT_PAGE_PARTS_H_
