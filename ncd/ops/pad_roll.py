"""Numbers added at the ends of an axis, and cyclic shifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.errors import MismatchError, SizeError
from ncd.language.axes import Array, Axis, Signature, Type, unused_name
from ncd.language.broadcasting import IN_PLACE_ANY
from ncd.language.fields import (
    AXIS,
    NUMBER,
    SIGNATURE,
    ArrayField,
    SignatureField,
    integer,
    term_field,
)
from ncd.language.op import ArrayHandle, Glyph, Op, Reach, Sample, Site, Slots, TermBuilder
from ncd.language.patterns import Binding
from ncd.language.torch_code import Arg, TorchExpr, call, number_or_tuple
from ncd.ops.axis_places import single_mark_glyph, with_axes_last
from ncd.ops.concat import Cut
from ncd.ops.reshape import Group, Split

# --- Constant numbers added before and after those of an axis


@dataclass(frozen=True, repr=False, eq=False)
class Pad(Op):
    """Makes an axis longer by a constant number, before its first place and after its last.

    A spatial group gets as many places along each of its dimensions.

    Args:
        pattern: The axis and the longer one, such as ``"x -> y"``.
        before: The number of places that are added at the beginning.
        after: The number of places that are added at the end.
        value: The number that stands there.

    Raises:
        MismatchError: For an axis that becomes longer, but keeps its name.
        SizeError: For a longer axis that is not longer by the places that are added.

    Source: ``torch.nn.functional.pad``; ``torch.nn.ConstantPad1d``.

    >>> from ncd import Type
    >>> Pad("x -> y", 1, 2).infer_outputs(Type.parse("b:2 x:5")).spec
    'b:2 y:8'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    before: int = term_field(integer(), 1)
    after: int = term_field(integer(), 1)
    value: float = term_field(NUMBER, 0.0)
    role: ClassVar[str] = "concat"
    pattern_form: ClassVar[str] = "x -> y"
    torch_backward_rules: ClassVar[Mapping[str, str]] = {
        "ConstantPadNd": "G without the places that were added.",
        "Pad": "G without the places that were added.",
    }

    @property
    def total_padding(self) -> int:
        """The number of places that are added at both ends together."""
        return self.before + self.after

    def check_pattern(self) -> None:
        super().check_pattern()
        (old,), (new,) = self.dom[0], self.signature.cod[0]
        if old.name == new.name and self.total_padding:
            raise MismatchError(
                f"axis {old.name} becomes longer by {self.total_padding}, but keeps its name",
                cure=f'"{old.name} -> {old.name}_2"',
            )

    def solve(self, binding: Binding) -> None:
        first, second = self.dom[0][0], self.signature.cod[0][0]
        old, new = binding[first.name], binding[second.name]
        if old.size is not None:
            _learn(binding, new, old, self.total_padding)
        elif new.size is not None:
            if min(new.shape) <= self.total_padding:
                raise SizeError(
                    f"axis {new.name} has size {new.size_text}, of which "
                    f"{self.total_padding} are added",
                    cure=f"{new.name} = {self.total_padding + 1}",
                    axis=new.name,
                    nearest=self.total_padding + 1,
                )
            _learn(binding, old, new, -self.total_padding)

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        sides = (self.before, self.after) * len(site.own_inputs[0][0].shape)
        named = {"value": self.value} if self.value else {}
        return with_axes_last(
            site, lambda x, rest: call("F.pad", x, number_or_tuple(sides), **named)
        )

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        old, new = self.dom[0][0], self.signature.cod[0][0]
        if axis != old.name or site.axes_by_name[axis].spatial:
            return super().reach(site, axis, source, target)
        return Reach(new.name, -self.before, -self.before)

    def result_name(self, site: Site) -> str:
        return "padded"

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "box", f"Pad ${self.before}$, ${self.after}$")

    def latex(self, site: Site) -> str:
        x, y = self.dom[0][0].identifier, self.signature.cod[0][0].identifier
        back = f" - {self.before}" if self.before else ""
        inside = rf"0 \le {y}{back} < n_{{{x}}}"
        return (
            rf"z_{{{y}}} = a_{{{y}{back}}} \text{{ if }} {inside}, \text{{ else }} {self.value:g}"
        )

    def description(self, site: Site) -> str:
        return (
            f"adds {self.before} places before and {self.after} behind {self.dom[0]}, "
            f"all {self.value:g}: {site.own_inputs} to {site.own_outputs}"
        )

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        """Cuts the places that were added away, along each dimension of a spatial group."""
        (old,), (new,), (x,) = site.own_inputs[0], site.own_outputs[0], grads
        taken = site.axes_by_name
        longer = [
            Axis(unused_name(f"{new.name}_{i}", taken), size) for i, size in enumerate(new.shape)
        ]
        kept = [
            Axis(unused_name(f"{old.name}_{i}", taken), size) for i, size in enumerate(old.shape)
        ]
        flat = Axis(unused_name(f"{old.name}_all", taken), old.numel)
        (x,) = steps.call(Split(_array_signature((new,), longer)), x)
        for before, after in zip(longer, kept, strict=True):
            x = self._without_padding(steps, x, before, after)
        (x,) = steps.call(Group(_array_signature(kept, (flat,))), x)
        return steps.call(Split(_array_signature((flat,), (old,))), x)

    def _without_padding(
        self, steps: TermBuilder, x: ArrayHandle, long: Axis, short: Axis
    ) -> ArrayHandle:
        """Returns the array without the places that were added along one dimension."""
        if not self.total_padding:
            return steps.rename(x, Array((long,)), Array((short,)))
        first = (Axis(f"{short.name}_a", self.before),) if self.before else ()
        last = (Axis(f"{short.name}_b", self.after),) if self.after else ()
        pieces = (*first, short, *last)
        one = Type((Array((long,)),))
        cut = Cut(Signature(one, Type(Array((piece,)) for piece in pieces)))
        return steps.call(cut, x)[pieces.index(short)]

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x -> y", 1, 2), "x:5", "F.pad(a, (1, 2))"),
            Sample(cls("x -> y", 0, 1, -0.5), "x:2x3", "F.pad(a, (0, 1, 0, 1), value=-0.5)"),
            Sample(cls("x -> y", 3, 0, 2.0), "m:2 x:1", "F.pad(a, (3, 0), value=2.0)"),
        )


def _learn(binding: Binding, name: Axis, known: Axis, more: int) -> None:
    """Binds the size of an axis that is longer than another, or shorter."""
    sizes = tuple(size + more for size in known.shape)
    size = sizes if known.spatial else sizes[0]
    binding.unify(name, replace(name, size=size, sequence=known.sequence))


def _array_signature(before: Sequence[Axis], after: Sequence[Axis]) -> Signature:
    """Returns the type of a map of one array to one."""
    return Signature(Type((Array(before),)), Type((Array(after),)))


# --- Cyclic shifts along an axis

FARTHEST = 10**6


@dataclass(frozen=True, repr=False, eq=False)
class Roll(Op):
    """Shifts the numbers along an axis; those beyond its end come in again at its beginning.

    A spatial group is shifted along each of its dimensions. Swin shifts its windows so.

    Args:
        axis: The axis, such as ``"x"``.
        shift: By how many places; below 0 towards the beginning.

    Raises:
        ParseError: For anything but one axis.
        SizeError: For a shift that is no whole number.

    Source: ``torch.roll``; Liu et al. 2021, "Swin Transformer", section 3.2.

    >>> from ncd import Type
    >>> str(Roll("x", -2).infer_outputs(Type.parse("b x c")))
    'b x c'
    """

    axis: ArrayField = term_field(AXIS)
    shift: int = term_field(integer(-FARTHEST, FARTHEST), 1)
    role: ClassVar[str] = "index"
    torch_backward_rules: ClassVar[Mapping[str, str]] = {
        "Roll": "The same shift the other way, of G."
    }
    broadcasting = IN_PLACE_ANY

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        dims = site.inputs[0].position(self.axis[0].name)
        if len(dims) == 1:
            return (call("torch.roll", Arg(0), shifts=self.shift, dims=dims[0]),)
        return (call("torch.roll", Arg(0), shifts=(self.shift,) * len(dims), dims=dims),)

    def result_name(self, site: Site) -> str:
        return "rolled"

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "box", f"Roll ${self.shift}$")

    def latex(self, site: Site) -> str:
        x = self.axis[0].identifier
        step = f"- {self.shift}" if self.shift >= 0 else f"+ {-self.shift}"
        return rf"z_{{{x}}} = a_{{({x} {step}) \bmod n_{{{x}}}}}"

    def description(self, site: Site) -> str:
        way = "on" if self.shift >= 0 else "back"
        places = "place" if abs(self.shift) == 1 else "places"
        return f"shifts {self.axis} {way} by {abs(self.shift)} {places}, and round its end"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return steps.call(Roll(site.own_inputs[0], -self.shift), grads[0])

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x", 2), "x:5", "a.roll(2, 0)"),
            Sample(cls("x", -1), "x:2x3", "a.roll((-1, -1), (0, 1))"),
            Sample(cls("x", -7), "y:2 x:3", "a.roll(-7, 1)"),
            Sample(cls("y"), "y:4 m:3#v:5", "a.roll(1, 0)"),
        )
