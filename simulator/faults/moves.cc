#include "simulator/faults/moves.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

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

std::string CodeOf(const Moves::JobMove& move) {
  return absl::StrCat("j", static_cast<int>(move.first) * kInputs + static_cast<int>(move.second));
}
std::string CodeOf(const Moves::TaskMove& move) {
  return absl::StrCat("t", static_cast<int>(move.first) * kTasks + static_cast<int>(move.second));
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
          {kFrozen, kAttached},      {kFrozen, kUnattached},   {kFrozen, kStopping},
          {kFrozen, kEnded},         {kStopping, kEnded}};
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
  for (const JobMove& move : jobs_) absl::StrAppend(&text, " ", CodeOf(move));
  for (const TaskMove& move : tasks_) absl::StrAppend(&text, " ", CodeOf(move));
  return text;
}

std::map<std::string, std::string> Moves::LegalByCode() {
  std::map<std::string, std::string> names;
  for (const JobMove& move : LegalJobMoves()) names[CodeOf(move)] = NameOf(move);
  for (const TaskMove& move : LegalTaskMoves()) names[CodeOf(move)] = NameOf(move);
  return names;
}

}  // namespace pipefill::simulator
