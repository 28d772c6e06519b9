"""The lines of a system, or of each side of an equation, in the colours of its diagram."""

from __future__ import annotations

import re
from itertools import chain

from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.elaborate import elaborate
from ncd.drawing.elements.style import role_colour
from ncd.drawing.equation import sides
from ncd.language.blocks import Equation
from ncd.language.terms import Term
from ncd.language.torch_code import Contract
from ncd.site import markup, source_listing
from ncd.write.torch_source.source_file import SourceLine, lines

AXIS = re.compile(r'<span class="axis" data-axis="([^"]*)"')
VALUE = re.compile(r"^( *(?:[\w.]+ = |<span class=\"keyword\">return</span> ))(.+)$")


def html(scene: Scene) -> str:
    """Returns the lines as HTML, those of the sides of an equation side by side."""
    return cached_value("code", scene.term, scene.dark, make=lambda: _listings_html(scene))


def _listings_html(scene: Scene) -> str:
    term, circuit = scene.term, scene.circuit
    if not isinstance(term, Equation):
        return _listing(term, circuit, scene.dark, told=False)
    own = zip(term.sides, sides(circuit), strict=True)
    columns = (
        f"<section><h2>Side {n}</h2>{_listing(side, part, scene.dark, told=True)}</section>"
        for n, (side, part) in enumerate(own, 1)
    )
    return f'<div class="listings">{"".join(columns)}</div>'


def _listing(term: Term, part: Circuit, dark: bool, *, told: bool) -> str:
    """Returns the lines of one side, with the ids of its ops; ``told`` adds explanations."""
    alone = elaborate(term)
    cells = dict(zip((cell.id for cell in alone.cells), part.cells, strict=True))
    rows = [
        _row(line, code, [cells[id] for id in line.nodes], part, dark, told)
        for line, code in source_listing.coloured_lines(lines(term), alone)
        if line.nodes
    ]
    return f'<div class="code scroll">{"".join(rows)}</div>'


def _row(
    line: SourceLine, code: str, cells: list[Cell], part: Circuit, dark: bool, told: bool
) -> str:
    """Returns a coloured line, with an explanation above it if ``told``."""
    ids = " ".join(cell.id for cell in cells)
    colour = _colour(cells[-1], part, dark)
    comment = f'<span class="comment"># {_comment(cells)}</span>\n' if told else ""
    cut = len(line.text) - len(line.text.lstrip())
    if told:  # explains the op on a single array, without a batch axis
        code = code.replace("... ", "")
    return (
        f'<div class="line" tabindex="0" data-node="{ids}" data-select="{cells[-1].id}" '
        f'style="border-left-color:{colour}">{comment}'
        f"{_coloured_code(code[cut:], cells[-1], colour)}</div>"
    )


def _comment(cells: list[Cell]) -> str:
    """Returns an explanation of some ops."""
    products = ((cell, product(cell)) for cell in cells)
    words = (steps(of) if of else (cell.op.display_name.lower(),) for cell, of in products)
    return markup.text(", ".join(dict.fromkeys(chain.from_iterable(words))).capitalize())


def _colour(cell: Cell, part: Circuit, dark: bool) -> str:
    """Returns the colour of an op's block, or its own."""
    roles = {fence.id: fence.role for fence in part.fences}
    return role_colour(next((roles[id] for id in cell.fences[::-1]), cell.op.role), dark)


def _coloured_code(code: str, cell: Cell, colour: str) -> str:
    """Returns code in which the axes that an op works on have the op's colour."""
    of = product(cell)
    if of is None:
        return VALUE.sub(rf'\1<span style="background:{colour}">\2</span>', code)
    worked = affected_axes(of)

    def mark(found: re.Match[str]) -> str:
        tag = found.group()
        return f'{tag} style="background:{colour}"' if found[1] in worked else tag

    return AXIS.sub(mark, code)


def product(cell: Cell) -> Contract | None:
    """Returns the product in an op: the axes of its inputs and of its output, if it is one."""
    said = cell.torch_code
    first = said[0] if isinstance(said, tuple) else said
    return first if isinstance(first, Contract) else None


def affected_axes(of: Contract) -> set[str]:
    """Returns the axes that a product sums, diagonalises or moves.

    >>> from ncd.ops import Einsum
    >>> def found(pattern):
    ...     return sorted(affected_axes(product(elaborate(Einsum(pattern)).cells[0])))
    >>> found("y:2 k:3, x:4 k -> y x"), found("x:2 k:3 h:2 -> k x h"), found("y:2 h:3, h -> y h")
    (['k'], ['k', 'x'], ['h'])
    """
    every, out = _names(of)
    found = {name for name in every if every.count(name) > 1 or name not in out}
    if found or len(of.source_dims) > 1:
        return found
    return {name for pair in zip(every, out, strict=True) for name in pair if pair[0] != pair[1]}


def steps(of: Contract) -> tuple[str, ...]:
    """Returns what a product does, in the words of linear algebra.

    >>> from ncd.ops import Einsum
    >>> def found(pattern):
    ...     return steps(product(elaborate(Einsum(pattern)).cells[0]))
    >>> found("y:2 k:3 h:2, x:4 k h -> y x h"), found("x:2 k:3 -> k x"), found("y:2 h:3, h -> y h")
    (('diagonalise', 'inner product'), ('transpose',), ('outer product', 'diagonalise'))
    """
    every, out = _names(of)
    shared = {name for name in every if every.count(name) > 1}
    summed = bool(set(every) - set(out))
    said = {
        "transpose": len(of.source_dims) == 1 and not summed,
        "outer product": len(of.source_dims) > 1 and not summed,
        "diagonalise": bool(shared & set(out)),
        "inner product": bool(shared - set(out)),
        "sum": summed and not shared - set(out),
    }
    return tuple(word for word, is_so in said.items() if is_so)


def _names(of: Contract) -> tuple[list[str], list[str]]:
    """Returns the names of the input axes, repeated if they occur twice, and of the output axes."""
    return [dim.name for group in of.source_dims for dim in group], [
        dim.name for dim in of.target_dims
    ]
