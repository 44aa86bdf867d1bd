"""Base of the tests of layer mode."""

import unittest

import pipefill.torch
from fake_task import FakeTask


class LayerTest(unittest.TestCase):
    """Base: a model of two layers, attached with a task that remembers."""

    def attach(self, *parts, **task_options):
        self.task = FakeTask(**task_options)
        attachment = pipefill.torch.attach(*parts, task=self.task)
        self.addCleanup(attachment.remove)
        return attachment

    def check_outside(self):
        self.assertFalse(self.task.in_unit)
