// Several attempts of a job over one store, each stopped before every one of its steps for as long
// as the case says, on a disk that fails, and killed at any step: what may never happen.
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/fill/checkpoints.h"
#include "client/testing/memory_store.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace pipefill::sdk {
namespace {

using Fate = MemoryStore::Fate;

// What a job's state is here: which saves it was made of, oldest first.
using Lineage = std::vector<std::pair<uint64_t, uint64_t>>;  // fence, number within the process

std::string TextOf(const Lineage& lineage) {
  std::string text;
  for (const auto& [fence, number] : lineage) {
    text += std::to_string(fence) + "." + std::to_string(number) + ";";
  }
  return text;
}

bool IsPrefix(const Lineage& a, const Lineage& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

struct Plan {
  uint64_t fence = 1;
  int saves = 0;
  int killed_at = 0;  // step; 0 = never
  int fails_at = 0;
  bool is_done_when_failing = false;
};

struct Claimed {
  uint64_t fence;
  Lineage base;
};

// Runs one actor's step at a time, in the order that the case wants.
class Baton {
 public:
  explicit Baton(size_t actors) : waiting_(actors, false), is_over_(actors, false) {}

  // By an actor, before each step.
  void Await(size_t actor) {
    std::unique_lock lock(mutex_);
    waiting_[actor] = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return turn_ == actor; });
    turn_ = kNobody;
    waiting_[actor] = false;
  }
  void End(size_t actor) {
    const std::lock_guard lock(mutex_);
    is_over_[actor] = true;
    changed_.notify_all();
  }
  // Lets one more step happen, of this actor or, if that is over, the next; false if all are.
  bool Step(uint32_t actor) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == kNobody && IsQuiet(); });
    for (size_t i = 0; i < waiting_.size(); ++i) {
      const size_t next = (actor + i) % waiting_.size();
      if (!waiting_[next]) continue;
      turn_ = next;
      changed_.notify_all();
      return true;
    }
    return false;
  }

 private:
  static constexpr size_t kNobody = SIZE_MAX;
  bool IsQuiet() const {
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (!waiting_[i] && !is_over_[i]) return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t turn_ = kNobody;
  std::vector<bool> waiting_;
  std::vector<bool> is_over_;
};

class Run {
 public:
  explicit Run(const std::vector<Plan>& plans) : plans_(plans), baton_(plans.size()) {}

  // `schedule`: whose turn it is, and for how many steps; then all take turns.
  void Execute(const std::vector<std::pair<uint32_t, int>>& schedule) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < plans_.size(); ++i) threads.emplace_back([this, i] { Act(i); });
    for (const auto& [actor, steps] : schedule) {
      for (int i = 0; i < steps; ++i) baton_.Step(actor);
    }
    for (uint32_t i = 0; baton_.Step(i);) ++i;
    for (std::thread& thread : threads) thread.join();
  }

  // Reported as durable.
  const std::vector<Lineage>& done() const { return done_; }
  const std::vector<Claimed>& claimed() const { return claimed_; }
  MemoryStore::Blobs& blobs() { return blobs_; }

  Lineage FromText(const std::string& text) const {
    for (const Lineage& lineage : tried_) {
      if (TextOf(lineage) == text) return lineage;
    }
    return {};
  }

 private:
  struct Killed {};

  void Act(size_t actor) {
    const Plan& plan = plans_[actor];
    int step = 0;
    MemoryStore store(blobs_);
    store.fate = [&](MemoryStore::Call, const std::string&) {
      baton_.Await(actor);
      ++step;
      if (step == plan.killed_at) throw Killed();
      if (step != plan.fails_at) return Fate::kGood;
      return plan.is_done_when_failing ? Fate::kDoneButFailed : Fate::kFailed;
    };
    try {
      Work(plan, store);
    } catch (const Killed&) {
    }
    baton_.End(actor);
  }

  // Only one actor runs at a time.
  void Work(const Plan& plan, MemoryStore& store) {
    Checkpoints checkpoints(store, plan.fence, [](const std::string&) {});
    std::optional<Checkpoints::Latest> latest;
    if (!checkpoints.Claim(&latest).ok()) return;
    Lineage state = latest.has_value() ? FromText(std::string(latest->content())) : Lineage();
    claimed_.push_back({.fence = plan.fence, .base = state});
    for (int i = 0; i < plan.saves; ++i) {
      Lineage next = state;
      next.emplace_back(plan.fence, ++last_number_);
      tried_.push_back(next);
      const Error error = checkpoints.Save(MakeBlob(TextOf(next)));
      if (error.code == PF_REFUSED) return;
      state = next;  // the work goes on, saved or not
      if (error.ok()) done_.push_back(next);
    }
  }

  const std::vector<Plan> plans_;
  Baton baton_;
  MemoryStore::Blobs blobs_;
  uint64_t last_number_ = 0;
  std::vector<Lineage> tried_;
  std::vector<Lineage> done_;
  std::vector<Claimed> claimed_;
};

std::vector<Plan> AnyPlans() {
  const int actors = *rc::gen::inRange(2, 5);
  std::vector<Plan> plans;
  for (int i = 0; i < actors; ++i) {
    plans.push_back({.fence = *rc::gen::inRange<uint64_t>(1, 5),
                     .saves = *rc::gen::inRange(0, 4),
                     .killed_at = *rc::gen::element(0, 0, 0, 3, 5, 6, 8, 9, 11, 14),
                     .fails_at = *rc::gen::element(0, 0, 0, 2, 3, 5, 7, 8, 10, 13),
                     .is_done_when_failing = *rc::gen::arbitrary<bool>()});
  }
  return plans;
}

// A stop may last for a step of somebody else or for all of his life.
std::vector<std::pair<uint32_t, int>> AnySchedule() {
  return *rc::gen::container<std::vector<std::pair<uint32_t, int>>>(
      12, rc::gen::pair(rc::gen::inRange<uint32_t>(0, 5),
                        rc::gen::element(1, 1, 2, 3, 4, 5, 7, 10, 30)));
}

RC_GTEST_PROP(CheckpointsPropertyTest, NoDoneSaveIsLostAndNoStaleOneCounts, ()) {
  Run run(AnyPlans());
  run.Execute(AnySchedule());

  // The last attempt finds what all others have left.
  MemoryStore store(run.blobs());
  Checkpoints last(store, 100, [](const std::string&) {});
  std::optional<Checkpoints::Latest> latest;
  RC_ASSERT(last.Claim(&latest).ok());
  std::vector<Claimed> claimed = run.claimed();
  claimed.push_back(
      {.fence = 100,
       .base = latest.has_value() ? run.FromText(std::string(latest->content())) : Lineage()});

  for (const Claimed& claim : claimed) {
    for (const Lineage& save : run.done()) {
      if (save.back().first < claim.fence) RC_ASSERT(IsPrefix(save, claim.base));
    }
    // Nobody goes on from what was saved behind the back of an attempt that had gone on.
    for (const Claimed& earlier : claimed) {
      if (earlier.fence >= claim.fence || IsPrefix(claim.base, earlier.base)) continue;
      RC_ASSERT(IsPrefix(earlier.base, claim.base));
      RC_ASSERT(claim.base[earlier.base.size()].first >= earlier.fence);
    }
  }
}

}  // namespace
}  // namespace pipefill::sdk
