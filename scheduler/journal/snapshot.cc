#include "scheduler/journal/snapshot.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "proto/snapshot.pb.h"
#include "scheduler/convert/convert.h"
#include "scheduler/convert/profile.h"
#include "scheduler/journal/snapshot_job.h"

namespace pipefill::scheduler {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;

absl::Status Damaged(absl::string_view text) {
  return absl::DataLossError(absl::StrCat("the snapshot is damaged: ", text));
}

}  // namespace

std::optional<std::string> SnapshotEncoder::Next() {
  switch (stage_) {
    case Stage::kHead:
      return Head();
    case Stage::kTenants:
      return Tenants();
    case Stage::kProfiles:
      return Profiles();
    case Stage::kJobs:
      return Jobs();
    case Stage::kEnd:
      return End();
    case Stage::kDone:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string SnapshotEncoder::Head() {
  v1::SnapshotPiece piece;
  v1::SnapshotHead* head = piece.mutable_head();
  head->set_format(kSnapshotFormat);
  head->set_sequence(stamp_.sequence);
  head->set_unix_ns(absl::ToUnixNanos(stamp_.wall));
  head->set_next_job_id(state_.next_job_id.value());
  head->set_last_fence(state_.last_fence.value());
  for (const auto& [name, settings] : *state_.main_jobs) {
    *head->add_main_jobs() = ToProto(settings);
  }
  stage_ = Stage::kTenants;
  return piece.SerializeAsString();
}

std::string SnapshotEncoder::Tenants() {
  v1::SnapshotPiece piece;
  v1::SnapshotTenants* tenants = piece.mutable_tenants();
  size_t bytes = 0;
  while (next_tenant_ < state_.tenants.size() && bytes < kPieceBytes) {
    const TenantUsed& used = state_.tenants[next_tenant_++];
    v1::SnapshotTenant* tenant = tenants->add_tenants();
    tenant->set_name(used.name);
    tenant->set_used_ns(used.used_ns);
    tenant->set_as_of_unix_ns(absl::ToUnixNanos(used.at));
    bytes += tenant->ByteSizeLong();
  }
  if (next_tenant_ == state_.tenants.size()) stage_ = Stage::kProfiles;
  return piece.SerializeAsString();
}

std::string SnapshotEncoder::Profiles() {
  v1::SnapshotPiece piece;
  v1::SnapshotProfiles* profiles = piece.mutable_profiles();
  size_t bytes = 0;
  while (next_profile_ < state_.profiles.size() && bytes < kPieceBytes) {
    const ProfileBook::Record& record = state_.profiles[next_profile_++];
    v1::KnownProfile* known = profiles->add_profiles();
    known->set_is_by_name(record.is_by_name);
    known->set_key(record.key);
    *known->mutable_profile() = ToProto(*record.entry.profile);
    known->set_job_id(record.entry.job.value());
    known->set_is_learned(record.entry.is_learned);
    bytes += known->ByteSizeLong();
  }
  if (next_profile_ == state_.profiles.size()) {
    stage_ = state_.jobs.size() > 0 ? Stage::kJobs : Stage::kEnd;
  }
  return piece.SerializeAsString();
}

std::string SnapshotEncoder::Jobs() {
  v1::SnapshotPiece piece;
  size_t bytes = 0;
  const Job* job = state_.jobs.FindAtOrAbove(next_);
  while (job != nullptr && bytes < kPieceBytes) {
    v1::SnapshotJob* added = piece.mutable_jobs()->add_jobs();
    *added = ToSnapshot(*job);
    bytes += added->ByteSizeLong();
    next_ = JobId(job->id.value() + 1);
    job = state_.jobs.FindAtOrAbove(next_);
  }
  if (job == nullptr) stage_ = Stage::kEnd;
  return piece.SerializeAsString();
}

std::string SnapshotEncoder::End() {
  v1::SnapshotPiece piece;
  piece.mutable_end()->set_jobs(state_.jobs.size());
  stage_ = Stage::kDone;
  return piece.SerializeAsString();
}

absl::Status SnapshotDecoder::Take(absl::string_view bytes) {
  v1::SnapshotPiece piece;
  if (!piece.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Damaged("a piece of it cannot be read");
  }
  const bool is_head = piece.piece_case() == v1::SnapshotPiece::kHead;
  if (has_end_ || is_head == has_head_) return Damaged("its pieces are out of order");
  switch (piece.piece_case()) {
    case v1::SnapshotPiece::kHead:
      return TakeHead(piece.head());
    case v1::SnapshotPiece::kTenants:
      TakeTenants(piece.tenants());
      return absl::OkStatus();
    case v1::SnapshotPiece::kProfiles:
      TakeProfiles(piece.profiles());
      return absl::OkStatus();
    case v1::SnapshotPiece::kJobs:
      for (const v1::SnapshotJob& job : piece.jobs().jobs()) {
        RETURN_IF_ERROR(state_->RestoreJob(FromSnapshot(job), now_));
        ++jobs_;
      }
      return absl::OkStatus();
    case v1::SnapshotPiece::kEnd:
      has_end_ = true;
      if (piece.end().jobs() != jobs_) return Damaged("jobs are missing");
      return state_->RestoreCounters(next_job_id_, last_fence_);
    case v1::SnapshotPiece::PIECE_NOT_SET:
      break;
  }
  return Damaged("a piece of it is of a kind that this binary does not know");
}

absl::Status SnapshotDecoder::TakeHead(const v1::SnapshotHead& head) {
  if (head.format() > kSnapshotFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("the snapshot was written by a newer version (format ", head.format(),
                     ", this binary reads ", kSnapshotFormat, "); use that version"));
  }
  if (head.format() < 1) return Damaged("it has no format");
  has_head_ = true;
  stamp_ = {head.sequence(), absl::FromUnixNanos(head.unix_ns())};
  next_job_id_ = JobId(head.next_job_id());
  last_fence_ = Fence(head.last_fence());
  for (const v1::MainJobSettings& settings : head.main_jobs()) {
    state_->RestoreMainJob(FromProto(settings));
  }
  return absl::OkStatus();
}

void SnapshotDecoder::TakeTenants(const v1::SnapshotTenants& tenants) {
  for (const v1::SnapshotTenant& tenant : tenants.tenants()) {
    state_->RestoreTenant(
        {tenant.name(), tenant.used_ns(), absl::FromUnixNanos(tenant.as_of_unix_ns())});
  }
}

void SnapshotDecoder::TakeProfiles(const v1::SnapshotProfiles& profiles) {
  for (const v1::KnownProfile& known : profiles.profiles()) {
    state_->RestoreProfile(
        {.is_by_name = known.is_by_name(),
         .key = known.key(),
         .entry = {.profile = std::make_shared<const FillProfile>(FromProto(known.profile())),
                   .job = JobId(known.job_id()),
                   .is_learned = known.is_learned()}});
  }
}

absl::Status SnapshotDecoder::Finish() const {
  return has_end_ ? absl::OkStatus() : Damaged("its end is missing");
}

}  // namespace pipefill::scheduler
