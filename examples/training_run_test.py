"""The training run as a user starts it: determinism, and how it ends when something goes wrong."""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import unittest
from typing import List, Set

_TRAIN = pathlib.Path(__file__).resolve().parent / "pipeline_training" / "train.py"
_TIMEOUT_SECONDS = 60
_ENDLESS = ["--iterations", "1000000", "--print-every", "1"]


def command_of(*options: str) -> List[str]:
    return [sys.executable, str(_TRAIN), "--size", "tiny", *options]


def children_of(pid: int) -> Set[int]:
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return {int(child) for child in text.split()}


def is_alive(pid: int) -> bool:
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class TrainingRunTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.losses = cls.train("losses", "--no-pipefill", "--schedule", "1f1b")

    @classmethod
    def train(cls, name: str, *options: str) -> bytes:
        """Returns the loss file."""
        path = cls.folder / name
        environment = {**os.environ, "PIPEFILL_SOCKET": str(cls.folder / "nobody.sock")}
        subprocess.run(command_of("--iterations", "12", "--loss-file", str(path), *options),
                       check=True, timeout=_TIMEOUT_SECONDS, env=environment,
                       stdout=subprocess.DEVNULL)
        return path.read_bytes()

    def start_endless(self) -> subprocess.Popen:
        """Returns once the stages have done a step."""
        run = subprocess.Popen(command_of("--no-pipefill", *_ENDLESS), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        self.assertIn("iteration", run.stdout.readline())
        return run

    def test_loss_curve_is_the_same_bit_for_bit_with_the_other_schedule(self):
        self.assertEqual(self.train("gpipe", "--no-pipefill", "--schedule", "gpipe"), self.losses)

    def test_loss_curve_is_the_same_bit_for_bit_attached_without_an_agent(self):
        self.assertEqual(self.train("attached", "--schedule", "1f1b"), self.losses)

    def test_loss_curve_is_exact_and_goes_down(self):
        lines = [json.loads(line) for line in self.losses.splitlines()]
        self.assertEqual([line.get("iteration") for line in lines], [*range(12), None])
        losses = [float.fromhex(line["loss"]) for line in lines[:-1]]
        self.assertLess(losses[-1], losses[0] - 0.3)
        self.assertLess(float.fromhex(lines[-1]["validation_loss"]), losses[0] - 0.3)

    def test_a_killed_stage_ends_the_run_with_one_line_and_no_orphan(self):
        run = self.start_endless()
        stages = children_of(run.pid)
        self.assertEqual(len(stages), 2)
        os.kill(max(stages), signal.SIGKILL)
        _, errors = run.communicate(timeout=_TIMEOUT_SECONDS)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(errors, "stage 1 was killed by SIGKILL; the other stages were stopped\n")
        self.assertFalse(any(map(is_alive, stages)))

    def test_no_stage_outlives_a_killed_launcher(self):
        run = self.start_endless()
        ends = [os.pidfd_open(pid) for pid in children_of(run.pid)]
        for end in ends:
            self.addCleanup(os.close, end)
        run.kill()
        for end in ends:
            readable, _, _ = select.select([end], [], [], _TIMEOUT_SECONDS)
            self.assertEqual(readable, [end])

    def test_termination_stops_every_stage(self):
        run = self.start_endless()
        stages = children_of(run.pid)
        run.terminate()
        _, errors = run.communicate(timeout=_TIMEOUT_SECONDS)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM)
        self.assertEqual(errors, "stopped by SIGTERM\n")
        self.assertFalse(any(map(is_alive, stages)))

    def test_cores_that_cannot_be_used_are_refused(self):
        self.check_refused(["--pin-cores", "0"], "1 cores for 2 stages")
        self.check_refused(["--pin-cores", "0,4095"], "can be used here")

    def test_more_stages_than_layers_are_refused(self):
        self.check_refused(["--stages", "9"], "the 4 layers of size tiny cannot be cut into 9")

    def check_refused(self, options: List[str], text: str) -> None:
        run = subprocess.run(command_of(*options), stderr=subprocess.PIPE, text=True,
                             timeout=_TIMEOUT_SECONDS, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn(text, run.stderr)


if __name__ == "__main__":
    unittest.main()
