"""Environments and processes for tests of the package."""

import os
import subprocess
import sys


def clean_environment(**variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIPEFILL_")}
    return dict(kept, **variables)


def run_script(script, environment):
    """Starts Python with a script that uses the package."""
    return subprocess.Popen([sys.executable, "-B", "-c", script], env=environment, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
