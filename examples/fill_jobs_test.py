"""The Python fill jobs, run alone: they end, and their results repeat bit for bit."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Dict, Tuple

_HERE = pathlib.Path(__file__).resolve().parent
_TIMEOUT_SECONDS = 60
# Runs a script whose layers are not attached: plain.py [OPTION VALUE]... SCRIPT [OPTION VALUE]...
_WITHOUT_LAYERS = """
import os, pathlib, runpy, sys, types
script = next(word for word in sys.argv[1:] if word.endswith("train.py"))
sys.path.append(str(pathlib.Path(script).parents[1]))
import arithmetic
arithmetic.prepare(os.environ)
import pipefill.torch
pipefill.torch.attach = lambda *_: types.SimpleNamespace(task=pipefill.default_task())
sys.argv = [script] + [word for word in sys.argv[1:] if word != script]
runpy.run_path(script, run_name="__main__")
"""


class FillJobsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start_job(self, script: str, *options: str, **variables: str) -> subprocess.Popen:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PIPEFILL_")}
        command = [sys.executable, str(_HERE / script), "--result", "r.json", "--output", "out"]
        return subprocess.Popen([*command, *options], cwd=self.folder, stdout=subprocess.DEVNULL,
                                env=dict(environment, **variables))

    def run_job(self, script: str, *options: str, **variables: str) -> Tuple[Dict[str, object], bytes]:
        """Returns the result and the output."""
        job = self.start_job(script, *options, **variables)
        self.assertEqual(job.wait(_TIMEOUT_SECONDS), 0)
        result = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        return result, (self.folder / "out").read_bytes()

    def check_repeats(self, script: str, *options: str) -> Tuple[Dict[str, object], bytes]:
        first, output = self.run_job(script, *options)
        second, _ = self.run_job(script, *options)
        self.assertEqual(first["sha256"], hashlib.sha256(output).hexdigest())
        self.assertEqual(first["sha256"], second["sha256"])
        self.assertEqual(first["units"], second["units"])
        self.assertGreater(first["unit_cpu_ns"], 0)
        return first, output

    def test_inference_repeats_and_writes_one_embedding_for_each_window(self):
        result, output = self.check_repeats("batch_inference/job.py", "--passes", "1",
                                            "--samples", "16", "--batches-max", "1")
        self.assertEqual(len(output), result["units"] * 16 * 64 * 4)

    def test_inference_does_not_depend_on_the_size_of_its_units(self):
        options = ("batch_inference/job.py", "--passes", "1", "--samples", "16", "--batches-max")
        small, output = self.run_job(*options, "1")
        large, same_output = self.run_job(*options, "7")
        self.assertEqual(output, same_output)
        self.assertEqual(large["units"], -(-small["units"] // 7))

    def test_inference_obeys_the_batch_size_that_was_chosen_for_it(self):
        options = ("batch_inference/job.py", "--passes", "1", "--samples", "16")
        chosen, output = self.run_job(*options, PIPEFILL_CONFIG='{"name":"n7","batch_size":7}')
        named, same_output = self.run_job(*options, "--batches-max", "7")
        self.assertEqual(output, same_output)
        self.assertEqual(chosen["units"], named["units"])

    def check_goes_on_after_kills(self, script: str, *options: str, **more: str) -> None:
        whole, output = self.run_job(script, *options, **more)
        checkpoints = self.folder / "checkpoints"
        variables = {"PIPEFILL_CHECKPOINT_DIR": str(checkpoints), "PIPEFILL_CHECKPOINT_EVERY": "0:0", **more}
        seen = set()
        for _ in range(2):
            job = self.start_job(script, *options, **variables)
            # Each attempt is killed as soon as it has saved something new.
            while job.poll() is None and not set(checkpoints.glob("save-*")) - seen:
                pass
            self.assertIsNone(job.poll(), "it has saved before its end")
            job.kill()
            job.wait()
            seen = set(checkpoints.glob("save-*"))
        resumed, same_output = self.run_job(script, *options, **variables)
        self.assertEqual(output, same_output)
        self.assertEqual(resumed["sha256"], whole["sha256"])
        self.assertLess(resumed["units"], whole["units"])

    def test_inference_goes_on_after_a_kill_and_gives_the_same_file(self):
        self.check_goes_on_after_kills("batch_inference/job.py", "--passes", "1", "--samples", "4",
                                       "--batches-max", "2")

    def test_training_goes_on_after_a_kill_and_gives_the_same_file(self):
        self.check_goes_on_after_kills("fill_training/job.py", "--steps", "1000")

    def test_training_repeats_and_its_loss_goes_down(self):
        _, output = self.check_repeats("fill_training/job.py", "--steps", "300")
        lines = [json.loads(line) for line in output.splitlines()]
        losses = [float.fromhex(line["loss"]) for line in lines[:-1]]
        self.assertEqual(len(losses), 300)
        self.assertLess(sum(losses[-50:]) / 50, sum(losses[:50]) / 50 - 0.3)
        self.assertGreater(float.fromhex(lines[-1]["accuracy"]), 0.2)

    def test_training_obeys_the_batch_size_that_was_chosen_for_it(self):
        options = ("fill_training/job.py", "--steps", "40")
        plain, output = self.run_job(*options)
        halves, same_output = self.run_job(*options, PIPEFILL_CONFIG='{"name":"batch4","batch_size":4}')
        self.assertEqual(output, same_output)
        self.assertEqual(halves["units"], plain["units"] + 40)

    def test_training_in_parts_of_steps_goes_on_after_a_kill(self):
        self.check_goes_on_after_kills("fill_training/job.py", "--steps", "1000",
                                       PIPEFILL_CONFIG='{"name":"batch4","batch_size":4}')

    def test_training_in_layers_recomputes_if_that_was_chosen_with_the_same_result(self):
        options = ("gpt_layer/train.py", "--steps", "20")
        plain, output = self.run_job(*options)
        recomputed, same_output = self.run_job(
            *options, PIPEFILL_CONFIG='{"name":"saving","batch_size":0,"memory_saving":"checkpointing"}')
        self.assertEqual(output, same_output)
        self.assertGreater(recomputed["unit_cpu_ns"], 1.1 * plain["unit_cpu_ns"])

    def test_training_in_layers_gives_the_result_of_the_same_script_without_pipefill(self):
        options = ("--steps", "60")
        layers, output = self.run_job("gpt_layer/train.py", *options)
        (self.folder / "plain.py").write_text(_WITHOUT_LAYERS, encoding="utf-8")
        plain, same_output = self.run_job(str(self.folder / "plain.py"),
                                          str(_HERE / "gpt_layer" / "train.py"), *options)
        self.assertEqual(output, same_output)
        self.assertEqual(layers["sha256"], hashlib.sha256(output).hexdigest())
        self.assertEqual(plain["units"], 0)
        self.assertGreater(layers["units"], 60)
        lines = [json.loads(line) for line in output.splitlines()]
        losses = [float.fromhex(line["loss"]) for line in lines[:-1]]
        self.assertLess(sum(losses[-10:]) / 10, losses[0] - 1)
        self.assertLess(float.fromhex(lines[-1]["validation"]), losses[0] - 1)


if __name__ == "__main__":
    unittest.main()
