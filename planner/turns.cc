#include "planner/turns.h"

#include <algorithm>
#include <cstddef>

#include "common/check.h"

namespace pipefill {
namespace {

// Thread-compatible.
class Device {
 public:
  Device(const std::vector<Resident>& residents, const TurnOptions& options)
      : residents_(residents), options_(options) {
    for (const Resident& resident : residents) {
      CHECK(resident.cycle.windows.size() == residents[0].cycle.windows.size());
      seats_.push_back({.packer = ChainPacker(*resident.configuration, options.time)});
    }
  }

  void RunCycle() {
    for (size_t window = 0; window < residents_[0].cycle.windows.size(); ++window) {
      int64_t offset_ns = 0;
      while (const int64_t used_ns = RunTurn(window, offset_ns)) offset_ns += used_ns;
    }
  }

  int64_t steps() const {
    int64_t steps = 0;
    for (const Seat& seat : seats_) steps += seat.packer.steps();
    return steps;
  }

  ResidentRate RateOf(size_t resident, int64_t cycles) const {
    const Seat& seat = seats_[resident];
    const Configuration& configuration = *residents_[resident].configuration;
    const Cycle& cycle = residents_[resident].cycle;
    const double passes = static_cast<double>(seat.packer.units()) /
                          static_cast<double>(seat.packer.units_per_pass());
    const double time_s =
        static_cast<double>(cycles) * static_cast<double>(cycle.iteration_ns) * 1e-9;
    const double window_ns =
        static_cast<double>(cycles) * static_cast<double>(cycle.window_total_ns());
    return {.samples_per_s = passes * static_cast<double>(configuration.samples_per_pass) / time_s *
                             cycle.filled_share,
            .used_share = window_ns > 0 ? static_cast<double>(seat.served_ns) / window_ns : 0};
  }

 private:
  struct Seat {
    ChainPacker packer;
    int64_t served_ns = 0;
  };

  // The first whose unit fits gets a turn. 0 if none fits.
  int64_t RunTurn(size_t window, int64_t offset_ns) {
    order_.resize(seats_.size());
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return IsBefore(a, b); });
    for (const size_t i : order_) {
      Seat& seat = seats_[i];
      const int64_t used_ns = seat.packer.PackTurn(
          residents_[i].cycle.windows[window],
          {.offset_ns = offset_ns, .budget_ns = seats_.size() == 1 ? INT64_MAX : options_.turn_ns});
      seat.served_ns += used_ns;
      if (used_ns > 0) return used_ns;
    }
    return 0;
  }

  bool IsBefore(size_t a, size_t b) const {
    const int32_t rank_a = residents_[a].policy_rank;
    const int32_t rank_b = residents_[b].policy_rank;
    if (rank_a != rank_b) return rank_a < rank_b;
    if (seats_[a].served_ns != seats_[b].served_ns) {
      return seats_[a].served_ns < seats_[b].served_ns;
    }
    return a < b;
  }

  const std::vector<Resident>& residents_;
  const TurnOptions& options_;
  std::vector<Seat> seats_;
  std::vector<size_t> order_;
};

}  // namespace

std::vector<ResidentRate> ShareCycle(const std::vector<Resident>& residents,
                                     const TurnOptions& options) {
  std::vector<ResidentRate> rates;
  if (residents.empty()) return rates;
  Device device(residents, options);
  int64_t cycles = 0;
  do {
    device.RunCycle();
    ++cycles;
  } while (cycles < options.cycles_max && device.steps() < options.steps_max);
  for (size_t i = 0; i < residents.size(); ++i) rates.push_back(device.RateOf(i, cycles));
  return rates;
}

}  // namespace pipefill
