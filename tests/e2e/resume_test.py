"""End to end: fill jobs that are killed and moved, under daemons that are killed, give what they give alone."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
from cluster import Cluster, finish, start_training, until  # noqa: E402

EXAMPLES = os.path.join(cluster.ROOT, "examples")
# Enough work for all that happens to them meanwhile.
JOBS = {
    "classify": [cluster.PYTHON, os.path.join(EXAMPLES, "fill_training/job.py"), "--steps", "8000"],
    "embed": [cluster.PYTHON, os.path.join(EXAMPLES, "batch_inference/job.py"), "--passes", "6"],
    "graph": [cluster.GRAPH, "--rounds", "1000"],
}


# Tasks must get on, on a busy machine too.
FILL_FREELY = {
    "checkpoint_every_min": "100ms",
    "checkpoint_every_max": "500ms",
    "controller": cluster.ANY_COST,
    "hold_out": {"one_in": 0, "one_in_late": 0},
    "devices": [{"name": f"cpu{i}", "backend": "cpu", "cores": core, "memory": "2GiB", "priority": "normal",
                 "resident_limit": 3}
                for i, core in enumerate(cluster.cores())],
}


def command(name, folder):
    return JOBS[name] + ["--result", os.path.join(folder, f"{name}.json"),
                         "--output", os.path.join(folder, f"{name}.out")]


def sha256_of(name, folder):
    with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
        return json.load(file)["sha256"]


def pid_of(pipefill, job):
    """Of the job's process under this cluster, and no other's."""
    marks = {f"PIPEFILL_JOB={job}".encode(), f"PIPEFILL_SOCKET={pipefill.socket}".encode()}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                is_ours = marks <= set(file.read().split(b"\0"))
        except OSError:
            continue  # it has just ended
        if is_ours:
            return int(entry)
    return None


class ResumeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pipefill-e2e-")
        self.addCleanup(folder.cleanup)
        self.alone = folder.name

    def run_alone(self):
        """All at once, while nothing else runs; {name: sha256}."""
        runs = {name: subprocess.Popen(command(name, self.alone), env=cluster.environment(),
                                       stdout=subprocess.DEVNULL) for name in JOBS}
        for name, run in runs.items():
            self.assertEqual(run.wait(timeout=cluster.PATIENCE_S), 0, name)
        return {name: sha256_of(name, self.alone) for name in JOBS}

    @staticmethod
    def last_attempt(pipefill, job):
        """With number 0 before the first."""
        attempts = pipefill.cli_json("job", "show", job)["attempts"]
        return attempts[-1] if attempts else {"number": 0, "state": "none"}

    def await_attempt(self, pipefill, job, number):
        """Until that attempt has saved something; returns it."""
        def has_saved():
            attempt = self.last_attempt(pipefill, job)
            self.assertLessEqual(attempt["number"], number, attempt)
            is_it = attempt["number"] == number and attempt["state"] == "running"
            return attempt if is_it and attempt.get("progress", {}).get("checkpoints", 0) > 0 else None
        return until(has_saved, f"a checkpoint of attempt {number} of job {job}")

    def await_units(self, pipefill, jobs):
        before = {job: self.last_attempt(pipefill, job)["progress"]["units"] for job in jobs}
        for job in jobs:
            until(lambda job=job: self.last_attempt(pipefill, job)["progress"]["units"] > before[job],
                  f"further units of job {job}")

    def move(self, pipefill, job):
        """To the other device; returns where it was."""
        device = self.last_attempt(pipefill, job)["device"]
        code, _, errors = pipefill.cli("job", "move", job, "--to",
                                       "node-a/cpu1" if device == "cpu0" else "node-a/cpu0")
        self.assertEqual(code, 0, errors)
        return device

    def test_results_are_those_of_the_jobs_alone_whatever_happens(self):
        expected = self.run_alone()
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent(**FILL_FREELY)
            ids = {name: pipefill.submit(name, command(name, pipefill.folder), "--retries", "3")
                   for name in JOBS}
            training = start_training(pipefill.path("loss.jsonl"), 100000, PIPEFILL_SOCKET=pipefill.socket)
            try:
                self.check_kill_of_tasks(pipefill, [ids["classify"], ids["graph"]])
                self.check_kill_of_daemons(pipefill, list(ids.values()))
                self.check_move(pipefill, ids["graph"])
                self.check_move(pipefill, ids["classify"])
                for job in ids.values():
                    code, _, errors = pipefill.cli("wait", job, "--timeout", f"{cluster.PATIENCE_S}s")
                    self.assertEqual(code, 0, errors)
                self.assertIsNone(training.poll(), "the training run goes on")
            finally:
                training.terminate()
                finish(training)
            self.assertEqual({name: sha256_of(name, pipefill.folder) for name in JOBS}, expected)
            # Nobody needs them any more.
            until(lambda: not os.listdir(pipefill.path("agentd/checkpoints")), "the checkpoints are gone")
            code, output, errors = pipefill.cli("report", "--check", "-o", "json")
            self.assertEqual(code, 0, output + errors)

    def check_kill_of_tasks(self, pipefill, jobs):
        for job in jobs:
            self.await_attempt(pipefill, job, 1)
            os.kill(pid_of(pipefill, job), signal.SIGKILL)
        for job in jobs:
            attempt = self.await_attempt(pipefill, job, 2)
            self.assertRegex(attempt["progress"]["resumed_from"], "^checkpoint [0-9]+ of ")

    def check_kill_of_daemons(self, pipefill, jobs):
        for job in jobs:
            until(lambda job=job: self.last_attempt(pipefill, job).get("progress", {}).get("units", 0),
                  f"units of job {job}")
        numbers = [self.last_attempt(pipefill, job)["number"] for job in jobs]
        pipefill.kill("agentd")
        pipefill.start_agent(**FILL_FREELY)
        self.await_units(pipefill, jobs)
        pipefill.kill("schedulerd")
        pipefill.start_scheduler()
        until(lambda: all(self.last_attempt(pipefill, job).get("progress") for job in jobs), "a report")
        self.await_units(pipefill, jobs)
        self.assertEqual([self.last_attempt(pipefill, job)["number"] for job in jobs], numbers,
                         "a kill of a daemon costs no attempt")

    def check_move(self, pipefill, job):
        number = self.last_attempt(pipefill, job)["number"]
        device = self.move(pipefill, job)
        attempt = self.await_attempt(pipefill, job, number + 1)
        self.assertNotEqual(attempt["device"], device)
        self.assertRegex(attempt["progress"]["resumed_from"], "^checkpoint [0-9]+ of ")
        ended = pipefill.cli_json("job", "show", job)["attempts"][-2]
        self.assertIn("moved: a user wants it on", ended["end_text"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
