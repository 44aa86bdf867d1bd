#include "agent/tasks/attempt_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "agent/tasks/loop_runner.h"

namespace pipefill {
namespace {

class AttemptLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = absl::StrCat(::testing::TempDir(), "/attempt_log_",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove(path_);
  }
  void TearDown() override {
    runner_.Stop();
    log_.reset();
  }

  void Create(int64_t size_max_bytes) {
    runner_.Do([&] {
      auto log = AttemptLog::Create(runner_.loop(), path_, size_max_bytes);
      ASSERT_TRUE(log.ok()) << log.status();
      log_ = *std::move(log);
    });
  }
  void Print(const std::string& text) {
    ASSERT_EQ(write(log_->writer(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string Kept() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  LoopRunner runner_;
  std::string path_;
  std::unique_ptr<AttemptLog> log_;
};

TEST_F(AttemptLogTest, KeepsWhatIsPrintedWhileTheTaskRuns) {
  Create(100);
  Print("one\n");
  EXPECT_TRUE(runner_.RunUntil([&] { return Kept() == "one\n"; }));
  Print("two\n");
  EXPECT_TRUE(runner_.RunUntil([&] { return Kept() == "one\ntwo\n"; }));
}

TEST_F(AttemptLogTest, TakesWhatIsLeftInThePipeAtTheEnd) {
  Create(100);
  runner_.Do([&] {
    Print("last words");
    log_->Finish();
  });
  EXPECT_EQ(Kept(), "last words");
}

TEST_F(AttemptLogTest, FinishesEvenIfAnEscapedProcessHoldsThePipe) {
  Create(100);
  const FileDescriptor escaped(dup(log_->writer()));
  runner_.Do([&] {
    Print("x");
    log_->Finish();
  });
  EXPECT_EQ(Kept(), "x");
}

TEST_F(AttemptLogTest, CutsAtTheBoundAndSaysSoOnce) {
  Create(10);
  Print("0123456");
  Print("789abcdef");
  Print("more");
  const std::string expected =
      "0123456789\n[pipefill: output beyond 10 B was dropped; see log_max of agentd]\n";
  EXPECT_TRUE(runner_.RunUntil([&] { return Kept() == expected; }));
  runner_.Do([&] {
    Print("even more");
    log_->Finish();
  });
  EXPECT_EQ(Kept(), expected);
}

TEST_F(AttemptLogTest, GoesOnReadingBeyondTheBoundSoThatTheTaskNeverBlocks) {
  Create(10);
  // Far more than a pipe holds.
  for (int i = 0; i < 100; ++i) Print(std::string(16 * 1024, 'x'));
  runner_.Do([&] { log_->Finish(); });
  EXPECT_EQ(Kept().substr(0, 11), "xxxxxxxxxx\n");
}

TEST_F(AttemptLogTest, NamesTheFileThatCannotBeMade) {
  runner_.Do([&] {
    const auto log = AttemptLog::Create(runner_.loop(), path_ + "/absent/stdout", 10);
    EXPECT_FALSE(log.ok());
    EXPECT_NE(log.status().message().find(path_ + "/absent/stdout"), absl::string_view::npos);
  });
}

}  // namespace
}  // namespace pipefill
