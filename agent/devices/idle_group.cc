#include "agent/devices/idle_group.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/devices/group_files.h"
#include "common/files.h"
#include "common/log.h"

namespace pipefill {
namespace {

constexpr char kGroupName[] = "pipefill";
constexpr char kSharedName[] = "shared";
constexpr char kSessionFile[] = "/proc/self/autogroup";
// Of control groups that know no idle ones.
constexpr char kSharesMin[] = "2";
constexpr char kWeightMin[] = "1";
constexpr mode_t kFolderMode = 0755;

struct Controller {
  std::string folder;
  bool is_version_1 = false;
};

// Where the cpu controller is; empty if it is nowhere.
Controller FindController(absl::string_view mounts) {
  for (const absl::string_view line : absl::StrSplit(mounts, '\n', absl::SkipEmpty())) {
    // device, folder, type, options, ...
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() < 4) continue;
    const std::string folder(words[1]);
    if (words[2] == "cgroup" && HasWord(words[3], ",", "cpu")) return {folder, true};
    if (words[2] != "cgroup2") continue;
    const absl::StatusOr<std::string> known = ReadFile(absl::StrCat(folder, "/cgroup.controllers"));
    if (known.ok() && HasWord(*known, " \n", "cpu")) return {folder, false};
  }
  return {};
}

}  // namespace

IdleGroup IdleGroup::Make(absl::string_view mounts) {
  IdleGroup group;
  if (access(kSessionFile, W_OK) == 0) {
    group.has_session_ = true;
    group.detail_ = "idle session";
  }
  const Controller controller = FindController(mounts);
  if (controller.folder.empty()) return group;
  const std::string folder = absl::StrCat(controller.folder, "/", kGroupName);
  if (!controller.is_version_1) {
    WriteGroupFile(absl::StrCat(controller.folder, "/cgroup.subtree_control").c_str(), "+cpu");
  }
  if (mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) return group;
  if (WriteGroupFile(absl::StrCat(folder, "/cpu.idle").c_str(), "1") == 0) {
    group.detail_ = "idle group";
  } else {
    const char* file = controller.is_version_1 ? "/cpu.shares" : "/cpu.weight";
    const char* value = controller.is_version_1 ? kSharesMin : kWeightMin;
    if (WriteGroupFile(absl::StrCat(folder, file).c_str(), value) != 0) return group;
    group.detail_ = "low-weight group";
  }
  // A group of version 2 that has groups with controllers holds no processes itself (task_group.h).
  std::string place = folder;
  if (!controller.is_version_1) {
    absl::StrAppend(&place, "/", kSharedName);
    if (mkdir(place.c_str(), kFolderMode) != 0 && errno != EEXIST) return group;
  }
  group.procs_file_ = absl::StrCat(place, "/cgroup.procs");
  if (access(group.procs_file_.c_str(), W_OK) != 0) group.procs_file_.clear();
  return group;
}

int IdleGroup::JoinInChild() const noexcept {
  // Refused where a new session may not change its weight so soon again; the control group counts.
  if (has_session_) WriteGroupFile(kSessionFile, "19");
  return procs_file_.empty() ? 0 : WriteGroupFile(procs_file_.c_str(), "0");
}

}  // namespace pipefill
