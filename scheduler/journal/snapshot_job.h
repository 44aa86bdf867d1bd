// One job <-> its part of a snapshot.
//
// Pure.
#ifndef SCHEDULER_JOURNAL_SNAPSHOT_JOB_H_
#define SCHEDULER_JOURNAL_SNAPSHOT_JOB_H_

#include "proto/snapshot.pb.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

v1::SnapshotJob ToSnapshot(const Job& job);
// A job that cannot be is found by ClusterState::RestoreJob. A wait after a failure is marked by
// any `not_before`.
Job FromSnapshot(const v1::SnapshotJob& from);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_SNAPSHOT_JOB_H_
