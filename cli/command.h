// What every command of `pipefill` is made of: the world it may touch, and the body that does the
// work.
//
// A command is added to the parser once per name it goes by (`wait` and `job wait`), with a body
// that runs after parsing. Bodies print data to `out` and everything else to `err`, and return the
// exit code, or the error that becomes one line on `err` and the exit code of its status.
//
// Thread-compatible: one command runs, on the thread that started it.
#ifndef CLI_COMMAND_H_
#define CLI_COMMAND_H_

#include <cstddef>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/submit/scheduler_client.h"
#include "common/clock.h"
#include "common/exit_code.h"

namespace CLI {
class App;
}  // namespace CLI

namespace pipefill {

inline constexpr char kDefaultScheduler[] = "127.0.0.1:7700";
// Overrides kDefaultScheduler, and is overridden by --scheduler.
inline constexpr char kSchedulerVariable[] = "PIPEFILL_SCHEDULER";

struct CommandContext {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  const Clock& clock;
  // Returns after about that long.
  std::function<void(absl::Duration)> pause;
  // In [0, 1).
  std::function<double()> random = [] { return 0.0; };
  // Makes the client of one schedulerd. Called at most once per command.
  std::function<absl::StatusOr<std::unique_ptr<SchedulerClient>>(const std::string& address)>
      connect;
  // The same, of a client that gives up within about a second: for commands that ask again and
  // again.
  std::function<absl::StatusOr<std::unique_ptr<SchedulerClient>>(const std::string& address)>
      connect_to_watch = nullptr;
  // Folder that relative paths on the command line start from.
  std::string working_folder;
  // host:port of schedulerd.
  std::string scheduler = kDefaultScheduler;
  // Columns of the terminal that `out` is.
  size_t width = 80;
  // What followed `--`; absent without one.
  std::optional<std::vector<std::string>> tail = std::nullopt;
};

using CommandBody = std::function<absl::StatusOr<ExitCode>(CommandContext&)>;

struct Command {
  const CLI::App* app;  // owned by the parser, which outlives this
  CommandBody body;
  bool takes_tail = false;  // whether `-- words` may follow
};

// The commands of one parser.
class CommandSet {
 public:
  void Add(Command command) { commands_.push_back(std::move(command)); }
  // The command that `app` stands for; null if it is only a group, or none of this set.
  const Command* Find(const CLI::App& app) const;

 private:
  std::vector<Command> commands_;
};

// Adds one command, under its name, to `parent`.
using CommandAdder = void (*)(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_COMMAND_H_
