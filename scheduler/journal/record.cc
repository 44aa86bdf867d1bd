#include "scheduler/journal/record.h"

#include <variant>

#include "common/check.h"
#include "proto/journal.pb.h"
#include "scheduler/convert/convert.h"

namespace pipefill::scheduler {
namespace {

// All records that name an attempt have the same three fields.
template <typename Record>
void SetAttempt(const AttemptKey& key, Record* record) {
  record->set_job_id(key.job.value());
  record->set_attempt(key.attempt.value());
  record->set_fence(key.fence.value());
}

template <typename Record>
AttemptKey AttemptOf(const Record& record) {
  return {JobId(record.job_id()), AttemptNumber(record.attempt()), Fence(record.fence())};
}

void Fill(const JobSubmitted& event, v1::JournalRecord* record) {
  v1::JobSubmittedRecord* to = record->mutable_job_submitted();
  to->set_job_id(event.job.value());
  to->set_key(event.key);
  *to->mutable_spec() = ToProto(event.spec);
}

void Fill(const CancelRequested& event, v1::JournalRecord* record) {
  record->mutable_cancel_requested()->set_job_id(event.job.value());
  record->mutable_cancel_requested()->set_reason(event.reason);
}

void Fill(const MoveRequested& event, v1::JournalRecord* record) {
  v1::MoveRequestedRecord* to = record->mutable_move_requested();
  to->set_job_id(event.job.value());
  to->set_node(event.to.node);
  to->set_device(event.to.name);
}

void Fill(const EvictionRequested& event, v1::JournalRecord* record) {
  v1::EvictionRequestedRecord* to = record->mutable_eviction_requested();
  SetAttempt(event.victim, to);
  to->set_beneficiary(event.beneficiary.value());
}

void Fill(const AttemptPlaced& event, v1::JournalRecord* record) {
  v1::AttemptPlacedRecord* to = record->mutable_attempt_placed();
  SetAttempt(event.attempt, to);
  to->set_node(event.device.node);
  to->set_device(event.device.name);
  to->set_configuration(event.configuration);
}

void Fill(const AttemptStarted& event, v1::JournalRecord* record) {
  SetAttempt(event.attempt, record->mutable_attempt_started());
}

void Fill(const AttemptEnded& event, v1::JournalRecord* record) {
  v1::AttemptEndedRecord* to = record->mutable_attempt_ended();
  SetAttempt(event.attempt, to);
  to->set_cause(ToProto(event.end.cause));
  to->set_exit_code(event.end.exit_code);
  to->set_signal(event.end.signal);
  to->set_text(event.end.text);
  to->set_larger_memory_bytes(event.larger_memory_bytes);
  to->set_units(event.progress.units);
  to->set_unit_cpu_ns(event.progress.unit_cpu_ns);
  to->set_unit_estimate_ns(event.progress.unit_estimate_ns);
  to->set_useful_ns(event.useful_ns);
}

void Fill(const MainJobUpdated& event, v1::JournalRecord* record) {
  *record->mutable_main_job_settings() = ToProto(event.settings);
}

void Fill(const HistoryDropped& event, v1::JournalRecord* record) {
  v1::HistoryDroppedRecord* to = record->mutable_history_dropped();
  for (JobId job : event.jobs) to->add_job_ids(job.value());
}

template <typename Wished>
void FillWish(const Wished& event, v1::JobWishRecord* to) {
  to->set_job_id(event.job.value());
  to->set_reason(event.reason);
}

void Fill(const JobHeld& event, v1::JournalRecord* record) {
  FillWish(event, record->mutable_job_held());
}

void Fill(const JobReleased& event, v1::JournalRecord* record) {
  FillWish(event, record->mutable_job_released());
}

void Fill(const RequeueRequested& event, v1::JournalRecord* record) {
  FillWish(event, record->mutable_requeue_requested());
}

void Fill(const StartExpired& event, v1::JournalRecord* record) {
  record->mutable_start_expired()->set_job_id(event.job.value());
}

void Fill(const ArrayAdmitted& event, v1::JournalRecord* record) {
  v1::ArrayAdmittedRecord* to = record->mutable_array_admitted();
  to->set_job_id(event.array.value());
  to->set_first(event.first);
  to->set_end(event.end);
}

void Fill(const AgentRegistered&, v1::JournalRecord*) { CHECK(false); }
void Fill(const AgentReported&, v1::JournalRecord*) { CHECK(false); }
void Fill(const AgentDisconnected&, v1::JournalRecord*) { CHECK(false); }
void Fill(const AgentLost&, v1::JournalRecord*) { CHECK(false); }

Event Read(const v1::JobSubmittedRecord& record) {
  return JobSubmitted{JobId(record.job_id()), record.key(), FromProto(record.spec())};
}

template <typename Wished, typename Record>
Event ReadWish(const Record& record) {
  return Wished{JobId(record.job_id()), record.reason()};
}

Event Read(const v1::HistoryDroppedRecord& record) {
  HistoryDropped event;
  for (int64_t job : record.job_ids()) event.jobs.emplace_back(job);
  return event;
}

Event Read(const v1::AttemptPlacedRecord& record) {
  return AttemptPlaced{AttemptOf(record), {record.node(), record.device()}, record.configuration()};
}

Event Read(const v1::AttemptEndedRecord& record) {
  AttemptEnded event;
  event.attempt = AttemptOf(record);
  event.end = {FromProto(record.cause()), record.exit_code(), record.signal(), record.text()};
  event.larger_memory_bytes = record.larger_memory_bytes();
  event.progress.units = record.units();
  event.progress.unit_cpu_ns = record.unit_cpu_ns();
  event.progress.unit_estimate_ns = record.unit_estimate_ns();
  event.useful_ns = record.useful_ns();
  return event;
}

}  // namespace

std::string EncodeRecord(const Event& event, absl::Time wall) {
  v1::JournalRecord record;
  record.set_unix_ns(absl::ToUnixNanos(wall));
  std::visit([&](const auto& happened) { Fill(happened, &record); }, event);
  return record.SerializeAsString();
}

absl::StatusOr<DecodedRecord> DecodeRecord(absl::string_view bytes) {
  v1::JournalRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("the bytes are no journal record");
  }
  const absl::Time wall = absl::FromUnixNanos(record.unix_ns());
  switch (record.event_case()) {
    case v1::JournalRecord::kJobSubmitted:
      return DecodedRecord{Read(record.job_submitted()), wall};
    case v1::JournalRecord::kCancelRequested:
      return DecodedRecord{ReadWish<CancelRequested>(record.cancel_requested()), wall};
    case v1::JournalRecord::kMoveRequested:
      return DecodedRecord{
          MoveRequested{JobId(record.move_requested().job_id()),
                        {record.move_requested().node(), record.move_requested().device()}},
          wall};
    case v1::JournalRecord::kEvictionRequested:
      return DecodedRecord{EvictionRequested{AttemptOf(record.eviction_requested()),
                                             JobId(record.eviction_requested().beneficiary())},
                           wall};
    case v1::JournalRecord::kAttemptPlaced:
      return DecodedRecord{Read(record.attempt_placed()), wall};
    case v1::JournalRecord::kAttemptStarted:
      return DecodedRecord{AttemptStarted{AttemptOf(record.attempt_started())}, wall};
    case v1::JournalRecord::kAttemptEnded:
      return DecodedRecord{Read(record.attempt_ended()), wall};
    case v1::JournalRecord::kMainJobSettings:
      return DecodedRecord{MainJobUpdated{FromProto(record.main_job_settings())}, wall};
    case v1::JournalRecord::kHistoryDropped:
      return DecodedRecord{Read(record.history_dropped()), wall};
    case v1::JournalRecord::kJobHeld:
      return DecodedRecord{ReadWish<JobHeld>(record.job_held()), wall};
    case v1::JournalRecord::kJobReleased:
      return DecodedRecord{ReadWish<JobReleased>(record.job_released()), wall};
    case v1::JournalRecord::kRequeueRequested:
      return DecodedRecord{ReadWish<RequeueRequested>(record.requeue_requested()), wall};
    case v1::JournalRecord::kStartExpired:
      return DecodedRecord{StartExpired{JobId(record.start_expired().job_id())}, wall};
    case v1::JournalRecord::kArrayAdmitted:
      return DecodedRecord{
          ArrayAdmitted{JobId(record.array_admitted().job_id()), record.array_admitted().first(),
                        record.array_admitted().end()},
          wall};
    case v1::JournalRecord::EVENT_NOT_SET:
      break;
  }
  return absl::FailedPreconditionError(
      "an event that this binary does not know; use the newer schedulerd that wrote it");
}

}  // namespace pipefill::scheduler
