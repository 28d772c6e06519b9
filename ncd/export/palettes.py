"""Colours of heat maps, in the app and on pages without a server: hex stops from low to high.

Viridis, and red to blue by ColorBrewer: both suit colour-blind readers. In the dark, zero is about
as dark as the page, and what is far from it is light.
"""

POSITIVE = "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725"
SIGNED = "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f"
SIGNED_DARK = "d1e5f0 92c5de 4393c3 2166ac 1c4570 1b2128 5f2328 a81c2c d6604d f4a582 fddbc7"
GREY = "000000 ffffff"
