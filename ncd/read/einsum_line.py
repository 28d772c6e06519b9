"""Reads an einsum as a term: its pattern alone, or a call with arrays of known shapes."""

from __future__ import annotations

import ast
import re
from math import prod

from ncd.circuit.elaborate import Axes
from ncd.errors import NCDError, short_repr
from ncd.language.axes import Signature
from ncd.language.terms import Term
from ncd.notation.term_reader import TextError, parse_error_at, syntax_error
from ncd.ops import Einsum

PATTERN = re.compile(r"[\w\s,.]+->[\w\s]*")
LINE = re.compile(r"(torch\.)?einsum\(")
MAKERS = ("rand", "randn", "zeros", "ones", "empty")  # of torch, from a shape
EXAMPLE = 'torch.einsum("bid,bjd->bij", torch.randn(2, 5, 8), torch.randn(2, 6, 8))'
USUAL_SIZE = 8  # the size of an axis without one
MAX_NUMBERS = 2**31  # numbers of an array


def read(text: str) -> Term | None:
    """Returns the term of an einsum, or None for any other text.

    >>> read("bid,bjd->bij").cod.spec
    'b:8 i:8 j:8'
    >>> read("torch.einsum('id,jd->ij', torch.randn(5, 3), torch.randn(7, 3))").cod.spec
    'i:5 j:7'

    Raises TextError for a pattern that is none, or arrays that do not fit it.
    """
    line = text.strip()
    if PATTERN.fullmatch(line):
        return _with_sizes(_einsum(line, None), {}, None)
    if not LINE.match(line):
        return None
    try:
        node = ast.parse(line, mode="eval").body
    except SyntaxError as error:
        raise syntax_error(error, EXAMPLE) from None
    except (ValueError, RecursionError, MemoryError):
        raise TextError("it is nested too deep", 1, 1, cure=EXAMPLE) from None
    if not isinstance(node, ast.Call) or not LINE.fullmatch(f"{ast.unparse(node.func)}("):
        raise parse_error_at("it is more than one einsum", node, EXAMPLE)
    return _call_term(node)


def _call_term(node: ast.Call) -> Term:
    """Returns the term of a call of einsum, with the sizes that its arrays have."""
    pattern = node.args[0] if node.args else node
    if not isinstance(pattern, ast.Constant) or not isinstance(pattern.value, str):
        raise parse_error_at("the first argument of an einsum is its pattern", pattern, EXAMPLE)
    if node.keywords:
        fact = f"einsum takes no argument named {node.keywords[0].arg}"
        raise parse_error_at(fact, node.keywords[0], EXAMPLE)
    term, arrays = _einsum(pattern.value, pattern), node.args[1:]
    if arrays and len(arrays) != len(term.dom):
        fact = f"the pattern takes {len(term.dom)} arrays, but {len(arrays)} are given"
        raise parse_error_at(fact, node, EXAMPLE)
    sizes: dict[str, int] = {}
    for given, array in zip(arrays, term.dom, strict=False):
        shape = _shape(given)
        if shape is not None and len(shape) != len(array):
            fact = f"{array} names {len(array)} axes, but the array has {len(shape)} dimensions"
            raise parse_error_at(fact, given, EXAMPLE)
        for axis, size in zip(array, shape or (), strict=False):
            if sizes.setdefault(axis.name, size) != size:
                fact = f"{axis.name} is {sizes[axis.name]} in one array and {size} in another"
                raise parse_error_at(fact, given, f"{sizes[axis.name]} in both")
    return _with_sizes(term, sizes, pattern)


def _einsum(pattern: str, node: ast.AST | None) -> Einsum:
    """Returns an einsum; in a pattern without spaces each letter is an axis."""
    sides = pattern.replace("->", ",").split(",")
    spaced = any(" " in side.strip() for side in sides)
    text = pattern if spaced else re.sub(r"(?<=\w)(?=\w)", " ", pattern)
    try:
        return Einsum(Signature.parse(text))
    except NCDError as error:
        raise _error(error, node) from None


def _with_sizes(term: Einsum, sizes: dict[str, int], node: ast.AST | None) -> Term:
    """Returns the einsum with the sizes of its axes; unknown ones are the usual one."""
    usual = {axis.name: USUAL_SIZE for axis in term.dom.axes if axis.name.isidentifier()}
    try:
        made: Term = Axes(**usual | sizes)(term)
    except NCDError as error:
        raise _error(error, node) from None
    return made


def _error(error: NCDError, node: ast.AST | None) -> TextError:
    fact = f"einsum: {error.fact}"
    return parse_error_at(fact, node or ast.Pass(), error.cure)


def _shape(node: ast.expr) -> tuple[int, ...] | None:
    """Returns the shape of ``torch.randn(2, 3)``, and None for an array that is only named."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return None
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    known = name.removeprefix("torch.") in MAKERS and name.startswith("torch.")
    if not known or not isinstance(node, ast.Call):
        fact = f"{short_repr(ast.unparse(node))} is no array of a known shape"
        raise parse_error_at(fact, node, "torch.randn(2, 3), or a name")
    one = node.args[0] if len(node.args) == 1 else ast.Tuple(node.args)
    sides = one.elts if isinstance(one, ast.Tuple | ast.List) else [one]
    values = [side.value for side in sides if isinstance(side, ast.Constant)]
    shape = tuple(n for n in values if isinstance(n, int) and type(n) is int and n > 0)
    if len(shape) < len(sides):
        raise parse_error_at("a shape is several whole numbers", node, "torch.randn(2, 3)")
    if prod(shape) > MAX_NUMBERS:
        raise parse_error_at(
            f"an array has more than {MAX_NUMBERS:,} numbers", node, "torch.randn(2, 3)"
        )
    return shape
