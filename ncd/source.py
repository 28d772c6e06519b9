"""A term as PyTorch source: a class that a person would be glad to have written.

Layers stand in ``__init__`` under the names that the compiled module has for them, so that a
``state_dict`` goes both ways; a repetition is an ``nn.ModuleList`` of a class of its own.
"""

from __future__ import annotations

from ncd.circuit import Circuit, elaborate
from ncd.source_class import File, Writer
from ncd.source_parts import Body
from ncd.source_text import IMPORTED, SourceLine, class_name, imports, unique
from ncd.terms import Term

__all__ = ["SourceLine", "lines", "source"]


def source(term: Term, name: str | None = None) -> str:
    """A file with the term as a class; it needs torch and einops only.

    The class is called ``name``, or else after the block that holds the whole term. Batch axes may
    stand in front of the arrays, as for the compiled module; only a layer that has its batch axis
    in the term already (a batch norm, a convolution of ``b c x``) takes no further one.

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
    return "".join(f"{line.text}\n" for line in lines(term, name))


def lines(term: Term, name: str | None = None) -> tuple[SourceLine, ...]:
    """The lines of :func:`source`, each with the ids of the ops (``n3``) whose code it is."""
    circuit = elaborate(term)
    cells = tuple(sorted(circuit.cells, key=lambda cell: int(cell.id[1:])))  # as they were written
    whole = Body(cells, circuit.inputs, circuit.outputs)
    file = File(circuit)
    writer = Writer(file, whole)
    title = class_name(name or _outermost(circuit, whole) or "Circuit")
    taken = {*IMPORTED, *(known.name for known in file.classes)}
    last = writer.written(unique(title, taken), defaults=True)
    found = [SourceLine(text) for text in imports(file.imports)]
    for part in (*(known.lines for known in file.classes), last):
        found += [SourceLine(""), SourceLine(""), *part]
    return tuple(found)


def _outermost(circuit: Circuit, body: Body) -> str:
    """The title of the first block that holds all the code there is."""
    cells = [cell for cell in body.cells if cell.op.code(cell.site).expression]
    titles = (f.title for f in circuit.fences if all(f.id in cell.fences for cell in cells))
    return next((title for title in titles if title), "")
