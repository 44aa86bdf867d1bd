#include "cli/report/palette.h"

#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

struct Colour {
  const char* name;
  const char* light;
  const char* dark;
};

// Job colours differ in lightness as well as in hue, so that they stay apart without colour vision.
constexpr Colour kColours[] = {
    {"ground", "#f6f7f9", "#0f1317"},   {"card", "#ffffff", "#171c22"},
    {"ink", "#1b2530", "#e6ebf0"},      {"muted", "#667382", "#94a2b1"},
    {"line", "#dfe4ea", "#2b343e"},     {"forward", "#6d8093", "#7488a0"},
    {"backward", "#43566a", "#52667c"}, {"optimizer", "#9a8f7c", "#8a7f6d"},
    {"other", "#5a6d81", "#64788f"},    {"bubble", "#f3f5f8", "#1d242c"},
    {"hatch", "#cfd7e0", "#37434f"},    {"holdout", "#fbeecb", "#3a3114"},
    {"holdink", "#8a5f00", "#e3b95a"},  {"overrun", "#d81f35", "#ff5566"},
    {"good", "#117a50", "#4ccb96"},     {"job0", "#2b6fe0", "#5e9bff"},
    {"job1", "#f08a00", "#ffb04d"},     {"job2", "#0c8f68", "#38c493"},
    {"job3", "#9a4cc2", "#c38aec"},     {"job4", "#12a5bd", "#5fd3e6"},
    {"job5", "#b0356f", "#ef7fb2"},     {"job6", "#8f8200", "#d2c43a"},
    {"job7", "#7a5a3c", "#bf9a75"},
};

}  // namespace

std::string ThemeVariables() {
  std::string light;
  std::string dark;
  for (const Colour& colour : kColours) {
    absl::StrAppend(&light, "--", colour.name, ":", colour.light, ";");
    absl::StrAppend(&dark, "--", colour.name, ":", colour.dark, ";");
  }
  return absl::StrCat(":root{color-scheme:light dark;", light,
                      "}\n@media (prefers-color-scheme:dark){:root{", dark, "}}\n");
}

std::string SvgColourRules() {
  std::string light;
  std::string dark;
  for (const Colour& colour : kColours) {
    absl::StrAppend(&light, ".", colour.name, "{fill:", colour.light, "}.", colour.name,
                    "-line{stroke:", colour.light, "}\n");
    absl::StrAppend(&dark, ".", colour.name, "{fill:", colour.dark, "}.", colour.name,
                    "-line{stroke:", colour.dark, "}\n");
  }
  return absl::StrCat(light, "@media (prefers-color-scheme:dark){\n", dark, "}\n");
}

std::string JobColour(size_t job) { return absl::StrCat("job", job % kJobColours); }

}  // namespace pipefill
