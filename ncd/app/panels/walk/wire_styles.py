"""The Two styles panel: a wire for each array, and a wire for each axis."""

from __future__ import annotations

from ncd.app.figure.diagram import terms_in_a_row
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.language.axes import Type
from ncd.language.terms import Id
from ncd.systems.tensors.array_indexing import arrays


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
