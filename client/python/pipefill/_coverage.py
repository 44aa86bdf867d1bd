"""Exact coverage of a data set by a job that may be killed and moved: every sample once, in order.

A cursor hands out the samples, output files take the results. Both are parts of the same checkpoint,
so what an attempt did after its last checkpoint is cut off, and done again.
"""

import os
import struct

from ._fill import default_task
from ._checkpoint import CheckpointError

_POSITION = struct.Struct("<QQ")  # position, total
_LENGTH = struct.Struct("<Q")
_PIECE_BYTES = 1 << 20


class DataCursor:
    """How far a job is in its data. position: samples [0, position) are done.

    Iterating over it, or over elastic(...), goes on from there: it is registered as a part of the job's
    checkpoint, and moves on when the next unit is asked for.
    """

    def __init__(self, total, name="cursor", task=None):
        self.task = default_task() if task is None else task
        self.total = total
        self.position = 0
        self.task.parts.cursors += 1
        self.task.checkpoint(self._save, self._load, name=name)

    @property
    def stopped(self):
        """Whether the task was told to stop: samples may be left."""
        return self.task.stopped

    def elastic(self, n_min, n_max, label=0, record=None):
        """Yields (begin, end) of samples, each range as large as the rest of the bubble allows.

        record: an OutputFile that gets a line "begin end" for each range that is done.
        """
        if not 1 <= n_min <= n_max < 1 << 32:
            raise ValueError("n_min=%r n_max=%r; it must be 1 <= n_min <= n_max" % (n_min, n_max))
        try:
            while self.position < self.total:
                left = self.total - self.position
                n = self.task.next_elastic(min(n_min, left), min(n_max, left), label)
                if n == 0:
                    return
                begin, end = self.position, self.position + n
                yield begin, end
                if record is not None:
                    record.write(b"%d %d\n" % (begin, end))
                self.advance(end)
        finally:
            self.task.end_unit()

    def __iter__(self):
        """Yields one sample's number for each unit of kind 0."""
        try:
            while self.position < self.total and self.task.next_unit():
                yield self.position
                self.advance(self.position + 1)
        finally:
            self.task.end_unit()

    def advance(self, position):
        """Samples up to there are done, and their results written. The loops over the cursor call it."""
        self.position = position
        self.task.parts.commit()

    def _save(self):
        return _POSITION.pack(self.position, self.total)

    def _load(self, state):
        position, total = _POSITION.unpack(state)
        if total != self.total:
            raise CheckpointError("the data have changed: %d samples, the checkpoint is of %d"
                                  % (self.total, total))
        self.position = position


def elastic_range(total, n_min, n_max, label=0, record=None, task=None):
    """`for begin, end in pipefill.elastic_range(total, n_min, n_max): ...` like elastic(), for a job that
    goes on after a crash or on another device: over all attempts it covers range(total) once, in order.

    Results belong into an OutputFile, or into a part of the job's checkpoint; both made before the loop
    begins. record: an OutputFile for the ranges, in the order in which they were done.
    """
    return DataCursor(total, task=task).elastic(n_min, n_max, label, record)


class OutputFile:
    """A file that only grows, and is as long as the job's checkpoint says when the job goes on: as long as
    it was when the task's cursor moved on last; without a cursor, when it was saved.

    What an attempt wrote after its last checkpoint is not in the file of the next one. A stopped attempt
    that wakes up late writes into a file that nobody reads. Use as a context manager; register (make) it
    before the first unit.
    """

    def __init__(self, path, name=None, task=None, on_kept=None):
        """on_kept(bytes): gets the content that is kept, piece by piece, for a running checksum."""
        self.path = os.fspath(path)
        self._on_kept = on_kept
        self._file = None
        self._committed = 0
        task = default_task() if task is None else task
        self._parts = task.parts
        self._parts.outputs.append(self)
        name = "output " + os.path.basename(self.path) if name is None else name
        if not task.checkpoint(self._save, self._load, self._sync, name=name):
            self._begin(0)

    def write(self, content):
        """Appends."""
        self._file.write(content)

    def commit(self):
        """What has been written by now counts."""
        if not self._file.closed:
            self._committed = self._file.tell()

    def close(self):
        """Flushes and syncs: the file is complete."""
        if not self._file.closed:
            self._sync()
            self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _save(self):
        if self._parts.cursors == 0:
            self.commit()
        return _LENGTH.pack(self._committed)

    def _sync(self):
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())

    def _load(self, state):
        self._begin(*_LENGTH.unpack(state))

    def _begin(self, kept):
        """A new file with the first `kept` bytes of the old one, in its place."""
        unfinished = self.path + ".unfinished"
        self._file = open(unfinished, "wb")  # pylint: disable=consider-using-with
        self._committed = kept
        if kept > 0:
            self._keep(kept)
        self._sync()
        os.replace(unfinished, self.path)

    def _keep(self, kept):
        try:
            with open(self.path, "rb") as old:
                while kept > 0:
                    piece = old.read(min(kept, _PIECE_BYTES))
                    if not piece:
                        raise CheckpointError("output is %d bytes shorter than its checkpoint: %s"
                                              % (kept, self.path))
                    self._file.write(piece)
                    if self._on_kept is not None:
                        self._on_kept(piece)
                    kept -= len(piece)
        except FileNotFoundError:
            raise CheckpointError("output of the checkpoint is gone: %s" % self.path) from None
