"""Edits that put one name of a source in the place of another, where both are sizes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from ncd.findings.cures.candidate import replaced
from ncd.findings.finding import Cure, Edit, edited
from ncd.findings.sizes.probe import Edits, Outcome, Probe, Shapes

TRIES = 14  # edits that are tried


def swap_cure(
    probe: Probe, edits: Iterable[Edit], broken: tuple[Shapes, Edits]
) -> tuple[Cure, ...]:
    """Returns the first edit with which a source runs, also with the numbers that broke it."""
    for edit, _ in zip(edits, range(TRIES), strict=False):
        shapes, numbers = broken
        if probe.works(shapes, (*numbers, edit)) and (plain := probe.outcome(None, (edit,))).works:
            return (Cure((edit,), edited(probe.text, (edit,)), "model", plain.results),)
    return ()


def name_swaps(text: str, tree: ast.AST, failure: Outcome, names: Iterable[str]) -> Iterator[Edit]:
    """Yields the edits that put one of the names for another, nearest to a failure first.

    In ``h * h`` the second one comes first, as height comes before width.
    The last place at which a name is used is left alone, as nothing would depend on it, and so is
    one where it is kept under its own name, as in ``self.h = h``.

    >>> text = "self.h, a = h, h * h\\nb = w"
    >>> [*name_swaps(text, ast.parse(text), Outcome(False, 1), ("h", "w"))]
    [Edit(line=1, start=19, end=20, new='w'), Edit(line=1, start=15, end=16, new='w')]
    """
    names, same = dict.fromkeys(names), {*_under_own_name(tree)}
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
    uses = [node for node in uses if _name(node) in names and isinstance(node.ctx, ast.Load)]
    uses = [node for node in uses if node not in same]
    lines = [line for line in (failure.line, failure.call) if line] or [0]
    uses.sort(key=lambda n: (min(abs(n.lineno - line) for line in lines), -n.col_offset))
    counts = Counter(map(_name, uses))
    for node in uses:
        for other in names:
            if other != _name(node) and counts[_name(node)] > 1:
                new = ast.unparse(node).removesuffix(_name(node)) + other
                if (edit := replaced(text, node, new)) is not None:
                    yield edit


def size_names(function: ast.AST) -> list[str]:
    """Returns the names that a function gives to sizes of its arrays.

    >>> size_names(ast.parse("b, t, _ = x.shape\\ns = y.size(1)\\nz = x.sum()"))
    ['b', 't', 's']
    """
    return [*_sizes(function)]


def stored_names(tree: ast.AST) -> list[str]:
    """Returns the names of attributes that a source sets.

    >>> stored_names(ast.parse("self.heads, self.d = 8, 64"))
    ['heads', 'd']
    """
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return [*dict.fromkeys(node.attr for node in nodes if isinstance(node.ctx, ast.Store))]


def _sizes(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and {"shape", "size"} & {
            getattr(part, "attr", "") for part in ast.walk(node.value)
        }:
            for part in ast.walk(node.targets[0]):
                if isinstance(part, ast.Name) and part.id.strip("_"):
                    yield part.id


def _under_own_name(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields the values that are kept or passed on under their own names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == _name(node.value):
            yield node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                sides = [getattr(side, "elts", [side]) for side in (target, node.value)]
                pairs = zip(*sides, strict=False)
                yield from (value for one, value in pairs if _name(one) == _name(value) != "")


def _name(node: ast.AST) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")
