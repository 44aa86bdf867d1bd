// Labels of jobs, and selectors that pick jobs by them. Both as in Kubernetes.
//
//   selector:    requirement [, requirement]...     all of them must hold
//   requirement: KEY=VALUE   KEY==VALUE             the label is there, with that value
//                KEY!=VALUE                         it is not there, or has another value
//                KEY                                it is there
//                !KEY                               it is not there
//
// Pure.
#ifndef SCHEDULER_CORE_LABELS_H_
#define SCHEDULER_CORE_LABELS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pipefill::scheduler {

using Labels = std::map<std::string, std::string>;

inline constexpr size_t kLabelsMax = 64;
inline constexpr size_t kSelectorBytesMax = 4096;

// InvalidArgument: too many, or which key or value is wrong, and what one may be.
absl::Status CheckLabels(const Labels& labels);

class Selector {
 public:
  // Takes everything.
  Selector() = default;
  // Spaces around the parts do not count; an empty text takes everything. InvalidArgument names the
  // requirement.
  static absl::StatusOr<Selector> Parse(absl::string_view text);

  bool Takes(const Labels& labels) const;
  bool is_empty() const { return requirements_.empty(); }

 private:
  enum class Kind { kEquals, kDiffers, kExists, kAbsent };
  struct Requirement {
    Kind kind = Kind::kExists;
    std::string key;
    std::string value;
  };

  static absl::StatusOr<Requirement> ParseRequirement(absl::string_view text);

  std::vector<Requirement> requirements_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_LABELS_H_
