#include "scheduler/core/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ArraySpec UpTo(int32_t last) { return {.ranges = {{0, last, 1}}}; }

TEST(ArraySpecTest, PlacesFollowTheRangesInTheirOrder) {
  const ArraySpec array{.ranges = {{5, 5, 1}, {0, 5, 2}, {7, 9, 1}}};
  std::vector<int32_t> indexes;
  for (int64_t place = 0; place < array.size(); ++place) indexes.push_back(array.IndexAt(place));
  EXPECT_THAT(indexes, ElementsAre(5, 0, 2, 4, 7, 8, 9));
}

TEST(ArraySpecTest, LimitsAreNamed) {
  EXPECT_TRUE(CheckArray(UpTo(99), 100).ok());
  const absl::Status many = CheckArray(UpTo(100), 100);
  EXPECT_EQ(many.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(many.message()), HasSubstr("array_tasks_max, 100"));
  EXPECT_EQ(CheckArray({.ranges = std::vector<IndexRange>(1'001)}, 10'000).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ArraySpecTest, RefusesWhatIsNoSetOfIndexes) {
  for (const IndexRange& range : std::vector<IndexRange>{
           {-1, 3, 1}, {4, 3, 1}, {0, 3, 0}, {0, 3, -1}, {0, 1'000'000'001, 1}}) {
    EXPECT_EQ(CheckArray({.ranges = {range}}, kArrayTasksCap).code(),
              absl::StatusCode::kInvalidArgument)
        << range.first << "-" << range.last << ":" << range.step;
  }
  EXPECT_FALSE(CheckArray({}, 10).ok());
  EXPECT_FALSE(CheckArray({.ranges = {{0, 1, 1}}, .throttle = -1}, 10).ok());
}

TEST(ArraySpecTest, FindsAnIndexThatIsThereTwice) {
  EXPECT_TRUE(CheckIndexesDiffer({.ranges = {{0, 10, 2}, {1, 9, 2}}}).ok());
  const absl::Status twice = CheckIndexesDiffer({.ranges = {{0, 10, 2}, {7, 8, 1}}});
  EXPECT_EQ(twice.message(), "spec.array: index 8 is there twice");
}

TEST(ArrayTasksTest, CountsFollowResults) {
  ArrayTasks tasks(5);
  EXPECT_EQ(tasks.later(), 5);
  tasks.SetResult(1, TaskResult::kCancelled);
  EXPECT_EQ(tasks.EndOf(2), 3) << "one of the first three is over already";
  tasks.Admit(3);
  EXPECT_EQ(tasks.in_flight(), 2);
  tasks.SetResult(0, TaskResult::kSucceeded);
  tasks.SetResult(2, TaskResult::kFailed);
  EXPECT_EQ(tasks.in_flight(), 0);
  EXPECT_EQ(tasks.later(), 2);
  EXPECT_FALSE(tasks.is_over());
  tasks.Admit(5);
  tasks.SetResult(3, TaskResult::kSucceeded);
  tasks.SetResult(4, TaskResult::kSucceeded);
  EXPECT_TRUE(tasks.is_over());
  EXPECT_EQ(tasks.succeeded(), 3);
  EXPECT_EQ(tasks.failed(), 1);
  EXPECT_EQ(tasks.cancelled(), 1);
}

TEST(ArrayTasksTest, RefusesWhatItCannotHaveKept) {
  const std::string two_bytes(2, '\0');
  EXPECT_TRUE(ArrayTasks::FromKept(5, 3, two_bytes).has_value());
  EXPECT_FALSE(ArrayTasks::FromKept(5, 6, two_bytes).has_value()) << "more than there are";
  EXPECT_FALSE(ArrayTasks::FromKept(5, -1, two_bytes).has_value());
  EXPECT_FALSE(ArrayTasks::FromKept(5, 3, "\0").has_value()) << "too short";
  EXPECT_FALSE(ArrayTasks::FromKept(5, 3, std::string("\0\x04", 2)).has_value())
      << "a result of a sixth task";
  EXPECT_FALSE(ArrayTasks::FromKept(0, 0, "").has_value());
  EXPECT_FALSE(ArrayTasks::FromKept(int64_t{1} << 40, 0, "").has_value());
}

RC_GTEST_PROP(ArrayTasksPropertyTest, CountsAreThoseOfTheResultsAndSurviveBeingKept, ()) {
  const int64_t size = *rc::gen::inRange(1, 40);
  ArrayTasks tasks(size);
  std::vector<TaskResult> results(static_cast<size_t>(size), TaskResult::kNone);
  int64_t next = 0;
  for (int step = 0; step < 60; ++step) {
    if (*rc::gen::inRange(0, 3) == 0 && next < size) {
      next = tasks.EndOf(*rc::gen::inRange(1, 5));
      tasks.Admit(next);
    } else {
      const auto place = *rc::gen::inRange<size_t>(0, results.size());
      if (results[place] != TaskResult::kNone) continue;
      results[place] =
          *rc::gen::element(TaskResult::kSucceeded, TaskResult::kFailed, TaskResult::kCancelled);
      tasks.SetResult(static_cast<int64_t>(place), results[place]);
    }
  }
  const auto count = [&](TaskResult result) {
    return std::count(results.begin(), results.end(), result);
  };
  RC_ASSERT(tasks.succeeded() == count(TaskResult::kSucceeded));
  RC_ASSERT(tasks.failed() == count(TaskResult::kFailed));
  RC_ASSERT(tasks.cancelled() == count(TaskResult::kCancelled));
  RC_ASSERT(tasks.in_flight() ==
            std::count(results.begin(), results.begin() + next, TaskResult::kNone));
  RC_ASSERT(tasks.in_flight() + tasks.later() == count(TaskResult::kNone));
  RC_ASSERT(ArrayTasks::FromKept(size, tasks.next(), tasks.results()) == tasks);
}

TEST(DescribeArrayEndTest, NamesTheFirstIndexesThatFailed) {
  const ArraySpec array{.ranges = {{10, 40, 2}}};
  ArrayTasks tasks(array.size());
  for (int64_t place = 0; place < tasks.size(); ++place) {
    tasks.SetResult(place, place == 1 || place == 3 ? TaskResult::kFailed : TaskResult::kSucceeded);
  }
  EXPECT_EQ(DescribeArrayEnd(array, tasks), "2 of 16 tasks failed: indexes 12, 16");
}

TEST(DescribeArrayEndTest, NamesNoMoreThanTen) {
  const ArraySpec array = UpTo(19);
  ArrayTasks tasks(20);
  for (int64_t place = 0; place < 20; ++place) {
    tasks.SetResult(place, place == 0 ? TaskResult::kCancelled : TaskResult::kFailed);
  }
  EXPECT_EQ(DescribeArrayEnd(array, tasks),
            "19 of 20 tasks failed: indexes 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...; "
            "1 of 20 tasks was cancelled");
}

}  // namespace
}  // namespace pipefill::scheduler
