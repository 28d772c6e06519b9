"""Multi-head attention: figure 21 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE, paper_equation
from ncd.app.panels.walk.values import VALUES

LEAD = """
Every position of *y*, such as a word, looks at every position of *x* in *h* ways at once, and takes
from each what it finds there.
"""

WHY = """
Three learned maps turn the inputs into queries, keys and values. A query and a key are *k* numbers
long, and their inner product says how well they match; the softmax turns the matches of one query
into weights that sum to 1, and the weights mix the values. Dividing by √*k* keeps the matches from
growing with *k*, so that the softmax does not harden before anything has been learned.
One softmax can hold one kind of match only: averaging two kinds into it would blur both. So the
heads run side by side, each with its own *k* features. The wires show it
([how to read them](legend)): the axis *h* is never summed over until the last map, which mixes the
heads into one vector of *m* features.

Sources: the notebook's figure 21 (*Neural circuit diagrams*); Vaswani et al. 2017, *Attention Is
All You Need*, section 3.2.
"""

EQUATION = paper_equation(
    (
        r"\text{MultiHead}(Q, K, V) = \text{Concat}(\text{head}_1, …, \text{head}_h)\,<O: W^O>",
        r"\text{head}_i = <Scaled Dot-Product Attention: \text{Attention}>"
        r"(Q\,<Q: W_i^Q>,\; K\,<K: W_i^K>,\; V\,<V: W_i^V>)",
    ),
    "Section 3.2.2 of the paper: Q is our input on y, and K and V are both our input on x. What it "
    "concatenates is the axis h, which the diagram keeps beside k.",
)

render_page(
    entry=catalogue["multi-head-attention"],
    lead=LEAD,
    why=WHY,
    panels=(
        *(ATTENTION_MAPS, EQUATION, VALUES, SOURCE, COST_TABLE, what_moves()),
        *(AUTOGRAD_GRAPH, SHAPES),
    ),
)
