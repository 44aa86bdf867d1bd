#include "agent/attempt_desk.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/convert.h"
#include "common/log.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr absl::Duration kStopGrace = absl::Seconds(5);  // of a StopAttempt that names none
constexpr size_t kEndsMax = 3072;
// Told again at once, so that they do not push other messages out of the session's queue.
constexpr size_t kEndsAtOnce = 512;

}  // namespace

absl::Status CheckDeviceRoom(const TaskRoom& device, const TaskRoom& used,
                             const AttemptSpec& spec) {
  if (used.seats >= device.seats) {
    return absl::ResourceExhaustedError(absl::StrCat("device ", spec.device, " has ", used.seats,
                                                     " tasks still, and seats for ", device.seats));
  }
  if (used.memory_bytes + spec.memory_bytes > device.memory_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("device ", spec.device, " has ", FormatBytes(device.memory_bytes),
                     ", of which tasks still have ", FormatBytes(used.memory_bytes),
                     "; needed are ", FormatBytes(spec.memory_bytes)));
  }
  return absl::OkStatus();
}

AttemptDesk::AttemptDesk(Loop& loop, AttemptHost& host)
    : loop_(loop), host_(host), ends_(kEndsMax) {}

void AttemptDesk::Launch(const v1::LaunchAttempt& launch) {
  const AttemptKey key = FromProto(launch.key());
  // Told twice: say again what became of it.
  if (ends_.Find(key) != nullptr) return ResendEnds();
  if (host_.FindTask(key) != nullptr) return OnStarted(key, host_.PidOf(key));
  // It was on its way when the last report went out. Unanswered, it counts as lost once we are
  // gone.
  if (is_closed_) return;
  const auto refuse = [&](absl::string_view text, EndCause cause) {
    AnswerEnd(key, {.cause = cause, .text = std::string(text)});
  };
  const absl::StatusOr<AttemptSpec> spec = FromProto(launch);
  if (!spec.ok()) return refuse(spec.status().message(), EndCause::kLaunchFailed);
  StopOlderAttempts(key);
  // Schedulerd may have given attempts up that are still here, or are only now being stopped.
  const absl::Status room = host_.CheckRoom(*spec);
  if (!room.ok()) return refuse(room.message(), EndCause::kRefused);
  host_.StartTask(*spec);
}

// schedulerd starts a newer attempt only after it has given up the ones before.
void AttemptDesk::StopOlderAttempts(const AttemptKey& key) {
  for (const AttemptKey& other : host_.LiveTasks()) {
    if (other.job != key.job || other.fence >= key.fence) continue;
    host_.StopTask(other, {.cause = EndCause::kLost,
                           .grace = absl::ZeroDuration(),
                           .text = "a newer attempt of the job was started"});
  }
}

void AttemptDesk::Stop(const v1::StopAttempt& stop) {
  const AttemptKey key = FromProto(stop.key());
  const EndCause cause = StopCauseFromProto(stop.cause());
  const bool is_cancel = cause == EndCause::kCancelled;
  const StopRequest request = {
      .cause = cause,
      .grace = stop.grace_ns() > 0 ? absl::Nanoseconds(stop.grace_ns()) : kStopGrace,
      .text = !stop.text().empty() ? stop.text()
              : is_cancel          ? "stopped because the job was cancelled"
                                   : "stopped: schedulerd had given this attempt up"};
  if (host_.StopTask(key, request)) return;
  if (ends_.Find(key) != nullptr) return ResendEnds();
  AnswerEnd(key, {.cause = cause, .text = "no such task ran on this node any more"});
}

void AttemptDesk::OnEndAcknowledged(const v1::EndAcknowledged& acknowledged) {
  const AttemptKey key = FromProto(acknowledged.key());
  ends_.Acknowledge(key);
  // The record last: as long as it is there, the next agentd tells the end once more and hears this
  // again.
  const int64_t submitted_unix_ns = acknowledged.job_over_submitted_unix_ns();
  if (submitted_unix_ns != 0) host_.RemoveCheckpoints(key.job, submitted_unix_ns);
  // One that is still being stopped: without a record nobody would know it after a crash. Its own
  // end will be acknowledged too.
  if (host_.FindTask(key) == nullptr) host_.RemoveRecord(key);
}

std::vector<AttemptKey> AttemptDesk::Unsettled() const {
  std::vector<AttemptKey> unsettled = host_.LiveTasks();
  for (const EndReport& report : ends_.waiting()) {
    unsettled.push_back(FromProto(report.ended.key()));
  }
  return unsettled;
}

void AttemptDesk::OnStarted(const AttemptKey& key, pid_t pid) {
  v1::AgentMessage message;
  *message.mutable_attempt_started()->mutable_key() = ToProto(key);
  message.mutable_attempt_started()->set_pid(pid);
  host_.Tell(std::move(message));
}

void AttemptDesk::OnEnded(const AttemptKey& key, const AttemptEnd& end,
                          const v1::FillProgress& progress) {
  AddEnd({.ended = ToProto(key, end, progress)});
  // Not yet: the record has the end when the host is done.
  loop_.Post([this, key] {
    // On another thread, which may be a little longer than this object: it must not look at it.
    host_.SyncEnd(key, [&loop = loop_, this, key](const absl::Status& status) {
      loop.Post([this, key, status] { OnEndKept(key, status); });
    });
  });
}

void AttemptDesk::OnEndKept(const AttemptKey& key, const absl::Status& status) {
  if (!status.ok()) {
    spdlog::warn("end_not_kept job={} attempt={} error=\"{}\"; told all the same", key.job,
                 key.attempt, status);
  }
  ends_.SetKept(key);
  const EndReport* report = ends_.Find(key);
  if (report != nullptr) TellEnd(report->ended);
}

void AttemptDesk::ResendEnds() {
  size_t count = 0;
  for (const EndReport& report : ends_.waiting()) {
    if (!report.is_kept) continue;
    // The others are told when these are acknowledged.
    if (++count > kEndsAtOnce) return;
    TellEnd(report.ended);
  }
}

void AttemptDesk::AnswerEnd(const AttemptKey& key, const AttemptEnd& end) {
  EndReport report = {.ended = ToProto(key, end, {}), .is_kept = true};
  TellEnd(report.ended);
  AddEnd(std::move(report));
}

void AttemptDesk::AddEnd(EndReport report) {
  const std::optional<v1::AttemptEnded> forgotten = ends_.Add(std::move(report));
  if (!forgotten.has_value()) return;
  host_.RemoveRecord(FromProto(forgotten->key()));
  spdlog::warn("end_forgotten limit={}; schedulerd will take the attempt for lost", kEndsMax);
}

void AttemptDesk::TellEnd(const v1::AttemptEnded& ended) {
  v1::AgentMessage message;
  *message.mutable_attempt_ended() = ended;
  host_.Tell(std::move(message));
}

}  // namespace pipefill
