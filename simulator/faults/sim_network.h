// The network between agents and schedulerd: streams that keep their order and may be slow, stuck
// one way, or broken; each side learns of a break in its own time.
//
//   agent --Write--> [to scheduler, delayed] --> server.OnStreamMessage
//   agent <--Read--- [to agent, delayed]     <-- SendToAgent
//
// While a way is clogged nothing goes that way: what was sent lies in the sender's kernel. If that
// lasts, each side gives the stream up by its keep-alive. A process that dies closes its streams; a
// machine that loses its power says nothing.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_FAULTS_SIM_NETWORK_H_
#define SIMULATOR_FAULTS_SIM_NETWORK_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/scheduler_stream.h"
#include "common/virtual_time.h"
#include "proto/agent.pb.h"
#include "simulator/faults/draw.h"

namespace pipefill::simulator {

using StreamId = uint64_t;

enum class Way { kToScheduler, kToAgent };

// schedulerd's end.
class StreamServer {
 public:
  virtual ~StreamServer() = default;
  virtual void OnStreamOpened(StreamId stream) = 0;
  virtual void OnStreamMessage(StreamId stream, const v1::AgentMessage& message) = 0;
  // Last; not called for streams that the server itself has closed.
  virtual void OnStreamBroken(StreamId stream) = 0;
};

class SimNetwork {
 public:
  struct Options {
    int nodes = 1;
    uint64_t seed = 1;
    // Gets one line for each stream that comes or goes.
    std::function<void(const std::string&)> note;
  };

  // `world` outlives it.
  SimNetwork(VirtualTime& world, const Options& options);
  ~SimNetwork();

  // nullptr: schedulerd is down, which breaks its streams and refuses new ones.
  void SetServer(StreamServer* server);
  DialScheduler DialerFrom(int node);

  // Behind those sent before. Nothing if the stream is no more.
  void SendToAgent(StreamId stream, v1::AgentCommand command);
  // schedulerd ends the stream.
  void Close(StreamId stream, const absl::Status& status);

  // --- Nuisances ---

  void Clog(int node, Way way, bool is_clogged);
  bool is_clogged(int node, Way way) const {
    return links_[static_cast<size_t>(node)].is_clogged[static_cast<size_t>(way)];
  }
  void BreakStreams(int node);
  // The machine is gone without a word.
  void LosePower(int node);
  // Of each message from now on.
  void SetDelays(absl::Duration least, absl::Duration most);
  absl::Duration DrawDelay();

 private:
  class AgentEnd;
  struct Item {
    enum class Kind { kOpen, kMessage, kCommand, kGone };
    Kind kind = Kind::kMessage;
    v1::AgentMessage message = {};
    v1::AgentCommand command = {};
    absl::Status status = {};
    Instant at = {};
  };
  struct Link {
    std::array<bool, 2> is_clogged = {};
    std::array<int64_t, 2> clogs = {};  // so far
  };
  struct Stream {
    int node = 0;
    AgentEnd* agent = nullptr;  // nullptr = it is gone
    bool is_open_at_server = false;
    bool is_cut = false;  // what is sent is lost
    std::array<std::deque<Item>, 2> queues;
  };

  std::deque<Item>& QueueOf(Stream& stream, Way way) {
    return stream.queues[static_cast<size_t>(way)];
  }
  void Send(StreamId id, Way way, Item item);
  // Delivers what is due.
  void Pump(StreamId id, Way way);
  void DeliverToServer(StreamId id, const Item& item);
  void DeliverToAgent(StreamId id, const Item& item);
  void GiveUpAgent(StreamId id, const absl::Status& status);
  void GiveUpServer(StreamId id);
  void LoseAtServer(StreamId id);
  std::vector<StreamId> StreamsOf(int node) const;
  void WatchKeepAlive(int node, Way way, int64_t clog);
  void ForgetIfDone(StreamId id);

  VirtualTime& world_;
  const std::function<void(const std::string&)> note_;
  Draw draw_;
  absl::Duration delay_least_ = absl::Microseconds(50);
  absl::Duration delay_most_ = absl::Milliseconds(2);
  StreamServer* server_ = nullptr;
  StreamId last_id_ = 0;
  std::vector<Link> links_;
  std::map<StreamId, Stream> streams_;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_SIM_NETWORK_H_
