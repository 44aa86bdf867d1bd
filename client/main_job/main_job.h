// One main-job rank: its connection, its pages, and the recorder that writes them.
//
//   detached --Attach succeeds--> attached <---heartbeat stale / new pages---> alone
//
// Alone, edges are still written to the old page, which nobody reads, and no gate is woken. At each
// begin of an iteration one step is made towards the next agentd (rank_redial.h), and none waits;
// the pages change between iterations only. If the old agentd moves again first, it is kept. A
// child process made by fork is detached and never attaches.
//
// Thread-compatible.
#ifndef CLIENT_MAIN_JOB_MAIN_JOB_H_
#define CLIENT_MAIN_JOB_MAIN_JOB_H_

#include <cstdint>
#include <optional>

#include "client/attach/attach.h"
#include "client/attach/rank_redial.h"
#include "client/main_job/edge_recorder.h"
#include "client/pipefill.h"
#include "client/platform/clock.h"
#include "client/platform/environment.h"
#include "client/platform/error.h"
#include "client/platform/futex.h"

namespace pipefill::sdk {

// What `options` and the variables of handshake.h ask for. PF_BAD_ARGUMENT names the field.
Error MakeRankRequest(const pf_attach_options& options, const Environment& environment,
                      AttachRankRequest* request);

class MainJob {
 public:
  // Clock and futex outlive the object.
  MainJob(const Clock& clock, Futex& futex) : clock_(clock), futex_(futex) {}

  // At most 200 ms. Codes as in pf_attach; after an error the job stays detached. REQUIRES:
  // detached.
  Error Attach(const pf_attach_options& options, const Environment& environment);

  // Whether agentd has looked at the page within the last second.
  bool IsAttached() const;

  // Does nothing while detached. Looks after agentd first: a load and a comparison while it lives.
  void IterationBegin(uint64_t iteration);

  // For all other calls; nullptr while detached. Valid until the next IterationBegin.
  EdgeRecorder* recorder() {
    return recorder_.has_value() && pages_.connection.is_owner() ? &*recorder_ : nullptr;
  }

 private:
  bool is_agent_alive(uint64_t now_ns) const;
  void FollowAgent();

  const Clock& clock_;
  Futex& futex_;
  RankPages pages_;
  std::optional<RankRedial> redial_;
  std::optional<EdgeRecorder> recorder_;  // writes into pages_
};

}  // namespace pipefill::sdk

#endif  // CLIENT_MAIN_JOB_MAIN_JOB_H_
