"""LoRA: a trained map stays, and a small update beside it learns."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.language_models.merged_weights import MERGED_WEIGHTS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A trained map stays as it is; beside it two thin maps learn, and afterwards all three are one map
again.
"""

WHY = """
Training a large model further takes a gradient, and mostly two more numbers, for each of its
weights. But what a task changes in a map is often simple: it can be written as a product of two
thin matrices, *B A*, through only *r* features. So *W* is kept, and only *A* and *B* are trained:
*r*·(*m* + *d*) numbers in place of *m*·*d*. *B* begins at 0, so the model begins as it was. The
factor *α*/*r* keeps the strength of the update when *r* changes. A product of matrices is a matrix:
after training *B A* is added to *W*, and the model is as fast as before, unlike with layers put in
between. Taken away again, it makes room for the update of another task.

Source: Hu et al. 2021, *LoRA: Low-Rank Adaptation of Large Language Models*, sections 4.1 and 7.
"""

render_page(
    entry=catalogue["lora"],
    lead=LEAD,
    why=WHY,
    panels=(MERGED_WEIGHTS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
