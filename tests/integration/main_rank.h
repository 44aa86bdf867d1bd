// A main-job rank for tests: attaches through the SDK and makes one bubble per iteration until it
// is destroyed.
//
// Thread-compatible.
#ifndef TESTS_INTEGRATION_MAIN_RANK_H_
#define TESTS_INTEGRATION_MAIN_RANK_H_

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/pipefill.h"
#include "common/owner_thread.h"

namespace pipefill {

class MainRank {
 public:
  struct Options {
    std::string socket;
    std::string device = "cpu0";
    int mode = PF_MODE_FILL;
    absl::Duration bubble = absl::Milliseconds(6);
    absl::Duration work = absl::Milliseconds(1);
  };

  explicit MainRank(const Options& options) : options_(options) {
    pf_attach_options attach = {};
    attach.size_bytes = sizeof(attach);
    attach.main_job = "gpt";
    attach.ranks = 1;
    attach.stages = 1;
    attach.device = options_.device.c_str();
    attach.socket = options_.socket.c_str();
    attach.mode = options_.mode;
    code_ = pf_attach(&attach, &job_);
    error_ = pf_last_error();
    thread_ = std::make_unique<OwnerThread>("main-rank", [this] { Run(); });
  }
  ~MainRank() {
    stop_.Notify();
    thread_.reset();
    pf_detach(job_);
  }
  MainRank(const MainRank&) = delete;
  MainRank& operator=(const MainRank&) = delete;

  int code() const { return code_; }
  const std::string& error() const { return error_; }

 private:
  void Run() {
    for (uint64_t iteration = 0; !stop_.HasBeenNotified(); ++iteration) {
      pf_iteration_begin(job_, iteration);
      pf_bubble_begin(job_, PF_BUBBLE_MIDDLE, 0);
      stop_.WaitForNotificationWithTimeout(options_.bubble);
      pf_bubble_end(job_);
      stop_.WaitForNotificationWithTimeout(options_.work);
      pf_iteration_end(job_);
    }
  }

  const Options options_;
  pf_main_job* job_ = nullptr;
  int code_ = 0;
  std::string error_;
  absl::Notification stop_;
  std::unique_ptr<OwnerThread> thread_;
};

}  // namespace pipefill

#endif  // TESTS_INTEGRATION_MAIN_RANK_H_
