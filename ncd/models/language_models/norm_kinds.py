"""The norms in which language models differ."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.lang.terms.terms import Term
from ncd.ops import LayerNorm, RMSNorm


@dataclass(frozen=True)
class Norm:
    """A kind of norm.

    Args:
        kind: ``rms``, ``layer``, ``unbiased`` for a layer norm without a bias, ``plain`` for one
            without learned numbers.
        eps: The number that is added before the root.

    >>> Norm("unbiased").term("m", "norm")
    LayerNorm('m', 'norm', 1e-06, False)
    """

    kind: str = "rms"
    eps: float = 1e-6

    def term(self, axes: str, name: str) -> Term:
        """Returns the norm over some axes."""
        if self.kind == "rms":
            return RMSNorm(axes, name, self.eps)
        biased, learned = self.kind == "layer", self.kind != "plain"
        return LayerNorm(axes, name, self.eps, biased or not learned, learned)


RMS = Norm()
