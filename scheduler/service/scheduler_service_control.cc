// The verbs for many jobs at once.
#include <utility>
#include <vector>

#include "common/status.h"
#include "common/status_grpc.h"
#include "scheduler/convert/convert.h"
#include "scheduler/service/scheduler_service.h"

namespace pipefill::scheduler {
namespace {

v1::JobOutcomeCode ToProto(JobOutcome::Code code) {
  switch (code) {
    case JobOutcome::Code::kDone:
      return v1::JOB_OUTCOME_DONE;
    case JobOutcome::Code::kUnchanged:
      return v1::JOB_OUTCOME_UNCHANGED;
    case JobOutcome::Code::kRefused:
      return v1::JOB_OUTCOME_REFUSED;
  }
  return v1::JOB_OUTCOME_UNSPECIFIED;
}

void Fill(const std::vector<JobOutcome>& outcomes, v1::ControlJobsResponse* response) {
  for (const JobOutcome& outcome : outcomes) {
    v1::JobOutcome* to = response->add_outcomes();
    to->set_job_id(outcome.job.value());
    to->set_outcome(ToProto(outcome.code));
    if (!absl::IsNotFound(outcome.refusal)) to->set_state(StateOf(outcome.phase));
    to->set_text(outcome.text);
    to->set_error_code(static_cast<int>(outcome.refusal.code()));
  }
}

JobOutcome OutcomeIn(const ClusterView& view, JobId id, JobVerb verb) {
  const absl::StatusOr<const Job*> job = FindJob(view, id);
  if (job.ok()) return OutcomeOf(**job, verb);
  const std::optional<TaskPlace> task = FindTask(view.jobs, id);
  if (verb != JobVerb::kCancel || !task.has_value()) return RefusedOutcome(id, job.status());
  return OutcomeOfLaterCancel(id, *task);
}

}  // namespace

absl::StatusOr<std::vector<JobId>> SchedulerService::FindControlled(
    const v1::ControlJobsRequest& request, const ClusterView& view,
    v1::ControlJobsResponse* response) {
  std::vector<JobId> jobs;
  if (!request.has_filter()) {
    for (const int64_t id : request.job_ids()) jobs.emplace_back(id);
    return jobs;
  }
  ASSIGN_OR_RETURN(const JobPageRequest page_request, ReadControlFilter(request));
  const JobPage page = ListJobsFromOldest(view, page_request);
  for (const Job* job : page.jobs) jobs.push_back(job->id);
  response->set_next_cursor(page.next_cursor.value());
  return jobs;
}

grpc::ServerUnaryReactor* SchedulerService::ControlJobs(grpc::CallbackServerContext* context,
                                                        const v1::ControlJobsRequest* request,
                                                        v1::ControlJobsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto view = dependencies_.board.Latest();
  const absl::StatusOr<JobVerb> verb = ReadControl(*request, options_.room);
  absl::StatusOr<std::vector<JobId>> jobs =
      verb.ok() ? FindControlled(*request, *view, response) : verb.status();
  if (!jobs.ok()) {
    reactor->Finish(ToGrpc(jobs.status()));
    return reactor;
  }
  if (request->dry_run()) {
    std::vector<JobOutcome> outcomes;
    for (const JobId id : *jobs) outcomes.push_back(OutcomeIn(*view, id, *verb));
    Fill(outcomes, response);
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  const absl::Status posted = dependencies_.loop.Post(
      ControlRequest{*verb, *std::move(jobs), request->reason(),
                     [reactor, response](const std::vector<JobOutcome>& outcomes) {
                       Fill(outcomes, response);
                       reactor->Finish(grpc::Status::OK);
                     }});
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

}  // namespace pipefill::scheduler
