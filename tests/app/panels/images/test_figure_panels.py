"""The pages of figures 20, 21 and 26: feature maps, coloured equations, callouts, blocks."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from streamlit.testing.v1 import AppTest

import ncd
from ncd.drawing.elements.style import role_colour
from tests.app.page.test_pages import attention, fine, page

RESNET = "identity-resnet"
DOT = "scaled-dot-product-attention"
PICTURE = re.compile(r'<figure data-array="(v\d+)".*?src="data:image/png;base64,([^"]*)"', re.S)


def sent(app: AppTest, key: str) -> dict[str, Any]:
    """What a view was sent."""
    fine(app)
    (found,) = (e.proto for e in app.get("bidi_component") if e.proto.id.endswith(f"-{key}"))
    data: dict[str, Any] = json.loads(found.json)
    return data


def pictures(**query: str) -> dict[str, NDArray[np.float64]]:
    """The pictures of the panel by their arrays: how red and how little blue each pixel is."""
    app = page(RESNET, panel="Feature maps", input="random arrays", **query)
    html = sent(app, "features")["html"]
    images = {id: Image.open(BytesIO(b64decode(text))) for id, text in PICTURE.findall(html)}
    colours = {id: np.asarray(image.convert("RGB"), float) for id, image in images.items()}
    return {id: pixels[..., 0] - pixels[..., 2] for id, pixels in colours.items()}


@pytest.mark.parametrize("image", [0, 2])
def test_a_feature_map_is_the_array_on_its_wire(image: int) -> None:
    term = ncd.catalogue[RESNET].build()
    values = ncd.trace(ncd.compile(term), *ncd.example_inputs(term)).values
    conv = next(c for c in ncd.elaborate(term).cells if c.name == "conv").outputs[0].id
    shown = pictures(slices=f"b.{image}")[conv]
    for channel, x in enumerate((0, 17, 34)):  # three maps in a row, a line between them
        own = values[conv][image, channel].detach().numpy()
        tile = shown[: own.shape[0], x : x + own.shape[1]]
        assert np.corrcoef(own.ravel(), tile.ravel())[0, 1] > 0.9


def test_each_picture_of_the_batch_is_read_beside_the_others() -> None:
    html = [
        sent(page(RESNET, panel="What it says", **query), "guess")["html"]
        for query in ({}, {"b": "2"}, {"sample": "digit 1"})
    ]
    classes = [re.findall(r"Class (\d), with ([\d.]+) %", each) for each in html]
    assert [[int(name) for name, _ in own] for own in classes] == [[7, 8, 9], [7, 8], [1, 2, 3]]
    assert classes[0][:2] != classes[1]
    assert [each.count("<img") for each in html] == [3, 2, 3]


def test_a_block_that_is_unfolded_shows_its_arrays_too() -> None:
    shut = pictures()
    circuit = ncd.elaborate(ncd.catalogue[RESNET].build())
    first, *others = (f for f in circuit.fences if f.title.startswith("Block"))
    opened = pictures(folded=",".join(fence.id for fence in others))
    inside = {v.id for c in circuit.cells if first.id in c.fences for v in c.outputs}
    assert len(shut) >= 6 and set(shut) < set(opened)
    assert inside & set(opened) - set(shut)


def test_one_block_is_shown_as_a_box_and_open_at_the_sizes_of_the_page() -> None:
    def shown(**query: str) -> str:
        html: str = sent(page(RESNET, **query), "one block")["html"]
        return html.replace("$", "")

    html = shown()
    assert "<title>Block ( 2 , N ), folded: (b n_2 x) to (b n_3 x_2)</title>" in html
    assert html.count("<title>Residual Component</title>") == 2
    assert "ranging λ from 1 to N - 1 = 2;" in html
    html = shown(block="3", N="1", n4="40")
    assert "<title>Block ( 2 , N ), folded: (b n_3 x_2) to (b n_4 x_3)</title>" in html
    assert html.count("<title>Residual Component</title>") == 1
    assert "n_b4 = n_4 / 4 = 10 channels" in html and "ranging" not in html


def without_images() -> None:
    from ncd import catalogue
    from ncd.app.page.page import render_page as page
    from ncd.app.panels.images.feature_maps import FEATURE_MAPS

    page(catalogue["scaled-dot-product-attention"], "One sentence.", "Why.", (FEATURE_MAPS,))


def test_a_system_without_images_says_so() -> None:
    app = AppTest.from_function(without_images, default_timeout=60).run()
    assert "No array here has the two sides of an image" in sent(app, "features")["html"]


def test_an_array_under_another_name_is_not_shown_again() -> None:
    html = sent(page("unet", panel="Feature maps"), "features")["html"]
    assert "Repeated 4 times" in html and "Rename" not in html


def test_the_papers_equation_has_the_colours_of_the_diagram() -> None:
    html = sent(page(DOT), "equation")["html"]
    line = html[: html.index("<table")]
    circuit = ncd.elaborate(ncd.catalogue[DOT].build())
    roles = {fence.id: fence.role for fence in circuit.fences}
    parts = re.findall(r'<mrow data-node="(n\d+)".*?background:(#\w+)', line)
    wanted = {
        cell.id: role_colour(roles[cell.fences[-1]], False) for cell in circuit.cells if cell.fences
    }
    assert dict(parts) == wanted and len(parts) == 4


@pytest.mark.parametrize("causal", ["false", "true"])
def test_a_part_of_the_equation_says_what_the_term_does(causal: str) -> None:
    html = sent(page(DOT, causal=causal), "equation")["html"]
    assert "einsum, contracts k: y k, x k to y x" in html
    assert "softmax along x" in html


def test_the_equation_of_all_heads_lights_the_attention_as_a_block() -> None:
    html = sent(attention(panel="Equation"), "equation")["html"]
    circuit = ncd.elaborate(ncd.catalogue["multi-head-attention"].build())
    block = next(f for f in circuit.fences if f.title == "Scaled Dot-Product Attention")
    assert f'data-fence="{block.id}" data-select="{block.id}"' in html
    learned = {c.id for c in circuit.cells if c.name}
    assert set(re.findall(r'data-node="(n\d+)"', html)) == learned


@pytest.mark.parametrize(("callouts", "count"), [("on", 5), ("off", 0)])
def test_the_callouts_of_the_figure_can_be_hidden(callouts: str, count: int) -> None:
    told = sent(attention(callouts=callouts), "told-drawn")
    assert told["svg"].count('class="note') == count
    assert told["callouts"] is (callouts == "on")


@pytest.mark.parametrize(
    ("name", "query", "level"),
    [
        (RESNET, {}, "block"),
        (RESNET, {"level": "op"}, "op"),
        ("multi-head-attention", {}, "op"),
        ("multi-head-attention", {"level": "block"}, "block"),
    ],
)
def test_a_large_graph_is_shown_by_blocks(name: str, query: dict[str, str], level: str) -> None:
    assert sent(page(name, panel="Autograd", **query), "graph")["level"] == f"level={level}"


def test_the_figure_begins_with_its_blocks_folded() -> None:
    told = sent(page(RESNET), "told-drawn")
    circuit = ncd.elaborate(ncd.catalogue[RESNET].build())
    blocks = {fence.id for fence in circuit.fences if fence.title.startswith("Block")}
    assert blocks == {id for id in told["folds"] if f'data-fence="{id}" data-node=' in told["svg"]}
