"""The gradient of every array by the chain rule, checked by finite differences."""

from __future__ import annotations

import copy
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Generator, Tensor, nn

from ncd.circuit.circuit import Cell, Circuit
from ncd.errors import MismatchError
from ncd.run.module import CircuitModule, check_shapes
from ncd.run.seeding import generator

# --- A second module with the same weights, whose run does not change the first

M = TypeVar("M", bound=nn.Module)


def isolated_copy(module: M, frozen: Collection[str] = ()) -> M:
    """Returns a module with the same parameters but buffers and random generators of its own.

    A forward pass changes the running statistics of a batch norm and the state of a dropout's
    generator; these are copied, and weights are shared. Parameters named in ``frozen`` need no
    gradient in the copy. A module without buffers and generators is returned itself.

    >>> norm = nn.BatchNorm1d(3)
    >>> _ = isolated_copy(norm)(norm.weight.expand(4, 3))
    >>> int(norm.num_batches_tracked), isolated_copy(norm).weight is norm.weight
    (0, True)
    >>> isolated_copy(norm, {"weight"}).weight.requires_grad, norm.weight.requires_grad
    (False, True)
    """
    return _twin(module, {}, frozenset(frozen), "")


def _twin(module: M, known: dict[int, Any], frozen: frozenset[str], path: str) -> M:
    if id(module) in known:
        twin: M = known[id(module)]
        return twin
    known[id(module)] = module
    old, buffers = module._modules, module._buffers
    children = {
        name: child and _twin(child, known, frozen, f"{path}{name}.") for name, child in old.items()
    }
    still = {
        name: nn.Parameter(x.detach(), requires_grad=False)
        for name, x in module._parameters.items()
        if x is not None and f"{path}{name}" in frozen
    }
    own = {n: x.clone_state() for n, x in vars(module).items() if type(x) is Generator}
    if (
        not own
        and not buffers
        and not still
        and all(map(operator.is_, children.values(), old.values()))
    ):
        return module
    copy = type(module).__new__(type(module))
    copies = {name: x if x is None else x.clone() for name, x in buffers.items()}
    changed = {"_modules": children, "_buffers": copies, "_parameters": module._parameters | still}
    vars(copy).update({**vars(module), **own, **changed})
    known[id(module)] = copy
    return copy


# --- The backward pass op by op: the gradient of every array, by the chain rule


def cotangents(outputs: Sequence[Tensor], seed: int) -> list[Tensor]:
    """Returns the gradients that a backward pass starts from: 1 for a number, else random."""
    random = generator(seed, "cotangent")
    drawn = [torch.randn(y.shape, generator=random).to(y) for y in outputs]
    return [g if y.ndim else torch.ones_like(y) for y, g in zip(outputs, drawn, strict=True)]


class Gradients(NamedTuple):
    """Gradients by array id and by parameter name."""

    arrays: Mapping[str, Tensor]
    parameters: Mapping[str, Tensor]


def has_no_scan(circuit: Circuit) -> bool:
    """Returns whether every array is made once, so that it has one gradient."""
    return not circuit.scans


def op_gradients(
    module: CircuitModule, *inputs: Tensor, seed: int = 0, frozen: Collection[str] = ()
) -> Gradients:
    """Returns the gradient of every array and parameter, computed op by op.

    It starts like :func:`ncd.autograd`. ``frozen`` names parameters, and input arrays by id, that
    need no gradient. Arrays that no gradient reaches are left out. The module and the inputs are
    not changed.

    >>> import ncd
    >>> term = ncd.catalogue["autograd"].build()
    >>> found = op_gradients(ncd.compile(term), *ncd.example_inputs(term))
    >>> [*found.parameters], [tuple(found.arrays[v].shape) for v in ("v0", "v1")]
    (['w'], [(4, 3), (4, 2)])

    Raises MismatchError for inputs that do not fit, and for a circuit with a scan, whose arrays are
    made anew at every position.
    """
    if not has_no_scan(module.circuit):
        raise MismatchError("the arrays of a scan are made anew at every position", cure="autograd")
    tape = _Tape(isolated_copy(module, frozen))
    given = input_leaves(module.circuit, inputs, frozen)
    with torch.enable_grad():
        outputs = tape.module.execute(given, watch=tape.watch)
    return tape.back(outputs, seed)


def input_leaves(
    circuit: Circuit, inputs: Sequence[Tensor], frozen: Collection[str]
) -> tuple[Tensor, ...]:
    """Returns copies of the inputs, which need a gradient unless they are frozen.

    Raises MismatchError for inputs that do not fit.
    """
    check_shapes(circuit.term.dom, tuple(inputs))
    pairs = zip(inputs, circuit.inputs, strict=True)
    return tuple(_detach(x.clone(), value.id not in frozen) for x, value in pairs)


def _detach(x: Tensor, wanted: bool) -> Tensor:
    """Returns a tensor on the same numbers, without a past, that may need a gradient."""
    real = x.is_floating_point() or x.is_complex()
    return x.detach().requires_grad_(wanted and real)


class _Tape:
    """Records the inputs and outputs of each op; outputs are detached before the next op."""

    def __init__(self, module: CircuitModule) -> None:
        self.module = module
        self.steps: list[tuple[Cell, tuple[Tensor, ...], tuple[Tensor, ...]]] = []

    def watch(
        self, cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...]:
        self.steps.append((cell, given, made))
        return tuple(_detach(x, x.requires_grad) for x in made)

    def back(self, outputs: tuple[Tensor, ...], seed: int) -> Gradients:
        ends = zip(self.module.circuit.outputs, outputs, cotangents(outputs, seed), strict=True)
        arrays = {value.id: start for value, y, start in ends if y.requires_grad}
        parameters: dict[str, Tensor] = {}
        while self.steps:
            cell, given, made = self.steps.pop()
            own = dict(_trainable_parameters(self.module, cell))
            came = [arrays.get(value.id) for value in cell.outputs]
            came_to = [(y, g) for y, g in zip(made, came, strict=True) if g is not None]
            wanted = {v.id: x for v, x in zip(cell.inputs, given, strict=True) if x.requires_grad}
            leaves = [*wanted.values(), *own.values()]
            if not came_to or not leaves:
                continue
            ys, gs = zip(*came_to, strict=True)
            found = torch.autograd.grad(ys, leaves, gs, allow_unused=True)
            _add(arrays, wanted, found[: len(wanted)])  # an array may be used at several places
            _add(parameters, own, found[len(wanted) :])  # a weight may be used at several places
        return Gradients(arrays, parameters)


def _add(sums: dict[str, Tensor], names: Iterable[str], grads: Sequence[Tensor | None]) -> None:
    for name, grad in zip(names, grads, strict=True):
        if grad is not None:
            sums[name] = sums[name] + grad if name in sums else grad


def _trainable_parameters(module: CircuitModule, cell: Cell) -> Iterator[tuple[str, Tensor]]:
    """Yields the parameters of an op that need a gradient, with their names."""
    if not cell.name:
        return
    home = module.get_submodule(".".join(cell.module_path))
    part = home._modules.get(cell.name)
    if part is None:
        found = home._parameters.get(cell.name)
        named = {} if found is None else {cell.path: found}
    else:
        named = dict(part.named_parameters(prefix=cell.path))
    for name, parameter in named.items():
        if parameter.requires_grad:
            yield name, parameter


# --- A check of gradients by finite differences

NUDGE = 1e-6


class Slope(NamedTuple):
    """The directional derivative of the output: by the gradient, and by finite differences."""

    names: tuple[str, ...]
    gradient: float
    numeric: float

    @property
    def difference(self) -> float:
        """The difference between the two."""
        return abs(self.gradient - self.numeric)

    def __bool__(self) -> bool:
        """Whether they agree within the error of a finite step."""
        return self.difference <= 1e-5 * max(1.0, abs(self.gradient))


def slopes(
    module: CircuitModule,
    *inputs: Tensor,
    seed: int = 0,
    frozen: Collection[str] = (),
    together: bool = False,
) -> tuple[Slope, ...]:
    """Compares gradients with finite differences, (f(a + hd) − f(a − hd)) / 2h, in 64 bits.

    For each parameter and input a, d is a random direction of length 1 and h = 10⁻⁶. f is the sum
    of the outputs weighted by the gradients that the backward pass starts from. With ``together``
    all parameters and inputs move at once, which takes two runs in all.

    >>> import ncd
    >>> term = ncd.catalogue["autograd"].build()
    >>> found = slopes(ncd.compile(term), *ncd.example_inputs(term))
    >>> [slope.names for slope in found], all(found)
    ([('w',), ('v0',), ('v1',)], True)

    Raises MismatchError for inputs that do not fit.
    """
    trial = _Trial(module, inputs, seed, frozen)
    names = tuple(trial.leaves)
    groups = [names] if together and names else [(name,) for name in names]
    return tuple(map(trial.slope, groups))


class _Trial:
    """A copy of the module in 64 bits, whose numbers may be moved."""

    def __init__(
        self,
        module: CircuitModule,
        inputs: tuple[Tensor, ...],
        seed: int,
        frozen: Collection[str],
    ) -> None:
        own = copy.deepcopy(module).to("cpu", torch.float64)
        self.module = isolated_copy(own, frozen)
        moved = [x.detach().cpu().clone() for x in inputs]
        self.inputs = tuple(x.double() if x.is_floating_point() else x for x in moved)
        ids = [value.id for value in module.circuit.inputs]
        given = zip(ids, self.inputs, strict=False)
        reals = {id: x for id, x in given if x.is_floating_point() and id not in frozen}
        self.leaves = {n: p for n, p in self.module.named_parameters() if p.requires_grad} | reals
        for x in self.leaves.values():
            x.requires_grad_()
        self.random = generator(seed, "direction")
        with torch.enable_grad():
            outputs = self.run()
            self.starts = cotangents([y.detach() for y in outputs], seed)
            self.gradients = self._gradients(outputs)

    def run(self) -> tuple[Tensor, ...]:
        """Returns the outputs at the current numbers, and leaves the module unchanged."""
        return isolated_copy(self.module).execute(self.inputs)

    def _gradients(self, outputs: tuple[Tensor, ...]) -> dict[str, Tensor | None]:
        ends = [(y, g) for y, g in zip(outputs, self.starts, strict=True) if y.requires_grad]
        if not ends:
            return dict.fromkeys(self.leaves)
        ys, gs = zip(*ends, strict=True)
        found = torch.autograd.grad(ys, [*self.leaves.values()], gs, allow_unused=True)
        return dict(zip(self.leaves, found, strict=True))

    def slope(self, names: tuple[str, ...]) -> Slope:
        ways = [torch.randn(self.leaves[n].shape, generator=self.random).double() for n in names]
        length = torch.stack([way.norm() for way in ways]).norm()
        ways = [way / length for way in ways]
        grads = [self.gradients[name] for name in names]
        stated = sum(
            float((g * way).sum()) for g, way in zip(grads, ways, strict=True) if g is not None
        )
        with torch.no_grad():
            ahead = self._value_after_step(names, ways, NUDGE)
            behind = self._value_after_step(names, ways, -NUDGE)
        return Slope(names, stated, (ahead - behind) / (2 * NUDGE))

    def _value_after_step(self, names: tuple[str, ...], ways: list[Tensor], far: float) -> float:
        """Returns f after a step along some directions."""
        kept = [self.leaves[name].clone() for name in names]
        for name, way in zip(names, ways, strict=True):
            self.leaves[name].add_(far * way)
        outputs = self.run()  # used before the numbers move back: they may be views
        value = sum(float((y * g).sum()) for y, g in zip(outputs, self.starts, strict=True))
        for name, x in zip(names, kept, strict=True):
            self.leaves[name].copy_(x)
        return value
