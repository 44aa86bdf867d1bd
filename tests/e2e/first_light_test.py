"""End to end: the built daemons, a real training run, real fill jobs, and things that break meanwhile."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
from cluster import Cluster, finish, read, start_training, until  # noqa: E402

# Long enough for tasks to start beside it: they start up in bubbles only.
ITERATIONS = 1000


def units_of(job):
    return sum(attempt.get("progress", {}).get("units", 0) for attempt in job["attempts"])


class FirstLightTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pipefill-e2e-")
        cls.unfilled_loss = os.path.join(cls.folder.name, "unfilled.jsonl")
        code, output = finish(start_training(cls.unfilled_loss, ITERATIONS))
        if code != 0:
            raise AssertionError(f"training without an agent ended with {code}:\n{output}")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def graph(self, result, rounds=8):
        return [cluster.GRAPH, "--rounds", str(rounds), "--result", result]

    def result_alone(self):
        path = os.path.join(self.folder.name, "alone.json")
        subprocess.run(self.graph(path), env=cluster.environment(), check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_filled_run_survives_a_kill_of_the_scheduler_and_loses_nothing(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent(controller=cluster.ANY_COST)
            results = [pipefill.path(f"result-{i}.json") for i in range(3)]
            jobs = [pipefill.submit(f"graph-{i}", self.graph(result)) for i, result in enumerate(results)]
            loss = pipefill.path("loss.jsonl")
            training = start_training(loss, ITERATIONS, PIPEFILL_SOCKET=pipefill.socket)
            try:
                until(lambda: units_of(pipefill.cli_json("job", "show", jobs[0])) > 0, "the first unit")
                pipefill.kill("schedulerd")
                code, _, errors = pipefill.cli("jobs")
                self.assertEqual(code, 6, errors)
                pipefill.start_scheduler()
                training_code, output = finish(training)
            finally:
                training.kill()
            self.assertEqual(training_code, 0, output)
            self.assertEqual(read(loss), read(self.unfilled_loss), "filling changed the training result")

            # What the first run had no time for goes on in the next.
            again = start_training(pipefill.path("loss-2.jsonl"), 4 * ITERATIONS, PIPEFILL_SOCKET=pipefill.socket)
            try:
                for job in jobs:
                    code, _, errors = pipefill.cli("wait", job, "--timeout", "150s")
                    self.assertEqual(code, 0, errors)
            finally:
                again.terminate()
                finish(again)
            self.check_every_job_ran_once(pipefill, jobs)
            alone = self.result_alone()["sha256"]
            for result in results:
                with open(result, encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["sha256"], alone)
            code, output, errors = pipefill.cli("report", "--check", "-o", "json")
            self.assertEqual(code, 0, output + errors)
            report = json.loads(output)
            self.assertEqual(report["violations"], [])
            self.assertGreater(report["bubble_filled"], 0)

    def check_every_job_ran_once(self, pipefill, jobs):
        listed = pipefill.cli_json("jobs", "--all")["jobs"]
        self.assertEqual(sorted(str(job["id"]) for job in listed), sorted(jobs))
        for job in listed:
            self.assertEqual(job["state"], "succeeded", job)
            self.assertEqual(len(job["attempts"]), 1, "the kill must not cost an attempt")

    def test_training_goes_on_when_the_agent_is_killed(self):
        with Cluster() as pipefill:
            pipefill.start_agent(controller=cluster.ANY_COST)
            loss = pipefill.path("loss.jsonl")
            training = start_training(loss, ITERATIONS, PIPEFILL_SOCKET=pipefill.socket)
            try:
                line = training.stdout.readline()
                while line and "iteration" not in line:
                    line = training.stdout.readline()
                self.assertIn("iteration", line)
                pipefill.kill("agentd")
                code, output = finish(training)
            finally:
                training.kill()
            self.assertEqual(code, 0, output)
            self.assertEqual(read(loss), read(self.unfilled_loss))

    def test_next_agentd_goes_on_with_the_same_task_and_the_same_training_run(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent(controller=cluster.ANY_COST)
            result = pipefill.path("result.json")
            # Long enough to be there still when its first units have been reported.
            job = pipefill.submit("graph", self.graph(result, rounds=48))
            loss = pipefill.path("loss.jsonl")
            training = start_training(loss, 100 * ITERATIONS, PIPEFILL_SOCKET=pipefill.socket)
            try:
                before = until(lambda: units_of(pipefill.cli_json("job", "show", job)), "the first unit")
                tasks = processes_with(pipefill.folder)
                self.assertEqual(len(tasks), 1)
                pipefill.kill("agentd")
                self.check_task_is_parked(pipefill, tasks[0], time.monotonic() + 1)
                pipefill.start_agent(controller=cluster.ANY_COST)
                until(lambda: units_of(pipefill.cli_json("job", "show", job)) > before, "a unit under the next agentd")
                self.assertEqual(processes_with(pipefill.folder), tasks)
                code, _, errors = pipefill.cli("wait", job, "--timeout", "150s")
                self.assertEqual(code, 0, errors)
                self.assertIsNone(training.poll(), "the training run must not end with its agentd")
            finally:
                training.terminate()
                finish(training)
            self.check_every_job_ran_once(pipefill, [job])
            code, output, errors = pipefill.cli("report", "--check", "-o", "json")
            self.assertEqual(code, 0, output + errors)
            self.assertEqual(json.loads(output)["violations"], [])

    def check_task_is_parked(self, pipefill, task, parked_at):
        """From `parked_at` on the task uses next to no CPU time, for two seconds."""
        pass_time(pipefill, parked_at)
        cpu_s, begin = cpu_seconds(task), time.monotonic()
        pass_time(pipefill, begin + 2)
        self.assertLess((cpu_seconds(task) - cpu_s) / (time.monotonic() - begin), 0.02)

    def test_job_whose_task_died_with_agentd_gets_another_attempt(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent(controller=cluster.ANY_COST)
            job = pipefill.submit("graph", self.graph(pipefill.path("result.json"), rounds=48))
            training = start_training(pipefill.path("loss.jsonl"), 100 * ITERATIONS, PIPEFILL_SOCKET=pipefill.socket)
            try:
                until(lambda: units_of(pipefill.cli_json("job", "show", job)) > 0, "the first unit")
                task, = processes_with(pipefill.folder)
                pipefill.kill("agentd")
                # Its keeper: with that gone there is a record and no process.
                os.kill(parent_of(task), signal.SIGKILL)
                pipefill.start_agent(controller=cluster.ANY_COST)
                code, _, errors = pipefill.cli("wait", job, "--timeout", "150s")
                self.assertEqual(code, 0, errors)
            finally:
                training.terminate()
                finish(training)
            attempts = pipefill.cli_json("job", "show", job)["attempts"]
            self.assertEqual([attempt["end_cause"] for attempt in attempts], ["lost", "exited"])

    def test_cancelled_job_leaves_no_process(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent(controller=cluster.ANY_COST)
            job = pipefill.submit("endless", self.graph(pipefill.path("r.json")) + ["--rounds", "100000000"])
            training = start_training(pipefill.path("loss.jsonl"), 4 * ITERATIONS, PIPEFILL_SOCKET=pipefill.socket)
            try:
                until(lambda: units_of(pipefill.cli_json("job", "show", job)) > 0, "the first unit")
                self.assertEqual(pipefill.cli("cancel", job)[0], 0)
                self.assertEqual(pipefill.cli("wait", job, "--timeout", "60s")[0], 11)
            finally:
                training.terminate()
                finish(training)
            self.assertEqual(processes_with(pipefill.folder), [])
            self.assertEqual(pipefill.cli_json("job", "show", job)["state"], "cancelled")


def pass_time(pipefill, end):
    """Until the monotonic clock says `end`; what passes the time is a command that takes some."""
    until(lambda: pipefill.cli("jobs") and time.monotonic() >= end, "time passes")


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name, from the state on."""
    return read(f"/proc/{pid}/stat").decode().rpartition(")")[2].split()


def parent_of(pid):
    return int(stat_of(pid)[1])


def cpu_seconds(pid):
    fields = stat_of(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processes_with(text):
    """Ids of graph processes whose command line holds `text`."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                command = read(f"/proc/{entry}/cmdline").decode(errors="replace")
            except OSError:
                continue
            if text in command and command.startswith(cluster.GRAPH):
                found.append(int(entry))
    return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
