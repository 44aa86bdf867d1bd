#include "simulator/faults/sim_network.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace pipefill::simulator {
namespace {

// As agent/grpc_stream.cc and scheduler/server.cc have them: a ping, and the wait for its answer.
constexpr absl::Duration kAgentKeepAlive = absl::Seconds(20);
constexpr absl::Duration kServerKeepAlive = absl::Seconds(40);
// Messages that the sender's kernel takes before it says that it is full.
constexpr size_t kWindow = 8;

}  // namespace

// agentd's end, as its session has it.
class SimNetwork::AgentEnd : public SchedulerStream {
 public:
  AgentEnd(SimNetwork& network, StreamId id, Listener listener)
      : network_(network), id_(id), listener_(std::move(listener)) {}
  ~AgentEnd() override { network_.GiveUpServer(id_); }

  void Read() override {
    wants_read_ = true;
    ReadOn();
  }
  void Write(v1::AgentMessage message) override {
    wants_write_ = true;
    if (!is_broken_) {
      Item item;
      item.message = std::move(message);
      ++unsent_;
      network_.Send(id_, Way::kToScheduler, std::move(item));
    }
    WriteOn();
  }
  void Cancel() override {
    inbox_.clear();
    Break(absl::CancelledError("the stream was cancelled"));
    network_.GiveUpServer(id_);
  }
  void LetGo() override {
    is_held_ = false;
    FinishIfDone();
  }
  const v1::AgentCommand& command() const override { return command_; }

  // --- From the network ---

  void OnCommand(const v1::AgentCommand& command) {
    inbox_.push_back(command);
    ReadOn();
  }
  void OnSent() {
    --unsent_;
    WriteOn();
  }
  void Break(const absl::Status& status) {
    if (is_broken_) return;
    is_broken_ = true;
    network_.note_(absl::StrCat("the agent loses stream ", id_, ": ", status.message()));
    status_ = status;
    ReadOn();
    WriteOn();
    FinishIfDone();
  }

 private:
  void ReadOn() {
    if (!wants_read_ || (inbox_.empty() && !is_broken_)) return;
    wants_read_ = false;
    const bool ok = !inbox_.empty();
    if (ok) {
      command_ = std::move(inbox_.front());
      inbox_.pop_front();
    }
    listener_.on_read(ok);
    FinishIfDone();
  }
  void WriteOn() {
    if (!wants_write_ || (unsent_ >= kWindow && !is_broken_)) return;
    wants_write_ = false;
    listener_.on_written(!is_broken_);
    FinishIfDone();
  }
  void FinishIfDone() {
    if (!is_broken_ || is_held_ || wants_read_ || wants_write_ || is_done_) return;
    is_done_ = true;
    listener_.on_done(status_);
  }

  SimNetwork& network_;
  const StreamId id_;
  const Listener listener_;
  std::deque<v1::AgentCommand> inbox_;
  v1::AgentCommand command_;
  size_t unsent_ = 0;
  bool wants_read_ = false;
  bool wants_write_ = false;
  bool is_broken_ = false;
  bool is_held_ = true;
  bool is_done_ = false;
  absl::Status status_;
};

SimNetwork::SimNetwork(VirtualTime& world, const Options& options)
    : world_(world),
      note_(options.note),
      draw_(options.seed),
      links_(static_cast<size_t>(options.nodes)) {}

SimNetwork::~SimNetwork() {
  for (const auto& [id, stream] : streams_) CHECK(stream.agent == nullptr);
}

void SimNetwork::SetServer(StreamServer* server) {
  server_ = server;
  if (server != nullptr) return;
  for (auto& [id, stream] : streams_) {
    if (!std::exchange(stream.is_open_at_server, false)) continue;
    Item gone;
    gone.kind = Item::Kind::kGone;
    gone.status = absl::UnavailableError("connection reset by peer");
    Send(id, Way::kToAgent, std::move(gone));
  }
}

DialScheduler SimNetwork::DialerFrom(int node) {
  return [this, node](SchedulerStream::Listener listener) {
    const StreamId id = ++last_id_;
    note_(absl::StrCat("node ", node, " dials: stream ", id));
    auto end = std::make_unique<AgentEnd>(*this, id, std::move(listener));
    streams_[id] = {.node = node, .agent = end.get(), .queues = {}};
    Item open;
    open.kind = Item::Kind::kOpen;
    Send(id, Way::kToScheduler, std::move(open));
    return end;
  };
}

void SimNetwork::SendToAgent(StreamId stream, v1::AgentCommand command) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || !found->second.is_open_at_server) return;
  Item item;
  item.kind = Item::Kind::kCommand;
  item.command = std::move(command);
  Send(stream, Way::kToAgent, std::move(item));
}

void SimNetwork::Close(StreamId stream, const absl::Status& status) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  if (!std::exchange(found->second.is_open_at_server, false)) return;
  Item gone;
  gone.kind = Item::Kind::kGone;
  gone.status = status;
  Send(stream, Way::kToAgent, std::move(gone));
}

void SimNetwork::Clog(int node, Way way, bool is_clogged) {
  Link& link = links_[static_cast<size_t>(node)];
  bool& now = link.is_clogged[static_cast<size_t>(way)];
  if (now == is_clogged) return;
  now = is_clogged;
  const int64_t clog = ++link.clogs[static_cast<size_t>(way)];
  if (is_clogged) return WatchKeepAlive(node, way, clog);
  for (const StreamId id : StreamsOf(node)) Pump(id, way);
}

// A ping needs both ways, so either one stops it. Streams that are younger than the clog are given
// up by the session, which waits for its Welcome only so long.
void SimNetwork::WatchKeepAlive(int node, Way way, int64_t clog) {
  const auto for_each_stuck = [this, node, way, clog, last = last_id_](const auto& give_up) {
    const Link& link = links_[static_cast<size_t>(node)];
    const auto place = static_cast<size_t>(way);
    if (!link.is_clogged[place] || link.clogs[place] != clog) return;
    for (const StreamId id : StreamsOf(node)) {
      if (id <= last) give_up(id);
    }
  };
  world_.PostAt(world_.Now() + kAgentKeepAlive, [this, for_each_stuck] {
    for_each_stuck([this](StreamId id) { GiveUpAgent(id, absl::UnavailableError("no ping")); });
  });
  world_.PostAt(world_.Now() + kServerKeepAlive, [this, for_each_stuck] {
    for_each_stuck([this](StreamId id) { LoseAtServer(id); });
  });
}

std::vector<StreamId> SimNetwork::StreamsOf(int node) const {
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams_) {
    if (stream.node == node) ids.push_back(id);
  }
  return ids;
}

// schedulerd's kernel has given the stream up; the agent's hears of it if anything gets there.
void SimNetwork::LoseAtServer(StreamId id) {
  if (!streams_.contains(id)) return;
  Item gone;
  gone.kind = Item::Kind::kGone;
  gone.status = absl::UnavailableError("connection reset by peer");
  Send(id, Way::kToAgent, std::move(gone));
  DeliverToServer(id, {.kind = Item::Kind::kGone});
}

void SimNetwork::BreakStreams(int node) {
  for (const StreamId id : StreamsOf(node)) {
    // What is on its way is lost; each side finds out by itself.
    Stream& stream = streams_.at(id);
    stream.is_cut = true;
    for (auto& queue : stream.queues) queue.clear();
    world_.PostAt(world_.Now() + DrawDelay(),
                  [this, id] { GiveUpAgent(id, absl::UnavailableError("connection reset")); });
    world_.PostAt(world_.Now() + DrawDelay(), [this, id] { LoseAtServer(id); });
  }
}

void SimNetwork::LosePower(int node) {
  for (auto& [id, stream] : streams_) {
    if (stream.node != node) continue;
    for (auto& queue : stream.queues) queue.clear();
    stream.agent = nullptr;
    world_.PostAt(world_.Now() + kServerKeepAlive, [this, id = id] { LoseAtServer(id); });
  }
}

void SimNetwork::SetDelays(absl::Duration least, absl::Duration most) {
  delay_least_ = least;
  delay_most_ = most;
}

absl::Duration SimNetwork::DrawDelay() { return draw_.Between(delay_least_, delay_most_); }

void SimNetwork::Send(StreamId id, Way way, Item item) {
  Stream& stream = streams_.at(id);
  if (stream.is_cut && item.kind != Item::Kind::kGone) return;
  std::deque<Item>& queue = QueueOf(stream, way);
  item.at = world_.Now() + DrawDelay();
  if (!queue.empty()) item.at = std::max(item.at, queue.back().at);
  const Instant due = item.at;
  queue.push_back(std::move(item));
  world_.PostAt(due, [this, id, way] { Pump(id, way); });
}

void SimNetwork::Pump(StreamId id, Way way) {
  while (true) {
    const auto found = streams_.find(id);
    if (found == streams_.end() || is_clogged(found->second.node, way)) return;
    std::deque<Item>& queue = QueueOf(found->second, way);
    if (queue.empty() || queue.front().at > world_.Now()) return;
    const Item item = std::move(queue.front());
    queue.pop_front();
    if (way == Way::kToScheduler) {
      DeliverToServer(id, item);
    } else {
      DeliverToAgent(id, item);
    }
  }
}

void SimNetwork::DeliverToServer(StreamId id, const Item& item) {
  Stream& stream = streams_.at(id);
  switch (item.kind) {
    case Item::Kind::kOpen:
      if (server_ == nullptr) {
        Item gone;
        gone.kind = Item::Kind::kGone;
        gone.status = absl::UnavailableError("connection refused");
        return Send(id, Way::kToAgent, std::move(gone));
      }
      stream.is_open_at_server = true;
      note_(absl::StrCat("schedulerd has stream ", id));
      return server_->OnStreamOpened(id);
    case Item::Kind::kMessage:
      if (stream.agent != nullptr) stream.agent->OnSent();
      if (stream.is_open_at_server) server_->OnStreamMessage(id, item.message);
      return;
    case Item::Kind::kGone:
      if (std::exchange(stream.is_open_at_server, false)) {
        note_(absl::StrCat("schedulerd loses stream ", id));
        server_->OnStreamBroken(id);
      }
      return ForgetIfDone(id);
    case Item::Kind::kCommand:
      return;
  }
}

void SimNetwork::DeliverToAgent(StreamId id, const Item& item) {
  AgentEnd* const agent = streams_.at(id).agent;
  if (agent == nullptr) return;
  if (item.kind == Item::Kind::kCommand) {
    agent->OnCommand(item.command);
  } else {
    agent->Break(item.status.ok() ? absl::UnavailableError("the stream has ended") : item.status);
  }
}

void SimNetwork::GiveUpAgent(StreamId id, const absl::Status& status) {
  const auto found = streams_.find(id);
  if (found != streams_.end() && found->second.agent != nullptr) found->second.agent->Break(status);
}

// agentd's end is gone, or wants no more; schedulerd hears of it if anything can get there.
void SimNetwork::GiveUpServer(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.agent == nullptr) return;
  QueueOf(found->second, Way::kToAgent).clear();
  Item gone;
  gone.kind = Item::Kind::kGone;
  Send(id, Way::kToScheduler, std::move(gone));
  found->second.agent = nullptr;
}

void SimNetwork::ForgetIfDone(StreamId id) {
  const Stream& stream = streams_.at(id);
  if (stream.agent == nullptr && !stream.is_open_at_server) streams_.erase(id);
}

}  // namespace pipefill::simulator
