"""Tests of attaching a PyTorch script and of undoing it: what is refused, what is left behind."""

import copy
import io
import os
import pickle
import unittest
import warnings
from unittest import mock

import torch
from torch import nn

import pipefill.torch
from fake_task import FakeTask
from layer_case import LayerTest


class AttachTest(LayerTest):
    def test_refuses_what_is_attached_already(self):
        model = nn.Sequential(nn.Linear(2, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.attach(model, optimizer)
        for parts in ((model, ), (nn.Sequential(model[0]), ), (nn.Linear(1, 1), optimizer)):
            with self.assertRaisesRegex(ValueError, r"attached already; call remove\(\)"):
                pipefill.torch.attach(*parts, task=self.task)
        model(torch.ones(1, 2))
        self.assertEqual(self.task.units, 2)

    def test_a_refused_attach_changes_nothing(self):
        model, other = nn.Linear(2, 2), nn.Linear(2, 2)
        self.attach(model)
        with self.assertRaises(ValueError):
            pipefill.torch.attach(other, None, model, task=self.task)
        other(torch.ones(1, 2))
        self.assertEqual(self.task.units, 0)

    def test_refuses_what_is_neither_module_nor_optimizer(self):
        with self.assertRaisesRegex(TypeError, "cannot attach list"):
            pipefill.torch.attach([nn.Linear(1, 1)], task=FakeTask())
        with self.assertRaisesRegex(TypeError, "nothing to attach"):
            pipefill.torch.attach(None, task=FakeTask())

    def test_saves_lie_between_training_steps(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.attach(model, optimizer, pieces=1)
        begins = []
        for _ in range(4):
            begins.append(self.task.units)
            self.run_step(model, optimizer)
        self.assertEqual(self.task.savable, begins)

    def test_remove_undoes_everything_and_lets_attach_again(self):
        model = nn.Sequential(nn.Linear(2, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        before = (dict(vars(model[0])), dict(vars(optimizer)))
        attachment = self.attach(model, optimizer)
        loss = model(torch.ones(1, 2)).sum()
        attachment.remove()
        self.assertEqual((dict(vars(model[0])), dict(vars(optimizer))), before)
        units = self.task.units
        self.run_step(model, optimizer)
        self.assertEqual(self.task.units, units)
        loss.backward()  # its hooks are still there
        self.check_outside()
        self.attach(model, optimizer)
        self.run_step(model, optimizer)
        self.assertEqual(self.task.units, 5)

    def test_remove_ends_the_unit_in_progress(self):
        attachment = self.attach(nn.Linear(1, 1))
        with attachment.unit():
            attachment.remove()
            self.check_outside()

    def test_remove_leaves_no_hook_for_all_modules(self):
        before = [dict(hooks) for hooks in self.hooks_for_all_modules()]
        self.attach(nn.Linear(1, 1)).remove()
        self.assertEqual([dict(hooks) for hooks in self.hooks_for_all_modules()], before)

    @staticmethod
    def hooks_for_all_modules():
        module = torch.nn.modules.module
        return module._global_forward_pre_hooks, module._global_forward_hooks

    @staticmethod
    def run_step(model, optimizer):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    def test_schedulers_made_before_and_after_keep_working(self):
        for is_before in (True, False):
            parameter = nn.Parameter(torch.ones(1))
            optimizer = torch.optim.SGD([parameter], lr=1.0)
            make = lambda: torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)  # noqa: E731
            scheduler = make() if is_before else None
            own = vars(optimizer).get("step")
            attachment = self.attach(None, optimizer)
            scheduler = scheduler or make()
            with mock.patch("warnings.warn") as warn:
                for _ in range(2):
                    parameter.grad = torch.ones(1)
                    optimizer.step()
                    scheduler.step()
            warn.assert_not_called()
            self.assertEqual(parameter.item(), -0.5)
            self.assertEqual(self.task.units, 2)
            attachment.remove()
            optimizer.step()
            self.assertEqual(self.task.units, 2)
            if is_before:
                self.assertIs(vars(optimizer).get("step"), own)

    def test_attached_models_are_copied_and_saved_as_before(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.attach(model)
        expected = model(torch.ones(1, 2))
        units = self.task.units
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            with torch.no_grad():
                other[0].bias += 1
                self.assertFalse(torch.equal(other(torch.ones(1, 2)), expected))
        self.assertEqual(self.task.units, units)

    def test_attached_models_are_traced_as_before(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.attach(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tracing goes out of use
            traced = torch.jit.trace(model, torch.ones(1, 2))
        self.assertTrue(torch.equal(traced(torch.ones(1, 2)), model(torch.ones(1, 2))))

    @unittest.skipIf(torch.__version__ < "2", "warns of every hook")
    def test_an_output_is_saved_without_a_warning(self):
        model = nn.Linear(2, 2)
        self.attach(model)
        output = model(torch.ones(1, 2))
        with mock.patch("warnings.warn") as warn:
            torch.save(output, io.BytesIO())
        warn.assert_not_called()

    def test_modules_of_others_are_left_alone(self):
        self.attach(nn.Linear(2, 2))
        nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
        self.assertEqual(self.task.units, 0)

    def test_a_model_that_is_gone_is_forgotten(self):
        model = nn.Linear(2, 2)
        pipefill.torch.attach(model, task=FakeTask())
        del model
        self.attach(nn.Linear(2, 2))  # of the same address, most likely

    def test_a_forked_child_is_not_gated(self):
        model = nn.Linear(2, 2)
        self.attach(model)
        child = os.fork()
        if child == 0:
            model(torch.ones(1, 2))
            os._exit(self.task.units)
        _, status = os.waitpid(child, 0)
        self.assertEqual(os.WEXITSTATUS(status), 0)
        model(torch.ones(1, 2))
        self.assertEqual(self.task.units, 1)


if __name__ == "__main__":
    unittest.main()
