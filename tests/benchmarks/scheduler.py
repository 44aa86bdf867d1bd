#!/usr/bin/env python3
"""How much a schedulerd takes: ./run bench scheduler [--only PART]...

    submits     durable submissions a second: one at a time, from many clients, in calls of 500 jobs
    restart     time to start on a store of a million jobs, and what a job takes there
    jobs        jobs from submission to their recorded success, through simulated agents
    heartbeat   10,000 connected agents that report every 5 s: CPU time and memory of schedulerd, and how soon one
                that falls silent is given up
    slurm       submissions to Slurm on this machine, and the same way to schedulerd

Each part is a real schedulerd in a process of its own (but restart, which has only its store) and real gRPC over loopback,
with its store in TMPDIR, or /tmp; what is simulated are the agents. Method: docs/performance.md.
Prints its progress to stderr; the last line on stdout is one JSON object with the figures of the parts that ran.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "e2e"))

import cluster  # noqa: E402
import slurm_side  # noqa: E402

BENCHMARKS = os.path.join(cluster.BIN, "tests", "benchmarks")
# For a large cluster, as docs/how-to/large-cluster.md has it.
LARGE = {"report_period": "5s", "agent_lease": "8s", "agent_lost_after": "14s"}


def say(text):
    print(f"scheduler: {text}", file=sys.stderr, flush=True)


class SchedulerUnderLoad(cluster.Cluster):
    """A schedulerd with a configuration of its own."""

    def start_scheduler(self, **more):
        config = self.write_config("schedulerd.json", {
            "listen": "127.0.0.1:0", "address_file": self.path("address"), "state_dir": self.path("schedulerd"),
            "jobs_max": 10_000_000, "history_jobs_max": 5_000_000, **more})
        self.start("schedulerd", [cluster.SCHEDULERD, "--config", config])
        cluster.until(lambda: self.has_started("schedulerd", self.path("address")), "schedulerd writes its address")
        self.address = cluster.read(self.path("address")).decode().strip()

    def pid(self):
        return self.processes["schedulerd"].pid


def measure(program, *arguments):
    """What a program of this folder prints; its progress goes to our stderr."""
    command = [os.path.join(BENCHMARKS, program), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"scheduler: {program} {arguments[0]} ended with status {done.returncode}, see above")
    return json.loads(done.stdout)


def measure_submits(options):
    return measure("scheduler_bench", "submits", options.seconds)


def measure_restart(options):
    return measure("scheduler_bench", "restart", options.stored_jobs)


def measure_jobs(options):
    with SchedulerUnderLoad() as pipefill:
        pipefill.start_scheduler()
        return measure("agents_bench", "jobs", pipefill.address, pipefill.pid(), options.job_agents, options.jobs)


def measure_heartbeat(options):
    with SchedulerUnderLoad() as pipefill:
        pipefill.start_scheduler(**LARGE)
        return measure("agents_bench", "heartbeat", pipefill.address, pipefill.pid(), options.agents,
                       options.heartbeat_seconds)


def measure_slurm(options):
    with SchedulerUnderLoad() as pipefill:
        pipefill.start_scheduler()
        return slurm_side.measure(pipefill, options.slurm_jobs, say)


PARTS = {
    "submits": measure_submits,
    "restart": measure_restart,
    "jobs": measure_jobs,
    "heartbeat": measure_heartbeat,
    "slurm": measure_slurm,
}


def read_options(arguments):
    parser = argparse.ArgumentParser(prog="./run bench scheduler", description="How much a schedulerd takes.")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given several times")
    parser.add_argument("--seconds", type=float, default=5, help="length of each measurement of submits")
    parser.add_argument("--stored-jobs", type=int, default=1_000_000, help="jobs in the store of restart")
    parser.add_argument("--jobs", type=int, default=100_000, help="jobs of jobs")
    parser.add_argument("--job-agents", type=int, default=256, help="agents of jobs, with 8 devices each")
    parser.add_argument("--agents", type=int, default=10_000, help="agents of heartbeat")
    parser.add_argument("--heartbeat-seconds", type=float, default=30, help="length of the measurement of heartbeat")
    parser.add_argument("--slurm-jobs", type=int, default=500, help="submissions in each measurement of slurm")
    return parser.parse_args(arguments)


def main(arguments):
    options = read_options(arguments)
    figures = {}
    for name, part in PARTS.items():
        if options.only and name not in options.only:
            continue
        say(f"{name}:")
        figures.update(part(options))
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
