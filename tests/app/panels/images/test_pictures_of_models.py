"""Panels of models of pictures: what they say and where it stands, against the model's run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ncd.app.panels.images import latent_plane
from ncd.app.panels.images.diffusion_steps import NOISE_STEPS, _default_step_count, way
from ncd.app.panels.images.latent_plane import LATENT_PLANE
from ncd.site import markup
from ncd.systems.training.losses import divergence
from ncd.systems.training.step_inputs import signal_fraction
from ncd.systems.training.trained_weights import TrainedWeights
from tests.app.panels.views import images, inside, scene, shown, tags, text


def grey(picture: torch.Tensor) -> np.ndarray:
    """Numbers from 0 to 1 as the greys of an image."""
    return np.round(255 * picture.detach().clamp(0, 1).numpy())


# --- a plane of pictures --------------------------------------------------------------------------


def test_a_point_of_the_plane_is_decoded_by_the_decoder_alone() -> None:
    here = scene("vae", x=6, d=16, k=3)
    points = torch.tensor([[0.5, -1.0], [2.0, 3.0]])
    found = latent_plane.decode_points(here, points)
    with torch.no_grad():
        for point, made in zip(points, found, strict=True):
            blank = torch.ones(6, 6)  # whatever goes in, if the noise leads to the point
            _, mean, spread = here.module(blank, torch.zeros(3))
            full = torch.cat((point, torch.zeros(1)))
            again = here.module(blank, (full - mean) / (spread / 2).exp())[0]
            assert np.allclose(made, again.numpy(), atol=1e-5)


def test_the_plane_has_its_pictures_points_and_marks() -> None:
    here = scene("vae", x=4, d=16, k=2)
    found = latent_plane.plane(here)
    cells, side = latent_plane.CELLS, latent_plane.SIDE
    places = torch.linspace(-3, 3, cells)
    for row, column in ((0, 0), (3, 11), (14, 2)):  # the first row is at the top
        (made,) = latent_plane.decode_points(
            here, torch.stack([places[column], -places[row]])[None]
        )
        assert np.allclose(found.pictures[row, column], made, atol=1e-5)
    told = shown(LATENT_PLANE, here, across=60, up=0)
    (circle,) = tags(told.html, "circle")
    step = side / cells
    assert (float(circle["cx"]), float(circle["cy"])) == pytest.approx((side - step / 2,) * 2)
    boxes = tags(told.html, "rect")
    picks = [box for box in boxes if "data-pick" in box]
    assert len(picks) == cells**2
    for n, box in enumerate(picks):
        across, up = map(int, box["data-pick"].removeprefix("point=").split("."))
        middle = float(box["x"]) + step / 2, float(box["y"]) + step / 2
        spot = latent_plane._spot(across / 10 - 3, up / 10 - 3)
        assert middle == pytest.approx(spot, abs=step / 4), n
    _, mean, spread = here.trace.outputs
    (own,) = (box for box in boxes if "data-pick" not in box)
    x, y = latent_plane._spot(*mean.tolist())
    assert (float(own["x"]) + 5, float(own["y"]) + 5) == pytest.approx((x, y), abs=0.01)
    assert (own["width"], own["height"]) == ("10.00", "10.00")
    numerals = inside(told.html, "text")
    inside_ = [
        label for label, p in zip(found.labels, found.points, strict=True) if abs(p).max() <= 3
    ]
    assert [int(label) for label in numerals] == inside_
    cost = float(divergence(mean, spread).sum())
    assert f"that costs {markup.digits(cost)}." in told.text
    assert told.sliders == {"across": (0, 60, 60), "up": (0, 0, 60)}
    assert [image.shape[:2] for image in images(told.html)][1:] == [(4, 4)] * 3
    sheet, chosen, goes_in, _ = images(told.html)
    (wanted,) = latent_plane.decode_points(here, torch.tensor([[3.0, -3.0]]))
    assert np.allclose(chosen[..., 0], grey(torch.tensor(wanted)), atol=1)
    assert np.allclose(sheet[-4:, -4:, 0], chosen[..., 0], atol=1)
    assert np.allclose(goes_in[..., 1], grey(here.inputs[0]), atol=1)


def test_one_number_has_a_line_and_a_click_sets_both_coordinates() -> None:
    here = scene("vae", x=4, d=16, k=1)
    assert set(shown(LATENT_PLANE, here).sliders) == {"across"}
    points = latent_plane.plane(here).points
    assert points.shape[1] == 2 and not points[:, 1].any() and points[:, 0].any()
    session: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", session)
        latent_plane._pick("point=7.31")
        assert session == {"across": "7", "up": "31"}
        latent_plane._pick("nothing=1.2")
        latent_plane._pick("point=.")  # back to its own
    assert session == {"across": "", "up": ""}


# --- noise ----------------------------------------------------------------------------------------


SMALL = {"c": 4, "g": 1}  # so that it takes some steps without trained weights


@torch.no_grad()
def test_each_step_takes_noise_away_as_the_paper_says() -> None:
    """Equation 7 of Ho et al. for the mean, whose own noise is none in the last step."""
    here = scene("diffusion-unet", T=10, **SMALL)
    found = way(here)
    assert found.timesteps == (9, 7, 4, 2, 0)
    left = signal_fraction(10).double()
    for n, step in enumerate(found.timesteps):
        x, noise = found.noisy[n].double(), found.noise[n].double()
        own = here.module(found.noisy[n], torch.full((len(x),), step))
        assert torch.allclose(own, found.noise[n], atol=1e-5)
        now = left[step]
        picture = ((x - (1 - now).sqrt() * noise) / now.sqrt()).clamp(-1, 1)
        if now > 1e-4:  # below, rounding is larger than the picture
            assert torch.allclose(found.guess[n].double(), picture, atol=1e-3)
        picture = found.guess[n].double()
        before = left[found.timesteps[n + 1]] if step else torch.tensor(1.0)
        beta = 1 - now / before
        mean = (before.sqrt() * beta * picture + (1 - beta).sqrt() * (1 - before) * x) / (1 - now)
        spread = (beta * (1 - before) / (1 - now)).sqrt()
        rest = found.noisy[n + 1] - mean
        chance = rest / spread if step else rest
        assert float(chance.std()) == pytest.approx(1 if step else 0, abs=0.2)
        assert abs(float(chance.mean())) < 0.2


@pytest.mark.parametrize(("steps", "taken"), [(4, 0), (4, 2), (4, 4)])
def test_the_way_to_a_picture_is_shown_at_a_step(steps: int, taken: int) -> None:
    here = scene("diffusion-unet", T=steps, **SMALL)
    found = way(here)
    told = shown(NOISE_STEPS, here, steps_taken=taken, noise_sample=1)
    assert told.sliders == {"steps_taken": (0, taken, steps)}
    assert f"{taken} of {steps} steps" in told.html
    samples = found.noisy.shape[1]
    seen = images(told.html)
    for own, wanted in zip(seen[:samples], found.noisy[taken], strict=True):
        assert np.allclose(own[..., 0], grey((wanted[0] + 1) / 2), atol=1)
    assert (seen[samples] == seen[1]).all()
    closer = 1 if taken == steps else 3
    captions = [text(own) for own in inside(told.html, "figcaption")]
    assert len(captions) == closer and captions[0] == "the picture now"
    if closer == 3:
        guess = seen[samples + 2][..., 0]
        assert np.allclose(guess, grey((found.guess[taken, 1, 0] + 1) / 2), atol=1)
    strip = [int(own["data-pick"].partition("=")[2]) for own in tags(told.html, "button")[samples:]]
    assert strip == list(range(steps + 1))
    pressed = [own["aria-pressed"] == "true" for own in tags(told.html, "button")]
    assert [n for n, on in enumerate(pressed) if on] == [1, samples + taken]
    assert "noise stays" in told.text and "evenly spaced" not in told.text


def test_of_many_steps_some_are_taken() -> None:
    here = scene("diffusion-unet", T=100, **SMALL)
    found = way(here)
    assert (found.timesteps[0], found.timesteps[-1], len(found.timesteps)) == (99, 0, 5)
    assert np.ptp(np.diff(found.timesteps)) <= 1
    told = shown(NOISE_STEPS, here)
    assert "5 of the 100 steps are taken, evenly spaced." in told.text
    assert told.sliders["steps_taken"] == (0, 0, 5)  # noise remains noise
    learned = replace(here, loaded_weights=TrainedWeights(b"", "trained here"))
    assert _default_step_count(learned, 8) == 6
    large = shown(NOISE_STEPS, scene("diffusion-unet", x=32, c=32, depth=3, n=2))
    assert "takes no step before it is trained" in large.text
