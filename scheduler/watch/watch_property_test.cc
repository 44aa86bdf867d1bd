// Random changes of jobs and random readers: fast and slow ones, with filters, some of which go
// away and come back by their position. Whenever a reader has read everything, what it was told
// makes up the state: nothing is ever missing without a reset.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/testing/builders.h"
#include "scheduler/watch/watch_log.h"
#include "scheduler/watch/watch_reader.h"

namespace pipefill::scheduler {
namespace {

constexpr size_t kRing = 8;

// What a watcher knows of a job.
using Known = std::map<int64_t, std::pair<JobPhase, int64_t>>;  // phase, units

std::pair<JobPhase, int64_t> Summary(const Job& job) {
  return {job.phase, job.attempts.empty() ? 0 : job.attempts.back().progress.units};
}

// One watcher, as proto/watch.proto tells it to behave.
struct Model {
  explicit Model(WatchFilter filter_in)
      : filter(filter_in),
        reader(std::make_unique<WatchReader>(filter_in, WatchResetCause::kStart)) {}

  void Take(const WatchBatch& batch) {
    if (batch.reset.has_value()) known.clear();
    if (batch.reset.has_value()) is_synced = false;
    for (const Job* job : batch.jobs) known[job->id.value()] = Summary(*job);
    for (JobId id : batch.gone) known.erase(id.value());
    is_synced = is_synced || batch.is_synced;
    position = batch.position;
  }

  // True if there was nothing left.
  bool ReadOnce(const WatchLog& log, size_t slice_max, size_t jobs_max) {
    const WatchBatch batch = reader->Read(log.Slice(reader->position(), slice_max), jobs_max);
    RC_ASSERT(batch.jobs.size() + batch.gone.size() <= jobs_max * 2);
    Take(batch);
    return !reader->has_more();
  }

  // Leaves, and comes back by what it knows: by its position, or from the beginning.
  void ComeBack() {
    if (position.has_value()) {
      reader = std::make_unique<WatchReader>(filter, *position);
    } else {
      reader = std::make_unique<WatchReader>(filter, WatchResetCause::kStart);
    }
  }

  WatchFilter filter;
  std::unique_ptr<WatchReader> reader;
  Known known;
  std::optional<uint64_t> position;
  bool is_synced = false;
};

class World {
 public:
  World() { log_.Restart(View(), AtSecond(0)); }

  // One random change of one job.
  void Change() {
    const int64_t last = table_.last_id().value();
    const int64_t id = *rc::gen::inRange<int64_t>(1, last + 2);
    const Job* job = table_.Find(JobId(id));
    if (id > last) return Add();
    if (job == nullptr) return;
    if (IsTerminal(job->phase)) {
      if (*rc::gen::inRange(0, 2) == 0) table_.Drop(JobId(id));
      return;
    }
    Job& edited = table_.Edit(JobId(id));
    const auto what = *rc::gen::inRange(0, 4);
    if (what == 0) edited.phase = JobPhase::kSucceeded;
    if (what == 1) edited.attempts.emplace_back();
    if (what == 2) edited.phase = JobPhase::kRunning;
    if (what == 3 && !edited.attempts.empty()) ++edited.attempts.back().progress.units;
  }

  void Publish() { log_.Advance(View()); }

  void Check(const Model& model) const {
    RC_ASSERT(model.is_synced);
    Known expected;
    const JobTableView& jobs = log_.view()->jobs;
    const Job* job = jobs.FindAtOrAbove(JobId(1));
    for (; job != nullptr; job = jobs.FindAtOrAbove(JobId(job->id.value() + 1))) {
      if (model.filter.Takes(*job)) expected[job->id.value()] = Summary(*job);
    }
    if (!model.filter.is_active_only) {
      RC_ASSERT(model.known == expected);
      return;
    }
    RC_ASSERT(ActiveOf(model.known) == ActiveOf(expected));
  }

  WatchLog& log() { return log_; }

 private:
  static Known ActiveOf(const Known& all) {
    Known active;
    for (const auto& [id, summary] : all) {
      if (!IsTerminal(summary.first)) active[id] = summary;
    }
    return active;
  }

  void Add() {
    Job job;
    job.id = JobId(table_.last_id().value() + 1);
    JobSpec spec;
    spec.tenant = *rc::gen::element<std::string>("red", "blue");
    job.spec = std::make_shared<const JobSpec>(spec);
    table_.Add(std::move(job));
  }

  SharedView View() {
    auto view = std::make_shared<ClusterView>();
    view->jobs = table_.Snapshot();
    return view;
  }

  JobTable table_;
  WatchLog log_{kRing};
};

WatchFilter AnyFilter() {
  WatchFilter filter;
  filter.is_active_only = *rc::gen::arbitrary<bool>();
  filter.tenant = *rc::gen::element<std::string>("", "", "red");
  if (*rc::gen::arbitrary<bool>()) return filter;
  const auto ids = *rc::gen::container<std::set<int64_t>>(rc::gen::inRange<int64_t>(1, 12));
  for (int64_t id : ids) filter.jobs.push_back(JobId(id));
  return filter;
}

RC_GTEST_PROP(WatchProperty, ReaderThatHasReadEverythingKnowsTheState, ()) {
  World world;
  std::vector<Model> models;
  for (int i = 0; i < 4; ++i) models.emplace_back(AnyFilter());
  const int steps = *rc::gen::inRange(1, 150);
  for (int step = 0; step < steps; ++step) {
    const auto what = *rc::gen::inRange(0, 8);
    Model& model = models[*rc::gen::inRange<size_t>(0, models.size())];
    if (what < 3) {
      world.Change();
    } else if (what < 5) {
      world.Publish();
    } else if (what == 5) {
      model.ComeBack();
    } else {
      model.ReadOnce(world.log(), *rc::gen::inRange<size_t>(1, 6), *rc::gen::inRange<size_t>(1, 4));
    }
  }
  world.Publish();
  world.log().AdvanceProgress();
  for (Model& model : models) {
    while (!model.ReadOnce(world.log(), 3, 2)) {
    }
    world.Check(model);
  }
}

// As the hub does it: a reader of named jobs that is not concerned is moved on without reading.
RC_GTEST_PROP(WatchProperty, ReaderThatIsMovedOverWhatDoesNotConcernItMissesNothing, ()) {
  World world;
  Model model({.jobs = {JobId(2), JobId(5)}});
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    while (!model.ReadOnce(world.log(), 100, 100)) {
    }
    world.Check(model);
    const int changes = *rc::gen::inRange(0, 6);
    for (int i = 0; i < changes; ++i) world.Change();
    const uint64_t before = world.log().end();
    world.Publish();
    world.log().AdvanceProgress();
    const WatchSlice added = world.log().Slice(before, 100);
    bool is_concerned = added.ids.size() < world.log().end() - before;
    for (JobId id : added.ids) is_concerned = is_concerned || model.filter.TakesId(id);
    if (!is_concerned) model.reader->SkipTo(world.log().end());
  }
}

}  // namespace
}  // namespace pipefill::scheduler
