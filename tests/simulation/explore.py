#!/usr/bin/python3
"""Seeds of the fault simulation, on all cores: ./run explore --minutes N.

Each seed is a small cluster of schedulerd's and agentd's own code in trouble (simulator/faults/fault_run.h). The
last line is one JSON object; exit code 1 if a promise was broken. What failed is told with the command that shows it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

EXPLORE = "bazel-bin/tests/simulation/explore"
# Of the clock, so that each exploration sees seeds that none has seen before.
SEEDS_A_SECOND = 1000
TELL_EVERY_S = 10


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs of a simulated cluster in trouble, by seed.")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=0, help="how long (default 10)")
    length.add_argument("--seeds", type=int, default=0, help="how many, instead of --minutes")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: by the clock)")
    parser.add_argument("--trouble", type=float, default=3, help="minutes of each run in which things break (3)")
    arguments = parser.parse_args()
    if arguments.minutes < 0 or arguments.seeds < 0 or arguments.first < 0:
        parser.error("--minutes, --seeds and --first must not be negative")
    if not arguments.minutes and not arguments.seeds:
        arguments.minutes = 10
    if not arguments.first:
        arguments.first = int(time.time()) * SEEDS_A_SECOND
    return arguments


def start(arguments, worker, workers):
    command = [EXPLORE, "--first", str(arguments.first + worker), "--step", str(workers)]
    command += ["--trouble", str(arguments.trouble)]
    if arguments.seeds:
        command += ["--count", str(len(range(worker, arguments.seeds, workers)))]
    else:
        command += ["--minutes", str(arguments.minutes)]
    # Each seed as it begins, and whatever a process says that dies.
    log = tempfile.TemporaryFile(mode="w+", prefix="explore-")
    found = tempfile.TemporaryFile(mode="w+", prefix="explore-")
    return subprocess.Popen(command, stdout=found, stderr=log, text=True), found, log


def said(file):
    # By itself: where the file is read from is where the process writes to, too.
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode().splitlines()


def is_seed(line):
    return line.startswith("seed ") and line[5:].isdigit()


def collect(process, found, log):
    """The sum of one process, from its last line; of one that died, what it was at."""
    process.wait()
    lines = said(found)
    if process.returncode in (0, 1) and lines:
        return json.loads(lines[-1])
    told = said(log)
    seeds = [int(line[5:]) for line in told if is_seed(line)]
    words = [line for line in told if not is_seed(line)][-5:]
    violation = f"the process ended with {process.returncode}: {' '.join(words)}"
    return {"seeds": len(seeds), "events": 0, "jobs": 0, "attempts": 0, "moves": "", "moves_legal": {},
            "failing": [{"seed": seeds[-1] if seeds else 0, "violations": [violation]}]}


def tell_progress(workers):
    """Until all are done, a line every ten seconds."""
    begin = time.monotonic()
    for process, _, _ in workers:
        while True:
            try:
                process.wait(timeout=TELL_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                seeds = sum(sum(map(is_seed, said(log))) for _, _, log in workers)
                print(f"explore: {seeds} seeds in {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)


def legal_of(sums):
    """Of any process that lived to tell."""
    return next((part["moves_legal"] for part in sums if part["moves_legal"]), {})


def moves_of(sums):
    return set(word for part in sums for word in part["moves"].split())


def summarise(sums, seconds):
    failing = [case for part in sums for case in part["failing"]]
    events = sum(part["events"] for part in sums)
    legal = legal_of(sums)
    return {
        "seeds": sum(part["seeds"] for part in sums),
        "events": events,
        "events_per_s": round(events / seconds, 1),
        "jobs": sum(part["jobs"] for part in sums),
        "attempts": sum(part["attempts"] for part in sums),
        "violations": sum(len(case["violations"]) for case in failing),
        "failing_seeds": [case["seed"] for case in failing],
        "edges_reached_share": round(len(moves_of(sums) & set(legal)) / max(1, len(legal)), 4),
        "seconds": round(seconds, 1),
    }, failing


def main():
    arguments = parse_arguments()
    workers = os.cpu_count() or 1
    if arguments.seeds:
        workers = min(workers, arguments.seeds)
    print(f"explore: from seed {arguments.first} on, {workers} at a time", file=sys.stderr, flush=True)
    begin = time.monotonic()
    started = [start(arguments, worker, workers) for worker in range(workers)]
    tell_progress(started)
    sums = [collect(*worker) for worker in started]
    summary, failing = summarise(sums, time.monotonic() - begin)
    reached = moves_of(sums)
    for move, name in legal_of(sums).items():
        if move not in reached:
            print(f"explore: not reached: {name}", file=sys.stderr)
    for case in failing:
        for violation in case["violations"]:
            print(f"seed {case['seed']}: {violation}", file=sys.stderr)
        print(f"  replay: {EXPLORE} --count 1 --events --first {case['seed']} --trouble {arguments.trouble:g}",
              file=sys.stderr)
    print(json.dumps(summary))
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
