"""Arrays one after the other along an axis, and an axis cut into several arrays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import MismatchError, ParseError, SizeError
from ncd.lang.formulas.expr import Arg, Const, Expr, Method, Size, Tuple, call
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.chain_typing import Origins
from ncd.lang.terms.field_spelling import SIGNATURE, spelled
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.types.axes import Axis, Signature
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.structure.axis_places import check_kinds, ports


class _Pieces(Op):
    """What both share: an axis that is several others, one after the other."""

    any_kind: ClassVar[bool] = True
    pattern: Signature

    @property
    def signature(self) -> Signature:
        return self.pattern

    @property
    def pieces(self) -> tuple[Axis, ...]:
        """The axes of the pieces, in order."""
        raise NotImplementedError

    @property
    def whole(self) -> Axis:
        """The axis of them all."""
        raise NotImplementedError

    def _check_pattern(self, form: str) -> None:
        check_kinds(self)
        arrays = (*self.signature.dom, *self.signature.cod)
        if not self.signature.dom or any(len(array) != 1 for array in arrays):
            kind = type(self).__name__
            raise ParseError(
                f'"{self.signature}" is not of the form "{form}"',
                where=kind,
                cure=f'something like {kind}("{form}")',
            )

    def solve(self, binding: Binding) -> None:
        names = [axis.name for axis in self.pieces]
        sizes = {name: binding.size(name) for name in names}
        known = sum(size for name in names if (size := sizes[name]) is not None)
        unknown = [name for name in names if sizes[name] is None]
        whole = binding.size(self.whole.name)
        if not unknown:
            binding.learn(self.whole.name, known)
        elif whole is not None and len(set(unknown)) == 1:
            self._learn(binding, unknown[0], whole, known)

    def _learn(self, binding: Binding, name: str, whole: int, known: int) -> None:
        """The size of the piece that is missing, once or several times."""
        times = Counter(axis.name for axis in self.pieces)[name]
        left, rest = divmod(whole - known, times)
        if rest or left < 1:
            nearest = known + times * max(1, left)
            raise SizeError(
                f"axis {self.whole.name} has size {whole}, "
                f"but is {' + '.join(axis.name for axis in self.pieces)}"
                + (f", of which {known} are known" if known else ""),
                cure=f"{self.whole.name} = {nearest}",
                axis=self.whole.name,
                nearest=nearest,
            )
        binding.learn(name, left)

    def check(self, binding: Binding) -> None:
        for axis in (*self.pieces, self.whole):
            bound = binding[axis.name]
            if bound.spatial:
                raise MismatchError(
                    f"axis {axis.name} is a group of {len(bound.shape)} dimensions, "
                    "which cannot be put one after the other",
                    cure=f'Group("{axis.name} -> n") before it, which makes one dimension of them',
                )


@dataclass(frozen=True, repr=False, eq=False)
class Concat(_Pieces):
    """Arrays one after the other along an axis (``torch.cat``). Notebook, figure 27.

    ``Concat("c, d -> e")`` gives e the size of c and d together; every other axis must agree. Any
    number of arrays can be joined.

    >>> from ncd.lang.types.axes import Type
    >>> str(Concat("c, c -> 2c").lift(Type.parse("c:3 x:4x4, c:3 x:4x4")).axes[0].spec)
    '2c:6'

    Raises MismatchError for arrays whose other axes differ, and for a spatial axis.
    """

    pattern: Signature = spelled(SIGNATURE)
    role: ClassVar[str] = "concat"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_pattern("c, d -> e")

    def _check_form(self) -> None:
        if len(self.pattern.cod) != 1:
            raise ParseError(
                f'"{self.pattern}" is not of the form "c, d -> e"',
                where="Concat",
                cure='something like Concat("c, d -> e")',
            )

    @property
    def pieces(self) -> tuple[Axis, ...]:
        return tuple(array[0] for array in self.dom)

    @property
    def whole(self) -> Axis:
        return self.signature.cod[0][0]

    def admit(self, site: Site) -> None:
        inputs = site.ins
        others = [
            ("whole" if array.below else "", *("" if n in own.names else n for n in array.names))
            for array, own in zip(inputs, self.dom, strict=True)
        ]
        bounds = {array.below.name for array in inputs if array.below}
        odd = next((i for i, names in enumerate(others) if names != others[0]), len(bounds) > 1)
        if odd:
            raise MismatchError(
                f"the arrays ({inputs[0]}) and ({inputs[int(odd)]}) differ",
                where=f"{self.label} ({self.signature})",
                bound=inputs.axes,
                cure="arrays that share all other axes, in this order",
            ).at(op=self)

    @property
    def origins(self) -> Origins:
        return (tuple(range(len(self.dom))),)

    def torch(self, site: Site) -> tuple[Expr, ...]:
        (dim,) = site.ins[0].position(site.dom[0][0].name)
        arrays = Tuple(tuple(Arg(i) for i in range(len(site.ins))))
        return (call("torch.cat", arrays, dim=dim),)

    def glyph(self, site: Site) -> Glyph:
        own = {array[0].name for array in site.dom}
        ins, outs = ports(site.ins), ports(site.outs)
        targets = {name: port for port, _, name in outs}
        new = targets[site.cod[0][0].name]
        through = tuple((p, targets[n]) for p, k, n in ins if k == 0 and n not in own)
        joins = tuple((p, targets[n]) for p, k, n in ins if k > 0 and n not in own)
        bar = Mark("bar", ins=tuple(p for p, _, n in ins if n in own), outs=(new,))
        return Glyph(through, joins, marks=(bar,))

    def formula(self, site: Site) -> str:
        return rf"z = [{' ; '.join('abcdefgh'[i % 8] for i in range(len(site.ins)))}]"

    def words(self, site: Site) -> str:
        pieces = [axis.name for axis in self.pieces]
        return f"concatenation of {' and '.join(pieces)} to {self.whole.name}"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("c, d -> e"), "c:2, d:3", "torch.cat((a, b))"),
            Sample(cls("c, c -> 2c"), "c:2 x:3, c:2 x:3", "torch.cat((a, b))"),
            Sample(cls("p, q, r -> n"), "m:2 p:1, m:2 q:2, m:2 r:3", "torch.cat((a, b, c), 1)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Cut(_Pieces):
    """An axis cut into pieces, an array each (``torch.split``): ``Cut("d -> q, k, v")``.

    The size of one piece may be left open; pieces of one name have one size. The inverse of
    :class:`Concat`.

    >>> from ncd.lang.types.axes import Type
    >>> Cut("d -> q:2, k").lift(Type.parse("y:3 d:6")).spec
    'y:3 q:2, y:3 k:4'

    Raises SizeError if the pieces do not make up the axis.
    """

    pattern: Signature = spelled(SIGNATURE)
    role: ClassVar[str] = "concat"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_pattern("d -> a, b")

    def _check_form(self) -> None:
        if len(self.pattern.dom) != 1:
            raise ParseError(
                f'"{self.pattern}" is not of the form "d -> a, b"',
                where="Cut",
                cure='something like Cut("d -> a, b")',
            )

    @property
    def pieces(self) -> tuple[Axis, ...]:
        return tuple(array[0] for array in self.signature.cod)

    @property
    def whole(self) -> Axis:
        return self.dom[0][0]

    def torch(self, site: Site) -> Expr:
        (dim,) = site.ins[0].position(self.whole.name)
        sizes = Tuple(tuple(Size(tuple(array)) for array in site.cod))
        return Method(Arg(0), "split", (sizes, Const(dim)))

    def glyph(self, site: Site) -> Glyph:
        ins, outs = ports(site.ins), ports(site.outs)
        sources = {name: port for port, _, name in ins}
        kept = [(sources[n], p, k) for p, k, n in outs if n != site.cod[k][0].name]
        through = tuple((source, p) for source, p, k in kept if k == 0)
        splits = tuple((source, p) for source, p, k in kept if k > 0)
        new = tuple(p for p, k, n in outs if n == site.cod[k][0].name)
        bar = Mark("bar", ins=(sources[self.whole.name],), outs=new)
        return Glyph(through, splits=splits, marks=(bar,))

    def formula(self, site: Site) -> str:
        letters = ["bcdefghi"[i % 8] for i in range(len(site.outs))]
        return rf"a = [{' ; '.join(letters)}]"

    def words(self, site: Site) -> str:
        return f"cuts {self.whole.name} into {' and '.join(axis.name for axis in self.pieces)}"

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("d -> p:2, q"), "d:5", "(a[:2], a[2:])"),
            Sample(cls("d -> h, h, h"), "d:6 x:2", "(a[:2], a[2:4], a[4:])"),
        )
