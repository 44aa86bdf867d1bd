#include "simulator/traces/read_trace.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "simulator/traces/testing/memory_files.h"

namespace pipefill::simulator {
namespace {

const std::string kStart = "2017-10-07 01:00:00";

std::string OneOf(const std::vector<std::string>& texts) { return *rc::gen::elementOf(texts); }

// A good row in which fields are replaced, and from which some may be missing at the end. The first
// one stays, or the line might be blank.
std::string RowText(std::vector<std::string> fields, char separator) {
  for (size_t i = 1; i < fields.size(); ++i) {
    if (*rc::gen::inRange(0, 4) > 0) continue;
    fields[i] = OneOf({"", "-1", "None", "0", "1", "2.5", "-300", "x", "1e300", "3600", kStart,
                       "2017-10-07 03:00:00+08:00", "\"", "\"a,b\"", "Terminated"});
  }
  if (*rc::gen::inRange(0, 6) == 0) fields.resize(*rc::gen::inRange<size_t>(1, fields.size()));
  return absl::StrJoin(fields, std::string(1, separator));
}

// Every row is counted once, and what is used obeys what a job promises.
void CheckTrace(const Trace& trace, int64_t rows) {
  RC_ASSERT(trace.rows.rows == rows);
  RC_ASSERT(trace.rows.used() == static_cast<int64_t>(trace.jobs.size()));
  for (const SkippedRows& skipped : trace.rows.skipped) {
    RC_ASSERT((skipped.rows == 0) == (skipped.first == 0));
  }
  absl::Duration last = trace.begin;
  for (const TraceJob& job : trace.jobs) {
    RC_ASSERT(job.submitted >= last);
    RC_ASSERT(job.device_time > absl::ZeroDuration());
    RC_ASSERT(job.device_time < absl::InfiniteDuration());
    RC_ASSERT(job.gpus > 0);
    RC_ASSERT(std::max(job.user, job.status) < trace.names.size());
    last = job.submitted;
  }
}

RC_GTEST_PROP(ReadTraceTest, TasksWithAnythingMissingAreCountedOnce, ()) {
  const auto rows = *rc::gen::inRange(1, 30);
  std::string text = "job_name,task_name,inst_num,status,start_time,end_time,a,b,plan_gpu,c\n";
  for (int i = 0; i < rows; ++i) {
    absl::StrAppend(&text,
                    RowText({absl::StrCat("j", i), "t", "2", "Failed", absl::StrCat(1000 - i),
                             "2000", "1", "1", "50", "V100"},
                            ','),
                    "\n");
  }
  const auto trace = ReadText({.format = "alibaba-v2020"}, text);
  RC_ASSERT(trace.ok());
  CheckTrace(*trace, rows);
}

RC_GTEST_PROP(ReadTraceTest, StandardWorkloadsWithAnythingMissingAreCountedOnce, ()) {
  const auto rows = *rc::gen::inRange(1, 30);
  // The first row says that it is such a table.
  std::string text = "; Version: 2.2\n0 0 0 60 1 -1 -1 1 -1 -1 1 7 -1 -1 -1 -1 -1 -1\n";
  for (int i = 0; i < rows; ++i) {
    std::vector<std::string> fields(18, "-1");
    fields[0] = absl::StrCat(i + 1);
    fields[1] = absl::StrCat(*rc::gen::inRange(0, 100));
    fields[3] = "60";
    fields[4] = "2";
    absl::StrAppend(&text, RowText(fields, ' '), "\n");
  }
  const auto trace = ReadText({.format = "swf"}, text);
  RC_ASSERT(trace.ok());
  CheckTrace(*trace, rows + 1);
}

// `good`, or something else.
std::string ValueText(const std::string& good) {
  return OneOf({absl::StrCat("\"", good, "\""), "null", "\"None\"", "7", "-3.5", "{}", "[]", "true",
                "\"x\""});
}

std::string MemberText(const std::string& name, const std::string& value) {
  return absl::StrCat("\"", OneOf({name, name, name, "other"}), "\": ", value);
}

std::string AttemptText() {
  const std::string gpus = OneOf({"[\"gpu0\"]", "[\"a\", \"b\"]", "[]", "1"});
  const std::string detail = absl::StrCat("[{", MemberText("gpus", gpus), "}]");
  return absl::StrCat("{", MemberText("start_time", ValueText(kStart)), ",",
                      MemberText("end_time", ValueText("2017-10-07 02:00:00")), ",",
                      MemberText("detail", OneOf({detail, "null", "{}"})), "}");
}

RC_GTEST_PROP(ReadTraceTest, PhillyJobsWithAnythingMissingAreCountedOnce, ()) {
  const auto rows = *rc::gen::inRange(1, 30);
  std::vector<std::string> jobs;
  for (int i = 0; i < rows; ++i) {
    const std::string attempts =
        OneOf({absl::StrCat("[", AttemptText(), "]"),
               absl::StrCat("[", AttemptText(), ",", AttemptText(), "]"), "[]", "0"});
    jobs.push_back(absl::StrCat("{", MemberText("attempts", attempts), ",",
                                MemberText("submitted_time", ValueText(kStart)), "}"));
  }
  const auto trace =
      ReadText({.format = "philly"}, absl::StrCat("[", absl::StrJoin(jobs, ","), "]"));
  RC_ASSERT(trace.ok());
  CheckTrace(*trace, rows);
}

TEST(ReadTraceTest, WhatIsWrongBelowIsToldRatherThanWhereItBroke) {
  const OpenTraceFile open = [](const std::string&) -> absl::StatusOr<TraceFile> {
    return TraceFile{.bytes = std::make_unique<std::stringbuf>("[{\"attempts\": ["),
                     .status = [] { return absl::InvalidArgumentError("log.gz: cut off"); }};
  };
  EXPECT_EQ(ReadTrace({.format = "philly", .file = "log.gz"}, absl::UTCTimeZone(), open)
                .status()
                .message(),
            "log.gz: cut off");
}

TEST(ReadTraceTest, ZonesCountWhereDatesHaveNone) {
  const std::string text =
      "g,s,e\n"
      "1,2020-04-01 00:00:00+00:00,2020-04-01 09:00:00\n";
  TraceSpec spec{.format = "csv", .file = "f"};
  spec.columns = {.start = "s", .end = "e", .gpus = "g"};
  const auto trace = ReadTrace(spec, absl::FixedTimeZone(8 * 3600), MemoryFiles({{"f", text}}));
  ASSERT_TRUE(trace.ok()) << trace.status();
  EXPECT_EQ(trace->jobs.at(0).device_time, absl::Hours(1));
}

TEST(ReadTraceTest, SpecificationsThatMakeNoSenseAreRefused) {
  const auto message = [](const TraceSpec& spec) {
    return std::string(CheckTraceSpec(spec).message());
  };
  EXPECT_EQ(message({.format = "pai", .file = "f"}),
            "format: \"pai\" is none of alibaba-v2020, alibaba-v2023, philly, swf, csv");
  EXPECT_EQ(message({.format = "swf"}), "file: must be given");
  EXPECT_EQ(message({.format = "swf", .file = "f", .job_file = "g"}),
            "job_file, instance_file: only for format alibaba-v2020");
  TraceSpec philly{.format = "philly", .file = "f"};
  philly.columns.user = "vc";
  EXPECT_EQ(message(philly), "");
  philly.columns.gpus = "gpus";
  EXPECT_EQ(message(philly), "columns: format philly takes submit, user and status alone");
  TraceSpec scaled{.format = "swf", .file = "f"};
  scaled.per_gpu = -1;
  EXPECT_EQ(message(scaled), "per_gpu: must be 0 to 1e9");
}

}  // namespace
}  // namespace pipefill::simulator
