"""The main job's side: tells pipefill where a training loop leaves its device idle."""

import ctypes
import functools
import types

from . import _library

_MODES = {None: 0, "off": 1, "report": 2, "fill": 3}
_BUBBLES = {"head": 1, "middle": 2, "scattered": 3, "tail": 4, "custom": 6}
_CHUNKS = {"forward": 1, "backward": 2, "optimizer": 3, "other": 4}

# Methods of the stages of torch.distributed.pipelining, and what they compute.
_STAGE_METHODS = {
    "forward_one_chunk": "forward",
    "backward_one_chunk": "backward",
    "backward_weight_one_chunk": "backward",
}
# Where its schedules keep their stages.
_STAGE_ATTRIBUTES = ("stage", "_stage", "stages", "_stages")


# Of pipefill.h; each becomes an attribute of MainJob.
_FUNCTIONS = ("iteration_begin", "iteration_end", "bubble_begin", "bubble_end", "chunk_begin",
              "chunk_end", "memory_hint")


def _do_nothing(*_):
    return None


def _look_up(kinds, what, name):
    try:
        return kinds[name]
    except (KeyError, TypeError):
        known = ", ".join(str(kind) for kind in kinds if kind is not None)
        raise ValueError("unknown %s %r; it must be one of %s" % (what, name, known)) from None


def attach(main_job, *, rank=0, ranks=1, stage=0, stages=1, device=None, socket=None, mode=None,
           budget=None):
    """Attaches this process, one rank of a training run, to the agentd of its node.

    main_job: name of the training run, 1 to 127 bytes, the same on all ranks.
    rank, ranks, stage, stages: which rank of how many this is, and which pipeline stage it computes.
    device: device of agentd; default PIPEFILL_DEVICE, else the one that the process's CPU affinity names.
    socket: path of agentd's socket; default PIPEFILL_SOCKET, else /run/pipefill/agentd.sock.
    mode: "off", "report" (measure, never fill) or "fill"; default PIPEFILL_MODE, else "fill".
    budget: by how much filling may slow this job, as a fraction; default 0.01.

    Returns a MainJob in every case: without agentd or library (one warning is logged), it is detached
    and its methods do nothing. Takes at most 0.2 s. Raises ValueError for an argument that makes no
    sense.
    """
    options = _library.AttachOptions(
        size_bytes=ctypes.sizeof(_library.AttachOptions),
        main_job=_library.encode(main_job),
        rank=rank,
        ranks=ranks,
        stage=stage,
        stages=stages,
        device=_library.encode(device),
        socket=_library.encode(socket),
        mode=_look_up(_MODES, "mode", mode),
        budget_ppm=round((budget or 0) * 1e6),
    )
    library = _library.load()
    if library is None:
        return MainJob(None, None)
    handle = ctypes.c_void_p()
    code = library.pf_attach(ctypes.byref(options), ctypes.byref(handle))
    if code != _library.OK:
        text = library.explain(code)
        library.pf_detach(handle)
        if code == _library.BAD_ARGUMENT:
            raise ValueError(text)
        _library.LOG.warning("training runs without pipefill: %s", text)
        return MainJob(None, None)
    return MainJob(library, handle)


class _Span:
    """Context manager over a pair of begin and end calls."""

    __slots__ = ("_begin", "_end", "_arguments")

    def __init__(self, begin, end, *arguments):
        self._begin = begin
        self._end = end
        self._arguments = arguments

    def __enter__(self):
        self._begin(*self._arguments)

    def __exit__(self, *_):
        self._end()


class MainJob:
    """One rank of a training run; made by attach().

    Calls must not overlap: use one thread at a time. None of them waits, and all but those that get a
    wrong argument succeed, attached or not. A rank reports bubbles or chunks, not both.
    """

    def __init__(self, library, handle):
        self._library = library
        self._handle = handle
        for name in _FUNCTIONS:
            function = _do_nothing
            if self._library is not None:
                function = functools.partial(getattr(self._library, "pf_" + name), self._handle)
            setattr(self, "_" + name, function)

    @property
    def is_attached(self):
        """Whether an agentd reads what this rank reports."""
        return self._library is not None and self._library.pf_is_attached(self._handle) == 1

    def iteration(self, number):
        """`with job.iteration(i):` is one training step. Numbers grow by one, equal on all ranks."""
        return _Span(self._iteration_begin, self._iteration_end, number)

    def bubble(self, bubble_class, ordinal=0):
        """`with job.bubble("middle", 0):` is a wait during which the device idles.

        bubble_class: "head", "middle", "scattered", "tail" or "custom". Class and ordinal together must
        name the same wait in every iteration. At most 256 names per rank; ordinal < 2**24.
        """
        kind = _look_up(_BUBBLES, "bubble class", bubble_class)
        return _Span(self._bubble_begin, self._bubble_end, kind, ordinal)

    def chunk(self, kind):
        """`with job.chunk("forward"):` is a time in which the device computes.

        kind: "forward", "backward", "optimizer" or "other". Every pause between chunks of an iteration
        is a bubble, which gets its name by itself. Chunks must cover all that this job does on its
        device; the pause after an iteration with an optimizer chunk lasts until the next first chunk.
        """
        number = _look_up(_CHUNKS, "kind of chunk", kind)
        return _Span(self._chunk_begin, self._chunk_end, number)

    def memory_hint(self, free_bytes):
        """Device memory, in bytes, that this rank leaves alone until the end of the current bubble."""
        self._memory_hint(free_bytes)

    def watch(self, pipeline, optimizer=None, first_iteration=0):
        """Reports iterations and chunks of a pipeline by itself; returns `pipeline`.

        pipeline: a schedule of torch.distributed.pipelining, or anything with a method `step`, and with
            `forward_one_chunk` and `backward_one_chunk` on itself or on its stage. They are replaced on
            the object by functions that report and call the original.
        optimizer: if given, an iteration ends after its `step`, else at the end of the pipeline's. What
            lies between the two counts as computing. What comes after it, up to the first chunk of the
            next step, is one bubble: what uses the device there shares it with fill jobs.
        first_iteration: number of the next iteration, equal on all ranks.

        Raises TypeError if there is nothing to watch, ValueError if it is watched already.
        """
        chunk_methods = _find_chunk_methods(pipeline)
        if not chunk_methods:
            raise TypeError("cannot watch %r: neither it nor its stage has the method "
                            "forward_one_chunk or backward_one_chunk" % (pipeline,))
        watched = [getattr(owner, name) for owner, name in chunk_methods]
        if any(getattr(method, "is_pipefill_watch", False) for method in watched):
            raise ValueError("%r is watched already" % (pipeline,))
        for owner, name in chunk_methods:
            _replace(owner, name, functools.partial(_run_chunk, self, _STAGE_METHODS[name]))
        steps = _Steps(self, first_iteration, optimizer is not None)
        if callable(getattr(pipeline, "step", None)):
            _replace(pipeline, "step", steps.run_pipeline)
        if optimizer is not None:
            _replace(optimizer, "step", steps.run_optimizer)
        return pipeline

    def detach(self):
        """Tells agentd that this rank is done; afterwards all methods do nothing."""
        library, self._library = self._library, None
        if library is not None:
            library.pf_detach(self._handle)
            self._handle.value = None  # for all who hold it, spans too

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.detach()


def _find_chunk_methods(pipeline):
    """(owner, name) of every method of `pipeline` or of its stages that computes a chunk."""
    owners = [pipeline]
    for attribute in _STAGE_ATTRIBUTES:
        value = getattr(pipeline, attribute, None)
        owners.extend(value if isinstance(value, (list, tuple)) else [value])
    found = []
    for owner in owners:
        for name in _STAGE_METHODS:
            is_known = any(owner is other and name == its for other, its in found)
            if not is_known and callable(getattr(owner, name, None)):
                found.append((owner, name))
    return found


def _replace(owner, name, runner):
    """Puts runner(original, *arguments) in the place of a method of one object."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def watched(_owner, *arguments, **keywords):
        return runner(original, *arguments, **keywords)

    watched.is_pipefill_watch = True
    # A bound method like the original: torch's learning-rate schedulers take it apart.
    setattr(owner, name, types.MethodType(watched, owner))


def _run_chunk(job, kind, original, *arguments, **keywords):
    with job.chunk(kind):
        return original(*arguments, **keywords)


class _Steps:
    """Iterations of a watched pipeline.

    idle --pipeline.step--> in it --no optimizer, or an exception--> idle
                                  --else--> until_optimizer --optimizer.step--> idle
    """

    def __init__(self, job, first_iteration, has_optimizer):
        self._job = job
        self._number = first_iteration
        self._has_optimizer = has_optimizer
        self._until_optimizer = False

    def run_pipeline(self, original, *arguments, **keywords):
        if self._until_optimizer:  # several pipeline steps for one of the optimizer
            self._end()
        self._job._iteration_begin(self._number)
        self._number += 1
        try:
            result = original(*arguments, **keywords)
        except BaseException:
            self._end()
            raise
        if self._has_optimizer:
            self._until_optimizer = True
            self._job._chunk_begin(_CHUNKS["other"])
        else:
            self._end()
        return result

    def run_optimizer(self, original, *arguments, **keywords):
        if not self._until_optimizer:
            return original(*arguments, **keywords)
        self._job._chunk_end()
        try:
            with self._job.chunk("optimizer"):
                return original(*arguments, **keywords)
        finally:
            self._end()

    def _end(self):
        self._until_optimizer = False
        self._job._iteration_end()
