#include "cli/report/page_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/report/assets.h"
#include "cli/report/markup.h"
#include "cli/report/palette.h"

namespace pipefill {

std::string PageMarkup(const PageParts& parts) {
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
      EscapeMarkup(parts.title), "</title>\n<style>\n", ThemeVariables(), kPageStyle, parts.style,
      "</style>\n</head>\n<body>\n<header><h1>", EscapeMarkup(parts.heading), "</h1><p>",
      EscapeMarkup(parts.about), "</p></header>\n<main>\n", parts.sections, "</main>\n",
      parts.scripts, "</body>\n</html>\n");
}

std::string TilesMarkup(const std::vector<Tile>& tiles) {
  std::string out = "<div class=\"tiles\">\n";
  for (const Tile& tile : tiles) {
    absl::StrAppend(&out, "<div class=\"tile\"><h3>", EscapeMarkup(tile.name),
                    "</h3><p class=\"value\">", EscapeMarkup(tile.value), "</p>", tile.extra,
                    "<p class=\"what\">", EscapeMarkup(tile.text), "</p></div>\n");
  }
  return absl::StrCat(out, "</div>\n");
}

std::string BarMarkup(std::optional<double> share) {
  if (!share.has_value()) return "";
  return absl::StrFormat("<div class=\"bar\"><i style=\"width:%.1f%%\"></i></div>",
                         std::clamp(*share, 0.0, 1.0) * 100);
}

std::string TableHead(const std::vector<std::string>& titles, size_t texts) {
  std::string out = "<table><thead><tr>";
  for (size_t i = 0; i < titles.size(); ++i) {
    absl::StrAppend(&out, i < texts ? "<th>" : "<th class=\"n\">", EscapeMarkup(titles[i]),
                    "</th>");
  }
  return absl::StrCat(out, "</tr></thead><tbody>\n");
}

std::string MarkupCell(const std::string& markup) { return absl::StrCat("<td>", markup, "</td>"); }

std::string TextCell(const std::string& text) { return MarkupCell(EscapeMarkup(text)); }

std::string NumberCell(const std::string& text) {
  return absl::StrCat("<td class=\"n\">", EscapeMarkup(text), "</td>");
}

}  // namespace pipefill
