"""A short convolution between two gates, in the place of attention."""

from __future__ import annotations

from ncd.language.blocks import Block
from ncd.language.terms import Beside, Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Linear, Map
from ncd.systems.recurrent.selective_state import short_convolution


def gated_convolution(size: int, kernel: int, bias: bool) -> Term:
    """Returns a convolution whose inputs and results are multiplied by gates, ``t m -> t m``.

    Args:
        size: The features inside it, of axis ``z``.
        kernel: The positions that the convolution sees.
        bias: Whether its maps and the convolution have a bias.

    Source: Liquid AI 2025, LFM2.
    """
    product = Map("t z, t z -> t z", "$1 * $2", "gate")
    body = Then(
        Id("t m, t m, t m"),
        Beside(*(Linear("m -> z", f"in_{name}", bias) for name in ("B", "x", "C"))),
        product @ Id("t z"),
        short_convolution(size, kernel, "z", "conv", bias, activated=False) @ Id("t z"),
        product,
        Linear("z -> m", "out_proj", bias),
    )
    return Wire("t m -> t m, t m, t m") >> Block(body, "Gated Convolution", "module", "mixer")
