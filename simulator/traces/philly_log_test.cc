#include "simulator/traces/philly_log.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "simulator/traces/testing/memory_files.h"

namespace pipefill::simulator {
namespace {

std::string AttemptText(const std::string& start, const std::string& end, int gpus) {
  std::string list;
  for (int i = 0; i < gpus; ++i) absl::StrAppend(&list, i > 0 ? ", " : "", "\"gpu", i, "\"");
  const auto quoted = [](const std::string& text) {
    return text.empty() ? std::string("null") : absl::StrCat("\"", text, "\"");
  };
  return absl::StrCat("{\"start_time\": ", quoted(start), ", \"end_time\": ", quoted(end),
                      ", \"detail\": [{\"ip\": \"m1\", \"gpus\": [", list, "]}]}");
}

std::string JobText(const std::string& submitted, const std::string& attempts) {
  return absl::StrCat("{\"status\": \"Pass\", \"vc\": \"v1\", \"jobid\": \"a\", \"attempts\": [",
                      attempts, "], \"submitted_time\": \"", submitted, "\", \"user\": \"u1\"}");
}

absl::StatusOr<Trace> Read(const std::string& text) { return ReadText({.format = "philly"}, text); }

TEST(PhillyTest, DeviceTimeIsThatOfAllAttempts) {
  const auto trace = Read(absl::StrCat(
      "[",
      JobText("2017-10-07 02:00:00", AttemptText("2017-10-07 02:00:10", "2017-10-07 02:00:40", 1)),
      ",\n",
      JobText("2017-10-07 01:00:00",
              absl::StrCat(AttemptText("2017-10-07 01:00:10", "2017-10-07 01:01:10", 8), ",",
                           AttemptText("2017-10-07 01:02:00", "2017-10-07 01:02:10", 4), ",",
                           AttemptText("2017-10-07 01:03:00", "", 8))),
      "]"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].device_time, absl::Seconds(8 * 60 + 4 * 10));
  EXPECT_EQ(trace->jobs[0].gpus, 8);
  EXPECT_EQ(trace->jobs[1].submitted - trace->begin, absl::Hours(1));
  EXPECT_EQ(trace->names[trace->jobs[1].user], "u1");
  EXPECT_EQ(trace->names[trace->jobs[1].status], "Pass");
}

TEST(PhillyTest, JobsThatCannotBeUsedAreCountedOnce) {
  const std::string at = "2017-10-07 01:00:00";
  const std::string later = "2017-10-07 02:00:00";
  const auto trace = Read(absl::StrCat(
      "[", JobText(at, ""), ",", JobText(at, AttemptText("None", "None", 2)), ",",
      JobText(at, AttemptText(later, at, 2)), ",", JobText(at, AttemptText(at, later, 0)), ",",
      JobText("None", AttemptText(at, later, 1)), ",", JobText("None", AttemptText("", later, 1)),
      ",", JobText("yesterday, late in the day", AttemptText(at, later, 1)), ", 7, [\"x\"], {}]"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(RowsText(trace->rows),
            "trace: 10 rows, 1 used; skipped: 3 broken (job 7 first), 1 without a time of "
            "submission (job 6 first), 3 did not run, or to no end (job 1 first), 1 ended before "
            "they started (job 3 first), 1 asked for no GPU (job 4 first)");
  EXPECT_EQ(trace->jobs[0].device_time, absl::Hours(1)) << "submitted when it first started";
}

TEST(PhillyTest, UsersMayBeVirtualClusters) {
  TraceSpec spec{.format = "philly"};
  spec.columns.user = "vc";
  const auto trace = ReadText(
      spec, absl::StrCat("[",
                         JobText("2017-10-07 01:00:00",
                                 AttemptText("2017-10-07 01:00:00", "2017-10-07 02:00:00", 1)),
                         "]"));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->names[trace->jobs[0].user], "v1");
}

TEST(PhillyTest, WhatIsNoLogIsRefusedInOneLine) {
  const auto message = [](const std::string& text) {
    return std::string(Read(text).status().message());
  };
  const std::string job = JobText("2017-10-07 01:00:00", "");
  EXPECT_EQ(message(""), "trace: no list of jobs in JSON; give cluster_job_log");
  EXPECT_EQ(message(job), "trace: no list of jobs in JSON; give cluster_job_log");
  EXPECT_EQ(message("3"), "trace: no list of jobs in JSON; give cluster_job_log");
  EXPECT_EQ(message(absl::StrCat("[", job, ",\n", job.substr(0, 40))),
            "trace:2: cut off after 1 jobs; copy it again");
  EXPECT_EQ(message(absl::StrCat("[", job, ",\n", job, "\n x ", job, "]")),
            "trace:3: no JSON after 2 jobs; copy it again");
  EXPECT_EQ(message(std::string(100'000, '[')).substr(0, 17), "trace:1: cut off ");
}

}  // namespace
}  // namespace pipefill::simulator
