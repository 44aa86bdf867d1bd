"""Gives back memory that a main job keeps but does not use, before its long bubbles, and says how much is free
in them. The part of pipefill.torch_memory that needs no torch.

A framework keeps what it has freed, for the next allocation. A fill task has no use of that. Giving it back
takes time, at once and again when the main job takes it back, so it is done only where both were measured to
be small:

    learning ---8 iterations---> trying ---8 iterations---> judged: on in some gaps, off in the others
       ^                                                        |
       +----------------------------1000 iterations-------------+

A *gap* is the time between two chunks, known by its place in the iteration. One release that takes more than its
share of the gap switches that gap off at once, whatever the phase, until gaps are tried again.
"""

import collections
import ctypes
import logging
import statistics
import time

LOG = logging.getLogger("pipefill")

# Iterations of each phase.
LEARN_ITERATIONS = 8
TRY_ITERATIONS = 8
JUDGE_AGAIN_ITERATIONS = 1000
# Shorter gaps are never tried.
GAP_MIN_NS = 5_000_000
# A release may take this share of the gap, as long as the gap is short.
GAP_SHARE = 0.2
# What all releases of an iteration may add to its chunks.
CHUNK_SHARE = 0.002
# Less spare memory than this is left alone.
SPARE_MIN_BYTES = 1 << 20
# After so many releases in a row that freed less, a gap is left alone for a while.
IDLE_RELEASES = 3
IDLE_ITERATIONS = 64
_SAMPLES = 32


class _Gap:
    """What is known about the gap at one place."""

    def __init__(self):
        self.lengths_ns = collections.deque(maxlen=_SAMPLES)
        self.costs_ns = collections.deque(maxlen=_SAMPLES)
        # Of the chunk that follows, without and with a release before it.
        self.chunks_ns = {False: collections.deque(maxlen=_SAMPLES), True: collections.deque(maxlen=_SAMPLES)}
        self.is_tried = False
        self.is_on = False
        self.idle_releases = 0
        self.idle_until = 0

    @property
    def short_ns(self):
        """A length that nine in ten gaps here reach."""
        return sorted(self.lengths_ns)[len(self.lengths_ns) // 10]

    @property
    def refill_ns(self):
        """What a release adds to the chunk behind it."""
        if not self.chunks_ns[True] or not self.chunks_ns[False]:
            return 0
        return max(0, statistics.median(self.chunks_ns[True]) - statistics.median(self.chunks_ns[False]))

    @property
    def is_hidden(self):
        return bool(self.costs_ns) and statistics.median(self.costs_ns) <= GAP_SHARE * self.short_ns


class ReleasePlan:
    """Decides in which gaps memory is given back. Times are passed in."""

    def __init__(self):
        self.reason = "learning how long the gaps are"
        self._gaps = collections.defaultdict(_Gap)
        self._iterations = 0
        self._phase_end = LEARN_ITERATIONS
        self._phase = "learning"
        self._iteration_begin_ns = None
        self._iterations_ns = collections.deque(maxlen=_SAMPLES)

    def on_iteration(self, now_ns):
        """An iteration begins."""
        if self._iteration_begin_ns is not None:
            self._iterations_ns.append(now_ns - self._iteration_begin_ns)
            self._iterations += 1
        self._iteration_begin_ns = now_ns
        if self._iterations >= self._phase_end:
            self._end_phase()

    def wants(self, place):
        """Whether memory is to be given back in the gap that begins."""
        gap = self._gaps[place]
        return gap.is_on and self._iterations >= gap.idle_until

    def on_release(self, place, cost_ns, freed_bytes):
        gap = self._gaps[place]
        gap.costs_ns.append(cost_ns)
        if gap.is_on and cost_ns > GAP_SHARE * gap.short_ns:
            gap.is_on = False
            if self._phase == "judged":
                self._describe()
        gap.idle_releases = gap.idle_releases + 1 if freed_bytes < SPARE_MIN_BYTES else 0
        if gap.idle_releases >= IDLE_RELEASES:
            gap.idle_releases = 0
            gap.idle_until = self._iterations + IDLE_ITERATIONS

    def on_gap(self, place, length_ns):
        self._gaps[place].lengths_ns.append(length_ns)

    def on_chunk(self, place, length_ns, was_released):
        """Of the chunk behind the gap at `place`."""
        self._gaps[place].chunks_ns[was_released].append(length_ns)

    def places_on(self):
        return sorted(place for place, gap in self._gaps.items() if gap.is_on)

    def _end_phase(self):
        if self._phase == "learning":
            self._phase, self._phase_end = "trying", self._iterations + TRY_ITERATIONS
            for gap in self._gaps.values():
                gap.is_tried = gap.is_on = bool(gap.lengths_ns) and gap.short_ns >= GAP_MIN_NS
            self.reason = "trying what giving memory back costs" if self.places_on() else (
                "no gap is as long as %d ms" % (GAP_MIN_NS // 1_000_000))
        elif self._phase == "trying":
            self._phase, self._phase_end = "judged", self._iterations + JUDGE_AGAIN_ITERATIONS
            self._judge()
        else:
            self._phase, self._phase_end = "learning", self._iterations + LEARN_ITERATIONS
            self._gaps.clear()  # what was measured then may not hold any more

    def _judge(self):
        """The cheapest first, as long as the iteration can bear them."""
        left_ns = CHUNK_SHARE * statistics.median(self._iterations_ns)
        still_on = [gap for gap in self._gaps.values() if gap.is_on]
        for gap in sorted(still_on, key=lambda gap: gap.refill_ns):
            gap.is_on = gap.is_hidden and gap.refill_ns <= left_ns
            if gap.is_on:
                left_ns -= gap.refill_ns
        self._describe()

    def _describe(self):
        tried = sum(gap.is_tried for gap in self._gaps.values())
        if tried:
            self.reason = "hidden in %d of %d long gaps" % (len(self.places_on()), tried)


class ProcessMemory:
    """The heap of this process, for devices that are processor cores.

    unusable: why nothing else here may be called; None: it may.
    """

    def __init__(self, libc=None):
        libc = libc or ctypes.CDLL(None)
        try:
            self._trim = libc.malloc_trim
            self._info = libc.mallinfo2
        except AttributeError:
            self.unusable = "the C library has no malloc_trim and mallinfo2: it takes glibc 2.33 or newer"
            return
        self.unusable = None
        self._info.restype = _MallocInfo

    def spare_bytes(self):
        return self._info().free_bytes

    def release(self):
        self._trim(ctypes.c_size_t(0))

    def free_bytes(self):
        """Of the node: agentd knows which part of it is the device's."""
        with open("/proc/meminfo", "rb") as file:
            for line in file:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) << 10
        return 0


class _MallocInfo(ctypes.Structure):
    """struct mallinfo2."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "free_bytes", "keepcost")]


class SpareMemory:
    """Follows the chunks of a MainJob, and does what its ReleasePlan says.

    job: a MainJob that reports chunks; memory: an object like ProcessMemory. Never raises after it was made: what
    fails ends the releases, with one warning. Calls come from the thread that reports the chunks.
    """

    def __init__(self, job, memory, clock=time.perf_counter_ns):
        self.released_bytes = 0  # in all
        self.releases = 0
        self._job = job
        self._memory = memory
        self._clock = clock
        self._plan = ReleasePlan()
        self._off = memory.unusable  # why it does nothing, or nothing any more
        self._place = 0
        self._gap_place, self._gap_begin_ns = 0, None
        self._chunk = None  # (place of the gap before it, its begin, whether there was a release)
        self._was_released = False
        self._depth = 0
        self._own = {"_iteration_begin": self._on_iteration_begin, "_chunk_begin": self._on_chunk_begin,
                     "_chunk_end": self._on_chunk_end}
        self._originals = {name: getattr(job, name) for name in self._own}
        for name, own in self._own.items():
            setattr(job, name, own)

    @property
    def reason(self):
        """One line: where memory is given back, or why it is not."""
        return self._off or self._plan.reason

    def remove(self):
        """Does nothing any more."""
        self._off = self._off or "removed"
        # Unless somebody has put another one on top since: then this one only passes on.
        for name, own in self._own.items():
            if getattr(self._job, name) == own:
                setattr(self._job, name, self._originals[name])

    def _guarded(self, body, *arguments):
        if self._off is not None:
            return
        try:
            body(*arguments)
        except Exception as error:  # a training run must not end for this
            self._off = "giving memory back failed: %s" % error
            LOG.warning("%s; the training run goes on without", self._off)

    def _on_iteration_begin(self, *arguments):
        self._originals["_iteration_begin"](*arguments)
        self._guarded(self._begin_iteration)

    def _on_chunk_begin(self, *arguments):
        self._depth += 1
        if self._depth == 1:
            self._guarded(self._end_gap)
        self._originals["_chunk_begin"](*arguments)

    def _on_chunk_end(self, *arguments):
        self._originals["_chunk_end"](*arguments)
        self._depth -= 1
        if self._depth == 0:
            self._guarded(self._begin_gap)

    def _begin_iteration(self):
        self._plan.on_iteration(self._clock())
        self._place = 0
        if self._depth != 0:  # the last one ended inside a chunk: without the optimizer's step, or by an exception
            self._depth = 0
            self._chunk = None

    def _begin_gap(self):
        now_ns = self._clock()
        if self._chunk is not None:
            place, begin_ns, was_released = self._chunk
            self._plan.on_chunk(place, now_ns - begin_ns, was_released)
        self._place += 1
        self._gap_place, self._gap_begin_ns = self._place, now_ns
        self._was_released = False
        if self._plan.wants(self._place):
            self._release()

    def _release(self):
        begin_ns = self._clock()
        spare_bytes = self._memory.spare_bytes()
        freed_bytes = 0
        if spare_bytes >= SPARE_MIN_BYTES:
            self._memory.release()
            freed_bytes = spare_bytes - self._memory.spare_bytes()
            self._was_released = True
            self.releases += 1
            self.released_bytes += max(0, freed_bytes)
        free_bytes = self._memory.free_bytes()
        self._plan.on_release(self._place, self._clock() - begin_ns, freed_bytes)
        if free_bytes > 0:
            self._job.memory_hint(free_bytes)

    def _end_gap(self):
        now_ns = self._clock()
        self._chunk = None
        if self._gap_begin_ns is None:
            return
        self._plan.on_gap(self._gap_place, now_ns - self._gap_begin_ns)
        self._chunk = (self._gap_place, now_ns, self._was_released)
        self._gap_begin_ns = None
