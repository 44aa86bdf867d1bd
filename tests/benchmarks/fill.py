"""How much of the bubbles is filled, and what it costs: ./run bench fill

One real 2-stage training run (examples/pipeline_training) under schedulerd and agentd, with an elastic and a
layer-like fill job on each of the two cores, in interleaved blocks of iterations:

    unfilled      filling is paused
    filled        as shipped: learned latest starts, controller, idle scheduling group
    static68      a unit must end within 68 % of the bubble's median length, PipeFill's rule
    gateonly      as filled, but the tasks at normal priority outside the idle group
    uncontrolled  no gate: the same layer-like job on both cores at normal priority

Each block is compared with the unfilled blocks beside it. Fill time is CPU time of units inside bubbles. A
second, shorter part trains a larger model, for iterations of a second and units of 1 ms.

The first blocks of gateonly and uncontrolled come after all others: what they do to the main job would make
the controller stop. Prints its progress to stderr; the last line on stdout is one JSON object.
"""

import argparse
import bisect
import collections
import contextlib
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import time

from training_run import MAIN_JOB, ROOT, TrainingRun, say  # makes `cluster` known

import cluster
import fill_job

FILL_JOB = os.path.join(ROOT, "tests/benchmarks/fill_job.py")
UNFILLED, FILLED, STATIC, GATE_ONLY, UNCONTROLLED = "unfilled", "filled", "static68", "gateonly", "uncontrolled"
# One round of each part of the run. Every other block is unfilled, so each has two such neighbours.
ROUNDS = {"first": [FILLED, STATIC, FILLED], "second": [GATE_ONLY, UNCONTROLLED]}
# The beginning of a block still feels the one before, and the command that switched.
WASH_OUT_S = 0.15
ALONE_S = 2.0
# Where agentd puts tasks (agent/devices/idle_group.h), by version of the control groups.
IDLE_GROUPS = ("/sys/fs/cgroup/cpu/pipefill/cgroup.procs", "/sys/fs/cgroup/pipefill/cgroup.procs")

Block = collections.namedtuple("Block", "kind begin_ns end_ns")
Iteration = collections.namedtuple("Iteration", "number begin_ns end_ns is_held_out bubbles")
Bubble = collections.namedtuple("Bubble", "device begin_ns end_ns filled_ns overrun_ns")
FillJob = collections.namedtuple("FillJob", "name log alone_ns")


# --- The run ---

class Run(TrainingRun):
    """A training run with fill jobs; switches between kinds of blocks."""

    def __init__(self, closing, options, size):
        self.options = options
        self.blocks = []
        self.jobs = []
        self.tasks = []
        self.co_runners = []
        super().__init__(closing, size)

    def add_fill_jobs(self, unit_ms):
        for kind in ("elastic", "layer"):
            for i in range(2):
                log = self.cluster.path(f"{kind}{i}.log")
                command = [cluster.PYTHON, FILL_JOB, "--kind", kind, "--unit-ms", str(unit_ms), "--log"]
                alone_log = self.cluster.path(f"{kind}{i}-alone.log")
                if i == 0:
                    subprocess.run([*command, alone_log, "--core", cluster.cores()[1], "--seconds", str(ALONE_S)],
                                   env=cluster.environment(), check=True)
                    alone_ns = cost_of_piece(read_log(alone_log))
                self.cluster.submit(f"{kind}{i}", [*command, log])
                self.jobs.append(FillJob(f"{kind}{i}", log, alone_ns))

    def add_co_runners(self, unit_ms):
        for i, core in enumerate(cluster.cores()):
            log = self.cluster.path(f"co-runner{i}.log")
            self.jobs.append(FillJob(f"co-runner{i}", log, self.jobs[-1].alone_ns))
            process = subprocess.Popen(
                [cluster.PYTHON, FILL_JOB, "--kind", "layer", "--unit-ms", str(unit_ms), "--log", log, "--core", core],
                env=cluster.environment())
            self.co_runners.append(process)
            cluster.until(lambda log=log: os.path.exists(log), "a co-runner starts")
            process.send_signal(signal.SIGSTOP)

    def fill(self):
        """Starts the training; returns once it has trained for a while and every task has run units."""
        self.start_training(self.options.warm_up)
        cluster.until(lambda: all(job["attempts"][-1]["progress"].get("units", 0) > 50 for job in self.show()),
                      "every fill job has run units")

    def show(self):
        jobs = self.cluster.cli_json("jobs")["jobs"]
        return [job for job in jobs if job.get("attempts")] if len(jobs) >= 4 else [{"attempts": [{"progress": {}}]}]

    def switch(self, old, new):
        paused = (UNFILLED, UNCONTROLLED)
        if old in paused and new not in paused:
            if new == STATIC:
                self.command("main", "set-rule", MAIN_JOB, "static:68%")
            self.command("resume", MAIN_JOB)
        if old not in paused and new in paused:
            self.command("pause", MAIN_JOB)
            if old == STATIC:
                self.command("main", "set-rule", MAIN_JOB, "latest-start")
        if GATE_ONLY in (old, new):
            self.hold_back(new != GATE_ONLY)
        for process in self.co_runners:
            if old == UNCONTROLLED:
                process.send_signal(signal.SIGSTOP)
            if new == UNCONTROLLED:
                process.send_signal(signal.SIGCONT)

    def hold_back(self, is_idle):
        """Moves the tasks out of the idle group and class, or back."""
        group = next(path for path in IDLE_GROUPS if os.path.exists(path))
        policy = os.SCHED_IDLE if is_idle else os.SCHED_OTHER
        for pid in self.tasks:
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setscheduler(int(thread), policy, os.sched_param(0))
            with open(group if is_idle else group.replace("/pipefill/", "/"), "w", encoding="ascii") as procs:
                procs.write(str(pid))

    def find_tasks(self):
        """Process numbers of the fill tasks, by their log file."""
        tasks = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().decode().split("\0")
                if FILL_JOB in words and "--core" not in words and self.cluster.folder in words[-2]:
                    tasks.append(int(name))
        if len(tasks) != 4:
            raise RuntimeError(f"{len(tasks)} fill tasks are running, not 4")
        return tasks

    def run_blocks(self, kinds, rounds):
        """Interleaves blocks: unfilled, kind, unfilled, kind, ... with the kinds of a round in random order."""
        chance = random.Random(self.options.seed)
        for number in range(rounds):
            order = kinds[:]
            chance.shuffle(order)
            for kind in order:
                for new in (UNFILLED, kind):
                    self.run_block(new)
            say("fill", f"round {number + 1} of {rounds}: {', '.join(order)}")
        self.run_block(UNFILLED)

    def run_block(self, kind):
        self.switch(self.blocks[-1].kind if self.blocks else FILLED, kind)
        begin_ns = time.monotonic_ns() + round(WASH_OUT_S * 1e9)
        time.sleep(WASH_OUT_S + self.options.block_seconds)
        self.blocks.append(Block(kind, begin_ns, time.monotonic_ns()))

    def stop(self):
        for process in self.co_runners:
            process.kill()
            process.wait()
        super().stop()


# --- Figures ---

def read_log(path):
    """Records of fill_job.py: (start_ns, end_ns, cpu_ns, pieces)."""
    with open(path, "rb") as file:
        data = file.read()
    return list(fill_job.RECORD.iter_unpack(data[:len(data) // fill_job.RECORD.size * fill_job.RECORD.size]))


def cost_of_piece(records):
    """CPU time per piece of work; the first third warms up."""
    records = records[len(records) // 3:]
    return sum(record[2] for record in records) / sum(record[3] for record in records)


def iterations_of(rows):
    """By number: iterations that every rank has whole, with the bubbles of all ranks."""
    parts = collections.defaultdict(list)
    for row in rows:
        parts[int(row["iteration"])].append(row)
    ranks = len({row["rank"] for row in rows})
    iterations = []
    for number, its_rows in sorted(parts.items()):
        if len({row["rank"] for row in its_rows}) < ranks:
            continue
        bubbles = [Bubble(row["device"], int(row["begin_ns"]), int(row["end_ns"]), int(row["filled_ns"]),
                          int(row["overrun_ns"])) for row in its_rows]
        iterations.append(Iteration(number, min(int(row["iteration_begin_ns"]) for row in its_rows),
                                    max(int(row["iteration_end_ns"]) for row in its_rows),
                                    its_rows[0]["held_out"] == "1", bubbles))
    return iterations


def time_of(iteration):
    return iteration.end_ns - iteration.begin_ns


class Figures:
    def __init__(self, run):
        self.run = run
        iterations = iterations_of(run.bubbles())
        self.blocks = [[i for i in iterations if block.begin_ns <= i.begin_ns and i.end_ns <= block.end_ns]
                       for block in run.blocks]

    def iterations(self, kind):
        """Those of a kind of block; hold-outs only where nothing is filled anyway."""
        return [i for block, its in zip(self.run.blocks, self.blocks) if block.kind == kind
                for i in its if kind in (UNFILLED, UNCONTROLLED) or not i.is_held_out]

    def slowdown(self, kind):
        """Mean and upper end of the 95 % interval of log ratios to the unfilled neighbours, one for each block.

        Block means with the slowest and fastest twentieth of iterations set to the next one inside."""
        ratios = []
        for n, block in enumerate(self.run.blocks):
            if block.kind != kind:
                continue
            mine = [time_of(i) for i in self.blocks[n] if kind == UNCONTROLLED or not i.is_held_out]
            neighbours = [robust_mean([time_of(i) for i in self.blocks[m]]) for m in (n - 1, n + 1)
                          if self.blocks[m]]
            if mine and neighbours:
                ratios.append(math.log(robust_mean(mine) / statistics.mean(neighbours)))
        if len(ratios) < 3:
            return float("nan"), float("nan")
        mean = statistics.mean(ratios)
        margin = student_95(len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
        return math.expm1(mean), math.expm1(mean + margin)

    def filled(self, kind):
        """Shares of bubble time: filled, overrun."""
        bubbles = [bubble for iteration in self.iterations(kind) for bubble in iteration.bubbles]
        total_ns = sum(b.end_ns - b.begin_ns for b in bubbles)
        if total_ns == 0:
            return float("nan"), float("nan")
        if kind == UNCONTROLLED:
            filled_ns, overrun_ns = self.filled_by_co_runners(bubbles)
        else:
            filled_ns, overrun_ns = sum(b.filled_ns for b in bubbles), sum(b.overrun_ns for b in bubbles)
        return filled_ns / total_ns, overrun_ns / total_ns

    def filled_by_co_runners(self, bubbles):
        """CPU time of units inside bubbles, in proportion to how much of the unit lies in them; and outside."""
        inside_ns = total_ns = 0.0
        for i in range(len(self.run.co_runners)):
            spans = sorted((b.begin_ns, b.end_ns) for b in bubbles if b.device == f"cpu{i}")
            starts = [begin for begin, _ in spans]
            for start_ns, end_ns, cpu_ns, _ in read_log(self.run.cluster.path(f"co-runner{i}.log")):
                if self.block_at(start_ns) != UNCONTROLLED or self.block_at(end_ns) != UNCONTROLLED:
                    continue
                overlap_ns = 0
                n = max(0, bisect.bisect_right(starts, start_ns) - 1)
                while n < len(spans) and spans[n][0] < end_ns:
                    overlap_ns += max(0, min(end_ns, spans[n][1]) - max(start_ns, spans[n][0]))
                    n += 1
                total_ns += cpu_ns
                inside_ns += cpu_ns * overlap_ns / max(1, end_ns - start_ns)
        return inside_ns, total_ns - inside_ns

    def block_at(self, now_ns):
        n = bisect.bisect_right([block.begin_ns for block in self.run.blocks], now_ns) - 1
        return self.run.blocks[n].kind if n >= 0 and now_ns <= self.run.blocks[n].end_ns else None

    def bubble_ratio(self):
        its = self.iterations(UNFILLED)
        bubbles_ns = sum(b.end_ns - b.begin_ns for i in its for b in i.bubbles)
        return bubbles_ns / (2 * sum(time_of(i) for i in its))

    def recovered(self):
        """Work of the fill jobs in filled blocks at the CPU time it takes alone, per device time."""
        spans = [block for block in self.run.blocks if block.kind == FILLED]
        begins = [block.begin_ns for block in spans]
        work_ns = 0.0
        for job in self.run.jobs:
            for start_ns, _, _, pieces in read_log(job.log):
                n = bisect.bisect_right(begins, start_ns) - 1
                if n >= 0 and start_ns <= spans[n].end_ns:
                    work_ns += pieces * job.alone_ns
        return work_ns / (2 * sum(block.end_ns - block.begin_ns for block in spans))

    def of(self, kind, suffix):
        slowdown, high = self.slowdown(kind)
        filled, overrun = self.filled(kind)
        return {f"bubble_filled{suffix}": filled, f"slowdown{suffix}": slowdown, f"slowdown_hi95{suffix}": high,
                f"overrun_ratio{suffix}": overrun, f"iterations{suffix}": len(self.iterations(kind))}


def robust_mean(values):
    """Winsorised at 5 %."""
    values = sorted(values)
    cut = len(values) // 20
    return statistics.mean(min(max(v, values[cut]), values[-1 - cut]) for v in values)


def student_95(degrees):
    """Two-sided quantile of Student's t (Cornish-Fisher expansion; within 1 % from 4 degrees of freedom on)."""
    z = 1.959964
    g1, g2 = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + g1 / degrees + g2 / degrees**2 + g3 / degrees**3


def short_part(options):
    with contextlib.ExitStack() as closing:
        run = Run(closing, options, ["--size", "small", "--samples", str(options.samples)])
        run.add_fill_jobs(0.5)
        run.fill()
        run.tasks = run.find_tasks()
        run.run_blocks(ROUNDS["first"], options.rounds)
        control = run.control()
        run.add_co_runners(0.5)
        run.command("main", "set-budget", MAIN_JOB, "100%")
        run.run_blocks(ROUNDS["second"], options.rounds_second)
        run.check()
        figures = Figures(run)
        result = {"bubble_ratio": figures.bubble_ratio(), **figures.of(FILLED, "")}
        for kind in (STATIC, GATE_ONLY, UNCONTROLLED):
            result.update(figures.of(kind, "_" + kind))
        result["recovered_device_share"] = figures.recovered()
        result["iteration_ms"] = statistics.median(time_of(i) for i in figures.iterations(UNFILLED)) / 1e6
        result["overrun_lambda"] = max(c.get("overrun_ratio", 0) for c in control)
        return result


def long_part(options):
    with contextlib.ExitStack() as closing:
        run = Run(closing, options, ["--size", "medium", "--samples", "2"])
        options.warm_up = 20
        run.add_fill_jobs(1.0)
        run.fill()
        run.blocks.append(Block(FILLED, time.monotonic_ns(), 0))
        time.sleep(options.long_seconds)
        run.blocks[-1] = run.blocks[-1]._replace(end_ns=time.monotonic_ns())
        run.check()
        figures = Figures(run)
        filled, overrun = figures.filled(FILLED)
        return {"bubble_filled_long": filled, "overrun_ratio_long": overrun,
                "iteration_long_ms": statistics.median(time_of(i) for i in figures.iterations(FILLED)) / 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="of the part with filled and static68")
    parser.add_argument("--rounds-second", type=int, default=6, help="of the part with gateonly and uncontrolled")
    parser.add_argument("--block-seconds", type=float, default=1.5)
    parser.add_argument("--warm-up", type=int, default=120, help="iterations before the first block")
    parser.add_argument("--samples", type=int, default=3, help="of a microbatch of the main job")
    parser.add_argument("--long-seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    result = short_part(options)
    if options.long_seconds > 0:
        result.update(long_part(options))
    print(json.dumps({name: round(value, 5) for name, value in result.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
