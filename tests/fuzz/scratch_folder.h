// A folder for a target whose decoder reads files; empty at the begin of each input.
//
// Thread-compatible.
#ifndef TESTS_FUZZ_SCRATCH_FOLDER_H_
#define TESTS_FUZZ_SCRATCH_FOLDER_H_

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace pipefill {

class ScratchFolder {
 public:
  // In memory, where there is such a place: thousands of inputs a second.
  ScratchFolder()
      : path_((std::filesystem::exists("/dev/shm") ? std::filesystem::path("/dev/shm")
                                                   : std::filesystem::temp_directory_path()) /
              absl::StrCat("pipefill-fuzz-", getpid())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path() const { return path_.string(); }
  void Write(const std::string& name, absl::string_view bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  const std::filesystem::path path_;
};

}  // namespace pipefill

#endif  // TESTS_FUZZ_SCRATCH_FOLDER_H_
