"""An op's expressions as Python, with einops or torch alone."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ncd.language import torch_code as ex
from ncd.language.axes import Axis, Dim
from ncd.language.torch_code import Group, Lookup, Scattered
from ncd.write.torch_source.identifiers import UniqueNames, quote
from ncd.write.torch_source.line_breaking import (
    SIGN,
    Code,
    bracketed_code,
    infix,
    method,
    prefix,
    receiver,
    tuple_of,
)

# --- Writes rearranged, aligned and contracted dimensions, with einops or with torch alone

Groups = tuple[Group, ...]
DimName = Callable[[Dim], str]
SizeOf = Callable[[Dim], Code]


def einops_pattern(
    before: Groups, after: Groups, name: DimName, batched: bool
) -> tuple[str, list[Dim]]:
    """Returns einops' pattern, and the dimensions whose sizes it needs: all but one of a group."""
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    while same and any(len(group) != 1 for group in before[:same]):
        same -= 1
    before, after = before[same:], after[same:]
    lead = ["..."] if batched or same else []
    left, right = (
        [*lead, *(_group_pattern(group, name) for group in side)] for side in (before, after)
    )
    sizes = [dim for group in before for dim in group[1:]]
    return f'"{" ".join(left)} -> {" ".join(right)}"', sizes


def _group_pattern(group: Group, name: DimName) -> str:
    names = [name(dim) for dim in group]
    return f"({' '.join(names)})" if len(names) > 1 else names[0] if names else "1"


def product_pattern(
    before: Sequence[Group], after: Group, name: DimName, batched: Sequence[bool], join: str
) -> str:
    """Returns the pattern of an einsum; ``join`` separates dimensions."""
    sides = [
        join.join([*(["..."] if has else []), *map(name, group)])
        for group, has in zip((*before, after), (*batched, any(batched)), strict=True)
    ]
    comma, arrow = (", ", " -> ") if join else (",", "->")
    return f'"{comma.join(sides[:-1])}{arrow}{sides[-1]}"'


def letters(before: Sequence[Group]) -> DimName:
    """Returns a letter for each dimension: the first of its name if that is free."""
    found: dict[tuple[str, int], str] = {}
    free = dict.fromkeys(string.ascii_lowercase + string.ascii_uppercase)
    for dim in (dim for group in before for dim in group):
        if dim.key not in found:
            first = dim.name[0]
            found[dim.key] = first if first in free else next(iter(free))
            del free[found[dim.key]]
    return lambda dim: found[dim.key]


def spread_index(kept: Sequence[bool], batched: bool) -> str:
    """Returns an index that adds size 1 for missing dimensions: ``[..., None, :]``.

    Missing dimensions before all others matter only with batch axes.
    """
    words = [":" if has else "None" for has in kept]
    if not batched and ":" in words:
        words = words[words.index(":") :]
    elif not batched:
        words = []
    while words[:1] == [":"]:
        del words[0]
    return f"[..., {', '.join(words)}]" if "None" in words else ""


# --- on torch alone ------------------------------------------------------------------------------


def by_methods(on: Code, before: Groups, after: Groups, size: SizeOf) -> Code:
    """Returns the rearrangement with ``unflatten``, ``transpose``, ``movedim``, ``flatten``."""
    on = _split_groups(on, before, size)
    start = [dim for group in before for dim in group]
    end = [dim for group in after for dim in group]
    on = _permute_last(on, [start.index(dim) for dim in end])
    return _merge_groups(on, after)


def _split_groups(on: Code, before: Groups, size: SizeOf) -> Code:
    for place in reversed(range(len(before))):
        group = before[place]
        at = Code(str(-1 - sum(map(len, before[place + 1 :]))))
        if not group:
            on = method(on, "squeeze", (at,))
        elif len(group) > 1:
            sizes = ", ".join(["-1", *(size(dim).text for dim in group[1:])])
            on = method(on, "unflatten", (at, Code(f"({sizes})")))
    return on


def _merge_groups(on: Code, after: Groups) -> Code:
    for done, group in enumerate(reversed(after)):  # so many dimensions are behind this one
        last = Code(str(-1 - done))
        if not group:
            on = method(on, "unsqueeze", (last,))
        elif len(group) > 1:
            first = Code(str(-len(group) - done))
            on = method(on, "flatten", (first, last) if done else (first,))
    return on


def _permute_last(on: Code, order: list[int]) -> Code:
    """Returns the last dimensions permuted; ``order`` says where each comes from."""
    n = len(order)
    moved = [to - n for to in range(n) if order[to] != to]
    if not moved:
        return on
    if len(moved) == 2:
        return method(on, "transpose", (Code(str(moved[0])), Code(str(moved[1]))))
    for to in (moved[0], moved[-1]):
        source = order[to] - n
        rest = [i for i in range(n) if i != source + n]
        rest.insert(to + n, source + n)
        if rest == order:
            return method(on, "movedim", (Code(str(source)), Code(str(to))))
    sources = tuple_of([Code(str(order[to] - n)) for to in moved])
    return method(on, "movedim", (sources, tuple_of([Code(str(to)) for to in moved])))


# --- Writes lookups in a table, and sums into the places of one


def lookup_code(
    expr: Lookup, index: Code, table: Code, ranks: tuple[int, int], batched: tuple[bool, bool]
) -> Code:
    """Returns the shortest form of a lookup in torch.

    That is an embedding if nothing is shared, an index if only the table has a batch, and otherwise
    ``take_along_dim``, which needs equally many dimensions on both sides.
    """
    rank, rest = ranks[1], expr.trailing_rank
    if rank == 1 + rest and not batched[1]:
        if rest == 1:
            return bracketed_code("F.embedding(", (index, table))
        return receiver(table).with_suffix(f"[{index.text}]")
    if rank == 1 + rest and not batched[0]:
        return receiver(table).with_suffix(f"[..., {index.text}{', :' * rest}]")
    places = _places(expr, index)
    width = ranks[0] - expr.index_rank + 1 + rest  # of the places
    if batched == (False, True):
        places = _spread(places, width, table, rank)
    elif batched == (True, False):
        table = _spread(table, rank, index, ranks[0])
    dim = Code(f"dim={-1 - rest}")
    found = bracketed_code("torch.take_along_dim(", (table, places, dim))
    if expr.index_rank == 0:
        return method(found, "squeeze", (Code(str(-1 - rest)),))
    if expr.index_rank == 1:
        return found
    sizes = f"{receiver(index).text}.shape[-{expr.index_rank}:]"
    return method(found, "unflatten", (Code(str(-1 - rest)), Code(sizes)))


def scatter_code(
    expr: Scattered, index: Code, values: Code, ranks: tuple[int, int], batched: tuple[bool, bool]
) -> Code:
    """Returns zeros with values added at their places, by ``scatter_add``."""
    rest, dim = expr.trailing_rank, -1 - expr.trailing_rank
    places = _places(expr, index)
    if expr.index_rank != 1:
        name, args = (
            ("unsqueeze", (dim,))
            if expr.index_rank == 0
            else ("flatten", (dim - expr.index_rank + 1, dim))
        )
        values = method(values, name, tuple(Code(str(arg)) for arg in args))
    if batched == (True, False):
        width = ranks[0] - expr.index_rank + 1 + rest
        values = _spread(values, width, index, ranks[0])
    on = receiver(values).text
    sizes = [Code(f"*{on}.shape[:{dim}]"), Code(str(expr.size))]
    sizes += [Code(f"*{on}.shape[{-rest}:]")] if rest else []
    zeros = method(values, "new_zeros", tuple(sizes))
    wide = method(places, "expand_as", (values,))
    return method(zeros, "scatter_add", (Code(str(dim)), wide, values))


def _places(expr: Lookup | Scattered, index: Code) -> Code:
    """Returns the index with one dimension of its own, and size 1 for the others."""
    if expr.index_rank > 1:
        index = method(index, "flatten", (Code(str(-expr.index_rank)),))
    ones = expr.trailing_rank + (expr.index_rank == 0)
    return receiver(index).with_suffix(f"[...{', None' * ones}]") if ones else index


def _spread(on: Code, rank: int, like: Code, like_rank: int) -> Code:
    """Returns a tensor with the batch axes of another in front."""
    lead = Code(f"*{receiver(like).text}.shape[:{-like_rank or ''}]")
    return method(on, "expand", (lead, *[Code("-1")] * rank))


# --- Writes an op's expressions as Python; one method for each kind

IMPORTS = {
    "torch": "import torch",
    "math": "import math",
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
    "einsum": "from einops import einsum",
    "rearrange": "from einops import rearrange",
}


@dataclass
class Writer:
    """Writes expressions with the names of tensors, layers and sizes at their place.

    ``batched_args`` says which tensors may have batch axes in front. ``reference_tensor`` is a real
    tensor (or None) and ``device_tensor`` any tensor, which new ones imitate. ``bound_variables``
    are parts that have a variable.
    """

    size: Callable[[Axis], Code]
    dims: UniqueNames
    imports: set[str]
    einops: bool = True
    args: tuple[str, ...] = ()
    batched_args: tuple[bool, ...] = ()
    ranks: tuple[int, ...] = ()
    parameter_code: str = ""
    reference_tensor: str = ""
    device_tensor: str = ""
    bound_variables: dict[ex.TorchExpr, str] = field(default_factory=dict)

    def write(self, expr: ex.TorchExpr) -> Code:
        """Returns the expression as code."""
        if self.bound_variables and expr in self.bound_variables:
            return Code(self.bound_variables[expr])
        return _WRITERS[type(expr)](self, expr)

    def has_batch(self, expr: ex.TorchExpr) -> bool:
        """Returns whether a tensor may have batch axes in front."""
        return any(
            isinstance(part, ex.Arg) and self.batched_args[part.index] for part in expr.walk()
        )

    def rank(self, expr: ex.TorchExpr) -> int:
        """Returns the number of dimensions of a tensor without a batch, as far as known."""
        if isinstance(expr, ex.Arg):
            return self.ranks[expr.index]
        if isinstance(expr, ex.Rearrange | ex.Contract | ex.Align):
            return len(expr.target_dims)
        return max((self.rank(part) for part in expr.parts()), default=0)

    def dim_size(self, dim: Dim) -> Code:
        """Returns the size of a dimension as code; a number for a side of a group."""
        return Code(str(dim.size)) if dim.side else self.size(Axis(dim.name, dim.size))

    def function(self, name: str) -> str:
        """Returns a dotted name, and imports it."""
        self.imports.add(IMPORTS[name.partition(".")[0]])
        return name


def _const(writer: Writer, expr: ex.Const) -> Code:
    value = expr.value
    if isinstance(value, str):
        return Code(quote(value))
    if isinstance(value, float) and not math.isfinite(value):
        return Code(f'float("{value}")')
    return Code(repr(value), SIGN) if repr(value).startswith("-") else Code(repr(value))


def _size(writer: Writer, expr: ex.Size) -> Code:
    product: Code | None = None
    for axis in expr.axes:
        size = writer.size(axis)
        product = infix("*", product, size) if product else size
    return product or Code("1")


def _layer(writer: Writer, expr: ex.Layer) -> Code:
    return bracketed_code(f"{writer.parameter_code}(", map(writer.write, expr.args))


def _call(writer: Writer, expr: ex.Call) -> Code:
    args = [writer.write(part) for part in expr.args]
    if expr.function == "torch.cat" and isinstance(expr.args[0], ex.Tuple):
        args[0] = _expand_batches(writer, expr.args[0])
    named = [writer.write(part).with_prefix(f"{name}=") for name, part in expr.kwargs]
    return bracketed_code(f"{writer.function(expr.function)}(", (*args, *named))


def _expand_batches(writer: Writer, given: ex.Tuple) -> Code:
    """Returns tensors for ``torch.cat``, expanded to the batch axes of the others."""
    parts = [writer.write(part) for part in given.items]
    batched = [writer.has_batch(part) for part in given.items]
    if all(batched) or not any(batched):
        return tuple_of(parts)
    rank = max(map(writer.rank, given.items))
    lead = Code(f"*{receiver(parts[batched.index(True)]).text}.shape[:-{rank}]")
    spread = (lead, *[Code("-1")] * rank)
    found = zip(parts, batched, strict=True)
    return tuple_of([part if has else method(part, "expand", spread) for part, has in found])


def _method(writer: Writer, expr: ex.Method) -> Code:
    args = map(writer.write, expr.args)
    named = (writer.write(part).with_prefix(f"{name}=") for name, part in expr.kwargs)
    return method(writer.write(expr.operand), expr.name, (*args, *named))


def _infix(writer: Writer, expr: ex.Infix) -> Code:
    if expr.sign == "+" and isinstance(expr.left, ex.Filled) and _is_plain_number(expr.right):
        return _new_tensor(writer, expr.left, expr.right)
    return infix(expr.sign, writer.write(expr.left), writer.write(expr.right))


def _is_plain_number(expr: ex.TorchExpr) -> bool:
    """Returns whether an expression is a number, not a tensor."""
    ends = (part for part in expr.walk() if not isinstance(part, ex.Infix | ex.Prefix))
    return all(
        isinstance(part, ex.Const | ex.Size)
        or (isinstance(part, ex.Call) and part.function[:4] == "math")
        for part in ends
    )


def _prefix(writer: Writer, expr: ex.Prefix) -> Code:
    on = expr.operand
    if expr.sign == "-" and isinstance(on, ex.Const) and on.value == math.inf:
        return _const(writer, ex.Const(-math.inf))
    return prefix(expr.sign, writer.write(on))


def _item(writer: Writer, expr: ex.Item) -> Code:
    return receiver(writer.write(expr.operand)).with_suffix(f"[{expr.index}]")


def _select(writer: Writer, expr: ex.Select) -> Code:
    index = ", ".join(("...", str(expr.index), *[":"] * (-expr.dim - 1)))
    return receiver(writer.write(expr.operand)).with_suffix(f"[{index}]")


def _lookup(writer: Writer, expr: ex.Lookup) -> Code:
    index, table = expr.index, expr.table
    ranks = writer.rank(index), writer.rank(table)
    batched = writer.has_batch(index), writer.has_batch(table)
    found = lookup_code(expr, writer.write(index), writer.write(table), ranks, batched)
    first = found.text.partition(".")[0]
    writer.imports.update([IMPORTS[first]] if first in IMPORTS else [])
    return found


def _scatter_code(writer: Writer, expr: ex.Scattered) -> Code:
    index, values = expr.index, expr.values
    ranks = writer.rank(index), writer.rank(values)
    batched = writer.has_batch(index), writer.has_batch(values)
    return scatter_code(expr, writer.write(index), writer.write(values), ranks, batched)


def _rearrange(writer: Writer, expr: ex.Rearrange) -> Code:
    on = writer.write(expr.operand)
    if not writer.einops:
        return by_methods(on, expr.source_dims, expr.target_dims, writer.dim_size)
    pattern, sizes = einops_pattern(
        expr.source_dims,
        expr.target_dims,
        writer.dims.dim,
        writer.has_batch(expr.operand) and not expr.exact,
    )
    named = (writer.dim_size(dim).with_prefix(f"{writer.dims.dim(dim)}=") for dim in sizes)
    return bracketed_code(f"{writer.function('rearrange')}(", (on, Code(pattern), *named))


def _contract(writer: Writer, expr: ex.Contract) -> Code:
    args = [writer.write(part) for part in expr.args]
    batched = [writer.has_batch(part) for part in expr.args]
    if writer.einops:
        pattern = product_pattern(expr.source_dims, expr.target_dims, writer.dims.dim, batched, " ")
        return bracketed_code(f"{writer.function('einsum')}(", (*args, Code(pattern)))
    letter = letters(expr.source_dims)
    pattern = product_pattern(expr.source_dims, expr.target_dims, letter, batched, "")
    return bracketed_code(f"{writer.function('torch.einsum')}(", (Code(pattern), *args))


def _align(writer: Writer, expr: ex.Align) -> Code:
    on, batched = writer.write(expr.operand), writer.has_batch(expr.operand)
    order = tuple(dim for dim in expr.target_dims if dim in expr.source_dims)
    if order != expr.source_dims:
        on = _rearrange(
            writer,
            ex.Rearrange(expr.operand, _single_groups(expr.source_dims), _single_groups(order)),
        )
    index = spread_index([dim in expr.source_dims for dim in expr.target_dims], batched)
    return receiver(on).with_suffix(index) if index else on


def _single_groups(dims: tuple[Dim, ...]) -> tuple[tuple[Dim, ...], ...]:
    return tuple((dim,) for dim in dims)


def _position(writer: Writer, expr: ex.Position) -> Code:
    place = [Code(f"device={writer.device_tensor}.device")] if writer.device_tensor else []
    made = bracketed_code(
        f"{writer.function('torch.arange')}(", (writer.dim_size(expr.dim), *place)
    )
    behind = len(expr.target_dims) - 1 - expr.target_dims.index(expr.dim)
    return made.with_suffix(f"[:{', None' * behind}]") if behind else made


def _zeros_code(writer: Writer, expr: ex.Filled) -> Code:
    return _new_tensor(writer, expr, None)


def _new_tensor(writer: Writer, filled: ex.Filled, value: ex.TorchExpr | None) -> Code:
    """Returns a new tensor of zeros, or of one number."""
    sizes = [writer.dim_size(dim) for dim in filled.dims]
    shape = tuple_of(sizes) if sizes else Code("()")
    parts = sizes if sizes and value is None else [shape]
    what = "zeros" if value is None else "full"
    if writer.reference_tensor:
        number = () if value is None else (writer.write(value),)
        return bracketed_code(f"{writer.reference_tensor}.new_{what}(", (*parts, *number))
    if value is not None:
        parts.append(_real(writer, value))
    place = [Code(f"device={writer.device_tensor}.device")] if writer.device_tensor else []
    return bracketed_code(f"{writer.function(f'torch.{what}')}(", (*parts, *place))


def _real(writer: Writer, value: ex.TorchExpr) -> Code:
    """Returns a number in a form that torch takes for a real one."""
    if isinstance(value, ex.Const) and isinstance(value.value, int | float):
        return _const(writer, ex.Const(float(value.value)))
    return bracketed_code("float(", (writer.write(value),))


def _cast(writer: Writer, expr: ex.Cast) -> Code:
    on = writer.write(expr.operand)
    if expr.target_kind == "whole":
        return method(on, "long", ())
    if not writer.reference_tensor:
        return method(on, "float", ())
    return method(on, "to", (Code(f"{writer.reference_tensor}.dtype"),))


_WRITERS: Mapping[type[ex.TorchExpr], Callable[[Writer, Any], Code]] = {
    ex.Arg: lambda writer, expr: Code(writer.args[expr.index]),
    ex.Const: _const,
    ex.Size: _size,
    ex.Layer: _layer,
    ex.Weight: lambda writer, expr: Code(writer.parameter_code),
    ex.Call: _call,
    ex.Method: _method,
    ex.Infix: _infix,
    ex.Prefix: _prefix,
    ex.Tuple: lambda writer, expr: tuple_of([writer.write(item) for item in expr.items]),
    ex.Item: _item,
    ex.Select: _select,
    ex.Lookup: _lookup,
    ex.Scattered: _scatter_code,
    ex.Rearrange: _rearrange,
    ex.Contract: _contract,
    ex.Align: _align,
    ex.Position: _position,
    ex.Filled: _zeros_code,
    ex.Cast: _cast,
}
