"""The largest numbers along an axis, and their positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import SizeError
from ncd.lang.formulas.expr import Arg, Expr, Size, call
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import SIGNATURE, SignatureField, spelled
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.types.axes import Array, Signature, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.structure.axis_places import check_plain, on_own


@dataclass(frozen=True, repr=False, eq=False)
class Top(Op):
    """Returns the k largest numbers along an axis, in order, and their positions (two arrays).

    The positions are whole numbers below the size of the axis, for
    :class:`~ncd.ops.structure.index.Index`. A mixture of experts selects its experts so.

    Args:
        pattern: The axis and the new one, such as ``"e -> k:2"``.

    Raises:
        SizeError: If the new axis is longer than the old one.

    Source: ``torch.topk``; Shazeer et al. 2017, "Outrageously Large Neural Networks", section 2.1.

    >>> str(Top("e:8 -> k:2").lift(Top("e:8 -> k:2").dom))
    'k, k#e'
    """

    pattern: SignatureField = spelled(SIGNATURE)
    role: ClassVar[str] = "index"
    form: ClassVar[str] = "e -> k"

    @property
    def signature(self) -> Signature:
        (old,), (new,) = self.pattern.dom, self.pattern.cod
        return Signature(Type((Array(old),)), Type((Array(new), Array(new, old[0]))))

    def check_pattern(self) -> None:
        """Permits the whole numbers that it gives."""

    def check(self, binding: Binding) -> None:
        old, new = (binding[t[0][0].name] for t in (self.pattern.dom, self.pattern.cod))
        for axis in (old, new):
            check_plain(axis, "has no single order")
        if old.size is not None and new.size is not None and new.numel > old.numel:
            raise SizeError(
                f"axis {new.name} has size {new.numel}, but there are only {old.numel} along "
                f"{old.name}",
                cure=f"{new.name} = {old.numel}",
                axis=new.name,
                nearest=old.numel,
            )

    def torch(self, site: Site) -> Expr:
        (dim,) = site.ins[0].position(self.dom[0][0].name)
        return call("torch.topk", Arg(0), Size(tuple(site.cod[0])), dim=dim)

    def out(self, site: Site) -> str:
        return "top"

    def glyph(self, site: Site) -> Glyph:
        return on_own(site, "box", f"Top ${self.pattern.cod[0][0].name}$")

    def formula(self, site: Site) -> str:
        e, k = self.dom[0][0].identifier, self.signature.cod[0][0].identifier
        return rf"z_{{{k}}}, i_{{{k}}} = \operatorname{{top}}_{{{e}}} a_{{{e}}}"

    def words(self, site: Site) -> str:
        new = site.cod[0][0]
        return f"the {new.size_text} largest along {self.dom[0]}, and their places"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        return (steps.scattered(outs[1], grads[0], site.ins[0]),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("e -> k:2"), "e:5", "tuple(a.topk(2))"),
            Sample(cls("e -> k:3"), "e:3", "tuple(a.sort(descending=True))"),
        )
