"""`pipefill dev`: a whole cluster in one process, and everything it keeps in its folder."""
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
from cluster import Cluster, until  # noqa: E402


class DevTest(unittest.TestCase):
    @staticmethod
    def start(folder, *flags):
        """The process, once it serves; `folder.address` is then its schedulerd."""
        process = subprocess.Popen(
            [cluster.CLI, "dev", "--state", folder.path("dev"), "--listen", "127.0.0.1:0",
             "--cores", ",".join(sorted(set(cluster.cores()))), "--memory", "2GiB", *flags],
            env=cluster.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = folder.path("dev/address")

        def has_started():
            if process.poll() is not None:
                raise AssertionError(process.communicate())
            return os.path.exists(address)

        until(has_started, "dev writes its address")
        with open(address, encoding="utf-8") as file:
            folder.address = file.read().strip()
        return process

    def end(self, process, number):
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, output + errors)
        return output

    def test_serves_until_it_is_told_to_stop_and_leaves_no_address(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Cluster() as folder:
                process = self.start(folder)
                try:
                    until(lambda: folder.cli_json("devices")["devices"], "its agent registers")
                    devices = folder.cli_json("devices")["devices"]
                    self.assertEqual(devices[0]["name"], "cpu0")
                    self.assertEqual(devices[0]["memory_bytes"], 2 << 30)
                    self.assertTrue(os.path.exists(folder.path("dev/agentd.sock")))
                finally:
                    output = self.end(process, number)
                self.assertIn(folder.address, output)
                self.assertIn(f"pipefill --scheduler {folder.address} submit", output)
                self.assertFalse(os.path.exists(folder.path("dev/address")))

    def test_same_folder_goes_on_with_its_jobs(self):
        with Cluster() as folder:
            process = self.start(folder)
            try:
                job = folder.submit("kept", ["true"])
            finally:
                self.end(process, signal.SIGTERM)
            process = self.start(folder)
            try:
                self.assertEqual(folder.cli_json("job", "show", job)["name"], "kept")
                self.assertNotEqual(folder.submit("next", ["true"]), job)
            finally:
                self.end(process, signal.SIGTERM)

    def test_second_one_in_the_same_folder_is_refused(self):
        with Cluster() as folder:
            process = self.start(folder)
            try:
                code, _, errors = folder.cli("dev", "--state", folder.path("dev"), "--listen", "127.0.0.1:0")
                self.assertEqual(code, 5, errors)
                self.assertIn(folder.path("dev"), errors)
                # The first one's address must survive the refusal.
                self.assertEqual(folder.cli("status")[0], 0)
                self.assertTrue(os.path.exists(folder.path("dev/address")))
            finally:
                self.end(process, signal.SIGTERM)

    def test_port_in_use_is_refused(self):
        with Cluster() as folder:
            process = self.start(folder)
            try:
                code, _, errors = folder.cli("dev", "--state", folder.path("other"), "--listen", folder.address)
                self.assertEqual(code, 5, errors)
                self.assertEqual(len(errors.splitlines()), 1, errors)
                self.assertIn(folder.address, errors)
            finally:
                self.end(process, signal.SIGTERM)

    def test_cores_that_do_not_exist_are_named(self):
        with Cluster() as folder:
            code, _, errors = folder.cli("dev", "--state", folder.path("dev"), "--cores", "4000")
            self.assertEqual(code, 2, errors)
            self.assertIn("core=4000", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
