#include "scheduler/service/scheduler_service.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/convert/convert.h"
#include "scheduler/convert/profile.h"
#include "scheduler/convert/ties.h"
#include "scheduler/core/job_forecast.h"
#include "scheduler/service/finish.h"
#include "scheduler/service/watch_call.h"
#include "scheduler/watch/watch_cursor.h"

namespace pipefill::scheduler {
namespace {

// A page of jobs ends early at this size: clients read messages of at most 4 MiB.
constexpr size_t kPageBytesMax = 2 << 20;

// Answers at once.
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  FinishCall(context, reactor, status);
  return reactor;
}

// Ends at once, with an error.
class RefusedWatch : public grpc::ServerWriteReactor<v1::WatchJobsResponse> {
 public:
  explicit RefusedWatch(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

// "ipv4:127.0.0.1:40312" without the port.
std::string HostOfPeer(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

// Why a job waits, of the latest plan.
void AddDetail(const WaitDetail& detail, v1::Job* job) {
  *job->mutable_pending() = ToProto(detail);
  if (detail.place == 0) return;
  job->set_pending_text(
      absl::StrCat(detail.rule, "; ", detail.place, " of ", detail.waiting, " in line"));
}

// Streams a snapshot. gRPC owns it: it deletes itself in OnDone.
class BackupCall : public grpc::ServerWriteReactor<v1::BackupChunk> {
 public:
  explicit BackupCall(LimitedCount& backups) : backups_(backups), is_admitted_(backups.Enter()) {}
  ~BackupCall() override {
    if (is_admitted_) backups_.Leave();
  }

  // Else there are too many.
  bool is_admitted() const { return is_admitted_; }

  void Begin(FrameWriter snapshot) {
    snapshot_.emplace(std::move(snapshot));
    WriteNext();
  }

  void OnWriteDone(bool is_ok) override {
    if (is_ok) return WriteNext();
    Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  void WriteNext() {
    std::optional<std::string> block = snapshot_->Next();
    if (!block.has_value()) return Finish(ToGrpc(snapshot_->status()));
    chunk_.set_data(*std::move(block));
    StartWrite(&chunk_);
  }

  LimitedCount& backups_;
  const bool is_admitted_;
  std::optional<FrameWriter> snapshot_;
  v1::BackupChunk chunk_;
};

constexpr absl::Duration kBackupRetryAfter = absl::Seconds(5);

absl::StatusOr<std::vector<NewJob>> ReadJobs(const v1::SubmitJobsRequest& request,
                                             const SpecLimits& limits, const Limits& room) {
  if (request.jobs().empty()) return absl::InvalidArgumentError("jobs: none is named");
  RETURN_IF_ERROR(CheckIds("jobs", request.jobs_size(), room));
  std::vector<NewJob> jobs;
  jobs.reserve(static_cast<size_t>(request.jobs_size()));
  for (const v1::SubmitJobRequest& job : request.jobs()) {
    absl::StatusOr<JobSpec> spec = ReadSpec(job, limits);
    if (!spec.ok()) {
      return WithContext(spec.status(),
                         absl::StrCat("job ", jobs.size() + 1, " of ", request.jobs_size()));
    }
    jobs.push_back({.key = job.key(), .spec = *std::move(spec)});
  }
  return jobs;
}

void Fill(const std::vector<Submission>& submissions, v1::SubmitJobsResponse* response) {
  for (const Submission& submission : submissions) {
    v1::SubmitJobResponse* to = response->add_jobs();
    to->set_job_id(submission.job.value());
    to->set_already_existed(submission.already_existed);
  }
}

}  // namespace

grpc::ServerUnaryReactor* SchedulerService::SubmitJob(grpc::CallbackServerContext* context,
                                                      const v1::SubmitJobRequest* request,
                                                      v1::SubmitJobResponse* response) {
  absl::StatusOr<JobSpec> spec = ReadSpec(*request, options_.limits);
  if (!spec.ok()) return Answer(context, spec.status());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status posted = dependencies_.loop.Post(SubmitRequest{
      request->key(), *std::move(spec), [reactor, response](absl::StatusOr<Submission> result) {
        if (result.ok()) {
          response->set_job_id(result->job.value());
          response->set_already_existed(result->already_existed);
        }
        reactor->Finish(ToGrpc(result.status()));
      }});
  if (!posted.ok()) FinishCall(context, reactor, posted);
  return reactor;
}

grpc::ServerUnaryReactor* SchedulerService::SubmitJobs(grpc::CallbackServerContext* context,
                                                       const v1::SubmitJobsRequest* request,
                                                       v1::SubmitJobsResponse* response) {
  absl::StatusOr<std::vector<NewJob>> jobs = ReadJobs(*request, options_.limits, options_.room);
  if (!jobs.ok()) return Answer(context, jobs.status());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status posted = dependencies_.loop.Post(SubmitManyRequest{
      *std::move(jobs), [reactor, response](const absl::StatusOr<std::vector<Submission>>& result) {
        if (result.ok()) Fill(*result, response);
        reactor->Finish(ToGrpc(result.status()));
      }});
  if (!posted.ok()) FinishCall(context, reactor, posted);
  return reactor;
}

grpc::ServerWriteReactor<v1::BackupChunk>* SchedulerService::Backup(
    grpc::CallbackServerContext* context, const v1::BackupRequest* /*request*/) {
  auto* call = new BackupCall(backups_);
  if (!call->is_admitted()) {
    FinishCall(context, call,
               LimitError({.name = "backups_max",
                           .max = backups_.max(),
                           .what = "backups are being read",
                           .advice = "try again later",
                           .retry_after = kBackupRetryAfter}));
    return call;
  }
  const absl::Status posted = dependencies_.loop.Post(
      BackupRequest{[call](FrameWriter snapshot) { call->Begin(std::move(snapshot)); }});
  if (!posted.ok()) FinishCall(context, call, posted);
  return call;
}

grpc::ServerUnaryReactor* SchedulerService::GetJob(grpc::CallbackServerContext* context,
                                                   const v1::GetJobRequest* request,
                                                   v1::Job* response) {
  const JobId job(request->job_id());
  const absl::Status filled = FillJob(job, response);
  if (!filled.ok()) return Answer(context, filled);
  AddHistory(job, response);
  if (response->state() != v1::JOB_STATE_PENDING) return Answer(context, filled);
  // Without the detail, where the loop cannot say it now.
  if (dependencies_.loop.is_stalled()) return Answer(context, filled);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  // Whoever sets it answers.
  auto is_answered = std::make_shared<std::atomic<bool>>(false);
  const absl::Status posted = dependencies_.loop.Post(
      WhyRequest{job, [reactor, response, is_answered](const std::optional<WaitDetail>& detail) {
                   if (is_answered->exchange(true)) return;
                   if (detail.has_value()) AddDetail(*detail, response);
                   reactor->Finish(grpc::Status::OK);
                 }});
  if (!posted.ok()) {
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  After(options_.detail_wait, [reactor, is_answered] {
    if (!is_answered->exchange(true)) reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* SchedulerService::ListJobs(grpc::CallbackServerContext* context,
                                                     const v1::ListJobsRequest* request,
                                                     v1::ListJobsResponse* response) {
  const absl::StatusOr<JobPageRequest> page = ReadPageRequest(*request, options_.room);
  if (page.ok()) FillPage(*page, response);
  return Answer(context, page.status());
}

grpc::ServerUnaryReactor* SchedulerService::CancelJob(grpc::CallbackServerContext* context,
                                                      const v1::CancelJobRequest* request,
                                                      v1::Job* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const JobId job(request->job_id());
  const absl::Status posted = dependencies_.loop.Post(
      CancelRequest{job, [this, reactor, response, job](absl::Status result) {
                      if (result.ok()) result = FillJob(job, response);
                      reactor->Finish(ToGrpc(result));
                    }});
  if (!posted.ok()) FinishCall(context, reactor, posted);
  return reactor;
}

grpc::ServerUnaryReactor* SchedulerService::MoveJob(grpc::CallbackServerContext* context,
                                                    const v1::MoveJobRequest* request,
                                                    v1::Job* response) {
  if (request->node().empty() != request->device().empty()) {
    return Answer(context, absl::InvalidArgumentError("node, device: give both or none"));
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const JobId job(request->job_id());
  MoveRequest move = {.job = job, .to = std::nullopt, .answer = {}};
  if (!request->node().empty()) move.to = DeviceKey{request->node(), request->device()};
  move.answer = [this, reactor, response, job](absl::Status result) {
    if (result.ok()) result = FillJob(job, response);
    reactor->Finish(ToGrpc(result));
  };
  const absl::Status posted = dependencies_.loop.Post(std::move(move));
  if (!posted.ok()) FinishCall(context, reactor, posted);
  return reactor;
}

grpc::ServerUnaryReactor* SchedulerService::WaitJob(grpc::CallbackServerContext* context,
                                                    const v1::WaitJobRequest* request,
                                                    v1::Job* response) {
  const JobId job(request->job_id());
  const auto call = std::make_shared<WaitCall>(
      dependencies_.watch, context, [this, response, job]() -> std::optional<absl::Status> {
        const auto view = dependencies_.board.Latest();
        const absl::StatusOr<bool> is_over = IsOver(*view, job);
        if (!is_over.ok()) return is_over.status();
        if (!*is_over) return std::nullopt;
        return FillJob(job, response);
      });
  // A task may not be a job yet; that it has ended shows in its array.
  const std::optional<TaskPlace> task = FindTask(dependencies_.board.Latest()->jobs, job);
  call->Begin(task.has_value() ? task->array->id : job);
  return call.get();
}

grpc::ServerWriteReactor<v1::WatchJobsResponse>* SchedulerService::WatchJobs(
    grpc::CallbackServerContext* context, const v1::WatchJobsRequest* request) {
  absl::StatusOr<WatchReader> reader = ReadWatch(*request);
  if (!reader.ok()) return new RefusedWatch(reader.status());
  const auto call = std::make_shared<WatchCall>(
      WatchCall::Dependencies{dependencies_.clock, dependencies_.watch, options_.boot}, context,
      *std::move(reader));
  call->Begin(HostOfPeer(context->peer()));
  return call.get();
}

absl::StatusOr<WatchReader> SchedulerService::ReadWatch(const v1::WatchJobsRequest& request) const {
  ASSIGN_OR_RETURN(WatchFilter filter, ReadWatchFilter(request, options_.room));
  return ReaderFrom(request.cursor(), options_.boot, std::move(filter));
}

grpc::ServerUnaryReactor* SchedulerService::ListDevices(grpc::CallbackServerContext* context,
                                                        const v1::ListDevicesRequest* /*request*/,
                                                        v1::ListDevicesResponse* response) {
  for (const Device& device : scheduler::ListDevices(*dependencies_.board.Latest())) {
    *response->add_devices() = ToProto(device);
  }
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* SchedulerService::ListBubbles(grpc::CallbackServerContext* context,
                                                        const v1::ListBubblesRequest* request,
                                                        v1::ListBubblesResponse* response) {
  for (const BubbleStats& stats :
       scheduler::ListBubbles(*dependencies_.board.Latest(), request->main_job())) {
    *response->add_bubbles() = ToProto(stats);
  }
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* SchedulerService::UpdateMainJob(grpc::CallbackServerContext* context,
                                                          const v1::UpdateMainJobRequest* request,
                                                          v1::MainJobSettings* response) {
  const absl::StatusOr<MainJobChange> change = ReadMainJobChange(*request);
  if (!change.ok()) return Answer(context, change.status());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status posted = dependencies_.loop.Post(UpdateMainJobRequest{
      *change, [reactor, response](const absl::StatusOr<MainJobSettings>& result) {
        if (result.ok()) *response = ToProto(*result);
        reactor->Finish(ToGrpc(result.status()));
      }});
  if (!posted.ok()) FinishCall(context, reactor, posted);
  return reactor;
}

grpc::ServerUnaryReactor* SchedulerService::ListMainJobs(grpc::CallbackServerContext* context,
                                                         const v1::ListMainJobsRequest* /*request*/,
                                                         v1::ListMainJobsResponse* response) {
  for (const MainJobSettings& settings : scheduler::ListMainJobs(*dependencies_.board.Latest())) {
    *response->add_main_jobs() = ToProto(settings);
  }
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* SchedulerService::ReadContent(grpc::CallbackServerContext* context,
                                                        const v1::ReadContentRequest* request,
                                                        v1::ReadContentResponse* response) {
  absl::StatusOr<v1::ReadContentRequest> read = ReadContentSpec(*request);
  if (!read.ok()) return Answer(context, read.status());
  const absl::StatusOr<SessionId> session = FindKeeper(&*read);
  if (!session.ok()) return Answer(context, session.status());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  AskAgent(*session, *read, [reactor, response](absl::StatusOr<v1::ReadContentResponse> content) {
    if (content.ok()) *response = *std::move(content);
    reactor->Finish(ToGrpc(content.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* SchedulerService::GetStatus(grpc::CallbackServerContext* context,
                                                      const v1::GetStatusRequest* /*request*/,
                                                      v1::GetStatusResponse* response) {
  const auto view = dependencies_.board.Latest();
  response->set_version(options_.version);
  response->set_policy(options_.policy);
  response->set_jobs_pending(view->counts.pending);
  response->set_jobs_held(view->counts.held);
  response->set_jobs_running(view->counts.running);
  response->set_jobs_ended(view->counts.ended);
  response->set_arrays(view->counts.arrays);
  for (const std::string& node : ListConnectedNodes(*view)) response->add_nodes(node);
  response->set_policy_error(view->policy_error);
  const Instant now = dependencies_.clock.Now();
  for (const auto& [node, quarantine] : *view->quarantines) {
    if (quarantine.until <= now) continue;
    v1::NodeQuarantine* to = response->add_quarantines();
    to->set_node(node);
    to->set_text(quarantine.text);
    to->set_left_ns(absl::ToInt64Nanoseconds(quarantine.until - now));
  }
  for (const TenantUse& tenant : view->tenants) *response->add_tenants() = ToProto(tenant);
  response->set_history_keep_seconds(absl::ToInt64Seconds(options_.history_keep));
  response->set_history_jobs_max(options_.history_jobs_max);
  response->set_journal_records(view->store.journal_records);
  if (view->store.snapshot_at != absl::InfinitePast()) {
    response->set_snapshot_unix_ns(absl::ToUnixNanos(view->store.snapshot_at));
  }
  response->set_refusing_text(view->store.refusing_text);
  AddLimits(response);
  return Answer(context, absl::OkStatus());
}

void SchedulerService::AddLimits(v1::GetStatusResponse* response) const {
  const auto add = [response](const char* name, int64_t used, int64_t max) {
    v1::LimitStatus* to = response->add_limits();
    to->set_name(name);
    to->set_used(used);
    to->set_max(max);
  };
  const WatchHub::Use watch = dependencies_.watch.use();
  add("requests_max", dependencies_.loop.requests(), options_.room.requests_max);
  add("waits_max", watch.waits, options_.room.waits_max);
  add("watchers_max", watch.watchers, options_.room.watchers_max);
  add("agents_max", dependencies_.streams.size(), options_.room.agents_max);
  add("questions_max", dependencies_.relay.size(), options_.room.questions_max);
  add("backups_max", backups_.used(), backups_.max());
}

absl::Status SchedulerService::FillJob(JobId id, v1::Job* response) const {
  const auto view = dependencies_.board.Latest();
  const std::optional<TaskPlace> task = FindTask(view->jobs, id);
  if (task.has_value() && view->jobs.Find(id) == nullptr) {
    *response = ToProto(*task, view->jobs);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Job* job, FindJob(*view, id));
  const Instant now = dependencies_.clock.Now();
  *response = ToProto(*job, *view->plan, now);
  AddTies(*job, view->jobs, *view->plan, now, response);
  AddForecast(*job, *view, response);
  return absl::OkStatus();
}

void SchedulerService::AddHistory(JobId id, v1::Job* response) const {
  const auto view = dependencies_.board.Latest();
  const absl::StatusOr<const Job*> job = FindJob(*view, id);
  if (!job.ok()) return;
  for (const JobStep& step : HistoryOf(**job)) *response->add_history() = ToProto(step);
}

void SchedulerService::FillPage(const JobPageRequest& request,
                                v1::ListJobsResponse* response) const {
  const auto view = dependencies_.board.Latest();
  const JobPage page = scheduler::ListJobs(*view, request);
  const Instant now = dependencies_.clock.Now();
  response->set_next_cursor(page.next_cursor.value());
  size_t size_bytes = 0;
  for (const Job* job : page.jobs) {
    v1::Job to = ToProto(*job, *view->plan, now);
    AddTies(*job, view->jobs, *view->plan, now, &to);
    AddForecast(*job, *view, &to);
    size_bytes += to.ByteSizeLong();
    if (size_bytes > kPageBytesMax && response->jobs_size() > 0) {
      response->set_next_cursor(job->id.value());
      return;
    }
    *response->add_jobs() = std::move(to);
  }
}

void SchedulerService::AddForecast(const Job& job, const ClusterView& view, v1::Job* to) const {
  const std::optional<JobForecast> forecast = ForecastJob(job, *view.nodes);
  if (!forecast.has_value()) return;
  *to->mutable_forecast() = ToProto(*forecast, dependencies_.clock.WallNow());
}

absl::StatusOr<SessionId> SchedulerService::FindKeeper(v1::ReadContentRequest* request) const {
  const auto view = dependencies_.board.Latest();
  std::string name = request->node();
  if (request->kind() != v1::CONTENT_KIND_TRACE) {
    ASSIGN_OR_RETURN(const Job* job, FindJob(*view, JobId(request->job_id())));
    if (job->is_array()) {
      return absl::FailedPreconditionError(
          absl::StrCat("job ", request->job_id(), " is an array; its tasks have logs, one each"));
    }
    if (job->attempts.empty()) {
      return absl::NotFoundError(
          absl::StrCat("job ", request->job_id(), " has no log yet: it has not been started"));
    }
    const auto attempts = static_cast<int32_t>(job->attempts.size());
    if (request->attempt() == 0) request->set_attempt(attempts);
    if (request->attempt() > attempts) {
      return absl::NotFoundError(absl::StrCat("job ", request->job_id(), " has no attempt ",
                                              request->attempt(), ", only ", attempts));
    }
    name = job->attempts[static_cast<size_t>(request->attempt()) - 1].device.node;
  }
  auto node = view->nodes->find(name);
  if (node != view->nodes->end() && node->second->is_connected()) return *node->second->session;
  return absl::UnavailableError(
      absl::StrCat("node ", name, " is away, and keeps its logs and traces; try again later"));
}

void SchedulerService::AskAgent(SessionId session, const v1::ReadContentRequest& request,
                                const ContentRelay::Answer& answer) {
  ContentRelay& relay = dependencies_.relay;
  const absl::StatusOr<int64_t> id = relay.Ask(session, answer);
  if (!id.ok()) {
    answer(id.status());
    return;
  }
  After(options_.content_wait, [&relay, id = *id] {
    relay.Finish(id, absl::DeadlineExceededError("the node's agent did not answer in time"));
  });
  v1::ContentRequest question;
  question.set_request_id(*id);
  *question.mutable_request() = request;
  if (!dependencies_.streams.SendContentRequest(session, question)) relay.EndSession(session);
}

void SchedulerService::After(absl::Duration wait, Loop::Callback callback) {
  Loop& timers = dependencies_.timers;
  timers.Post([&timers, wait, callback = std::move(callback)]() mutable {
    timers.PostAt(timers.Now() + wait, std::move(callback));
  });
}

}  // namespace pipefill::scheduler
