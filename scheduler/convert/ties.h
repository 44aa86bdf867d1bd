// Arrays and dependencies of the wire <-> those of the core.
//
// Pure.
#ifndef SCHEDULER_CONVERT_TIES_H_
#define SCHEDULER_CONVERT_TIES_H_

#include <vector>

#include "common/instant.h"
#include "planner/plan.h"
#include "proto/types.pb.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_table.h"
#include "scheduler/core/job_ties.h"

namespace pipefill::scheduler {

ArraySpec FromProto(const v1::ArraySpec& from);
// A condition that is not known becomes kOk: whoever takes it from a user refuses it first.
std::vector<Dependency> DependenciesOf(const v1::JobSpec& from);

v1::ArraySpec ToProto(const ArraySpec& from);
v1::Dependency ToProto(const Dependency& from);

// Adds to `to`, which is `job` as far as it stands alone, what it owes to others: that it waits for
// a job, how far its tasks are, of which array it is a task.
void AddTies(const Job& job, const JobTableView& jobs, const Plan& plan, Instant now, v1::Job* to);

// A task without a record: not admitted yet, or dropped.
v1::Job ToProto(const TaskPlace& task, const JobTableView& jobs);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CONVERT_TIES_H_
