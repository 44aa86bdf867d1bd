#include "common/status.h"

#include <cerrno>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

absl::StatusCode CodeOfErrno(int error_number) {
  switch (error_number) {
    case EADDRINUSE:
    case EBUSY:
      return absl::StatusCode::kFailedPrecondition;
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::ErrnoToStatusCode(error_number);
  }
}

}  // namespace

absl::Status WithContext(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload([&result](absl::string_view type, const absl::Cord& payload) {
    result.SetPayload(type, payload);
  });
  return result;
}

absl::Status ErrnoStatus(int error_number, absl::string_view what) {
  const absl::Status plain = absl::ErrnoToStatus(error_number, what);
  return absl::Status(CodeOfErrno(error_number), plain.message());
}

}  // namespace pipefill
