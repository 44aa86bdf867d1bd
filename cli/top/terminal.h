// The terminal that `pipefill top` has for itself while it runs.
//
// Thread-compatible: one at a time, on one thread.
#ifndef CLI_TOP_TERMINAL_H_
#define CLI_TOP_TERMINAL_H_

#include <cstddef>
#include <memory>

#include "absl/time/time.h"
#include "cli/top/frame.h"

namespace pipefill {

enum class Key {
  kNone,  // none came in time
  kOther,
  kUp,
  kDown,
  kPause,
  kHelp,
  kYes,
  kQuit,    // also a signal that ends the process
  kResize,  // the terminal has another size now
};

struct TerminalSize {
  size_t width = 80;
  size_t height = 24;
};

class Terminal {
 public:
  virtual ~Terminal() = default;

  virtual TerminalSize Size() const = 0;
  virtual void Draw(const Frame& frame) = 0;
  // Returns as soon as a key comes, or a signal, or after `timeout`.
  virtual Key ReadKey(absl::Duration timeout) = 0;
};

// Takes the terminal of this process; gives it back as it was when destroyed, and also when the
// process crashes. Null if standard input and output are no terminal, or one that cannot be drawn
// on.
std::unique_ptr<Terminal> TakeTerminal();

}  // namespace pipefill

#endif  // CLI_TOP_TERMINAL_H_
