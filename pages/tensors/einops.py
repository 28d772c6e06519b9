"""einops: the second document's tutorial on rearrange, reduce and repeat."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors import einops_pattern
from ncd.app.panels.tensors.einops_pattern import EINOPS_PATTERN
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
One line says what happens to every axis of an array: what it is called, where it goes, and what is
made of it.
"""

WHY = """
The left side names the axes as they are, the right side as they should be. So the line is the
diagram: a name is a wire, another order makes wires cross, and brackets are the thick bar, where
one axis is read as several or several as one. In brackets the last name is the fastest: in `(b w)`
the whole width of one picture comes before the next picture. `(w b)` has the same length, and takes
the first column of every picture first.

**rearrange** loses no number and makes none, so both sides have the same names. **reduce** ends the
wires that the right side leaves out, in a mean, a sum or the largest: to pool is to split an axis
and end one half. **repeat** begins wires: the array times ones, which is the same number at every
place of the new axis.

Backwards each does the opposite. What was moved goes back, what was repeated is summed, a mean
hands everyone an equal part, and of a maximum only the largest gets anything.

Sources: *From autograd to transformers*, einops tutorial, parts 1 and 2; Rogozhnikov 2022, *Einops:
clear and reliable tensor manipulations with Einstein-like notation*. The pictures are drawn for
this page: the document loads six others.
"""

render_page(
    entry=catalogue["einops"],
    lead=LEAD,
    why=WHY,
    panels=(EINOPS_PATTERN, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
    typed=einops_pattern.typed_entry,
)
