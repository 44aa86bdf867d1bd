#include "cli/why.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class WhyTest : public CommandFixture {
 protected:
  v1::Job& AddWaiting() {
    v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_PENDING);
    job.mutable_spec()->set_priority(3);
    v1::PendingDetail& pending = *job.mutable_pending();
    pending.set_rule("needs 2 GiB; the most that is free on a device with a free seat is 1 GiB");
    pending.set_need_bytes(int64_t{2} << 30);
    pending.set_have_bytes(int64_t{1} << 30);
    pending.set_nearest_node("a");
    pending.set_nearest_device("cpu0");
    pending.set_place(4);
    pending.set_waiting(1200);
    pending.add_help("would start now with 1 GiB less, on a/cpu0");
    return job;
  }
};

TEST_F(WhyTest, ShowsRuleNumbersPlaceAndWhatWouldHelp) {
  AddWaiting();
  EXPECT_EQ(Run({"why", "17"}).out,
            "job 17, embed, is pending\n"
            "  rule        needs 2 GiB; the most that is free on a device with a free seat is\n"
            "              1 GiB\n"
            "  need        2 GiB\n"
            "  have        1 GiB at most, on a device with a free seat\n"
            "  nearest     a/cpu0\n"
            "  in line     4 of 1,200, priority 3\n"
            "  would help  would start now with 1 GiB less, on a/cpu0\n");
}

TEST_F(WhyTest, NoSeatNoDeviceAndNoPlaceAreCalledSo) {
  v1::PendingDetail& pending = *AddWaiting().mutable_pending();
  pending.set_have_bytes(0);
  pending.set_place(0);
  pending.clear_nearest_node();
  const std::string out = Run({"job", "why", "17"}).out;
  EXPECT_NE(out.find("have        no device with a free seat\n"), std::string::npos) << out;
  EXPECT_NE(out.find("nearest     none has a main job to fill\n"), std::string::npos) << out;
  EXPECT_NE(out.find("in line     not yet: it waits for its next try\n"), std::string::npos) << out;
}

TEST_F(WhyTest, JobThatIsNotPlannedYetHasItsReasonOnly) {
  AddJob(17, "embed", v1::JOB_STATE_PENDING).set_pending_text("accepted");
  EXPECT_EQ(Run({"why", "17"}).out,
            "job 17, embed, is pending\n"
            "  rule  accepted\n");
}

TEST_F(WhyTest, JobThatDoesNotWaitSaysWhatItDoes) {
  AddAttempt(AddJob(17, "embed", v1::JOB_STATE_RUNNING));
  AddJob(18, "embed", v1::JOB_STATE_FAILED).set_end_text("exit code 3");
  EXPECT_EQ(Run({"why", "17"}).out, "job 17, embed, is running\n");
  EXPECT_EQ(Run({"why", "18"}).out, "job 18, embed, is failed: exit code 3\n");
  EXPECT_EQ(Run({"why", "19"}).code, kExitNotFound);
}

TEST_F(WhyTest, JsonHasAllOfIt) {
  AddWaiting();
  const auto json = nlohmann::json::parse(Run({"why", "17", "-o", "json"}).out);
  EXPECT_EQ(json["pending"]["place"], 4);
  EXPECT_EQ(json["pending"]["nearest"], "a/cpu0");
  EXPECT_EQ(json["pending"]["help"].size(), 1U);
  EXPECT_EQ(json["priority"], 3);
}

TEST_F(WhyTest, ArrayThatRunsSaysHowFarItIs) {
  AddArray(4);
  EXPECT_EQ(Run({"why", "4"}).out, "job 4, sweep, is running: 1/3 done, 1 failed, 1 running\n");
}

}  // namespace
}  // namespace pipefill
