// What many agents cost a running schedulerd, and how many jobs go through it from submission to
// end. Started by scheduler.py, with a schedulerd in a process of its own; see docs/performance.md.
//
//   agents_bench heartbeat ADDRESS PID AGENTS SECONDS    streams that report, then some fall silent
//   agents_bench jobs ADDRESS PID AGENTS JOBS            jobs to completion
//
// Prints progress to stderr and one JSON object to stdout. Status 1 and one line if what it
// measures does not hold: a stream that broke, a job that was lost or run twice.
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/owner_thread.h"
#include "proto/scheduler.grpc.pb.h"
#include "tests/benchmarks/simulated_agents.h"

namespace pipefill {
namespace {

double SecondsSince(Instant start) { return absl::ToDoubleSeconds(SystemClock().Now() - start); }

void Say(const std::string& text) { std::cerr << "agents_bench: " << text << std::endl; }

[[noreturn]] void Fail(const std::string& text) {
  Say(text);
  std::_Exit(1);
}

// --- The process of schedulerd, as the kernel sees it ---

std::string ReadProc(int64_t pid, const std::string& name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/", name));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty()) Fail(absl::StrCat("schedulerd, process ", pid, ", is gone"));
  return text;
}

// CPU seconds of all its threads, in the kernel and outside.
double CpuSeconds(int64_t pid) {
  const std::string text = ReadProc(pid, "stat");
  // After the name, which may hold anything: state is the 3rd field, utime the 14th.
  const std::vector<std::string> fields = absl::StrSplit(text.substr(text.rfind(')') + 2), ' ');
  int64_t user_ticks = 0;
  int64_t kernel_ticks = 0;
  if (!absl::SimpleAtoi(fields[11], &user_ticks) || !absl::SimpleAtoi(fields[12], &kernel_ticks)) {
    Fail("/proc/PID/stat is not as it should be");
  }
  return static_cast<double>(user_ticks + kernel_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// A number of /proc/PID/status: "VmRSS" and "VmHWM" in KiB, "Threads".
int64_t StatusNumber(int64_t pid, const std::string& name) {
  for (const absl::string_view line : absl::StrSplit(ReadProc(pid, "status"), '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(":\t "), absl::SkipEmpty());
    int64_t number = 0;
    if (words.size() >= 2 && words[0] == name && absl::SimpleAtoi(words[1], &number)) return number;
  }
  Fail(absl::StrCat("/proc/PID/status has no ", name));
}

// Every stream has a socket in this process and one in schedulerd.
void RaiseFileLimit(int agents) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t need = static_cast<rlim_t>(agents) + 256;
  if (limit.rlim_max < need) {
    Fail(absl::StrCat(need, " open files are needed for ", agents,
                      " connections, and the hard limit is ", limit.rlim_max,
                      "; raise it (ulimit -Hn) or take fewer --agents"));
  }
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// --- A user ---

class User {
 public:
  User(const std::string& address, int number) {
    grpc::ChannelArguments arguments;
    // A connection of its own.
    arguments.SetInt("pipefill.bench", number);
    arguments.SetMaxReceiveMessageSize(64 << 20);
    stub_ = v1::SchedulerService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }

  // Returns the ids. Waits a little and goes on if schedulerd has its queue full.
  std::vector<int64_t> Submit(const std::string& key, int64_t jobs) {
    v1::SubmitJobsRequest request;
    for (int64_t i = 0; i < jobs; ++i) {
      v1::SubmitJobRequest* job = request.add_jobs();
      job->set_key(absl::StrCat(key, "-", i));
      v1::JobSpec* spec = job->mutable_spec();
      spec->set_name("embed");
      for (const char* word : {"python3", "/home/user/jobs/embed.py", "--shard"}) {
        spec->add_command(word);
      }
      spec->add_command(job->key());
      (*spec->mutable_env())["OMP_NUM_THREADS"] = "1";
      spec->set_memory_bytes(int64_t{1} << 30);
    }
    v1::SubmitJobsResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->SubmitJobs(&context, request, &response);
    if (!status.ok()) Fail("submission: " + status.error_message());
    std::vector<int64_t> ids;
    for (const v1::SubmitJobResponse& job : response.jobs()) ids.push_back(job.job_id());
    return ids;
  }

  v1::GetStatusResponse Status() {
    v1::GetStatusResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->GetStatus(&context, {}, &response);
    if (!status.ok()) Fail("status: " + status.error_message());
    return response;
  }

  v1::Job Get(int64_t id) {
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::Job response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->GetJob(&context, request, &response);
    if (!status.ok()) Fail("job: " + status.error_message());
    return response;
  }

  // Newest first, from `cursor` on; 0 = the newest.
  v1::ListJobsResponse List(int64_t cursor) {
    v1::ListJobsRequest request;
    request.set_limit(1'000);
    request.set_cursor(cursor);
    v1::ListJobsResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_->ListJobs(&context, request, &response);
    if (!status.ok()) Fail("jobs: " + status.error_message());
    return response;
  }

 private:
  std::unique_ptr<v1::SchedulerService::Stub> stub_;
};

// Until `is_true`, asked every `pause`; fails if a stream breaks or it takes too long.
template <typename Question>
void Until(SimulatedAgents* agents, absl::Duration pause, const std::string& what,
           const Question& is_true) {
  constexpr absl::Duration kPatience = absl::Minutes(2);
  const Instant start = SystemClock().Now();
  while (!is_true()) {
    if (!agents->Watch(pause)) Fail(absl::StrCat("a stream broke; waiting for: ", what));
    if (SystemClock().Now() - start > kPatience) Fail("not within 2 minutes: " + what);
  }
}

void Connect(SimulatedAgents* agents, int count) {
  const Instant start = SystemClock().Now();
  if (!agents->Connect(absl::Minutes(2))) {
    Fail(absl::StrCat("only ", agents->welcomed(), " of ", count, " agents were welcomed, ",
                      agents->broken(), " streams broke"));
  }
  Say(absl::StrCat(count, " agents connected in ", SecondsSince(start), " s"));
}

// --- Heartbeats ---

struct Lost {
  // From its last word until it is not listed any more, and until its job runs elsewhere.
  double listed_s = 0;
  double moved_s = 0;
};

bool IsListed(User* user, const std::string& node) {
  const v1::GetStatusResponse status = user->Status();
  return std::find(status.nodes().begin(), status.nodes().end(), node) != status.nodes().end();
}

Lost AwaitLost(User* user, SimulatedAgents* agents, int64_t job, Instant spoke_at) {
  Lost lost;
  const std::string node = user->Get(job).attempts(0).node();
  // The attempt is seen to be lost first, which is cheap to ask; then the list is asked.
  constexpr absl::Duration kPause = absl::Milliseconds(10);
  const auto is_gone = [&] {
    return user->Get(job).attempts(0).end_cause() == v1::END_CAUSE_LOST && !IsListed(user, node);
  };
  // The stream is broken by schedulerd: that is what is waited for.
  while (!is_gone()) agents->Pause(kPause);
  lost.listed_s = SecondsSince(spoke_at);
  const auto is_moved = [&] {
    const v1::Job now = user->Get(job);
    return now.attempts_size() == 2 && now.attempts(1).state() == v1::ATTEMPT_STATE_RUNNING &&
           now.attempts(1).node() != node;
  };
  while (!is_moved()) agents->Pause(kPause);
  lost.moved_s = SecondsSince(spoke_at);
  return lost;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Agents that run a job fall silent one after the other, at different times after a report.
std::vector<Lost> MeasureLost(User* user, SimulatedAgents* agents, int count) {
  const std::vector<int64_t> jobs = user->Submit("held", count);
  for (const int64_t job : jobs) {
    Until(agents, absl::Milliseconds(20), "a job runs", [&] {
      const v1::Job now = user->Get(job);
      return now.attempts_size() == 1 && now.attempts(0).state() == v1::ATTEMPT_STATE_RUNNING;
    });
  }
  // The last word of each is a report then.
  agents->Pause(SimulatedAgentOptions().report_period);
  std::vector<Lost> all(jobs.size());
  std::vector<std::unique_ptr<OwnerThread>> threads;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) agents->Pause(absl::Milliseconds(700));
    const std::optional<Instant> spoke_at = agents->Silence(jobs[i]);
    if (!spoke_at.has_value()) Fail("a job runs nowhere");
    threads.push_back(std::make_unique<OwnerThread>("lost", [=, &all] {
      all[i] = AwaitLost(user, agents, jobs[i], *spoke_at);
      Say(absl::StrCat("an agent was lost ", all[i].listed_s,
                       " s after its last word, its job ran ", "elsewhere after ", all[i].moved_s,
                       " s"));
    }));
  }
  threads.clear();
  return all;
}

void RunHeartbeat(const std::string& address, int64_t pid, int count, double seconds) {
  RaiseFileLimit(count);
  SimulatedAgents agents({.address = address, .agents = count, .holds_attempts = true});
  const int64_t rss_before_kib = StatusNumber(pid, "VmRSS");
  Connect(&agents, count);
  Say("the first reports, which are not measured");
  if (!agents.Watch(absl::Seconds(10))) Fail("a stream broke");
  const double cpu_before_s = CpuSeconds(pid);
  const int64_t reports_before = agents.reports();
  const Instant start = SystemClock().Now();
  Say(absl::StrCat("measuring for ", seconds, " s"));
  if (!agents.Watch(absl::Seconds(seconds))) Fail("a stream broke");
  const double wall_s = SecondsSince(start);
  const double cores = (CpuSeconds(pid) - cpu_before_s) / wall_s;
  const double reports_per_s = static_cast<double>(agents.reports() - reports_before) / wall_s;
  const int64_t rss_kib = StatusNumber(pid, "VmRSS");
  const int64_t threads = StatusNumber(pid, "Threads");
  User user(address, 0);
  if (user.Status().nodes_size() != count) Fail("not all agents are listed");
  Say(absl::StrCat(cores, " cores, ", rss_kib / 1024, " MiB, ", threads, " threads"));
  std::vector<double> listed_s;
  std::vector<double> moved_s;
  for (const Lost& lost : MeasureLost(&user, &agents, 5)) {
    listed_s.push_back(lost.listed_s);
    moved_s.push_back(lost.moved_s);
  }
  std::printf(
      "{\"heartbeat_agents\": %d, \"heartbeat_reports_per_s\": %.0f, \"heartbeat_cores_10k\": "
      "%.3f, "
      "\"heartbeat_rss_mib_10k\": %.0f, \"heartbeat_rss_mib_before\": %.0f, "
      "\"heartbeat_threads\": %lld, \"lost_agent_s\": %.2f, \"lost_agent_s_max\": %.2f, "
      "\"lost_agent_moved_s\": %.2f}\n",
      count, reports_per_s, cores, static_cast<double>(rss_kib) / 1024,
      static_cast<double>(rss_before_kib) / 1024, static_cast<long long>(threads), Median(listed_s),
      *std::max_element(listed_s.begin(), listed_s.end()), Median(moved_s));
  std::fflush(stdout);
}

// --- Jobs to completion ---

// Every job ended once, as succeeded, and ran once.
void CheckJobs(User* user, const SimulatedAgents& agents, int64_t count) {
  int64_t known = 0;
  int64_t attempts = 0;
  int64_t cursor = 0;
  do {
    const v1::ListJobsResponse page = user->List(cursor);
    for (const v1::Job& job : page.jobs()) {
      if (job.state() != v1::JOB_STATE_SUCCEEDED) {
        Fail(absl::StrCat("job ", job.id(), " did not succeed: ", job.end_text()));
      }
      ++known;
      attempts += job.attempts_size();
    }
    cursor = page.next_cursor();
  } while (cursor != 0);
  if (known != count) Fail(absl::StrCat(known, " jobs are known, not ", count));
  if (attempts != count) Fail(absl::StrCat(attempts, " attempts at ", count, " jobs"));
  std::vector<int64_t> done = agents.DoneJobs();
  std::sort(done.begin(), done.end());
  for (int64_t i = 0; i < count; ++i) {
    if (i >= static_cast<int64_t>(done.size()) || done[static_cast<size_t>(i)] != i + 1) {
      Fail(absl::StrCat("job ", i + 1, " was not run, or twice"));
    }
  }
  if (static_cast<int64_t>(done.size()) != count) Fail("more jobs were run than submitted");
}

void RunJobs(const std::string& address, int64_t pid, int count, int64_t jobs) {
  constexpr int kClients = 2;
  constexpr int64_t kBatch = 500;
  RaiseFileLimit(count);
  SimulatedAgents agents({.address = address,
                          .agents = count,
                          .devices = 8,
                          .resident_limit = 2,
                          .report_period = absl::Seconds(1)});
  Connect(&agents, count);
  // All devices have been reported.
  if (!agents.Watch(absl::Seconds(2))) Fail("a stream broke");
  const double cpu_before_s = CpuSeconds(pid);
  const Instant start = SystemClock().Now();
  std::vector<double> submitted_s(kClients);
  {
    std::vector<std::unique_ptr<OwnerThread>> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.push_back(std::make_unique<OwnerThread>("client", [&, client] {
        User user(address, client + 1);
        for (int64_t batch = client; batch * kBatch < jobs; batch += kClients) {
          user.Submit(absl::StrCat("job-", batch), std::min(kBatch, jobs - batch * kBatch));
        }
        submitted_s[static_cast<size_t>(client)] = SecondsSince(start);
      }));
    }
  }
  User user(address, 0);
  double said_at_s = 0;
  Until(&agents, absl::Milliseconds(10), "all jobs have ended", [&] {
    const v1::GetStatusResponse status = user.Status();
    if (SecondsSince(start) - said_at_s > 2) {
      said_at_s = SecondsSince(start);
      Say(absl::StrCat(status.jobs_ended(), " of ", jobs, " jobs have ended, ",
                       status.jobs_running(), " run"));
    }
    return status.jobs_ended() == jobs;
  });
  const double seconds = SecondsSince(start);
  const double cores = (CpuSeconds(pid) - cpu_before_s) / seconds;
  Say(absl::StrCat(jobs, " jobs in ", seconds, " s, submitted within ",
                   *std::max_element(submitted_s.begin(), submitted_s.end()), " s"));
  CheckJobs(&user, agents, jobs);
  std::printf(
      "{\"jobs_per_s_to_completion\": %.0f, \"jobs_to_completion\": %lld, \"jobs_agents\": %d, "
      "\"jobs_schedulerd_cores\": %.2f}\n",
      static_cast<double>(jobs) / seconds, static_cast<long long>(jobs), count, cores);
  std::fflush(stdout);
}

int Main(const std::vector<std::string>& words) {
  int64_t pid = 0;
  int agents = 0;
  double amount = 0;
  const bool is_complete = words.size() == 5 && absl::SimpleAtoi(words[2], &pid) &&
                           absl::SimpleAtoi(words[3], &agents) &&
                           absl::SimpleAtod(words[4], &amount) && agents > 0 && amount > 0;
  if (is_complete && words[0] == "heartbeat") {
    RunHeartbeat(words[1], pid, agents, amount);
  } else if (is_complete && words[0] == "jobs") {
    RunJobs(words[1], pid, agents, static_cast<int64_t>(amount));
  } else {
    Fail("usage: agents_bench heartbeat|jobs ADDRESS PID AGENTS SECONDS|JOBS");
  }
  return 0;
}

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) {
  // As in the daemons.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return pipefill::Main(std::vector<std::string>(argv + 1, argv + argc));
}
