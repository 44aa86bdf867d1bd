"""Tests of the optimizer state that is kept on the host, with whatever torch is installed. Without CUDA the copies are
plain ones, on the same way through the code."""

import copy
import types
import unittest
import warnings
from unittest import mock

import torch

import pipefill
from pipefill import torch_memory

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
    return torch_memory.keep_state_on_host(optimizer, job or Job(), only_if_hidden=False)


def one_parameter(job=None, optimizer_class=torch.optim.Adam, **options):
    """(parameter, its optimizer, the HostState of that one or None)."""
    parameter = torch.nn.Parameter(torch.ones(4096))
    parameter.grad = torch.ones(4096)
    optimizer = optimizer_class([parameter], **options)
    return parameter, optimizer, None if job is None else keep(optimizer, job)


class Copies:
    """In the place of the plain ones: they fail where they are told to."""

    def __init__(self):
        self.good_takes = 1000  # before the first that fails
        self.good_brings = 0  # before the bad ones
        self.bad_brings = 0  # before the first that does not fail
        self.tensors = []  # that were brought

    def take(self, tensor, host):
        self.good_takes -= 1
        if self.good_takes < 0:
            raise RuntimeError("no pinned memory")
        return PLAIN.take(tensor, host)

    def bring(self, host, device):
        if self.good_brings > 0:
            self.good_brings -= 1
        elif self.bad_brings > 0:
            self.bad_brings -= 1
            raise RuntimeError("out of memory")
        self.tensors.append(PLAIN.bring(host, device))
        return self.tensors[-1]

    def receive(self, tensors):
        pass

    def finish(self):
        pass


PLAIN = torch_memory._PlainCopies


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
        parameter, optimizer, _ = one_parameter(Job())
        for _ in range(3):
            # What the step itself works on is what must not be held after it.
            with mock.patch.object(PLAIN, "take", side_effect=PLAIN.take) as take:
                optimizer.step()
            in_step = [call.args[0] for call in take.call_args_list]
            between = [value for value in optimizer.state[parameter].values()
                       if isinstance(value, torch.Tensor) and value.numel() == 4096]
            self.assertEqual((len(in_step), len(between)), (2, 2))
            for tensor in between:
                self.assertFalse(any(tensor.data_ptr() == other.data_ptr() for other in in_step))

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
            _, _, state = train(torch.optim.AdamW, steps=9, lr=1e-3, prepare=lambda optimizer: (
                torch_memory.keep_state_on_host(optimizer, Job())))
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

    def test_state_that_was_loaded_while_the_old_one_came_back_counts(self):
        def run(job, is_kept):
            parameter, optimizer, _ = one_parameter(job if is_kept else None, torch.optim.SGD, lr=1.0, momentum=1.0)
            optimizer.step()
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer.step()
            with job.chunk("backward"):
                optimizer.load_state_dict(saved)
            optimizer.step()
            return parameter[0].item()

        self.assertEqual(run(Job(), True), run(Job(), False))
        self.assertEqual(run(Job(), True), 1 - 1 - 2 - 2)

    def test_state_that_was_dropped_stays_dropped(self):
        job = Job()
        parameter, optimizer, state = one_parameter(job)
        optimizer.step()
        with job.chunk("backward"):
            optimizer.state.clear()
        state.remove()
        self.assertEqual(dict(optimizer.state), {})

    def test_a_failing_copy_to_the_host_ends_the_moving_and_not_the_step(self):
        for good in (0, 1):  # of two tensors
            with self.subTest(good):
                parameter, optimizer, state = one_parameter(Job())
                copies = Copies()
                state._copies_of = lambda device, copies=copies: copies
                copies.good_takes = good
                with self.assertLogs("pipefill", "WARNING") as logs:
                    optimizer.step()
                self.assertEqual(len(logs.output), 1)
                self.assertFalse(state.is_on)
                self.assertEqual(state.reason, "moving the state failed: no pinned memory")
                self.assertEqual((state._away, state._coming, len(copies.tensors)), ({}, {}, good))
                self.check_like_plain(parameter, optimizer)

    def test_a_failing_copy_to_the_device_ends_no_chunk_and_the_step_tries_again(self):
        job = Job()
        parameter, optimizer, state = one_parameter(job)
        copies = Copies()
        state._copies_of = lambda device: copies
        optimizer.step()
        copies.good_brings, copies.bad_brings = 1, 2  # that one gives its memory back to the chunk
        with self.assertLogs("pipefill", "WARNING") as logs, job.chunk("backward"):
            pass
        self.assertEqual(len(logs.output), 1)
        self.assertEqual((len(state._away), len(state._coming)), (2, 0))
        with job.chunk("backward"):
            self.assertEqual(len(state._coming), 0)
        optimizer.step()
        self.assertEqual(len(state._away), 0)
        self.check_like_plain(parameter, optimizer, steps=2)

    def test_frees_what_the_framework_keeps_and_tries_again(self):
        job = Job()
        parameter, optimizer, state = one_parameter(job)
        copies = Copies()
        state._copies_of = lambda device: copies
        optimizer.step()
        copies.bad_brings = 1
        with mock.patch.object(torch.cuda, "empty_cache") as empty_cache, job.chunk("backward"):
            pass
        empty_cache.assert_called_once_with()
        optimizer.step()
        self.assertTrue(state.is_on)
        self.check_like_plain(parameter, optimizer, steps=2)

    def test_a_step_that_cannot_have_its_state_raises_and_loses_nothing(self):
        parameter, optimizer, state = one_parameter(Job())
        copies = Copies()
        state._copies_of = lambda device: copies
        optimizer.step()
        copies.bad_brings = 2
        with self.assertRaisesRegex(RuntimeError, "out of memory"):
            optimizer.step()
        optimizer.step()
        self.check_like_plain(parameter, optimizer, steps=2)

    def test_a_checkpoint_is_whole_also_where_the_device_has_no_room(self):
        parameter, optimizer, state = one_parameter(Job())
        copies = Copies()
        state._copies_of = lambda device: copies
        optimizer.step()
        copies.bad_brings = 2
        with self.assertLogs("pipefill", "WARNING"):
            saved = optimizer.state_dict()
        _, plain, _ = one_parameter()
        plain.step()
        self.assertTrue(torch.equal(saved["state"][0]["exp_avg"], plain.state_dict()["state"][0]["exp_avg"]))
        optimizer.step()
        self.check_like_plain(parameter, optimizer, steps=2)

    def check_like_plain(self, parameter, optimizer, steps=1):
        """After so many steps, and one more."""
        alone, plain, _ = one_parameter()
        for _ in range(steps):
            plain.step()
        self.assertTrue(torch.equal(parameter, alone))
        optimizer.step()
        plain.step()
        self.assertTrue(torch.equal(parameter, alone))

    def test_takes_only_tensors_that_are_nothing_more(self):
        class Sharded(torch.Tensor):
            pass

        parameter, optimizer, state = one_parameter(Job())
        optimizer.step()
        optimizer.step()
        buffer = torch.zeros(2 * 4096)
        sharded = torch.Tensor._make_subclass(Sharded, torch.zeros(4096))
        others = {"sharded": sharded, "part": buffer[:4096], "text": "x"}
        optimizer.state[parameter].update(others)
        optimizer.state["count"] = 3
        optimizer.step()
        self.assertTrue(state.is_on)
        self.assertEqual(len(state._away), 2)
        for name, value in others.items():
            self.assertIs(optimizer.state[parameter][name], value)

    def test_on_streams_the_longer_of_both_waits_counts(self):
        _, _, state = one_parameter(Job())
        state._copies = {"cuda:0": types.SimpleNamespace(take_waits_ns=lambda: 1000)}
        for host_ns in (5000, 10):
            state._host_ns = host_ns
            state._account(0)
        self.assertEqual(list(state.stalls_ns), [5000, 1000])

    def test_receives_all_tensors_of_a_device_at_once(self):
        _, optimizer, state = one_parameter(Job())
        copies = Copies()
        copies.receive = mock.Mock()
        state._copies_of = lambda device: copies
        optimizer.step()
        optimizer.step()
        self.assertEqual([len(call.args[0]) for call in copies.receive.call_args_list], [2])

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
            torch_memory.keep_state_on_host(3, Job())

    def test_refuses_to_go_without_a_job(self):
        # Its backward chunks are what brings the state back before fill jobs are told that its memory is free.
        with self.assertRaisesRegex(TypeError, "takes the MainJob whose backward chunks bring it back, not None"):
            torch_memory.keep_state_on_host(torch.optim.Adam([torch.nn.Parameter(torch.ones(1))]), None)


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

    def test_is_off_where_the_c_library_is_too_old(self):
        with mock.patch("ctypes.CDLL", return_value=types.SimpleNamespace(malloc_trim=None)):
            spare = torch_memory.release_spare(Job())
        self.assertIn("glibc 2.33", spare.reason)

    def test_leaves_cuda_alone_while_a_graph_is_captured(self):
        memory = torch_memory._CudaMemory(None)
        with mock.patch.multiple(torch.cuda, memory_reserved=lambda _: 3 << 20, memory_allocated=lambda _: 1 << 20,
                                 mem_get_info=lambda _: (5 << 20, 9 << 20),
                                 is_current_stream_capturing=mock.Mock(side_effect=[False, False, True, True])):
            self.assertEqual((memory.spare_bytes(), memory.free_bytes()), (2 << 20, 5 << 20))
            self.assertEqual((memory.spare_bytes(), memory.free_bytes()), (0, 0))


if __name__ == "__main__":
    unittest.main()
