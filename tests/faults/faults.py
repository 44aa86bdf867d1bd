"""Fault tests of the daemons: `./run faults`, or a part of it with --short.

Kills schedulerd at every system call in turn that changes its state on disk, in each scenario; lets
such calls fail with EIO and ENOSPC; fills a small disk; kills it at random under load. After each fault
it is started again, and what its clients were told is compared with what it knows. Then agents die,
networks part, clocks are set and rubbish comes over the sockets: agent_faults.py, partition_faults.py,
clock_faults.py, socket_faults.py. The last line on stdout is one JSON object; the status is 0 if nothing
was lost, doubled, reused, orphaned or violated. Its "skipped" names the parts that could not run here.
"""

import argparse
import collections
import concurrent.futures
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import agent_faults
import clock_faults
import partition_faults
import socket_faults
import store_faults as faults

SCENARIOS = ("submit", "cancel", "dispatch", "complete", "compact", "stop")
# All that change a file. SQLite uses the first four, snapshots the others.
SYSCALLS = ("pwrite64", "fdatasync", "ftruncate", "unlink", "write", "fsync", "rename", "fallocate")
# Per scenario: further settings of schedulerd.
SMALL_LIMITS = (', "snapshot_every": 4, "history_jobs_max": 3, "jobs_max": 1000')
SETTINGS = {"compact": SMALL_LIMITS}
# The short form.
SHORT_SCENARIOS = ("submit", "complete", "compact")
SHORT_STRIDE = 17
# Fewer say that strace does not inject what it is told to.
POINTS_MIN = 6
# For schedulerd to end after an error of its disk, in seconds.
END_MAX = 10
UNAVAILABLE = 77
PARTS = ("store", "agents", "partitions", "clocks", "sockets")


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_until_fault(folder, scenario, syscall, fault):
    """Returns what the clients were told, and whether schedulerd was killed."""
    told = faults.Told()
    daemon = faults.Schedulerd(folder, SETTINGS.get(scenario, ""), (syscall, fault))
    address = daemon.wait_for_address()
    if address is not None:
        faults.run_client(scenario, address, told=told)
    return told, daemon


def check_recovery(folder, scenario, told, tally, where):
    may_forget = scenario == "compact"
    daemon = faults.Schedulerd(folder, SETTINGS.get(scenario, ""))
    try:
        address = daemon.wait_for_address()
        if address is None:
            tally.blame("violations", f"{where}: no start: {faults.last_log_line(folder)}")
            return
        tally.blame_errors(where, told)
        faults.check_after_restart(told, address, tally, where, may_forget)
        faults.check_resubmission(told, address, tally, where, may_forget)
        if scenario in ("dispatch", "complete"):
            faults.check_to_the_end(told, address, tally, where)
    finally:
        daemon.end(signal.SIGKILL)


def enumerate_kills(base, tally, scenarios, stride):
    """Every `stride`-th kill point of each system call; 1 = all."""
    for scenario in scenarios:
        points = 0
        for syscall in SYSCALLS:
            nth = 1
            while True:
                where = f"{scenario}, kill at {syscall} {nth}"
                folder = faults.fresh_folder(base / "kill")
                told, daemon = run_until_fault(folder, scenario, syscall, f"signal=KILL:when={nth}")
                daemon.end(signal.SIGTERM)
                if daemon.process.returncode == 0:
                    break
                points += 1
                check_recovery(folder, scenario, told, tally, where)
                nth += stride
        tally.kill_points += points
        if points < POINTS_MIN:
            tally.blame("violations", f"{scenario}: only {points} kills; does strace work here?")
        say(f"faults: {scenario}: {points} kill points, {len(tally.texts)} findings so far")


def enumerate_errors(base, tally, stride):
    """EIO ends schedulerd, ENOSPC does not; nothing that was answered is lost either way."""
    hits = collections.Counter()
    for syscall, error in (("pwrite64", "EIO"), ("fdatasync", "EIO"), ("pwrite64", "ENOSPC")):
        for nth in range(1, 60, 2 * stride):
            where = f"submit, {error} at {syscall} {nth}"
            folder = faults.fresh_folder(base / "error")
            told, daemon = run_until_fault(folder, "submit", syscall, f"error={error}:when={nth}")
            was_hit = daemon.journal_was_hit()
            must_end = was_hit and error == "EIO"
            status = daemon.wait_for_end(END_MAX if must_end else 0)
            faults.check_disk_error(error, was_hit, daemon.address_file.exists(), status, told, tally,
                                    where)
            daemon.end(signal.SIGKILL)
            hits[error] += was_hit
            tally.kill_points += 1
            check_recovery(folder, "submit", told, tally, where)
    for error in ("EIO", "ENOSPC"):
        if hits[error] == 0:
            tally.blame("violations", f"no {error} hit the journal; does strace work here?")
    say(f"faults: errors of the disk: {dict(hits)}, {len(tally.texts)} findings so far")


def fill_small_disk(base, tally):
    """A disk of 8 MiB that another fills. Jobs are refused with one line, then taken again."""
    folder = faults.fresh_folder(base / "disk")
    state = folder / "state"
    state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "pipefill-faults", str(state)],
                      check=False, stderr=subprocess.DEVNULL).returncode != 0:
        tally.skipped.append("small disk: no tmpfs can be mounted here")
        return
    try:
        check_small_disk(folder, state, tally)
    finally:
        subprocess.run(["umount", "-l", str(state)], check=False)


def check_small_disk(folder, state, tally):
    told = faults.Told()
    daemon = faults.Schedulerd(folder)
    address = daemon.wait_for_address()
    faults.run_client("submit", address, told=told)
    with open(state / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            pass
    full = faults.Told()
    faults.run_client("cancel", address, told=full)
    if full.jobs or not full.errors:
        tally.blame("violations", f"full disk: jobs {full.jobs}, errors {full.errors}")
    tally.blame_errors("full disk", full, but="is full")
    (state / "filler").unlink()
    end = time.monotonic() + 5
    after = faults.Told()
    while not after.jobs and time.monotonic() < end:
        faults.run_client("cancel", address, told=after)
        time.sleep(0.1)
    if len(after.jobs) != 2:
        tally.blame("violations", f"space again: jobs {after.jobs}")
    # Until it has noticed the space.
    tally.blame_errors("space again", after, but="is full")
    if not daemon.is_running():
        tally.blame("violations", f"full disk: it ended: {faults.last_log_line(folder)}")
    daemon.end(signal.SIGKILL)
    told.jobs.update(after.jobs)
    told.tried += after.tried
    told.cancelled |= after.cancelled
    check_recovery(folder, "submit", told, tally, "full disk")
    say(f"faults: full disk: {len(tally.texts)} findings so far")


def kill_under_load(base, tally, rounds, rng):
    """Four clients submit and cancel; schedulerd is killed at random, on one store."""
    folder = faults.fresh_folder(base / "load")
    told = faults.Told()
    settings = ', "snapshot_every": 200'
    for turn in range(rounds):
        daemon = faults.Schedulerd(folder, settings)
        address = daemon.wait_for_address()
        if address is None:
            tally.blame("violations", f"load {turn}: no start: {faults.last_log_line(folder)}")
            return
        jobs = faults.check_after_restart(told, address, tally, f"load {turn}")
        tally.kill_points += 1
        if turn + 1 == rounds:
            say(f"faults: load: {rounds} kills, {len(jobs)} jobs, {len(told.jobs)} answered")
            faults.check_resubmission(told, address, tally, "load, all keys again")
            daemon.end(signal.SIGKILL)
            return
        outputs = []
        clients = [threading.Thread(target=lambda name: outputs.append(
            faults.run_client("load", address, [name])), args=(f"load-{turn}-{number}",))
                   for number in range(4)]
        for client in clients:
            client.start()
        time.sleep(rng.uniform(0.05, 0.6))
        daemon.end(signal.SIGKILL)
        for client in clients:
            client.join()
        for output in outputs:
            told.read(output)
        tally.blame_errors(f"load {turn}", told)
        told.errors.clear()  # told once


def run_part(part, base, is_short, seed):
    """What it counts."""
    tally = faults.Tally()
    stride = SHORT_STRIDE if is_short else 1
    if part == "store":
        enumerate_kills(base, tally, SHORT_SCENARIOS if is_short else SCENARIOS, stride)
        enumerate_errors(base, tally, stride)
        fill_small_disk(base, tally)
        kill_under_load(base, tally, 4 if is_short else 30, random.Random(seed))
    elif part == "agents":
        agent_faults.run(base, tally, is_short, random.Random(seed))
    elif part == "partitions":
        partition_faults.run(base, tally, 1 if is_short else 12, seed)
    elif part == "clocks":
        clock_faults.run(base, tally, is_short)
    else:
        socket_faults.run(base, tally, agent_faults.Cluster, is_short, random.Random(seed))
    return tally


def run_parts(base, tally, parts, is_short, seed):
    """All at the same time: they wait more than they work."""
    with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
        for done in [pool.submit(run_part, part, base, is_short, seed) for part in parts]:
            tally.add(done.result().result(), done.result().texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="within a minute: some of the kill points")
    parser.add_argument("--seed", type=int, default=1, help="of all that is random")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be repeated")
    arguments = parser.parse_args()
    if shutil.which("strace") is None:
        say("faults: strace is missing; ./run setup installs it")
        return UNAVAILABLE
    tally = faults.Tally()
    with tempfile.TemporaryDirectory(prefix="pipefill-faults-") as name:
        base = faults.pathlib.Path(name)
        run_parts(base, tally, arguments.only or PARTS, arguments.short, arguments.seed)
    for text in tally.texts[:50]:
        say(f"faults: {text}")
    for text in tally.skipped:
        say(f"faults: left out: {text}")
    print(json.dumps(tally.result()))
    return 1 if tally.texts else 0


if __name__ == "__main__":
    sys.exit(main())
