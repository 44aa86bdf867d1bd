#include "agent/trace_writer.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "agent/trace_record.h"
#include "common/files.h"

namespace pipefill {
namespace {

std::vector<v1::TraceRecord> Parse(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  std::vector<v1::TraceRecord> records;
  v1::TraceRecord record;
  bool is_clean_end = false;
  while (
      google::protobuf::util::ParseDelimitedFromZeroCopyStream(&record, &stream, &is_clean_end)) {
    records.push_back(record);
    record.Clear();
  }
  EXPECT_TRUE(is_clean_end) << "the last record is torn";
  return records;
}

class TraceWriterTest : public testing::Test {
 protected:
  TraceWriterTest() {
    std::string pattern = testing::TempDir() + "/trace.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    options_.folder = folder_ + "/trace";
    options_.start.set_node("n1");
    options_.start.set_now_ns(5);
  }

  std::unique_ptr<TraceWriter> Open() {
    absl::StatusOr<std::unique_ptr<TraceWriter>> writer = TraceWriter::Open(options_);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }

  std::string Newer() { return ReadFile(options_.folder + "/trace.pb").value_or(""); }
  std::string Older() { return ReadFile(options_.folder + "/trace.1.pb").value_or(""); }

  static v1::TraceRecord EdgeAt(uint64_t time_ns) {
    return EdgeTraceRecord(
        1, {.kind = EdgeKind::kBubbleBegin, .slot = 3, .seq = 1, .time_ns = time_ns});
  }
  static v1::TraceRecord RankAttached(int32_t key) {
    v1::TraceRecord record;
    record.mutable_rank_attached()->set_rank_key(key);
    return record;
  }
  static v1::TraceRecord TaskAttached(int32_t key) {
    v1::TraceRecord record;
    record.mutable_task_attached()->set_task_key(key);
    return record;
  }
  // Appends edges until the trace has been rotated; returns how many.
  uint64_t AppendUntilRotated(TraceWriter& writer) {
    const std::string before = Older();
    uint64_t edges = 0;
    while (Older() == before) {
      writer.Append(EdgeAt(++edges));
      writer.Flush();
    }
    return edges;
  }

  std::string folder_;
  TraceOptions options_;
};

TEST_F(TraceWriterTest, BeginsWithItsStartAndKeepsTheOrder) {
  const std::unique_ptr<TraceWriter> writer = Open();
  writer->Append(EdgeAt(7));
  writer->Append(EdgeAt(8));
  writer->Flush();
  const std::vector<v1::TraceRecord> records = Parse(Newer());
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].start().node(), "n1");
  EXPECT_EQ(records[1].edge().time_ns(), 7);
  EXPECT_EQ(records[2].edge().time_ns(), 8);
}

TEST_F(TraceWriterTest, WritesOutAtMostOnceASecond) {
  const std::unique_ptr<TraceWriter> writer = Open();
  writer->FlushIfDue(Instant::FromNs(10'000'000'000));
  writer->Append(EdgeAt(7));
  writer->FlushIfDue(Instant::FromNs(10'999'999'999));
  EXPECT_EQ(Parse(Newer()).size(), 1u);
  writer->FlushIfDue(Instant::FromNs(11'000'000'000));
  EXPECT_EQ(Parse(Newer()).size(), 2u);
}

TEST_F(TraceWriterTest, WritesOutByItselfWhenItsBufferIsFull) {
  const std::unique_ptr<TraceWriter> writer = Open();
  for (uint64_t i = 1; i <= kTraceBufferBytes / 8; ++i) writer->Append(EdgeAt(i));
  EXPECT_GE(Newer().size(), kTraceBufferBytes);
}

TEST_F(TraceWriterTest, WritesOutWhenItGoes) {
  Open()->Append(EdgeAt(7));
  EXPECT_EQ(Parse(Newer()).size(), 2u);
}

TEST_F(TraceWriterTest, RotatesAtHalfItsLimitAndNeverExceedsIt) {
  options_.size_max_bytes = 1'000;
  const std::unique_ptr<TraceWriter> writer = Open();
  for (uint64_t i = 1; i <= 500; ++i) {
    writer->Append(EdgeAt(i));
    writer->Flush();
    ASSERT_LE(Newer().size(), 500u);
    ASSERT_LE(Older().size(), 500u);
  }
  EXPECT_GT(Older().size(), 400u);
  const std::vector<v1::TraceRecord> older = Parse(Older());
  const std::vector<v1::TraceRecord> newer = Parse(Newer());
  EXPECT_EQ(newer.back().edge().time_ns(), 500);
  // [0] is the start.
  EXPECT_EQ(newer.at(1).edge().time_ns(), older.back().edge().time_ns() + 1);
}

TEST_F(TraceWriterTest, EachFileCanBeReadAloneBecauseItRepeatsWhatIsLive) {
  options_.size_max_bytes = 1'000;
  const std::unique_ptr<TraceWriter> writer = Open();
  writer->Append(RankAttached(1));
  writer->Append(SlotNameTraceRecord(1, 3, {.bubble_class = BubbleClass::kTail, .ordinal = 2}));
  writer->Append(TaskAttached(4));
  writer->Append(RankAttached(2));
  writer->Append(TaskAttached(5));
  v1::TraceRecord detached;
  detached.mutable_rank_detached()->set_rank_key(2);
  writer->Append(detached);
  v1::TraceRecord ended;
  ended.mutable_task_ended()->set_task_key(5);
  writer->Append(ended);
  AppendUntilRotated(*writer);
  const std::vector<v1::TraceRecord> records = Parse(Newer());
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].start().now_ns(), 5);
  EXPECT_EQ(records[1].rank_attached().rank_key(), 1);
  EXPECT_EQ(records[2].bubble_named().slot(), 3);
  EXPECT_EQ(records[3].task_attached().task_key(), 4);
  EXPECT_TRUE(records[4].has_edge());
}

TEST_F(TraceWriterTest, LimitSmallerThanWhatIsLiveStillKeepsTheNewestRecord) {
  options_.size_max_bytes = 10;
  const std::unique_ptr<TraceWriter> writer = Open();
  writer->Append(RankAttached(1));
  for (uint64_t i = 1; i <= 50; ++i) writer->Append(EdgeAt(i));
  writer->Flush();
  EXPECT_TRUE(writer->is_writing());
  EXPECT_EQ(Parse(Newer()).back().edge().time_ns(), 50);
  EXPECT_EQ(Parse(Older()).back().edge().time_ns(), 49);
  EXPECT_LT(Newer().size() + Older().size(), 200u);
}

TEST_F(TraceWriterTest, NextStartGoesOnInTheFileAndWithTheKeys) {
  {
    const std::unique_ptr<TraceWriter> writer = Open();
    EXPECT_EQ(writer->NextRankKey(), 1);
    EXPECT_EQ(writer->NextRankKey(), 2);
    writer->Append(RankAttached(2));
    writer->Append(TaskAttached(9));
  }
  options_.start.set_now_ns(77);
  const std::unique_ptr<TraceWriter> writer = Open();
  EXPECT_EQ(writer->NextRankKey(), 3);
  EXPECT_EQ(writer->NextTaskKey(), 10);
  const std::vector<v1::TraceRecord> records = Parse(Newer());
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[3].start().now_ns(), 77);
}

TEST_F(TraceWriterTest, NextStartCutsOffATornRecordWhereverItWasTorn) {
  Open()->Append(EdgeAt(7));
  const std::string whole = Newer();
  for (size_t cut = whole.size() - 1; cut > 0; --cut) {
    std::ofstream(options_.folder + "/trace.pb", std::ios::binary) << whole.substr(0, cut);
    Open()->Append(EdgeAt(8));
    const std::vector<v1::TraceRecord> records = Parse(Newer());
    ASSERT_GE(records.size(), 2u) << "cut at " << cut;
    EXPECT_EQ(records.back().edge().time_ns(), 8);
    EXPECT_TRUE(records[records.size() - 2].has_start());
  }
}

TEST_F(TraceWriterTest, NextStartSurvivesAFileOfRandomBytes) {
  ASSERT_EQ(mkdir(options_.folder.c_str(), 0755), 0);
  std::ofstream(options_.folder + "/trace.pb") << std::string(5'000, '\xff');
  std::ofstream(options_.folder + "/trace.1.pb") << std::string(5'000, '\x08');
  const std::unique_ptr<TraceWriter> writer = Open();
  EXPECT_EQ(Parse(Newer()).size(), 1u);
}

TEST_F(TraceWriterTest, FullDiskStopsTheTraceBehindAWholeRecord) {
  const std::unique_ptr<TraceWriter> writer = Open();
  // A limit on file sizes stands in for the full disk.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 1'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (uint64_t i = 1; i <= 500; ++i) {
    writer->Append(EdgeAt(i));
    if (i % 10 == 0) writer->Flush();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(writer->is_writing());
  const size_t kept = Parse(Newer()).size();
  EXPECT_GT(kept, 10u);
  writer->Append(EdgeAt(501));
  writer->Flush();
  EXPECT_EQ(Parse(Newer()).size(), kept) << "goes on though it stopped";
  EXPECT_EQ(writer->ReadChunk(0, 1 << 20)->data, Newer());
}

TEST_F(TraceWriterTest, LimitZeroTracesNothing) {
  options_.size_max_bytes = 0;
  const std::unique_ptr<TraceWriter> writer = Open();
  writer->Append(EdgeAt(7));
  writer->Flush();
  EXPECT_FALSE(writer->is_writing());
  EXPECT_NE(access(options_.folder.c_str(), F_OK), 0);
  EXPECT_TRUE(writer->ReadChunk(0, 100)->is_at_end);
  EXPECT_EQ(writer->NextRankKey(), 1);
}

TEST_F(TraceWriterTest, FolderThatCannotBeUsedIsAnError) {
  std::ofstream(folder_ + "/file") << "x";
  options_.folder = folder_ + "/file/trace";
  EXPECT_FALSE(TraceWriter::Open(options_).ok());
}

TEST_F(TraceWriterTest, ChunksPutTogetherAreBothFiles) {
  options_.size_max_bytes = 1'000;
  const std::unique_ptr<TraceWriter> writer = Open();
  AppendUntilRotated(*writer);
  writer->Append(EdgeAt(1'000));
  std::string all;
  int64_t offset = 0;
  bool is_at_end = false;
  while (!is_at_end) {
    const absl::StatusOr<TraceChunk> chunk = writer->ReadChunk(offset, 7);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    ASSERT_EQ(chunk->next_offset, offset + static_cast<int64_t>(chunk->data.size()));
    all += chunk->data;
    offset = chunk->next_offset;
    is_at_end = chunk->is_at_end;
  }
  EXPECT_EQ(all, Older() + Newer());
  EXPECT_TRUE(writer->ReadChunk(offset, 7)->data.empty());
  EXPECT_EQ(writer->ReadChunk(offset, 7)->next_offset, offset);
}

TEST_F(TraceWriterTest, OffsetsStayTrueWhileOldBytesGo) {
  options_.size_max_bytes = 1'000;
  const std::unique_ptr<TraceWriter> writer = Open();
  AppendUntilRotated(*writer);
  const std::string tail = Newer();
  const int64_t tail_offset = static_cast<int64_t>(Older().size());
  AppendUntilRotated(*writer);
  ASSERT_EQ(Older().substr(0, tail.size()), tail);
  EXPECT_EQ(writer->ReadChunk(tail_offset, static_cast<int64_t>(tail.size()))->data, tail);
}

TEST_F(TraceWriterTest, OffsetOfDroppedBytesJumpsToAWholeRecord) {
  options_.size_max_bytes = 1'000;
  const std::unique_ptr<TraceWriter> writer = Open();
  AppendUntilRotated(*writer);
  const int64_t dropped = static_cast<int64_t>(Older().size());
  AppendUntilRotated(*writer);
  const absl::StatusOr<TraceChunk> chunk = writer->ReadChunk(3, 10'000);
  ASSERT_TRUE(chunk.ok());
  EXPECT_EQ(chunk->next_offset - static_cast<int64_t>(chunk->data.size()), dropped);
  EXPECT_TRUE(Parse(chunk->data).front().has_start());
}

TEST_F(TraceWriterTest, RefusesNegativeRanges) {
  const std::unique_ptr<TraceWriter> writer = Open();
  EXPECT_EQ(writer->ReadChunk(-1, 1).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(writer->ReadChunk(0, -1).status().code(), absl::StatusCode::kOutOfRange);
  const absl::StatusOr<TraceChunk> beyond = writer->ReadChunk(1 << 20, 5);
  EXPECT_TRUE(beyond->is_at_end);
  EXPECT_EQ(beyond->next_offset, 1 << 20);
}

TEST(TraceRecordTest, UnitKeepsEveryField) {
  const v1::TraceRecord record = UnitTraceRecord(4, 2,
                                                 {.start_ns = 10,
                                                  .end_ns = 20,
                                                  .cpu_ns = 9,
                                                  .bubble_begin_ns = 8,
                                                  .iteration = 7,
                                                  .latest_start_ns = 6,
                                                  .estimate_ns = 5,
                                                  .seq = 3,
                                                  .seq_after = 33,
                                                  .slot = 1,
                                                  .generation = 12});
  EXPECT_EQ(record.unit().ShortDebugString(),
            "task_key: 4 start_ns: 10 end_ns: 20 cpu_ns: 9 seq: 3 seq_after: 33 slot: 1 "
            "bubble_begin_ns: 8 iteration: 7 latest_start_ns: 6 estimate_ns: 5 rank_key: 2");
}

TEST(TraceRecordTest, EdgeKeepsEveryField) {
  const v1::TraceRecord record = EdgeTraceRecord(
      2,
      {.kind = EdgeKind::kChunkEnd, .slot = 3, .seq = 4, .time_ns = 5, .iteration = 6, .value = 7});
  EXPECT_EQ(record.edge().ShortDebugString(),
            "rank_key: 2 kind: EDGE_KIND_CHUNK_END time_ns: 5 iteration: 6 seq: 4 slot: 3 "
            "value: 7");
}

TEST(TraceRecordTest, OnlyTheBeginOfABubbleSaysThatItIsOffered) {
  EXPECT_TRUE(EdgeTraceRecord(2, {.kind = EdgeKind::kBubbleBegin}, true).edge().offered());
  EXPECT_FALSE(EdgeTraceRecord(2, {.kind = EdgeKind::kBubbleBegin}, false).edge().offered());
  EXPECT_FALSE(EdgeTraceRecord(2, {.kind = EdgeKind::kBubbleEnd}, true).edge().offered());
}

}  // namespace
}  // namespace pipefill
