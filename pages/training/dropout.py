"""Dropout: hidden units that are left out at random while a network learns."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.dropout_gap import DROPOUT_GAP
from ncd.app.panels.learning.dropout_masks import DROPOUT_MASKS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
While a network learns, each of its hidden units is left out with some chance, and another set of
them at every step and for every example. Afterwards all of them work.
"""

WHY = """
A unit that may be missing cannot be relied on. So none can learn to correct the mistakes of one
certain other unit, and each has to be of use beside any of them. What is trained is one network of
very many that share their weights, and what is used in the end is about their mean.

For that the **expectation** has to be the same. If a share *p* is left out, a sum over the units is
smaller by that share. So what is kept is divided by 1 − *p* in training, and nothing has to be done
in use: this is *inverted* dropout, as all libraries have it. The paper did it the other way, and
made the weights smaller in use. Behind an activation the two are no longer exactly equal: the mean
of a ReLU is not the ReLU of the mean.

What goes wrong is the mode. A network that is still in `train()` while it is tested gives other
results each time, and worse ones; `model.eval()` before, and `model.train()` after, is what is
forgotten most. Batch norm has [two modes](batch-norm) as well, and does not go well with dropout
before it: its variance is another one after training.

Where it is used: [transformers](encoder-block) leave out a tenth behind each part; language models
that see each text once need none.

Sources: Srivastava et al. 2014, *Dropout: A Simple Way to Prevent Neural Networks from
Overfitting*; Krizhevsky et al. 2012; PyTorch's documentation of *Dropout*; Li et al. 2019,
*Understanding the Disharmony between Dropout and Batch Normalization by Variance Shift*.
"""

render_page(
    entry=catalogue["dropout"],
    lead=LEAD,
    why=WHY,
    panels=(DROPOUT_MASKS, DROPOUT_GAP, VALUES, SOURCE, AUTOGRAD_GRAPH, COST_TABLE, SHAPES),
)
