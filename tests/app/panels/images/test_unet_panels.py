"""The U-Net's page: its pictures and their masks, its switch, and sizes that do not halve."""

import pytest
import torch

import ncd
from ncd.app.panels.images.classification import PICTURES, measure
from ncd.app.panels.learning.mistakes import COLOURS, class_overlay
from ncd.app.scene.scene import Scene
from ncd.run.seeding import example_inputs
from ncd.systems.inputs import picture_inputs
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.tasks import data, task
from tests.app.page.test_pages import fine, page

ENTRY = ncd.catalogue["unet"]


class Pictured(InputSpec):
    """A picture of the visitor's own."""

    def tensors(self, term: ncd.Term, seed: int, device: str) -> tuple[torch.Tensor, ...]:
        return example_inputs(term, 9, device)


def scene(feed: InputSpec, **knobs: int) -> Scene:
    every = ENTRY.settings({"depth": 2, "c": 2, "x": 16} | knobs)
    return Scene(ENTRY, every, 3, "cpu", feed, False, "names", "", ENTRY.build(**every))


def test_masks_are_what_the_module_finds_in_pictures_that_it_does_not_learn_from() -> None:
    here = scene(InputSpec())
    masks = measure(here)
    learned_from = data(task("unet"), here.settings, here.seed).inputs[:, 0]
    assert masks.visitor_count == 0 and len(masks.pictures) == PICTURES
    assert not (masks.pictures[:, None] == learned_from).flatten(2).all(2).any()
    for i, picture in enumerate(masks.pictures):
        scores = here.module(picture[None])
        assert torch.equal(masks.predicted_classes[i], scores.argmax(0))
        wrong = int((masks.predicted_classes[i] != masks.true_classes[i]).sum())
        assert masks.error_text(i) == f"{wrong:,} wrong"


def test_a_picture_that_goes_in_comes_first_and_is_not_judged() -> None:
    here = scene(Pictured(pictures=(picture_inputs.sample("boat"),)))
    masks, without = measure(here), measure(scene(InputSpec()))
    assert (
        masks.visitor_count == 1
        and masks.error_text(0) == "what goes in"
        and masks.wrong_pixels(0) is None
    )
    assert torch.equal(masks.pictures[0], here.inputs[0][0])
    assert torch.equal(masks.predicted_classes[0], here.module(here.inputs[0]).argmax(0))
    assert torch.equal(masks.pictures[1:], without.pictures) and masks.iou == without.iou


def test_a_large_network_is_shown_one_picture() -> None:
    assert len(measure(scene(InputSpec(), c=64, x=64)).pictures) == 1


def test_a_class_has_its_colour_and_a_wrong_pixel_is_struck_through() -> None:
    picture, classes = torch.zeros(2, 2), torch.tensor([[0, 1], [2, 1]])
    wrong = torch.tensor([[False, False], [False, True]])
    pixels = class_overlay(picture, classes, wrong, large=16)
    assert pixels.shape == (16, 16, 3)
    assert (pixels[:8, :8] == 0).all()
    for rows, columns, colour in ((slice(8), slice(8, 16), 0), (slice(8, 16), slice(8), 1)):
        part = pixels[rows, columns].reshape(-1, 3)
        assert (part == part[0]).all() and part[0].argmax() == max(
            range(3), key=COLOURS[colour].__getitem__
        )
    last = pixels[8:, 8:]
    assert (last[range(8), range(8)] == 255).all() and not (last[0, 1:] == 255).all()


@pytest.mark.parametrize("skips", ["true", "false"])
@pytest.mark.parametrize("asked", ["0", "8", "99", "zzz", "-1"])
def test_the_mask_opens_whatever_picture_is_asked_for(asked: str, skips: str) -> None:
    fine(page("unet", panel="Mask", masked=asked, skips=skips, depth="2", c="1"))


@pytest.mark.parametrize("folded", ["f0", "f10", "f0,f10", "none"])
def test_a_bracket_folds_under_its_callouts(folded: str) -> None:
    fine(page("unet", folded=folded))


def test_sizes_that_do_not_halve_get_the_reason_and_the_nearest_that_do() -> None:
    app = page("unet", x="44", depth="3")
    fine(app)
    reason = "an image of 44 × 44 cannot be halved 3 times, as 44 is no multiple of 8. Try x = 48."
    assert reason in [text.value for text in app.text]
    fits = {str(button.key): button for button in app.button}
    assert fits["fit x"].label == "x = 48" and fits["fit depth"].label == "depth = 2"
    fine(fits["fit x"].click().run())
    assert app.slider(key="x").value == 48
    assert reason not in [text.value for text in app.text]
