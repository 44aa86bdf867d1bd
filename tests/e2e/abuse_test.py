"""End to end: fill jobs that go wrong on purpose. The training run beside them computes what it computes alone and
goes on, agentd holds and ends them, and one line says why."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
from cluster import Cluster, finish, start_training, until  # noqa: E402

ABUSERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "abusers.py")
# Iterations of the training run alone; the one beside the abusers goes on as long as they do.
ITERATIONS = 400
# The bounds of agentd, shortened. Enough CPU time for the start of Python in front of the first unit.
SETTINGS = {
    "controller": cluster.ANY_COST,
    "processes_max": 32,
    "ladder": {"start_cpu_max": "4s", "freeze_after": "500ms", "kill_after": "1s"},
}


def lines_of(path):
    with open(path, "rb") as file:
        return file.read().split(b"\n")[:-1]


def mount_small(folder, size):
    """A disk of that size at `folder`; False where this user may not."""
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0


class AbuseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pipefill-e2e-")
        loss = os.path.join(cls.folder.name, "alone.jsonl")
        code, output = finish(start_training(loss, ITERATIONS))
        if code != 0:
            raise AssertionError(f"training without an agent ended with {code}:\n{output}")
        cls.losses_alone = lines_of(loss)[:ITERATIONS]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def submit(self, pipefill, name, *arguments, options=(), **more):
        return pipefill.submit(name, [cluster.PYTHON, ABUSERS, name, *arguments], *options, **more)

    def attempts(self, pipefill, job):
        return pipefill.cli_json("job", "show", job)["attempts"]

    def run_beside(self, pipefill, body):
        """`body` while a training run goes on that must not notice."""
        loss = pipefill.path("loss.jsonl")
        training = start_training(loss, 1_000_000, PIPEFILL_SOCKET=pipefill.socket)
        try:
            body()
            until(lambda: len(lines_of(loss)) >= ITERATIONS, "the training run goes on")
            self.assertIsNone(training.poll(), "the training run goes on")
        finally:
            training.terminate()
            finish(training)
        self.assertEqual(lines_of(loss)[:ITERATIONS], self.losses_alone, "filling changed the training result")
        self.assertIsNone(pipefill.processes["agentd"].poll(), pipefill.log_of("agentd"))

    def await_failure(self, pipefill, job):
        """The line that tells why the job failed."""
        code, output, errors = pipefill.cli("wait", job, "--timeout", "120s")
        self.assertEqual(code, 10, errors)
        end_text = self.attempts(pipefill, job)[-1]["end_text"]
        self.assertEqual(len([line for line in output.splitlines() if end_text in line]), 1, output)
        self.assertIn(end_text, " ".join(pipefill.cli("job", "show", job)[1].split()))
        return end_text

    def test_jobs_that_take_time_are_frozen_and_killed(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent(priority="normal", **SETTINGS)
            endless = self.submit(pipefill, "endless_unit")
            foreign = self.submit(pipefill, "never_attaches")

            def check():
                self.assertRegex(self.await_failure(pipefill, endless),
                                 r"^a unit used [0-9.]+ m?s of CPU time while no bubble was open and was killed; make "
                                 "units shorter than the bubbles$")
                self.assertRegex(self.await_failure(pipefill, foreign),
                                 r"^the task used [0-9.]+ s of CPU time without asking for a unit and was killed; "
                                 "let it use the SDK, submit it with --process, or raise ladder.start_cpu_max of agentd$")
                for job in (endless, foreign):
                    self.assertEqual(self.attempts(pipefill, job)[-1]["progress"]["freezes"], 1)

            self.run_beside(pipefill, check)

    def test_jobs_that_take_processes_and_memory_get_no_more_than_their_share(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent(priority="normal", **SETTINGS)
            bomb = self.submit(pipefill, "fork_bomb")
            glutton = self.submit(pipefill, "glutton", memory="64MiB")

            def check():
                self.check_bomb(pipefill, bomb)
                self.assertRegex(self.await_failure(pipefill, glutton),
                                 r"^out_of_memory \(cap 128 MiB, peak 1[0-9.]+ MiB\)$")
                attempts = self.attempts(pipefill, glutton)
                self.assertEqual([attempt["end_cause"] for attempt in attempts], ["out_of_memory"] * 2)
                self.assertRegex(attempts[0]["end_text"], r"^out_of_memory \(cap 64 MiB, peak [0-9.]+ MiB\)$")

            self.run_beside(pipefill, check)

    def check_bomb(self, pipefill, bomb):
        text = self.await_failure(pipefill, bomb)
        attempt = self.attempts(pipefill, bomb)[-1]
        if attempt["progress"]["memory_guard"].startswith("control group"):
            # Itself and 31 more, and one that was refused.
            self.assertEqual(pipefill.cli("logs", bomb)[1], "fork failed after 31 children: EAGAIN\n")
            self.assertEqual(text, "exit code 1; 1 more processes were refused to it, its limit is 32 (processes_max "
                                   "of agentd)")
        else:  # agentd counts, and kills
            self.assertRegex(text, "^the task had [0-9]+ processes and was killed; its limit is 32")
        own = pipefill.socket.encode()
        left = [entry for entry in os.listdir("/proc") if entry.isdigit() and is_bomb(entry, own)]
        self.assertEqual(left, [])

    def test_job_that_fills_the_disk_of_the_logs_ends_as_ever_and_its_log_says_so(self):
        with Cluster() as pipefill:
            disk = pipefill.path("agentd")
            if not mount_small(disk, "6m"):
                self.skipTest("only root can mount a small disk; attempt_log_test and launcher_test write to /dev/full")
            try:
                self.check_full_disk(pipefill)
            finally:
                for name in list(pipefill.processes):
                    pipefill.stop(name, 15)
                subprocess.run(["umount", "-l", disk], check=True)

    def check_full_disk(self, pipefill):
        pipefill.start_scheduler()
        pipefill.start_agent(priority="normal", trace_max="1MiB", **SETTINGS)
        chatterbox = self.submit(pipefill, "chatterbox", "16", options=["--retries", "2"])

        def check():
            code, _, errors = pipefill.cli("wait", chatterbox, "--timeout", "120s")
            self.assertEqual(code, 0, errors)
            attempt, = self.attempts(pipefill, chatterbox)
            self.assertEqual(attempt["end_text"], "exit code 0; its log ends early: write: No space left on device")
            self.assertEqual(attempt["progress"]["log_error"], "write: No space left on device")
            code, output, errors = pipefill.cli("logs", chatterbox)
            self.assertEqual(code, 0, errors)
            self.assertGreater(len(output), 1 << 20)
            self.assertEqual(errors, "pipefill: the log of attempt 1 ends early: write: No space left on device\n")
            # The next one finds room: what is over makes way.
            after = pipefill.submit("after", [cluster.GRAPH, "--rounds", "1", "--result", pipefill.path("r.json")])
            code, _, errors = pipefill.cli("wait", after, "--timeout", "120s")
            self.assertEqual(code, 0, errors)

        self.run_beside(pipefill, check)


def is_bomb(pid, mark):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as command, open(f"/proc/{pid}/environ", "rb") as environ:
            return b"fork_bomb" in command.read() and mark in environ.read()
    except OSError:
        return False  # it has just ended


if __name__ == "__main__":
    unittest.main(verbosity=2)
