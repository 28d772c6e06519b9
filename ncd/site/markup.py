"""Escaped HTML, formulas as MathML, colours of maps, styles and scripts that all hosts share.

Viridis, and red to blue by ColorBrewer: both suit colour-blind readers. In the dark, zero is about
as dark as the page, and what is far from it is light.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import unescape
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element
from markupsafe import escape

from ncd.drawing.elements.style import role_colour
from ncd.formulas.prefixed_amounts import amount as amount
from ncd.formulas.prefixed_amounts import digits as digits
from ncd.formulas.prefixed_amounts import flops as flops
from ncd.language.axes import Array, Axis, Type
from ncd.write.torch_source.identifiers import UniqueNames

# --- HTML of the panels. Text from outside is escaped here

METER = 6.0  # em
BAR = "min(22em, 22vw)"  # shorter on a phone, in proportion
SEPARATOR = '<span class="muted">,</span> '


def text(value: object) -> str:
    """Returns any value as escaped text, also valid in an attribute.

    >>> text('<b title="x">')
    '&lt;b title=&#34;x&#34;&gt;'
    """
    return str(escape(str(value)))


_SUBSCRIPT = re.compile(r"\b([A-Za-z])_(\d+|\{[^{}]*\})")


def sentence(value: str) -> str:
    """Returns a sentence as escaped text, in which names of axes and maps have subscripts.

    >>> sentence("W_1 takes c_{5-λ} <here>; token_embedding and in_x stay.")
    'W<sub>1</sub> takes c<sub>5-λ</sub> &lt;here&gt;; token_embedding and in_x stay.'
    """
    return _SUBSCRIPT.sub(lambda found: f"{found[1]}<sub>{found[2].strip('{}')}</sub>", text(value))


@lru_cache(maxsize=4096)
def axis(axis: Axis) -> str:
    """Returns the label of an axis, highlighted with its wires.

    >>> axis(Axis("n_0", 3)), axis(Axis("c", 3, label="c_{5-λ}"))
    ('<i class="axis" data-axis="n_0">n<sub>0</sub></i>',
     '<i class="axis" data-axis="c">c<sub>5-λ</sub></i>')
    >>> axis(Axis("w", 9, label="3^2"))
    '<i class="axis" data-axis="w">3<sup>2</sup></i>'
    >>> axis(Axis("x", (8, 8), label="x/2"))
    '<i class="axis space" data-axis="x"><span class="bar">x</span>/2</i>'
    """
    raised, _, above = axis.display_name.partition("^")
    base, _, below = raised.partition("_")
    name = text(base)
    if axis.spatial:
        stem, slash, rest = name.partition("/")
        name = f'<span class="bar">{stem}</span>{slash}{rest}'
    name += f"<sub>{text(below.strip('{}'))}</sub>" if below else ""
    name += f"<sup>{text(above.strip('{}'))}</sup>" if above else ""
    kind = "axis bar" if axis.sequence else "axis space" if axis.spatial else "axis"
    return f'<i class="{kind}" data-axis="{text(axis.name)}">{name}</i>'


def array(array: Array) -> str:
    """Returns the labels of an array's axes, or 1 for a number; whole numbers as ``y#v``."""
    names = " ".join(map(axis, array)) or "1"
    return names if array.below is None else f"{names}#{axis(array.below)}"


def arrays(arrays: Type | Iterable[Array]) -> str:
    """Returns the arrays of a type; a line breaks between them."""
    return array_list(map(array, arrays))


def shape(array: Array) -> str:
    """Returns the sizes of an array: ``20 128``."""
    return " ".join(text(axis.size_text) for axis in array) or "1"


def axes_with_sizes(array: Array) -> str:
    """Returns the axes of an array with their sizes.

    >>> axes_with_sizes(Array()), axes_with_sizes(Array((Axis("w", 3), Axis("m", None))))
    ('a number',
     '<i class="axis" data-axis="w">w</i> 3 · <i class="axis" data-axis="m">m</i>')
    """
    sizes = ("" if a.size is None else f" {text(a.size_text)}" for a in array)
    return " · ".join(map("".join, zip(map(axis, array), sizes, strict=True))) or "a number"


def dimensions(axis: Axis) -> tuple[str, ...]:
    """Returns the names of an axis' dimensions in the source: two for a group.

    >>> dimensions(Axis("x", (16, 16))), dimensions(Axis("y", 20))
    (('x_h', 'x_w'), ('y',))
    """
    return tuple(UniqueNames().dim(dim) for dim in axis.dims)


def shapes(arrays: Iterable[Array]) -> str:
    """Returns the sizes of some arrays; a line breaks between them."""
    return array_list(map(shape, arrays))


def array_list(arrays: Iterable[str]) -> str:
    """Returns arrays as HTML, with commas between them; each stays on one line.

    >>> array_list("yx")
    '<span class="unbroken">y</span><span class="muted">,</span> <span class="unbroken">x</span>'
    >>> array_list(["y m"])
    'y m'
    """
    every = list(arrays)
    if len(every) > 1:
        every = [f'<span class="unbroken">{own}</span>' for own in every]
    return SEPARATOR.join(every)


def colour(role: str, dark: bool | None) -> str:
    """Returns the colour of a role; with ``dark`` None, a variable of the page's theme.

    >>> colour("softmax", dark=False), colour("softmax", None)
    ('#c4d9c6', 'var(--softmax)')
    """
    return f"var(--{role})" if dark is None else role_colour(role, dark)


def role(role: str, dark: bool | None) -> str:
    """Returns a small box in the colour of a role."""
    return f'<span class="role" style="background:{colour(role, dark)}"></span>'


def table(
    head: Sequence[str], rows: Iterable[str], foot: str = "", numbers: Sequence[int] = ()
) -> str:
    """Returns a table; ``rows`` are whole ``<tr>``, ``numbers`` the right-aligned columns."""
    cells = "".join(
        f'<th scope="col"{NUMBER if i in numbers else ""}>{text(name)}</th>'
        if name
        else "<td></td>"
        for i, name in enumerate(head)
    )
    return (
        f'<div class="scroll"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody>{f'<tfoot>{foot}</tfoot>' if foot else ''}</table></div>"
    )


NUMBER = ' class="number"'


def meter(share: float, colour: str, longest: float = METER) -> str:
    """Returns a bar for a share of ``longest`` (em); empty if the share is 0.

    >>> meter(0.5, "teal")
    '<span class="meter" style="width:3.00em;background:teal"></span>'
    """
    if not share:
        return ""
    return f'<span class="meter" style="width:{longest * share:.2f}em;background:{colour}"></span>'


def share_bar(share: float, colour: str, longest: str = BAR) -> str:
    """Returns a bar for a share of ``longest``, a length in CSS, with the room for the rest.

    >>> "<rect width='50.0'" in share_bar(0.5, "teal").replace('"', "'")
    True
    """
    return (
        f'<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" '
        f'style="width:{longest};height:0.75em"><rect width="{100 * share:.1f}" height="8" '
        f'fill="{colour}" stroke="currentColor" vector-effect="non-scaling-stroke"/></svg>'
    )


def plural(number: int, one: str) -> str:
    """Returns a whole number with its noun.

    >>> plural(1, "word"), plural(32768, "parameter")
    ('1 word', '32,768 parameters')
    """
    return f"{number:,} {one if number == 1 else one + 's'}"


# --- Colours of heat maps, in the app and on pages without a server: hex stops from low to high

POSITIVE = "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725"
SIGNED_COLOURS = "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f"
SIGNED_DARK = "d1e5f0 92c5de 4393c3 2166ac 1c4570 1b2128 5f2328 a81c2c d6604d f4a582 fddbc7"
GREY = "000000 ffffff"
MAP_COLOURS = (POSITIVE, SIGNED_COLOURS, GREY, SIGNED_DARK)  # as matrix.js expects them


# --- Styles and scripts that the app and the exported file share

FOLDER = Path(__file__).parent / "static"
THEME_CSS = (FOLDER / "theme.css").read_text()
PANEL_CSS = (FOLDER / "panel.css").read_text()
DIAGRAM_CSS = (FOLDER / "diagram.css").read_text()
SIZES_CSS = (FOLDER / "sizes.css").read_text()
QUIZ_CSS = (FOLDER / "quiz.css").read_text()
WALK_CSS = (FOLDER / "walk.css").read_text()
LEGEND_CSS = (FOLDER / "legend.css").read_text()


# --- LaTeX formulas as MathML that is safe in a page, whatever text they were made from

LONGEST = 2000  # characters; a longer formula is shown as text
ELEMENT = re.compile(
    "m(ath|enclose|frac|i|n|o|over|padded|phantom|root|row|s|space|sqrt|style|sub|subsup|sup|"
    "table|td|text|tr|under|underover)"
)
ATTRIBUTE = re.compile(
    "accent|column(align|lines|spacing)|depth|display|displaystyle|fence|form|height|largeop|"
    "linethickness|[lr]space|mathvariant|maxsize|minsize|movablelimits|notation|rowspacing|"
    "scriptlevel|separator|stretchy|width|xmlns"
)
ENTITY = re.compile(r"&#x[0-9A-Fa-f]{1,6};")  # the converter's form of a special character
OPERATORS = frozenset(":∈→↦×·≤≥≠≈")  # the converter takes these letters for names
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # not allowed in a page


@lru_cache(maxsize=1024)
def mathml(latex: str, *, block: bool = False) -> str:
    r"""Returns a formula as a ``<math>`` element; text that is no formula is shown as it is.

    The converter copies text and addresses from its input, so only known elements and attributes
    are kept, and all text is escaped here, last.

    >>> mathml("z = a + b").count("<mi>")
    3
    >>> mathml(r"\text{<script>}")[-49:]
    '<mrow><mtext>&lt;script&gt;</mtext></mrow></math>'
    >>> mathml("x ∈ y").count("<mo>")
    1
    >>> mathml("100%")[-32:]
    '<mrow><mn>100</mn></mrow></math>'
    """
    display = "block" if block else "inline"
    plain = CONTROL.sub("\ufffd", latex)
    if len(plain) <= LONGEST:
        try:
            found = convert_to_element(plain, display=display)
            return tostring(_clean_copy(found), encoding="unicode", short_empty_elements=False)
        except Exception:  # the converter raises errors of many kinds for text that is no LaTeX
            pass
    return f'<math display="{display}"><mtext>{text(plain[:LONGEST])}</mtext></math>'


def _clean_copy(element: Element) -> Element:
    """Returns a copy with only known elements and attributes, its entities resolved."""
    copy = Element(element.tag if ELEMENT.fullmatch(element.tag) else "mrow")
    for name, value in element.attrib.items():
        if ATTRIBUTE.fullmatch(name):
            copy.set(name, value)
    copy.text, copy.tail = _resolved_entities(element.text), _resolved_entities(element.tail)
    if copy.tag == "mi" and copy.text in OPERATORS:
        copy.tag = "mo"  # with room on both sides
    copy.extend(map(_clean_copy, element))
    return copy


def _resolved_entities(text: str | None) -> str | None:
    return text and ENTITY.sub(lambda found: unescape(found[0]), text)
