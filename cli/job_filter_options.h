// The options with which `jobs`, `cancel`, `hold`, `release` and `requeue` pick jobs.
//
// Pure.
#ifndef CLI_JOB_FILTER_OPTIONS_H_
#define CLI_JOB_FILTER_OPTIONS_H_

#include <string>
#include <vector>

#include "proto/types.pb.h"

namespace CLI {
class App;
}  // namespace CLI

namespace pipefill {

// What is empty takes all.
struct JobFilterOptions {
  std::string selector;
  std::string tenant;
  std::string name;
  std::vector<v1::JobState> states;
  bool is_held_only = false;

  bool is_given() const {
    return !selector.empty() || !tenant.empty() || !name.empty() || !states.empty() || is_held_only;
  }
};

// Adds -l, --tenant, --name, --state and --held. `options` outlives the parser.
void AddJobFilterOptions(CLI::App& command, JobFilterOptions* options);

}  // namespace pipefill

#endif  // CLI_JOB_FILTER_OPTIONS_H_
