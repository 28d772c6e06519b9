"""What a patch of a picture reads, as the panel shows it."""

from __future__ import annotations

import numpy as np
import pytest

from ncd.app.panels.attention.picture_attention import (
    CHOSEN,
    READ,
    SIDE,
    WINDOWS,
    tiling,
    window_weights,
)
from ncd.site import markup
from tests.app.panels.views import inside, scene, shown, tags

# --- windows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "layer", "window", "shift", "side"),
    [("vit", 1, 4, 0, 4), ("swin", 0, 2, 0, 16), ("swin", 1, 2, 1, 16)],
)
def test_a_patch_reads_the_patches_of_its_window(
    name: str, layer: int, window: int, shift: int, side: int
) -> None:
    sizes = {"w": 2, "s": 1} if name == "swin" else {}
    here = scene(name, **sizes)
    softmaxes = [cell for cell in here.circuit.cells if cell.op.role == "softmax"]
    found = tiling(here, softmaxes, layer)
    assert (found.side, found.window, found.shift) == (side, window, shift)
    at = (1, 2)
    told = shown(WINDOWS, here, picture_layer=layer, asking_patch="1.2")
    read = window_weights(here, softmaxes[layer], found, at, 0)
    many = len(found.window_range(1)) * len(found.window_range(2))
    assert int(np.isfinite(read).sum()) == many
    assert f"Patch 1, 2 reads {many} of {side**2} patches" in told.text
    pairs = side**4 if window == side else side**2 * window**2
    assert f"{pairs:,} pairs of patches are compared" in told.text
    assert ("Windows of" in told.text, "moved by 1" in told.text) == (
        window < side and not shift,
        bool(shift),
    )
    boxes = tags(told.html, "rect")
    step = SIDE / side
    most = float(np.nanmax(read))
    drawn = {box["data-pick"]: box for box in boxes if box["fill"] == READ and "data-pick" in box}
    assert len(drawn) == many
    for row, column in np.argwhere(np.isfinite(read)):
        box, share = drawn[f"asking_patch={row}.{column}"], read[row, column] / most
        assert float(box["fill-opacity"]) == pytest.approx(0.12 + 0.73 * share, abs=0.006)
        places = [float(box[key]) for key in ("x", "y", "width", "height")]
        assert places == pytest.approx([column * step, row * step, step, step], abs=0.01)
    (chosen,) = (box for box in boxes if box["stroke"] == CHOSEN)
    assert (float(chosen["x"]), float(chosen["y"])) == pytest.approx((2 * step, step))
    panes = [box for box in boxes if box["fill"] == "#000"]
    assert sum(float(p["width"]) * float(p["height"]) for p in panes) == pytest.approx(SIDE**2)
    for pane in panes:  # a click on a window asks a patch within it
        row, column = map(int, pane["data-pick"].partition("=")[2].split("."))
        assert 0 <= column * step - float(pane["x"]) < float(pane["width"])
        assert 0 <= row * step - float(pane["y"]) < float(pane["height"])


def test_the_class_vector_asks_until_a_patch_is_chosen() -> None:
    here = scene("vit", n=2, x=3, h=2)
    softmax = [cell for cell in here.circuit.cells if cell.op.role == "softmax"][1]
    weights = here.trace.values[softmax.outputs[0].id].detach()
    told = shown(WINDOWS, here, picture_layer=1, picture_head=1)
    assert "The class vector reads 9 of 9 patches" in told.text
    assert "Ask the class vector" not in told.text
    assert told.sliders == {"picture_layer": (0, 1, 1), "picture_head": (0, 1, 1)}
    titles = [own.partition(": ")[2] for own in inside(told.html, "title")]
    assert titles == [markup.digits(float(x)) for x in weights[0, 1:, 1]]
    asked = shown(WINDOWS, here, picture_layer=1, picture_head=1, asking_patch="9.1")
    assert "Patch 2, 1 reads 9 of 9" in asked.text and "Ask the class vector" in asked.text
    titles = [own.partition(": ")[2] for own in inside(asked.html, "title")]
    assert titles == [markup.digits(float(x)) for x in weights[1 + 2 * 3 + 1, 1:, 1]]
    swin = shown(WINDOWS, scene("swin", w=2, s=1))
    assert "Patch 8, 8 reads" in swin.text  # the one in the middle
