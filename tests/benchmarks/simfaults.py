#!/usr/bin/python3
"""Seeds of the fault simulation, always the same ones: how many, how many events, what was broken, and which share
of the legal moves of jobs and tasks was seen. --seeds N (1000)."""

import argparse
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    arguments = parser.parse_args()
    command = [sys.executable, "tests/simulation/explore.py", "--first", "1", "--seeds", str(arguments.seeds)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
