"""Feeds tidy.py trees with one fault each: a rule that never fires is none."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tidy  # noqa: E402
import tidy_source  # noqa: E402

HEADER = """// A gate.
//
// Pure.
#ifndef {guard}
#define {guard}
{body}
#endif  // {guard}
"""


def header(guard, body=""):
    return HEADER.format(guard=guard, body=body)


def function_of(lines):
    return "int Long() {\n" + "  Step();\n" * (lines - 2) + "}\n"


class TidyTest(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def findings(self, allowed=None):
        return [(f.path, f.line, f.rule) for f in tidy.check(self.root, allowed or {})]

    def assert_finds(self, path, text, line, rule):
        """`text` as the only file gives one finding and no other."""
        self.write(path, text)
        self.assertEqual(self.findings(), [(path, line, rule)])
        os.remove(os.path.join(self.root, path))

    def assert_clean(self, path, text):
        self.write(path, text)
        self.assertEqual(self.findings(), [])
        os.remove(os.path.join(self.root, path))


class SizeTest(TidyTest):

    def test_files_over_their_limit_are_found_and_files_at_it_are_not(self):
        filler = "// Text.\n"
        for path, lines_max in (("agent/a.cc", 500), ("agent/a_test.cc", 600), ("agent/a.py", 500)):
            line = "# Text.\n" if path.endswith(".py") else filler
            self.assert_clean(path, line * lines_max)
            self.assert_finds(path, line * (lines_max + 1), lines_max + 1, "file-size")
        whole = header("AGENT_A_H_")
        self.assert_clean("agent/a.h", whole + filler * (250 - whole.count("\n")))
        self.assert_finds("agent/a.h", whole + filler * (251 - whole.count("\n")), 251, "file-size")

    def test_functions_over_sixty_lines_are_found_and_those_of_sixty_are_not(self):
        self.assert_clean("agent/a.cc", "namespace pipefill {\n" + function_of(60) + "}\n")
        self.assert_finds("agent/a.cc", "namespace pipefill {\n\n" + function_of(61) + "}\n", 3,
                          "function-size")
        self.assert_finds("agent/a.py", "def long():\n" + "    step()\n" * 60, 1, "function-size")

    def test_members_constructors_and_tests_are_functions_too(self):
        steps = "  Step();\n" * 60
        for head in ("TEST_F(GateTest, Opens) {\n", "Gate::Gate(int a) : a_{a}, b_(a) {\n",
                     "struct Gate {\n public:\n  int Open() const override {\n",
                     "bool Gate::operator==(const Gate& other) const {\n",
                     "template <typename T = int>\nvoid Open() {\n"):
            self.write("agent/a.cc", head + steps + "}\n" * head.count("{\n"))
            self.assertEqual([rule for _, _, rule in self.findings()], ["function-size"], head)

    def test_tables_classes_and_namespaces_are_no_functions(self):
        lines = "  int a;\n" * 70
        for head in ("namespace a {\n", "class A : public B {\n", "enum class A : int {\n",
                     "constexpr Table kTable = {\n", "const auto kTable = MakeTable({\n",
                     'extern "C" {\n'):
            self.assert_clean("agent/a.cc", head + lines + "}\n")

    def test_braces_in_comments_and_strings_do_not_count(self):
        self.assert_clean("agent/a.cc", 'int A() { return "{{{"; }  // {\n/* { */ char c = \'{\';\n'
                          + 'auto r = R"(\n{ " {)";\n' + "int b;\n" * 70)


class BannedCallTest(TidyTest):

    SAMPLES = {
        "clock": ["std::chrono::steady_clock::now();", "clock_gettime(CLOCK_REALTIME, &now);",
                  "absl::Now();", "time(nullptr);", "gettimeofday(&now, nullptr);"],
        "sleep": ["std::this_thread::sleep_for(wait);", "usleep(3);", "sleep(1);", "nanosleep(&a, 0);",
                  "absl::SleepFor(wait);"],
        "random": ["rand();", "srand(1);", "std::random_device device;", "getrandom(a, 1, 0);"],
        "thread": ["std::thread thread(body);", "std::jthread a;", "std::async(body);",
                   "pthread_create(&a, b, c, d);"],
        "environment": ['getenv("HOME");', 'std::getenv("HOME");', 'setenv("A", "b", 1);'],
    }

    def test_every_banned_call_is_found(self):
        self.assertEqual(self.SAMPLES.keys(), tidy.BANNED_CALLS.keys())
        for rule, calls in self.SAMPLES.items():
            for call in calls:
                self.assert_finds("agent/a.cc", f"\n  {call}\n", 2, rule)

    def test_calls_in_comments_and_strings_and_longer_names_are_not_meant(self):
        self.assert_clean("agent/a.cc", '// sleep(1)\nf("sleep(1)");\nMySleep(1);\noperand(2);\n'
                          "std::this_thread::get_id();\nwait_time(0);\n")

    def test_tests_may_make_threads_but_not_sleep(self):
        self.assert_clean("agent/a_test.cc", "std::thread thread(body);\n")
        self.assert_finds("agent/a_test.cc", "usleep(5);\n", 1, "sleep")
        self.assert_finds("tests/a_test.py", "import time\ntime.sleep(1)\n", 2, "sleep")

    def test_exception_with_a_reason_excuses_one_file_from_one_rule(self):
        self.write("common/clock.cc", "absl::Now();\nrand();\n")
        allowed = {("clock", "common/clock.cc"): "reads the clock"}
        self.assertEqual(self.findings(allowed), [("common/clock.cc", 2, "random")])

    def test_exception_that_excuses_nothing_is_found(self):
        self.write("common/clock.cc", "\n")
        allowed = {("clock", "common/clock.cc"): "reads the clock"}
        self.assertEqual(self.findings(allowed), [("common/clock.cc", 1, "allow-list")])


class IncludeTest(TidyTest):

    def test_arrows_against_the_floors_are_found(self):
        for path, included in (
                ("common/a.cc", "planner/plan.h"), ("planner/a.cc", "common/clock.h"),
                ("planner/a.cc", "common/loop.h"), ("planner/a.cc", "proto/types.pb.h"),
                ("planner/policies/a.cc", "scheduler/core/job.h"),
                ("scheduler/core/a.cc", "proto/types.pb.h"), ("scheduler/core/a.cc", "common/log.h"),
                ("scheduler/core/a.cc", "scheduler/journal/journal.h"),
                ("scheduler/a.cc", "agent/agent.h"), ("agent/a.cc", "scheduler/server.h"),
                ("agent/a.cc", "client/fill/gate.h"), ("agent/learn/a.cc", "agent/tasks/attempt.h"),
                ("client/a.cc", "common/check.h"), ("client/fill/a.cc", "client/submit/client.h"),
                ("client/submit/a.cc", "client/fill/gate.h"), ("cli/jobs.cc", "scheduler/server.h"),
                ("cli/report/a.cc", "agent/trace_writer.h"), ("examples/a.cc", "client/fill/gate.h"),
                ("simulator/a.cc", "cli/output.h"), ("new_folder/a.cc", "common/check.h")):
            self.assert_finds(path, f'\n#include "{included}"\n', 2, "include")

    def test_arrows_along_the_floors_are_fine(self):
        for path, included in (
                ("planner/a.cc", "common/instant.h"), ("planner/policies/a.cc", "planner/policy.h"),
                ("scheduler/core/a.cc", "planner/plan.h"), ("scheduler/a.cc", "proto/types.pb.h"),
                ("scheduler/a.cc", "scheduler/core/job.h"), ("agent/a.cc", "client/pages/task_page.h"),
                ("agent/a.cc", "agent/learn/predictor.h"), ("client/fill/a.cc", "client/pages/a.h"),
                ("client/submit/a.cc", "common/status.h"), ("client/a_test.cc", "common/loop.h"),
                ("cli/dev.cc", "scheduler/server.h"), ("cli/dev.cc", "agent/agent.h"),
                ("cli/jobs.cc", "client/submit/scheduler_client.h"),
                ("simulator/a.cc", "scheduler/core/job.h"), ("examples/a.cc", "client/pipefill.hpp"),
                ("tests/e2e/a.cc", "agent/agent.h")):
            self.assert_clean(path, f'#include "{included}"\n')

    def test_libraries_in_the_wrong_room_are_found(self):
        for path, included in (
                ("planner/a.cc", "grpcpp/grpcpp.h"), ("planner/a.cc", "google/protobuf/message.h"),
                ("planner/a.cc", "spdlog/spdlog.h"), ("planner/a.cc", "mutex"),
                ("scheduler/core/a.cc", "fstream"), ("agent/learn/a.cc", "thread"),
                ("client/fill/a.cc", "absl/time/time.h"), ("client/a.cc", "grpcpp/grpcpp.h"),
                ("agent/a.cc", "asio.hpp"), ("scheduler/a.cc", "SQLiteCpp/SQLiteCpp.h"),
                ("agent/a.cc", "CLI/CLI.hpp"), ("agent/a.cc", "gtest/gtest.h")):
            self.assert_finds(path, f"#include <{included}>\n", 1, "include")

    def test_pure_file_must_not_reach_for_the_world(self):
        for included in ('"common/clock.h"', '"common/loop.h"', '"common/log.h"', "<spdlog/spdlog.h>",
                         "<mutex>", "<fstream>"):
            text = header("AGENT_A_H_", f"#include {included}")
            self.assert_finds("agent/a.h", text, 6, "pure")
            self.write("agent/a.h", header("AGENT_A_H_"))
            self.assert_finds("agent/a.cc", f"#include {included}\n", 1, "pure")
            os.remove(os.path.join(self.root, "agent/a.h"))

    def test_proto_imports_protos_only(self):
        self.assert_clean("proto/a.proto", 'import "proto/types.proto";\n')
        self.assert_finds("proto/a.proto", '\nimport "agent/a.proto";\n', 2, "include")

    def test_files_in_a_circle_are_found(self):
        self.write("agent/a.cc", '#include "agent/b.h"\n')
        self.write("agent/b.h", header("AGENT_B_H_", '#include "agent/c.h"'))
        self.write("agent/c.h", header("AGENT_C_H_", '#include "agent/b.h"'))
        self.assertEqual(self.findings(), [("agent/b.h", 6, "circle")])

    def test_folders_in_a_circle_are_found(self):
        self.write("agent/tasks/a.cc", '#include "agent/devices/b.h"\n')
        self.write("agent/devices/c.cc", '#include "agent/tasks/d.h"\n')
        self.assertEqual(self.findings(), [("agent/devices/c.cc", 1, "circle")])


class HeaderTest(TidyTest):

    def test_good_header_is_clean(self):
        for rule in ("Pure.", "Thread-compatible: one owner.", "Thread-safe.",
                     "Runs on the agent loop."):
            self.assert_clean("agent/a.h", header("AGENT_A_H_").replace("Pure.", rule))

    def test_header_without_a_comment_is_found(self):
        text = "#ifndef AGENT_A_H_\n#define AGENT_A_H_\n// Pure.\n#endif\n"
        self.assert_finds("agent/a.h", text, 1, "header-comment")

    def test_header_without_a_thread_rule_is_found(self):
        text = header("AGENT_A_H_", "// Pure.").replace("//\n// Pure.\n", "", 1)
        self.assert_finds("agent/a.h", text, 1, "thread-rule")

    def test_wrong_guard_is_found(self):
        self.assert_finds("agent/tasks/a.h", header("AGENT_A_H_"), 1, "include-guard")

    def test_using_namespace_is_found_in_headers_only(self):
        self.assert_finds("agent/a.h", header("AGENT_A_H_", "using namespace std;"), 6,
                          "using-namespace")
        self.assert_clean("agent/a.cc", "using namespace std;\n")


class WordTest(TidyTest):

    def test_unfinished_work_is_found_everywhere(self):
        for word in ("TO" "DO", "FIX" "ME", "XX" "X"):
            for path in ("agent/a.cc", "docs/a.md", "run", "agent/BUILD.bazel", "proto/a.proto"):
                self.assert_finds(path, f"\n// {word}: later\n", 2, "unfinished")
        self.assert_clean("agent/a.cc", "// XXXL mktemp.XXXXXX\n")

    def test_tests_that_reach_inside_are_found(self):
        self.assert_finds("agent/a.cc", "FRIEND" "_TEST(GateTest, Opens);\n", 1, "friend-test")

    def test_hosts_of_package_registries_are_found(self):
        for host in ("pypi." "org", "files.pythonhosted." "org", "registry.npmjs." "org",
                     "proxy.golang." "org", "deb.debian." "org"):
            self.assert_finds("run", f"\nfetch https://{host}/simple\n", 2, "registry-host")


class LinkTest(TidyTest):

    def test_dead_links_are_found_in_docs_and_readmes(self):
        for path in ("docs/a.md", "README.md", "agent/README.md"):
            for link in ("[a](gone.md)", "![a](images/gone.svg)", '<img src="gone.svg" width="9">',
                         "[a](../../outside.md)", "[a](#gone)"):
                self.assert_finds(path, f"\nText {link}.\n", 2, "link")

    def test_live_links_are_fine(self):
        self.write("agent/gate.cc", "\n")
        self.assert_clean("docs/a.md", "# The way: step 1\n[a](../agent/gate.cc) [b](../agent)\n"
                          "[c](#the-way-step-1) [d](a.md#the-way-step-1) [e](https://example.com/x)\n"
                          "`agent/gate.cc` `state/trace.json`\n```\n[f](gone.md)\n```\n")

    def test_quoted_path_of_a_file_that_is_gone_is_found(self):
        self.write("agent/gate.cc", "\n")
        self.assert_finds("docs/a.md", "See `agent/gone.cc`.\n", 1, "link")


class SourceTest(unittest.TestCase):

    def test_blanking_keeps_lines_and_columns(self):
        text = 'a = "x\\"y";  // b\n/* c\nd */ e = 1\'000 + \'f\';\n'
        blank = tidy_source.without_comments_and_strings(text)
        self.assertEqual([len(line) for line in blank.split("\n")],
                         [len(line) for line in text.split("\n")])
        self.assertEqual(blank.split(), ["a", "=", ";", "e", "=", "1'000", "+", ";"])


class TreeTest(TidyTest):

    def test_built_and_foreign_files_are_skipped(self):
        for path in ("bazel-bin/a.cc", "out/a.cc", ".git/a.cc", "third_party/a.cc"):
            self.assert_clean(path, "rand();\n")


if __name__ == "__main__":
    unittest.main()
