#include "cli/top/top_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace pipefill {
namespace {

// Rank 0 of gpt on cpu0 fills 90 % of its 40 %; job 3 runs there, job 4 waits; cpu1 is nobody's.
class TopFrameTest : public ::testing::Test {
 protected:
  TopFrameTest() {
    view.scheduler = "127.0.0.1:7700";
    view.selected = "gpt";
  }

  static TopAnswers AnswersAfter(int64_t seconds) {
    TopAnswers answers;
    AddDevices(seconds, &answers);
    v1::BubbleStats& bubble = *answers.bubbles.add_bubbles();
    bubble.set_node("node1");
    bubble.set_device("cpu0");
    bubble.set_filled_ns(seconds * 360'000'000);
    bubble.set_overrun_ns(seconds * 8'000'000);
    v1::Job& waiting = *answers.jobs.add_jobs();
    waiting.set_id(4);
    waiting.mutable_spec()->set_name("later");
    waiting.set_state(v1::JOB_STATE_PENDING);
    waiting.set_pending_text("needs 512 MiB, the best device has 312 MiB free: node1/cpu0");
    v1::Job& running = *answers.jobs.add_jobs();
    running.set_id(3);
    running.mutable_spec()->set_name("embed");
    running.set_state(v1::JOB_STATE_RUNNING);
    v1::Attempt& attempt = *running.add_attempts();
    attempt.set_number(1);
    attempt.set_node("node1");
    attempt.set_device("cpu0");
    attempt.set_state(v1::ATTEMPT_STATE_RUNNING);
    v1::FillProgress& progress = *attempt.mutable_progress();
    progress.set_units(seconds * 1000);
    progress.set_units_overrun(seconds * 12);
    progress.set_unit_cpu_in_bubble_ns(seconds * 360'000'000);
    progress.set_unit_estimate_ns(512'000);
    return answers;
  }

  static void AddDevices(int64_t seconds, TopAnswers* answers) {
    v1::Device& device = *answers->devices.add_devices();
    device.set_node("node1");
    device.set_name("cpu0");
    device.set_resident(1);
    v1::MainRank& rank = *device.mutable_main_rank();
    rank.set_main_job("gpt");
    rank.set_ranks(2);
    rank.set_iterations(seconds * 10);
    rank.set_iteration_p50_ns(112'000'000);
    rank.set_iteration_ns(seconds * 1'000'000'000);
    rank.set_bubble_ns(seconds * 400'000'000);
    v1::FillControl& control = *rank.mutable_control();
    control.set_state(v1::FILL_STATE_FILLING);
    control.set_budget_ppm(10'000);
    control.set_hold_outs(40);
    control.set_slowdown(0.0031);
    control.set_slowdown_low(-0.001);
    control.set_slowdown_high(0.0072);
    v1::Device& idle = *answers->devices.add_devices();
    idle.set_node("node1");
    idle.set_name("cpu1");
  }

  void Look() {
    for (int64_t s = 100; s <= 106; ++s) {
      model.Add(AnswersAfter(s), Instant::FromNs(s * 1'000'000'000));
    }
  }

  std::string Text() const { return PlainText(MakeTopFrame(model, view)); }

  // The style of the first span with `text` in it.
  Style StyleOf(const std::string& text) const {
    const Frame frame = MakeTopFrame(model, view);
    for (const Line& line : frame.lines) {
      for (const Span& span : line) {
        if (absl::StrContains(span.text, text)) return span.style;
      }
    }
    ADD_FAILURE() << "no " << text << " in\n" << PlainText(frame);
    return Style::kPlain;
  }

  TopModel model;
  TopView view;
};

TEST_F(TopFrameTest, ShowsWhatIsIdleFilledAndPaidInEightyColumns) {
  Look();
  const std::string text = Text();
  EXPECT_EQ(text, R"TEXT(pipefill top  127.0.0.1:7700  2 devices, 1 fill job running, 1 waiting

  MAIN JOB        RANKS  ITERATION    IDLE   FILLED  OVERRUN             COST
> gpt               1/2     112 ms  40.0 %   90.0 %    2.0 %   +0.31 +-0.41 %
    filling; budget 1 %

  DEVICE        RANK        ITERATION  # main job  + filled  ! overrun  . idle
  node1/cpu0    gpt 0          112 ms  ############!++++++++.   90.0 % filled
  node1/cpu1    no main job

  JOB    NAME            DEVICE        UNITS/S     CORE   FILLED    LATE     NEXT
  3      embed           node1/cpu0       1000   36.0 %   38.2 s   1.2 %   512 us
  4      later           waits: needs 512 MiB, the best device has 312 MiB fr...
)TEXT");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) EXPECT_LE(line.size(), 81u);
}

TEST_F(TopFrameTest, ColoursFollowTheBudgetAndTheState) {
  Look();
  EXPECT_EQ(StyleOf("+0.31"), Style::kGood);
  EXPECT_EQ(StyleOf("filling"), Style::kGood);
  EXPECT_EQ(StyleOf("> gpt"), Style::kSelected);
  TopAnswers answers = AnswersAfter(107);
  v1::FillControl& control =
      *answers.devices.mutable_devices(0)->mutable_main_rank()->mutable_control();
  control.set_state(v1::FILL_STATE_BACKED_OFF);
  control.set_text("slowdown 3.1 % exceeds the budget of 1 %");
  control.set_slowdown_low(0.02);
  control.set_slowdown(0.031);
  control.set_slowdown_high(0.04);
  control.set_retry_in_ns(28'000'000'000);
  model.Add(answers, Instant::FromNs(107'000'000'000));
  EXPECT_EQ(StyleOf("+3.10"), Style::kBad);
  EXPECT_EQ(StyleOf("backed off: slowdown 3.1 % exceeds the budget of 1 %; tries again in 28 s"),
            Style::kBad);
}

TEST_F(TopFrameTest, SaysWhatIsNotThereYet) {
  model.Add({}, Instant::FromNs(1));
  const std::string text = Text();
  EXPECT_TRUE(absl::StrContains(text, "none is attached: a training run shows up once"));
  EXPECT_TRUE(absl::StrContains(text, "no agent is connected"));
  EXPECT_TRUE(absl::StrContains(text, "'pipefill submit -- PROGRAM' adds one"));
  model.Add(AnswersAfter(100), Instant::FromNs(2));
  EXPECT_TRUE(absl::StrContains(Text(), "not measured yet"));
}

TEST_F(TopFrameTest, KeepsTheLastAnswersWhileSchedulerdIsAway) {
  Look();
  view.away = absl::Seconds(12);
  view.error = "cannot reach schedulerd: address=127.0.0.1:7700\nx";
  const std::string text = Text();
  EXPECT_TRUE(absl::StrContains(
      text,
      "\nschedulerd is not reachable since 12s, still trying; what follows is from before\n"
      "cannot reach schedulerd: address=127.0.0.1:7700?x\n"));
  EXPECT_TRUE(absl::StrContains(text, "> gpt"));
  EXPECT_EQ(StyleOf("not reachable"), Style::kBad);
}

TEST_F(TopFrameTest, HelpTakesThePlaceOfEverythingBelowTheTitle) {
  Look();
  view.is_help = true;
  view.height = 24;
  const std::string text = Text();
  EXPECT_TRUE(absl::StrContains(text, "OVERRUN   computed by units after the end"));
  EXPECT_TRUE(absl::StrContains(text, "p         pause the selected main job"));
  EXPECT_FALSE(absl::StrContains(text, "node1/cpu0"));
}

TEST_F(TopFrameTest, FitsEveryWindow) {
  Look();
  for (size_t height = 1; height < 40; ++height) {
    for (size_t width : {1, 5, 20, 60, 80, 120, 250}) {
      view.height = height;
      view.width = width;
      EXPECT_EQ(MakeTopFrame(model, view).lines.size(), height);
    }
  }
  view.width = 80;
  view.height = 24;
  view.prompt = "really?";
  const Frame frame = MakeTopFrame(model, view);
  EXPECT_EQ(frame.lines.back()[0].text, "really?");
}

TEST_F(TopFrameTest, SaysHowMuchDoesNotFit) {
  TopAnswers answers = AnswersAfter(100);
  for (int i = 0; i < 50; ++i) *answers.devices.add_devices() = answers.devices.devices(1);
  model.Add(answers, Instant::FromNs(1));
  view.height = 24;
  const std::string text = Text();
  EXPECT_TRUE(absl::StrContains(text, "lines more; a taller window shows them"));
  EXPECT_TRUE(absl::StrContains(text, "embed"));  // jobs keep their room
}

TEST_F(TopFrameTest, TextOfOthersCannotMoveTheCursor) {
  TopAnswers answers = AnswersAfter(100);
  answers.devices.mutable_devices(0)->mutable_main_rank()->set_main_job("a\x1b[2J\n");
  answers.jobs.mutable_jobs(0)->set_pending_text("b\x1b[2J");
  answers.jobs.mutable_jobs(1)->mutable_spec()->set_name("c\x1b[2J");
  model.Add(answers, Instant::FromNs(1));
  EXPECT_FALSE(absl::StrContains(Text(), "\x1b"));
}

}  // namespace
}  // namespace pipefill
