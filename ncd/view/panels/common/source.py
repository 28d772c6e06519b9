"""The Source panel: the term as a PyTorch file, whose lines are highlighted with their ops."""

from __future__ import annotations

from functools import partial

import ncd
from ncd.code import lines
from ncd.export import source_listing
from ncd.view.base import html_panel
from ncd.view.base.cache import remember
from ncd.view.runtime import downloads
from ncd.view.session.scene import Scene

TITLE = "Source"
RUNS = False


def show(scene: Scene) -> None:
    """Shows the file, and a download button."""
    file = f"{scene.entry.identifier}.py"
    make, kind = partial(ncd.source, scene.term), "text/x-python"
    downloads.button(f"Download {file}", make, file, kind, key="download source")
    html = remember(
        "listing",
        scene.term,
        scene.dark,
        make=lambda: source_listing.html(lines(scene.term), scene.circuit, scene.dark),
    )
    html_panel.show(html, "source")
