"""Ops on each number: formulas, named functions, scaling, causal mask, sum, dropout."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from ncd.errors import MismatchError, ParseError, UnknownNameError, short_repr
from ncd.formulas.derivative import ONE, ZERO, derivative, times
from ncd.formulas.elementwise_functions import function_called
from ncd.formulas.formula import (
    CONSTANTS,
    FUNCTIONS,
    Application,
    Formula,
    Name,
    Number,
    Operand,
    leaves,
)
from ncd.formulas.formula import parse as parse_formula
from ncd.formulas.formula_latex import ellipsize, latex, lettered_text, mark_text
from ncd.formulas.traced_sizes import is_symbolic
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.broadcasting import IN_PLACE, LEADING, BroadcastRule
from ncd.language.cached_property import lazy_property
from ncd.language.fields import (
    ARRAY,
    AXIS,
    FORMULA,
    NAME,
    PROBABILITY,
    SIGNATURE,
    TEXT,
    ArrayField,
    FormulaField,
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
from ncd.language.patterns import Binding
from ncd.language.torch_code import Align, Arg, Call, Const, Infix, Layer, Position, Size, TorchExpr
from ncd.ops.axis_places import broadcast_glyph, check_not_spatial, ports, single_mark_glyph
from ncd.ops.formula_lowering import LoweredFormula, broadcast_to, constant, lower, without_formula
from ncd.words import nearest_name

# --- The sum of two arrays of one shape


@dataclass(frozen=True, repr=False, eq=False)
class Add(Op):
    """Adds two arrays of the same axes, at the end of a residual connection; drawn as a +.

    Raises:
        MismatchError: For arrays whose axes differ, and for one alone.

    Source: Notebook, figure 26: copies that meet again at dots under a +.

    >>> from ncd import Type
    >>> str(Add().infer_outputs(Type.parse("b:2 n:3, b:2 n:3")))
    'b n'
    """

    role: ClassVar[str] = "residual"
    broadcasting = BroadcastRule(shares_axes=True)
    signature: ClassVar[Signature] = Signature.parse("(), () -> ()")

    def check_arrays(self, site: Site) -> None:
        one, other = site.inputs
        if one.names and not other.names:  # mostly an array that is missing
            raise MismatchError(
                f"it adds two arrays of the same axes, and beside ({one}) there is none with axes",
                cure=f'Copy("{one}") before the branch, whose second copy waits for the sum',
            )
        if one.names != other.names:
            raise MismatchError(
                f"the arrays ({one}) and ({other}) differ",
                cure="two arrays that share these axes in this order",
            )

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return (Infix("+", Arg(0), Arg(1)),)

    def glyph(self, site: Site) -> Glyph:
        n = len(site.outputs[0])
        wires = tuple(range(n))
        return Glyph(
            through=tuple((i, i) for i in wires),
            joins=tuple((n + i, i) for i in wires),
            marks=(Mark("plus", "+", ins=wires[:1], outs=wires[:1]),),
        )

    def latex(self, site: Site) -> str:
        return "z = a + b"

    def description(self, site: Site) -> str:
        return f"sum of two arrays ({site.outputs[0]})"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        return (grads[0], grads[0])

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (Sample(cls(), "m:5, m:5", "a + b"), Sample(cls(), "x:2x3, x:2x3", "a + b"))


# --- Dropout, which sets random numbers to 0 in training


@dataclass(frozen=True, repr=False, eq=False)
class Dropout(Op):
    """Sets each number to 0 with probability p in training, and divides the others by 1 - p.

    The choice follows from the seed of the module. In evaluation nothing changes.

    Args:
        p: The probability, from 0 to less than 1.
        name: The name of the layer.

    Raises:
        ParseError: For another probability.

    Source: Srivastava et al. 2014, "Dropout"; ``torch.nn.Dropout``.

    >>> from ncd import Type
    >>> str(Dropout(0.1).infer_outputs(Type.parse("y m")))
    'y m'
    """

    p: float = term_field(PROBABILITY, 0.1)
    name: str = term_field(NAME, "dropout")
    role: ClassVar[str] = "activate"
    signature: ClassVar[Signature] = Signature.parse("() -> ()")

    def layer_call(self, site: Site) -> Call:
        return Call("nn.Dropout", (Const(self.p),))

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return (Layer((Arg(0),)),)

    def glyph(self, site: Site) -> Glyph:
        every = tuple(port for port, _, _ in ports(site.inputs))
        return broadcast_glyph(site, Mark("elementwise", "D", ins=every, outs=every))

    def latex(self, site: Site) -> str:
        return rf"z = \frac{{b\,a}}{{1 - {self.p:g}}}, \quad P(b = 0) = {self.p:g}"

    def description(self, site: Site) -> str:
        return f"dropout: each number left out with probability {self.p:g}, in training only"

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        if self.p:
            raise MismatchError(
                f"{self.display_name} draws at random in training, so its gradient is no fixed "
                "term",
                cure="p = 0, as in evaluation",
            )
        return tuple(ins)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (Sample(cls(0.0), "m:5", "a"), Sample(cls(0.0, "drop"), "y:2 m:3", "a"))


# --- The base of the ops that are defined by a formula, such as ``Map`` and ``Scale``

_VALUES = {"e": math.e, "inf": math.inf, "pi": math.pi}


class Meaning(NamedTuple):
    """The meaning of a name in a formula."""

    kind: str  # "position", "size" or "constant"
    axis: str


class FormulaOp(Op):
    """The base of ops that are defined by a formula.

    The axes of the result have the order of the first array, if that has all of them.
    """

    @property
    def defining_formula(self) -> Formula:
        """The formula of the operands ``$1``, … and the axes of the signature."""
        raise NotImplementedError

    @lazy_property
    def meanings(self) -> Mapping[str, Meaning]:
        """The meaning of each name in the formula; raises NCDError for one without a meaning."""
        names = [leaf.text for leaf in leaves(self.defining_formula) if isinstance(leaf, Name)]
        return {name: self._meaning(name) for name in dict.fromkeys(names)}

    def _meaning(self, name: str) -> Meaning:
        axes = {axis.name: axis for axis in (*self._signature_axes, *self.reads)}.values()
        found = {"position": _matching_names(name, axes)}
        if name.startswith("n_"):
            found["size"] = _matching_names(name[2:], axes)
        every = [(what, axis) for what, some in found.items() for axis in some]
        if len(every) > 1:
            words = " or ".join(f"the {what} of axis {axis}" for what, axis in every)
            raise ParseError(f"{name} could be {words}", cure="another name for one of the axes")
        if every:
            what, axis = every[0]
            if what == "position" and axis not in self.signature.cod[0].names:
                raise ParseError(
                    f"{name} is no axis of the result ({self.signature.cod[0]})",
                    cure=f"n_{name} for its size",
                )
            return Meaning(what, axis)
        if name in CONSTANTS:
            return Meaning("constant", name)
        if name.startswith("n_") and len(name) > 2:
            return Meaning("size", name[2:])
        known = [axis.identifier for axis in self.signature.cod[0]]
        known += [f"n_{axis.identifier}" for axis in axes] + list(CONSTANTS)
        fact = f"{name} is no axis of the result, no size and no constant"
        raise UnknownNameError(fact, cure=nearest_name(name, known))

    @property
    def _signature_axes(self) -> tuple[Axis, ...]:
        return tuple(dict.fromkeys((*self.signature.dom.axes, *self.signature.cod.axes)))

    @property
    def broadcasting(self) -> BroadcastRule:
        own, new = self.signature.dom, self.signature.cod[0]
        return IN_PLACE if own and own[0].names == new.names else LEADING

    def check_axes(self, binding: Binding) -> None:
        for meaning in self.meanings.values():
            axis = binding.get(meaning.axis)
            if meaning.kind == "position" and axis is not None:
                check_not_spatial(axis, "has no single position")
        axes = [*self.signature.dom.axes, *self.signature.cod.axes, *self.reads]
        if all(binding.size(axis.name) is not None for axis in axes):
            every = {axis.name: binding[axis.name] for axis in axes}
            arrays = Type(map(binding.with_known_sizes, self.dom))
            self._lower_formula(arrays, binding.with_known_sizes(self.signature.cod[0]), every)

    def _lower_formula(self, ins: Type, out: Array, every: Mapping[str, Axis]) -> TorchExpr:
        names = {name: self._part(m, out, every) for name, m in self.meanings.items()}
        args = [_operand(i, array, out) for i, array in enumerate(ins)]
        return broadcast_to(lower(self.defining_formula, args, names), out.dims, out.below)

    def _part(self, meaning: Meaning, out: Array, every: Mapping[str, Axis]) -> LoweredFormula:
        what, name = meaning
        if what == "constant":
            return constant(_VALUES[name])
        axis = every[name]
        if what == "size":
            return constant(axis.numel, Size((axis,)))
        (dim,) = axis.dims
        return LoweredFormula(Position(dim, out.dims), "whole", frozenset((dim.key,)))

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return (self._lower_formula(site.inputs, site.outputs[0], site.axes_by_name),)

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        rule, gradient = self.plainly_named(self.defining_formula), Operand(len(ins) + 1)
        found: list[ArrayHandle | None] = []
        for number, slot in enumerate(ins, start=1):
            slope = derivative(rule, number) if slot.real and outs[0].real else ZERO
            if slope == ZERO:
                found.append(None)
                continue
            whole = grads[0]
            if slope != ONE:
                whole = steps.map(times(slope, gradient), (*ins, whole), site.outputs[0])
            found.append(steps.product((whole,), slot.axes))
        return tuple(found)

    def plainly_named(self, formula: Formula) -> Formula:
        """Returns the formula with its names as any ``Map`` on the whole arrays reads them."""
        if isinstance(formula, Application):
            parts = tuple(map(self.plainly_named, formula.parts))
            return Application(formula.operation, parts)
        if not isinstance(formula, Name):
            return formula
        what, axis = self.meanings[formula.text]
        if what == "constant":
            return Number("1e999" if axis == "inf" else repr(_VALUES[axis]))
        name = Axis(axis).identifier
        return Name(name if what == "position" else f"n_{name}")

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        """Returns a tile of the formula for every tile: it looks at one place at a time."""
        return TilingRule()

    def latex(self, site: Site) -> str:
        return f"z = {latex(self.defining_formula)}"


def _matching_names(name: str, axes: Iterable[Axis]) -> list[str]:
    """Returns the names of the axes with this name or identifier."""
    return [axis.name for axis in axes if name in (axis.name, axis.identifier)]


def _operand(index: int, array: Array, out: Array) -> LoweredFormula:
    expr: TorchExpr = Arg(index)
    if array.dims != out.dims:
        expr = Align(expr, array.dims, out.dims)
    keys = frozenset(dim.key for dim in array.dims)
    return LoweredFormula(expr, "real" if array.below is None else "whole", keys)


def check_operands(formula: Formula, arrays: Type) -> None:
    """Raises ParseError unless the formula uses each of the arrays and no others."""
    used = {leaf.number for leaf in leaves(formula) if isinstance(leaf, Operand)}
    count = len(arrays)
    for number in sorted(used):
        if not 1 <= number <= count:
            words = f"{count} array{'' if count == 1 else 's'}"
            cure = f"$1 to ${count}" if count > 1 else "$1" if count else "an array on the left"
            raise ParseError(f"there is no ${number}, it takes {words}", cure=cure)
    for number, array in enumerate(arrays, start=1):
        if number not in used:
            raise ParseError(
                f"the formula {formula} does not use ${number}, ({array})",
                cure="a pattern without it, and Wire to drop the array",
            )


# --- Elementwise formulas of any number of arrays, broadcast by name


@dataclass(frozen=True, repr=False, eq=False)
class Map(FormulaOp):
    """Computes a formula for every position, of any number of arrays, broadcast by name.

    In the formula ``$1`` and ``$2`` are the arrays, an axis of the result is the position along it
    (0, 1, …), ``n_x`` the size of x, and ``e``, ``pi`` and ``inf`` are constants unless an axis has
    that name. The grammar is in :mod:`ncd.formulas.formula`. A result of whole numbers is
    rounded towards zero: ``Map("x -> x#2", "$1 > 0")``.

    Args:
        pattern: The axes of the arrays and of the result, such as ``"h y x, x -> h y x"``.
        function: The formula, such as ``"where($2 > 0, -inf, $1)"``.
        title: The name of its box and its result.
        reads: The axes outside the pattern whose size the formula uses, to give them a size.

    Raises:
        ParseError: For a formula that does not fit the arrays.
        UnknownNameError: For a name without a meaning.
        MismatchError: For a pattern that drops an axis.

    Source: Notebook, figure 12, for one array; ``torch.where`` and broadcasting for several.

    >>> str(Map("y m -> y m", "$1 + sin(y / 100)").cod), str(Map("-> y x#2", "x <= y").cod)
    ('y m', 'y x#2')
    """

    pattern: SignatureField = term_field(SIGNATURE)
    function: FormulaField = term_field(FORMULA)
    title: str = term_field(TEXT, "")
    reads: ArrayField = term_field(ARRAY, Array())
    role: ClassVar[str] = "neutral"

    def check_pattern(self) -> None:
        self._check_arrays()
        check_operands(self.function, self.dom)
        self._check_reads()

    @property
    def defining_formula(self) -> Formula:
        return self.function

    @property
    def display_name(self) -> str:
        return f"Map {self.title}" if self.title else "Map"

    def _check_arrays(self) -> None:
        if len(self.pattern.cod) != 1:
            raise MismatchError("a map gives one array", cure="a Map for each of them")
        kept = self.pattern.cod[0].names
        lost = [n for array in self.dom for n in array.names if n not in kept]
        if lost:
            raise MismatchError(
                f"axis {lost[0]} stands on the left but not on the right",
                cure=f"Reduce or Einsum, to sum over {lost[0]}",
            )

    def _check_reads(self) -> None:
        """Sets the axes of which the formula only uses the size."""
        own = {axis.name for axis in self._signature_axes}
        wanted = [m.axis for m in self.meanings.values() if m.kind == "size" and m.axis not in own]
        idle = [name for name in self.reads.names if name not in wanted]
        if idle:
            raise ParseError(
                f"it says that it reads the size of {idle[0]}, but it need not",
                cure=f"n_{Axis(idle[0]).identifier} in the formula",
            )
        given = {axis.name: axis for axis in self.reads}
        reads = Array(given.get(name, Axis(name)) for name in dict.fromkeys(wanted))
        object.__setattr__(self, "reads", reads)

    def result_name(self, site: Site) -> str:
        name = re.sub(r"\W+", "_", self.title).strip("_").lower()
        return name if name.isidentifier() else ""

    def glyph(self, site: Site) -> Glyph:
        ins, outs = (tuple(port for port, _, _ in ports(t)) for t in (site.inputs, site.outputs))
        if not ins and self._causal:
            return Glyph(marks=(Mark("mask", outs=outs),))
        return Glyph(
            marks=(Mark("box", ellipsize(self.title) or mark_text(self.function), ins, outs),)
        )

    @property
    def _causal(self) -> bool:
        """Returns whether it is 1 where the second position is at most the first, as a mask."""
        names = tuple(Name(axis.identifier) for axis in self.pattern.cod[0])
        return self.function in (Application(">=", names), Application("<=", names[::-1]))

    def description(self, site: Site) -> str:
        arrays = f"of ({site.inputs}) " if site.inputs else ""
        return f"{lettered_text(self.function)}, for every number {arrays}to ({site.outputs})"

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(
                cls("h y x, x -> h y x", "where($2 > 0, -inf, $1)"),
                "h:2 y:3 x:4, x:4",
                "a.masked_fill(b > 0, -math.inf)",
            ),
            Sample(cls("-> y:3 x:4", "x <= y", "mask"), "", "torch.ones(3, 4).tril()"),
            Sample(cls("-> y:2 x:3", "0.1 * n_y", "tenth"), "", "torch.full((2, 3), 0.1 * 2)"),
            Sample(cls("m -> m", "$1 / n_k ** 0.5", "", "k:4"), "m:3", "a / 2"),
            Sample(cls("y#v -> y", "($1 - 1) / 2"), "y:3#v:5", "(a - 1) / 2"),
            Sample(cls("-> y:4#v:9", "2 * y"), "", "2 * torch.arange(4)"),
            Sample(cls("x -> x#2", "$1 > 0"), "x:5", "(a > 0).long()"),
            Sample(cls("x -> y:3 x", "$1"), "x:2", "a.expand(3, 2)"),
            Sample(cls("x y, y -> y x", "max($1, 0) * $2"), "x:2 y:3, y:3", "(a.relu() * b).T"),
            Sample(
                cls("y -> y z:2x2", "silu($1)"), "y:3", "F.silu(a)[:, None, None].expand(3, 2, 2)"
            ),
        )


# --- Elementwise functions, scaling and the causal mask, which have formulas of their own

SCALAR = Signature.parse("() -> ()")
_POWER = re.compile(r"-?\d(/[1-9])?")
_number = lru_cache(maxsize=256)(Fraction)
LETTERS = {"gelu": "G", "relu": "R", "sigmoid": "σ", "tanh": "T"}  # as in the figures


@dataclass(frozen=True, repr=False, eq=False)
class Elementwise(FormulaOp):
    """Applies a function of one number to every number of an array; drawn as ➤R➤.

    Args:
        function: Its name, such as ``"relu"`` or ``"gelu"``.

    Raises:
        UnknownNameError: For a name that is no function of one number.

    Source: Notebook, figure 12.

    >>> from ncd import Type
    >>> str(Elementwise("relu").infer_outputs(Type.parse("y m")))
    'y m'
    """

    function: str = term_field(TEXT)
    role: ClassVar[str] = "activate"
    signature: ClassVar[Signature] = SCALAR

    def check_pattern(self) -> None:
        known = [name for name, count in FUNCTIONS.items() if count == 1]
        if self.function not in known:
            called = function_called(self.function)
            every = f"one of {', '.join(known)}"
            fact = f"there is no elementwise function {short_repr(self.function)}"
            cure = called or nearest_name(self.function, known, every)
            raise UnknownNameError(fact, cure=cure, where="Elementwise")

    @property
    def defining_formula(self) -> Formula:
        return Application(self.function, (Operand(1),))

    @property
    def display_name(self) -> str:
        return f"Elementwise {self.function}"

    def glyph(self, site: Site) -> Glyph:
        every = tuple(port for port, _, _ in ports(site.inputs))
        letter = LETTERS.get(self.function, self.function)
        return broadcast_glyph(site, Mark("elementwise", letter, ins=every, outs=every))

    def description(self, site: Site) -> str:
        return f"{self.function} on every number of ({site.inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        functions = {"gelu": "F.gelu(a)", "abs": "a.abs()", "sin": "a.sin()", "relu": "F.relu(a)"}
        return tuple(Sample(cls(name), "m:5", text) for name, text in functions.items())


@lru_cache(maxsize=256)
def _scaling_formula(axis: str, power: str) -> Formula:
    """Returns the formula of the operand times a power of the size of an axis."""
    size, by = Name(f"n_{axis}"), _number(power)
    factor: Formula = size
    if abs(by) == Fraction(1, 2):
        factor = Application("sqrt", (size,))
    elif abs(by) != 1:
        factor = Application("**", (size, parse_formula(str(abs(by)))))
    return Application("*" if by > 0 else "/", (Operand(1), factor))


@dataclass(frozen=True, repr=False, eq=False)
class Scale(FormulaOp):
    """Multiplies by a power of the size of an axis; drawn as ∗ k^(-1/2) on an arrow.

    Args:
        axis: The axis, which the array need not have, such as ``"k"``.
        power: The power, a whole number or a fraction of one digit each.

    Raises:
        ParseError: For another power.

    Source: Notebook, figures 20 and 21.

    >>> Scale("k:16", "-1/2").factor
    0.25
    """

    axis: ArrayField = term_field(AXIS)
    power: str = term_field(TEXT, "-1/2")
    role: ClassVar[str] = "scale"
    signature: ClassVar[Signature] = SCALAR

    def check_pattern(self) -> None:
        if not _POWER.fullmatch(self.power):
            raise ParseError(
                f"{short_repr(self.power)} is no power", where="Scale", cure='"-1/2", or "2"'
            )

    @property
    def defining_formula(self) -> Formula:
        return _scaling_formula(self.axis[0].name, self.power)

    def _meaning(self, name: str) -> Meaning:
        return Meaning("size", self.axis[0].name)

    @property
    def reads(self) -> Array:
        return self.axis

    @property
    def factor(self) -> float:
        """The number that it multiplies by."""
        return float(self.axis[0].numel ** float(_number(self.power)))

    def glyph(self, site: Site) -> Glyph:
        ins = tuple(port for port, _, _ in ports(site.inputs))
        return broadcast_glyph(
            site, Mark("arrow", f"*{self.axis[0].name}^{{{self.power}}}", ins=ins)
        )

    def latex(self, site: Site) -> str:
        return rf"z = a \cdot {self.axis[0].identifier}^{{{self.power}}}"

    def description(self, site: Site) -> str:
        words = f"scale by {self.axis} to the power {self.power}"
        (axis,) = site.reads
        return words if axis.size is None else f"{words}, {self._factor_text(axis.numel)}"

    def _factor_text(self, size: Any) -> str:
        power = float(_number(self.power))
        text = f"{without_formula(size) ** power:.4g}"
        return str(size.placeholder(f"^{power}", text)) if is_symbolic(size) else text

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        return TilingRule(linear=(0,))

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("k:16"), "m:5", "a / 4"),
            Sample(cls("k:3", "2"), "m:5", "a * 9"),
            Sample(cls("k:3", "-2/3"), "m:5", "a * 3 ** (-2 / 3)"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class CausalMask(FormulaOp):
    """Sets the scores of later positions to −∞, so that query y only sees keys x ≤ y.

    Args:
        axes: The axes of queries and keys, such as ``"y x"``.

    Raises:
        ParseError: For anything but two axes.
        SizeError: For a spatial axis, which has no single position.

    Source: Unit-testing notebook, "Make a masked attention"; ``is_causal`` of
    ``torch.nn.functional.scaled_dot_product_attention``.

    >>> from ncd import Type
    >>> str(CausalMask("y x").infer_outputs(Type.parse("y h x")))
    'y h x'
    """

    axes: ArrayField = term_field(ARRAY)
    role: ClassVar[str] = "mask"
    pattern_form: ClassVar[str] = "y x"

    @property
    def defining_formula(self) -> Formula:
        y, x = (Name(axis.name) for axis in self.axes)
        minus = Application("-", (Number("1e999"),))  # infinite, even if an axis is called "inf"
        return Application("where", (Application(">", (x, y)), minus, Operand(1)))

    def _meaning(self, name: str) -> Meaning:
        return Meaning("position", name)

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "mask", keep=self.axes.names)

    def latex(self, site: Site) -> str:
        y, x = (axis.identifier for axis in self.axes)
        return rf"z_{{{y}{x}}} = a_{{{y}{x}}} \text{{ if }} {x} \le {y}, \text{{ else }} -\infty"

    def description(self, site: Site) -> str:
        y, x = self.axes.names
        return f"causal mask: position {y} sees only {x} up to itself"

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        mask = "torch.ones(3, 4, dtype=torch.bool).triu(1)"
        return (Sample(cls("y x"), "y:3 x:4", f"a.masked_fill({mask}, -math.inf)"),)
