"""Agents that die: agentd killed at every system call on the record of an attempt, and agentds and
schedulerd killed at random while tasks run and end.

A task that came to its end must be told as it ended, whoever was killed meanwhile: each job comes to
its end once.

Thread-compatible. Times are seconds.
"""

import signal
import sys

import node_faults as nodes
import store_faults as faults

# What agentd does with the files of an attempt.
SYSCALLS = ("openat", "write", "pwrite64", "fsync", "rename", "unlink")
SHORT_SYSCALLS = ("fsync", "rename")
FILES = ("task.json", "task.json.new", "progress", "exit")
# Fewer say that strace does not inject what it is told to.
POINTS_MIN = 3
# Long, so that nothing is given up in these tests.
SETTINGS = ', "agent_lease": "60s", "agent_lost_after": "90s"'


def say(text):
    print(text, file=sys.stderr, flush=True)


class Cluster:
    """One schedulerd on a port that stays, and nodes with ranks."""

    def __init__(self, folder, names):
        self.folder = folder
        self.records = folder / "records"
        self.address = None
        self.daemon = None
        self.start_scheduler()
        self.nodes = [nodes.Node(folder, name, self.address) for name in names]

    def start_scheduler(self):
        self.daemon = faults.Schedulerd(self.folder, SETTINGS, listen=self.address)
        self.address = self.daemon.wait_for_address()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for node in self.nodes:
            node.end()
        self.daemon.end()


def inject(node, job, syscall, nth):
    """Words in front of agentd's command: it is killed at the nth such call on that job's files."""
    folder = node.folder / "state/attempts" / f"{job}.1"
    words = ["strace", "-f", "-qq", "-o", str(node.folder / "trace"), "-e", f"trace={syscall}",
             "-e", f"inject={syscall}:signal=KILL:when={nth}"]
    # The folder itself is synced too. Its keeper opens files in it, and must not be killed.
    for path in [folder / file for file in FILES] + ([folder] if syscall == "fsync" else []):
        words += ["-P", str(path)]
    return words


def run_job(cluster, node, key, syscall, nth):
    """One job through an agentd that is killed at that point; whether it was."""
    job = len(nodes.list_jobs(cluster.address)) + 1
    node.start_agent(inject(node, job, syscall, nth))
    agent = faults.children_of(node.agent.pid)
    nodes.submit(cluster.address, key, cluster.records, units=20)

    def is_decided():
        is_killed = not any(nodes.is_alive(pid) for pid in agent)
        return is_killed or nodes.list_jobs(cluster.address)[job].state == "JOB_STATE_SUCCEEDED"

    nodes.until(is_decided)
    was_killed = not any(nodes.is_alive(pid) for pid in agent)
    if not was_killed:
        # Ends strace too.
        for pid in agent:
            nodes.signal_process(pid, signal.SIGTERM)
        node.agent.wait(nodes.PATIENCE)
        return False
    node.start_agent()
    nodes.wait_for_all(cluster.address, job)
    nodes.end(node.agent)
    return True


def enumerate_kills(base, tally, syscalls, stride):
    """agentd is killed at every `stride`-th such call; 1 = all."""
    points = 0
    with Cluster(faults.fresh_folder(base / "agent-kill"), ["node"]) as cluster:
        node = cluster.nodes[0]
        node.start_agent()
        node.start_rank()
        nodes.end(node.agent)
        for syscall in syscalls:
            nth = 1
            while run_job(cluster, node, f"{syscall}-{nth}", syscall, nth):
                points += 1
                nth += stride
        node.start_agent()
        jobs = nodes.list_jobs(cluster.address)
        units, ends = nodes.read_records(cluster.records)
        nodes.check_exclusive(units, tally, "agent kill")
        nodes.check_ends(jobs, ends, tally, "agent kill")
        nodes.check_left_over(cluster.nodes, tally, "agent kill")
    tally.kill_points += points
    if points < POINTS_MIN:
        tally.blame("violations", f"agent kill: only {points} kills; does strace work here?")
    say(f"faults: agentd: {points} kill points, {len(tally.texts)} findings so far")


def kill_at_random(base, tally, rounds, rng):
    """Two agents run short jobs; any of the three daemons is killed, sometimes all at once."""
    with Cluster(faults.fresh_folder(base / "agents"), ["one", "two"]) as cluster:
        for node in cluster.nodes:
            node.start_agent()
            node.start_rank()
        count = 0
        for turn in range(rounds):
            for _ in range(3):
                count += 1
                nodes.submit(cluster.address, f"job-{count}", cluster.records, rng.randint(1, 150))
            nodes.until(lambda: False, rng.uniform(0, 1))
            victims = rng.sample(["one", "two", "schedulerd"], rng.randint(1, 3))
            kill(cluster, victims)
            nodes.until(lambda: False, rng.uniform(0, 0.5))
            revive(cluster, victims)
            tally.kill_points += len(victims)
            if not cluster.daemon.is_running():
                tally.blame("violations", f"agents {turn}: schedulerd ended by itself")
                return
        jobs = nodes.wait_for_all(cluster.address, count)
        units, ends = nodes.read_records(cluster.records)
        nodes.check_exclusive(units, tally, "agents")
        nodes.check_ends(jobs, ends, tally, "agents")
        nodes.check_left_over(cluster.nodes, tally, "agents")
        say(f"faults: agents: {rounds} rounds, {len(jobs)} jobs, {len(tally.texts)} findings so far")


def kill(cluster, victims):
    for node in cluster.nodes:
        if node.name in victims:
            node.kill_agent()
    if "schedulerd" in victims:
        cluster.daemon.end(signal.SIGKILL)


def revive(cluster, victims):
    if "schedulerd" in victims:
        cluster.start_scheduler()
    for node in cluster.nodes:
        if node.name in victims:
            node.start_agent()


def run(base, tally, is_short, rng):
    enumerate_kills(base, tally, SHORT_SYSCALLS if is_short else SYSCALLS, 3 if is_short else 1)
    kill_at_random(base, tally, 5 if is_short else 40, rng)
