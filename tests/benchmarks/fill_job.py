"""The fill jobs of the benchmark `fill`, with a record of every unit.

    elastic   scores rows of features with a small network, as many pieces of 32 rows in a unit as fit: some 60 us
              for one piece, 30 us for each further one. Weights and data fit into a core's own cache: what a
              fill job of another kind takes from shared ones is its own cost, not that of the gate
    layer     a stack of layers, one forward pass after the other, each layer a unit of about --unit-ms

Started by agentd it is held to bubbles; otherwise it runs alone. A unit becomes 32 bytes in --log: start
and end (CLOCK_MONOTONIC, ns), CPU time (ns), pieces of work done, as little-endian 64-bit integers.
"""

import argparse
import os
import pathlib
import statistics
import struct
import sys
import time

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(_ROOT / "examples"), str(_ROOT / "bazel-bin" / "client" / "python" / "site")]

import arithmetic  # noqa: E402

arithmetic.prepare(os.environ)  # before torch is loaded

import pipefill  # noqa: E402
import torch  # noqa: E402

RECORD = struct.Struct("<4q")
_LAYERS, _WIDTH = 2, 256
_TRIALS, _TRIAL_UNITS = 6, 64
_PIECES_MAX, _PIECE_ROWS, _FEATURES, _HIDDEN = 24, 32, 64, 256
# Written in pieces, so that the log costs nothing in most units.
_LOG_BYTES = 1 << 16


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kind", choices=("elastic", "layer"), required=True)
    parser.add_argument("--log", metavar="FILE", required=True)
    parser.add_argument("--unit-ms", type=float, default=0.5, help="of a layer, alone")
    parser.add_argument("--core", type=int, help="to run on, when nobody else decides that")
    parser.add_argument("--seconds", type=float, help="of CPU time to run for, alone; default: until stopped")
    return parser.parse_args()


class Log:
    """Appends records; buffered."""

    def __init__(self, path: str):
        self._file = open(path, "ab", buffering=_LOG_BYTES)
        self._start = (0, 0)

    def begin(self) -> None:
        self._start = (time.monotonic_ns(), time.thread_time_ns())

    def end(self, pieces: int) -> None:
        start_ns, cpu_ns = self._start
        self._file.write(RECORD.pack(start_ns, time.monotonic_ns(), time.thread_time_ns() - cpu_ns, pieces))

    def close(self) -> None:
        self._file.close()


class Elastic:

    def __init__(self) -> None:
        torch.manual_seed(1)
        self._network = torch.nn.Sequential(
            torch.nn.Linear(_FEATURES, _HIDDEN), torch.nn.ReLU(), torch.nn.Linear(_HIDDEN, _FEATURES))
        self._rows = torch.randn(_PIECES_MAX * _PIECE_ROWS, _FEATURES)

    def start(self, task: pipefill.FillTask) -> int:
        return task.next_elastic(1, _PIECES_MAX)

    def run(self, pieces: int) -> None:
        self._network(self._rows[:pieces * _PIECE_ROWS])


class Layered:
    """The number of rows is found while it runs: a layer takes longer in a bubble, with cold caches, than alone."""

    def __init__(self, unit_ms: float):
        torch.manual_seed(1)
        self._unit_ns = unit_ms * 1e6
        self._layers = [torch.nn.Linear(_WIDTH, _WIDTH) for _ in range(_LAYERS)]
        self._take_rows(64)
        self._trials_left, self._times = _TRIALS, []

    def _take_rows(self, rows: int) -> None:
        self._input = torch.randn(rows, _WIDTH)
        self._next, self._x = 0, self._input

    def start(self, task: pipefill.FillTask) -> int:
        return len(self._input) if task.next_unit() else 0

    def run(self, _: int) -> None:
        begin_ns = time.thread_time_ns()
        self._x = torch.relu(self._layers[self._next](self._x))
        self._next = (self._next + 1) % _LAYERS
        if self._next == 0:
            self._x = self._input
        if self._trials_left > 0:
            self._try(time.thread_time_ns() - begin_ns)

    def _try(self, time_ns: int) -> None:
        self._times.append(time_ns)
        if len(self._times) < _TRIAL_UNITS:
            return
        self._take_rows(max(1, round(len(self._input) * self._unit_ns / statistics.median(self._times))))
        self._trials_left, self._times = self._trials_left - 1, []


def main() -> int:
    options = parse_options()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    work = Elastic() if options.kind == "elastic" else Layered(options.unit_ms)
    task = pipefill.FillTask(unit_hint=options.unit_ms / 1e3)
    log = Log(options.log)
    until_ns = time.thread_time_ns() + round((options.seconds or 1e9) * 1e9)
    while pieces := work.start(task):
        log.begin()
        work.run(pieces)
        log.end(pieces)
        if options.seconds is not None and time.thread_time_ns() >= until_ns:
            break
    task.end_unit()
    log.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
