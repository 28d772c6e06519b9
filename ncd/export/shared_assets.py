"""Styles and scripts that the app and the exported file share."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
THEME_CSS = (FOLDER / "theme.css").read_text()
PANEL_CSS = (FOLDER / "panel.css").read_text()
DIAGRAM_CSS = (FOLDER / "diagram.css").read_text()
LIGHT_JS = (FOLDER / "highlight.js").read_text()
LEGEND_CSS = (FOLDER / "legend.css").read_text()
POLYNOMIALS_JS = (FOLDER / "polynomials.js").read_text()
GRADING_JS = (FOLDER / "grading.js").read_text()
