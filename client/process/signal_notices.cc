#include "client/process/signal_notices.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

namespace pipefill::sdk {
namespace {

// A handler has no other way to say something.
volatile sig_atomic_t end_signal = 0;
volatile sig_atomic_t is_continued = 0;
volatile sig_atomic_t has_child = 0;

void Note(int signal) {
  if (signal == SIGCHLD) {
    has_child = 1;
  } else if (signal == SIGCONT) {
    is_continued = 1;
  } else {
    end_signal = signal;
  }
}

template <typename Flag>
int Take(Flag& flag) {
  const int value = flag;
  flag = 0;
  return value;
}

bool IsAnySet() { return end_signal != 0 || is_continued != 0 || has_child != 0; }

}  // namespace

SignalNotices::SignalNotices() {
  end_signal = 0;
  is_continued = 0;
  has_child = 0;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGCONT}) {
    struct sigaction action = {};
    action.sa_handler = Note;
    // Children that are stopped and continued, which they are all the time, are no news.
    action.sa_flags = signal == SIGCHLD ? SA_NOCLDSTOP : 0;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

int SignalNotices::TakeEndSignal() { return Take(end_signal); }
bool SignalNotices::TakeContinued() { return Take(is_continued) != 0; }
bool SignalNotices::has_any() const { return IsAnySet(); }
void SignalNotices::ForgetChild() { has_child = 0; }

void SignalNotices::Wait(uint64_t timeout_ns) {
  sigset_t all = {};
  sigfillset(&all);
  sigset_t before = {};
  // What comes between the look and the wait ends the wait.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const timespec timeout = {.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000u),
                            .tv_nsec = static_cast<int32_t>(timeout_ns % 1'000'000'000u)};
  if (!IsAnySet()) ppoll(nullptr, 0, &timeout, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace pipefill::sdk
