#include "common/loop.h"

#define ASIO_STANDALONE
#include <signal.h>

#include <asio.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "common/check.h"
#include "common/clock.h"

namespace pipefill {
namespace {

std::chrono::steady_clock::time_point ToSteady(Instant at) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at.ns()));
}

// One watched descriptor. asio would close it; here it is given back instead.
class Watch {
 public:
  Watch(asio::io_context& context, int fd, Loop::Callback callback)
      : descriptor_(context), callback_(std::move(callback)) {
    asio::error_code error;
    descriptor_.assign(fd, error);
    CHECK(!error);  // not open, or watched already
  }
  ~Watch() { Release(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void Release() {
    if (descriptor_.is_open()) descriptor_.release();
  }
  void Call() const { callback_(); }
  template <typename Handler>
  void WaitReadable(Handler handler) {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, std::move(handler));
  }

 private:
  asio::posix::stream_descriptor descriptor_;
  const Loop::Callback callback_;
};

class AsioLoop : public EventLoop {
 public:
  AsioLoop() : work_(asio::make_work_guard(context_)), timer_(context_), signals_(context_) {}

  void Post(Callback callback) override { asio::post(context_, std::move(callback)); }

  TimerId PostAt(Instant at, Callback callback) override {
    const TimerId id = next_id_++;
    timers_.emplace(std::pair(at, id), std::move(callback));
    timer_instants_.emplace(id, at);
    if (timers_.begin()->first.second == id) ArmTimer();
    return id;
  }

  // Leaves the operating system's timer as it is: it then fires once for nothing.
  void Cancel(TimerId timer) override {
    const auto found = timer_instants_.find(timer);
    if (found == timer_instants_.end()) return;
    timers_.erase(std::pair(found->second, timer));
    timer_instants_.erase(found);
  }

  Instant Now() const override { return SystemClock().Now(); }

  void Run() override { context_.run(); }
  void Stop() override { context_.stop(); }

  WatchId WatchReadable(int fd, Callback callback) override {
    const WatchId id = next_id_++;
    const auto watch = std::make_shared<Watch>(context_, fd, std::move(callback));
    watches_.emplace(id, watch);
    ArmWatch(id, *watch);
    return id;
  }

  void Unwatch(WatchId watch) override {
    const auto found = watches_.find(watch);
    if (found == watches_.end()) return;
    found->second->Release();
    watches_.erase(found);
  }

  void OnTermination(Callback callback) override {
    on_termination_ = std::move(callback);
    asio::error_code error;
    signals_.add(SIGINT, error);
    CHECK(!error);
    signals_.add(SIGTERM, error);
    CHECK(!error);
    ArmSignals();
  }

 private:
  void ArmTimer() {
    timer_.expires_at(ToSteady(timers_.begin()->first.first));
    timer_.async_wait([this](const asio::error_code& error) {
      if (!error) RunDueTimers();
    });
  }

  // Timers made meanwhile wait for the next round, so that posted callbacks get their turn.
  void RunDueTimers() {
    const Instant now = Now();
    const TimerId made_before = next_id_;
    auto next = timers_.begin();
    while (next != timers_.end() && next->first.first <= now) {
      const auto key = next->first;
      if (key.second < made_before) {
        const Callback callback = std::move(next->second);
        timers_.erase(next);
        timer_instants_.erase(key.second);
        callback();
      }
      next = timers_.upper_bound(key);
    }
    if (!timers_.empty()) ArmTimer();
  }

  void ArmWatch(WatchId id, Watch& watch) {
    watch.WaitReadable([this, id](const asio::error_code& error) {
      if (error != asio::error::operation_aborted) RunWatch(id);
    });
  }

  // The callback may unwatch this or any other descriptor.
  void RunWatch(WatchId id) {
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    const std::shared_ptr<Watch> watch = found->second;
    watch->Call();
    if (watches_.contains(id)) ArmWatch(id, *watch);
  }

  void ArmSignals() {
    signals_.async_wait([this](const asio::error_code& error, int) {
      if (error) return;
      on_termination_();
      ArmSignals();
    });
  }

  // Before `context_`, which destroys callbacks that may still cancel their timers.
  std::map<std::pair<Instant, TimerId>, Callback> timers_;
  std::map<TimerId, Instant> timer_instants_;
  uint64_t next_id_ = 1;

  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer timer_;
  asio::signal_set signals_;
  Callback on_termination_;
  std::map<WatchId, std::shared_ptr<Watch>> watches_;
};

}  // namespace

std::unique_ptr<EventLoop> EventLoop::Create() { return std::make_unique<AsioLoop>(); }

}  // namespace pipefill
