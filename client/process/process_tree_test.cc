#include "client/process/process_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

std::string StatOf(pid_t pid, char state) {
  return std::to_string(pid) + " (a) b) " + state +
         " 1 1 1 0 -1 4194304 100 0 0 0 7 8 3 4 20 0 1 0 99 1000 10 18446744073709551615\n";
}

// A /proc of the test's own.
class ProcessTreeTest : public testing::Test {
 protected:
  ProcessTreeTest() : folder_(testing::TempDir() + "/process_tree." + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~ProcessTreeTest() override { std::filesystem::remove_all(folder_); }

  void AddThread(pid_t pid, pid_t thread, const std::string& children) const {
    const std::string path =
        folder_ + "/" + std::to_string(pid) + "/task/" + std::to_string(thread);
    std::filesystem::create_directories(path);
    std::ofstream(path + "/children") << children;
  }
  void AddStat(pid_t pid, char state) const {
    std::filesystem::create_directories(folder_ + "/" + std::to_string(pid));
    std::ofstream(folder_ + "/" + std::to_string(pid) + "/stat") << StatOf(pid, state);
  }

  const std::string folder_;
};

TEST_F(ProcessTreeTest, FindsDescendantsOfAllThreadsWithoutTheRoot) {
  AddThread(10, 10, "11 12 ");
  AddThread(10, 15, "13 ");
  AddThread(12, 12, "14 ");
  for (const pid_t pid : {11, 12, 13}) AddStat(pid, 'S');
  AddStat(14, 'T');
  const std::vector<ProcessSight> sights = ProcessTree(10, folder_).Look();
  ASSERT_EQ(sights.size(), 4u);
  EXPECT_EQ(sights[0], (ProcessSight{.pid = 11, .state = 'S'}));
  EXPECT_EQ(sights[3], (ProcessSight{.pid = 14, .state = 'T'}));
}

TEST_F(ProcessTreeTest, ProcessThatWentMeanwhileIsSeenAsGone) {
  AddThread(10, 10, "11 ");
  const std::vector<ProcessSight> sights = ProcessTree(10, folder_).Look();
  ASSERT_EQ(sights.size(), 1u);
  EXPECT_EQ(sights[0].state, 'X');
}

TEST_F(ProcessTreeTest, RootWithoutChildrenHasNoTree) {
  AddThread(10, 10, "");
  EXPECT_TRUE(ProcessTree(10, folder_).Look().empty());
  EXPECT_TRUE(ProcessTree(99, folder_).Look().empty());
}

TEST(ProcessSightTest, ReadsPastAnyName) {
  ProcessSight sight;
  ASSERT_TRUE(ParseProcessSight(StatOf(42, 'D'), &sight));
  EXPECT_EQ(sight.pid, 42);
  EXPECT_EQ(sight.state, 'D');
  EXPECT_EQ(sight.children_cpu_ns,
            7u * (1'000'000'000u / static_cast<uint64_t>(sysconf(_SC_CLK_TCK))));
}

TEST(ProcessSightTest, RefusesWhatIsNoLineOfStat) {
  ProcessSight sight;
  for (const char* text : {"", "42", "42 (a", "42 (a)", "x (a) S 1 1", "42 (a) S 1 1 1 0"}) {
    EXPECT_FALSE(ParseProcessSight(text, &sight)) << text;
  }
}

}  // namespace
}  // namespace pipefill::sdk
