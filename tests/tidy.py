#!/usr/bin/env python3
"""The house check: sizes, banned calls, include rules, headers, links.

Prints one line per finding, `path:line: rule: text`, and exits with 1 if there is any. Every rule is
proven to fire by tests/tidy_test.py. An exception needs an entry with a reason in ALLOWED; an entry
that excuses nothing is a finding itself.

    python3 tests/tidy.py [ROOT]
"""

import ast
import os
import re
import sys
from collections import namedtuple

import tidy_includes
import tidy_source

Finding = namedtuple("Finding", "path line rule text")

SKIPPED_FOLDERS = {".git", "__pycache__", "out", "node_modules"}
TEXT_SUFFIXES = (".h", ".hpp", ".cc", ".py", ".proto", ".md", ".sh", ".bazel", ".bzl", ".json",
                 ".service", ".map")
TEXT_NAMES = ("run", "WORKSPACE", ".bazelrc", ".clang-format", ".clang-tidy", ".gitignore")

# Lines, by the end of the name; the first that fits counts.
FILE_LINES_MAX = (("_test.cc", 600), (".cc", 500), (".hpp", 250), (".h", 250), (".py", 500))
FUNCTION_LINES_MAX = 60

# Rule -> (pattern, what to do instead). Looked for in C++ without comments and strings.
BANNED_CALLS = {
    "clock": (r"std::chrono::(system|steady|high_resolution)_clock|\bclock_gettime\s*\("
              r"|\bgettimeofday\s*\(|\babsl::Now\s*\(|\btime\s*\(\s*(NULL|nullptr|0)\s*\)",
              "take the time as an argument, or a Clock in the constructor"),
    "sleep": (r"\bsleep_(for|until)\s*\(|\b(u|nano)?sleep\s*\(|\bclock_nanosleep\s*\("
              r"|\babsl::SleepFor\s*\(", "post a timer to the loop"),
    "random": (r"\b(s?rand|getrandom|drand48)\s*\(|\brandom_device\b",
               "take a seeded generator as an argument"),
    "thread": (r"std::(thread|jthread|async)\b(?!::hardware)|\bpthread_create\s*\(",
               "post to a loop, or own an OwnerThread"),
    "environment": (r"\b(secure_)?getenv\s*\(|\b(un)?setenv\s*\(|\bputenv\s*\(",
                    "use common/environment.h, in the SDK client/platform/environment.h"),
}
# Tests may start threads against the thing they test, and set the variables that it reads.
NOT_FOR_TESTS = {"thread", "environment"}

# (rule, path) -> why this file may.
ALLOWED = {
    ("clock", "common/clock.cc"): "reads the clock for everyone",
    ("clock", "common/clock_test.cc"): "compares with the operating system's own",
    ("clock", "common/loop.cc"): "hands deadlines to asio in its clock's type",
    ("clock", "client/platform/clock.cc"): "reads the clock for the SDK",
    ("clock", "agent/tasks/keeper.cc"): "has nothing of agentd's but its image, and no object",
    ("clock", "tests/faults/wall_clock.cc"): "is the clock of what it is loaded into",
    ("clock", "client/process/process_system.cc"): "reads the CPU clocks of other processes",
    ("random", "common/environment.cc"): "makes boot ids and keys for everyone",
    ("thread", "common/owner_thread.h"): "owns a thread for everyone",
    ("environment", "common/environment.cc"): "reads the environment for everyone",
    ("environment", "tests/faults/wall_clock.cc"): "is loaded into programs that are not ours to change",
    ("environment", "client/platform/environment.cc"): "reads the environment for the SDK",
}

THREAD_RULE = re.compile(r"\bpure\b|thread-compatible|thread-safe|runs on the [a-z ]*loop|\bthreads:",
                         re.IGNORECASE)
# Split, so that this file does not name what it looks for.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
REGISTRY_HOSTS = re.compile(
    r"\b(pypi\." r"org|pythonhosted\." r"org|npmjs\." r"(org|com)|crates\." r"io|rubygems\." r"org"
    r"|golang\." r"org|anaconda\." r"(org|com)|maven\." r"org|docker\." r"io|deb\.debian\." r"org)\b")


def lines_with(pattern, text):
    """(line number, match) of every match."""
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match


class Tree:
    """The text files below a folder, by path from there."""

    def __init__(self, root):
        self.root = root
        self.files = {}
        for folder, subfolders, names in os.walk(root):
            subfolders[:] = sorted(name for name in subfolders if not self._is_skipped(folder, name))
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith(TEXT_SUFFIXES) or name in TEXT_NAMES:
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        self.files[path] = file.read()

    @staticmethod
    def _is_skipped(folder, name):
        return (name in SKIPPED_FOLDERS or name.startswith("bazel-")
                or os.path.islink(os.path.join(folder, name)))

    def has(self, path):
        return os.path.exists(os.path.join(self.root, path))


def check_sizes(path, text):
    for suffix, lines_max in FILE_LINES_MAX:
        if path.endswith(suffix):
            lines = text.count("\n")
            if lines > lines_max:
                yield Finding(path, lines_max + 1, "file-size", f"{lines} lines, at most {lines_max}")
            break
    for name, first, last in functions(path, text):
        lines = last - first + 1
        if lines > FUNCTION_LINES_MAX:
            yield Finding(path, first, "function-size",
                          f"{name} has {lines} lines, at most {FUNCTION_LINES_MAX}")


def functions(path, text):
    """(name, first line, last line) of every function."""
    if path.endswith((".h", ".hpp", ".cc")):
        yield from tidy_source.cpp_functions(text)
    if path.endswith(".py"):
        for node in ast.walk(ast.parse(text, path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, node.lineno, node.end_lineno


def check_calls(path, text):
    is_test = path.endswith(("_test.cc", "_test.py")) or "/testing/" in path
    if path.endswith((".h", ".hpp", ".cc")):
        code = tidy_source.without_comments_and_strings(text)
        for rule, (pattern, instead) in BANNED_CALLS.items():
            if is_test and rule in NOT_FOR_TESTS:
                continue
            for line, match in lines_with(re.compile(pattern), code):
                yield Finding(path, line, rule, f"{match.group().strip()}: {instead}")
    if is_test and path.endswith(".py"):
        for line, _ in lines_with(re.compile(r"\btime\.sleep\s*\("), text):
            yield Finding(path, line, "sleep", "time.sleep in a test: wait for what must happen")


def check_header(path, text):
    if not path.endswith((".h", ".hpp")):
        return
    comment = tidy_source.leading_comment(text)
    if not comment:
        yield Finding(path, 1, "header-comment", "begin with a comment that says what this is for")
    elif not THREAD_RULE.search(comment):
        yield Finding(path, 1, "thread-rule",
                      "say Pure, Thread-compatible, Thread-safe or Runs on the X loop at the top")
    guard = re.sub(r"[/.]", "_", path).upper() + "_"
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield Finding(path, 1, "include-guard", f"the guard must be {guard}")
    code = tidy_source.without_comments_and_strings(text)
    for line, _ in lines_with(re.compile(r"\busing\s+namespace\b"), code):
        yield Finding(path, line, "using-namespace", "not in a header")


def check_words(path, text):
    for line, _ in lines_with(re.compile(r"\bFRIEND" r"_TEST\b"), text):
        yield Finding(path, line, "friend-test", "move what is tested to a class of its own")
    for line, match in lines_with(UNFINISHED, text):
        yield Finding(path, line, "unfinished", f"{match.group()}: finish it or file it")
    for line, match in lines_with(REGISTRY_HOSTS, text):
        yield Finding(path, line, "registry-host", f"{match.group()}: name the package, not its host")


def check_links(tree, path, text):
    if not path.endswith(".md"):
        return
    folder = os.path.dirname(path)
    prose = tidy_source.markdown_prose(text)
    for line, match in lines_with(tidy_source.MARKDOWN_LINK, prose):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            continue
        file, _, heading = target.partition("#")
        named = os.path.normpath(os.path.join(folder, file)) if file else path
        if named.startswith("..") or not tree.has(named):
            yield Finding(path, line, "link", f"{target} names no file")
        elif heading and named.endswith(".md"):
            if heading not in tidy_source.markdown_anchors(tree.files.get(named, "")):
                yield Finding(path, line, "link", f"{target} names no heading")
    for line, match in lines_with(tidy_source.QUOTED_PATH, prose):
        if tree.has(match.group(1).split("/")[0]) and not tree.has(match.group(1)):
            yield Finding(path, line, "link", f"{match.group(1)} names no file")


def check(root, allowed):
    """All findings below `root`, in order of path and line."""
    tree = Tree(root)
    findings = []
    for path, text in tree.files.items():
        if path.startswith("third_party/"):
            continue
        findings += check_sizes(path, text)
        findings += check_calls(path, text)
        findings += check_header(path, text)
        findings += check_words(path, text)
        findings += check_links(tree, path, text)
    findings += [Finding(*fault) for fault in tidy_includes.check(tree.files)]
    used = {(finding.rule, finding.path) for finding in findings} & allowed.keys()
    kept = [finding for finding in findings if (finding.rule, finding.path) not in used]
    for rule, path in sorted(allowed.keys() - used):
        kept.append(Finding(path, 1, "allow-list", f"the exception from {rule} excuses nothing"))
    return sorted(kept)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), os.pardir)
    findings = check(root, ALLOWED)
    for finding in findings:
        print(f"{finding.path}:{finding.line}: {finding.rule}: {finding.text}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
