// A main-job rank for tests, in a process of its own: `looping_rank DEVICE` attaches through the
// SDK and makes iterations of about 7 ms, with a bubble of 4 ms in each, until it is killed.
//
// Runs on the main thread.
#include <poll.h>

#include <cstdint>
#include <cstdio>

#include "client/pipefill.h"

namespace {

void WaitMs(int milliseconds) { poll(nullptr, 0, milliseconds); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  pf_attach_options options = {};
  options.size_bytes = sizeof(options);
  options.main_job = "looping";
  options.ranks = 1;
  options.stages = 1;
  options.device = argv[1];
  options.mode = PF_MODE_FILL;
  pf_main_job* job = nullptr;
  if (pf_attach(&options, &job) != PF_OK) {
    std::fprintf(stderr, "attach: %s\n", pf_last_error());
    return 1;
  }
  for (uint64_t iteration = 0;; ++iteration) {
    pf_iteration_begin(job, iteration);
    pf_bubble_begin(job, PF_BUBBLE_MIDDLE, 0);
    WaitMs(4);
    pf_bubble_end(job);
    WaitMs(3);
    pf_iteration_end(job);
  }
}
