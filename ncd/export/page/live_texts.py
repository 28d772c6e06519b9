"""The parts of a page whose numbers follow from sizes, as data for the script of the page.

Each part is written twice: at the current sizes, and at traced ones
(:mod:`ncd.export.page.traced_texts`). The page has the first; the data have the texts of the second
that contain a number, the formulas, and the conditions under which they hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from ncd.drawing import Drawing
from ncd.export.page.traced_texts import (
    FormulaTable,
    Table,
    alike,
    changed_texts,
    drawn_numbers,
    has_letter,
    loop_sizes,
    reworded,
    texts,
    wire_sizes,
)
from ncd.export.quiz_facts import AxisFacts, axis_facts, computed_axes, taken_axes
from ncd.export.quiz_facts import plain as without_sizes
from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.circuits.sized_system import SizedSystem, SizeRange
from ncd.lang.circuits.traced_circuit import traced_circuit
from ncd.lang.errors import NCDError
from ncd.lang.formulas.expr import Arg
from ncd.lang.formulas.traced_sizes import FILL, Fact, Trace
from ncd.lang.plain_text import plain_text
from ncd.lang.types.axes import Axis

TESTS: Mapping[str, Callable[[int], bool]] = {
    "<": lambda n: n < 0,
    "<=": lambda n: n <= 0,
    "=": lambda n: n == 0,
}
Facts = dict[Fact, None]
ESCAPED = re.compile(r"\\u([ef][0-9a-f]{3})")  # letters of numbers, as errors show them
NOTHING: Mapping[Fact, None] = MappingProxyType({})


class LiveTexts:
    """The parts of one page, in the order in which they are written.

    Args:
        system: The term as a function of its sizes.
        plain: Its circuit at the current sizes.
    """

    def __init__(self, system: SizedSystem, plain: Circuit) -> None:
        self.system, self.plain = system, plain
        found = traced_circuit(system.build, system.settings, system.traceable)
        self.follows = found is not None and alike(found[1], plain)
        self.trace, self.circuit = found if found and self.follows else (Trace(), plain)
        self.base: Facts = dict(self.trace.holds)
        self.parts: dict[str, list[tuple[int, str]] | None] = {}
        self.also: dict[str, Facts] = {}
        self.drawings: Sequence[Drawing] = ()  # of the page, whose descriptions follow as well
        self.trace.exact = True

    def shared(self, make: Callable[[Circuit], Any]) -> tuple[Any, Facts]:
        """Returns what several parts are made from, with the facts that it depends on."""
        self.trace.holds = {}
        made = make(self.circuit)
        return made, self.trace.holds

    def part(
        self,
        name: str,
        plain: str,
        own: Callable[[], str],
        facts: Mapping[Fact, None] = NOTHING,
    ) -> str:
        """Adds a part, as HTML at the current sizes and at the traced ones; returns the first."""
        if not self.follows or not plain:  # such as a source that is too long for a page
            return plain
        self.trace.holds = {}
        try:
            html = own()
        except OverflowError:  # more numbers than letters
            self.parts[name] = None
            return plain
        found: Facts = {**facts, **self.trace.holds}
        same = len("".join(texts(plain))) == len("".join(texts(html)))
        changes = changed_texts(plain, html) if same else None
        also = {fact: None for fact in found if fact not in self.base}
        if changes is None or changes or also:
            self.parts[name], self.also[name] = changes, also
        return plain

    def data(self) -> dict[str, Any]:
        """Returns all formulas as JSON data.

        ``sizes`` are the ranges, ``settings`` the current values, ``renamed`` the axes by former
        names, ``fixed`` the values that must not change; ``parts`` has the texts of each part, or
        null if it does not follow, and ``part_holds`` the place of its conditions among
        ``conditions``. ``wires``, ``loops``, ``drawn`` and ``words`` are the texts in the drawing,
        ``described`` those of its descriptions, ``arrays`` the places of each array's axes among
        ``axes``, for the quiz. ``refused`` are the errors beyond the conditions.
        """
        drawn, drawn_so = self.shared(lambda circuit: dict(drawn_numbers(circuit, self.plain)))
        self.base |= drawn_so  # such as a stride that is not 1, which would not be drawn
        said: dict[str, Any] = {
            "sizes": [_said(size) for size in self.system.sizes],
            "settings": dict(self.system.settings),
            "renamed": dict(self.system.renamed),
            "wires": dict(wire_sizes(self.circuit)) if self.follows else {},
            "loops": dict(loop_sizes(self.circuit)) if self.follows else {},
            "drawn": drawn if self.follows else {},
            "words": (words := dict(self._words()) if self.follows else {}),
            "described": dict(self._described(words)),
            **_arrays(self.circuit, self.plain),
            "computed": sorted(computed_axes(self.plain, self.system.settings)),
        }
        facts = {"holds": list(self.base), **{n: list(own) for n, own in self.also.items()}}
        table = FormulaTable().written(self.trace, facts)
        conditions, also = _numbered({name: table.pop(name) for name in self.also})
        open_ = set(self.trace.sizes) if self.follows else set()
        fixed = {n: v for n, v in self.system.settings.items() if n not in open_}
        holds = {"conditions": conditions, "part_holds": also}
        more = {"fixed": fixed, "parts": self.parts, **holds, "also": []}
        return {**said, **more, "refused": list(self._refused()), **table}

    def script(self) -> str:
        """Returns the data as an element of a page."""
        text = json.dumps(self.data(), ensure_ascii=False, separators=(",", ":"))
        safe = text.replace("<", "\\u003c")
        return f'<script type="application/json" id="live">{safe}</script>'

    def _words(self) -> Iterator[tuple[str, str]]:
        """Yields the words of each op that contain a number."""
        for cell in self.circuit.cells:
            self.trace.holds = {}
            words = cell.words
            if any(fact not in self.base for fact in self.trace.holds):  # true at these sizes only
                yield cell.id, cell.op.label
            elif has_letter(words):
                yield cell.id, words.replace(FILL, "")

    def _described(self, words: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yields the description of each drawing that has a number, in words or in a title."""
        fences = zip(self.plain.fences, self.circuit.fences, strict=True)
        titles = {plain_text(old.title): plain_text(new.title) for old, new in fences}
        changed = [(old, new.replace(FILL, "")) for old, new in titles.items() if has_letter(new)]
        for drawing in self.drawings:
            shown = {glyph.node for glyph in drawing.glyphs if not glyph.cells}
            cells = [cell for cell in self.plain.cells if cell.id in shown]
            pairs = [(cell.words, words.get(cell.id, cell.words)) for cell in cells]
            text = reworded(drawing.description, pairs)
            for old, new in changed:
                text = text.replace(old, new)
            if text != drawing.description:
                yield drawing.description, text

    def _refused(self) -> Iterator[Table]:
        """Yields the errors at the ends of each size, as texts with formulas and conditions."""
        for size in self.system.sizes if self.follows else ():
            for value in {size.min, size.max}:
                settings = {**self.system.settings, size.name: value}
                if size.name in self.trace.sizes and not self._holds(settings):
                    yield from _error(self.system, settings, set(self.trace.sizes))

    def _holds(self, settings: Mapping[str, int]) -> bool:
        before = self.trace.sizes
        self.trace.sizes = {name: settings[name] for name in before}
        try:
            return all(TESTS[sign](self.trace.now(sum)) is true for sum, sign, true in self.base)
        except ZeroDivisionError:
            return False
        finally:
            self.trace.sizes = before


def _error(system: SizedSystem, settings: Mapping[str, int], names: set[str]) -> Iterator[Table]:
    """Yields the error of building at these settings, if there is one."""
    if _builds(system, settings):
        return
    trace = Trace()
    given = {n: trace.size(n, v) if n in names else v for n, v in settings.items()}
    try:
        elaborate(system.build(given))
    except NCDError as error:
        text = ESCAPED.sub(lambda found: chr(int(found[1], 16)), str(error)).replace(FILL, "")
        fixed = {n: v for n, v in settings.items() if n not in names}
        table = FormulaTable().written(trace, {"holds": list(trace.holds)})
        yield {"text": text, "fixed": fixed, "also": [], **table}


def _builds(system: SizedSystem, settings: Mapping[str, int]) -> bool:
    try:
        elaborate(system.build(settings))
    except NCDError:
        return False
    return True


def _said(size: SizeRange) -> dict[str, Any]:
    return {name: value for name, value in asdict(size).items() if value not in ("", ())}


def _numbered(own: Mapping[str, Any]) -> tuple[list[Any], dict[str, int]]:
    """Returns different values once each, and the place of each name's value among them."""
    places: dict[str, int] = {}
    at = {name: places.setdefault(json.dumps(value), len(places)) for name, value in own.items()}
    return list(map(json.loads, places)), at


def _arrays(circuit: Circuit, plain: Circuit) -> dict[str, Any]:
    """Returns the axes of each new array, the op that makes it, and what is known of each axis."""
    found: dict[str, Any] = {}
    places: dict[AxisFacts, int] = {}
    given = {value.id for value in circuit.inputs}
    for id, value in circuit.values.items():
        axes = map(_axis, without_sizes(value.array))
        at = [places.setdefault(axis, len(places)) for axis in axes]
        known = all(axis.size is not None for axis in value.array)
        if id in given or id not in circuit.makers or not known or _passes(plain.makers[id]):
            continue
        maker, taken = circuit.makers[id], taken_axes(plain, id)
        found[id] = {"of": maker.op.label, "node": maker.id, "axes": at, "taken": taken}
    return {"arrays": found, "axes": list(places)}


def _axis(axis: Axis) -> AxisFacts:
    name, called, html, size, identifier = (text.replace(FILL, "") for text in axis_facts(axis))
    return name, called, html, size, identifier


def _passes(cell: Cell) -> bool:
    """Returns whether an op only passes its inputs on."""
    code = cell.torch if isinstance(cell.torch, tuple) else (cell.torch,)
    return all(isinstance(own, Arg) for own in code)
