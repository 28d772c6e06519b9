"""Ops: the generators of the language, and how they are broadcast over arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import MismatchError, NCDError
from ncd.lang.formulas.expr import Call, Expr
from ncd.lang.glyph import Glyph
from ncd.lang.once import once
from ncd.lang.terms.chain_typing import Origins
from ncd.lang.terms.field_spelling import field_names, read_fields
from ncd.lang.terms.pattern_checks import check_form, check_kinds
from ncd.lang.terms.pullback import Differentiable
from ncd.lang.terms.site import Initial as Initial
from ncd.lang.terms.site import Site as Site
from ncd.lang.terms.streaming import Streamable
from ncd.lang.terms.terms import Term, kept
from ncd.lang.types.axes import NO_AXES, Array, Signature, Type
from ncd.lang.types.pattern_binding import Binding, match, union


@dataclass(frozen=True)
class Sample:
    """An op on arrays of its own axes, with its value in plain torch, for the tests.

    Args:
        op: The op.
        dom: The arrays that it is given.
        torch: Its outputs as an expression of ``torch``, ``F``, ``math``, the inputs ``a``, ``b``,
            … and the parameters ``w[0]``, ``w[1]``, … in order; several outputs are a tuple.
        alone: Whether it must not be broadcast, because it works on all axes of its array.

    Source: the documents' own unit tests, which compare each module with plain torch.

    >>> from ncd.ops import Softmax
    >>> Softmax.samples()[0]
    Sample(op=Softmax('x'), dom='x:4', torch='a.softmax(0)', alone=False)
    """

    op: Op
    dom: str
    torch: str
    alone: bool = False


class Op(Differentiable, Streamable, Term):
    """The base of all generators: frozen dataclasses that describe themselves by plain data.

    ``role`` gives its colour, ``label`` its name in words. A learned op also has a ``name``: the
    attribute of the compiled module. Subclasses override the methods below.

    Raises:
        ParseError: For a field that cannot be read, or a pattern of another form.
        MismatchError: When it is put on arrays that it does not fit.
        SizeError: When sizes do not fit.

    Source: CONTRIBUTING, "An op: one file, one line"; Notebook, sections 2.3 and 2.4.

    >>> from ncd.ops import Softmax
    >>> op: Op = Softmax("x")
    >>> op.role, op.label, str(op.lift(Type.parse("y x h")))
    ('softmax', 'Softmax', 'y x h')
    """

    role: ClassVar[str] = "neutral"
    form: ClassVar[str] = ""  # of its first field; m* is any number of axes, m+ one or more
    any_kind: ClassVar[bool] = False  # accepts whole numbers where its pattern has real ones
    apart: ClassVar[bool] = False  # is broadcast over the axes of each array separately
    in_place: ClassVar[bool] = False  # its output has the axes of its input, in their order
    backward: ClassVar[Mapping[str, str]] = {}  # rules of torch's functions that only it uses
    count = 1

    def __post_init__(self) -> None:
        try:
            read_fields(self)
        except NCDError as error:
            raise error.at(where=type(self).__name__) from None
        if self.form:
            first = getattr(self, field_names(type(self))[0])
            check_form(type(self).__name__, first, self.form)
        try:
            self.check_pattern()
        except NCDError as error:
            raise error.at(where=f"{self.label} ({self.signature})") from None

    def check_pattern(self) -> None:
        """Raises NCDError for fields that do not fit together."""
        check_kinds(self.signature, self.any_kind)

    @once
    def signature(self) -> Signature:
        """The arrays that it takes and gives, with its own axes only.

        By default it is the first field, which for a single array is what it takes and gives.
        """
        first = getattr(self, field_names(type(self))[0])
        if isinstance(first, Array):
            return Signature(Type((first,)), Type((first,)))
        pattern: Signature = first
        return pattern

    @property
    def dom(self) -> Type:
        return self.signature.dom

    @property
    def label(self) -> str:
        """The name of its class and its own name, such as ``Linear Q``."""
        name = getattr(self, "name", "")
        return f"{type(self).__name__} {name}" if name else type(self).__name__

    @property
    def calls(self) -> str:
        """The function of ``torch.ops`` that it calls by its name; empty for most ops."""
        return ""

    @property
    def reads(self) -> Array:
        """Axes whose size it needs, but which need not be axes of its arrays."""
        return NO_AXES

    @property
    def origins(self) -> Origins:
        own = ((0,) if len(self.dom) == 1 else (),)
        return own * len(self.signature.cod)

    def lift(self, inputs: Type) -> Type:
        return self.site(inputs).outs

    def site(self, inputs: Type) -> Site:
        """Returns the op on these arrays: matches its axes, solves for new ones, keeps others.

        Args:
            inputs: The whole arrays that it takes, with axes that it is broadcast over.

        Raises:
            MismatchError: For arrays that lack its axes.
            SizeError: For sizes that do not fit.
        """
        return kept(self, "_sites", inputs, self._site)

    def _site(self, inputs: Type) -> Site:
        binding, signature = Binding(), self.signature
        try:
            rests = [
                match(own, array, binding, any_kind=self.any_kind)
                for own, array in zip(signature.dom, inputs, strict=True)
            ]
            for array in inputs:
                self._meet_bound(array, binding)
            for axis in (*signature.dom.axes, *signature.cod.axes, *self.reads):
                binding.meet(axis, axis)
            self.solve(binding)
            self.check(binding)
            site = Site(
                dom=Type(map(binding.resolve, signature.dom)),
                cod=Type(map(binding.resolve, signature.cod)),
                ins=Type(map(binding.resolve, inputs)),
                outs=self._spread(inputs, rests, binding),
                reads=binding.resolve(self.reads),
            )
            self.admit(site)
        except NCDError as error:
            where = f"{self.label} ({signature})"
            bound = [*inputs.axes, *binding.values()]
            raise error.at(where=where, bound=bound, op=self) from None
        return site

    @staticmethod
    def _meet_bound(array: Array, binding: Binding) -> None:
        """Binds the axis that bounds whole numbers to one size, as a bound and as an axis."""
        bound = array.below
        if bound is not None:
            for axis in (bound, *(axis for axis in array if axis.name == bound.name)):
                binding.meet(bound, axis)

    def _spread(self, inputs: Type, rests: list[tuple[Array, Array]], binding: Binding) -> Type:
        """Returns the outputs with every axis that the op is broadcast over."""
        own = {name for array in self.signature.dom for name in array.names}
        for (before, after), array, pattern in zip(rests, inputs, self.signature.dom, strict=True):
            stray = [name for name in (*before.names, *after.names) if name in own]
            if stray:
                raise MismatchError(
                    f"the array ({array}) has axis {stray[0]}, but the pattern takes ({pattern}) "
                    f"there and names {stray[0]} elsewhere",
                    cure=f"{stray[0]} in the pattern of this array too, or another name for it",
                )
        if self.in_place:
            return Type(map(binding.resolve, inputs))
        if len(rests) == 1 and not self.signature.dom[0]:  # new axes stand last
            rests = [(inputs[0], NO_AXES)]
        first = union(rest[0] for rest in rests)
        last = union(
            after if own else _apart(after, first)
            for (_, after), own in zip(rests, self.signature.dom, strict=True)
        )
        return Type(
            self._whole(first, array, last, binding, inputs) for array in self.signature.cod
        )

    def _whole(
        self, before: Array, array: Array, after: Array, binding: Binding, inputs: Type
    ) -> Array:
        below = array.below
        if below is None and self.any_kind and len(inputs) >= 1:
            below = next((given.below for given in inputs if given.below), None)
        out = Array((*before, *array, *after), below)
        doubled = [name for name in array.names if name in (*before.names, *after.names)]
        if doubled:
            raise MismatchError(
                f"axis {doubled[0]} would appear twice in the result ({out})",
                cure=f"another name for the new axis {doubled[0]}",
            )
        astray = [name for name in before.names if name in after.names]
        if astray:
            raise MismatchError(
                f"axis {astray[0]} stands before ({array}) in one array and after it in another",
                cure=f"an Einsum before it, to put {astray[0]} in one place",
            )
        return binding.resolve(out)

    # --- the description of an op -----------------------------------------------------------------

    def solve(self, binding: Binding) -> None:
        """Binds axes whose size follows from those bound so far, from inputs or from outputs.

        It is called again when more is known. Raises SizeError for sizes that do not fit.
        """

    def check(self, binding: Binding) -> None:
        """Raises NCDError for own axes that it cannot work on, such as a spatial group."""

    def admit(self, site: Site) -> None:
        """Raises NCDError for arrays that it cannot work on, and not with more axes either."""

    def check_numbers(self, site: Site) -> None:
        """Raises SizeError for arrays of a circuit with too few numbers, which a type may have."""

    def layer(self, site: Site) -> Call | None:
        """Returns the call that makes its torch layer; None if it has no layer."""
        return None

    def initial(self, site: Site) -> Mapping[str, Initial]:
        """Returns the initial values of its parameters and buffers, by name.

        An op with a parameter but no layer names the parameter after itself.
        """
        return {}

    def torch(self, site: Site) -> tuple[Expr, ...] | Expr:
        """Returns an expression for each output, or one that gives all of them as a tuple."""
        raise NotImplementedError

    def out(self, site: Site) -> str:
        """Returns a variable name for its result, such as ``scores``; empty if it has none."""
        return ""

    def glyph(self, site: Site) -> Glyph:
        """Returns its drawing, as marks on the wires of the site."""
        raise NotImplementedError

    def flops(self, site: Site) -> int:
        """Returns the floating-point operations of a forward pass; a multiply-add is two.

        They are counted as by torch's FlopCounterMode where no size is 1.
        """
        return 0

    def formula(self, site: Site) -> str:
        """Returns its definition in LaTeX."""
        raise NotImplementedError

    def words(self, site: Site) -> str:
        """Returns a description in words that read well aloud."""
        return self.label

    def expansion(self, site: Site) -> Term | None:
        """Returns the same map made of simpler ops; None where that explains nothing."""
        return None

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        """Returns examples of the op, on which the tests try every view."""
        raise NotImplementedError


def _apart(array: Array, others: Array) -> Array:
    """Returns the axes of ``array`` that are not in ``others``; raises MismatchError."""
    union((others, array))
    return Array(axis for axis in array if axis.name not in others.names)
