"""The public result of ``ncd.draw``: a picture with methods to write it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from ncd.drawing.backends.pdf_png import pdf, png
from ncd.drawing.backends.svg import svg
from ncd.drawing.backends.tikz import UNIT, tex
from ncd.drawing.elements.primitives import DrawingData
from ncd.drawing.elements.style import theme
from ncd.errors import ParseError


@dataclass(frozen=True)
class Drawing(DrawingData):
    """A neural circuit diagram as data, in drawing units of one pixel, with y downwards.

    Args:
        title: The name of the system, such as "Multi-head attention".
        description: The structure in words, for screen readers.
        box: The page, as x0, y0, x1, y1.
        fences: The coloured regions of blocks and the brackets of repetitions, outermost first.
        dashes: The separators between arrays.
        wires: The axes of arrays, each with its path, its array's id and the ids of its two ops.
        glyphs: The ops and collapsed blocks, each with its id.
        labels: The texts on wires, each placed at its baseline.
        extras: Everything else: row arrows, bands, callouts, cell grids, and signs of equations.
        thumbnails: The small pictures of arrays' values, each with its array's id and its box.
        highlighted_id: The id of the op that is marked as failing, if any.
        dark: Whether the colours are for a dark page.
        palette: The fills: "quiet", "paper" for those of the published figures, with shadows, or
            "bw" for greys.
        paper_unit: How many points of TeX a drawing unit is on paper; 0 in a drawing for a screen.

    Source: V. Abbott, *Neural Circuit Diagrams* (2024).

    >>> import ncd
    >>> drawing = ncd.draw(ncd.Linear("m:3 -> k:2", "Q"))
    >>> [wire.axis for wire in drawing.wires], [glyph.description for glyph in drawing.glyphs]
    (['m', 'k'], ['learned linear map Q, m to k'])
    """

    def __repr__(self) -> str:
        """Returns its title and size alone, as it has thousands of parts.

        >>> import ncd
        >>> ncd.draw(ncd.Softmax("x:3"), title="Weights")
        <Drawing of Weights: 1 op, 87 × 43>
        """
        ops = f"{len(self.glyphs)} op{'s' * (len(self.glyphs) != 1)}"
        title = f" of {self.title}" if self.title else ""
        return f"<Drawing{title}: {ops}, {self.box.width:.0f} × {self.box.height:.0f}>"

    def save(self, file: str | PathLike[str]) -> None:
        """Writes the drawing to a file.

        Args:
            file: Its name, which ends in .svg, .png, .pdf or .tex.

        Raises:
            ParseError: For another end, or a file that cannot be written.

        >>> import ncd
        >>> ncd.draw(ncd.Id("m:3")).save("figure.gif")
        Traceback (most recent call last):
        ncd.errors.ParseError: save: 'figure.gif' ends in none of .svg, .png, .pdf, .tex. Try ...
        """
        write: Mapping[str, Callable[[], str | bytes]] = {
            ".svg": self.svg,
            ".png": self.png,
            ".pdf": self.pdf,
            ".tex": self.tex,
        }
        path = Path(file)
        if path.suffix.lower() not in write:
            fact = f"{path.name!r} ends in none of {', '.join(write)}"
            raise ParseError(fact, cure=f"{path.stem}.svg", where="save")
        data = write[path.suffix.lower()]()
        try:
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        except OSError as error:
            fact = f"cannot write {str(path)!r}: {error.strerror or error}"
            raise ParseError(fact, cure="another file", where="save") from None

    def svg(self, fonts: bool = True) -> str:
        """Returns the drawing as SVG text.

        Args:
            fonts: Whether to embed the used characters of its fonts, which a file needs on its own.

        >>> import ncd
        >>> ncd.draw(ncd.Id("m:3")).svg(fonts=False)[:40]
        '<svg xmlns="http://www.w3.org/2000/svg" '
        """
        return svg(self, fonts)

    def png(self, scale: float = 2.0) -> bytes:
        """Returns the drawing as PNG bytes on a page of its theme's colour.

        Args:
            scale: Pixels for each drawing unit.

        Raises:
            SizeError: If ``scale`` is not a positive number.
            LimitError: If the picture would have more than 100 megapixels.

        >>> import ncd
        >>> ncd.draw(ncd.Id("m:3")).png()[1:4]
        b'PNG'
        """
        return png(self, scale)

    def pdf(self, about: Mapping[str, Any] | None = None) -> bytes:
        """Returns the drawing as PDF bytes with embedded fonts; a pixel is 0.75 points.

        Args:
            about: Facts of its origin, such as settings and a link, for the metadata of the file.

        >>> import ncd
        >>> ncd.draw(ncd.Id("m:3")).pdf()[:4]
        b'%PDF'
        """
        return pdf(self, about)

    def tex(self, alone: bool = True) -> str:
        r"""Returns the drawing as TikZ, with labels in the font of the LaTeX document.

        Args:
            alone: Whether to return a whole document. Otherwise it is a tikzpicture for a document
                with the packages tikz, amsmath and amssymb; a drawing unit is 0.5 points,
                or what makes it fit the width on paper.

        >>> import ncd
        >>> ncd.draw(ncd.Id("m:3")).tex()[:23]
        '\\documentclass{article}'
        """
        return tex(self, alone, self.paper_unit or UNIT)

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """Returns the SVG for notebooks, and the description for those who do not see it.

        The HTML has the description as alternative text, and a page of the drawing's own theme, so
        that it can be read in a dark notebook.
        """
        words, drawn = f"{self.title}. {self.description}", self.svg()
        data = b64encode(drawn.encode()).decode()
        look = f"max-width:100%;background:{theme(self.dark, self.palette).page}"
        image = f'<img alt="{escape(words)}" style="{look}" src="data:image/svg+xml;base64,{data}">'
        return {"text/html": image, "image/svg+xml": drawn, "text/plain": words}
