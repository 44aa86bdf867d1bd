// Users of a simulated cluster: they submit jobs of all kinds, and change their minds. Their calls
// go over a network that loses questions and answers; a submission is repeated, with its key, until
// it is answered.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_FAULTS_SIM_USERS_H_
#define SIMULATOR_FAULTS_SIM_USERS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/virtual_time.h"
#include "scheduler/message.h"
#include "simulator/faults/checker.h"
#include "simulator/faults/draw.h"
#include "simulator/faults/plant.h"
#include "simulator/faults/sim_network.h"
#include "simulator/faults/sim_scheduler.h"

namespace pipefill::simulator {

class SimUsers {
 public:
  struct Surroundings {
    VirtualTime& world;
    SimNetwork& network;
    SimScheduler& scheduler;
    Checker& checker;
  };
  struct Options {
    uint64_t seed = 1;
    int64_t job_bytes_max = 0;
    double loss = 0;            // of questions, and of answers
    absl::Duration pause_most;  // between two wishes
    Plant plant = Plant::kNone;
  };

  // All of `surroundings` outlive them.
  SimUsers(const Surroundings& surroundings, const Options& options);

  // Wishes come until Calm.
  void Start();
  // No more wishes; nothing is lost from now on, and what was not answered is.
  void Calm();
  // Lets go of all jobs that are held.
  void ReleaseAll();
  void SetPaused(bool is_paused);
  // So that something runs.
  void SubmitSome(int count);
  // Every submission has been answered.
  bool is_answered() const { return unanswered_ == 0; }

 private:
  struct Submission {
    std::string key;
    scheduler::JobSpec spec;
  };

  void WishLater();
  void Wish();
  void Submit(const Submission& submission);
  void SubmitMany();
  void Ask(scheduler::Message message);
  // Wraps an answer's way back: it may be lost.
  void Answer(std::function<void()> body);
  Submission NewSubmission();
  scheduler::JobSpec DrawSpec();
  void AddTies(scheduler::JobSpec* spec);
  JobId DrawJob();
  void Control();
  void Cancel();
  void Move();

  VirtualTime& world_;
  SimNetwork& network_;
  SimScheduler& scheduler_;
  Checker& checker_;
  const Options options_;
  Draw draw_;
  double loss_ = 0;
  bool is_calm_ = false;
  int64_t keys_ = 0;
  int64_t unanswered_ = 0;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_SIM_USERS_H_
