"""The parts of one sign, for tests."""

from ncd.drawing.elements.primitives import Outline, Rectangle, Text


def only(drawing):
    (glyph,) = drawing.glyphs
    return glyph


def texts(glyph):
    return [item for item in glyph.items if isinstance(item, Text)]


def said(glyph):
    return [item.label.words for item in texts(glyph)]


def strokes(glyph):
    return [i for i in glyph.items if isinstance(i, Outline) and not i.is_closed]


def painted(glyph, paint):
    shapes = (i for i in glyph.items if isinstance(i, Outline) and i.is_closed)
    return [i for i in shapes if i.paint == paint]


def around(shape):
    return Rectangle.from_points(point for curve in shape.path for point in curve)


def wire(drawing, axis, n=-1):
    return [w for w in drawing.wires if w.axis == axis][n]
