"""Places added at the ends of an axis, and cyclic shifts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.errors import MismatchError, ParseError, SizeError
from ncd.language.axes import Array, Axis, Signature, Type, unused_name
from ncd.language.broadcasting import IN_PLACE_ANY, LEADING, LEADING_ANY, BroadcastRule
from ncd.language.fields import (
    AXIS,
    NUMBER,
    SIGNATURE,
    ArrayField,
    SignatureField,
    choice,
    integer,
    term_field,
)
from ncd.language.op import ArrayHandle, Glyph, Op, Reach, Sample, Site, Slots, TermBuilder
from ncd.language.patterns import Binding
from ncd.language.torch_code import Arg, TorchExpr, call, groups, number_or_tuple, rearrange
from ncd.ops.axis_places import single_mark_glyph, with_axes_last
from ncd.ops.concat import Cut
from ncd.ops.reshape import Group, Split

# --- Places added before and after those of an axis: one number, or numbers of the axis

CONSTANT = "constant"
COPIES = {  # what stands at the places that are added, if it is no constant
    "reflect": "the numbers behind each end, mirrored",
    "replicate": "the first and the last number again",
    "circular": "the numbers of the other end",
}
SPARE = {"reflect": 1, "circular": 0}  # how many places more than are added an axis has at least


@dataclass(frozen=True, repr=False, eq=False)
class Pad(Op):
    """Makes an axis longer, before its first place and after its last.

    A spatial group gets as many places along each of its dimensions.

    Args:
        pattern: The axis and the longer one, such as ``"x -> y"``.
        before: The number of places that are added at the beginning.
        after: The number of places that are added at the end.
        value: The number that stands there, if the mode is ``"constant"``.
        mode: What stands there: a ``"constant"``, the numbers behind each end mirrored
            (``"reflect"``), the first and the last again (``"replicate"``), or those of the other
            end (``"circular"``).

    Raises:
        MismatchError: For an axis that becomes longer, but keeps its name.
        ParseError: For a value in a mode that is not constant.
        SizeError: For a longer axis that is not longer by the places that are added, or an axis
            with too few places to mirror, or to go round.

    Source: ``torch.nn.functional.pad``; ``torch.nn.ConstantPad1d``, ``ReflectionPad1d``,
    ``ReplicationPad1d`` and ``CircularPad1d``.

    >>> from ncd import Type
    >>> Pad("x -> y", 1, 2).infer_outputs(Type.parse("b:2 x:5")).spec
    'b:2 y:8'
    >>> Pad("x -> y", 2, 2, mode="reflect").infer_outputs(Type.parse("x:3x4")).spec
    'y:7x8'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    before: int = term_field(integer(), 1)
    after: int = term_field(integer(), 1)
    value: float = term_field(NUMBER, 0.0)
    mode: str = term_field(choice(CONSTANT, *COPIES), CONSTANT)
    role: ClassVar[str] = "concat"
    pattern_form: ClassVar[str] = "x -> y"
    torch_backward_rules: ClassVar[Mapping[str, str]] = {
        "ConstantPadNd": "G without the places that were added.",
        "Pad": "G without the places that were added.",
        "CopySlices": "Numbers were copied into a part of an array: the part of G goes to where "
        "they came from, and the rest to what stood around them.",
        **dict.fromkeys(
            (f"{kind}Pad{n}D" for kind in ("Reflection", "Replication") for n in (1, 2, 3)),
            "At each place the sum of G over all places that hold its number.",
        ),
    }

    @property
    def broadcasting(self) -> BroadcastRule:
        return LEADING if self.mode == CONSTANT else LEADING_ANY

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
        if self.value and self.mode != CONSTANT:
            raise ParseError(
                f"the value is {self.value:g}, which stands nowhere in the mode {self.mode}",
                cure=f'value=0, or mode="{CONSTANT}"',
            )

    def check_axes(self, binding: Binding) -> None:
        """Raises SizeError for an axis that has too few places to be padded from itself."""
        axis, most = binding[self.dom[0][0].name], max(self.before, self.after)
        if self.mode not in SPARE or axis.size is None:
            return
        least = most + SPARE[self.mode]
        if min(axis.shape) < least:
            raise SizeError(
                f"axis {axis.name} has size {axis.size_text}, but the mode {self.mode} takes "
                f"{most} places from it, and needs {least}",
                cure=f"{axis.name} = {'×'.join(str(max(size, least)) for size in axis.shape)}",
                axis=axis.name,
                nearest=least,
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
        sides = number_or_tuple((self.before, self.after) * len(site.own_inputs[0][0].shape))
        if self.mode != CONSTANT:
            return self._copy_places(site, sides)
        named = {"value": self.value} if self.value else {}
        return with_axes_last(site, lambda x, rest: call("F.pad", x, sides, **named))

    def _copy_places(self, site: Site, sides: TorchExpr) -> tuple[TorchExpr]:
        """Pads from the axis itself, for which torch wants one dimension in front, or two."""
        rest, (array,), (out,) = site.broadcast_axes, site.inputs, site.outputs
        lead = groups(rest) if len(rest.dims) in (1, 2) else (rest.dims,)
        before, after = ((*lead, *groups(own)) for own in (*site.own_inputs, *site.own_outputs))
        made = call("F.pad", rearrange(Arg(0), groups(array), before), sides, mode=self.mode)
        return (rearrange(made, after, groups(out)),)

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        old, new = self.dom[0][0], self.signature.cod[0][0]
        if axis != old.name or site.axes_by_name[axis].spatial:
            return super().reach(site, axis, source, target)
        if self.mode != CONSTANT:
            return Reach(new.name, -math.inf, math.inf)
        return Reach(new.name, -self.before, -self.before)

    def result_name(self, site: Site) -> str:
        return "padded"

    def glyph(self, site: Site) -> Glyph:
        mode = f", {self.mode}" if self.mode != CONSTANT else ""
        return single_mark_glyph(site, "box", f"Pad ${self.before}$, ${self.after}${mode}")

    def latex(self, site: Site) -> str:
        x, y = self.dom[0][0].identifier, self.signature.cod[0][0].identifier
        place = f"{y} - {self.before}" if self.before else y
        if self.mode == CONSTANT:
            inside, value = rf"0 \le {place} < n_{{{x}}}", f"{self.value:g}"
            return rf"z_{{{y}}} = a_{{{place}}} \text{{ if }} {inside}, \text{{ else }} {value}"
        last = f"n_{{{x}}} - 1"
        source = {
            "reflect": rf"{last} - |{last} - |{place}||",
            "replicate": rf"\min(\max({place}, 0), {last})",
            "circular": rf"({place}) \bmod n_{{{x}}}",
        }[self.mode]
        return rf"z_{{{y}}} = a_{{{source}}}"

    def description(self, site: Site) -> str:
        what = COPIES.get(self.mode, f"all {self.value:g}")
        return (
            f"adds {self.before} places before and {self.after} behind {self.dom[0]}, "
            f"{what}: {site.own_inputs} to {site.own_outputs}"
        )

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        """Cuts the places that were added away, or adds them up where their numbers come from.

        It does so along each dimension of a spatial group.
        """
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
        shorten = self._without_padding if self.mode == CONSTANT else self._added_up
        for before, after in zip(longer, kept, strict=True):
            x = shorten(steps, x, before, after)
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

    def _added_up(self, steps: TermBuilder, x: ArrayHandle, long: Axis, short: Axis) -> ArrayHandle:
        """Returns for each number along one dimension the sum over all places that hold it."""
        place, last = f"({long.identifier} - {self.before})", short.numel - 1
        source = {
            "reflect": f"{last} - abs({last} - abs{place})",
            "replicate": f"min(max({place}, 0), {last})",
            "circular": f"where({place} < 0, {place} + {last + 1}, where({place} > {last}, "
            f"{place} - {last + 1}, {place}))",
        }[self.mode]
        places = steps.map(source, (), Array((long,), short), self.mode)
        out = x.axes.with_axes(short if axis.name == long.name else axis for axis in x.axes)
        return steps.scatter_add(places, x, out)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x -> y", 1, 2), "x:5", "F.pad(a, (1, 2))"),
            Sample(cls("x -> y", 0, 1, -0.5), "x:2x3", "F.pad(a, (0, 1, 0, 1), value=-0.5)"),
            Sample(cls("x -> y", 3, 0, 2.0), "m:2 x:1", "F.pad(a, (3, 0), value=2.0)"),
            Sample(
                cls("x -> y", 1, 2, mode="reflect"), "x:3", "F.pad(a[None], (1, 2), 'reflect')[0]"
            ),
            Sample(
                cls("x -> y", 2, 0, mode="replicate"),
                "m:2 x:3x1",
                "F.pad(a, (2, 0, 2, 0), 'replicate')",
            ),
            Sample(
                cls("x -> y", 2, 3, mode="circular"), "m:2 x:3#v:5", "F.pad(a, (2, 3), 'circular')"
            ),
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
