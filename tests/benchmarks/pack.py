"""What fill jobs of every way get done in real bubbles, against the plan's forecasts: ./run bench pack

One real 2-stage training run (examples/pipeline_training) under schedulerd and agentd, and one example job of each way:

    step      fill_training, one optimizer step a unit
    elastic   batch_inference, as many batches a unit as fit
    layer     gpt_layer, an ordinary training script in layer mode
    process   compress_process, a shell script that knows nothing of bubbles

First each is measured alone on a core, by `pipefill profile` (the process job, which has no units, by its CPU time; its
profile is learned by a first job in bubbles). Then on each device one job after the other is alone, and every two that
follow each other are resident together: a, a+b, b, b+c, ... At the begin of each interval schedulerd is asked
for its forecast; nothing that was measured in the interval goes into it. At the end every job is measured alone again.

Work is counted in the job's own output (training steps, batches, passes of the script), and where schedulerd forecasts
something else (slices, steps of layer mode), that is compared. The filled share is agentd's.
Prints its progress to stderr; the last line on stdout is one JSON object.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time

from training_run import MAIN_JOB, ROOT, TrainingRun, say  # makes `cluster` known

import cluster

DEVICES = ("cpu0", "cpu1")
# Jobs that start at the same time, on either device; each stays until those of the next column were with it.
COLUMNS = (("step", "layer"), ("elastic", "process"), ("layer", "step"), ("process", "elastic"))
# A batch of two windows becomes two embeddings of 64 floats.
BATCH_BYTES = 2 * 64 * 4
ENOUGH = "100000000"  # work that nobody gets done here
UNITS_TO_SETTLE = 100
SETTLE_S = 6.0
# The CLI runs on the main job's cores too, and what it takes away there is learned as a longer bubble.
POLL_S, POLL_TICK_S = 0.5, 0.05

# What a job has done by a time (monotonic, seconds).
Count = collections.namedtuple("Count", "samples time_s")
# State of the cluster at one report of agentd.
Tick = collections.namedtuple("Tick", "time_s jobs offered_ns")
# One job in one interval. Rates are samples per second of device time, shares are of the offered bubble time.
Result = collections.namedtuple("Result", "way device beside rate planned forecast low high source used cpu_s")


def tell(message):
    say("pack", message)


class Example:
    """A job of one way."""

    def __init__(self, way, script, work, amount):
        """work: the option for the amount of work. amount: that of a run alone."""
        self.way, self.amount = way, amount
        self._program = [os.path.join(ROOT, "examples", script)]
        self._work = work
        self.pass_bytes = None  # of the process job, once it was measured

    @property
    def is_process(self):
        return self.way == "process"

    def command(self, result, amount):
        if self.is_process:
            return [*self._program, result, amount]
        return [cluster.PYTHON, *self._program, "--result", result, self._work, amount]

    def count(self, result):
        """What the output holds by the time of its last write; None while there is none."""
        try:
            with open(self._output(result), "rb") as file:
                state = os.fstat(file.fileno())
                samples = file.read().count(b"\n") if self.way in ("step", "layer") else state.st_size / (
                    self.pass_bytes if self.is_process else BATCH_BYTES)
        except FileNotFoundError:
            return None
        return Count(samples, state.st_mtime_ns / 1e9 - time.time() + time.monotonic())

    def _output(self, result):
        if self.is_process:
            return f"{result}.gz" if os.path.exists(f"{result}.gz") else f"{result}.gz.new"
        return os.path.splitext(result)[0] + (".f32" if self.way == "elastic" else ".losses")


EXAMPLES = {example.way: example for example in (
    Example("step", "fill_training/job.py", "--steps", "3000"),
    Example("elastic", "batch_inference/job.py", "--passes", "2"),
    Example("layer", "gpt_layer/train.py", "--steps", "150"),
    Example("process", "compress_process/compress.sh", "", "100"))}


# --- Alone ---

class Measured:
    """A job measured alone on a core; several times, for the machine may change."""

    def __init__(self, example, folder):
        self.example, self._folder = example, folder
        self.runs = []

    @property
    def profile(self):
        """The first one's: what was known before the job was submitted."""
        return self._path(0, "profile.json")

    @property
    def cpu_s(self):
        """Of one sample."""
        return statistics.mean(self.runs)

    def run(self, core):
        result = self._path(len(self.runs), "json")
        command = self.example.command(result, self.example.amount)
        self.runs.append(self._run_process(command, core, result) if self.example.is_process
                         else self._run_profiled(command, core, result))

    def _path(self, run, suffix):
        return os.path.join(self._folder, f"{self.example.way}-alone{run}.{suffix}")

    def _run_process(self, command, core, result):
        child = subprocess.Popen(["taskset", "-c", core, *command], env=cluster.environment(),
                                 stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}")
        passes = int(self.example.amount)
        self.example.pass_bytes = os.path.getsize(f"{result}.gz") / passes
        return (usage.ru_utime + usage.ru_stime) / passes

    def _run_profiled(self, command, core, result):
        subprocess.run(
            [cluster.CLI, "profile", "-o", self._path(len(self.runs), "profile.json"), "--cores", core, "--", *command],
            env=cluster.environment(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(result, encoding="utf-8") as file:
            cpu_s = json.load(file)["unit_cpu_ns"] / 1e9
        # The last line of losses is about held-out text.
        return cpu_s / (self.example.count(result).samples - (self.example.way != "elastic"))


def measure_alone(measured):
    """Each job once, on two cores at a time."""
    ways = list(measured.values())

    def run(first):
        for each in ways[first::2]:
            each.run(cluster.cores()[first])

    threads = [threading.Thread(target=run, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len({len(each.runs) for each in ways}) > 1:
        raise RuntimeError("a job failed when it ran alone")


# --- In bubbles ---

def until(question, what):
    deadline = time.monotonic() + cluster.PATIENCE_S
    while not question():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {cluster.PATIENCE_S} s: {what}")
        time.sleep(POLL_S)


class Job:
    """An example submitted to the cluster."""

    def __init__(self, run, measured):
        self.measured = measured
        self.example = measured.example
        self._run = run
        number = run.next_number()
        self.result = run.cluster.path(f"{self.example.way}{number}.json")
        options = ["--process"] if self.example.is_process else ["--profile", measured.profile]
        self.id = int(run.cluster.submit(self.example.way, self.example.command(self.result, ENOUGH), *options))
        until(lambda: self.find()["attempts"], f"job {self.id} is placed")
        self.device = self.find()["attempts"][-1]["device"]

    def settle(self):
        until(self._has_settled, f"job {self.id} runs units on {self.device}")

    def _has_settled(self):
        attempt = self.find()["attempts"][-1]
        if attempt["state"] == "ended" and self.find()["state"] in ("failed", "succeeded"):
            raise RuntimeError(f"job {self.id} ended: {attempt}")
        return attempt.get("progress", {}).get("units", 0) >= UNITS_TO_SETTLE

    def find(self):
        return self._run.cluster.cli_json("job", "show", str(self.id))

    def cancel(self):
        self._run.command("cancel", str(self.id))
        until(lambda: self.find()["state"] == "cancelled", f"job {self.id} is cancelled")


class Run(TrainingRun):
    """A training run with jobs that come and go."""

    def __init__(self, closing, options):
        super().__init__(closing, ["--size", "small", "--samples", str(options.samples)])
        self._seconds = options.seconds
        self._numbers = 0
        self.results = []

    def next_number(self):
        self._numbers += 1
        return self._numbers

    def run_stages(self, measured):
        """Alone, with the next one, the next one alone, ..., on both devices side by side."""
        before = {}
        for ways in COLUMNS:
            jobs = self._start([measured[way] for way in ways])
            if before:
                self._measure([[before[device], jobs[device]] for device in DEVICES])
                for job in before.values():
                    job.cancel()
            self._measure([[jobs[device]] for device in DEVICES])
            before = jobs
        for job in before.values():
            job.cancel()

    def _start(self, measured):
        """Both start up at the same time, which takes long in bubbles. schedulerd gives each a device of its own."""
        jobs = [Job(self, each) for each in measured]
        for job in jobs:
            job.settle()
        if {job.device for job in jobs} != set(DEVICES):
            raise RuntimeError("both jobs are on one device")
        return {job.device: job for job in jobs}

    def _measure(self, residents):
        """residents: per device, the jobs on it."""
        time.sleep(SETTLE_S)
        jobs = [job for group in residents for job in group]
        begin = self._tick(jobs)
        begin_counts = [job.example.count(job.result) for job in jobs]
        time.sleep(self._seconds)
        end = self._tick(jobs)
        for job, begin_count in zip(jobs, begin_counts):
            beside = [other.example.way for group in residents if job in group for other in group if other is not job]
            self._add(job, beside, (begin, end), (begin_count, job.example.count(job.result)))

    def _tick(self, jobs):
        """Waits for the next report of the agent."""
        ids = {job.id for job in jobs}

        def look():
            all_jobs = {job["id"]: job for job in self.cluster.cli_json("jobs", "--active")["jobs"]}
            return {n: all_jobs[n] for n in ids}

        def units(look):
            return [look[n]["attempts"][-1]["progress"]["units"] for n in sorted(ids)]

        old = now = look()
        while units(now) == units(old):
            time.sleep(POLL_TICK_S)
            now = look()
        time_s = time.monotonic()
        offered_ns = dict.fromkeys(DEVICES, 0)
        for bubble in self.cluster.cli_json("bubbles")["bubbles"]:
            offered_ns[bubble["device"]] += bubble["offered_ns"]
        return Tick(time_s, now, offered_ns)

    def _add(self, job, beside, ticks, counts):
        begin, end = ticks
        seconds = end.time_s - begin.time_s
        progress = [tick.jobs[job.id]["attempts"][-1]["progress"] for tick in ticks]
        gain = {name: progress[1].get(name, 0) - progress[0].get(name, 0)
                for name in ("units", "pieces", "unit_cpu_ns", "unit_cpu_in_bubble_ns")}
        rate = 0.0
        if None not in counts and counts[1].time_s > counts[0].time_s:
            rate = (counts[1].samples - counts[0].samples) / (counts[1].time_s - counts[0].time_s)
        forecast = begin.jobs[job.id].get("forecast", {})
        # What schedulerd counts: slices of a process job, steps of 20 us of planned work in layer mode.
        compared = {"process": gain["units"] / seconds, "layer": gain["pieces"] / seconds}.get(job.example.way, rate)
        rates = [forecast.get(name, 0) for name in ("rate", "rate_low", "rate_high")]
        learned = re.search(r"times ([\d.]+), as in the last seconds", forecast.get("text", ""))
        planned = rates[0] / float(learned.group(1)) if learned else rates[0]
        offered_ns = end.offered_ns[job.device] - begin.offered_ns[job.device]
        result = Result(job.example.way, job.device, tuple(beside), compared, planned, *rates, forecast.get("text", ""),
                        gain["unit_cpu_in_bubble_ns"] / max(1, offered_ns),
                        gain["unit_cpu_ns"] / 1e9 / seconds / rate if rate else float("nan"))
        self.results.append(result)
        tell(f"{job.device} {result.way:8}{'beside ' + beside[0] if beside else 'alone':15}"
             f"{result.rate:8.4g}/s, forecast {result.forecast:8.4g} ({result.low:.4g} .. {result.high:.4g}), "
             f"planned {result.planned:.4g}, {result.used:.1%} of the offered time; {result.source}")


# --- Figures ---

def error(result):
    """Of the forecast, as a share of what was measured."""
    return abs(result.rate - result.forecast) / result.rate if result.rate else float("inf")


def plan_error(result):
    """The same of the plan alone, without what the job's last seconds say of it."""
    return abs(result.rate - result.planned) / result.rate if result.rate else float("inf")


def median(values):
    values = [value for value in values if value == value]
    return statistics.median(values) if values else float("nan")


def gains(results, of_one):
    """Of each pair, against what of_one makes of both alone on that device: max or mean."""
    alone = {(r.way, r.device): r.used for r in results if not r.beside}
    for pair in {(frozenset((r.way, *r.beside)), r.device) for r in results if r.beside}:
        ways, device = pair
        together = sum(r.used for r in results if r.device == device and frozenset((r.way, *r.beside)) == ways)
        yield together - of_one([alone[(way, device)] for way in ways])


def figures(results, measured):
    alone = [r for r in results if not r.beside]
    pairs = [r for r in results if r.beside]
    figure = {"forecast_error": median(map(error, alone)), "plan_error": median(map(plan_error, alone)),
              "forecast_error_beside": median(map(error, pairs)),
              "forecast_inside": statistics.mean(r.low <= r.rate <= r.high for r in alone),
              "gain_second_resident": median(gains(results, max)),
              "gain_second_resident_mean": median(gains(results, statistics.mean)),
              "used": median(r.used for r in alone)}
    for way in measured:
        mine = [r for r in alone if r.way == way]
        figure.update({f"forecast_error_{way}": median(map(error, mine)),
                       f"plan_error_{way}": median(map(plan_error, mine)),
                       f"used_{way}": median(r.used for r in mine),
                       f"rate_{way}": median(r.rate for r in mine),
                       f"forecast_{way}": median(r.forecast for r in mine),
                       f"efficiency_{way}": measured[way].cpu_s / median(r.cpu_s for r in results if r.way == way)})
    figure["efficiency"] = median(figure[f"efficiency_{way}"] for way in measured)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8, help="of each interval")
    parser.add_argument("--rounds", type=int, default=1, help="through all jobs and pairs")
    parser.add_argument("--warm-up", type=int, default=120, help="iterations before the first job")
    parser.add_argument("--samples", type=int, default=3, help="of a microbatch of the main job")
    options = parser.parse_args()
    with contextlib.ExitStack() as closing:
        run = Run(closing, options)
        measured = {way: Measured(example, run.cluster.folder) for way, example in EXAMPLES.items()}
        measure_alone(measured)
        for way, each in measured.items():
            tell(f"{way:8}alone: {each.cpu_s * 1e3:.4g} ms of CPU a sample")
        run.start_training(options.warm_up)
        # What filling costs is another benchmark's question; here it must not stop.
        run.command("main", "set-budget", MAIN_JOB, "100%")
        for _ in range(options.rounds):
            run.run_stages(measured)
        run.check()
        run.stop()
        measure_alone(measured)
        result = figures(run.results, measured)
    print(json.dumps({name: round(value, 5) for name, value in result.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
