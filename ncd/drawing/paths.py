"""Paths and numbers as SVG writes them."""

from __future__ import annotations

from fontTools.pens.svgPathPen import SVGPathPen

from ncd.drawing.data import Curve, Path


def number(value: float) -> str:
    """A coordinate with at most two digits after the point.

    >>> number(1.0), number(2.346), number(-0.001)
    ('1', '2.35', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def commands(path: Path, closed: bool = False) -> str:
    """A path as SVG writes it; pieces that join are one line."""
    pen, last = SVGPathPen(None, number), None
    for curve in path:
        if curve.a != last:
            pen.moveTo(curve.a)
        if _flat(curve):
            pen.lineTo(curve.d)
        else:
            pen.curveTo(*curve[1:])
        last = curve.d
    if closed:
        pen.closePath()
    return str(pen.getCommands())


def _flat(curve: Curve) -> bool:
    """Whether the curve is a straight line."""
    a, b, c, d = curve
    if curve.straight:
        return True
    x, y = d.x - a.x, d.y - a.y
    return all(abs(x * (p.y - a.y) - (p.x - a.x) * y) < 1e-6 for p in (b, c))
