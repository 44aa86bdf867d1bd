// Where the checkpoints of jobs lie: <checkpoint_dir>/job-<id>-<submitted>/, one folder per job and
// not per attempt, since each attempt goes on from those before. What is in it is the tasks' own
// business (client/fill/checkpoints.h).
//
// The time of submission is part of the name because another store of schedulerd may give out the
// same ids, and a job must never go on from the work of another.
//
// Thread-compatible: belongs to the agent loop.
#ifndef AGENT_TASKS_CHECKPOINT_FOLDERS_H_
#define AGENT_TASKS_CHECKPOINT_FOLDERS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "common/ids.h"

namespace pipefill {

class CheckpointFolders {
 public:
  explicit CheckpointFolders(std::string root) : root_(std::move(root)) {}

  // Made by the first task that saves.
  std::string FolderOf(JobId job, int64_t submitted_unix_ns) const;
  // The job is over. What cannot be removed is logged and stays.
  void Remove(JobId job, int64_t submitted_unix_ns) const;

 private:
  std::string root_;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_CHECKPOINT_FOLDERS_H_
