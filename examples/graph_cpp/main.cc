// Fill job in C++: words that are related to each other in the licence texts of this machine, by
// PageRank over the graph of words that stand close together.
//
//   pipefill submit --name graph -- graph --result r.json --output related_words.txt
//
// Without agentd it runs alone and writes the same file, bit for bit. Killed or moved, it goes on
// where it was.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "client/pipefill.hpp"
#include "examples/graph_cpp/options.h"
#include "examples/graph_cpp/related_words.h"
#include "examples/graph_cpp/sha256.h"
#include "examples/graph_cpp/word_graph.h"

namespace pipefill {
namespace {

constexpr char kTextFolder[] = "/usr/share/common-licenses";
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitStopped = 3;

int Fail(int code, const std::string& line) {
  std::fprintf(stderr, "%s\n", line.c_str());
  return code;
}

// All texts, by name; links repeat a text and are left out. Empty if there are none.
std::string ReadTexts() {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kTextFolder, error)) {
    if (entry.is_regular_file(error) && !entry.is_symlink(error)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    text.append(std::istreambuf_iterator<char>(file), {});
    text += '\n';
  }
  return text;
}

std::string DescribeResult(const pf_task_stats& stats, const std::string& sha256) {
  return "{\"units\": " + std::to_string(stats.units) +
         ", \"unit_cpu_ns\": " + std::to_string(stats.unit_cpu_ns) +
         ", \"unit_wall_ns\": " + std::to_string(stats.unit_wall_ns) + ", \"sha256\": \"" + sha256 +
         "\"}\n";
}

// The file appears complete or not at all.
bool WriteFile(const std::string& path, const std::string& content) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished, std::ios::binary);
  file << content;
  file.close();
  std::error_code error;
  if (file.good()) std::filesystem::rename(unfinished, path, error);
  return file.good() && !error;
}

// The output so far, its length first, and then the state of the work.
std::string SaveAll(const std::string& output, const RelatedWords& work) {
  const uint64_t size = output.size();
  std::string state(sizeof(size), '\0');
  std::memcpy(state.data(), &size, sizeof(size));
  return state + output + work.State();
}

bool LoadAll(std::string_view state, std::string& output, RelatedWords& work) {
  uint64_t size = 0;
  if (state.size() < sizeof(size)) return false;
  std::memcpy(&size, state.data(), sizeof(size));
  state.remove_prefix(sizeof(size));
  if (state.size() < size || !work.Restore(state.substr(size))) return false;
  output = state.substr(0, size);
  return true;
}

int Run(const GraphJobOptions& options) {
  const std::string text = ReadTexts();
  if (text.empty())
    return Fail(kExitFailed, std::string("no licence texts: folder=") + kTextFolder);
  const WordGraph graph = BuildWordGraph(text, {});
  RelatedWords work(graph, {.rounds = options.rounds});
  std::string output;

  FillTask task;
  if (task.is_refused()) return Fail(kExitFailed, "refused by agentd: " + task.error());
  const int code = task.SetCheckpoint(
      {.save = [&] { return SaveAll(output, work); },
       .load = [&](std::string_view state) { return LoadAll(state, output, work); }});
  if (code == PF_BAD_ARGUMENT) return Fail(kExitFailed, task.error());
  while (!work.is_done() && task.NextUnit()) {
    if (const std::optional<std::string> line = work.RunUnit()) output += *line + "\n";
  }
  task.EndUnit();

  if (!work.is_done()) return Fail(kExitStopped, "stopped before the end");
  Sha256 sha256;
  sha256.Update(output);
  const std::string result = DescribeResult(task.stats(), sha256.HexDigest());
  if (!WriteFile(options.output_path, output) || !WriteFile(options.result_path, result)) {
    return Fail(kExitFailed, "cannot write: " + options.output_path + ", " + options.result_path);
  }
  std::fputs(result.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace pipefill

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  pipefill::GraphJobOptions options;
  const std::string problem = pipefill::ParseGraphJobOptions(arguments, options);
  if (!problem.empty()) return pipefill::Fail(pipefill::kExitUsage, problem);
  return pipefill::Run(options);
}
