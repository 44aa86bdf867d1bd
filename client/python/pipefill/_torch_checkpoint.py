"""State of PyTorch programs for checkpoints. Needs torch; works with 1.13 and later."""

import io
import random
import sys

import torch

from ._fill import default_task


def checkpoint(task=None, name="torch", **parts):
    """Saves and restores `parts`, anything with state_dict() and load_state_dict(), such as a model, its
    optimizer, a learning-rate schedule, a sampler; and the states of all random generators: of torch, of
    its GPUs, of Python, and of NumPy if that is loaded.

    Returns whether an earlier attempt's state was loaded. To be called before the first unit.
    """
    task = default_task() if task is None else task
    return task.checkpoint(lambda: _save(parts), lambda data: _load(parts, data), name=name)


def _save(parts):
    state = {"parts": {name: part.state_dict() for name, part in parts.items()},
             "random": _random_states()}
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getbuffer()


def _load(parts, data):
    # Onto the processor first: load_state_dict copies each tensor to where its parameter is.
    state = torch.load(io.BytesIO(data), map_location="cpu")
    missing = sorted(set(parts) ^ set(state["parts"]))
    if missing:
        raise KeyError("checkpoint and program differ in: " + ", ".join(missing))
    for name, part in parts.items():
        part.load_state_dict(state["parts"][name])
    _set_random_states(state["random"])


def _random_states():
    states = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state_all()
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        states["numpy"] = [kind, keys.tolist(), *rest]
    return states


def _set_random_states(states):
    torch.set_rng_state(states["torch"])
    random.setstate(states["python"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states["cuda"])
    if "numpy" in states and "numpy" in sys.modules:
        kind, keys, *rest = states["numpy"]
        numpy = sys.modules["numpy"]
        numpy.random.set_state((kind, numpy.array(keys, dtype=numpy.uint32), *rest))
