// Saves of the tasks of one device: what its state orders, and what it tells of them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "agent/device_state.h"
#include "agent/testing/device_fixture.h"

namespace pipefill {
namespace {

class DeviceSavesTest : public DeviceStateTest {
 protected:
  // Job 1, whose task has hooks.
  void AttachSavingTask() {
    const PageGrant grant = AttachTask(1, 1);
    turns_.emplace(grant.descriptors[2], PROT_READ);
    (*task_)->checkpoint_flags.store(kCheckpointHooks);
  }
  uint32_t orders() const { return (*turns_)->seats[0].orders.load(); }
  v1::FillProgress Progress() const { return state_->ProgressOf(SpecOf(1).key, {}); }

  std::optional<Mapping<TurnPage>> turns_;
};

TEST_F(DeviceSavesTest, AnOrderStandsUntilASaveWasTried) {
  AttachSavingTask();
  (*task_)->saves_done.store(2);
  state_->OrderSave(SpecOf(1).key);
  EXPECT_EQ(orders(), kOrderSave);
  state_->Drain(AtMs(10));
  EXPECT_EQ(orders(), kOrderSave);
  (*task_)->saves_failed.store(1);
  state_->Drain(AtMs(20));
  EXPECT_EQ(orders(), 0u);
}

TEST_F(DeviceSavesTest, AMainJobThatPausesOrLeavesHasItsTasksSave) {
  AttachRank(7);
  AttachSavingTask();
  Set({.main_job = "gpt", .mode = std::nullopt, .is_paused = true});
  ASSERT_TRUE(state_->OnSettingsChanged(AtMs(1)));
  EXPECT_EQ(orders(), kOrderSave);
  (*task_)->saves_done.store(1);
  state_->Drain(AtMs(10));
  EXPECT_EQ(orders(), 0u);
  Set({.main_job = "gpt", .mode = std::nullopt, .is_paused = false});
  ASSERT_TRUE(state_->OnSettingsChanged(AtMs(20)));
  EXPECT_EQ(orders(), 0u);
  state_->OnConnectionEnded(7, AtMs(30));
  EXPECT_EQ(orders(), kOrderSave);
}

TEST_F(DeviceSavesTest, NothingIsOrderedOfATaskWithoutHooks) {
  AttachSavingTask();
  (*task_)->checkpoint_flags.store(0);
  state_->OrderSave(SpecOf(1).key);
  EXPECT_EQ(orders(), 0u);
  state_->OrderSave(SpecOf(2).key);
}

TEST_F(DeviceSavesTest, TheNextTaskOfASeatHasNoOrder) {
  AttachSavingTask();
  state_->OrderSave(SpecOf(1).key);
  state_->OnConnectionEnded(1, AtMs(1));
  AttachTask(2, 2);
  EXPECT_EQ(orders(), 0u);
}

TEST_F(DeviceSavesTest, TellsOfSavesAlsoWhenTheTaskIsGone) {
  state_->AddTask(SpecOf(1), 4711, AtMs(0));
  EXPECT_EQ(Progress().resumed_from(), "");
  AttachSavingTask();
  EXPECT_EQ(Progress().resumed_from(), "the beginning");
  (*task_)->saves_done.store(3);
  (*task_)->save_cost_ns.store(5 * kMs);
  state_->OnConnectionEnded(1, AtMs(1));
  EXPECT_EQ(Progress().checkpoints(), 3);
  EXPECT_EQ(state_->RemoveTask(SpecOf(1).key, {}, {}, AtMs(2)).checkpoint_ns(), 5'000'000);
}

TEST_F(DeviceSavesTest, KeepsWhatWasToldToTheAgentdBefore) {
  AttachSavingTask();
  v1::FillProgress before;
  before.set_checkpoints(3);
  before.set_checkpoint_unix_ns(99);
  before.set_checkpoint_ns(7);
  state_->SetProgressBefore(SpecOf(1).key, before);
  EXPECT_EQ(Progress().checkpoints(), 3);
  EXPECT_EQ(Progress().checkpoint_unix_ns(), 99);
  // The task tells the numbers of the whole attempt.
  (*task_)->saves_done.store(4);
  EXPECT_EQ(Progress().checkpoints(), 4);
}

}  // namespace
}  // namespace pipefill
