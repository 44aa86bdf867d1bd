"""Rules of what a fill job leaves behind."""

import argparse
import contextlib
import hashlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import job_result


def make_task(stopped: bool):
    stats = types.SimpleNamespace(units=7, unit_cpu_ns=70, unit_wall_ns=80)
    return types.SimpleNamespace(stopped=stopped, stats=lambda: stats)


class JobResultTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.result = self.folder / "r.json"

    def finish(self, stopped: bool) -> int:
        with job_result.Output(self.folder / "out") as output:
            output.write(b"one")
            output.write(b"two")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return job_result.finish(make_task(stopped), self.result, output)

    def test_result_names_the_work_and_the_checksum_of_the_output(self):
        self.assertEqual(self.finish(stopped=False), 0)
        self.assertEqual((self.folder / "out").read_bytes(), b"onetwo")
        self.assertEqual(json.loads(self.result.read_text(encoding="utf-8")), {
            "units": 7, "unit_cpu_ns": 70, "unit_wall_ns": 80,
            "sha256": hashlib.sha256(b"onetwo").hexdigest()})
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["out", "r.json"])

    def test_output_lies_beside_the_result_unless_it_is_named(self):
        parser = argparse.ArgumentParser()
        job_result.add_file_options(parser)
        options = parser.parse_args(["--result", "folder/r.json"])
        self.assertEqual(job_result.output_path(options, ".f32"), pathlib.Path("folder/r.f32"))
        options = parser.parse_args(["--output", "other"])
        self.assertEqual(job_result.output_path(options, ".f32"), pathlib.Path("other"))

    def test_a_job_that_was_stopped_leaves_no_result_and_says_so(self):
        self.assertEqual(self.finish(stopped=True), job_result.EXIT_STOPPED)
        self.assertFalse(self.result.exists())


if __name__ == "__main__":
    unittest.main()
