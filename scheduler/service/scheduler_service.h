// SchedulerService over gRPC. Reads are answered from the latest view; changes are posted to the
// scheduler loop and answered when they are durable.
//
// Thread-safe.
#ifndef SCHEDULER_SERVICE_SCHEDULER_SERVICE_H_
#define SCHEDULER_SERVICE_SCHEDULER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>

#include "common/clock.h"
#include "common/loop.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/core/job_plan.h"
#include "scheduler/limits.h"
#include "scheduler/scheduler_loop.h"
#include "scheduler/service/agent_streams.h"
#include "scheduler/service/content_relay.h"
#include "scheduler/service/validate.h"
#include "scheduler/view_board.h"
#include "scheduler/watch/watch_hub.h"

namespace pipefill::scheduler {

class SchedulerService : public v1::SchedulerService::CallbackService {
 public:
  // All outlive the service.
  struct Dependencies {
    const Clock& clock;
    Loop& timers;  // not the scheduler loop, which may be busy
    SchedulerLoop& loop;
    const ViewBoard& board;
    WatchHub& watch;
    AgentStreams& streams;
    ContentRelay& relay;
    const JobPlanner& planner;  // nobody else's
  };
  struct Options {
    SpecLimits limits;
    Limits room;
    std::string version;
    std::string policy;
    // For people.
    absl::Duration history_keep;
    int64_t history_jobs_max = 0;
    // How long an agent may take to answer a question.
    absl::Duration content_wait = absl::Seconds(10);
    // How long the loop may take to say why a job waits; then it is left out.
    absl::Duration detail_wait = absl::Milliseconds(100);
    // Tells this run of schedulerd from others.
    std::string boot;
  };

  SchedulerService(const Dependencies& dependencies, const Options& options)
      : dependencies_(dependencies), options_(options), backups_(options.room.backups_max) {}

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::SubmitJobResponse* response) override;
  grpc::ServerUnaryReactor* SubmitJobs(grpc::CallbackServerContext* context,
                                       const v1::SubmitJobsRequest* request,
                                       v1::SubmitJobsResponse* response) override;
  grpc::ServerWriteReactor<v1::BackupChunk>* Backup(grpc::CallbackServerContext* context,
                                                    const v1::BackupRequest* request) override;
  grpc::ServerUnaryReactor* PlanJob(grpc::CallbackServerContext* context,
                                    const v1::PlanJobRequest* request,
                                    v1::PlanJobResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request, v1::Job* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::Job* response) override;
  grpc::ServerUnaryReactor* ControlJobs(grpc::CallbackServerContext* context,
                                        const v1::ControlJobsRequest* request,
                                        v1::ControlJobsResponse* response) override;
  grpc::ServerUnaryReactor* MoveJob(grpc::CallbackServerContext* context,
                                    const v1::MoveJobRequest* request, v1::Job* response) override;
  grpc::ServerUnaryReactor* WaitJob(grpc::CallbackServerContext* context,
                                    const v1::WaitJobRequest* request, v1::Job* response) override;
  grpc::ServerWriteReactor<v1::WatchJobsResponse>* WatchJobs(
      grpc::CallbackServerContext* context, const v1::WatchJobsRequest* request) override;
  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context,
                                        const v1::ListDevicesRequest* request,
                                        v1::ListDevicesResponse* response) override;
  grpc::ServerUnaryReactor* ListBubbles(grpc::CallbackServerContext* context,
                                        const v1::ListBubblesRequest* request,
                                        v1::ListBubblesResponse* response) override;
  grpc::ServerUnaryReactor* UpdateMainJob(grpc::CallbackServerContext* context,
                                          const v1::UpdateMainJobRequest* request,
                                          v1::MainJobSettings* response) override;
  grpc::ServerUnaryReactor* ListMainJobs(grpc::CallbackServerContext* context,
                                         const v1::ListMainJobsRequest* request,
                                         v1::ListMainJobsResponse* response) override;
  grpc::ServerUnaryReactor* ReadContent(grpc::CallbackServerContext* context,
                                        const v1::ReadContentRequest* request,
                                        v1::ReadContentResponse* response) override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::GetStatusResponse* response) override;

 private:
  // The jobs that are named, or that the filter takes; then `response` says where it goes on.
  static absl::StatusOr<std::vector<JobId>> FindControlled(const v1::ControlJobsRequest& request,
                                                           const ClusterView& view,
                                                           v1::ControlJobsResponse* response);
  // The job as it is in the latest view.
  absl::Status FillJob(JobId id, v1::Job* response) const;
  absl::Status FillPlan(const v1::PlanJobRequest& request, v1::PlanJobResponse* response);
  void AddHistory(JobId id, v1::Job* response) const;
  void FillPage(const JobPageRequest& page, v1::ListJobsResponse* response) const;
  absl::StatusOr<WatchReader> ReadWatch(const v1::WatchJobsRequest& request) const;
  void AddLimits(v1::GetStatusResponse* response) const;
  void AddForecast(const Job& job, const ClusterView& view, v1::Job* to) const;
  // Which agent has the content; fills in the attempt. NotFound, or Unavailable if that agent is
  // away.
  absl::StatusOr<SessionId> FindKeeper(v1::ReadContentRequest* request) const;
  // Asks the agent; `answer` runs once, sooner or later.
  void AskAgent(SessionId session, const v1::ReadContentRequest& request,
                const ContentRelay::Answer& answer);
  void After(absl::Duration wait, Loop::Callback callback);

  const Dependencies dependencies_;
  const Options options_;
  LimitedCount backups_;
  // The planner is for one caller at a time.
  LimitedCount plans_{1};
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_SCHEDULER_SERVICE_H_
