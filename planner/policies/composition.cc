#include "planner/policies/composition.h"

#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

void Append(const Score& part, Score* whole) {
  whole->insert(whole->end(), part.begin(), part.end());
}

}  // namespace

std::string Composition::name() const {
  std::string name;
  for (const auto& part : parts_) absl::StrAppend(&name, name.empty() ? "" : ",", part->name());
  return name;
}

Score Composition::ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const {
  Score score;
  for (const auto& part : parts_) Append(part->ScoreJob(job, tenant), &score);
  return score;
}

Score Composition::ScoreDevice(const DeviceSnapshot& device) const {
  Score score;
  for (const auto& part : parts_) Append(part->ScoreDevice(device), &score);
  return score;
}

absl::Status Composition::error() const {
  for (const auto& part : parts_) {
    if (!part->error().ok()) return part->error();
  }
  return absl::OkStatus();
}

}  // namespace pipefill
