"""Tests of cursors and output files: every sample once, whatever happens to the attempts."""

import hashlib
import os
import random
import tempfile
import unittest
from unittest import mock

import pipefill
from processes import clean_environment


class CoverageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        environment = clean_environment(PIPEFILL_CHECKPOINT_DIR=self.path("job"))
        patch = mock.patch.dict(os.environ, environment, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def path(self, name):
        return os.path.join(self.folder, name)

    def make_task(self):
        task = pipefill.FillTask()
        self.addCleanup(task.close)
        return task

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_alone_it_covers_all_in_the_largest_ranges(self):
        ranges = list(pipefill.elastic_range(10, 2, 4, task=self.make_task()))
        self.assertEqual(ranges, [(0, 4), (4, 8), (8, 10)])

    def test_sizes_and_data_that_make_no_sense_are_refused(self):
        with self.assertRaisesRegex(ValueError, "n_min=3 n_max=2"):
            list(pipefill.elastic_range(10, 3, 2, task=self.make_task()))
        task = self.make_task()
        for _ in pipefill.DataCursor(10, task=task):
            break
        task.save()
        with self.assertRaisesRegex(pipefill.CheckpointError, "11 samples, the checkpoint is of 10"):
            pipefill.DataCursor(11, task=self.make_task())

    @staticmethod
    def expected(total):
        return b"".join(b"%03d " % sample for sample in range(total))

    def test_step_by_step_the_cursor_moves_on_when_the_next_unit_is_asked_for(self):
        task = self.make_task()
        cursor = pipefill.DataCursor(5, task=task)
        for sample in cursor:
            self.assertEqual(cursor.position, sample)
            if sample == 2:
                break
        task.save()
        again = pipefill.DataCursor(5, task=self.make_task())
        self.assertEqual(list(again), [2, 3, 4])

    def test_output_after_the_last_checkpoint_is_cut_off_and_done_again(self):
        task = self.make_task()
        output = pipefill.OutputFile(self.path("out"), task=task)
        cursor = pipefill.DataCursor(3, task=task)
        for sample in cursor:
            if sample == 1:
                task.save()
                output.write(b"lost")
                break
            output.write(b"%03d " % sample)
        self.assertEqual(self.read("out"), b"000 ")
        kept = hashlib.sha256()
        task = self.make_task()
        with pipefill.OutputFile(self.path("out"), task=task, on_kept=kept.update) as output:
            for sample in pipefill.DataCursor(3, task=task):
                output.write(b"%03d " % sample)
        self.assertEqual(self.read("out"), b"000 001 002 ")
        self.assertEqual(kept.digest(), hashlib.sha256(b"000 ").digest())

    def test_range_in_progress_does_not_count_when_it_is_left(self):
        task = self.make_task()
        output = pipefill.OutputFile(self.path("out"), task=task)
        for begin, end in pipefill.elastic_range(6, 1, 2, task=task):
            output.write(b"%d-%d " % (begin, end))
            if begin == 2:
                break
        task.save()
        task = self.make_task()
        with pipefill.OutputFile(self.path("out"), task=task) as output:
            for begin, end in pipefill.elastic_range(6, 1, 2, task=task):
                output.write(b"%d-%d " % (begin, end))
        self.assertEqual(self.read("out"), b"0-2 2-4 4-6 ")

    def test_late_writes_of_an_attempt_that_was_overtaken_reach_nobody(self):
        old_task = self.make_task()
        old = pipefill.OutputFile(self.path("out"), task=old_task)
        new = pipefill.OutputFile(self.path("out"), task=self.make_task())
        new.write(b"new")
        old.write(b"old")
        old.close()
        new.close()
        self.assertEqual(self.read("out"), b"new")

    def test_output_that_somebody_has_changed_is_told(self):
        task = self.make_task()
        output = pipefill.OutputFile(self.path("out"), task=task)
        task.next_unit()
        output.write(b"content")
        sum(range(1000))
        task.save()
        with open(self.path("out"), "wb") as file:
            file.write(b"cont")
        with self.assertRaisesRegex(pipefill.CheckpointError, "3 bytes shorter.*out"):
            pipefill.OutputFile(self.path("out"), task=self.make_task())
        os.unlink(self.path("out"))
        with self.assertRaisesRegex(pipefill.CheckpointError, "gone.*out"):
            pipefill.OutputFile(self.path("out"), task=self.make_task())

    def test_every_sample_once_and_in_order_whenever_attempts_save_and_die(self):
        for seed in range(30):
            with self.subTest(seed=seed):
                self.check_coverage(random.Random(seed))

    def check_coverage(self, dice):
        total = dice.randint(1, 60)
        job = tempfile.mkdtemp(dir=self.folder)
        out, ranges = os.path.join(job, "out"), os.path.join(job, "ranges")
        with mock.patch.dict(os.environ, PIPEFILL_CHECKPOINT_DIR=os.path.join(job, "checkpoints")):
            while not self.random_attempt(dice, total, out, ranges):
                pass
        self.assertEqual(self.read(out), self.expected(total))
        done = [tuple(map(int, line.split())) for line in self.read(ranges).splitlines()]
        self.assertEqual([sample for begin, end in done for sample in range(begin, end)],
                         list(range(total)))

    def random_attempt(self, dice, total, out, ranges):
        task = self.make_task()
        output = pipefill.OutputFile(out, task=task)
        record = pipefill.OutputFile(ranges, task=task)
        cursor = pipefill.DataCursor(total, task=task)
        while cursor.position < total:
            # As elastic() does it, with saves and deaths at every place where they can come.
            begin = cursor.position
            task.next_unit()
            sum(range(1000))
            end = min(begin + dice.randint(1, 5), total)
            for sample in range(begin, end):
                output.write(b"%03d " % sample)
                if dice.random() < 0.02:
                    return False
            record.write(b"%d %d\n" % (begin, end))
            if dice.random() < 0.1:
                task.save()  # the range in progress does not count yet
            cursor.advance(end)
            if dice.random() < 0.4:
                task.save()
            if dice.random() < 0.1:
                return False
        output.close()
        record.close()
        return True


if __name__ == "__main__":
    unittest.main()
