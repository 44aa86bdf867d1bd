// Between agentd's own types and the wire's (proto/agent.proto, proto/types.proto).
//
// Pure.
#ifndef AGENT_CONVERT_H_
#define AGENT_CONVERT_H_

#include "absl/status/statusor.h"
#include "agent/attach_message.h"
#include "agent/main_job_board.h"
#include "agent/rank_account.h"
#include "agent/tasks/attempt.h"
#include "proto/agent.pb.h"
#include "proto/types.pb.h"

namespace pipefill {

AttemptKey FromProto(const v1::AttemptKey& key);
v1::AttemptKey ToProto(const AttemptKey& key);

// InvalidArgument if it cannot be run: no command, no memory cap, a text with a NUL byte, a name
// that no environment variable can have.
absl::StatusOr<AttemptSpec> FromProto(const v1::LaunchAttempt& launch);

// Causes that schedulerd may ask for: kCancelled, and kLost for all others.
EndCause StopCauseFromProto(v1::EndCause cause);

v1::AttemptEnded ToProto(const AttemptKey& key, const AttemptEnd& end,
                         const v1::FillProgress& progress);

// Values that make no sense are unset.
MainJobSettings FromProto(const v1::MainJobSettings& settings);
// Adds to `progress` what was counted under agentds before this one. Its CPU time and the peak of
// its memory are those of the processes, which have gone on.
void AddProgressBefore(const v1::FillProgress& before, v1::FillProgress* progress);

v1::MainRank ToProto(const RankRequest& request, pid_t pid, const RankTotals& totals);

}  // namespace pipefill

#endif  // AGENT_CONVERT_H_
