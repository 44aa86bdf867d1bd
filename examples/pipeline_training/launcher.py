"""Starts one process for each pipeline stage, and sees to it that they end together.

Stage i is pinned to the i-th core of the list before its interpreter starts, so that every thread
it ever makes stays there. The processes meet through a file in a fresh folder; no port is fixed.
If one stage fails, the others are stopped and one line says which one it was and how it ended. The
kernel kills the stages if the launcher itself is killed.

Standard library only: the launcher need not load torch.
"""

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, NamedTuple, Optional, Sequence

import arithmetic

STAGE_VARIABLE = "PIPELINE_STAGE"
MEETING_VARIABLE = "PIPELINE_MEETING_FILE"
EXIT_NEIGHBOUR_LOST = 3  # a stage that ended only because another one did

_GRACE_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1


class Interrupted(Exception):
    """The launcher was told to stop."""

    def __init__(self, signal_number: int):
        super().__init__(signal_number)
        self.signal_number = signal_number


class Stage(NamedTuple):
    number: int
    process: subprocess.Popen


def run_stages(command: Sequence[str], cores: Sequence[Optional[int]]) -> int:
    """Runs `command` once for each entry of `cores` (None = not pinned). Returns the exit code."""
    _install_signal_handlers()
    with tempfile.TemporaryDirectory(prefix="pipeline_training.") as folder:
        stages: List[Stage] = []
        try:
            for number, core in enumerate(cores):
                stages.append(Stage(number, _start(command, number, core, folder)))
            return _wait_for_all(stages)
        except Interrupted as interrupt:
            print(f"stopped by {signal.Signals(interrupt.signal_number).name}", file=sys.stderr)
            return 128 + interrupt.signal_number
        finally:
            _stop(stages)


def _start(command: Sequence[str], number: int, core: Optional[int],
           folder: str) -> subprocess.Popen:
    environment = dict(os.environ)
    environment.update({
        STAGE_VARIABLE: str(number),
        MEETING_VARIABLE: os.path.join(folder, "meeting"),
        "GLOO_SOCKET_IFNAME": "lo",
    })
    arithmetic.prepare(environment)
    libc = ctypes.CDLL(None)
    launcher = os.getpid()

    def prepare() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != launcher:
            os._exit(1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher decides
        if core is not None:
            os.sched_setaffinity(0, {core})

    return subprocess.Popen(command, env=environment, preexec_fn=prepare)


def _wait_for_all(stages: List[Stage]) -> int:
    """Returns 0 once every stage has ended well, 1 as soon as one has failed."""
    running: Dict[int, Stage] = {}
    with contextlib.ExitStack() as descriptors, selectors.DefaultSelector() as selector:
        for stage in stages:
            descriptor = os.pidfd_open(stage.process.pid)
            descriptors.callback(os.close, descriptor)
            selector.register(descriptor, selectors.EVENT_READ)
            running[descriptor] = stage
        while running:
            for key, _ in selector.select():
                selector.unregister(key.fd)
                stage = running.pop(key.fd)
                if stage.process.wait() != 0:
                    culprit = _find_culprit(stage, list(running.values()))
                    print(f"stage {culprit.number} {_describe_end(culprit.process.returncode)}; "
                          "the other stages were stopped", file=sys.stderr)
                    return 1
    return 0


def _find_culprit(first: Stage, running: List[Stage]) -> Stage:
    """A stage that lost its neighbour may end a moment before that neighbour does."""
    if first.process.returncode != EXIT_NEIGHBOUR_LOST:
        return first
    deadline = time.monotonic() + 1.0
    for stage in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = stage.process.wait(timeout=max(0.0, deadline - time.monotonic()))
            if code not in (0, EXIT_NEIGHBOUR_LOST):
                return stage
    return first


def _describe_end(code: int) -> str:
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    if code == EXIT_NEIGHBOUR_LOST:
        return "lost the connection to its neighbour"
    return f"ended with exit code {code}"


def _stop(stages: List[Stage]) -> None:
    for stage in stages:
        if stage.process.poll() is None:
            stage.process.terminate()
    deadline = time.monotonic() + _GRACE_SECONDS
    for stage in stages:
        try:
            stage.process.wait(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            stage.process.kill()
            stage.process.wait()


def _install_signal_handlers() -> None:

    def interrupt(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough
        raise Interrupted(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
