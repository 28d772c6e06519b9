"""A recogniser of handwritten digits: figure 19 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.classification import CLASSIFICATION
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import CODE_LINES, SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
An image becomes a row of numbers, and three learned maps turn that into how likely each digit is.
"""

WHY = """
The thick bar lays the rows of the image end to end: from here on nothing says which pixels were
neighbours, and a learned map takes all of them into account at once. The relu between two maps
keeps what is positive. Without it three maps would multiply out into a single one, however many
features stand between them; with it, they can divide the images along bent borders. The softmax
turns ten numbers of any size into ten probabilities that sum to 1.

Nobody tells the network what a seven looks like. **Training** compares its probabilities with the
digit that was written, works out for each weight which direction would have made the right digit
likelier (the Autograd panel shows that graph), and moves all weights a little in that direction, a
few hundred times. What counts is how it does on digits that it has not learned from.

Sources: the notebook's figure 19 (*Neural circuit diagrams*), section 3.1, after PyTorch's
introductory tutorial. There `nn.Softmax(x)` builds a module that never runs, as its printed output
shows; `nn.Softmax(-1)(x)` is meant. The digits are those of Alpaydin and Kaynak (1998), which
scikit-learn ships, made larger.
"""

render_page(
    entry=catalogue["image-recogniser"],
    lead=LEAD,
    why=WHY,
    panels=(
        TRAINING,
        CLASSIFICATION,
        VALUES,
        CODE_LINES,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
