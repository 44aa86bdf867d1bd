#include "simulator/faults/sim_scheduler.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/check.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/snapshot_frame.h"

namespace pipefill::simulator {
namespace {

std::string BytesOf(scheduler::FrameWriter writer) {
  std::string bytes;
  for (std::optional<std::string> block = writer.Next(); block.has_value(); block = writer.Next()) {
    bytes += *block;
  }
  CHECK(writer.status().ok());
  return bytes;
}

}  // namespace

// The journal, on a disk that may be slow, full or broken.
class SimScheduler::Disk : public scheduler::Journal {
 public:
  explicit Disk(SimScheduler& machine) : machine_(machine), kept_(machine.journal_) {}

  absl::Status ForEachRecord(int64_t after, const RecordVisitor& visit) override {
    return kept_.ForEachRecord(after, visit);
  }
  absl::Status Append(const std::vector<std::string>& records) override;
  absl::StatusOr<bool> RemoveUpTo(int64_t last, int64_t limit) override {
    return kept_.RemoveUpTo(last, limit);
  }
  int64_t first_sequence() const override { return kept_.first_sequence(); }
  int64_t last_sequence() const override { return kept_.last_sequence(); }
  int64_t high_water() const override { return kept_.high_water(); }
  void SkipTo(int64_t sequence) override { kept_.SkipTo(sequence); }

 private:
  SimScheduler& machine_;
  scheduler::MemoryJournal& kept_;
};

// Writes a snapshot some time after it was ordered; a crash until then leaves none.
class SimScheduler::Snapshots : public scheduler::SnapshotWriter {
 public:
  Snapshots(SimScheduler& machine, ProcessLoop& loop) : machine_(machine), loop_(loop) {}

  void Write(scheduler::FrameWriter snapshot, Done done) override {
    const auto shared = std::make_shared<scheduler::FrameWriter>(std::move(snapshot));
    const absl::Duration takes =
        machine_.draw_.Between(absl::Milliseconds(1), absl::Milliseconds(800));
    loop_.PostAt(loop_.Now() + takes, [this, shared, done = std::move(done)] {
      if (machine_.disk_.is_full) return done(absl::ResourceExhaustedError("disk full"));
      machine_.snapshots_.Write(std::move(*shared), done);
    });
  }

 private:
  SimScheduler& machine_;
  ProcessLoop& loop_;
};

class SimScheduler::Space : public scheduler::DiskSpace {
 public:
  explicit Space(const SimScheduler& machine) : machine_(machine) {}
  absl::Status Check() override {
    return machine_.disk_.is_full ? absl::ResourceExhaustedError("the disk is full")
                                  : absl::OkStatus();
  }
  bool GiveUpReserve() override { return false; }

 private:
  const SimScheduler& machine_;
};

// What a crash takes away.
struct SimScheduler::Life {
  Life(SimScheduler& machine, scheduler::Recovered recovered)
      : loop(machine.world_, machine.clock_),
        disk(machine),
        snapshots(machine, loop),
        space(machine),
        core({.loop = loop,
              .clock = loop,
              .journal = disk,
              .agents = machine,
              .policy = machine.policy_,
              .board = machine.board_,
              .on_fatal = [&machine](const absl::Status&) { machine.is_doomed_ = true; },
              .snapshots = &snapshots,
              .space = &space},
             machine.options_.loop, std::move(recovered.state),
             {.snapshot_sequence = recovered.snapshot_sequence,
              .older_snapshot_sequence = recovered.older_snapshot_sequence,
              .snapshot_at = recovered.snapshot_at}) {}

  ProcessLoop loop;
  Disk disk;
  Snapshots snapshots;
  Space space;
  scheduler::SchedulerLoop core;
  bool is_mute = false;  // it is about to die
};

absl::Status SimScheduler::Disk::Append(const std::vector<std::string>& records) {
  DiskTroubles& troubles = machine_.disk_;
  if (troubles.is_full) return absl::ResourceExhaustedError("no space left on device");
  // The process waits for its disk, and the world hears of nothing meanwhile.
  machine_.life_->loop.HangFor(troubles.slowness);
  const bool fails = std::exchange(troubles.fails_next, false);
  if (!fails || machine_.draw_.Chance(0.5)) {
    const absl::Status status = kept_.Append(records);
    CHECK(status.ok());
    machine_.watcher_.OnRecords(records);
  }
  return fails ? absl::InternalError("input/output error") : absl::OkStatus();
}

SimScheduler::SimScheduler(const Surroundings& surroundings, const Options& options)
    : world_(surroundings.world),
      network_(surroundings.network),
      policy_(surroundings.policy),
      watcher_(surroundings.watcher),
      options_(options),
      draw_(options.seed),
      board_([this] { watcher_.OnPublished(*board_.Latest()); }) {
  clock_.monotonic_ahead = draw_.Between(absl::Seconds(1), absl::Hours(1000));
}

SimScheduler::~SimScheduler() { Kill(); }

void SimScheduler::Start() {
  CHECK(!is_up());
  is_doomed_ = false;
  tells_left_ = 0;
  const Instant now = world_.Now() + clock_.monotonic_ahead;
  absl::StatusOr<scheduler::Recovered> recovered =
      scheduler::RecoverStore(journal_, snapshots_, options_.cluster, now);
  if (!recovered.ok()) return watcher_.OnUnrecoverable(recovered.status());
  CHECK(scheduler::SetAsideDamaged(*recovered, snapshots_).ok());
  watcher_.OnRecovered(recovered->state.Durable());
  life_ = std::make_unique<Life>(*this, *std::move(recovered));
  life_->core.Start();
  network_.SetServer(this);
}

void SimScheduler::Kill() {
  if (!is_up()) return;
  network_.SetServer(nullptr);
  streams_.clear();
  life_ = nullptr;
  if (options_.plant == Plant::kForgetfulDisk || options_.plant == Plant::kBrokenDisk) {
    const int64_t kept = journal_.last_sequence() - journal_.first_sequence() + 1;
    const int64_t lost = std::min<int64_t>(kept, draw_.Between(0, 20));
    journal_.LoseNewest(static_cast<size_t>(lost));
    if (options_.plant == Plant::kForgetfulDisk) journal_.LoseMark();
  }
}

absl::Status SimScheduler::Post(scheduler::Message message) {
  if (!is_up()) return absl::UnavailableError("connection refused");
  return life_->core.Post(std::move(message));
}

void SimScheduler::ReadState(std::function<void(std::string)> answer) {
  const auto take = [answer = std::move(answer)](scheduler::FrameWriter writer) {
    answer(BytesOf(std::move(writer)));
  };
  Post(scheduler::BackupRequest{take}).IgnoreError();
}

void SimScheduler::HangFor(absl::Duration duration) {
  if (is_up()) life_->loop.HangFor(duration);
}

void SimScheduler::OnStreamOpened(StreamId stream) {
  streams_.emplace(stream, Stream(scheduler::SessionId(++last_session_)));
}

void SimScheduler::OnStreamMessage(StreamId stream, const v1::AgentMessage& message) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.waiting.push_back(message);
  TakeNext(stream);
}

void SimScheduler::OnStreamBroken(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  const scheduler::SessionId session = found->second.session;
  streams_.erase(found);
  Post(scheduler::StreamEnded{session}).IgnoreError();
}

// One at a time, as the service has it.
void SimScheduler::TakeNext(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  if (stream.is_busy || stream.waiting.empty()) return;
  const v1::AgentMessage message = std::move(stream.waiting.front());
  stream.waiting.pop_front();
  absl::StatusOr<scheduler::AgentConversation::Said> said = stream.conversation.Take(message);
  if (!said.ok()) return EndStream(id, said.status());
  stream.is_busy = true;
  Post(scheduler::AgentSaid{stream.session, *std::move(said),
                            [this, id] {
                              const auto it = streams_.find(id);
                              if (it == streams_.end()) return;
                              it->second.is_busy = false;
                              it->second.conversation.OnDealtWith();
                              TakeNext(id);
                            }})
      .IgnoreError();
}

void SimScheduler::EndStream(StreamId stream, const absl::Status& status) {
  network_.Close(stream, status);
  OnStreamBroken(stream);
}

std::optional<StreamId> SimScheduler::FindStream(scheduler::SessionId session) const {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const auto& entry) {
    return entry.second.session == session;
  });
  return found == streams_.end() ? std::nullopt : std::optional(found->first);
}

void SimScheduler::Send(scheduler::SessionId session, const scheduler::Action& action) {
  const std::optional<StreamId> stream = FindStream(session);
  if (!stream.has_value()) return;
  v1::AgentCommand command = ToCommand(action, options_.terms);
  command.set_heard_sent_ns(streams_.at(*stream).conversation.heard_sent_ns());
  // A process that waits for its disk sends nothing, and nothing ever if it dies there.
  life_->loop.Post([this, id = *stream, command = std::move(command)] {
    if (!DiesTelling()) network_.SendToAgent(id, command);
  });
}

void SimScheduler::Close(scheduler::SessionId session, const absl::Status& status) {
  const std::optional<StreamId> stream = FindStream(session);
  if (!stream.has_value()) return;
  life_->loop.Post([this, id = *stream, status] { EndStream(id, status); });
}

void SimScheduler::Later(std::function<void()> body) {
  if (!is_up()) return;
  life_->loop.Post([this, body = std::move(body)] {
    if (!DiesTelling()) body();
  });
}

bool SimScheduler::DiesTelling() {
  if (life_->is_mute) return true;
  if (tells_left_ == 0 || --tells_left_ > 0) return false;
  life_->is_mute = true;
  // Not from inside its own loop.
  world_.Post([this, life = life_.get()] {
    if (life == life_.get()) Kill();
  });
  return true;
}

}  // namespace pipefill::simulator
