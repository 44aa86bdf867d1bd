"""Tests of the optimizer state that is kept on the host, with whatever torch is installed. Without CUDA the copies are
plain ones, on the same way through the code."""

import copy
import unittest
import warnings

import torch

import pipefill
from pipefill import torch_memory

BACKWARD = 2


def train(optimizer_class, steps=5, prepare=None, **options):
    """Trains a small model; returns (parameters, state of the optimizer) and what `prepare(optimizer)` returned."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64))
    optimizer = optimizer_class(model.parameters(), **options)
    prepared = prepare(optimizer) if prepare is not None else None
    for step in range(steps):
        torch.manual_seed(step)
        loss = model(torch.randn(8, 64)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    state = [value for values in optimizer.state_dict()["state"].values() for value in values.values()]
    return [p.detach().clone() for p in model.parameters()], state, prepared


def keep(optimizer, job=None):
    return torch_memory.keep_state_on_host(optimizer, job, only_if_hidden=False)


class Job(pipefill.MainJob):
    def __init__(self):
        super().__init__(None, None)


OPTIMIZERS = [
    (torch.optim.AdamW, {"lr": 1e-3}),
    (torch.optim.Adam, {"lr": 1e-3, "amsgrad": True}),
    (torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9}),
    (torch.optim.RMSprop, {"lr": 1e-3, "momentum": 0.5}),
]


class HostStateTest(unittest.TestCase):
    def test_trains_the_same_bit_for_bit(self):
        for optimizer_class, options in OPTIMIZERS:
            with self.subTest(optimizer_class.__name__):
                plain = train(optimizer_class, **options)
                kept = train(optimizer_class, prepare=keep, **options)
                for alone, moved in zip(plain[0] + plain[1], kept[0] + kept[1]):
                    self.assertTrue(torch.equal(torch.as_tensor(alone), torch.as_tensor(moved)))
                self.assertEqual(kept[2].moved_bytes, sum(
                    value.numel() * value.element_size() for value in plain[1]
                    if isinstance(value, torch.Tensor) and value.numel() >= 1024))
                self.assertGreater(kept[2].moved_bytes, 0)

    def test_optimizer_holds_no_tensor_of_the_device_between_steps(self):
        own = []

        def prepare(optimizer):
            original = optimizer.step

            def step():
                original()
                own.extend(value for values in optimizer.state.values() for value in values.values()
                           if isinstance(value, torch.Tensor) and value.numel() >= 1024)

            optimizer.step = step
            return keep(optimizer)

        _, _, state = train(torch.optim.AdamW, steps=1, prepare=prepare)
        moved = [host for host, _ in state._away.values()] or list(state._hosts.values())
        self.assertEqual(len(moved), 4)
        for tensor in own:
            self.assertFalse(any(tensor is other for other in moved))

    def test_comes_back_with_the_first_backward_chunk(self):
        job = Job()
        parameter = torch.nn.Parameter(torch.ones(4096))
        optimizer = torch.optim.Adam([parameter])
        state = keep(optimizer, job)
        parameter.grad = torch.ones(4096)
        optimizer.step()
        self.assertEqual((len(state._away), len(state._coming)), (2, 0))
        with job.chunk("forward"):
            self.assertEqual(len(state._coming), 0)
        with job.chunk("backward"):
            self.assertEqual((len(state._away), len(state._coming)), (0, 2))
        optimizer.step()
        self.assertEqual((len(state._away), len(state._coming)), (2, 0))

    def test_switches_itself_off_where_a_step_waits_and_says_so(self):
        with self.assertLogs("pipefill", "WARNING") as logs:
            _, _, state = train(torch.optim.AdamW, steps=9, lr=1e-3, prepare=torch_memory.keep_state_on_host)
        self.assertFalse(state.is_on)
        self.assertEqual(state.moved_bytes, 0)
        self.assertRegex(state.reason, r"^not hidden: moving 0\.1 MiB makes the step [0-9.]+ ms longer, [0-9.]+ % of ")
        self.assertEqual(len(logs.output), 1)

    def test_state_that_was_loaded_in_between_counts(self):
        parameter = torch.nn.Parameter(torch.ones(4096))
        optimizer = torch.optim.SGD([parameter], lr=1.0, momentum=1.0)
        keep(optimizer)
        parameter.grad = torch.ones(4096)
        optimizer.step()
        saved = copy.deepcopy(optimizer.state_dict())
        optimizer.step()
        optimizer.load_state_dict(saved)
        optimizer.step()
        # Momentum 1 after the load, 2 in this step; 1 and 2 in the two before.
        self.assertEqual(parameter[0].item(), 1 - 1 - 2 - 2)

    def test_removed_the_optimizer_is_as_before(self):
        parameter = torch.nn.Parameter(torch.ones(4096))
        optimizer = torch.optim.Adam([parameter])
        job = Job()
        before = job._chunk_begin
        state = keep(optimizer, job)
        parameter.grad = torch.ones(4096)
        optimizer.step()
        state.remove()
        self.assertNotIn("step", optimizer.__dict__)
        self.assertIs(job._chunk_begin, before)
        self.assertEqual(state._hosts, {})
        optimizer.step()
        self.assertEqual(len(state._away), 0)

    def test_learning_rate_schedulers_take_it(self):
        parameter = torch.nn.Parameter(torch.ones(4096))
        optimizer = torch.optim.Adam([parameter])
        keep(optimizer)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            parameter.grad = torch.ones(4096)
            optimizer.step()
            scheduler.step()

    def test_refuses_what_is_no_optimizer(self):
        with self.assertRaisesRegex(TypeError, "cannot move the state of int: it is no torch optimizer"):
            torch_memory.keep_state_on_host(3)


class ReleaseSpareTest(unittest.TestCase):
    def test_follows_a_watched_pipeline(self):
        class Pipeline:
            def step(self):
                self.forward_one_chunk()
                self.backward_one_chunk()

            def forward_one_chunk(self):
                pass

            def backward_one_chunk(self):
                pass

        parameter = torch.nn.Parameter(torch.ones(4096))
        optimizer = torch.optim.Adam([parameter])
        job = Job()
        pipeline = job.watch(Pipeline(), optimizer)
        spare = torch_memory.release_spare(job)
        parameter.grad = torch.ones(4096)
        for _ in range(9):
            pipeline.step()
            optimizer.step()
        self.assertEqual(spare.reason, "no gap is as long as 5 ms")


if __name__ == "__main__":
    unittest.main()
