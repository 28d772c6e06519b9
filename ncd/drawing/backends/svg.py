"""SVG, also with gaps for words that follow from sizes.

Every element has ``data-node``, ``data-axis``, ``data-array`` or ``data-fence`` and a ``<title>``,
which is also its accessible name. Blocks, then wires and ops from left to right, can be reached
with Tab. A wire contains its first label, and its others stand behind it. All style rules begin
with ``.circuit`` and are equal in every drawing, so that many drawings can share a page.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from html import escape
from typing import Any, TypeVar

from ncd.circuit.circuit import Circuit
from ncd.drawing.backends.painting import (
    Item,
    commands,
    double_wire_paths,
    is_over,
    is_soft,
    is_under,
    number,
    reading_order,
    wire_ends,
)
from ncd.drawing.elements import style
from ncd.drawing.elements.fonts import MATH, ROMAN, SANS, Face, font_faces
from ncd.drawing.elements.primitives import (
    Annotation,
    Dot,
    DrawingData,
    DrawnFence,
    DrawnGlyph,
    DrawnThumbnail,
    DrawnWire,
    Outline,
    Rectangle,
    Text,
    fast_replace,
)
from ncd.language.arguments import Palette

# --- The style rules of drawings as SVG, and the soft shadow of coloured shapes

DEFAULT_FACE = Face(ROMAN, "italic")  # the default face, as most names are in italics
FACES = {
    Face(ROMAN): "r",
    Face(ROMAN, weight=700): "b",
    Face(MATH): "m",
    Face(SANS): "s",
    Face(SANS, weight=700): "t",
}
SHADOW = ("ncd-shadow", "ncd-shadow-dark")


@lru_cache(maxsize=256)
def rules(double: bool, used: frozenset[Face]) -> str:
    """Returns the style rules for some faces, and for double wires if there are any."""
    dash = " ".join(map(number, style.DASH))
    rules = {
        ".wire path,.circuit .stroke,.circuit .shape,.circuit .dash": "stroke:currentColor",
        ".wire path,.circuit .stroke,.circuit .dash": "fill:none",
        ".wire path": f"stroke-width:{number(style.WIRE)};stroke-linecap:round",
        ".op .hit": "fill:transparent",
        ".stroke,.circuit .shape": "stroke-linejoin:round",
        ".dash": f"stroke-width:{number(style.DASH_WIDTH)};stroke-dasharray:{dash}",
        ".still": "pointer-events:none",
    }
    if double:
        outer, inner = style.DOUBLE + style.WIRE, style.DOUBLE - style.WIRE
        rules[".double path"] = f"stroke-width:{number(outer)};stroke-linecap:butt"
        rules[".double .gap"] = f"stroke-width:{number(inner)}"
    for face, name in FACES.items():
        if face in used:
            family = "" if face.family == DEFAULT_FACE.family else f";font-family:{face.family}"
            weight = "" if face.weight == DEFAULT_FACE.weight else f";font-weight:{face.weight}"
            rules[f".{name}"] = f"font-style:{face.style}{weight}{family}"
    return "".join(f".circuit {where}{{{what}}}" for where, what in rules.items())


def shadow(dark: bool) -> str:
    """Returns the filter for the soft shadow of coloured shapes."""
    deviation, opacity = number(style.SHADOW), number(style.theme(dark).shadow)
    return (
        f'<filter id="{SHADOW[dark]}" x="-20%" y="-20%" width="140%" height="140%">'
        f'<feDropShadow dx="0" dy="0" stdDeviation="{deviation}" flood-opacity="{opacity}"/>'
        f"</filter>"
    )


# --- The accessible names of the parts of a drawing: what stands there, and what it is

WORD = re.compile(r"[^\W_]+")


def visible(texts: Iterable[Text]) -> str:
    """Returns what texts say, with a space between their runs."""
    return " ".join([span.text for own in texts for span in own.label.spans])


@lru_cache(maxsize=4096)
def accessible_name(shown: str, words: str) -> str:
    """Returns the name of a part, which begins with the text that stands there.

    Who steers a page by voice says what they see. Signs alone, such as +, cannot be said.

    >>> accessible_name("L V", "learned linear map V, m to k h")
    'L V: learned linear map V, m to k h'
    >>> accessible_name("Block ( 2 , N )", "Block (2, N), folded")
    'Block ( 2 , N ), folded'
    >>> accessible_name("+", "sum of two arrays (m)")
    'sum of two arrays (m)'
    """
    spoken = WORD.findall(shown)
    if not spoken:
        return words
    same = re.match(r"[\W_]*".join(["", *map(re.escape, spoken)]) + r"(?![^\W_])[)\]]*", words)
    return shown + (words[same.end() :] if same else f": {words}")


# --- Writes a drawing as SVG, from primitives only; ids are copied from them

BUTTON = 'tabindex="0" role="button"'
BRIEF = 60  # the longest text that is cached, in letters
END = "</svg>"
ARIA_HIDDEN = ' aria-hidden="true"'  # of a label that is read with its wire
Paint = Callable[[str], str]
Naming = Callable[[str, str], str]


def write(
    drawing: DrawingData,
    fonts: bool,
    shadows: bool = True,
    paint: Paint | None = None,
    naming: Naming = accessible_name,
) -> str:
    """Returns the SVG text of a drawing.

    In the paper's palette fences have shadows, or thin borders without ``shadows``.

    ``paint`` returns the colour of a role, of "ink", "page" and so on; by default the theme's.
    ``naming`` returns the name of a part from the text that stands there and its words.
    """
    return "".join(_SvgWriter(drawing, shadows, paint, naming).document(fonts))


class _SvgWriter:
    """Writes one drawing."""

    def __init__(
        self, drawing: DrawingData, shadows: bool, paint: Paint | None, naming: Naming
    ) -> None:
        self.drawing, self.naming = drawing, naming
        self.is_shadowed = drawing.palette in style.SHADOW_PALETTES
        self.shadows = shadows and self.is_shadowed
        self.paint = paint or partial(
            style.paint_colour, dark=drawing.dark, palette=drawing.palette
        )
        self.ends = wire_ends(drawing)
        self.named: dict[tuple[str, str], list[Text]] = defaultdict(list)
        for label in drawing.labels:
            self.named[label.array, label.axis].append(label)

    def document(self, fonts: bool) -> Iterator[str]:
        drawing = self.drawing
        texts = drawing.texts
        faces = font_faces(span for each in texts for span in each.label.spans) if fonts else ""
        yield f"{self.head()}<style>{faces}{self.style_rules(texts)}</style>"
        if self.shadows:
            yield shadow(drawing.dark)
        yield from map(self.fence, drawing.fences)
        yield from (self.extra(extra) for extra in drawing.extras if extra.behind)
        if drawing.dashes:
            yield f'<path class="dash" d="{"".join(commands(d.path) for d in drawing.dashes)}"/>'
        yield self.static_parts(is_under)
        for item in reading_order(drawing):
            yield self.wire(item) if isinstance(item, DrawnWire) else self.glyph(item)
        yield self.static_parts(is_over)
        for labels in self.named.values():  # labels of wires that are not drawn
            yield from map(self.label, labels)
        yield from (self.extra(extra) for extra in drawing.extras if not extra.behind)
        yield from map(thumbnail_group, drawing.thumbnails)
        yield END

    def head(self) -> str:
        drawing, box = self.drawing, self.drawing.box
        view = " ".join(map(number, (box.x0, box.y0, box.width, box.height)))
        kind = "circuit dark" if drawing.dark else "circuit"
        sides: list[str] = [number(side) for side in (box.width, box.height)]
        if drawing.paper_unit:
            sides = [f"{number(side * drawing.points)}pt" for side in (box.width, box.height)]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{sides[0]}" '
            f'height="{sides[1]}" class="{kind}" '
            # letters where they were measured: a browser may round their widths to whole pixels
            f'role="group" text-rendering="geometricPrecision" '
            f'color="{self.paint("ink")}" fill="currentColor" '
            f'font-family="{DEFAULT_FACE.family}" font-style="{DEFAULT_FACE.style}" '
            f'font-size="{number(style.NAME)}" stroke-width="{number(style.OUTLINE)}">'
            f"<title>{text(drawing.title)}</title><desc>{text(drawing.description)}</desc>"
        )

    def style_rules(self, texts: list[Text]) -> str:
        """Returns the style rules that this drawing needs."""
        double = any(wire.double for wire in self.drawing.wires)
        used = frozenset([span.face for each in texts for span in each.label.spans])
        return rules(double, used) + self.soft()

    def soft(self) -> str:
        """Returns the border or the shadow of coloured shapes.

        The id of a shadow differs between light and dark.
        """
        theme = style.theme(self.drawing.dark)
        soft = f"filter:url(#{SHADOW[self.drawing.dark]})"
        if not self.is_shadowed:
            soft = f"stroke:{self.paint('edge')};stroke-width:{number(style.EDGE)}"
        elif not self.shadows:
            soft = f"stroke:currentColor;stroke-opacity:{number(theme.shadow)}"
        return f".circuit{'.dark' * self.drawing.dark} .soft{{{soft}}}"

    def fence(self, fence: DrawnFence) -> str:
        if fence.brackets:
            paths = "".join(commands(path) for path in fence.brackets)
            look = f'stroke-width="{number(style.BRACKET)}" stroke-linecap="round"'
            frame = f'<path class="stroke" {look} d="{paths}"/>'
        else:
            frame = f'<rect class="soft" {_sides(fence.box)} fill="{self.paint(fence.role)}"/>'
        return (
            f'<g class="fence" data-fence="{text(fence.id)}" {BUTTON}>'
            f"{self.title(fence.title, fence.words)}{frame}"
            f"{''.join(map(self.text, fence.title))}</g>"
        )

    def wire(self, wire: DrawnWire) -> str:
        if wire.double:
            ink, between = double_wire_paths(wire, self.ends)
            page = self.paint("page")
            gap = f'<path class="gap" style="stroke:{page}" d="{commands(between)}"/>'
        else:
            ink, gap = wire.path, ""
        labels = self.named.pop((wire.array, wire.axis), [])
        first, again = labels[:1], labels[1:]
        return (
            f'<g class="{"wire double" if wire.double else "wire"}" '
            f"{_wire_attributes(wire.axis, wire.array)} "
            f'{BUTTON}>{self.title(first, wire.description)}<path d="{commands(ink)}"/>'
            f"{gap}{''.join(map(self.text, first))}</g>"
            f"{''.join(self.label(label, wire.description, ARIA_HIDDEN) for label in again)}"
        )

    def glyph(self, glyph: DrawnGlyph) -> str:
        marked = glyph.node == self.drawing.highlighted_id
        words = f"{glyph.description}; this does not fit" if marked else glyph.description
        frame = f'<rect class="hit" {_sides(glyph.hit_box)} rx="{number(style.CORNER)}"'
        if marked:
            dash = " ".join(map(number, style.ERROR_DASH))
            frame += (
                f' stroke="{self.paint("error")}" stroke-width="{number(style.ERROR)}" '
                f'stroke-dasharray="{dash}"'
            )
        items = [item for item in glyph.items if not (is_under(item) or is_over(item))]
        texts = [item for item in items if isinstance(item, Text)]
        return (
            f'<g class="{"op marked" if marked else "op"}" {_op(glyph)} {BUTTON}>'
            f"{self.title(texts, words)}{frame}/>{''.join(map(self.item, items))}</g>"
        )

    def static_parts(self, which: Callable[[Item], bool]) -> str:
        """Returns parts of ops below or above all wires; clicks on them fall through to the op."""
        items = (self.item(i) for glyph in self.drawing.glyphs for i in glyph.items if which(i))
        return f'<g class="still">{inside}</g>' if (inside := "".join(items)) else ""

    def label(self, label: Text, words: str = "", more: str = "") -> str:
        """Returns the label of a wire, in a group that is highlighted with it."""
        title = self.title([label], words) if words else f"<title>{text(label.label.words)}</title>"
        of = _wire_attributes(label.axis, label.array)
        return f'<g class="label" {of}{more}>{title}{self.text(label)}</g>'

    def title(self, texts: Iterable[Text], words: str) -> str:
        return f"<title>{text(self.naming(visible(texts), words))}</title>"

    def extra(self, extra: Annotation) -> str:
        """Returns something beside the circuit; coloured items have the shadow of a fence."""
        of = f' data-of="{text(extra.target_id)}"' if extra.target_id else ""
        title = f"<title>{text(extra.words)}</title>" if extra.words else ""
        role = ' role="img"' if extra.words else ""  # a group may not have a name
        items = (self.item(item, is_soft(item)) for item in extra.items)
        return f'<g class="{text(extra.kind)}"{of}{role}>{title}{"".join(items)}</g>'

    def item(self, item: Item, soft: bool = False) -> str:
        match item:
            case Outline():
                return self.shape(item, soft)
            case Dot():
                return self.dot(item)
        return self.label(item) if item.axis else self.text(item)

    def shape(self, shape: Outline, soft: bool = False) -> str:
        look = "soft" * soft
        if shape.stroke:
            look = f"{'stroke' if shape.paint == 'none' else 'shape'} {look}".strip()
        width = _unless("stroke-width", shape.stroke, style.OUTLINE) if shape.stroke else ""
        look = f' class="{look}"' if look else ""
        d = commands(shape.path, shape.is_closed)
        return f'<path{look}{width}{self.fill(shape.paint)} d="{d}"/>'

    def dot(self, dot: Dot) -> str:
        x, y, r = number(dot.center.x), number(dot.center.y), number(dot.radius)
        look = ""
        if dot.stroke:
            look = f' class="shape"{_unless("stroke-width", dot.stroke, style.OUTLINE)}'
        return f'<circle{look}{self.fill(dot.paint)} cx="{x}" cy="{y}" r="{r}"/>'

    def fill(self, paint: str) -> str:
        """Returns the fill attribute; ink is the default fill of shapes, and lines have none."""
        return "" if paint in ("ink", "none") else f' fill="{self.paint(paint)}"'

    def text(self, label: Text) -> str:
        """Returns the runs and bars of a label at their positions, each run as a word."""
        (x, y), fill = label.position, self.fill(label.paint)
        parts = []
        for span in label.label.spans:
            name = FACES.get(span.face)
            look = f' class="{name}"' if name else ""
            look += _unless("font-size", span.size, style.NAME) + fill
            place = f'x="{number(x + span.dx)}" y="{number(y + span.dy)}"'
            parts.append(f" <text{look} {place}>{text(span.text)}</text>")
        for bar in label.label.bars:
            top = y + bar.y - bar.thickness / 2
            box = Rectangle(x + bar.x0, top, x + bar.x1, top + bar.thickness)
            parts.append(f"<rect{fill} {_sides(box)}/>")
        return "".join(parts)


def thumbnail_group(drawn: DrawnThumbnail) -> str:
    """Returns a thumbnail as a group of pictures, whose numbers stay sharp squares at any size."""
    pictures = "".join(
        f'<image {_sides(tile.box)} preserveAspectRatio="none" '
        f'href="data:image/png;base64,{b64encode(tile.png).decode()}"/>'
        for tile in drawn.tiles
    )
    width = f'class="shape" stroke-width="{number(style.MARKED_WIRE)}"'
    marks = "".join(f'<rect {width} fill="none" {_sides(box)}/>' for box in drawn.marks)
    name = f"<title>{text(drawn.thumbnail.description)}</title>"
    frame = f'<rect class="hit" fill="none" {_sides(drawn.box)}/>'
    look = 'class="thumbnail" style="image-rendering:pixelated"'
    return (
        f"<g {look} {_wire_attributes('', drawn.array)} {BUTTON}>{name}{frame}{pictures}{marks}</g>"
    )


def text(plain: str) -> str:
    """Returns escaped text without control characters; short texts are cached, as they recur."""
    return _brief(plain) if len(plain) <= BRIEF else _escape(plain)


def _escape(plain: str) -> str:
    return escape(printable(plain))


_brief = lru_cache(maxsize=4096)(_escape)


def printable(text: str) -> str:
    """Returns the text without control characters, which XML cannot contain."""
    if text.isprintable():
        return text
    return "".join(char for char in text if char.isprintable() or char in "\n\t")


def _wire_attributes(axis: str, array: str) -> str:
    """Returns what a wire is of; in a quiz the axis that is asked for has no name."""
    if not axis or not array:
        return f'data-array="{text(array)}"' if array else f'data-axis="{text(axis)}"' * bool(axis)
    return f'data-axis="{text(axis)}" data-array="{text(array)}"'


def _sides(box: Rectangle) -> str:
    x, y, width, height = map(number, (box.x0, box.y0, box.width, box.height))
    return f'x="{x}" y="{y}" width="{width}" height="{height}"'


def _unless(name: str, value: float, usual: float) -> str:
    return "" if value == usual else f' {name}="{number(value)}"'


def _op(glyph: DrawnGlyph) -> str:
    """Returns the attributes of a glyph's op; a collapsed block has its fence and all its ops."""
    if not glyph.cells:
        return f'data-node="{text(glyph.node)}"'
    return f'data-fence="{text(glyph.node)}" data-node="{text(" ".join(glyph.cells))}"'


# --- Templates: a drawing and its SVG with gaps for words, which may state other sizes

GAP = re.compile("⦃([0-9]+)⦄")
Place = tuple[int, int]  # the number of an array on the way through a circuit, and of its axis
Spot = tuple[Place, str]  # and what the array is called, if it is named
Way = Callable[[Circuit, frozenset[str]], Circuit]
Gap = tuple[int, str]  # the number of the words that go there, and the visible text before them


@dataclass
class SvgTemplate:
    """A drawing, the sources of its words, and its SVG with gaps for them.

    ``wires`` and ``ops`` have a source for each drawn element, None for a collapsed block, whose
    words contain no sizes. ``collapsed_ids`` are the collapsed blocks, ``visible_part`` selects the
    visible part.
    """

    drawing: Any
    collapsed_ids: frozenset[str]
    visible_part: Way
    wires: tuple[Spot, ...]
    ops: tuple[int | None, ...]
    pieces: dict[tuple[bool, Palette], tuple[list[str], list[Gap]]] = field(
        default_factory=dict
    )  # by fonts and fills

    @property
    def parts(self) -> int:
        return len(self.wires) + len(self.ops) + 1


W = TypeVar("W", DrawnWire, DrawnGlyph)


def with_description(part: W, text: str) -> W:
    """Returns a copy with another description."""
    return part if text == part.description else fast_replace(part, description=text)


def svg(drawing: DrawingData, fonts: bool) -> str:
    """Returns the SVG of a drawing; a cached template only gets its words filled in."""
    pattern: SvgTemplate | None = getattr(drawing, "_pattern", None)
    if pattern is None:
        return write(drawing, fonts)
    key = fonts, drawing.palette
    if key not in pattern.pieces:
        pattern.pieces[key] = _pieces(drawing, fonts)
    pieces, gaps = pattern.pieces[key]
    if not pieces:
        return write(drawing, fonts)
    words = [*_words(drawing)]
    names = [accessible_name(visible, words[n]) for n, visible in gaps]
    filled = list(pieces)
    filled[1::2] = [text(names[int(at)]) for at in pieces[1::2]]
    return "".join([*filled, *map(thumbnail_group, drawing.thumbnails), END])


def _words(drawing: DrawingData) -> Iterator[str]:
    yield drawing.title
    yield drawing.description
    yield from (wire.description for wire in drawing.wires)
    yield from (glyph.description for glyph in drawing.glyphs)


def _pieces(drawing: DrawingData, fonts: bool) -> tuple[list[str], list[Gap]]:
    """Returns the SVG without its end, split at the gaps, and these by their numbers.

    There are no pieces if a text looks like a gap. A wire with two labels has two gaps.
    """

    gaps = [(0, ""), (1, "")]  # the title and the description

    def naming(visible: str, words: str) -> str:
        gap = GAP.match(words)
        if gap is None:
            return accessible_name(visible, words)
        gaps.append((int(gap[1]), visible))
        return f"⦃{len(gaps) - 1}⦄{words[gap.end() :]}"

    count = len(drawing.wires) + 2
    wires = tuple(with_description(w, f"⦃{n}⦄") for n, w in enumerate(drawing.wires, 2))
    glyphs = tuple(with_description(g, f"⦃{n}⦄") for n, g in enumerate(drawing.glyphs, count))
    blank = replace(
        drawing, title="⦃0⦄", description="⦃1⦄", wires=wires, glyphs=glyphs, thumbnails=()
    )
    pieces = GAP.split(write(blank, fonts, naming=naming).removesuffix(END))
    own = Counter(map(int, pieces[1::2])) == Counter(range(len(gaps)))
    return (pieces if own else []), gaps
