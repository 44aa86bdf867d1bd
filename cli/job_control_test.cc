#include "cli/job_control.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class JobControlTest : public CommandFixture {
 protected:
  v1::JobOutcome& AddOutcome(int64_t id, v1::JobOutcomeCode code, const std::string& text) {
    if (scheduler.control_responses.empty()) scheduler.control_responses.emplace_back();
    v1::JobOutcome& outcome = *scheduler.control_responses.back().add_outcomes();
    outcome.set_job_id(id);
    outcome.set_outcome(code);
    outcome.set_text(text);
    return outcome;
  }
  void AddRefusal(int64_t id, absl::StatusCode code, const std::string& text) {
    AddOutcome(id, v1::JOB_OUTCOME_REFUSED, text).set_error_code(static_cast<int>(code));
  }
};

TEST_F(JobControlTest, EveryVerbSendsAllJobsInOneCall) {
  const std::vector<std::pair<std::string, v1::JobVerb>> verbs = {
      {"cancel", v1::JOB_VERB_CANCEL},
      {"hold", v1::JOB_VERB_HOLD},
      {"release", v1::JOB_VERB_RELEASE},
      {"requeue", v1::JOB_VERB_REQUEUE}};
  for (const auto& [word, verb] : verbs) {
    scheduler.controlled.clear();
    EXPECT_EQ(Run({word, "17", "18", "--reason", "too loud"}).code, kExitOk);
    ASSERT_EQ(scheduler.controlled.size(), 1U) << word;
    const v1::ControlJobsRequest& request = scheduler.controlled[0];
    EXPECT_EQ(request.verb(), verb);
    ASSERT_EQ(request.job_ids_size(), 2);
    EXPECT_EQ(request.job_ids(1), 18);
    EXPECT_EQ(request.reason(), "too loud");
    EXPECT_FALSE(request.has_filter());
    EXPECT_FALSE(request.dry_run());
    EXPECT_EQ(Run({"job", word, "17"}).code, kExitOk);
  }
}

TEST_F(JobControlTest, SaysOfEachJobWhatHappens) {
  AddOutcome(17, v1::JOB_OUTCOME_DONE, "cancelled");
  AddOutcome(18, v1::JOB_OUTCOME_UNCHANGED, "was cancelled before");
  const Result result = Run({"cancel", "17", "18"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "job 17 cancelled\n"
            "job 18 was cancelled before\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(JobControlTest, RefusalsAreErrorsAndTheLastOneCounts) {
  AddOutcome(17, v1::JOB_OUTCOME_DONE, "cancelled");
  AddRefusal(18, absl::StatusCode::kNotFound, "job 18 not found");
  AddRefusal(19, absl::StatusCode::kFailedPrecondition, "job 19 has already succeeded");
  const Result result = Run({"cancel", "17", "18", "19"});
  EXPECT_EQ(result.code, kExitConflict);
  EXPECT_EQ(result.out, "job 17 cancelled\n");
  EXPECT_EQ(result.err,
            "pipefill: job 18 not found\n"
            "pipefill: job 19 has already succeeded\n");
}

TEST_F(JobControlTest, ControlsNothingIfOneIsNoNumber) {
  EXPECT_EQ(Run({"cancel", "17", "embed"}).code, kExitUsage);
  EXPECT_TRUE(scheduler.controlled.empty());
}

TEST_F(JobControlTest, FilterIsSentAsItIs) {
  AddOutcome(17, v1::JOB_OUTCOME_DONE, "held");
  EXPECT_EQ(Run({"hold", "-l", "team=a,!draft", "--tenant", "vision", "--name", "embed", "--state",
                 "pending", "--state", "running"})
                .code,
            kExitOk);
  const v1::JobFilter& filter = scheduler.controlled.at(0).filter();
  EXPECT_EQ(filter.selector(), "team=a,!draft");
  EXPECT_EQ(filter.tenant(), "vision");
  EXPECT_EQ(filter.name(), "embed");
  ASSERT_EQ(filter.states_size(), 2);
  EXPECT_EQ(filter.states(1), v1::JOB_STATE_RUNNING);
  EXPECT_FALSE(filter.held_only());
  EXPECT_EQ(Run({"release", "--held"}).code, kExitOk);
  EXPECT_TRUE(scheduler.controlled.at(1).filter().held_only());
}

TEST_F(JobControlTest, NothingIsControlledWithoutJobsOrAFilterNorWithBoth) {
  const Result none = Run({"cancel"});
  EXPECT_EQ(none.code, kExitUsage);
  EXPECT_EQ(
      none.err,
      "pipefill: no job is named; name jobs, or -l SELECTOR, --tenant, --name, --state, --held, "
      "--all\n");
  EXPECT_EQ(Run({"cancel", "17", "--all"}).code, kExitUsage);
  EXPECT_EQ(Run({"cancel", "--state", "asleep"}).code, kExitUsage);
  EXPECT_TRUE(scheduler.controlled.empty());
}

TEST_F(JobControlTest, GoesOnWhereTheAnswerEnds) {
  AddOutcome(17, v1::JOB_OUTCOME_DONE, "cancelled");
  scheduler.control_responses.back().set_next_cursor(18);
  scheduler.control_responses.emplace_back();
  AddOutcome(18, v1::JOB_OUTCOME_DONE, "cancelled");
  EXPECT_EQ(Run({"cancel", "--all"}).out,
            "job 17 cancelled\n"
            "job 18 cancelled\n");
  ASSERT_EQ(scheduler.controlled.size(), 2U);
  EXPECT_TRUE(scheduler.controlled[0].has_filter());
  EXPECT_EQ(scheduler.controlled[1].cursor(), 18);
}

TEST_F(JobControlTest, FilterThatTakesNothingIsSaidToBeSo) {
  scheduler.control_responses.emplace_back();
  const Result result = Run({"cancel", "-l", "team=a"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.err, "pipefill: the filter takes no job that is not over\n");
}

TEST_F(JobControlTest, DryRunSaysThatItIsOne) {
  AddOutcome(17, v1::JOB_OUTCOME_DONE, "cancelled");
  const Result result = Run({"cancel", "17", "--dry-run"});
  EXPECT_EQ(result.out, "job 17 cancelled\n");
  EXPECT_EQ(result.err, "pipefill: dry run; nothing is changed\n");
  EXPECT_TRUE(scheduler.controlled.at(0).dry_run());
}

TEST_F(JobControlTest, JsonAndNamesListTheJobs) {
  AddOutcome(17, v1::JOB_OUTCOME_DONE, "cancelled").set_state(v1::JOB_STATE_CANCELLED);
  const auto json = nlohmann::json::parse(Run({"cancel", "17", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["id"], 17);
  EXPECT_EQ(json["jobs"][0]["state"], "cancelled");
  EXPECT_EQ(json["jobs"][0]["outcome"], "done");
  EXPECT_EQ(json["jobs"][0]["text"], "cancelled");

  scheduler.control_responses.clear();
  AddOutcome(17, v1::JOB_OUTCOME_DONE, "cancelled");
  EXPECT_EQ(Run({"cancel", "17", "-o", "name"}).out, "17\n");
}

TEST_F(JobControlTest, ErrorOfTheCallIsTheErrorOfTheCommand) {
  scheduler.error = absl::UnavailableError("schedulerd does not answer");
  const Result result = Run({"cancel", "17"});
  EXPECT_EQ(result.code, kExitUnavailable);
  EXPECT_EQ(result.err, "pipefill: schedulerd does not answer\n");
}

}  // namespace
}  // namespace pipefill
