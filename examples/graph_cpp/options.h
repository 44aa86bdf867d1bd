// Command line of the graph job.
//
// Pure.
#ifndef EXAMPLES_GRAPH_CPP_OPTIONS_H_
#define EXAMPLES_GRAPH_CPP_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace pipefill {

struct GraphJobOptions {
  std::string result_path = "result.json";
  std::string output_path;  // if not given: result_path + ".txt"
  uint64_t rounds = 600;
};

// `arguments` without the program's name. Returns one line for people, without line end, if they
// make no sense; `options` is then undefined. Returns an empty text if all is well.
std::string ParseGraphJobOptions(const std::vector<std::string>& arguments,
                                 GraphJobOptions& options);

}  // namespace pipefill

#endif  // EXAMPLES_GRAPH_CPP_OPTIONS_H_
