"""One HTML file of a term, or of several views.

Styles, fonts, drawings, formulas and the term are in the file; its content policy forbids loading
more. The diagram comes first; cards, steps and source stand compressed after it, as they are seen
after a click. A size that is moved is followed by formulas (:mod:`ncd.site.live_texts`).

It is made like the file of one diagram (:mod:`ncd.site.document`).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ncd.circuit.circuit import Circuit
from ncd.circuit.elaborate import elaborate
from ncd.circuit.sized_system import ParametricTerm, parametric_term
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements import style
from ncd.drawing.elements.fonts import font_faces
from ncd.drawing.elements.primitives import Thumbnail
from ncd.drawing.plan.collapse import CollapsibleBlock
from ncd.drawing.plan.collapse import blocks as blocks_of
from ncd.language.arguments import Labels, check_seed, check_term, check_text
from ncd.language.axes import Axis
from ncd.language.terms import Term
from ncd.site import markup
from ncd.site.collapse_states import (
    LETTERS,
    NO_VALUES,
    STATES,
    WIDTH,
    CollapsedIds,
    WireValues,
    collapsed_ids,
    drawing_parts,
    drawn_circuits,
    gzip_json,
    state_name,
    states,
    svg,
)
from ncd.site.live_texts import SizeDependentTexts
from ncd.site.markup import (
    DIAGRAM_CSS,
    LEGEND_CSS,
    PANEL_CSS,
    QUIZ_CSS,
    SIZES_CSS,
    THEME_CSS,
)
from ncd.site.op_cards import Cards, Content
from ncd.site.page_tables import closed_part, key_drawer, parts_that_open
from ncd.site.scripts import script
from ncd.words import plain_text
from ncd.write.term_json import term_script

# --- The parts of a page around its diagram, which a site adds


@dataclass(frozen=True)
class PageParts:
    """HTML of a site around the diagram: above it, its lead, and prose below; ``css`` is its own.

    ``legend`` is the address of the page of all signs, ``states`` the most drawings with different
    blocks collapsed. ``widths`` are those in pixels that the page is drawn for, the first in the
    page itself, each with the most letters of further drawings. ``run`` writes a part whose numbers
    follow the sizes, ``walk`` one that comes into it later; ``task`` and ``js`` are for them,
    ``scripts`` is where the page may load more of them from, and ``extra_policy`` what the content
    policy allows besides.
    """

    top: str = ""
    lead: str = ""
    below: str = ""
    css: str = ""
    legend: str = ""
    states: int = STATES
    widths: tuple[tuple[float, int], ...] = ((WIDTH, LETTERS),)
    run: Callable[[Circuit], str] | None = None
    walk: Callable[[Circuit], str] | None = None
    task: Mapping[str, Any] | None = None
    js: str = ""
    scripts: str = ""
    extra_policy: str = ""


# --- Exports a term as one HTML file: the diagram with hover, collapse, cards, sizes and a quiz

FOLDER = Path(__file__).parent / "static"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'{}; font-src data:"
DEEPEST = 12  # levels of nested blocks that collapse in a file: each state is one more drawing
DOCUMENT_PAGE = (FOLDER / "document.html").read_text()
VALUED_STATES, VALUED_LETTERS = 8, 400_000  # of drawings with values, for each width
VALUES_BUTTON = '<button class="values" type="button" aria-pressed="false">Values</button>'
PAGE_SCRIPT = "site/static/live_quiz.js"  # and all that it imports
DOCUMENT_JS = script(PAGE_SCRIPT)


def policy(js: str, scripts: str = "") -> str:
    """Returns the content policy of a file: it runs this script and loads nothing.

    ``scripts`` is where it may load more scripts from.

    >>> policy("go()").split("; ")[2][:34]
    "script-src 'sha256-5KYv+PUboo5h+0+"
    """
    return POLICY.format(b64encode(sha256(js.encode()).digest()).decode(), scripts)


class Page(str):
    """The text of an HTML file, which a notebook shows as the page that it is."""

    def __repr__(self) -> str:
        return f"<Page of {len(self.encode()):,} bytes>"

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """Returns a frame with the page, which may run its own script and reach nothing else."""
        frame = f'<iframe srcdoc="{markup.text(self)}" sandbox="allow-scripts" title="Diagram"'
        shape = "width:100%;height:600px;border:0"
        return {"text/html": f'{frame} style="{shape}"></iframe>', "text/plain": repr(self)}


def html(
    term: Term,
    labels: Labels = "names",
    title: str = "",
    about: Mapping[str, Any] | None = None,
    *,
    seed: int | None = 0,
) -> Page:
    """Exports a term as one HTML file, with a card for each op and block.

    Args:
        term: The system; axes without sizes are shown by name.
        labels: The texts on the wires: "names", "sizes" or "both".
        title: The title of the page; by default that of the outermost block.
        about: Facts of its origin, such as settings and a link, which are kept beside the term.
        seed: The seed of the weights and inputs whose values can be seen on the wires. The file
            holds none with None, where torch is missing, or if a run takes longer than a moment.

    Returns:
        The text of the file. It needs no server and loads nothing, and contains the term as JSON;
        a notebook shows it as a page.

    Raises:
        SizeError: If sizes contradict each other.

    Source: after the HTML views of Treescope and the legend of pyncd.

    >>> from ncd import Id
    >>> html(Id("y:2 m:3"))[:15]
    '<!doctype html>'
    """
    check_term(term, "html")
    check_text(title, "title", "html")
    if seed is not None:
        check_seed(seed, "html")
    if seed is None or not find_spec("torch"):
        return document(term, labels, title, about)
    from ncd.site.wire_values import random_values  # which needs torch

    return document(term, labels, title, about, values=random_values(term, seed))


def document(
    term: Term,
    labels: Labels = "names",
    title: str = "",
    about: Mapping[str, Any] | None = None,
    system: ParametricTerm | None = None,
    around: PageParts | None = None,
    values: WireValues = NO_VALUES,
) -> Page:
    """Returns the file of a term as a function of its sizes; by default all its axes' sizes."""
    around, circuit = around or PageParts(), elaborate(term)
    live = SizeDependentTexts(system or parametric_term(term, circuit), circuit)
    depths = _depths(parts := drawn_circuits(circuit))
    blocks = [block for block, depth in depths.items() if depth < DEEPEST]
    views = _views(term, labels, blocks, around, title)
    valued = _valued_views(term, labels, blocks, around, title, values.frames)
    live.drawings = every = _drawings(views, valued)
    first, cards = every[0], Cards.from_drawings(live, every, blocks)
    closed = dict(parts_that_open(live, cards))
    page = DOCUMENT_PAGE.format(
        policy=policy(js := DOCUMENT_JS + around.js, around.scripts) + around.extra_policy,
        **_value_parts(values),
        title=markup.text(title or first.title),
        term=term_script(term, about),
        css=css(every, (signs := key_drawer(first, around.legend)).drawings) + around.css,
        **{name: getattr(around, name) for name in ("top", "lead", "below")},
        summary=_live_summary(live, cards),
        axes=_live_axes(live, every),
        blocks="".join(_rows(depths, blocks, parts)) or "None.",
        key=signs.html,
        told="".join(map(closed_part, closed)),
        **_first_parts(first),
        states=gzip_json(drawing_parts(views, valued)),
        later=gzip_json(dict(cards.html(every)) | closed | _of_run(live, around)),
        run=_live(live, "run", around.run),
        live=live.script(),
        js=js,
    )
    return Page(page)


def _views(
    term: Term, labels: Labels, blocks: Iterable[CollapsibleBlock], around: PageParts, title: str
) -> dict[float, dict[CollapsedIds, Drawing]]:
    """Returns the drawings of a page by its width and by their collapsed blocks."""
    outer = {block.id: block.parent for block in blocks}
    return {
        width: states(term, outer, labels, around.states, width, letters, title)
        for width, letters in around.widths
    }


def _valued_views(
    term: Term,
    labels: Labels,
    blocks: Iterable[CollapsibleBlock],
    around: PageParts,
    title: str,
    frames: Mapping[str, Thumbnail],
) -> dict[float, dict[CollapsedIds, Drawing]]:
    """Returns the drawings with frames for values, fewer than those without."""
    outer = {block.id: block.parent for block in blocks}
    if not frames:
        return {}
    count = min(around.states, VALUED_STATES)
    pairs = ((width, min(letters, VALUED_LETTERS)) for width, letters in around.widths)
    return {
        width: states(term, outer, labels, count, width, letters, title, frames)
        for width, letters in pairs
    }


def _drawings(*views: Mapping[float, Mapping[CollapsedIds, Drawing]]) -> tuple[Drawing, ...]:
    return tuple(each for own in views for view in own.values() for each in view.values())


def _first_parts(drawing: Drawing) -> dict[str, str]:
    """Returns the drawing that a page begins with, in words too, and its collapsed blocks."""
    words, state = markup.text(drawing.description), state_name(collapsed_ids(drawing))
    return {"svg": svg(drawing), "words": words, "state": state}


def _value_parts(values: WireValues) -> dict[str, str]:
    """Returns what a page has for its values: a button, their data, and leave to show pictures."""
    return {
        "values": VALUES_BUTTON if values.frames else "",
        "pictures": "; img-src data:" if values.frames else "",
        "wire_values": gzip_json(values.data),
    }


def _live_summary(live: SizeDependentTexts, cards: Cards) -> str:
    plain, own = cards.current_content, cards.traced_content
    return live.part("summary", _summary(plain), lambda: _summary(own), own.facts)


def _live(live: SizeDependentTexts, name: str, write: Callable[[Circuit], str] | None) -> str:
    if write is None:
        return ""
    return live.part(name, write(live.plain), lambda: write(live.circuit))


def _of_run(live: SizeDependentTexts, around: PageParts) -> dict[str, Any]:
    """Returns what the page has to know for a run, if there is one."""
    if not around.task:
        return {}
    return {"walk": _live(live, "walk", around.walk), "task": around.task}


def _live_axes(live: SizeDependentTexts, drawings: Iterable[Drawing]) -> str:
    wires = {wire.axis for drawing in drawings for wire in drawing.wires}
    rows = _rows_of(live.plain, wires)
    return live.part("axes", rows, lambda: _rows_of(live.circuit, wires))


def css(drawings: Iterable[Drawing], more: Iterable[Drawing] = ()) -> str:
    """Returns the style sheet of a file with these drawings, and the fonts for their labels."""
    every = (*drawings, *more)
    spans = (span for d in every for text in d.texts for span in text.label.spans)
    names = (*style.COLOURS, *style.QUIET)
    colours = ";".join(
        f"--{name}:light-dark({style.paint_colour(name)},{style.paint_colour(name, dark=True)})"
        for name in names
    )
    page = (FOLDER / "document.css").read_text()
    sheets = THEME_CSS + PANEL_CSS + DIAGRAM_CSS + SIZES_CSS + QUIZ_CSS + LEGEND_CSS + page
    return f"{font_faces(spans)}:root{{{colours}}}\n{sheets}"


def _axes(circuit: Circuit) -> tuple[Axis, ...]:
    """Returns every axis, each name once."""
    found: dict[str, Axis] = {}
    for axis in circuit.axes:
        found.setdefault(axis.name, axis)
    return tuple(found.values())


def _summary(content: Content) -> str:
    circuit, cost = content.circuit, content.cost
    types = f"({markup.arrays(circuit.term.dom)}) → ({markup.arrays(circuit.term.cod)})"
    if cost is None:
        return types
    parameters = markup.plural(cost.parameters, "parameter")
    return f"{types} · {parameters} · {markup.flops(cost.flops)}"


def _rows_of(circuit: Circuit, wires: Collection[str]) -> str:
    return "".join(_axis(axis) for axis in _axes(circuit) if axis.name in wires) or "None."


def _axis(axis: Axis) -> str:
    """Returns a row of the legend, which locks the highlight of its axis."""
    kind = "sequence" if axis.sequence else "spatial" if axis.spatial else ""
    size = "" if axis.size is None else markup.text(axis.size_text)
    own = markup.text(axis.name)
    return (
        f'<button class="row" type="button" data-axis="{own}" data-select="axis:{own}">'
        f'{markup.axis(axis)}<b>{size}</b><span class="muted">{kind}</span></button>'
    )


def _depths(parts: Iterable[Circuit]) -> dict[CollapsibleBlock, int]:
    """Returns how many blocks are around each block; outer blocks come before inner ones."""
    depths = {"": -1}
    found: dict[CollapsibleBlock, int] = {}
    for block in (block for part in parts for block in blocks_of(part)):
        depths[block.id] = found[block] = depths[block.parent] + 1
    return found


def _rows(
    depths: Mapping[CollapsibleBlock, int],
    blocks: Sequence[CollapsibleBlock],
    parts: Iterable[Circuit],
) -> Iterator[str]:
    """Returns a button for each block that collapses it, indented by depth, in reading order."""
    roles = {fence.id: fence.role for part in parts for fence in part.fences}
    begin: dict[str, int] = {}
    for cell in (cell for part in parts for cell in part.cells):
        begin.update((fence, len(begin)) for fence in cell.fences if fence not in begin)
    for block in sorted(blocks, key=lambda block: (begin[block.id], depths[block])):
        yield (
            f'<button class="row" type="button" data-fold="{block.id}" data-fence="{block.id}" '
            f'style="margin-left:{depths[block]}em">{markup.role(roles[block.id], None)}'
            f"{markup.text(plain_text(' '.join(block.name.split())))}</button>"
        )


# --- Exports several views as one HTML file, walked with the arrow keys; no server

SLIDES_PAGE = (FOLDER / "slides.html").read_text()
SLIDES_JS = script("site/static/slides.js")


@dataclass(frozen=True)
class Slide:
    """A view: its title, a caption, the drawing if there is one, and HTML below it.

    ``hides_sizes`` hides the sizes until a click; ``axes`` are highlighted, as ``k,h``, and
    ``select`` is the id of the selection. ``question`` is HTML below the drawing.
    """

    title: str
    drawing: Drawing | None
    caption: str = ""
    facts: str = ""
    panel: str = ""
    hides_sizes: bool = False
    axes: str = ""
    select: str = ""
    question: str = ""


def slides_html(slides: Sequence[Slide], title: str = "") -> str:
    """Returns an HTML file that shows one view at a time, by default titled like the first.

    >>> import ncd
    >>> slide = Slide("One map", ncd.draw(ncd.Linear("m:4 -> k:3", "Q")))
    >>> slides_html([slide, slide]).count('class="slide"')
    2
    """
    drawings = [slide.drawing for slide in slides if slide.drawing is not None]
    style = f"{css(drawings)}\n{(FOLDER / 'slides.css').read_text()}"
    return SLIDES_PAGE.format(
        policy=policy(SLIDES_JS),
        title=markup.text(title or slides[0].title),
        css=style,
        slides="".join(_slide(slide, n) for n, slide in enumerate(slides)),
        count=len(slides),
        js=SLIDES_JS,
    )


def _slide(slide: Slide, n: int) -> str:
    caption = f'<p class="caption">{markup.text(slide.caption)}</p>' if slide.caption else ""
    facts = slide.facts
    if slide.hides_sizes and facts:
        facts = f"<details><summary>Show the sizes</summary>{facts}</details>"
    panel = f'<div class="panel">{slide.panel}</div>' if slide.panel else ""
    drawn = svg(slide.drawing) if slide.drawing is not None else ""
    asked = f'<div class="asked">{slide.question}</div>' if slide.question else ""
    return (
        f'<section class="slide" aria-label="{markup.text(slide.title)}"{" hidden" if n else ""} '
        f'data-axes="{markup.text(slide.axes)}" data-select="{markup.text(slide.select)}">'
        f'<h1>{markup.text(slide.title)}</h1>{caption}<div class="drawing whole">{drawn}</div>'
        f"{asked}{facts}{panel}</section>"
    )
