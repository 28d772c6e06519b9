"""Likely classes and masks of pictures, as their panels show them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ncd.app.panels.images import classification
from ncd.app.panels.images.classification import Masks, _html, _kinds, _summary_html, measure
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.trained_weights import TrainedWeights
from tests.app.panels.views import bars, images, inside, scene, tags, text

# --- classes --------------------------------------------------------------------------------------


def test_a_batch_shows_the_likeliest_classes_of_each_picture() -> None:
    shares = torch.tensor([[0.1, 0.6, 0.0005, 0.2995]]).repeat(17, 1)
    pictures = torch.rand(17, 1, 4, 4)
    html = classification._batch(pictures, shares, "From here.")
    assert html.count("<img") == 16 and "The first 16 of 17 pictures." in html
    assert "goes in as 1 × 4 × 4 pixels" in html
    rows = [[text(cell) for cell in inside(row, "td")] for row in inside(html, "tr")]
    assert rows[:3] == [["1", "", "60.0 %"], ["3", "", "29.9 %"], ["0", "", "10.0 %"]]
    assert len(rows) == 48 and html.count("<strong>1</strong>") == 16
    few = classification._batch(pictures[:16], shares[:16], "")
    assert "The first" not in few
    assert text(inside(html, "h2")[0]) == "Class 1, with 60.0 %"
    alone = classification._alone(torch.rand(3, 5, 6), shares[0], "From here.")
    assert len(inside(alone, "tr")) == 4 and "as it goes in: 3 × 5 × 6 pixels" in alone
    assert "&lt; 0.1 %" in alone and bars(alone) == pytest.approx([1 / 6, 1, 0, 0.5], abs=0.01)
    assert classification._percent(0.001) == "0.1 %"


def test_a_picture_keeps_its_colours_or_its_own_ends() -> None:
    colours = torch.rand(3, 4, 5)
    (seen,) = images(classification._picture(colours, 8))
    assert np.allclose(seen, 255 * np.moveaxis(colours.numpy(), 0, -1), atol=1)
    wide = torch.tensor([[-1.0, 3.0], [1.0, 0.0]])
    (seen,) = images(classification._picture(wide, 8))
    assert np.allclose(seen[..., 0], [[0, 255], [127, 63]], atol=1)
    (seen,) = images(classification._picture(wide[None], 8))
    assert np.allclose(seen[..., 0], [[0, 255], [127, 63]], atol=1)


# --- masks ----------------------------------------------------------------------------------------


def test_a_mask_counts_what_is_wrong_where_the_answer_is_known() -> None:
    found = torch.tensor([[[1, 1]], [[0, 1]], [[2, 2]]])
    masks = Masks(torch.zeros(3, 1, 2), found, torch.tensor([[[0, 1]], [[1, 1]]]), 0.5)
    assert masks.visitor_count == 1
    assert [masks.error_text(i) for i in range(3)] == ["what goes in", "0 wrong", "2 wrong"]
    assert masks.wrong_pixels(0) is None
    here = scene("unet")
    for at, count in ((0, 2), (1, 3), (2, 3)):
        html = shown_masks(here, masks, at)
        figures = [text(own) for own in inside(html, "figcaption")]
        assert figures == ["The picture", "What the network finds", "What is there"][:count]
        pressed = [own["aria-pressed"] for own in tags(html, "button") if "aria-pressed" in own]
        assert pressed == [str(n == at).lower() for n in range(3)]
    assert "in 2 pictures made up from seed 0: <b>0.50</b>. " in html and "Train them" in html
    trained = replace(here, loaded_weights=TrainedWeights(b"", "trained here"))
    told = _summary_html(trained, masks)
    assert "Weights trained here; it has learned" in text(told) and "Train them" not in told


def shown_masks(here: object, masks: Masks, at: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", {"masked": str(at)})
        return _html(here, masks)  # type: ignore[arg-type]


def test_masks_are_measured_on_pictures_that_nobody_has_seen() -> None:
    here = scene("unet", x=16)
    found = measure(here)
    assert (
        len(found.pictures) == len(found.predicted_classes) in (1, 8) and found.visitor_count == 0
    )
    assert 0 <= found.iou <= 1
    own = replace(here, inputs_spec=InputSpec())
    assert measure(own).visitor_count == 0


@pytest.mark.parametrize("classes", [2, 4, 7])
def test_the_legend_names_each_class_but_the_ground(classes: int) -> None:
    html = _kinds(classes)
    assert html.count('class="kind"') == classes - 1
    assert ("kind 6" in html) == (classes == 7)
