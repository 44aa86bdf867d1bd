"""Rules of the models of the examples."""

import os
import pathlib
import sys
import unittest

_HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE / "pipeline_training"), str(_HERE / "batch_inference")]

import arithmetic

arithmetic.prepare(os.environ)

import torch

import encoder
from model import build_stage, language_loss
from model_size import SIZES, part_costs, split_layers

TINY = SIZES["tiny"]


class SplitLayersTest(unittest.TestCase):

    def test_runs_cover_all_layers_in_order(self):
        for stages in (1, 2, 3, 4):
            runs = split_layers([1.0] * 8, stages)
            self.assertEqual([i for run in runs for i in run], list(range(8)))
            self.assertTrue(all(len(run) > 0 for run in runs))

    def test_equal_layers_are_cut_evenly(self):
        self.assertEqual([len(run) for run in split_layers([1.0] * 8, 2)], [4, 4])
        self.assertEqual([len(run) for run in split_layers([1.0] * 8, 4)], [2, 2, 2, 2])

    def test_a_dear_last_layer_gets_less_company(self):
        self.assertEqual([len(run) for run in split_layers([1.0, 1.0, 1.0, 1.0, 2.0], 2)], [3, 2])

    def test_more_stages_than_layers_are_refused(self):
        with self.assertRaisesRegex(ValueError, "2 layers cannot be cut into 3 stages"):
            split_layers([1.0, 1.0], 3)

    def test_no_stage_of_the_small_model_has_twice_the_share_it_should(self):
        costs = part_costs(SIZES["small"])
        for stages in (2, 3, 4):
            dearest = max(sum(costs[i] for i in run) for run in split_layers(costs, stages))
            self.assertLess(dearest, 1.3 * sum(costs) / stages)


class ModelTest(unittest.TestCase):

    def setUp(self):
        self.tokens = torch.arange(2 * TINY.length).view(2, TINY.length) % TINY.vocabulary

    def test_stages_hand_over_activations_and_end_in_scores(self):
        first, last = (build_stage(TINY, stage, 2, seed=1) for stage in (0, 1))
        activation = first(self.tokens)
        self.assertEqual(activation.shape, (2, TINY.length, TINY.width))
        self.assertEqual(last(activation).shape, (2, TINY.length, TINY.vocabulary))

    def test_model_is_the_same_into_however_many_stages_it_is_cut(self):
        whole = list(build_stage(TINY, 0, 1, seed=1).parameters())
        for stages in (2, 3, 4):
            parts = [p for stage in range(stages)
                     for p in build_stage(TINY, stage, stages, seed=1).parameters()]
            self.assertEqual(len(parts), len(whole))
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(parts, whole)))

    def test_seeds_give_different_models(self):
        one, two = (next(build_stage(TINY, 0, 1, seed).parameters()) for seed in (1, 2))
        self.assertFalse(torch.equal(one, two))

    def test_a_score_does_not_depend_on_later_tokens(self):
        model = build_stage(TINY, 0, 1, seed=1)
        changed = self.tokens.clone()
        changed[:, 20:] = 7
        before, after = model(self.tokens), model(changed)
        self.assertTrue(torch.equal(before[:, :20], after[:, :20]))
        self.assertFalse(torch.equal(before[:, 20:], after[:, 20:]))

    def test_loss_of_equal_scores_is_that_of_a_guess(self):
        loss = language_loss(torch.zeros(2, 3, 256), torch.zeros(2, 3, dtype=torch.int64))
        self.assertAlmostEqual(loss.item(), 5.5452, places=3)


class EncoderTest(unittest.TestCase):

    def test_embeds_each_window_by_itself_with_length_one(self):
        model = encoder.Encoder(seed=1)
        windows = torch.arange(3 * encoder.LENGTH).view(3, encoder.LENGTH) % 256
        together = model(windows)
        self.assertEqual(together.shape, (3, encoder.WIDTH))
        torch.testing.assert_close(together.norm(dim=1), torch.ones(3))
        torch.testing.assert_close(model(windows[1:2]), together[1:2])

    def test_weights_depend_on_the_seed_alone(self):
        windows = torch.zeros(1, encoder.LENGTH, dtype=torch.int64)
        one, again, other = (encoder.Encoder(seed)(windows) for seed in (1, 1, 2))
        self.assertTrue(torch.equal(one, again))
        self.assertFalse(torch.equal(one, other))


if __name__ == "__main__":
    unittest.main()
