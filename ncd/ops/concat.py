"""Concatenation of arrays along an axis, and its inverse."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from ncd.errors import MismatchError, SizeError
from ncd.language.axes import Axis, Signature
from ncd.language.broadcasting import LEADING_ANY, BroadcastRule
from ncd.language.fields import SIGNATURE, SignatureField, term_field
from ncd.language.op import ArrayHandle, Glyph, Mark, Op, Reach, Sample, Site, Slots, TermBuilder
from ncd.language.patterns import Binding
from ncd.language.torch_code import Arg, Const, Method, Size, TorchExpr, Tuple, call
from ncd.ops.axis_places import check_not_spatial, ports


class _ConcatenationOp(Op):
    """The base of ops on an axis that is the concatenation of several pieces."""

    broadcasting = LEADING_ANY

    @property
    def pieces(self) -> tuple[Axis, ...]:
        """The axes of the pieces, in order."""
        raise NotImplementedError

    @property
    def concatenated_axis(self) -> Axis:
        """The axis of all pieces together."""
        raise NotImplementedError

    def solve(self, binding: Binding) -> None:
        names = [axis.name for axis in self.pieces]
        sizes = {name: binding.size(name) for name in names}
        known = sum(size for name in names if (size := sizes[name]) is not None)
        unknown = [name for name in names if sizes[name] is None]
        whole = binding.size(self.concatenated_axis.name)
        if not unknown:
            binding.bind_size(self.concatenated_axis.name, known)
        elif whole is not None and len(set(unknown)) == 1:
            self._learn(binding, unknown[0], whole, known)

    def _learn(self, binding: Binding, name: str, whole: int, known: int) -> None:
        """Binds the size of the only unknown piece, which may occur several times."""
        times = Counter(axis.name for axis in self.pieces)[name]
        left, rest = divmod(whole - known, times)
        if rest or left < 1:
            nearest = known + times * max(1, left)
            raise SizeError(
                f"axis {self.concatenated_axis.name} has size {whole}, "
                f"but is {' + '.join(axis.name for axis in self.pieces)}"
                + (f", of which {known} are known" if known else ""),
                cure=f"{self.concatenated_axis.name} = {nearest}",
                axis=self.concatenated_axis.name,
                nearest=nearest,
            )
        binding.bind_size(name, left)

    def offset(self, site: Site, piece: int) -> int:
        """Returns the place of the whole axis at which a piece begins."""
        return sum(site.size(axis.name) for axis in self.pieces[:piece])

    def check_axes(self, binding: Binding) -> None:
        for axis in (*self.pieces, self.concatenated_axis):
            check_not_spatial(binding[axis.name], "cannot be concatenated")


@dataclass(frozen=True, repr=False, eq=False)
class Concat(_ConcatenationOp):
    """Concatenates arrays along an axis (``torch.cat``); drawn as a thick bar.

    Args:
        pattern: The axis of each array and the new one, such as ``"c, d -> e"``. All other axes of
            the arrays must agree.

    Raises:
        MismatchError: For arrays whose other axes differ.
        SizeError: For sizes that do not add up, and for a spatial axis.

    Source: Notebook, figure 27.

    >>> from ncd import Type
    >>> str(Concat("c, c -> 2c").infer_outputs(Type.parse("c:3 x:4x4, c:3 x:4x4")).axes[0].spec)
    '2c:6'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    role: ClassVar[str] = "concat"
    pattern_form: ClassVar[str] = "c, d… -> e"
    broadcasting = BroadcastRule(any_kind=True, shares_axes=True)

    @property
    def pieces(self) -> tuple[Axis, ...]:
        return tuple(array[0] for array in self.dom)

    @property
    def concatenated_axis(self) -> Axis:
        return self.signature.cod[0][0]

    def check_arrays(self, site: Site) -> None:
        inputs = site.inputs
        others = [
            ("whole" if array.below else "", *("" if n in own.names else n for n in array.names))
            for array, own in zip(inputs, self.dom, strict=True)
        ]
        bounds = {array.below.name for array in inputs if array.below}
        odd = next((i for i, names in enumerate(others) if names != others[0]), len(bounds) > 1)
        if odd:
            raise MismatchError(
                f"the arrays ({inputs[0]}) and ({inputs[int(odd)]}) differ",
                cure="arrays that share all other axes, in this order",
            )

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        (dim,) = site.inputs[0].position(site.own_inputs[0][0].name)
        arrays = Tuple(tuple(Arg(i) for i in range(len(site.inputs))))
        return (call("torch.cat", arrays, dim=dim),)

    def glyph(self, site: Site) -> Glyph:
        own = {array[0].name for array in site.own_inputs}
        ins, outs = ports(site.inputs), ports(site.outputs)
        targets = {name: port for port, _, name in outs}
        new = targets[site.own_outputs[0][0].name]
        through = tuple((p, targets[n]) for p, k, n in ins if k == 0 and n not in own)
        joins = tuple((p, targets[n]) for p, k, n in ins if k > 0 and n not in own)
        bar = Mark("bar", ins=tuple(p for p, _, n in ins if n in own), outs=(new,))
        return Glyph(through, joins, marks=(bar,))

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        if axis != self.pieces[source].name:
            return super().reach(site, axis, source, target)
        back = -self.offset(site, source)
        return Reach(self.concatenated_axis.name, back, back)

    def latex(self, site: Site) -> str:
        return rf"z = [{' ; '.join('abcdefgh'[i % 8] for i in range(len(site.inputs)))}]"

    def description(self, site: Site) -> str:
        pieces = [axis.name for axis in self.pieces]
        return f"concatenation of {' and '.join(pieces)} to {self.concatenated_axis.name}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return steps.call(Cut(Signature(site.own_outputs, site.own_inputs)), grads[0])

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("c, d -> e"), "c:2, d:3", "torch.cat((a, b))"),
            Sample(cls("c, c -> 2c"), "c:2 x:3, c:2 x:3", "torch.cat((a, b))"),
            Sample(cls("p, q, r -> n"), "m:2 p:1, m:2 q:2, m:2 r:3", "torch.cat((a, b, c), 1)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Cut(_ConcatenationOp):
    """Cuts an axis into pieces, one array each (``torch.split``); the inverse of :class:`Concat`.

    Args:
        pattern: The axis and its pieces, such as ``"d -> q, k, v"``. Pieces of one name have one
            size; one size may be left open.

    Raises:
        SizeError: If the pieces do not add up to the axis, and for a spatial axis.

    Source: ``torch.split``; drawn as the mirror of figure 27 in the notebook.

    >>> from ncd import Type
    >>> Cut("d -> q:2, k").infer_outputs(Type.parse("y:3 d:6")).spec
    'y:3 q:2, y:3 k:4'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    role: ClassVar[str] = "concat"
    pattern_form: ClassVar[str] = "d -> a, b…"

    @property
    def pieces(self) -> tuple[Axis, ...]:
        return tuple(array[0] for array in self.signature.cod)

    @property
    def concatenated_axis(self) -> Axis:
        return self.dom[0][0]

    def torch_code(self, site: Site) -> TorchExpr:
        (dim,) = site.inputs[0].position(self.concatenated_axis.name)
        sizes = Tuple(tuple(Size(tuple(array)) for array in site.own_outputs))
        return Method(Arg(0), "split", (sizes, Const(dim)))

    def glyph(self, site: Site) -> Glyph:
        ins, outs = ports(site.inputs), ports(site.outputs)
        sources = {name: port for port, _, name in ins}
        kept = [(sources[n], p, k) for p, k, n in outs if n != site.own_outputs[k][0].name]
        through = tuple((source, p) for source, p, k in kept if k == 0)
        splits = tuple((source, p) for source, p, k in kept if k > 0)
        new = tuple(p for p, k, n in outs if n == site.own_outputs[k][0].name)
        bar = Mark("bar", ins=(sources[self.concatenated_axis.name],), outs=new)
        return Glyph(through, splits=splits, marks=(bar,))

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        if axis != self.concatenated_axis.name:
            return super().reach(site, axis, source, target)
        ahead = self.offset(site, target)
        return Reach(self.pieces[target].name, ahead, ahead)

    def latex(self, site: Site) -> str:
        letters = ["bcdefghi"[i % 8] for i in range(len(site.outputs))]
        return rf"a = [{' ; '.join(letters)}]"

    def description(self, site: Site) -> str:
        pieces = " and ".join(axis.name for axis in self.pieces)
        return f"cuts {self.concatenated_axis.name} into {pieces}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return steps.call(Concat(Signature(site.own_outputs, site.own_inputs)), *grads)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("d -> p:2, q"), "d:5", "(a[:2], a[2:])"),
            Sample(cls("d -> h, h, h"), "d:6 x:2", "(a[:2], a[2:4], a[4:])"),
        )
