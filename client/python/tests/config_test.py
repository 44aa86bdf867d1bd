"""Tests of task_config()."""

import os
import unittest
from unittest import mock

import pipefill


class TaskConfigTest(unittest.TestCase):
    def config_for(self, text):
        with mock.patch.dict(os.environ, {"PIPEFILL_CONFIG": text}):
            return pipefill.task_config()

    def test_is_empty_when_nothing_was_chosen(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("PIPEFILL_CONFIG", None)
            self.assertEqual(pipefill.task_config(), {})
        self.assertEqual(self.config_for(""), {})

    def test_is_what_schedulerd_wrote(self):
        text = '{"name":"batch8","batch_size":8,"memory_saving":"plain"}'
        self.assertEqual(self.config_for(text),
                         {"name": "batch8", "batch_size": 8, "memory_saving": "plain"})

    def test_text_that_is_no_object_counts_for_nothing_and_is_told(self):
        for text in ("{", "8", "[]", "null"):
            with self.assertLogs("pipefill", "WARNING"):
                self.assertEqual(self.config_for(text), {})


if __name__ == "__main__":
    unittest.main()
