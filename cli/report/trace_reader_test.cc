#include "cli/report/trace_reader.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cli/report/figures.h"
#include "cli/report/html.h"
#include "cli/report/synthetic_trace.h"
#include "cli/report/testing/trace_builder.h"
#include "cli/report/trace_checker.h"

namespace pipefill {
namespace {

Trace ReadBytes(const std::string& bytes) { return ReadTraces({{"test", bytes}}); }

TEST(TraceReaderTest, PutsEdgesTogetherIntoIterationsAndBubbles) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0", 3);
  builder.Iteration(rank, 7, 10);
  const Trace trace = builder.Read();
  ASSERT_EQ(trace.ranks.size(), 1u);
  const RankTrace& read = trace.ranks[0];
  EXPECT_EQ(read.device, "cpu0");
  EXPECT_EQ(read.main_job, "gpt");
  EXPECT_EQ(read.rank, 3);
  ASSERT_EQ(read.iterations.size(), 1u);
  EXPECT_TRUE(read.iterations[0].is_whole);
  EXPECT_EQ(read.iterations[0].number, 7u);
  EXPECT_EQ(read.iterations[0].begin_ns, TraceBuilder::Ns(10));
  EXPECT_EQ(read.iterations[0].end_ns, TraceBuilder::Ns(110));
  ASSERT_EQ(read.bubbles.size(), 1u);
  EXPECT_TRUE(read.bubbles[0].is_closed);
  EXPECT_EQ(read.bubbles[0].begin_ns, TraceBuilder::Ns(30));
  EXPECT_EQ(read.bubbles[0].end_ns, TraceBuilder::Ns(60));
  EXPECT_EQ(BubbleText(NameOfSlot(read, 0)), "head 0");
  EXPECT_EQ(trace.counts.malformed, 0);
  EXPECT_EQ(trace.counts.torn_bytes, 0);
}

TEST(TraceReaderTest, KeepsUnitsAndTheRankTheySaw) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  const int task = builder.AddTask(5, "cpu0", 1);
  builder.Iteration(rank, 1, 10);
  builder.AddUnit(task, rank, 31, 33);
  builder.AddSample(task, 40, 64);
  builder.EndTask(task, 90).set_exit_code(2);
  const Trace trace = builder.Read();
  ASSERT_EQ(trace.tasks.size(), 1u);
  const TaskTrace& read = trace.tasks[0];
  EXPECT_EQ(read.job_id, 5);
  EXPECT_EQ(read.launched_ns, TraceBuilder::Ns(1));
  ASSERT_EQ(read.units.size(), 1u);
  EXPECT_EQ(read.units[0].rank, 0u);
  EXPECT_EQ(read.units[0].bubble_begin_ns, TraceBuilder::Ns(30));
  ASSERT_EQ(read.samples.size(), 1u);
  EXPECT_EQ(read.samples[0].memory_bytes, 64);
  ASSERT_EQ(read.ends.size(), 1u);
  EXPECT_EQ(read.ends[0].exit_code, 2);
}

TEST(TraceReaderTest, ABubbleMaySpanTheEdgeOfAnIteration) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.BeginIteration(rank, 1, 0);
  builder.BeginBubble(rank, 0, 80).set_offered(true);
  builder.EndIteration(rank, 100);
  builder.BeginIteration(rank, 2, 101);
  builder.EndBubble(rank, 120);
  builder.Bubble(rank, 1, 150, 160);
  builder.EndIteration(rank, 200);
  const Trace trace = builder.Read();
  EXPECT_EQ(trace.counts.malformed, 0);
  const RankTrace& read = trace.ranks[0];
  ASSERT_EQ(read.iterations.size(), 2u);
  EXPECT_TRUE(read.iterations[0].is_whole);
  EXPECT_TRUE(read.iterations[1].is_whole);
  EXPECT_EQ(read.iterations[0].bubbles_end, 1u);
  EXPECT_EQ(read.iterations[1].bubbles_begin, 1u);
  EXPECT_EQ(read.bubbles[0].end_ns, TraceBuilder::Ns(120));
  EXPECT_TRUE(read.bubbles[0].is_in_iteration);
  EXPECT_TRUE(read.bubbles[0].is_offered);
  EXPECT_FALSE(read.bubbles[1].is_offered);
  EXPECT_TRUE(read.says_offered);
}

TEST(TraceReaderTest, AnIterationWhoseLastBubbleIsLostIsNotWhole) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.BeginIteration(rank, 1, 0);
  builder.BeginBubble(rank, 0, 80);
  builder.EndIteration(rank, 100);
  builder.BeginIteration(rank, 2, 101);
  builder.DropEdges(rank, 3);
  builder.Bubble(rank, 0, 150, 160);
  builder.EndIteration(rank, 200);
  const Trace trace = builder.Read();
  EXPECT_FALSE(trace.ranks[0].iterations[0].is_whole);
  EXPECT_FALSE(trace.ranks[0].iterations[1].is_whole);
  EXPECT_FALSE(trace.ranks[0].bubbles[0].is_closed);
}

TEST(TraceReaderTest, AFailureEndsAtTheNextEdgeOrWhenTheAgentSaysSo) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  const int task = builder.AddTask(5, "cpu0", 1);
  builder.Iteration(rank, 1, 10);
  builder.BeginFailure(rank, 500);
  builder.AddFailureUnit(task, rank, 510, 520);
  builder.Iteration(rank, 2, 700);
  builder.EndFailure(rank, 705);
  builder.BeginFailure(rank, 2000);
  builder.EndFailure(rank, 2100);
  builder.BeginFailure(rank, 3000);
  builder.Detach(rank, 3300);
  const Trace trace = builder.Read();
  EXPECT_EQ(trace.counts.malformed, 0);
  EXPECT_EQ(trace.counts.unknown, 0);
  const RankTrace& read = trace.ranks[0];
  ASSERT_EQ(read.failures.size(), 3u);
  EXPECT_EQ(read.failures[0].begin_ns, TraceBuilder::Ns(500));
  EXPECT_EQ(read.failures[0].end_ns, TraceBuilder::Ns(700));
  EXPECT_EQ(read.failures[0].seq, 2u);
  EXPECT_EQ(read.failures[1].end_ns, TraceBuilder::Ns(2100));
  EXPECT_EQ(read.failures[2].end_ns, TraceBuilder::Ns(3300));
  EXPECT_TRUE(trace.tasks[0].units[0].is_of_failure());
}

TEST(TraceReaderTest, KeepsTheCourseOfControl) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.AddControl(rank, 10, 0.2);
  v1::FillControl& later = builder.AddControl(rank, 20, 0.05);
  later.set_state(v1::FILL_STATE_BACKED_OFF);
  later.set_text("too\nslow");
  later.set_hold_outs(12);
  later.set_slowdown(0.031);
  later.set_slowdown_low(0.022);
  later.set_slowdown_high(0.04);
  later.set_back_offs(1);
  builder.AddControl(rank, 15, 0.3);  // goes back in time
  builder.AddControl(rank, 30, std::nan(""));
  const Trace trace = builder.Read();
  EXPECT_EQ(trace.counts.malformed, 2);
  const std::vector<ControlPoint>& points = trace.ranks[0].controls;
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].state, "filling");
  EXPECT_FALSE(points[0].slowdown.has_value());
  EXPECT_EQ(points[1].text, "too?slow");
  EXPECT_EQ(points[1].slowdown_high, 0.04);
  EXPECT_EQ(points[1].budget, 0.01);
  EXPECT_EQ(ControlAt(points, TraceBuilder::Ns(9)), kNone);
  EXPECT_EQ(ControlAt(points, TraceBuilder::Ns(10)), 0u);
  EXPECT_EQ(ControlAt(points, TraceBuilder::Ns(25)), 1u);
}

TEST(TraceReaderTest, ReadsWhatIsBeforeATornTailAtEveryLength) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.Iteration(rank, 1, 10);
  const std::string whole = builder.bytes();
  builder.Iteration(rank, 2, 120);
  const std::string bytes = builder.bytes();
  for (size_t length = whole.size(); length < bytes.size(); ++length) {
    const Trace trace = ReadBytes(bytes.substr(0, length));
    ASSERT_EQ(trace.ranks.size(), 1u);
    ASSERT_GE(trace.ranks[0].iterations.size(), 1u);
    EXPECT_TRUE(trace.ranks[0].iterations[0].is_whole);
    EXPECT_EQ(trace.counts.malformed, 0);
    const bool is_second_whole =
        trace.ranks[0].iterations.size() > 1 && trace.ranks[0].iterations[1].is_whole;
    EXPECT_FALSE(is_second_whole);
  }
}

TEST(TraceReaderTest, CountsTheBytesOfATornTail) {
  TraceBuilder builder;
  EXPECT_EQ(ReadBytes(builder.bytes() + "\x20torn").counts.torn_bytes, 5);
}

TEST(TraceReaderTest, StartsAnewAfterAnAgentRestart) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.BeginIteration(rank, 1, 10);
  builder.Start("n1", 500);
  builder.SetHoldOut({.block_iterations = 4, .one_in = 2});
  const int later = builder.AddRank("cpu0");
  builder.Iteration(later, 9, 600);
  const Trace trace = builder.Read();
  ASSERT_EQ(trace.starts.size(), 2u);
  EXPECT_EQ(trace.starts[0].hold_out.one_in, 0u);
  EXPECT_EQ(trace.starts[1].hold_out.one_in, 2u);
  ASSERT_EQ(trace.ranks.size(), 2u);
  EXPECT_FALSE(trace.ranks[0].iterations[0].is_whole);
  EXPECT_EQ(trace.ranks[1].start, 1u);
  EXPECT_TRUE(trace.ranks[1].iterations[0].is_whole);
}

TEST(TraceReaderTest, IgnoresWhatAHalvedFileSaysAgain) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  const int task = builder.AddTask(1, "cpu0", 1);
  builder.BeginIteration(rank, 1, 10);
  for (int i = 0; i < 3; ++i) {
    const v1::TraceRecord again = builder.records()[static_cast<size_t>(i)];
    builder.Add() = again;
  }
  builder.Bubble(rank, 0, 20, 30);
  builder.AddUnit(task, rank, 21, 22);
  builder.EndIteration(rank, 100);
  const Trace trace = builder.Read();
  EXPECT_EQ(trace.starts.size(), 1u);
  ASSERT_EQ(trace.ranks.size(), 1u);
  ASSERT_EQ(trace.tasks.size(), 1u);
  EXPECT_TRUE(trace.ranks[0].iterations[0].is_whole);
  EXPECT_EQ(trace.tasks[0].units.size(), 1u);
}

TEST(TraceReaderTest, KeepsBubblesOfATruncatedFirstIteration) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.Bubble(rank, 0, 20, 30);
  builder.EndIteration(rank, 100);
  builder.Iteration(rank, 1, 100);
  const Trace trace = builder.Read();
  ASSERT_EQ(trace.ranks[0].iterations.size(), 1u);
  EXPECT_EQ(trace.ranks[0].iterations[0].bubbles_begin, 1u);
  EXPECT_EQ(trace.ranks[0].bubbles.size(), 2u);
}

TEST(TraceReaderTest, TrustsNothingAroundDroppedEdges) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.BeginIteration(rank, 1, 10);
  builder.DropEdges(rank, 17);
  builder.EndIteration(rank, 100);
  builder.Iteration(rank, 2, 100);
  const Trace trace = builder.Read();
  EXPECT_EQ(trace.ranks[0].edges_dropped, 17);
  ASSERT_EQ(trace.ranks[0].iterations.size(), 2u);
  EXPECT_FALSE(trace.ranks[0].iterations[0].is_whole);
  EXPECT_TRUE(trace.ranks[0].iterations[1].is_whole);
}

TEST(TraceReaderTest, EndsAnOpenBubbleWhenItsRankLeaves) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.BeginIteration(rank, 1, 10);
  builder.AddEdge(rank, v1::EDGE_KIND_BUBBLE_BEGIN, 20).set_seq(1);
  builder.Detach(rank, 70);
  const Trace trace = builder.Read();
  ASSERT_EQ(trace.ranks[0].bubbles.size(), 1u);
  EXPECT_TRUE(trace.ranks[0].bubbles[0].is_closed);
  EXPECT_EQ(trace.ranks[0].bubbles[0].end_ns, TraceBuilder::Ns(70));
  EXPECT_FALSE(trace.ranks[0].iterations[0].is_whole);
}

TEST(TraceReaderTest, CountsUnknownRecordTypes) {
  // Field 900, a message of no bytes: a record type of a later version.
  const std::string unknown("\x03\xa2\x38\x00", 4);
  EXPECT_EQ(ReadBytes(TraceBuilder().bytes() + unknown).counts.unknown, 1);
}

TEST(TraceReaderTest, CountsImpossibleValuesAndLeavesThemOut) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  const int task = builder.AddTask(1, "cpu0", 1);
  builder.Iteration(rank, 1, 10);
  builder.AddUnit(task, rank, 33, 31);
  builder.AddUnit(task, rank, 31, 33).set_cpu_ns(-1);
  builder.AddUnit(task, rank, 31, 33).set_end_ns(INT64_MAX);
  builder.AddEdge(rank, v1::EDGE_KIND_CHUNK_BEGIN, 5);  // back in time
  const Trace trace = builder.Read();
  EXPECT_EQ(trace.counts.malformed, 4);
  EXPECT_TRUE(trace.tasks[0].units.empty());
}

TEST(TraceReaderTest, ReplacesControlCharactersInNames) {
  TraceBuilder builder;
  builder.AddRank("cpu0\x1b[2J");
  EXPECT_EQ(builder.Read().ranks[0].device, "cpu0?[2J");
}

TEST(TraceReaderTest, KeepsSourcesApart) {
  TraceBuilder one;
  one.AddRank("cpu0");
  TraceBuilder two;
  two.AddRank("cpu1");
  const Trace trace = ReadTraces({{"a", one.bytes()}, {"b", two.bytes()}});
  ASSERT_EQ(trace.ranks.size(), 2u);
  EXPECT_EQ(trace.starts[trace.ranks[1].start].source, "b");
}

// Whatever the bytes, all that reads a trace must end, and stay within its bounds.
void UseEverything(const std::string& bytes) {
  const Trace trace = ReadBytes(bytes);
  const CheckResult check = CheckTrace(trace, {});
  FiguresOptions options;
  options.skip_first = 0;
  const absl::StatusOr<Figures> figures = ComputeFigures(trace, options);
  if (figures.ok()) RC_ASSERT(!ReportPage(trace, *figures, check).empty());
}

RC_GTEST_PROP(TraceReaderPropertyTest, SurvivesRandomBytes, (const std::string& bytes)) {
  UseEverything(bytes);
}

RC_GTEST_PROP(TraceReaderPropertyTest, SurvivesFlippedBytes, (uint64_t seed)) {
  std::string bytes = SerializeTrace(SyntheticRecords(
      {.seed = seed, .iterations = 16, .jobs = {{.launched_at = 1, .start_up_iterations = 1}}}));
  const auto flips = *rc::gen::container<std::vector<std::pair<size_t, char>>>(
      rc::gen::pair(rc::gen::inRange<size_t>(0, bytes.size()), rc::gen::arbitrary<char>()));
  for (const auto& [at, value] : flips) bytes[at] = value;
  UseEverything(bytes);
}

// Sets one number somewhere in `message` to `value`, whatever the number means.
void Scramble(google::protobuf::Message* message, int64_t value, size_t choice) {
  const google::protobuf::Reflection* reflection = message->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  if (fields.empty()) return;
  const google::protobuf::FieldDescriptor* field = fields[choice % fields.size()];
  switch (field->cpp_type()) {
    case google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE:
      return Scramble(reflection->MutableMessage(message, field), value, choice / fields.size());
    case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(message, field, value);
    case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
      return reflection->SetUInt64(message, field, static_cast<uint64_t>(value));
    case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
      return reflection->SetInt32(message, field, static_cast<int32_t>(value));
    case google::protobuf::FieldDescriptor::CPPTYPE_UINT32:
      return reflection->SetUInt32(message, field, static_cast<uint32_t>(value));
    case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
      return reflection->SetEnumValue(message, field, static_cast<int>(value));
    default:
      return;
  }
}

RC_GTEST_PROP(TraceReaderPropertyTest, SurvivesAbsurdNumbers, (uint64_t seed)) {
  std::vector<v1::TraceRecord> records = SyntheticRecords(
      {.seed = seed, .iterations = 14, .jobs = {{.launched_at = 1, .start_up_iterations = 1}}});
  const int count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    const auto at = *rc::gen::inRange<size_t>(0, records.size());
    const int64_t value =
        *rc::gen::oneOf(rc::gen::element<int64_t>(INT64_MIN, INT64_MAX, -1, 0, 1, kTimeMaxNs - 1,
                                                  kTimeMaxNs, int64_t{1} << 31, int64_t{1} << 32),
                        rc::gen::arbitrary<int64_t>());
    Scramble(&records[at], value, *rc::gen::inRange<size_t>(0, 1000));
  }
  UseEverything(SerializeTrace(records));
}

}  // namespace
}  // namespace pipefill
