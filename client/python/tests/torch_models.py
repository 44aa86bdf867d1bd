"""Small training scripts of every kind that layer mode must not change."""

import collections
import dataclasses
import inspect

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Probe:
    """Asks in each forward, backward and optimizer step whether a unit is in progress."""

    def __init__(self, is_in_unit=lambda: True):
        self._is_in_unit = is_in_unit
        self.seen = {}

    def ask(self, where):
        self.seen[where] = self.seen.get(where, True) and self._is_in_unit()


class _Probing(torch.autograd.Function):
    @staticmethod
    def forward(context, x, probe, name):
        context.probe, context.name = probe, name
        context.save_for_backward(x)
        probe.ask(name + " forward")
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        _ = context.saved_tensors  # of a checkpoint that is not reentrant: computed now
        context.probe.ask(context.name + " backward")
        return gradient, None, None


class Layer(nn.Module):
    """A linear layer that asks the probe."""

    def __init__(self, probe, name, width=4):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self._probe, self._name = probe, name

    def forward(self, x):
        return _Probing.apply(self.linear(x), self._probe, self._name)


class ProbingSgd(torch.optim.SGD):
    def __init__(self, parameters, probe):
        super().__init__(parameters, lr=0.05, momentum=0.9)
        self._probe = probe

    @torch.no_grad()
    def step(self, closure=None):
        self._probe.ask("step")
        return super().step(closure)


class Case:
    """A model, its optimizer, and one step of training. `parts` is what attach() is given."""

    def __init__(self, model, probe, compute=None):
        self.model = model
        self.optimizer = ProbingSgd(model.parameters(), probe)
        self.parts = (model, self.optimizer)
        self._compute = compute or (lambda m, x: m(x))
        self._generator = torch.Generator().manual_seed(3)

    def batch(self):
        return torch.randn(3, 4, generator=self._generator)

    def step(self, outside=lambda: None):
        """Calls `outside` at each point of the script between two calls of torch; returns the loss."""
        self.optimizer.zero_grad()
        outside()
        output = self._compute(self.model, self.batch())
        outside()
        loss = output.square().mean()
        loss.backward()
        outside()
        self.optimizer.step()
        return loss.item()

    def state(self):
        """All that training changes."""
        return dict(self.model.state_dict(),
                    **{"grad " + name: parameter.grad.to_dense()
                       for name, parameter in self.model.named_parameters()
                       if parameter.grad is not None})


def nested(probe):
    return Case(nn.Sequential(Layer(probe, "a"),
                              nn.Sequential(Layer(probe, "b"), nn.Sequential(nn.Tanh(), Layer(probe, "c")))),
                probe)


def shared(probe):
    layer = Layer(probe, "shared")
    return Case(nn.Sequential(layer, nn.Tanh(), layer, nn.Sequential(layer, nn.Tanh())), probe)


def in_place(probe):
    return Case(nn.Sequential(Layer(probe, "a"), nn.LeakyReLU(inplace=True), Layer(probe, "b")), probe,
                lambda m, x: m(x).mul_(2))


def buffers_and_chance(probe):
    return Case(nn.Sequential(Layer(probe, "a"), nn.BatchNorm1d(4), nn.Dropout(0.3), Layer(probe, "b")),
                probe)


class Recursive(nn.Module):
    """Calls itself."""

    def __init__(self, probe):
        super().__init__()
        self.layer = Layer(probe, "recursive")

    def forward(self, x, depth=3):
        return x if depth == 0 else self(torch.tanh(self.layer(x)), depth - 1)


def recursive(probe):
    return Case(Recursive(probe), probe)


@dataclasses.dataclass
class Output:
    value: torch.Tensor
    name: str


class Structured(nn.Module):
    """Outputs of every kind, inputs by name."""

    Pair = collections.namedtuple("Pair", "left right")

    def __init__(self, probe):
        super().__init__()
        self.left, self.right, self.last = (Layer(probe, name) for name in ("left", "right", "last"))
        self.recurrent = nn.LSTM(4, 4, batch_first=True)
        self.kind = "dict"

    def forward(self, *, x):
        pair = self.Pair(self.left(x), self.right(x))
        sequence, (hidden, _) = self.recurrent(pair.left.unsqueeze(1))
        value = self.last(sequence.squeeze(1) + hidden[0] + pair.right)
        if self.kind == "dict":
            return {"values": [value, None, 3], "name": "x"}
        return Output(value, "x") if self.kind == "dataclass" else ("x", torch.arange(3), (value, ))


def structured(kind, take):
    def make(probe):
        model = Structured(probe)
        model.kind = kind
        return Case(model, probe, lambda m, x: take(m(x=x)))

    return make


class Checkpointed(nn.Module):
    def __init__(self, probe, options):
        super().__init__()
        self.first, self.last = Layer(probe, "first"), Layer(probe, "last")
        self.middle = nn.Sequential(Layer(probe, "middle"), nn.Dropout(0.2), Layer(probe, "second"))
        self._options = options

    def forward(self, x):
        return self.last(checkpoint(self.middle, self.first(x), **self._options))


def checkpointed(**options):
    return lambda probe: Case(Checkpointed(probe, options), probe)


def checkpointed_outside(use_reentrant):
    """The whole model is called by checkpoint()."""
    return lambda probe: Case(
        nn.Sequential(Layer(probe, "a"), Layer(probe, "b")), probe,
        lambda m, x: checkpoint(m, x.requires_grad_(), use_reentrant=use_reentrant))


class Accumulating(Case):
    def step(self, outside=lambda: None):
        self.optimizer.zero_grad()
        total = 0
        for _ in range(3):
            loss = self._compute(self.model, self.batch()).square().mean() / 3
            outside()
            loss.backward()
            outside()
            total += loss.item()
        self.optimizer.step()
        return total


def accumulating(probe):
    return Accumulating(nn.Sequential(Layer(probe, "a"), nn.Tanh(), Layer(probe, "b")), probe)


class WithClosure(Case):
    def __init__(self, model, probe):
        super().__init__(model, probe)
        self.optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
        self.parts = (model, self.optimizer)

    def step(self, outside=lambda: None):
        batch = self.batch()

        def closure():
            outside()
            self.optimizer.zero_grad()
            loss = self.model(batch).square().mean()
            outside()
            loss.backward()
            outside()
            return loss

        return self.optimizer.step(closure).item()


def with_closure(probe):
    return WithClosure(nn.Sequential(Layer(probe, "a"), nn.Tanh()), probe)


class SeveralOptimizers(Case):
    """Two models against each other, each with an optimizer and a scheduler; a loss module."""

    def __init__(self, probe):
        models = nn.ModuleDict({"one": Layer(probe, "one"), "two": Layer(probe, "two")})
        super().__init__(models, probe)
        self._criterion = nn.MSELoss()
        self._optimizers = [ProbingSgd(model.parameters(), probe) for model in models.values()]
        self._schedulers = [torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
                            for optimizer in self._optimizers]
        self.parts = (models["one"], self._optimizers[0], models["two"], self._optimizers[1],
                      self._criterion)

    def step(self, outside=lambda: None):
        total = 0
        for optimizer, scheduler, sign in zip(self._optimizers, self._schedulers, (1, -1)):
            optimizer.zero_grad()
            batch = self.batch()
            outside()
            loss = sign * self._criterion(self.model["one"](batch), self.model["two"](batch))
            outside()
            loss.backward()
            outside()
            optimizer.step()
            outside()
            scheduler.step()
            total += loss.item()
        return total


class Penalised(Case):
    """A gradient of a gradient."""

    def step(self, outside=lambda: None):
        self.optimizer.zero_grad()
        batch = self.batch().requires_grad_()
        output = self.model(batch).square().mean()
        outside()
        gradient, = torch.autograd.grad(output, batch, create_graph=True)
        outside()
        (output + gradient.square().sum()).backward()
        outside()
        self.optimizer.step()
        return output.item()


class Scaled(Case):
    """Mixed precision with a scaler, which older torch has for CUDA only: there it is turned off."""

    def __init__(self, model, probe):
        super().__init__(model, probe)
        self.parts = (model, self.optimizer)
        scaler = getattr(torch.amp, "GradScaler", None)
        is_new = scaler is not None and "device" in inspect.signature(scaler).parameters
        self._scaler = scaler("cpu", init_scale=4.0) if is_new else torch.cuda.amp.GradScaler(enabled=False)

    def step(self, outside=lambda: None):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = self.model(self.batch()).float().square().mean()
        outside()
        self._scaler.scale(loss).backward()
        outside()
        self._scaler.step(self.optimizer)
        outside()
        self._scaler.update()
        return loss.item()


class SparseCase(Case):
    def batch(self):
        return torch.randint(10, (5, ), generator=self._generator)


def sparse(probe):
    model = nn.Sequential(nn.Embedding(10, 4, sparse=True), Layer(probe, "a"))
    case = SparseCase(model, probe)
    case.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    case.parts = (model, case.optimizer)
    return case


class Attending(nn.Module):
    def __init__(self, probe):
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.last = Layer(probe, "last")

    def forward(self, x):
        return self.last(self.encoder(x.unsqueeze(0)))


CASES = {
    "nested modules": nested,
    "a shared module": shared,
    "operations in place": in_place,
    "buffers and chance": buffers_and_chance,
    "a module that calls itself": recursive,
    "outputs in a dict": structured("dict", lambda output: output["values"][0]),
    "outputs in a dataclass": structured("dataclass", lambda output: output.value),
    "outputs in a tuple": structured("tuple", lambda output: output[2][0]),
    "checkpointed, reentrant": checkpointed(use_reentrant=True),
    "checkpointed, not reentrant": checkpointed(use_reentrant=False),
    "all checkpointed, reentrant": checkpointed_outside(True),
    "all checkpointed, not reentrant": checkpointed_outside(False),
    "accumulated gradients": accumulating,
    "a closure": with_closure,
    "several optimizers and schedulers": SeveralOptimizers,
    "a gradient of a gradient": lambda probe: Penalised(
        nn.Sequential(Layer(probe, "a"), nn.Tanh(), Layer(probe, "b")), probe),
    "mixed precision": lambda probe: Scaled(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)), probe),
    "sparse gradients": sparse,
    "attention": lambda probe: Case(Attending(probe), probe),
}
