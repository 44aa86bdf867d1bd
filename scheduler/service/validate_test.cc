#include "scheduler/service/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

v1::SubmitJobRequest GoodRequest() {
  v1::SubmitJobRequest request;
  request.mutable_spec()->add_command("/usr/bin/python3");
  request.mutable_spec()->add_command("embed.py");
  return request;
}

void AddRange(v1::JobSpec* spec, int32_t first, int32_t last, int32_t step) {
  v1::IndexRange* range = spec->mutable_array()->add_ranges();
  range->set_first(first);
  range->set_last(last);
  range->set_step(step);
}

TEST(ReadSpecTest, DefaultsAreFilledIn) {
  const auto spec = ReadSpec(GoodRequest(), {.default_memory_bytes = 77});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "python3");
  EXPECT_EQ(spec->memory_bytes, 77);
  EXPECT_EQ(spec->devices, 1);
}

TEST(ReadSpecTest, GivenValuesAreKept) {
  v1::SubmitJobRequest request = GoodRequest();
  request.mutable_spec()->set_name("em.bed_1-x");
  request.mutable_spec()->set_memory_bytes(5);
  request.mutable_spec()->set_retries(2);
  request.mutable_spec()->set_workdir("/data");
  (*request.mutable_spec()->mutable_env())["_A1"] = "x";
  const auto spec = ReadSpec(request, {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name, "em.bed_1-x");
  EXPECT_EQ(spec->memory_bytes, 5);
  EXPECT_EQ(spec->retries, 2);
  EXPECT_EQ(spec->workdir, "/data");
  EXPECT_EQ(spec->env.at("_A1"), "x");
}

TEST(ReadSpecTest, LeastRunTimeIsTheSitesUnlessTheJobSaysAny) {
  v1::SubmitJobRequest request = GoodRequest();
  const SpecLimits limits = {.default_min_runtime = absl::Seconds(7)};
  EXPECT_EQ(ReadSpec(request, limits)->min_runtime, absl::Seconds(7));
  EXPECT_EQ(ReadSpec(request, limits)->tenant, "default");
  request.mutable_spec()->set_min_runtime_ns(0);
  EXPECT_EQ(ReadSpec(request, limits)->min_runtime, absl::ZeroDuration());
}

TEST(ReadSpecTest, ProfileMustMakeSense) {
  v1::SubmitJobRequest request = GoodRequest();
  v1::FillConfiguration* configuration =
      request.mutable_spec()->mutable_profile()->add_configurations();
  configuration->set_name("batch8");
  configuration->add_nodes()->set_time_ns(1'000'000);
  const auto spec = ReadSpec(request, {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->profile.configurations[0].chain[0].repeats, 1);

  configuration->mutable_nodes(0)->set_time_ns(-1);
  EXPECT_THAT(std::string(ReadSpec(request, {}).status().message()),
              StartsWith("spec: profile.configurations[0].nodes[0].time_ns: -1 is not in"));
}

TEST(ReadSpecTest, NameFromProgramHoldsOnlyWhatNamesMayHold) {
  v1::SubmitJobRequest request;
  request.mutable_spec()->add_command("/opt/my tool+");
  EXPECT_EQ(ReadSpec(request, {})->name, "my_tool_");
  request.mutable_spec()->set_command(0, "/opt/");
  EXPECT_EQ(ReadSpec(request, {})->name, "job");
}

using Change = std::function<void(v1::SubmitJobRequest*)>;
using BadFields = std::vector<std::pair<std::string, Change>>;

// Each change of a good request is refused with a text that begins so.
void ExpectRefused(const BadFields& cases) {
  for (const auto& [text, change] : cases) {
    v1::SubmitJobRequest request = GoodRequest();
    change(&request);
    const absl::Status status = ReadSpec(request, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), StartsWith(text));
  }
}

TEST(ReadSpecTest, EachBadFieldOfTheProgramIsNamed) {
  ExpectRefused({
      {"key: ", [](auto* r) { r->set_key(std::string(129, 'k')); }},
      {"spec.name: ", [](auto* r) { r->mutable_spec()->set_name("two words"); }},
      {"spec.name: ", [](auto* r) { r->mutable_spec()->set_name(std::string(129, 'n')); }},
      {"spec.command: ", [](auto* r) { r->mutable_spec()->clear_command(); }},
      {"spec.command: ", [](auto* r) { r->mutable_spec()->set_command(0, ""); }},
      {"spec.command: ",
       [](auto* r) { r->mutable_spec()->set_command(1, std::string("a\0b", 3)); }},
      {"spec.command: ",
       [](auto* r) {
         for (int i = 0; i < 1023; ++i) r->mutable_spec()->add_command("x");
       }},
      {"spec.env: ", [](auto* r) { (*r->mutable_spec()->mutable_env())["1A"] = ""; }},
      {"spec.env: ", [](auto* r) { (*r->mutable_spec()->mutable_env())["A-B"] = ""; }},
      {"spec.env: ", [](auto* r) { (*r->mutable_spec()->mutable_env())[""] = ""; }},
      {"spec.env: ",
       [](auto* r) { (*r->mutable_spec()->mutable_env())["A"] = std::string("a\0b", 3); }},
      {"spec.workdir: ", [](auto* r) { r->mutable_spec()->set_workdir("data"); }},
      {"spec.memory_bytes: ", [](auto* r) { r->mutable_spec()->set_memory_bytes(-1); }},
      {"spec.devices: ", [](auto* r) { r->mutable_spec()->set_devices(-1); }},
      {"spec.devices: 2 devices asked, but this version runs a job on one device: gangs, several "
       "devices at the same time, are not there yet",
       [](auto* r) { r->mutable_spec()->set_devices(2); }},
      {"spec.way: 9 is not known",
       [](auto* r) { r->mutable_spec()->set_way(static_cast<v1::FillWay>(9)); }},
  });
}

TEST(ReadSpecTest, EachBadFieldOfPlanningIsNamed) {
  ExpectRefused({
      {"spec.retries: ", [](auto* r) { r->mutable_spec()->set_retries(-1); }},
      {"spec.retries: ", [](auto* r) { r->mutable_spec()->set_retries(101); }},
      {"spec.priority: 1001 is not in -1000..1000",
       [](auto* r) { r->mutable_spec()->set_priority(1001); }},
      {"spec.priority: -2147483648 is not in -1000..1000",
       [](auto* r) { r->mutable_spec()->set_priority(INT32_MIN); }},
      {"spec.start_before_unix_ns: is before 1970",
       [](auto* r) { r->mutable_spec()->set_start_before_unix_ns(-1); }},
      {"spec.labels: \"a b\" is no key of a label",
       [](auto* r) { (*r->mutable_spec()->mutable_labels())["a b"] = "x"; }},
      {"spec.labels: team: \"a b\" is no value of a label",
       [](auto* r) { (*r->mutable_spec()->mutable_labels())["team"] = "a b"; }},
      {"spec.tenant: \"a b\" is not 1..64 characters of [A-Za-z0-9._-]",
       [](auto* r) { r->mutable_spec()->set_tenant("a b"); }},
      {"spec.deadline_unix_ns: is before 1970",
       [](auto* r) { r->mutable_spec()->set_deadline_unix_ns(-1); }},
      {"spec.min_runtime_ns: is negative",
       [](auto* r) { r->mutable_spec()->set_min_runtime_ns(-1); }},
      {"spec.max_runtime_ns: is less than 1 s",
       [](auto* r) { r->mutable_spec()->set_max_runtime_ns(999'999'999); }},
      {"spec.max_runtime_ns: is less than 1 s",
       [](auto* r) { r->mutable_spec()->set_max_runtime_ns(-1); }},
  });
}

TEST(ReadSpecTest, EachBadFieldOfTiesIsNamed) {
  ExpectRefused({
      {"spec.array: names no index", [](auto* r) { r->mutable_spec()->mutable_array(); }},
      {"spec.array: 5-4 ends before it begins",
       [](auto* r) { AddRange(r->mutable_spec(), 5, 4, 1); }},
      {"spec.array: step -1 is not more than 0",
       [](auto* r) { AddRange(r->mutable_spec(), 0, 4, -1); }},
      {"spec.array: index 4 is there twice",
       [](auto* r) {
         AddRange(r->mutable_spec(), 0, 8, 2);
         AddRange(r->mutable_spec(), 4, 4, 0);
       }},
      {"spec.env: PIPEFILL_ARRAY_INDEX is set by pipefill",
       [](auto* r) {
         AddRange(r->mutable_spec(), 0, 8, 1);
         (*r->mutable_spec()->mutable_env())["PIPEFILL_ARRAY_INDEX"] = "1";
       }},
      {"spec.dependencies: job_id is missing",
       [](auto* r) { r->mutable_spec()->add_dependencies(); }},
      {"spec.dependencies: the condition is not OK, ANY or NOT_OK",
       [](auto* r) { r->mutable_spec()->add_dependencies()->set_job_id(3); }},
  });
}

TEST(ReadSpecTest, LargeArrayIsRefusedWithTheLimit) {
  v1::SubmitJobRequest request = GoodRequest();
  AddRange(request.mutable_spec(), 0, 100'000, 1);
  const absl::Status status = ReadSpec(request, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("array_tasks_max, 100000"));
  EXPECT_TRUE(ReadSpec(request, {.array_tasks_max = 100'001}).ok());
}

TEST(ReadSpecTest, LargeSpecIsRefusedWithTheLimit) {
  v1::SubmitJobRequest request = GoodRequest();
  request.mutable_spec()->add_command(std::string(70 << 10, 'x'));
  const absl::Status status = ReadSpec(request, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), StartsWith("spec: 70"));
}

TEST(ReadPageRequestTest, LimitHasDefaultAndMaximum) {
  v1::ListJobsRequest request;
  EXPECT_EQ(ReadPageRequest(request, Limits())->limit, 100U);
  request.set_limit(1000);
  EXPECT_EQ(ReadPageRequest(request, Limits())->limit, 1000U);
  request.set_limit(1001);
  EXPECT_THAT(std::string(ReadPageRequest(request, Limits()).status().message()),
              StartsWith("limit: "));
  request.set_limit(-1);
  EXPECT_EQ(ReadPageRequest(request, Limits()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ReadPageRequestTest, ActiveOnlyAndStatesAreBothHeld) {
  v1::ListJobsRequest request;
  EXPECT_TRUE(ReadPageRequest(request, Limits())->filter.phases.empty());
  request.add_states(v1::JOB_STATE_RUNNING);
  request.add_states(v1::JOB_STATE_FAILED);
  EXPECT_EQ(ReadPageRequest(request, Limits())->filter.phases,
            (std::vector<JobPhase>{JobPhase::kStarting, JobPhase::kRunning, JobPhase::kStopping,
                                   JobPhase::kFailed}));
  request.add_states(v1::JOB_STATE_FAILED);
  EXPECT_EQ(ReadPageRequest(request, Limits())->filter.phases.size(), 4U) << "each phase once";
  request.set_active_only(true);
  EXPECT_EQ(ReadPageRequest(request, Limits())->filter.phases,
            (std::vector<JobPhase>{JobPhase::kStarting, JobPhase::kRunning, JobPhase::kStopping}));
  request.clear_states();
  EXPECT_EQ(ReadPageRequest(request, Limits())->filter.phases, ActivePhases());
  request.add_states(v1::JOB_STATE_FAILED);
  EXPECT_THAT(std::string(ReadPageRequest(request, Limits()).status().message()),
              StartsWith("states: "));
}

TEST(ReadPageRequestTest, BadSelectorAndUnknownStateAreNamed) {
  v1::ListJobsRequest request;
  request.set_selector("a b");
  EXPECT_THAT(std::string(ReadPageRequest(request, Limits()).status().message()),
              StartsWith("selector: "));
  request.set_selector("team=a");
  EXPECT_FALSE(ReadPageRequest(request, Limits())->filter.selector.is_empty());
  request.add_states(static_cast<v1::JobState>(77));
  EXPECT_THAT(std::string(ReadPageRequest(request, Limits()).status().message()),
              StartsWith("states: 77"));
}

TEST(ReadControlTest, NeedsAVerbAndEitherJobsOrAFilter) {
  const auto error = [](const v1::ControlJobsRequest& request) {
    return std::string(ReadControl(request, Limits()).status().message());
  };
  v1::ControlJobsRequest request;
  request.set_verb(v1::JOB_VERB_HOLD);
  EXPECT_THAT(error(request), StartsWith("job_ids, filter: name jobs, or a filter"));
  request.add_job_ids(1);
  EXPECT_EQ(*ReadControl(request, Limits()), JobVerb::kHold);
  request.mutable_filter();
  EXPECT_THAT(error(request), StartsWith("job_ids, filter: give one of them"));
  request.clear_job_ids();
  EXPECT_TRUE(ReadControl(request, Limits()).ok());
  request.set_reason(std::string(257, 'x'));
  EXPECT_THAT(error(request), StartsWith("reason: "));
  request.set_reason("two\nlines");
  EXPECT_THAT(error(request), StartsWith("reason: "));
  request.clear_reason();
  request.set_verb(v1::JOB_VERB_UNSPECIFIED);
  EXPECT_THAT(error(request), StartsWith("verb: "));
}

TEST(ReadControlTest, TakesAsManyJobsAsACallMayNameAndNotOneMore) {
  v1::ControlJobsRequest request;
  request.set_verb(v1::JOB_VERB_CANCEL);
  for (int64_t id = 1; id <= Limits().ids_max; ++id) request.add_job_ids(id);
  EXPECT_TRUE(ReadControl(request, Limits()).ok());
  request.add_job_ids(1);
  EXPECT_EQ(ReadControl(request, Limits()).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ReadControlFilterTest, TakesJobsThatAreNotOver) {
  v1::ControlJobsRequest request;
  request.mutable_filter()->set_tenant("vision");
  EXPECT_EQ(ReadControlFilter(request)->filter.phases, ActivePhases());
  EXPECT_EQ(ReadControlFilter(request)->filter.tenant, "vision");
  request.mutable_filter()->add_states(v1::JOB_STATE_SUCCEEDED);
  EXPECT_THAT(std::string(ReadControlFilter(request).status().message()),
              StartsWith("filter.states: jobs that have succeeded are over"));
}

TEST(ReadPageRequestTest, NegativeCursorIsRefused) {
  v1::ListJobsRequest request;
  request.set_cursor(-1);
  EXPECT_THAT(std::string(ReadPageRequest(request, Limits()).status().message()),
              StartsWith("cursor: "));
}

TEST(ReadMainJobChangeTest, OnlyWhatIsNamedIsChanged) {
  v1::UpdateMainJobRequest request;
  request.set_main_job("gpt");
  request.set_paused(false);
  request.set_budget_ppm(1'000'000);
  const absl::StatusOr<MainJobChange> change = ReadMainJobChange(request);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->main_job, "gpt");
  EXPECT_EQ(change->is_paused, false);
  EXPECT_EQ(change->budget_ppm, 1'000'000U);
  EXPECT_FALSE(change->mode.has_value());
  EXPECT_FALSE(change->static_share_ppm.has_value());
}

TEST(ReadMainJobChangeTest, UnspecifiedModeMeansAsAttached) {
  v1::UpdateMainJobRequest request;
  request.set_main_job("gpt");
  request.set_mode(v1::FILL_MODE_UNSPECIFIED);
  EXPECT_EQ(ReadMainJobChange(request)->mode, FillMode::kUnknown);
}

TEST(ReadMainJobChangeTest, EachBadFieldIsNamed) {
  const auto error_of = [](const v1::UpdateMainJobRequest& request) {
    return std::string(ReadMainJobChange(request).status().message());
  };
  v1::UpdateMainJobRequest request;
  request.set_paused(true);
  EXPECT_THAT(error_of(request), StartsWith("main_job: "));
  request.set_main_job(std::string(128, 'x'));
  EXPECT_THAT(error_of(request), StartsWith("main_job: "));
  request.set_main_job("line\nbreak");
  EXPECT_THAT(error_of(request), StartsWith("main_job: "));
  request.set_main_job(std::string(127, 'x'));
  EXPECT_EQ(error_of(request), "");
  request.set_budget_ppm(1'000'001);
  EXPECT_THAT(error_of(request), StartsWith("budget_ppm: 1000001 "));
  request.clear_budget_ppm();
  request.set_static_share_ppm(1'000'001);
  EXPECT_THAT(error_of(request), StartsWith("static_share_ppm: 1000001 "));
  request.clear_static_share_ppm();
  request.set_mode(static_cast<v1::FillMode>(9));
  EXPECT_THAT(error_of(request), StartsWith("mode: 9 is not known"));
  request.clear_mode();
  request.clear_paused();
  EXPECT_THAT(error_of(request), StartsWith("nothing to change"));
}

TEST(ReadContentSpecTest, LogsNeedJobAndTracesNeedNode) {
  v1::ReadContentRequest request;
  EXPECT_THAT(std::string(ReadContentSpec(request).status().message()), StartsWith("kind: "));
  request.set_kind(v1::CONTENT_KIND_STDERR);
  EXPECT_THAT(std::string(ReadContentSpec(request).status().message()), StartsWith("job_id: "));
  request.set_kind(v1::CONTENT_KIND_TRACE);
  EXPECT_THAT(std::string(ReadContentSpec(request).status().message()), StartsWith("node: "));
  request.set_node("a");
  ASSERT_TRUE(ReadContentSpec(request).ok());
  EXPECT_EQ(ReadContentSpec(request)->limit(), 256 << 10);
}

TEST(ReadContentSpecTest, OffsetLimitAndAttemptAreInRange) {
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_STDOUT);
  request.set_job_id(1);
  request.set_offset(-1);
  EXPECT_THAT(std::string(ReadContentSpec(request).status().message()), StartsWith("offset: "));
  request.set_offset(0);
  request.set_limit((1 << 20) + 1);
  EXPECT_THAT(std::string(ReadContentSpec(request).status().message()), StartsWith("limit: "));
  request.set_limit(1 << 20);
  request.set_attempt(-1);
  EXPECT_THAT(std::string(ReadContentSpec(request).status().message()), StartsWith("attempt: "));
}

}  // namespace
}  // namespace pipefill::scheduler
