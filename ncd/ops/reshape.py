"""Axes merged into one, split into several, and renamed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from ncd.errors import ParseError, SizeError
from ncd.language.axes import Array, Axis, Signature, Type, unused_name
from ncd.language.broadcasting import IN_PLACE_ANY, LEADING_ANY
from ncd.language.fields import SIGNATURE, SignatureField, term_field
from ncd.language.op import ArrayHandle, Glyph, Op, Reach, Sample, Site, Slots, TermBuilder
from ncd.language.patterns import Binding
from ncd.language.torch_code import Arg, Rearrange, TorchExpr, groups, merge_axes
from ncd.ops.axis_places import single_mark_glyph, subscript, with_axes_last


class _AxisProductOp(Op):
    """The base of ops on an axis that is the product of several factors."""

    role: ClassVar[str] = "reshape"
    broadcasting = LEADING_ANY

    @property
    def factors(self) -> Array:
        """The axes that are multiplied."""
        raise NotImplementedError

    @property
    def product(self) -> str:
        """The name of the axis that is their product."""
        raise NotImplementedError

    def check_pattern(self) -> None:
        super().check_pattern()
        if self.product in self.factors.names:
            raise ParseError(
                f"axis {self.product} stands on both sides",
                cure=f"another name than {self.product} for one of them",
            )

    def solve(self, binding: Binding) -> None:
        sizes = {name: binding.size(name) for name in self.factors.names}
        known = prod(size for size in sizes.values() if size is not None)
        unknown = [name for name, size in sizes.items() if size is None]
        whole = binding.size(self.product)
        if whole is None:
            if not unknown:
                binding.bind_size(self.product, known)
            return
        if whole % known or (not unknown and whole != known):
            raise self._size_error(whole, known, unknown)
        if len(unknown) == 1:
            binding.bind_size(unknown[0], whole // known)

    def _size_error(self, whole: int, known: int, unknown: list[str]) -> SizeError:
        names = "·".join(name for name in self.factors.names if name not in unknown)
        nearest = max(1, round(whole / known)) * known if unknown else known
        return SizeError(
            f"axis {self.product} has size {whole}, "
            + (f"which {names} = {known} does not divide" if unknown else f"but {names} = {known}"),
            cure=f"{self.product} = {nearest}",
            axis=self.product,
            nearest=nearest,
        )

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "bar")

    def continued_axis(self, site: Site, axis: str) -> str:
        """Returns the product for its first factor, which varies slowest, and the other way."""
        (before, *_), (after, *_) = self.dom[0], self.signature.cod[0]
        if axis != before.name or any(site.axes_by_name[a.name].spatial for a in (before, after)):
            return ""
        return after.name


@dataclass(frozen=True, repr=False, eq=False)
class Group(_AxisProductOp):
    """Merges axes into one, the last fastest (``torch.flatten``); drawn as a thick bar.

    Into a spatial group they are merged in the order of its dimensions.

    Args:
        pattern: The axes and the new one, such as ``"h k -> d"``.

    Raises:
        SizeError: If the product of their sizes is not the size of the new axis.

    Source: Notebook, figure 19.

    >>> Group("x y -> d").infer_outputs(Type.parse("x:4 y:3")).spec
    'd:12'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    pattern_form: ClassVar[str] = "x+ -> d"

    @property
    def factors(self) -> Array:
        return self.dom[0]

    @property
    def product(self) -> str:
        return self.signature.cod[0][0].name

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        (array,), (own,), (out,) = site.inputs, site.own_inputs, site.outputs
        if len(own.dims) == 1:
            return (Arg(0),)
        after = [
            group
            for axis in out
            for group in ((own.dims,) if axis.name == self.product else groups(Array((axis,))))
        ]
        joined = Rearrange(Arg(0), groups(array), tuple(after))
        before = tuple(
            group
            for axis in out
            for group in ((axis.dims,) if axis.name == self.product else groups(Array((axis,))))
        )
        return (joined if len(before) == len(out.dims) else Rearrange(joined, before, groups(out)),)

    def latex(self, site: Site) -> str:
        names = subscript(site.own_inputs[0])
        return rf"z_{{({names})}} = a_{{{names}}}"

    def description(self, site: Site) -> str:
        return f"groups {site.own_inputs[0]} as {site.own_outputs[0]}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return steps.call(Split(Signature(site.own_outputs, site.own_inputs)), grads[0])

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("h k -> d"), "h:2 k:3", "a.flatten()"),
            Sample(cls("x c -> d"), "x:2x3 c:2", "a.flatten()"),
            Sample(cls("x -> n"), "x:2x3", "a.flatten()"),
            Sample(cls("y a u b -> x:4x6"), "y:2 a:2 u:3 b:2", "a.reshape(4, 6)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Split(_AxisProductOp):
    """Splits an axis into several, the last fastest (``Tensor.unflatten``).

    Args:
        pattern: The axis and the new ones, such as ``"d -> h:4 k"``; one size may be left open.

    Raises:
        SizeError: If the known sizes do not divide the axis.

    Source: einops' ``rearrange``; drawn as the mirror of figure 19 in the notebook.

    >>> Split("d -> h:4 k").infer_outputs(Type.parse("y:2 d:12")).spec
    'y:2 h:4 k:3'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    pattern_form: ClassVar[str] = "d -> h+"

    @property
    def factors(self) -> Array:
        return self.signature.cod[0]

    @property
    def product(self) -> str:
        return self.dom[0][0].name

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        def split(x: TorchExpr, rest: Array) -> TorchExpr:
            if own.shape == new.shape:  # only the names change
                return x
            joined = merge_axes(x, rest, own)
            return Rearrange(joined, (*groups(rest), new.dims), (*groups(rest), *groups(new)))

        own, new = site.own_inputs[0], site.own_outputs[0]
        return with_axes_last(site, split)

    def latex(self, site: Site) -> str:
        names = subscript(site.own_outputs[0])
        return rf"z_{{{names}}} = a_{{({names})}}"

    def description(self, site: Site) -> str:
        return f"splits {site.own_inputs[0]} into {site.own_outputs[0]}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        (old,), every = site.own_inputs[0], site.axes_by_name
        if not old.spatial:
            return steps.call(Group(Signature(site.own_outputs, site.own_inputs)), grads[0])
        name = unused_name(f"{old.identifier}_flat", every)
        flat = Type((Array((Axis(name, old.numel),)),))  # a group of dimensions is made by Split
        (x,) = steps.call(Group(Signature(site.own_outputs, flat)), grads[0])
        return steps.call(Split(Signature(flat, site.own_inputs)), x)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("d -> h:2 k"), "d:6", "a.view(2, 3)"),
            Sample(cls("x -> h:3 k"), "x:2x3", "a.view(3, 2)"),
            Sample(cls("d -> x:2x3 c"), "d:12", "a.view(2, 3, 2)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Rename(Op):
    """Renames axes, at no cost in a run; in self-attention it makes keys from queries.

    Args:
        pattern: The old and the new names, such as ``"y -> x"`` or ``"y m -> x k"``.

    Raises:
        ParseError: For sides of different lengths.
        MismatchError: If an axis of the array already has the new name.

    Source: Notebook, figure 20: the names of queries and keys differ.

    >>> Rename("y -> x").infer_outputs(Type.parse("~y:20 m:128")).spec
    '~x:20 m:128'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    role: ClassVar[str] = "reshape"
    pattern_form: ClassVar[str] = "y+ -> x+"
    broadcasting = IN_PLACE_ANY

    def check_pattern(self) -> None:
        super().check_pattern()
        if len(self.pattern.dom[0]) != len(self.pattern.cod[0]):
            raise ParseError(
                f'"{self.pattern}" has not as many axes on the right as on the left',
                where="Rename",
                cure='something like Rename("y -> x")',
            )

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The old name and the new name of each axis."""
        return tuple(zip(self.dom[0].names, self.signature.cod[0].names, strict=True))

    def solve(self, binding: Binding) -> None:
        """Gives the new axis the size and the kind of the old one, or the other way."""
        pairs = zip(self.dom[0], self.signature.cod[0], strict=True)
        for old, new in ((binding[a.name], binding[b.name]) for a, b in pairs):
            if old.size is not None:
                binding.unify(new, replace(new, size=old.size, sequence=old.sequence))
            elif new.size is not None:
                binding.unify(old, replace(old, size=new.size, sequence=new.sequence))

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return (Arg(0),)

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        return Reach(dict(self.pairs).get(axis, axis))

    def glyph(self, site: Site) -> Glyph:
        return Glyph(through=tuple((i, i) for i in range(len(site.inputs[0]))))

    def latex(self, site: Site) -> str:
        return rf"z_{{{subscript(site.own_outputs[0])}}} = a_{{{subscript(site.own_inputs[0])}}}"

    def description(self, site: Site) -> str:
        return f"calls {site.own_inputs[0]} by the name {site.own_outputs[0]}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return steps.call(Rename(Signature(site.own_outputs, site.own_inputs)), grads[0])

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("y -> x"), "y:3", "a"),
            Sample(cls("y m -> x k"), "y:2 m:3", "a"),
            Sample(cls("x -> u"), "x:2x3", "a"),
        )
