"""Rules of the data of the examples."""

import os
import pathlib
import sys
import tempfile
import unittest

_HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE / "pipeline_training"), str(_HERE / "fill_training"),
                str(_HERE / "batch_inference")]

import arithmetic

arithmetic.prepare(os.environ)

import torch

import classifier
import encoder
import licence_texts
from data import Corpus, split_text

TEXT = bytes(range(256)) * 200  # each position can be told from its neighbours


class LicenceTextsTest(unittest.TestCase):

    def test_files_come_by_name_and_links_are_left_out(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "b").write_bytes(b"second")
            (folder / "a").write_bytes(b"first")
            (folder / "c").symlink_to("a")
            texts = licence_texts.read_texts(folder)
        self.assertEqual([tuple(t) for t in texts], [("a", b"first"), ("b", b"second")])

    def test_an_empty_folder_is_one_clear_line(self):
        with tempfile.TemporaryDirectory() as name:
            with self.assertRaisesRegex(SystemExit, "no licence texts: folder=" + name):
                licence_texts.read_texts(pathlib.Path(name))


class CorpusTest(unittest.TestCase):

    def test_split_keeps_every_byte_on_one_side(self):
        split = split_text(TEXT)
        self.assertEqual(len(split.training) + len(split.validation), len(TEXT))
        self.assertEqual(len(split.validation), 2 * 2048)
        self.assertEqual(split.validation[:2048], TEXT[9 * 2048:10 * 2048])

    def test_targets_are_the_tokens_that_follow(self):
        batch = Corpus([TEXT], length=16, seed=1).training_batch(0, samples=4)
        self.assertEqual(batch.tokens.shape, (4, 16))
        self.assertTrue(torch.equal(batch.tokens[:, 1:], batch.targets[:, :-1]))

    def test_a_batch_depends_on_seed_and_iteration_alone(self):
        one, two = Corpus([TEXT], 16, seed=1), Corpus([TEXT], 16, seed=1)
        one.training_batch(3, 4)  # no state is left behind
        self.assertTrue(torch.equal(one.training_batch(7, 4).tokens,
                                    two.training_batch(7, 4).tokens))
        other = Corpus([TEXT], 16, seed=2).training_batch(7, 4).tokens
        self.assertFalse(torch.equal(one.training_batch(7, 4).tokens, other))
        self.assertFalse(torch.equal(one.training_batch(8, 4).tokens,
                                     one.training_batch(7, 4).tokens))

    def test_a_text_that_is_too_short_is_refused(self):
        with self.assertRaisesRegex(ValueError, "too short"):
            Corpus([b"short"], length=16, seed=1)


class WindowBatchesTest(unittest.TestCase):

    def test_length_is_the_number_of_batches(self):
        batches = encoder.WindowBatches(TEXT, passes=3, samples=4)
        self.assertEqual(len(list(batches)), len(batches))

    def test_each_pass_reads_new_windows(self):
        batches = list(encoder.WindowBatches(TEXT, passes=2, samples=1))
        first, later = batches[0], batches[len(batches) // 2]
        self.assertEqual(first.shape, (1, encoder.LENGTH))
        self.assertEqual(later[0, 0] - first[0, 0], 7)


class ClassifierDataTest(unittest.TestCase):

    def setUp(self):
        self.texts = [bytes([65 + i]) * 4000 for i in range(3)]

    def test_labels_name_the_text_a_window_comes_from(self):
        windows = classifier.LicenceWindows(self.texts, seed=1)
        batch = windows.training_batch(0, samples=32)
        buckets = {int(label): set(row.tolist())
                   for label, row in zip(batch.labels, batch.buckets)}
        self.assertEqual(sorted(buckets), [0, 1, 2])
        self.assertTrue(all(len(b) == 1 for b in buckets.values()))
        self.assertEqual(len(set.union(*buckets.values())), 3)

    def test_held_out_windows_are_not_trained_on(self):
        # The tenth window of the text is the only one of its letter.
        text = b"a" * 1152 + b"z" * 128 + b"a" * 1152
        windows = classifier.LicenceWindows([text], seed=1)
        held_out = next(windows.held_out_batches(samples=1)).buckets
        trained = torch.cat([windows.training_batch(i, 8).buckets for i in range(50)])
        self.assertEqual(held_out.unique().numel(), 1)
        self.assertFalse(torch.isin(held_out, trained).any())

    def test_short_texts_are_no_class(self):
        self.assertEqual(classifier.LicenceWindows(self.texts + [b"short"], seed=1).classes, 3)


if __name__ == "__main__":
    unittest.main()
