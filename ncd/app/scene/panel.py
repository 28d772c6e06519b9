"""A panel: a tab below the diagram, as a value that pages list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ncd.app.scene.scene import Scene
from ncd.app.state.controls import Control


@dataclass(frozen=True)
class Panel:
    """A tab below the diagram.

    Args:
        title: The text on the tab, which the link of the page keeps.
        show: Shows the panel of a scene.
        needs_run: Whether it shows numbers of a run of the system.
        controls: What a visitor chooses in it, kept in the link of the page.
    """

    title: str
    show: Callable[[Scene], None]
    needs_run: bool = True
    controls: tuple[Control, ...] = ()
