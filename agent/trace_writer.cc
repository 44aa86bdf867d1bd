#include "agent/trace_writer.h"

#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/log.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr absl::Duration kFlushPeriod = absl::Seconds(1);
// What a file says is input, even if it is ours.
constexpr int32_t kKeyMax = 1 << 30;
constexpr char kNewerName[] = "/trace.pb";
constexpr char kOlderName[] = "/trace.1.pb";

absl::Status WriteAll(int descriptor, int64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(count));
    offset += count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TraceWriter>> TraceWriter::Open(const TraceOptions& options) {
  std::unique_ptr<TraceWriter> writer(new TraceWriter(options));
  if (options.size_max_bytes <= 0) return writer;
  RETURN_IF_ERROR(writer->OpenFiles());
  writer->is_writing_ = true;
  v1::TraceRecord start;
  *start.mutable_start() = options.start;
  writer->Append(start);
  writer->Flush();
  return writer;
}

TraceWriter::~TraceWriter() { Flush(); }

absl::Status TraceWriter::OpenFiles() {
  RETURN_IF_ERROR(MakeWritableFolder(options_.folder));
  const std::string older_path = options_.folder + kOlderName;
  if (access(older_path.c_str(), F_OK) == 0) RETURN_IF_ERROR(TakeUpFile(older_path, older_));
  return TakeUpFile(options_.folder + kNewerName, newer_);
}

absl::Status TraceWriter::TakeUpFile(const std::string& path, File& file) {
  file.descriptor = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.descriptor.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", path));

  google::protobuf::io::FileInputStream stream(file.descriptor.get());
  v1::TraceRecord record;
  while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&record, &stream, nullptr)) {
    NoteKeys(record);
    file.size_bytes = stream.ByteCount();
    record.Clear();
  }
  if (stream.ByteCount() != file.size_bytes) {
    spdlog::warn("trace_tail_cut path={} kept_bytes={}", path, file.size_bytes);
  }
  if (ftruncate(file.descriptor.get(), file.size_bytes) != 0) {
    return ErrnoStatus(errno, absl::StrCat("truncate ", path));
  }
  return absl::OkStatus();
}

void TraceWriter::NoteKeys(const v1::TraceRecord& record) {
  const auto after = [](int32_t key) { return std::min(key, kKeyMax) + 1; };
  next_rank_key_ = std::max(next_rank_key_, after(record.rank_attached().rank_key()));
  next_task_key_ = std::max(next_task_key_, after(record.task_attached().task_key()));
}

void TraceWriter::Append(const v1::TraceRecord& record) {
  if (is_writing_ && IsFullFor(record)) StopUnless(Rotate());
  if (!is_writing_) return;
  AppendToBuffer(record);
  NoteLive(record);
  if (buffer_.size() >= kTraceBufferBytes) Flush();
}

void TraceWriter::NoteLive(const v1::TraceRecord& record) {
  switch (record.record_case()) {
    case v1::TraceRecord::kRankAttached:
      live_ranks_[record.rank_attached().rank_key()] = {.attached = record, .slot_names = {}};
      break;
    case v1::TraceRecord::kBubbleNamed: {
      const auto rank = live_ranks_.find(record.bubble_named().rank_key());
      if (rank != live_ranks_.end()) rank->second.slot_names[record.bubble_named().slot()] = record;
      break;
    }
    case v1::TraceRecord::kRankDetached:
      live_ranks_.erase(record.rank_detached().rank_key());
      break;
    case v1::TraceRecord::kTaskAttached:
      live_tasks_[record.task_attached().task_key()] = record;
      break;
    case v1::TraceRecord::kTaskEnded:
      live_tasks_.erase(record.task_ended().task_key());
      break;
    default:
      break;
  }
}

void TraceWriter::AppendToBuffer(const v1::TraceRecord& record) {
  google::protobuf::io::StringOutputStream stream(&buffer_);
  google::protobuf::util::SerializeDelimitedToZeroCopyStream(record, &stream);
}

bool TraceWriter::IsFullFor(const v1::TraceRecord& record) const {
  const int64_t used_bytes = newer_.size_bytes + static_cast<int64_t>(buffer_.size());
  if (used_bytes == 0) return false;
  // 10: the longest varint.
  const int64_t record_bytes = static_cast<int64_t>(record.ByteSizeLong()) + 10;
  return used_bytes + record_bytes > options_.size_max_bytes / 2;
}

absl::Status TraceWriter::Rotate() {
  RETURN_IF_ERROR(WriteBuffer());
  const std::string newer_path = options_.folder + kNewerName;
  const std::string older_path = options_.folder + kOlderName;
  if (rename(newer_path.c_str(), older_path.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", newer_path));
  }
  dropped_bytes_ += older_.size_bytes;
  older_ = std::exchange(newer_, File());
  newer_.descriptor =
      FileDescriptor(open(newer_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!newer_.descriptor.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", newer_path));
  AppendStartAndLive();
  return absl::OkStatus();
}

void TraceWriter::AppendStartAndLive() {
  v1::TraceRecord start;
  *start.mutable_start() = options_.start;
  AppendToBuffer(start);
  for (const auto& [key, rank] : live_ranks_) {
    AppendToBuffer(rank.attached);
    for (const auto& [slot, name] : rank.slot_names) AppendToBuffer(name);
  }
  for (const auto& [key, attached] : live_tasks_) AppendToBuffer(attached);
}

void TraceWriter::FlushIfDue(Instant now) {
  if (now - flushed_at_ < kFlushPeriod) return;
  flushed_at_ = now;
  Flush();
}

void TraceWriter::Flush() {
  if (is_writing_) StopUnless(WriteBuffer());
}

absl::Status TraceWriter::WriteBuffer() {
  const absl::Status written = WriteAll(newer_.descriptor.get(), newer_.size_bytes, buffer_);
  if (!written.ok()) {
    // So that the file ends with a whole record. If this fails too, the next start cuts the end
    // off.
    [[maybe_unused]] const int cut = ftruncate(newer_.descriptor.get(), newer_.size_bytes);
    return written;
  }
  newer_.size_bytes += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
  return absl::OkStatus();
}

void TraceWriter::StopUnless(const absl::Status& result) {
  if (result.ok()) return;
  spdlog::warn("trace_stopped folder={} error=\"{}\"; make room and restart agentd",
               options_.folder, result.ToString());
  is_writing_ = false;
  buffer_.clear();
  live_ranks_.clear();
  live_tasks_.clear();
}

absl::StatusOr<TraceChunk> TraceWriter::ReadChunk(int64_t offset, int64_t limit) {
  if (offset < 0 || limit < 0) {
    return absl::OutOfRangeError(
        absl::StrCat("trace range is negative: offset=", offset, " limit=", limit));
  }
  Flush();
  const int64_t kept_end = dropped_bytes_ + older_.size_bytes + newer_.size_bytes;
  TraceChunk chunk;
  chunk.next_offset = offset;
  if (offset < kept_end) {
    const int64_t begin = std::max(offset, dropped_bytes_);
    const int64_t end = begin + std::min(limit, kept_end - begin);
    const int64_t border = dropped_bytes_ + older_.size_bytes;
    RETURN_IF_ERROR(
        ReadFrom(older_, begin - dropped_bytes_, std::min(end, border) - begin, chunk.data));
    const int64_t newer_begin = std::max(begin, border);
    RETURN_IF_ERROR(ReadFrom(newer_, newer_begin - border, end - newer_begin, chunk.data));
    chunk.next_offset = end;
  }
  chunk.is_at_end = chunk.next_offset >= kept_end;
  return chunk;
}

absl::Status TraceWriter::ReadFrom(const File& file, int64_t begin, int64_t size,
                                   std::string& data) const {
  while (size > 0) {
    const size_t old_size = data.size();
    data.resize(old_size + static_cast<size_t>(size));
    const ssize_t count =
        pread(file.descriptor.get(), &data[old_size], static_cast<size_t>(size), begin);
    data.resize(old_size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "read the trace");
    if (count == 0) return absl::DataLossError("trace file became shorter than it was written");
    begin += count;
    size -= count;
  }
  return absl::OkStatus();
}

}  // namespace pipefill
