#include "agent/scheduler_session.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/grpc_stream.h"
#include "agent/tasks/loop_runner.h"
#include "agent/testing/scripted_scheduler.h"
#include "common/virtual_time.h"

namespace pipefill {
namespace {

class CountingHandler : public SessionHandler {
 public:
  v1::AgentHello MakeHello() override {
    v1::AgentHello hello;
    hello.set_node("node");
    ++hellos;
    return hello;
  }
  void OnConnected() override { ++connections; }
  void OnCommand(const v1::AgentCommand& command) override {
    last_command = command;
    connections_at_last_command = connections;
  }

  int hellos = 0;
  int connections = 0;
  v1::AgentCommand last_command;
  int connections_at_last_command = 0;
};

class SchedulerSessionTest : public ::testing::Test {
 protected:
  void StartSession(const std::string& target, SessionOptions options = {}) {
    options.target = target;
    options.contact.backoff_min = absl::Milliseconds(1);
    options.contact.backoff_max = absl::Milliseconds(20);
    runner_.Do([&] {
      session_ = std::make_unique<SchedulerSession>(
          SchedulerSession::Surroundings{
              .loop = runner_.loop(), .dial = DialOverGrpc(target), .random = [] { return 0.5; }},
          options, handler_);
      session_->Start();
    });
  }
  bool WaitForConnections(int count) {
    return runner_.RunUntil([&] { return handler_.connections == count; });
  }
  static v1::AgentMessage StartedMessage(int64_t pid) {
    v1::AgentMessage message;
    message.mutable_attempt_started()->set_pid(pid);
    return message;
  }
  void TearDown() override {
    runner_.Do([this] { session_->Stop(); });
    runner_.Stop();
    session_.reset();
  }

  LoopRunner runner_;
  CountingHandler handler_;
  std::unique_ptr<SchedulerSession> session_;
};

TEST_F(SchedulerSessionTest, SaysHelloFirstAndIsConnectedAfterTheWelcome) {
  ScriptedScheduler scheduler({});
  StartSession(scheduler.address());
  ASSERT_TRUE(WaitForConnections(1));
  const auto first = scheduler.WaitFor([](const v1::AgentMessage&) { return true; });
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->hello().node(), "node");
  runner_.Do([&] { EXPECT_TRUE(session_->is_connected()); });
}

TEST_F(SchedulerSessionTest, LeaseCountsFromWhatSchedulerdHasHeard) {
  // Its Welcome was held up since the machine was started.
  ScriptedScheduler scheduler({.lease = absl::Minutes(1), .heard_sent_ns = 1});
  StartSession(scheduler.address());
  ASSERT_TRUE(WaitForConnections(1));
  runner_.Do([&] { EXPECT_TRUE(session_->contact().is_silent(runner_.loop().Now())); });
  const auto hello = scheduler.WaitFor([](const v1::AgentMessage&) { return true; });
  ASSERT_TRUE(hello.has_value());
  v1::AgentCommand command;
  command.mutable_stop()->set_grace_ns(5);
  command.set_heard_sent_ns(hello->sent_ns());
  scheduler.Send(command);
  ASSERT_TRUE(runner_.RunUntil([&] { return handler_.last_command.has_stop(); }));
  runner_.Do([&] {
    const Instant end = Instant::FromNs(hello->sent_ns()) + absl::Minutes(1);
    EXPECT_FALSE(session_->contact().is_silent(end));
    EXPECT_TRUE(session_->contact().is_silent(end + absl::Nanoseconds(1)));
  });
}

TEST_F(SchedulerSessionTest, HandsSettingsAndStopsOnBeforeTheWelcomeAndNothingElse) {
  ScriptedScheduler scheduler({.is_mute = true});
  StartSession(scheduler.address());
  v1::AgentCommand stop;
  stop.mutable_stop()->set_grace_ns(5);
  scheduler.Send(stop);
  ASSERT_TRUE(runner_.RunUntil([&] { return handler_.last_command.has_stop(); }));
  v1::AgentCommand settings;
  settings.mutable_main_job_settings()->set_main_job("gpt");
  scheduler.Send(settings);
  v1::AgentCommand launch;
  launch.mutable_launch()->set_device("cpu0");
  scheduler.Send(launch);
  v1::AgentCommand welcome;
  welcome.mutable_welcome()->set_lease_ns(1'000'000'000);
  scheduler.Send(welcome);

  ASSERT_TRUE(WaitForConnections(1));

  EXPECT_EQ(handler_.last_command.main_job_settings().main_job(), "gpt");
  EXPECT_EQ(handler_.connections_at_last_command, 0);
}

TEST_F(SchedulerSessionTest, WelcomeSaysHowOftenToReport) {
  ScriptedScheduler scheduler({.is_mute = true});
  StartSession(scheduler.address());
  const auto period_after = [&](absl::Duration said) {
    v1::AgentCommand welcome;
    welcome.mutable_welcome()->set_lease_ns(1'000'000'000);
    welcome.mutable_welcome()->set_report_period_ns(absl::ToInt64Nanoseconds(said));
    scheduler.Send(welcome);
    // Commands come in order.
    v1::AgentCommand stop;
    stop.mutable_stop()->set_grace_ns(absl::ToInt64Nanoseconds(said) + 1);
    scheduler.Send(stop);
    EXPECT_TRUE(runner_.RunUntil(
        [&] { return handler_.last_command.stop().grace_ns() == stop.stop().grace_ns(); }));
    absl::Duration period;
    runner_.Do([&] { period = session_->report_period(); });
    return period;
  };
  EXPECT_EQ(period_after(absl::Seconds(5)), absl::Seconds(5));
  EXPECT_EQ(period_after(absl::Hours(2)), absl::Minutes(1));
  EXPECT_EQ(period_after(absl::ZeroDuration()), absl::Seconds(1));
}

TEST_F(SchedulerSessionTest, HandsCommandsOnButKeepsKeepAlivesToItself) {
  ScriptedScheduler scheduler({});
  StartSession(scheduler.address());
  v1::AgentCommand keep_alive;
  keep_alive.mutable_keep_alive();
  scheduler.Send(keep_alive);
  v1::AgentCommand stop;
  stop.mutable_stop()->set_grace_ns(5);
  scheduler.Send(stop);
  ASSERT_TRUE(runner_.RunUntil([&] { return handler_.last_command.has_stop(); }));
  EXPECT_EQ(handler_.last_command.stop().grace_ns(), 5);
}

TEST_F(SchedulerSessionTest, DialsUntilSchedulerdIsThere) {
  int port = 0;
  { port = ScriptedScheduler({}).port(); }
  StartSession(absl::StrCat("127.0.0.1:", port));
  ASSERT_TRUE(runner_.RunUntil([&] { return handler_.hellos >= 3; }));
  const ScriptedScheduler scheduler({.port = port});
  EXPECT_TRUE(WaitForConnections(1));
}

TEST_F(SchedulerSessionTest, DialsAgainWhenTheStreamBreaks) {
  ScriptedScheduler scheduler({});
  StartSession(scheduler.address());
  ASSERT_TRUE(WaitForConnections(1));
  scheduler.BreakStream();
  EXPECT_TRUE(WaitForConnections(2));
}

TEST_F(SchedulerSessionTest, DialsAgainWhenNoWelcomeComesInTime) {
  ScriptedScheduler scheduler({.is_mute = true});
  SessionOptions options;
  options.welcome_within = absl::Milliseconds(30);
  StartSession(scheduler.address(), options);
  EXPECT_TRUE(runner_.RunUntil([&] { return handler_.hellos >= 3; }));
  EXPECT_EQ(handler_.connections, 0);
}

TEST_F(SchedulerSessionTest, DropsWhatIsSentWhileSchedulerdIsAway) {
  int port = 0;
  { port = ScriptedScheduler({}).port(); }
  StartSession(absl::StrCat("127.0.0.1:", port));
  runner_.Do([&] { session_->Send(StartedMessage(1)); });
  ScriptedScheduler scheduler({.port = port});
  ASSERT_TRUE(WaitForConnections(1));
  runner_.Do([&] { session_->Send(StartedMessage(2)); });
  const auto is_started = [](const v1::AgentMessage& m) { return m.has_attempt_started(); };
  const auto started = scheduler.WaitFor(is_started);
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->attempt_started().pid(), 2);
}

TEST_F(SchedulerSessionTest, NewerReportReplacesOneThatStillWaits) {
  ScriptedScheduler scheduler({});
  StartSession(scheduler.address());
  ASSERT_TRUE(WaitForConnections(1));
  runner_.Do([&] {
    // The first may be on its way already; of the other two one waits for it.
    for (int devices = 1; devices <= 3; ++devices) {
      v1::AgentMessage report;
      for (int i = 0; i < devices; ++i) report.mutable_report()->add_devices();
      session_->Send(report);
    }
    session_->Send(StartedMessage(1));
  });
  const auto is_started = [](const v1::AgentMessage& m) { return m.has_attempt_started(); };
  ASSERT_TRUE(scheduler.WaitFor(is_started).has_value());
  EXPECT_EQ(scheduler.Count([](const v1::AgentMessage& m) { return m.has_report(); }), 2u);
  EXPECT_EQ(
      scheduler.Count([](const v1::AgentMessage& m) { return m.report().devices_size() == 2; }),
      0u);
}

TEST_F(SchedulerSessionTest, DropsTheOldestBeyondTheLimit) {
  ScriptedScheduler scheduler({});
  SessionOptions options;
  options.waiting_max = 2;
  StartSession(scheduler.address(), options);
  ASSERT_TRUE(WaitForConnections(1));
  runner_.Do([&] {
    for (int64_t pid = 1; pid <= 10; ++pid) session_->Send(StartedMessage(pid));
  });
  const auto last = [](const v1::AgentMessage& m) { return m.attempt_started().pid() == 10; };
  ASSERT_TRUE(scheduler.WaitFor(last).has_value());
  // One in flight, two that waited.
  EXPECT_EQ(scheduler.Count([](const v1::AgentMessage& m) { return m.has_attempt_started(); }), 3u);
}

// A stream of which the test is the other end.
class FakeStream : public SchedulerStream {
 public:
  explicit FakeStream(Listener listener) : listener_(std::move(listener)) {}
  void Read() override { is_reading_ = true; }
  void Write(v1::AgentMessage) override { listener_.on_written(true); }
  void Cancel() override {}
  void LetGo() override { listener_.on_done(absl::UnavailableError("broken")); }
  const v1::AgentCommand& command() const override { return command_; }

  void Say(const v1::AgentCommand& command) {
    ASSERT_TRUE(std::exchange(is_reading_, false));
    command_ = command;
    listener_.on_read(true);
  }
  void Break() { listener_.on_read(false); }

 private:
  const Listener listener_;
  v1::AgentCommand command_;
  bool is_reading_ = false;
};

class SchedulerSessionLeaseTest : public ::testing::Test {
 protected:
  SchedulerSessionLeaseTest()
      : session_({.loop = time_,
                  .dial =
                      [this](SchedulerStream::Listener listener) {
                        auto stream = std::make_unique<FakeStream>(std::move(listener));
                        stream_ = stream.get();
                        return stream;
                      },
                  .random = [] { return 0.5; }},
                 {.target = "test", .contact = {}}, handler_) {
    session_.Start();
    Pass(absl::ZeroDuration());
  }
  void Pass(absl::Duration duration) { time_.AdvanceBy(duration); }
  // Schedulerd has heard all that was said so far.
  void Say(v1::AgentCommand command) {
    command.set_heard_sent_ns(time_.Now().ns());
    stream_->Say(command);
    Pass(absl::ZeroDuration());
  }
  void Welcome() {
    v1::AgentCommand welcome;
    welcome.mutable_welcome()->set_lease_ns(absl::ToInt64Nanoseconds(kLease));
    Say(welcome);
  }
  bool is_silent() const { return session_.contact().is_silent(time_.Now()); }

  static constexpr absl::Duration kLease = absl::Seconds(10);
  VirtualTime time_;
  CountingHandler handler_;
  FakeStream* stream_ = nullptr;
  SchedulerSession session_;
};

// Between the settings and the Welcome comes what must be stopped, for it runs elsewhere by now.
TEST_F(SchedulerSessionLeaseTest, NoWordOfANewStreamBeforeItsWelcomeEndsTheSilence) {
  Welcome();
  EXPECT_FALSE(is_silent());
  stream_->Break();
  Pass(2 * kLease);
  EXPECT_TRUE(is_silent());
  v1::AgentCommand settings;
  settings.mutable_main_job_settings()->set_main_job("gpt");
  Say(settings);
  EXPECT_TRUE(handler_.last_command.has_main_job_settings());
  EXPECT_TRUE(is_silent());
  Welcome();
  EXPECT_FALSE(is_silent());
}

}  // namespace
}  // namespace pipefill
