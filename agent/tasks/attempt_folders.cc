#include "agent/tasks/attempt_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/file_descriptor.h"
#include "common/files.h"
#include "common/log.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr int64_t kChunkMax = int64_t{1} << 20;

std::string NameText(const AttemptFolders::Name& name) {
  return absl::StrCat(name.first.value(), ".", name.second.value());
}

std::optional<AttemptFolders::Name> ParseName(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  int64_t job = 0;
  int32_t attempt = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &job) ||
      !absl::SimpleAtoi(parts[1], &attempt)) {
    return std::nullopt;
  }
  return AttemptFolders::Name(JobId(job), AttemptNumber(attempt));
}

std::optional<ProcessRecord> ParseRecord(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  for (const char* field : {"job", "attempt", "fence", "pid", "start_ticks"}) {
    if (!json.contains(field) || !json[field].is_number_integer()) return std::nullopt;
  }
  if (!json.contains("boot_id") || !json["boot_id"].is_string()) return std::nullopt;
  ProcessRecord record;
  record.key = {.job = JobId(json["job"].get<int64_t>()),
                .attempt = AttemptNumber(json["attempt"].get<int32_t>()),
                .fence = Fence(json["fence"].get<uint64_t>())};
  record.pid = json["pid"].get<pid_t>();
  record.start_ticks = json["start_ticks"].get<uint64_t>();
  record.boot_id = json["boot_id"].get<std::string>();
  if (record.pid <= 1) return std::nullopt;
  return record;
}

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("make the folder ", path));
}

}  // namespace

std::string ReadBootId() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/sys/kernel/random/boot_id");
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

absl::StatusOr<AttemptFolders> AttemptFolders::Open(const std::string& state_dir,
                                                    size_t ended_kept) {
  std::string root = absl::StrCat(state_dir, "/attempts");
  RETURN_IF_ERROR(MakeWritableFolder(root));
  return AttemptFolders(std::move(root), ended_kept);
}

AttemptPaths AttemptFolders::PathsOf(const Name& name) const {
  const std::string folder = absl::StrCat(root_, "/", NameText(name));
  return {.folder = folder,
          .stdout_log = folder + "/stdout",
          .stderr_log = folder + "/stderr",
          .record = folder + "/task.json",
          .work = folder + "/work"};
}

absl::StatusOr<AttemptPaths> AttemptFolders::Create(const AttemptKey& key) const {
  const AttemptPaths paths = PathsOf({key.job, key.attempt});
  std::error_code error;
  if (std::filesystem::exists(paths.folder, error)) {
    int number = 1;
    while (std::filesystem::exists(absl::StrCat(paths.folder, ".", number), error)) ++number;
    std::filesystem::rename(paths.folder, absl::StrCat(paths.folder, ".", number), error);
    if (error) return ErrnoStatus(error.value(), "move aside the folder " + paths.folder);
  }
  RETURN_IF_ERROR(MakeFolder(paths.folder));
  RETURN_IF_ERROR(MakeFolder(paths.work));
  return paths;
}

absl::Status AttemptFolders::WriteRecord(const ProcessRecord& record) const {
  const nlohmann::json json = {
      {"job", record.key.job.value()},     {"attempt", record.key.attempt.value()},
      {"fence", record.key.fence.value()}, {"pid", record.pid},
      {"start_ticks", record.start_ticks}, {"boot_id", record.boot_id}};
  const std::string text = json.dump() + "\n";
  const std::string path = PathsOf({record.key.job, record.key.attempt}).record;
  const std::string fresh = path + ".new";
  const FileDescriptor file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return ErrnoStatus(errno, "write " + fresh);
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, "write " + fresh);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, "rename " + fresh);
  return absl::OkStatus();
}

void AttemptFolders::RemoveRecord(const AttemptKey& key) const {
  unlink(PathsOf({key.job, key.attempt}).record.c_str());
}

std::vector<AttemptFolders::Name> AttemptFolders::List() const {
  std::vector<Name> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<Name> name = ParseName(entry->path().filename().string());
    if (name.has_value()) names.push_back(*name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<ProcessRecord> AttemptFolders::ReadRecords() const {
  std::vector<ProcessRecord> records;
  for (const Name& name : List()) {
    const std::string path = PathsOf(name).record;
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) continue;
    const std::optional<ProcessRecord> record = ParseRecord(*text);
    if (record.has_value()) {
      records.push_back(*record);
      continue;
    }
    spdlog::warn("task_record_unreadable path={}", path);
    unlink(path.c_str());
  }
  return records;
}

absl::StatusOr<LogChunk> AttemptFolders::ReadLog(const Name& name, LogKind kind, int64_t offset,
                                                 int64_t limit) const {
  if (offset < 0 || limit < 0) {
    return absl::OutOfRangeError(
        absl::StrCat("read a log: offset=", offset, " limit=", limit, "; neither may be negative"));
  }
  const AttemptPaths paths = PathsOf(name);
  const std::string& path = kind == LogKind::kStdout ? paths.stdout_log : paths.stderr_log;
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return absl::NotFoundError(absl::StrCat("job ", name.first.value(), " attempt ",
                                            name.second.value(), ": this node keeps no such log"));
  }
  LogChunk chunk;
  chunk.data.resize(static_cast<size_t>(std::min(limit, kChunkMax)));
  const ssize_t count = pread(file.get(), chunk.data.data(), chunk.data.size(), offset);
  if (count < 0) return ErrnoStatus(errno, "read " + path);
  chunk.data.resize(static_cast<size_t>(count));
  chunk.next_offset = offset + count;
  struct stat status = {};
  chunk.is_at_end = fstat(file.get(), &status) == 0 && chunk.next_offset >= status.st_size;
  return chunk;
}

void AttemptFolders::Prune(const std::set<Name>& live) const {
  // By the age of the folder: numbers start again when the scheduler's store is a new one.
  std::vector<std::pair<int64_t, Name>> ended;
  for (const Name& name : List()) {
    struct stat status = {};
    const AttemptPaths paths = PathsOf(name);
    if (live.contains(name) || stat(paths.stdout_log.c_str(), &status) != 0) continue;
    ended.emplace_back(status.st_mtim.tv_sec, name);
  }
  if (ended.size() <= ended_kept_) return;
  std::sort(ended.begin(), ended.end());
  ended.resize(ended.size() - ended_kept_);
  for (const auto& [age, name] : ended) {
    const AttemptPaths paths = PathsOf(name);
    unlink(paths.stdout_log.c_str());
    unlink(paths.stderr_log.c_str());
    unlink(paths.record.c_str());
    rmdir(paths.work.c_str());
    rmdir(paths.folder.c_str());
  }
}

}  // namespace pipefill
