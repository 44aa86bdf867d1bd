#include "client/fill/checkpoints.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/testing/memory_store.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

using Call = MemoryStore::Call;
using Fate = MemoryStore::Fate;

// A process of an attempt.
struct Process {
  Process(MemoryStore::Blobs& blobs, uint64_t fence)
      : store(blobs),
        checkpoints(store, fence, [this](const std::string& line) { lines.push_back(line); }) {}

  Error Claim() { return checkpoints.Claim(&latest); }
  Error Save(const std::string& content) { return checkpoints.Save(MakeBlob(content)); }
  std::string content() const {
    return latest.has_value() ? std::string(latest->content()) : "nothing";
  }

  MemoryStore store;
  std::vector<std::string> lines;
  Checkpoints checkpoints;
  std::optional<Checkpoints::Latest> latest;
};

class CheckpointsTest : public testing::Test {
 protected:
  // One that has claimed.
  std::unique_ptr<Process> Start(uint64_t fence) {
    auto process = std::make_unique<Process>(blobs_, fence);
    const Error error = process->Claim();
    EXPECT_TRUE(error.ok()) << error.text;
    return process;
  }
  std::vector<std::string> Saves() const {
    std::vector<std::string> names;
    for (const auto& [name, blob] : blobs_) {
      if (ParseSave(name).has_value()) names.push_back(name);
    }
    return names;
  }

  MemoryStore::Blobs blobs_;
};

TEST_F(CheckpointsTest, AJobBeginsWithoutAny) { EXPECT_EQ(Start(5)->content(), "nothing"); }

TEST_F(CheckpointsTest, TheNextAttemptGoesOnFromTheNewest) {
  auto first = Start(5);
  EXPECT_TRUE(first->Save("one").ok());
  EXPECT_TRUE(first->Save("two").ok());
  EXPECT_EQ(Start(7)->content(), "two");
}

TEST_F(CheckpointsTest, ASecondProcessOfAnAttemptGoesOnToo) {
  auto first = Start(5);
  EXPECT_TRUE(first->Save("one").ok());
  auto second = Start(5);
  EXPECT_EQ(second->content(), "one");
  EXPECT_EQ(first->Save("late").code, PF_REFUSED);
  EXPECT_TRUE(second->Save("two").ok());
}

TEST_F(CheckpointsTest, AStaleAttemptIsRefusedWithBothFences) {
  auto old = Start(5);
  auto young = Start(7);
  const Error error = old->Save("late");
  EXPECT_EQ(error.code, PF_REFUSED);
  EXPECT_NE(error.text.find("fence=7"), std::string::npos) << error.text;
  EXPECT_NE(error.text.find("fence=5"), std::string::npos) << error.text;
  Process stale(blobs_, 6);
  EXPECT_EQ(stale.Claim().code, PF_REFUSED);
  EXPECT_TRUE(Saves().empty());
}

// It was stopped between its look and its save, and wakes up when the other is long at work.
TEST_F(CheckpointsTest, WhatAStoppedAttemptSavesLaterNeverCounts) {
  auto old = Start(5);
  EXPECT_TRUE(old->Save("one").ok());
  std::unique_ptr<Process> young;
  old->store.fate = [&](Call call, const std::string&) {
    if (call == Call::kPut && young == nullptr) young = Start(7);
    return Fate::kGood;
  };
  EXPECT_EQ(old->Save("late").code, PF_REFUSED);
  EXPECT_EQ(young->content(), "one");
  EXPECT_EQ(Start(9)->content(), "one");
}

TEST_F(CheckpointsTest, OneThatIsOvertakenWhileItClaimsIsRefused) {
  auto first = Start(5);
  EXPECT_TRUE(first->Save("one").ok());
  Process slow(blobs_, 7);
  std::unique_ptr<Process> fast;
  slow.store.fate = [&](Call, const std::string& name) {
    if (ParseBase(name) == Writer{.fence = 7, .start = 1} && fast == nullptr) fast = Start(9);
    return Fate::kGood;
  };
  EXPECT_EQ(slow.Claim().code, PF_REFUSED);
  EXPECT_FALSE(slow.latest.has_value());
  EXPECT_EQ(fast->content(), "one");
}

// Both are stopped: the successor between its claim and its look.
TEST_F(CheckpointsTest, WhatWasSavedBeforeAClaimIsFoundByIt) {
  auto old = Start(5);
  Process young(blobs_, 7);
  bool is_first = true;
  young.store.fate = [&](Call call, const std::string& name) {
    if (call == Call::kPut && is_first && ParseClaim(name).has_value()) {
      is_first = false;
      EXPECT_TRUE(old->Save("one").ok());
      EXPECT_TRUE(old->Save("two").ok());
      EXPECT_TRUE(old->Save("three").ok());
    }
    return Fate::kGood;
  };
  EXPECT_TRUE(young.Claim().ok());
  EXPECT_EQ(young.content(), "three");
}

TEST_F(CheckpointsTest, KeepsTheNewestTwo) {
  auto first = Start(5);
  for (const char* content : {"one", "two", "three"}) EXPECT_TRUE(first->Save(content).ok());
  EXPECT_EQ(Saves(), (std::vector<std::string>{
                         SaveText({.writer = {.fence = 5, .start = 1}, .number = 2}),
                         SaveText({.writer = {.fence = 5, .start = 1}, .number = 3})}));
}

TEST_F(CheckpointsTest, KeepsNothingOfWritersWhoseSavesAreGone) {
  EXPECT_TRUE(Start(5)->Save("one").ok());
  auto second = Start(7);
  for (const char* content : {"two", "three"}) EXPECT_TRUE(second->Save(content).ok());
  EXPECT_EQ(blobs_.size(), 4u);
  EXPECT_TRUE(blobs_.contains(ClaimText({.fence = 7, .start = 1})));
}

TEST_F(CheckpointsTest, SkipsADamagedOneWithALineAndUsesTheOneBefore) {
  auto first = Start(5);
  EXPECT_TRUE(first->Save("one").ok());
  EXPECT_TRUE(first->Save("two").ok());
  const std::string damaged = Saves().back();
  blobs_[damaged].pop_back();

  auto second = Start(7);
  EXPECT_EQ(second->content(), "one");
  ASSERT_EQ(second->lines.size(), 1u);
  EXPECT_EQ(second->lines[0],
            "checkpoint skipped: " + damaged + " is damaged; using the one before");
}

TEST_F(CheckpointsTest, SkipsOneThatCannotBeRead) {
  auto first = Start(5);
  EXPECT_TRUE(first->Save("one").ok());
  EXPECT_TRUE(first->Save("two").ok());
  Process second(blobs_, 7);
  second.store.fate = [&](Call call, const std::string& name) {
    return call == Call::kGet && name == Saves().back() ? Fate::kDoneButFailed : Fate::kGood;
  };
  EXPECT_TRUE(second.Claim().ok());
  EXPECT_EQ(second.content(), "one");
}

TEST_F(CheckpointsTest, ClaimsNothingWhenItCannotTellWhatCounts) {
  auto first = Start(5);
  EXPECT_TRUE(first->Save("one").ok());
  Process second(blobs_, 7);
  second.store.fate = [](Call call, const std::string&) {
    return call == Call::kGet ? Fate::kDoneButFailed : Fate::kGood;
  };
  EXPECT_EQ(second.Claim().code, PF_SYSTEM);
}

TEST_F(CheckpointsTest, AFullDiskIsReportedAndTheNextSaveMaySucceed) {
  auto first = Start(5);
  bool is_full = true;
  first->store.fate = [&](Call call, const std::string&) {
    return is_full && call == Call::kPut ? Fate::kFailed : Fate::kGood;
  };
  EXPECT_EQ(first->Save("one").code, PF_SYSTEM);
  is_full = false;
  EXPECT_TRUE(first->Save("two").ok());
  EXPECT_EQ(Start(7)->content(), "two");
}

TEST_F(CheckpointsTest, ANumberIsNotUsedTwiceWhenAFailedSaveWasDoneAllTheSame) {
  auto first = Start(5);
  bool is_odd = true;
  first->store.fate = [&](Call call, const std::string&) {
    return is_odd && call == Call::kPut ? Fate::kDoneButFailed : Fate::kGood;
  };
  EXPECT_EQ(first->Save("one").code, PF_SYSTEM);
  is_odd = false;
  EXPECT_TRUE(first->Save("two").ok());
  EXPECT_EQ(Start(7)->content(), "two");
}

TEST_F(CheckpointsTest, TellsHowMuchUsefulTimeIsInACheckpoint) {
  auto first = Start(5);
  std::string blob(kBlobHeaderBytes, '\0');
  SealBlob(123, &blob);
  EXPECT_TRUE(first->checkpoints.Save(blob).ok());
  EXPECT_EQ(Start(7)->latest->useful_ns, 123u);
}

TEST_F(CheckpointsTest, LeavesOtherFilesOfTheFolderAlone) {
  blobs_["notes"] = "mine";
  auto first = Start(5);
  for (const char* content : {"one", "two", "three"}) EXPECT_TRUE(first->Save(content).ok());
  EXPECT_EQ(blobs_["notes"], "mine");
}

}  // namespace
}  // namespace pipefill::sdk
