#include "cli/admin.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/options.h"
#include "common/file_descriptor.h"
#include "common/files.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

// Writes what `client` sends to `path`, durably. Returns its bytes.
absl::StatusOr<int64_t> WriteBackup(SchedulerClient& client, const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  int64_t bytes = 0;
  RETURN_IF_ERROR(client.Backup([&](absl::string_view piece) {
    bytes += static_cast<int64_t>(piece.size());
    return WithContext(WriteAll(file.get(), piece), path);
  }));
  if (fsync(file.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", path));
  return bytes;
}

absl::StatusOr<ExitCode> RunBackup(const std::string& path, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  const std::string fresh = absl::StrCat(path, ".new");
  absl::StatusOr<int64_t> bytes = WriteBackup(*client, fresh);
  if (bytes.ok() && rename(fresh.c_str(), path.c_str()) != 0) {
    bytes = ErrnoStatus(errno, absl::StrCat("rename ", fresh, " to ", path));
  }
  if (!bytes.ok()) {
    unlink(fresh.c_str());
    return bytes.status();
  }
  context.out << path << ": " << FormatBytes(*bytes) << "\n";
  return kExitOk;
}

}  // namespace

void AddAdminGroup(CLI::App& parent, CommandSet& commands) {
  CLI::App* group = parent.add_subcommand("admin", "Keep schedulerd's state safe");
  group->require_subcommand(0, 1);
  auto path = std::make_shared<std::string>();
  CLI::App* backup = group->add_subcommand("backup", "Write the state of schedulerd to a file");
  backup->add_option("FILE", *path, "Replaced once the backup is complete")
      ->required()
      ->type_name("");
  backup->footer(
      "schedulerd goes on meanwhile. 'schedulerd restore FILE' makes a new state\n"
      "folder out of it; what was accepted after the backup is not in it.");
  commands.Add({backup, [path](CommandContext& context) { return RunBackup(*path, context); }});
}

}  // namespace pipefill
