#include "agent/tasks/attempt_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/tasks/attempt_log.h"
#include "agent/tasks/exit_record.h"
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

nlohmann::json ToJson(const ProcessId& id) {
  return {{"pid", id.pid}, {"start_ticks", id.start_ticks}};
}

nlohmann::json ToJson(const AttemptRecord& record) {
  nlohmann::json json = {{"job", record.key.job.value()},
                         {"attempt", record.key.attempt.value()},
                         {"fence", record.key.fence.value()},
                         {"job_name", record.job_name},
                         {"device", record.device},
                         {"memory_bytes", record.memory_bytes},
                         {"policy_rank", record.policy_rank},
                         {"way", static_cast<int>(record.way)},
                         {"boot_id", record.boot_id},
                         {"keeper", ToJson(record.keeper)},
                         {"leader", ToJson(record.leader)},
                         {"launched_ns", record.launched_ns},
                         {"max_runtime_ns", record.max_runtime_ns}};
  if (record.stop.has_value()) {
    json["stop"] = {{"cause", static_cast<int>(record.stop->cause)}, {"text", record.stop->text}};
  }
  if (record.end.has_value()) {
    json["end"] = {{"cause", static_cast<int>(record.end->cause)},
                   {"exit_code", record.end->exit_code},
                   {"signal", record.end->signal},
                   {"text", record.end->text}};
  }
  return json;
}

// Takes fields out of a JSON object; one that is absent or of another type spoils the whole.
class Fields {
 public:
  explicit Fields(const nlohmann::json& json) : json_(json) {}

  template <typename Number>
  Number Take(const char* name) {
    if (!Has(name) || !json_[name].is_number_integer()) return Spoil<Number>();
    return json_[name].get<Number>();
  }
  std::string TakeText(const char* name) {
    if (!Has(name) || !json_[name].is_string()) return Spoil<std::string>();
    return json_[name].get<std::string>();
  }
  EndCause TakeCause() {
    const int cause = Take<int>("cause");
    const bool is_known = (cause >= static_cast<int>(EndCause::kExited) &&
                           cause <= static_cast<int>(EndCause::kLost)) ||
                          cause == static_cast<int>(EndCause::kRefused) ||
                          cause == static_cast<int>(EndCause::kMaxRuntime);
    if (!is_known) {
      return Spoil<EndCause>();
    }
    return static_cast<EndCause>(cause);
  }
  bool Has(const char* name) const { return json_.is_object() && json_.contains(name); }
  bool is_good() const { return is_good_; }

 private:
  template <typename Value>
  Value Spoil() {
    is_good_ = false;
    return {};
  }

  const nlohmann::json& json_;
  bool is_good_ = true;
};

std::optional<ProcessId> ParseProcess(const nlohmann::json& json) {
  Fields fields(json);
  const ProcessId id = {.pid = fields.Take<pid_t>("pid"),
                        .start_ticks = fields.Take<uint64_t>("start_ticks")};
  // 1 is never a task, and kill(-1) is everybody.
  if (!fields.is_good() || id.pid < 0 || id.pid == 1) return std::nullopt;
  return id;
}

std::optional<StopNote> ParseStop(const nlohmann::json& json) {
  Fields fields(json);
  StopNote stop = {.cause = fields.TakeCause(), .text = fields.TakeText("text")};
  return fields.is_good() ? std::optional(std::move(stop)) : std::nullopt;
}

std::optional<AttemptEnd> ParseEnd(const nlohmann::json& json) {
  Fields fields(json);
  AttemptEnd end = {.cause = fields.TakeCause(),
                    .exit_code = fields.Take<int>("exit_code"),
                    .signal = fields.Take<int>("signal"),
                    .text = fields.TakeText("text")};
  return fields.is_good() ? std::optional(std::move(end)) : std::nullopt;
}

std::optional<AttemptRecord> ParseRecord(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  Fields fields(json);
  if (!fields.Has("keeper") || !fields.Has("leader")) return std::nullopt;
  const std::optional<ProcessId> keeper = ParseProcess(json["keeper"]);
  const std::optional<ProcessId> leader = ParseProcess(json["leader"]);
  AttemptRecord record = {.key = {.job = JobId(fields.Take<int64_t>("job")),
                                  .attempt = AttemptNumber(fields.Take<int32_t>("attempt")),
                                  .fence = Fence(fields.Take<uint64_t>("fence"))},
                          .job_name = fields.TakeText("job_name"),
                          .device = fields.TakeText("device"),
                          .memory_bytes = fields.Take<int64_t>("memory_bytes"),
                          .policy_rank = fields.Take<int32_t>("policy_rank"),
                          .way = {},
                          .boot_id = fields.TakeText("boot_id"),
                          .keeper = keeper.value_or(ProcessId()),
                          .leader = leader.value_or(ProcessId()),
                          .stop = {},
                          .end = {}};
  if (!fields.is_good() || !keeper.has_value() || !leader.has_value()) return std::nullopt;
  // Records of earlier agents have neither a limit of time nor a way.
  if (fields.Has("max_runtime_ns")) {
    record.launched_ns = fields.Take<int64_t>("launched_ns");
    record.max_runtime_ns = fields.Take<int64_t>("max_runtime_ns");
    if (!fields.is_good()) return std::nullopt;
  }
  const bool is_process =
      fields.Has("way") && fields.Take<int>("way") == static_cast<int>(FillWay::kProcess);
  record.way = is_process ? FillWay::kProcess : FillWay::kSdk;
  if (fields.Has("stop")) record.stop = ParseStop(json["stop"]);
  if (fields.Has("end")) record.end = ParseEnd(json["end"]);
  return record;
}

// For the files of an attempt that has not printed anything.
constexpr uint64_t kRoomBytes = uint64_t{1} << 20;

bool HasRoom(const std::string& folder) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) return true;
  const auto blocks = geteuid() == 0 ? disk.f_bfree : disk.f_bavail;
  return blocks * disk.f_frsize >= kRoomBytes;
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
          .progress = folder + "/progress",
          .exit = absl::StrCat(folder, "/", kExitFile),
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

absl::Status AttemptFolders::WriteRecord(const AttemptRecord& record) const {
  const std::string text =
      ToJson(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
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

absl::Status AttemptFolders::SyncRecord(const AttemptKey& key) const {
  const AttemptPaths paths = PathsOf({key.job, key.attempt});
  for (const std::string& path : {paths.record, paths.progress}) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    // It may have ended before it made any.
    if (!file.is_open() && errno == ENOENT && path == paths.progress) continue;
    if (!file.is_open()) return ErrnoStatus(errno, "open " + path);
    if (fsync(file.get()) != 0) return ErrnoStatus(errno, "sync " + path);
  }
  RETURN_IF_ERROR(SyncFolder(paths.folder));
  return SyncFolder(root_);
}

void AttemptFolders::RemoveRecord(const AttemptKey& key) const {
  const AttemptPaths paths = PathsOf({key.job, key.attempt});
  const absl::StatusOr<std::string> text = ReadFile(paths.record);
  const std::optional<AttemptRecord> record = text.ok() ? ParseRecord(*text) : std::nullopt;
  if (record.has_value() && record->key != key) return;
  unlink(paths.record.c_str());
  unlink(paths.progress.c_str());
  unlink(paths.exit.c_str());
}

void AttemptFolders::WriteProgress(const AttemptKey& key, absl::string_view bytes) const {
  const std::string path = PathsOf({key.job, key.attempt}).progress;
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file.is_open()) return;
  // The size in front: a shorter text leaves the rest of the longer one behind. As one write below
  // a memory page it is done whole or not at all, whenever agentd is killed.
  const std::string text = absl::StrCat(absl::Hex(bytes.size(), absl::kZeroPad8), bytes);
  [[maybe_unused]] const ssize_t ignored = pwrite(file.get(), text.data(), text.size(), 0);
}

std::string AttemptFolders::ReadProgress(const AttemptKey& key) const {
  const absl::StatusOr<std::string> text = ReadFile(PathsOf({key.job, key.attempt}).progress);
  uint64_t size = 0;
  if (!text.ok() || text->size() < 8 ||
      !absl::SimpleHexAtoi(absl::string_view(*text).substr(0, 8), &size) ||
      size > text->size() - 8) {
    return "";
  }
  return text->substr(8, size);
}

std::optional<ProcessExit> AttemptFolders::ReadExit(const AttemptKey& key) const {
  const std::optional<ExitRecord> record = ReadExitRecord(FolderOf(key));
  return record.has_value() ? std::optional(record->exit) : std::nullopt;
}

std::string AttemptFolders::FolderOf(const AttemptKey& key) const {
  return PathsOf({key.job, key.attempt}).folder;
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

std::vector<AttemptRecord> AttemptFolders::ReadRecords() const {
  std::vector<AttemptRecord> records;
  for (const Name& name : List()) {
    const std::string path = PathsOf(name).record;
    const absl::StatusOr<std::string> text = ReadFile(path);
    if (!text.ok()) continue;
    const std::optional<AttemptRecord> record = ParseRecord(*text);
    if (record.has_value()) {
      records.push_back(*record);
      continue;
    }
    spdlog::warn("task_record_unreadable path={}", path);
    unlink(path.c_str());
  }
  return records;
}

int64_t AttemptFolders::FindOffset(const Name& name, LogKind kind, int64_t since_unix_ns) const {
  const AttemptPaths paths = PathsOf(name);
  const std::string& path = kind == LogKind::kStdout ? paths.stdout_log : paths.stderr_log;
  struct stat status = {};
  const int64_t end = stat(path.c_str(), &status) == 0 ? int64_t{status.st_size} : 0;
  return std::min(end, FindLogOffset(path, since_unix_ns));
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

std::vector<AttemptFolders::Name> AttemptFolders::ListEnded(const std::set<Name>& live) const {
  // By the age of the folder: numbers start again when the scheduler's store is a new one.
  std::vector<std::pair<int64_t, Name>> ended;
  for (const Name& name : List()) {
    struct stat status = {};
    const AttemptPaths paths = PathsOf(name);
    if (live.contains(name) || stat(paths.stdout_log.c_str(), &status) != 0) continue;
    ended.emplace_back(status.st_mtim.tv_sec, name);
  }
  std::sort(ended.begin(), ended.end());
  std::vector<Name> names;
  names.reserve(ended.size());
  for (const auto& [age, name] : ended) names.push_back(name);
  return names;
}

void AttemptFolders::Remove(const Name& name) const {
  const AttemptPaths paths = PathsOf(name);
  unlink(paths.stdout_log.c_str());
  unlink(paths.stderr_log.c_str());
  unlink(LogTimesPath(paths.stdout_log).c_str());
  unlink(LogTimesPath(paths.stderr_log).c_str());
  unlink(paths.record.c_str());
  unlink(paths.progress.c_str());
  unlink(paths.exit.c_str());
  // Of a task whose keeper was killed.
  unlink(absl::StrCat(paths.folder, "/", kFreshExitFile).c_str());
  rmdir(paths.work.c_str());
  rmdir(paths.folder.c_str());
}

void AttemptFolders::Prune(const std::set<Name>& live) const {
  const std::vector<Name> ended = ListEnded(live);
  for (size_t i = 0; i + ended_kept_ < ended.size(); ++i) Remove(ended[i]);
}

void AttemptFolders::MakeRoom(const std::set<Name>& live) const {
  MakeRoom(live, [this] { return HasRoom(root_); });
}

void AttemptFolders::MakeRoom(const std::set<Name>& live,
                              const std::function<bool()>& has_room) const {
  if (has_room()) return;
  for (const Name& name : ListEnded(live)) {
    // Its end is not known to schedulerd yet.
    if (access(PathsOf(name).record.c_str(), F_OK) == 0) continue;
    spdlog::warn("attempt_removed job={} attempt={} why=\"the disk is full\" folder={}", name.first,
                 name.second, root_);
    Remove(name);
    if (has_room()) return;
  }
}

}  // namespace pipefill
