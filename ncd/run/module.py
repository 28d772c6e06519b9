"""The torch module of a term: its layers, checks of inputs, and other number formats."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.elaborate import elaborate
from ncd.errors import MismatchError, ParseError, short_repr
from ncd.language.axes import Array
from ncd.language.number_formats import BITS, PLAIN_FORMATS, Formats
from ncd.language.torch_code import Call, TorchExpr
from ncd.run.evaluate import TensorOptions, function, static_value
from ncd.run.fused_attention import fuse_attention
from ncd.run.program import (
    Program,
    RunContext,
    Watch,
    execute,
    group_segments,
    plan,
    segments,
    steps_leading_to,
)
from ncd.run.seeding import SeededDropout, fill_initial, generator

# --- Checks of the tensors that a module is given


def is_real_tensor(x: object) -> bool:
    """Returns whether a value is a tensor of real or complex numbers."""
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def check_shapes(dom: tuple[Array, ...], inputs: tuple[Tensor, ...]) -> None:
    """Raises MismatchError for a wrong number, shape or kind of tensors."""
    bound = [axis for array in dom for axis in array]
    if len(inputs) != len(dom):
        words = ", ".join(map(str, dom))
        raise MismatchError(
            f"the module takes {len(dom)} tensors, one for each of ({words}), "
            f"but got {len(inputs)}",
            bound=bound,
            cure="*ncd.example_inputs(term)",
        )
    try:
        leads = [_lead(array, x) for array, x in zip(dom, inputs, strict=True)]
    except MismatchError as error:
        raise error.with_context(bound=bound) from None
    if not torch.compiler.is_compiling() and not _broadcast(leads):
        raise MismatchError(
            "the batch axes in front of the arrays differ: "
            + ", ".join(str(tuple(lead)) for lead in dict.fromkeys(leads)),
            bound=bound,
            cure="the same batch axes in front of all",
        )


def _lead(array: Array, x: Tensor) -> tuple[int, ...]:
    """Returns the batch axes of a tensor; raises MismatchError if it does not fit its array."""
    shape, n = tuple(getattr(x, "shape", ())), len(array.shape)
    if not isinstance(x, Tensor) or len(shape) < n or shape[len(shape) - n :] != array.shape:
        raise MismatchError(
            f"the array ({array}) has shape {array.shape}, but the tensor has {shape}",
            cure=f"a tensor of shape {array.shape}, or with batch axes in front of it",
        )
    if is_real_tensor(x) != (array.below is None):
        kind = "real" if array.below is None else "whole"
        raise MismatchError(
            f"the array ({array}) holds {kind} numbers, but the tensor is of type {x.dtype}",
            cure="x.float()" if kind == "real" else "x.long()",
        )
    return shape[: max(len(shape) - n, 0)]


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> bool:
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return False
    return True


def as_int64(array: Array, x: Tensor) -> Tensor:
    """Returns whole numbers as int64; raises MismatchError for one out of range.

    The range is checked on the CPU only, as a GPU would have to be waited for.
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


# --- The layers of a circuit as torch's modules, each at its path


def submodule(module: nn.Module, scope: tuple[str, ...]) -> nn.Module:
    """Returns the module that holds a scope's layers; numbered ones are in a ``ModuleList``.

    Those on the way to it are made.
    """
    for name, following in zip(scope, (*scope[1:], ""), strict=False):
        if isinstance(module, nn.ModuleList):
            while len(module) <= int(name):
                module.append(nn.Module())
        elif name not in module._modules:
            module.add_module(name, nn.ModuleList() if following.isdecimal() else nn.Module())
        module = module.get_submodule(name)
    return module


def new_layer(call: Call, path: str, seed: int | None) -> nn.Module:
    """Returns the layer of a call without initial numbers; torch's global state is not used."""
    kind = function(call.function)
    args = [_value(arg) for arg in call.args]
    named = {name: _value(value) for name, value in call.kwargs}
    if kind is nn.Dropout:
        return SeededDropout(kind(*args, **named).p, generator(seed or 0, path))
    device = "meta" if seed is None else "cpu"
    layer: nn.Module = _undrawn(kind)(*args, **named, device=device)
    layer.__class__ = kind
    return layer


def _value(expr: TorchExpr) -> Any:
    """Returns the value of a layer's argument."""
    found = static_value(expr)
    assert found is not None, expr
    return found.value


@lru_cache
def _undrawn(kind: type[nn.Module]) -> type[nn.Module]:
    """Returns a subclass of a layer class that does not initialise its numbers."""
    return type(kind.__name__, (kind,), {"reset_parameters": lambda layer: None})


# --- Runs in other number formats: weights, inputs and arrays are rounded, and then float32 again

FLOATS = {
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float8": torch.float8_e4m3fn,
}
LARGEST = torch.finfo(torch.float8_e4m3fn).max  # what is larger becomes this, not NaN


def round_to_format(x: Tensor, name: str, over: tuple[int, ...] = (-1,)) -> Tensor:
    """Returns the nearest numbers of a format, in the tensor's own dtype.

    Args:
        x: The numbers.
        name: The format.
        over: The dimensions that share a scale, for whole numbers.

    Their gradient is that of no rounding.

    >>> round_to_format(torch.tensor([1.0, 0.3, -0.52]), "int4").tolist()[0]
    1.0
    """
    if name == PLAIN_FORMATS:
        return x
    if name in FLOATS:
        bounded = x.clamp(-LARGEST, LARGEST) if name == "float8" else x
        near = bounded.detach().to(FLOATS[name]).to(x.dtype)
    else:
        near = _quantise(x.detach(), BITS[name], over)
    return x + (near - x).detach() if x.requires_grad and torch.is_grad_enabled() else near


def _quantise(x: Tensor, bits: int, over: tuple[int, ...]) -> Tensor:
    """Returns the nearest multiples of a scale, of which the largest number is the last."""
    last = 2 ** (bits - 1) - 1
    sizes = x.abs()
    finite = torch.where(sizes.isfinite(), sizes, 0)  # a mask holds -∞, which stays
    most = finite.amax(over, keepdim=True) if x.dim() else finite
    scale = most / torch.full_like(most, last)  # by a number, a GPU would multiply by its inverse
    near = (x / scale.clamp_min(1e-30)).round() * scale
    return torch.where(x.isfinite(), near, x)


@torch.no_grad()
def round_weights(module: nn.Module, formats: Formats) -> None:
    """Rounds the weights of a module where they stand."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point() and tensor.numel():
            several = tensor.dim() > 1
            name = formats.weights if several else formats.vector_format
            tensor.copy_(round_to_format(tensor, name, tuple(range(1, tensor.dim()))))


def rounded_inputs(inputs: tuple[Tensor, ...], formats: Formats) -> tuple[Tensor, ...]:
    """Returns the inputs of a run, in the format of its arrays."""
    name = formats.activations
    return tuple(round_to_format(x, name) if x.is_floating_point() else x for x in inputs)


def rounding_watch(formats: Formats, watch: Watch | None) -> Watch:
    """Returns what rounds the arrays that each step made, before ``watch`` sees them."""

    def step(
        cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...] | None:
        if given or not cell.initial_values:  # a weight has its own format
            made = tuple(_array(x, cell, formats) for x in made)
        seen = watch(cell, given, made) if watch is not None else None
        return seen or made

    return step


def _array(x: Tensor, cell: Cell, formats: Formats) -> Tensor:
    if not x.is_floating_point():
        return x
    x = round_to_format(x, formats.activations)
    name = formats.activation_format(cell.path)
    return x if name == formats.activations else round_to_format(x, name)


# --- The torch module of a term, with submodules named as in the diagram


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
        self._programs: dict[bool, Program] = {plain: self._plan_program(plain) for plain in now}
        self._shapes = [(array.shape, array.below is None) for array in self.term.dom]

    def _program(self, plain: bool) -> Program:
        """Returns the program that makes every array, or the one with fused attention."""
        if plain not in self._programs:
            self._programs[plain] = self._plan_program(plain)
        return self._programs[plain]

    def _plan_program(self, plain: bool) -> Program:
        if self.recompute:  # fused attention would hide the ops of a block
            wanted = segments(self.circuit, self.recompute)
            return plan(self.circuit, lambda parts, circuit: group_segments(parts, circuit, wanted))
        return plan(self.circuit) if plain else plan(self.circuit, fuse_attention)

    def _attach(self, cell: Cell, seed: int | None, shared: bool) -> bool:
        """Gives a cell its layer or parameter; returns whether it has one."""
        call, initial = cell.layer, cell.initial_values
        if call is None and not initial:
            return False
        home = submodule(self, cell.module_path)
        if call is not None:
            layer = new_layer(call, cell.path, seed)
            home.add_module(cell.name, layer)
            tensors = dict(layer.state_dict(keep_vars=True))
        else:
            (first,) = initial.values()
            kind = None if first.array.below is None else torch.int64
            device = "meta" if seed is None else "cpu"
            empty = torch.empty(first.array.shape, dtype=kind, device=device)
            if first.is_learned:
                home.register_parameter(cell.name, nn.Parameter(empty))
            else:
                home.register_buffer(cell.name, empty)
            tensors = dict.fromkeys(initial, getattr(home, cell.name))
        assert tensors.keys() == initial.keys(), (
            f"{cell.op.display_name}: {[*tensors]}, {[*initial]}"
        )
        if seed is not None:
            for name, tensor in tensors.items():
                purpose = f"{cell.path}.{name}" if call is not None else cell.path
                own = shared and isinstance(tensor, nn.Parameter)
                fill_initial(tensor, initial[name], seed, purpose, own)
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
        inputs = self._check_inputs(inputs)
        if not self.formats.is_float32:
            inputs, watch = (
                rounded_inputs(inputs, self.formats),
                rounding_watch(self.formats, watch),
            )
        plain = keep is not None or watch is not None or _is_transforming()
        program = self._program(plain)
        if only is not None:
            program = steps_leading_to(program, only)
        like = self._alike(inputs) if program.creates_tensors else _DEFAULT_OPTIONS
        return execute(program, inputs, RunContext(self, like, keep, watch))

    def _alike(self, inputs: Sequence[Tensor]) -> TensorOptions:
        """Returns device and dtype of new tensors: the first real input's, else the weights'."""
        for x in inputs:
            if x.is_floating_point():
                return TensorOptions(x.device, x.dtype)
        for x in (*self.parameters(), *self.buffers()):
            if x.is_floating_point():
                return TensorOptions(inputs[0].device if inputs else x.device, x.dtype)
        return _DEFAULT_OPTIONS

    def _check_inputs(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Returns the inputs, whole numbers as int64; raises MismatchError for a wrong one."""
        seen = [(getattr(x, "shape", None), is_real_tensor(x)) for x in inputs]
        # with no batch in front, as mostly, all is well; a graph for all batches must not ask that
        if torch.compiler.is_compiling() or seen != self._shapes:
            check_shapes(self.term.dom, inputs)
        if all(real for _, real in self._shapes):
            return inputs
        arrays = zip(self.term.dom, inputs, strict=True)
        return tuple([x if array.below is None else as_int64(array, x) for array, x in arrays])

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


_DEFAULT_OPTIONS = TensorOptions(torch.device("cpu"), torch.float32)


def _is_transforming() -> bool:
    """Returns whether torch is in forward-mode differentiation, vmap or similar."""
    if torch.compiler.is_compiling():
        return False
    inside = torch._C._functorch.peek_interpreter_stack() is not None
    return forward_ad._current_level >= 0 or inside


def with_rounding(module: CircuitModule, formats: Formats) -> CircuitModule:
    """Rounds a module's weights, and lets it round every array of its runs; returns it."""
    if not formats.is_float32:
        round_weights(module, formats)
        module.formats = formats
    return module


def with_recompute(module: CircuitModule, blocks: Collection[str]) -> CircuitModule:
    """Lets a module calculate blocks again in the backward pass; returns it."""
    if blocks:
        module.recompute = tuple(blocks)
        module._read(module.circuit)
    return module


# --- inputs --------------------------------------------------------------------------------------


def check_module(value: object, where: str) -> None:
    """Raises ParseError for what :func:`compile` did not make."""
    if not isinstance(value, CircuitModule):
        fact = f"{short_repr(value)} is not a compiled module"
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

    def __repr__(self) -> str:
        shapes = ", ".join("×".join(map(str, one.shape)) or "()" for one in self.outputs)
        return f"<Trace of {len(self.values)} arrays; outputs {shapes}>"


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
    >>> run = ncd.trace(ncd.run.guard.compile(term), *ncd.example_inputs(term))
    >>> tuple(run.values["v0"].shape), tuple(run.outputs[0].shape)
    ((20, 128), (20, 128))
    """
    check_module(module, "trace")
    values: dict[str, Tensor] = {}
    outputs = module.execute(inputs, keep=values)
    return Trace(outputs, values)
