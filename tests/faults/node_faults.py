"""What the fault tests of nodes have in common: real agentds with real ranks and tasks, and the
comparison of what tasks did, by their own time-stamped records, with what schedulerd knows.

Thread-compatible. Times are seconds.
"""

import atexit
import collections
import json
import os
import pathlib
import signal
import subprocess
import time

import store_faults as faults

AGENTD = faults.BIN / "agent/agentd"
RANK = faults.BIN / "tests/integration/looping_rank"
TASK = faults.BIN / "tests/faults/fault_task"

# Upper bound on anything that these tests wait for.
PATIENCE = 120
# How often a process is asked. Asking starts one, which takes longer than this.
LOOK_AGAIN = 0.02


def until(question, seconds=PATIENCE):
    """The first true answer, or the last one."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(LOOK_AGAIN)


def start(command, log, environment=None, user=None):
    """A process that ends with this one at the latest. `user`: a number; None = as this one."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIPEFILL_")}
    with open(log, "ab") as file:
        process = subprocess.Popen([str(word) for word in command], stdout=file, stderr=file,
                                   stdin=subprocess.DEVNULL, env={**clean, **(environment or {})},
                                   start_new_session=True, user=user, group=user,
                                   extra_groups=None if user is None else [])
    atexit.register(end, process, signal.SIGKILL)
    return process


def is_alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def signal_process(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def end(process, how=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(how)
    return process.wait(PATIENCE)


class Node:
    """One agentd with one CPU device and a rank on it. `user`: of its processes. `seats`: tasks that may
    be on the device."""

    def __init__(self, folder, name, scheduler, user=None, seats=2):
        self.name = name
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        self.user = user
        if user is not None:
            os.chown(self.folder, user, user)
        self.socket = self.folder / "sock"
        self.log = self.folder / "log"
        core = min(os.sched_getaffinity(0))
        self.config = self.folder / "agentd.json"
        self.config.write_text(json.dumps({
            "node": name, "scheduler": scheduler, "socket": str(self.socket), "trace_max": "0",
            "state_dir": str(self.folder / "state"),
            # At normal priority they get on when something else keeps the machine busy.
            "devices": [{"name": "cpu0", "backend": "cpu", "cores": str(core), "memory": "2GiB",
                         "priority": "normal", "resident_limit": seats}]}))
        self.agent = None
        self.rank = None

    def start_agent(self, wrap=(), environment=None):
        """`wrap`: words in front of its command."""
        self.socket.unlink(missing_ok=True)
        self.agent = start([*wrap, AGENTD, "--config", self.config], self.log, environment, self.user)
        until(lambda: self.socket.exists() or self.agent.poll() is not None)

    def start_rank(self):
        self.rank = start([RANK, "cpu0"], self.folder / "rank.log",
                          {"PIPEFILL_SOCKET": str(self.socket)}, self.user)
        # It ends if its agentd ends before.
        until(lambda: b" rank_attached " in self.log.read_bytes() or self.rank.poll() is not None)

    def kill_agent(self):
        end(self.agent, signal.SIGKILL)

    def end(self):
        for process in (self.agent, self.rank):
            if process is not None:
                end(process)

    def tasks(self):
        """Processes that run for attempts of this node, by the mark in their environment."""
        mark = f"PIPEFILL_SOCKET={self.socket}\0".encode()
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                environment = entry.read_bytes()
            except OSError:
                continue  # it has gone meanwhile
            if mark in environment and b"PIPEFILL_FENCE=" in environment:
                found.append(int(entry.parent.name))
        return found


Unit = collections.namedtuple("Unit", "job attempt node start end")


def read_records(path):
    """All units, and (job, attempt) of all that came to their end, in order."""
    units, ends = [], []
    lines = path.read_text().splitlines() if path.exists() else []
    for line in lines:
        words = line.split()
        node = pathlib.Path(words[3]).parent.name
        if words[0] == "unit":
            units.append(Unit(int(words[1]), int(words[2]), node, int(words[4]) / 1e9,
                              int(words[5]) / 1e9))
        else:
            ends.append((int(words[1]), int(words[2])))
    return units, ends


def check_exclusive(units, tally, where):
    """An attempt works only when all earlier ones of its job have done so for the last time."""
    spans = {}
    for unit in units:
        first, last = spans.get((unit.job, unit.attempt), (unit.start, unit.end))
        spans[unit.job, unit.attempt] = min(first, unit.start), max(last, unit.end)
    for (job, attempt), (first, _) in spans.items():
        for (other, earlier), (_, last) in spans.items():
            if other == job and earlier < attempt and last > first:
                tally.blame("violations", f"{where}: job {job}: attempt {earlier} worked until "
                            f"{last - first:.3f} s after the begin of attempt {attempt}")


def check_ends(jobs, ends, tally, where, is_forgetting=False):
    """Of schedulerd's jobs. `is_forgetting`: ends of attempts that were given up do not count."""
    counts = collections.Counter(job for job, _ in ends)
    for job, seen in jobs.items():
        if seen.state != "JOB_STATE_SUCCEEDED":
            tally.blame("lost", f"{where}: job {job} is {seen.state}")
        if seen.successes > 1:
            tally.blame("double", f"{where}: job {job} succeeded {seen.successes} times")
        if seen.live > 0:
            tally.blame("orphans", f"{where}: job {job} still has a live attempt")
        if seen.state == "JOB_STATE_SUCCEEDED" and counts[job] == 0:
            tally.blame("violations", f"{where}: job {job} succeeded and never came to its end")
        if counts[job] > 1 and not is_forgetting:
            tally.blame("lost", f"{where}: job {job} ran to its end {counts[job]} times")


def check_left_over(nodes, tally, where):
    """Once all jobs are over no task is left; some may still be on their way out."""
    for node in nodes:
        until(lambda: not node.tasks(), 10)
        left = node.tasks()
        if left:
            tally.blame("orphans", f"{where}: processes {left} are left on node {node.name}")


def submit(address, key, records, units, unit_us=1000):
    told = faults.Told()
    faults.run_client("fill", address, [key, TASK, records, units, unit_us, 0], told)
    return told.jobs.get(key)


def list_jobs(address):
    return faults.read_seen(faults.run_client("verify", address))[0]


def wait_for_all(address, count, seconds=PATIENCE):
    """The jobs once `count` are known and none goes on, or as they are after that long."""
    jobs = {}

    def is_over():
        jobs.clear()
        jobs.update(list_jobs(address))
        over = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")
        return len(jobs) >= count and all(seen.state in over for seen in jobs.values())

    until(is_over, seconds)
    return jobs
