#include "cli/profile/profile_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cli/command_line.h"
#include "cli/testing/command_fixture.h"
#include "common/config.h"
#include "proto/profile.pb.h"

namespace pipefill {
namespace {

// A program that leaves the record that a fill task would.
constexpr char kTask[] =
    "printf 'pipefill-units 1\\nunit label=0 size=0 count=%s total_ns=5000 p50_ns=40 p90_ns=60 "
    "max_ns=90\\n' ${COUNT:-100} > $PIPEFILL_PROFILE/units.$$; ";

class ProfileCommandTest : public CommandFixture {
 protected:
  ProfileCommandTest() { entries.push_back({AddProfileCommand, "Fill jobs"}); }

  Result Profile(std::vector<std::string> options, const std::string& script) {
    std::vector<std::string> words = {"profile"};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"--", "sh", "-c"}) words.push_back(word);
    words.push_back(script);
    return Run(words);
  }

  const std::string file_ = testing::TempDir() + "/" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

TEST_F(ProfileCommandTest, PrintsUnitsAndWritesTheProfile) {
  const Result result = Profile({"-o", file_, "--samples", "900"}, kTask);
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, "label 0     100  50 ns  40 ns  60 ns  90 ns"))
      << result.out;
  EXPECT_TRUE(absl::StrContains(result.err, "submit --profile " + file_)) << result.err;
  v1::FillProfile profile;
  const absl::Status status = ReadJsonFile(file_, &profile);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(profile.samples_total(), 900);
  ASSERT_EQ(profile.configurations_size(), 1);
  EXPECT_EQ(profile.configurations(0).nodes(0).time_ns(), 50);
  EXPECT_GT(profile.configurations(0).resident_bytes(), 0);
}

TEST_F(ProfileCommandTest, RunsOnceForEachBatchSize) {
  const Result result =
      Profile({"-o", file_, "--batch-size", "2", "--batch-size", "8"},
              std::string(kTask) + "echo \"$PIPEFILL_CONFIG\" >> " + file_ + ".seen");
  EXPECT_EQ(result.code, kExitOk) << result.err;
  v1::FillProfile profile;
  ASSERT_TRUE(ReadJsonFile(file_, &profile).ok());
  ASSERT_EQ(profile.configurations_size(), 2);
  EXPECT_EQ(profile.configurations(0).name(), "batch2");
  EXPECT_EQ(profile.configurations(1).samples_per_pass(), 8);
  std::ifstream seen(file_ + ".seen");
  std::stringstream text;
  text << seen.rdbuf();
  EXPECT_EQ(text.str(),
            "{\"name\":\"batch2\",\"batch_size\":2}\n{\"name\":\"batch8\",\"batch_size\":8}\n");
}

TEST_F(ProfileCommandTest, ProgramThatFailsWasMeasuredUntilThen) {
  const Result result = Profile({"-o", file_}, std::string(kTask) + "exit 3");
  EXPECT_EQ(result.code, kExitJobFailed);
  EXPECT_TRUE(absl::StrContains(result.err, "ended with exit code 3; what it did until then"));
  EXPECT_TRUE(absl::StrContains(result.out, "label 0"));
  EXPECT_EQ(Profile({}, "kill -9 $$").code, kExitConflict);
}

TEST_F(ProfileCommandTest, ProgramWithoutUnitsGivesNoProfile) {
  const Result result = Profile({"-o", file_}, "true");
  EXPECT_EQ(result.code, kExitConflict);
  EXPECT_TRUE(absl::StrContains(result.err, "asked for no unit, so there is no profile to write"))
      << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, " at most\n"));
  EXPECT_FALSE(std::ifstream(file_).is_open());
}

TEST_F(ProfileCommandTest, TaskOfTheProgramIsTheOneWithMostUnits) {
  const std::string two = "(COUNT=7; " + std::string(kTask) + ") ; sh -c '" +
                          "exit 0'; COUNT=500;" +
                          "printf 'pipefill-units 1\\nunit label=1 size=0 count=500 total_ns=1000 "
                          "p50_ns=2 p90_ns=2 max_ns=2\\n' > $PIPEFILL_PROFILE/units.1";
  const Result result = Profile({}, two);
  EXPECT_TRUE(absl::StrContains(result.out, "label 1")) << result.out;
  EXPECT_FALSE(absl::StrContains(result.out, "label 0"));
}

TEST_F(ProfileCommandTest, ProgramRunsAlone) {
  const Result result =
      Profile({}, std::string(kTask) + "test -z \"$PIPEFILL_SOCKET$PIPEFILL_JOB$PIPEFILL_CONFIG\"");
  EXPECT_EQ(result.code, kExitOk) << result.err;
}

TEST_F(ProfileCommandTest, BadUseIsOneLine) {
  EXPECT_EQ(Run({"profile"}).code, kExitUsage);
  EXPECT_TRUE(absl::StrContains(Run({"profile"}).err, "put it behind --"));
  EXPECT_EQ(Profile({"--batch-size", "0"}, "true").code, kExitUsage);
  EXPECT_TRUE(absl::StrContains(Profile({"--cores", "x"}, "true").err, "--cores: "));
  EXPECT_EQ(Run({"profile", "--", "no-such-program"}).code, kExitNotFound);
}

TEST_F(ProfileCommandTest, HelpFitsEightyColumns) {
  for (const absl::string_view line : absl::StrSplit(Run({"help", "profile"}).out, '\n')) {
    EXPECT_LE(line.size(), 80U) << std::string(line);
  }
}

}  // namespace
}  // namespace pipefill
