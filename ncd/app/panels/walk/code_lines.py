"""The Code panel: the lines of a system, or of each side of an equation, in diagram colours."""

from __future__ import annotations

from ncd.app.figure import code_listing
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene


def show_code_lines(scene: Scene) -> None:
    """Shows the lines of ``forward``, or those of all sides of an equation side by side."""
    html_panel.render(code_listing.html(scene), "code")


CODE_LINES = Panel("Code", show_code_lines, needs_run=False)
