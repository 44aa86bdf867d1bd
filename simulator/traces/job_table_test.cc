// Each format of table, with rows of our own.
#include "simulator/traces/job_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "simulator/traces/testing/memory_files.h"

namespace pipefill::simulator {
namespace {

int64_t Skipped(const Trace& trace, SkipReason reason) {
  return trace.rows.skipped[static_cast<size_t>(reason)].rows;
}

Trace Read(const TraceSpec& spec, const std::string& text) {
  auto trace = ReadText(spec, text);
  EXPECT_TRUE(trace.ok()) << trace.status();
  return trace.ok() ? *trace : Trace();
}

// job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type
constexpr char kTasks[] =
    "j1,worker,2.0,Terminated,1000.0,4600.0,600.0,29.3,50.0,V100\n"
    "j1,ps,1.0,Terminated,1000.0,4600.0,600.0,29.3,,V100\n"
    "j2,tensorflow,1.0,Failed,500.0,2300.0,600.0,29.3,100.0,T4\n"
    "j3,tensorflow,1.0,Running,700.0,,600.0,29.3,100.0,T4\n"
    "j4,tensorflow,1.0,Waiting,0.0,0.0,600.0,29.3,100.0,T4\n"
    "j5,tensorflow,,Terminated,900.0,800.0,600.0,29.3,25.0,T4\n"
    "j6,tensorflow,1.0,Terminated,90x,800.0,600.0,29.3,25.0,T4\n"
    "j7,tensorflow,1.0\n";

TEST(AlibabaTest, TasksHaveInstancesThatAskForPercentOfAGpu) {
  const Trace trace = Read({.format = "alibaba-v2020"}, kTasks);
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.rows.rows, 8);
  EXPECT_EQ(trace.rows.used(), 2);
  EXPECT_EQ(trace.begin, absl::Seconds(500));
  EXPECT_EQ(trace.jobs[0].device_time, absl::Seconds(1800));
  EXPECT_EQ(trace.names[trace.jobs[0].status], "Failed");
  EXPECT_EQ(trace.jobs[1].gpus, 1);
  EXPECT_EQ(trace.jobs[1].device_time, absl::Hours(1));
  EXPECT_EQ(trace.jobs[1].user, 0U);
  EXPECT_EQ(Skipped(trace, SkipReason::kNoGpu), 1);
  EXPECT_EQ(Skipped(trace, SkipReason::kNoRun), 1);
  EXPECT_EQ(Skipped(trace, SkipReason::kNoSubmission), 1);
  EXPECT_EQ(Skipped(trace, SkipReason::kEndsBeforeStart), 1);
  EXPECT_EQ(Skipped(trace, SkipReason::kBroken), 2);
  EXPECT_EQ(trace.rows.skipped[0].first, 7);
}

TEST(AlibabaTest, TitlesInFrontChangeNothing) {
  const Trace without = Read({.format = "alibaba-v2020"}, kTasks);
  const Trace with = Read({.format = "alibaba-v2020"},
                          absl::StrCat("job_name,task_name,inst_num,status,start_time,end_time,"
                                       "plan_cpu,plan_mem,plan_gpu,gpu_type\n",
                                       kTasks));
  EXPECT_EQ(with.jobs.size(), without.jobs.size());
  EXPECT_EQ(with.rows.rows, without.rows.rows);
}

TEST(AlibabaTest, JobsTellUsersAndInstancesHowLongEachRan) {
  const TraceSpec spec{
      .format = "alibaba-v2020", .file = "t", .job_file = "j", .instance_file = "i"};
  const auto trace = ReadTrace(spec, absl::UTCTimeZone(),
                               MemoryFiles({{"t", kTasks},
                                            {"j",
                                             "j1,x1,ann,Terminated,100.0,4600.0\n"
                                             "j2,x2,bob,Failed,400.0,2300.0\n"
                                             "j9,x9,eve,Failed,0.0,0.0\n"
                                             "j4,x4\n"},
                                            {"i",
                                             "j1,worker,a,w1,x1,Terminated,1000.0,1600.0,m1\n"
                                             "j1,worker,b,w2,x1,Terminated,1000.0,2200.0,m1\n"
                                             "j1,worker,c,w3,x1,Running,1000.0,0.0,m1\n"
                                             "j1,worker,d,w4,x1,Failed,1000.0,900.0,m1\n"}}));
  ASSERT_TRUE(trace.ok()) << trace.status();
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->begin, absl::Seconds(100));
  EXPECT_EQ(trace->jobs[0].device_time, absl::Seconds(900)) << "half a GPU for 600 and 1200 s";
  EXPECT_EQ(trace->names[trace->jobs[0].user], "ann");
  EXPECT_EQ(trace->jobs[1].submitted, absl::Seconds(400));
  EXPECT_EQ(trace->jobs[1].device_time, absl::Seconds(1800)) << "its instances are not told";
  ASSERT_EQ(trace->joined.size(), 2U);
  EXPECT_EQ(RowsText(trace->joined[0]), "j: 4 rows, 3 used; skipped: 1 broken (line 4 first)");
  EXPECT_EQ(RowsText(trace->joined[1]),
            "i: 4 rows, 2 used; skipped: 1 did not run, or to no end (line 3 first), 1 ended "
            "before they started (line 4 first)");
}

TEST(AlibabaTest, AnotherTableIsRefused) {
  const auto trace = ReadText({.format = "alibaba-v2020"}, "j1,x1,ann,Terminated,100.0,4600.0\n");
  EXPECT_EQ(trace.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(trace.status().message().substr(0, 53),
            "trace:1: 6 columns where there are 10 (job_name, task");
}

TEST(AlibabaTest, PodsAskForThousandthsOfGpus) {
  const Trace trace = Read({.format = "alibaba-v2023"},
                           "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
                           "creation_time,deletion_time,scheduled_time\n"
                           "p0,12000,16384,1,1000,,LS,Running,0,3600,0\n"
                           "p1,6000,12288,1,460,V100M16|V100M32,LS,Failed,10,1010,10\n"
                           "p2,6000,12288,0,0,,LS,Succeeded,10,1010,10\n"
                           "p3,88000,327680,8,1000,,BE,Succeeded,5,105,5\n"
                           "p4,6000,12288,1,460,,LS,Pending,10,1010,\n");
  ASSERT_EQ(trace.jobs.size(), 3U);
  EXPECT_EQ(trace.jobs[0].device_time, absl::Hours(1)) << "0 is a time here";
  EXPECT_EQ(trace.jobs[1].gpus, 8);
  EXPECT_EQ(trace.jobs[1].device_time, absl::Seconds(800));
  EXPECT_NEAR(trace.jobs[2].gpus, 0.46, 1e-9);
  EXPECT_EQ(Skipped(trace, SkipReason::kNoGpu), 1);
  EXPECT_EQ(Skipped(trace, SkipReason::kNoRun), 1);
}

TEST(SwfTest, ProcessorsAreThoseAllocatedOrElseRequested) {
  const Trace trace = Read({.format = "swf"},
                           "; Version: 2.2\n"
                           "; MaxProcs: 64\n"
                           "  1   0  5 100  4 -1 -1  4 200 -1 1 3 1 -1 1 -1 -1 -1\n"
                           "  2  60 -1 100 -1 -1 -1  2 200 -1 0 4 1 -1 1 -1 -1 -1\n"
                           "  3  30  0  -1  1 -1 -1  1 200 -1 5 4 1 -1 1 -1 -1 -1\n"
                           "  4  70  0 100 -1 -1 -1 -1 200 -1 1 4 1 -1 1 -1 -1 -1\n"
                           "  5  80  0  50  1 -1 -1  1 200 -1 2 4 1 -1 1 -1 -1 -1\n"
                           "  6  80  0\n");
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].device_time, absl::Seconds(400));
  EXPECT_EQ(trace.names[trace.jobs[0].user], "3");
  EXPECT_EQ(trace.jobs[1].device_time, absl::Seconds(200));
  EXPECT_EQ(RowsText(trace.rows),
            "trace: 6 rows, 2 used; skipped: 1 broken (line 8 first), 1 part of a job in another "
            "row (line 7 first), 1 did not run, or to no end (line 5 first), 1 asked for no GPU "
            "(line 6 first)");
}

// As the traces of Helios have it.
constexpr char kCsv[] =
    "job_id,user,vc,gpu_num,state,submit_time,start_time,end_time\n"
    "7,u2,vc1,2,COMPLETED,2020-04-02 00:00:00,2020-04-02 00:10:00,2020-04-02 01:10:00\n"
    "8,u1,vc1,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:30,2020-04-01 00:01:30\n"
    "9,u1,vc1,1,FAILED,2020-04-01 00:00:00,None,None\n";

TEST(CsvTest, UsualColumnsNeedNoNames) {
  const Trace trace = Read({.format = "csv"}, kCsv);
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].device_time, absl::Minutes(1));
  EXPECT_EQ(trace.jobs[1].submitted - trace.jobs[0].submitted, absl::Hours(24));
  EXPECT_EQ(trace.names[trace.jobs[1].user], "u2");
  EXPECT_EQ(trace.names[trace.jobs[1].status], "COMPLETED");
}

TEST(CsvTest, ColumnsAreThoseThatTheScenarioNames) {
  TraceSpec spec{.format = "csv"};
  spec.columns = {.submit = "queued", .duration = "seconds", .gpus = "v100|a100", .user = "group"};
  spec.per_gpu = 0.5;
  const Trace trace = Read(spec,
                           "queued;seconds;a100;v100;group;user\n"
                           "50;10;1;;lab;ann\n"
                           "60;-20;1;3;lab;bob\n"
                           "70;30;1;3;lab;bob\n");
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].device_time, absl::Seconds(20));
  EXPECT_EQ(trace.jobs[1].gpus, 6) << "the first that has something";
  EXPECT_EQ(trace.names[trace.jobs[1].user], "lab");
  EXPECT_EQ(Skipped(trace, SkipReason::kEndsBeforeStart), 1);
}

TEST(CsvTest, WhatIsMissingIsToldInOneLine) {
  const auto message = [](const std::string& titles, const TraceColumns& columns = {}) {
    TraceSpec spec{.format = "csv"};
    spec.columns = columns;
    return std::string(ReadText(spec, titles + "\n1,2,3\n").status().message());
  };
  EXPECT_EQ(message("user,submit,start"),
            "trace: there is no column \"gpu_num\", only user, submit, start; name the right one "
            "in workload.trace.columns.gpus");
  EXPECT_EQ(message("gpus,end,user"),
            "trace: there is no column \"submit_time\", only gpus, end, user; name the right one "
            "in workload.trace.columns.submit");
  EXPECT_EQ(message("gpus,submit,end"),
            "trace: there is no column \"start_time\", only gpus, submit, end; name the right one "
            "in workload.trace.columns.start");
  EXPECT_EQ(message("gpus,start,user"),
            "trace: there is no column \"end_time\", only gpus, start, user; name the right one "
            "in workload.trace.columns.end");
  EXPECT_EQ(message("gpus,start,end", {.user = "who"}),
            "trace: there is no column \"who\", only gpus, start, end; name the right one in "
            "workload.trace.columns.user");
  EXPECT_EQ(message("gpus,submit,elapsed", {.duration = "elapsed"}), "");
}

}  // namespace
}  // namespace pipefill::simulator
