"""The term as PyTorch, as lines, as the paper's equation, in two styles of wires."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

import ncd
from ncd.app.figure import code_listing
from ncd.app.figure.diagram import terms_in_a_row
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Cell, Circuit, Fence
from ncd.language.axes import Type
from ncd.language.terms import Id
from ncd.site import markup, source_listing
from ncd.site.markup import mathml
from ncd.site.op_cards import block_op_ids, title
from ncd.systems.tensors.array_indexing import arrays
from ncd.write.torch_source.source_file import lines

# --- The Equation panel: a paper's equation in diagram colours, each part with its meaning

PART = re.compile(r"<([^:<>]+): ([^<>]*)>")
PLACE = re.compile(r"<mtext>@(\d+)</mtext>")
STYLE = """
<style>
.paper > math { overflow-x: auto; font-size: clamp(1rem, 4.4vw, 1.5em); padding: 0.3rem 0 0.5rem; }
.paper table math { font-size: 1.1em; }
.paper [data-select] { border-radius: 3px; padding: 2px 3px; }
.paper mrow.lit { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.paper td { white-space: normal; }
.paper td:last-child { min-width: 9rem; }
</style>
"""


class Part(NamedTuple):
    """A part of an equation: its LaTeX, and its op or block."""

    latex: str
    target: Cell | Fence


def paper_equation(latex: tuple[str, ...], source: str) -> Panel:
    r"""Returns the Equation panel of a page.

    Args:
        latex: Lines of LaTeX, in which ``<scores: QK^T>`` is the part of an op, by its name or
            label, or of a block, by its title.
        source: Where the equation stands.
    """

    def show(scene: Scene) -> None:
        html_panel.render(equation_html(scene, latex, source), "equation")

    return Panel("Equation", show, needs_run=False)


def equation_html(scene: Scene, latex: tuple[str, ...], source: str) -> str:
    """Returns an equation, and its parts on the axes of the diagram, as HTML."""
    parts: list[Part] = []
    lines = "".join(_line(line, scene, parts) for line in latex)
    order = {cell.id: n for n, cell in enumerate(scene.circuit.cells)}
    parts.sort(key=lambda part: min(order[id] for id in _ops(part.target, scene.circuit)))
    rows = (_row(part, scene) for part in parts)
    head = ("Part", "On the axes of the diagram", "In words")
    told = f'<p class="muted">{markup.text(source)}</p>'
    return f'{STYLE}<div class="paper">{lines}{markup.table(head, rows)}{told}</div>'


def _line(latex: str, scene: Scene, parts: list[Part]) -> str:
    """Returns a line as MathML with coloured parts, and appends these to ``parts``."""

    def keep(found: re.Match[str]) -> str:
        parts.append(Part(found[2], _part(scene.circuit, found[1])))
        return rf"\text{{@{len(parts) - 1}}}"

    whole = mathml(PART.sub(keep, latex), block=True)
    return PLACE.sub(lambda found: _part_mathml(parts[int(found[1])], scene), whole)


def _part(circuit: Circuit, name: str) -> Cell | Fence:
    """Returns the op or block of a name; raises LookupError."""
    for cell in circuit.cells:
        if name in (cell.name, cell.op.display_name, cell.op.display_name.partition(" ")[2]):
            return cell
    for fence in circuit.fences:
        if fence.title == name:
            return fence
    raise LookupError(f"the equation has a part {name!r}, but the term has none")


def _part_mathml(part: Part, scene: Scene) -> str:
    """Returns a part as MathML on the background colour of its op in the diagram.

    It reacts to the pointer; its row in the table also to the keyboard, as a formula cannot
    contain buttons.
    """
    inner = mathml(part.latex).partition(">")[2].rpartition("</math>")[0]
    colour = markup.colour(_role(part.target, scene.circuit), scene.dark)
    return (
        f'<mrow data-{_kind(part)}="{part.target.id}" data-select="{part.target.id}" '
        f'style="background:{colour}">{inner}</mrow>'
    )


def _kind(part: Part) -> str:
    return "node" if isinstance(part.target, Cell) else "fence"


def _ops(part: Cell | Fence, circuit: Circuit) -> frozenset[str]:
    return frozenset({part.id}) if isinstance(part, Cell) else block_op_ids(circuit, part)


def _role(part: Cell | Fence, circuit: Circuit) -> str:
    """Returns the role of the colour behind a part in the diagram."""
    if isinstance(part, Fence):
        return part.role
    around = next((fence for fence in circuit.fences if fence.id in part.fences[-1:]), None)
    if around is None or len(_ops(around, circuit)) > 1:
        return part.op.role
    return around.role


def _row(part: Part, scene: Scene) -> str:
    cell = part.target
    if isinstance(cell, Cell):
        formula, words = mathml(cell.op.latex(cell.site)), cell.op.description(cell.site)
    else:
        formula, words = "", title(cell)
    return (
        f'<tr data-{_kind(part)}="{cell.id}" data-select="{cell.id}" tabindex="0">'
        f"<td><math>{_part_mathml(part, scene)}</math></td><td>{formula}</td>"
        f"<td>{markup.text(words)}</td></tr>"
    )


# --- The Source panel: the term as a PyTorch file, whose lines are highlighted with their ops


def show_source(scene: Scene) -> None:
    """Shows the file, and a download button."""
    file = f"{scene.entry.identifier}.py"
    make, kind = partial(ncd.source, scene.term), "text/x-python"
    html_panel.button(f"Download {file}", make, file, kind, key="download source")
    html = cached_value(
        "listing",
        scene.term,
        scene.dark,
        make=lambda: source_listing.listing_html(lines(scene.term), scene.circuit, scene.dark),
    )
    html_panel.render(html, "source")


SOURCE = Panel("Source", show_source, needs_run=False)


# --- The Code panel: the lines of a system, or of each side of an equation, in diagram colours


def show_code_lines(scene: Scene) -> None:
    """Shows the lines of ``forward``, or those of all sides of an equation side by side."""
    html_panel.render(code_listing.html(scene), "code")


CODE_LINES = Panel("Code", show_code_lines, needs_run=False)


# --- The Two styles panel: a wire for each array, and a wire for each axis


def show_wire_styles(scene: Scene) -> None:
    """Shows the diagram in both styles, and a table that compares them."""
    whole = arrays(**scene.settings)
    notes = {"": "This lets us reexpress diagrams by drawing the details of axes."}
    tables = (Id(Type((whole.dom[1],))), Id(Type((scene.term.dom[1],))))
    html_panel.render(
        terms_in_a_row((whole, scene.term), "=", scene, notes) + terms_in_a_row(tables, "=", scene),
        "styles",
    )


WIRE_STYLES = Panel("Two styles", show_wire_styles, needs_run=False)
