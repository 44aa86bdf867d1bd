"""End to end: all examples of fill jobs, parked, killed and moved, under daemons that are killed, give what they give
alone, bit for bit."""
import collections
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
# arguments: RESULT and OUTPUT stand for files. saves: it goes on from checkpoints; else it begins again.
Example = collections.namedtuple("Example", "arguments saves options", defaults=[()])
RESULT, OUTPUT = "RESULT", "OUTPUT"
FILES = ["--result", RESULT, "--output", OUTPUT]
# One of each way. Enough work for all that happens to them meanwhile.
JOBS = {
    "classify": Example([cluster.PYTHON, os.path.join(EXAMPLES, "fill_training/job.py"), "--steps", "8000", *FILES],
                        saves=True),
    "embed": Example([cluster.PYTHON, os.path.join(EXAMPLES, "batch_inference/job.py"), "--passes", "6", *FILES],
                     saves=True),
    "graph": Example([cluster.GRAPH, "--rounds", "1000", *FILES], saves=True),
    "compress": Example([os.path.join(EXAMPLES, "compress_process/compress.sh"), RESULT, "120"],
                        saves=False, options=["--process"]),
    "gpt": Example([cluster.PYTHON, os.path.join(EXAMPLES, "gpt_layer/train.py"), "--steps", "200", *FILES],
                   saves=False),
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
    files = {RESULT: os.path.join(folder, f"{name}.json"), OUTPUT: os.path.join(folder, f"{name}.out")}
    return [files.get(word, word) for word in JOBS[name].arguments]


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


def folders_in(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []


class ResumeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pipefill-e2e-")
        self.addCleanup(folder.cleanup)
        self.alone = folder.name

    def run_alone(self, names):
        """All at once, while nothing else runs; {name: sha256}."""
        runs = {name: subprocess.Popen(command(name, self.alone), env=cluster.environment(),
                                       stdout=subprocess.DEVNULL) for name in names}
        for name, run in runs.items():
            self.assertEqual(run.wait(timeout=cluster.PATIENCE_S), 0, name)
        return {name: sha256_of(name, self.alone) for name in names}

    @staticmethod
    def last_attempt(pipefill, job):
        """With number 0 before the first."""
        attempts = pipefill.cli_json("job", "show", job)["attempts"]
        return attempts[-1] if attempts else {"number": 0, "state": "none"}

    def await_attempt(self, pipefill, job, number, saves):
        """Until that attempt has worked, and saved something if it `saves`; returns it."""
        def has_worked():
            attempt = self.last_attempt(pipefill, job)
            self.assertLessEqual(attempt["number"], number, attempt)
            is_it = attempt["number"] == number and attempt["state"] == "running"
            return attempt if is_it and attempt.get("progress", {}).get("checkpoints" if saves else "units") else None
        return until(has_worked, f"{'a checkpoint' if saves else 'a unit'} of attempt {number} of job {job}")

    def await_units(self, pipefill, jobs):
        before = {job: self.last_attempt(pipefill, job)["progress"]["units"] for job in jobs}
        for job in jobs:
            until(lambda job=job: self.last_attempt(pipefill, job)["progress"]["units"] > before[job],
                  f"further units of job {job}")

    def await_next_attempt(self, pipefill, job, number, saves):
        attempt = self.await_attempt(pipefill, job, number + 1, saves)
        self.assertRegex(attempt["progress"]["resumed_from"] if saves else "checkpoint 1 of", "^checkpoint [0-9]+ of")
        return attempt

    def test_results_of_jobs_that_go_on_from_checkpoints_are_those_of_the_jobs_alone(self):
        self.check_results([name for name, example in JOBS.items() if example.saves])

    def test_results_of_jobs_that_begin_again_are_those_of_the_jobs_alone(self):
        # Layers and slices need longer bubbles than the tiny model has.
        self.check_results([name for name, example in JOBS.items() if not example.saves], size="small")

    def check_results(self, names, size="tiny"):
        expected = self.run_alone(names)
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent(**FILL_FREELY)
            ids = {name: pipefill.submit(name, command(name, pipefill.folder), "--retries", "3", *example.options)
                   for name, example in JOBS.items() if name in names}
            training = start_training(pipefill.path("loss.jsonl"), 100000, size=size,
                                      PIPEFILL_SOCKET=pipefill.socket)
            try:
                self.check_kill_of_tasks(pipefill, ids)
                self.check_pause(pipefill, ids)
                self.check_kill_of_daemons(pipefill, list(ids.values()))
                for name in ids:
                    self.check_move(pipefill, ids[name], JOBS[name].saves)
                for job in ids.values():
                    code, _, errors = pipefill.cli("wait", job, "--timeout", f"{cluster.PATIENCE_S}s")
                    self.assertEqual(code, 0, errors)
                self.assertIsNone(training.poll(), "the training run goes on")
            finally:
                training.terminate()
                finish(training)
            self.assertEqual({name: sha256_of(name, pipefill.folder) for name in names}, expected)
            # Nobody needs them any more.
            until(lambda: not folders_in(pipefill.path("agentd/checkpoints")), "the checkpoints are gone")
            code, output, errors = pipefill.cli("report", "--check", "-o", "json")
            self.assertEqual(code, 0, output + errors)

    def check_kill_of_tasks(self, pipefill, ids):
        for name, job in ids.items():
            self.await_attempt(pipefill, job, 1, JOBS[name].saves)
            os.kill(pid_of(pipefill, job), signal.SIGKILL)
        for name, job in ids.items():
            self.await_next_attempt(pipefill, job, 1, JOBS[name].saves)
            ended = pipefill.cli_json("job", "show", job)["attempts"][0]
            self.assertTrue(ended["end_text"].startswith("ended by signal 9, which agentd did not send"), ended)

    def check_pause(self, pipefill, ids):
        """What is done so far is saved, although no bubble is filled any more."""
        saving = [job for name, job in ids.items() if JOBS[name].saves]
        before = {job: self.last_attempt(pipefill, job)["progress"]["checkpoints"] for job in saving}
        self.assertEqual(pipefill.cli("pause", "gpt")[0], 0)
        for job in saving:
            until(lambda job=job: self.last_attempt(pipefill, job)["progress"]["checkpoints"] > before[job],
                  f"a checkpoint of job {job} in the pause")
        self.assertEqual(pipefill.cli("resume", "gpt")[0], 0)
        self.await_units(pipefill, list(ids.values()))

    def check_kill_of_daemons(self, pipefill, jobs):
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

    def check_move(self, pipefill, job, saves):
        before = self.last_attempt(pipefill, job)
        other = {"cpu0": "node-a/cpu1", "cpu1": "node-a/cpu0"}[before["device"]]
        code, _, errors = pipefill.cli("job", "move", job, "--to", other)
        self.assertEqual(code, 0, errors)
        attempt = self.await_next_attempt(pipefill, job, before["number"], saves)
        self.assertEqual(f"node-a/{attempt['device']}", other)
        ended = pipefill.cli_json("job", "show", job)["attempts"][-2]
        self.assertIn("moved: a user wants it on", ended["end_text"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
