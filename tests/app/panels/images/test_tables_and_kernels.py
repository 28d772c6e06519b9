"""Similarities, time steps, kernels and blocks: what is said of them, against the run."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.attention.picture_attention import WINDOWS
from ncd.app.panels.images import picture_parts
from ncd.app.panels.images.diffusion_steps import STEP_MODULATION, over_time
from ncd.app.panels.images.network_blocks import CONVOLUTION_BLOCKS, ONE_BLOCK, TALL, steps
from ncd.app.panels.images.similarity_table import SIMILARITY_TABLE
from ncd.systems.images.diffusion_models import MODULATION, PARTS
from ncd.systems.inputs import picture_inputs as pictures
from ncd.systems.inputs.run_inputs import InputSpec
from tests.app.panels.views import images, inside, scene, shown, tags, text


def grey(picture: torch.Tensor) -> np.ndarray:
    """Numbers from 0 to 1 as the greys of an image."""
    return np.round(255 * picture.detach().clamp(0, 1).numpy())


# --- one picture and one sentence -----------------------------------------------------------------


@pytest.mark.parametrize(("i", "j"), [(3, 3), (2, 4)])
@pytest.mark.parametrize("way", ["cosine", "rows", "columns"])
def test_the_table_has_each_cosine_or_its_share(i: int, j: int, way: str) -> None:
    here = scene("clip", i=i, j=j)
    told = shown(SIMILARITY_TABLE, here, read_along=way, warmth=3)
    warm = here.module.get_parameter("logit_scale").detach().exp()
    cosines = here.trace.outputs[0].detach() / warm
    assert cosines.shape == (i, j)
    wanted = cosines if way == "cosine" else (10 * cosines).softmax(1 if way == "rows" else 0)
    rows = told.rows[1:]
    for row, numbers in zip(rows, wanted.tolist(), strict=True):
        form = "{:.2f}" if way == "cosine" else "{:.0f} %"
        scale = 1 if way == "cosine" else 100
        assert row[1:] == [form.format(scale * x).replace("-", "−") for x in numbers]
    framed = [
        [("outline" in own) for own in re.findall(r"<td[^>]*>", row)]
        for row in inside(told.html, "tr")[1:]
    ]
    assert framed == [[r == c for c in range(j)] for r in range(i)]
    n = min(i, j)
    losses = [
        torch.nn.functional.cross_entropy(10 * square, torch.arange(n)).item()
        for square in (cosines[:n, :n], cosines[:n, :n].T)
    ]
    assert f"fits the picture: loss {losses[0]:.2f}." in told.text
    assert f"fits the sentence: loss {losses[1]:.2f}. The mean, {sum(losses) / 2:.2f}," in told.text
    assert f"by chance it is ln {n} = {math.log(n):.2f}" in told.text
    for picture, own in zip(here.inputs[0], images(told.html), strict=True):
        assert np.corrcoef(picture.mean(0).flatten(), own.mean(-1).flatten())[0, 1] > 0.9
    assert told.sliders == {"warmth": (0, 3, 7)} and "times 10" in told.html
    words = [" ".join(map(str, own[:4])) + " …" for own in here.inputs[1].tolist()]
    assert [text(own) for own in inside(told.html, "th")[:j]] == words


def test_a_sentence_of_the_table_is_in_words_where_it_is_a_caption() -> None:
    digits = InputSpec(pictures=(pictures.sample("digit 3"),))
    told = shown(SIMILARITY_TABLE, scene("clip", feed=digits, i=2, j=3))
    assert told.rows[0][1:] == ["the digit three", "the digit four", "the digit five"]
    assert "numbers of the words" not in told.text
    own = shown(
        SIMILARITY_TABLE,
        scene("clip", feed=InputSpec(pictures=(pictures.drawing("4020c020.80208ff0"),)), i=2, j=2),
    )
    framed = [
        [("outline" in x) for x in re.findall(r"<td[^>]*>", y)] for y in inside(own.html, "tr")
    ]
    assert framed[1:] == [[False, False], [False, True]]  # no sentence is known to be a drawing's
    random = shown(SIMILARITY_TABLE, scene("clip", i=2, j=3))
    assert "The columns are the numbers of the words." in random.text


# --- steps, kernels, blocks -----------------------------------------------------------------------


def test_each_step_tells_a_layer_six_rows() -> None:
    here = scene("dit", n=2, T=10)
    every = over_time(here)
    assert [numbers.shape[:2] for numbers in every] == [(10, 6)] * 2
    told = shown(STEP_MODULATION, here, modulated_layer=1, modulated_part=4, modulated_step=7)
    (picture, _, kind) = here.inputs
    cells = [cell for cell in here.circuit.cells if cell.name == MODULATION]
    run = ncd.trace(here.module, picture, torch.tensor(7), kind)
    assert torch.allclose(run.values[cells[1].outputs[0].id], every[1][7], atol=1e-5)
    assert told.map is not None
    assert np.allclose(told.map.pooled_maps.maps, every[1][:, 4].numpy())
    assert told.map.label == f"The {PARTS[4]} of feed-forward at each step"
    assert [mark.row for mark in told.map.marks] == [7] and told.map.ends.low < 0
    assert told.sliders == {"modulated_layer": (0, 1, 1), "modulated_step": (0, 7, 9)}
    assert "layer 2 of 2" in told.html and "step 7 of 10" in told.html
    for i, row in enumerate(told.rows[1:]):
        numbers = every[1][:, i]
        assert row[1:] == [
            f"{float(numbers[7].abs().mean()):.2f}",
            f"{float(numbers.std(0).mean()):.2f}",
        ]
        assert row[0].startswith(PARTS[i]) and row[0].endswith(
            "feed-forward" if i > 2 else "attention"
        )


def test_a_channel_has_its_own_kernel() -> None:
    here = scene("convnext", c=4, x=32, r=2, n=1, N=1)
    told = shown(CONVOLUTION_BLOCKS, here, channel=3)
    cell = next(cell for cell in here.circuit.cells if cell.name == "dwconv")
    before = here.trace.values[cell.inputs[0].id][3].detach()
    kernel = here.module.get_parameter(f"{cell.path}.weight")[3, 0].detach()
    after = here.trace.values[cell.outputs[0].id][3].detach()
    bias = here.module.get_parameter(f"{cell.path}.bias")[3].detach()
    own = torch.nn.functional.conv2d(before[None, None], kernel[None, None], bias[None], padding=2)
    assert torch.allclose(own[0, 0], after, atol=1e-5)
    captions = [text(own) for own in inside(told.html, "figcaption")]
    assert captions == ["channel 3 before", "its 5 × 5 kernel", "channel 3 after"]
    assert [seen.shape[:2] for seen in images(told.html)] == [before.shape, (5, 5), after.shape]
    first, second = steps(here)
    assert [(one.channels_in, one.channels_out) for one in first] == [(4, 4), (4, 16), (16, 4)]
    assert [(one.channels_in, one.channels_out) for one in second] == [(4, 1), (1, 1), (1, 4)]
    assert [one.parameters for one in first] == [4 * 26, 4 * 16 + 16, 16 * 4 + 4]
    assert "5 × 5, each channel by itself" in told.text
    totals = [sum(one.parameters for one in block) for block in (first, second)]
    feet = [[text(cell) for cell in inside(foot, "td")] for foot in inside(told.html, "tfoot")]
    assert [foot[2] for foot in feet] == [f"{n:,}" for n in totals]
    outline = tags(told.html, "polygon")
    ys = [[float(pair.partition(",")[2]) for pair in own["points"].split()] for own in outline]
    assert [len(own) for own in ys] == [8, 8]
    assert [max(own) - min(own) for own in ys] == [TALL, TALL / 4]


@pytest.mark.parametrize(("block", "repeats"), [(1, 2), (3, 2), (2, 1)])
def test_a_block_says_its_channels(block: int, repeats: int) -> None:
    sizes = {"N": repeats, f"n{block + 1}": 12}
    told = shown(ONE_BLOCK, scene("identity-resnet", **sizes), block=block)
    assert "= 3 channels" in told.text.replace("$", "")
    assert ("fed back to itself" in told.text) == (repeats > 1)


def test_a_picture_that_goes_in_keeps_its_colours() -> None:
    term = ncd.catalogue["vit"].build(x=2, s=4, c=3)
    name = pictures.samples(term)[0]
    own = InputSpec(pictures=(pictures.sample(name),))
    here = scene("vit", feed=own, x=2, s=4, c=3)
    (sheet,) = images(shown(WINDOWS, here).html)
    assert np.allclose(sheet, np.moveaxis(grey(here.inputs[0]), 0, -1), atol=1)
    random = scene("vit", x=2, s=4, c=1)
    (sheet,) = images(shown(WINDOWS, random).html)
    assert (sheet[..., 0] == sheet[..., 2]).all() and np.ptp(sheet) > 100


def test_a_grey_picture_has_its_grey_in_all_colours() -> None:
    grey_, colours = torch.rand(1, 2, 3), torch.rand(3, 2, 3)
    assert (picture_parts.pixels(grey_) == grey(grey_)[0][..., None]).all()
    assert (picture_parts.pixels(colours) == np.moveaxis(grey(colours), 0, -1)).all()
    assert (picture_parts.pixels(colours + 1) == 255).all()
