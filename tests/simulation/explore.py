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
import time

EXPLORE = "bazel-bin/tests/simulation/explore"
# Of the clock, so that each exploration sees seeds that none has seen before.
SEEDS_A_SECOND = 1000


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
    # Only the first one tells how it goes: the others are about as far.
    progress = None if worker == 0 else subprocess.DEVNULL
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=progress, text=True)


def collect(process):
    """The sum of one process, from the last line; what it found before that is shown."""
    lines = process.communicate()[0].splitlines()
    if process.returncode not in (0, 1) or not lines:
        sys.exit(f"explore: {' '.join(process.args)} ended with {process.returncode}")
    return json.loads(lines[-1])


def moves_of(sums):
    return set(word for part in sums for word in part["moves"].split())


def summarise(sums, seconds):
    failing = [case for part in sums for case in part["failing"]]
    events = sum(part["events"] for part in sums)
    legal = sums[0]["moves_legal"]
    return {
        "seeds": sum(part["seeds"] for part in sums),
        "events": events,
        "events_per_s": round(events / seconds, 1),
        "jobs": sum(part["jobs"] for part in sums),
        "attempts": sum(part["attempts"] for part in sums),
        "violations": sum(len(case["violations"]) for case in failing),
        "failing_seeds": [case["seed"] for case in failing],
        "edges_reached_share": round(len(moves_of(sums) & set(legal)) / len(legal), 4),
        "seconds": round(seconds, 1),
    }, failing


def main():
    arguments = parse_arguments()
    workers = os.cpu_count() or 1
    if arguments.seeds:
        workers = min(workers, arguments.seeds)
    print(f"explore: from seed {arguments.first} on, {workers} at a time", file=sys.stderr, flush=True)
    begin = time.monotonic()
    processes = [start(arguments, worker, workers) for worker in range(workers)]
    sums = [collect(process) for process in processes]
    summary, failing = summarise(sums, time.monotonic() - begin)
    reached = moves_of(sums)
    for move, name in sums[0]["moves_legal"].items():
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
