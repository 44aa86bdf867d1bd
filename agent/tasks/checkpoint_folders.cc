#include "agent/tasks/checkpoint_folders.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/log.h"

namespace pipefill {

std::string CheckpointFolders::FolderOf(JobId job, int64_t submitted_unix_ns) const {
  return absl::StrCat(root_, "/job-", job.value(), "-", submitted_unix_ns);
}

void CheckpointFolders::Remove(JobId job, int64_t submitted_unix_ns) const {
  const std::string folder = FolderOf(job, submitted_unix_ns);
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) spdlog::warn("checkpoints_left folder={} error=\"{}\"", folder, error.message());
}

}  // namespace pipefill
