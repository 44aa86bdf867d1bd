"""A pipeline computes what the same model computes in one piece. Real processes, real gloo."""

import multiprocessing
import os
import pathlib
import sys
import tempfile
import unittest
from typing import List, NamedTuple, Optional

_HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE / "pipeline_training")]

import arithmetic

arithmetic.prepare(os.environ)
os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import torch
import torch.distributed as dist

from data import Batch, Corpus
from model import build_stage, language_loss
from model_size import SIZES
from pipeline import Pipeline, PipelineOptions

TINY = SIZES["tiny"]
MICROBATCHES = 4
SAMPLES = 2  # of a microbatch
_PROCESSES = multiprocessing.get_context("fork")
_TIMEOUT_SECONDS = 60


class Outcome(NamedTuple):
    losses: List[Optional[float]]  # of two steps and an evaluation
    gradients: List[List[List[float]]]  # after each step, of each parameter; lists of values


def make_batch(number: int) -> Batch:
    corpus = Corpus([bytes(range(256)) * 200], TINY.length, seed=1)
    return corpus.training_batch(number, MICROBATCHES * SAMPLES)


def run_stage(schedule: str, stage: int, stages: int) -> Outcome:
    module = build_stage(TINY, stage, stages, seed=1)
    pipeline = Pipeline(module, PipelineOptions(
        stage, stages, schedule, MICROBATCHES, (SAMPLES, TINY.length, TINY.width)))
    losses, gradients = [], []
    for step in range(2):
        losses.append(pipeline.step(make_batch(step)))
        gradients.append([p.grad.flatten().tolist() for p in module.parameters()])
        module.zero_grad(set_to_none=True)
    losses.append(pipeline.evaluate(make_batch(2)))
    return Outcome(losses, gradients)


def run_in_process(schedule: str, stage: int, stages: int, meeting: str, answers) -> None:
    dist.init_process_group("gloo", init_method="file://" + meeting, rank=stage,
                            world_size=stages)
    answers.put((stage, run_stage(schedule, stage, stages)))
    dist.barrier()


def run_pipeline(schedule: str, stages: int) -> Outcome:
    """Of all stages together: gradients in the order of the model, losses of the last stage."""
    with tempfile.TemporaryDirectory() as folder:
        answers = _PROCESSES.Queue()
        processes = [
            _PROCESSES.Process(target=run_in_process, daemon=True,
                               args=(schedule, stage, stages, folder + "/meeting", answers))
            for stage in range(stages)]
        for process in processes:
            process.start()
        outcomes = dict(answers.get(timeout=_TIMEOUT_SECONDS) for _ in processes)
        for process in processes:
            process.join(timeout=_TIMEOUT_SECONDS)
    gradients = [sum((outcomes[stage].gradients[step] for stage in range(stages)), [])
                 for step in range(2)]
    return Outcome(outcomes[stages - 1].losses, gradients)


class PipelineTest(unittest.TestCase):

    def test_gradients_are_those_of_the_model_in_one_piece_bit_for_bit(self):
        whole = run_stage("gpipe", 0, 1)
        for stages in (2, 3, 4):
            for schedule in ("gpipe", "1f1b"):
                with self.subTest(stages=stages, schedule=schedule):
                    self.assertEqual(run_pipeline(schedule, stages), whole)

    def test_microbatches_add_up_to_the_gradient_of_the_whole_batch(self):
        in_microbatches = run_stage("1f1b", 0, 1)
        model = build_stage(TINY, 0, 1, seed=1)
        batch = make_batch(0)
        loss = language_loss(model(batch.tokens), batch.targets)
        loss.backward()
        self.assertAlmostEqual(loss.item(), in_microbatches.losses[0], places=5)
        for parameter, values in zip(model.parameters(), in_microbatches.gradients[0]):
            torch.testing.assert_close(parameter.grad.flatten(), torch.tensor(values),
                                       rtol=1e-4, atol=1e-6)

    def test_evaluation_leaves_no_gradient(self):
        module = build_stage(TINY, 0, 1, seed=1)
        pipeline = Pipeline(module, PipelineOptions(
            0, 1, "1f1b", MICROBATCHES, (SAMPLES, TINY.length, TINY.width)))
        pipeline.evaluate(make_batch(0))
        self.assertTrue(all(p.grad is None for p in module.parameters()))


if __name__ == "__main__":
    unittest.main()
