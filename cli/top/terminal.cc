#include "cli/top/terminal.h"

#include <ncurses.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"
#include "common/environment.h"

namespace pipefill {
namespace {

volatile sig_atomic_t must_end = 0;
termios settings_before;

void OnEnd(int /*signal*/) { must_end = 1; }

// Only calls that a handler may make; then the signal does what it does by itself.
void OnCrash(int number) {
  // Leave the second screen, show the cursor, plain colours: what practically all terminals know.
  static constexpr char kRestore[] = "\033[?1049l\033[?25h\033[0m";
  const ssize_t written = write(STDOUT_FILENO, kRestore, sizeof(kRestore) - 1);
  (void)written;
  tcsetattr(STDIN_FILENO, TCSANOW, &settings_before);
  signal(number, SIG_DFL);
  raise(number);
}

struct SignalHandler {
  int number;
  void (*handler)(int);
};
constexpr SignalHandler kHandlers[] = {{SIGINT, OnEnd},    {SIGTERM, OnEnd},   {SIGHUP, OnEnd},
                                       {SIGABRT, OnCrash}, {SIGSEGV, OnCrash}, {SIGBUS, OnCrash},
                                       {SIGFPE, OnCrash}};

void Handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

struct Look {
  int pair;  // of colours; 0 = the terminal's own
  attr_t attributes;
};

Look LookOf(Style style) {
  switch (style) {
    case Style::kPlain:
      return {0, A_NORMAL};
    case Style::kTitle:
      return {0, A_BOLD};
    case Style::kDim:
      return {0, A_DIM};
    case Style::kGood:
      return {1, A_NORMAL};
    case Style::kWarn:
      return {2, A_BOLD};
    case Style::kBad:
      return {3, A_BOLD};
    case Style::kSelected:
      return {0, A_REVERSE};
    case Style::kWork:
      return {4, A_NORMAL};
    case Style::kFilled:
      return {5, A_NORMAL};
    case Style::kOverrun:
      return {6, A_NORMAL};
    case Style::kIdle:
      return {7, A_NORMAL};
  }
  return {0, A_NORMAL};
}

void SetUpColours() {
  if (!has_colors()) return;
  start_color();
  const short background = use_default_colors() == OK ? -1 : COLOR_BLACK;
  init_pair(1, COLOR_GREEN, background);
  init_pair(2, COLOR_YELLOW, background);
  init_pair(3, COLOR_RED, background);
  init_pair(4, COLOR_WHITE, COLOR_BLUE);
  init_pair(5, COLOR_BLACK, COLOR_GREEN);
  init_pair(6, COLOR_WHITE, COLOR_RED);
  init_pair(7, COLOR_WHITE, background);
}

class NcursesTerminal : public Terminal {
 public:
  // `screen` is the one that newterm has made and put in charge.
  explicit NcursesTerminal(SCREEN* screen) : screen_(screen) {
    must_end = 0;
    for (const SignalHandler& entry : kHandlers) Handle(entry.number, entry.handler);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    SetUpColours();
  }

  ~NcursesTerminal() override {
    endwin();
    delscreen(screen_);
    for (const SignalHandler& entry : kHandlers) Handle(entry.number, SIG_DFL);
  }

  TerminalSize Size() const override {
    return {.width = static_cast<size_t>(std::max(1, getmaxx(stdscr))),
            .height = static_cast<size_t>(std::max(1, getmaxy(stdscr)))};
  }

  void Draw(const Frame& frame) override {
    erase();
    const size_t height = Size().height;
    for (size_t y = 0; y < std::min(height, frame.lines.size()); ++y) {
      move(static_cast<int>(y), 0);
      for (const Span& span : frame.lines[y]) {
        const Look look = LookOf(span.style);
        attr_set(look.attributes, has_colors() ? static_cast<short>(look.pair) : 0, nullptr);
        AddText(span.text);
      }
    }
    attr_set(A_NORMAL, 0, nullptr);
    refresh();
  }

  Key ReadKey(absl::Duration wait) override {
    if (must_end != 0) return Key::kQuit;
    timeout(static_cast<int>(std::clamp<int64_t>(absl::ToInt64Milliseconds(wait), 0, 60'000)));
    const int key = getch();
    if (must_end != 0) return Key::kQuit;
    switch (key) {
      case ERR:
        return Key::kNone;
      case KEY_RESIZE:
        return Key::kResize;
      case KEY_UP:
      case 'k':
        return Key::kUp;
      case KEY_DOWN:
      case 'j':
        return Key::kDown;
      case 'p':
        return Key::kPause;
      case 'h':
      case '?':
        return Key::kHelp;
      case 'y':
        return Key::kYes;
      case 'q':
        return Key::kQuit;
      default:
        return Key::kOther;
    }
  }

 private:
  // Up to the end of the line: what goes on behind it would be wrapped.
  static void AddText(const std::string& text) {
    size_t bytes = 0;
    int left = getmaxx(stdscr) - getcurx(stdscr);
    while (bytes < text.size()) {
      const bool is_continuation = (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80;
      if (!is_continuation && left-- == 0) break;
      ++bytes;
    }
    addnstr(text.data(), static_cast<int>(bytes));
  }

  SCREEN* const screen_;
};

}  // namespace

std::unique_ptr<Terminal> TakeTerminal() {
  const std::string kind = EnvironmentOr("TERM", "dumb");
  if (kind == "dumb" || isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return nullptr;
  if (tcgetattr(STDIN_FILENO, &settings_before) != 0) return nullptr;
  setlocale(LC_CTYPE, "");  // for names that are not ASCII
  SCREEN* screen = newterm(kind.c_str(), stdout, stdin);
  if (screen == nullptr) return nullptr;
  return std::make_unique<NcursesTerminal>(screen);
}

}  // namespace pipefill
