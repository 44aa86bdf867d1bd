#include "client/submit/scheduler_client.h"

#include <grpc/grpc.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/instant.h"
#include "common/retry_after.h"
#include "common/status.h"
#include "common/status_grpc.h"
#include "proto/scheduler.grpc.pb.h"

namespace pipefill {
namespace {

// For all of a large store over a slow network.
constexpr absl::Duration kBackupTimeout = absl::Hours(1);
// A page of a thousand jobs with the largest specs fits.
constexpr int kReceiveMaxBytes = 128 << 20;
constexpr int kKeepAliveMs = 20'000;

std::shared_ptr<grpc::Channel> NewChannel(const SchedulerClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReceiveMaxBytes);
  // The tries of this client set the pace; gRPC must not wait longer in between.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(options.back_off_min)));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(options.call_timeout)));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(options.back_off_max)));
  // A watch hears nothing for long: whether schedulerd is still there is asked every so often.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A proxy for the web must not get between a user and the cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
}

// Payload of errors of requests that were never sent.
constexpr char kNeverSent[] = "pipefill/never_sent";

// gRPC nests causes with colons, the innermost last: "...: Failed to connect to remote host:
// Connection refused".
std::string InnermostCause(const std::string& text) {
  const size_t colon = text.rfind(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

class GrpcSchedulerClient : public SchedulerClient {
 public:
  GrpcSchedulerClient(const SchedulerClientOptions& options,
                      const SchedulerClientDependencies& dependencies)
      : options_(options),
        dependencies_(dependencies),
        channel_(NewChannel(options)),
        stub_(v1::SchedulerService::NewStub(channel_)) {}

  absl::StatusOr<v1::SubmitJobResponse> SubmitJob(const v1::SubmitJobRequest& request) override {
    v1::SubmitJobRequest keyed = request;
    if (keyed.key().empty()) keyed.set_key(dependencies_.new_key());
    return Call(&Stub::SubmitJob, keyed);
  }

  absl::StatusOr<v1::PlanJobResponse> PlanJob(const v1::PlanJobRequest& request) override {
    return Call(&Stub::PlanJob, request);
  }

  absl::StatusOr<v1::Job> GetJob(JobId job) override {
    v1::GetJobRequest request;
    request.set_job_id(job.value());
    return Call(&Stub::GetJob, request);
  }

  absl::StatusOr<v1::Job> CancelJob(JobId job) override {
    v1::CancelJobRequest request;
    request.set_job_id(job.value());
    return Call(&Stub::CancelJob, request);
  }

  // Safe to try again: what is so already is left as it is.
  absl::StatusOr<v1::ControlJobsResponse> ControlJobs(
      const v1::ControlJobsRequest& request) override {
    return Call(&Stub::ControlJobs, request);
  }

  absl::StatusOr<v1::Job> MoveJob(const v1::MoveJobRequest& request) override {
    return Call(&Stub::MoveJob, request);
  }

  absl::StatusOr<v1::Job> WaitJob(JobId job, absl::Duration timeout) override {
    v1::WaitJobRequest request;
    request.set_job_id(job.value());
    return CallWithin(timeout, &Stub::WaitJob, request);
  }

  absl::Status WatchJobs(const v1::WatchJobsRequest& request, absl::Duration timeout,
                         const WatchVisitor& take) override {
    grpc::ClientContext context;
    if (timeout < absl::InfiniteDuration()) {
      context.set_deadline(gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
    }
    const auto stream = stub_->WatchJobs(&context, request);
    v1::WatchJobsResponse response;
    bool goes_on = true;
    while (goes_on && stream->Read(&response)) goes_on = take(response);
    if (!goes_on) context.TryCancel();
    const grpc::Status status = stream->Finish();
    if (!goes_on || status.ok()) return absl::OkStatus();
    return WithAdvice(context, InOurWords(status, timeout));
  }

  absl::StatusOr<v1::ReadContentResponse> ReadContent(
      const v1::ReadContentRequest& request) override {
    return Call(&Stub::ReadContent, request);
  }

  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request) override {
    return Call(&Stub::ListJobs, request);
  }

  absl::StatusOr<v1::ListDevicesResponse> ListDevices() override {
    return Call(&Stub::ListDevices, v1::ListDevicesRequest());
  }

  absl::StatusOr<v1::ListBubblesResponse> ListBubbles(absl::string_view main_job) override {
    v1::ListBubblesRequest request;
    request.set_main_job(std::string(main_job));
    return Call(&Stub::ListBubbles, request);
  }

  // Safe to try again: a request says what is to hold, not what is to change.
  absl::StatusOr<v1::MainJobSettings> UpdateMainJob(
      const v1::UpdateMainJobRequest& request) override {
    return Call(&Stub::UpdateMainJob, request);
  }

  absl::StatusOr<v1::ListMainJobsResponse> ListMainJobs() override {
    return Call(&Stub::ListMainJobs, v1::ListMainJobsRequest());
  }

  absl::StatusOr<v1::GetStatusResponse> GetStatus() override {
    return Call(&Stub::GetStatus, v1::GetStatusRequest());
  }

  absl::Status Backup(const BytesVisitor& take) override {
    grpc::ClientContext context;
    context.set_deadline(
        gpr_time_from_nanos(absl::ToInt64Nanoseconds(kBackupTimeout), GPR_TIMESPAN));
    const auto stream = stub_->Backup(&context, v1::BackupRequest());
    v1::BackupChunk chunk;
    absl::Status taken;
    while (taken.ok() && stream->Read(&chunk)) taken = take(chunk.data());
    if (!taken.ok()) context.TryCancel();
    const grpc::Status status = stream->Finish();
    if (!taken.ok()) return taken;
    return status.ok() ? absl::OkStatus() : InOurWords(status, kBackupTimeout);
  }

 private:
  using Stub = v1::SchedulerService::Stub;
  template <typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Request, Response> method, const Request& request) {
    return CallWithin(options_.call_timeout, method, request);
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> CallWithin(absl::Duration timeout, Method<Request, Response> method,
                                      const Request& request) {
    const Instant deadline = dependencies_.clock.Now() + timeout;
    bool was_never_sent = true;
    for (int tries = 1;; ++tries) {
      absl::StatusOr<Response> response =
          CallOnce(deadline - dependencies_.clock.Now(), method, request);
      const std::optional<absl::Duration> advised = RetryAfterOf(response.status());
      if (!absl::IsUnavailable(response.status()) && !advised.has_value()) return response;
      was_never_sent = was_never_sent && WasNeverSent(response.status());
      const double random = dependencies_.random();
      // Later than advised by up to half, so that not all come back at once.
      const absl::Duration delay = advised.has_value() ? *advised * (1.0 + random / 2)
                                                       : BackOffDelay(options_, tries, random);
      if (dependencies_.clock.Now() + delay >= deadline) {
        absl::Status last = response.status();
        if (!was_never_sent) last.ErasePayload(kNeverSent);
        return last;
      }
      if (tries == 1 && dependencies_.on_retry) dependencies_.on_retry(response.status());
      dependencies_.pause(delay);
    }
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> CallOnce(absl::Duration timeout, Method<Request, Response> method,
                                    const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    if (!status.ok()) return WithAdvice(context, InOurWords(status, timeout));
    return response;
  }

  // `status` with schedulerd's advice when to try again, if there is any.
  static absl::Status WithAdvice(const grpc::ClientContext& context, absl::Status status) {
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto advice = metadata.find(kRetryAfterMetadata);
    if (advice == metadata.end()) return status;
    const auto wait =
        ParseRetryAfter(absl::string_view(advice->second.data(), advice->second.size()));
    return wait.has_value() ? WithRetryAfter(std::move(status), *wait) : status;
  }

  // An error that schedulerd sent has a text for people already; one of the transport has not.
  absl::Status InOurWords(const grpc::Status& status, absl::Duration timeout) {
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
        channel_->GetState(/*try_to_connect=*/false) != GRPC_CHANNEL_READY) {
      absl::Status away = absl::UnavailableError(
          absl::StrCat("schedulerd does not answer: address=", options_.address, " error=\"",
                       InnermostCause(status.error_message()), "\"; ", options_.away_hint));
      // gRPC's words for a connection that never came about.
      if (absl::StartsWith(status.error_message(), "failed to connect to all addresses") ||
          absl::StartsWith(status.error_message(), "DNS resolution failed")) {
        away.SetPayload(kNeverSent, absl::Cord());
      }
      return away;
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer in time: address=", options_.address,
                       " timeout=", absl::FormatDuration(timeout), "; ", options_.away_hint));
    }
    return FromGrpc(status);
  }

  const SchedulerClientOptions options_;
  const SchedulerClientDependencies dependencies_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SchedulerClient>> NewSchedulerClient(
    const SchedulerClientOptions& options, const SchedulerClientDependencies& dependencies) {
  RETURN_IF_ERROR(CheckAddress(options.address));
  std::unique_ptr<SchedulerClient> client =
      std::make_unique<GrpcSchedulerClient>(options, dependencies);
  return client;
}

bool WasNeverSent(const absl::Status& status) { return status.GetPayload(kNeverSent).has_value(); }

absl::Status CheckAddress(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        "not an address of schedulerd: address=", address, "; write HOST:PORT, as 127.0.0.1:7700"));
  }
  return absl::OkStatus();
}

absl::Duration BackOffDelay(const SchedulerClientOptions& options, int tries, double random) {
  absl::Duration delay = options.back_off_min;
  for (int i = 1; i < tries && delay < options.back_off_max; ++i) delay *= 2;
  delay = std::min(delay, options.back_off_max);
  return delay * (1.0 - random / 2);
}

}  // namespace pipefill
