#include "common/exit_code.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(ExitCodeTest, EveryStatusCodeHasTheDocumentedExitCode) {
  EXPECT_EQ(ExitCodeFor(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeFor(absl::InternalError("")), 1);
  EXPECT_EQ(ExitCodeFor(absl::DataLossError("")), 1);
  EXPECT_EQ(ExitCodeFor(absl::UnknownError("")), 1);
  EXPECT_EQ(ExitCodeFor(absl::CancelledError("")), 1);
  EXPECT_EQ(ExitCodeFor(absl::UnimplementedError("")), 1);
  EXPECT_EQ(ExitCodeFor(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeFor(absl::OutOfRangeError("")), 2);
  EXPECT_EQ(ExitCodeFor(absl::NotFoundError("")), 3);
  EXPECT_EQ(ExitCodeFor(absl::PermissionDeniedError("")), 4);
  EXPECT_EQ(ExitCodeFor(absl::UnauthenticatedError("")), 4);
  EXPECT_EQ(ExitCodeFor(absl::AlreadyExistsError("")), 5);
  EXPECT_EQ(ExitCodeFor(absl::FailedPreconditionError("")), 5);
  EXPECT_EQ(ExitCodeFor(absl::AbortedError("")), 5);
  EXPECT_EQ(ExitCodeFor(absl::UnavailableError("")), 6);
  EXPECT_EQ(ExitCodeFor(absl::DeadlineExceededError("")), 6);
  EXPECT_EQ(ExitCodeFor(absl::ResourceExhaustedError("")), 7);
}

}  // namespace
}  // namespace pipefill
