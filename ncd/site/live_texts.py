"""Texts whose numbers follow from sizes, as formulas for a script.

A term is built once more at traced sizes (:mod:`ncd.formulas.traced_sizes`), and texts are
made from it. In place of each number they hold a letter. A browser evaluates the formulas of the
letters while a size is moved (``polynomials.js``), wherever the recorded conditions hold.

Each part is written twice: at the current sizes, and at traced ones
(:mod:`ncd.site.live_texts`). The page has the first; the data have the texts of the second
that contain a number, the formulas, and the conditions under which they hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from types import MappingProxyType
from typing import Any

from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.elaborate import elaborate
from ncd.circuit.knob import Knob
from ncd.circuit.sized_system import ParametricTerm, traced_circuit
from ncd.drawing.backends.drawing import Drawing
from ncd.errors import NCDError
from ncd.formulas.traced_sizes import FILL, FIRST, LAST, Fact, SizeTrace, Sum, is_symbolic
from ncd.language.axes import Array, Axis
from ncd.language.torch_code import Arg
from ncd.site.quiz_facts import AxisFacts, axis_facts, computed_axes, taken_axes
from ncd.site.quiz_facts import without_size_labels as without_sizes
from ncd.words import plain_text

# --- Texts whose numbers follow from sizes: letters in place of numbers, with a formula for each

Table = dict[str, Any]
LARGEST = 10**9  # of a size without a limit
NUMBER = re.compile(f"[0-9]+|[{chr(FIRST)}-{chr(LAST)}]{FILL}*")


def alike(circuit: Circuit, plain: Circuit) -> bool:
    """Returns whether both circuits have the same arrays at the current sizes."""
    ours, theirs = (list(c.values.items()) for c in (circuit, plain))
    return len(ours) == len(theirs) and all(
        id == other and _now(value.array) == _now(same.array)
        for (id, value), (other, same) in zip(ours, theirs, strict=True)
    )


def _now(array: Array) -> tuple[object, ...]:
    return *array.names, *(n.value if is_symbolic(n) else n for n in array.shape)


def changed_texts(plain: str, own: str) -> list[tuple[int, str]]:
    """Returns the positions of the texts in HTML that contain a letter, with the new texts."""
    return changes(texts(plain), "".join(texts(own)))


def changes(plain: list[str], own: str) -> list[tuple[int, str]]:
    """Returns the positions of the texts that contain a letter, with the new texts.

    >>> changes(["m ", "128"], "m \ue000\uf8ff\uf8ff")
    [(1, '\ue000')]
    """
    if len(own) != sum(map(len, plain)):
        return []
    found, at = [], 0
    for i, text in enumerate(plain):
        piece = own[at : at + len(text)]
        at += len(text)
        if has_letter(piece):
            found.append((i, piece.replace(FILL, "")))
    return found


def has_letter(text: str) -> bool:
    """Returns whether a text contains a letter that stands for a number."""
    return any(chr(FIRST) <= letter <= chr(LAST) for letter in text)


class _TagTextReader(HTMLParser):
    """Collects the texts between the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.new = True

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.new = True

    def handle_endtag(self, tag: str) -> None:
        self.new = True

    def handle_data(self, data: str) -> None:
        if self.new:
            self.texts.append("")
            self.new = False
        self.texts[-1] += data


def wire_sizes(circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Yields each axis of each array, as ``v3/m``, with the text of its size.

    An array comes under each name that its axes have: around a block with local names, others.
    """
    named = [(value, value.array) for value in circuit.values.values()]
    named += zip(circuit.outputs, circuit.term.cod, strict=True)
    for cell in circuit.cells:
        named += zip(cell.inputs, cell.site.inputs, strict=True)
        named += zip(cell.outputs, cell.site.outputs, strict=True)
    for value, array in named:
        for axis in array:
            if axis.size is not None and has_letter(axis.size_text):
                yield f"{value.id}/{axis.name}", axis.size_text.replace(FILL, "")


def size_names(circuit: Circuit) -> dict[str, list[str]]:
    """Returns the names of the sizes that each axis follows from."""
    found: dict[str, list[str]] = {}
    for axis in reversed(circuit.axes):
        sides = [side for side in axis.shape if is_symbolic(side)]
        if names := {name for side in sides for name in side.trace.read(side.total)}:
            found[axis.name] = sorted(names)
    return found


def drawn_numbers(circuit: Circuit, plain: Circuit) -> Iterator[tuple[str, list[list[str]]]]:
    """Yields what is drawn with a number, by its id: the title of a block, the marks of an op, and
    the label of an axis, as ``v3/m``; each with its numbers, and what then stands in their place.
    """
    for fence, same in zip(circuit.fences, plain.fences, strict=True):
        yield from _numbers(fence.id, fence.title, same.title)
    for cell, same_cell in zip(circuit.cells, plain.cells, strict=True):
        own, old = (" ".join(m.text for m in c.glyph.marks) for c in (cell, same_cell))
        yield from _numbers(cell.id, own, old)
    for id, value in circuit.values.items():
        for axis, same_axis in zip(value.array, plain.values[id].array, strict=True):
            yield from _numbers(f"{id}/{axis.name}", axis.label, same_axis.label)


def _numbers(id: str, own: str, plain: str) -> Iterator[tuple[str, list[list[str]]]]:
    if has_letter(own):
        pairs = zip(NUMBER.findall(plain), NUMBER.findall(own), strict=True)
        yield id, [[old, new.replace(FILL, "")] for old, new in pairs]


def loop_sizes(circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Yields each loop along an axis with the text of the size of that."""
    for scan in circuit.scans:
        arrays = (value.array for value in scan.inputs[scan.states :])
        axis = next(axis for array in arrays for axis in array if axis.name == scan.axis)
        if has_letter(axis.size_text):
            yield scan.id, axis.size_text.replace(FILL, "")


def reword(text: str, words: Iterable[tuple[str, str]]) -> str:
    """Returns a text with other words, each for the first that are alike and not replaced yet.

    >>> reword("Scale by 2; sum; scale by 2.", [("scale by 2", "scale by n"), ("sum", "sum")])
    'Scale by n; sum; scale by 2.'
    """
    queues: dict[str, list[str]] = {}
    for old, new in words:
        if old:
            queues.setdefault(_lower(old), []).append(new)

    def replaced(found: re.Match[str]) -> str:
        waiting = queues[_lower(found[0])]
        if not waiting:
            return found[0]
        new = waiting.pop(0)
        return f"{new[:1].upper()}{new[1:]}" if found[0][:1].isupper() else new

    every = sorted({form for old in queues for form in (old, old[:1].upper() + old[1:])}, key=len)
    pattern = "|".join(map(re.escape, reversed(every)))
    return re.sub(rf"(?<![\w.])(?:{pattern})(?![\w.]*\w)", replaced, text) if every else text


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def texts(html: str) -> list[str]:
    """Returns the texts between the tags of some HTML."""
    reader = _TagTextReader()
    reader.feed(html)
    reader.close()
    return reader.texts


class FormulaTable:
    """The sums and their parts, each stored once."""

    def __init__(self) -> None:
        self.atoms: dict[Any, int] = {}
        self.sums: dict[Sum, int] = {}
        self.rows: list[list[list[int]]] = []
        self.parts: list[Any] = []

    def build_table(self, trace: SizeTrace, facts: Mapping[str, list[Fact]]) -> Table:
        letters = [(self.sum(number.total), how) for number, how in trace.written]
        told = {
            name: [(self.sum(total), sign, true) for total, sign, true in every]
            for name, every in facts.items()
        }
        return {"atoms": self.parts, "sums": self.rows, "letters": letters, **told}

    def sum(self, total: Sum) -> int:
        if total not in self.sums:
            row = [[n, *map(self.atom, product)] for product, n in total]
            self.sums[total] = len(self.rows)
            self.rows.append(row)
        return self.sums[total]

    def atom(self, atom: Any) -> int:
        if atom not in self.atoms:
            part = atom if isinstance(atom, str) else (atom[0], *map(self.sum, atom[1:]))
            self.atoms[atom] = len(self.parts)
            self.parts.append(part)
        return self.atoms[atom]


# --- The parts of a page whose numbers follow from sizes, as data for the script of the page

TESTS: Mapping[str, Callable[[int], bool]] = {
    "<": lambda n: n < 0,
    "<=": lambda n: n <= 0,
    "=": lambda n: n == 0,
}
LiveFacts = dict[Fact, None]
ESCAPED_LETTER = re.compile(r"\\u([ef][0-9a-f]{3})")  # letters of numbers, as errors show them
NOTHING: Mapping[Fact, None] = MappingProxyType({})


class SizeDependentTexts:
    """The parts of one page, in the order in which they are written.

    Args:
        system: The term as a function of its sizes.
        plain: Its circuit at the current sizes.
    """

    def __init__(self, system: ParametricTerm, plain: Circuit) -> None:
        self.system, self.plain = system, plain
        found = traced_circuit(system.build, system.settings, system.traceable)
        self.is_traceable = found is not None and alike(found[1], plain)
        self.trace, self.circuit = found if found and self.is_traceable else (SizeTrace(), plain)
        self.base: LiveFacts = dict(self.trace.holds)
        self.parts: dict[str, list[tuple[int, str]] | None] = {}
        self.part_conditions: dict[str, LiveFacts] = {}
        self.drawings: Sequence[Drawing] = ()  # of the page, whose descriptions follow as well
        self.trace.exact = True

    def make_with_facts(self, make: Callable[[Circuit], Any]) -> tuple[Any, LiveFacts]:
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
        if not self.is_traceable or not plain:  # such as a source that is too long for a page
            return plain
        self.trace.holds = {}
        try:
            html = own()
        except OverflowError:  # more numbers than letters
            self.parts[name] = None
            return plain
        found: LiveFacts = {**facts, **self.trace.holds}
        same = len("".join(texts(plain))) == len("".join(texts(html)))
        changes = changed_texts(plain, html) if same else None
        also = {fact: None for fact in found if fact not in self.base}
        if changes is None or changes or also:
            self.parts[name], self.part_conditions[name] = changes, also
        return plain

    def data(self) -> dict[str, Any]:
        """Returns all formulas as JSON data.

        ``sizes`` are the ranges, ``settings`` the current values, ``renamed`` the axes by former
        names, ``fixed`` the values that must not change; ``parts`` has the texts of each part, or
        null if it does not follow, and ``part_holds`` the place of its conditions among
        ``conditions``. ``grips`` are the sizes that each axis follows from. ``wires``, ``loops``,
        ``drawn`` and ``words`` are the texts in the drawing, ``described`` those of its
        descriptions, ``arrays`` the places of each array's axes among ``axes``, for the quiz.
        ``refused`` are the errors beyond the conditions.
        """
        drawn, drawn_so = self.make_with_facts(
            lambda circuit: dict(drawn_numbers(circuit, self.plain))
        )
        self.base |= drawn_so  # such as a stride that is not 1, which would not be drawn
        said: dict[str, Any] = {
            "sizes": [size_data(size) for size in self.system.sizes],
            "settings": dict(self.system.settings),
            "renamed": dict(self.system.renamed_axes),
            "grips": size_names(self.circuit) if self.is_traceable else {},
            "wires": dict(wire_sizes(self.circuit)) if self.is_traceable else {},
            "loops": dict(loop_sizes(self.circuit)) if self.is_traceable else {},
            "drawn": drawn if self.is_traceable else {},
            "words": (words := dict(self._words()) if self.is_traceable else {}),
            "described": dict(self._changed_descriptions(words)),
            **_arrays(self.circuit, self.plain),
            "computed": sorted(computed_axes(self.plain, self.system.settings)),
        }
        facts = {
            "holds": list(self.base),
            **{n: list(own) for n, own in self.part_conditions.items()},
        }
        table = FormulaTable().build_table(self.trace, facts)
        conditions, also = _unique_values({name: table.pop(name) for name in self.part_conditions})
        open_ = set(self.trace.sizes) if self.is_traceable else set()
        fixed = {n: v for n, v in self.system.settings.items() if n not in open_}
        holds = {"conditions": conditions, "part_holds": also}
        more = {"fixed": fixed, "parts": self.parts, **holds, "also": []}
        return {**said, **more, "refused": list(self._size_errors()), **table}

    def script(self) -> str:
        """Returns the data as an element of a page."""
        text = json.dumps(self.data(), ensure_ascii=False, separators=(",", ":"))
        safe = text.replace("<", "\\u003c")
        return f'<script type="application/json" id="live">{safe}</script>'

    def _words(self) -> Iterator[tuple[str, str]]:
        """Yields the words of each op that contain a number."""
        for cell in self.circuit.cells:
            self.trace.holds = {}
            words = cell.description
            if any(fact not in self.base for fact in self.trace.holds):  # true at these sizes only
                yield cell.id, cell.op.display_name
            elif has_letter(words):
                yield cell.id, words.replace(FILL, "")

    def _changed_descriptions(self, words: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yields the description of each drawing that has a number, in words or in a title."""
        fences = zip(self.plain.fences, self.circuit.fences, strict=True)
        titles = {plain_text(old.title): plain_text(new.title) for old, new in fences}
        changed = [(old, new.replace(FILL, "")) for old, new in titles.items() if has_letter(new)]
        for drawing in self.drawings:
            shown = {glyph.node for glyph in drawing.glyphs if not glyph.cells}
            cells = [cell for cell in self.plain.cells if cell.id in shown]
            pairs = [(cell.description, words.get(cell.id, cell.description)) for cell in cells]
            text = reword(drawing.description, pairs)
            for old, new in changed:
                text = text.replace(old, new)
            if text != drawing.description:
                yield drawing.description, text

    def _size_errors(self) -> Iterator[Table]:
        """Yields the errors at the ends of each size, as texts with formulas and conditions."""
        for size in self.system.sizes if self.is_traceable else ():
            for value in {size.min, size.max}:
                settings = {**self.system.settings, size.name: value}
                if size.name in self.trace.sizes and not self._holds(settings):
                    yield from _error(self.system, settings, set(self.trace.sizes))

    def _holds(self, settings: Mapping[str, int]) -> bool:
        before = self.trace.sizes
        self.trace.sizes = {name: settings[name] for name in before}
        try:
            return all(
                TESTS[sign](self.trace.current_value(sum)) is true for sum, sign, true in self.base
            )
        except ZeroDivisionError:
            return False
        finally:
            self.trace.sizes = before


def _error(system: ParametricTerm, settings: Mapping[str, int], names: set[str]) -> Iterator[Table]:
    """Yields the error of building at these settings, if there is one."""
    if _builds(system, settings):
        return
    trace = SizeTrace()
    given = {n: trace.size(n, v) if n in names else v for n, v in settings.items()}
    try:
        elaborate(system.build(given))
    except NCDError as error:
        text = ESCAPED_LETTER.sub(lambda found: chr(int(found[1], 16)), str(error)).replace(
            FILL, ""
        )
        fixed = {n: v for n, v in settings.items() if n not in names}
        table = FormulaTable().build_table(trace, {"holds": list(trace.holds)})
        yield {"text": text, "fixed": fixed, "also": [], **table}


def _builds(system: ParametricTerm, settings: Mapping[str, int]) -> bool:
    try:
        elaborate(system.build(settings))
    except NCDError:
        return False
    return True


def size_data(knob: Knob) -> dict[str, Any]:
    """Returns a knob as the scripts of all hosts know it: its slider, and its legal values."""
    least, most = knob.bounds
    facts = {
        **{name: getattr(knob, name) for name in ("name", "min", "max", "step", "help")},
        **{"least": least, "most": LARGEST if most is None else min(most, LARGEST)},
        **{name: getattr(knob, name) for name in ("multiple", "limits", "switch", "names")},
    }
    return {name: fact for name, fact in facts.items() if fact not in ("", ())}


def _unique_values(own: Mapping[str, Any]) -> tuple[list[Any], dict[str, int]]:
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
        if id in given or id not in circuit.producers or not known or _passes(plain.producers[id]):
            continue
        maker, taken = circuit.producers[id], taken_axes(plain, id)
        found[id] = {"of": maker.op.display_name, "node": maker.id, "axes": at, "taken": taken}
    return {"arrays": found, "axes": list(places)}


def _axis(axis: Axis) -> AxisFacts:
    name, called, html, size, identifier = (text.replace(FILL, "") for text in axis_facts(axis))
    return name, called, html, size, identifier


def _passes(cell: Cell) -> bool:
    """Returns whether an op only passes its inputs on."""
    code = cell.expressions
    return all(isinstance(own, Arg) for own in code)
