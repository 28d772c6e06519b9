"""The base of every op and its questions: site, glyph, pullback, streaming rule, steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from ncd.errors import MismatchError, NCDError
from ncd.formulas.formula import Formula
from ncd.language.axes import NO_AXES, Array, Axis, Signature, Type
from ncd.language.broadcasting import LEADING, BroadcastRule
from ncd.language.cached_property import lazy_property
from ncd.language.fields import field_names, read_fields, remember_result
from ncd.language.patterns import Binding, check_form, check_kinds, match_or_raise
from ncd.language.terms import BroadcastSources, Term
from ncd.language.torch_code import Call, TorchExpr

# --- Glyphs: drawings of ops, as wires that run through and marks on them

Ports = tuple[int, ...]


@dataclass(frozen=True)
class Mark:
    """A shape over some wires of an op.

    ``shape`` is a name of the catalogue of marks (``ncd/drawing/marks``); ``text`` is in the label
    mathematics of ``ncd.drawing.elements.labels.math``. ``ins`` and ``outs`` are the ports that it
    spans, ``attached_ports`` input wires that it is attached to and that run on. ``note`` is a
    longer name beside it, in small letters.
    """

    shape: str
    text: str = ""
    ins: Ports = ()
    outs: Ports = ()
    note: str = ""
    attached_ports: Ports = ()


@dataclass(frozen=True)
class Glyph:
    """The wires and marks of an op. Ports number the axes of all inputs, or outputs, from the top.

    ``through`` pairs input with output wires that continue them, ``joins`` input wires with the
    output wire that they bend onto at a dot, ``splits`` input wires with the output wire that
    leaves them at a dot, ``caps`` input wires that meet in a contraction; with ``arrows`` an arrow
    leaves each cap. Any other port ends or starts at a mark, or at the edge of the op.
    """

    through: tuple[tuple[int, int], ...] = ()
    joins: tuple[tuple[int, int], ...] = ()
    splits: tuple[tuple[int, int], ...] = ()
    caps: tuple[tuple[int, int], ...] = ()
    marks: tuple[Mark, ...] = ()
    arrows: bool = True

    @lazy_property
    def _hash(self) -> int:
        return hash((self.through, self.joins, self.splits, self.caps, self.marks, self.arrows))

    def __hash__(self) -> int:
        """Returns the hash, which is computed once: drawings are cached by their glyphs."""
        return self._hash


# --- Attribute names of torch modules: a layer called ``forward`` becomes ``forward_2``

_NAMES = """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda
    double dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter
    get_submodule half ipu load_state_dict modules mtia named_buffers named_children named_modules
    named_parameters parameters register_backward_hook register_buffer register_forward_hook
    register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook
    register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module
    register_parameter register_state_dict_post_hook register_state_dict_pre_hook requires_grad_
    set_extra_state set_submodule share_memory state_dict to to_empty train training type xpu
    zero_grad
"""
MODULE = frozenset(_NAMES.split())
CIRCUIT_MODULE_NAMES = frozenset(("circuit", "execute", "term", "keys", "values", "items"))
RESERVED_NAMES = MODULE | CIRCUIT_MODULE_NAMES


# --- Sites: an op as it stands in a circuit, with the sizes of all axes around it


@dataclass(frozen=True)
class Site:
    """An op at its place: its own axes with their sizes, and the whole arrays around them.

    Args:
        own_inputs: The op's own inputs, without the axes that it is broadcast over.
        own_outputs: The op's own outputs.
        inputs: The whole inputs, with every axis that the op is broadcast over.
        outputs: The whole outputs.
        reads: Axes of which the op only knows the size.

    Source: Notebook, section 2.3.2: an op keeps its own axes when it is broadcast.

    >>> from ncd.ops import Softmax
    >>> site = Softmax("x").apply_to(Type.parse("y:3 x:4"))
    >>> str(site.own_inputs), str(site.inputs), site.size("y")
    ('x', 'y x', 3)
    """

    own_inputs: Type
    own_outputs: Type
    inputs: Type
    outputs: Type
    reads: Array = NO_AXES

    @lazy_property
    def axes(self) -> tuple[Axis, ...]:
        """Every axis of the arrays, each name once."""
        return tuple({axis.name: axis for axis in (*self.inputs.axes, *self.outputs.axes)}.values())

    @lazy_property
    def axes_by_name(self) -> Mapping[str, Axis]:
        """Every axis by its name, including those whose size the op only reads."""
        return {axis.name: axis for axis in (*self.axes, *self.reads)}

    def size(self, name: str) -> int:
        """Returns the number of positions of the axis of this name."""
        return self.axes_by_name[name].numel

    @property
    def broadcast_axes(self) -> Array:
        """The axes of the first array that the op is broadcast over."""
        return Array(axis for axis in self.inputs[0] if axis.name not in self.own_inputs[0].names)


@dataclass(frozen=True)
class InitialValue:
    """The initial value of a parameter, or of a buffer if it is not ``is_learned``.

    ``array`` has the axes of its numbers, in their order in memory. ``formula`` gives each number
    from its position along these axes (``n_x`` is the size of x), from ``normal`` (standard normal)
    and ``uniform`` (from -1 to 1), drawn from the seed. With ``numbers`` they are these instead.
    """

    array: Array
    formula: Formula
    is_learned: bool = True
    numbers: tuple[float, ...] = ()


# --- The interface on which an op writes itself in simpler ops, and its backward pass


@dataclass(frozen=True, eq=False)
class ArrayHandle:
    """An array of a term that is being written: its axes, and which one it is."""

    axes: Array

    @property
    def real(self) -> bool:
        """Whether it holds real numbers, which have a gradient.

        >>> [ArrayHandle(array).real for array in Type.parse("m, m#v")]
        [True, False]
        """
        return self.axes.below is None


Slots = Sequence[ArrayHandle]


PullbackRule = Callable[["TermBuilder", ArrayHandle], ArrayHandle]


class TermBuilder(Protocol):
    """Adds steps on arrays to a term; each method returns the arrays that its step makes."""

    def call(self, term: Any, *slots: ArrayHandle) -> tuple[ArrayHandle, ...]:
        """Adds any term."""

    def product(self, slots: Slots, out: Array) -> ArrayHandle:
        """Adds a product of arrays, summed to the axes of ``out``; new axes are copies."""

    def map(self, formula: str | Formula, slots: Slots, out: Array, title: str = "") -> ArrayHandle:
        """Adds a formula of arrays, of which it may leave some out, for every place of ``out``."""

    def rename(self, slot: ArrayHandle, old: Array, new: Array) -> ArrayHandle:
        """Adds other names for some axes, if they differ."""

    def param(self, name: str, *groups: Array, kept: Array = NO_AXES) -> ArrayHandle:
        """Adds a parameter of the op that is written.

        In torch it has one dimension for each of the groups, which may have several axes or none,
        and then those of the ``kept`` axes.
        """

    def override_pullback(
        self, since: int, slot: ArrayHandle, made: ArrayHandle, rule: PullbackRule
    ) -> None:
        """Makes one rule the pullback of all steps since a count, from one array to another.

        ``rule`` takes the writer of the backward pass and the gradient of ``made``, and gives that
        of ``slot``. Nothing else may use what the steps in between make.
        """

    @property
    def count(self) -> int:
        """The number of steps so far that have a pullback."""

    def reverse(self, slot: ArrayHandle, axis: Axis) -> ArrayHandle:
        """Adds an array in the opposite order along an axis."""

    def scatter_add(self, places: ArrayHandle, values: ArrayHandle, out: Array) -> ArrayHandle:
        """Adds a sum of numbers into the places of an array."""


# --- The gradient of an op: its pullback, or the ops that it is written out in


class Differentiable:
    """The base of ops: each has a pullback, or is written out in ops that have one."""

    @property
    def display_name(self) -> str:
        """Its name in words."""
        return type(self).__name__

    def written_out(
        self, site: Site, steps: TermBuilder, ins: Slots
    ) -> tuple[ArrayHandle, ...] | None:
        """Returns its outputs in ops that have a pullback, with its weights as arrays.

        Returns None for an op that has a pullback itself.
        """
        return None

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        """Returns the gradient of each input from those of the outputs; None if there is none.

        Args:
            site: The op at its place.
            steps: Takes the steps of the backward pass.
            ins: The inputs of the forward pass.
            outs: Its outputs.
            grads: The gradient of each output.

        Raises:
            MismatchError: For an op without a gradient, with the reason.
        """
        raise MismatchError(
            f"{self.display_name} has no gradient as a term",
            cure="a term without it, or torch.autograd",
        )


# --- The rules by which ops work on one tile of an axis after the other


@dataclass(frozen=True)
class RunningStatistic:
    """A number that is kept from tile to tile, for every place that the op is broadcast over.

    Args:
        name: Its name in the formulas that follow; ``NAME_old`` is its value before a tile.
        reduction: How the numbers of a tile are joined, and the tile with those before: sum or
        maximum. tile_formula: A formula of the tile, ``$1``, and of the numbers kept before this
        one. rescale: What the sum of the tiles before is multiplied by; empty for 1.
    """

    name: str
    reduction: Literal["max", "sum"]
    tile_formula: str
    rescale: str = ""


@dataclass(frozen=True)
class DeferredSummand:
    """A term of a result that is only known after the last tile.

    Args:
        tile_formula: A formula of the tile, ``$1``, of what is kept, and of the op's parameters.
        coefficient: What it is multiplied by at the end, a formula of what is kept.
        rescale: What a sum of it over the tiles before is multiplied by; empty for 1.
    """

    tile_formula: str
    coefficient: str
    rescale: str = ""


@dataclass(frozen=True)
class TilingRule:
    """The rule by which an op works on tiles of one axis.

    Without ``tile_reduction`` and ``parts`` each tile of its result is the op on that tile. With
    ``tile_reduction`` its result has no such axis, and the results of the tiles are joined. With
    ``parts`` a tile of its result is their sum, each times a coefficient that is known at the end;
    what follows has to be linear in it.

    Args:
        tile_reduction: How results of tiles are joined; empty if they stand side by side.
        mean: Whether the joined result is divided by the size of the reduced axes.
        linear: The inputs in which the op is linear.
        statistics: What it keeps from tile to tile.
        parts: The terms of its result, if that has to wait for the last tile.

    Source: Abbott and Zardini 2024, *FlashAttention on a Napkin*, on streamable functions;
    Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3.
    """

    tile_reduction: Literal["", "max", "min", "product", "sum"] = ""
    mean: bool = False
    linear: tuple[int, ...] = ()
    statistics: tuple[RunningStatistic, ...] = ()
    parts: tuple[DeferredSummand, ...] = ()


@dataclass(frozen=True)
class Reach:
    """The places of an input that one place of an output depends on, along one axis.

    Place i of the output depends on the places from i + start to i + end of the input; of a
    negative ``end`` it only sees earlier ones.

    Args:
        axis: The axis of the output that continues the input's; empty if none does.
        start: The first offset; minus infinity for all places before.
        end: The last offset; infinity for all places behind.
        is_carried: Whether a number is carried from place to place, so the one before is enough.

    Source: van den Oord et al. 2016, "WaveNet", section 2.1, for causal convolutions.

    >>> from ncd.ops import Softmax, Window
    >>> Window("x -> y w", 3, padding=2).reach_of("x:5", "x")
    Reach(axis='y', start=-2, end=0, is_carried=False)
    >>> Softmax("x").reach_of("y:2 x:3", "y").is_pointwise
    True
    >>> [Reach(*of).is_pointwise for of in (("y",), ("",), ("y", -1), ("y", 0, 1))]
    [True, False, False, False]
    """

    axis: str = ""
    start: float = 0
    end: float = 0
    is_carried: bool = False

    @property
    def is_pointwise(self) -> bool:
        """Whether each place depends on the same place alone."""
        return bool(self.axis) and not self.start and not self.end

    @property
    def is_everything(self) -> bool:
        """Whether a place depends on all of the axis, or on nobody knows what of it."""
        return math.isinf(self.end)


class Tileable:
    """The base of ops: each can be cut into tiles along the axes that it is broadcast over.

    ``tiles_weight`` says that it is the product of its inputs and its weight, which is cut like
    them.
    """

    tiles_weight: ClassVar[bool] = False

    @property
    def display_name(self) -> str:
        """Its name in words."""
        return type(self).__name__

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        """Returns how it works on tiles of an axis.

        Raises:
            MismatchError: For an axis along which it cannot be cut, with the reason.
        """
        own = {a.name for a in (*site.own_inputs.axes, *site.own_outputs.axes)}
        if axis in own:
            raise MismatchError(
                f"{self.display_name} works on all of {axis} at once, so tiles of {axis} "
                "are not enough",
                cure=f"an axis other than {axis}",
            )
        return TilingRule()

    def continued_axis(self, site: Site, axis: str) -> str:
        """Returns the axis of the result whose parts are made of equal parts of an input's axis.

        It has another name there: of heads times features, each half has half of the heads. Empty
        if there is none.
        """
        return ""

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        """Returns which places along an axis of an input one place of an output depends on.

        An axis that the op can be cut along, without joining anything, is worked on place by place.

        Args:
            site: The op at its place.
            axis: The name of an axis of the input.
            source: The index of the input.
            target: The index of the output.
        """
        continued = axis if axis in site.outputs[target].names else ""
        try:
            rule = self.tiling_rule(site, axis)
        except NCDError:
            return Reach(continued, -math.inf, math.inf)
        if not continued or rule.tile_reduction or rule.statistics or rule.parts:
            return Reach(continued, -math.inf, math.inf)
        return Reach(continued)


# --- Ops: the generators of the language, and how they are broadcast over arrays


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
    >>> Softmax.examples()[0]
    Sample(op=Softmax('x'), dom='x:4', torch='a.softmax(0)', alone=False)
    """

    op: Op
    dom: str
    torch: str
    alone: bool = False


class Op(Differentiable, Tileable, Term):
    """The base of all generators: frozen dataclasses that describe themselves by plain data.

    ``role`` gives its colour, ``display_name`` its name in words. A learned op also has a ``name``:
    the attribute of the compiled module. Subclasses override the methods below.

    Raises:
        ParseError: For a field that cannot be read, or a pattern of another form.
        MismatchError: When it is put on arrays that it does not fit.
        SizeError: When sizes do not fit.

    Source: CONTRIBUTING, "An op: one file, one line"; Notebook, sections 2.3 and 2.4.

    >>> from ncd.ops import Softmax
    >>> op: Op = Softmax("x")
    >>> op.role, op.display_name, str(op.infer_outputs(Type.parse("y x h")))
    ('softmax', 'Softmax', 'y x h')
    """

    role: ClassVar[str] = "neutral"
    pattern_form: ClassVar[str] = ""  # of its first field; m* is any number of axes, m+ one or more
    torch_backward_rules: ClassVar[
        Mapping[str, str]
    ] = {}  # rules of torch's functions that only it uses
    count = 1

    def __post_init__(self) -> None:
        try:
            read_fields(self)
        except NCDError as error:
            raise error.with_context(where=type(self).__name__) from None
        if self.pattern_form:
            first = getattr(self, field_names(type(self))[0])
            check_form(type(self).__name__, first, self.pattern_form)
        try:
            self.check_pattern()
        except NCDError as error:
            raise error.with_context(where=f"{self.display_name} ({self.signature})") from None

    def check_pattern(self) -> None:
        """Raises NCDError for fields that do not fit together."""
        check_kinds(self.signature, self.broadcasting.any_kind)

    @lazy_property
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
    def display_name(self) -> str:
        """The name of its class and its own name, such as ``Linear Q``."""
        name = getattr(self, "name", "")
        return f"{type(self).__name__} {name}" if name else type(self).__name__

    @property
    def torch_function(self) -> str:
        """The function of ``torch.ops`` that it calls by its name; empty for most ops."""
        return ""

    @property
    def reads(self) -> Array:
        """Axes whose size it needs, but which need not be axes of its arrays."""
        return NO_AXES

    @property
    def broadcasting(self) -> BroadcastRule:
        """The rule for the axes that its arrays have and its signature does not name."""
        return LEADING

    @property
    def origins(self) -> BroadcastSources:
        return self.broadcasting.sources(self.signature)

    def infer_outputs(self, inputs: Type) -> Type:
        return self.apply_to(inputs).outputs

    def apply_to(self, inputs: Type) -> Site:
        """Returns the op on these arrays: matches its axes, solves for new ones, keeps others.

        Args:
            inputs: The whole arrays that it takes, with axes that it is broadcast over.

        Raises:
            MismatchError: For arrays that lack its axes.
            SizeError: For sizes that do not fit.
        """
        return remember_result(self, "_sites", inputs, self._site)

    def reach_of(self, inputs: Type | str, axis: str, source: int = 0, target: int = 0) -> Reach:
        """Returns :meth:`reach` on these arrays, which text may name: ``"y:2 x:3"``."""
        arrays = Type.parse(inputs) if isinstance(inputs, str) else inputs
        return self.reach(self.apply_to(arrays), axis, source, target)

    def _site(self, inputs: Type) -> Site:
        binding, signature, rule = Binding(), self.signature, self.broadcasting
        try:
            others = [
                match_or_raise(own, array, binding, any_kind=rule.any_kind)
                for own, array in zip(signature.dom, inputs, strict=True)
            ]
            for array in inputs:
                self._meet_bound(array, binding)
            for axis in (*signature.dom.axes, *signature.cod.axes, *self.reads):
                binding.unify(axis, axis)
            self.solve(binding)
            self.check_axes(binding)
            site = Site(
                own_inputs=Type(map(binding.with_known_sizes, signature.dom)),
                own_outputs=Type(map(binding.with_known_sizes, signature.cod)),
                inputs=Type(map(binding.with_known_sizes, inputs)),
                outputs=rule.outputs(signature, inputs, others, binding),
                reads=binding.with_known_sizes(self.reads),
            )
            self.check_arrays(site)
        except NCDError as error:
            where = f"{self.display_name} ({signature})"
            bound = [*inputs.axes, *binding.values()]
            raise error.with_context(where=where, bound=bound, op=self) from None
        return site

    @staticmethod
    def _meet_bound(array: Array, binding: Binding) -> None:
        """Binds the axis that bounds whole numbers to one size, as a bound and as an axis."""
        bound = array.below
        if bound is not None:
            for axis in (bound, *(axis for axis in array if axis.name == bound.name)):
                binding.unify(bound, axis)

    # --- the description of an op -----------------------------------------------------------------

    def solve(self, binding: Binding) -> None:
        """Binds axes whose size follows from those bound so far, from inputs or from outputs.

        It is called again when more is known. Raises SizeError for sizes that do not fit.
        """

    def check_axes(self, binding: Binding) -> None:
        """Raises NCDError for own axes that it cannot work on, such as a spatial group."""

    def check_arrays(self, site: Site) -> None:
        """Raises NCDError for arrays that it cannot work on, and not with more axes either."""

    def check_numbers(self, site: Site) -> None:
        """Raises SizeError for arrays of a circuit with too few numbers, which a type may have."""

    def layer_call(self, site: Site) -> Call | None:
        """Returns the call that makes its torch layer; None if it has no layer."""
        return None

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        """Returns the initial values of its parameters and buffers, by name.

        An op with a parameter but no layer names the parameter after itself.
        """
        return {}

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...] | TorchExpr:
        """Returns an expression for each output, or one that gives all of them as a tuple."""
        raise NotImplementedError

    def result_name(self, site: Site) -> str:
        """Returns a variable name for its result, such as ``scores``; empty if it has none."""
        return ""

    def glyph(self, site: Site) -> Glyph:
        """Returns its drawing, as marks on the wires of the site."""
        raise NotImplementedError

    def flops(self, site: Site) -> int:
        """Returns the floating-point operations of a forward pass; a multiply-add is two.

        They are counted as by torch's FlopCounterMode where no size is 1.

        >>> from ncd.ops import Linear, Softmax
        >>> [op.flops(op.apply_to(op.dom)) for op in (Softmax("x:3"), Linear("m:3 -> k:2", "W"))]
        [0, 12]
        """
        return 0

    def latex(self, site: Site) -> str:
        """Returns its definition in LaTeX."""
        raise NotImplementedError

    def description(self, site: Site) -> str:
        """Returns a description in words that read well aloud."""
        return self.display_name

    def expansion(self, site: Site) -> Term | None:
        """Returns the same map made of simpler ops; None where that explains nothing."""
        return None

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        """Returns examples of the op, on which the tests try every view."""
        raise NotImplementedError


class DrawnOp(Op):
    """An op that a drawing shows in place of others: nobody writes it, and nothing runs it."""

    def __post_init__(self) -> None:
        """Skips the reading of fields, as none is written as text."""


@dataclass(frozen=True, repr=False, eq=False)
class DrawnBox(DrawnOp):
    """A box with a title, which all wires enter and leave."""

    title: str
    role: ClassVar[str] = "folded"

    def glyph(self, site: Site) -> Glyph:
        ins, outs = (range(sum(map(len, arrays))) for arrays in (site.inputs, site.outputs))
        return Glyph(marks=(Mark("folded", self.title, tuple(ins), tuple(outs)),))
