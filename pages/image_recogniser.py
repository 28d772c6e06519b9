"""A recogniser of handwritten digits: figure 19 of the notebook."""

from ncd import catalogue
from ncd.view.frame import page
from ncd.view.panels import autograd, cost, shapes, source, values

LEAD = """
An image becomes a row of numbers, and three learned maps turn that into how likely each digit is.
"""

WHY = """
A learned map takes every pixel into account at once, and the relu between two maps is what lets
three of them do more than one could: without it, they would multiply out into a single map. The
softmax at the end turns ten numbers of any size into ten probabilities.

Sources: the notebook's figure 19 (*Neural circuit diagrams*), section 3.1.
"""

page(
    entry=catalogue["image-recogniser"],
    lead=LEAD,
    why=WHY,
    panels=(values, source, cost, autograd, shapes),
)
