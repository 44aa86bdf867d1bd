"""Every wrong input gives one clear line that names what is wrong, and its documented exit code."""
import json
import os
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # noqa: E402
from cluster import Cluster  # noqa: E402


class BadInputTest(unittest.TestCase):
    def expect(self, answer, code, *words):
        """`answer` is (exit code, stdout, stderr); the one line must hold all `words`."""
        actual, output, errors = answer
        self.assertEqual(actual, code, output + errors)
        # What a daemon logs while all is still well is no part of the complaint.
        lines = [line for line in errors.splitlines() if line.strip() and " info " not in line]
        self.assertEqual(len(lines), 1, f"not one line: {errors!r}")
        for word in words:
            self.assertIn(word, lines[0])

    def daemon(self, binary, config, *flags):
        with Cluster() as folder:
            path = folder.write_config("config.json", config)
            return self.call([binary, "--config", path, *flags])

    @staticmethod
    def call(command):
        done = subprocess.run(command, env=cluster.environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_submission_without_a_command(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            self.expect(pipefill.cli("submit", "--name", "x"), 2, "command")

    def test_unknown_option(self):
        with Cluster() as pipefill:
            self.expect(pipefill.cli("submit", "--colour", "red", "--", "true"), 2, "--colour")

    def test_unknown_option_of_a_daemon(self):
        for binary in (cluster.SCHEDULERD, cluster.AGENTD):
            self.expect(self.call([binary, "--colour"]), 2, os.path.basename(binary) + ": ", "--colour")

    def test_malformed_job_file_names_the_field(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            path = pipefill.write_config("job.json", {"command": ["true"], "memroy": "1GiB"})
            self.expect(pipefill.cli("submit", path), 2, "memroy", "job.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"command": ["true",}')
            self.expect(pipefill.cli("submit", path), 2, "job.json")

    def test_memory_over_every_device(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.start_agent()
            cluster.until(lambda: pipefill.cli_json("devices")["devices"], "the agent registers")
            self.expect(pipefill.cli("submit", "--memory", "64GiB", "--", "true"), 7, "64 GiB", "2 GiB")

    def test_plan_of_a_job_in_a_cluster_that_cannot_run_it(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            path = pipefill.write_config("job.json", {"command": ["true"], "memory": "64GiB"})
            code, output, errors = pipefill.cli("plan", "--job", path)
            self.assertEqual((code, errors), (0, ""))
            self.assertIn("would wait", output)
            self.assertIn("no agent is connected", output)
            pipefill.start_agent()
            cluster.until(lambda: pipefill.cli_json("devices")["devices"], "the agent registers")
            self.expect(pipefill.cli("plan", "--job", path), 7, "64 GiB", "2 GiB")
            path = pipefill.write_config("job.json", {"command": ["true"]})
            rule = pipefill.cli_json("plan", "--job", path)["pending"]["rule"]
            self.assertIn("has a main job whose bubbles may be filled", rule)
            self.expect(pipefill.cli("plan", "--job", pipefill.path("gone.json")), 3, "gone.json")
            self.assertEqual(pipefill.cli_json("jobs", "--all")["jobs"], [])
            pipefill.stop("schedulerd", 15)
            self.expect(pipefill.cli("plan", "--job", path), 6, pipefill.address)

    def test_unknown_job(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            self.expect(pipefill.cli("job", "show", "4711"), 3, "4711")

    def test_scheduler_away(self):
        with Cluster() as pipefill:
            pipefill.address = "127.0.0.1:1"
            self.expect(pipefill.cli("jobs"), 6, "127.0.0.1:1")

    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as other, Cluster() as folder:
            address = f"127.0.0.1:{other.getsockname()[1]}"
            config = {"listen": address, "state_dir": folder.path("state")}
            self.expect(self.daemon(cluster.SCHEDULERD, config), 5, address)

    def test_socket_in_use(self):
        with Cluster() as pipefill:
            pipefill.start_agent()
            config = {"node": "b", "socket": pipefill.socket, "state_dir": pipefill.path("other"),
                      "devices": [{"name": "cpu0", "backend": "cpu", "cores": cluster.cores()[0]}]}
            self.expect(self.daemon(cluster.AGENTD, config), 5, pipefill.socket)

    def test_unwritable_state_folder(self):
        # /proc takes no folders, not even from root.
        self.expect(self.daemon(cluster.SCHEDULERD, {"listen": "127.0.0.1:0", "state_dir": "/proc/pipefill"}), 4,
                    "/proc/pipefill")
        config = {"node": "a", "socket": "/proc/pipefill.sock", "state_dir": "/proc/pipefill",
                  "devices": [{"name": "cpu0", "backend": "cpu", "cores": cluster.cores()[0]}]}
        self.expect(self.daemon(cluster.AGENTD, config), 4, "/proc/pipefill")

    def test_state_folder_of_a_newer_version(self):
        with Cluster() as pipefill:
            pipefill.start_scheduler()
            pipefill.stop("schedulerd", 15)
            store = [name for name in os.listdir(pipefill.path("schedulerd")) if name.endswith((".db", ".sqlite"))]
            self.assertEqual(len(store), 1, os.listdir(pipefill.path("schedulerd")))
            self.raise_format(os.path.join(pipefill.path("schedulerd"), store[0]))
            before = cluster.read(os.path.join(pipefill.path("schedulerd"), store[0]))
            config = {"listen": "127.0.0.1:0", "state_dir": pipefill.path("schedulerd")}
            path = pipefill.write_config("newer.json", config)
            self.expect(self.call([cluster.SCHEDULERD, "--config", path]), 5, "newer version")
            self.assertEqual(cluster.read(os.path.join(pipefill.path("schedulerd"), store[0])), before)

    @staticmethod
    def raise_format(path):
        import sqlite3
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 1000")
        connection.commit()
        connection.close()

    def test_device_cores_that_do_not_exist(self):
        config = {"node": "a", "devices": [{"name": "cpu0", "backend": "cpu", "cores": "4000"}]}
        self.expect(self.daemon(cluster.AGENTD, config, "--check"), 2, "4000", "devices[0].cores")

    def test_unknown_field_of_a_configuration(self):
        self.expect(self.daemon(cluster.SCHEDULERD, {"lisen": "127.0.0.1:0"}, "--check"), 2, "lisen", "config.json")

    def test_missing_configuration_file(self):
        self.expect(self.call([cluster.AGENTD, "--config", "/nonexistent/agentd.json"]), 3, "/nonexistent/agentd.json")

    def test_example_configurations_are_valid(self):
        for binary, name in ((cluster.SCHEDULERD, "schedulerd"), (cluster.AGENTD, "agentd")):
            path = os.path.join(cluster.ROOT, "deploy", f"{name}.json")
            code, output, errors = self.call([binary, "--config", path, "--check"])
            self.assertEqual(code, 0, output + errors)

    def test_sdk_of_another_page_version_trains_without_pipefill(self):
        script = (
            "import json, logging, struct, socket, sys\n"
            "import pipefill\n"
            "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
            "s.connect(sys.argv[1])\n"
            # MessageHeader with page version 999, then the rest of an AttachRankRequest.
            "s.send(struct.pack('<IIII', 0x4c465049, 1, 999, 232) + b'\\0' * 216)\n"
            "reply = s.recv(4096)\n"
            "print(json.dumps({'code': struct.unpack_from('<I', reply, 16)[0],\n"
            "                  'text': reply[32:].split(b'\\0')[0].decode()}))\n")
        with Cluster() as pipefill:
            pipefill.start_agent()
            code, output, errors = self.call([cluster.PYTHON, "-c", script, pipefill.socket])
            self.assertEqual(code, 0, errors)
            reply = json.loads(output)
            self.assertEqual(reply["code"], 1)
            self.assertIn("999", reply["text"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
