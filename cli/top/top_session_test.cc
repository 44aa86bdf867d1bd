#include "cli/top/top_session.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

// Keys as they were laid out; time passes while it waits for them. Quits when there are no more.
class ScriptedTerminal : public Terminal {
 public:
  explicit ScriptedTerminal(VirtualTime& time) : time_(time) {}

  TerminalSize Size() const override { return size; }
  void Draw(const Frame& frame) override { frames.push_back(PlainText(frame)); }
  Key ReadKey(absl::Duration timeout) override {
    if (keys.empty()) return Key::kQuit;
    const Key key = keys.front();
    keys.pop_front();
    if (before_key) before_key(key);
    if (key == Key::kNone) time_.AdvanceBy(timeout);
    return key;
  }

  const std::string& last() const { return frames.back(); }

  TerminalSize size;
  std::deque<Key> keys;
  std::function<void(Key)> before_key;
  std::vector<std::string> frames;

 private:
  VirtualTime& time_;
};

class TopSessionTest : public CommandFixture {
 protected:
  TopSessionTest() : terminal(time) {
    AddRank("gpt", 0);
    AddRank("vision", 1);
  }

  v1::FillControl& AddRank(const std::string& main_job, int index) {
    v1::Device& device = *scheduler.devices.add_devices();
    device.set_node("n1");
    device.set_name(absl::StrCat("cpu", index));
    device.mutable_main_rank()->set_main_job(main_job);
    device.mutable_main_rank()->mutable_control()->set_state(v1::FILL_STATE_FILLING);
    return *device.mutable_main_rank()->mutable_control();
  }

  void Run(std::deque<Key> keys) {
    terminal.keys = std::move(keys);
    const std::unique_ptr<SchedulerClient> client = NewClient();
    TopSession("127.0.0.1:7700", *client, terminal, time).Run();
  }

  ScriptedTerminal terminal;
};

TEST_F(TopSessionTest, AsksOnceASecondAndDrawsAfterEveryKey) {
  Run({Key::kNone, Key::kOther, Key::kNone, Key::kResize});
  EXPECT_EQ(terminal.frames.size(), 5u);
  EXPECT_TRUE(absl::StrContains(terminal.frames[0], "> gpt"));
}

TEST_F(TopSessionTest, ArrowsSelectAMainJob) {
  Run({Key::kDown});
  EXPECT_TRUE(absl::StrContains(terminal.last(), "> vision"));
  Run({Key::kDown, Key::kDown, Key::kUp, Key::kUp});
  EXPECT_TRUE(absl::StrContains(terminal.last(), "> gpt"));
}

TEST_F(TopSessionTest, PausesTheSelectedMainJobOnceConfirmed) {
  Run({Key::kDown, Key::kPause, Key::kYes});
  EXPECT_TRUE(absl::StrContains(terminal.frames[2], "Pause filling vision? It trains on."));
  ASSERT_EQ(scheduler.updated.size(), 1u);
  EXPECT_EQ(scheduler.updated[0].main_job(), "vision");
  EXPECT_TRUE(scheduler.updated[0].paused());
  EXPECT_FALSE(scheduler.updated[0].has_mode());
  EXPECT_TRUE(absl::StrContains(terminal.last(), "filling vision is paused; p resumes it"));
}

TEST_F(TopSessionTest, AnyOtherKeyLeavesItAlone) {
  Run({Key::kPause, Key::kOther});
  EXPECT_TRUE(scheduler.updated.empty());
  EXPECT_TRUE(absl::StrContains(terminal.last(), "q quit"));
}

TEST_F(TopSessionTest, ResumesWhatIsPaused) {
  v1::MainJobSettings& settings = *scheduler.main_jobs.add_main_jobs();
  settings.set_main_job("gpt");
  settings.set_paused(true);
  Run({Key::kPause, Key::kYes});
  EXPECT_TRUE(absl::StrContains(terminal.frames[1], "Resume filling gpt?"));
  ASSERT_EQ(scheduler.updated.size(), 1u);
  EXPECT_TRUE(scheduler.updated[0].has_paused());
  EXPECT_FALSE(scheduler.updated[0].paused());
}

TEST_F(TopSessionTest, SaysWhatWentWrong) {
  terminal.before_key = [this](Key key) {
    if (key == Key::kYes) scheduler.error = absl::NotFoundError("no such main job: gpt");
  };
  Run({Key::kPause, Key::kYes});
  EXPECT_TRUE(absl::StrContains(terminal.last(), "not done: no such main job: gpt"));
}

TEST_F(TopSessionTest, WithoutAMainJobThereIsNothingToPause) {
  scheduler.devices.clear_devices();
  Run({Key::kPause, Key::kYes});
  EXPECT_TRUE(absl::StrContains(terminal.frames[1], "nothing to pause"));
  EXPECT_TRUE(scheduler.updated.empty());
}

TEST_F(TopSessionTest, KeepsTryingWhileSchedulerdIsAway) {
  scheduler.error = absl::UnavailableError("schedulerd does not answer");
  Run({Key::kNone, Key::kNone, Key::kNone});
  EXPECT_TRUE(absl::StrContains(terminal.last(), "schedulerd is not reachable since 3s"));
  EXPECT_TRUE(absl::StrContains(terminal.last(), "schedulerd does not answer"));
}

TEST_F(TopSessionTest, FitsTheWindowAsItIsNow) {
  terminal.size = {.width = 40, .height = 5};
  Run({});
  EXPECT_EQ(std::count(terminal.last().begin(), terminal.last().end(), '\n'), 5);
}

TEST_F(TopSessionTest, HelpComesAndGoes) {
  Run({Key::kHelp, Key::kHelp});
  EXPECT_TRUE(absl::StrContains(terminal.frames[1], "bubble time, of the time of iterations"));
  EXPECT_TRUE(absl::StrContains(terminal.frames[2], "> gpt"));
}

}  // namespace
}  // namespace pipefill
