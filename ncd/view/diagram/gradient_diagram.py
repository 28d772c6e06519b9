"""The backward pass of one op as a diagram: its gradient is a term of its own."""

from __future__ import annotations

from ncd.derivatives import gradient
from ncd.export import markup
from ncd.lang.circuits.circuit import Cell
from ncd.lang.errors import NCDError
from ncd.lang.terms.terms import Id, Then
from ncd.view.diagram.component import other_term
from ncd.view.session.scene import Scene


def told(scene: Scene, cell: Cell) -> str:
    """Returns the gradient of an op by its inputs as a diagram, or why there is none.

    It is of the op's own axes: those that it is broadcast over would run past it.
    """
    arrays = cell.site.dom if all(cell.site.dom) else cell.site.ins
    if not any(array.below is None for array in arrays):
        return ""
    try:
        drawn = other_term(gradient(Then(Id(arrays), cell.op)), scene)
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
