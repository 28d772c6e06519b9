"""LaTeX formulas as MathML that is safe in a page, whatever text they were made from."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element

from ncd.export import markup

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
            return tostring(_cleaned(found), encoding="unicode", short_empty_elements=False)
        except Exception:  # the converter raises errors of many kinds for text that is no LaTeX
            pass
    return f'<math display="{display}"><mtext>{markup.text(plain[:LONGEST])}</mtext></math>'


def _cleaned(element: Element) -> Element:
    """Returns a copy with only known elements and attributes, its entities resolved."""
    copy = Element(element.tag if ELEMENT.fullmatch(element.tag) else "mrow")
    for name, value in element.attrib.items():
        if ATTRIBUTE.fullmatch(name):
            copy.set(name, value)
    copy.text, copy.tail = _resolved(element.text), _resolved(element.tail)
    if copy.tag == "mi" and copy.text in OPERATORS:
        copy.tag = "mo"  # with room on both sides
    copy.extend(map(_cleaned, element))
    return copy


def _resolved(text: str | None) -> str | None:
    return text and ENTITY.sub(lambda found: unescape(found[0]), text)
