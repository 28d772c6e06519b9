"""A torch function that the language has no op for, as a named box, and its arguments as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ncd.errors import MismatchError, ParseError, printable, short_repr
from ncd.formulas.formula_latex import ellipsize
from ncd.language import torch_code as ex
from ncd.language.axes import Array
from ncd.language.broadcasting import AsWritten
from ncd.language.cached_property import lazy_property
from ncd.language.fields import SIGNATURE, FieldFormat, SignatureField, term_field
from ncd.language.op import Glyph, Mark, Op, Sample, Site
from ncd.language.torch_code import Arg, Cast, Const, Method, Prefix, TorchExpr, Tuple
from ncd.ops.axis_places import axis_ports

# --- Reads the arguments of a call as an expression: ``a.flatten(0, 1), [1, 2], dim=0``

LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the arrays that are taken, in order
METHODS = {"bool", "flatten", "unsqueeze"}
LONGEST = 4000  # letters of the arguments
EXAMPLE = '"a, b, [1, 2], dim=0"'


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, by position and by name, and the text that they were read from."""

    text: str
    positional: tuple[TorchExpr, ...]
    keyword_arguments: Mapping[str, TorchExpr]

    def __hash__(self) -> int:
        return hash(self.text)


def read_arguments(text: str, count: int) -> Arguments:
    """Returns the arguments of a text; ``count`` is the number of arrays.

    >>> read_arguments("a.unsqueeze(0), dim=-1", 1).positional
    (Method(operand=Arg(index=0), name='unsqueeze', args=(Const(value=0),), kwargs=()),)

    Raises ParseError for text that is no arguments, and for an array that it does not use.
    """
    if len(text) > LONGEST:
        raise ParseError(f"the arguments have more than {LONGEST:,} letters", cure=EXAMPLE)
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _arguments_error(text) from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise _arguments_error(text)
    given = tuple(_value(node, count) for node in call.args)
    named = {str(word.arg): _value(word.value, count) for word in call.keywords}
    used = {p.index for e in (*given, *named.values()) for p in e.walk() if isinstance(p, Arg)}
    for index in range(count):
        if index not in used:
            fact = f"the arguments {short_repr(text)} do not use {LETTERS[index]}"
            raise ParseError(fact, cure="a pattern without that array")
    return Arguments(text, given, named)


def _arguments_error(text: str) -> ParseError:
    return ParseError(f"{short_repr(text)} are no arguments", cure=EXAMPLE)


def _value(node: ast.expr, count: int) -> TorchExpr:
    """Returns the expression of one argument."""
    match node:
        case ast.Name(id=name) if len(name) == 1 and name in LETTERS[:count]:
            return Arg(LETTERS.index(name))
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return Const(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Prefix("-", _value(operand, count))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return Tuple(tuple(_value(item, count) for item in items))
        case ast.Call(func=ast.Attribute(value=on, attr=name), args=args, keywords=[]):
            if name == "real" and not args:
                return Cast(_value(on, count), "real")
            if name in METHODS:
                more = tuple(_value(arg, count) for arg in args)
                return Method(_value(on, count), name, more)
    raise _arguments_error(ast.unparse(node))


# --- Functions of torch that the language has no op for, as named boxes

_FUNCTION = re.compile(r"[a-z]\w{0,40}\._?[a-z]\w{0,60}(\.[a-zA-Z]\w{0,40})?")

# Functions that only compute, in no more memory than that of their inputs and results, whose shapes
# are checked before a run: anyone may call them.
_COMMON = """
abs acos adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d add addmm
all amax amin any argmax argmin asin atan atan2 avg_pool1d avg_pool2d avg_pool3d batch_norm
binary_cross_entropy binary_cross_entropy_with_logits bitwise_and bitwise_not bitwise_or bitwise_xor
bmm broadcast_tensors celu channel_shuffle clamp clamp_max clamp_min col2im cosh cosine_similarity
cross_entropy_loss cumprod cumsum div elu eq erf exp expm1 flip gather ge gelu glu group_norm
gru_cell gt hardshrink hardsigmoid hardswish hardtanh huber_loss im2col instance_norm isinf isnan
kl_div l1_loss layer_norm le leaky_relu log log10 log1p log2 log_softmax logcumsumexp logical_and
logical_not logical_or logical_xor logsumexp lstm_cell lt masked_fill matmul max max_pool1d
max_pool2d mean min mish mse_loss mul ne neg norm pad pixel_shuffle pixel_unshuffle pow prelu prod
reciprocal relu6 remainder rms_norm rnn_relu_cell rnn_tanh_cell roll round rsqrt rsub scatter
scatter_add selu sign sinh slice slice_scatter smooth_l1_loss softmax softplus softshrink sort
square std sub sum tan tanhshrink threshold topk tril triu trunc upsample_bilinear2d
upsample_nearest1d upsample_nearest2d var where xlogy
"""
COMMON = frozenset(_COMMON.split())
ONE_READ = frozenset(("embedding_bag", "_embedding_bag"))  # of several results, the first
EXTERNAL_SPACE = "elsewhere"  # the functions of files that are not read
FOLDED_SPACE = "folded"  # the modules of a large model, of which only the shapes are read
CLOSED_SPACE = "closed"  # no part of torch.ops: the functions of boxes that are drawn and never run


def closed_name(function: str) -> str:
    """Returns a name without a function, for a box that is drawn like that of another one.

    >>> closed_name("aten.cummax.default")
    'closed.cummax'
    """
    return f"{CLOSED_SPACE}.{function.split('.')[1]}"


def _read_function(value: Any, name: str) -> str:
    if not isinstance(value, str) or not _FUNCTION.fullmatch(value):
        raise ParseError(f"{short_repr(value)} is no function of torch", cure='"aten.roll"')
    return value


def _read_arguments(value: Any, name: str) -> str:
    if not isinstance(value, str) or not printable(value) or len(value) > LONGEST:
        raise ParseError(f"{name} is {short_repr(value)}, but it is text", cure='"a, [1], [0]"')
    return value


FUNCTION = FieldFormat("text", _read_function)
ARGUMENTS_FORMAT = FieldFormat("text", _read_arguments)


@dataclass(frozen=True, repr=False, eq=False)
class Opaque(Op):
    """Calls a function of torch by its name; drawn as a box with this name.

    An import makes it of a function for which the language has no op of its own. Only its type is
    known, so that it is not broadcast: its arrays have just the axes of the pattern.

    Args:
        pattern: The arrays that it takes and gives, with their axes in torch's order.
        function: Its name in ``torch.ops``, such as ``"aten.roll"``.
        arguments: Its arguments, with ``a``, ``b``, … for the arrays; ``a.flatten(0, 1)``,
            ``a.unsqueeze(0)``, ``a.bool()`` and ``a.real()`` change an array first. The arrays
            alone by default.

    Raises:
        ParseError: For text that is no function or no arguments.
        MismatchError: For arrays with other axes.

    Source: ``torch.export``, whose graphs call these functions.

    >>> str(Opaque("y m -> y m", "aten.roll", "a, [1], [0]").cod)
    'y m'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    function: str = term_field(FUNCTION, "aten.abs")
    arguments: str = term_field(ARGUMENTS_FORMAT, "")
    role: ClassVar[str] = "neutral"
    broadcasting = AsWritten(any_kind=True)

    def check_pattern(self) -> None:
        self.argument_exprs  # noqa: B018

    @lazy_property
    def argument_exprs(self) -> Arguments:
        """The arguments as expressions; raises ParseError."""
        count = len(self.pattern.dom)
        if not 1 <= count <= len(LETTERS):
            raise ParseError(f"it takes {count} arrays, not 1 to {len(LETTERS)}", cure='"m -> m"')
        return read_arguments(self.arguments or ", ".join(LETTERS[:count]), count)

    @property
    def torch_function(self) -> str:
        return self.function

    @property
    def title(self) -> str:
        """The name of the function alone, such as ``roll``."""
        return self.function.split(".")[1]

    @property
    def display_name(self) -> str:
        return f"Opaque {self.title}"

    def check_arrays(self, site: Site) -> None:
        for array, own in zip(site.inputs, site.own_inputs, strict=True):
            if set(array.names) != set(own.names):
                raise MismatchError(
                    f"it takes ({own}) just so, but the array is ({array})",
                    cure="a pattern with every axis of the array",
                )

    def torch_code(self, site: Site) -> tuple[ex.TorchExpr, ...] | ex.TorchExpr:
        args = [
            ex.reorder_axes(ex.Arg(i), array, own)
            for i, (array, own) in enumerate(zip(site.inputs, site.own_inputs, strict=True))
        ]
        given = tuple(_substitute_arrays(expr, args) for expr in self.argument_exprs.positional)
        named = tuple(
            (name, _substitute_arrays(expr, args))
            for name, expr in self.argument_exprs.keyword_arguments.items()
        )
        call = ex.Call(f"torch.ops.{self.function}", given, named)
        if len(site.outputs) == 1:
            one = ex.Item(call, 0) if self.title in ONE_READ else call
            return (_reshaped_result(one, site.outputs[0]),)
        return tuple(_reshaped_result(ex.Item(call, i), out) for i, out in enumerate(site.outputs))

    def result_name(self, site: Site) -> str:
        return self.title.removesuffix("_")

    def glyph(self, site: Site) -> Glyph:
        ins, outs = (
            axis_ports(site.inputs, site.own_inputs),
            axis_ports(site.outputs, site.own_outputs),
        )
        return Glyph(marks=(Mark("box", ellipsize(self.title.replace("_", " ")), ins, outs),))

    def latex(self, site: Site) -> str:
        name = self.title.replace("_", r"\_")
        return rf"z = \mathrm{{{name}}}({', '.join(LETTERS[: len(site.inputs)])})"

    def description(self, site: Site) -> str:
        return (
            f"torch's {self.title.replace('_', ' ')}: ({site.own_inputs}) to ({site.own_outputs})"
        )

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("y m -> y m", "aten.roll", "a, [1], [0]"), "y:3 m:2", "a.roll(1, 0)", True),
            Sample(cls("y m -> y", "aten.logsumexp", "a, [1]"), "y:3 m:2", "a.logsumexp(1)", True),
            Sample(
                cls("y m -> y k:2, y k:2#m", "aten.topk", "a, 2, 1"),
                "y:3 m:4",
                "tuple(a.topk(2, 1))",
                True,
            ),
            Sample(
                cls("x y -> z:6", "aten.flip", "a.flatten(0, 1), [0]"),
                "x:2 y:3",
                "a.flatten().flip(0)",
                True,
            ),
        )


def _substitute_arrays(expr: ex.TorchExpr, args: list[ex.TorchExpr]) -> ex.TorchExpr:
    """Returns an expression with the arrays in torch's order."""
    match expr:
        case ex.Arg(index=index):
            return args[index]
        case ex.Method(operand=on, name=name, args=more):
            return ex.Method(_substitute_arrays(on, args), name, more)
        case ex.Cast(operand=on, target_kind=to):
            return ex.Cast(_substitute_arrays(on, args), to)
        case ex.Tuple(items=items):
            return ex.Tuple(tuple(_substitute_arrays(item, args) for item in items))
    return expr


def _reshaped_result(expr: ex.TorchExpr, out: Array) -> ex.TorchExpr:
    """Returns a result with the dimensions and the kind of number of an array."""
    sizes = tuple(size for axis in out for size in _sides(axis))
    shaped = ex.Method(expr, "reshape", (ex.Tuple(sizes),))
    return ex.Cast(shaped, "real" if out.below is None else "whole")


def _sides(axis: ex.Axis) -> tuple[ex.TorchExpr, ...]:
    return tuple(map(ex.Const, axis.shape)) if axis.spatial else (ex.Size((axis,)),)
