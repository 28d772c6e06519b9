"""The cost of a term: parameters, floating-point operations and bytes, per op and in total."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from math import prod

from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.elaborate import elaborate, require_sizes
from ncd.formulas.prefixed_amounts import amount
from ncd.language.arguments import check_formats, check_term
from ncd.language.axes import Array
from ncd.language.cached_property import lazy_property
from ncd.language.number_formats import BITS, SCALE, Formats, is_cached
from ncd.language.op import InitialValue
from ncd.language.terms import Term
from ncd.language.torch_code import Arg, Cast, Contract, Infix, Lookup, Position, TorchExpr
from ncd.words import table_text

FLOAT32 = Formats()
COUNTING_RULES = (
    "Of FLOPs a multiply and an add are two, and only products count: a softmax, a norm or a sum "
    "has 0. A real number is 4 bytes, a whole one 8."
)
BYTES = 4  # a float32
INTEGER_BYTES = 8  # an int64


@dataclass(frozen=True)
class OpCost:
    """The cost of one op: learned numbers, operations of a forward pass, bytes of new arrays.

    An op in a scan counts as often as it runs, its parameters once.
    """

    node: str
    label: str
    parameters: int
    flops: int
    bytes: int


SHOWN_OPS = 40  # in the table of a cost; more of them would be a wall


def count_texts(cost: Cost | OpCost) -> tuple[str, str, str]:
    """Returns the numbers of a cost as a table has them: parameters, FLOPs and bytes."""
    return f"{cost.parameters:,}", f"{cost.flops:,}", f"{cost.bytes:,}"


@dataclass(frozen=True)
class Cost:
    """The cost of a term, in total and for each op.

    The memory that a run needs at one time is given by :func:`ncd.run.guard.peak`.

    Args:
        parameters: The number of learned numbers; a layer that several ops share counts for the
            first of them.
        flops: The floating-point operations of one forward pass; a multiply-add is two.
        bytes: The memory of all arrays that the ops make, 4 bytes for a real number and 8 for a
            whole one.
        ops: The cost of each op, in the order of the cells.
        weight_bytes: The bytes of the learned numbers in their format, with the scales of whole
            numbers.
        cache_bytes: The bytes that a cache keeps of a position, in all layers together.

    Source: ``torch.utils.flop_counter``, whose counts it matches where no size is 1.

    >>> from ncd.ops import Softmax
    >>> cost(Softmax("x:3")).ops
    (OpCost(node='n0', label='Softmax', parameters=0, flops=0, bytes=12),)
    """

    parameters: int
    flops: int
    bytes: int
    ops: tuple[OpCost, ...]
    weight_bytes: int = 0
    cache_bytes: int = 0

    def __repr__(self) -> str:
        """Returns a table of the ops, the last line their sum.

        >>> from ncd import Linear
        >>> cost(Linear("m:3 -> k:2", "Q"))
        op        parameters  FLOPs  bytes
        Linear Q           6     12      8
        total              6     12      8
        """
        rows = [(op.label, *count_texts(op)) for op in self.ops[:SHOWN_OPS]]
        if (rest := len(self.ops) - len(rows)) > 0:
            rows.append((f"… {rest} more", "", "", ""))
        head = ("op", "parameters", "FLOPs", "bytes")
        return table_text([head, *rows, ("total", *count_texts(self))], right={1, 2, 3})

    @lazy_property
    def by_node(self) -> dict[str, OpCost]:
        """The cost of each op, by its id."""
        return {op.node: op for op in self.ops}


def cost(term: Term, formats: Formats | None = None) -> Cost:
    """Returns the cost of a term, without running it or allocating memory.

    Args:
        term: The term, with sizes.
        formats: The number formats in which bytes are counted; float32 by default.

    Raises:
        SizeError: For an axis without a size.
        ParseError: For formats of another kind.

    Source: ``torch.utils.flop_counter``.

    >>> from ncd import Id
    >>> from ncd.ops import Linear
    >>> cost(Id("y:5 m:3") >> Linear("m -> k:2", "Q")).parameters
    6
    """
    check_term(term, "cost")
    check_formats(formats, "cost")
    return cost_of(elaborate(term), formats)


def cost_of(circuit: Circuit, formats: Formats | None = None) -> Cost:
    """Returns the cost of a circuit."""
    return _cost(circuit.term, formats or FLOAT32)


@lru_cache(maxsize=256)
def _cost(term: Term, formats: Formats) -> Cost:
    circuit = elaborate(term)
    require_sizes(circuit)
    seen: set[str] = set()
    ops = tuple(_op_cost(cell, seen, formats) for cell in circuit.cells)
    counted: set[str] = set()
    weights = sum(_weight_bytes(cell, counted, formats) for cell in circuit.cells)
    kept = cached_numbers(circuit, formats.cached)
    return Cost(
        parameters=sum(op.parameters for op in ops),
        flops=sum(op.flops for op in ops),
        bytes=sum(op.bytes for op in ops),
        ops=ops,
        weight_bytes=weights,
        cache_bytes=in_bytes(kept, formats.cache),
    )


def remarks(circuit: Circuit, cost: Cost) -> tuple[str, ...]:
    """Returns what a circuit counts that a kernel made for it would not, in sentences.

    >>> from ncd import catalogue, elaborate
    >>> term = catalogue["gcn"].build(**catalogue["gcn"].preset("cora").knobs)
    >>> print(remarks(elaborate(term), cost(term))[0])
    159 GFLOP multiply by tables of ones and zeros: a sparse kernel adds at the ones alone.
    """
    inputs, makers = inputs_behind_wires(circuit), circuit.producers
    products = [cell for cell in circuit.cells if isinstance(_code(cell), Contract)]
    multiplied = {id for cell in products for id in inputs[cell.id]}
    copied = sparse = 0
    for cell in circuit.cells:
        code, made_by = _code(cell), [makers.get(id) for id in inputs[cell.id]]
        if isinstance(code, Lookup) and cell.outputs[0].id in multiplied:
            copied += any(map(_is_learned, made_by[1:])) * cost.by_node[cell.id].bytes
        if isinstance(code, Contract):
            sparse += any(map(_is_one_hot, made_by)) * cost.by_node[cell.id].flops
    said = (
        f"{amount(copied, 'B')} are copies of learned weights, one for each position that chose "
        "them: a kernel that takes the positions of an expert together reads them in place.",
        f"{amount(sparse, 'FLOP')} multiply by tables of ones and zeros: a sparse kernel adds at "
        "the ones alone.",
    )
    return tuple(text for text, number in zip(said, (copied, sparse), strict=True) if number)


def inputs_behind_wires(circuit: Circuit) -> dict[str, tuple[str, ...]]:
    """Returns the ids of the arrays that each op takes, seen through ops that only pass them on."""
    first: dict[str, str] = {}
    found = {}
    for cell in circuit.cells:
        ins = found[cell.id] = tuple([first.get(value.id, value.id) for value in cell.inputs])
        code = cell.torch_code if isinstance(cell.torch_code, tuple) else ()
        for value, expr in zip(cell.outputs, code, strict=False):
            if isinstance(expr, Arg):
                first[value.id] = ins[expr.index]
    return found


def _code(cell: Cell | None) -> TorchExpr | None:
    """Returns the torch code of an op's first result."""
    code = cell.torch_code if cell else None
    return code[0] if isinstance(code, tuple) and code else None


def _is_learned(maker: Cell | None) -> bool:
    return maker is not None and not maker.inputs and bool(maker.initial_values)


def _is_one_hot(maker: Cell | None) -> bool:
    """Returns whether an op compares positions with those of an axis: it gives ones and zeros."""
    code = _code(maker)
    if isinstance(code, Cast):
        code = code.operand
    return isinstance(code, Infix) and code.sign == "==" and isinstance(code.right, Position)


def in_bytes(numbers: int, name: str) -> int:
    """Returns the bytes of so many numbers in a format."""
    bits = BITS[name]
    return numbers * (bits // 8) if bits >= 8 else -(-numbers * bits // 8)


def _weight_bytes(cell: Cell, seen: set[str], formats: Formats) -> int:
    """Returns the bytes of a cell's learned numbers, unless its layer is in ``seen``."""
    if not cell.initial_values or cell.path in seen:
        return 0
    seen.add(cell.path)
    return sum(
        _stored_bytes(cell, value.array, formats, name)
        for name, value in cell.initial_values.items()
        if value.is_learned
    )


def _stored_bytes(cell: Cell, array: Array, formats: Formats, name: str) -> int:
    if name == "bias" or len(array) < 2:
        return in_bytes(array.numel, formats.vector_format)
    scales = _channels(cell, array) if formats.weights.startswith("int") else 0
    return in_bytes(array.numel, formats.weights) + SCALE * scales


def _channels(cell: Cell, array: Array) -> int:
    """Returns the rows of a weight, each of which has a scale: the new axes of a layer's output."""
    made = cell.site.own_outputs[0].names if cell.layer is not None else ()
    rows = list(takewhile(lambda axis: axis.name in made, array)) or [array[0]]
    return prod(prod(axis.shape) for axis in rows)


def _op_cost(cell: Cell, seen: set[str], formats: Formats) -> OpCost:
    initial = own_parameters(cell, seen)
    parameters = sum(value.array.numel for value in initial if value.is_learned)
    own = (
        cell.remember_result("made", new_array_bytes)
        if formats.is_float32
        else new_array_bytes(cell, formats)
    )
    bytes = cell.run_count * own
    return OpCost(cell.id, cell.op.display_name, parameters, cell.flops, bytes)


def own_parameters(cell: Cell, seen: set[str]) -> tuple[InitialValue, ...]:
    """Returns the parameters and buffers of a cell's layer, unless it is in ``seen``."""
    initial = cell.initial_values
    if not initial or cell.path in seen:
        return ()
    seen.add(cell.path)
    return tuple(initial.values())


def cached_numbers(circuit: Circuit, names: tuple[str, ...]) -> int:
    """Returns how many numbers of a position the ops of these names give, in all layers together.

    They are what a text that is written needs to keep of each word, such as keys and values; of a
    model that reads one text and writes another, of a word of both.
    """
    return sum(cached_numbers_by_axis(circuit, names).values())


def cached_numbers_by_axis(circuit: Circuit, names: tuple[str, ...]) -> dict[str, int]:
    """Returns the same, parted by the axis of the text whose positions they are of.

    >>> from ncd import catalogue, elaborate
    >>> t5 = catalogue["t5"]
    >>> cached_numbers_by_axis(elaborate(t5.build(l=1, h=2, k=8)), t5.cached)
    {'t': 32, 's': 32}
    """
    found: dict[str, int] = {}
    for cell in circuit.cells:
        if is_cached(cell.path, names):
            axis, *rest = cell.outputs[0].array
            found[axis.name] = found.get(axis.name, 0) + Array(rest).numel
    return found


def new_array_bytes(cell: Cell, formats: Formats | None = None) -> int:
    """Returns the bytes of the new arrays of a cell, without those that it only passes on."""
    used = formats or FLOAT32
    weight = not cell.inputs and bool(cell.initial_values)
    name = used.weights if weight else used.activation_format(cell.path)
    code = cell.torch_code
    arrays = [value.array for value in cell.outputs]
    if isinstance(code, tuple):
        pairs = zip(arrays, code, strict=True)
        arrays = [array for array, expr in pairs if not isinstance(expr, Arg)]
    return sum(
        in_bytes(prod(array.shape), name)
        if array.below is None
        else INTEGER_BYTES * prod(array.shape)
        for array in arrays
    )
