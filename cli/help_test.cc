#include "cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

using testing::HasSubstr;
using testing::Not;

class HelpTest : public CommandFixture {};

TEST_F(HelpTest, ListsCommandsByWhatTheyAreFor) {
  const Result result = Run({"help"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "pipefill: work for the bubbles of pipeline-parallel training\n"
            "Usage: pipefill [OPTIONS] [COMMAND]\n"
            "\n"
            "Options:\n"
            "  --scheduler HOST:PORT     schedulerd; default: 127.0.0.1:7700\n"
            "  --version                 Print the version\n"
            "  -h,--help                 Print this\n"
            "\n"
            "Fill jobs:\n"
            "  submit                    Submit a fill job\n"
            "  jobs                      List jobs, newest first\n"
            "  why                       Why a job waits, and what would help\n"
            "  wait                      Wait until jobs are over\n"
            "  watch                     Print changes of jobs as they happen\n"
            "  logs                      Print what a job has written\n"
            "  hold                      Keep jobs from starting until they are released\n"
            "  release                   Let held jobs start\n"
            "  requeue                   Stop running jobs, which then wait again\n"
            "  cancel                    Stop jobs\n"
            "  job                       Verbs of a job: show, why, wait, logs, move, ...\n"
            "\n"
            "Main jobs:\n"
            "  main                      List main jobs, or change how they are filled\n"
            "  pause                     Fill a main job no more, within one unit\n"
            "  resume                    Fill a paused main job again\n"
            "\n"
            "Cluster:\n"
            "  nodes                     Nodes, and why some are given no jobs\n"
            "  devices                   Devices, their main jobs and tasks\n"
            "  bubbles                   What is idle, and how much is filled\n"
            "  tenants                   Tenants: limits, tasks and use\n"
            "  status                    Is schedulerd there, and how busy is it\n"
            "\n"
            "Other:\n"
            "  admin                     Keep schedulerd's state safe\n"
            "  help                      Help on a command, or on exit-codes\n"
            "  version                   Version of this program\n"
            "\n"
            "--scheduler goes with every command; its default comes from PIPEFILL_SCHEDULER,\n"
            "if that is set. Exit codes: 'pipefill help exit-codes'.\n");
}

TEST_F(HelpTest, HelpOptionIsTheSameText) {
  EXPECT_EQ(Run({"--help"}).out, Run({"help"}).out);
  EXPECT_EQ(Run({"jobs", "--help"}).out, Run({"help", "jobs"}).out);
  EXPECT_EQ(Run({"job", "wait", "-h"}).out, Run({"help", "job", "wait"}).out);
}

TEST_F(HelpTest, ShowsOptionsOfACommand) {
  EXPECT_EQ(Run({"help", "jobs"}).out,
            "List jobs, newest first\n"
            "Usage: pipefill jobs [OPTIONS]\n"
            "\n"
            "Options:\n"
            "  --all                     However many there are\n"
            "  --active                  Only pending and running ones\n"
            "  --array JOB               Only tasks of this array that have a record\n"
            "  --limit N                 At most that many; default: 20\n"
            "  -l,--selector SELECTOR    By labels, as team=a,tier!=b,gpu,!draft\n"
            "  --tenant NAME             Only those of one tenant\n"
            "  --name NAME               Only those with that name\n"
            "  --state STATE             Only those in a state; may be repeated\n"
            "  --held                    Only those that are held\n"
            "  -o,--output FORMAT        table (for people), json (for programs), name (ids)\n"
            "  -h,--help                 Print this\n");
}

TEST_F(HelpTest, GroupWithoutAVerbPrintsItsHelp) {
  for (const char* group : {"job", "admin"}) {
    const Result result = Run({group});
    EXPECT_EQ(result.code, kExitUsage) << group;
    EXPECT_EQ(result.err, Run({"help", group}).out) << group;
  }
}

TEST_F(HelpTest, VerbsHaveNoNotesOfTheirGroup) {
  EXPECT_THAT(Run({"help", "main"}).out, HasSubstr("LAMBDA"));
  EXPECT_THAT(Run({"help", "main", "set-mode"}).out, Not(HasSubstr("LAMBDA")));
}

TEST_F(HelpTest, EveryLineFitsEightyColumns) {
  const std::vector<std::vector<std::string>> topics = {{"help"},
                                                        {"help", "submit"},
                                                        {"help", "jobs"},
                                                        {"help", "wait"},
                                                        {"help", "logs"},
                                                        {"help", "cancel"},
                                                        {"help", "requeue"},
                                                        {"help", "job"},
                                                        {"help", "job", "show"},
                                                        {"help", "main"},
                                                        {"help", "main", "set-budget"},
                                                        {"help", "main", "set-mode"},
                                                        {"help", "main", "set-rule"},
                                                        {"help", "pause"},
                                                        {"help", "bubbles"},
                                                        {"help", "devices"},
                                                        {"help", "nodes"},
                                                        {"help", "tenants"},
                                                        {"help", "admin"},
                                                        {"help", "admin", "backup"},
                                                        {"help", "why"},
                                                        {"help", "status"},
                                                        {"help", "help"},
                                                        {"help", "version"},
                                                        {"help", "exit-codes"}};
  for (const std::vector<std::string>& topic : topics) {
    const Result result = Run(topic);
    EXPECT_EQ(result.code, kExitOk);
    for (const absl::string_view line : absl::StrSplit(result.out, '\n')) {
      EXPECT_LE(line.size(), 80U) << std::string(line);
    }
  }
}

TEST_F(HelpTest, ListsExitCodes) {
  EXPECT_EQ(Run({"help", "exit-codes"}).out,
            "CODE  MEANING\n"
            "   0  success; of 'wait': the job succeeded\n"
            "   1  any failure that is not named below\n"
            "   2  wrong use: a bad option, configuration or job file\n"
            "   3  no such job, file or device\n"
            "   4  permission denied\n"
            "   5  already in use, key used for another job, wrong version, wrong state\n"
            "   6  schedulerd or an agent is away, or the result is unknown\n"
            "   7  refused by a limit or a policy; the job could never run\n"
            "  10  'wait': the job failed\n"
            "  11  'wait': the job was cancelled\n"
            "  12  'wait': the job ran into its deadline or limit\n"
            "  13  'wait': the job was lost with its node and not tried again\n"
            " 124  'wait': the job is not over yet\n");
}

TEST_F(HelpTest, UnknownTopicIsOneLine) {
  const Result result = Run({"help", "nope"});

  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.err, "pipefill: no help on: nope; 'pipefill help' lists the commands\n");
}

TEST_F(HelpTest, VersionIsOneLine) {
  EXPECT_EQ(Run({"version"}).out, "pipefill 0.1.0\n");
  EXPECT_EQ(Run({"--version"}).out, "pipefill 0.1.0\n");
}

}  // namespace
}  // namespace pipefill
