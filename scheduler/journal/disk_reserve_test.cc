#include "scheduler/journal/disk_reserve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

class DiskReserveTest : public testing::Test {
 protected:
  DiskReserveTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~DiskReserveTest() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_;
};

TEST_F(DiskReserveTest, ReserveIsHeldGivenUpOnceAndTakenBack) {
  DiskReserve reserve(folder_.string(), 1 << 20);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "reserve"), 1U << 20);
  EXPECT_TRUE(reserve.Check().ok());

  EXPECT_TRUE(reserve.GiveUpReserve());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "reserve"));
  EXPECT_FALSE(reserve.GiveUpReserve());

  EXPECT_TRUE(reserve.Check().ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "reserve"));
}

// No disk has an exbibyte to hold back.
TEST_F(DiskReserveTest, TooLittleSpaceIsSaidWithNumbers) {
  DiskReserve reserve(folder_.string(), int64_t{1} << 60);
  const absl::Status status = reserve.Check();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is full: free="));
  EXPECT_FALSE(reserve.GiveUpReserve());
}

}  // namespace
}  // namespace pipefill::scheduler
