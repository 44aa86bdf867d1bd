// Handing errors up. Texts: `what failed: key=value ...; what to do`, lower case, no full stop.
//
// Pure.
#ifndef COMMON_STATUS_H_
#define COMMON_STATUS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pipefill {

// The same code, with `context: ` before the text.
absl::Status WithContext(const absl::Status& status, absl::string_view context);
// From errno right after a failed system call: "open /x: Permission denied", with a fitting code.
absl::Status ErrnoStatus(int error_number, absl::string_view what);

}  // namespace pipefill

#define RETURN_IF_ERROR(expression)                                         \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

#define PIPEFILL_CONCAT_(a, b) a##b
#define PIPEFILL_CONCAT(a, b) PIPEFILL_CONCAT_(a, b)
// `lhs` may be a declaration: ASSIGN_OR_RETURN(const Job* job, FindJob(id));
#define ASSIGN_OR_RETURN(lhs, expression) \
  ASSIGN_OR_RETURN_(PIPEFILL_CONCAT(status_or_, __LINE__), lhs, expression)
#define ASSIGN_OR_RETURN_(result, lhs, expression)     \
  auto result = (expression);                          \
  if (!result.ok()) return std::move(result).status(); \
  lhs = *std::move(result)

#endif  // COMMON_STATUS_H_
