"""Learned linear and affine maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.errors import MismatchError
from ncd.language.axes import Array, Axis, Signature, Type, unused_name
from ncd.language.fields import (
    FLAG,
    INITIAL,
    NAME,
    SIGNATURE,
    InitialField,
    SignatureField,
    term_field,
)
from ncd.language.op import (
    ArrayHandle,
    Glyph,
    InitialValue,
    Op,
    Sample,
    Site,
    Slots,
    TermBuilder,
    TilingRule,
)
from ncd.language.terms import Term
from ncd.language.torch_code import Call, Layer, Size, TorchExpr, call, merge_axes, split_axis
from ncd.ops.axis_places import single_mark_glyph, subscript, weight_letter, with_axes_last
from ncd.ops.reshape import Group, Split
from ncd.ops.weights import check_initial, distinct_axes, uniform_init


@dataclass(frozen=True, repr=False, eq=False)
class Linear(Op):
    """A learned linear or affine map (``torch.nn.Linear``); drawn as a bold L, or L₊ with a bias.

    Weights and bias are uniform on ±1/√(size of the left side) unless ``init`` is given.

    Args:
        pattern: The axes that it maps together and the new ones, such as ``"m -> k h"``.
        name: The name of the layer, drawn as a superscript.
        bias: Whether a learned bias is added.
        init: The initial weights, a formula of their axes: those on the right, then those on the
            left (``m_in`` for an m on both sides), such as ``"0.02 * normal"``.

    Raises:
        ParseError: For a pattern of another form, or an initial value with other axes.
        MismatchError: For whole numbers.

    Source: Notebook, figures 19 and 21.

    >>> str((Linear("m:8 -> k:4 h:2", "Q")).infer_outputs(Type.parse("y:5 m:8")))
    'y k h'
    >>> Linear("m:8 -> v:5", "head", init="0.02 * normal").display_name
    'Linear head'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    name: str = term_field(NAME, "L")
    bias: bool = term_field(FLAG, False)
    init: InitialField = term_field(INITIAL, None)
    role: ClassVar[str] = "linear"
    pattern_form: ClassVar[str] = "m* -> k*"
    tiles_weight: ClassVar[bool] = True

    def check_pattern(self) -> None:
        super().check_pattern()
        if self.init is not None:
            check_initial(self.init, _weight(self.dom[0], self.signature.cod[0]), self.display_name)

    def layer_call(self, site: Site) -> Call:
        named = {} if self.bias else {"bias": False}
        return call(
            "nn.Linear", Size(tuple(site.own_inputs[0])), Size(tuple(site.own_outputs[0])), **named
        )

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        own, new = site.own_inputs[0], site.own_outputs[0]
        start = uniform_init(own.numel)
        found = {
            "weight": InitialValue(_weight(own, new), start if self.init is None else self.init)
        }
        return {**found, "bias": InitialValue(new, start)} if self.bias else found

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        own, new = site.own_inputs[0], site.own_outputs[0]
        return with_axes_last(
            site, lambda x, rest: split_axis(Layer((merge_axes(x, rest, own),)), rest, new)
        )

    def result_name(self, site: Site) -> str:
        return "" if self.name == "L" else self.name.lower()

    def glyph(self, site: Site) -> Glyph:
        text, note = weight_letter("L_+" if self.bias else "L", self.name, "L")
        return single_mark_glyph(site, "letter", text, note)

    def flops(self, site: Site) -> int:
        return 2 * site.broadcast_axes.numel * site.own_inputs[0].numel * site.own_outputs[0].numel

    def latex(self, site: Site) -> str:
        bias = " + b" if self.bias else ""
        axes, new = subscript(site.own_inputs[0]), subscript(site.own_outputs[0])
        sign = rf"\sum_{{{axes}}} " if axes else ""
        return rf"z_{{{new}}} = {sign}W_{{{new},\,{axes}}}\, x_{{{axes}}}{bias}"

    def description(self, site: Site) -> str:
        kind = "affine" if self.bias else "linear"
        return f"learned {kind} map {self.name}, {site.own_inputs} to {site.own_outputs}"

    def expansion(self, site: Site) -> Term | None:
        """Returns the map of one merged axis, with a ``Group`` before and a ``Split`` behind."""
        (own,), (new,) = site.own_inputs, site.own_outputs
        if not (own and new) or len(own) == len(new) == 1:
            return None
        before, after = _merged_axes(own, site), _merged_axes(new, site)
        pattern = Signature(Type((before,)), Type((after,)))
        term: Term = Linear(pattern, self.name, self.bias)
        if len(own) > 1:
            term = Group(Signature(site.own_inputs, Type((before,)))) >> term
        return term >> Split(Signature(Type((after,)), site.own_outputs)) if len(new) > 1 else term

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        (own,), (new,), (out,) = site.own_inputs, site.own_outputs, site.outputs
        inner = distinct_axes(own, (*new.names, *site.broadcast_axes.names))
        x = steps.rename(ins[0], own, inner)
        z = steps.product((x, steps.param("weight", new, inner)), out)
        if self.bias:
            z = steps.map("$1 + $2", (z, steps.param("bias", new)), out)
        return (z,)

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        own, new = site.own_inputs[0].names, site.own_outputs[0].names
        if axis in own and axis in new:
            raise MismatchError(
                f"{self.display_name} takes {axis} and gives {axis}, which are not the same tiles",
                cure=f"another name for one of them, such as {axis} -> {axis}_2",
            )
        return TilingRule("sum" if axis in own else "", linear=() if self.bias else (0,))

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("m -> k:3 h:2", "Q"), "m:5", "(w[0] @ a).view(3, 2)"),
            Sample(cls("k h -> m:4", "O", True), "k:3 h:2", "w[0] @ a.flatten() + w[1]"),
            Sample(cls("m -> ()", "one"), "m:5", "(w[0] @ a)[0]"),
            Sample(cls("() -> m:3", "all", True), "()", "w[0][:, 0] * a + w[1]"),
            Sample(cls("m -> m", "eye", init="m == m_in"), "m:4", "w[0] @ a"),
            Sample(cls("x -> u:2x2", "L"), "x:2x3", "(w[0] @ a.flatten()).view(2, 2)"),
        )


def _weight(own: Array, new: Array) -> Array:
    """Returns the axes of the weights in their order in memory: outputs, then inputs."""
    return Array((*new, *distinct_axes(own, new.names)))


def _merged_axes(array: Array, site: Site) -> Array:
    """Returns the axes merged into one: ``k h`` as ``kh``."""
    if len(array) == 1:
        return array
    name = unused_name("".join(axis.identifier for axis in array), site.axes_by_name)
    return Array((Axis(name, array.numel),))
