"""`pipefill plan --trace` and the files of the PyTorch profiler: a real export, and large ones with known pauses.

Runs in any Python that has torch: `./run test` takes Debian's, `./run test-frameworks` the current one.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
import kineto_export  # noqa: E402
import torch  # noqa: E402

MIB = 1 << 20
STEP_US = 100_000.0


def plan(*arguments):
    done = subprocess.run([cluster.CLI, "plan", *arguments], env=cluster.environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=cluster.PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


def export(path):
    """What the profiler of this Python writes of some steps on the CPU."""
    model = torch.nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, with_flops=True,
                                profile_memory=True,
                                schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1),
                                on_trace_ready=lambda profiler: profiler.export_chrome_trace(path)) as profiler:
        for _ in range(5):
            model(torch.randn(4, 16)).sum().backward()
            optimizer.step()
            profiler.step()


def shapes(events):
    """(phase, category) -> the keys that all its events have; metadata by its name."""
    found = {}
    for event in events:
        kind = (event["ph"], event["name"] if event["ph"] == "M" else event.get("cat"))
        found[kind] = found.get(kind, set(event)) & set(event)
    return found


class KinetoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def test_real_export_without_a_gpu_says_what_to_record(self):
        for name in ("cpu.json", "cpu.json.gz"):
            export(self.path(name))
            code, output, errors = plan("--trace", self.path(name))
            self.assertEqual((code, output), (2, ""), errors)
            self.assertRegex(errors, rf"^pipefill: .*{name}: no work of a GPU among \d+ events; record with .*CUDA")
            self.assertEqual(errors.count("\n"), 1, errors)

    def test_made_up_traces_have_the_structure_of_a_real_one(self):
        if int(torch.__version__.split(".", maxsplit=1)[0]) < 2:
            self.skipTest(f"they follow torch 2.x; this is {torch.__version__}")
        export(self.path("cpu.json"))
        with open(self.path("cpu.json"), encoding="utf-8") as file:
            real = json.load(file)
        kineto_export.write(self.path("gpu.json.gz"), kineto_export.Rank(0, 1, 1000, 1000, 1000), steps=1,
                            step_us=5000.0)
        with gzip.open(self.path("gpu.json.gz"), "rt", encoding="utf-8") as file:
            made = json.load(file)
        # A process without a process group has no distributedInfo.
        self.assertEqual(set(made) - set(real), {"distributedInfo"})
        self.assertEqual(set(real) - set(made), set())
        real_shapes = shapes(real["traceEvents"])
        common = 0
        for kind, keys in shapes(made["traceEvents"]).items():
            if kind in real_shapes:
                common += 1
                self.assertEqual(keys, real_shapes[kind], kind)
        self.assertGreaterEqual(common, 5)

    def test_large_traces_of_four_ranks_show_the_pauses_that_were_put_there(self):
        ranks = [kineto_export.Rank(rank, 4, first_us=20_000, wait_us=8_000 * (4 - rank), tail_us=6_000 * rank)
                 for rank in range(4)]
        size, arguments = 0, []
        for rank in ranks:
            path = self.path(f"rank{rank.rank}.json.gz")
            size += kineto_export.write(path, rank, steps=6, step_us=STEP_US)
            arguments += ["--trace", path]
        self.assertGreater(size, 30 * MIB)

        code, output, errors = plan(*arguments, "-o", "json")
        self.assertEqual(code, 0, errors)
        devices = json.loads(output)["devices"]
        self.assertEqual([device["name"] for device in devices], [f"rank {r} gpu {r}" for r in range(4)])
        for rank, device in zip(ranks, devices):
            self.assertAlmostEqual(device["bubble_share"], (rank.wait_us + rank.tail_us) / STEP_US, delta=1e-3)
            wait = device["bubbles"][0]
            self.assertEqual((wait["class"], wait["ordinal"]), ("scattered", 1))
            self.assertAlmostEqual(wait["p50_ns"], rank.wait_us * 1e3, delta=10_000)
            self.assertAlmostEqual(wait["offset_ns"], rank.first_us * 1e3, delta=10_000)
            self.assertEqual(len(device["bubbles"]), 2 if rank.tail_us else 1)
            if not rank.tail_us:
                continue
            self.assertEqual(device["bubbles"][1]["class"], "tail")
            self.assertAlmostEqual(device["bubbles"][1]["p50_ns"], rank.tail_us * 1e3, delta=10_000)


if __name__ == "__main__":
    unittest.main()
