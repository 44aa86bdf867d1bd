"""Wall clocks that are set by a day, forward and back, on schedulerd and on an agentd that run: leases
and attempts go on as if nothing had happened, and no history is dropped before its time.

The clocks are set by wall_clock.cc, which changes the wall clock of one process alone.

Thread-compatible. Times are seconds.
"""

import struct
import sys

import node_faults as nodes
import store_faults as faults

LIBRARY = faults.BIN / "tests/faults/wall_clock.so"
DAY = 24 * 3600
# The history is kept for less than the clock is set by.
SETTINGS = ', "agent_lease": "3s", "agent_lost_after": "6s", "history_keep": "1h"'
# By this much in turn, on each daemon alone and on both.
JUMPS = (DAY, 0, DAY, -DAY)
SHORT_JUMPS = (DAY, -DAY)
UNITS = 400


class WallClock:
    """The wall clock of processes that are started with `environment`."""

    def __init__(self, path):
        self.path = path
        path.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(LIBRARY), "PIPEFILL_WALL_CLOCK": str(path)}

    def set(self, offset):
        """Off by so many seconds from now on."""
        with open(self.path, "r+b") as file:
            file.write(struct.pack("=q", offset))


def run(base, tally, is_short):
    folder = faults.fresh_folder(base / "clocks")
    clocks = [WallClock(folder / name) for name in ("scheduler-clock", "agent-clock")]
    daemon = faults.Schedulerd(folder, SETTINGS, environment=clocks[0].environment)
    address = daemon.wait_for_address()
    node = nodes.Node(folder, "node", address)
    try:
        # Tasks inherit it; they look at no wall clock.
        node.start_agent(environment=clocks[1].environment)
        node.start_rank()
        set_clocks(clocks, node, address, folder / "records", tally, is_short)
        if not daemon.is_running():
            tally.blame("violations", f"clocks: schedulerd ended: {faults.last_log_line(folder)}")
    finally:
        node.end()
        daemon.end()


def set_clocks(clocks, node, address, records, tally, is_short):
    count = 0
    for jump in SHORT_JUMPS if is_short else JUMPS:
        for chosen in ((clocks,) if is_short else (clocks[:1], clocks[1:], clocks)):
            count += 1
            nodes.submit(address, f"clock-{count}", records, UNITS)
            # While the task runs, and agent and schedulerd hear of each other.
            nodes.until(lambda: any(unit.job == count for unit in nodes.read_records(records)[0]))
            for clock in chosen:
                clock.set(jump)
            tally.kill_points += 1
            check_job(nodes.wait_for_all(address, count), count, tally, jump)
    units, ends = nodes.read_records(records)
    jobs = nodes.list_jobs(address)
    nodes.check_exclusive(units, tally, "clocks")
    nodes.check_ends(jobs, ends, tally, "clocks")
    nodes.check_left_over([node], tally, "clocks")
    if len(jobs) != count:
        tally.blame("lost", f"clocks: {len(jobs)} jobs are known of {count} in the last minutes")
    print(f"faults: clocks: {count} jumps, {len(tally.texts)} findings so far", file=sys.stderr)


def check_job(jobs, job, tally, jump):
    if job not in jobs:
        tally.blame("lost", f"clocks: set by {jump} s: job {job} is not known")
    elif jobs[job].attempts != 1:
        tally.blame("violations", f"clocks: set by {jump} s: job {job} took {jobs[job].attempts} attempts")
