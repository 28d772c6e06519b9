"""CLIP: pictures and sentences as points of one space."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.images.similarity_table import SIMILARITY_TABLE
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
One network reads pictures, another reads sentences, and both are taught to put what belongs
together at the same place: a table says how near each picture is to each sentence.
"""

WHY = """
A classifier knows the classes that it was trained with. Here a class is a sentence. A batch of
pictures and their captions gives a table of similarities, and training makes the diagonal large and
all else small: along each row the right sentence has to win, along each column the right picture.
All other captions of the batch are wrong answers for free, so large batches teach more.

Both points are put at length 1, so that their product is a cosine, and a learned number says how
sharply differences count. A new kind of picture needs no training: write a sentence for each class,
and take the one that is nearest.

The weights here have learned from handwritten digits and six ways to name them, such as "the digit
seven". They know no list of ten classes: with ten sentences, draw a digit, and mostly the nearest
says which it is.

The pictures are read by a [vision transformer](vit) at its class vector, the sentences by a
transformer whose words see only those before, at their last word, which has seen all.

Source: Radford et al. 2021, *Learning Transferable Visual Models From Natural Language
Supervision*, sections 2.3 to 2.5 and figure 3.
"""

render_page(
    entry=catalogue["clip"],
    lead=LEAD,
    why=WHY,
    panels=(
        SIMILARITY_TABLE,
        TRAINING,
        ATTENTION_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(("t",), "y"),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
