"""The class of a picture, and of each pixel."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st
import torch
from torch import Tensor

from ncd.app.panels.learning.mistakes import class_overlay, colour
from ncd.app.parts import heatmap, html_panel
from ncd.app.scene.panel import Panel, about_output
from ncd.app.scene.scene import (
    LONG_RUN_FLOPS,
    UNTRAINED_REASON,
    Scene,
    numbers_origin,
    with_tooltip,
)
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.training.labelled_images import KINDS, shapes
from ncd.systems.training.losses import iou

# --- The What it says panel: the pictures that go in, and the probability of each class

SIDE, SMALL = 224, 96  # pixels on the screen: of one picture, and of one in a batch
METER, SHORT = 14.0, 5.0  # the length of a bar for 100 %, in em
ROW = "display:flex;flex-wrap:wrap;align-items:flex-start"
MAX_PICTURES = 16  # pictures of a batch
LIKELIEST = 3  # the number of classes that are shown for a picture in a batch


def show_classification(scene: Scene) -> None:
    """Shows each input picture, and the output for it as bars."""
    shares, images = scene.trace.outputs[0].float().cpu(), scene.inputs[0]
    origin = numbers_origin(scene)
    html = _batch(images, shares, origin) if shares.ndim == 2 else _alone(images, shares, origin)
    html_panel.render(html, "guess")


CLASSIFICATION = Panel("What it says", show_classification, about=about_output)


def _alone(image: torch.Tensor, shares: torch.Tensor, origin: str) -> str:
    caption = f'<figcaption class="muted">as it goes in: {_size(image)}</figcaption>'
    return (
        f'<div style="{ROW};gap:1.6rem"><figure style="margin:0">{_picture(image, SIDE)}{caption}'
        f'</figure><div>{_classes(shares, METER)}<p class="muted">{origin}</p></div></div>'
    )


def _batch(images: torch.Tensor, shares: torch.Tensor, origin: str) -> str:
    """Returns each picture of a batch beside its likeliest classes."""
    each = "".join(
        f'<div style="display:flex;gap:0.8rem">{_picture(image, SMALL)}'
        f"<div>{_classes(own, SHORT, LIKELIEST)}</div></div>"
        for image, own in zip(images[:MAX_PICTURES], shares[:MAX_PICTURES], strict=True)
    )
    shown = (
        f"The first {MAX_PICTURES} of {len(images):,} pictures. "
        if len(images) > MAX_PICTURES
        else ""
    )
    size = f"{shown}Each picture goes in as {_size(images[0])}."
    return f'<div style="{ROW};gap:1.2rem 2.4rem">{each}</div><p class="muted">{size} {origin}</p>'


def _size(image: torch.Tensor) -> str:
    return f"{' × '.join(map(str, image.shape))} pixels"


def _classes(shares: torch.Tensor, length: float, most: int | None = None) -> str:
    """Returns the likeliest class and a table of all classes, or of the ``most`` likeliest."""
    order = shares.argsort(descending=True, stable=True).tolist()
    best, shown = order[0], order[:most] if most else range(len(order))
    rows = "".join(_row(i, float(shares[i]), i == best, length) for i in shown)
    said = f"Class {best}, with {_percent(float(shares[best]))}"
    return f'<h2>{said}</h2><table style="width:auto">{rows}</table>'


def _picture(image: torch.Tensor, side: int) -> str:
    """Returns an image as HTML, scaled between 0 and 1 or its own extremes."""
    numbers = image.float().cpu()
    if numbers.ndim == 3:
        numbers = numbers.movedim(0, -1) if len(numbers) == 3 else numbers[0]
    low, high = min(0.0, float(numbers.min())), max(1.0, float(numbers.max()))
    address = heatmap.image_url((255 * (numbers - low) / (high - low)).byte().numpy())
    style = f"width:{side}px;height:{side}px;image-rendering:pixelated;border-radius:4px"
    return f'<img alt="a picture that goes in" style="{style}" src="{address}">'


def _row(i: int, share: float, best: bool, length: float) -> str:
    said = f"<strong>{i}</strong>" if best else str(i)
    return (
        f'<tr><td class="number">{said}</td><td style="width:{length}em">'
        f"{markup.meter(share, 'var(--st-primary-color)', length)}"
        f'</td><td class="number">{markup.text(_percent(share))}</td></tr>'
    )


def _percent(share: float) -> str:
    """Returns a share in per cent with one decimal.

    >>> _percent(0.51234), _percent(2e-9), _percent(1.0)
    ('51.2 %', '< 0.1 %', '100.0 %')
    """
    return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"


# --- The Mask panel: unseen pictures, and the class that the network gives each pixel

PICTURE_NUMBER = Place("masked")  # the number of the picture
TRAIN, TRAINING = "train", "Training"
PICTURES = 8  # the number of pictures for a small network
STYLE = """<style>
.masks { display: grid; grid-template-columns: repeat(3, minmax(0, 260px)); gap: 0.4rem 1.2rem; }
.masks figure { margin: 0; }
.masks img { display: block; width: 100%; aspect-ratio: 1; border-radius: 3px; }
.masks img { image-rendering: pixelated; }
.masks figcaption { font-size: 0.875rem; }
.kind { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; }
@container (max-width: 480px) { .masks { gap: 0.4rem; } .masks figcaption { line-height: 1.25; } }
</style>"""


class Masks(NamedTuple):
    """Pictures (n, h, w), the predicted and the right class of each pixel, and the overall IoU.

    The first picture is the page's own input, if that is a picture; its right answer is not known.
    """

    pictures: Tensor
    predicted_classes: Tensor
    true_classes: Tensor
    iou: float

    @property
    def visitor_count(self) -> int:
        """The number of pictures of the visitor's, which have no known answer."""
        return len(self.pictures) - len(self.true_classes)

    def wrong_pixels(self, i: int) -> Tensor | None:
        """Returns the pixels of a picture that are wrong, if the answer is known."""
        return (
            None
            if i < self.visitor_count
            else self.predicted_classes[i] != self.true_classes[i - self.visitor_count]
        )

    def error_text(self, i: int) -> str:
        """Returns a phrase about the number of wrong pixels in a picture."""
        wrong = self.wrong_pixels(i)
        return "what goes in" if wrong is None else f"{int(wrong.sum()):,} wrong"


def show_segmentation(scene: Scene) -> None:
    """Shows one picture with its predicted and its right mask, and the others as buttons."""
    key = scene.run_key
    masks = cached_value(
        "masks", scene.term, *key, make=lambda: scene.run_in_pool(lambda: measure(scene))
    )
    html_panel.render(_html(scene, masks), "mask", SEGMENTATION.controls, _pick)


SEGMENTATION = Panel("Mask", show_segmentation, controls=(PICTURE_NUMBER,), about=about_output)


def _pick(value: str) -> None:
    if value == TRAIN and st.session_state.get(selection.PANEL) != TRAINING:
        st.session_state[selection.PANEL] = TRAINING
        st.rerun()  # the tabs are outside the fragment that a click reruns


def measure(scene: Scene) -> Masks:
    """Segments pictures that are not in the training data."""
    few = 1 if scene.cost.flops * PICTURES > LONG_RUN_FLOPS else PICTURES
    side, classes = scene.settings["x"], min(scene.settings["y"], len(KINDS))
    pictures, right = shapes(few, side, classes, generator(scene.seed, "pictures of the masks"))
    own = scene.inputs[0].cpu()[None] if scene.inputs_spec.pictures else pictures[:0]
    given = torch.cat((own, pictures))
    with torch.no_grad():
        scores = scene.module(given.to(scene.device)).cpu()
    return Masks(given[:, 0], scores.argmax(1), right, iou(scores[len(own) :], right))


def _html(scene: Scene, masks: Masks) -> str:
    at = PICTURE_NUMBER.among(len(masks.pictures))
    picture, found = masks.pictures[at], masks.predicted_classes[at]
    seen = [
        ("The picture", class_overlay(picture, torch.zeros_like(found))),
        ("What the network finds", class_overlay(picture, found, masks.wrong_pixels(at))),
    ]
    if at >= masks.visitor_count:
        seen.append(
            ("What is there", class_overlay(picture, masks.true_classes[at - masks.visitor_count]))
        )
    figures = "".join(
        f'<figure><img alt="" src="{heatmap.image_url(pixels)}">'
        f"<figcaption>{said}</figcaption></figure>"
        for said, pixels in seen
    )
    return (
        f'{STYLE}{_summary_html(scene, masks)}<div class="masks">{figures}</div>'
        f"<p>{_kinds(scene.settings['y'])} A pixel that is struck through is wrong.</p>"
        f"{_picture_buttons(masks, at)}"
    )


def _summary_html(scene: Scene, masks: Masks) -> str:
    """Returns a sentence about the quality of the masks and the origin of the weights."""
    count = markup.plural(len(masks.true_classes), "picture")
    weights = with_tooltip("Untrained weights", UNTRAINED_REASON)
    offer = f' <button class="plain" data-pick="{TRAIN}">Train them</button>'
    if scene.loaded_weights:
        weights, offer = f"Weights {markup.text(scene.loaded_weights.summary)}", ""
    return (
        f"<p>Intersection over union, the mean over all kinds of shape in {count} made up from "
        f"seed {scene.seed}: <b>{masks.iou:.2f}</b>. {weights}; it has learned from none of these."
        f"{offer}</p>"
    )


def _kinds(classes: int) -> str:
    """Returns the legend of the class colours."""
    names = (*KINDS, *(f"kind {n}" for n in range(len(KINDS), classes)))[1:classes]
    fields = (
        f'<span class="kind" style="background:rgb{colour(n)}"></span> {name}'
        for n, name in enumerate(names, 1)
    )
    return f"{' · '.join(fields)}."


def _picture_buttons(masks: Masks, at: int) -> str:
    """Returns all pictures as buttons."""
    buttons = (
        PICTURE_NUMBER.button(
            i,
            f'<img alt="" src="{_thumbnail_url(masks, i)}">{masks.error_text(i)}',
            i == at,
            "thumb",
        )
        for i in range(len(masks.pictures))
    )
    return f'<div class="heads">{"".join(buttons)}</div>'


def _thumbnail_url(masks: Masks, i: int) -> str:
    return heatmap.image_url(
        class_overlay(masks.pictures[i], masks.predicted_classes[i], large=heatmap.SMALL)
    )
