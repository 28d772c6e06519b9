"""A term as a module whose learned parts are submodules named as in the diagram."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ncd.circuit import Cell, Circuit, elaborate
from ncd.errors import MismatchError
from ncd.ops.spec import Run
from ncd.run.device import device as find_device
from ncd.run.guard import Limits, check
from ncd.run.seed import generator, initialise
from ncd.terms import Term

Watch = Callable[[Cell, tuple[Tensor, ...], tuple[Tensor, ...]], None]


@dataclass(frozen=True)
class _Step:
    """A cell ready to run: where its tensors come from and go, and which are then done with."""

    cell: Cell
    layer: nn.Module | None
    run: Run
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    done: tuple[str, ...]


class CircuitModule(nn.Module):
    """What :func:`compile` gives: runs the cells of a circuit in order.

    ``module.term`` and ``module.circuit`` say what it is; layers are attributes (``module.Q``).
    """

    def __init__(self, circuit: Circuit) -> None:
        super().__init__()
        self.circuit = circuit
        self.term = circuit.term
        self._layers_of: dict[str, nn.Module] = {}
        for cell in circuit.cells:
            layer = cell.op.layer(cell.site)
            if layer is not None:
                self._layers_of[cell.id] = layer.to_empty(device="cpu")
                self._attach(cell, layer)
        self._steps = self._plan()
        self._shapes = [array.shape for array in self.term.dom]

    def _attach(self, cell: Cell, layer: nn.Module) -> None:
        home: nn.Module = self
        for name, index in cell.scope:
            if not hasattr(home, name):
                home.add_module(name, nn.ModuleList())
            bodies: nn.ModuleList = getattr(home, name)
            while len(bodies) <= index:
                bodies.append(nn.Module())
            home = bodies[index]
        home.add_module(cell.name, layer)

    def _plan(self) -> tuple[_Step, ...]:
        needed = {value.id for value in self.circuit.outputs}
        steps: list[_Step] = []
        for cell in reversed(self.circuit.cells):
            inputs = tuple(value.id for value in cell.inputs)
            outputs = tuple(value.id for value in cell.outputs)
            done = tuple(id for id in {*inputs, *outputs} if id not in needed)
            needed.update(inputs)
            layer = self._layers_of.get(cell.id)
            steps.append(_Step(cell, layer, cell.op.run(cell.site), inputs, outputs, done))
        return tuple(reversed(steps))

    def layer_of(self, cell: Cell) -> nn.Module | None:
        """The submodule that a cell runs with."""
        return self._layers_of.get(cell.id)

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """The output tensor, or a tuple where the codomain has several arrays.

        Each input has the shape of its array in ``term.dom``; the same batch axes may stand in
        front of all of them.
        """
        outputs = self.execute(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def execute(
        self,
        inputs: tuple[Tensor, ...],
        *,
        keep: dict[str, Tensor] | None = None,
        watch: Watch | None = None,
    ) -> tuple[Tensor, ...]:
        """Runs every cell; fills ``keep`` with every array, and shows ``watch`` every step."""
        self._check(inputs)
        values = {v.id: x for v, x in zip(self.circuit.inputs, inputs, strict=True)}
        for step in self._steps:
            given = tuple(values[id] for id in step.inputs)
            made = step.run(step.layer, given)
            values.update(zip(step.outputs, made, strict=True))
            if watch is not None:
                watch(step.cell, given, made)
            if keep is None:
                for id in step.done:
                    del values[id]
        if keep is not None:
            keep.update(values)
        return tuple(values[value.id] for value in self.circuit.outputs)

    def _check(self, inputs: tuple[Tensor, ...]) -> None:
        if [getattr(x, "shape", None) for x in inputs] == self._shapes:
            return  # no batch in front, as mostly
        dom = self.term.dom
        if len(inputs) != len(dom):
            raise MismatchError(
                f"the module takes {len(dom)} tensors, one for each of ({dom}), "
                f"but got {len(inputs)}",
                bound=dom.axes,
                cure="*ncd.example_inputs(term)",
            )
        leads: dict[tuple[int, ...], None] = {}  # the batch axes, each once
        for array, x in zip(dom, inputs, strict=True):
            shape, n = tuple(getattr(x, "shape", ())), len(array.shape)
            leads[shape[: len(shape) - n]] = None
            if shape[len(shape) - n :] != array.shape or len(shape) < n:
                raise MismatchError(
                    f"the array ({array}) has shape {array.shape}, but the tensor has {shape}",
                    bound=dom.axes,
                    cure=f"a tensor of shape {array.shape}, or with batch axes in front of it",
                )
        if len(leads) > 1 and not _broadcast(leads):
            raise MismatchError(
                f"the batch axes in front of the arrays differ: {', '.join(map(str, leads))}",
                bound=dom.axes,
                cure="the same batch axes in front of all",
            )

    def __deepcopy__(self, memo: dict[int, object]) -> CircuitModule:
        memo[id(self.circuit)] = self.circuit  # it never changes
        memo[id(self.term)] = self.term
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        own = {name: value for name, value in vars(self).items() if name != "_steps"}
        vars(twin).update(copy.deepcopy(own, memo))
        twin._steps = twin._plan()
        return twin


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> bool:
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return False
    return True


def compile(
    term: Term,
    seed: int = 0,
    device: str | torch.device = "cpu",
    limits: Limits | None = None,
) -> CircuitModule:
    """The term as a ``torch.nn.Module``, its weights drawn from ``seed``.

    Learned parts are submodules named as in the diagram; a repetition is a ``ModuleList``.

    >>> import ncd
    >>> module = ncd.compile(ncd.catalogue["multi-head-attention"].build())
    >>> module.Q
    Linear(in_features=128, out_features=64, bias=False)

    Raises LimitError before anything is allocated if the run is over the limits, and
    UnknownNameError for a device that this machine lacks.
    """
    target = find_device(device)
    circuit = elaborate(term)
    check(circuit, limits, suggest=True)
    module = CircuitModule(circuit)
    for cell in circuit.cells:
        layer = module.layer_of(cell)
        if layer is not None:
            initialise(layer, generator(seed, cell.path))
    return module.to(target)


@dataclass(frozen=True)
class Trace:
    """A run with all it computed: ``values`` holds a tensor for every array, keyed by its id."""

    outputs: tuple[Tensor, ...]
    values: Mapping[str, Tensor]


def trace(module: CircuitModule, *inputs: Tensor) -> Trace:
    """Runs a module and keeps the value of every array, by the ids that the SVG carries.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> run = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    >>> tuple(run.values["v0"].shape), tuple(run.outputs[0].shape)
    ((20, 128), (20, 128))
    """
    values: dict[str, Tensor] = {}
    outputs = module.execute(inputs, keep=values)
    return Trace(outputs, values)
