"""Runs the tests that need current frameworks: the body of `./run test-frameworks`.

    python3 tests/frameworks/frameworks.py --cache FOLDER --site bazel-bin/client/python/site

Prints the versions; the last line is "N passed, N failed". Exit codes: 0 all passed, 1 not all, 77 there
are no such frameworks here, with one line that says why.
"""

import argparse
import os
import pathlib
import subprocess
import sys

import environment

EXIT_UNAVAILABLE = 77
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_TESTS = [f"client/python/tests/{name}.py"
          for name in ("chain_test", "torch_attach_test", "torch_memory_test", "torch_test")]
_TESTS += ["tests/e2e/kineto_test.py"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cache", required=True, metavar="FOLDER")
    parser.add_argument("--site", required=True, metavar="FOLDER", help="the package pipefill")
    options = parser.parse_args()
    try:
        python = environment.interpreter(options.cache)
    except environment.Unavailable as error:
        print(f"test-frameworks: {error}")
        return EXIT_UNAVAILABLE
    # Debian's settings are for Debian's libraries.
    variables = {name: value for name, value in os.environ.items()
                 if not name.startswith(("PIPEFILL_", "PYTHON"))}
    variables.update(PYTHONPATH=os.path.abspath(options.site), PYTHONDONTWRITEBYTECODE="1",
                     OMP_NUM_THREADS="1")
    runner = pathlib.Path(__file__).with_name("count_tests.py")
    return subprocess.run([python, runner, *(_ROOT / test for test in _TESTS)], env=variables,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
