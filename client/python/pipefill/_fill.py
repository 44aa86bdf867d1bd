"""The fill job's side: asks for time in the bubbles of a main job."""

import atexit
import collections
import ctypes
import os
import signal
import threading
import time

from . import _library
from ._checkpoint import Parts

TaskStats = collections.namedtuple(
    "TaskStats", "units unit_cpu_ns unit_wall_ns bubbles_denied unit_estimate_ns")
TaskStats.__doc__ = """Counters of a fill task.

units: units done. unit_cpu_ns, unit_wall_ns: CPU time of this process, and time, inside units, in
nanoseconds. bubbles_denied: bubbles that were offered but too short for a unit. unit_estimate_ns: expected
length of the next unit of kind 0, in nanoseconds.
"""

CheckpointStats = collections.namedtuple(
    "CheckpointStats", "saves saves_failed save_ns unsaved_ns resumed resumed_useful_ns")
CheckpointStats.__doc__ = """What a fill task has saved.

saves, saves_failed: how often. save_ns: what the last one cost. unsaved_ns: CPU time of units since then, in
nanoseconds. resumed: 1 if the task went on from a checkpoint; resumed_useful_ns: the work in that.
"""

# How long a wait lasts before Python gets to run its signal handlers.
_WAIT_NS = 200_000_000
_STOP, _STARTED = 0, 1


class AttachError(RuntimeError):
    """agentd started this process but cannot hold it to bubbles, so it must not run.

    Without agentd nothing of the kind is raised: the task then runs alone.
    """


def _is_started_by_agent():
    return bool(os.environ.get("PIPEFILL_JOB"))


class FillTask:
    """Holds this process to the bubbles of its device. One per process.

    `while task.next_unit(): ...` runs units, each as short as the work allows. Without agentd or
    library the task runs alone: every unit starts at once. Raises AttachError when agentd started this
    process and attaching fails.

    While gated, and unless the program has a handler of its own, SIGTERM makes next_unit() return
    False, so that the program can save and leave; a second SIGTERM ends it at once.
    """

    def __init__(self, socket=None, unit_hint=None):
        """socket: of agentd; default PIPEFILL_SOCKET. unit_hint: expected length of a unit in seconds."""
        self._stopped = False
        self._is_terminated = False
        self._has_handler = False
        self._closed = False
        self._task = _make_task(socket, round((unit_hint or 0) * 1e9))
        self.parts = Parts(self._task)  # of its state, for this package alone
        if self._task.is_gated:
            self._handle_sigterm()
        atexit.register(self.close)

    @property
    def is_gated(self):
        """Whether units are held to bubbles; False when running alone."""
        return self._task.is_gated

    @property
    def stopped(self):
        """Whether next_unit() has returned False: there may be work left."""
        return self._stopped

    def next_unit(self, label=0):
        """Ends the unit in progress and starts the next one, waiting as long as no bubble is open.

        label: kind of unit, 0 to 15; kinds of different length are estimated separately.
        Returns False when the task should save and leave. KeyboardInterrupt gets through.
        """
        _check_label(label)
        return self._wait(self._task.wait_unit, label)

    def next_elastic(self, n_min, n_max, label=0):
        """Like next_unit(), for work that comes in pieces: starts the largest unit of n_min to n_max pieces
        that fits the rest of the bubble, and returns its number of pieces.

        Returns n_max where units are not held to bubbles, and 0 when the task should save and leave. How
        long n pieces take is learned; label: kind of unit, as in next_unit().
        """
        _check_label(label)
        if not 1 <= n_min <= n_max < 1 << 32:
            raise ValueError("n_min=%r n_max=%r; it must be 1 <= n_min <= n_max" % (n_min, n_max))
        if self._wait(self._task.wait_elastic, label, n_min, n_max):
            return self._task.size.value
        return 0

    def checkpoint(self, save, load, sync=None, name="state"):
        """Registers a part of the job's state, and gives it back to `load` at once if an earlier attempt
        has saved it. Returns whether it has. See pipefill.checkpoint().
        """
        return self.parts.add(name, save, load, sync)

    def save(self):
        """Ends the unit in progress and saves now, if anything is new: for a program that is about to
        leave for reasons of its own.
        """
        if not self._closed:
            self._task.save()
            self.parts.raise_interrupt()

    def hold_saves(self, are_held):
        """While held nothing is saved, not even before the task is told to stop: the program is in the middle
        of several units that its state knows as one, such as the layers of a training step.
        """
        if not self._closed:
            self._task.hold_saves(are_held)

    def _wait(self, wait, *unit):
        try:
            while not (self._closed or self._is_terminated):
                outcome = wait(*unit, _WAIT_NS)
                self.parts.raise_interrupt()
                if outcome == _STARTED:
                    return True
                if outcome == _STOP:
                    break
        except BaseException:
            self.end_unit()
            raise
        self.end_unit()
        if self._is_terminated:
            self.save()
        self._stopped = True
        return False

    def end_unit(self):
        """Ends the unit in progress: needed before work that is no unit."""
        if not self._closed:
            self._task.end_unit()

    def stats(self):
        """TaskStats so far."""
        return self._task.stats()

    def checkpoint_stats(self):
        """CheckpointStats so far."""
        return self._task.checkpoint_stats()

    def close(self):
        """Ends the unit in progress and leaves the device; next_unit() returns False from now on."""
        if self._closed:
            return
        self._task.close()
        self._closed = True
        atexit.unregister(self.close)
        if self._has_handler and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) == self._on_sigterm:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _handle_sigterm(self):
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._on_sigterm)
            self._has_handler = True

    def _on_sigterm(self, number, _):
        if self._is_terminated:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._is_terminated = True


def _check_label(label):
    if not 0 <= label < 16:
        raise ValueError("label=%r; it must be in [0, 16)" % (label,))


def _make_task(socket, unit_hint_ns):
    library = _library.load()
    if library is None:
        if _is_started_by_agent():
            raise AttachError("cannot load %s, and without it this task could not be held to "
                              "bubbles" % _library.library_path())
        return _AloneTask()
    options = _library.TaskOptions(
        size_bytes=ctypes.sizeof(_library.TaskOptions),
        socket=_library.encode(socket),
        unit_hint_ns=unit_hint_ns,
    )
    handle = ctypes.c_void_p()
    code = library.pf_task_attach(ctypes.byref(options), ctypes.byref(handle))
    text = library.explain(code)
    if library.pf_task_is_refused(handle):
        library.pf_task_detach(handle)
        raise AttachError(text)
    if code != _library.OK:
        _library.LOG.warning("fill task runs alone: %s", text)
    return _LibraryTask(library, handle)


class _LibraryTask:
    """A pf_task."""

    def __init__(self, library, handle):
        self._library = library
        self._handle = handle
        self._hooks = None
        self._last_stats = self._last_checkpoint_stats = None
        self.size = ctypes.c_uint32()  # of the elastic unit that started last
        self._size_pointer = ctypes.pointer(self.size)
        self.is_gated = library.pf_task_is_gated(handle) == 1

    def wait_unit(self, label, timeout_ns):
        return self._library.pf_task_wait_unit(self._handle, label, timeout_ns)

    def wait_elastic(self, label, n_min, n_max, timeout_ns):
        return self._library.pf_task_wait_elastic(self._handle, label, n_min, n_max, timeout_ns,
                                                  self._size_pointer)

    def end_unit(self):
        self._library.pf_task_end_unit(self._handle)

    def set_checkpoint(self, hooks):
        """Returns (code, one line about it)."""
        self._hooks = hooks  # the library keeps pointers into it
        code = self._library.pf_task_set_checkpoint(self._handle, ctypes.byref(hooks))
        return code, "" if code == _library.OK else self._library.explain(code)

    def write(self, checkpoint, data):
        return self._library.pf_checkpoint_write(checkpoint, data, len(data))

    def save(self):
        self._library.pf_task_save(self._handle)

    def hold_saves(self, are_held):
        self._library.pf_task_hold_saves(self._handle, are_held)

    def checkpoint_stats(self):
        if self._handle is None:
            return self._last_checkpoint_stats
        raw = _library.CheckpointStatsStruct()
        self._library.pf_task_get_checkpoint_stats(self._handle, ctypes.byref(raw))
        return CheckpointStats(*(getattr(raw, name) for name in CheckpointStats._fields))

    def stats(self):
        if self._handle is None:
            return self._last_stats
        raw = _library.TaskStatsStruct()
        self._library.pf_task_get_stats(self._handle, ctypes.byref(raw))
        return TaskStats(*(getattr(raw, name) for name in TaskStats._fields))

    def close(self):
        self.end_unit()
        self._last_stats = self.stats()
        self._last_checkpoint_stats = self.checkpoint_stats()
        self._library.pf_task_detach(self._handle)
        self._handle = None


class _AloneTask:
    """A task without the library: counts its units, and that is all."""

    is_gated = False

    def __init__(self):
        self._units = self._cpu_ns = self._wall_ns = 0
        self.size = ctypes.c_uint32()  # of the elastic unit that started last
        self._begin = None  # (time, CPU time) of the unit in progress, in nanoseconds

    def wait_unit(self, _label, _timeout_ns):
        self.end_unit()
        self._begin = (time.monotonic_ns(), time.process_time_ns())
        return _STARTED

    def wait_elastic(self, label, _n_min, n_max, timeout_ns):
        self.size.value = n_max
        return self.wait_unit(label, timeout_ns)

    def end_unit(self):
        if self._begin is None:
            return
        self._units += 1
        self._wall_ns += time.monotonic_ns() - self._begin[0]
        self._cpu_ns += time.process_time_ns() - self._begin[1]
        self._begin = None

    def set_checkpoint(self, _hooks):
        return _library.OK, ""

    def save(self):
        pass

    def hold_saves(self, are_held):
        pass

    def checkpoint_stats(self):
        return CheckpointStats(0, 0, 0, 0, 0, 0)

    def stats(self):
        average_ns = self._wall_ns // self._units if self._units else 0
        return TaskStats(self._units, self._cpu_ns, self._wall_ns, 0, average_ns)

    def close(self):
        self.end_unit()


_default_lock = threading.Lock()
_default_task = None


def default_task(unit_hint=None):
    """The FillTask of this process that fill() uses, made on first use and kept until the end.

    unit_hint: see FillTask; counts on first use.
    """
    global _default_task
    with _default_lock:
        if _default_task is None:
            _default_task = FillTask(unit_hint=unit_hint)
        return _default_task


def checkpoint(save, load, sync=None, name="state", task=None):
    """Lets a job that was killed, moved or evicted go on where it was.

    save() returns the state as bytes: all that decides what the remaining units do. load(bytes) gets it
    back in the next attempt, before this call returns; the result says whether there was one. Saved is
    between units, every so much useful time, and before the task is told to stop. sync(), if there is
    one, runs after save(), outside of any unit: it makes durable what the state refers to.

    Several parts may be registered, each with a name of its own: all before the first unit, in every
    attempt. task: default default_task().
    """
    return (default_task() if task is None else task).checkpoint(save, load, sync, name)


def fill(loader, label=0, task=None):
    """`for batch in pipefill.fill(loader): ...` runs the loop in bubbles: one unit per batch.

    Fetching a batch belongs to the units: the first one fetches its batch and the second, each later one
    the batch after its own. The loop ends early when the task should save and leave; `stopped` of the
    returned object then is True.

    loader: any iterable. label: kind of unit, see FillTask.next_unit. task: default default_task().
    """
    return Fill(loader, label, default_task() if task is None else task)


class Fill:
    """An iterable over the batches of a loader; made by fill()."""

    def __init__(self, loader, label, task):
        self._loader = loader
        self._label = label
        self.task = task

    @property
    def stopped(self):
        """Whether the task was told to stop: batches may be left."""
        return self.task.stopped

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        if not self.task.next_unit(self._label):
            return
        try:
            is_first = True
            for batch in self._loader:
                # The first batch has its unit already; the others start theirs once they are fetched.
                if not is_first and not self.task.next_unit(self._label):
                    return
                is_first = False
                yield batch
        finally:
            self.task.end_unit()


def elastic(total, n_min, n_max, label=0, task=None):
    """`for begin, end in pipefill.elastic(total, n_min, n_max): ...` does pieces [begin, end) in each unit.

    Covers range(total) once, in order, in units of n_min to n_max pieces (the last one may be smaller):
    each as large as the rest of the bubble allows. Alone, all units but the last have n_max pieces; so
    the result of a piece must not depend on which pieces share a unit with it. The loop ends early when
    the task should save and leave; `stopped` of the returned object then is True.

    label: kind of unit, see FillTask.next_elastic. task: default default_task().
    """
    if not 1 <= n_min <= n_max < 1 << 32:
        raise ValueError("n_min=%r n_max=%r; it must be 1 <= n_min <= n_max" % (n_min, n_max))
    return Elastic(total, (n_min, n_max), label, default_task() if task is None else task)


class Elastic:
    """An iterable over (begin, end) of pieces; made by elastic()."""

    def __init__(self, total, sizes, label, task):
        self._total = total
        self._sizes = sizes
        self._label = label
        self.task = task

    @property
    def stopped(self):
        """Whether the task was told to stop: pieces may be left."""
        return self.task.stopped

    def __iter__(self):
        n_min, n_max = self._sizes
        begin = 0
        try:
            while begin < self._total:
                left = self._total - begin
                n = self.task.next_elastic(min(n_min, left), min(n_max, left), self._label)
                if n == 0:
                    return
                yield begin, begin + n
                begin += n
        finally:
            self.task.end_unit()
