#include "cli/control_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace pipefill {
namespace {

v1::FillControl Control(double slowdown, double low, double high) {
  v1::FillControl control;
  control.set_state(v1::FILL_STATE_FILLING);
  control.set_budget_ppm(10'000);
  control.set_hold_outs(40);
  control.set_slowdown(slowdown);
  control.set_slowdown_low(low);
  control.set_slowdown_high(high);
  return control;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(CostTextTest, JudgesTheWholeInterval) {
  EXPECT_EQ(CostText(Control(0.0031, -0.001, 0.0072)),
            "+0.31 % iteration time (95 %: -0.10..+0.72 %), within its budget of 1 %");
  EXPECT_EQ(CostText(Control(0.0031, -0.01, 0.02)),
            "+0.31 % iteration time (95 %: -1.00..+2.00 %), budget 1 %, not decided yet");
  EXPECT_EQ(CostText(Control(0.02, 0.0101, 0.03)),
            "+2.00 % iteration time (95 %: +1.01..+3.00 %), over its budget of 1 %");
}

TEST(CostTextTest, SaysWhatIsNotKnown) {
  EXPECT_EQ(CostText(Control(kNan, kNan, kNan)), "not known yet, budget 1 %");
  EXPECT_EQ(CostText(Control(0.001, kNan, kNan)),
            "+0.10 % iteration time, budget 1 %, not decided yet");
  v1::FillControl fresh;  // an agent that has measured nothing
  fresh.set_budget_ppm(2'500);
  EXPECT_EQ(CostText(fresh), "not known yet, budget 0.25 %");
  EXPECT_EQ(SlowdownText(fresh), "-");
  EXPECT_EQ(IntervalText(fresh), "");
  EXPECT_EQ(CostOf(fresh), Cost::kUnknown);
}

TEST(StateTextTest, GivesTheAgentsReasonOrWhatTheStateMeans) {
  v1::FillControl control = Control(0, 0, 0);
  EXPECT_EQ(StateText(control), "filling");
  control.set_state(v1::FILL_STATE_BACKED_OFF);
  EXPECT_EQ(StateText(control), "backed off: cost more than its budget");
  control.set_text("+1.8 % in 12 hold-outs");
  control.set_retry_in_ns(28'000'000'000);
  EXPECT_EQ(StateText(control), "backed off: +1.8 % in 12 hold-outs; tries again in 28 s");
  control.set_text("backed off for\n30s");
  control.set_retry_in_ns(0);
  EXPECT_EQ(StateText(control), "backed off for?30s");
}

}  // namespace
}  // namespace pipefill
