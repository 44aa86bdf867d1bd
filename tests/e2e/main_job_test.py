"""End to end: what users set for a main job while it runs, with a real training run and a real fill job."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
from cluster import Cluster, finish, start_training, until  # noqa: E402

# Iterations of the training run in which nothing may be filled before one believes it.
UNFILLED = 20


class MainJobTest(unittest.TestCase):
    @staticmethod
    def units(pipefill, job):
        shown = pipefill.cli_json("job", "show", job)
        return sum(attempt.get("progress", {}).get("units", 0) for attempt in shown["attempts"])

    @staticmethod
    def main_job(pipefill):
        listed = pipefill.cli_json("main")["main_jobs"]
        return listed[0] if listed else {"ranks": []}

    def iterations(self, pipefill):
        """Of the rank that is furthest behind; 0 until all are there."""
        ranks = self.main_job(pipefill)["ranks"]
        return min(rank["iterations"] for rank in ranks) if len(ranks) == 2 else 0

    def let_iterations_pass(self, pipefill):
        # Reports come each second: the first that differs is newer than this call.
        before = self.iterations(pipefill)
        until(lambda: self.iterations(pipefill) != before, "a report")
        start = self.iterations(pipefill)
        until(lambda: self.iterations(pipefill) >= start + UNFILLED, "iterations")

    def check_nothing_is_filled(self, pipefill, job):
        self.let_iterations_pass(pipefill)
        units = self.units(pipefill, job)
        self.let_iterations_pass(pipefill)
        self.assertEqual(self.units(pipefill, job), units)
        return units

    def run_verb(self, pipefill, *words):
        code, output, errors = pipefill.cli(*words)
        self.assertEqual(code, 0, errors)
        return output

    def test_pause_holds_over_a_restart_of_schedulerd_until_it_is_resumed(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent()
            job = pipefill.submit("endless", [cluster.GRAPH, "--rounds", "100000000", "--result",
                                              pipefill.path("result.json")])
            training = start_training(pipefill.path("loss.jsonl"), 20000, PIPEFILL_SOCKET=pipefill.socket)
            try:
                until(lambda: self.units(pipefill, job) > 0, "the first unit")
                name = self.main_job(pipefill)["main_job"]
                self.check_unknown_name_names_the_known(pipefill, name)

                self.assertIn(f"{name} is paused", self.run_verb(pipefill, "pause", name))
                self.check_nothing_is_filled(pipefill, job)
                pipefill.kill("schedulerd")
                pipefill.start_scheduler()
                self.assertTrue(self.main_job(pipefill)["paused"])
                units = self.check_nothing_is_filled(pipefill, job)

                self.assertIn("not paused any more", self.run_verb(pipefill, "resume", name))
                until(lambda: self.units(pipefill, job) > units, "units after the pause")
                self.check_modes_and_budget(pipefill, name, job)
                self.assertIsNone(training.poll(), "the training run goes on")
            finally:
                training.terminate()
                finish(training)
            code, output, errors = pipefill.cli("report", "--check", "-o", "json")
            self.assertEqual(code, 0, output + errors)

    def check_unknown_name_names_the_known(self, pipefill, name):
        code, output, errors = pipefill.cli("pause", name + "x")
        self.assertEqual((code, output), (3, ""), errors)
        self.assertEqual(len(errors.splitlines()), 1, errors)
        self.assertTrue(errors.rstrip().endswith(name), errors)

    def check_modes_and_budget(self, pipefill, name, job):
        self.run_verb(pipefill, "main", "set-mode", name, "off")
        until(lambda: all(rank["mode"] == "off" for rank in self.main_job(pipefill)["ranks"]), "mode off")
        self.run_verb(pipefill, "main", "set-mode", name, "report")
        units = self.check_nothing_is_filled(pipefill, job)
        self.run_verb(pipefill, "main", "set-mode", name, "fill")
        until(lambda: self.units(pipefill, job) > units, "units in mode fill")
        self.run_verb(pipefill, "main", "set-budget", name, "0.5%")
        self.assertEqual(self.main_job(pipefill)["budget_ppm"], 5000)
        code, _, errors = pipefill.cli("main", "set-budget", name, "little")
        self.assertEqual(code, 2)
        self.assertEqual(len(errors.splitlines()), 1, errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
