"""How every number on a page follows from its knobs: what the browser needs to scrub a size.

A system is built once more at sizes that remember how they are used
(:mod:`ncd.lang.formulas.traced_sizes`), and the page's own texts are made of it. Where a number
would stand they hold a letter, and for each letter it is told how its number follows, and for which
sizes all of this is true. The browser fills the letters while a size is dragged; nothing of it is
sent with a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from ncd.code import lines
from ncd.export import source_listing
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.lang.formulas.traced_sizes import FILL, FIRST, LAST, Fact, Sum, Trace, traced
from ncd.lang.types.axes import Array
from ncd.models import Entry, Knob
from ncd.view.base.knobs import MOST
from ncd.view.diagram import axis_chips, component
from ncd.view.page.page import cost_line
from ncd.view.panels.common import cost_table, shapes
from ncd.view.session.scene import Scene

Open = dict[str, Any]
PANELS = ("shapes", "source", "cost")  # those that follow; the others show what ran


def follows(scene: Scene, panel: str) -> Open | None:
    """What follows of a page at its settings, and of one of its panels; None if nothing can.

    ``knobs`` say what each can be, ``fixed`` are those that all of this holds for as they are.
    ``atoms`` and ``sums`` are the numbers, ``letters`` which of them stands for which letter and
    how it is written, ``holds`` what must be true, for the panel ``also``. ``grips`` has the knobs
    of an axis.
    """
    found = _traced(scene.entry, scene.settings)
    if found is None or not _alike(found[1], scene.circuit):
        return None
    trace, circuit = found
    settings = dict(scene.settings) | trace.open
    own = replace(scene, term=circuit.term, settings=settings)
    said: Open = {
        "wires": dict(_wires(circuit)),
        "told": {id: text.replace(FILL, "") for id, text in component.words(circuit).items()},
        "chips": _nodes(axis_chips.html(scene.circuit), axis_chips.html(circuit)),
    }
    with trace.asking():
        said["cost"] = cost_line(own, None).replace(FILL, "")
        said["grips"] = {name: sorted(knobs) for name, knobs in _grips(circuit)}
    before = list(trace.holds)
    said["panel"] = _panel(scene, own, panel) if panel in PANELS else []
    facts = {"holds": before, "also": [fact for fact in trace.holds if fact not in before]}
    return {
        **said,
        "knobs": {knob.name: _knob(knob) for knob in scene.entry.knobs if knob.is_size},
        "fixed": {n: v for n, v in scene.settings.items() if n not in trace.open},
        **_Table().written(trace, facts),
    }


# --- the system once more -------------------------------------------------------------------------


def _traced(entry: Entry, settings: Mapping[str, int]) -> tuple[Trace, Circuit] | None:
    """The circuit at sizes that are traced; a size that names or titles are made of stays."""
    names = {k.name for k in entry.knobs if k.is_size and not k.below}
    while names:
        trace = Trace()
        given = {n: trace.size(n, v) if n in names else v for n, v in settings.items()}
        try:
            return trace, elaborate(entry.system(**given))
        except NCDError as error:
            text = str(error).encode("unicode_escape").decode()
            said = [n for (n, _), own in trace.written.items() if f"\\u{ord(own):x}" in text]
            wrong = {name for number in said for name in trace.read(number.total)}
            if not wrong:
                return None
            names -= wrong
    return None


def _alike(circuit: Circuit, plain: Circuit) -> bool:
    """Whether both are the same at the sizes as they are now."""
    ours, theirs = (list(c.values.items()) for c in (circuit, plain))
    return len(ours) == len(theirs) and all(
        id == other and _now(value.array) == _now(same.array)
        for (id, value), (other, same) in zip(ours, theirs, strict=True)
    )


def _now(array: Array) -> tuple[object, ...]:
    return *array.names, *(n.value if traced(n) else n for n in array.shape)


# --- texts with letters in them -------------------------------------------------------------------


def _wires(circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Of each axis of an array its size."""
    for value in circuit.values.values():
        for axis in value.array:
            if _open(axis.size_text):
                yield f"{value.id}/{axis.name}", axis.size_text.replace(FILL, "")


def _panel(plain: Scene, own: Scene, panel: str) -> list[tuple[int, str]]:
    """What changes in a panel."""
    if panel == "shapes":
        return _nodes(shapes.html(plain), shapes.html(own))
    if panel == "cost":
        return _nodes(cost_table.html(plain, None), cost_table.html(own, None))
    said, text = lines(plain.term), lines(own.term)
    html = source_listing.html(said, plain.circuit, plain.dark)
    return _changes(texts(html), "".join(line.text or " " for line in text))


def _nodes(plain: str, own: str) -> list[tuple[int, str]]:
    return _changes(texts(plain), "".join(texts(own)))


def _changes(plain: list[str], own: str) -> list[tuple[int, str]]:
    """The places of the texts in which a letter stands, and what stands there.

    >>> _changes(["m ", "128"], "m \ue000\uf8ff\uf8ff")
    [(1, '\ue000')]
    """
    if len(own) != sum(map(len, plain)):
        return []
    found, at = [], 0
    for i, text in enumerate(plain):
        piece = own[at : at + len(text)]
        at += len(text)
        if _open(piece):
            found.append((i, piece.replace(FILL, "")))
    return found


def _open(text: str) -> bool:
    return any(chr(FIRST) <= letter <= chr(LAST) for letter in text)


class _Reader(HTMLParser):
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


def texts(html: str) -> list[str]:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.texts


# --- numbers --------------------------------------------------------------------------------------


class _Table:
    """Sums and the parts that they are made of, each once."""

    def __init__(self) -> None:
        self.atoms: dict[Any, int] = {}
        self.sums: dict[Sum, int] = {}
        self.rows: list[list[list[int]]] = []
        self.parts: list[Any] = []

    def written(self, trace: Trace, facts: Mapping[str, list[Fact]]) -> Open:
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


def _grips(circuit: Circuit) -> Iterator[tuple[str, set[str]]]:
    """Each axis with the knobs that its size follows from."""
    for axis in reversed(circuit.axes):
        knobs = {
            name for side in axis.shape if traced(side) for name in side.trace.read(side.total)
        }
        if knobs:
            yield axis.name, knobs


def _knob(knob: Knob) -> dict[str, Any]:
    """What a knob can be: as its slider has it, and as the mathematics has it."""
    least, most = knob.bounds
    return {
        "min": knob.min,
        "max": knob.max,
        "step": knob.step,
        "least": least,
        "most": MOST if most is None else min(most, MOST),
        "multiple": knob.multiple,
    }
