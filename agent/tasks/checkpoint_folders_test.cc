#include "agent/tasks/checkpoint_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace pipefill {
namespace {

class CheckpointFoldersTest : public ::testing::Test {
 protected:
  CheckpointFoldersTest() : root_(::testing::TempDir() + "/checkpoint_folders"), folders_(root_) {
    std::filesystem::remove_all(root_);
  }

  void Save(const std::string& folder) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/save") << "state";
  }

  std::string root_;
  CheckpointFolders folders_;
};

TEST_F(CheckpointFoldersTest, JobsOfOneIdInTwoStoresHaveFoldersOfTheirOwn) {
  EXPECT_EQ(folders_.FolderOf(JobId(4), 1'700'000'000'000'000'001),
            root_ + "/job-4-1700000000000000001");
  EXPECT_NE(folders_.FolderOf(JobId(4), 1), folders_.FolderOf(JobId(4), 2));
}

TEST_F(CheckpointFoldersTest, RemovesThoseOfOneJobAlone) {
  Save(folders_.FolderOf(JobId(4), 1));
  Save(folders_.FolderOf(JobId(41), 1));
  folders_.Remove(JobId(4), 1);
  folders_.Remove(JobId(4), 1);
  EXPECT_FALSE(std::filesystem::exists(folders_.FolderOf(JobId(4), 1)));
  EXPECT_TRUE(std::filesystem::exists(folders_.FolderOf(JobId(41), 1) + "/save"));
}

}  // namespace
}  // namespace pipefill
