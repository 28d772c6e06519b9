"""A drawing: a picture that can be written out."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.drawing.data import Picture
from ncd.drawing.png import png
from ncd.drawing.svg import write


@dataclass(frozen=True)
class Drawing(Picture):
    """A neural circuit diagram as data; ``svg`` and ``png`` write it."""

    def svg(self, fonts: bool = True) -> str:
        """The drawing as SVG text; with ``fonts`` it looks the same when it is opened alone."""
        return write(self, fonts)

    def png(self, scale: float = 2.0) -> bytes:
        """The drawing as PNG bytes, ``scale`` pixels a drawing unit.

        Raises SizeError for a scale that is no positive number, and LimitError for a picture of
        more than 100 megapixels.
        """
        return png(self, scale)
