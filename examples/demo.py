"""The demo: a real pipeline-parallel training run whose bubbles do work, and the report of it.

Runs, with the built binaries and no simulation:
  1. every fill job alone on one core: its output, and what a unit of it costs undisturbed;
  2. the training run without pipefill: its loss curve;
  3. `pipefill dev` (schedulerd and agentd in one process), the fill jobs through the CLI, and the
     same training run again. Blocks of iterations are filled and left alone in turn, so what filling
     costs is measured inside one run;
  4. the comparison of outputs and loss curves, the trace checker, and the report as table, JSON and page.

Exit code 0 only if every output equals that of the job run alone, the loss curves are equal bit for
bit, every job ended once, and the trace checker found nothing.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = "/usr/bin/python3"
TRAIN = os.path.join(ROOT, "examples/pipeline_training/train.py")
# How long anything may take before the demo gives up on it, in seconds.
STEP_LIMIT_S = 600
# Further training runs for jobs that one run had too little bubble time for.
MORE_RUNS_MAX = 3
# Jobs whose units have no fixed size: a unit alone is worth many in bubbles, so what units cost alone says
# nothing about them.
ELASTIC = ("embed-text",)
# Exit code of `pipefill wait`, see `pipefill help exit-codes`.
WAIT_TIMED_OUT = 124


def say(text):
    print(f"demo: {text}", flush=True)


class DemoError(Exception):
    """One line for people: what failed and where to look."""


class Demo:
    def __init__(self, options):
        self.options = options
        self.out = os.path.abspath(options.out)
        self.bin = os.path.abspath(options.bin)
        self.cli = os.path.join(self.bin, "cli/pipefill")
        self.site = os.path.join(self.bin, "client/python/site")
        self.state = os.path.join(self.out, "state")
        self.failures = []
        self.environment = dict(
            os.environ,
            PYTHONPATH=self.site,
            OMP_NUM_THREADS="1",
            OPENBLAS_NUM_THREADS="1",
            MKL_NUM_THREADS="1",
        )
        for name in ("PIPEFILL_SOCKET", "PIPEFILL_SCHEDULER", "PIPEFILL_DEVICE", "PIPEFILL_MODE"):
            self.environment.pop(name, None)

    # The fill jobs: name -> command, result file appended by the caller.
    def fill_jobs(self):
        scale = self.options.scale
        return {
            "embed-text": [PYTHON, self.example("batch_inference/job.py"),
                           "--passes", str(max(1, round(2 * scale)))],
            "train-classifier": [PYTHON, self.example("fill_training/job.py"),
                                 "--steps", str(max(50, round(1500 * scale)))],
            "word-graph": [os.path.join(self.bin, "examples/graph_cpp/graph"),
                           "--rounds", str(max(10, round(100 * scale)))],
        }

    @staticmethod
    def example(path):
        return os.path.join(ROOT, "examples", path)

    def run(self):
        shutil.rmtree(self.out, ignore_errors=True)
        os.makedirs(self.out)
        self.run_fill_jobs_alone()
        self.train("alone", ["--no-pipefill"], self.environment)
        daemon = self.start_dev()
        try:
            jobs = self.submit_fill_jobs()
            socket = os.path.join(self.state, "agentd.sock")
            attached = dict(self.environment, PIPEFILL_SOCKET=socket)
            self.train("filled", [], attached, self.show_bubbles)
            for _ in range(MORE_RUNS_MAX):
                if all(self.has_ended(job) for job in jobs.values()):
                    break
                say("jobs that are not done wait, parked, for the next training run: here it is")
                self.train("again", [], attached)
            self.wait_for(jobs)
            self.check("trace and report", self.report())
        finally:
            self.stop(daemon)
        self.compare()
        return self.summary()

    def run_fill_jobs_alone(self):
        for name, command in self.fill_jobs().items():
            say(f"alone: {name}")
            result = os.path.join(self.out, f"alone-{name}.json")
            self.call(["taskset", "-c", "1", *command, "--result", result], f"alone-{name}.log",
                      self.environment)

    def train(self, kind, flags, environment, midway=None):
        """`midway` is called once, when half of the iterations are done."""
        say(f"training run, {kind}: {self.options.iterations} iterations, {self.options.schedule}")
        command = [PYTHON, TRAIN, "--stages", "2", "--pin-cores", "0,1", "--schedule", self.options.schedule,
                   "--iterations", str(self.options.iterations), "--seed", "1",
                   "--loss-file", os.path.join(self.out, f"loss-{kind}.jsonl"), *flags]
        with open(os.path.join(self.out, f"training-{kind}.log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
            for line in process.stdout:
                log.write(line)
                print("  " + line.rstrip(), flush=True)
                if midway and self.iteration_of(line) >= self.options.iterations // 2:
                    midway()
                    midway = None
            if process.wait(timeout=STEP_LIMIT_S) != 0:
                raise DemoError(f"training run ({kind}) failed: see {log.name}")

    @staticmethod
    def iteration_of(line):
        words = line.split()
        return int(words[1]) if len(words) > 1 and words[0] == "iteration" and words[1].isdigit() else -1

    def show_bubbles(self):
        say("what agentd has learned so far (pipefill bubbles):")
        print(self.output([self.cli, "bubbles"]), flush=True)

    def start_dev(self):
        say("starting schedulerd and agentd (pipefill dev)")
        log = open(os.path.join(self.out, "dev.log"), "w", encoding="utf-8")
        command = [self.cli, "dev", "--state", self.state, "--listen", "127.0.0.1:0", "--cores", "0,1",
                   "--hold-out-block", "4", "--hold-out-one-in", "2", "--python-path", self.site]
        daemon = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=self.environment)
        address = os.path.join(self.state, "address")
        deadline = time.monotonic() + 30
        while not (os.path.exists(address) and os.path.exists(os.path.join(self.state, "agentd.sock"))):
            if daemon.poll() is not None or time.monotonic() > deadline:
                raise DemoError(f"pipefill dev did not start: see {log.name}")
            time.sleep(0.05)
        with open(address, encoding="utf-8") as file:
            self.environment["PIPEFILL_SCHEDULER"] = file.read().strip()
        return daemon

    def submit_fill_jobs(self):
        jobs = {}
        for name, command in self.fill_jobs().items():
            result = os.path.join(self.out, f"filled-{name}.json")
            arguments = [self.cli, "submit", "-o", "name", "--name", name, "--memory", "512MiB", "--",
                         *command, "--result", result]
            jobs[name] = self.output(arguments).strip()
            say(f"submitted {name} as job {jobs[name]}")
        return jobs

    def has_ended(self, job):
        command = [self.cli, "wait", job, "--timeout", "1s"]
        done = subprocess.run(command, env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False)
        return done.returncode != WAIT_TIMED_OUT

    def wait_for(self, jobs):
        for name, job in jobs.items():
            code = subprocess.run([self.cli, "wait", job, "--timeout", "20s"], env=self.environment,
                                  check=False).returncode
            self.check(f"job {job} ({name}) succeeded", code == 0)
        print(self.output([self.cli, "jobs", "--all"]), flush=True)

    def report(self):
        arguments = [self.cli, "report", "--check"]
        for name in self.fill_jobs():
            if name in ELASTIC:
                continue
            arguments += ["--alone", f"{name}={os.path.join(self.out, f'alone-{name}.json')}"]
        with open(os.path.join(self.out, "report.json"), "w", encoding="utf-8") as file:
            subprocess.run([*arguments, "-o", "json"], env=self.environment, stdout=file, check=False)
        pictures = ["--html", os.path.join(self.out, "report.html"),
                    "--svg", os.path.join(self.out, "timeline.svg")]
        return subprocess.run([*arguments, *pictures], env=self.environment, check=False).returncode == 0

    def compare(self):
        for name in self.fill_jobs():
            results = []
            for kind in ("alone", "filled"):
                path = os.path.join(self.out, f"{kind}-{name}.json")
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        results.append(json.load(file))
                else:
                    results.append({})
            same = bool(results[0].get("sha256")) and results[0]["sha256"] == results[1].get("sha256")
            self.check(f"output of {name} in bubbles equals that of the same job alone", same)
        losses = []
        for kind in ("alone", "filled"):
            with open(os.path.join(self.out, f"loss-{kind}.jsonl"), "rb") as file:
                losses.append(file.read())
        self.check("loss curve of the filled training run equals the unfilled one bit for bit",
                   losses[0] == losses[1] and len(losses[0]) > 0)

    def check(self, text, good):
        if not good:
            self.failures.append(text)
        say(f"{'ok  ' if good else 'FAIL'} {text}")

    def summary(self):
        say(f"page with the timeline: {os.path.join(self.out, 'report.html')}")
        say(f"figures as JSON:        {os.path.join(self.out, 'report.json')}")
        if self.failures:
            say(f"{len(self.failures)} checks failed")
        return 1 if self.failures else 0

    def call(self, command, log_name, environment):
        path = os.path.join(self.out, log_name)
        with open(path, "w", encoding="utf-8") as log:
            code = subprocess.run(command, env=environment, stdout=log, stderr=subprocess.STDOUT,
                                  timeout=STEP_LIMIT_S, check=False).returncode
        if code != 0:
            raise DemoError(f"{' '.join(command)} ended with {code}: see {path}")

    def output(self, command):
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True,
                              timeout=STEP_LIMIT_S, check=False)
        if done.returncode != 0:
            raise DemoError(f"{' '.join(command)} ended with {done.returncode}")
        return done.stdout

    @staticmethod
    def stop(daemon):
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(timeout=20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(ROOT, "out/demo"), help="folder for all results; emptied first")
    parser.add_argument("--bin", default=os.path.join(ROOT, "bazel-bin"), help="folder of the built binaries")
    parser.add_argument("--iterations", type=int, default=500, help="iterations of the training run")
    parser.add_argument("--schedule", choices=("gpipe", "1f1b"), default="1f1b")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the fill jobs")
    try:
        return Demo(parser.parse_args()).run()
    except (DemoError, OSError, subprocess.TimeoutExpired) as error:
        say(f"failed: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
