"""Layer norm by hand: the notebook that unit-tests a transformer."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.norm_panels import NORM_BY_HAND
from ncd.app.panels.tensors.equation_sides import EQUATION_SIDES
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Each position is moved to mean 0 and stretched to variance 1, by its own *m* numbers alone.
"""

WHY = """
The right side says it in steps: the mean over *m* is subtracted, the mean of the squares is the
variance, and its root divides. Then every feature gets a scale, *gamma*, and a shift, *beta*, that
are learned. The wire *t* passes over all of it: no position depends on another, nor does one
example of a batch, so training and use are the same.

The notebook prints `x.var()` before it computes the norm. By default that is the unbiased variance,
the sum over *m* − 1; layer norm divides the sum by *m*. With few features the two are far apart.

Sources: *Unit-testing all elements of a transformer*, LayerNorm; Ba et al. 2016, *Layer
Normalization*.
"""

render_page(
    entry=catalogue["layer-norm"],
    lead=LEAD,
    why=WHY,
    panels=(NORM_BY_HAND, EQUATION_SIDES, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
