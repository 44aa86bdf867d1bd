// What dies with the agentd of a simulated node.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_FAULTS_SIM_NODE_AGENT_H_
#define SIMULATOR_FAULTS_SIM_NODE_AGENT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "simulator/faults/sim_node.h"

namespace pipefill::simulator {

struct SimNode::Agent {
  struct Held {
    AttemptSpec spec;
    TaskMachine machine;
    Instant since;
  };

  Agent(SimNode& node, uint64_t seed)
      : loop(node.world_, node.clock_),
        draw(seed),
        desk(loop, node),
        session({.loop = loop,
                 .dial = node.network_.DialerFrom(node.options_.index),
                 .random = [this] { return draw.Share(); }},
                {.target = "simulated", .contact = {}}, node) {}

  ProcessLoop loop;
  Draw draw;
  MainJobBoard main_jobs{10'000};
  std::set<std::string> main_jobs_named;  // on the newest stream
  AttemptDesk desk;
  std::map<AttemptKey, Held> held;
  Instant report_due;
  bool was_connected = false;
  SchedulerSession session;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_SIM_NODE_AGENT_H_
