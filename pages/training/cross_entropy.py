"""Cross-entropy: what a classifier is trained with, and why softmax and loss are one op."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.cross_entropy import LOSS, OVERFLOW
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A classifier gives each class a score. A softmax makes chances of the scores, and the loss says how
surprising the right class was: minus the logarithm of its chance.
"""

WHY = """
If the right class was certain, its chance is one, and the loss is zero. The less likely it was
thought, the larger the loss, without end. A language model is trained with nothing else: its
classes are all the tokens that may come next.

The **gradient** with respect to the scores is as simple as can be: *p − q*, the chances less what
was asked for. The right class is pushed up by what it lacked, and every other is pushed down by the
chance that it had; where the answer was right and certain, nothing is left to learn.

A **temperature** divides the scores. Above one the chances come closer to each other, below one the
largest takes all. **Label smoothing** asks for a little of every class: a model that is to be
certain of the right class never stops making its scores larger, and a smoothed one does.

What goes wrong is the size of numbers. A chance can be so small that it is stored as zero, whose
logarithm is infinite, and its gradient is no number. So libraries compute *log p* from the scores
at once, and never by way of *p*: in torch `F.cross_entropy` takes **scores**. To give it the
result of a softmax is a frequent mistake: it runs, and learns slowly, as a softmax of a softmax is
almost even.

Where it is used: [LeNet](lenet) and [vision transformers](vit) have a class for each kind of
picture, [GPT-2](gpt-2) one for each token, [CLIP](clip) one for each sentence of a batch.

Sources: PyTorch's documentation of *cross_entropy*; Szegedy et al. 2016, *Rethinking the Inception
Architecture for Computer Vision*; Hinton et al. 2015, *Distilling the Knowledge in a Neural
Network*.
"""

render_page(
    entry=catalogue["cross-entropy"],
    lead=LEAD,
    why=WHY,
    panels=(LOSS, OVERFLOW, VALUES, SOURCE, AUTOGRAD_GRAPH, COST_TABLE, SHAPES),
)
