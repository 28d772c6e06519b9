"""Calls that have no op of their own, as named boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ncd.importing.base.atoms import Dim, every, fresh, group_of, leaves, size
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Constant, Slot, Value, kind_of
from ncd.importing.base.op_order import reordered
from ncd.lang.terms.terms import Beside, Id, Term, Then
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Opaque
from ncd.ops.torch_calls.call_arguments import LETTERS

PLACES = ("device", "dtype", "layout", "memory_format", "pin_memory")  # not of the mathematics
VIEWS = ("aten.view.default", "aten._unsafe_view.default")  # which ask how numbers lie in memory


def boxed(g: Builder, target: str, args: Sequence[Any], named: dict[str, Any], val: Any) -> Any:
    """Adds a box that calls a function by its name; returns its results."""
    taken: list[Value] = []
    kept = {name: x for name, x in named.items() if x is not None and name not in PLACES}
    words = [_spelled(g, x, taken) for x in args]
    words += [f"{name}={_spelled(g, x, taken)}" for name, x in kept.items()]
    if not taken:
        g.refuse("a call without arrays")
    several = isinstance(val, tuple | list)
    found = [_result(g, each, taken) for each in (val if several else [val])]
    target = "aten.reshape" if target in VIEWS else target
    title = target.removesuffix(".default").removesuffix("_").replace("_.", ".")  # not in place
    for value in found:
        g.meet(every(value.dims))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        ins = [Array(axes(every(v.dims)), a.below) for v, a in zip(taken, arrays, strict=True)]
        outs = [Array(axes(every(v.dims)), _bound(axes, v.slot)) for v in found]
        text = ", ".join(words)
        for i, value in enumerate(taken):  # now that all dimensions have their parts
            text = text.replace(f"<{i}>", f"{LETTERS[i]}{_shaped(value)}")
        call: Term = Opaque(Signature(Type(ins), Type(outs)), title, text)
        if all(one.names == two.names for one, two in zip(ins, arrays, strict=True)):
            return call
        moved = (
            Id(Type((array,))) if array.names == own.names else reordered(array, own)
            for own, array in zip(ins, arrays, strict=True)
        )
        return Then(Beside(*moved), call)

    g.step(make, taken, [value.slot for value in found])
    return tuple(found) if several else found[0]


def operator_name(target: str, val: Any) -> str:
    """Returns the name of a function; for ``a & b`` it includes the kind of numbers.

    A number beside an array stays one: torch has other names for its calls.

    >>> operator_name("aten.__and__.Tensor", torch.ones(2).bool())
    'aten.logical_and.default'
    """
    name = target.removeprefix("aten.").split(".")[0].strip("_").removeprefix("bitwise_")
    if name not in ("and", "or", "xor", "not"):
        return target
    truths = isinstance(val, torch.Tensor) and val.dtype == torch.bool
    kind = "Scalar" if target.endswith(".Scalar") else "Tensor"
    return f"aten.logical_{name}.default" if truths else f"aten.bitwise_{name}.{kind}"


def _bound(axes: Axes, slot: Slot) -> Any:
    return axes((slot.below,))[0] if slot.below is not None else None


def _spelled(g: Builder, x: Any, taken: list[Value]) -> str:
    """Returns an argument as text, with ``<0>`` for the first array."""
    if isinstance(x, list | tuple):
        return f"[{', '.join(_spelled(g, each, taken) for each in x)}]"
    if isinstance(x, Value | Constant):
        if len(taken) == len(LETTERS):
            g.refuse(f"more than {len(LETTERS)} arrays")
        value = _in_groups(g, g.solid(g.value(x)))
        if isinstance(x, Constant) and kind_of(x.tensor.dtype) != value.slot.kind:
            g.refuse("whole numbers below 0, or huge ones")
        taken.append(value)
        return f"<{len(taken) - 1}>"
    if x is None or isinstance(x, bool | int | float | str):
        return repr(x) if not isinstance(x, float) or abs(x) < 1e300 else _infinite(x)
    g.refuse(f"an argument {x}")


def _infinite(x: float) -> str:
    return "1e999" if x > 0 else "-1e999"


def _in_groups(g: Builder, x: Value) -> Value:
    """Returns a value whose spatial groups stand as neighbouring dimensions, or have none."""
    atoms = every(x.dims)
    for i, atom in enumerate(atoms):
        group = group_of(atom)
        if group and group[0] is atom and atoms[i : i + len(group)] != group:
            return g.ungrouped(x)
        if group and group[0] is not atom and (i == 0 or atoms[i - 1] not in group):
            return g.ungrouped(x)
    return x


def _shaped(x: Value) -> str:
    """Returns the methods that give an array the dimensions of torch."""
    text = ".bool()" if x.slot.kind == "bool" else ""
    for i, dim in enumerate(x.dims):
        count = len(leaves(dim))
        if count > 1:
            text += f".flatten({i}, {i + count - 1})"
        elif count == 0:
            text += f".unsqueeze({i})"
    return text


def _result(g: Builder, val: Any, taken: Sequence[Value]) -> Value:
    """Returns a result with the shape that torch gives; equal dimensions keep their atoms."""
    if not isinstance(val, torch.Tensor) or any(not isinstance(n, int) for n in val.shape):
        g.refuse("a result that is no tensor of a known shape")
    shape = tuple(val.shape)
    if 0 in shape:
        g.refuse("a result without numbers")
    like = next((x for x in taken if len(x.dims) == len(shape)), None)
    dims: list[Dim] = []
    for i, n in enumerate(shape):
        kept = like is not None and size(like.dims[i]) == n
        dims.append(like.dims[i] if like is not None and kept else fresh(n))
    atoms = every(dims)
    if any({*group_of(atom)} - {*atoms} for atom in atoms):
        dims = [fresh(n) for n in shape]
    if val.dtype.is_complex:
        g.refuse("complex numbers")
    kind = kind_of(val.dtype)
    return Value(tuple(dims), Slot(every(dims), kind, g.bound(kind)))
