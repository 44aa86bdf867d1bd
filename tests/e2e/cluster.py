"""A real schedulerd and agentd in a temporary folder, for the end-to-end tests.

Both run as the built binaries, on ephemeral ports, with two CPU devices. Nothing here sleeps: waiting
is done by asking the CLI, by reading a pipe, or by the process's own end.
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("PIPEFILL_BIN", os.path.join(ROOT, "bazel-bin"))
PYTHON = "/usr/bin/python3"
CLI = os.path.join(BIN, "cli/pipefill")
SCHEDULERD = os.path.join(BIN, "scheduler/schedulerd")
AGENTD = os.path.join(BIN, "agent/agentd")
GRAPH = os.path.join(BIN, "examples/graph_cpp/graph")
SITE = os.path.join(BIN, "client/python/site")
TRAIN = os.path.join(ROOT, "examples/pipeline_training/train.py")
# Upper bound on anything these tests wait for, in seconds. Reached only when something is broken.
PATIENCE_S = 180
# Iterations of the tiny model last some 6 ms: filling them costs more than a real main job may pay. For tests of what
# survives, not of what it costs.
ANY_COST = {"budget_ppm": 1_000_000}


def cores():
    """Two cores that this process may use, as text; the same one twice on a one-core machine."""
    allowed = sorted(os.sched_getaffinity(0))
    return [str(allowed[0]), str(allowed[min(1, len(allowed) - 1)])]


def environment(**more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIPEFILL_")}
    clean.update(PYTHONPATH=SITE, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", **more)
    return clean


def until(question, what):
    """Asks until the answer is true. The question is slow by itself (it starts a process)."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        answer = question()
        if answer:
            return answer
    raise AssertionError(f"not within {PATIENCE_S} s: {what}")


class Cluster:
    """Use as a context manager; `kill_*` ends a daemon with SIGKILL, `start_*` brings it back."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pipefill-e2e-")
        self.socket = os.path.join(self.folder, "agentd.sock")
        self.address = None
        self.processes = {}

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for name in list(self.processes):
            self.stop(name, signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_config(self, name, config):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return self.path(name)

    def start_scheduler(self):
        # The port of the first start is kept, so that agents and users find a restarted one.
        config = self.write_config("schedulerd.json", {
            "listen": self.address or "127.0.0.1:0",
            "address_file": self.path("address"),
            "state_dir": self.path("schedulerd"),
        })
        if os.path.exists(self.path("address")):
            os.unlink(self.path("address"))
        self.start("schedulerd", [SCHEDULERD, "--config", config])
        until(lambda: self.has_started("schedulerd", self.path("address")), "schedulerd writes its address")
        with open(self.path("address"), encoding="utf-8") as file:
            self.address = file.read().strip()

    def start_agent(self, priority="idle", **more):
        """priority: of tasks; at "normal" they get on when something else keeps the machine busy."""
        first, second = cores()
        devices = [{"name": "cpu0", "backend": "cpu", "cores": first, "memory": "2GiB", "priority": priority}]
        if second != first:
            devices.append({**devices[0], "name": "cpu1", "cores": second})
        config = {
            "node": "node-a", "scheduler": self.address or "127.0.0.1:1", "socket": self.socket,
            "state_dir": self.path("agentd"), "python_path": SITE, "devices": devices,
            "hold_out": {"block_iterations": 2, "one_in": 4},
        }
        config.update(more)
        self.start("agentd", [AGENTD, "--config", self.write_config("agentd.json", config)])
        until(lambda: self.has_started("agentd", self.socket), "agentd makes its socket")

    def has_started(self, name, path):
        if self.processes[name].poll() is not None:
            raise AssertionError(f"{name} ended: {self.log_of(name)}")
        return os.path.exists(path)

    def start(self, name, command):
        with open(self.path(f"{name}.log"), "a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT,
                                                    env=environment())

    def stop(self, name, number):
        process = self.processes.pop(name)
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill(self, name):
        self.stop(name, signal.SIGKILL)

    def log_of(self, name):
        with open(self.path(f"{name}.log"), encoding="utf-8") as file:
            return file.read()

    def cli(self, *arguments):
        """Exit code, standard output and standard error of one CLI call."""
        done = subprocess.run([CLI, *arguments], env=environment(PIPEFILL_SCHEDULER=self.address or ""),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def cli_json(self, *arguments):
        code, output, errors = self.cli(*arguments, "-o", "json")
        if code != 0:
            raise AssertionError(f"pipefill {' '.join(arguments)} ended with {code}: {errors}")
        return json.loads(output)

    def submit(self, name, command, *options, memory="512MiB"):
        code, output, errors = self.cli("submit", "-o", "name", "--name", name, "--memory", memory, *options,
                                        "--", *command)
        if code != 0:
            raise AssertionError(f"submit ended with {code}: {errors}")
        return output.strip()


def start_training(loss_file, iterations, size="tiny", options=(), **more):
    """The example's training run on two cores, its output on a pipe."""
    command = [PYTHON, TRAIN, "--stages", "2", "--pin-cores", ",".join(cores()), "--size", size,
               "--iterations", str(iterations), "--seed", "7", "--loss-file", loss_file, *options]
    return subprocess.Popen(command, env=environment(**more), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def finish(process):
    """Reads a process to its end; returns (exit code, output)."""
    output, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output


def read(path):
    with open(path, "rb") as file:
        return file.read()
