"""A term as PyTorch source: a class that a person would be glad to have written.

Layers stand in ``__init__`` under the names that the compiled module has for them, so that a
``state_dict`` goes both ways. A named block is a class of its own; a repetition is an
``nn.ModuleList``, or one module that is called many times; a scan is a loop over positions.
"""

from __future__ import annotations

from ncd.code.source_file import File, SourceLine
from ncd.lang.circuits.elaborate import elaborate, require_sizes
from ncd.lang.terms.arguments import check_term, check_text
from ncd.lang.terms.terms import Term

__all__ = ["SourceLine", "lines", "source"]


def source(term: Term, name: str | None = None, einops: bool = True) -> str:
    """Writes a term as a Python file with a class that needs only torch and einops.

    Batch axes may stand in front of the arrays, as for the compiled module; only a layer whose
    batch axis is in the term (a batch norm, a convolution of ``b c x``) takes no further one.

    Args:
        term: The system; all its axes need sizes.
        name: The name of the class; by default that of the block around the whole term.
        einops: Whether the file may use einops; else it needs torch alone.

    Returns:
        The text of the file.

    Raises:
        SizeError: If an axis has no size.

    Source: after the code of the notebook's figures.

    >>> from ncd.ops import Linear
    >>> print(source(Linear("m:8 -> n:4", "L"), "Map"))
    from torch import Tensor, nn
    <BLANKLINE>
    <BLANKLINE>
    class Map(nn.Module):
        \"\"\"m -> n\"\"\"
    <BLANKLINE>
        def __init__(self, m: int = 8, n: int = 4):
            super().__init__()
            self.L = nn.Linear(m, n, bias=False)
    <BLANKLINE>
        def forward(self, x: Tensor) -> Tensor:
            return self.L(x)
    <BLANKLINE>
    """
    return "".join(f"{line.text}\n" for line in lines(term, name, einops))


def lines(term: Term, name: str | None = None, einops: bool = True) -> tuple[SourceLine, ...]:
    """The lines of :func:`source`, each with the ids of the ops (``n3``) whose code it is."""
    check_term(term, "source")
    if name is not None:
        check_text(name, "name", "source")
    circuit = elaborate(term)
    require_sizes(circuit)
    return tuple(File(circuit, einops).write(name))
