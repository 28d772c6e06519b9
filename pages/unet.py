"""A U-Net: figure 27 of the notebook."""

from ncd import catalogue
from ncd.view.frame import page
from ncd.view.panels import autograd, cost, shapes, source, values

LEAD = """
An image is made smaller level by level, and then larger again; each level on the way up also gets
what the same level on the way down has seen.
"""

WHY = """
Small and deep, the image says what is in it; large and shallow, it says where. To give every pixel
a class, the network needs both, so what the way down has seen is kept and handed over.

Sources: the notebook's figure 27 (*Neural circuit diagrams*); Ronneberger et al. 2015, *U-Net*.
"""

page(
    entry=catalogue["unet"],
    lead=LEAD,
    why=WHY,
    panels=(values, source, cost, autograd, shapes),
)
