"""Several axes as one, one as several (a thick bar), and an axis by another name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

from ncd.lang.errors import MismatchError, ParseError, SizeError
from ncd.lang.formulas.expr import Arg, Expr, Rearrange, groups, merged
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.field_spelling import SIGNATURE, spelled
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.types.axes import Array, Signature, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.structure.axis_places import at_end, check_kinds, over, own_ports


class _Product(Op):
    """What both share: an axis that is the product of several."""

    role: ClassVar[str] = "reshape"
    any_kind: ClassVar[bool] = True
    pattern: Signature

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kinds(self)

    @property
    def signature(self) -> Signature:
        return self.pattern

    @property
    def factors(self) -> Array:
        """The several axes."""
        raise NotImplementedError

    @property
    def product(self) -> str:
        """The name of the one."""
        raise NotImplementedError

    def _check_form(self) -> None:
        super()._check_form()
        if self.product in self.factors.names:
            raise ParseError(
                f"axis {self.product} stands on both sides",
                where=f"{type(self).__name__} ({self.pattern})",
                cure=f"another name than {self.product} for one of them",
            )

    def solve(self, binding: Binding) -> None:
        sizes = {name: binding.size(name) for name in self.factors.names}
        known = prod(size for size in sizes.values() if size is not None)
        unknown = [name for name, size in sizes.items() if size is None]
        whole = binding.size(self.product)
        if whole is None:
            if not unknown:
                binding.learn(self.product, known)
            return
        if whole % known or (not unknown and whole != known):
            raise self._wrong(whole, known, unknown)
        if len(unknown) == 1:
            binding.learn(unknown[0], whole // known)

    def _wrong(self, whole: int, known: int, unknown: list[str]) -> SizeError:
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
        bar = Mark("bar", ins=own_ports(site.ins, site.dom), outs=own_ports(site.outs, site.cod))
        return over(site, bar)


@dataclass(frozen=True, repr=False, eq=False)
class Group(_Product):
    """Axes read as one, the last fastest (flatten). Notebook, figure 19.

    >>> Group("x y -> d").lift(Type.parse("x:4 y:3")).spec
    'd:12'

    Raises SizeError if the axes do not make up the one.
    """

    pattern: Signature = spelled(SIGNATURE)
    form: ClassVar[str] = "x+ -> d"

    @property
    def factors(self) -> Array:
        return self.dom[0]

    @property
    def product(self) -> str:
        return self.signature.cod[0][0].name

    def torch(self, site: Site) -> tuple[Expr, ...]:
        (array,), (own,), (out,) = site.ins, site.dom, site.outs
        if len(own.dims) == 1:
            return (Arg(0),)
        after = [
            group
            for axis in out
            for group in ((own.dims,) if axis.name == self.product else groups(Array((axis,))))
        ]
        return (Rearrange(Arg(0), groups(array), tuple(after)),)

    def formula(self, site: Site) -> str:
        names = r"\,".join(_index(site.dom[0]))
        return rf"z_{{({names})}} = a_{{{names}}}"

    def words(self, site: Site) -> str:
        return f"groups {site.dom[0]} as {site.cod[0]}"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("h k -> d"), "h:2 k:3", "a.flatten()"),
            Sample(cls("x c -> d"), "x:2x3 c:2", "a.flatten()"),
            Sample(cls("x -> n"), "x:2x3", "a.flatten()"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Split(_Product):
    """One axis read as several, the last fastest; at most one of the new sizes may be left open.

    >>> Split("d -> h:4 k").lift(Type.parse("y:2 d:12")).spec
    'y:2 h:4 k:3'

    Raises SizeError if the sizes that are known do not divide the axis.
    """

    pattern: Signature = spelled(SIGNATURE)
    form: ClassVar[str] = "d -> h+"

    @property
    def factors(self) -> Array:
        return self.signature.cod[0]

    @property
    def product(self) -> str:
        return self.dom[0][0].name

    def torch(self, site: Site) -> tuple[Expr, ...]:
        def split(x: Expr, rest: Array) -> Expr:
            if own.shape == new.shape:  # only the names change
                return x
            joined = merged(x, rest, own)
            return Rearrange(joined, (*groups(rest), new.dims), (*groups(rest), *groups(new)))

        own, new = site.dom[0], site.cod[0]
        return at_end(site, split)

    def formula(self, site: Site) -> str:
        names = r"\,".join(_index(site.cod[0]))
        return rf"z_{{{names}}} = a_{{({names})}}"

    def words(self, site: Site) -> str:
        return f"splits {site.dom[0]} into {site.cod[0]}"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("d -> h:2 k"), "d:6", "a.view(2, 3)"),
            Sample(cls("x -> h:3 k"), "x:2x3", "a.view(3, 2)"),
            Sample(cls("d -> x:2x3 c"), "d:12", "a.view(2, 3, 2)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Rename(Op):
    """Axes by other names: free when run, a change of label in the picture.

    ``Rename("y -> x")`` makes the keys of self-attention from its queries. Several axes can be
    renamed at once, ``Rename("y m -> x k")``.

    >>> Rename("y -> x").lift(Type.parse("~y:20 m:128")).spec
    '~x:20 m:128'
    """

    pattern: Signature = spelled(SIGNATURE)
    role: ClassVar[str] = "reshape"
    any_kind: ClassVar[bool] = True
    form: ClassVar[str] = "y+ -> x+"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kinds(self)

    def _check_form(self) -> None:
        super()._check_form()
        if len(self.pattern.dom[0]) != len(self.pattern.cod[0]):
            raise ParseError(
                f'"{self.pattern}" has not as many axes on the right as on the left',
                where="Rename",
                cure='something like Rename("y -> x")',
            )

    @property
    def signature(self) -> Signature:
        return self.pattern

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each axis' old name and new name."""
        return tuple(zip(self.dom[0].names, self.signature.cod[0].names, strict=True))

    def solve(self, binding: Binding) -> None:
        """The new axis is a sequence, or spatial, where the old one is; and the other way."""
        pairs = zip(self.dom[0], self.signature.cod[0], strict=True)
        for old, new in ((binding[a.name], binding[b.name]) for a, b in pairs):
            if old.size is not None:
                binding.meet(new, replace(new, size=old.size, sequence=old.sequence))
            elif new.size is not None:
                binding.meet(old, replace(old, size=new.size, sequence=new.sequence))

    def _spread(self, inputs: Type, rests: list[tuple[Array, Array]], binding: Binding) -> Type:
        """The array with every axis at its place."""
        (array,), names = inputs, dict(self.pairs)
        new = {axis.name: axis for axis in self.signature.cod[0]}
        out = array.with_axes(new[names[a.name]] if a.name in names else a for a in array)
        doubled = [name for name in out.names if out.names.count(name) > 1]
        if doubled:
            raise MismatchError(
                f"axis {doubled[0]} would appear twice in the result ({out})",
                cure=f"another name for the new axis {doubled[0]}",
            )
        return Type((binding.resolve(out),))

    def torch(self, site: Site) -> tuple[Expr, ...]:
        return (Arg(0),)

    def glyph(self, site: Site) -> Glyph:
        return Glyph(through=tuple((i, i) for i in range(len(site.ins[0]))))

    def formula(self, site: Site) -> str:
        old, new = (r"\,".join(_index(array)) for array in (site.dom[0], site.cod[0]))
        return rf"z_{{{new}}} = a_{{{old}}}"

    def words(self, site: Site) -> str:
        return f"calls {site.dom[0]} by the name {site.cod[0]}"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("y -> x"), "y:3", "a"),
            Sample(cls("y m -> x k"), "y:2 m:3", "a"),
            Sample(cls("x -> u"), "x:2x3", "a"),
        )


def _index(array: Array) -> list[str]:
    return [axis.identifier.replace("_", "") for axis in array]
