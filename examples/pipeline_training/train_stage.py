"""The training loop of one pipeline stage, and how it is attached to pipefill."""

import argparse
import contextlib
import json
import os
import statistics
import time
from typing import Dict, List, NamedTuple, Optional, TextIO

import torch
import torch.distributed as dist

import licence_texts
from data import Corpus
from launcher import EXIT_NEIGHBOUR_LOST, MEETING_VARIABLE
from model import build_stage
from model_size import SIZES
from pipeline import NeighbourLost, Pipeline, PipelineOptions

_WARM_UP_ITERATIONS = 20  # the learning rate grows to its value
_UNTIMED_ITERATIONS = 3  # first ones are slow: allocator, caches
_VALIDATION_BATCHES = 4


class IterationTime(NamedTuple):
    wall_ns: int
    waited_ns: int  # for neighbours
    cpu_ns: int  # of this process, all threads


class StageTime(NamedTuple):
    """Means over the timed iterations of one stage."""
    iteration_ms: float
    waiting_ms: float
    processor_ms: float


def train(options: argparse.Namespace, stage: int) -> int:
    """Returns the exit code of this process."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if options.stages > 1:
        meeting = "file://" + os.environ[MEETING_VARIABLE]
        dist.init_process_group("gloo", init_method=meeting, rank=stage,
                                world_size=options.stages)
        _calm_other_threads()
    try:
        StageTraining(options, stage).run()
        if options.stages > 1:
            dist.barrier()
        return 0
    except NeighbourLost:
        return EXIT_NEIGHBOUR_LOST  # the launcher says which stage was lost


def _calm_other_threads() -> None:
    """Keeps the threads of gloo from preempting this one when they wake.

    On one core they would do so in the middle of a send, and then spin for milliseconds on the lock that it
    holds. Waits for a neighbour lose nothing by it: the core is free then."""
    for thread in os.listdir("/proc/self/task"):
        if int(thread) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # one that has just ended
            os.sched_setscheduler(int(thread), os.SCHED_BATCH, os.sched_param(0))


class StageTraining:
    """Thread-compatible: belongs to the process of one stage."""

    def __init__(self, options: argparse.Namespace, stage: int):
        size = SIZES[options.size]
        self._options = options
        self._stage = stage
        self._is_last = stage == options.stages - 1
        self._samples = options.microbatches * options.samples
        self._tokens = self._samples * size.length
        texts = [text.content for text in licence_texts.read_texts()]
        self._corpus = Corpus(texts, size.length, options.seed)
        module = build_stage(size, stage, options.stages, options.seed)
        self._pipeline = Pipeline(module, PipelineOptions(
            stage, options.stages, options.schedule, options.microbatches,
            (options.samples, size.length, size.width)))
        self._optimizer = torch.optim.AdamW(module.parameters(), lr=options.learning_rate)
        self._times: List[IterationTime] = []
        self._memory: Dict[str, object] = {}  # what frees it, by what it frees

    def run(self) -> None:
        with contextlib.ExitStack() as closing:
            loss_file = self._open_loss_file(closing)
            job = self._attach()
            for iteration in range(self._options.iterations):
                self._train_once(iteration, loss_file)
            if job is not None:
                job.detach()
            for what, freed in self._memory.items():
                print(f"stage {self._stage}: {what}: {freed.reason}", flush=True)
            self._validate(loss_file)
            self._report_times()

    def _attach(self) -> Optional[object]:
        if self._options.no_pipefill:
            return None
        import pipefill  # only here: without it the example needs nothing but torch
        job = pipefill.attach(self._options.name, rank=self._stage, ranks=self._options.stages,
                              stage=self._stage, stages=self._options.stages)
        if self._options.free_memory:
            from pipefill import torch_memory
            self._memory["optimizer state"] = torch_memory.keep_state_on_host(self._optimizer, job)
        job.watch(self._pipeline, self._optimizer)
        if self._options.free_memory:
            self._memory["spare memory"] = torch_memory.release_spare(job)
        return job

    def _train_once(self, iteration: int, loss_file: Optional[TextIO]) -> None:
        begin_ns, begin_waited_ns = time.perf_counter_ns(), self._pipeline.waited_ns
        begin_cpu_ns = time.process_time_ns()
        batch = self._corpus.training_batch(iteration, self._samples)
        loss = self._pipeline.step(batch)
        self._set_learning_rate(iteration)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self._times.append(IterationTime(
            wall_ns=time.perf_counter_ns() - begin_ns,
            waited_ns=self._pipeline.waited_ns - begin_waited_ns,
            cpu_ns=time.process_time_ns() - begin_cpu_ns))
        if self._is_last:
            _write_line(loss_file, {"iteration": iteration, "loss": loss.hex()})
            self._print_progress(iteration, loss)

    def _set_learning_rate(self, iteration: int) -> None:
        share = min(1.0, (iteration + 1) / _WARM_UP_ITERATIONS)
        for group in self._optimizer.param_groups:
            group["lr"] = self._options.learning_rate * share

    def _print_progress(self, iteration: int, loss: float) -> None:
        every = self._options.print_every
        if iteration % every != every - 1 and iteration != 0:
            return
        wall_ns = statistics.median(t.wall_ns for t in self._times[-every:])
        print(f"iteration {iteration + 1:5d}  loss {loss:.4f}  {wall_ns / 1e6:7.1f} ms/iteration  "
              f"{self._tokens * 1e9 / wall_ns:8.0f} tokens/s", flush=True)

    def _validate(self, loss_file: Optional[TextIO]) -> None:
        losses = [self._pipeline.evaluate(self._corpus.validation_batch(i, self._samples))
                  for i in range(_VALIDATION_BATCHES)]
        if self._is_last:
            loss = sum(losses) / len(losses)
            _write_line(loss_file, {"validation_loss": loss.hex()})
            print(f"validation loss {loss:.4f}", flush=True)

    def _report_times(self) -> None:
        """The last stage prints where the time of every stage went."""
        mine = torch.tensor(_mean_time(self._times), dtype=torch.float64)
        if self._options.stages == 1:
            gathered = [mine]
        else:
            gathered = [torch.empty_like(mine) for _ in range(self._options.stages)]
            dist.gather(mine, gathered if self._is_last else None, dst=self._options.stages - 1)
        if not self._is_last:
            return
        times = [StageTime(*row.tolist()) for row in gathered]
        for stage, t in enumerate(times):
            share = 100 * t.waiting_ms / t.iteration_ms
            print(f"stage {stage}: {t.iteration_ms:.1f} ms/iteration, "
                  f"waiting {t.waiting_ms:.1f} ms ({share:.1f} %), "
                  f"processor time {t.processor_ms:.1f} ms", flush=True)
        if self._options.summary_file:
            with open(self._options.summary_file, "w", encoding="utf-8") as file:
                json.dump({"stages": [t._asdict() for t in times]}, file)
                file.write("\n")

    def _open_loss_file(self, closing: contextlib.ExitStack) -> Optional[TextIO]:
        """Line by line on disk, so that a run that is killed leaves what it had."""
        if not self._is_last or not self._options.loss_file:
            return None
        return closing.enter_context(
            open(self._options.loss_file, "w", encoding="utf-8", buffering=1))


def _mean_time(times: List[IterationTime]) -> StageTime:
    timed = times[_UNTIMED_ITERATIONS:] or times
    mean = [sum(column) / len(timed) / 1e6 for column in zip(*timed)]
    return StageTime(*mean)


def _write_line(file: Optional[TextIO], value: Dict[str, object]) -> None:
    if file is not None:
        file.write(json.dumps(value) + "\n")
