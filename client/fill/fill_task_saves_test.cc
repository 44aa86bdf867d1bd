#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/fill/checkpoints.h"
#include "client/fill/fill_task.h"
#include "client/testing/gated_task.h"
#include "client/testing/memory_store.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kForever = UINT64_MAX;
constexpr uint64_t kFence = 5;

using Outcome = FillTask::Outcome;

// A program whose state is a text, over a store in memory.
class Program {
 public:
  explicit Program(FakeClock& clock) : clock_(clock) {}

  // Saves are due after 10 ms of useful time.
  std::unique_ptr<Saver> MakeSaver(uint64_t fence = kFence) {
    const SaveSettings settings = {
        .folder = "", .fence = fence, .bounds = {.min_ns = 10 * kMs, .max_ns = 10 * kMs}};
    auto store = std::make_unique<MemoryStore>(blobs);
    store->fate = [this](MemoryStore::Call call, const std::string&) {
      if (call == MemoryStore::Call::kPut) clock_.now_ns += write_ns;
      if (call == MemoryStore::Call::kPut && on_put) on_put();
      return is_disk_full ? MemoryStore::Fate::kFailed : MemoryStore::Fate::kGood;
    };
    return std::make_unique<Saver>(
        clock_, settings,
        SaveHooks{.save = [this](std::string* blob) { return Save(blob); },
                  .load =
                      [this](std::string_view text) {
                        state = text;
                        return is_loading;
                      },
                  .sync = [this] { return is_synced; }},
        std::move(store));
  }

  // What an attempt after this one would go on from.
  std::string Saved() {
    MemoryStore store(blobs);
    Checkpoints next(store, kFence + 1000, [](const std::string&) {});
    std::optional<Checkpoints::Latest> latest;
    MemoryStore::Blobs before = blobs;
    EXPECT_TRUE(next.Claim(&latest).ok());
    blobs = std::move(before);
    return latest.has_value() ? std::string(latest->content()) : "nothing";
  }

  MemoryStore::Blobs blobs;
  std::string state = "empty";
  uint64_t save_ns = kMs;  // time that the hook takes
  uint64_t write_ns = 0;
  std::function<void()> on_put;
  bool is_saving = true;
  bool is_loading = true;
  bool is_synced = true;
  bool is_disk_full = false;
  int saves = 0;

 private:
  bool Save(std::string* blob) {
    ++saves;
    clock_.now_ns += save_ns;
    clock_.cpu_ns += save_ns;
    *blob += state;
    return is_saving;
  }

  FakeClock& clock_;
};

class AloneSavesTest : public testing::Test {
 protected:
  AloneSavesTest() : futex_(clock_), program_(clock_), task_({.clock = clock_, .futex = futex_}) {}

  void RunUnits(int units) {
    for (int i = 0; i < units; ++i) {
      ASSERT_EQ(task_.NextUnit(0, kForever), Outcome::kStarted);
      program_.state = std::to_string(++done_);
      clock_.now_ns += kMs;
      clock_.cpu_ns += kMs;
    }
  }

  FakeClock clock_;
  FakeFutex futex_;
  Program program_;
  FillTask task_;
  int done_ = 0;
};

TEST_F(AloneSavesTest, SavesBetweenUnitsWhenEnoughWorkIsUnsaved) {
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  RunUnits(10);
  EXPECT_EQ(program_.saves, 0);
  RunUnits(1);
  EXPECT_EQ(program_.saves, 1);
  EXPECT_EQ(program_.Saved(), "10");
}

TEST_F(AloneSavesTest, SavesNothingInTheMiddleOfWhatTheStateKnowsAsOne) {
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  task_.HoldSaves(true);
  RunUnits(20);
  EXPECT_TRUE(task_.SaveNow().ok());
  EXPECT_EQ(program_.saves, 0);
  task_.HoldSaves(false);
  RunUnits(1);
  EXPECT_EQ(program_.saves, 1);
  EXPECT_EQ(program_.Saved(), "20");
}

TEST_F(AloneSavesTest, TheNextAttemptGetsTheStateBackBeforeItsFirstUnit) {
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  RunUnits(15);
  FillTask next({.clock = clock_, .futex = futex_});
  EXPECT_TRUE(next.SetSaver(program_.MakeSaver(kFence + 1)).ok());
  EXPECT_EQ(program_.state, "10");
  EXPECT_EQ(next.saver()->numbers().resumed_useful_ns, 10 * kMs);
  EXPECT_EQ(next.saver()->numbers().resumed_from->writer.fence, kFence);
}

TEST_F(AloneSavesTest, StopsForGoodOnceALaterAttemptIsAtWork) {
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  FillTask next({.clock = clock_, .futex = futex_});
  EXPECT_TRUE(next.SetSaver(program_.MakeSaver(kFence + 1)).ok());
  RunUnits(10);
  EXPECT_EQ(task_.NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(task_.NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(task_.saver()->numbers().failed, 1u);
}

TEST_F(AloneSavesTest, AStaleAttemptRunsNoUnitAtAll) {
  FillTask next({.clock = clock_, .futex = futex_});
  EXPECT_TRUE(next.SetSaver(program_.MakeSaver(kFence + 1)).ok());
  EXPECT_EQ(task_.SetSaver(program_.MakeSaver()).code, PF_REFUSED);
  EXPECT_EQ(task_.NextUnit(0, kForever), Outcome::kStop);
}

TEST_F(AloneSavesTest, AFullDiskIsCountedAndTheWorkGoesOn) {
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  program_.is_disk_full = true;
  RunUnits(11);
  EXPECT_EQ(task_.saver()->numbers().failed, 1u);
  RunUnits(9);
  EXPECT_EQ(task_.saver()->numbers().failed, 1u);
  program_.is_disk_full = false;
  // A try has cost 1 ms, so the next one comes 50 ms later.
  RunUnits(50);
  EXPECT_EQ(task_.saver()->numbers().done, 1u);
}

TEST_F(AloneSavesTest, AHookThatFailsIsCountedAndNothingIsWritten) {
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  program_.is_saving = false;
  RunUnits(11);
  EXPECT_EQ(program_.saves, 1);
  EXPECT_EQ(task_.saver()->numbers().failed, 1u);
  EXPECT_EQ(program_.Saved(), "nothing");
}

TEST_F(AloneSavesTest, WhatTheStateRefersToIsMadeDurableBeforeIt) {
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  program_.is_synced = false;
  RunUnits(11);
  EXPECT_EQ(task_.saver()->numbers().failed, 1u);
  EXPECT_EQ(program_.Saved(), "nothing");
}

TEST_F(AloneSavesTest, SaysWhenTheProgramRefusesItsState) {
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  RunUnits(11);
  FillTask next({.clock = clock_, .futex = futex_});
  program_.is_loading = false;
  const Error error = next.SetSaver(program_.MakeSaver(kFence + 1));
  EXPECT_EQ(error.code, PF_BAD_ARGUMENT);
  EXPECT_NE(error.text.find(SaveText({.writer = {.fence = kFence, .start = 1}, .number = 1})),
            std::string::npos)
      << error.text;
}

TEST_F(AloneSavesTest, SaveNowSavesWhatIsNewAndNothingElse) {
  EXPECT_TRUE(task_.SaveNow().ok());
  EXPECT_TRUE(task_.SetSaver(program_.MakeSaver()).ok());
  EXPECT_TRUE(task_.SaveNow().ok());
  EXPECT_EQ(program_.saves, 0);
  RunUnits(1);
  EXPECT_TRUE(task_.SaveNow().ok());
  EXPECT_TRUE(task_.SaveNow().ok());
  EXPECT_EQ(program_.saves, 1);
  EXPECT_EQ(program_.Saved(), "1");
}

class GatedSavesTest : public GatedTask {
 protected:
  GatedSavesTest() : program_(clock_) { EXPECT_TRUE(task_->SetSaver(program_.MakeSaver()).ok()); }

  // In bubbles of their own.
  void RunUnits(int units, uint64_t unit_ns = kMs) {
    for (int i = 0; i < units; ++i) {
      OpenBubble();
      ASSERT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
      RunFor(unit_ns, unit_ns);
      task_->EndUnit();
      CloseBubble();
    }
  }
  // Who has to wait waits for the next bubble.
  void LetBubblesCome() {
    futex_.on_wait = [this] {
      CloseBubble();
      clock_.now_ns += kMs;
      OpenBubble();
      return WaitResult::kWoken;
    };
  }
  // Units up to that length may start, until 10 ms after the bubble's begin.
  void OfferUnits(uint64_t unit_ns) { OfferBubble(window_.get(), kSlot, unit_ns, 10 * kMs); }
  void Order(bool is_ordered) { turn_->seats[kSeat].orders.store(is_ordered ? kOrderSave : 0); }

  Program program_;
};

TEST_F(GatedSavesTest, ASaveIsAUnitOfItsOwnInABubble) {
  RunUnits(10);
  program_.write_ns = 7 * kMs;
  OpenBubble();
  const uint64_t begin_ns = clock_.now_ns;
  ASSERT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);

  ASSERT_EQ(Units().size(), 11u);
  EXPECT_EQ(Units()[10].start_ns, begin_ns);
  EXPECT_EQ(Units()[10].end_ns, begin_ns + kMs);  // without the disk
  EXPECT_EQ(Units()[10].cpu_ns, kMs);
  EXPECT_EQ(program_.Saved(), "empty");
}

TEST_F(GatedSavesTest, ShowsItsSavesToAgentd) {
  EXPECT_EQ(task_page_->checkpoint_flags.load(), kCheckpointHooks);
  RunUnits(10);
  EXPECT_EQ(task_page_->unsaved_ns.load(), 10 * kMs);
  program_.write_ns = 7 * kMs;
  RunUnits(1);
  EXPECT_EQ(task_page_->saves_done.load(), 1u);
  EXPECT_EQ(task_page_->saves_failed.load(), 0u);
  EXPECT_EQ(task_page_->save_cost_ns.load(), 8 * kMs);
  EXPECT_EQ(task_page_->save_end_ns.load(), clock_.now_ns - kMs);
  EXPECT_EQ(task_page_->unsaved_ns.load(), kMs);
}

TEST_F(GatedSavesTest, ShowsWhatItWentOnFrom) {
  RunUnits(11);
  EXPECT_TRUE(task_->SetSaver(program_.MakeSaver(kFence + 1)).ok());
  EXPECT_EQ(task_page_->checkpoint_flags.load(), kCheckpointHooks | kCheckpointResumed);
  EXPECT_EQ(task_page_->resumed_fence.load(), kFence);
  EXPECT_EQ(task_page_->resumed_number.load(), 1u);
  EXPECT_EQ(task_page_->resumed_useful_ns.load(), 10 * kMs);
}

TEST_F(GatedSavesTest, LeavesTheDeviceToOthersWhileItWaitsForTheDisk) {
  RunUnits(10);
  OpenBubble();
  uint32_t wants = 1;
  bool is_free = false;
  program_.on_put = [&] {
    wants = turn_->seats[kSeat].wants.load();
    is_free = IsFree(turn_->holder.load());
  };
  ASSERT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(program_.saves, 1);
  EXPECT_TRUE(is_free);
  EXPECT_EQ(wants, 0u);
  EXPECT_EQ(turn_->seats[kSeat].wants.load(), 1u);
}

TEST_F(GatedSavesTest, ASaveThatDoesNotFitWaitsWhileUnitsGoOn) {
  program_.save_ns = 30 * kMs;
  LetBubblesCome();
  RunUnits(11);  // as long as the hint when it is tried first
  EXPECT_EQ(program_.saves, 1);
  OfferUnits(20 * kMs);
  const auto interval = static_cast<int>(SaveInterval::kCostShare * 30);
  RunUnits(interval + 5);
  EXPECT_EQ(program_.saves, 1);
  EXPECT_EQ(task_page_->bubbles_denied.load(), 0u);
}

TEST_F(GatedSavesTest, ASaveThatHasNotFittedForAWholeIntervalStartsWhereAUnitWould) {
  program_.save_ns = 30 * kMs;
  LetBubblesCome();
  RunUnits(11);
  OfferUnits(20 * kMs);
  const auto interval = static_cast<int>(SaveInterval::kCostShare * 30);
  RunUnits(2 * interval - 5);
  EXPECT_EQ(program_.saves, 1);
  RunUnits(10);
  EXPECT_EQ(program_.saves, 2);
}

TEST_F(GatedSavesTest, AnElasticUnitIsChosenAnewAfterASave) {
  RunUnits(10);
  OpenBubble();
  uint32_t size = 0;
  ASSERT_EQ(task_->NextElastic(3, {.min = 2, .max = 9}, kForever, &size), Outcome::kStarted);
  EXPECT_EQ(program_.saves, 1);
  EXPECT_EQ(size, 2u);
  RunFor(kMs, kMs);
  task_->EndUnit();
  EXPECT_EQ(task_page_->unsaved_ns.load(), kMs);
}

TEST_F(GatedSavesTest, SavesOnceForEachOrder) {
  RunUnits(1);
  Order(true);
  RunUnits(3);
  EXPECT_EQ(program_.saves, 1);
  Order(false);
  RunUnits(1);
  Order(true);
  RunUnits(1);
  EXPECT_EQ(program_.saves, 2);
}

TEST_F(GatedSavesTest, AnOrderNeedsNoBubbleOnceNothingIsFilledAnyMore) {
  RunUnits(1);
  Order(true);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_EQ(program_.saves, 0);  // a bubble will come
  window_->mode.store(static_cast<uint32_t>(FillMode::kReport));
  const size_t units = Units().size();
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_EQ(program_.saves, 1);
  EXPECT_EQ(Units().size(), units);
}

TEST_F(GatedSavesTest, SavesBeforeItIsToldToStopInABubbleIfOneIsOpen) {
  RunUnits(3);
  program_.state = "three";
  SendStop();
  OpenBubble();
  const size_t units = Units().size();
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(program_.Saved(), "three");
  EXPECT_EQ(Units().size(), units + 1);
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(program_.saves, 1);
}

TEST_F(GatedSavesTest, TheLastSaveIsDoneWithoutABubbleIfNoneComesInTime) {
  RunUnits(3);
  SendStop();
  const uint64_t begin_ns = clock_.now_ns;
  const size_t units = Units().size();
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(program_.saves, 1);
  EXPECT_EQ(Units().size(), units);
  EXPECT_EQ(clock_.now_ns - begin_ns, FillTask::kLastSaveWaitNs + program_.save_ns);
  EXPECT_EQ(turn_->seats[kSeat].wants.load(), 0u);
}

TEST_F(GatedSavesTest, HasNothingToSaveBeforeItStopsWithoutWork) {
  SendStop();
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(program_.saves, 0);
}

TEST_F(GatedSavesTest, AStaleTaskStopsInsteadOfStartingAUnit) {
  FillTask next({.clock = clock_, .futex = futex_});
  EXPECT_TRUE(next.SetSaver(program_.MakeSaver(kFence + 1)).ok());
  RunUnits(10);
  OpenBubble();
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(state(), TaskState::kWaiting);
}

}  // namespace
}  // namespace pipefill::sdk
