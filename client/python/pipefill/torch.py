"""Layer mode: an ordinary PyTorch training script becomes a chain of small units.

    import pipefill.torch
    pipefill.torch.attach(model, optimizer)

From then on the script waits for a bubble before it runs a module's forward or backward or a step of the optimizer.
What lies between (reading data, a loss that is no module) is no unit and does not wait. Results are those
of the script without these lines, bit for bit.

And for every fill job that uses PyTorch, in layer mode or not, the state that is saved with its checkpoints:

    pipefill.torch.checkpoint(model=model, optimizer=optimizer)
"""

import contextlib
import os
import weakref

import torch

from . import _chain, _fill, _hooks
from ._chain import Stopped
from ._torch_checkpoint import checkpoint

__all__ = ["Attachment", "Stopped", "attach", "checkpoint"]

# A place is a fraction of a millisecond, so a task that knows nothing yet expects no more.
_UNIT_HINT_S = 0.0005

_modules = _hooks.Modules()
_optimizers = weakref.WeakSet()
_chains = {}  # (Chain, BackwardPasses) by task, of which a process has one


def attach(model, optimizer=None, *others, task=None):
    """Holds the forwards and backwards of `model` and the steps of `optimizer` to bubbles.

    model, optimizer, others: in any number and order, modules with all that they contain, a loss module too, and
        optimizers: objects with a method `step`. None is left out.
    task: default pipefill.default_task().

    Returns an Attachment. While it waits for a bubble, the script may be told to stop: then Stopped is
    raised. Raises TypeError for what is neither module nor optimizer, ValueError for what is attached
    already, AttachError like FillTask.
    """
    parts = [part for part in (model, optimizer, *others) if part is not None]
    modules, optimizers = _sort(parts)
    for name, module in modules:
        if module in _modules:
            raise ValueError("cannot attach %s %r: it is attached already; call remove() of its "
                             "Attachment first" % (type(module).__name__, name))
    for part in optimizers:
        if part in _optimizers:
            raise ValueError("cannot attach %s: it is attached already; call remove() of its "
                             "Attachment first" % type(part).__name__)
    if task is None:
        task = _fill.default_task(_UNIT_HINT_S)
    return Attachment(task, [module for _, module in modules], optimizers)


def _sort(parts):
    """(name, module) of all modules, each once, and the optimizers."""
    modules, optimizers = {}, []
    for part in parts:
        if isinstance(part, torch.nn.Module):
            for name, module in part.named_modules():
                modules.setdefault(id(module), (name, module))
        elif callable(getattr(part, "step", None)):
            if not any(part is other for other in optimizers):
                optimizers.append(part)
        else:
            raise TypeError("cannot attach %s: it is neither a torch.nn.Module nor an optimizer with a "
                            "method step" % type(part).__name__)
    if not modules and not optimizers:
        raise TypeError("nothing to attach: name a module or an optimizer")
    return list(modules.values()), optimizers


class Attachment:
    """What attach() has put in front of modules and optimizers."""

    def __init__(self, task, modules, optimizers):
        if task not in _chains:
            chain = _chain.Chain(task, wait_for_device=_hooks.make_wait_for_device())
            _chains[task] = (chain, _hooks.BackwardPasses(chain))
        self.task = task
        self._chain, passes = _chains[task]
        self._modules = modules
        self._steps = [(part, _hooks.OptimizerSteps(self._chain, part)) for part in optimizers]
        self._places = {}  # of unit(), by name
        for module in modules:
            _modules.add(module, _hooks.ModuleCalls(self._chain, passes))
        _optimizers.update(optimizers)

    @property
    def stopped(self):
        """Whether the task was told to stop."""
        return self.task.stopped

    @contextlib.contextmanager
    def unit(self, name="other"):
        """`with attachment.unit("loss"):` makes other work wait for a bubble too.

        name: work of equal length has one name.
        """
        place = self._places.setdefault(name, _chain.Place())
        scope = object()
        self._chain.enter(scope, place)
        try:
            yield
        finally:
            self._chain.leave(scope)

    def remove(self):
        """The script runs on as if it had not been attached."""
        self._chain.leave_all()
        for module in self._modules:
            _modules.remove(module)
        for optimizer, steps in self._steps:
            steps.remove(optimizer)
            _optimizers.discard(optimizer)
        self._modules, self._steps = [], []


def _forget_in_child():
    for chain, _ in list(_chains.values()):
        chain.forget()


os.register_at_fork(after_in_child=_forget_in_child)
