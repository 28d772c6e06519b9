"""A panel: a tab beside or below the diagram, as a value that pages list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ncd.app.scene.scene import Scene
from ncd.app.state.controls import Control
from ncd.circuit.circuit import Circuit

CARD_PANEL = "Values"  # shows any array, op or block
Settings = Mapping[str, str]  # values of controls by their names


def about_nothing(circuit: Circuit, id: str) -> Settings | None:
    """Returns None: no part of a circuit opens the panel."""
    return None


def about_output(circuit: Circuit, id: str) -> Settings | None:
    """Returns no settings, for the output of a circuit and the op that makes it; else None.

    >>> import ncd
    >>> circuit = ncd.elaborate(ncd.catalogue["gpt-2"].build())
    >>> [about_output(circuit, id) for id in (circuit.outputs[0].id, circuit.inputs[0].id)]
    [{}, None]
    """
    made = circuit.outputs[:1]
    makers = (circuit.producers.get(value.id) for value in made)
    ids = {value.id for value in made} | {cell.id for cell in makers if cell is not None}
    return {} if id in ids else None


@dataclass(frozen=True)
class Panel:
    """A tab beside or below the diagram.

    Args:
        title: The text on the tab, which the link of the page keeps.
        show: Shows the panel of a scene.
        needs_run: Whether it shows numbers of a run of the system.
        controls: What a visitor chooses in it, kept in the link of the page.
        about: Returns with which settings of its controls it shows a part of the diagram, by the
            id of an array, op or block; None if another panel says more about that.
        follows_moves: Whether it follows while a size moves, as it sends HTML and maps alone; a
            panel with widgets of Streamlit waits for the run of the page.
    """

    title: str
    show: Callable[[Scene], None]
    needs_run: bool = True
    controls: tuple[Control, ...] = ()
    about: Callable[[Circuit, str], Settings | None] = about_nothing
    follows_moves: bool = False


def panel_of_part(panels: Sequence[Panel], circuit: Circuit, id: str) -> tuple[str, Settings]:
    """Returns the title of the panel that a press on a part of the diagram opens, and its settings.

    It is the first panel of the page that is about the part, else the one with the cards of all
    parts; no title if the page has neither. So a press on a softmax opens its maps, and one on a
    linear map its card, with its weights and its lines of source.
    """
    for panel in panels:
        settings = panel.about(circuit, id)
        if settings is not None:
            return panel.title, settings
    return next((panel.title for panel in panels if panel.title == CARD_PANEL), ""), {}
