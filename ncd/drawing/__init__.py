"""Drawing: a term becomes a neural circuit diagram, as data, then as SVG, PNG, PDF or TikZ."""

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.pipeline import draw, drawn_cells, drawn_wires
from ncd.drawing.placement.axis_labels import Labels, axis_label

__all__ = ["Drawing", "Labels", "axis_label", "draw", "drawn_cells", "drawn_wires"]
