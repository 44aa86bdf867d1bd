"""Tests of what gives a main job's spare memory back."""

import ctypes
import types
import unittest

import pipefill
from pipefill import _memory
from pipefill._memory import ReleasePlan, SpareMemory

MS = 1_000_000
FORWARD, BACKWARD = 1, 2


class Clock:
    def __init__(self):
        self.now_ns = 0

    def __call__(self):
        return self.now_ns


class Memory:
    """Of which so much is spare at each look."""

    unusable = None

    def __init__(self, clock, cost_ns=MS // 2):
        self.spare = 64 << 20
        self.cost_ns = cost_ns
        self.is_released = False
        self.error = None
        self.free = 1 << 30
        self._clock = clock

    def spare_bytes(self):
        if self.error is not None:
            raise self.error
        return 0 if self.is_released else self.spare

    def release(self):
        self._clock.now_ns += self.cost_ns
        self.is_released = True

    def free_bytes(self):
        return self.free


class Job(pipefill.MainJob):
    """Detached; keeps what it was told."""

    def __init__(self):
        super().__init__(None, None)
        self.hints = []

    def memory_hint(self, free_bytes):
        self.hints.append(free_bytes)


class SpareMemoryTest(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.memory = Memory(self.clock)
        self.job = Job()
        self.spare = SpareMemory(self.job, self.memory, self.clock)
        self.refill_ns = 0

    def run_iterations(self, count, gaps_ms=(50, 2, 20)):
        """Each of chunks of 10 ms with those gaps behind them."""
        for number in range(count):
            with self.job.iteration(number):
                for gap_ms in gaps_ms:
                    with self.job.chunk("forward"):
                        self.clock.now_ns += 10 * MS
                        if self.memory.is_released:
                            self.clock.now_ns += self.refill_ns
                        self.memory.is_released = False
                    self.clock.now_ns += gap_ms * MS

    def test_gives_memory_back_in_long_gaps_only_and_tells_what_is_free(self):
        self.run_iterations(8)
        self.assertEqual(self.spare.releases, 0)
        self.run_iterations(100)
        self.assertEqual(self.spare.reason, "hidden in 2 of 2 long gaps")
        before = self.spare.releases
        self.run_iterations(10)
        self.assertEqual(self.spare.releases, before + 20)
        self.assertEqual(self.job.hints[-1], 1 << 30)
        self.assertEqual(len(self.job.hints), self.spare.releases)
        self.assertEqual(self.spare.released_bytes, self.spare.releases * (64 << 20))

    def test_leaves_gaps_alone_that_are_too_short_for_what_it_costs(self):
        self.memory.cost_ns = 5 * MS  # a tenth of the long gap, a quarter of the other
        self.run_iterations(50)
        self.assertEqual(self.spare.reason, "hidden in 1 of 2 long gaps")
        before = self.spare.releases
        self.run_iterations(10)
        self.assertEqual(self.spare.releases, before + 10)

    def test_a_release_far_longer_than_its_gap_is_the_last_there(self):
        self.memory.cost_ns = 300 * MS
        self.run_iterations(100, gaps_ms=(5,))
        self.assertEqual(self.spare.releases, 1)
        self.assertEqual(self.spare.reason, "hidden in 0 of 1 long gaps")

    def test_a_release_that_has_become_too_long_is_the_last_there(self):
        self.run_iterations(100)
        self.assertEqual(self.spare.reason, "hidden in 2 of 2 long gaps")
        before = self.spare.releases
        self.memory.cost_ns = 30 * MS
        self.run_iterations(50)
        self.assertEqual(self.spare.releases, before + 2)
        self.assertEqual(self.spare.reason, "hidden in 0 of 2 long gaps")

    def test_goes_on_after_an_iteration_without_a_step_of_the_optimizer(self):
        self.run_iterations(100)
        with self.job.iteration(100):
            self.job._chunk_begin(FORWARD)  # what watch() does when it waits for the step
            self.clock.now_ns += 10 * MS
        before = self.spare.releases
        self.run_iterations(10)
        self.assertEqual(self.spare.releases, before + 20)

    def test_stops_where_the_chunks_behind_pay_for_it(self):
        self.refill_ns = MS  # of an iteration of 102 ms
        self.run_iterations(50)
        self.assertEqual(self.spare.reason, "hidden in 0 of 2 long gaps")
        before = self.spare.releases
        self.run_iterations(100)
        self.assertEqual(self.spare.releases, before)

    def test_does_nothing_without_a_long_gap(self):
        self.run_iterations(100, gaps_ms=(4, 4))
        self.assertEqual(self.spare.releases, 0)
        self.assertEqual(self.spare.reason, "no gap is as long as 5 ms")

    def test_looks_seldom_where_nothing_is_spare(self):
        looks = []
        self.memory.spare = 1000
        self.memory.spare_bytes = lambda: looks.append(1) or 1000
        self.run_iterations(209)
        self.assertEqual(self.spare.releases, 0)
        self.assertLess(len(looks), 30)

    def test_tries_again_after_a_while(self):
        self.refill_ns = MS
        self.run_iterations(100)
        self.refill_ns = 0
        self.run_iterations(1100)
        self.assertEqual(self.spare.reason, "hidden in 2 of 2 long gaps")

    def test_what_fails_ends_it_and_not_the_training_run(self):
        self.memory.error = OSError("no such thing")
        with self.assertLogs("pipefill", "WARNING") as logs:
            self.run_iterations(100)
        self.assertEqual(len(logs.output), 1)
        self.assertEqual(self.spare.reason, "giving memory back failed: no such thing")

    def test_memory_that_cannot_be_used_is_left_alone(self):
        self.memory.unusable = "no such memory"
        spare = SpareMemory(Job(), self.memory, self.clock)
        self.assertEqual(spare.reason, "no such memory")

    def test_removed_it_leaves_the_job_as_it_was(self):
        before = {name: getattr(Job(), name) for name in ("_iteration_begin", "_chunk_begin", "_chunk_end")}
        self.spare.remove()
        self.assertEqual({name: getattr(self.job, name) for name in before}, before)

    def test_removed_below_another_one_it_passes_on(self):
        above = SpareMemory(self.job, Memory(self.clock), self.clock)
        self.spare.remove()
        self.run_iterations(100)
        self.assertEqual(self.spare.releases, 0)
        self.assertGreater(above.releases, 0)

    def test_nested_chunks_are_one(self):
        for number in range(100):
            with self.job.iteration(number):
                with self.job.chunk("forward"), self.job.chunk("backward"):
                    self.clock.now_ns += 10 * MS
                    self.memory.is_released = False
                self.clock.now_ns += 50 * MS
        self.assertEqual(self.spare.reason, "hidden in 1 of 1 long gaps")


class ReleasePlanTest(unittest.TestCase):
    def test_takes_the_cheapest_gaps_as_long_as_the_iteration_bears_them(self):
        plan = ReleasePlan()
        refill_ns = {1: MS // 10, 2: MS // 20, 3: MS // 5}  # 0.2 % of 100 ms hold two
        for number in range(40):
            plan.on_iteration(number * 100 * MS)
            for place, refill in refill_ns.items():
                is_released = plan.wants(place)
                if is_released:
                    plan.on_release(place, MS, 1 << 30)
                plan.on_gap(place, 20 * MS)
                plan.on_chunk(place, 10 * MS + (refill if is_released else 0), is_released)
        self.assertEqual(plan.places_on(), [1, 2])


class ProcessMemoryTest(unittest.TestCase):
    def test_gives_the_heap_back_to_the_kernel(self):
        memory = _memory.ProcessMemory()
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.free.argtypes = [ctypes.c_void_p]
        blocks = [libc.malloc(ctypes.c_size_t(64 << 10)) for _ in range(512)]
        for block in blocks:
            ctypes.memset(block, 1, 64 << 10)
        keeper = libc.malloc(ctypes.c_size_t(64 << 10))  # on top: the heap cannot simply shrink
        for block in blocks:
            libc.free(block)
        with_spare = resident_bytes()
        self.assertGreater(memory.spare_bytes(), 24 << 20)
        memory.release()
        self.assertLess(resident_bytes(), with_spare - (24 << 20))
        libc.free(keeper)

    def test_says_what_the_c_library_lacks(self):
        memory = _memory.ProcessMemory(types.SimpleNamespace(malloc_trim=None))  # glibc 2.31
        self.assertEqual(memory.unusable,
                         "the C library has no malloc_trim and mallinfo2: it takes glibc 2.33 or newer")
        self.assertIsNone(_memory.ProcessMemory().unusable)

    def test_tells_what_is_free(self):
        self.assertGreater(_memory.ProcessMemory().free_bytes(), 1 << 20)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


if __name__ == "__main__":
    unittest.main()
