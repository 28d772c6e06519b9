"""The parameters of a model that are free, that others divide, and that are equal by luck."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import divisors

from ncd.findings.cures.candidate import replacement_edit
from ncd.findings.reading.finding import Cure, Edit, Finding, apply_edits
from ncd.findings.reading.source_trace import SourceTrace
from ncd.findings.reading.traced_numbers import SourceNumber, arguments, assigned_values, defaults
from ncd.findings.silent.model_runs import arrays_of, model_among
from ncd.findings.sizes.size_probe import Edits, Probe, ProbeOutcome, Shapes
from ncd.words import list_words

# --- The numbers of a source as symbols: those that are parameters, and those that must be equal


@dataclass(frozen=True)
class Parameter:
    """A number of the text with a name of its author: a default, an argument, a variable."""

    symbol: sympy.Symbol
    name: str
    place: SourceNumber


class TracedSizes:
    """A reading with symbols: its parameters, and what has to change with each.

    ``named`` are all numbers with names of the author, ``parameters`` those on which anything
    depends.

    Args:
        trace: A reading with symbols that has come to its end.
    """

    def __init__(self, trace: SourceTrace) -> None:
        self.trace, self.table = trace, trace.table
        _, args, named = model_among(trace.ran)
        recorder = trace.recorder
        self.shapes = [recorder.shape(x) for x in arrays_of((args, named))]
        self.equations = [*dict.fromkeys(filter(None, map(_equation, self.table.tests)))]
        self._roots: dict[sympy.Symbol, sympy.Symbol] = {}
        for a, b in self.equations:
            self._join(_joint(self.table, a, b))
        self._given = set().union(*(self.table.numbers(n) for shape in self.shapes for n in shape))
        used = self._used_symbols()
        names = parameter_names(trace.text, trace.tree)
        self.named = [
            Parameter(symbol, names[place.line, place.start], place)
            for symbol, place in self.table.places.items()
            if (place.line, place.start) in names
        ]
        self.parameters = [one for one in self.named if one.symbol in used]

    def _used_symbols(self) -> set[sympy.Symbol]:
        """Returns the numbers that anything depends on: the shape of an array, or a test."""
        calls = self.trace.recorder.calls
        sizes = {n for call in calls for shape in call.shapes for n in shape}
        free = {s for n in (*sizes, *(t.expr for t in self.table.tests)) for s in n.free_symbols}
        return set().union(*map(self.table.numbers, free))

    def tied_symbols(self, symbol: sympy.Symbol) -> tuple[sympy.Symbol, ...]:
        """Returns the numbers that have to be equal to one, and it."""
        root = self._root(symbol)
        return tuple(s for s in self.table.places if self._root(s) == root)

    def is_input(self, symbol: sympy.Symbol) -> bool:
        """Returns whether a number is a size of the input."""
        return self.table.places[symbol].is_input or symbol in self._given

    def change(self, values: Mapping[sympy.Symbol, int]) -> tuple[Shapes, Edits]:
        """Returns the inputs, and the edits of the text, where some numbers are others."""
        shapes = tuple(
            tuple(int(self.table.value_after(n, dict(values))) for n in shape)
            for shape in self.shapes
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
            holds = [
                table.value_after(a - b, dict.fromkeys(some, value + 1)) == 0 for some in tries
            ]
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
        pairs = [*defaults(node), *assigned_values(node)]
        if isinstance(node, ast.Call) and node not in inner and _called_name(node) in classes:
            pairs += arguments(node, classes)
        for value, name in pairs:
            if isinstance(value, ast.Constant) and type(value.value) is int:
                start = len(rows[value.lineno - 1].encode()[: value.col_offset].decode())
                found[value.lineno, start] = name
    return found


def _called_name(node: ast.Call) -> str:
    return getattr(node.func, "id", "")


# --- Edits that put one name of a source in the place of another, where both are sizes

TRIES = 14  # edits that are tried


def swap_cure(
    probe: Probe, edits: Iterable[Edit], broken: tuple[Shapes, Edits]
) -> tuple[Cure, ...]:
    """Returns the first edit with which a source runs, also with the numbers that broke it."""
    for edit, _ in zip(edits, range(TRIES), strict=False):
        shapes, numbers = broken
        if probe.works(shapes, (*numbers, edit)) and (plain := probe.outcome(None, (edit,))).works:
            return (Cure((edit,), apply_edits(probe.text, (edit,)), "model", plain.results),)
    return ()


def name_swaps(
    text: str, tree: ast.AST, failure: ProbeOutcome, names: Iterable[str]
) -> Iterator[Edit]:
    """Yields the edits that put one of the names for another, nearest to a failure first.

    In ``h * h`` the second one comes first, as height comes before width.
    The last place at which a name is used is left alone, as nothing would depend on it, and so is
    one where it is kept under its own name, as in ``self.h = h``.

    >>> text = "self.h, a = h, h * h\\nb = w"
    >>> [*name_swaps(text, ast.parse(text), ProbeOutcome(False, 1), ("h", "w"))]
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
                if (edit := replacement_edit(text, node, new)) is not None:
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


# --- The parameters of a model that are free, and those that others have to divide

MOST_PARAMETERS = 10  # parameters that are tried


class ParameterSizes:
    """Tries other values of the parameters of a source.

    Args:
        probe: The source.
        traced: A reading of it with symbols.
        bound: Parameters that are not free.
    """

    def __init__(
        self, probe: Probe, traced: TracedSizes, bound: Collection[sympy.Symbol] = ()
    ) -> None:
        self.probe, self.traced, self.bound = probe, traced, bound
        rows: dict[tuple[sympy.Symbol, ...], Parameter] = {}
        for one in traced.parameters:  # those that have to be equal count once
            if len(rows) < MOST_PARAMETERS:
                rows.setdefault(traced.tied_symbols(one.symbol), one)
        self.parameters = [*rows.values()]

    def findings(self) -> Iterator[Finding]:
        """Yields the laws, and then all parameters that are free."""
        free = []
        for one in self.parameters:
            if self._runs({one: one.place.value + 1}):
                sizes = (1, 2 * one.place.value, 8 * one.place.value)
                alone = one.symbol not in self.bound and self._works_alone(one)
                if alone and all(self._runs({one: n}) for n in sizes):
                    free.append(f"`{one.name}`")
            elif found := self._divisible(one):
                yield found
        if free:
            names = list_words([*dict.fromkeys(free)])
            rule = "are free" if len(free) > 1 else "is free"
            yield Finding("size", 0, "", f"{names} {rule}.")

    def _runs(self, values: dict[Parameter, int]) -> bool | None:
        tied = {s: n for one, n in values.items() for s in self.traced.tied_symbols(one.symbol)}
        return self.probe.works(*self.traced.change(tied))

    def _works_alone(self, one: Parameter) -> bool:
        """Returns whether a parameter may change while those of other names are as they are."""
        others = {each.symbol for each in self.traced.parameters if each.name != one.name}
        tied = self.traced.tied_symbols(one.symbol)
        own = [symbol for symbol in tied if symbol not in others]
        size = one.place.value + 1
        return len(own) == len(tied) or bool(
            self.probe.works(*self.traced.change(dict.fromkeys(own, size)))
        )

    def _divisible(self, one: Parameter) -> Finding | None:
        """Returns the law that a parameter is divisible by something; None without proof."""
        now = one.place.value
        for step in divisors(now)[1:-1]:
            if self._runs({one: now + step}):
                break
        else:
            return None
        others = (1, step - 1, now + step + 1)
        if not self._runs({one: now + 2 * step}) or any(self._runs({one: n}) for n in others):
            return None
        by = next((other for other in self.parameters if self._divides(other, one, step)), None)
        words = f"`{by.name}` ({step})" if by else f"{step}"
        return Finding("size", one.place.line, "", f"`{one.name}` must be divisible by {words}.")

    def _divides(self, by: Parameter, one: Parameter, step: int) -> bool:
        """Returns whether a parameter is the step of another, and stays it when it changes."""
        now = one.place.value
        if by is one or by.place.value != step:
            return False
        for new in divisors(now)[-2:0:-1]:  # the larger ones rule more out
            if new != step and self._runs({by: new, one: now + new}):
                least = min(new, step)
                return self._runs({by: max(new, step), one: now + least}) is False
        return False


# --- Numbers of a source that are equal, and must be: two of its parameters, or one and a literal

MOST_NUMBERS = 8  # parameters that are tried


class EqualSizes:
    """Tries whether equal parameters of a source may differ.

    Args:
        probe: The source.
        traced: A reading of it with symbols.
    """

    def __init__(self, probe: Probe, traced: TracedSizes) -> None:
        self.probe, self.traced = probe, traced
        self.names = {one.symbol: one.name for one in traced.parameters}
        self.tree = traced.trace.tree
        self.bound: set[sympy.Symbol] = set()  # those about which something was found

    def findings(self) -> Iterator[Finding]:
        """Yields a finding for each parameter that works only while it equals another number."""
        done = self.bound
        yield from self._squares()
        for one in self.traced.parameters[:MOST_NUMBERS]:
            if one.symbol in done or self.traced.is_input(one.symbol):
                continue
            other, value = self._partner(one)
            if other is not None:
                done |= {one.symbol, other}
                yield self._finding(one, other, value)

    def _partner(self, one: Parameter) -> tuple[sympy.Symbol | None, int]:
        """Returns the number that has to change with a parameter, and a value of both."""
        tied, now = self.traced.tied_symbols(one.symbol), one.place.value
        own = [s for s in tied if self.names.get(s) == one.name]
        inputs = [s for s in tied if self.traced.is_input(s)]
        others = [s for s in tied if s not in (*own, *inputs)]
        others.sort(key=lambda s: (s not in self.names, self.traced.table.places[s]))
        tries = (now + 1, 2 * now)
        value = next((n for n in tries if others and self._runs(tied, n)), 0)
        if not value or self._differs(own, inputs, tries):
            return None, 0
        for other in others:
            if self._runs((*own, other), value) or self._runs((*own, other, *inputs), value):
                divides = self._differs([other], inputs, tries)
                return (None, 0) if divides else (other, value)
        return None, 0

    def _differs(
        self, some: list[sympy.Symbol], inputs: list[sympy.Symbol], values: tuple[int, ...]
    ) -> bool:
        """Returns whether numbers may have one of some values while all others are as they are."""
        return any(self._runs(s, n) for s in (some, [*some, *inputs]) for n in values)

    def _runs(
        self, symbols: tuple[sympy.Symbol, ...] | list[sympy.Symbol], value: int
    ) -> bool | None:
        return self.probe.works(*self.traced.change(dict.fromkeys(symbols, value)))

    def _finding(self, one: Parameter, other: sympy.Symbol, value: int) -> Finding:
        place, name = self.traced.table.places[other], self.names.get(other)
        own = [s for s in self.traced.tied_symbols(one.symbol) if self.names.get(s) == one.name]
        failure = self.probe.outcome(*self.traced.change(dict.fromkeys(own, value)))
        now, line = one.place.value, failure.line or one.place.line
        if name is None:
            says = f"Works only while `{one.name}` is {now}, as line {place.line} has that number."
            return Finding("size", place.line, "", says, self._insert_name_cures(one, other, value))
        cures = self._swap_name_cures(one, name, other, value)
        both = f"(both are {now})"
        luck = f"Works only while `{one.name}` = `{name}` {both}."
        says = luck if cures else f"`{one.name}` must equal `{name}` {both}."
        return Finding(
            "size", cures[0].edits[0].line if cures else line, failure.layer, says, cures
        )

    def _swap_name_cures(
        self, one: Parameter, name: str, other: sympy.Symbol, value: int
    ) -> tuple[Cure, ...]:
        """Returns the cure that puts one of two names in the place of the other."""
        tied = self.traced.tied_symbols(one.symbol)
        inputs = [s for s in tied if self.traced.is_input(s)]
        own = [s for s in tied if self.names.get(s) == one.name]
        for some in (own, [other], [*own, *inputs], [other, *inputs]):
            broken = self.traced.change(dict.fromkeys(some, value))
            failure = self.probe.outcome(*broken)
            edits = name_swaps(self.probe.text, self.tree, failure, (one.name, name))
            if failure.works is False and (cures := swap_cure(self.probe, edits, broken)):
                return cures
        return ()

    def _insert_name_cures(
        self, one: Parameter, other: sympy.Symbol, value: int
    ) -> tuple[Cure, ...]:
        """Returns the cure that writes a parameter's name where its value stands."""
        place = self.traced.table.places[other]
        edit = Edit(place.line, place.start, place.end, one.name)
        tied = self.traced.tied_symbols(one.symbol)
        inputs = [s for s in tied if self.traced.is_input(s)]
        own = [s for s in tied if self.names.get(s) == one.name]
        for some in (own, [*own, *inputs]):
            if cures := swap_cure(
                self.probe, [edit], self.traced.change(dict.fromkeys(some, value))
            ):
                return cures
        return ()

    def _squares(self) -> Iterator[Finding]:
        """Yields a finding for each parameter that has to be the square of another, by luck."""
        every = self.traced.parameters[:MOST_NUMBERS]
        for square, one in ((a, b) for a in every for b in every):
            root = one.place.value
            if square.place.value != root**2:
                continue
            if not (new := next((n for n in divisors(root**2)[-2:0:-1] if n != root), 0)):
                continue
            both = {**self._tied_values(square, new**2), **self._tied_values(one, new)}
            broken = self.traced.change(self._tied_values(one, new))
            failure = self.probe.outcome(*broken)
            if failure.works is not False or not self.probe.works(*self.traced.change(both)):
                continue
            names = [one.name, *stored_names(self.tree)]
            edits = name_swaps(self.probe.text, self.tree, failure, names)
            if cures := swap_cure(self.probe, edits, broken):
                self.bound |= {square.symbol, one.symbol}
                says = f"Works only while `{square.name}` = `{one.name}` · `{one.name}`."
                yield Finding("size", cures[0].edits[0].line, failure.layer, says, cures)

    def _tied_values(self, one: Parameter, value: int) -> dict[sympy.Symbol, int]:
        return dict.fromkeys(self.traced.tied_symbols(one.symbol), value)
