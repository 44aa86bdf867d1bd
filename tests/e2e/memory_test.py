"""End to end: a training run that frees memory for its bubbles offers it there, and computes what it computes alone.

In how many gaps it goes on after it has tried them depends on the machine and what else runs there: nothing here asks
for that, and hints of the eight iterations in which it tries are enough. memory_test.py of the SDK has a clock of its
own for it.
"""
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
from cluster import Cluster, finish, read, start_training, until  # noqa: E402

# Of the small model: eight to learn, eight to try what freeing costs, and some more.
ITERATIONS = 40
SMALL = ("--samples", "1")


class MemoryTest(unittest.TestCase):
    @staticmethod
    def offered(pipefill):
        """(stage, memory in bytes) of each bubble that has been seen often enough."""
        return [(bubble["stage"], bubble["memory_free_bytes"])
                for bubble in pipefill.cli_json("bubbles", "--all")["bubbles"]
                if bubble["count"] > 16 and bubble["class"] != "failure"]

    def test_memory_is_offered_in_bubbles_only_where_the_training_run_frees_it(self):
        with Cluster() as pipefill, tempfile.TemporaryDirectory() as folder:
            alone = os.path.join(folder, "alone.jsonl")
            code, output = finish(start_training(alone, ITERATIONS, size="small", options=SMALL))
            self.assertEqual(code, 0, output)
            pipefill.start_scheduler()
            pipefill.start_agent(controller=cluster.ANY_COST)
            self.check(pipefill, (), stages=set())
            freeing = pipefill.path("loss.jsonl")
            output = self.check(pipefill, ("--free-memory",), {0, 1}, freeing)
            self.assertEqual(read(freeing), read(alone), "freeing memory changed the training result")
            for stage in (0, 1):
                self.assertRegex(output, rf"stage {stage}: optimizer state: .*moving [0-9.]+ MiB makes the step")
                verdict = re.search(rf"stage {stage}: spare memory: hidden in ([0-9]+) of ([0-9]+) long gaps", output)
                self.assertIsNotNone(verdict, output)
                on, tried = map(int, verdict.groups())
                self.assertGreater(tried, 0, output)
                self.assertLessEqual(on, tried, output)

    def check(self, pipefill, options, stages, loss_file="/dev/null"):
        """Runs a training run, and sees that just those stages offer memory at its end; returns its output."""
        training = start_training(loss_file, ITERATIONS, size="small", options=(*SMALL, *options),
                                  PIPEFILL_SOCKET=pipefill.socket)
        try:
            code, output = finish(training)
        finally:
            training.kill()
        self.assertEqual(code, 0, output)
        # Of the run that has ended; the report of its end may be on its way.
        def settled():
            found = self.offered(pipefill)
            return found if found and {stage for stage, free in found if free > 0} == stages else None

        offered = until(settled, f"{options}: memory in bubbles of the stages {stages}")
        self.assertTrue(all(0 <= free <= 2 << 30 for _, free in offered), offered)
        return output


if __name__ == "__main__":
    unittest.main(verbosity=2)
