#include "cli/array_text.h"

#include <gtest/gtest.h>

#include <string>

namespace pipefill {
namespace {

TEST(ParseArrayTest, ReadsRangesStepsListsAndTheLimit) {
  for (const char* text : {"0", "0-99", "0-10:2", "1,5,7-9", "0-99999%50", "3,8-20:4%1"}) {
    const absl::StatusOr<v1::ArraySpec> array = ParseArray(text);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(FormatArray(*array), text);
  }
  EXPECT_EQ(CountTasks(*ParseArray("0-99999%50")), 100'000);
  EXPECT_EQ(CountTasks(*ParseArray("0-10:2,1,5")), 8);
  EXPECT_EQ(ParseArray("0-9%3")->throttle(), 3);
}

TEST(ParseArrayTest, SaysWhichPartIsNone) {
  for (const char* text : {"", "a", "1-", "-1", "1-2-3", "1:2", "0-10:", "0-10:0", "1,,2", "0-9%",
                           "0-9%0", "0-9%x", "99999999999"}) {
    EXPECT_EQ(ParseArray(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseArray("1,x-3,5").status().message(),
            "\"x-3\" names no indexes; write for example 0-99, 0-10:2, 1,5,7-9 or 0-99%10");
}

TEST(FindPlaceTest, FollowsTheOrderOfTheRanges) {
  const v1::ArraySpec array = *ParseArray("5,0-8:4,20-22");
  EXPECT_EQ(FindPlace(array, 5), 0);
  EXPECT_EQ(FindPlace(array, 0), 1);
  EXPECT_EQ(FindPlace(array, 8), 3);
  EXPECT_EQ(FindPlace(array, 22), 6);
  EXPECT_EQ(FindPlace(array, 6), std::nullopt);
  EXPECT_EQ(FindPlace(array, 23), std::nullopt);
}

TEST(ArrayProgressTest, LeavesOutWhatIsNone) {
  v1::ArrayStatus status;
  status.set_tasks(100'000);
  EXPECT_EQ(ArrayProgress(status), "0/100,000 done");
  status.set_succeeded(35);
  status.set_failed(2);
  status.set_running(50);
  EXPECT_EQ(ArrayProgress(status), "37/100,000 done, 2 failed, 50 running");
}

TEST(AddDependenciesTest, TakesAListOfJobs) {
  v1::JobSpec spec;
  ASSERT_TRUE(AddDependencies("12,14", v1::DEPENDENCY_CONDITION_OK, &spec).ok());
  ASSERT_TRUE(AddDependencies("3", v1::DEPENDENCY_CONDITION_NOT_OK, &spec).ok());
  EXPECT_EQ(FormatDependencies(spec), "job 12 (ok), job 14 (ok), job 3 (not_ok)");
  EXPECT_EQ(AddDependencies("12,", v1::DEPENDENCY_CONDITION_OK, &spec).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace pipefill
