"""Labels, verbs for many jobs, and what becomes of them, through the CLI and over a kill of schedulerd."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import Cluster  # noqa: E402


class JobsTest(unittest.TestCase):
    def test_labelled_jobs_are_held_released_cancelled_and_submitted_again(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            first = pipefill.submit("one", ["true"], "--label", "team=a", "--hold")
            second = pipefill.submit("two", ["true"], "--label", "team=a", "--label", "keep")
            other = pipefill.submit("three", ["true"], "--label", "team=b")
            self.assertEqual(pipefill.cli("jobs", "-l", "team=a,!keep", "-o", "name")[1].split(), [first])

            code, output, errors = pipefill.cli("hold", "-l", "team=a", "--reason", "too early")
            self.assertEqual(code, 0, errors)
            self.assertEqual(output, f"job {first} is held already\njob {second} held\n")
            pipefill.kill("schedulerd")
            pipefill.start_scheduler()
            self.assertIn("held by a user: too early", pipefill.cli("why", second)[1])
            self.assertEqual(pipefill.cli_json("status")["jobs_held"], 2)

            self.assertEqual(pipefill.cli("release", first, second)[0], 0)
            dry = pipefill.cli_json("cancel", "-l", "team=a", "--dry-run")["jobs"]
            self.assertEqual([job["outcome"] for job in dry], ["done", "done"])
            self.assertEqual(pipefill.cli_json("job", "show", first)["state"], "pending")

            self.assertEqual(pipefill.cli("cancel", "-l", "team=a", "--reason", "wrong data")[0], 0)
            history = pipefill.cli_json("job", "show", second)["history"]
            self.assertEqual([step["what"] for step in history],
                             ["submitted", "held", "released", "cancel_requested", "cancelled"])
            self.assertEqual([history[3]["who"], history[3]["text"]], ["user", "wrong data"])
            self.assertEqual(pipefill.cli_json("job", "show", other)["state"], "pending")

            code, _, errors = pipefill.cli("requeue", first)
            self.assertEqual(code, 5, errors)
            self.assertIn(f"pipefill submit --again {first}", errors)
            again = pipefill.cli("submit", "--again", first, "-o", "name")[1].strip()
            self.assertEqual(pipefill.cli_json("job", "show", again)["labels"], {"team": "a"})
            self.assertTrue(pipefill.cli_json("job", "show", again)["held"])

    def test_job_that_does_not_start_in_time_fails(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            job = pipefill.submit("late", ["true"], "--start-before", "200ms")
            self.assertEqual(pipefill.cli("wait", job)[0], 12)
            shown = pipefill.cli_json("job", "show", job)
            self.assertEqual([shown["state"], shown["end_cause"]], ["failed", "not_started"])
            self.assertEqual(shown["history"][-1]["what"], "failed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
