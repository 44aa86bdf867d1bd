#include "cli/plan/busy_time.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

GpuWork Work(int64_t begin_ns, int64_t end_ns, int64_t stream = 7, uint32_t name = 0,
             bool is_kernel = true) {
  return {begin_ns, end_ns, stream, name, is_kernel};
}

TEST(BusyTimeTest, KernelsThatCommunicateAreNoWork) {
  for (const char* name : {"ncclDevKernel_SendRecv(ncclDevComm*)", "ncclKernel_AllReduce",
                           "NCCL_Broadcast", "void ncclKernel_x", "rcclKernel"}) {
    EXPECT_TRUE(IsCommunication(name)) << name;
  }
  EXPECT_FALSE(IsCommunication("ampere_sgemm_128x64_tn"));
}

TEST(BusyTimeTest, CopiesCountOnlyOnStreamsThatCompute) {
  const std::vector<GpuWork> work = {Work(50, 60, 7, 2, false), Work(0, 10, 7, 0),
                                     Work(20, 30, 20, 1), Work(40, 45, 13, 2, false)};
  const std::vector<GpuWork> compute = ComputeWork(work, {"gemm", "ncclKernel", "Memcpy HtoD"});
  ASSERT_EQ(compute.size(), 2u);
  EXPECT_EQ(compute[0].begin_ns, 0);
  EXPECT_EQ(compute[1].begin_ns, 50);
}

TEST(BusyTimeTest, PausesBelowTheLeastAreWork) {
  EXPECT_EQ(BusyStretches({Work(0, 10), Work(12, 20), Work(13, 15), Work(30, 40)}, 10),
            (std::vector<Stretch>{{0, 20}, {30, 40}}));
  EXPECT_TRUE(BusyStretches({}, 10).empty());
}

TEST(BusyTimeTest, TheDevicesOwnMarksGoBeforeTheHosts) {
  std::vector<StepMark> steps = {{1, 0, 90, std::nullopt}, {2, 90, 180, std::nullopt}};
  EXPECT_EQ(BordersByMarks(steps, 0), (std::vector<int64_t>{0, 90, 180}));
  steps.push_back({1, 10, 95, 0});
  steps.push_back({2, 105, 190, 0});
  steps.push_back({2, 100, 150, 0});  // of another stream
  steps.push_back({2, 500, 600, 1});  // of another device
  EXPECT_EQ(BordersByMarks(steps, 0), (std::vector<int64_t>{10, 100, 190}));
  EXPECT_TRUE(BordersByMarks({}, 0).empty());
}

TEST(BusyTimeTest, WithoutMarksTheOrderOfKernelsTellsTheIterations) {
  // Three layers forward, three backward, one optimizer; begins at multiples of 10.
  std::vector<GpuWork> work;
  for (int iteration = 0; iteration < 4; ++iteration) {
    for (const uint32_t name : {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 4}) {
      const auto begin = static_cast<int64_t>(work.size()) * 10;
      work.push_back(Work(begin, begin + 5, 7, name));
    }
  }
  EXPECT_EQ(BordersByPeriod(work), (std::vector<int64_t>{0, 130, 260, 390}));
}

TEST(BusyTimeTest, KernelsWithoutAnOrderHaveNoPeriod) {
  std::vector<GpuWork> work;
  uint32_t state = 1;
  for (int i = 0; i < 200; ++i) {
    state = state * 1664525 + 1013904223;
    work.push_back(Work(i * 10, i * 10 + 5, 7, state >> 28));
  }
  EXPECT_TRUE(BordersByPeriod(work).empty());
  EXPECT_TRUE(BordersByPeriod({}).empty());
}

}  // namespace
}  // namespace pipefill
