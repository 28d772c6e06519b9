"""Products of arrays by one pattern; the unit (cup) and the inner product (cap)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import ClassVar

from ncd.errors import MismatchError
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.broadcasting import BroadcastRule, Others
from ncd.language.fields import (
    ARRAY,
    FLAG,
    SCOPE,
    SIGNATURE,
    ArrayField,
    SignatureField,
    term_field,
)
from ncd.language.op import (
    ArrayHandle,
    Glyph,
    Mark,
    Op,
    Sample,
    Site,
    Slots,
    TermBuilder,
    TilingRule,
)
from ncd.language.patterns import Binding, union
from ncd.language.terms import Term
from ncd.language.torch_code import Arg, Cast, Contract, Infix, Position, TorchExpr
from ncd.ops.axis_places import (
    axis_ports,
    broadcast_glyph,
    ports,
    single_mark_glyph,
    subscript,
)
from ncd.words import list_words

# --- Einsums: inner and outer products, transposes and diagonals by one pattern

LETTERS = 52  # for the dimensions of an einsum in torch, a to z and A to Z


class _BetweenOwnAxes(BroadcastRule):
    """Leaves an axis between two own ones behind the first of them, where that is kept.

    Others stand before all own axes, or after them, as in their array.
    """

    def _axes(self, signature: Signature, inputs: Type, others: Others) -> Sequence[Iterable[Axis]]:
        (whole,) = super()._axes(signature, inputs, others)
        (own,) = signature.cod
        behind: dict[str, str] = {}
        for array, pattern in zip(inputs, signature.dom, strict=True):
            for name, before in _axes_with_predecessor(array, pattern):
                if before in own.names:
                    behind.setdefault(name, before)
        order = [axis for axis in whole if axis.name not in behind]
        for axis in reversed([axis for axis in whole if axis.name in behind]):
            names = [each.name for each in order]
            order.insert(names.index(behind[axis.name]) + 1, axis)
        return [order]


def _axes_with_predecessor(array: Array, pattern: Array) -> Iterator[tuple[str, str]]:
    """Yields the axes of an array between two axes of a pattern, each with the first of the two."""
    places = [array.names.index(name) for name in pattern.names]
    for one, two in pairwise(places):
        yield from ((array[i].name, array[one].name) for i in range(one + 1, two))


@dataclass(frozen=True, repr=False, eq=False)
class Einsum(Op):
    """Multiplies arrays and sums over the axes that are not on the right (``torch.einsum``).

    An axis of several arrays that stays is diagonalised: its wires join at a dot.

    Args:
        pattern: The axes of the arrays and of the result, such as ``"y k h, x k h -> y x h"``.
        result: The name of the result in generated source, such as ``scores``.

    Raises:
        MismatchError: For an axis on the right that is not on the left, or more than 52 dimensions.

    Source: Notebook, figure 17.

    >>> str(Einsum("y k h, x k h -> y x h").cod)
    'y x h'
    >>> str(Einsum("t p i, t p -> t i").infer_outputs(Type.parse("t g q p i, t p")))
    't g q i'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    result: str = term_field(SCOPE, "")
    role: ClassVar[str] = "einsum"
    broadcasting = _BetweenOwnAxes()

    def check_pattern(self) -> None:
        super().check_pattern()
        if not self.dom:
            raise MismatchError("an einsum takes one array or more", cure='"i -> i"')
        if len(self.signature.cod) != 1:
            cure = f'"{self.pattern.dom} -> {self.pattern.cod[0]}"'
            raise MismatchError("an einsum gives one array", cure=cure)
        known = {axis.name for axis in self.dom.axes}
        for axis in self.signature.cod.axes:
            if axis.name not in known:
                raise MismatchError(
                    f"axis {axis.name} stands on the right but not on the left",
                    cure=f"a pattern whose right side has only {', '.join(sorted(known)) or '()'}",
                )

    @property
    def display_name(self) -> str:
        return f"Einsum {self.result}" if self.result else "Einsum"

    def check_arrays(self, site: Site) -> None:
        axes = {axis.name: axis for array in site.inputs for axis in array}.values()
        count = sum([len(axis.shape) if axis.size is not None else 1 for axis in axes])
        if count > LETTERS:
            raise MismatchError(
                f"an einsum has at most {LETTERS} dimensions, but these arrays have {count}",
                cure="Group before it, to make one of several axes",
            )

    def contracted_axes(self, site: Site) -> tuple[str, ...]:
        """Returns the names of the axes that are summed over."""
        kept = site.outputs[0].names
        return tuple(dict.fromkeys(a.name for a in site.inputs.axes if a.name not in kept))

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        args = tuple(Arg(i) for i in range(len(site.inputs)))
        dims = tuple(array.dims for array in site.inputs)
        return (Contract(args, dims, site.outputs[0].dims),)

    def result_name(self, site: Site) -> str:
        return self.result

    def glyph(self, site: Site) -> Glyph:
        ins = ports(site.inputs)
        outs = {name: port for port, _, name in ports(site.outputs)}
        through, joins, caps, alone = [], [], [], []
        for name in dict.fromkeys(name for _, _, name in ins):
            found = [port for port, _, other in ins if other == name]
            if name in outs:  # the others bend onto the lowest one
                through.append((found[-1], outs[name]))
                joins += [(port, outs[name]) for port in found[:-1]]
            elif len(found) == 1:
                alone.append(found[0])
            else:
                caps += list(pairwise(found))
        marks = tuple([Mark("word", "Σ", ins=(port,)) for port in alone])
        return Glyph(tuple(through), tuple(joins), (), tuple(caps), marks)

    def flops(self, site: Site) -> int:
        left, count = site.inputs[0], 0
        for i, right in enumerate(site.inputs[1:], start=1):  # torch goes from left to right
            later = {n for array in (*site.inputs[i + 1 :], site.outputs[0]) for n in array.names}
            kept = Array(axis for axis in union((left, right)) if axis.name in later)
            count += _pair_flops(left, right, kept)
            left = kept
        return count

    def latex(self, site: Site) -> str:
        letters, space = "abcdefgh", r"\,"
        factors = r"\,".join(
            f"{letters[i % 8]}_{{{subscript(a) or space}}}" for i, a in enumerate(site.inputs)
        )
        summed = subscript(Array(site.axes_by_name[name] for name in self.contracted_axes(site)))
        sign = rf"\sum_{{{summed}}} " if summed else ""
        return rf"z_{{{subscript(site.outputs[0]) or space}}} = {sign}{factors}"

    def description(self, site: Site) -> str:
        summed = list_words(self.contracted_axes(site))
        kind = f"einsum, contracts {summed}" if summed else "einsum"
        return f"{kind}: {site.inputs} to {site.outputs}"

    def expansion(self, site: Site) -> Term | None:
        """Returns the outer product and then the sum, as in figure 17."""
        summed = self.contracted_axes(site)
        if len(site.inputs) < 2 or not summed:
            return None
        whole = union(site.inputs)
        product = Type((Array((*site.outputs[0], *(a for a in whole if a.name in summed))),))
        return Einsum(Signature(site.inputs, product)) >> Einsum(Signature(product, site.outputs))

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return tuple(
            steps.product((grads[0], *ins[:k], *ins[k + 1 :]), slot.axes) if slot.real else None
            for k, slot in enumerate(ins)
        )

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        every = tuple(range(len(site.inputs)))
        return TilingRule("sum" if axis in self.contracted_axes(site) else "", linear=every)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(
                cls("y k h, x k h -> y x h", "scores"),
                "y:2 k:3 h:2, x:4 k:3 h:2",
                "torch.einsum('ykh,xkh->yxh', a, b)",
            ),
            Sample(cls("i j -> j i"), "i:2 j:3", "a.T"),
            Sample(cls("i j -> i"), "i:2 j:3", "a.sum(1)"),
            Sample(cls("i, i -> i"), "i:4, i:4", "a * b"),
            Sample(cls("i, j -> i j"), "i:2, j:3", "torch.outer(a, b)"),
            Sample(cls("i j, j, k i -> k"), "i:2 j:3, j:3, k:4 i:2", "c @ (a @ b)"),
            Sample(cls("x c, x -> c"), "x:2x3 c:2, x:2x3", "torch.einsum('hwc,hw->c', a, b)"),
        )


def _pair_flops(left: Array, right: Array, out: Array) -> int:
    """Returns the operations of a batched matrix product; an elementwise product counts none.

    Axes of one factor that are summed over are summed before the product.
    """
    both = set(left.names) & set(right.names)
    if both <= set(out.names):
        return 0
    sizes = {a.name: a.numel for a in (*left, *right) if a.name in both or a.name in out.names}
    return 2 * prod(sizes.values())


# --- The unit (a cup), which creates two wires, and the inner product (a cap), which joins two


@dataclass(frozen=True, repr=False, eq=False)
class Unit(Op):
    """The identity matrix: 1 where both positions are equal, else 0; drawn as a cup.

    With an inner product it is a wire: ``Unit("a b") >> Einsum("a b, a -> b")`` is the identity.

    Args:
        axes: Two axes of one size, of which one may be left open, such as ``"a b"``.
        outer: Whether an array is multiplied with it, which adds these two axes to the array.

    Raises:
        MismatchError: For axes of different sizes.

    Source: Notebook, section 2.4 and figure 18.

    >>> Unit("a:3 b").cod
    Type.parse('a:3 b:3')
    >>> str(Unit("a:3 b", outer=True).infer_outputs(Type.parse("m")))
    'm a b'
    """

    axes: ArrayField = term_field(ARRAY)
    outer: bool = term_field(FLAG, False)
    role: ClassVar[str] = "einsum"
    pattern_form: ClassVar[str] = "a b"

    @property
    def signature(self) -> Signature:
        return Signature(Type((Array(),)) if self.outer else Type(), Type((self.axes,)))

    def solve(self, binding: Binding) -> None:
        _alike(self.axes, binding)

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        (out,) = site.own_outputs
        one, two = (axis.dims for axis in out)
        same: list[TorchExpr] = [
            Infix("==", Position(a, out.dims), Position(b, out.dims))
            for a, b in zip(one, two, strict=True)
        ]
        every = same[0]
        for more in same[1:]:  # a group has a position along each side
            every = Infix("&", every, more)
        unit = Cast(every, "real")
        if not self.outer:
            return (unit,)
        return (Contract((Arg(0), unit), (site.inputs[0].dims, out.dims), site.outputs[0].dims),)

    def result_name(self, site: Site) -> str:
        return "unit"

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "cup")

    def latex(self, site: Site) -> str:
        a, b = (axis.identifier for axis in self.axes)
        if self.outer:
            return rf"z_{{{a}{b}}} = a \,\delta_{{{a}{b}}}"
        return rf"z_{{{a}{b}}} = \delta_{{{a}{b}}}"

    def description(self, site: Site) -> str:
        a, b = self.axes.names
        return f"unit: {a} and {b} are one wire"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return steps.call(Inner(site.own_outputs[0]), grads[0]) if self.outer else ()

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("a:3 b"), "", "torch.eye(3)"),
            Sample(cls("a b:2x2"), "", "torch.eye(4).view(2, 2, 2, 2)"),
            Sample(cls("a:3 b", outer=True), "()", "a * torch.eye(3)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Inner(Op):
    """The trace over two axes of one array, the mirror of :class:`Unit`; drawn as a cap.

    ``Unit("q r", outer=True) >> Inner("b q")`` is a wire from b to r.

    Args:
        axes: Two axes of one size, such as ``"k q"``.

    Raises:
        MismatchError: For axes of different sizes.

    Source: Notebook, figures 17 (``y k k x h -> y x h``) and 18.

    >>> str(Inner("k q").infer_outputs(Type.parse("y k:4 q:4 x")))
    'y x'
    """

    axes: ArrayField = term_field(ARRAY)
    role: ClassVar[str] = "einsum"
    pattern_form: ClassVar[str] = "a b"

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.axes,)), Type((Array(),)))

    def solve(self, binding: Binding) -> None:
        _alike(self.axes, binding)

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        ((one, two),) = site.own_inputs
        same = dict(zip(two.dims, one.dims, strict=True))
        dims = tuple(same.get(dim, dim) for dim in site.inputs[0].dims)
        return (Contract((Arg(0),), (dims,), site.outputs[0].dims),)

    def glyph(self, site: Site) -> Glyph:
        one, two = axis_ports(site.inputs, site.own_inputs)
        return replace(broadcast_glyph(site), caps=((one, two),), arrows=not site.outputs[0])

    def latex(self, site: Site) -> str:
        a, b = (axis.identifier for axis in self.axes)
        return rf"z = \sum_{{{a}}} a_{{{a}{b}}}, \quad {b} = {a}"

    def description(self, site: Site) -> str:
        a, b = self.axes.names
        return f"inner product of {a} and {b}: {site.inputs} to {site.outputs}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return steps.call(Unit(site.own_inputs[0], outer=True), grads[0])

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("a b"), "a:3 b:3", "a.trace()"),
            Sample(cls("a b:2x2"), "a:2x2 b:2x2", "torch.einsum('abab->', a)"),
        )


def _alike(axes: Array, binding: Binding) -> None:
    """Binds both axes to one size, whichever is known."""
    one, two = axes.names
    for known, other in ((one, two), (two, one)):
        axis = binding.get(known)
        if axis is not None and axis.size is not None:
            binding.bind_size(other, axis.size)
