// One main-job rank: its connection, its pages, and the recorder that writes them.
//
//   detached --Attach succeeds--> attached
//
// There is no way back: when agentd goes away, edges are still written to the page, which nobody
// reads, and no gate is woken. A child process made by fork is detached.
//
// Thread-compatible.
#ifndef CLIENT_MAIN_JOB_MAIN_JOB_H_
#define CLIENT_MAIN_JOB_MAIN_JOB_H_

#include <optional>

#include "client/attach/attach.h"
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

  // nullptr while detached.
  EdgeRecorder* recorder() {
    return recorder_.has_value() && pages_.connection.is_owner() ? &*recorder_ : nullptr;
  }

 private:
  const Clock& clock_;
  Futex& futex_;
  RankPages pages_;
  std::optional<EdgeRecorder> recorder_;  // writes into pages_
};

}  // namespace pipefill::sdk

#endif  // CLIENT_MAIN_JOB_MAIN_JOB_H_
