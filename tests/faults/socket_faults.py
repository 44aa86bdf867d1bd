"""Rubbish on the sockets: random bytes, torn and oversized HTTP/2 frames, and clients that never read,
against schedulerd's port and agentd's Unix socket. Nothing ends, and others are served as before.

Thread-compatible. Times are seconds.
"""

import socket
import struct
import sys
import time

import node_faults as nodes
import store_faults as faults

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Types of frames.
DATA, HEADERS, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 4, 6, 7, 9
INITIAL_WINDOW_SIZE = 4  # one of the settings
# Connections on which nothing is ever read, and calls on each.
STUCK = 64
CALLS = 50
# What all that may cost schedulerd while it is there.
MEMORY_MAX_BYTES = 256 << 20
# A submission meanwhile.
ANSWER_MAX = 20


def frame(kind, flags, stream, payload, length=None):
    size = len(payload) if length is None else length
    return struct.pack(">I", size)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def torn_messages(rng):
    """What begins well and goes wrong, each by another way."""
    hello = PREFACE + frame(SETTINGS, 0, 0, b"")
    yield b""
    yield PREFACE[:rng.randrange(1, len(PREFACE))]
    yield hello[:-3]
    yield hello + frame(HEADERS, 4, 1, rng.randbytes(100))
    yield hello + frame(HEADERS, 0, 1, rng.randbytes(50)) + frame(CONTINUATION, 0, 3, b"x")
    yield hello + frame(DATA, 0, 1, b"", length=(1 << 24) - 1) + rng.randbytes(1 << 16)
    yield hello + frame(SETTINGS, 0, 0, rng.randbytes(5))
    yield hello + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0xffffffff))
    yield hello + frame(PING, 0, 0, rng.randbytes(8)) * 2000
    yield hello + frame(GOAWAY, 0, 0, rng.randbytes(8))
    yield hello + frame(rng.randrange(256), rng.randrange(256), rng.randrange(1 << 31),
                        rng.randbytes(rng.randrange(2000)))
    yield b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    yield rng.randbytes(rng.randrange(1, 1 << 16))


def connect(address):
    if isinstance(address, str) and address.startswith("/"):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(1)
        client.connect(address)
        return client
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=1)


def throw(address, message, is_read):
    """Sends it, and looks at the answer or goes away at once."""
    try:
        with connect(address) as client:
            client.sendall(message)
            if is_read:
                client.settimeout(0.05)
                client.recv(4096)
    except OSError:
        pass  # refused, reset, or no answer: as the daemon likes


def throw_all(address, rng, rounds):
    for _ in range(rounds):
        for message in torn_messages(rng):
            throw(address, message, rng.random() < 0.5)


def resident_bytes(pid):
    for line in open(f"/proc/{pid}/status", encoding="ascii"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def check_served(cluster, key, tally, where):
    begin = time.monotonic()
    job = nodes.submit(cluster.address, key, cluster.records, units=5)
    took = time.monotonic() - begin
    if job is None or took > ANSWER_MAX:
        tally.blame("violations", f"{where}: a submission got {job} after {took:.1f} s")
        return
    if not nodes.until(lambda: nodes.list_jobs(cluster.address)[job].state == "JOB_STATE_SUCCEEDED"):
        tally.blame("violations", f"{where}: job {job} does not come to its end")
    for name, process in (("schedulerd", cluster.daemon.process), ("agentd", cluster.nodes[0].agent)):
        if process.poll() is not None:
            tally.blame("violations", f"{where}: {name} ended with status {process.returncode}")


def header(name, value):
    """A header of HTTP/2, as it is, in no table."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def call(stream, method):
    """A call of gRPC with an empty request."""
    headers = b"".join(header(name, value) for name, value in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/pipefill.v1." + method),
        (b":authority", b"x"), (b"te", b"trailers"), (b"content-type", b"application/grpc")))
    return frame(HEADERS, 4, stream, headers) + frame(DATA, 1, stream, bytes(5))


def hold_unread(cluster, tally):
    """Calls whose answers nobody takes: their windows are shut, and the connections not read."""
    shut = PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0))
    calls = b"".join(call(2 * number + 1, b"SchedulerService/ListJobs") for number in range(CALLS))
    before = resident_bytes(cluster.daemon.process.pid)
    stuck = []
    for _ in range(STUCK):
        client = connect(cluster.address)
        stuck.append(client)
        try:
            client.sendall(shut + calls)
        except OSError:
            pass  # the daemon has had enough
    check_served(cluster, "beside-the-stuck", tally, "unread calls")
    grown = resident_bytes(cluster.daemon.process.pid) - before
    if grown > MEMORY_MAX_BYTES:
        tally.blame("violations", f"unread calls: schedulerd grew by {grown >> 20} MiB")
    for client in stuck:
        client.close()
    return grown


def run(base, tally, cluster_of, is_short, rng):
    """`cluster_of`: makes a cluster in a folder with the nodes named."""
    with cluster_of(faults.fresh_folder(base / "sockets"), ["node"]) as cluster:
        node = cluster.nodes[0]
        node.start_agent()
        node.start_rank()
        check_served(cluster, "before", tally, "sockets")
        rounds = 3 if is_short else 100
        throw_all(cluster.address, rng, rounds)
        check_served(cluster, "after-port", tally, "schedulerd's port")
        throw_all(str(node.socket), rng, rounds)
        check_served(cluster, "after-socket", tally, "agentd's socket")
        grown = hold_unread(cluster, tally)
        check_served(cluster, "last", tally, "sockets")
        tally.kill_points += 2 * rounds + STUCK * CALLS
        nodes.check_left_over(cluster.nodes, tally, "sockets")
        print(f"faults: sockets: schedulerd grew by {grown >> 20} MiB meanwhile, "
              f"{len(tally.texts)} findings so far", file=sys.stderr)
