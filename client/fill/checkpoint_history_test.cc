#include "client/fill/checkpoint_history.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

Writer By(uint64_t fence) { return {.fence = fence, .start = 1}; }
SaveName Save(uint64_t fence, uint64_t number) { return {.writer = By(fence), .number = number}; }

class CheckpointHistoryTest : public testing::Test {
 protected:
  // Five saved twice; seven went on from its first; nine from one of seven's.
  CheckpointHistoryTest() {
    history_.claims = {By(5), By(7), By(9)};
    history_.bases = {{By(5), std::nullopt}, {By(7), Save(5, 1)}, {By(9), Save(7, 1)}};
    history_.saves = {Save(5, 1), Save(5, 2), Save(7, 1)};
  }

  CheckpointHistory history_;
};

TEST_F(CheckpointHistoryTest, WhatASuccessorDidNotGoOnFromNeverCounts) {
  EXPECT_EQ(history_.NewestFirst(), (std::vector<SaveName>{Save(7, 1), Save(5, 1)}));
}

TEST_F(CheckpointHistoryTest, NothingBeforeAWriterThatBeganAnewCounts) {
  history_.claims.insert(By(11));
  history_.bases[By(11)] = std::nullopt;
  EXPECT_TRUE(history_.NewestFirst().empty());
}

TEST_F(CheckpointHistoryTest, AWriterThatDiedBeforeItWentOnChangesNothing) {
  history_.claims.insert(By(11));
  EXPECT_EQ(history_.NewestFirst().size(), 2u);
  EXPECT_TRUE(history_.IsStale(By(9)));
  EXPECT_FALSE(history_.IsStale(By(11)));
}

TEST_F(CheckpointHistoryTest, TheSaveOfAWriterWithoutClaimNeverCounts) {
  history_.claims.erase(By(5));
  EXPECT_EQ(history_.NewestFirst(), std::vector<SaveName>{Save(7, 1)});
}

// While one of five is kept, so is what says that five's later ones do not count.
TEST_F(CheckpointHistoryTest, PrunesNoClaimOfAWriterBehindTheOldestThatIsKept) {
  EXPECT_EQ(history_.Prunable(2), std::vector<std::string>{SaveText(Save(5, 2))});
}

TEST_F(CheckpointHistoryTest, PrunesOldWritersInAnOrderThatMayBreakOffAnywhere) {
  history_.saves.insert(Save(9, 1));
  const std::vector<std::string> names = history_.Prunable(1);
  EXPECT_EQ(names, (std::vector<std::string>{SaveText(Save(5, 1)), SaveText(Save(5, 2)),
                                             SaveText(Save(7, 1)), ClaimText(By(5)),
                                             BaseText(By(5)), ClaimText(By(7)), BaseText(By(7))}));
  for (size_t done = 0; done <= names.size(); ++done) {
    const std::vector<std::string> left(names.begin() + static_cast<std::ptrdiff_t>(done),
                                        names.end());
    CheckpointHistory rest;
    rest.TakeNames(left);
    for (const Writer& writer : {By(5), By(7)}) {
      for (const std::string& name : left) {
        if (ParseBase(name) == writer) rest.bases[writer] = history_.bases[writer];
      }
    }
    rest.claims.insert(By(9));
    rest.bases[By(9)] = history_.bases[By(9)];
    rest.saves.insert(Save(5, 3));  // a late one
    EXPECT_FALSE(rest.Counts(Save(5, 3))) << done;
  }
}

}  // namespace
}  // namespace pipefill::sdk
