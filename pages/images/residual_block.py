"""A residual block: the first of a stage in figure 26 of the notebook."""

from ncd import catalogue
from ncd.view.page.page import page
from ncd.view.panels.common import autograd_graph, cost_table, shapes, source, values

LEAD = """
An image goes two ways at once, through three convolutions and through one, and the two are added.
"""

WHY = """
The short way carries the signal on, and its gradient back, whatever the long way does. So the long
way has to learn only a correction, the residual. It narrows to a quarter of the channels for
the costly 3 × 3 convolution, and widens again. Norm and activation come before each convolution,
so that nothing stands between the sums of one block and those of the next. The rings are batch
norms and the stars convolutions; the [Legend](legend) has all signs.

Sources: the notebook's figure 26; He et al. 2016, *Identity Mappings in Deep Residual Networks*.
"""

page(
    entry=catalogue["residual-block"],
    lead=LEAD,
    why=WHY,
    panels=(values, source, cost_table, autograd_graph, shapes),
)
