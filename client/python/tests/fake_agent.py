"""A small agentd for tests: speaks the handshake of client/pages/handshake.h in a thread of its own.

The pages are shared memory that the test reads and writes through the fields named here.
"""

import array
import fcntl
import mmap
import os
import shutil
import socket
import struct
import tempfile
import threading
import time

PAGE_VERSION = 3
_HANDSHAKE = 0x4C465049
_ATTACH_RANK, _ATTACH_TASK, _MAPPED, _SIGNAL_REQUEST, _REPLY, _STOP = range(1, 7)
REFUSED_UNKNOWN, REFUSED_VERSION = 5, 1


class Page:
    """One shared page: a sealed memfd with named fields at offsets."""

    def __init__(self, magic, size, fields):
        self.descriptor = os.memfd_create("pipefill-test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, size)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self.memory = mmap.mmap(self.descriptor, size)
        self._fields = fields
        struct.pack_into("=IIQ", self.memory, 0, magic, PAGE_VERSION, size)

    def __getitem__(self, name):
        kind, offset = self._fields[name]
        return struct.unpack_from("=" + kind, self.memory, offset)[0]

    def __setitem__(self, name, value):
        kind, offset = self._fields[name]
        struct.pack_into("=" + kind, self.memory, offset, value)

    def records(self, ring_offset, words):
        """The records of the ring at `ring_offset`, oldest first, as tuples of words."""
        written = struct.unpack_from("=Q", self.memory, ring_offset)[0]
        first_slot = ring_offset + 64
        size = 8 * (words + 1)
        return [
            struct.unpack_from("=%dQ" % words, self.memory, first_slot + size * i + 8)
            for i in range(written)
        ]

    def close(self):
        self.memory.close()
        os.close(self.descriptor)


def _signal_page():
    return Page(0x4C474953, 1216 + 4096 * 40, {
        "calls_misplaced": ("Q", 24), "seq": ("I", 64), "slot": ("I", 68), "begin_ns": ("Q", 72),
        "iteration": ("Q", 80)})


def _window_page():
    return Page(0x444E4957, 216 + 256 * 152, {
        "heartbeat_ns": ("Q", 16), "mode": ("I", 24), "parked": ("I", 28), "gates": ("I", 32),
        "signal_generation": ("I", 36)})


def _task_page():
    return Page(0x4B534154, 192 + 4096 * 80, {
        "state": ("I", 16), "unit_start_ns": ("Q", 24), "units_done": ("Q", 40),
        "checkpoint_flags": ("I", 56), "saves_done": ("Q", 64), "saves_failed": ("Q", 72),
        "resumed_fence": ("Q", 104)})


def _turn_page():
    return Page(0x4E525554, 64 + 8 * 64, {"holder": ("I", 16), "taken": ("I", 20)})


class FakeAgent:
    """Serves one connection at a time; `code` and `page_version` decide what it answers."""

    def __init__(self):
        self.signal, self.window, self.task = _signal_page(), _window_page(), _task_page()
        self.turn = _turn_page()
        self.code = 0
        self.page_version = PAGE_VERSION
        self.requests = []
        self.mapped = threading.Event()
        self._folder = tempfile.mkdtemp(prefix="pf-", dir="/tmp")
        self.socket = os.path.join(self._folder, "agentd.sock")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(self.socket)
        self._listener.listen(4)
        self._peer = None
        self.window["heartbeat_ns"] = time.monotonic_ns() + 600 * 10**9
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        self._thread.join()
        for page in (self.signal, self.window, self.task, self.turn):
            page.close()
        shutil.rmtree(self._folder)

    def task_environment(self):
        """What agentd gives to a task that it starts."""
        return {"PIPEFILL_SOCKET": self.socket, "PIPEFILL_JOB": "4", "PIPEFILL_ATTEMPT": "1",
                "PIPEFILL_FENCE": "2"}

    def offer_bubble(self, slot=0, latest_start_ns=2**60):
        """Takes units of any length in the bubble of `slot`; a rank is on the device."""
        for i in range(16):
            struct.pack_into("=Q", self.window.memory, 88 + 8 * i, 2**20 << i)
            struct.pack_into("=q", self.window.memory, 216 + 152 * slot + 24 + 8 * i,
                             latest_start_ns)
        struct.pack_into("=I", self.window.memory, 216 + 152 * slot, 1)
        self.window["mode"] = 3
        self.window["signal_generation"] = 1

    def open_bubble(self, slot=0):
        self.signal["slot"] = slot
        self.signal["begin_ns"] = time.monotonic_ns()
        self.signal["seq"] = self.signal["seq"] + 1

    def edges(self):
        """One letter per edge: I i iteration, B b bubble, M memory hint, C c chunk."""
        return "".join("?IiBbMCc"[words[0] & 0xFF] for words in self.signal.records(1152, 4))

    def units(self):
        """(start_ns, end_ns, cpu_ns) of every unit."""
        return [words[:3] for words in self.task.records(128, 9)]

    def stop(self):
        self._peer.send(self._header(_STOP, 16))

    def hang_up(self):
        if self._peer is not None:
            try:
                self._peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the peer was faster

    def _header(self, kind, size):
        return struct.pack("=IIII", _HANDSHAKE, kind, self.page_version, size)

    def _reply(self, descriptors):
        text = b"" if self.code == 0 else b"told so by the test"
        body = struct.pack("=IIII256s", self.code, self.window["signal_generation"],
                           len(descriptors), 0, text)
        beside = []
        if self.code == 0 and descriptors:
            beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._peer.sendmsg([self._header(_REPLY, 16 + len(body)) + body], beside)

    def _signal_descriptors(self):
        return [self.signal.descriptor] if self.window["signal_generation"] else []

    def _serve(self):
        while True:
            try:
                self._peer, _ = self._listener.accept()
            except OSError:
                return
            self._serve_peer()
            self._peer.close()
            self._peer = None

    def _serve_peer(self):
        while True:
            try:
                message = self._peer.recv(1024)
            except OSError:
                return
            if not message:
                return
            kind = struct.unpack_from("=I", message, 4)[0]
            if kind == _ATTACH_RANK:
                self.requests.append(message)
                self._reply([self.signal.descriptor, self.window.descriptor])
            elif kind == _ATTACH_TASK:
                self.requests.append(message)
                self._reply([self.window.descriptor, self.task.descriptor, self.turn.descriptor]
                            + self._signal_descriptors())
            elif kind == _SIGNAL_REQUEST:
                self._reply(self._signal_descriptors())
            elif kind == _MAPPED:
                self.mapped.set()
