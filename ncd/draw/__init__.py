"""The drawing: a term becomes a neural circuit diagram, as data, then as SVG or PNG."""

from ncd.draw.drawing import Drawing
from ncd.draw.layout import Labels, axis_label, draw

__all__ = ["Drawing", "Labels", "axis_label", "draw"]
