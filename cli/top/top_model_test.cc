#include "cli/top/top_model.h"

#include <gtest/gtest.h>

#include <optional>

namespace pipefill {
namespace {

Instant AtSeconds(int64_t seconds) { return Instant::FromNs(seconds * 1'000'000'000); }

// What schedulerd says after `seconds` of a run with iterations of a second, 40 % bubbles, of which
// three quarters are filled; and a job with 10 units of 20 ms a second.
TopAnswers AnswersAfter(int64_t seconds, int64_t pid = 7) {
  TopAnswers answers;
  v1::Device& device = *answers.devices.add_devices();
  device.set_node("n1");
  device.set_name("cpu0");
  v1::MainRank& rank = *device.mutable_main_rank();
  rank.set_pid(pid);
  rank.set_iterations(seconds);
  rank.set_iteration_ns(seconds * 1'000'000'000);
  rank.set_bubble_ns(seconds * 400'000'000);
  for (int i = 0; i < 2; ++i) {
    v1::BubbleStats& bubble = *answers.bubbles.add_bubbles();
    bubble.set_node("n1");
    bubble.set_device("cpu0");
    bubble.set_filled_ns(seconds * 150'000'000);
    bubble.set_overrun_ns(seconds * 1'000'000);
  }
  v1::Job& job = *answers.jobs.add_jobs();
  job.set_id(3);
  v1::Attempt& attempt = *job.add_attempts();
  attempt.set_number(1);
  attempt.mutable_progress()->set_units(seconds * 10);
  attempt.mutable_progress()->set_unit_cpu_in_bubble_ns(seconds * 200'000'000);
  return answers;
}

class TopModelTest : public ::testing::Test {
 protected:
  std::optional<DeviceUse> Use() const { return model.UseOf(model.answers().devices.devices(0)); }
  std::optional<JobUse> JobUseNow() const { return model.UseOf(model.answers().jobs.jobs(0)); }

  TopModel model;
};

TEST_F(TopModelTest, OneAnswerSaysNothingAboutLately) {
  model.Add(AnswersAfter(100), AtSeconds(100));
  EXPECT_FALSE(Use().has_value());
  EXPECT_FALSE(JobUseNow().has_value());
}

TEST_F(TopModelTest, TakesTheDifferenceToAnAnswerSomeSecondsOld) {
  for (int64_t s = 100; s <= 110; ++s) model.Add(AnswersAfter(s), AtSeconds(s));
  const DeviceUse use = *Use();
  EXPECT_EQ(use.iteration_ns, 5e9);
  EXPECT_EQ(use.bubble_ns, 2e9);
  EXPECT_EQ(use.filled_ns, 1.5e9);
  EXPECT_EQ(use.overrun_ns, 1e7);
  EXPECT_DOUBLE_EQ(JobUseNow()->units_per_second, 10);
  EXPECT_DOUBLE_EQ(JobUseNow()->filled_share, 0.2);
}

TEST_F(TopModelTest, LooksBackFurtherWhileNoIterationEnds) {
  model.Add(AnswersAfter(100), AtSeconds(100));
  for (int64_t s = 101; s <= 120; ++s) model.Add(AnswersAfter(101), AtSeconds(s));
  EXPECT_EQ(Use()->iteration_ns, 1e9);
  EXPECT_EQ(JobUseNow()->units_per_second, 0);
}

TEST_F(TopModelTest, ForgetsWhatIsLongAgo) {
  model.Add(AnswersAfter(100), AtSeconds(100));
  for (int64_t s = 101; s <= 170; ++s) model.Add(AnswersAfter(101), AtSeconds(s));
  EXPECT_FALSE(Use().has_value());
}

TEST_F(TopModelTest, DoesNotCompareWithAnotherRankOrANewCount) {
  model.Add(AnswersAfter(100), AtSeconds(100));
  model.Add(AnswersAfter(110, /*pid=*/8), AtSeconds(110));
  EXPECT_FALSE(Use().has_value());
  model.Add(AnswersAfter(5, /*pid=*/8), AtSeconds(120));  // the agent counts from zero
  EXPECT_FALSE(Use().has_value());
  EXPECT_FALSE(JobUseNow().has_value());
  model.Add(AnswersAfter(8, /*pid=*/8), AtSeconds(123));
  EXPECT_EQ(Use()->iteration_ns, 3e9);
}

}  // namespace
}  // namespace pipefill
