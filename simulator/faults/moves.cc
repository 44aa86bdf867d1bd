#include "simulator/faults/moves.h"

#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace pipefill::simulator {
namespace {

using scheduler::JobInput;
using scheduler::JobPhase;

constexpr std::array kTaskPhases = {TaskPhase::kLaunching, TaskPhase::kUnattached,
                                    TaskPhase::kAttached,  TaskPhase::kFrozen,
                                    TaskPhase::kStopping,  TaskPhase::kEnded};
constexpr std::array kTaskPhaseNames = {"launching", "unattached", "attached",
                                        "frozen",    "stopping",   "ended"};
constexpr int kInputs = static_cast<int>(scheduler::kAllJobInputs.size());
constexpr int kPhases = static_cast<int>(scheduler::kAllJobPhases.size());
constexpr int kTasks = static_cast<int>(kTaskPhases.size());

// Allowed, and never written down: somebody says a second time what is known.
bool IsRepeat(JobPhase phase, JobInput input) {
  if (input == JobInput::kStarted) return phase == JobPhase::kRunning;
  if (input != JobInput::kCancelRequested) return false;
  return phase == JobPhase::kStopping || phase == JobPhase::kCancelled;
}

std::string NameOf(const Moves::JobMove& move) {
  return absl::StrCat("job ", scheduler::PhaseName(move.first), " x input ",
                      static_cast<int>(move.second));
}
std::string NameOf(const Moves::TaskMove& move) {
  return absl::StrCat("task ", kTaskPhaseNames[static_cast<size_t>(move.first)], " -> ",
                      kTaskPhaseNames[static_cast<size_t>(move.second)]);
}

template <typename Move>
void AddMissing(const std::vector<Move>& wanted, const std::set<Move>& seen,
                std::vector<std::string>* names) {
  for (const Move& move : wanted) {
    if (!seen.contains(move)) names->push_back(NameOf(move));
  }
}

}  // namespace

void Moves::Add(const Moves& other) {
  jobs_.insert(other.jobs_.begin(), other.jobs_.end());
  tasks_.insert(other.tasks_.begin(), other.tasks_.end());
}

std::vector<Moves::JobMove> Moves::LegalJobMoves() {
  std::vector<JobMove> moves;
  for (const JobPhase phase : scheduler::kAllJobPhases) {
    for (const JobInput input : scheduler::kAllJobInputs) {
      if (EdgeOf(phase, input) == scheduler::JobEdge::kNone || IsRepeat(phase, input)) continue;
      moves.emplace_back(phase, input);
    }
  }
  return moves;
}

std::vector<Moves::TaskMove> Moves::LegalTaskMoves() {
  using enum TaskPhase;
  return {{kLaunching, kUnattached}, {kLaunching, kAttached},  {kLaunching, kStopping},
          {kLaunching, kEnded},      {kUnattached, kAttached}, {kUnattached, kFrozen},
          {kUnattached, kStopping},  {kUnattached, kEnded},    {kAttached, kUnattached},
          {kAttached, kFrozen},      {kAttached, kStopping},   {kAttached, kEnded},
          {kFrozen, kAttached},      {kFrozen, kStopping},     {kFrozen, kEnded},
          {kStopping, kEnded}};
}

double Moves::share() const {
  const auto legal = static_cast<double>(LegalJobMoves().size() + LegalTaskMoves().size());
  return (legal - static_cast<double>(missing().size())) / legal;
}

std::vector<std::string> Moves::missing() const {
  std::vector<std::string> names;
  AddMissing(LegalJobMoves(), jobs_, &names);
  AddMissing(LegalTaskMoves(), tasks_, &names);
  return names;
}

std::vector<std::string> Moves::illegal() const {
  std::vector<std::string> names;
  const std::vector<JobMove> jobs = LegalJobMoves();
  const std::vector<TaskMove> tasks = LegalTaskMoves();
  for (const JobMove& move : jobs_) {
    if (std::find(jobs.begin(), jobs.end(), move) == jobs.end()) names.push_back(NameOf(move));
  }
  for (const TaskMove& move : tasks_) {
    if (std::find(tasks.begin(), tasks.end(), move) == tasks.end()) names.push_back(NameOf(move));
  }
  return names;
}

std::string Moves::Encode() const {
  std::string text;
  for (const auto& [phase, input] : jobs_) {
    absl::StrAppend(&text, " j", static_cast<int>(phase) * kInputs + static_cast<int>(input));
  }
  for (const auto& [before, after] : tasks_) {
    absl::StrAppend(&text, " t", static_cast<int>(before) * kTasks + static_cast<int>(after));
  }
  return text;
}

bool Moves::AddEncoded(const std::string& text) {
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    int number = 0;
    if (!absl::SimpleAtoi(word.substr(1), &number) || number < 0) return false;
    if (word[0] == 'j' && number < kPhases * kInputs) {
      jobs_.emplace(static_cast<JobPhase>(number / kInputs),
                    static_cast<JobInput>(number % kInputs));
    } else if (word[0] == 't' && number < kTasks * kTasks) {
      tasks_.emplace(static_cast<TaskPhase>(number / kTasks),
                     static_cast<TaskPhase>(number % kTasks));
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace pipefill::simulator
