"""The process job: it knows nothing of pipefill, and leaves the same bytes however often it is stopped."""

import gzip
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest
from typing import Dict, Tuple

import licence_texts

_PROGRAM = pathlib.Path(__file__).resolve().parent / "compress_process" / "compress.sh"
_TIMEOUT_SECONDS = 60


class CompressTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self) -> Tuple[Dict[str, object], bytes]:
        result = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        return result, (self.folder / "r.json.gz").read_bytes()

    def test_output_holds_all_texts_of_every_pass(self):
        subprocess.run([_PROGRAM, self.folder / "r.json", "2"], check=True,
                       timeout=_TIMEOUT_SECONDS, stdout=subprocess.DEVNULL)
        result, output = self.read()
        self.assertEqual(result["sha256"], hashlib.sha256(output).hexdigest())
        size = sum(len(text.content) for text in licence_texts.read_texts())
        self.assertEqual(len(gzip.decompress(output)), 2 * size)

    def test_result_does_not_depend_on_stops(self):
        command = [_PROGRAM, self.folder / "r.json", "3"]
        subprocess.run(command, check=True, timeout=_TIMEOUT_SECONDS, stdout=subprocess.DEVNULL)
        alone, _ = self.read()
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        while program.poll() is None:
            try:
                os.killpg(program.pid, signal.SIGSTOP)
                os.killpg(program.pid, signal.SIGCONT)
            except ProcessLookupError:
                break
        self.assertEqual(program.wait(timeout=_TIMEOUT_SECONDS), 0)
        self.assertEqual(self.read()[0], alone)

    def test_bad_use_is_one_line(self):
        result = subprocess.run([_PROGRAM], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "usage: compress.sh RESULT [PASSES]\n")


if __name__ == "__main__":
    unittest.main()
