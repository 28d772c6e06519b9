"""The torch module of a term, with submodules named as in the diagram."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import ParseError, shown
from ncd.lang.formats import Formats
from ncd.run.base.seeding import begin
from ncd.run.execution.evaluate import Like
from ncd.run.execution.fusion import fused
from ncd.run.execution.input_checks import check_shapes, real, whole
from ncd.run.execution.layer_modules import new_layer, submodule
from ncd.run.execution.partial_run import leading
from ncd.run.execution.program import Program, Run, Watch, execute, plan
from ncd.run.execution.recompute import grouped, segments
from ncd.run.execution.rounding import round_weights, rounded_inputs, rounding


class CircuitModule(nn.Module):
    """The module of a term; it runs the cells of a circuit in order.

    ``module.term`` and ``module.circuit`` describe it. Layers are submodules by their paths
    (``module.Q``, ``module.encoder[0].self_attn.Q``), looked up at each run, so they may be
    replaced.

    Args:
        circuit: The circuit of a term.
        seed: The seed of the weights; None leaves them on torch's device ``meta``, without data.
        shared: Whether modules of one seed share their parameters, which are then never modified.
    """

    formats = Formats()  # of its numbers; see rounding.py
    recompute: tuple[str, ...] = ()  # blocks whose arrays are not saved; see recompute.py

    def __init__(self, circuit: Circuit, seed: int | None = 0, shared: bool = False) -> None:
        super().__init__()
        self._read(circuit, lazily=shared)
        made: set[str] = set()
        for cell in circuit.cells:
            if cell.path not in made and self._attach(cell, seed, shared):
                made.add(cell.path)
        if not any(x.is_floating_point() for x in (*self.parameters(), *self.buffers())):
            self.register_buffer("_like", torch.empty(0), persistent=False)  # for new tensors

    def _read(self, circuit: Circuit, lazily: bool = False) -> None:
        """Computes everything that follows from the circuit and need not be saved.

        The fused program may wait until it is used, but not where torch.compile would trace that.
        """
        self.circuit, self.term = circuit, circuit.term
        now = (True,) if lazily else (True, False)
        self._programs: dict[bool, Program] = {plain: self._planned(plain) for plain in now}
        self._shapes = [(array.shape, array.below is None) for array in self.term.dom]

    def _program(self, plain: bool) -> Program:
        """Returns the program that makes every array, or the one with fused attention."""
        if plain not in self._programs:
            self._programs[plain] = self._planned(plain)
        return self._programs[plain]

    def _planned(self, plain: bool) -> Program:
        if self.recompute:  # fused attention would hide the ops of a block
            wanted = segments(self.circuit, self.recompute)
            return plan(self.circuit, lambda parts, circuit: grouped(parts, circuit, wanted))
        return plan(self.circuit) if plain else plan(self.circuit, fused)

    def _attach(self, cell: Cell, seed: int | None, shared: bool) -> bool:
        """Gives a cell its layer or parameter; returns whether it has one."""
        call, initial = cell.layer, cell.initial
        if call is None and not initial:
            return False
        home = submodule(self, cell.scope)
        if call is not None:
            layer = new_layer(call, cell.path, seed)
            home.add_module(cell.name, layer)
            tensors = dict(layer.state_dict(keep_vars=True))
        else:
            (first,) = initial.values()
            kind = None if first.array.below is None else torch.int64
            device = "meta" if seed is None else "cpu"
            empty = torch.empty(first.array.shape, dtype=kind, device=device)
            if first.learned:
                home.register_parameter(cell.name, nn.Parameter(empty))
            else:
                home.register_buffer(cell.name, empty)
            tensors = dict.fromkeys(initial, getattr(home, cell.name))
        assert tensors.keys() == initial.keys(), f"{cell.op.label}: {[*tensors]}, {[*initial]}"
        if seed is not None:
            for name, tensor in tensors.items():
                purpose = f"{cell.path}.{name}" if call is not None else cell.path
                own = shared and isinstance(tensor, nn.Parameter)
                begin(tensor, initial[name], seed, purpose, own)
        return True

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Returns the output tensor, or a tuple if the codomain does not have exactly one array.

        Args:
            inputs: A tensor for each array of ``term.dom``, all with the same batch axes in front.

        Raises:
            MismatchError: For a wrong number, shape or kind of tensors.
        """
        outputs = self.execute(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def execute(
        self,
        inputs: tuple[Tensor, ...],
        *,
        keep: dict[str, Tensor] | None = None,
        watch: Watch | None = None,
        only: Collection[str] | None = None,
    ) -> tuple[Tensor, ...]:
        """Runs every cell; stores every array in ``keep``, and shows every step to ``watch``.

        A value returned by ``watch`` replaces the step's output; None keeps it. Without both,
        attention runs as one function. With ``only`` it runs what these arrays depend on, which
        ``keep`` then has, and returns nothing.
        """
        inputs = self._checked(inputs)
        if not self.formats.plain:
            inputs, watch = rounded_inputs(inputs, self.formats), rounding(self.formats, watch)
        plain = keep is not None or watch is not None or _transformed()
        program = self._program(plain)
        if only is not None:
            program = leading(program, only)
        like = self._alike(inputs) if program.new else _ANY
        return execute(program, inputs, Run(self, like, keep, watch))

    def _alike(self, inputs: Sequence[Tensor]) -> Like:
        """Returns device and dtype of new tensors: the first real input's, else the weights'."""
        for x in inputs:
            if x.is_floating_point():
                return Like(x.device, x.dtype)
        for x in (*self.parameters(), *self.buffers()):
            if x.is_floating_point():
                return Like(inputs[0].device if inputs else x.device, x.dtype)
        return _ANY

    def _checked(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Returns the inputs, whole numbers as int64; raises MismatchError for a wrong one."""
        seen = [(getattr(x, "shape", None), real(x)) for x in inputs]
        # with no batch in front, as mostly, all is well; a graph for all batches must not ask that
        if torch.compiler.is_compiling() or seen != self._shapes:
            check_shapes(self.term.dom, inputs)
        if all(real for _, real in self._shapes):
            return inputs
        arrays = zip(self.term.dom, inputs, strict=True)
        return tuple([x if array.below is None else whole(array, x) for array, x in arrays])

    def __getstate__(self) -> dict[str, Any]:
        made = {"circuit", "_programs", "_shapes"}  # a call of torch cannot be written down
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
    """Returns whether torch is in forward-mode differentiation, vmap or similar."""
    if torch.compiler.is_compiling():
        return False
    inside = torch._C._functorch.peek_interpreter_stack() is not None
    return forward_ad._current_level >= 0 or inside


def in_formats(module: CircuitModule, formats: Formats) -> CircuitModule:
    """Rounds a module's weights, and lets it round every array of its runs; returns it."""
    if not formats.plain:
        round_weights(module, formats)
        module.formats = formats
    return module


def recomputing(module: CircuitModule, blocks: Collection[str]) -> CircuitModule:
    """Lets a module calculate blocks again in the backward pass; returns it."""
    if blocks:
        module.recompute = tuple(blocks)
        module._read(module.circuit)
    return module


# --- inputs --------------------------------------------------------------------------------------


def check_module(value: object, where: str) -> None:
    """Raises ParseError for what :func:`compile` did not make."""
    if not isinstance(value, CircuitModule):
        fact = f"{shown(value)} is not a compiled module"
        raise ParseError(fact, where=where, cure="ncd.compile(term)")


# --- traces ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trace:
    """The results of a run, as returned by :func:`trace`.

    Inside a scan the arrays are those of the last position.

    Args:
        outputs: The module's outputs.
        values: A tensor for every array, by the ids that the SVG carries.

    Source: the notebook's appendix, whose Tracker prints sizes; here the values are kept.

    >>> import ncd
    >>> module = ncd.compile(ncd.Softmax("x:3"))
    >>> found: Trace = ncd.trace(module, *ncd.example_inputs(module.term))
    >>> [tuple(value.shape) for value in found.values.values()]
    [(3,), (3,)]
    """

    outputs: tuple[Tensor, ...]
    values: Mapping[str, Tensor]


def trace(module: CircuitModule, *inputs: Tensor) -> Trace:
    """Runs a module and keeps the value of every array.

    Args:
        module: A compiled module.
        inputs: A tensor for each array of its term.

    Returns:
        A :class:`Trace`: the values by the ids that the SVG carries, and the outputs.

    Raises:
        MismatchError: For a wrong number, shape or kind of tensors.

    Source: the notebook's appendix, whose Tracker prints sizes; here the values are kept.

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
