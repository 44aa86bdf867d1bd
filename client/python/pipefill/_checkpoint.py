"""The state of a fill job, in named parts, on its way to and from a checkpoint."""

import ctypes
import struct

from . import _library

_COUNT = struct.Struct("<I")
_LENGTHS = struct.Struct("<IQ")  # of a part's name and of its state


class CheckpointError(RuntimeError):
    """A checkpoint does not fit the program that is to go on from it."""


def pack(parts):
    """One bytes object of {name: bytes}."""
    pieces = [_COUNT.pack(len(parts))]
    for name, state in parts.items():
        encoded = name.encode("utf-8")
        pieces += [_LENGTHS.pack(len(encoded), len(state)), encoded, state]
    return b"".join(pieces)


def unpack(data):
    """{name: bytes} again. Raises CheckpointError if it is no such thing."""
    try:
        parts = {}
        (count,) = _COUNT.unpack_from(data)
        offset = _COUNT.size
        for _ in range(count):
            name_size, state_size = _LENGTHS.unpack_from(data, offset)
            name_end = offset + _LENGTHS.size + name_size
            name = data[offset + _LENGTHS.size:name_end].decode("utf-8")
            parts[name] = data[name_end:name_end + state_size]
            offset = name_end + state_size
        if offset != len(data):
            raise ValueError("%d bytes are left over" % (len(data) - offset))
        return parts
    except (struct.error, ValueError) as error:
        raise CheckpointError("the checkpoint is not one of a Python program: %s" % error) from None


class Parts:
    """The parts that one task has registered. Their hooks run on the task's thread."""

    def __init__(self, task):
        """task: what saves them; see _LibraryTask."""
        self._task = task
        self._hooks = {}  # name: (save, sync)
        self.cursors = 0  # that say when what is in `outputs` counts
        self.outputs = []
        self._loaded = None  # of the checkpoint that the job goes on from: {name: bytes}
        self._is_set = False
        self._interrupt = None

    def add(self, name, save, load, sync):
        """Returns whether `load` got something."""
        if name in self._hooks:
            raise ValueError("checkpoint: there is a part named %r already" % name)
        if not self._is_set:
            self._set()
        self._hooks[name] = (save, sync)
        if self._loaded is None:
            return False
        if name not in self._loaded:
            raise CheckpointError(
                "the checkpoint has no part %r, only %s; the program has changed: submit it as a new job"
                % (name, ", ".join(sorted(self._loaded))))
        load(self._loaded.pop(name))
        return True

    def commit(self):
        """A cursor has moved on: what has been written by now belongs to what is done."""
        for output in self.outputs:
            output.commit()

    def raise_interrupt(self):
        """Raises what went through a hook and is no error of it: KeyboardInterrupt, SystemExit."""
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    def _set(self):
        self._is_set = True
        hooks = _library.CheckpointHooks(
            size_bytes=ctypes.sizeof(_library.CheckpointHooks),
            context=None,
            save=_library.SAVE_HOOK(self._save),
            load=_library.LOAD_HOOK(self._load),
            sync=_library.SYNC_HOOK(self._sync),
        )
        code, text = self._task.set_checkpoint(hooks)
        if code != _library.OK:
            _library.LOG.warning("running without checkpoints: %s", text)
        elif isinstance(self._loaded, bytes):
            self._loaded = unpack(self._loaded)

    def _load(self, _context, data, size):
        self._loaded = ctypes.string_at(data, size)
        return 0

    def _save(self, _context, checkpoint):
        parts = {}
        for name, (save, _) in self._hooks.items():
            if not self._guard(name, lambda name=name, save=save: parts.update({name: bytes(save())})):
                return 1
        return self._task.write(checkpoint, pack(parts))

    def _sync(self, _context):
        for name, (_, sync) in self._hooks.items():
            if sync is not None and not self._guard(name, sync):
                return 1
        return 0

    def _guard(self, name, hook):
        """Whether it went well: nothing may be raised through the library."""
        try:
            hook()
            return True
        except Exception as error:  # pylint: disable=broad-except
            _library.LOG.warning("checkpoint hook of %r failed: %s: %s", name, type(error).__name__, error)
        except BaseException as interrupt:  # pylint: disable=broad-except
            self._interrupt = interrupt
        return False
