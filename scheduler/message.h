// What the edges post to the scheduler loop.
//
// Answers run on the loop, after the batch that decided them is durable and published; they must
// not block.
//
// Pure.
#ifndef SCHEDULER_MESSAGE_H_
#define SCHEDULER_MESSAGE_H_

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job_control.h"
#include "scheduler/core/why.h"
#include "scheduler/journal/snapshot_frame.h"

namespace pipefill::scheduler {

struct Submission {
  JobId job;
  bool already_existed = false;
};

struct SubmitRequest {
  std::string key;  // empty = always a new job
  JobSpec spec;     // checked, and with all defaults
  std::function<void(absl::StatusOr<Submission>)> answer;
};

struct NewJob {
  std::string key;
  JobSpec spec;
};

// All of them or none; not empty.
struct SubmitManyRequest {
  std::vector<NewJob> jobs;
  std::function<void(absl::StatusOr<std::vector<Submission>>)> answer;
};

// Answered with the state as it is on disk.
struct BackupRequest {
  std::function<void(FrameWriter)> answer;
};

struct CancelRequest {
  JobId job;
  std::function<void(absl::Status)> answer;
};

struct MoveRequest {
  JobId job;
  std::optional<DeviceKey> to;  // nullopt = anywhere else
  std::function<void(absl::Status)> answer;
};

// The verb for each of the jobs, in order.
struct ControlRequest {
  JobVerb verb = JobVerb::kCancel;
  std::vector<JobId> jobs;
  std::string reason;  // may be empty
  std::function<void(std::vector<JobOutcome>)> answer;
};

// Why does the job wait? nullopt: it does not, or no plan has looked at it yet.
struct WhyRequest {
  JobId job;
  std::function<void(std::optional<WaitDetail>)> answer;
};

struct UpdateMainJobRequest {
  MainJobChange change;  // checked
  std::function<void(absl::StatusOr<MainJobSettings>)> answer;
};

// Something that an agent said.
struct AgentSaid {
  SessionId session;
  std::variant<AgentRegistered, AgentReported, AttemptStarted, AttemptEnded> message;
  // Runs when the message is dealt with, so that the stream reads the next one.
  std::function<void()> done;
};

// The agent's stream is no more.
struct StreamEnded {
  SessionId session;
};

using Message =
    std::variant<SubmitRequest, SubmitManyRequest, BackupRequest, CancelRequest, MoveRequest,
                 ControlRequest, WhyRequest, UpdateMainJobRequest, AgentSaid, StreamEnded>;

// Requests of users may be refused when too many wait; the rest is bounded by the number of
// streams.
bool IsUserRequest(const Message& message);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_MESSAGE_H_
