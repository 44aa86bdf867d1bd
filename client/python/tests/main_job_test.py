"""Tests of the main job's side of the package."""

import functools
import struct
import sys
import unittest
from unittest import mock

import pipefill
from fake_agent import REFUSED_VERSION, FakeAgent


def attach(socket="/nowhere/agentd.sock", **changes):
    arguments = dict(rank=0, ranks=2, stage=0, stages=2, socket=socket)
    arguments.update(changes)
    return pipefill.attach("gpt", **arguments)


class Stage:
    """Computes chunks, as a stage of torch.distributed.pipelining does."""

    def __init__(self):
        self.done = []

    def forward_one_chunk(self, number, scale=1):
        self.done.append(("forward", number * scale))
        return number * scale

    def backward_one_chunk(self, number):
        self.done.append(("backward", number))


class Schedule:
    """Two chunks forward, two backward."""

    def __init__(self):
        self._stage = Stage()

    def step(self, scale, fail=False):
        if fail:
            raise RuntimeError("out of memory")
        result = [self._stage.forward_one_chunk(i, scale=scale) for i in range(2)]
        for i in range(2):
            self._stage.backward_one_chunk(i)
        return result


class Optimizer:
    def __init__(self):
        self.steps = 0

    def step(self):
        self.steps += 1
        return "stepped"


ONE_STEP = "IBbCcBbCcBbCcBbCcBbi"


class DetachedTest(unittest.TestCase):
    def test_warns_once_and_does_nothing_without_agent(self):
        with self.assertLogs("pipefill", "WARNING") as logs:
            job = attach()
        self.assertEqual(len(logs.output), 1)
        self.assertIn("/nowhere/agentd.sock", logs.output[0])
        self.assertFalse(job.is_attached)
        with job.iteration(1), job.bubble("head"):
            job.memory_hint(1)
        with job.iteration(2), job.chunk("forward"):
            pass
        job.detach()
        job.detach()

    def test_watched_pipeline_works_as_before_without_agent(self):
        with self.assertLogs("pipefill", "WARNING"):
            job = attach()
        self.assertEqual(job.watch(Schedule()).step(3), [0, 3])

    def test_names_the_wrong_argument(self):
        for changes, text in (({"rank": 2}, "rank=2"), ({"stage": -1}, "stage=-1"),
                              ({"mode": "fast"}, "fast"), ({"device": "x" * 64}, "device")):
            with self.assertRaisesRegex(ValueError, text):
                attach(**changes)

    def test_refuses_unknown_names_also_when_detached(self):
        with self.assertLogs("pipefill", "WARNING"):
            job = attach()
        with self.assertRaisesRegex(ValueError, "must be one of head, middle"):
            job.bubble("start")
        with self.assertRaisesRegex(ValueError, "must be one of forward"):
            job.chunk("loss")

    def test_never_imports_torch(self):
        self.assertNotIn("torch", sys.modules)


class AttachedTest(unittest.TestCase):
    def setUp(self):
        self.agent = FakeAgent()
        self.addCleanup(self.agent.close)
        self.job = attach(self.agent.socket)
        self.addCleanup(self.job.detach)
        self.agent.mapped.wait()

    def test_says_who_it_is(self):
        job = self.agent.requests[0]
        self.assertEqual(job[16:20], b"gpt\0")
        self.assertEqual(struct.unpack_from("=iiiiII", job, 144), (0, 2, 0, 2, 3, 0))
        self.assertTrue(self.job.is_attached)

    def test_records_bubbles(self):
        with self.job.iteration(5):
            with self.job.bubble("middle", 3):
                self.assertEqual(self.agent.signal["seq"], 1)
                self.job.memory_hint(4096)
        self.assertEqual(self.agent.edges(), "IBMbi")
        self.assertEqual(self.agent.signal["iteration"], 5)
        self.assertEqual(self.agent.signal["calls_misplaced"], 0)

    def test_records_chunks(self):
        with self.job.iteration(1):
            with self.job.chunk("forward"):
                pass
            with self.job.chunk("backward"):
                pass
        self.assertEqual(self.agent.edges(), "IBbCcBbCcBbi")

    def test_ends_spans_when_an_exception_passes(self):
        with self.assertRaises(KeyError):
            with self.job.iteration(1), self.job.bubble("head"):
                raise KeyError("x")
        self.assertEqual(self.agent.edges(), "IBbi")

    def test_watched_pipeline_reports_iterations_and_chunks(self):
        schedule = Schedule()
        stage = schedule._stage
        self.assertIs(self.job.watch(schedule, first_iteration=7), schedule)
        self.assertEqual(schedule.step(3), [0, 3])
        self.assertEqual(stage.done[:2], [("forward", 0), ("forward", 3)])
        self.assertEqual(self.agent.edges(), ONE_STEP)
        self.assertEqual(self.agent.signal["iteration"], 7)
        schedule.step(1)
        self.assertEqual(self.agent.signal["iteration"], 8)
        self.assertEqual(self.agent.signal["calls_misplaced"], 0)

    def test_watched_optimizer_ends_the_iteration_and_what_lies_before_is_computing(self):
        schedule, optimizer = Schedule(), Optimizer()
        self.job.watch(schedule, optimizer)
        schedule.step(1)
        self.assertEqual(self.agent.edges(), ONE_STEP[:-1] + "C")
        self.assertEqual(optimizer.step(), "stepped")
        self.assertEqual(self.agent.edges(), ONE_STEP[:-1] + "CcBbCcBbi")
        self.assertEqual(optimizer.step(), "stepped")  # outside an iteration: not ours
        self.assertEqual(self.agent.signal["calls_misplaced"], 0)

    def test_watched_pipeline_may_step_twice_per_optimizer_step(self):
        schedule, optimizer = Schedule(), Optimizer()
        self.job.watch(schedule, optimizer)
        schedule.step(1)
        schedule.step(1)
        optimizer.step()
        self.assertEqual(self.agent.edges().count("I"), 2)
        self.assertEqual(self.agent.edges().count("i"), 2)
        self.assertEqual(self.agent.signal["calls_misplaced"], 0)

    def test_watched_pipeline_ends_the_iteration_when_a_step_fails(self):
        schedule = self.job.watch(Schedule())
        with self.assertRaisesRegex(RuntimeError, "out of memory"):
            schedule.step(1, fail=True)
        self.assertEqual(self.agent.edges(), "Ii")

    def test_watches_an_object_that_is_pipeline_and_stage_in_one(self):
        class Pipeline(Stage):
            def step(self):
                self.forward_one_chunk(1)
                self.backward_one_chunk(1)

        self.job.watch(Pipeline()).step()
        self.assertEqual(self.agent.edges(), "IBbCcBbCcBbi")

    def test_keeps_attributes_that_others_put_on_the_methods(self):
        optimizer = Optimizer()
        original = optimizer.step
        optimizer.step = functools.wraps(original)(lambda: original())
        optimizer.step._with_counter = True  # so does torch's learning-rate scheduler
        self.job.watch(Schedule(), optimizer)
        self.assertTrue(optimizer.step._with_counter)

    def test_a_watched_method_can_be_bound_again_as_schedulers_of_torch_do(self):
        optimizer, schedule = Optimizer(), Schedule()
        self.job.watch(schedule, optimizer)
        self.assertIs(optimizer.step.__self__, optimizer)
        optimizer.step = optimizer.step.__func__.__get__(optimizer, Optimizer)
        schedule.step(1)
        optimizer.step()
        self.assertTrue(self.agent.edges().endswith("i"))

    def test_refuses_to_watch_nothing_or_the_same_twice(self):
        with self.assertRaisesRegex(TypeError, "forward_one_chunk"):
            self.job.watch(mock.Mock(spec=["step"]))
        schedule = self.job.watch(Schedule())
        with self.assertRaisesRegex(ValueError, "watched already"):
            self.job.watch(schedule)

    def test_does_nothing_after_detach(self):
        bubble = self.job.bubble("head")
        self.job.detach()
        self.assertFalse(self.job.is_attached)
        with self.job.iteration(1), bubble, self.job.bubble("head"):
            pass
        self.assertEqual(self.agent.edges(), "")

    def test_agent_of_another_version_leaves_it_detached(self):
        self.job.detach()
        self.agent.code = REFUSED_VERSION
        with self.assertLogs("pipefill", "WARNING") as logs:
            job = attach(self.agent.socket)
        self.assertIn("told so by the test", logs.output[0])
        self.assertFalse(job.is_attached)


if __name__ == "__main__":
    unittest.main()
