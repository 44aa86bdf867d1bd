// Which moves of the state machines have been seen, of those that are legal.
//
// Thread-compatible.
#ifndef SIMULATOR_FAULTS_MOVES_H_
#define SIMULATOR_FAULTS_MOVES_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/tasks/task_machine.h"
#include "scheduler/core/job_machine.h"

namespace pipefill::simulator {

class Moves {
 public:
  using JobMove = std::pair<scheduler::JobPhase, scheduler::JobInput>;
  using TaskMove = std::pair<TaskPhase, TaskPhase>;

  void OnJob(scheduler::JobPhase phase, scheduler::JobInput input) { jobs_.emplace(phase, input); }
  void OnTask(TaskPhase before, TaskPhase after) {
    if (before != after) tasks_.emplace(before, after);
  }
  void Add(const Moves& other);

  // Of kJobTable, all that are not refused; and of the drawing in task_machine.h.
  static std::vector<JobMove> LegalJobMoves();
  static std::vector<TaskMove> LegalTaskMoves();

  // Share of the legal moves of both.
  double share() const;
  // Those that are missing, for people.
  std::vector<std::string> missing() const;
  // Those seen that are not legal.
  std::vector<std::string> illegal() const;
  // "j12 t3 ...": for handing them from one process to another.
  std::string Encode() const;
  // The legal ones by such codes, with their names for people.
  static std::map<std::string, std::string> LegalByCode();

 private:
  std::set<JobMove> jobs_;
  std::set<TaskMove> tasks_;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_MOVES_H_
