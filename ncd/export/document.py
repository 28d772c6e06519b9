"""A term as one HTML file: the diagram with hover, legend, folding and cards; no server.

Styles, fonts and drawings are in the file, and its security policy lets it load nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from latex2mathml.converter import convert

from ncd.code import SourceLine, lines
from ncd.costs import Cost, cost_of
from ncd.drawing import Drawing, Labels, style
from ncd.drawing.fonts import font_faces
from ncd.export import facts, listing, markup
from ncd.export.assets import DIAGRAM_CSS, FOLDER, LIGHT_JS, PANEL_CSS
from ncd.export.states import folded, name, packed, states, svg
from ncd.lang.axes import Axis
from ncd.lang.circuit import Cell, Circuit, Fence
from ncd.lang.elaborate import elaborate
from ncd.lang.terms import Term

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; font-src data:"
PAGE = (FOLDER / "page.html").read_text()


def html(term: Term, labels: Labels = "names") -> str:
    """One HTML file with the diagram of a term and a card for each op and block of it.

    >>> from ncd.lang.terms import Id
    >>> html(Id("y:2 m:3"))[:15]
    '<!doctype html>'
    """
    circuit = elaborate(term)
    drawings = states(term, circuit, labels)
    first = next(iter(drawings.values()))
    cost = cost_of(circuit) if _sized(circuit) else None
    return PAGE.format(
        policy=POLICY,
        title=markup.text(first.title),
        css=_css(drawings.values()),
        summary=_summary(circuit, cost),
        svg=svg(first),
        axes="".join(map(_axis, _axes(circuit))) or "None.",
        blocks="".join(_blocks(circuit)) or "None.",
        cards="".join(_cards(term, circuit, cost, drawings.values())),
        words=markup.text(first.description),
        state=name(folded(first)),
        states=packed(drawings),
        js=LIGHT_JS + (FOLDER / "page.js").read_text(),
    )


def _css(drawings: Iterable[Drawing]) -> str:
    spans = (span for d in drawings for text in d.texts for span in text.label.spans)
    names = (*style.COLOURS, *style.ROLES)
    colours = ";".join(
        f"--{name}:light-dark({style.paint(name)},{style.paint(name, dark=True)})" for name in names
    )
    page = (FOLDER / "page.css").read_text()
    return f"{font_faces(spans)}:root{{{colours}}}\n{PANEL_CSS}{DIAGRAM_CSS}{page}"


def _sized(circuit: Circuit) -> bool:
    return all(axis.size is not None for axis in _axes(circuit))


def _axes(circuit: Circuit) -> tuple[Axis, ...]:
    """Every axis, each name once."""
    axes = (axis for value in circuit.values.values() for axis in value.array)
    found: dict[str, Axis] = {}
    for axis in axes:
        found.setdefault(axis.name, axis)
    return tuple(found.values())


def _summary(circuit: Circuit, cost: Cost | None) -> str:
    types = f"({markup.arrays(circuit.term.dom)}) → ({markup.arrays(circuit.term.cod)})"
    if cost is None:
        return types
    parameters = markup.counted(cost.parameters, "parameter")
    return f"{types} · {parameters} · {markup.amount(cost.flops, 'FLOP')}"


def _axis(axis: Axis) -> str:
    """A row of the legend, which locks its axis alight."""
    kind = "sequence axis" if axis.sequence else "spatial axis" if axis.spatial else "axis"
    size = "" if axis.size is None else markup.text(axis.size_text)
    own = markup.text(axis.name)
    return (
        f'<button class="row" type="button" data-axis="{own}" data-select="axis:{own}">'
        f'{markup.axis(axis)}<b>{size}</b><span class="muted">{kind}</span></button>'
    )


def _blocks(circuit: Circuit) -> Iterator[str]:
    """A row for each block, which folds it, further in the deeper it lies."""
    depths = {"": -1}
    for fence in circuit.fences:
        depths[fence.id] = depths.get(fence.parent, -1) + 1
        yield (
            f'<button class="row" type="button" data-fold="{fence.id}" aria-expanded="true" '
            f'style="margin-left:{depths[fence.id]}em">{markup.role(fence.role, None)}'
            f"{markup.text(facts.title(fence))}</button>"
        )


# --- cards ---------------------------------------------------------------------------------------


def _cards(
    term: Term, circuit: Circuit, cost: Cost | None, drawings: Iterable[Drawing]
) -> Iterator[str]:
    """A card for each op and block that one of the drawings shows."""
    drawn = {glyph.node for drawing in drawings for glyph in drawing.glyphs}
    source = lines(term) if cost is not None else []
    for fence in circuit.fences:
        yield _block_card(circuit, fence, cost, source)
    for cell in circuit.cells:
        if cell.id in drawn:
            yield _op_card(circuit, cell, cost, source)


def _op_card(circuit: Circuit, cell: Cell, cost: Cost | None, source: Sequence[SourceLine]) -> str:
    formula = convert(cell.op.formula(cell.site), display="block")
    words = f"<p>{markup.text(cell.op.words(cell.site))}</p>{formula}"
    told = facts.listed(facts.of_cell(cell, cost))
    code = listing.html(source, circuit, None, frozenset({cell.id}))
    return _card(cell.id, cell.op.label, cell.op.role, f"{words}{told}{code}")


def _block_card(
    circuit: Circuit, fence: Fence, cost: Cost | None, source: Sequence[SourceLine]
) -> str:
    fold = f'<p><button type="button" data-fold="{fence.id}" aria-expanded="true">Fold</button></p>'
    told = facts.listed(facts.of_block(circuit, fence, cost))
    code = listing.html(source, circuit, None, facts.inside(circuit, fence))
    return _card(fence.id, facts.title(fence), fence.role, f"{told}{fold}{code}")


def _card(id: str, title: str, role: str, inside: str) -> str:
    return (
        f'<article class="card" id="card-{id}" aria-label="{markup.text(title)}" tabindex="-1" '
        f'hidden><button class="close" type="button" aria-label="Close">×</button>'
        f"<h4>{markup.role(role, None)}{markup.text(title)}</h4>{inside}</article>"
    )
