"""Tests of how work is cut into units, without torch."""

import threading
import unittest
from unittest import mock

from fake_task import FakeTask
from pipefill import _chain
from pipefill._chain import KNOWN, STEP_NS, UNKNOWN, Chain, Place, Stopped

MOST = _chain.UNIT_MAX_NS // STEP_NS


def known_place(stretch_ns):
    place = Place()
    place.learn(stretch_ns)
    place.learn(stretch_ns)
    return place


class PlaceTest(unittest.TestCase):
    def test_is_known_after_two_visits_and_forgets_the_slower_one(self):
        place = Place()
        self.assertIsNone(place.expected_ns)
        place.learn(900)
        self.assertIsNone(place.expected_ns)
        place.learn(100)
        self.assertEqual(place.expected_ns, 100)

    def test_follows_a_change_and_shrugs_off_a_single_long_stretch(self):
        place = known_place(1_000_000)
        place.learn(50_000_000)
        self.assertLess(place.expected_ns, 1_100_000)
        for _ in range(40):
            place.learn(3_000_000)
        self.assertAlmostEqual(place.expected_ns, 3_000_000, delta=300_000)

    def test_never_expects_a_negative_stretch(self):
        place = known_place(3)
        for _ in range(20):
            place.learn(0)
        self.assertGreaterEqual(place.expected_ns, 0)


class ChainTest(unittest.TestCase):
    def setUp(self):
        self.now_ns = 0
        self.device_waits = 0

    def make_chain(self, **options):
        self.task = FakeTask(**options)
        self.chain = Chain(self.task, clock_ns=lambda: self.now_ns)
        self.chain.enter("scope")

    def run_stretch(self, place, actual_ns=None):
        self.chain.reach(place)
        self.now_ns += place.expected_ns if actual_ns is None else actual_ns

    def test_an_unknown_place_has_a_unit_of_its_own(self):
        self.make_chain()
        self.run_stretch(known_place(STEP_NS))
        self.run_stretch(Place(), actual_ns=STEP_NS)
        self.run_stretch(known_place(STEP_NS))
        self.assertEqual(self.task.log, [(KNOWN, 1, MOST), UNKNOWN, (KNOWN, 1, MOST)])

    def test_learns_the_stretch_from_each_place_to_the_next(self):
        self.make_chain()
        first, second = Place(), Place()
        for _ in range(2):
            self.run_stretch(first, actual_ns=70)
            self.run_stretch(second, actual_ns=90)
        self.chain.leave("scope")
        self.assertEqual((first.expected_ns, second.expected_ns), (70, 90))

    def test_a_unit_takes_in_the_stretches_that_fit_its_size(self):
        self.make_chain(pieces=10)
        place = known_place(4 * STEP_NS)
        for _ in range(5):
            self.run_stretch(place)
        self.assertEqual(self.task.log, [(KNOWN, 4, MOST)] * 3)

    def test_a_stretch_that_lasts_too_long_ends_the_unit_early(self):
        self.make_chain(pieces=10)
        place = known_place(STEP_NS)
        self.run_stretch(place)
        self.run_stretch(place, actual_ns=15 * STEP_NS)
        self.run_stretch(place)
        self.assertEqual(len(self.task.log), 2)

    def test_asks_for_at_least_the_stretch_and_for_no_more_than_the_longest_unit(self):
        self.make_chain()
        self.run_stretch(known_place(STEP_NS + 1))
        self.run_stretch(known_place(5 * _chain.UNIT_MAX_NS))
        self.assertEqual(self.task.log, [(KNOWN, 2, MOST), (KNOWN, 5 * MOST, 5 * MOST)])

    def test_work_outside_of_scopes_is_no_unit(self):
        self.make_chain()
        self.chain.enter("inner", known_place(1))
        self.chain.leave("inner")
        self.assertTrue(self.task.in_unit)
        self.chain.leave("scope")
        self.assertFalse(self.task.in_unit)

    def test_leaving_a_scope_leaves_what_was_entered_since(self):
        self.make_chain()
        self.chain.enter("forgotten", known_place(1))
        self.chain.leave("scope")
        self.assertFalse(self.task.in_unit)
        self.chain.leave("forgotten")
        self.assertEqual(self.task.log, [(KNOWN, 1, MOST), "end"])

    def test_a_scope_inside_itself_is_left_twice(self):
        self.make_chain()
        self.chain.enter("scope", known_place(1))
        self.chain.leave("scope")
        self.assertTrue(self.task.in_unit)
        self.chain.leave("scope")
        self.assertFalse(self.task.in_unit)

    def test_stop_is_raised_where_a_unit_would_begin_and_leaves_no_scope(self):
        self.make_chain(stop_after=1)
        self.run_stretch(Place(), actual_ns=1)
        with self.assertRaises(Stopped) as raised:
            self.chain.enter("inner", Place())
        self.assertEqual(raised.exception.code, 3)
        self.chain.leave("scope")
        self.assertFalse(self.task.in_unit)
        with self.assertRaises(Stopped):
            self.chain.enter("scope", Place())

    def test_an_exception_while_waiting_leaves_no_unit_behind(self):
        self.make_chain()
        self.run_stretch(known_place(1))
        self.task.next_unit = self.interrupt
        with self.assertRaises(KeyboardInterrupt):
            self.chain.enter("inner", Place())
        self.chain.enter("inner", known_place(1))
        self.assertEqual(self.task.log, [(KNOWN, 1, MOST)] * 2)
        self.chain.leave("inner")
        self.chain.leave("scope")
        self.assertFalse(self.task.in_unit)

    def test_an_exception_while_waiting_outside_of_all_scopes_leaves_no_scope_behind(self):
        task = FakeTask()
        chain = Chain(task)
        with mock.patch.object(task, "next_unit", self.interrupt), self.assertRaises(KeyboardInterrupt):
            chain.enter("interrupted", Place())
        chain.enter("scope", Place())
        chain.leave("scope")
        self.assertFalse(task.in_unit)

    @staticmethod
    def interrupt(_label):
        raise KeyboardInterrupt

    def test_saves_wait_until_every_stepper_has_stepped(self):
        self.make_chain()
        self.chain.add_stepper("first")
        self.chain.add_stepper("second")
        for _ in range(2):
            for stepper in ("first", "first", "second"):
                self.run_stretch(Place(), actual_ns=STEP_NS)
                self.chain.stepped(stepper)
        self.assertEqual(self.task.savable, [0, 3])

        self.run_stretch(Place(), actual_ns=STEP_NS)
        self.chain.remove_stepper("first")
        self.assertTrue(self.task.saves_are_held)
        self.chain.remove_stepper("second")
        self.assertFalse(self.task.saves_are_held)

    def test_without_steppers_saves_wait_for_nothing(self):
        self.make_chain()
        for _ in range(3):
            self.run_stretch(Place(), actual_ns=STEP_NS)
        self.assertEqual(self.task.savable, [0, 1, 2])

    def test_waits_for_the_device_before_a_stretch_counts_as_done(self):
        task = FakeTask(pieces=2)
        chain = Chain(task, clock_ns=lambda: self.now_ns, wait_for_device=self.wait_for_device)
        place = Place()
        for _ in range(2):
            chain.enter("scope", place)
            self.assertTrue(task.in_unit)
            chain.leave("scope")
        self.assertEqual(self.device_waits, 2)
        self.assertEqual(place.expected_ns, 500)

    def wait_for_device(self):
        self.device_waits += 1
        self.now_ns += 500

    def test_a_thread_asks_for_a_unit_only_when_no_other_thread_waits_for_one(self):
        asked, both, answer = threading.Semaphore(0), threading.Event(), threading.Event()
        task = FakeTask()

        def next_unit(_label):
            if not asked.acquire(blocking=False):
                both.set()
            answer.wait()
            asked.release()
            return True

        task.next_unit = next_unit
        asked.release()
        chain = Chain(task)
        threads = [threading.Thread(target=chain.reach, args=(Place(), )) for _ in range(2)]
        for thread in threads:
            thread.start()
        self.assertFalse(both.wait(0.05))
        answer.set()
        for thread in threads:
            thread.join()

    def test_a_forked_child_runs_no_units(self):
        self.make_chain()
        self.run_stretch(known_place(1))
        self.chain.forget()
        self.chain.reach(Place())
        self.chain.leave("scope")
        self.assertEqual(self.task.log, [(KNOWN, 1, MOST)])


if __name__ == "__main__":
    unittest.main()
