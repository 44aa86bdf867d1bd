"""Finds and loads libpipefill.so and declares its functions. See client/pipefill.h."""

import ctypes
import logging
import os
import threading

LOG = logging.getLogger("pipefill")

OK = 0
BAD_ARGUMENT = 3
SYSTEM = 5


class AttachOptions(ctypes.Structure):
    """pf_attach_options."""

    _fields_ = [
        ("size_bytes", ctypes.c_uint32),
        ("main_job", ctypes.c_char_p),
        ("rank", ctypes.c_int32),
        ("ranks", ctypes.c_int32),
        ("stage", ctypes.c_int32),
        ("stages", ctypes.c_int32),
        ("device", ctypes.c_char_p),
        ("socket", ctypes.c_char_p),
        ("mode", ctypes.c_int32),
        ("budget_ppm", ctypes.c_uint32),
    ]


class TaskOptions(ctypes.Structure):
    """pf_task_options."""

    _fields_ = [
        ("size_bytes", ctypes.c_uint32),
        ("socket", ctypes.c_char_p),
        ("unit_hint_ns", ctypes.c_uint64),
    ]


class TaskStatsStruct(ctypes.Structure):
    """pf_task_stats."""

    _fields_ = [
        ("units", ctypes.c_uint64),
        ("unit_cpu_ns", ctypes.c_uint64),
        ("unit_wall_ns", ctypes.c_uint64),
        ("bubbles_denied", ctypes.c_uint64),
        ("unit_estimate_ns", ctypes.c_uint64),
    ]


_HANDLE = ctypes.c_void_p

SAVE_HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
LOAD_HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)
SYNC_HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class CheckpointHooks(ctypes.Structure):
    """pf_checkpoint_hooks."""

    _fields_ = [
        ("size_bytes", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("save", SAVE_HOOK),
        ("load", LOAD_HOOK),
        ("sync", SYNC_HOOK),
    ]


class CheckpointStatsStruct(ctypes.Structure):
    """pf_checkpoint_stats."""

    _fields_ = [
        ("saves", ctypes.c_uint64),
        ("saves_failed", ctypes.c_uint64),
        ("save_ns", ctypes.c_uint64),
        ("unsaved_ns", ctypes.c_uint64),
        ("resumed", ctypes.c_uint64),
        ("resumed_useful_ns", ctypes.c_uint64),
    ]


# name: (result, arguments). These may take a while, so they let other Python threads run.
_WAITING = {
    "pf_attach": (ctypes.c_int, [ctypes.POINTER(AttachOptions), ctypes.POINTER(_HANDLE)]),
    "pf_detach": (None, [_HANDLE]),
    "pf_task_attach": (ctypes.c_int, [ctypes.POINTER(TaskOptions), ctypes.POINTER(_HANDLE)]),
    "pf_task_detach": (None, [_HANDLE]),
    "pf_task_wait_unit": (ctypes.c_int, [_HANDLE, ctypes.c_uint32, ctypes.c_uint64]),
    "pf_task_wait_elastic": (ctypes.c_int, [
        _HANDLE, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64,
        ctypes.POINTER(ctypes.c_uint32)]),
    "pf_task_set_checkpoint": (ctypes.c_int, [_HANDLE, ctypes.POINTER(CheckpointHooks)]),
    "pf_task_save": (ctypes.c_int, [_HANDLE]),
    "pf_task_hold_saves": (None, [_HANDLE, ctypes.c_int]),
}

# These take well under a microsecond. They keep the interpreter lock: after giving it up, getting it back
# can take the switch interval (5 ms) when another thread is busy, and the main job must not wait.
_QUICK = {
    "pf_error_text": (ctypes.c_char_p, [ctypes.c_int]),
    "pf_last_error": (ctypes.c_char_p, []),
    "pf_version": (ctypes.c_char_p, []),
    "pf_is_attached": (ctypes.c_int, [_HANDLE]),
    "pf_iteration_begin": (None, [_HANDLE, ctypes.c_uint64]),
    "pf_iteration_end": (None, [_HANDLE]),
    "pf_bubble_begin": (None, [_HANDLE, ctypes.c_int, ctypes.c_uint32]),
    "pf_bubble_end": (None, [_HANDLE]),
    "pf_chunk_begin": (None, [_HANDLE, ctypes.c_int]),
    "pf_chunk_end": (None, [_HANDLE]),
    "pf_memory_hint": (None, [_HANDLE, ctypes.c_uint64]),
    "pf_task_is_gated": (ctypes.c_int, [_HANDLE]),
    "pf_task_is_refused": (ctypes.c_int, [_HANDLE]),
    "pf_task_end_unit": (None, [_HANDLE]),
    "pf_task_get_stats": (None, [_HANDLE, ctypes.POINTER(TaskStatsStruct)]),
    "pf_task_get_checkpoint_stats": (None, [_HANDLE, ctypes.POINTER(CheckpointStatsStruct)]),
    "pf_checkpoint_write": (ctypes.c_int, [_HANDLE, ctypes.c_char_p, ctypes.c_uint64]),
}


class Library:
    """The functions of libpipefill.so as attributes."""

    def __init__(self, path):
        """Raises OSError or AttributeError if `path` is no such library."""
        for loader, functions in ((ctypes.CDLL, _WAITING), (ctypes.PyDLL, _QUICK)):
            library = loader(path)
            for name, (result, arguments) in functions.items():
                function = getattr(library, name)
                function.restype = result
                function.argtypes = arguments
                setattr(self, name, function)

    def explain(self, code):
        """What happened in the last attach of this thread: one line."""
        return (self.pf_last_error() or self.pf_error_text(code)).decode("utf-8", "replace")


def library_path():
    """PIPEFILL_LIBRARY, else the file beside this one."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libpipefill.so")
    return os.environ.get("PIPEFILL_LIBRARY") or beside


_lock = threading.Lock()
_loaded = {}  # path: Library, or None if it cannot be loaded


def load():
    """The library, loaded once; None, after one warning, if it cannot be loaded."""
    path = library_path()
    with _lock:
        if path not in _loaded:
            try:
                _loaded[path] = Library(path)
            except (OSError, AttributeError) as error:
                LOG.warning("running without pipefill: cannot load its library: %s", error)
                _loaded[path] = None
        return _loaded[path]


def encode(text):
    """A C string, or NULL for None and ""."""
    return os.fsencode(text) if text else None
