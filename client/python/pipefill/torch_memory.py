"""Frees memory of a main job that uses PyTorch, for the fill jobs in its bubbles.

    import pipefill.torch_memory
    job = pipefill.attach("gpt", rank=rank, ranks=ranks, stage=stage, stages=stages)
    state = pipefill.torch_memory.keep_state_on_host(optimizer, job)
    job.watch(pipeline, optimizer)
    spare = pipefill.torch_memory.release_spare(job)

release_spare gives back what the framework keeps for later allocations, before bubbles that are long enough to
hide it, and tells pipefill how much is free then. keep_state_on_host keeps the optimizer's state out of the
device's memory but for its step. Both measure what they cost, and switch themselves off where it shows; their
attribute `reason` says so. No result changes, bit for bit. What fails in them is one warning, and the training run
goes on without; only state that is on the host and that the device has no more room for ends the step that needs it.
"""

import collections
import logging
import statistics
import time

import torch

from . import _hooks, _main_job, _memory

__all__ = ["HostState", "SpareMemory", "keep_state_on_host", "release_spare"]

LOG = logging.getLogger("pipefill")

SpareMemory = _memory.SpareMemory

# Smaller tensors stay on the device: the counters of steps, and what is not worth a copy.
_TENSOR_MIN_BYTES = 4096
# Steps after which it is judged, and how many are looked at.
_STEPS_UNTIL_JUDGED = 8
_STEPS_KEPT = 32
# What waiting for the state may add to an iteration.
STALL_SHARE = 0.002


def release_spare(job, device=None):
    """Gives the framework's spare memory back before long bubbles of `job`, a MainJob that reports chunks or that
    watches a pipeline.

    device: a torch.device of type cuda; default the current one where CUDA is in use, else this process's heap.

    Returns a SpareMemory; where there is no way to do it, one that does nothing, and whose `reason` says why.
    """
    is_cuda = device is not None and torch.device(device).type == "cuda"
    if is_cuda or (device is None and torch.cuda.is_available() and torch.cuda.is_initialized()):
        return SpareMemory(job, _CudaMemory(device))
    return SpareMemory(job, _memory.ProcessMemory())


class _CudaMemory:
    """Nothing is spare and nothing free while a graph is captured: what it would take to know breaks the capture."""

    unusable = None

    def __init__(self, device):
        self._device = device

    def spare_bytes(self):
        if torch.cuda.is_current_stream_capturing():
            return 0
        return torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)

    def release(self):
        torch.cuda.empty_cache()

    def free_bytes(self):
        if torch.cuda.is_current_stream_capturing():
            return 0
        return torch.cuda.mem_get_info(self._device)[0]


def keep_state_on_host(optimizer, job, only_if_hidden=True):
    """Keeps the state of `optimizer` in host memory outside of its step.

    job: the MainJob of this rank: with its first backward chunk of an iteration the state begins to come back, and
        the memory that release_spare reports from then on has room for it. A job that reports no backward chunks
        gets the state back in the step only: do not combine that with release_spare, which would offer to fill
        jobs what the step needs.
    only_if_hidden: False goes on also if the step has to wait.

    Not for an optimizer whose step is captured in a CUDA graph, which keeps the addresses of the state.

    Returns a HostState. Raises TypeError for what has no method step and attribute state, and without a MainJob.
    """
    if not isinstance(job, _main_job.MainJob):
        raise TypeError("keeping state on the host takes the MainJob whose backward chunks bring it back, not %r"
                        % (job,))
    if not callable(getattr(optimizer, "step", None)) or not hasattr(optimizer, "state"):
        raise TypeError("cannot move the state of %s: it is no torch optimizer" % type(optimizer).__name__)
    return HostState(optimizer, job, only_if_hidden)


class HostState:
    """The state of one optimizer, on its way between device and host.

        on device --step ends--> leaving --copied--> on host --fetch--> coming --step begins--> on device

    On CUDA the copies run on a stream of their own, to and from pinned memory, and the step's stream waits for
    them, never the host. On other devices a copy is made at once.

    What fails switches it off, with one warning. What is on the host then comes back with the next step, which
    raises if even that fails, and leaves the state where it is.
    """

    def __init__(self, optimizer, job, only_if_hidden):
        self.moved_bytes = 0  # of the last step: so much is not on the device in between
        self.stalls_ns = collections.deque(maxlen=_STEPS_KEPT)  # by which steps waited
        self.is_on = True
        self.reason = "learning what moving the state costs"
        self._optimizer = optimizer
        self._only_if_hidden = only_if_hidden
        self._away = {}  # (parameter, name of the state): (tensor on host, device)
        self._coming = {}  # the same: (tensor on host, its copy on device)
        self._hosts = {}  # the same: tensor on host, to be used again
        self._copies = {}  # _CudaCopies by device
        self._steps_ns = collections.deque(maxlen=_STEPS_KEPT)  # from step to step
        self._last_step_ns = None
        self._steps = 0
        self._host_ns = 0  # that this process spent on copies since the last step
        self._job = job
        self._chunk_begin = job._chunk_begin
        job._chunk_begin = self._on_chunk_begin
        self._replacements = [_hooks.Replacement(optimizer, "step", self._run_step),
                              _hooks.Replacement(optimizer, "state_dict", self._run_state_dict)]

    def fetch(self):
        """Begins to bring the state back, if it is away. May be called at any time before the step.

        Raises what torch raises where the device has no room; the state is complete all the same.
        """
        begin_ns = time.perf_counter_ns()
        for key, (host, device) in list(self._away.items()):
            if self._is_at(key, host):
                self._coming[key] = (host, self._bring(host, device))
            del self._away[key]
        self._host_ns += time.perf_counter_ns() - begin_ns

    def remove(self):
        """The state is on the device again, and the optimizer as before."""
        self._switch_off("removed")
        for replacement in self._replacements:
            replacement.undo(self._optimizer)
        # Unless somebody has put another one on top since: then this one only passes on.
        if self._job._chunk_begin == self._on_chunk_begin:
            self._job._chunk_begin = self._chunk_begin

    def _on_chunk_begin(self, kind):
        self._chunk_begin(kind)
        if not self.is_on or not self._away or kind != _BACKWARD:
            return
        try:
            self.fetch()
        except Exception as error:  # the chunk must not end for this
            self._give_up(error)
            self._stay_away()  # until the step: the chunk needs the memory

    def _run_step(self, original, optimizer, *arguments, **keywords):
        self._put_back()  # may raise: without its state there is no step
        result = original(optimizer, *arguments, **keywords)
        if self.is_on:
            try:
                self._send_away()
                self._account(time.perf_counter_ns())
            except Exception as error:  # the step is done
                self._give_up(error)
                self._try_to_put_back()
        return result

    def _run_state_dict(self, original, optimizer, *arguments, **keywords):
        self._try_to_put_back()
        return original(optimizer, *arguments, **keywords)

    def _try_to_put_back(self):
        """What cannot come back stays on the host, whole, until the next step."""
        try:
            self._put_back()
        except Exception as error:
            self._give_up(error)
            self._stay_away()
            for _, device in self._away.values():
                self._copies_of(device).finish()

    def _stay_away(self):
        for key, (host, tensor) in self._coming.items():
            self._away[key] = (host, tensor.device)
        self._coming = {}

    def _give_up(self, error):
        if not self.is_on:
            return  # and said so
        self.is_on = False
        self.moved_bytes = 0
        self._hosts = {}
        self.reason = "moving the state failed: %s" % error
        LOG.warning("the optimizer's state stays on the device from the next step on: %s", self.reason)

    def _is_at(self, key, tensor):
        """Whether the optimizer still has it there: somebody may have loaded another state."""
        parameter, name = key
        values = self._optimizer.state.get(parameter)  # never makes an entry
        return isinstance(values, dict) and values.get(name) is tensor

    def _bring(self, host, device):
        copies = self._copies_of(device)
        try:
            return copies.bring(host, device)
        except RuntimeError:  # out of memory: what the framework keeps may be enough
            torch.cuda.empty_cache()
            return copies.bring(host, device)

    def _copies_of(self, device):
        if device.type != "cuda":
            return _PlainCopies
        if device not in self._copies:
            self._copies[device] = _CudaCopies(device)
        return self._copies[device]

    def _put_back(self):
        self.fetch()
        begin_ns = time.perf_counter_ns()
        arrived = collections.defaultdict(list)  # by device
        for _, tensor in self._coming.values():
            arrived[tensor.device].append(tensor)
        for device, tensors in arrived.items():
            self._copies_of(device).receive(tensors)
        for key, (host, tensor) in self._coming.items():
            if self._is_at(key, host):
                parameter, name = key
                self._optimizer.state[parameter][name] = tensor
        self._coming = {}
        self._host_ns += time.perf_counter_ns() - begin_ns

    def _send_away(self):
        begin_ns = time.perf_counter_ns()
        self.moved_bytes = 0
        for parameter, values in self._optimizer.state.items():
            if not isinstance(values, dict):
                continue
            for name, value in values.items():
                if not _is_worth_it(value):
                    continue
                key = (parameter, name)
                host = self._copies_of(value.device).take(value, self._hosts.get(key))
                self._hosts[key] = values[name] = host
                self._away[key] = (host, value.device)
                self.moved_bytes += host.numel() * host.element_size()
        self._host_ns += time.perf_counter_ns() - begin_ns

    def _account(self, now_ns):
        waits = [copies.take_waits_ns() for copies in self._copies.values()]
        # Where there are streams, both go on at the same time.
        self.stalls_ns.append(max(sum(waits), self._host_ns))
        self._host_ns = 0
        if self._last_step_ns is not None:
            self._steps_ns.append(now_ns - self._last_step_ns)
        self._last_step_ns = now_ns
        self._steps += 1
        if self._steps % _STEPS_UNTIL_JUDGED == 0:
            self._judge()

    def _judge(self):
        stall_ns = statistics.median(self.stalls_ns)
        iteration_ns = statistics.median(self._steps_ns)
        share = stall_ns / iteration_ns
        text = "moving %.1f MiB makes the step %.2f ms longer, %.2f %% of an iteration" % (
            self.moved_bytes / 2**20, stall_ns / 1e6, 100 * share)
        if share > STALL_SHARE and self._only_if_hidden:
            self._switch_off("not hidden: " + text)
            LOG.warning("the optimizer's state stays on the device: %s", self.reason)
        else:
            self.reason = text

    def _switch_off(self, reason):
        self._put_back()
        self.is_on = False
        self.moved_bytes = 0
        self._hosts = {}
        self.reason = reason


# Of pipefill.h.
_BACKWARD = 2


def _is_worth_it(value):
    # Nothing that is more than its numbers: no subclass (a DTensor), no part of a larger buffer.
    return (type(value) is torch.Tensor and not value._is_view() and not value.requires_grad
            and value.layout == torch.strided and value.numel() * value.element_size() >= _TENSOR_MIN_BYTES)


class _PlainCopies:
    """Devices whose memory is the host's: the same steps, and nothing gained."""

    @staticmethod
    def take(tensor, host):
        return _fill(host, tensor, is_pinned=False, is_async=False)

    @staticmethod
    def bring(host, device):
        tensor = torch.empty_like(host, device=device)
        tensor.copy_(host)
        return tensor

    @staticmethod
    def receive(tensors):
        pass

    @staticmethod
    def finish():
        pass


class _CudaCopies:
    """Copies from and to one CUDA device, on a stream of their own."""

    def __init__(self, device):
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._waits = []  # (event before a wait, event after it)

    def take(self, tensor, host):
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)  # what the step still writes
        with torch.cuda.stream(self._stream):
            host = _fill(host, tensor, is_pinned=True, is_async=True)
        tensor.record_stream(self._stream)  # its memory is used again only after the copy
        return host

    def bring(self, host, device):
        with torch.cuda.stream(self._stream):  # after the copy that filled `host`
            tensor = torch.empty_like(host, device=device)
            tensor.copy_(host, non_blocking=True)
        return tensor

    def receive(self, tensors):
        current = torch.cuda.current_stream(self._device)
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        before.record(current)
        current.wait_stream(self._stream)
        after.record(current)
        for tensor in tensors:
            tensor.record_stream(current)
        self._waits.append((before, after))

    def finish(self):
        self._stream.synchronize()

    def take_waits_ns(self):
        """How long the device waited for copies, as far as it has come."""
        done = [pair for pair in self._waits if pair[1].query()]
        self._waits = [pair for pair in self._waits if pair not in done]
        return round(sum(before.elapsed_time(after) for before, after in done) * 1e6)


def _fill(host, tensor, is_pinned, is_async):
    """`tensor` on the host, in `host` if it fits."""
    if host is None or host.shape != tensor.shape or host.dtype != tensor.dtype or (
            host.stride() != tensor.stride()):
        host = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, pin_memory=is_pinned)
    host.copy_(tensor, non_blocking=is_async)
    return host
