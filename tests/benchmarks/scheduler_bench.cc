// What accepting jobs durably costs, and how long a restart takes. Started by scheduler.py.
//
//   scheduler_bench submits SECONDS   a real schedulerd in a process of its own, real gRPC over
//                                     loopback, real syncs
//   scheduler_bench client ADDRESS CLIENTS SECONDS    jobs one by one to a schedulerd that runs
//   scheduler_bench restart JOBS      a store of so many jobs: snapshot and the longest journal
//                                     behind it
//
// Prints progress to stderr and one JSON object to stdout.
// Needs a folder on a real disk: TMPDIR, or /tmp.
#include <grpcpp/grpcpp.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/environment.h"
#include "common/log.h"
#include "common/owner_thread.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/snapshot_store.h"
#include "scheduler/journal/sqlite_journal.h"
#include "scheduler/server.h"

namespace pipefill {
namespace {

double SecondsSince(Instant start) { return absl::ToDoubleSeconds(SystemClock().Now() - start); }

void Say(const std::string& text) { std::cerr << "scheduler_bench: " << text << std::endl; }

[[noreturn]] void Fail(const std::string& text) {
  Say(text);
  std::_Exit(1);
}

// --- Submissions ---

// schedulerd in a process of its own. Made before anything of gRPC runs in this one.
class Daemon {
 public:
  explicit Daemon(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    process_ = fork();
    if (process_ < 0) Fail("fork failed");
    if (process_ == 0) Serve();
    while (!std::filesystem::exists(folder_ / "address")) {
      if (waitpid(process_, nullptr, WNOHANG) != 0) Fail("schedulerd did not start");
      sched_yield();
    }
    std::ifstream(folder_ / "address") >> address_;
  }
  ~Daemon() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  const std::string& address() const { return address_; }

 private:
  [[noreturn]] void Serve() {
    // As schedulerd does.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    SetUpLog("schedulerd", "warn").IgnoreError();
    v1::SchedulerConfig config;
    config.set_listen("127.0.0.1:0");
    config.set_address_file((folder_ / "address").string());
    config.set_state_dir((folder_ / "state").string());
    config.set_jobs_max(10'000'000);
    const auto server = Server::Create(config, {SystemClock()});
    if (!server.ok()) Fail(std::string(server.status().message()));
    while (true) pause();
  }

  const std::filesystem::path folder_;
  pid_t process_ = -1;
  std::string address_;
};

void FillRequest(const std::string& key, v1::SubmitJobRequest* request) {
  request->set_key(key);
  v1::JobSpec* spec = request->mutable_spec();
  spec->set_name("embed");
  for (const char* word : {"python3", "/home/user/jobs/embed.py", "--shard"}) {
    spec->add_command(word);
  }
  spec->add_command(key);
  (*spec->mutable_env())["OMP_NUM_THREADS"] = "1";
  spec->set_memory_bytes(int64_t{1} << 30);
}

std::unique_ptr<v1::SchedulerService::Stub> Connect(const std::string& address, int number) {
  grpc::ChannelArguments arguments;
  // A connection of its own.
  arguments.SetInt("pipefill.bench", number);
  return v1::SchedulerService::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

struct Rate {
  double jobs_per_s = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

// `clients` at a time send calls of `batch` jobs for `length`; one job is sent by SubmitJob. A key
// is never used twice: that would be no new job.
Rate MeasureSubmissions(const std::string& address, int clients, int batch, absl::Duration length) {
  std::vector<std::vector<double>> times_ms(static_cast<size_t>(clients));
  const std::string run = RandomToken();
  const auto start = SystemClock().Now();
  const auto submit = [&](int client) {
    const auto stub = Connect(address, client);
    std::vector<double>& times = times_ms[static_cast<size_t>(client)];
    for (int call = 0; SystemClock().Now() - start < length; ++call) {
      v1::SubmitJobsRequest request;
      for (int i = 0; i < batch; ++i) {
        FillRequest(absl::StrCat(run, "-", client, "-", call, "-", i), request.add_jobs());
      }
      grpc::ClientContext context;
      const auto sent = SystemClock().Now();
      v1::SubmitJobsResponse many;
      v1::SubmitJobResponse one;
      const grpc::Status status = batch == 1 ? stub->SubmitJob(&context, request.jobs(0), &one)
                                             : stub->SubmitJobs(&context, request, &many);
      if (!status.ok()) Fail(status.error_message());
      if (one.already_existed()) Fail("a job was there already");
      times.push_back(1e3 * SecondsSince(sent));
    }
  };
  {
    std::vector<std::unique_ptr<OwnerThread>> threads;
    for (int client = 0; client < clients; ++client) {
      threads.push_back(
          std::make_unique<OwnerThread>("client", [&submit, client] { submit(client); }));
    }
  }
  const double seconds = SecondsSince(start);
  std::vector<double> all;
  for (const auto& times : times_ms) all.insert(all.end(), times.begin(), times.end());
  std::sort(all.begin(), all.end());
  return {.jobs_per_s = static_cast<double>(all.size()) * batch / seconds,
          .p50_ms = all[all.size() / 2],
          .p99_ms = all[all.size() * 99 / 100]};
}

// What one sync of the disk costs here: the base of all that is above.
double MeasureSyncs(const std::filesystem::path& folder) {
  const std::string path = (folder / "sync").string();
  FILE* file = fopen(path.c_str(), "w");
  if (file == nullptr) Fail("open " + path);
  const std::string page(4096, 'x');
  // Written once first: as in a journal that is written over again.
  for (int i = 0; i < 64; ++i) fwrite(page.data(), 1, page.size(), file);
  fflush(file);
  fsync(fileno(file));
  const auto start = SystemClock().Now();
  constexpr int kSyncs = 300;
  for (int i = 0; i < kSyncs; ++i) {
    if (pwrite(fileno(file), page.data(), page.size(), (i % 64) * 4096) != 4096) Fail("write");
    if (fdatasync(fileno(file)) != 0) Fail("sync");
  }
  const double seconds = SecondsSince(start);
  fclose(file);
  return kSyncs / seconds;
}

// --- Restart ---

scheduler::JobSpec SpecOf(int64_t id) {
  v1::SubmitJobRequest request;
  FillRequest(absl::StrCat("key-", id), &request);
  scheduler::JobSpec spec;
  spec.name = request.spec().name();
  spec.command = {request.spec().command().begin(), request.spec().command().end()};
  spec.env = {request.spec().env().begin(), request.spec().env().end()};
  spec.memory_bytes = request.spec().memory_bytes();
  return spec;
}

// A job with an attempt, ended or not, as event by event.
void AddJob(scheduler::ClusterState& state, std::vector<std::string>* records) {
  using namespace scheduler;
  const EventTime time = {Instant(), absl::FromUnixSeconds(1'700'000'000)};
  const auto apply = [&](const Event& event) {
    state.Apply(event, time);
    if (records != nullptr) records->push_back(EncodeRecord(event, time.wall));
  };
  const JobId id = state.next_job_id();
  apply(JobSubmitted{id, absl::StrCat("key-", id.value()), SpecOf(id.value())});
  if (id.value() % 10 == 0) return;  // waits
  const AttemptKey attempt = state.NextAttempt(id);
  apply(AttemptPlaced{attempt, {absl::StrCat("node-", id.value() % 1000), "gpu0"}});
  apply(AttemptStarted{attempt});
  AttemptEnded ended;
  ended.attempt = attempt;
  ended.end.cause = EndCause::kExited;
  apply(ended);
}

int64_t ResidentBytes() {
  int64_t pages = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

struct Restart {
  double seconds = 0;
  double disk_bytes_per_job = 0;
  double memory_bytes_per_job = 0;
  int64_t records = 0;
};

// The store is left in `folder`.
void MakeStore(const std::filesystem::path& folder, int64_t jobs) {
  using namespace scheduler;
  ClusterLimits limits;
  limits.jobs_max = 2 * jobs;
  ClusterState state{limits};
  // As many records behind the snapshot as there may be: a quarter of the jobs.
  const int64_t tail_jobs = jobs / 16;
  for (int64_t i = 0; i < jobs - tail_jobs; ++i) AddJob(state, nullptr);
  auto journal = SqliteJournal::Open(folder.string());
  if (!journal.ok()) Fail(std::string(journal.status().message()));
  FileSnapshotStore snapshots(folder.string());
  const SnapshotStamp stamp = {.sequence = 4 * jobs, .wall = SystemClock().WallNow()};
  const auto start = SystemClock().Now();
  const absl::Status written = snapshots.Write(FrameWriter(SnapshotEncoder(state.Durable(), stamp)),
                                               std::atomic<bool>(false));
  if (!written.ok()) Fail(std::string(written.message()));
  Say(absl::StrCat("snapshot of ", jobs - tail_jobs, " jobs written in ", SecondsSince(start),
                   " s"));
  (*journal)->SkipTo(stamp.sequence);
  for (int64_t i = 0; i < tail_jobs;) {
    std::vector<std::string> records;
    for (; i < tail_jobs && records.size() < 4'000; ++i) AddJob(state, &records);
    const absl::Status appended = (*journal)->Append(records);
    if (!appended.ok()) Fail(std::string(appended.message()));
  }
}

Restart MeasureRestart(const std::filesystem::path& folder, int64_t jobs) {
  using namespace scheduler;
  // In a process of its own: this one stays small.
  const pid_t maker = fork();
  if (maker == 0) {
    MakeStore(folder, jobs);
    std::_Exit(0);
  }
  int status = 0;
  waitpid(maker, &status, 0);
  if (status != 0) Fail("the store was not made");
  int64_t disk_bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    disk_bytes += static_cast<int64_t>(entry.file_size());
  }
  ClusterLimits limits;
  limits.jobs_max = 2 * jobs;
  const int64_t before_bytes = ResidentBytes();
  const auto start = SystemClock().Now();
  auto journal = SqliteJournal::Open(folder.string());
  if (!journal.ok()) Fail(std::string(journal.status().message()));
  const auto recovered =
      RecoverStore(**journal, FileSnapshotStore(folder.string()), limits, SystemClock().Now());
  const double seconds = SecondsSince(start);
  if (!recovered.ok()) Fail(std::string(recovered.status().message()));
  if (recovered->state.next_job_id().value() != jobs + 1) Fail("jobs are missing");
  const auto memory_bytes = static_cast<double>(ResidentBytes() - before_bytes);
  return {.seconds = seconds,
          .disk_bytes_per_job = static_cast<double>(disk_bytes) / static_cast<double>(jobs),
          .memory_bytes_per_job = memory_bytes / static_cast<double>(jobs),
          .records = recovered->records};
}

void RunSubmissions(const std::filesystem::path& folder, absl::Duration length) {
  Rate single;
  Rate concurrent;
  Rate batched;
  const double syncs_per_s = MeasureSyncs(folder);
  {
    const Daemon daemon(folder / "daemon");
    MeasureSubmissions(daemon.address(), 1, 1, length / 4);  // warms up
    single = MeasureSubmissions(daemon.address(), 1, 1, length);
    concurrent = MeasureSubmissions(daemon.address(), 16, 1, length);
    batched = MeasureSubmissions(daemon.address(), 2, 500, length);
  }
  std::printf(
      "{\"submits_per_s_single\": %.0f, \"submit_p50_ms\": %.3f, \"submit_p99_ms\": %.3f, "
      "\"submits_per_s_concurrent\": %.0f, \"submits_per_s_batched\": %.0f, "
      "\"syncs_per_s\": %.0f}\n",
      single.jobs_per_s, single.p50_ms, single.p99_ms, concurrent.jobs_per_s, batched.jobs_per_s,
      syncs_per_s);
}

void RunClient(const std::string& address, int clients, absl::Duration length) {
  MeasureSubmissions(address, clients, 1, length / 4);  // warms up
  const Rate rate = MeasureSubmissions(address, clients, 1, length);
  std::printf("{\"jobs_per_s\": %.0f}\n", rate.jobs_per_s);
}

void RunRestart(const std::filesystem::path& folder, int64_t jobs) {
  const auto restart = MeasureRestart(folder, jobs);
  std::printf(
      "{\"restart_s\": %.3f, \"restart_jobs\": %lld, \"restart_records\": %lld, "
      "\"bytes_per_job\": %.0f, \"memory_bytes_per_job\": %.0f}\n",
      restart.seconds, static_cast<long long>(jobs), static_cast<long long>(restart.records),
      restart.disk_bytes_per_job, restart.memory_bytes_per_job);
}

void RunInFolder(const std::string& part, double amount) {
  const std::filesystem::path folder = std::filesystem::path(EnvironmentOr("TMPDIR", "/tmp")) /
                                       absl::StrCat("pipefill-scheduler-bench-", getpid());
  std::filesystem::create_directories(folder);
  if (part == "submits") {
    RunSubmissions(folder, absl::Seconds(amount));
  } else {
    RunRestart(folder, static_cast<int64_t>(amount));
  }
  std::filesystem::remove_all(folder);
}

void Main(const std::vector<std::string>& words) {
  const std::string part = words.empty() ? "" : words[0];
  const double amount = words.size() < 2 ? 0 : std::atof(words.back().c_str());
  if (part == "client" && words.size() == 4 && amount > 0 && std::atoi(words[2].c_str()) > 0) {
    RunClient(words[1], std::atoi(words[2].c_str()), absl::Seconds(amount));
  } else if ((part == "submits" || part == "restart") && words.size() == 2 && amount > 0) {
    RunInFolder(part, amount);
  } else {
    Fail("usage: scheduler_bench submits SECONDS | restart JOBS | client ADDRESS CLIENTS SECONDS");
  }
}

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) { pipefill::Main(std::vector<std::string>(argv + 1, argv + argc)); }
