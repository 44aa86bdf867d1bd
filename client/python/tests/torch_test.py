"""Tests of layer mode: where a script waits, and that what it computes stays the same.

Run with Debian's torch by the build, and with the current one by `./run test-frameworks`.
"""

import contextlib
import copy
import os
import sys
import threading
import unittest
from unittest import mock

import torch
from torch import nn

import pipefill
import pipefill.torch
import torch_models
from fake_agent import FakeAgent
from fake_task import FakeTask
from layer_case import LayerTest
from pipefill._chain import UNKNOWN
from torch_models import Probe

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"


def bytes_of(tensor):
    return bytes(tensor.reshape(-1).contiguous().view(torch.uint8).tolist())


class WhereItWaitsTest(LayerTest):
    def test_each_first_forward_backward_and_step_is_a_unit(self):
        model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.attach(model, optimizer)
        loss = model(torch.ones(1, 2)).sum()
        self.assertEqual(self.task.log, [UNKNOWN] * 3 + ["end"])
        self.task.log.clear()
        loss.backward()
        # The outputs of the model and of its last layer are one tensor, with a hook of each.
        self.assertEqual(self.task.log, [UNKNOWN] * 3 + ["end"])
        self.task.log.clear()
        optimizer.step()
        self.assertEqual(self.task.log, [UNKNOWN, "end"])

    def test_all_work_of_modules_and_optimizers_is_in_units_and_the_script_is_not(self):
        for name, make in torch_models.CASES.items():
            with self.subTest(name):
                probe = Probe(lambda: self.task.in_unit)
                case = make(probe)
                attachment = self.attach(*case.parts)
                for _ in range(4):
                    case.step(self.check_outside)
                    self.check_outside()
                attachment.remove()
                self.assertEqual(self.task.overlaps, 0)
                self.assertGreater(len(probe.seen), 0)
                self.assertEqual(set(probe.seen.values()), {True}, probe.seen)

    def test_known_places_are_merged_into_few_units(self):
        model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(20)])
        self.attach(model)
        for _ in range(3):
            model(torch.ones(1, 4)).sum().backward()
        before = self.task.units
        model(torch.ones(1, 4)).sum().backward()
        self.assertLess(self.task.units - before, 12)

    def test_forward_without_gradients_is_gated_and_leaves_no_hooks(self):
        model = nn.Linear(2, 2)
        self.attach(model)
        for context in (torch.no_grad(), torch.inference_mode()):
            with context:
                output = model(torch.ones(1, 2))
            self.assertIsNone(output._backward_hooks)
        self.assertEqual(self.task.log, [UNKNOWN, "end"] * 2)

    def test_a_module_that_hands_its_input_through_puts_no_hook_on_it(self):
        model = nn.Identity()
        weight = nn.Parameter(torch.ones(2))
        self.attach(model)
        self.assertIs(model(weight), weight)
        self.assertIsNone(weight._backward_hooks)

    def test_every_backward_pass_of_a_kept_graph_is_gated(self):
        model = nn.Linear(2, 2)
        self.attach(model)
        loss = model(torch.ones(1, 2)).sum()
        for _ in range(3):
            units = self.task.units
            loss.backward(retain_graph=True)
            self.assertEqual(self.task.units - units, 1)
            self.check_outside()

    def test_other_work_is_gated_by_request(self):
        attachment = self.attach(nn.Linear(2, 2))
        with attachment.unit("loss"):
            self.assertTrue(self.task.in_unit)
        self.check_outside()
        with self.assertRaises(OSError), attachment.unit("read"):
            raise OSError
        self.check_outside()

    def test_a_closure_is_no_part_of_the_step(self):
        model = nn.Linear(2, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
        self.attach(model, optimizer)
        in_unit = []

        def closure():
            in_unit.append(self.task.in_unit)
            optimizer.zero_grad()
            loss = model(torch.ones(4, 2)).square().mean()
            in_unit.append(self.task.in_unit)
            loss.backward()
            in_unit.append(self.task.in_unit)
            return loss

        optimizer.step(closure)
        optimizer.step(closure=closure)
        self.assertEqual(set(in_unit), {False})
        self.check_outside()

    def test_outputs_of_every_structure_are_gated_in_the_backward(self):
        for structure in (lambda t: t, lambda t: (1, t), lambda t: [[t]], lambda t: {"a": {"b": t}},
                          lambda t: torch_models.Output(t, "x"), lambda t: ("x", [torch_models.Output(t, "x")])):
            model = Wrapping(structure)
            attachment = self.attach(model)
            model(torch.ones(2, requires_grad=True))
            units = self.task.units
            model.last.sum().backward()
            self.assertEqual(self.task.units - units, 1)
            attachment.remove()

    def test_calls_of_several_threads_do_not_overlap(self):
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-6)
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        self.attach(model)
        threads = [threading.Thread(target=self.run_passes, args=(model, )) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.task.overlaps, 0)
        self.assertGreater(self.task.units, 4)

    @staticmethod
    def run_passes(model):
        for _ in range(20):
            model(torch.ones(2, 4)).sum().backward()


class Wrapping(nn.Module):
    """Puts its output into a structure."""

    def __init__(self, structure):
        super().__init__()
        self._structure = structure
        self.last = None

    def forward(self, x):
        self.last = x * 2
        return self._structure(self.last)


class Failing(nn.Module):
    """Raises in the forward or in the backward."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(_context, x):
            return x.clone()

        @staticmethod
        def backward(_context, _gradient):
            raise ValueError("backward")

    def __init__(self, where, error=ValueError):
        super().__init__()
        self._where = where
        self._error = error

    def forward(self, x):
        if self._where == FORWARD:
            raise self._error("forward")
        return self.Function.apply(x) if self._where == BACKWARD else x


class ExceptionTest(LayerTest):
    def make_model(self, failing):
        model = nn.Sequential(nn.Linear(2, 2), failing, nn.Linear(2, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.attach(model, optimizer)
        return model, optimizer

    def test_ends_the_unit_of_a_forward_that_raises(self):
        model, _ = self.make_model(Failing(FORWARD))
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, "forward"):
                model(torch.ones(1, 2))
            self.check_outside()
        self.assertEqual(self.task.log, [UNKNOWN] * 3 + ["end"] + self.task.log[4:])

    def test_ends_the_unit_of_a_backward_that_raises(self):
        model, _ = self.make_model(Failing(BACKWARD))
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, "backward"):
                model(torch.ones(1, 2)).sum().backward()
            self.check_outside()

    def test_a_model_may_handle_an_exception_of_a_part(self):
        class Patient(nn.Module):
            def __init__(self):
                super().__init__()
                self.failing, self.layer = Failing(FORWARD), nn.Linear(2, 2)

            def forward(self, x):
                with contextlib.suppress(ValueError):
                    self.failing(x)
                return self.layer(x)

        model = Patient()
        self.attach(model)
        model(torch.ones(1, 2)).sum().backward()
        self.check_outside()

    def test_ends_the_unit_of_a_step_that_raises(self):
        model, optimizer = self.make_model(Failing(None))

        def closure():
            raise ValueError("closure")

        with self.assertRaisesRegex(ValueError, "closure"):
            optimizer.step(closure)
        self.check_outside()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.param_groups[0]["lr"] = "none"
        with self.assertRaises((TypeError, RuntimeError)):
            optimizer.step()
        self.check_outside()

    def test_an_interrupt_costs_one_step_at_most(self):
        model, optimizer = self.make_model(Failing(FORWARD, KeyboardInterrupt))
        with self.assertRaises(KeyboardInterrupt):
            model(torch.ones(1, 2))
        optimizer.step()
        self.check_outside()
        model[0](torch.ones(1, 2))
        self.check_outside()


class StopTest(LayerTest):
    def run_until_stopped(self, units):
        """Parameters and the number of done steps when Stopped was raised."""
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        attachment = self.attach(model, optimizer, stop_after=units)
        steps, states = 0, [copy.deepcopy(model.state_dict())]
        with self.assertRaises(pipefill.torch.Stopped) as raised:
            while True:
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
                steps += 1
                states.append(copy.deepcopy(model.state_dict()))
        self.assertEqual(raised.exception.code, 3)
        self.assertTrue(attachment.stopped)
        self.check_outside()
        for name, value in states[-1].items():
            self.assertTrue(torch.equal(value, model.state_dict()[name]))
        attachment.remove()
        return steps

    def test_is_raised_at_any_place_and_leaves_the_parameters_of_the_last_step(self):
        # A first iteration has 3 units forward, 3 backward, 1 step.
        self.assertEqual([self.run_until_stopped(units) for units in range(8)], [0] * 7 + [1])

    def test_is_no_error_that_scripts_handle(self):
        self.assertTrue(issubclass(pipefill.torch.Stopped, SystemExit))


class AgentTest(unittest.TestCase):
    """With the pages of an agent."""

    def setUp(self):
        self.agent = FakeAgent()
        self.addCleanup(self.agent.close)
        self.agent.offer_bubble()
        with mock.patch.dict(os.environ, self.agent.task_environment()):
            self.task = pipefill.FillTask(unit_hint=0.001)
        self.addCleanup(self.task.close)
        self.model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        self.addCleanup(pipefill.torch.attach(self.model, task=self.task).remove)

    def test_a_script_waits_until_a_bubble_opens(self):
        opener = threading.Thread(target=self.agent.open_bubble)
        opener.start()
        self.model(torch.ones(1, 2)).sum().backward()
        opener.join()
        begin_ns = self.agent.signal["begin_ns"]
        self.assertEqual(len(self.agent.units()), 6)
        for start_ns, _, _ in self.agent.units():
            self.assertGreaterEqual(start_ns, begin_ns)

    def test_no_unit_is_open_in_the_task_page_between_calls(self):
        self.agent.open_bubble()
        for _ in range(3):
            loss = self.model(torch.ones(1, 2)).sum()
            self.assertEqual(self.agent.task["unit_start_ns"], 0)
            loss.backward()
            self.assertEqual(self.agent.task["unit_start_ns"], 0)

    def test_stops_within_a_backward_when_the_agent_says_so(self):
        self.agent.open_bubble()
        loss = self.model(torch.ones(1, 2)).sum()
        self.agent.stop()
        with self.assertRaises(pipefill.torch.Stopped):
            for _ in range(1000):
                loss.backward(retain_graph=True)
        self.assertTrue(self.task.stopped)
        self.assertEqual(self.agent.task["unit_start_ns"], 0)


class SameResultTest(unittest.TestCase):
    """Trained with and without pipefill."""

    STEPS = 8

    def train(self, make, task=None):
        """Bytes of all that training has changed."""
        torch.manual_seed(7)
        case = make(Probe())
        attachment = None
        if task is not None:
            attachment = pipefill.torch.attach(*case.parts, task=task)
        losses = [case.step() for _ in range(self.STEPS)]
        if attachment is not None:
            attachment.remove()
        return losses, [(name, bytes_of(value)) for name, value in sorted(case.state().items())]

    def test_weights_are_equal_bit_for_bit_with_units_of_every_size(self):
        for name, make in torch_models.CASES.items():
            alone = self.train(make)
            for pieces in (1, 7, None):
                with self.subTest(name, pieces=pieces):
                    self.assertEqual(self.train(make, FakeTask(pieces=pieces)), alone)

    def test_weights_are_equal_in_the_bubbles_of_an_agent(self):
        agent = FakeAgent()
        self.addCleanup(agent.close)
        agent.offer_bubble()
        agent.open_bubble()
        for name, make in torch_models.CASES.items():
            with self.subTest(name):
                alone = self.train(make)
                with mock.patch.dict(os.environ, agent.task_environment()):
                    task = pipefill.FillTask(unit_hint=0.001)
                with task:
                    self.assertTrue(task.is_gated)
                    self.assertEqual(self.train(make, task), alone)
                    units = task.stats().units
                self.assertGreater(units, self.STEPS)
        for start_ns, end_ns, _ in agent.units():
            self.assertLess(start_ns, end_ns)


if __name__ == "__main__":
    print("torch", torch.__version__, flush=True)
    unittest.main()
