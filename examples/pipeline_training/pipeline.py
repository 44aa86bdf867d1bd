"""One stage of a pipeline: runs the chunks of a training step in the order of its schedule and
exchanges activations and gradients with its neighbours over torch.distributed.

        stage - 1                     this stage                      stage + 1
            ── activation of microbatch i ──►  forward_one_chunk(i)  ── activation ──►
            ◄── gradient of its input ───────  backward_one_chunk(i) ◄── gradient ─────

The methods are named as those of torch.distributed.pipelining, which is where pipefill's `watch`
hooks in: all waiting for a neighbour happens between chunks, never inside one.

No deadlock: every receive of a step is posted before its first chunk, and sends are waited for only
after its last one, so no stage ever waits in a send. While it waits the process sleeps in the
kernel: with gloo the core is then free, which is what a bubble on a CPU device means.

Thread-compatible: one Pipeline belongs to one training loop.
"""

import time
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.distributed as dist
from torch import nn

from data import Batch
from model import language_loss
from schedule import Chunk, ChunkKind, order_of


class PipelineOptions(NamedTuple):
    stage: int  # [0, stages); the rank in the process group
    stages: int
    schedule: str  # "gpipe" or "1f1b"
    microbatches: int
    activation_shape: Tuple[int, int, int]  # samples of a microbatch, length, width


class NeighbourLost(Exception):
    """The process of a neighbouring stage is gone."""


class Pipeline:

    def __init__(self, module: nn.Module, options: PipelineOptions):
        """`module`: the part of the model of this stage. REQUIRES: a process group with one rank
        for each stage, unless there is only one."""
        self.waited_ns = 0  # time spent waiting for neighbours, ever
        self._module = module
        self._options = options
        self._is_first = options.stage == 0
        self._is_last = options.stage == options.stages - 1
        self._order = order_of(options.schedule, options.stage, options.stages,
                               options.microbatches)
        self._activations = self._buffers() if not self._is_first else []
        self._gradients = self._buffers() if not self._is_last else []
        self._arriving: Dict[Chunk, dist.Work] = {}
        self._leaving: List[Tuple[dist.Work, torch.Tensor]] = []
        self._kept: Dict[int, Tuple[torch.Tensor, torch.Tensor]] = {}

    def step(self, batch: Batch) -> Optional[float]:
        """Forward and backward of all microbatches; gradients are added to the parameters'.
        Returns the mean loss on the last stage, None elsewhere. Raises NeighbourLost."""
        losses = self._run(self._order, batch)
        return sum(losses) / len(losses) if self._is_last else None

    def evaluate(self, batch: Batch) -> Optional[float]:
        """Like step, but forward only and without gradients."""
        with torch.no_grad():
            losses = self._run([c for c in self._order if c.kind is ChunkKind.FORWARD], batch)
        self._kept.clear()
        return sum(losses) / len(losses) if self._is_last else None

    def forward_one_chunk(self, microbatch: int, source: torch.Tensor,
                          targets: torch.Tensor) -> torch.Tensor:
        """Returns what goes to the next stage; on the last stage the microbatch's loss, divided by
        the number of microbatches. `source`: tokens on the first stage, else an activation."""
        if not self._is_first:
            source = source.detach().requires_grad_()
        output = self._module(source)
        if self._is_last:
            output = language_loss(output, targets) / self._options.microbatches
        self._kept[microbatch] = (source, output)
        return output

    def backward_one_chunk(self, microbatch: int,
                           gradient: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        """`gradient`: of this stage's output, None on the last stage. Returns the gradient of its
        input, None on the first stage."""
        source, output = self._kept.pop(microbatch)
        output.backward(gradient)
        return None if self._is_first else source.grad

    def _run(self, order: List[Chunk], batch: Batch) -> List[float]:
        tokens = batch.tokens.chunk(self._options.microbatches)
        targets = batch.targets.chunk(self._options.microbatches)
        losses = []
        self._post_receives(order)
        for chunk in order:
            i = chunk.microbatch
            if chunk.kind is ChunkKind.FORWARD:
                source = tokens[i] if self._is_first else self._receive(chunk, self._activations)
                output = self.forward_one_chunk(i, source, targets[i])
                if self._is_last:
                    losses.append(output.item() * self._options.microbatches)
                else:
                    self._send(chunk, output.detach(), self._options.stage + 1)
            else:
                gradient = None if self._is_last else self._receive(chunk, self._gradients)
                input_gradient = self.backward_one_chunk(i, gradient)
                if not self._is_first:
                    self._send(chunk, input_gradient, self._options.stage - 1)
        self._finish_sends()
        return losses

    def _post_receives(self, order: List[Chunk]) -> None:
        for chunk in order:
            is_forward = chunk.kind is ChunkKind.FORWARD
            if is_forward and not self._is_first:
                buffer, peer = self._activations[chunk.microbatch], self._options.stage - 1
            elif not is_forward and not self._is_last:
                buffer, peer = self._gradients[chunk.microbatch], self._options.stage + 1
            else:
                continue
            self._arriving[chunk] = dist.irecv(buffer, src=peer, tag=_tag(chunk))

    def _receive(self, chunk: Chunk, buffers: List[torch.Tensor]) -> torch.Tensor:
        self._wait(self._arriving.pop(chunk))
        return buffers[chunk.microbatch]

    def _send(self, chunk: Chunk, tensor: torch.Tensor, peer: int) -> None:
        tensor = tensor.contiguous()
        try:
            work = dist.isend(tensor, dst=peer, tag=_tag(chunk))
        except RuntimeError as error:
            raise NeighbourLost(str(error)) from error
        self._leaving.append((work, tensor))  # the tensor must live until it is sent

    def _finish_sends(self) -> None:
        for work, _ in self._leaving:
            self._wait(work)
        self._leaving.clear()

    def _wait(self, work: dist.Work) -> None:
        begin_ns = time.perf_counter_ns()
        try:
            work.wait()
        except RuntimeError as error:
            raise NeighbourLost(str(error)) from error
        self.waited_ns += time.perf_counter_ns() - begin_ns

    def _buffers(self) -> List[torch.Tensor]:
        """One for each microbatch, used again in every step."""
        return [torch.empty(self._options.activation_shape)
                for _ in range(self._options.microbatches)]


def _tag(chunk: Chunk) -> int:
    return 2 * chunk.microbatch + (chunk.kind is ChunkKind.BACKWARD)
