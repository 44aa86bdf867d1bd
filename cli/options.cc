#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/edit_distance.h"

namespace pipefill {
void AddOutputOption(CLI::App& command, bool with_name, OutputFormat* format) {
  static constexpr char kMeaning[] = "table (for people), json (for programs)";
  static constexpr char kMeaningWithName[] = "table (for people), json (for programs), name (ids)";
  command
      .add_option_function<std::string>(
          "-o,--output",
          [with_name, format](const std::string& word) {
            if (word == "table") {
              *format = OutputFormat::kTable;
            } else if (word == "json") {
              *format = OutputFormat::kJson;
            } else if (word == "name" && with_name) {
              *format = OutputFormat::kName;
            } else {
              throw CLI::ValidationError("--output",
                                         absl::StrCat("unknown format: ", word, "; choose table",
                                                      with_name ? ", json or name" : " or json"));
            }
          },
          with_name ? kMeaningWithName : kMeaning)
      ->type_name("FORMAT");
}

void AddJobArgument(CLI::App& command, std::string* job) {
  command.add_option("JOB", *job, "Number of the job; JOB_INDEX of a task")
      ->required()
      ->type_name("");
}

CLI::Option* AddNumberOption(CLI::App& command, const NumberOption& option, int32_t* value) {
  const auto parse = [option, value](const std::string& text) {
    if (absl::SimpleAtoi(text, value) && *value >= option.min) return;
    throw CLI::ValidationError(
        option.name,
        absl::StrCat("not a number: ", text, "; write a whole number from ", option.min));
  };
  return command.add_option_function<std::string>(option.name, parse, option.meaning)
      ->type_name("N");
}

absl::StatusOr<JobId> ParseJobId(absl::string_view text) {
  int64_t id = 0;
  if (!absl::SimpleAtoi(text, &id) || id < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("not the number of a job: ", text, "; 'pipefill jobs' lists them"));
  }
  return JobId(id);
}

std::string Suggest(absl::string_view word, const std::vector<std::string>& known) {
  // A third of the letters may be wrong. Of equals the one of the most similar length is best.
  std::pair<size_t, size_t> best_distance(word.size() / 3 + 2, 0);
  std::string best;
  for (const std::string& candidate : known) {
    const size_t longer = std::max(candidate.size(), word.size());
    const size_t shorter = std::min(candidate.size(), word.size());
    const std::pair distance(EditDistance(word, candidate), longer - shorter);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace pipefill
