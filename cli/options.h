// Options and arguments that several commands share.
//
// Pure.
#ifndef CLI_OPTIONS_H_
#define CLI_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/ids.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace pipefill {

enum class OutputFormat {
  kTable,  // for people
  kJson,   // for programs: see cli/json.h
  kName,   // ids alone, one a line
};

// Adds `-o`; `with_name` says whether ids alone make sense. `format` outlives the parser.
void AddOutputOption(CLI::App& command, bool with_name, OutputFormat* format);
// Adds the argument JOB, needed. `job` outlives the parser.
void AddJobArgument(CLI::App& command, std::string* job);

struct NumberOption {
  std::string name;
  std::string meaning;
  int32_t min = 1;
};
// Adds an option for a whole number N of at least `min` that fits 32 bits. `value` outlives the
// parser.
CLI::Option* AddNumberOption(CLI::App& command, const NumberOption& option, int32_t* value);

// InvalidArgument, with where to look, unless `text` is a positive number.
absl::StatusOr<JobId> ParseJobId(absl::string_view text);

// The word of `known` that `word` was most likely meant to be; "" if none is close.
std::string Suggest(absl::string_view word, const std::vector<std::string>& known);

}  // namespace pipefill

#endif  // CLI_OPTIONS_H_
