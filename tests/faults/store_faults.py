"""What the fault tests have in common: one schedulerd, its clients, and the comparison of what the
clients were told with what schedulerd knows afterwards.

Thread-compatible. Times are seconds.
"""

import atexit
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PIPEFILL_BIN", TREE / "bazel-bin"))
SCHEDULERD = BIN / "scheduler/schedulerd"
CLIENT = BIN / "tests/faults/fault_client"

# Clients give up after 30 seconds themselves.
PATIENCE = 60
# Their keys are its arguments, and all within its patience.
KEYS_PER_CLIENT = 2000


class Schedulerd:
    """One schedulerd on a state folder, under strace if `inject` names a fault. `listen`: on this
    address instead of any free one."""

    def __init__(self, folder, settings="", inject=None, listen=None,
                 environment=None):
        self.folder = pathlib.Path(folder)
        self.address_file = self.folder / "address"
        self.trace_file = self.folder / "trace"
        for file in (self.address_file, self.trace_file):
            file.unlink(missing_ok=True)
        config = self.folder / "schedulerd.json"
        config.write_text(
            '{"listen": "%s", "state_dir": "%s", "address_file": "%s", '
            '"disk_reserve": "1MiB", "log_level": "warn"%s}'
            % (listen or "127.0.0.1:0", self.folder / "state", self.address_file, settings))
        command = [str(SCHEDULERD), "--config", str(config)]
        if inject is not None:
            syscall, fault = inject
            # Without --seccomp-bpf: with it strace 6.1 injects no signals.
            command = ["strace", "-f", "-qq", "-y", "-o", str(self.trace_file), "-e", f"trace={syscall}",
                       "-e", f"inject={syscall}:{fault}"] + command
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log,
                                        env={**os.environ, **(environment or {})},
                                        start_new_session=True)
        atexit.register(self.end, signal.SIGKILL)

    def wait_for_address(self):
        """The address, or None if it ended before it served."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.address_file.exists():
                return self.address_file.read_text().strip()
            if self.process.poll() is not None:
                return None
            time.sleep(0.005)
        raise AssertionError("schedulerd neither serves nor ends")

    def is_running(self):
        return self.process.poll() is None

    def journal_was_hit(self):
        """Whether a call on the journal itself failed as `inject` says."""
        if not self.trace_file.exists():
            return False
        return any("(INJECTED)" in line and "/journal.db" in line
                   for line in self.trace_file.read_text(errors="replace").splitlines())

    def wait_for_end(self, seconds):
        """Its exit status, or None if it still runs after that long."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self, how=signal.SIGTERM):
        """Ends it; strace, if it runs under that, ends with it. Returns its exit status."""
        if self.is_running():
            for pid in children_of(self.process.pid) or [self.process.pid]:
                try:
                    os.kill(pid, how)
                except ProcessLookupError:
                    pass
        status = self.process.wait(PATIENCE)
        self.log.close()
        atexit.unregister(self.end)
        return status


def children_of(pid):
    children = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name, in parentheses, may hold anything.
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has gone meanwhile
        if int(fields[1]) == pid:
            children.append(int(entry.parent.name))
    return children


@dataclasses.dataclass
class Told:
    """What clients were told, from their output."""

    tried: list = dataclasses.field(default_factory=list)
    jobs: dict = dataclasses.field(default_factory=dict)  # key -> id
    cancelled: set = dataclasses.field(default_factory=set)
    launched: list = dataclasses.field(default_factory=list)  # (id, attempt, fence)
    ended: set = dataclasses.field(default_factory=set)
    errors: list = dataclasses.field(default_factory=list)

    def read(self, text):
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            words = rest.split()
            if word == "try":
                self.tried.append(words[0])
            elif word == "job":
                self.note_job(words[0], int(words[1]))
            elif word == "cancelled":
                self.cancelled.add(int(words[0]))
            elif word == "launched":
                self.launched.append(tuple(int(w) for w in words))
            elif word == "ended":
                self.ended.add(tuple(int(w) for w in words))
            elif word == "error":
                self.errors.append(rest)

    def note_job(self, key, job):
        known = self.jobs.setdefault(key, job)
        if known != job:
            self.errors.append(f"key {key} is job {known} and job {job}")

    def live(self):
        return [attempt for attempt in dict.fromkeys(self.launched) if attempt not in self.ended]


def read_told(text):
    told = Told()
    told.read(text)
    return told


@dataclasses.dataclass
class Tally:
    """What the fault tests count; all but kill_points must stay 0."""

    kill_points: int = 0
    lost: int = 0
    double: int = 0
    reused_ids: int = 0
    orphans: int = 0
    violations: int = 0
    skipped: list = dataclasses.field(default_factory=list)  # parts that could not run here
    texts: list = dataclasses.field(default_factory=list)

    def blame(self, kind, text):
        setattr(self, kind, getattr(self, kind) + 1)
        self.texts.append(f"{kind}: {text}")

    def blame_errors(self, where, told, but=None):
        """Of all errors that clients told, but those with the text `but` in them."""
        for error in told.errors:
            if but is None or but not in error:
                self.blame("violations", f"{where}: {error}")

    def add(self, result, texts):
        """What another process has counted: its result and texts."""
        for name, count in result.items():
            setattr(self, name, getattr(self, name) + count)
        self.texts += texts

    def result(self):
        """What the last line on stdout says."""
        return {name: getattr(self, name) for name in
                ("kill_points", "lost", "double", "reused_ids", "orphans", "violations", "skipped")}


def run_client(what, address, words=(), told=None):
    """Returns its output; adds it to `told`."""
    done = subprocess.run([str(CLIENT), what, address, *map(str, words)], stdout=subprocess.PIPE,
                          text=True, timeout=PATIENCE, check=False)
    if told is not None:
        told.read(done.stdout)
    return done.stdout


Seen = collections.namedtuple("Seen", "key state attempts successes live")


def read_seen(text):
    """id -> Seen, and (id, attempt) -> fence."""
    jobs = {}
    fences = {}
    for line in text.splitlines():
        words = line.split()
        if words[0] == "seen":
            jobs[int(words[1])] = Seen(words[2], words[3], *map(int, words[4:7]))
        elif words[0] == "attempt":
            fences[int(words[1]), int(words[2])] = int(words[3])
    return jobs, fences


def check_disk_error(error, was_hit, has_served, status, told, tally, where):
    """EIO on the journal ends schedulerd, which says so with its status. ENOSPC does not end one that
    has served, and everything is answered at last. `status` is None if it still runs."""
    if error == "EIO" and was_hit and status in (None, 0):
        how = "goes on" if status is None else "ended with status 0"
        tally.blame("violations", f"{where}: the journal failed, and it {how}")
    if error == "ENOSPC" and has_served and status is not None:
        tally.blame("violations", f"{where}: it ended with status {status}")
    if error == "ENOSPC" and has_served and len(told.jobs) < len(set(told.tried)):
        tally.blame("violations", f"{where}: only {len(told.jobs)} answers to {len(told.tried)} jobs")


def check_after_restart(told, address, tally, where, may_forget=False):
    """Compares what `told` says with what schedulerd knows. `may_forget`: of ended jobs."""
    listed = run_client("verify", address)
    tally.blame_errors(where, read_told(listed))
    jobs, fences = read_seen(listed)
    for key, job in told.jobs.items():
        if job not in jobs:
            if not (may_forget and job in told.cancelled):
                tally.blame("lost", f"{where}: job {job} ({key})")
        elif jobs[job].key != key:
            tally.blame("reused_ids", f"{where}: job {job} is {jobs[job].key}, was {key}")
    for job in told.cancelled:
        if job in jobs and jobs[job].state != "JOB_STATE_CANCELLED":
            tally.blame("violations", f"{where}: cancelled job {job} is {jobs[job].state}")
    for job, attempt, fence in told.launched:
        if fences.get((job, attempt)) != fence and job in jobs:
            tally.blame("violations", f"{where}: attempt {attempt} of {job}, fence {fence}, unknown")
    for job, _, _ in told.ended:
        if job in jobs and jobs[job].state != "JOB_STATE_SUCCEEDED":
            tally.blame("lost", f"{where}: acknowledged end of job {job}: {jobs[job].state}")
    return jobs


def check_resubmission(told, address, tally, where, may_forget=False):
    """Every key that was ever sent gives one job, the one that it gave before."""
    kept = [key for key in dict.fromkeys(told.tried)
            if not (may_forget and told.jobs.get(key) in told.cancelled | {None})]
    before = dict(told.jobs)
    again = Told()
    keys = kept + ["fresh-" + str(len(kept))]
    for at in range(0, len(keys), KEYS_PER_CLIENT):
        run_client("submit-again", address, keys[at:at + KEYS_PER_CLIENT], again)
    tally.blame_errors(where, again)
    for key, job in again.jobs.items():
        if key in before and before[key] != job:
            tally.blame("double", f"{where}: {key} is job {before[key]} and job {job}")
        if key not in before and job in before.values():
            tally.blame("reused_ids", f"{where}: {key} got id {job}")
    if len(again.jobs) != len(kept) + 1:
        tally.blame("violations", f"{where}: {len(again.jobs)} answers to {len(keys)} keys")
    told.jobs.update(again.jobs)


def check_to_the_end(told, address, tally, where):
    """An agent comes back and runs everything; then nothing is left over."""
    finish = Told()
    words = [number for attempt in told.live() for number in attempt]
    run_client("finish", address, words, finish)
    tally.blame_errors(where, finish)
    fences = collections.Counter(fence for _, _, fence in set(told.launched + finish.launched))
    for fence, count in fences.items():
        if count > 1:
            tally.blame("reused_ids", f"{where}: fence {fence} given {count} times")
    listed = run_client("verify", address)
    tally.blame_errors(where, read_told(listed))
    jobs, _ = read_seen(listed)
    for job, seen in jobs.items():
        if seen.successes > 1:
            tally.blame("double", f"{where}: job {job} succeeded {seen.successes} times")
        if seen.live > 0:
            tally.blame("orphans", f"{where}: job {job} still has a live attempt")
        if seen.state not in ("JOB_STATE_SUCCEEDED", "JOB_STATE_CANCELLED"):
            tally.blame("violations", f"{where}: job {job} ended as {seen.state}")


def fresh_folder(base):
    folder = pathlib.Path(base)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def last_log_line(folder):
    lines = (pathlib.Path(folder) / "log").read_text(errors="replace").splitlines()
    return re.sub(r"\s+", " ", lines[-1]) if lines else ""
