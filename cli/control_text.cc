#include "cli/control_text.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "cli/output.h"
#include "cli/share.h"
#include "cli/words.h"
#include "common/quantity.h"

namespace pipefill {

bool HasEstimate(const v1::FillControl& control) {
  return control.hold_outs() > 0 && std::isfinite(control.slowdown());
}

bool HasInterval(const v1::FillControl& control) {
  return HasEstimate(control) && std::isfinite(control.slowdown_low()) &&
         std::isfinite(control.slowdown_high()) && control.slowdown_low() < control.slowdown_high();
}

Cost CostOf(const v1::FillControl& control) {
  if (!HasEstimate(control)) return Cost::kUnknown;
  if (!HasInterval(control)) return Cost::kUnsure;
  const double budget = control.budget_ppm() / 1e6;
  if (control.slowdown_high() <= budget) return Cost::kWithin;
  return control.slowdown_low() > budget ? Cost::kOver : Cost::kUnsure;
}

std::string SlowdownText(const v1::FillControl& control) {
  if (!HasEstimate(control)) return "-";
  return absl::StrFormat("%+.2f %%", control.slowdown() * 100);
}

std::string IntervalText(const v1::FillControl& control) {
  if (!HasInterval(control)) return "";
  return absl::StrFormat("%+.2f..%+.2f %%", control.slowdown_low() * 100,
                         control.slowdown_high() * 100);
}

std::string CostText(const v1::FillControl& control) {
  const std::string budget = FormatPpm(control.budget_ppm());
  if (!HasEstimate(control)) return absl::StrCat("not known yet, budget ", budget);
  const std::string interval = IntervalText(control);
  std::string text = absl::StrCat(SlowdownText(control), " iteration time");
  if (!interval.empty()) absl::StrAppend(&text, " (95 %: ", interval, ")");
  switch (CostOf(control)) {
    case Cost::kWithin:
      return absl::StrCat(text, ", within its budget of ", budget);
    case Cost::kOver:
      return absl::StrCat(text, ", over its budget of ", budget);
    default:
      return absl::StrCat(text, ", budget ", budget, ", not decided yet");
  }
}

std::string StateText(const v1::FillControl& control) {
  const std::string phrase = Phrase(control.state());
  std::string text = phrase;
  if (!control.text().empty()) {
    // The reason takes the place of what the state means in general.
    const std::string word = absl::StrReplaceAll(Word(control.state()), {{"_", " "}});
    const std::string reason = OneLine(control.text());
    text = absl::StartsWith(reason, word) ? reason : absl::StrCat(word, ": ", reason);
  }
  if (control.retry_in_ns() <= 0) return text;
  return absl::StrCat(text, "; tries again in ",
                      pipefill::FormatDuration(absl::Nanoseconds(control.retry_in_ns())));
}

}  // namespace pipefill
