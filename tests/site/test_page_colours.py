"""Every page outside the app has the colours that the app has."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ncd.app.host import embed_endpoint
from ncd.drawing.elements import style
from ncd.site.document import css
from ncd.site.widget import Explorer

CONFIG = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())
KEYS = {
    "text": "textColor",
    "background": "backgroundColor",
    "primary": "primaryColor",
    "border": "borderColor",
    "secondary-background": "secondaryBackgroundColor",
}
SHEETS = {"exported": css(()), "embedded": embed_endpoint._CSS, "notebook": str(Explorer._css)}


@pytest.mark.parametrize("host", SHEETS)
def test_a_page_outside_the_app_has_its_colours(host: str) -> None:
    light, dark = CONFIG["theme"]["light"], CONFIG["theme"]["dark"]
    scope = r"\.ncd-explore" if host == "notebook" else ":root"
    (declared,) = re.findall(scope + r" \{([^}]*--st-font[^}]*)\}", SHEETS[host])
    for name, key in KEYS.items():
        assert f"--st-{name}-color: light-dark({light[key]}, {dark[key]});" in declared
    if host != "notebook":
        assert len(re.findall("--st-primary-color:", SHEETS[host])) == 1


def test_a_drawing_has_the_page_of_the_app() -> None:
    for name, dark in (("light", False), ("dark", True)):
        assert style.paint_colour("page", dark) == CONFIG["theme"][name]["backgroundColor"]
