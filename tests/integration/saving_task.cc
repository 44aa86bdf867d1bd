// A fill task that saves: counts its units over all attempts of its job, without an end.
//
//   saving_task UNIT_US
//
// Thread-compatible.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "client/pipefill.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const uint64_t unit_ns = std::strtoull(argv[1], nullptr, 10) * 1000;
  uint64_t done = 0;
  pipefill::FillTask task(unit_ns);
  const int code = task.SetCheckpoint({.save = [&] { return std::to_string(done); },
                                       .load =
                                           [&](std::string_view state) {
                                             done = std::stoull(std::string(state));
                                             return true;
                                           }});
  if (code != PF_OK) return 3;
  while (task.NextUnit()) {
    const std::clock_t begin = std::clock();
    while (static_cast<uint64_t>(std::clock() - begin) * (1'000'000'000u / CLOCKS_PER_SEC) <
           unit_ns) {
    }
    ++done;
  }
  return 9;
}
