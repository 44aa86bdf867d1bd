"""Submissions to Slurm beside the same submissions to schedulerd, for scheduler.py.

slurmctld, slurmd and munged of Debian's packages run on loopback, in a temporary folder with a munge key of its own; nothing of
an installed cluster is read or touched. Jobs are held there, and wait for an agent here: what is measured is accepting
them. schedulerd has each on disk before it answers; Slurm writes its state some seconds later.

Like is compared with like: a process for each job (`sbatch`, `pipefill submit`), and a program that calls the library for
each job (libslurm, SubmitJob), each from one client and from eight.
"""

import contextlib
import getpass
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import cluster

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "libslurm-dev", "munge", "gcc")
FOLDER = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 3  # of which the median counts; Slurm's and ours take turns
CLIENTS = 8
PATIENCE_S = 30

CONFIG = """\
ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MaxJobCount=200000
NodeName=localhost NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


def is_installed():
    programs = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "gcc")
    found = all(shutil.which(name, path=search_path()) for name in programs)
    return found and os.path.exists("/usr/include/slurm/slurm.h")


def search_path():
    return "/usr/sbin:/usr/bin:/sbin:/bin"


def free_ports(count):
    with contextlib.ExitStack() as sockets:
        taken = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]


class Slurm:
    """A cluster of one node; use as a context manager."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="pipefill-slurm-")
        self.processes = []
        self.environment = {"PATH": search_path(), "SLURM_CONF": self.path("slurm.conf")}

    def path(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *unused):
        self.end()

    def begin(self):
        # munged wants everybody to reach its socket, and nobody its key.
        os.chmod(self.folder, 0o755)
        os.mkdir(self.path("secret"), 0o700)
        for name in ("state", "spool"):
            os.mkdir(self.path(name))
        with open(os.open(self.path("secret/key"), os.O_WRONLY | os.O_CREAT, 0o400), "wb") as key:
            key.write(os.urandom(128))
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as config:
            config.write(CONFIG.format(folder=self.folder, user=getpass.getuser(), ports=free_ports(2)))
        self.start("munged", "--foreground", "--num-threads=10", f"--key-file={self.path('secret/key')}",
                   f"--socket={self.path('munge.socket')}", f"--pid-file={self.path('secret/pid')}",
                   f"--log-file={self.path('secret/log')}", f"--seed-file={self.path('secret/seed')}")
        self.until(lambda: os.path.exists(self.path("munge.socket")), "munged makes its socket")
        self.start("slurmctld", "-D", "-c")
        self.start("slurmd", "-D", "-N", "localhost")
        self.until(lambda: self.ask("sinfo", "-h", "-o", "%T").strip() == "idle", "the node is idle")

    def start(self, *command):
        with open(self.path(f"{command[0]}.out"), "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=subprocess.STDOUT))

    def until(self, question, what):
        deadline = time.monotonic() + PATIENCE_S
        while not question():
            ended = [process.args[0] for process in self.processes if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise SystemExit(f"scheduler: slurm: not so: {what}; ended: {ended}; the last lines: {self.last_lines()}")
            time.sleep(0.05)

    def last_lines(self):
        lines = []
        for process in self.processes:
            name = process.args[0]
            with open(self.path(f"{name}.out"), encoding="utf-8") as log:
                lines.extend(f"{name}: {line.strip()}" for line in log.readlines()[-2:])
        return lines

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False).stdout

    def jobs(self):
        return len(self.ask("squeue", "-h", "-o", "%i").splitlines())

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def by_processes(command, environment, jobs, clients):
    """Jobs a second, with a process for each, `clients` of them at a time."""
    started = time.monotonic()
    subprocess.run(["xargs", "-n", "1", "-P", str(clients), *command], env=environment, check=True, text=True,
                   input="\n".join(str(i) for i in range(jobs)), stdout=subprocess.DEVNULL)
    return jobs / (time.monotonic() - started)


def by_library(program, environment, jobs, clients):
    """The same with `clients` processes, each of which calls libslurm for its share of the jobs."""
    share = jobs // clients
    started = time.monotonic()
    running = [subprocess.Popen([program, str(share)], env=environment, stdout=subprocess.DEVNULL)
               for _ in range(clients)]
    if any(process.wait() != 0 for process in running):
        raise SystemExit("scheduler: slurm: a submission through libslurm failed")
    return share * clients / (time.monotonic() - started)


def rpc_rate(address, clients):
    done = subprocess.run([os.path.join(cluster.BIN, "tests/benchmarks/scheduler_bench"), "client", address,
                           str(clients), "2"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["jobs_per_s"]


def measure_one(slurm, pipefill, jobs, clients):
    """Rates by way in, from so many clients: one round."""
    ours = cluster.environment(PIPEFILL_SCHEDULER=pipefill.address)
    before = slurm.jobs()
    rates = {
        "sbatch": by_processes(["sbatch", "--hold", "--parsable", "-o", "/dev/null", slurm.path("job.sh")],
                               slurm.environment, jobs, clients),
        "cli": by_processes([cluster.CLI, "submit", "-o", "name", "--name", "embed", "--memory", "1GiB", "--",
                             "python3", "embed.py", "--shard"], ours, jobs, clients),
        # Ten times as many, as they take a tenth of the time or less.
        "library": by_library(slurm.path("slurm_submit"), slurm.environment, 10 * jobs // clients * clients, clients),
        "rpc": rpc_rate(pipefill.address, clients),
    }
    submitted = jobs + 10 * jobs // clients * clients
    if slurm.jobs() - before != submitted:
        raise SystemExit(f"scheduler: slurm: {slurm.jobs() - before} jobs are there, not {submitted}")
    return rates


def measure(pipefill, jobs, say):
    """Figures; none, with one line, where Slurm is not installed."""
    if not is_installed():
        say(f"slurm: skipped, not installed here; apt-get install --no-install-recommends {' '.join(PACKAGES)}")
        return {}
    with Slurm() as slurm:
        with open(slurm.path("job.sh"), "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\ntrue\n")
        subprocess.run(["gcc", "-O2", "-o", slurm.path("slurm_submit"), os.path.join(FOLDER, "slurm_submit.c"),
                        "-lslurm"], check=True)
        medians = {}
        for clients in (1, CLIENTS):
            rounds = []
            for number in range(ROUNDS):
                rounds.append(measure_one(slurm, pipefill, jobs, clients))
                say(f"slurm: {clients} clients, round {number + 1}: "
                    + ", ".join(f"{way} {value:.0f}/s" for way, value in rounds[-1].items()))
            medians[clients] = {way: statistics.median(one[way] for one in rounds) for way in rounds[0]}
    one, many = medians[1], medians[CLIENTS]
    return {
        "slurm_submits_per_s": round(one["sbatch"]), "slurm_submits_per_s_parallel": round(many["sbatch"]),
        "slurm_library_submits_per_s": round(one["library"]),
        "slurm_library_submits_per_s_parallel": round(many["library"]),
        "cli_submits_per_s": round(one["cli"]), "cli_submits_per_s_parallel": round(many["cli"]),
        "rpc_submits_per_s": round(one["rpc"]), "rpc_submits_per_s_parallel": round(many["rpc"]),
        "ratio_to_slurm": round(one["rpc"] / one["library"], 2),
        "ratio_to_slurm_parallel": round(many["rpc"] / many["library"], 2),
        "ratio_to_slurm_processes": round(one["cli"] / one["sbatch"], 2),
        "ratio_rpc_to_sbatch": round(one["rpc"] / one["sbatch"], 1),
    }
