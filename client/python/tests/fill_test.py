"""Tests of the fill job's side of the package."""

import os
import signal
import threading
import unittest
from unittest import mock

import pipefill
from fake_agent import REFUSED_UNKNOWN, FakeAgent
from processes import clean_environment, run_script


class AloneTest(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(os.environ, clean_environment(), clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        self.task = pipefill.FillTask()
        self.addCleanup(self.task.close)

    def test_fill_gives_every_batch_its_unit(self):
        batches = pipefill.fill([1, 2, 3], task=self.task)
        self.assertEqual(len(batches), 3)
        self.assertEqual(list(batches), [1, 2, 3])
        self.assertEqual(self.task.stats().units, 3)
        self.assertFalse(self.task.is_gated)
        self.assertFalse(batches.stopped)

    def test_fill_takes_any_iterable(self):
        self.assertEqual(list(pipefill.fill((i for i in range(4)), task=self.task)), [0, 1, 2, 3])
        self.assertEqual(list(pipefill.fill([], task=self.task)), [])

    def test_fetching_a_batch_belongs_to_a_unit(self):
        in_unit = []

        def loader():
            for number in range(3):
                units = self.task.stats().units
                self.task.end_unit()  # counts only if one is in progress
                in_unit.append(self.task.stats().units > units)
                self.task.next_unit()
                yield number

        list(pipefill.fill(loader(), task=self.task))
        self.assertEqual(in_unit, [True, True, True])

    def test_fill_ends_its_unit_when_the_loop_is_left_early(self):
        for _ in pipefill.fill(range(10), task=self.task):
            break
        before = self.task.stats()
        self.task.end_unit()
        self.assertEqual(self.task.stats(), before)
        self.assertEqual(before.units, 1)

    def test_fill_uses_one_task_for_the_whole_process(self):
        list(pipefill.fill([1]))
        list(pipefill.fill([1]))
        self.assertEqual(pipefill.default_task().stats().units, 2)

    def test_counts_time_inside_units(self):
        while self.task.next_unit():
            sum(range(200_000))
            if self.task.stats().units == 2:
                break
        self.task.end_unit()
        stats = self.task.stats()
        self.assertEqual(stats.units, 3)
        self.assertGreater(stats.unit_cpu_ns, 0)
        self.assertGreaterEqual(stats.unit_wall_ns, stats.unit_cpu_ns // 2)

    def test_refuses_a_kind_that_does_not_exist(self):
        with self.assertRaisesRegex(ValueError, "label=16"):
            self.task.next_unit(16)

    def test_elastic_covers_all_pieces_in_the_largest_units(self):
        pieces = pipefill.elastic(10, 2, 4, task=self.task)
        self.assertEqual(list(pieces), [(0, 4), (4, 8), (8, 10)])
        self.assertEqual(list(pipefill.elastic(0, 1, 4, task=self.task)), [])
        self.assertEqual(list(pipefill.elastic(1, 3, 4, task=self.task)), [(0, 1)])
        self.assertFalse(pieces.stopped)
        self.assertEqual(self.task.stats().units, 4)

    def test_elastic_ends_its_unit_when_the_loop_is_left_early(self):
        for _ in pipefill.elastic(100, 1, 4, task=self.task):
            break
        before = self.task.stats()
        self.task.end_unit()
        self.assertEqual(self.task.stats(), before)
        self.assertEqual(before.units, 1)

    def test_elastic_refuses_sizes_that_make_no_sense(self):
        for sizes in ((0, 1), (3, 2), (1, 1 << 32)):
            with self.assertRaisesRegex(ValueError, "n_min="):
                pipefill.elastic(10, *sizes, task=self.task)
            with self.assertRaisesRegex(ValueError, "n_min="):
                self.task.next_elastic(*sizes)

    def test_closed_task_starts_nothing_and_keeps_its_counts(self):
        with self.task:
            self.task.next_unit()
        self.assertFalse(self.task.next_unit())
        self.assertTrue(self.task.stopped)
        self.assertEqual(self.task.stats().units, 1)

    def test_leaves_the_handler_of_sigterm_alone(self):
        self.assertEqual(signal.getsignal(signal.SIGTERM), signal.SIG_DFL)

    def test_warns_when_a_socket_is_named_but_agentd_did_not_start_it(self):
        with mock.patch.dict(os.environ, PIPEFILL_SOCKET="/nowhere/agentd.sock"):
            with self.assertLogs("pipefill", "WARNING") as logs:
                task = pipefill.FillTask()
        self.assertEqual(len(logs.output), 1)
        self.assertTrue(task.next_unit())
        task.close()


class WithoutLibraryTest(unittest.TestCase):
    SCRIPT = """
import pipefill
job = pipefill.attach("gpt")
with job.iteration(1), job.bubble("head"):
    pass
print(list(pipefill.fill(range(3))), list(pipefill.elastic(5, 1, 4)))
print(pipefill.default_task().stats().units, job.is_attached)
"""

    def test_runs_alone_after_one_warning(self):
        script = run_script(self.SCRIPT, clean_environment(PIPEFILL_LIBRARY="/nowhere/lib.so"))
        output, errors = script.communicate()
        self.assertEqual(output, "[0, 1, 2] [(0, 4), (4, 5)]\n5 False\n")
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertIn("/nowhere/lib.so", errors)

    def test_refuses_to_run_ungated_when_agentd_started_it(self):
        environment = clean_environment(PIPEFILL_LIBRARY="/nowhere/lib.so", PIPEFILL_JOB="4")
        script = run_script(self.SCRIPT, environment)
        _, errors = script.communicate()
        self.assertEqual(script.returncode, 1)
        self.assertIn("AttachError", errors)


class GatedTest(unittest.TestCase):
    def setUp(self):
        self.agent = FakeAgent()
        self.addCleanup(self.agent.close)
        self.agent.offer_bubble()
        environment = clean_environment(**self.agent.task_environment())
        patch = mock.patch.dict(os.environ, environment, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def make_task(self):
        task = pipefill.FillTask(unit_hint=0.001)
        self.addCleanup(task.close)
        return task

    def test_runs_units_in_an_open_bubble_and_records_them(self):
        self.agent.open_bubble()
        task = self.make_task()
        self.assertTrue(task.is_gated)
        self.assertEqual(list(pipefill.fill(range(5), task=task)), [0, 1, 2, 3, 4])
        self.assertEqual(len(self.agent.units()), 5)
        self.assertEqual(self.agent.task["units_done"], 5)
        for start_ns, end_ns, _ in self.agent.units():
            self.assertLessEqual(start_ns, end_ns)

    def test_elastic_units_grow_from_the_smallest_and_cover_all_pieces_once(self):
        self.agent.open_bubble()
        task = self.make_task()
        done = list(pipefill.elastic(100, 2, 16, task=task))
        self.assertEqual(done[0], (0, 2))
        self.assertEqual([p for begin, end in done for p in range(begin, end)], list(range(100)))
        self.assertLessEqual(max(end - begin for begin, end in done), 16)
        self.assertEqual(len(self.agent.units()), len(done))

    def test_elastic_stops_when_agentd_says_so(self):
        self.agent.open_bubble()
        task = self.make_task()
        pieces = pipefill.elastic(1000, 1, 1, task=task)
        done = []
        for piece in pieces:
            done.append(piece)
            if len(done) == 3:
                self.agent.stop()
        self.assertEqual(done, [(0, 1), (1, 2), (2, 3)])
        self.assertTrue(pieces.stopped)

    def test_lets_other_threads_run_while_it_waits(self):
        task = self.make_task()
        opener = threading.Thread(target=self.agent.open_bubble)
        opener.start()
        self.assertTrue(task.next_unit())
        opener.join()

    def test_stops_when_agentd_says_so(self):
        self.agent.open_bubble()
        task = self.make_task()
        done = []
        batches = pipefill.fill(range(10), task=task)
        for batch in batches:
            done.append(batch)
            if batch == 2:
                self.agent.stop()
        self.assertEqual(done, [0, 1, 2])
        self.assertTrue(batches.stopped)
        self.assertEqual(self.agent.task["units_done"], 3)

    def test_says_that_it_is_done(self):
        self.make_task().close()
        self.assertEqual(self.agent.task["state"], 3)

    def test_raises_when_agentd_refuses_what_it_started(self):
        self.agent.code = REFUSED_UNKNOWN
        with self.assertRaisesRegex(pipefill.AttachError, "told so by the test"):
            pipefill.FillTask()

    def test_forked_child_starts_nothing(self):
        self.agent.open_bubble()
        task = self.make_task()
        self.assertTrue(task.next_unit())
        child = os.fork()
        if child == 0:
            os._exit(7 if task.next_unit() else 8)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.WEXITSTATUS(status), 8)
        self.assertEqual(self.agent.task["state"], 2)

    SCRIPT = """
import pipefill
task = pipefill.FillTask()
print("ready", flush=True)
more = task.next_unit()
print("stopped" if task.stopped else "started", more, flush=True)
input()
"""

    def start_script(self):
        script = run_script(self.SCRIPT, dict(os.environ))
        self.assertEqual(script.stdout.readline(), "ready\n")
        return script

    def test_sigterm_makes_a_waiting_task_stop(self):
        script = self.start_script()
        script.send_signal(signal.SIGTERM)
        self.assertEqual(script.stdout.readline(), "stopped False\n")
        script.communicate("\n")
        self.assertEqual(script.returncode, 0)

    def test_second_sigterm_ends_the_task(self):
        script = self.start_script()
        script.send_signal(signal.SIGTERM)
        self.assertEqual(script.stdout.readline(), "stopped False\n")
        script.send_signal(signal.SIGTERM)
        script.communicate()
        self.assertEqual(script.returncode, -signal.SIGTERM)

    def test_keyboard_interrupt_gets_through_a_waiting_task(self):
        script = self.start_script()
        script.send_signal(signal.SIGINT)
        _, errors = script.communicate()
        self.assertIn("KeyboardInterrupt", errors)
        self.assertNotEqual(script.returncode, 0)


if __name__ == "__main__":
    unittest.main()
