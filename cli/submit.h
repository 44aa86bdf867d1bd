// `pipefill submit [OPTIONS] -- PROGRAM ARGS...` and `pipefill submit FILE`: hands a fill job to
// schedulerd.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_SUBMIT_H_
#define CLI_SUBMIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/options.h"
#include "proto/types.pb.h"

namespace pipefill {

struct SubmitOptions {
  std::string file;  // "-" = standard input; "" = none
  std::string name;
  std::string memory;
  std::vector<std::string> env;  // NAME=VALUE
  std::string workdir;
  std::string profile;  // file
  int32_t samples = 0;  // 0 = not given
  std::string key;
  int32_t retries = -1;  // -1 = not given
  static constexpr int32_t kNoPriority = INT32_MIN;
  int32_t priority = kNoPriority;
  std::string tenant = {};
  std::string deadline = {};
  std::string min_runtime = {};
  std::string max_runtime = {};
  std::string start_before = {};
  std::vector<std::string> labels = {};  // KEY=VALUE, or KEY
  bool is_held = false;
  std::string again = {};  // number of a job whose spec is the new job's
  bool is_kept = false;    // never evicted
  bool may_be_infeasible = false;
  std::string array = {};  // as 0-99%10
  std::vector<std::string> after_ok = {};
  std::vector<std::string> after_any = {};
  std::vector<std::string> after_not_ok = {};
  bool is_process = false;
  bool is_waiting = false;
  OutputFormat format = OutputFormat::kTable;
};

// The job that file, options and the words after `--` describe; the later ones go over the earlier.
// Relative folders start from context.working_folder. InvalidArgument names the option or file,
// line and field.
absl::StatusOr<v1::JobSpec> MakeJobSpec(const SubmitOptions& options, CommandContext& context);
// The same, with `spec` in place of the file.
absl::StatusOr<v1::JobSpec> ChangeJobSpec(v1::JobSpec spec, const SubmitOptions& options,
                                          const CommandContext& context);

void AddSubmitCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_SUBMIT_H_
