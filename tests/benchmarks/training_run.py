"""What the benchmarks with a real main job share: schedulerd, agentd with a device for each of two cores, and
the two-stage training run of examples/pipeline_training on them.
"""

import csv
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "e2e"))

import cluster  # noqa: E402

MAIN_JOB = "gpt"


def say(name, text):
    """Progress of the benchmark `name`."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)


class TrainingRun:
    """A cluster on which a training run is started once; ended by stop(), which is safe to call at any time."""

    def __init__(self, closing, size):
        """closing: an ExitStack that ends all of it. size: options of the training run."""
        self.cluster = closing.enter_context(cluster.Cluster())
        self.training = None
        self.size = size
        closing.callback(self.stop)
        self.cluster.start_scheduler()
        first, second = cluster.cores()
        self.cluster.start_agent(hold_out={}, devices=[
            {"name": f"cpu{i}", "backend": "cpu", "cores": core, "memory": "2GiB", "resident_limit": 2}
            for i, core in enumerate((first, second))])

    def start_training(self, warm_up):
        """Returns once it has trained for `warm_up` iterations."""
        self.training = subprocess.Popen(
            [cluster.PYTHON, cluster.TRAIN, "--stages", "2", "--pin-cores", ",".join(cluster.cores()),
             "--iterations", "1000000", "--print-every", "20", "--name", MAIN_JOB, *self.size],
            env=cluster.environment(PIPEFILL_SOCKET=self.cluster.socket), stdout=subprocess.PIPE, text=True)
        for line in self.training.stdout:
            words = line.split()
            if words[:1] == ["iteration"] and int(words[1]) >= warm_up:
                break

    def command(self, *arguments):
        code, _, errors = self.cluster.cli(*arguments)
        if code != 0:
            raise RuntimeError(f"pipefill {' '.join(arguments)}: {errors}")

    def bubbles(self):
        """Every bubble that the trace has, as rows of `pipefill report --csv`."""
        path = self.cluster.path("bubbles.csv")
        self.command("report", "--csv", path)
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def check(self):
        code, output, _ = self.cluster.cli("report", "--check")
        if code != 0:
            raise RuntimeError(f"the trace checker found violations:\n{output}")

    def control(self):
        """What the controller says, per device."""
        devices = self.cluster.cli_json("devices")["devices"]
        return [device.get("main_rank", {}).get("control", {}) for device in devices]

    def stop(self):
        if self.training is not None:
            self.training.terminate()
            self.training.wait()
