"""The numbers of a source as symbols: those that are parameters, and those that must be equal."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

from ncd.findings.finding import Edit
from ncd.findings.reading.number_names import arguments, assigned, defaults
from ncd.findings.reading.source_trace import Trace
from ncd.findings.reading.traced_numbers import Place
from ncd.findings.silent.model_runs import arrays_of
from ncd.findings.silent.silent_source import model_among
from ncd.findings.sizes.probe import Edits, Shapes


@dataclass(frozen=True)
class Parameter:
    """A number of the text with a name of its author: a default, an argument, a variable."""

    symbol: sympy.Symbol
    name: str
    place: Place


class TracedSizes:
    """A reading with symbols: its parameters, and what has to change with each.

    ``named`` are all numbers with names of the author, ``parameters`` those on which anything
    depends.

    Args:
        trace: A reading with symbols that has come to its end.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace, self.table = trace, trace.table
        _, args, named = model_among(trace.ran)
        recorder = trace.recorder
        self.shapes = [recorder.shape(x) for x in arrays_of((args, named))]
        self.equations = [*dict.fromkeys(filter(None, map(_equation, self.table.tests)))]
        self._roots: dict[sympy.Symbol, sympy.Symbol] = {}
        for a, b in self.equations:
            self._join(_joint(self.table, a, b))
        self._given = set().union(*(self.table.numbers(n) for shape in self.shapes for n in shape))
        used = self._used()
        names = parameter_names(trace.text, trace.tree)
        self.named = [
            Parameter(symbol, names[place.line, place.start], place)
            for symbol, place in self.table.places.items()
            if (place.line, place.start) in names
        ]
        self.parameters = [one for one in self.named if one.symbol in used]

    def _used(self) -> set[sympy.Symbol]:
        """Returns the numbers that anything depends on: the shape of an array, or a test."""
        calls = self.trace.recorder.calls
        sizes = {n for call in calls for shape in call.shapes for n in shape}
        free = {s for n in (*sizes, *(t.expr for t in self.table.tests)) for s in n.free_symbols}
        return set().union(*map(self.table.numbers, free))

    def tied(self, symbol: sympy.Symbol) -> tuple[sympy.Symbol, ...]:
        """Returns the numbers that have to be equal to one, and it."""
        root = self._root(symbol)
        return tuple(s for s in self.table.places if self._root(s) == root)

    def is_input(self, symbol: sympy.Symbol) -> bool:
        """Returns whether a number is a size of the input."""
        return self.table.places[symbol].is_input or symbol in self._given

    def change(self, values: Mapping[sympy.Symbol, int]) -> tuple[Shapes, Edits]:
        """Returns the inputs, and the edits of the text, where some numbers are others."""
        shapes = tuple(
            tuple(int(self.table.at(n, dict(values))) for n in shape) for shape in self.shapes
        )
        places = ((self.table.places[s], value) for s, value in values.items())
        edits = (Edit(p.line, p.start, p.end, str(value)) for p, value in places if p.line)
        return shapes, tuple(edits)

    def _root(self, symbol: sympy.Symbol) -> sympy.Symbol:
        while symbol in self._roots:
            symbol = self._roots[symbol]
        return symbol

    def _join(self, symbols: Iterable[sympy.Symbol]) -> None:
        roots = [*dict.fromkeys(map(self._root, symbols))]
        for one in roots[1:]:
            self._roots[one] = roots[0]


def _equation(test: Any) -> tuple[Any, Any] | None:
    """Returns both sides of an equation that held; None for another test."""
    kind = sympy.Eq if test.holds else sympy.Ne
    return test.expr.args if isinstance(test.expr, kind) else None


def _joint(table: Any, a: Any, b: Any) -> tuple[sympy.Symbol, ...]:
    """Returns equal numbers of an equation that holds only as long as all of them are equal."""
    equal: dict[int, list[sympy.Symbol]] = {}
    for symbol in sorted(table.numbers(a) | table.numbers(b), key=str):
        equal.setdefault(int(table.values[symbol]), []).append(symbol)
    for value, symbols in equal.items():
        if len(symbols) < 2:
            continue
        tries = [symbols, *([one] for one in symbols)]
        try:
            holds = [table.at(a - b, dict.fromkeys(some, value + 1)) == 0 for some in tries]
        except (ArithmeticError, AssertionError, TypeError, ValueError):
            continue
        if holds == [True, *[False] * len(symbols)]:
            return tuple(symbols)
    return ()


def parameter_names(text: str, tree: ast.Module) -> dict[tuple[int, int], str]:
    """Returns the numbers that a text gives to names of its own: by line, and letters before it.

    >>> text = "class N:\\n  def __init__(self, d=8):\\n    nn.Linear(d, 9)\\nN(7)"
    >>> parameter_names(text, ast.parse(text))
    {(2, 23): 'd', (4, 2): 'd'}
    """
    rows = text.split("\n")
    classes = {one.name: one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}
    found = {}
    inner = {part for kind in classes.values() for part in ast.walk(kind)}
    for node in ast.walk(tree):
        pairs = [*defaults(node), *assigned(node)]
        if isinstance(node, ast.Call) and node not in inner and _called(node) in classes:
            pairs += arguments(node, classes)
        for value, name in pairs:
            if isinstance(value, ast.Constant) and type(value.value) is int:
                start = len(rows[value.lineno - 1].encode()[: value.col_offset].decode())
                found[value.lineno, start] = name
    return found


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", "")
