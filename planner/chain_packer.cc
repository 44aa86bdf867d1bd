#include "planner/chain_packer.h"

#include <algorithm>

#include "common/check.h"

namespace pipefill {

ChainPacker::ChainPacker(const Configuration& configuration, NodeTime time) {
  CHECK(!configuration.chain.empty());
  runs_.reserve(configuration.chain.size());
  run_begins_.reserve(configuration.chain.size() + 1);
  run_begins_.push_back(0);
  for (const ProfileNode& node : configuration.chain) {
    CHECK(node.time_ns > 0 && node.repeats > 0);
    const int64_t time_ns = time == NodeTime::kHigh ? node.high_ns() : node.time_ns;
    runs_.push_back({.time_ns = time_ns,
                     .fit_ns = time == NodeTime::kMeanFits ? node.time_ns : node.high_ns(),
                     .memory_bytes = configuration.resident_bytes + node.memory_bytes,
                     .repeats = node.repeats});
    run_begins_.push_back(run_begins_.back() + node.repeats);
    pass_ns_ += time_ns * node.repeats;
    fit_max_ns_ = std::max(fit_max_ns_, runs_.back().fit_ns);
    memory_max_bytes_ = std::max(memory_max_bytes_, runs_.back().memory_bytes);
  }
}

int64_t ChainPacker::Pack(const Window& window) {
  const int64_t passes_ns = PackPasses(window);
  return passes_ns + PackTurn(window, {.offset_ns = passes_ns});
}

int64_t ChainPacker::PackTurn(const Window& window, const Turn& turn) {
  int64_t used_ns = 0;
  while (used_ns < turn.budget_ns) {
    ++steps_;
    const Run& run = runs_[run_];
    const int64_t left_ns = window.length_ns - turn.offset_ns - used_ns;
    const bool fits = run.fit_ns <= left_ns && run.fit_ns <= window.unit_max_ns &&
                      run.memory_bytes <= window.memory_free_bytes;
    if (!fits) break;
    int64_t count = run.repeats - done_;
    if (count > 1) {
      const int64_t budget_left_ns = turn.budget_ns - used_ns;
      count = std::min({count, 1 + (left_ns - run.fit_ns) / run.time_ns,
                        1 + (budget_left_ns - 1) / run.time_ns});
    }
    used_ns += count * run.time_ns;
    Advance(count);
  }
  return used_ns;
}

int64_t ChainPacker::PackPasses(const Window& window) {
  ++steps_;
  const bool fits_all =
      fit_max_ns_ <= window.unit_max_ns && memory_max_bytes_ <= window.memory_free_bytes;
  if (!fits_all || window.length_ns < fit_max_ns_) return 0;
  // Its last node may start as late as fit_max_ns_ before the end.
  const int64_t passes = (window.length_ns - fit_max_ns_) / pass_ns_;
  units_ += passes * units_per_pass();
  return passes * pass_ns_;
}

void ChainPacker::Advance(int64_t units) {
  units_ += units;
  done_ += units;
  if (done_ < runs_[run_].repeats) return;
  done_ = 0;
  run_ = run_ + 1 == runs_.size() ? 0 : run_ + 1;
}

}  // namespace pipefill
