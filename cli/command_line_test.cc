#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class CommandLineTest : public CommandFixture {
 protected:
  // The one line that these words lead to, as wrong use.
  std::string UsageErrorOf(const std::vector<std::string>& words) {
    const Result result = Run(words);
    EXPECT_EQ(result.code, kExitUsage);
    EXPECT_EQ(result.out, "");
    return result.err;
  }
};

TEST_F(CommandLineTest, WithoutACommandItPrintsHelpAsAnError) {
  EXPECT_EQ(UsageErrorOf({}), Run({"help"}).out);
  EXPECT_EQ(UsageErrorOf({"job"}), Run({"help", "job"}).out);
}

TEST_F(CommandLineTest, UnknownCommandGetsASuggestion) {
  EXPECT_EQ(UsageErrorOf({"jbos"}), "pipefill: unknown command: jbos; did you mean jobs?\n");
  EXPECT_EQ(UsageErrorOf({"job", "shwo", "3"}),
            "pipefill: unknown command: shwo; did you mean show?\n");
  EXPECT_EQ(UsageErrorOf({"frobnicate"}),
            "pipefill: unknown command: frobnicate; see 'pipefill --help'\n");
}

TEST_F(CommandLineTest, UnknownOptionGetsASuggestion) {
  EXPECT_EQ(UsageErrorOf({"submit", "--memroy", "1GiB", "--", "true"}),
            "pipefill: unknown option: --memroy; did you mean --memory?\n");
  EXPECT_EQ(UsageErrorOf({"jobs", "--schedular=x"}),
            "pipefill: unknown option: --schedular; did you mean --scheduler?\n");
  EXPECT_EQ(UsageErrorOf({"submit", "--colour", "red", "--", "true"}),
            "pipefill: unknown option: --colour; see 'pipefill submit --help'\n");
}

TEST_F(CommandLineTest, UnknownOptionCountsMoreThanAMissingArgument) {
  EXPECT_EQ(UsageErrorOf({"wait", "--timout"}),
            "pipefill: unknown option: --timout; did you mean --timeout?\n");
}

TEST_F(CommandLineTest, MissingArgumentIsNamed) {
  EXPECT_EQ(UsageErrorOf({"wait"}), "pipefill: JOB is required; see 'pipefill wait --help'\n");
  EXPECT_EQ(UsageErrorOf({"wait", "3", "--timeout"}),
            "pipefill: --timeout: TIME is missing; see 'pipefill wait --help'\n");
}

TEST_F(CommandLineTest, WordTooManyIsNamed) {
  EXPECT_EQ(UsageErrorOf({"jobs", "17"}),
            "pipefill: unexpected word: 17; see 'pipefill jobs --help'\n");
}

TEST_F(CommandLineTest, BadValueNamesItsOption) {
  EXPECT_EQ(UsageErrorOf({"jobs", "-o", "yaml"}),
            "pipefill: --output: unknown format: yaml; choose table, json or name\n");
  EXPECT_EQ(UsageErrorOf({"bubbles", "-o", "name"}),
            "pipefill: --output: unknown format: name; choose table or json\n");
  EXPECT_EQ(UsageErrorOf({"jobs", "--limit", "0"}),
            "pipefill: --limit: not a number: 0; write a whole number from 1\n");
}

TEST_F(CommandLineTest, OptionsThatContradictEachOtherAreNamed) {
  EXPECT_EQ(UsageErrorOf({"jobs", "--all", "--limit", "3"}),
            "pipefill: --all excludes --limit; see 'pipefill jobs --help'\n");
}

TEST_F(CommandLineTest, OnlySubmitTakesAProgram) {
  EXPECT_EQ(UsageErrorOf({"jobs", "--", "true"}),
            "pipefill: unexpected --; only 'pipefill submit' and 'pipefill profile' run a program, "
            "see 'pipefill jobs --help'\n");
}

TEST_F(CommandLineTest, SchedulerMayStandBeforeOrBehindTheCommand) {
  Run({"--scheduler", "head:1", "status"});
  EXPECT_EQ(scheduler.address, "head:1");
  Run({"status", "--scheduler=head:2"});
  EXPECT_EQ(scheduler.address, "head:2");
  Run({"job", "show", "3", "--scheduler", "head:3"});
  EXPECT_EQ(scheduler.address, "head:3");
}

TEST_F(CommandLineTest, SchedulerIsTheLocalOneByDefault) {
  Run({"status"});

  EXPECT_EQ(scheduler.address, "127.0.0.1:7700");
}

TEST_F(CommandLineTest, EveryErrorOfACallHasItsExitCode) {
  const auto code_of = [this](const absl::Status& error) {
    scheduler.error = error;
    return Run({"status"}).code;
  };

  EXPECT_EQ(code_of(absl::InternalError("x")), kExitFailure);
  EXPECT_EQ(code_of(absl::InvalidArgumentError("x")), kExitUsage);
  EXPECT_EQ(code_of(absl::NotFoundError("x")), kExitNotFound);
  EXPECT_EQ(code_of(absl::PermissionDeniedError("x")), kExitDenied);
  EXPECT_EQ(code_of(absl::AlreadyExistsError("x")), kExitConflict);
  EXPECT_EQ(code_of(absl::UnavailableError("x")), kExitUnavailable);
  EXPECT_EQ(code_of(absl::ResourceExhaustedError("x")), kExitRefused);
}

}  // namespace
}  // namespace pipefill
