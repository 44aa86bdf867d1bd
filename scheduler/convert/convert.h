// Nouns of the wire and of the disk <-> nouns of the core. Enums that the core does not know become
// its "unknown".
//
// Pure.
#ifndef SCHEDULER_CONVERT_CONVERT_H_
#define SCHEDULER_CONVERT_CONVERT_H_

#include "common/instant.h"
#include "planner/plan.h"
#include "proto/agent.pb.h"
#include "proto/scheduler.pb.h"
#include "proto/types.pb.h"
#include "scheduler/core/device.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_history.h"
#include "scheduler/core/main_job.h"
#include "scheduler/core/tenant_table.h"
#include "scheduler/core/why.h"

namespace pipefill::scheduler {

JobSpec FromProto(const v1::JobSpec& from);
AttemptKey FromProto(const v1::AttemptKey& from);
EndCause FromProto(v1::EndCause from);
FillProgress FromProto(const v1::FillProgress& from);
Device FromProto(const v1::Device& from);
BubbleStats FromProto(const v1::BubbleStats& from);
MainJobSettings FromProto(const v1::MainJobSettings& from);
FillMode FromProto(v1::FillMode from);

v1::JobState StateOf(JobPhase phase);
v1::JobSpec ToProto(const JobSpec& from);
v1::AttemptKey ToProto(const AttemptKey& from);
v1::AttemptState ToProto(AttemptState from);
v1::EndCause ToProto(EndCause from);
v1::FillProgress ToProto(const FillProgress& from);
v1::Device ToProto(const Device& from);
v1::BubbleStats ToProto(const BubbleStats& from);
v1::MainJobSettings ToProto(const MainJobSettings& from);

v1::PendingDetail ToProto(const WaitDetail& from);
v1::TenantStatus ToProto(const TenantUse& from);
v1::JobStep ToProto(const JobStep& from);
// Without its history. With the reasons of `plan`, if the job waits, as they read at `now`.
v1::Job ToProto(const Job& from, const Plan& plan, Instant now);
// The part of it that watchers are told, see watch.proto.
v1::Job ToWatchedProto(const Job& from, const Plan& plan, Instant now);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CONVERT_CONVERT_H_
