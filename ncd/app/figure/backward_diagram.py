"""The backward pass of the system, or of one op, as a diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ncd.app.figure.diagram import inert_drawing
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice
from ncd.circuit.circuit import Cell, Circuit, Value, array_names
from ncd.circuit.elaborate import elaborate
from ncd.errors import LimitError, NCDError
from ncd.language.terms import Id, Term, Then
from ncd.rewrite.backward_blocks import Tap, alike, backward_diagram, block_titles
from ncd.rewrite.gradient import gradient
from ncd.run.checkpointing import SavedArray, saved
from ncd.site import markup

# --- The backward pass of the whole system below its forward pass; what was saved is in notes

MIRROR = Choice("mirror", ("", "1"), "")  # whether the diagram is shown
MOST, WIDEST = 60, 12  # boxes, notes and wirings in all; arrays side by side
MAX_NAME_LETTERS = 12  # the most letters of a name in a note
CAPTION = (
    "The backward pass, from the end to the start. A box takes the gradient of what its block "
    "gives, and gives that of what its block takes. Yellow notes load what was saved, at the first "
    "block that needs it."
)


def html(scene: Scene, again: tuple[str, ...]) -> str:
    """Returns both passes as diagrams, or a button that shows them.

    ``again`` are the parts that are recomputed; they load only what they take.
    """
    if not MIRROR.value:
        return f"<p>{MIRROR.button(1, 'Draw the backward pass')}</p>"
    try:
        key = scene.term, again, scene.formats
        term = cached_value("mirrored", *key, make=lambda: _term(scene, again))
    except NCDError as error:
        return f'<p class="muted">No diagram of the backward pass: {markup.text(str(error))}</p>'
    axes = (*scene.circuit.axes, *elaborate(term).axes)
    labels = "sizes" if any("λ" in axis.label for axis in axes) else scene.labels
    above = inert_drawing(scene.term, scene, labels, tuple(block_titles(scene.circuit)))
    once = any(len(loop.bodies) > 1 and alike(loop) for loop in scene.circuit.loops)
    more = " Of equal layers one is drawn." if once else ""
    return (
        f'<p>{MIRROR.button("", "Hide the backward pass")}</p><div class="backward">'
        f'<figure class="gradient"><figcaption>The forward pass.</figcaption>{above}</figure>'
        f'<figure class="gradient"><figcaption>{CAPTION}{more}</figcaption>'
        f"{inert_drawing(term, scene, labels)}</figure></div>"
    )


def _term(scene: Scene, again: tuple[str, ...]) -> Term:
    return readable(scene.circuit, saved(scene.term, again, scene.formats).arrays)


def readable(circuit: Circuit, arrays: Sequence[SavedArray]) -> Term:
    """Returns the backward pass as a term to be drawn; raises LimitError if it is too large."""
    term = backward_diagram(circuit.term, taps(circuit, arrays))
    drawn = elaborate(term)
    many, beside = len(drawn.cells), max(map(len, drawn.states))
    if many > MOST or beside > WIDEST:
        fact = f"{many} boxes and notes, with {beside} arrays side by side, are too many to be read"
        raise LimitError(fact)
    return term


def taps(circuit: Circuit, arrays: Sequence[SavedArray]) -> Mapping[str, Sequence[Tap]]:
    """Returns the saved arrays by the op that needs them first, with their names and bytes.

    What an op keeps for itself is left out unless it has the size of one of its arrays.
    """
    names, cells = array_names(circuit), {cell.id: cell for cell in circuit.cells}
    found: dict[str, list[Tap]] = {}
    for one in arrays:
        value = circuit.values.get(one.array) or _alike(cells.get(one.node), one)
        if value is not None:
            copied = value.array.shape != one.shape  # the same numbers in another order
            name = names.get(value.id if copied else one.array, "").replace("_", " ")
            name = name if len(name) <= MAX_NAME_LETTERS else name.split()[-1]
            label = f"{name} {markup.amount(one.bytes, 'B')}".strip()
            found.setdefault(one.node, []).append(Tap(label, value.array))
    return found


def _alike(cell: Cell | None, one: SavedArray) -> Value | None:
    """Returns an array of an op that looks most like what the op keeps for itself, if one does."""
    values = (*cell.outputs, *cell.inputs) if cell else ()
    alike = [value for value in values if value.array.numel == prod(one.shape)]
    return min(alike, key=lambda value: _unlike(value.array.shape, one.shape), default=None)


def _unlike(one: Sequence[int], other: Sequence[int]) -> int:
    return 0 if one == other else 1 if sorted(one) == sorted(other) else 2


# --- The backward pass of one op as a diagram: its gradient is a term of its own


def gradient_html(scene: Scene, cell: Cell) -> str:
    """Returns the gradient of an op by its inputs as a diagram, or why there is none.

    It is of the op's own axes: those that it is broadcast over would run past it.
    """
    arrays = cell.site.own_inputs if all(cell.site.own_inputs) else cell.site.inputs
    if not any(array.below is None for array in arrays):
        return ""
    try:
        drawn = inert_drawing(gradient(Then(Id(arrays), cell.op)), scene)
    except NCDError as error:
        return f'<p class="muted">{markup.text(str(error))}</p>'
    many = len(arrays) > 1
    inputs = (
        f"The first {len(arrays)} arrays are the inputs" if many else "The first array is the input"
    )
    return (
        f"<figure class='gradient'><figcaption>The same as a diagram. {inputs}, the last is G; "
        f"what comes out is the gradient of {'each input' if many else 'the input'}."
        f"</figcaption>{drawn}</figure>"
    )
