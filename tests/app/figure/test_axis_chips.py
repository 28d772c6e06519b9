"""The chips of axes, without a browser."""

from __future__ import annotations

import re

import pytest
from markupsafe import Markup

import ncd
from ncd.app.figure.diagram import axis_chips_html

CHIP = re.compile(r'<button class="chip"[^>]*aria-label="([^"]*)">(.*?)</button>')


@pytest.mark.parametrize("name", ncd.catalogue)
def test_a_chip_is_called_by_what_stands_on_it(name: str) -> None:
    chips = CHIP.findall(axis_chips_html(ncd.elaborate(ncd.catalogue[name].build())))
    assert chips
    for called, shown in chips:
        assert Markup(called).unescape().startswith(f"{Markup(shown).striptags()}: axis "), called
