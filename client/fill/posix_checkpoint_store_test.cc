#include "client/fill/posix_checkpoint_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

class PosixCheckpointStoreTest : public testing::Test {
 protected:
  PosixCheckpointStoreTest() : folder_(testing::TempDir() + "checkpoints-XXXXXX") {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    store_ = OpenStore();
  }
  ~PosixCheckpointStoreTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<CheckpointStore> OpenStore() const {
    std::unique_ptr<CheckpointStore> store;
    const Error error = PosixCheckpointStore::Open(folder_ + "/job", &store);
    EXPECT_TRUE(error.ok()) << error.text;
    return store;
  }
  // Every entry of the folder, hidden ones included.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/job")) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void Put(const std::string& name, const std::string& content) {
    bool is_new = false;
    const Error error = store_->PutIfAbsent(name, content, &is_new);
    EXPECT_TRUE(error.ok()) << error.text;
    EXPECT_TRUE(is_new);
  }
  std::string Get(const std::string& name) {
    std::string content;
    const Error error = store_->Get(name, &content);
    EXPECT_TRUE(error.ok()) << error.text;
    return content;
  }

  std::string folder_;
  std::unique_ptr<CheckpointStore> store_;
};

TEST_F(PosixCheckpointStoreTest, GivesBackWhatWasPut) {
  const std::string large(3'000'000, 'x');
  Put("small", std::string("\0\n", 2));
  Put("large", large);
  Put("empty", "");
  EXPECT_EQ(Get("small"), std::string("\0\n", 2));
  EXPECT_EQ(Get("large"), large);
  EXPECT_EQ(Get("empty"), "");
  EXPECT_EQ(Files(), (std::vector<std::string>{"empty", "large", "small"}));
}

TEST_F(PosixCheckpointStoreTest, TheFirstOfANameStays) {
  Put("save", "first");
  bool is_new = true;
  EXPECT_TRUE(OpenStore()->PutIfAbsent("save", "second", &is_new).ok());
  EXPECT_FALSE(is_new);
  EXPECT_EQ(Get("save"), "first");
}

TEST_F(PosixCheckpointStoreTest, OfManyAtOnceOneIsTheFirst) {
  std::vector<std::thread> threads;
  std::vector<int> winners(8, 0);
  for (size_t i = 0; i < winners.size(); ++i) {
    threads.emplace_back([&, i, store = std::shared_ptr<CheckpointStore>(OpenStore())] {
      bool is_new = false;
      const Error error = store->PutIfAbsent("save", std::to_string(i), &is_new);
      if (error.ok() && is_new) winners[i] = 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(winners.begin(), winners.end(), 1), 1);
  EXPECT_EQ(winners[static_cast<size_t>(std::stoi(Get("save")))], 1);
}

TEST_F(PosixCheckpointStoreTest, RemovesAndListsNames) {
  Put("a", "");
  Put("b", "");
  EXPECT_TRUE(store_->Remove("a").ok());
  EXPECT_TRUE(store_->Remove("a").ok());
  std::vector<std::string> names;
  EXPECT_TRUE(store_->List(&names).ok());
  EXPECT_EQ(names, std::vector<std::string>{"b"});
  std::string content;
  EXPECT_EQ(store_->Get("a", &content).code, PF_SYSTEM);
}

TEST_F(PosixCheckpointStoreTest, WhatACrashLeftUnfinishedIsHiddenAndGoesAtTheNextOpen) {
  const std::string hidden = folder_ + "/job/.unfinished-1-1-save";
  close(open(hidden.c_str(), O_CREAT | O_WRONLY, 0600));
  std::vector<std::string> names;
  EXPECT_TRUE(store_->List(&names).ok());
  EXPECT_TRUE(names.empty());
  OpenStore();
  EXPECT_TRUE(Files().empty());
}

// As a full disk does it: some bytes are written, then none.
TEST_F(PosixCheckpointStoreTest, AFullDiskIsAnErrorAndLeavesNothingBehind) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  bool is_new = true;
  const Error error = store_->PutIfAbsent("save", std::string(100'000, 'x'), &is_new);
  setrlimit(RLIMIT_FSIZE, &before);

  EXPECT_EQ(error.code, PF_SYSTEM);
  EXPECT_NE(error.text.find("write " + folder_ + "/job/"), std::string::npos) << error.text;
  EXPECT_FALSE(is_new);
  EXPECT_TRUE(Files().empty());
}

TEST_F(PosixCheckpointStoreTest, AFolderThatCannotBeMadeIsAnErrorThatNamesIt) {
  Put("file", "");
  std::unique_ptr<CheckpointStore> store;
  const Error error = PosixCheckpointStore::Open(folder_ + "/job/file/deeper", &store);
  EXPECT_EQ(error.code, PF_SYSTEM);
  EXPECT_NE(error.text.find(folder_ + "/job/file/deeper: Not a directory"), std::string::npos)
      << error.text;
}

TEST_F(PosixCheckpointStoreTest, AFolderThatIsGoneIsAnError) {
  std::filesystem::remove_all(folder_ + "/job");
  bool is_new = false;
  EXPECT_EQ(store_->PutIfAbsent("save", "x", &is_new).code, PF_SYSTEM);
}

}  // namespace
}  // namespace pipefill::sdk
