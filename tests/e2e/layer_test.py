"""End to end: an ordinary PyTorch training script in layer mode, in the bubbles of a real training run."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
from cluster import Cluster, finish, start_training  # noqa: E402

SCRIPT = os.path.join(cluster.ROOT, "examples/gpt_layer/train.py")


class LayerTest(unittest.TestCase):
    @staticmethod
    def command(result):
        return [cluster.PYTHON, SCRIPT, "--steps", "40", "--result", result]

    @staticmethod
    def result(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_trained_weights_are_those_of_the_script_alone_and_no_unit_breaks_a_rule(self):
        with Cluster() as pipefill:
            alone = pipefill.path("alone.json")
            subprocess.run(self.command(alone), env=cluster.environment(), check=True,
                           stdout=subprocess.DEVNULL)
            pipefill.start_scheduler()
            pipefill.start_agent(controller=cluster.ANY_COST, priority="normal")
            filled = pipefill.path("filled.json")
            job = pipefill.submit("gpt", self.command(filled))
            training = start_training(pipefill.path("loss.jsonl"), 100_000, size="small",
                                      PIPEFILL_SOCKET=pipefill.socket)
            try:
                code, _, errors = pipefill.cli("wait", job, "--timeout", "170s")
                self.assertEqual(code, 0, errors + pipefill.cli("logs", job)[1])
            finally:
                training.terminate()
                finish(training)
            self.assertEqual(self.result(filled)["sha256"], self.result(alone)["sha256"])
            self.assertGreater(self.result(filled)["units"], 200)
            code, output, errors = pipefill.cli("report", "--check", "-o", "json")
            self.assertEqual(code, 0, output + errors)


if __name__ == "__main__":
    unittest.main()
