// The machine of schedulerd: its disk stays, the process dies and comes back. Inside are the
// daemon's own loop, state, planner, policies, recovery and conversation with agents; around them a
// disk and streams that fail as they are told to.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_FAULTS_SIM_SCHEDULER_H_
#define SIMULATOR_FAULTS_SIM_SCHEDULER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/virtual_time.h"
#include "planner/policy.h"
#include "scheduler/agent_link.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/journal/disk_reserve.h"
#include "scheduler/journal/memory_journal.h"
#include "scheduler/journal/memory_snapshots.h"
#include "scheduler/message.h"
#include "scheduler/scheduler_loop.h"
#include "scheduler/service/agent_conversation.h"
#include "scheduler/service/agent_convert.h"
#include "scheduler/view_board.h"
#include "simulator/faults/draw.h"
#include "simulator/faults/plant.h"
#include "simulator/faults/process_loop.h"
#include "simulator/faults/sim_network.h"

namespace pipefill::simulator {

// Told of what nobody may undo any more. Not to call back.
class StoreWatcher {
 public:
  virtual ~StoreWatcher() = default;
  // These records are on disk from now on.
  virtual void OnRecords(const std::vector<std::string>& records) = 0;
  virtual void OnPublished(const scheduler::ClusterView& view) = 0;
  // A new schedulerd begins with this state.
  virtual void OnRecovered(scheduler::DurableState state) = 0;
  // None can begin.
  virtual void OnUnrecoverable(const absl::Status& status) = 0;
};

// What the disk of schedulerd does, apart from keeping things.
struct DiskTroubles {
  bool is_full = false;
  // The next append fails otherwise; whether the records are kept is a matter of chance.
  bool fails_next = false;
  // Of each append.
  absl::Duration slowness = absl::ZeroDuration();
};

class SimScheduler : public StreamServer, private scheduler::AgentLink {
 public:
  struct Surroundings {
    VirtualTime& world;
    SimNetwork& network;
    const Policy& policy;
    StoreWatcher& watcher;
  };
  struct Options {
    scheduler::ClusterLimits cluster;
    scheduler::LoopLimits loop;
    scheduler::AgentTerms terms;
    uint64_t seed = 1;
    Plant plant = Plant::kNone;
  };

  // All of `surroundings` outlive it. Not started.
  SimScheduler(const Surroundings& surroundings, const Options& options);
  ~SimScheduler() override;

  // Stays down if nothing can be recovered. REQUIRES: !is_up().
  void Start();
  // kill -9, in between two callbacks.
  void Kill();
  bool is_up() const { return life_ != nullptr; }
  // It had enough: its disk failed.
  bool is_doomed() const { return is_doomed_; }
  bool is_well() const { return is_up() && !is_doomed_; }

  // Of users. Unavailable if it is down, and what the loop says. Answers come when it is awake.
  absl::Status Post(scheduler::Message message);
  // The latest published view; of the last life, while it is down.
  std::shared_ptr<const scheduler::ClusterView> view() const { return board_.Latest(); }
  // The durable state, as bytes of a backup. Never answered if it is down.
  void ReadState(std::function<void(std::string)> answer);
  // From inside an answer: `body` runs when the process has got so far as to send it.
  void Later(std::function<void()> body);

  void HangFor(absl::Duration duration);
  // It is killed as it has told agents and users so many things more: the rest of that batch,
  // which is on disk, is not told.
  void KillAfterTelling(int64_t count) { tells_left_ = count; }
  DiskTroubles& disk() { return disk_; }
  MachineClock& clock() { return clock_; }

  // --- StreamServer ---

  void OnStreamOpened(StreamId stream) override;
  void OnStreamMessage(StreamId stream, const v1::AgentMessage& message) override;
  void OnStreamBroken(StreamId stream) override;

 private:
  class Disk;
  class Snapshots;
  class Space;
  struct Life;
  struct Stream {
    explicit Stream(scheduler::SessionId id) : session(id), conversation(id) {}
    scheduler::SessionId session;
    scheduler::AgentConversation conversation;
    std::deque<v1::AgentMessage> waiting;
    bool is_busy = false;  // one of its messages is at the loop
  };

  // --- AgentLink ---
  void Send(scheduler::SessionId session, const scheduler::Action& action) override;
  void Close(scheduler::SessionId session, const absl::Status& status) override;

  // True if it dies instead.
  bool DiesTelling();
  void TakeNext(StreamId stream);
  void EndStream(StreamId stream, const absl::Status& status);
  std::optional<StreamId> FindStream(scheduler::SessionId session) const;

  VirtualTime& world_;
  SimNetwork& network_;
  const Policy& policy_;
  StoreWatcher& watcher_;
  const Options options_;
  Draw draw_;
  MachineClock clock_;
  DiskTroubles disk_;
  // On disk.
  scheduler::MemoryJournal journal_;
  scheduler::MemorySnapshots snapshots_;
  scheduler::ViewBoard board_;
  bool is_doomed_ = false;
  int64_t tells_left_ = 0;  // 0 = no limit
  uint64_t last_session_ = 0;
  std::map<StreamId, Stream> streams_;
  std::unique_ptr<Life> life_;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_SIM_SCHEDULER_H_
