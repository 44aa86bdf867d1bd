// What the hot path costs; prints one JSON object. Run by signal.py.
//
//   edges      begin and end of a bubble in the main job, without and with a gate that waits
//   hand-over  from a bubble's begin in the rank to the start of the first unit in a task that
//   sleeps on
//              the same core, in the idle class, as agentd starts it
//   gRPC       one unary call over loopback between two processes on two cores, which is what a
//   peer
//              would spend to say the same
//
// The real recorder, gate, pages, futex and scheduler of the kernel; no agentd, which is not on the
// path.
#include <grpcpp/grpcpp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "client/fill/gate.h"
#include "client/main_job/edge_recorder.h"
#include "client/platform/clock.h"
#include "client/platform/futex.h"
#include "client/testing/test_page.h"
#include "proto/scheduler.grpc.pb.h"

namespace pipefill {
namespace {

using sdk::EdgeRecorder;
using sdk::Gate;
using sdk::GateAnswer;
using sdk::SystemClock;
using sdk::SystemFutex;

constexpr int kEdgePairs = 200'000;
constexpr int kBubbles = 3'000;
constexpr int kCalls = 3'000;
constexpr int kWarmUp = 200;
constexpr uint64_t kBubbleNs = 300'000;
constexpr uint64_t kFarNs = 3'600'000'000'000;

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

void PinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) perror("sched_setaffinity");
}

std::vector<int> AllowedCores() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<size_t>(i), &set)) cores.push_back(i);
  }
  return cores;
}

// The pages of one device with one offered bubble, and an agent whose heart beats for an hour.
struct Pages {
  Pages() {
    sdk::OfferBubble(window.get(), 0, 1'000'000, static_cast<int64_t>(kBubbleNs));
    window->heartbeat_ns.store(SystemClock().NowNs() + kFarNs);
    window->signal_generation.store(1);
  }
  sdk::TestSignalPage signal;
  sdk::TestWindowPage window;
};

// Nanoseconds of a begin and of an end, each by itself, less what reading the clock costs.
struct EdgeTimes {
  std::vector<double> begin_ns;
  std::vector<double> end_ns;
};

EdgeTimes TimeEdges(Pages& pages, int pairs) {
  SystemClock clock;
  SystemFutex futex;
  EdgeRecorder recorder(pages.signal.get(), pages.window.get(), clock, futex);
  std::vector<double> readings;
  for (int i = 0; i < kWarmUp * 10; ++i) {
    const uint64_t before_ns = clock.NowNs();
    readings.push_back(static_cast<double>(clock.NowNs() - before_ns));
  }
  const double reading_ns = Quantile(readings, 0.5);
  EdgeTimes times;
  recorder.IterationBegin(1);
  for (int i = 0; i < pairs; ++i) {
    const uint64_t before_ns = clock.NowNs();
    recorder.BubbleBegin(PF_BUBBLE_HEAD, 0);
    const uint64_t between_ns = clock.NowNs();
    recorder.BubbleEnd();
    const uint64_t after_ns = clock.NowNs();
    if (i < kWarmUp) continue;
    times.begin_ns.push_back(static_cast<double>(between_ns - before_ns) - reading_ns);
    times.end_ns.push_back(static_cast<double>(after_ns - between_ns) - reading_ns);
  }
  recorder.IterationEnd();
  return times;
}

// Where the task puts what it measured; shared memory.
struct HandoverTimes {
  std::atomic<int> count;
  uint64_t ns[kBubbles + kWarmUp];
};

// Starts one unit in each bubble and spins until it ends, as a task whose units are longer would.
[[noreturn]] void RunTask(const Pages& pages, int core, HandoverTimes* times) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  PinTo(core);
  const sched_param no_parameters = {};
  sched_setscheduler(0, SCHED_IDLE, &no_parameters);
  SystemClock clock;
  SystemFutex futex;
  Gate gate(pages.window.get(), clock, futex);
  gate.SetSignal(pages.signal.get(), 1);
  for (int n = 0; n < kBubbles + kWarmUp;) {
    UnitRecord unit;
    if (gate.TryStart(10'000, &unit) != GateAnswer::kStarted) {
      gate.Wait(100'000'000);
      continue;
    }
    times->ns[n++] = clock.NowNs() - unit.bubble_begin_ns;
    times->count.store(n, std::memory_order_release);
    while (gate.IsStillOpen(unit)) {
    }
  }
  _exit(0);
}

// The rank waits for its neighbour: it sleeps, so that the core is free.
void WaitNs(SystemFutex& futex, uint64_t ns) {
  const std::atomic<uint32_t> nobody_wakes_it = 0;
  futex.Wait(nobody_wakes_it, 0, ns);
}

struct Handover {
  std::vector<double> us;
  std::vector<double> begin_ns;  // of the edge that wakes the task
};

Handover TimeHandover(int core) {
  Pages pages;
  pages.window->gates.store(1);
  auto* times = new (mmap(nullptr, sizeof(HandoverTimes), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)) HandoverTimes();
  const pid_t task = fork();
  if (task == 0) RunTask(pages, core, times);
  PinTo(core);
  SystemClock clock;
  SystemFutex futex;
  EdgeRecorder recorder(pages.signal.get(), pages.window.get(), clock, futex);
  Handover result;
  for (uint64_t i = 0; times->count.load(std::memory_order_acquire) < kBubbles + kWarmUp; ++i) {
    recorder.IterationBegin(i);
    const uint64_t before_ns = clock.NowNs();
    recorder.BubbleBegin(PF_BUBBLE_HEAD, 0);
    result.begin_ns.push_back(static_cast<double>(clock.NowNs() - before_ns));
    WaitNs(futex, kBubbleNs);
    recorder.BubbleEnd();
    recorder.IterationEnd();
    WaitNs(futex, kBubbleNs / 3);
  }
  waitpid(task, nullptr, 0);
  for (int n = kWarmUp; n < kBubbles + kWarmUp; ++n) {
    result.us.push_back(static_cast<double>(times->ns[n]) / 1e3);
  }
  munmap(times, sizeof(HandoverTimes));
  return result;
}

class StatusService final : public v1::SchedulerService::Service {
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    response->set_version("bench");
    return grpc::Status::OK;
  }
};

// In a process of its own. Says its port on `port_writer`.
[[noreturn]] void RunServer(int core, int port_writer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  PinTo(core);
  StatusService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (write(port_writer, &port, sizeof(port)) != sizeof(port)) _exit(1);
  server->Wait();
  _exit(0);
}

std::vector<double> TimeCalls(int server_core, int client_core) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t server = fork();
  if (server == 0) RunServer(server_core, ends[1]);
  int port = 0;
  if (read(ends[0], &port, sizeof(port)) != sizeof(port)) std::abort();
  PinTo(client_core);
  const auto stub = v1::SchedulerService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  SystemClock clock;
  std::vector<double> us;
  for (int i = 0; i < kCalls + kWarmUp; ++i) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    v1::GetStatusResponse response;
    const uint64_t before_ns = clock.NowNs();
    const grpc::Status status = stub->GetStatus(&context, {}, &response);
    if (!status.ok()) {
      fprintf(stderr, "signal_bench: %s\n", status.error_message().c_str());
      std::abort();
    }
    if (i >= kWarmUp) us.push_back(static_cast<double>(clock.NowNs() - before_ns) / 1e3);
  }
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  return us;
}

int Main() {
  const std::vector<int> cores = AllowedCores();
  const int first = cores.front();
  const int second = cores[std::min<size_t>(1, cores.size() - 1)];
  PinTo(first);
  Pages pages;
  const EdgeTimes edges = TimeEdges(pages, kEdgePairs);
  std::vector<double> both = edges.begin_ns;
  both.insert(both.end(), edges.end_ns.begin(), edges.end_ns.end());
  const Handover handover = TimeHandover(first);
  const std::vector<double> calls = TimeCalls(second, first);  // last: gRPC makes threads
  const double handover_us = Quantile(handover.us, 0.5);
  const double call_us = Quantile(calls, 0.5);
  printf(
      "{\"edge_ns_p50\": %.0f, \"edge_ns_p99\": %.0f, \"edge_waiter_ns_p50\": %.0f, "
      "\"handover_us_p50\": %.1f, \"handover_us_p99\": %.1f, \"grpc_unary_us_p50\": %.1f, "
      "\"ratio_grpc_to_handover\": %.2f}\n",
      Quantile(both, 0.5), Quantile(both, 0.99), Quantile(handover.begin_ns, 0.5), handover_us,
      Quantile(handover.us, 0.99), call_us, call_us / handover_us);
  return 0;
}

}  // namespace
}  // namespace pipefill

int main() { return pipefill::Main(); }
