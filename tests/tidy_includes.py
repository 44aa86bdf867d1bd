"""Who may include whom: the arrows of docs/architecture.md, for tests/tidy.py.

Arrows run one way: cli -> simulator -> (scheduler, agent) -> (planner, client) -> (common, proto).
"""

import os
import re

OURS = ("agent", "cli", "client", "common", "examples", "planner", "proto", "scheduler", "simulator",
        "tests")
DAEMONS = ("agent/", "scheduler/")
PURE_COMMON = ("common/check.h", "common/ids.h", "common/instant.h")
# What other pure code may use too.
PURE_VALUES = PURE_COMMON + ("common/median.h", "common/plan_stages.h", "common/status.h",
                             "common/quantity.h")

# Start of the includer's path -> starts of what it may include of ours, besides its own folder. The
# longest start that fits counts. A folder's tests may include its testing/ folder and common/.
RULES = {
    "common/": (),
    "proto/": (),
    "planner/": PURE_COMMON,
    "client/": (),
    "client/submit/": ("common/", "proto/"),
    "scheduler/": ("common/", "proto/", "planner/"),
    "scheduler/core/": PURE_VALUES + ("planner/",),
    "agent/": ("common/", "proto/", "planner/", "client/pages/"),
    "agent/learn/": PURE_VALUES + ("planner/", "client/pages/"),
    "simulator/": DAEMONS + ("common/", "proto/", "planner/", "client/"),
    # Names bubbles as the SDK does.
    "simulator/pipeline/": PURE_VALUES + ("planner/", "client/pages/", "client/pipefill.h",
                                          "client/main_job/chunk_order.h"),
    "cli/": ("client/submit/", "client/pages/", "common/", "proto/"),
    "cli/dev": DAEMONS + ("client/submit/", "common/", "proto/", "cli/"),
    # Profiles are read from messages as schedulerd reads them.
    "cli/plan": ("client/submit/", "client/pages/", "common/", "proto/", "planner/", "simulator/",
                 "scheduler/convert/profile.h", "cli/"),
    # The SDK only.
    "examples/": ("client/pipefill.h", "client/pipefill.hpp"),
    "tests/": tuple(folder + "/" for folder in OURS),
    "cli/sim": ("common/", "proto/", "planner/", "simulator/"),
}

# Third-party headers, by the start of the include.
FOR_TESTS = ("gtest/", "gmock/", "rapidcheck", "glpk.h")
STANDARD_ONLY = ("absl/", "grpc", "google/", "spdlog/", "fmt/", "nlohmann/", "CLI/", "asio",
                 "SQLiteCpp/", "sqlite3", "zlib")
NOT_PURE = ("spdlog/", "asio", "SQLiteCpp/", "sqlite3", "fstream", "thread", "mutex", "common/clock.h", "common/loop.h", "common/log.h", "common/files.h",
            "common/environment.h", "common/owner_thread.h", "absl/synchronization/")
# Conversions of messages are pure too, but these folders know no messages.
WIRE = ("grpc", "google/", "nlohmann/", "CLI/")
# Folder -> what no file in it may include.
FOREIGN = {
    "planner/": NOT_PURE + WIRE,
    "scheduler/core/": NOT_PURE + WIRE,
    "agent/learn/": NOT_PURE + WIRE,
    "simulator/pipeline/": NOT_PURE + WIRE,
    "client/": STANDARD_ONLY,
    "examples/": STANDARD_ONLY,
}
# Library -> the only places that may include it.
ONLY_IN = {
    "asio": ("common/loop.cc",),
    "SQLiteCpp/": ("scheduler/journal/",),
    "sqlite3": ("scheduler/journal/",),
    "CLI/": ("cli/", "common/daemon.cc", "scheduler/store_command.cc", "tests/"),
    "ncurses": ("cli/top/terminal.cc",),
}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
_IMPORT = re.compile(r'^import[ \t]+"([^"]+)"', re.MULTILINE)


def check(files):
    """(path, line, rule, text) of every include that breaks a rule. `files`: path -> text."""
    faults = []
    by_file, by_folder = {}, {}  # includer -> {included: one such include}
    for path, text in files.items():
        if path.startswith("third_party/") or not path.endswith((".h", ".hpp", ".cc", ".proto")):
            continue
        pattern = _IMPORT if path.endswith(".proto") else _INCLUDE
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            faults += _check_one(path, line, match.group(1), _is_pure(path, files))
            if _is_ours(match.group(1)) and not _is_test(path):
                by_file.setdefault(path, {})[match.group(1)] = (path, line)
                source, target = os.path.dirname(path), os.path.dirname(match.group(1))
                # A folder and its own subfolder are one house.
                if os.path.commonpath([source, target]) not in (source, target):
                    by_folder.setdefault(source, {})[target] = (path, line)
    return faults + list(_circles(by_file)) + list(_circles(by_folder))


def _check_one(path, line, included, is_pure):
    if _is_ours(included):
        if not _may_include(path, included):
            yield path, line, "include", f"{included} is not for {_rule_for(path)}"
    elif not _is_test(path):
        if included.startswith(FOR_TESTS):
            yield path, line, "include", f"{included} is for tests only"
        for folder, banned in FOREIGN.items():
            if path.startswith(folder) and not path.startswith("client/submit/"):
                if included.startswith(banned):
                    yield path, line, "include", f"{included} is not for {folder}"
        for library, places in ONLY_IN.items():
            if included.startswith(library) and not path.startswith(places):
                yield path, line, "include", f"{included} is only for {', '.join(places)}"
    if is_pure and included.startswith(NOT_PURE):
        yield path, line, "pure", f"{included} is not for a file marked Pure"


def _is_ours(included):
    return included.split("/")[0] in OURS and "/" in included


def _is_test(path):
    return path.endswith("_test.cc") or "/testing/" in path or path.startswith("tests/")


def _rule_for(path):
    fitting = [start for start in RULES if path.startswith(start)]
    return max(fitting, key=len) if fitting else ""


def _may_include(path, included):
    rule = _rule_for(path)
    if not rule:
        return False
    own = rule if rule.endswith("/") else os.path.dirname(rule) + "/"
    if included.startswith(own) and not (rule == "client/" and included.startswith("client/submit/")):
        return True
    if _is_test(path) and included.startswith(("common/", path.split("/")[0] + "/")):
        return True
    return included.startswith(RULES[rule])


def _is_pure(path, files):
    """Whether the header, or the header of the same name, is marked Pure. common/ lies below."""
    header = re.sub(r"\.cc$", ".h", path)
    return (not path.startswith("common/") and not path.endswith(".proto")
            and re.search(r"^// (.* )?\*?Pure\.", files.get(header, ""), re.MULTILINE) is not None)


def _circles(edges):
    """Who reaches itself. `edges`: includer -> {included: (path, line)}."""
    for start in sorted(edges):
        trail = _way_back(edges, start)
        if trail:
            path, line = edges[start][trail[0]]
            yield path, line, "circle", " -> ".join([start] + trail)


def _way_back(edges, start):
    """The shortest way from `start` to itself over others that come after it by name."""
    pending = [[target] for target in sorted(edges[start]) if target >= start]
    seen = {start}
    while pending:
        trail = pending.pop(0)
        if trail[-1] == start:
            return trail
        for target in sorted(edges.get(trail[-1], {})):
            if target == start or (target > start and target not in seen):
                seen.add(target)
                pending.append(trail + [target])
    return []
