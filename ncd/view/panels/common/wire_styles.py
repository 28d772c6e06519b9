"""The Two styles panel: a wire for each array, and a wire for each axis."""

from __future__ import annotations

from ncd.lang.terms.terms import Id
from ncd.lang.types.axes import Type
from ncd.models.tensors.indexing import arrays
from ncd.view.base import html_panel
from ncd.view.diagram.side_by_side import beside
from ncd.view.session.scene import Scene

TITLE = "Two styles"
RUNS = False


def show(scene: Scene) -> None:
    """Shows the diagram in both styles, and a table that compares them."""
    whole = arrays(**scene.settings)
    notes = {"": "This lets us reexpress diagrams by drawing the details of axes."}
    tables = (Id(Type((whole.dom[1],))), Id(Type((scene.term.dom[1],))))
    html_panel.show(
        beside((whole, scene.term), "=", scene, notes) + beside(tables, "=", scene), "styles"
    )
