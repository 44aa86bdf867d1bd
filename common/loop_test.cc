#include "common/loop.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/file_descriptor.h"
#include "common/owner_thread.h"

namespace pipefill {
namespace {

using ::testing::ElementsAre;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    read_end = FileDescriptor(ends[0]);
    write_end = FileDescriptor(ends[1]);
  }
  void Write(const std::string& text) const {
    EXPECT_EQ(write(write_end.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Up to `size_max` bytes.
  std::string Read(size_t size_max = 100) const {
    std::string text(size_max, '\0');
    const ssize_t count = read(read_end.get(), text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<size_t>(count));
    return text;
  }

  FileDescriptor read_end;
  FileDescriptor write_end;
};

class EventLoopTest : public ::testing::Test {
 protected:
  Loop::Callback Note(const std::string& name) {
    return [this, name] { noted_.push_back(name); };
  }
  void StopSoon() {
    loop_->Post([this] { loop_->Stop(); });
  }

  // Before the loop, which is destroyed first and must not own them.
  Pipe pipe_;
  std::vector<std::string> noted_;
  std::unique_ptr<EventLoop> loop_ = EventLoop::Create();
};

TEST_F(EventLoopTest, PostedCallbacksRunInOrder) {
  loop_->Post(Note("first"));
  loop_->Post([this] {
    noted_.push_back("second");
    loop_->Post(Note("fourth"));
    StopSoon();
  });
  loop_->Post(Note("third"));
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("first", "second", "third", "fourth"));
}

TEST_F(EventLoopTest, PostsOfManyThreadsAllRunAndEachThreadsInOrder) {
  constexpr int kThreads = 3;
  constexpr int kPosts = 500;
  std::array<std::vector<int>, kThreads> seen;
  int total = 0;
  std::vector<std::unique_ptr<OwnerThread>> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.push_back(std::make_unique<OwnerThread>("poster", [&, thread] {
      for (int post = 0; post < kPosts; ++post) {
        loop_->Post([&, thread, post] {
          seen[static_cast<size_t>(thread)].push_back(post);
          if (++total == kThreads * kPosts) loop_->Stop();
        });
      }
    }));
  }
  loop_->Run();
  for (const std::vector<int>& posts : seen) {
    ASSERT_EQ(posts.size(), static_cast<size_t>(kPosts));
    for (int post = 0; post < kPosts; ++post) ASSERT_EQ(posts[static_cast<size_t>(post)], post);
  }
}

TEST_F(EventLoopTest, TimersRunInOrderOfTimeThenOfMaking) {
  const Instant now = loop_->Now();
  loop_->PostAt(now + absl::Milliseconds(4), [this] { loop_->Stop(); });
  loop_->PostAt(now + absl::Milliseconds(2), Note("b1"));
  loop_->PostAt(now + absl::Milliseconds(2), Note("b2"));
  loop_->PostAt(now + absl::Milliseconds(1), Note("a"));
  loop_->PostAt(now + absl::Milliseconds(2), Note("b3"));
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("a", "b1", "b2", "b3"));
}

TEST_F(EventLoopTest, TimerNeverRunsEarly) {
  const Instant due = loop_->Now() + absl::Microseconds(1'300);
  Instant ran;
  loop_->PostAt(due, [&] {
    ran = loop_->Now();
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_GE(ran, due);
}

TEST_F(EventLoopTest, TimerInThePastRunsAtOnce) {
  loop_->PostAt(Instant::FromNs(0), [this] { loop_->Stop(); });
  loop_->Run();
}

TEST_F(EventLoopTest, CancelledTimerNeverRuns) {
  const Instant now = loop_->Now();
  const Loop::TimerId first = loop_->PostAt(now, Note("cancelled before the run"));
  const Loop::TimerId second = loop_->PostAt(now + absl::Milliseconds(1), Note("cancelled in it"));
  loop_->PostAt(now, [this, second] { loop_->Cancel(second); });
  loop_->PostAt(now + absl::Milliseconds(2), [this] { loop_->Stop(); });
  loop_->Cancel(first);
  loop_->Cancel(first);
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre());
}

TEST_F(EventLoopTest, TimerThatCancelsItselfDoesNothing) {
  Loop::TimerId timer = 0;
  timer = loop_->PostAt(loop_->Now(), [&] {
    loop_->Cancel(timer);
    loop_->Stop();
  });
  loop_->Run();
}

TEST_F(EventLoopTest, TimerThatIsAlwaysDueDoesNotStarvePosts) {
  const Loop::Callback again = [&] { loop_->PostAt(loop_->Now(), again); };
  loop_->PostAt(loop_->Now(), again);
  StopSoon();
  loop_->Run();
}

TEST_F(EventLoopTest, NothingRunsAfterStop) {
  loop_->Post([this] { loop_->Stop(); });
  loop_->Post(Note("late"));
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre());
}

TEST_F(EventLoopTest, StopBeforeRunReturnsAtOnce) {
  loop_->Stop();
  loop_->Run();
}

TEST_F(EventLoopTest, StopFromAnotherThreadEndsAnIdleLoop) {
  std::unique_ptr<OwnerThread> stopper;
  loop_->Post(
      [&] { stopper = std::make_unique<OwnerThread>("stopper", [this] { loop_->Stop(); }); });
  loop_->Run();
}

TEST_F(EventLoopTest, WatchIsCalledAgainWhileSomethingIsLeftToRead) {
  pipe_.Write("abc");
  loop_->WatchReadable(pipe_.read_end.get(), [this] {
    noted_.push_back(pipe_.Read(1));
    if (noted_.size() == 3) loop_->Stop();
  });
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("a", "b", "c"));
}

TEST_F(EventLoopTest, WatchIsCalledForWhatIsWrittenLater) {
  loop_->WatchReadable(pipe_.read_end.get(), [this] {
    noted_.push_back(pipe_.Read());
    if (noted_.size() == 2) loop_->Stop();
    pipe_.Write("second");
  });
  loop_->Post([this] { pipe_.Write("first"); });
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("first", "second"));
}

TEST_F(EventLoopTest, WatchIsCalledAtTheEnd) {
  loop_->WatchReadable(pipe_.read_end.get(), [this] {
    noted_.push_back(pipe_.Read());
    loop_->Stop();
  });
  loop_->Post([this] { pipe_.write_end.Close(); });
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre(""));
}

TEST_F(EventLoopTest, UnwatchFromTheOwnCallbackEndsTheCalls) {
  pipe_.Write("abc");
  EventLoop::WatchId watch = 0;
  watch = loop_->WatchReadable(pipe_.read_end.get(), [&] {
    noted_.push_back("called");
    loop_->Unwatch(watch);
    loop_->PostAt(loop_->Now() + absl::Milliseconds(1), [this] { loop_->Stop(); });
  });
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("called"));
}

TEST_F(EventLoopTest, DescriptorMayBeClosedAndItsNumberWatchedAgainAfterUnwatch) {
  const int number = pipe_.read_end.get();
  loop_->Unwatch(loop_->WatchReadable(number, Note("old")));
  EXPECT_GE(fcntl(number, F_GETFD), 0) << "unwatching closed it";
  pipe_.read_end.Close();
  Pipe fresh;
  ASSERT_EQ(fresh.read_end.get(), number);
  fresh.Write("x");
  loop_->WatchReadable(number, [this] {
    noted_.push_back("new");
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("new"));
}

TEST_F(EventLoopTest, LoopThatGoesLeavesWatchedDescriptorsOpen) {
  loop_->WatchReadable(pipe_.read_end.get(), [] {});
  loop_.reset();
  EXPECT_GE(fcntl(pipe_.read_end.get(), F_GETFD), 0);
}

TEST_F(EventLoopTest, CallbackThatNeverRanMayStillCancelWhenDestroyed) {
  const Loop::TimerId timer = loop_->PostAt(loop_->Now() + absl::Hours(1), [] {});
  EventLoop* loop = loop_.get();
  std::shared_ptr<void> canceller(nullptr, [loop, timer](void*) { loop->Cancel(timer); });
  loop_->Post([owned = std::move(canceller)] {});
  loop_.reset();
}

TEST_F(EventLoopTest, TerminationSignalsCallInsteadOfEnding) {
  loop_->OnTermination([this] {
    noted_.push_back("signal");
    if (noted_.size() == 2) {
      loop_->Stop();
    } else {
      raise(SIGINT);
    }
  });
  loop_->Post([] { raise(SIGTERM); });
  loop_->Run();
  EXPECT_THAT(noted_, ElementsAre("signal", "signal"));
}

}  // namespace
}  // namespace pipefill
