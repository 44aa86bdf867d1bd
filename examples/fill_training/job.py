"""Fill job: trains a small classifier on the licence texts of this machine, one optimizer step a
unit or a part of one, and writes its loss curve to a file.

    pipefill submit --name classify -- python3 examples/fill_training/job.py --result r.json

Without agentd it runs alone and gives the same curve, bit for bit. Killed or moved, it goes on where it
was: with its weights, its optimizer, its counters, and its file as long as it was then.

The batch_size of a configuration that schedulerd has chosen bounds the windows of a unit. It does not change the
curve: gradients add up over the same few windows at a time, in the same order, whatever a unit takes in.
"""

import argparse
import functools
import json
import os
import pathlib
import sys
from typing import Dict, Iterator, NamedTuple, Optional

_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(_ROOT / "examples"), str(_ROOT / "bazel-bin" / "client" / "python" / "site")]

import arithmetic  # noqa: E402

arithmetic.prepare(os.environ)  # before torch is loaded

import pipefill  # noqa: E402
import pipefill.torch  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import classifier  # noqa: E402
import job_result  # noqa: E402
import licence_texts  # noqa: E402


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    job_result.add_file_options(parser)
    parser.add_argument("--steps", type=int, default=6000, help="of the optimizer: amount of work")
    parser.add_argument("--samples", type=int, default=8, help="windows of one step")
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


# Windows whose gradients are computed at a time.
_PART_WINDOWS = 4


class Piece(NamedTuple):
    """What one unit does of an optimizer step: the parts [begin, end)."""
    step: int
    begin: int
    end: int
    is_last: bool


class Training:
    """Thread-compatible."""

    def __init__(self, options: argparse.Namespace):
        texts = [t.content for t in licence_texts.read_texts()]
        self._windows = classifier.LicenceWindows(texts, options.seed)
        self._model = classifier.Classifier(self._windows.classes, options.seed)
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=options.learning_rate)
        self._samples = options.samples
        self._batch = None  # of the step in progress
        self._loss = 0.0
        self.steps_done = 0
        self.evaluated = 0  # of held_out
        self._right = 0
        self.held_out = list(self._windows.held_out_batches(options.samples))

    def pieces(self, steps: int, windows_max: int) -> Iterator[Piece]:
        """Of all steps that are left of `steps`, with at most `windows_max` windows each, one part at least."""
        parts = -(-self._samples // _PART_WINDOWS)
        size = max(1, windows_max // _PART_WINDOWS)
        for step in range(self.steps_done, steps):
            for begin in range(0, parts, size):
                end = min(begin + size, parts)
                yield Piece(step, begin, end, end == parts)

    def run(self, piece: Piece) -> Optional[float]:
        """Returns the loss before the step once all of it is done."""
        if piece.begin == 0:
            self._batch = self._windows.training_batch(piece.step, self._samples)
            self._loss = 0.0
            self._optimizer.zero_grad(set_to_none=True)
        for part in range(piece.begin, piece.end):
            self._run_part(part)
        if not piece.is_last:
            return None
        self._optimizer.step()
        self.steps_done += 1
        return self._loss

    def _run_part(self, part: int) -> None:
        windows = slice(part * _PART_WINDOWS, (part + 1) * _PART_WINDOWS)
        buckets, labels = self._batch.buckets[windows], self._batch.labels[windows]
        loss = nn.functional.cross_entropy(self._model(buckets), labels, reduction="sum") / self._samples
        loss.backward()
        self._loss += loss.item()

    def evaluate(self, windows: classifier.Windows) -> None:
        with torch.no_grad():
            guesses = self._model(windows.buckets).argmax(dim=1)
        self._right += int((guesses == windows.labels).sum())
        self.evaluated += 1

    def checkpoint(self, task: pipefill.FillTask) -> None:
        """Goes on from what an earlier attempt has saved, and saves from now on."""
        pipefill.torch.checkpoint(task, model=self._model, optimizer=self._optimizer, counters=self)

    def state_dict(self) -> Dict[str, int]:
        return {"steps_done": self.steps_done, "evaluated": self.evaluated, "right": self._right}

    def load_state_dict(self, state: Dict[str, int]) -> None:
        self.steps_done, self.evaluated = state["steps_done"], state["evaluated"]
        self._right = state["right"]

    @property
    def accuracy(self) -> float:
        """Share of the evaluated windows that was recognised."""
        return self._right / sum(len(w.labels) for w in self.held_out)


def line(value: Dict[str, object]) -> bytes:
    return (json.dumps(value) + "\n").encode("ascii")


def main() -> int:
    options = parse_options()
    torch.use_deterministic_algorithms(True)
    training = Training(options)
    task = pipefill.FillTask()
    training.checkpoint(task)
    kept_file = functools.partial(pipefill.OutputFile, task=task)
    windows_max = pipefill.task_config().get("batch_size") or options.samples
    with job_result.Output(job_result.output_path(options, ".losses"), kept_file) as output:
        for piece in pipefill.fill(training.pieces(options.steps, windows_max), task=task):
            loss = training.run(piece)
            if loss is not None:
                output.write(line({"step": piece.step, "loss": loss.hex()}))
            # Gradients are in no checkpoint: nothing is saved amid a step.
            task.hold_saves(not piece.is_last)
        for windows in pipefill.fill(training.held_out[training.evaluated:], label=1, task=task):
            training.evaluate(windows)
        output.write(line({"accuracy": training.accuracy.hex()}))
    print(f"accuracy on held-out text: {training.accuracy:.3f}")
    return job_result.finish(task, options.result, output)


if __name__ == "__main__":
    sys.exit(main())
