// Runs seeds of the fault simulation one after the other: `./run explore` starts one of these on
// each core. Exit codes: 0 all is well, 1 a promise was broken, 2 bad arguments.
//
// Prints each seed on stderr as it begins, one line per broken promise, and JSON at the end.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/log.h"
#include "nlohmann/json.hpp"
#include "simulator/faults/fault_run.h"

namespace pipefill::simulator {
namespace {

struct Options {
  uint64_t first = 1;
  uint64_t step = 1;
  uint64_t count = 0;
  double minutes = 0;
  double trouble_minutes = 3;
  bool shows_events = false;
};

struct Sum {
  int64_t seeds = 0;
  int64_t events = 0;
  int64_t jobs = 0;
  int64_t attempts = 0;
  Moves moves;
  nlohmann::json failing = nlohmann::json::array();
};

FaultRunResult RunOne(const Options& options, uint64_t seed) {
  // Should the process die in it, this is the last that is heard.
  std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
  FaultRunOptions run{.seed = seed, .trouble = absl::Minutes(options.trouble_minutes)};
  if (options.shows_events) {
    run.on_event = [](const std::string& line) {
      std::puts(line.c_str());
      std::fflush(stdout);
    };
  }
  return RunFaults(run);
}

void Add(const FaultRunResult& result, uint64_t seed, Sum* sum) {
  ++sum->seeds;
  sum->events += result.events;
  sum->jobs += result.jobs;
  sum->attempts += result.attempts;
  sum->moves.Add(result.moves);
  std::vector<std::string> violations = result.violations;
  for (const std::string& move : result.moves.illegal())
    violations.push_back("no legal move: " + move);
  if (violations.empty()) return;
  sum->failing.push_back({{"seed", seed}, {"violations", violations}});
  for (const std::string& violation : violations) {
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
  }
  std::fflush(stdout);
}

int Explore(const Options& options) {
  const Instant begin = SystemClock().Now();
  const bool is_timed = options.minutes > 0;
  Sum sum;
  for (uint64_t i = 0; options.count == 0 || i < options.count; ++i) {
    const Instant now = SystemClock().Now();
    if (is_timed && now - begin >= absl::Minutes(options.minutes)) break;
    const uint64_t seed = options.first + i * options.step;
    Add(RunOne(options, seed), seed, &sum);
  }
  const nlohmann::json line = {{"seeds", sum.seeds},
                               {"events", sum.events},
                               {"jobs", sum.jobs},
                               {"attempts", sum.attempts},
                               {"seconds", absl::ToDoubleSeconds(SystemClock().Now() - begin)},
                               {"moves", sum.moves.Encode()},
                               {"moves_legal", Moves::LegalByCode()},
                               {"failing", sum.failing}};
  std::puts(line.dump().c_str());
  return sum.failing.empty() ? 0 : 1;
}

}  // namespace
}  // namespace pipefill::simulator

int main(int argc, char** argv) {
  pipefill::simulator::Options options;
  CLI::App app("Runs of a simulated cluster in trouble, by seed.");
  app.add_option("--first", options.first, "the first seed");
  app.add_option("--step", options.step, "from one seed to the next");
  app.add_option("--count", options.count, "how many; 0 = as long as --minutes says");
  app.add_option("--minutes", options.minutes, "of wall time; 0 = as many as --count says");
  app.add_option("--trouble", options.trouble_minutes, "minutes of each run in which things break")
      ->check(CLI::Range(0.1, 600.0));
  app.add_flag("--events", options.shows_events, "print everything that happens");
  try {
    app.parse(argc, argv);
    if (options.count == 0 && options.minutes <= 0) {
      throw CLI::ValidationError("--count or --minutes must be given");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  spdlog::set_level(spdlog::level::off);
  return pipefill::simulator::Explore(options);
}
