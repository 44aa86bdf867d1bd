#include "cli/job_filter_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "cli/words.h"

namespace pipefill {
namespace {

constexpr std::array kStates = {v1::JOB_STATE_PENDING, v1::JOB_STATE_RUNNING,
                                v1::JOB_STATE_SUCCEEDED, v1::JOB_STATE_FAILED,
                                v1::JOB_STATE_CANCELLED};

}  // namespace

void AddJobFilterOptions(CLI::App& command, JobFilterOptions* options) {
  command.add_option("-l,--selector", options->selector, "By labels, as team=a,tier!=b,gpu,!draft")
      ->type_name("SELECTOR");
  command.add_option("--tenant", options->tenant, "Only those of one tenant")->type_name("NAME");
  command.add_option("--name", options->name, "Only those with that name")->type_name("NAME");
  command
      .add_option_function<std::vector<std::string>>(
          "--state",
          [options](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              const auto state = std::find_if(kStates.begin(), kStates.end(),
                                              [&](v1::JobState s) { return Word(s) == word; });
              if (state == kStates.end()) {
                throw CLI::ValidationError(
                    "--state", absl::StrCat("unknown state: ", word, "; choose pending, running, ",
                                            "succeeded, failed or cancelled"));
              }
              options->states.push_back(*state);
            }
          },
          "Only those in a state; may be repeated")
      ->type_name("STATE")
      ->allow_extra_args(false);
  command.add_flag("--held", options->is_held_only, "Only those that are held");
}

}  // namespace pipefill
