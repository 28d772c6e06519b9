"""Exports several views as one HTML file, walked with the arrow keys; no server.

It is made like the file of one diagram (:mod:`ncd.export.page.document`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ncd.drawing import Drawing
from ncd.drawing.backends.svg_styles import shadow
from ncd.export import markup
from ncd.export.collapse_states import svg
from ncd.export.page.document import FOLDER, css, policy
from ncd.export.shared_assets import LIGHT_JS

PAGE = (FOLDER / "slides.html").read_text()
JS = LIGHT_JS + (FOLDER / "slides.js").read_text()


@dataclass(frozen=True)
class Slide:
    """A view: its title, a caption, the drawing if there is one, and HTML below it.

    ``covered`` hides the sizes until a click; ``axes`` are highlighted, as ``k,h``, and ``select``
    is the id of the selection.
    """

    title: str
    drawing: Drawing | None
    caption: str = ""
    facts: str = ""
    panel: str = ""
    covered: bool = False
    axes: str = ""
    select: str = ""


def html(slides: Sequence[Slide], title: str = "") -> str:
    """Returns an HTML file that shows one view at a time, by default titled like the first.

    >>> import ncd
    >>> slide = Slide("One map", ncd.draw(ncd.Linear("m:4 -> k:3", "Q")))
    >>> html([slide, slide]).count('class="slide"')
    2
    """
    drawings = [slide.drawing for slide in slides if slide.drawing is not None]
    style = f"{css(drawings)}\n{(FOLDER / 'slides.css').read_text()}"
    return PAGE.format(
        policy=policy(JS),
        title=markup.text(title or slides[0].title),
        css=style,
        shadow=shadow(dark=False),
        slides="".join(_slide(slide, n) for n, slide in enumerate(slides)),
        count=len(slides),
        js=JS,
    )


def _slide(slide: Slide, n: int) -> str:
    caption = f'<p class="caption">{markup.text(slide.caption)}</p>' if slide.caption else ""
    facts = slide.facts
    if slide.covered and facts:
        facts = f"<details><summary>Show the sizes</summary>{facts}</details>"
    panel = f'<div class="panel">{slide.panel}</div>' if slide.panel else ""
    drawn = svg(slide.drawing) if slide.drawing is not None else ""
    drawn = drawn.replace(shadow(dark=False), "")  # the page has it once
    return (
        f'<section class="slide" aria-label="{markup.text(slide.title)}"{" hidden" if n else ""} '
        f'data-axes="{markup.text(slide.axes)}" data-select="{markup.text(slide.select)}">'
        f'<h1>{markup.text(slide.title)}</h1>{caption}<div class="drawing whole">{drawn}</div>'
        f"{facts}{panel}</section>"
    )
