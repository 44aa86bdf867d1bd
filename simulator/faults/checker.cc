#include "simulator/faults/checker.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/tasks/attempt.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/snapshot.h"
#include "scheduler/journal/snapshot_frame.h"
#include "simulator/faults/state_text.h"

namespace pipefill::simulator {
namespace {

using scheduler::Event;
using scheduler::JobInput;

constexpr size_t kViolationsKept = 20;

// The job that moves, and by what; nullopt if no phase hangs on the event.
struct Input {
  JobId job;
  JobInput input;
};
std::optional<Input> InputOf(const scheduler::ClusterState& state, const Event& event) {
  using Result = std::optional<Input>;
  return std::visit(
      scheduler::Overloaded{[](const scheduler::AttemptPlaced& placed) -> Result {
                              return Input{placed.attempt.job, JobInput::kPlaced};
                            },
                            [](const scheduler::AttemptStarted& started) -> Result {
                              return Input{started.attempt.job, JobInput::kStarted};
                            },
                            [&](const scheduler::AttemptEnded& ended) -> Result {
                              const auto job = state.FindJob(ended.attempt.job);
                              if (!job.ok()) return std::nullopt;
                              return Input{ended.attempt.job, scheduler::InputForEnd(**job, ended)};
                            },
                            [](const scheduler::CancelRequested& cancel) -> Result {
                              return Input{cancel.job, JobInput::kCancelRequested};
                            },
                            [](const scheduler::JobHeld& held) -> Result {
                              return Input{held.job, JobInput::kHeld};
                            },
                            [](const scheduler::JobReleased& released) -> Result {
                              return Input{released.job, JobInput::kReleased};
                            },
                            [](const scheduler::RequeueRequested& requeue) -> Result {
                              return Input{requeue.job, JobInput::kRequeueRequested};
                            },
                            [](const scheduler::StartExpired& expired) -> Result {
                              return Input{expired.job, JobInput::kStartExpired};
                            },
                            [](const auto&) -> Result { return std::nullopt; }},
      event);
}

}  // namespace

Checker::Checker(const VirtualTime& world, const Limits& limits,
                 std::function<void(const std::string&)> on_event)
    : world_(world),
      limits_(limits),
      on_event_(std::move(on_event)),
      state_(std::make_unique<scheduler::ClusterState>(limits.cluster)) {}

// FNV-1a.
void Checker::Mix(absl::string_view bytes) {
  for (const char byte : bytes) {
    fingerprint_ = (fingerprint_ ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
}

void Checker::Note(const std::string& line) {
  ++events_;
  const std::string text = absl::StrCat(world_.Now().ns(), " ", line);
  Mix(text);
  if (on_event_ != nullptr) on_event_(text);
}

void Checker::Fail(const std::string& what) {
  Note(absl::StrCat("VIOLATION ", what));
  if (violations_.size() < kViolationsKept) violations_.push_back(what);
}

// --- schedulerd ---

void Checker::OnRecords(const std::vector<std::string>& records) {
  for (const std::string& record : records) OnRecord(record);
}

void Checker::OnRecord(const std::string& record) {
  const absl::StatusOr<scheduler::DecodedRecord> decoded = scheduler::DecodeRecord(record);
  if (!decoded.ok())
    return Fail(absl::StrCat("a record cannot be read: ", decoded.status().message()));
  const Event& event = decoded->event;
  const std::optional<Input> input = InputOf(*state_, event);
  Note(absl::StrCat("record ", event.index(), " job ", input.has_value() ? input->job.value() : 0,
                    " bytes ", record.size()));
  Mix(record);
  CheckIds(event);
  CheckResult(event);
  if (input.has_value()) {
    const auto job = state_->FindJob(input->job);
    if (job.ok()) moves_.OnJob((*job)->phase, input->input);
  }
  if (const absl::Status status = state_->CheckReplay(event); !status.ok()) {
    return Fail(absl::StrCat("a record does not follow from those before it: ", status.message()));
  }
  state_->Apply(event, {world_.Now(), decoded->wall});
  // Arrays end with their last task.
  for (const JobId ended : state_->TakeEnded()) {
    const auto job = state_->FindJob(ended);
    if (!job.ok() || !(*job)->is_array()) continue;
    if ((*job)->phase == scheduler::JobPhase::kSucceeded) {
      moves_.OnJob(scheduler::JobPhase::kPending, JobInput::kTasksSucceeded);
    }
    if ((*job)->phase == scheduler::JobPhase::kFailed) {
      moves_.OnJob(scheduler::JobPhase::kPending, JobInput::kTasksFailed);
    }
  }
}

void Checker::CheckIds(const Event& event) {
  if (const auto* submitted = std::get_if<scheduler::JobSubmitted>(&event)) {
    if (submitted->job <= last_job_) {
      Fail(absl::StrCat("job id ", submitted->job.value(), " is given a second time"));
    }
    const int64_t tasks = submitted->spec.array.has_value() ? submitted->spec.array->size() : 0;
    last_job_ = std::max(last_job_, JobId(submitted->job.value() + tasks));
  }
  if (const auto* placed = std::get_if<scheduler::AttemptPlaced>(&event)) {
    if (placed->attempt.fence <= last_fence_) {
      Fail(absl::StrCat("fence ", placed->attempt.fence.value(), " is given a second time"));
    }
    last_fence_ = std::max(last_fence_, placed->attempt.fence);
    ++attempts_;
  }
}

void Checker::CheckResult(const Event& event) {
  const auto* ended = std::get_if<scheduler::AttemptEnded>(&event);
  if (ended == nullptr) return;
  for (const auto& [node, key] : working_[ended->attempt.job]) {
    if (key.fence != ended->attempt.fence) continue;
    Fail(absl::StrCat("an attempt ends by the records while it works: ", Describe(key)));
  }
  const auto job = state_->FindJob(ended->attempt.job);
  if (!job.ok() || scheduler::InputForEnd(**job, *ended) != JobInput::kSucceeded) return;
  if (!completed_.insert(ended->attempt.job).second) {
    Fail(absl::StrCat("job ", ended->attempt.job.value(), " is completed a second time"));
  }
}

void Checker::OnPublished(const scheduler::ClusterView& view) {
  const scheduler::JobCounts told = view.counts;
  const scheduler::JobCounts kept = state_->counts();
  if (told.pending == kept.pending && told.held == kept.held && told.running == kept.running &&
      told.ended == kept.ended) {
    return;
  }
  Fail(absl::StrCat("a view counts ", told.pending, " pending, ", told.running, " running, ",
                    told.ended, " ended jobs; on disk are ", kept.pending, ", ", kept.running, ", ",
                    kept.ended));
}

void Checker::OnRecovered(scheduler::DurableState state) {
  Note("schedulerd begins");
  const std::string told = StateBytes(state);
  const std::string kept = StateBytes(state_->Durable());
  if (told == kept) return;
  Fail(absl::StrCat("a schedulerd begins with another state than its records say: ",
                    FirstDifference(told, kept)));
  // Go on from what it believes, so that what follows is seen as well.
  auto believed = std::make_unique<scheduler::ClusterState>(limits_.cluster);
  scheduler::SnapshotDecoder decoder(world_.Now(), believed.get());
  scheduler::SnapshotEncoder encoder(std::move(state), {});
  for (auto piece = encoder.Next(); piece.has_value(); piece = encoder.Next()) {
    if (!decoder.Take(*piece).ok()) return;
  }
  state_ = std::move(believed);
  for (const auto& [key, job] : acknowledged_) {
    // Ids beyond were taken back.
    if (job >= state_->next_job_id()) {
      Fail(absl::StrCat("job ", job.value(), " was acknowledged, and is lost"));
    }
  }
}

void Checker::OnUnrecoverable(const absl::Status& status) {
  Fail(absl::StrCat("schedulerd cannot begin: ", status.message()));
}

void Checker::OnBackup(const std::string& bytes) {
  scheduler::ClusterState restored(limits_.cluster);
  scheduler::SnapshotDecoder decoder(world_.Now(), &restored);
  scheduler::FrameReader reader;
  absl::Status status =
      reader.Take(bytes, [&](absl::string_view piece) { return decoder.Take(piece); });
  if (status.ok()) status = reader.Finish();
  if (status.ok()) status = decoder.Finish();
  if (!status.ok()) return Fail(absl::StrCat("a backup cannot be read: ", status.message()));
  const std::string told = StateBytes(restored.Durable());
  const std::string kept = StateBytes(state_->Durable());
  if (told == kept) return;
  Fail(absl::StrCat("a backup holds another state than the records say: ",
                    FirstDifference(told, kept)));
}

void Checker::OnAcknowledged(const std::string& key, JobId job) {
  Note(absl::StrCat("acknowledged ", key, " as job ", job.value()));
  const auto [known, is_new] = acknowledged_.emplace(key, job);
  // A key is free again once its job has left the history; answers may come late.
  const bool are_kept = state_->FindJob(known->second).ok() && state_->FindJob(job).ok();
  if (!is_new && known->second != job && are_kept) {
    Fail(absl::StrCat("key ", key, " stands for jobs ", known->second.value(), " and ",
                      job.value()));
  }
  known->second = job;
  if (job >= state_->next_job_id()) {
    Fail(absl::StrCat("job ", job.value(), " was acknowledged before it was on disk"));
  }
}

void Checker::OnCancelGranted(JobId id) {
  const auto job = state_->FindJob(id);
  if (!job.ok()) return;  // it has left the history, or is a task without a record
  if (scheduler::IsTerminal((*job)->phase) || (*job)->is_cancel_requested) return;
  Fail(absl::StrCat("the cancellation of job ", id.value(), " was granted, but is not on disk"));
}

// --- Nodes ---

void Checker::OnProcess(int node, const AttemptSpec& spec) {
  Note(absl::StrCat("process on node ", node, " ", spec.device, ": ", Describe(spec.key)));
  processes_.emplace(spec.key, spec);
  const Place place(node, spec.device);
  std::set<AttemptKey>& here = by_place_[place];
  here.insert(spec.key);
  int64_t bytes = 0;
  for (const AttemptKey& key : here) bytes += processes_.at(key).memory_bytes;
  if (bytes > limits_.device_bytes) {
    Fail(absl::StrCat("tasks on node ", node, " ", spec.device, " may have ", bytes,
                      " bytes; the device has ", limits_.device_bytes));
  }
  if (here.size() > static_cast<size_t>(limits_.seats)) {
    Fail(absl::StrCat(here.size(), " tasks on node ", node, " ", spec.device, ", which has ",
                      limits_.seats, " seats"));
  }
}

void Checker::OnProcessGone(int node, const AttemptKey& key) {
  Note(absl::StrCat("process gone on node ", node, ": ", Describe(key)));
  const auto found = processes_.find(key);
  if (found == processes_.end()) return;
  by_place_[Place(node, found->second.device)].erase(key);
  processes_.erase(found);
}

void Checker::OnWorking(int node, const AttemptKey& key, bool is_working) {
  Note(absl::StrCat(is_working ? "works" : "rests", " on node ", node, ": ", Describe(key)));
  std::set<std::pair<int, AttemptKey>>& attempts = working_[key.job];
  if (!is_working) {
    attempts.erase({node, key});
    return;
  }
  attempts.insert({node, key});
  if (!IsLive(key)) {
    Fail(absl::StrCat("an attempt works that has ended, or never was: ", Describe(key)));
  }
  if (attempts.size() == 1) return;
  Fail(absl::StrCat("two attempts of job ", key.job.value(), " work at the same time: ",
                    absl::StrJoin(attempts, " and ", [](std::string* out, const auto& attempt) {
                      absl::StrAppend(out, attempt.second.attempt.value(), " on node ",
                                      attempt.first);
                    })));
}

bool Checker::IsLive(const AttemptKey& key) const {
  const auto job = state_->FindJob(key.job);
  return job.ok() && scheduler::HasLiveAttempt((*job)->phase) &&
         (*job)->live_attempt().fence == key.fence;
}

void Checker::OnGates(int node, bool are_open) {
  Note(absl::StrCat("gates ", are_open ? "open" : "shut", " on node ", node));
}

void Checker::OnTaskPhases(TaskPhase before, TaskPhase after) { moves_.OnTask(before, after); }

}  // namespace pipefill::simulator
