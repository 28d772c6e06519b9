"""Laws on a single op: the same map in simpler ops, or in another form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.circuit.circuit import Cell
from ncd.errors import MismatchError
from ncd.language.axes import NO_AXES, Array, Signature, Type
from ncd.language.op import ArrayHandle
from ncd.language.step_wires import wire_together
from ncd.language.terms import Id, Term
from ncd.ops import (
    Add,
    CausalMask,
    Concat,
    Conv,
    Einsum,
    Elementwise,
    Index,
    LayerNorm,
    Linear,
    Map,
    Param,
    Reduce,
    RMSNorm,
    Scale,
    Softmax,
)
from ncd.ops.weights import distinct_axes, unused_axis
from ncd.rewrite.rules.rule import (
    LocalRule,
    Options,
    Replacement,
    Target,
    Weights,
    op_at,
    pick,
)
from ncd.rewrite.rules.term_recorder import Parameters, TermRecorder

MakeWeights = Callable[[Weights], Weights]


@dataclass(frozen=True)
class OpForm:
    """Another form of an op: a term, and the function that gives its parameters."""

    term: Term
    weights: MakeWeights | None = None


class LawRecorder(TermRecorder):
    """A term that is written in the place of one op, with its parameters where they are used."""

    def __init__(self, cell: Cell, layer: str) -> None:
        super().__init__(Parameters())
        self.cell, self.layer = cell, layer

    def param(self, name: str, *groups: Array, kept: Array = NO_AXES) -> ArrayHandle:
        axes = Array(axis for group in (*groups, kept) for axis in group)
        (made,) = self.call(Param(axes, f"{self.layer}_{name}"))
        return made

    def local_term(self, inputs: tuple[ArrayHandle, ...], outputs: tuple[ArrayHandle, ...]) -> Term:
        """Returns the term of the steps so far."""
        arrays = {slot: slot.axes for step in self.steps for slot in (*step.takes, *step.gives)}
        arrays |= {slot: slot.axes for slot in (*inputs, *outputs)}
        return wire_together(self.steps, inputs, outputs, arrays)


# --- The other forms of each kind of op


def _softmax_steps(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    """Yields a softmax in its passes: the largest number, the sum, the shares."""
    (axis,), steps = cell.site.own_inputs, LawRecorder(cell, "")
    (x,) = inputs = (ArrayHandle(cell.site.inputs[0]),)
    over = Type((axis,)), Type((Array(),))
    (largest,) = steps.call(Reduce(Signature(*over), "max"), x)
    powers = steps.map("exp($1 - $2)", (x, largest), x.axes, "powers")
    (total,) = steps.call(Reduce(Signature(*over)), powers)
    yield (
        "steps",
        OpForm(steps.local_term(inputs, (steps.map("$1 / $2", (powers, total), x.axes),))),
    )


def _norm_steps(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    """Yields a norm in reductions and formulas, with its weight as an array."""
    steps = LawRecorder(cell, cell.name)
    inputs = tuple(map(ArrayHandle, cell.site.inputs))
    outputs = cell.op.written_out(cell.site, steps, inputs)
    assert outputs is not None

    def weights(old: Weights) -> Weights:
        names = [name for name in old if name.startswith(f"{cell.path}.")]
        return {f"{cell.path}_{name[len(cell.path) + 1 :]}": old[name] for name in names}

    yield "steps", OpForm(steps.local_term(inputs, tuple(outputs)), weights)


def _reduce_forms(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    op = cell.op
    assert isinstance(op, Reduce)
    (own,) = cell.site.own_inputs
    gone = [axis for axis in own if axis.name not in cell.site.own_outputs[0].names]
    if op.how == "sum":
        yield "einsum", OpForm(Einsum(Signature(cell.site.inputs, cell.site.outputs)))
    if op.how == "mean":
        term: Term = replace(op, how="sum")
        for axis in gone:
            term = term >> Scale(Array((axis,)), "-1")
        yield "sum", OpForm(term)


def _add_form(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    """Yields a sum as a concatenation along a new axis, and a sum along it."""
    (array, _), taken = cell.site.inputs, tuple(cell.site.axes_by_name)
    (one,) = unused_axis(taken, "one", 1)
    (two,) = unused_axis((*taken, one.name), "two", 2)
    single = Array((one, *array), array.below)
    lift = Map(Signature(Type((array,)), Type((single,))), "$1")
    pieces = Type((Array((one,)), Array((one,))))
    joined = Concat(Signature(pieces, Type((Array((two,)),))))
    total = Reduce(Signature(Type((Array((two,)),)), Type((Array(),))))
    yield "concatenation", OpForm(lift @ lift >> joined >> total)


def _index_form(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    """Yields a lookup as the product of one-hot rows and the table."""
    op, site = cell.op, cell.site
    assert isinstance(op, Index)
    if op.at or len(site.inputs) != 2 or site.inputs[0].below is None:
        return
    places, table = site.inputs
    bound = places.below
    if bound is None or bound.spatial or {*places.names} & {*table.names}:
        return
    rows = Array((*places, bound))
    hot = Map(Signature(Type((places,)), Type((rows,))), f"$1 == {bound.identifier}", "one-hot")
    product = Einsum(Signature(Type((rows, table)), site.outputs))
    yield "one-hot", OpForm(hot @ Id(Type((table,))) >> product)


def _linear_forms(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    yield "einsum", _linear_as_einsum(cell)
    yield "two-maps", _two_maps(cell)
    yield from _expansion(cell)


def _linear_as_einsum(cell: Cell) -> OpForm:
    """Returns a linear map as the product with an array of weights, and a sum for its bias."""
    op, site = cell.op, cell.site
    assert isinstance(op, Linear)
    (own,), (new,), (out,) = site.own_inputs, site.own_outputs, site.outputs
    inner = distinct_axes(own, (*new.names, *site.broadcast_axes.names))
    steps = LawRecorder(cell, cell.name)
    (given,) = inputs = (ArrayHandle(site.inputs[0]),)
    x = steps.rename(given, own, inner)
    z = steps.product((x, steps.param("weight", Array((*new, *inner)))), out)
    if op.bias:
        z = steps.map("$1 + $2", (z, steps.param("bias", new)), out)
    shape = tuple(n for axis in (*new, *inner) for n in axis.shape)
    bias = tuple(n for axis in new for n in axis.shape)

    def weights(old: Weights) -> Weights:
        found = {f"{cell.path}_weight": old[f"{cell.path}.weight"].reshape(shape)}
        if op.bias:
            found[f"{cell.path}_bias"] = old[f"{cell.path}.bias"].reshape(bias)
        return found

    return OpForm(steps.local_term(inputs, (z,)), weights)


def _two_maps(cell: Cell) -> OpForm:
    """Returns a linear map as two maps, one of which is the identity at first."""
    op, site = cell.op, cell.site
    assert isinstance(op, Linear)
    (own,), (new,) = site.own_inputs, site.own_outputs
    middle = unused_axis(tuple(site.axes_by_name), "r", min(own.numel, new.numel))
    wide, name = own.numel <= new.numel, f"{cell.name}_in"
    first, second = Type((own,)), Type((new,))
    one = Linear(Signature(first, Type((middle,))), name)
    two = Linear(Signature(Type((middle,)), second), op.name, op.bias)

    def weights(old: Weights) -> Weights:
        weight = old[f"{cell.path}.weight"]
        eye = weight.new_zeros(middle.numel, middle.numel)
        eye.fill_diagonal_(1)
        inner = f"{cell.path}_in.weight"
        a, b = (eye, weight) if wide else (weight, eye)
        return {inner: a, f"{cell.path}.weight": b}

    return OpForm(one >> two, weights)


def _expansion(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    """Yields the op in simpler ones that it tells itself."""
    term = cell.op.expansion(cell.site)
    if term is not None:
        yield "parts", OpForm(term)


def _conv_forms(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    """Yields a convolution as windows and a linear map of each: im2col."""

    def weights(old: Weights) -> Weights:
        weight = old[f"{cell.path}.weight"]
        return {f"{cell.path}.weight": weight.reshape(weight.shape[0], -1)}

    for _, form in _expansion(cell):
        yield "im2col", OpForm(form.term, weights)


def _mask_form(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    op = cell.op
    assert isinstance(op, CausalMask)
    y, x = (axis.identifier for axis in op.axes)
    array = Type((cell.site.inputs[0],))
    yield "formula", OpForm(Map(Signature(array, array), f"where({x} > {y}, -inf, $1)", "mask"))


def _function_form(cell: Cell) -> Iterator[tuple[str, OpForm]]:
    """Yields a SiLU as the product of its input and the sigmoid of it."""
    op = cell.op
    assert isinstance(op, Elementwise)
    if op.function == "silu":
        yield "formula", OpForm(Map("() -> ()", "$1 * sigmoid($1)", "SiLU"))
    if op.function == "relu":
        yield "formula", OpForm(Map("() -> ()", "max($1, 0)", "ReLU"))


FORMS: Mapping[type, Callable[[Cell], Iterator[tuple[str, OpForm]]]] = {
    Softmax: _softmax_steps,
    LayerNorm: _norm_steps,
    RMSNorm: _norm_steps,
    Reduce: _reduce_forms,
    Add: _add_form,
    Index: _index_form,
    Linear: _linear_forms,
    Conv: _conv_forms,
    CausalMask: _mask_form,
    Elementwise: _function_form,
}
TITLES: Mapping[str, str] = {
    "steps": "Write out in its steps",
    "einsum": "Write as a product and a sum over axes",
    "sum": "Write as a sum and a scale",
    "concatenation": "Write as a concatenation and a sum",
    "one-hot": "Write as a product with one-hot rows",
    "two-maps": "Split into two linear maps",
    "parts": "Write in simpler ops",
    "im2col": "Write as windows and a linear map",
    "formula": "Write as a formula",
}


class WriteOut(LocalRule):
    """Writes one op in another form that computes the same."""

    name: ClassVar[str] = "write"
    is_law: ClassVar[bool] = True

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.cell is not None:
            for name in _forms(target.cell):
                yield target.place, {"as": name}

    def title(self, options: Options) -> str:
        return TITLES[options["as"]]

    def replacement(self, target: Target, options: Options) -> Replacement:
        where = f"Write out {target.words}"
        cell = op_at(target, where)
        forms = _forms(cell)
        if not forms:
            fact = f"{cell.op.display_name} has no other form"
            raise MismatchError(fact, where=where, cure="an op such as a linear map or a softmax")
        form = forms[pick(options, "as", forms, where)]
        return Replacement({target.path: form.term}, form.weights)


def _forms(cell: Cell) -> dict[str, OpForm]:
    return dict(FORMS.get(type(cell.op), _expansion)(cell))
