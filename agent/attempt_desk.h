// Where schedulerd and the attempts of this node meet: what schedulerd wants started and stopped,
// and the news of it, told until schedulerd has it.
//
//   Launch, Stop --> host (starts and stops) --> started, ended --> on disk --> told ...
//   acknowledged
//
// Commands may come twice, late, and for attempts that never were here; each is answered.
//
// Runs on the agent loop, or on that of a simulated node.
#ifndef AGENT_ATTEMPT_DESK_H_
#define AGENT_ATTEMPT_DESK_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/end_reports.h"
#include "agent/tasks/attempt.h"
#include "agent/tasks/task_machine.h"
#include "common/ids.h"
#include "common/loop.h"
#include "proto/agent.pb.h"

namespace pipefill {

// What the desk needs of its node.
class AttemptHost {
 public:
  virtual ~AttemptHost() = default;

  // Whether its device is here, and has a seat and memory left by the tasks that are there, those
  // that are being stopped included. The text of an error is for people.
  virtual absl::Status CheckRoom(const AttemptSpec& spec) const = 0;
  // REQUIRES: CheckRoom has just said OK. Its start and its end are told to the desk, also if it
  // cannot be started.
  virtual void StartTask(const AttemptSpec& spec) = 0;
  // False if there is no such attempt.
  virtual bool StopTask(const AttemptKey& key, const StopRequest& request) = 0;
  // Null if there is none. Valid until the attempt ends.
  virtual const AttemptSpec* FindTask(const AttemptKey& key) const = 0;
  virtual std::vector<AttemptKey> LiveTasks() const = 0;
  // 0 if it has no process yet.
  virtual pid_t PidOf(const AttemptKey& key) const = 0;

  // Puts the end, which is in the attempt's record, on disk; `done` may come on any thread.
  virtual void SyncEnd(const AttemptKey& key, std::function<void(const absl::Status&)> done) = 0;
  // The next agentd need not know of the attempt any more.
  virtual void RemoveRecord(const AttemptKey& key) = 0;
  virtual void RemoveCheckpoints(JobId job, int64_t submitted_unix_ns) = 0;
  // To schedulerd; dropped unless it is there.
  virtual void Tell(v1::AgentMessage message) = 0;
};

// Of a device, or of its tasks together.
struct TaskRoom {
  int64_t memory_bytes = 0;
  int32_t seats = 0;
};
// ResourceExhausted, with the numbers, if the task does not fit beside those that have `used`. What
// the main job needs is schedulerd's to reckon with: it may have grown since.
absl::Status CheckDeviceRoom(const TaskRoom& device, const TaskRoom& used, const AttemptSpec& spec);

class AttemptDesk {
 public:
  // Both outlive the desk.
  AttemptDesk(Loop& loop, AttemptHost& host);

  // --- From schedulerd ---

  void Launch(const v1::LaunchAttempt& launch);
  void Stop(const v1::StopAttempt& stop);
  void OnEndAcknowledged(const v1::EndAcknowledged& acknowledged);
  // What it must know at first: attempts that run, and those whose end is on its way, which must
  // not be taken for a loss.
  std::vector<AttemptKey> Unsettled() const;

  // --- From the node ---

  void OnStarted(const AttemptKey& key, pid_t pid);
  // Of an attempt that has a record: told once the end is on disk.
  void OnEnded(const AttemptKey& key, const AttemptEnd& end, const v1::FillProgress& progress);
  // Again, what is not acknowledged. Now and then, and when schedulerd is back.
  void ResendEnds();
  // Nothing is started from now on.
  void Close() { is_closed_ = true; }

  // Schedulerd has all ends.
  bool is_settled() const { return ends_.is_empty(); }

 private:
  void StopOlderAttempts(const AttemptKey& key);
  void OnEndKept(const AttemptKey& key, const absl::Status& status);
  // Of one that never was here: if it is forgotten, the next agentd knows as much.
  void AnswerEnd(const AttemptKey& key, const AttemptEnd& end);
  void AddEnd(EndReport report);
  void TellEnd(const v1::AttemptEnded& ended);

  Loop& loop_;
  AttemptHost& host_;
  EndReports ends_;
  bool is_closed_ = false;
};

}  // namespace pipefill

#endif  // AGENT_ATTEMPT_DESK_H_
