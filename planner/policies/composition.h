// Several policies, one behind the other: "edf,sjf" orders by deadline, and by length where
// deadlines are equal.
//
// Pure.
#ifndef PLANNER_POLICIES_COMPOSITION_H_
#define PLANNER_POLICIES_COMPOSITION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class Composition : public Policy {
 public:
  explicit Composition(std::vector<std::unique_ptr<Policy>> parts) : parts_(std::move(parts)) {}

  std::string name() const override;
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override;
  Score ScoreDevice(const DeviceSnapshot& device) const override;
  // Of the first part that has one.
  absl::Status error() const override;

 private:
  const std::vector<std::unique_ptr<Policy>> parts_;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_COMPOSITION_H_
