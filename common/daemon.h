// The frame of a daemon's main: flags, configuration, signals, exit code. Both daemons take
//
//   --config FILE   read the configuration, JSON as in config.h; without it all defaults hold
//   --check         only check the configuration
//   --version, --help
//
// Whatever goes wrong is one line on stderr, `NAME: what failed; what to do`, and an exit code of
// exit_code.h.
//
// Thread-compatible: RunDaemon is called once, by main.
#ifndef COMMON_DAEMON_H_
#define COMMON_DAEMON_H_

#include <google/protobuf/message.h>

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace pipefill {

struct Daemon {
  std::string name;         // of the program
  std::string purpose;      // one line, for --help
  std::string config_help;  // of --config
  // Filled from the file before anything below is called. Outlives the run.
  google::protobuf::Message* config = nullptr;
  std::function<absl::Status()> check;
  // error | warn | info | debug; "" = info.
  std::function<std::string()> log_level;
  // Starts, calls `wait`, which returns at SIGTERM or SIGINT, and stops. Signals come to `wait`
  // only, since they are taken over before any thread is made.
  std::function<absl::Status(const std::function<void()>& wait)> serve;
};

// Returns the exit code of the process.
int RunDaemon(const Daemon& daemon, int argc, char** argv);

}  // namespace pipefill

#endif  // COMMON_DAEMON_H_
