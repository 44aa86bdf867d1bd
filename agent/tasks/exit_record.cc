#include "agent/tasks/exit_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files.h"

namespace pipefill {
namespace {

// printf is not async-signal-safe.
class Line {
 public:
  void Append(const char* text) {
    for (; *text != '\0' && size_ < sizeof(bytes_); ++text) bytes_[size_++] = *text;
  }
  // REQUIRES: value >= 0.
  void Append(int value) {
    char digits[16];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
    while (count > 0 && size_ < sizeof(bytes_)) bytes_[size_++] = digits[--count];
  }
  const char* data() const { return bytes_; }
  size_t size() const { return size_; }

 private:
  char bytes_[128];
  size_t size_ = 0;
};

bool ParseField(absl::string_view name, absl::string_view* text, int* value) {
  if (!absl::ConsumePrefix(text, name)) return false;
  const size_t size = text->find_first_not_of("0123456789");
  if (!absl::SimpleAtoi(text->substr(0, size), value)) return false;
  text->remove_prefix(size == absl::string_view::npos ? text->size() : size);
  return true;
}

}  // namespace

namespace {

// In the room that is there already, if it is.
bool WriteFresh(int folder, const ExitRecord& record, bool is_synced) {
  Line line;
  line.Append("code=");
  line.Append(record.exit.exit_code);
  line.Append(" signal=");
  line.Append(record.exit.signal);
  line.Append(" log_error=");
  line.Append(record.log_error);
  line.Append("\n");
  const int file = openat(folder, kFreshExitFile, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const auto size = static_cast<ssize_t>(line.size());
  const bool is_whole = write(file, line.data(), line.size()) == size && ftruncate(file, size) == 0;
  // A disk that cannot sync still has the file for the next agentd, unless the node goes down.
  if (is_synced) fsync(file);
  close(file);
  return is_whole;
}

}  // namespace

bool ReserveExitRecord(int folder) noexcept { return WriteFresh(folder, {}, /*is_synced=*/false); }

void NoteLogError(int folder, int error_number) noexcept {
  const bool ignored = WriteFresh(folder, {.exit = {}, .log_error = error_number}, false);
  static_cast<void>(ignored);
}

int ReadLogError(const std::string& folder) {
  const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(folder, "/", kFreshExitFile));
  const std::optional<ExitRecord> record = text.ok() ? ParseExitRecord(*text) : std::nullopt;
  return record.has_value() ? record->log_error : 0;
}

bool WriteExitRecord(int folder, const ExitRecord& record) noexcept {
  if (!WriteFresh(folder, record, /*is_synced=*/true)) return false;
  if (renameat(folder, kFreshExitFile, folder, kExitFile) != 0) return false;
  fsync(folder);
  return true;
}

std::optional<ExitRecord> ParseExitRecord(absl::string_view text) {
  ExitRecord record;
  const bool is_good = ParseField("code=", &text, &record.exit.exit_code) &&
                       ParseField(" signal=", &text, &record.exit.signal) &&
                       ParseField(" log_error=", &text, &record.log_error) && text == "\n";
  if (!is_good) return std::nullopt;
  return record;
}

std::optional<ExitRecord> ReadExitRecord(const std::string& folder) {
  const absl::StatusOr<std::string> text = ReadFile(folder + "/" + kExitFile);
  return text.ok() ? ParseExitRecord(*text) : std::nullopt;
}

}  // namespace pipefill
