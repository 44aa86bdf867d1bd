"""Where pipefill.torch learns that a module, a backward pass or an optimizer step begins and ends.

Hooks for all modules and hooks of output tensors, both public. They leave no trace in a model: it is
copied, saved and scripted as before. Where torch has no hook that is told of exceptions, a method of
one object is replaced, as torch's own learning-rate schedulers do.
"""

import dataclasses
import functools
import inspect
import types
import weakref

import torch
from torch.nn.modules import module as torch_module

from . import _chain

# Since 2.0 a forward hook can ask to be told of exceptions too.
_HAS_ALWAYS_CALL = "always_call" in inspect.signature(
    torch_module.register_module_forward_hook).parameters
# Of nested outputs; an output that contains itself must not hang the script.
_OUTPUT_DEPTH_MAX = 8


def make_wait_for_device():
    """For Chain: a CUDA device works on after a call has returned, so a unit ends with an event there."""
    if not torch.cuda.is_available():
        return None

    def wait():
        if torch.cuda.is_initialized():
            event = torch.cuda.Event()
            event.record()
            event.synchronize()

    return wait


class Modules:
    """The attached modules of this process: torch's hooks are for all modules at once."""

    def __init__(self):
        self._calls = {}  # ModuleCalls by id of the module, as long as it lives
        self._ends = {}  # of these lives, by id
        self._handles = []
        self._forwards = {}  # Replacement by id, without always_call

    def __contains__(self, module):
        return id(module) in self._calls

    def add(self, module, calls):
        self._calls[id(module)] = calls
        self._ends[id(module)] = weakref.finalize(module, self._forget, id(module))
        self._ends[id(module)].atexit = False
        if not _HAS_ALWAYS_CALL:
            if not isinstance(module, torch.jit.ScriptModule):
                self._forwards[id(module)] = Replacement(module, "forward", self._run_forward)
        elif not self._handles:
            self._handles = [
                torch_module.register_module_forward_pre_hook(self._before_forward),
                torch_module.register_module_forward_hook(self._after_forward, always_call=True),
            ]

    def remove(self, module):
        if id(module) in self._forwards:
            self._forwards[id(module)].undo(module)
        self._forget(id(module))

    def _forget(self, module_id):
        self._calls.pop(module_id, None)
        self._forwards.pop(module_id, None)
        end = self._ends.pop(module_id, None)
        if end is not None:
            end.detach()
        if not self._calls:
            for handle in self._handles:
                handle.remove()
            self._handles = []

    def _before_forward(self, module, _inputs):
        calls = self._calls.get(id(module))
        if calls is not None:
            calls.enter()

    def _after_forward(self, module, _inputs, output):
        calls = self._calls.get(id(module))
        if calls is not None:
            calls.leave(output)

    def _run_forward(self, original, module, *arguments, **keywords):
        calls = self._calls.get(id(module))
        if calls is None:
            return original(module, *arguments, **keywords)
        calls.enter()
        output = None
        try:
            output = original(module, *arguments, **keywords)
        finally:
            calls.leave(output)
        return output


class ModuleCalls:
    """The forward and backward calls of one module."""

    def __init__(self, chain, passes):
        self._chain = chain
        self._passes = passes
        self._forward = _chain.Place()
        self._gradient_hooks = []  # one for each tensor of the output

    def enter(self):
        self._chain.enter(self, self._forward)

    def leave(self, output):
        for index, tensor in enumerate(_tensors_in(output)):
            if tensor.requires_grad and tensor.grad_fn is not None:
                while index >= len(self._gradient_hooks):
                    self._gradient_hooks.append(_GradientHook(self._passes))
                tensor.register_hook(self._gradient_hooks[index])
        self._chain.leave(self)


def _tensors_in(output, depth=0):
    """All tensors in nested tuples, lists, dicts and dataclasses."""
    if isinstance(output, torch.Tensor):
        yield output
        return
    if isinstance(output, dict):
        parts = output.values()
    elif isinstance(output, (tuple, list)):
        parts = output
    elif dataclasses.is_dataclass(output):
        parts = [getattr(output, field.name) for field in dataclasses.fields(output)]
    else:
        return
    if depth < _OUTPUT_DEPTH_MAX:
        for part in parts:
            yield from _tensors_in(part, depth + 1)


class _GradientHook:
    """Of an output tensor: its gradient is there, and the backward of its module about to run."""

    __torch_unserializable__ = True  # torch.save need not warn of it

    def __init__(self, passes):
        self._passes = passes
        self._place = _chain.Place()

    def __call__(self, _gradient):
        self._passes.reach(self._place)


class BackwardPasses:
    """Of one chain. A pass inside a pass, as of a checkpointed module, is part of the outer one."""

    def __init__(self, chain):
        self._chain = chain
        self._is_open = False

    def reach(self, place):
        if self._is_open:
            self._chain.reach(place)
            return
        # DDP and FSDP use it too; torch has no other way to be told of the end of a pass.
        torch.autograd.Variable._execution_engine.queue_callback(_PassEnd(self))
        self._is_open = True
        self._chain.enter(self, place)

    def end(self):
        self._is_open = False
        self._chain.leave(self)


class _PassEnd:
    """Called by autograd at the end of a pass. After an error autograd only lets go of it."""

    def __init__(self, passes):
        self._passes = passes

    def __call__(self):
        passes, self._passes = self._passes, None
        if passes is not None:
            passes.end()

    __del__ = __call__


class OptimizerSteps:
    """The steps of one optimizer. What a closure does is no part of them."""

    def __init__(self, chain, optimizer):
        self._chain = chain
        self._place = _chain.Place()
        self._is_on = True
        self._replacement = Replacement(optimizer, "step", self._run_step)
        chain.add_stepper(self)

    def remove(self, optimizer):
        self._is_on = False
        self._chain.remove_stepper(self)
        self._replacement.undo(optimizer)

    def _run_step(self, original, optimizer, *arguments, **keywords):
        if not self._is_on:
            return original(optimizer, *arguments, **keywords)
        # No module computes now, whatever became of the last one.
        self._chain.leave_all()
        if arguments and callable(arguments[0]):
            arguments = (self._outside(arguments[0]), *arguments[1:])
        elif callable(keywords.get("closure")):
            keywords["closure"] = self._outside(keywords["closure"])
        else:
            self._chain.enter(self, self._place)
        try:
            result = original(optimizer, *arguments, **keywords)
        finally:
            self._chain.leave(self)
        self._chain.stepped(self)
        return result

    def _outside(self, closure):
        @functools.wraps(closure)
        def run_closure(*arguments, **keywords):
            self._chain.leave(self)
            loss = closure(*arguments, **keywords)
            self._chain.enter(self, self._place)
            return loss

        return run_closure


class Replacement:
    """A method of one object that was replaced.

    The new one is bound to the object like the old one, so a copy of the object has a method of its own,
    and others can replace it again.
    """

    def __init__(self, owner, name, run):
        """run(original, owner, *arguments) is called instead."""
        self._name = name
        self._own = owner.__dict__.get(name)  # None: the class has it
        own = self._own

        def original(self, *arguments, **keywords):
            if own is not None:
                return own(*arguments, **keywords)
            return getattr(type(self), name)(self, *arguments, **keywords)

        @functools.wraps(getattr(owner, name))
        def replaced(self, *arguments, **keywords):
            return run(original, self, *arguments, **keywords)

        self._function = replaced
        setattr(owner, name, types.MethodType(replaced, owner))

    def undo(self, owner):
        """Leaves it in place if somebody has replaced it since."""
        method = owner.__dict__.get(self._name)
        if getattr(method, "__func__", None) is not self._function:
            return
        if self._own is None:
            delattr(owner, self._name)
        else:
            setattr(owner, self._name, self._own)
