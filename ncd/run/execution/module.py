"""A term as a module whose learned parts are submodules named as in the diagram."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import MismatchError, ParseError, shown
from ncd.lang.formulas.expr import Call, Expr
from ncd.lang.types.axes import Array
from ncd.run.base.seeding import SeededDropout, begin, generator
from ncd.run.execution.evaluate import Like, function, known
from ncd.run.execution.fusion import fused
from ncd.run.execution.program import Part, Program, Run, Watch, execute, plan


class CircuitModule(nn.Module):
    """What :func:`compile` gives: runs the cells of a circuit in order.

    ``module.term`` and ``module.circuit`` say what it is; layers are submodules by their paths
    (``module.Q``, ``module.encoder[0].self_attn.Q``), looked up anew at each run. Without a
    ``seed`` they have shapes but no numbers (torch's device ``meta``).
    """

    def __init__(self, circuit: Circuit, seed: int | None = 0) -> None:
        super().__init__()
        self._read(circuit)
        made: set[str] = set()
        for cell in circuit.cells:
            if cell.path not in made and self._attach(cell, seed):
                made.add(cell.path)
        if not any(x.is_floating_point() for x in (*self.parameters(), *self.buffers())):
            self.register_buffer("_like", torch.empty(0), persistent=False)  # for new tensors

    def _read(self, circuit: Circuit) -> None:
        """All that follows from the circuit and need not be kept."""
        self.circuit, self.term = circuit, circuit.term
        known: dict[str, Part] = {}
        self._plain, self._fused = plan(circuit, None, known), plan(circuit, fused, known)
        self._shapes = [(array.shape, array.below is None) for array in self.term.dom]

    def _attach(self, cell: Cell, seed: int | None) -> bool:
        """Gives a cell its layer or its parameter, if it has one."""
        call, initial = cell.layer, cell.initial
        if call is None and not initial:
            return False
        home = _home(self, cell.scope)
        if call is not None:
            layer = made_layer(call, cell.path, seed)
            home.add_module(cell.name, layer)
            tensors = dict(layer.state_dict(keep_vars=True))
        else:
            (first,) = initial.values()
            empty = torch.empty(first.array.shape, device="meta" if seed is None else "cpu")
            if first.learned:
                home.register_parameter(cell.name, nn.Parameter(empty))
            else:
                home.register_buffer(cell.name, empty)
            tensors = dict.fromkeys(initial, getattr(home, cell.name))
        assert tensors.keys() == initial.keys(), f"{cell.op.label}: {[*tensors]}, {[*initial]}"
        if seed is not None:
            for name, tensor in tensors.items():
                purpose = f"{cell.path}.{name}" if call is not None else cell.path
                begin(tensor, initial[name], generator(seed, purpose))
        return True

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """The output tensor, or a tuple where the codomain has another number of arrays than one.

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
        """Runs every cell; fills ``keep`` with every array, and shows ``watch`` every step.

        What ``watch`` gives stands in the place of what the step made, unless it gives None. Where
        nobody looks on, attention runs as one function.
        """
        inputs = self._checked(inputs)
        plain = keep is not None or watch is not None or _transformed()
        program: Program = self._plain if plain else self._fused
        like = self._alike(inputs) if program.new else _ANY
        return execute(program, inputs, Run(self, like, keep, watch))

    def _alike(self, inputs: Sequence[Tensor]) -> Like:
        """Where new tensors belong: by the first real input, else by the weights."""
        for x in inputs:
            if x.is_floating_point():
                return Like(x.device, x.dtype)
        for x in (*self.parameters(), *self.buffers()):
            if x.is_floating_point():
                return Like(inputs[0].device if inputs else x.device, x.dtype)
        return _ANY

    def _checked(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The inputs, whole numbers as int64; raises MismatchError for what does not fit."""
        seen = [(getattr(x, "shape", None), _real(x)) for x in inputs]
        # with no batch in front, as mostly, all is well; a graph for all batches must not ask that
        if torch.compiler.is_compiling() or seen != self._shapes:
            _check_shapes(self.term.dom, inputs)
        if all(real for _, real in self._shapes):
            return inputs
        arrays = zip(self.term.dom, inputs, strict=True)
        return tuple([x if array.below is None else _whole(array, x) for array, x in arrays])

    def __getstate__(self) -> dict[str, Any]:
        made = {"circuit", "_plain", "_fused", "_shapes"}  # a call of torch cannot be written down
        return {name: value for name, value in vars(self).items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._read(elaborate(state["term"]))

    def __deepcopy__(self, memo: dict[int, object]) -> CircuitModule:
        memo[id(self.term)] = self.term  # it never changes
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return twin


_ANY = Like(torch.device("cpu"), torch.float32)


def _transformed() -> bool:
    """Whether torch is at forward-mode differentiation, vmap and the like: it has no attention."""
    if torch.compiler.is_compiling():
        return False
    inside = torch._C._functorch.peek_interpreter_stack() is not None
    return forward_ad._current_level >= 0 or inside


def _home(module: nn.Module, scope: tuple[str, ...]) -> nn.Module:
    """The module that holds the layers of a scope; numbered ones stand in a ``ModuleList``."""
    for name, following in zip(scope, (*scope[1:], ""), strict=False):
        if isinstance(module, nn.ModuleList):
            while len(module) <= int(name):
                module.append(nn.Module())
        elif name not in module._modules:
            module.add_module(name, nn.ModuleList() if following.isdecimal() else nn.Module())
        module = module.get_submodule(name)
    return module


def made_layer(call: Call, path: str, seed: int | None) -> nn.Module:
    """The layer of a call, its numbers not yet set; nothing is drawn from torch's global state."""
    kind = function(call.function)
    args = [_value(arg) for arg in call.args]
    named = {name: _value(value) for name, value in call.kwargs}
    if kind is nn.Dropout:
        return SeededDropout(kind(*args, **named).p, generator(seed or 0, path))
    device = "meta" if seed is None else "cpu"
    layer: nn.Module = _undrawn(kind)(*args, **named, device=device)
    layer.__class__ = kind
    return layer


def _value(expr: Expr) -> Any:
    """What an argument of a layer is; it needs no tensor."""
    found = known(expr)
    assert found is not None, expr
    return found.value


@lru_cache
def _undrawn(kind: type[nn.Module]) -> type[nn.Module]:
    """A class of layers that leaves its numbers as they lie in memory: they are set later."""
    return type(kind.__name__, (kind,), {"reset_parameters": lambda layer: None})


# --- inputs --------------------------------------------------------------------------------------


def _real(x: object) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def _check_shapes(dom: tuple[Array, ...], inputs: tuple[Tensor, ...]) -> None:
    words = ", ".join(map(str, dom))
    bound = [axis for array in dom for axis in array]
    if len(inputs) != len(dom):
        raise MismatchError(
            f"the module takes {len(dom)} tensors, one for each of ({words}), "
            f"but got {len(inputs)}",
            bound=bound,
            cure="*ncd.example_inputs(term)",
        )
    leads: list[tuple[int, ...]] = []  # the batch axes
    for array, x in zip(dom, inputs, strict=True):
        shape, n = tuple(getattr(x, "shape", ())), len(array.shape)
        leads.append(shape[: max(len(shape) - n, 0)])
        if not isinstance(x, Tensor) or len(shape) < n or shape[len(shape) - n :] != array.shape:
            raise MismatchError(
                f"the array ({array}) has shape {array.shape}, but the tensor has {shape}",
                bound=bound,
                cure=f"a tensor of shape {array.shape}, or with batch axes in front of it",
            )
        if _real(x) != (array.below is None):
            kind = "real" if array.below is None else "whole"
            raise MismatchError(
                f"the array ({array}) holds {kind} numbers, but the tensor is of type {x.dtype}",
                bound=bound,
                cure="x.float()" if kind == "real" else "x.long()",
            )
    if not torch.compiler.is_compiling() and not _broadcast(leads):
        raise MismatchError(
            "the batch axes in front of the arrays differ: "
            + ", ".join(str(tuple(lead)) for lead in dict.fromkeys(leads)),
            bound=bound,
            cure="the same batch axes in front of all",
        )


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> bool:
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return False
    return True


def _whole(array: Array, x: Tensor) -> Tensor:
    """Whole numbers as torch indexes with; raises MismatchError for one that is out of range.

    The range is looked at on the CPU only: elsewhere it would have to be waited for.
    """
    x = x if x.dtype == torch.int64 else x.to(torch.int64)
    assert array.below is not None
    if x.device.type != "cpu" or torch.compiler.is_compiling() or not x.numel():
        return x
    try:
        low, high = map(int, x.aminmax())
    except RuntimeError:  # inside vmap, or without numbers
        return x
    if low < 0 or high >= array.below.numel:
        raise MismatchError(
            f"the array ({array}) holds whole numbers from 0 to {array.below.numel - 1}, "
            f"but the tensor has {low if low < 0 else high}",
            bound=[*array, array.below],
            cure=f"x.clamp(0, {array.below.numel - 1})",
        )
    return x


def check_module(value: object, where: str) -> None:
    """Raises ParseError for what :func:`compile` did not make."""
    if not isinstance(value, CircuitModule):
        fact = f"{shown(value)} is not a compiled module"
        raise ParseError(fact, where=where, cure="ncd.compile(term)")


# --- traces ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trace:
    """A run with all it computed: ``values`` holds a tensor for every array, keyed by its id.

    In a scan the arrays of its body are those of the last position.
    """

    outputs: tuple[Tensor, ...]
    values: Mapping[str, Tensor]


def trace(module: CircuitModule, *inputs: Tensor) -> Trace:
    """Runs a module and keeps the value of every array, by the ids that the SVG carries.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> run = ncd.trace(ncd.run.compile(term), *ncd.example_inputs(term))
    >>> tuple(run.values["v0"].shape), tuple(run.outputs[0].shape)
    ((20, 128), (20, 128))
    """
    check_module(module, "trace")
    values: dict[str, Tensor] = {}
    outputs = module.execute(inputs, keep=values)
    return Trace(outputs, values)
