#include "scheduler/core/live_attempts.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace pipefill::scheduler {
namespace {

// The attempt, or where it would be, in a list by fence.
template <typename Attempts>
auto PlaceIn(Attempts& attempts, Fence fence) {
  return std::lower_bound(
      attempts.begin(), attempts.end(), fence,
      [](const LiveAttempt& attempt, Fence wanted) { return attempt.key.fence < wanted; });
}

}  // namespace

LiveAttempts::Devices::const_iterator LiveAttempts::PlaceOf(const std::string& device) const {
  return std::lower_bound(
      devices_.begin(), devices_.end(), device,
      [](const OnDevice& known, const std::string& wanted) { return known.device < wanted; });
}

const std::vector<LiveAttempt>& LiveAttempts::On(const std::string& device) const {
  static const auto* const kNone = new std::vector<LiveAttempt>;
  const auto at = PlaceOf(device);
  return at == devices_.end() || at->device != device ? *kNone : at->attempts;
}

std::vector<const LiveAttempt*> LiveAttempts::InOrder() const {
  std::vector<const LiveAttempt*> all;
  for (const OnDevice& on : devices_) {
    for (const LiveAttempt& attempt : on.attempts) all.push_back(&attempt);
  }
  std::sort(all.begin(), all.end(),
            [](const LiveAttempt* a, const LiveAttempt* b) { return a->key.fence < b->key.fence; });
  return all;
}

const LiveAttempt* LiveAttempts::Find(const std::string& device, Fence fence) const {
  const std::vector<LiveAttempt>& attempts = On(device);
  const auto at = PlaceIn(attempts, fence);
  return at == attempts.end() || at->key.fence != fence ? nullptr : &*at;
}

const LiveAttempt* LiveAttempts::Find(Fence fence) const {
  for (const OnDevice& on : devices_) {
    const auto at = PlaceIn(on.attempts, fence);
    if (at != on.attempts.end() && at->key.fence == fence) return &*at;
  }
  return nullptr;
}

LiveAttempt& LiveAttempts::At(const std::string& device, Fence fence) {
  const auto on = devices_.begin() + (PlaceOf(device) - devices_.cbegin());
  CHECK(on != devices_.end() && on->device == device);
  const auto at = PlaceIn(on->attempts, fence);
  CHECK(at != on->attempts.end() && at->key.fence == fence);
  return *at;
}

void LiveAttempts::Add(LiveAttempt attempt) {
  auto on = devices_.begin() + (PlaceOf(attempt.device.name) - devices_.cbegin());
  if (on == devices_.end() || on->device != attempt.device.name) {
    on = devices_.insert(on, {.device = attempt.device.name, .attempts = {}});
  }
  const auto at = PlaceIn(on->attempts, attempt.key.fence);
  CHECK(at == on->attempts.end() || at->key.fence != attempt.key.fence);
  on->attempts.insert(at, std::move(attempt));
}

void LiveAttempts::Remove(const std::string& device, Fence fence) {
  const auto on = devices_.begin() + (PlaceOf(device) - devices_.cbegin());
  CHECK(on != devices_.end() && on->device == device);
  const auto at = PlaceIn(on->attempts, fence);
  CHECK(at != on->attempts.end() && at->key.fence == fence);
  on->attempts.erase(at);
  if (on->attempts.empty()) devices_.erase(on);
}

}  // namespace pipefill::scheduler
