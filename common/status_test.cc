#include "common/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "absl/strings/cord.h"

namespace pipefill {
namespace {

TEST(WithContextTest, PutsContextInFrontAndKeepsCode) {
  const absl::Status status = WithContext(absl::NotFoundError("no job 17"), "wait");
  EXPECT_EQ(status, absl::NotFoundError("wait: no job 17"));
}

TEST(WithContextTest, LeavesOkAlone) { EXPECT_TRUE(WithContext(absl::OkStatus(), "wait").ok()); }

TEST(WithContextTest, KeepsPayloads) {
  absl::Status status = absl::AbortedError("stale");
  status.SetPayload("pipefill/seen", absl::Cord("41"));
  EXPECT_EQ(WithContext(status, "plan").GetPayload("pipefill/seen"), absl::Cord("41"));
}

TEST(ErrnoStatusTest, TextNamesWhatFailedAndWhy) {
  EXPECT_EQ(ErrnoStatus(EACCES, "open /x").message(), "open /x: Permission denied");
}

TEST(ErrnoStatusTest, CodesFitWhatTheCallerCanDo) {
  EXPECT_TRUE(absl::IsPermissionDenied(ErrnoStatus(EACCES, "x")));
  EXPECT_TRUE(absl::IsPermissionDenied(ErrnoStatus(EROFS, "x")));
  EXPECT_TRUE(absl::IsNotFound(ErrnoStatus(ENOENT, "x")));
  EXPECT_TRUE(absl::IsFailedPrecondition(ErrnoStatus(EADDRINUSE, "x")));
  EXPECT_TRUE(absl::IsUnavailable(ErrnoStatus(ECONNREFUSED, "x")));
  EXPECT_TRUE(absl::IsResourceExhausted(ErrnoStatus(ENOSPC, "x")));
}

absl::Status FailWith(const absl::Status& status, bool* is_past) {
  RETURN_IF_ERROR(status);
  *is_past = true;
  return absl::OkStatus();
}

TEST(ReturnIfErrorTest, ReturnsErrorsOnly) {
  bool is_past = false;
  EXPECT_EQ(FailWith(absl::AbortedError("a"), &is_past), absl::AbortedError("a"));
  EXPECT_FALSE(is_past);
  EXPECT_TRUE(FailWith(absl::OkStatus(), &is_past).ok());
  EXPECT_TRUE(is_past);
}

absl::StatusOr<int> Twice(absl::StatusOr<std::unique_ptr<int>> input) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> first, std::move(input));
  ASSIGN_OR_RETURN(const int second, absl::StatusOr<int>(*first));
  return *first + second;
}

TEST(AssignOrReturnTest, TakesMoveOnlyValuesAndReturnsErrors) {
  EXPECT_EQ(Twice(std::make_unique<int>(21)).value(), 42);
  EXPECT_EQ(Twice(absl::DataLossError("torn")).status(), absl::DataLossError("torn"));
}

}  // namespace
}  // namespace pipefill
