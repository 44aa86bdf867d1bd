#include "agent/devices/cpu_device.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <vector>

#include "common/environment.h"

namespace pipefill {
namespace {

std::unique_ptr<CpuDevice> Make(const std::vector<int>& cores,
                                TaskPriority priority = TaskPriority::kIdle) {
  return std::make_unique<CpuDevice>(CpuDeviceOptions{.name = "d" + std::to_string(cores.front()),
                                                      .cores = cores,
                                                      .memory_bytes = 1 << 20,
                                                      .resident_limit = 2,
                                                      .priority = priority});
}

// Exit status of a child that runs `body`.
int InChild(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CpuDeviceTest, DescribesItself) {
  const DeviceDescription description = Make({0, 1, 2, 5})->description();
  EXPECT_EQ(description.name, "d0");
  EXPECT_EQ(description.backend, "cpu");
  EXPECT_EQ(description.detail, "cores 0-2,5");
  EXPECT_EQ(description.memory_bytes, 1 << 20);
  EXPECT_EQ(description.resident_limit, 2);
  EXPECT_EQ(Make({3})->description().detail, "core 3");
}

TEST(CpuDeviceTest, GivesNumericLibrariesOneThreadPerCore) {
  const std::map<std::string, std::string> environment = Make({0, 1, 2})->TaskEnvironment();
  EXPECT_EQ(environment.at("OMP_NUM_THREADS"), "3");
  EXPECT_EQ(environment.at("OPENBLAS_NUM_THREADS"), "3");
  EXPECT_EQ(environment.at("MKL_NUM_THREADS"), "3");
}

TEST(CpuDeviceTest, TaskRunsOnTheCoresInTheIdleClass) {
  const int core = AllowedCores().back();
  const std::unique_ptr<CpuDevice> device = Make({core});
  EXPECT_EQ(InChild([&] {
              if (device->ApplyInChild() != 0) return 1;
              if (sched_getscheduler(0) != SCHED_IDLE) return 2;
              return AllowedCores() == std::vector<int>{core} ? 0 : 3;
            }),
            0);
}

TEST(CpuDeviceTest, TaskOfNormalPriorityKeepsItsClass) {
  const std::unique_ptr<CpuDevice> device = Make({AllowedCores().back()}, TaskPriority::kNormal);
  EXPECT_EQ(
      InChild([&] { return device->ApplyInChild() != 0 || sched_getscheduler(0) != SCHED_OTHER; }),
      0);
}

TEST(CpuDeviceTest, CoresThatAreGoneAreAnErrorInTheChild) {
  const std::unique_ptr<CpuDevice> device = Make({CPU_SETSIZE - 1});
  EXPECT_EQ(InChild([&] { return device->ApplyInChild(); }), EINVAL);
}

TEST(CpuDeviceTest, IsThePlaceOfAProcessPinnedWithinItsCores) {
  const std::vector<int> cores = AllowedCores();
  const std::unique_ptr<CpuDevice> all = Make(cores);
  const std::unique_ptr<CpuDevice> last = Make({cores.back()});
  EXPECT_TRUE(all->IsPlaceOf(getpid()));
  EXPECT_EQ(last->IsPlaceOf(getpid()), cores.size() == 1);
  EXPECT_EQ(InChild([&] {
              if (last->ApplyInChild() != 0) return 1;
              return last->IsPlaceOf(getpid()) && all->IsPlaceOf(getpid()) ? 0 : 2;
            }),
            0);
}

TEST(CpuDeviceTest, IsNotThePlaceOfAProcessThatIsGone) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  EXPECT_FALSE(Make(AllowedCores())->IsPlaceOf(pid));
}

TEST(CpuDeviceTest, RankUsesTheMemoryOfItsFamily) {
  ProcessTable table;
  table.Add({.pid = 10, .parent = 1, .memory_bytes = 100});
  table.Add({.pid = 11, .parent = 10, .memory_bytes = 20});
  table.Add({.pid = 12, .parent = 1, .memory_bytes = 7});
  EXPECT_EQ(Make({0})->MemoryUsedBy(10, table), 120);
  EXPECT_EQ(Make({0})->MemoryUsedBy(99, table), 0);
}

class FindRankDeviceTest : public testing::Test {
 protected:
  FindRankDeviceTest() {
    const std::vector<int> cores = AllowedCores();
    devices_.push_back(Make({CPU_SETSIZE - 1}));
    devices_.push_back(Make(cores));
  }
  DeviceList devices_;
};

TEST_F(FindRankDeviceTest, TakesTheNamedOneWhateverTheAffinity) {
  EXPECT_EQ(*FindRankDevice(devices_, devices_[0]->description().name, getpid()), 0u);
}

TEST_F(FindRankDeviceTest, UnknownNameListsTheDevices) {
  const absl::Status status = FindRankDevice(devices_, "gpu7", getpid()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("name=gpu7"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("d1023 (core 1023)"), absl::string_view::npos) << status;
}

TEST_F(FindRankDeviceTest, TakesTheOnlyPlaceOfTheProcess) {
  EXPECT_EQ(*FindRankDevice(devices_, "", getpid()), 1u);
}

TEST_F(FindRankDeviceTest, ProcessThatIsPinnedNowhereIsAsked) {
  devices_.pop_back();
  const absl::Status status = FindRankDevice(devices_, "", getpid()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("pin the process"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace pipefill
