// The turns of the tasks of one device, as its state hands them out and watches them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/device_state.h"
#include "agent/devices/cpu_device.h"

namespace pipefill {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

Instant AtMs(int64_t ms) { return Instant::FromNs((1'000'000 + ms) * 1'000'000); }

// Maps what was granted, as a task would.
template <typename Page>
class Mapping {
 public:
  explicit Mapping(int descriptor)
      : data_(mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)) {}
  ~Mapping() { munmap(data_, sizeof(Page)); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  Page* operator->() const { return static_cast<Page*>(data_); }

 private:
  void* const data_;
};

// Its policy rank is its number.
AttemptSpec SpecOf(int64_t job) {
  return {.key = {.job = JobId(job), .attempt = AttemptNumber(1), .fence = Fence(5)},
          .job_name = "fill",
          .device = "cpu0",
          .command = {"x"},
          .env = {},
          .workdir = "",
          .memory_bytes = kGiB,
          .policy_rank = static_cast<int32_t>(job)};
}

class DeviceTurnsTest : public ::testing::Test {
 protected:
  DeviceTurnsTest()
      : device_({.name = "cpu0",
                 .cores = {0},
                 .memory_bytes = 4 * kGiB,
                 .resident_limit = 2,
                 .priority = TaskPriority::kIdle}) {}
  void SetUp() override {
    const std::string folder =
        absl::StrCat(::testing::TempDir(), "/device_turns_",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
    trace_ = *TraceWriter::Open({.folder = folder, .start = {}});
    state_ = *DeviceState::Create(
        device_, {.node = "n", .window = {.hold_out = {.one_in = 0}}, .predictor = {}},
        {.trace = *trace_, .main_jobs = main_jobs_});
  }

  PageGrant AttachTask(ConnectionId connection, int64_t job, pid_t pid = 4712) {
    state_->AddTask(SpecOf(job), pid, AtMs(0));
    const AttachAnswer answer =
        state_->AttachTask({.connection = connection, .pid = pid, .uid = 0}, SpecOf(job).key);
    EXPECT_TRUE(std::holds_alternative<PageGrant>(answer));
    // Before it is sealed.
    task_.emplace(std::get<PageGrant>(answer).descriptors[1]);
    EXPECT_EQ(state_->OnMapped(connection, AtMs(0)), SpecOf(job).key);
    return std::get<PageGrant>(answer);
  }

  const CpuDevice device_;
  std::unique_ptr<TraceWriter> trace_;
  MainJobBoard main_jobs_{10'000};
  std::unique_ptr<DeviceState> state_;
  std::optional<Mapping<TaskPage>> task_;  // of the task that attached last
};

TEST_F(DeviceTurnsTest, TasksOfADeviceShareItsTurnPage) {
  const PageGrant first = AttachTask(1, 1);
  const PageGrant second = AttachTask(2, 2);
  EXPECT_EQ(first.turn_seat, 0u);
  EXPECT_EQ(second.turn_seat, 1u);
  const Mapping<TurnPage> of_first(first.descriptors[2]);
  const Mapping<TurnPage> of_second(second.descriptors[2]);
  EXPECT_EQ(of_first->seats[1].policy_rank.load(), 2);
  of_first->holder.store(TakenWord(0, 0));
  EXPECT_EQ(HolderOf(of_second->holder.load()), 0u);

  state_->OnConnectionEnded(1, AtMs(1));
  EXPECT_TRUE(IsFree(of_second->holder.load()));
  EXPECT_EQ(of_second->taken.load(), 0b10u);
}

TEST_F(DeviceTurnsTest, TakesTheTurnOfATaskThatRunsNoUnitOrIsStopped) {
  // A process that is stopped, and one that is not there.
  const pid_t stopped = fork();
  if (stopped == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(stopped, &status, WUNTRACED), stopped);
  AttachTask(1, 1);
  const PageGrant grant = AttachTask(2, 2, stopped);
  const Mapping<TurnPage> turns(grant.descriptors[2]);

  turns->holder.store(TakenWord(0, grant.turn_seat));
  (*task_)->unit_start_ns.store(static_cast<uint64_t>(AtMs(10).ns()));
  for (int64_t ms = 10; ms <= 60; ms += 10) state_->Drain(AtMs(ms));
  EXPECT_FALSE(IsFree(turns->holder.load()));
  for (int64_t ms = 70; ms <= 120; ms += 10) state_->Drain(AtMs(ms));
  EXPECT_TRUE(IsFree(turns->holder.load()));
  kill(stopped, SIGKILL);
  waitpid(stopped, &status, 0);

  turns->holder.store(TakenWord(turns->holder.load(), 0));
  for (int64_t ms = 200; ms <= 260; ms += 10) state_->Drain(AtMs(ms));
  EXPECT_TRUE(IsFree(turns->holder.load()));
}

TEST_F(DeviceTurnsTest, RefusesMoreGatesThanThereAreTurnSeats) {
  for (int64_t job = 1; job <= kSeats; ++job) AttachTask(static_cast<ConnectionId>(job), job);
  state_->AddTask(SpecOf(99), 1, AtMs(0));
  const AttachAnswer answer =
      state_->AttachTask({.connection = 99, .pid = 1, .uid = 0}, SpecOf(99).key);
  ASSERT_TRUE(std::holds_alternative<Refusal>(answer));
  EXPECT_EQ(std::get<Refusal>(answer).code, AttachCode::kBusy);
}

}  // namespace
}  // namespace pipefill
