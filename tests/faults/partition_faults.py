"""Networks that part: real agentds cut off from a real schedulerd, both ways, one way, and flapping.

Everything runs in a network namespace of its own, in which each node has a user and hence a source
address of its own, and the kernel drops what goes from one address to another. So connections are
direct, and what was sent into a cut arrives late, once it is healed. Needs root and iproute2.

    partition_faults.py FOLDER ROUNDS SEED      inside the namespace; for `run` below

Thread-compatible. Times are seconds.
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

import node_faults as nodes
import store_faults as faults

# What schedulerd allows at the least.
LEASE, LOST_AFTER = 3, 6
SETTINGS = f', "agent_lease": "{LEASE}s", "agent_lost_after": "{LOST_AFTER}s"'
# Longer than the time after which a node is given up, so that its jobs go elsewhere meanwhile.
CUT = 10
# For a unit that has begun to come to its end on a busy machine.
SLACK = 1
SCHEDULER_HOST = "127.0.0.1"
FIRST_USER = 60001
# Units of each job, of a millisecond each, at most one in each iteration of 7 ms.
UNITS = 1000


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)


class Link:
    """The way between node number `number` and schedulerd, which can be cut in each direction."""

    def __init__(self, number):
        self.user = FIRST_USER + number
        self.address = f"127.0.1.{number + 1}"
        table = 100 + number
        ip("route", "add", "local", SCHEDULER_HOST, "dev", "lo", "table", table, "src", self.address)
        ip("rule", "add", "pref", 10, "uidrange", f"{self.user}-{self.user}", "lookup", table)
        self.cuts = set()

    def cut(self, is_up, is_down):
        """`is_up`: what the node says is lost; `is_down`: what schedulerd says."""
        wanted = set()
        if is_up:
            wanted.add((self.address, SCHEDULER_HOST))
        if is_down:
            wanted.add((SCHEDULER_HOST, self.address))
        for change, ways in (("add", wanted - self.cuts), ("del", self.cuts - wanted)):
            for source, destination in ways:
                ip("rule", change, "pref", 5, "from", source, "to", destination, "blackhole")
        self.cuts = wanted


class Flapping(threading.Thread):
    """Cuts and heals a link at random until it is told to stop."""

    def __init__(self, link, rng):
        super().__init__()
        self.link = link
        self.rng = rng
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            self.link.cut(*self.rng.choice([(True, True), (True, False), (False, True)]))
            self.over.wait(self.rng.uniform(0.1, 2 * LEASE))
            self.link.cut(False, False)
            self.over.wait(self.rng.uniform(0.1, 1))

    def stop(self):
        self.over.set()
        self.join()


def is_permitted():
    """Whether such a namespace can be made here."""
    try:
        return subprocess.run(
            ["unshare", "-n", "sh", "-c", "ip link set lo up && ip rule add pref 10 uidrange 1-1 blackhole"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
    except FileNotFoundError:
        return False


def run(base, tally, rounds, seed):
    if not is_permitted():
        tally.skipped.append("partitions: no network namespace can be made here; needs root and iproute2")
        return
    folder = faults.fresh_folder(base / "partitions")
    done = subprocess.run(["unshare", "-n", sys.executable, __file__, folder, str(rounds), str(seed)],
                          stdout=subprocess.PIPE, text=True, check=False)
    result = json.loads((done.stdout.splitlines() or ["null"])[-1])
    if done.returncode != 0 or result is None:
        tally.blame("violations", f"partitions: ended with status {done.returncode}")
        return
    tally.add(result["counts"], result["texts"])


def prepare_namespace():
    ip("link", "set", "lo", "up")
    # Our rules must come before the one for local addresses.
    ip("rule", "add", "pref", 20, "lookup", "local")
    ip("rule", "del", "pref", 0)


def main():
    prepare_namespace()
    tally = faults.Tally()
    rng = random.Random(int(sys.argv[3]))
    open_to_users(pathlib.Path(sys.argv[1]))
    for turn in range(int(sys.argv[2])):
        folder = faults.fresh_folder(pathlib.Path(sys.argv[1]) / str(turn))
        run_round(folder, tally, rng, turn)
    print(json.dumps({"counts": tally.result(), "texts": tally.texts}))


def open_to_users(folder):
    """Users may go there, and find the programs; those of the build may lie in somebody's home."""
    folder.parent.chmod(0o755)  # the temporary one
    folder.chmod(0o755)
    programs = folder / "bin"
    programs.mkdir()
    for name in ("AGENTD", "RANK", "TASK"):
        setattr(nodes, name, pathlib.Path(shutil.copy(getattr(nodes, name), programs)))


def run_round(folder, tally, rng, turn):
    daemon = faults.Schedulerd(folder, SETTINGS)
    address = daemon.wait_for_address()
    links = [Link(4 * turn + number) for number in range(4)]
    members = [nodes.Node(folder, name, address, link.user)
               for name, link in zip(("both", "up", "down", "flapping"), links)]
    # Takes what the others lose.
    whole = nodes.Node(folder, "whole", address, seats=2 * len(members))
    records = folder / "records"
    records.touch()
    records.chmod(0o666)
    try:
        for node in members:
            node.start_agent()
            node.start_rank()
        part(members, whole, links, Round(address, records, tally, rng, f"partitions {turn}"))
    finally:
        for node in members + [whole]:
            node.end()
        daemon.end()


class Round:
    """What the steps of one round share."""

    def __init__(self, address, records, tally, rng, where):
        self.address = address
        self.records = records
        self.tally = tally
        self.rng = rng
        self.where = where
        self.jobs = 0

    def submit(self, count):
        for _ in range(count):
            self.jobs += 1
            nodes.submit(self.address, f"job-{self.jobs}", self.records, UNITS)

    def working_nodes(self):
        return {unit.node for unit in nodes.read_records(self.records)[0]}


def part(members, whole, links, this):
    names = {node.name for node in members}
    this.submit(2 * len(members))
    if not nodes.until(lambda: this.working_nodes() == names):
        this.tally.blame("violations", f"{this.where}: only {this.working_nodes()} have work")
        return
    whole.start_agent()
    whole.start_rank()
    begin = time.monotonic()
    for link, (is_up, is_down) in zip(links, ((True, True), (True, False), (False, True))):
        link.cut(is_up, is_down)
    flapping = Flapping(links[3], this.rng)
    flapping.start()
    this.submit(2)
    nodes.until(lambda: False, CUT)
    flapping.stop()
    healed = time.monotonic()
    for link in links:
        link.cut(False, False)
    this.tally.kill_points += len(links)
    jobs = nodes.wait_for_all(this.address, this.jobs)
    units, ends = nodes.read_records(this.records)
    nodes.check_exclusive(units, this.tally, this.where)
    nodes.check_ends(jobs, ends, this.tally, this.where, is_forgetting=True)
    check_parked(units, (begin, healed), this)
    nodes.check_left_over(members + [whole], this.tally, this.where)
    moved = sum(1 for seen in jobs.values() if seen.attempts > 1)
    print(f"faults: {this.where}: {len(jobs)} jobs, {moved} of them moved", file=sys.stderr)
    if moved == 0:
        this.tally.blame("violations", f"{this.where}: nothing was placed again")


def check_parked(units, span, this):
    """Cut off, a node stands still when its lease is over, until it is back."""
    begin, healed = span
    for name in ("both", "up", "down"):
        of_node = [unit for unit in units if unit.node == name]
        late = [unit.end - begin for unit in of_node
                if begin + LEASE + SLACK < unit.end < healed]
        if late:
            this.tally.blame("violations", f"{this.where}: node {name} still worked {max(late):.3f} s "
                             f"after it was cut off, with a lease of {LEASE} s")
        if not any(begin - SLACK < unit.end < begin for unit in of_node):
            this.tally.blame("violations", f"{this.where}: node {name} did not work before the cut")


if __name__ == "__main__":
    sys.exit(main())
