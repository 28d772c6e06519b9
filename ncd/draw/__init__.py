"""The drawing: a term becomes a neural circuit diagram, as data, then as SVG or PNG."""

from ncd.draw.drawing import Drawing
from ncd.draw.layout import draw
from ncd.draw.names import Labels, axis_label

__all__ = ["Drawing", "Labels", "axis_label", "draw"]
