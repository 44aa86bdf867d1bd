// What ClusterState refuses, and why. The changes themselves are in cluster_state.cc.
#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/quantity.h"
#include "common/status.h"
#include "planner/eviction.h"
#include "planner/feasibility.h"
#include "scheduler/core/admission.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/job_control.h"

namespace pipefill::scheduler {
namespace {

std::string Describe(const DeviceKey& device) {
  return absl::StrCat("node ", device.node, ", ", device.name);
}

}  // namespace

absl::Status ClusterState::Check(const Event& event, Instant now) const {
  RETURN_IF_ERROR(CheckReplay(event));
  return std::visit(
      Overloaded{
          [&](const JobSubmitted& e) {
            RETURN_IF_ERROR(CheckRoomFor(1));
            RETURN_IF_ERROR(tenants_.CheckSubmission(e.spec.tenant));
            return CheckSpec(e.spec);
          },
          [&](const CancelRequested&) { return absl::OkStatus(); },
          [&](const MoveRequested&) { return absl::OkStatus(); },
          [&](const EvictionRequested& e) { return CheckEviction(e, now); },
          [&](const AttemptPlaced& e) { return CheckPlacement(e, now); },
          [&](const AttemptStarted&) { return absl::OkStatus(); },
          [&](const AttemptEnded&) { return absl::OkStatus(); },
          [&](const MainJobUpdated& e) { return CheckMainJob(e); },
          [&](const HistoryDropped&) { return absl::OkStatus(); },
          [&](const JobHeld&) { return absl::OkStatus(); },
          [&](const JobReleased&) { return absl::OkStatus(); },
          [&](const RequeueRequested&) { return absl::OkStatus(); },
          [&](const StartExpired&) { return absl::OkStatus(); },
          [&](const ArrayAdmitted& e) {
            return CheckRoomFor(OpenTasksIn(*jobs_.Find(e.array), e.first, e.end));
          },
          [&](const AgentRegistered& e) { return CheckRegistration(e, now); },
          [&](const AgentReported& e) {
            if (nodes_.FindBySession(e.session) != nullptr) return absl::OkStatus();
            return absl::AbortedError("the agent's stream was replaced; dial again");
          },
          [&](const AgentDisconnected&) { return absl::OkStatus(); },
          [&](const AgentLost& e) {
            if (LiveAttemptsOf(e.node).empty()) return absl::OkStatus();
            return absl::FailedPreconditionError("attempts of the agent have not ended yet");
          },
      },
      event);
}

absl::Status ClusterState::CheckReplay(const Event& event) const {
  return std::visit(
      Overloaded{
          [&](const JobSubmitted& e) { return CheckSubmissionReplay(e); },
          [&](const CancelRequested& e) { return CheckCancel(e.job); },
          [&](const MoveRequested& e) { return CheckMove(e.job); },
          [&](const EvictionRequested& e) { return CheckEvictionReplay(e); },
          [&](const AttemptPlaced& e) { return CheckPlacementReplay(e); },
          [&](const AttemptStarted& e) { return CheckLive(e.attempt); },
          [&](const AttemptEnded& e) { return CheckLive(e.attempt); },
          [&](const MainJobUpdated&) { return absl::OkStatus(); },
          [&](const HistoryDropped& e) { return CheckDrop(e); },
          [&](const JobHeld& e) { return CheckInput(e.job, JobInput::kHeld); },
          [&](const JobReleased& e) { return CheckInput(e.job, JobInput::kReleased); },
          [&](const RequeueRequested& e) { return CheckInput(e.job, JobInput::kRequeueRequested); },
          [&](const StartExpired& e) { return CheckStartExpired(e.job); },
          [&](const ArrayAdmitted& e) { return CheckAdmission(jobs(), e); },
          [&](const AgentRegistered&) { return absl::OkStatus(); },
          [&](const AgentReported&) { return absl::OkStatus(); },
          [&](const AgentDisconnected&) { return absl::OkStatus(); },
          [&](const AgentLost&) { return absl::OkStatus(); },
      },
      event);
}

absl::Status ClusterState::CheckLive(const AttemptKey& key) const {
  ASSIGN_OR_RETURN(const Job* job, FindJob(key.job));
  if (HasLiveAttempt(job->phase) && job->live_key() == key) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("attempt ", key.attempt.value(), " of job ",
                                         key.job.value(), " with fence ", key.fence.value(),
                                         " is not the current one; drop it"));
}

absl::Status ClusterState::CheckCancel(JobId id) const {
  const std::optional<TaskPlace> task = FindTask(jobs(), id);
  if (jobs_.Find(id) == nullptr && task.has_value()) return CheckCancelTask(*task);
  return CheckInput(id, JobInput::kCancelRequested);
}

absl::Status ClusterState::CheckInput(JobId id, JobInput input) const {
  ASSIGN_OR_RETURN(const Job* job, FindJob(id));
  return CheckWish(*job, input);
}

absl::Status ClusterState::CheckStartExpired(JobId id) const {
  ASSIGN_OR_RETURN(const Job* job, FindJob(id));
  const bool is_meant =
      job->spec->start_before.has_value() && !job->has_started() && !job->is_array();
  if (is_meant && NextPhase(job->phase, JobInput::kStartExpired).has_value()) {
    return absl::OkStatus();
  }
  return absl::AbortedError(absl::StrCat("job ", id.value(), " does not wait for its first start"));
}

absl::Status ClusterState::CheckMove(JobId id) const {
  ASSIGN_OR_RETURN(const Job* job, FindJob(id));
  if (HasLiveAttempt(job->phase) && job->phase != JobPhase::kStopping) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "job ", id.value(), " is ", PhaseName(job->phase), "; only a running one can be moved"));
}

absl::Status ClusterState::CheckSubmissionReplay(const JobSubmitted& event) const {
  if (event.job != next_job_id()) {
    return absl::AbortedError(absl::StrCat("job id ", event.job.value(), " is not the next one, ",
                                           next_job_id().value()));
  }
  if (!event.key.empty() && jobs_by_key_.contains(event.key)) {
    return absl::AlreadyExistsError(absl::StrCat("key \"", event.key, "\" is in use"));
  }
  return CheckTies(jobs(), event.spec);
}

absl::Status ClusterState::CheckRoomFor(int64_t jobs) const {
  if (jobs_.size() + jobs <= limits_.jobs_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the store holds ", jobs_.size(), " jobs and may hold ", limits_.jobs_max,
                   "; raise jobs_max, or lower history_jobs_max, in the configuration"));
}

absl::Status ClusterState::CheckSpec(const JobSpec& spec) const {
  RETURN_IF_ERROR(CheckTies(jobs(), spec));
  return CheckFitsLargest(spec, nodes_.FindLargest());
}

absl::Status ClusterState::CheckEvictionReplay(const EvictionRequested& event) const {
  RETURN_IF_ERROR(CheckLive(event.victim));
  ASSIGN_OR_RETURN(const Job* beneficiary, FindJob(event.beneficiary));
  if (beneficiary->phase == JobPhase::kPending && !beneficiary->is_held) {
    return CheckInLine(jobs(), *beneficiary);
  }
  return absl::AbortedError(absl::StrCat(
      "job ", event.beneficiary.value(), " is ",
      beneficiary->is_held ? "held"
                           : absl::StrCat(PhaseName(beneficiary->phase), ", not pending")));
}

absl::Status ClusterState::CheckEviction(const EvictionRequested& event, Instant now) const {
  const Job& victim = *jobs_.Find(event.victim.job);
  const DeviceKey& device = victim.live_attempt().device;
  const LiveAttempt& live = *LiveAttemptsOf(device.node).Find(device.name, event.victim.fence);
  if (MayEvict(jobs_.Find(event.beneficiary)->spec->priority, ResidentOf(live), now)) {
    return absl::OkStatus();
  }
  return absl::AbortedError(absl::StrCat("job ", victim.id.value(), " may not be evicted for job ",
                                         event.beneficiary.value(), " any more"));
}

absl::Status ClusterState::CheckPlacementReplay(const AttemptPlaced& event) const {
  ASSIGN_OR_RETURN(const Job* job, FindJob(event.attempt.job));
  if (!NextPhase(job->phase, JobInput::kPlaced).has_value()) {
    return absl::AbortedError(
        absl::StrCat("job ", job->id.value(), " is ", PhaseName(job->phase), ", not pending"));
  }
  if (job->is_held) return absl::AbortedError(absl::StrCat("job ", job->id.value(), " is held"));
  if (event.attempt != NextAttempt(job->id)) {
    return absl::AbortedError(absl::StrCat("attempt ", event.attempt.attempt.value(), " of job ",
                                           job->id.value(), " with fence ",
                                           event.attempt.fence.value(), " is not the next one"));
  }
  return CheckInLine(jobs(), *job);
}

absl::Status ClusterState::CheckPlacement(const AttemptPlaced& event, Instant now) const {
  const Node* node = nodes_.Find(event.device.node);
  if (node == nullptr || !IsHeard(*node, now)) {
    return absl::AbortedError(absl::StrCat("node ", event.device.node, " is away"));
  }
  const std::optional<size_t> device = node->IndexOf(event.device.name);
  if (!device.has_value()) {
    return absl::AbortedError(absl::StrCat(Describe(event.device), " is gone"));
  }
  const DeviceSnapshot left = SnapshotOf(*node, *device, now);
  const int64_t need_bytes = jobs_.Find(event.attempt.job)->memory_bytes;
  if (!IsOpen(left) || need_bytes > left.memory_free_bytes) {
    return absl::AbortedError(
        absl::StrCat(Describe(event.device), " cannot take job ", event.attempt.job.value(),
                     " any more: resident=", left.resident, "/", left.resident_limit,
                     " free=", FormatBytes(left.memory_free_bytes)));
  }
  return absl::OkStatus();
}

absl::Status ClusterState::CheckMainJob(const MainJobUpdated& event) const {
  const std::string& name = event.settings.main_job;
  const absl::btree_set<std::string> attached = AttachedMainJobs(nodes_.nodes());
  if (!attached.contains(name) && !main_jobs_.Contains(name)) {
    return absl::NotFoundError(absl::StrCat(
        "no main job \"", name, "\" is attached",
        attached.empty() ? "; none is"
                         : absl::StrCat("; attached: ", absl::StrJoin(attached, ", "))));
  }
  if (main_jobs_.HasRoomFor(name)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("something is set for ", limits_.main_jobs_max,
                   " main jobs, which is the limit; unset what ended ones do not need any more"));
}

absl::Status ClusterState::CheckDrop(const HistoryDropped& event) const {
  JobId last;
  for (JobId id : event.jobs) {
    ASSIGN_OR_RETURN(const Job* job, FindJob(id));
    if (!IsTerminal(job->phase)) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", id.value(), " is ", PhaseName(job->phase), "; it stays"));
    }
    if (id <= last) return absl::InvalidArgumentError("dropped jobs are not in order of their ids");
    last = id;
  }
  return absl::OkStatus();
}

absl::Status ClusterState::CheckRegistration(const AgentRegistered& event, Instant now) const {
  const Node* node = nodes_.Find(event.node);
  if (node == nullptr || !node->is_connected() || node->boot_id == event.boot_id) {
    return absl::OkStatus();
  }
  if (now - node->heard_at >= limits_.agent_lease) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "another agent with the node name ", event.node, " is alive, heard of ",
      pipefill::FormatDuration(now - node->heard_at), " ago; give each agentd its own node"));
}

}  // namespace pipefill::scheduler
