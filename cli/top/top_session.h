// `pipefill top` while it runs: asks schedulerd once a period, draws, and does what keys say, until
// one says to quit.
//
//              p, with a main job selected               y
//   watching ------------------------------> asking -----------> pauses or resumes it, watching
//      ^                                        |
//      +----------------------------------------+  any other key
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_TOP_TOP_SESSION_H_
#define CLI_TOP_TOP_SESSION_H_

#include <string>

#include "absl/time/time.h"
#include "cli/top/terminal.h"
#include "cli/top/top_frame.h"
#include "cli/top/top_model.h"
#include "client/submit/scheduler_client.h"
#include "common/clock.h"

namespace pipefill {

// At most so many jobs are asked for, the newest.
inline constexpr int kTopJobsMax = 200;

// Asks for everything; the first error ends it.
absl::StatusOr<TopAnswers> FetchTopAnswers(SchedulerClient& client);

class TopSession {
 public:
  static constexpr absl::Duration kPeriod = absl::Seconds(1);

  // `client`'s calls should give up within about a period: keys wait meanwhile.
  TopSession(std::string scheduler, SchedulerClient& client, Terminal& terminal,
             const Clock& clock);

  // Returns when a key, or a signal, says so.
  void Run();

 private:
  void Fetch();
  void Draw();
  // False: quit.
  bool OnKey(Key key);
  void Select(int step);
  void Ask();
  void SetPaused();

  SchedulerClient& client_;
  Terminal& terminal_;
  const Clock& clock_;
  TopModel model_;
  TopView view_;
  Instant answered_at_;  // or began
  bool is_asking_ = false;
};

}  // namespace pipefill

#endif  // CLI_TOP_TOP_SESSION_H_
