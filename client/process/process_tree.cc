#include "client/process/process_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <set>

#include "client/process/small_file.h"

namespace pipefill::sdk {
namespace {

// Fields of /proc/PID/stat behind the program's name; the state is the first, number 0.
constexpr size_t kChildrenUserField = 13;
constexpr size_t kChildrenSystemField = 14;

// Takes the next word off `text`; empty at its end.
std::string_view TakeWord(std::string_view* text) {
  const size_t begin = std::min(text->find_first_not_of(" \n"), text->size());
  const size_t end = std::min(text->find_first_of(" \n", begin), text->size());
  const std::string_view word = text->substr(begin, end - begin);
  text->remove_prefix(end);
  return word;
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, *number);
  return failure == std::errc() && rest == end;
}

// Entries of `folder` that are numbers.
std::vector<pid_t> ListNumbers(const std::string& folder) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(folder.c_str()), closedir);
  if (stream == nullptr) return numbers;
  while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
    pid_t number = 0;
    if (ParseNumber(entry->d_name, &number)) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

bool ParseProcessSight(std::string_view text, ProcessSight* sight) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return false;
  if (!ParseNumber(text.substr(0, text.find(' ')), &sight->pid)) return false;
  text.remove_prefix(name_end + 1);
  uint64_t ticks = 0;
  for (size_t field = 0; field <= kChildrenSystemField; ++field) {
    const std::string_view word = TakeWord(&text);
    if (field == 0 && word.size() != 1) return false;
    if (field == 0) sight->state = word[0];
    if (field != kChildrenUserField && field != kChildrenSystemField) continue;
    uint64_t part = 0;
    if (!ParseNumber(word, &part)) return false;
    ticks += part;
  }
  sight->children_cpu_ns = ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
  return true;
}

std::vector<pid_t> ProcessTree::ChildrenOf(pid_t pid) const {
  std::vector<pid_t> children;
  const std::string threads = proc_folder_ + "/" + std::to_string(pid) + "/task";
  for (const pid_t thread : ListNumbers(threads)) {
    const std::string text = ReadSmallFile(threads + "/" + std::to_string(thread) + "/children");
    std::string_view rest = text;
    for (std::string_view word = TakeWord(&rest); !word.empty(); word = TakeWord(&rest)) {
      pid_t child = 0;
      if (ParseNumber(word, &child)) children.push_back(child);
    }
  }
  return children;
}

std::vector<ProcessSight> ProcessTree::Look() const {
  std::set<pid_t> found;
  std::vector<pid_t> open = {root_};
  while (!open.empty() && found.size() < kProcessesMax) {
    const pid_t pid = open.back();
    open.pop_back();
    for (const pid_t child : ChildrenOf(pid)) {
      if (found.insert(child).second) open.push_back(child);
    }
  }
  std::vector<ProcessSight> sights;
  for (const pid_t pid : found) {
    const std::string text = ReadSmallFile(proc_folder_ + "/" + std::to_string(pid) + "/stat");
    ProcessSight sight;
    // Gone since: it may have left children behind that this look has missed.
    if (!ParseProcessSight(text, &sight)) sight = {.pid = pid, .state = 'X'};
    sights.push_back(sight);
  }
  return sights;
}

}  // namespace pipefill::sdk
