"""Runs test files in this Python: count_tests.py FILE... The last line is "N passed, N failed"."""

import importlib
import pathlib
import platform
import sys
import unittest

try:
    import torch
except ImportError as error:
    print(f"test-frameworks: {sys.executable} has no torch: {error}")
    sys.exit(77)


def main():
    suite = unittest.TestSuite()
    for path in map(pathlib.Path, sys.argv[1:]):
        sys.path.insert(0, str(path.parent))
        suite.addTests(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(path.stem)))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    # A test that has several faulty parts counts once.
    failed = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    print(f"python {platform.python_version()}, torch {torch.__version__}, "
          f"CUDA {'yes' if torch.cuda.is_available() else 'no'}")
    print(f"{result.testsRun - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or result.testsRun == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
