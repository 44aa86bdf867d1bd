"""The Python that has current frameworks: installed once into a cache folder, or named by the user."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

import cuda_stand_ins

VARIABLE = "PIPEFILL_FRAMEWORKS_PYTHON"
_HERE = pathlib.Path(__file__).resolve().parent
_REQUIREMENTS = _HERE / "requirements.txt"


class Unavailable(Exception):
    """One line for people: why there is no such Python, and what to do."""


def interpreter(cache):
    """Path of the Python. `cache`: folder for what lasts between runs. Raises Unavailable."""
    named = os.environ.get(VARIABLE)
    if named:
        if not shutil.which(named):
            raise Unavailable(f"{VARIABLE}={named} is no program")
        return named
    digest = hashlib.sha256()
    for file in (_REQUIREMENTS, _HERE / "cuda_stand_ins.py"):
        digest.update(file.read_bytes())
    cache = pathlib.Path(cache)
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"frameworks-{digest.hexdigest()[:12]}"
    python = folder / "bin" / "python3"
    with open(cache / "frameworks.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # against another run that installs
        if not (folder / "complete").exists():
            for old in cache.glob("frameworks-*"):
                shutil.rmtree(old)
            _install(folder, python)
            (folder / "complete").touch()
    return str(python)


def _install(folder, python):
    print(f"installing {_REQUIREMENTS.name} into {folder}: 0.6 GB to load, 1.4 GB on disk", flush=True)
    folder.mkdir(parents=True)
    _call([sys.executable, "-m", "venv", "--without-pip", folder])
    _call([sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-cache-dir",
           "--quiet", "--disable-pip-version-check", "--timeout", "30", "--retries", "2",
           "--only-binary", ":all:", "-r", _REQUIREMENTS])
    site = next(folder.glob("lib/python*/site-packages"))
    cuda_stand_ins.make(site)


def _call(command):
    command = [str(word) for word in command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()] or ["no message"]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise Unavailable(f"cannot install the packages: {errors[-1]}; or name a Python that has torch "
                          f"in {VARIABLE}")
