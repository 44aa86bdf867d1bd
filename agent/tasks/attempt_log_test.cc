#include "agent/tasks/attempt_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'700'000'000 * kSecond;

class AttemptLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = absl::StrCat(::testing::TempDir(), "/attempt_log_",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove(path_);
  }

  void Create(int64_t size_max_bytes) {
    auto log = MakeLogPipe(path_);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    note_ = LogCutNote(size_max_bytes);
    copy_.emplace(
        LogCopy::Descriptors{
            .reader = log_.reader.get(), .file = log_.file.get(), .times = log_.times.get()},
        LogLimit{.size_max_bytes = size_max_bytes, .cut_note = note_.c_str()});
  }
  void Print(const std::string& text) {
    ASSERT_EQ(write(log_.writer.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  std::string Kept() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  std::string path_;
  std::string note_;
  LogPipe log_;
  std::optional<LogCopy> copy_;
};

TEST_F(AttemptLogTest, KeepsWhatIsPrintedWhileTheTaskRuns) {
  Create(100);
  Print("one\n");
  copy_->Copy(LogCopy::kTurnBytes, kNow);
  EXPECT_EQ(Kept(), "one\n");
  Print("two\n");
  copy_->Copy(LogCopy::kTurnBytes, kNow);
  EXPECT_EQ(Kept(), "one\ntwo\n");
  EXPECT_FALSE(copy_->is_over());
}

TEST_F(AttemptLogTest, TakesWhatIsLeftInThePipeAtTheEnd) {
  Create(100);
  Print("last words");
  log_.writer.Close();
  copy_->Copy(LogCopy::kFinishBytes, kNow);
  EXPECT_EQ(Kept(), "last words");
  EXPECT_TRUE(copy_->is_over());
}

TEST_F(AttemptLogTest, ReturnsEvenIfAnEscapedProcessHoldsThePipe) {
  Create(100);
  const FileDescriptor escaped(dup(log_.writer.get()));
  log_.writer.Close();
  copy_->Copy(LogCopy::kFinishBytes, kNow);
  EXPECT_FALSE(copy_->is_over());
}

TEST_F(AttemptLogTest, CutsAtTheBoundAndSaysSoOnce) {
  Create(10);
  Print("0123456");
  Print("789abcdef");
  Print("more");
  const std::string expected =
      "0123456789\n[pipefill: output beyond 10 B was dropped; see log_max of agentd]\n";
  copy_->Copy(LogCopy::kTurnBytes, kNow);
  EXPECT_EQ(Kept(), expected);
  Print("even more");
  copy_->Copy(LogCopy::kTurnBytes, kNow);
  EXPECT_EQ(Kept(), expected);
}

TEST_F(AttemptLogTest, GoesOnReadingBeyondTheBoundSoThatTheTaskNeverBlocks) {
  Create(10);
  // Together far more than a pipe holds.
  for (int i = 0; i < 100; ++i) {
    Print(std::string(16 * 1024, 'x'));
    copy_->Copy(LogCopy::kTurnBytes, kNow);
  }
  EXPECT_EQ(Kept().substr(0, 11), "xxxxxxxxxx\n");
}

TEST_F(AttemptLogTest, GoesOnReadingWhenTheDiskIsFullAndRemembersWhy) {
  Create(100);
  const FileDescriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  LogCopy copy({.reader = log_.reader.get(), .file = full.get(), .times = full.get()},
               {.size_max_bytes = 100, .cut_note = ""});
  Print("text");
  copy.Copy(LogCopy::kTurnBytes, kNow);
  Print("more text");
  copy.Copy(LogCopy::kTurnBytes, kNow);
  EXPECT_EQ(copy.error_number(), ENOSPC);
  char byte = 0;
  EXPECT_EQ(read(log_.reader.get(), &byte, 1), -1);
}

TEST_F(AttemptLogTest, KnowsWhereWhatIsNewBegins) {
  Create(100);
  for (int second = 0; second < 10; ++second) {
    Print("0123");
    copy_->Copy(LogCopy::kTurnBytes, kNow + second * kSecond);
    // Soon after: no entry of its own.
    Print("4567");
    copy_->Copy(LogCopy::kTurnBytes, kNow + second * kSecond + kSecond / 2);
  }
  EXPECT_EQ(FindLogOffset(path_, kNow - kSecond), 0);
  EXPECT_EQ(FindLogOffset(path_, kNow), 0);
  EXPECT_EQ(FindLogOffset(path_, kNow + 4 * kSecond), 32);
  // From half a second later on the entry before it may still hold something.
  EXPECT_EQ(FindLogOffset(path_, kNow + 4 * kSecond + kSecond / 2), 32);
  EXPECT_EQ(FindLogOffset(path_, kNow + 10 * kSecond), INT64_MAX);
  EXPECT_EQ(FindLogOffset(path_ + ".no", kNow), 0);
}

TEST_F(AttemptLogTest, NamesTheFileThatCannotBeMade) {
  const auto log = MakeLogPipe(path_ + "/absent/stdout");
  EXPECT_FALSE(log.ok());
  EXPECT_NE(log.status().message().find(path_ + "/absent/stdout"), absl::string_view::npos);
}

}  // namespace
}  // namespace pipefill
