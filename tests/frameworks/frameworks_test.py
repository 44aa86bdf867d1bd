"""Rules of the tests with current frameworks where there are none."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

_HERE = pathlib.Path(__file__).resolve().parent


class UnavailableTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name)

    def run_frameworks(self, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if name != "PIPEFILL_FRAMEWORKS_PYTHON"}
        command = [sys.executable, _HERE / "frameworks.py", "--cache", self.cache, "--site", self.cache]
        return subprocess.run(command, env=dict(environment, **variables), stdout=subprocess.PIPE,
                              text=True, check=False)

    def test_says_in_one_line_that_packages_cannot_be_had_and_leaves_nothing_complete(self):
        for _ in range(2):
            done = self.run_frameworks(PIP_NO_INDEX="1")
            self.assertEqual(done.returncode, 77, done.stdout)
            last = done.stdout.splitlines()[-1]
            self.assertRegex(last, "test-frameworks: cannot install .*torch.*FRAMEWORKS_PYTHON")
        self.assertEqual(list(self.cache.glob("frameworks-*/complete")), [])

    def test_says_that_a_named_python_does_not_exist(self):
        done = self.run_frameworks(PIPEFILL_FRAMEWORKS_PYTHON="/nowhere/python3")
        self.assertEqual(done.returncode, 77)
        self.assertEqual(done.stdout,
                         "test-frameworks: PIPEFILL_FRAMEWORKS_PYTHON=/nowhere/python3 is no program\n")


if __name__ == "__main__":
    unittest.main()
