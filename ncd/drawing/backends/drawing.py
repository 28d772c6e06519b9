"""A drawing: a picture that can be written out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ncd.drawing.backends.pdf import pdf
from ncd.drawing.backends.png import png
from ncd.drawing.backends.svg_template import svg
from ncd.drawing.backends.tikz import tex
from ncd.drawing.base.primitives import Picture


@dataclass(frozen=True)
class Drawing(Picture):
    """A neural circuit diagram as data; ``svg``, ``png``, ``pdf`` and ``tex`` write it."""

    def svg(self, fonts: bool = True) -> str:
        """The drawing as SVG text; with ``fonts`` it looks the same when it is opened alone."""
        return svg(self, fonts)

    def png(self, scale: float = 2.0) -> bytes:
        """The drawing as PNG bytes, ``scale`` pixels a drawing unit.

        Raises SizeError for a scale that is no positive number, and LimitError for a picture of
        more than 100 megapixels.
        """
        return png(self, scale)

    def pdf(self) -> bytes:
        """The drawing as PDF, with its fonts; a point is a pixel and a third."""
        return pdf(self)

    def tex(self, alone: bool = True) -> str:
        """The drawing as TikZ, its names in the document's font.

        ``alone``: a whole LaTeX document, else the tikzpicture, for a document with the packages
        tikz, amsmath and amssymb.
        """
        return tex(self, alone)

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """How a notebook shows it: the picture, or what it says where there are no pictures."""
        return {"image/svg+xml": self.svg(), "text/plain": f"{self.title}. {self.description}"}
