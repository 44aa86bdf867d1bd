"""What a fill job leaves behind: a file of output, and a small JSON file that proves its work.

The JSON file holds the SHA-256 of the output, so that a run inside bubbles can be compared with the
same job run alone. It appears complete or not at all.
"""

import argparse
import hashlib
import json
import os
import pathlib
import sys
from typing import BinaryIO, Callable, Optional, Protocol

EXIT_STOPPED = 3


class Task(Protocol):
    """The part of pipefill.FillTask that is needed here."""
    stopped: bool

    def stats(self): ...


class Output:
    """A binary file that is written once, in order. Thread-compatible. Use as a context manager."""

    def __init__(self, path: pathlib.Path, open_file: Optional[Callable[..., BinaryIO]] = None):
        """open_file(path, on_kept=...): opens a file that may hold content already, of which it tells
        on_kept; such as pipefill.OutputFile. Default: a new file, of which people can watch each line."""
        self._digest = hashlib.sha256()
        self._file = (open_file(path, on_kept=self._digest.update) if open_file is not None
                      else open(path, "wb", buffering=0))

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self._digest.update(content)

    @property
    def sha256(self) -> str:
        """Of everything written so far."""
        return self._digest.hexdigest()

    def __enter__(self) -> "Output":
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()


def add_file_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--result", type=pathlib.Path, default=pathlib.Path("result.json"),
                        metavar="FILE", help="units, CPU time, checksum; JSON")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE",
                        help="what the job computes; default: beside the result")


def output_path(options: argparse.Namespace, suffix: str) -> pathlib.Path:
    """`suffix`: of the output file where none is given, ".f32"."""
    return options.output or options.result.with_suffix(suffix)


def finish(task: Task, result_path: pathlib.Path, output: Output) -> int:
    """Writes the JSON file, prints the same as one line and returns the exit code of the job: 0, or
    EXIT_STOPPED if it was told to stop before its end."""
    stats = task.stats()
    if task.stopped:
        print(f"stopped before the end: units={stats.units}", file=sys.stderr)
        return EXIT_STOPPED
    result = {
        "units": stats.units,
        "unit_cpu_ns": stats.unit_cpu_ns,
        "unit_wall_ns": stats.unit_wall_ns,
        "sha256": output.sha256,
    }
    text = json.dumps(result)
    unfinished = result_path.with_name(result_path.name + ".unfinished")
    unfinished.write_text(text + "\n", encoding="utf-8")
    os.replace(unfinished, result_path)
    print(text, flush=True)
    return 0
