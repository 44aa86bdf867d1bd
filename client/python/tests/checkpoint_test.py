"""Tests of checkpoints: hooks, parts, and what an attempt finds of the one before."""

import os
import signal
import tempfile
import unittest
from unittest import mock

import pipefill
from fake_agent import FakeAgent
from pipefill import _checkpoint
from processes import clean_environment, run_script


class PartsTest(unittest.TestCase):
    def test_parts_are_read_as_they_were_made(self):
        for parts in ({}, {"a": b""}, {"a": b"\0x", "part with a long näme": b"y" * 1000}):
            self.assertEqual(_checkpoint.unpack(_checkpoint.pack(parts)), parts)

    def test_anything_else_is_refused(self):
        data = _checkpoint.pack({"a": b"state"})
        for broken in (b"", data[:-1], data + b"x", b"\xff" * 40):
            with self.assertRaisesRegex(pipefill.CheckpointError, "not one of a Python program"):
                _checkpoint.unpack(broken)


class AttemptsTest(unittest.TestCase):
    """Attempts of one job, one after the other in this process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        environment = clean_environment(PIPEFILL_CHECKPOINT_DIR=os.path.join(folder.name, "job"))
        patch = mock.patch.dict(os.environ, environment, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def make_task(self):
        task = pipefill.FillTask()
        self.addCleanup(task.close)
        return task

    @staticmethod
    def run_units(task, units):
        for _ in range(units):
            task.next_unit()
            sum(range(1000))
        task.end_unit()

    def test_next_attempt_gets_the_state_of_the_last_save(self):
        state = [b"one"]
        first = self.make_task()
        self.assertFalse(first.checkpoint(lambda: state[0], self.fail))
        self.run_units(first, 1)
        first.save()
        state[0] = b"two"
        self.run_units(first, 1)
        first.save()
        state[0] = b"three"
        self.run_units(first, 1)

        loaded = []
        second = self.make_task()
        self.assertTrue(second.checkpoint(lambda: b"", loaded.append))
        self.assertEqual(loaded, [b"two"])
        self.assertEqual(second.checkpoint_stats().resumed, 1)
        self.assertGreater(second.checkpoint_stats().resumed_useful_ns, 0)
        self.assertEqual(first.checkpoint_stats().saves, 2)
        self.assertGreater(first.checkpoint_stats().unsaved_ns, 0)

    def test_each_part_gets_its_own_state(self):
        first = self.make_task()
        first.checkpoint(lambda: b"model", self.fail, name="model")
        first.checkpoint(lambda: bytearray(b"cursor"), self.fail, name="cursor")
        self.run_units(first, 1)
        first.save()

        loaded = {}
        second = self.make_task()
        for name in ("cursor", "model"):
            second.checkpoint(lambda: b"", lambda data, name=name: loaded.update({name: data}), name=name)
        self.assertEqual(loaded, {"cursor": b"cursor", "model": b"model"})

    def test_program_with_other_parts_is_told_so(self):
        first = self.make_task()
        first.checkpoint(lambda: b"", self.fail, name="model")
        self.run_units(first, 1)
        first.save()
        with self.assertRaisesRegex(pipefill.CheckpointError, "no part 'optimizer', only model"):
            self.make_task().checkpoint(lambda: b"", self.fail, name="optimizer")

    def test_part_of_a_name_that_is_taken_is_refused(self):
        task = self.make_task()
        task.checkpoint(lambda: b"", self.fail)
        with self.assertRaisesRegex(ValueError, "part named 'state' already"):
            task.checkpoint(lambda: b"", self.fail)

    def test_hook_that_fails_costs_the_save_alone(self):
        for broken in ({"save": lambda: 1 / 0}, {"save": lambda: "text"}, {"sync": lambda: 1 / 0}):
            task = self.make_task()
            hooks = dict({"save": lambda: b"state", "load": self.fail}, **broken)
            task.checkpoint(**hooks)
            self.run_units(task, 1)
            with self.assertLogs("pipefill", "WARNING") as logs:
                task.save()
            self.assertIn("hook of 'state' failed", logs.output[0])
            self.assertEqual(task.checkpoint_stats()[:2], (0, 1))
            self.assertTrue(task.next_unit())

    def test_load_hook_that_fails_is_the_program_s_own_error(self):
        first = self.make_task()
        first.checkpoint(lambda: b"state", self.fail)
        self.run_units(first, 1)
        first.save()
        with self.assertRaises(ZeroDivisionError):
            self.make_task().checkpoint(lambda: b"", lambda _: 1 / 0)

    def test_interrupt_inside_a_hook_gets_through(self):
        def interrupt():
            raise KeyboardInterrupt

        task = self.make_task()
        task.checkpoint(interrupt, self.fail)
        self.run_units(task, 1)
        with self.assertRaises(KeyboardInterrupt):
            task.save()

    def test_attempt_that_was_overtaken_stops(self):
        first, second = self.make_task(), self.make_task()
        first.checkpoint(lambda: b"first", self.fail)
        self.run_units(first, 1)
        second.checkpoint(lambda: b"second", self.fail)
        first.save()
        self.assertFalse(first.next_unit())
        self.run_units(second, 1)
        second.save()
        self.assertEqual(second.checkpoint_stats().saves, 1)

    def test_folder_that_cannot_be_made_costs_the_checkpoints_alone(self):
        with mock.patch.dict(os.environ, PIPEFILL_CHECKPOINT_DIR="/proc/nowhere/job"):
            task = self.make_task()
        with self.assertLogs("pipefill", "WARNING") as logs:
            self.assertFalse(task.checkpoint(lambda: b"", self.fail))
        self.assertIn("/proc/nowhere/job", logs.output[0])
        self.assertTrue(task.next_unit())

    def test_without_a_folder_nothing_is_saved_and_nothing_is_said(self):
        with mock.patch.dict(os.environ, PIPEFILL_CHECKPOINT_DIR=""):
            task = self.make_task()
        self.assertFalse(task.checkpoint(self.fail, self.fail))
        self.run_units(task, 1)
        task.save()
        self.assertEqual(task.checkpoint_stats().saves, 0)


class GatedTest(unittest.TestCase):
    SCRIPT = """
import pipefill
task = pipefill.FillTask(unit_hint=0.001)
done = []
task.checkpoint(lambda: b"%d" % len(done), lambda state: done.extend([0] * int(state)))
print("begins with", len(done), flush=True)
while task.next_unit():
    done.append(0)
    sum(range(1000))
    if len(done) % 5 == 0:
        print("done", len(done), flush=True)
        input()
print("saved", task.checkpoint_stats().saves, flush=True)
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.agent = FakeAgent()
        self.addCleanup(self.agent.close)
        self.agent.offer_bubble()
        self.agent.open_bubble()
        self.environment = clean_environment(PIPEFILL_CHECKPOINT_DIR=os.path.join(folder.name, "job"),
                                             **self.agent.task_environment())

    def start(self):
        script = run_script(self.SCRIPT, self.environment)
        self.addCleanup(script.communicate)
        self.addCleanup(script.kill)
        return script

    def test_saves_when_agentd_says_stop_and_goes_on_from_there(self):
        script = self.start()
        self.assertEqual(script.stdout.readline(), "begins with 0\n")
        self.assertEqual(script.stdout.readline(), "done 5\n")
        self.assertEqual(self.agent.task["checkpoint_flags"], 1)
        self.agent.stop()
        output, _ = script.communicate("\n")
        self.assertEqual(output, "saved 1\n")
        self.assertEqual(self.agent.task["saves_done"], 1)
        self.assertEqual(len(self.agent.units()), 6)

        self.environment["PIPEFILL_FENCE"] = "9"
        script = self.start()
        self.assertEqual(script.stdout.readline(), "begins with 5\n")
        self.assertEqual(script.stdout.readline(), "done 10\n")
        self.assertEqual(self.agent.task["checkpoint_flags"], 3)
        self.assertEqual(self.agent.task["resumed_fence"], 2)

    def test_saves_after_sigterm(self):
        script = self.start()
        self.assertEqual(script.stdout.readline(), "begins with 0\n")
        self.assertEqual(script.stdout.readline(), "done 5\n")
        script.send_signal(signal.SIGTERM)
        output, _ = script.communicate("\n")
        self.assertEqual(output, "saved 1\n")

    def test_goes_on_after_a_kill_from_what_was_saved(self):
        self.environment["PIPEFILL_CHECKPOINT_EVERY"] = "0:0"
        script = self.start()
        self.assertEqual(script.stdout.readline(), "begins with 0\n")
        while self.agent.task["saves_done"] < 2:
            self.assertTrue(script.stdout.readline().startswith("done "))
            script.stdin.write("\n")
            script.stdin.flush()
        script.kill()
        script.communicate()

        self.environment["PIPEFILL_FENCE"] = "9"
        line = self.start().stdout.readline()
        self.assertGreater(int(line.split()[-1]), 0)


if __name__ == "__main__":
    unittest.main()
