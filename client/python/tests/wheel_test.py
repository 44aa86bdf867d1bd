"""Installs the wheel and uses it: wheel_test.py WHEEL MAKE_WHEEL VERSION_FILE FILE..."""

import os
import subprocess
import sys
import tempfile
import unittest

WHEEL, MAKE_WHEEL, VERSION_FILE, *FILES = (os.path.abspath(path) for path in sys.argv[1:])
del sys.argv[1:]

SCRIPT = """
import pipefill
from pipefill import _library
library = _library.load()
print(pipefill.__version__ == library.pf_version().decode(), library.pf_is_attached(None))
print(list(pipefill.fill(range(3))))
"""


class WheelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_installs_and_works_without_anything_else(self):
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                        "--disable-pip-version-check", "--root-user-action=ignore",
                        "--target", self.folder, WHEEL], check=True)
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": self.folder}
        output = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(output, "True 0\n[0, 1, 2]\n")

    def test_same_files_make_the_same_bytes(self):
        again = os.path.join(self.folder, os.path.basename(WHEEL))
        subprocess.run([sys.executable, MAKE_WHEEL, VERSION_FILE, again, *FILES], check=True)
        with open(WHEEL, "rb") as first, open(again, "rb") as second:
            self.assertEqual(first.read(), second.read())

    def test_refuses_a_name_of_another_version(self):
        wrong = os.path.join(self.folder, "pipefill-9.9-py3-none-any.whl")
        made = subprocess.run([sys.executable, MAKE_WHEEL, VERSION_FILE, wrong, *FILES],
                              stderr=subprocess.PIPE, text=True)
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("wrong name", made.stderr)


if __name__ == "__main__":
    unittest.main()
