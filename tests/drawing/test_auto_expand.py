"""What is expanded at a width."""

import pytest

import ncd
from ncd.app.scene.scene import PHONE
from ncd.app.state import selection
from ncd.drawing.elements import style

COLUMN = 358  # pixels beside the margins of a phone that is 390 wide


@pytest.mark.parametrize("name", ["decoder-block", "delta-rule", "identity-resnet", "gru"])
def test_on_a_phone_the_one_block_around_everything_is_open(name: str) -> None:
    """Its box would say nothing: the rows below each other may be higher than others' pictures."""
    entry = ncd.catalogue[name]
    look = entry.look({}, notes=False) | {"width": PHONE * selection.WIDTHS[0]}
    drawing = ncd.draw(entry.build(), **look)
    shown = {glyph.node for glyph in drawing.glyphs}
    assert not shown & {"f0", "s0"} and len(shown) > 5
    scale = min(1.0, COLUMN / drawing.box.width)
    sizes = [span.size for text in drawing.texts for span in text.label.spans]
    assert min(sizes) * scale >= style.READABLE - 0.05
    assert drawing.box.height * scale < 1000
