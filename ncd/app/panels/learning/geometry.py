"""The Plane and hidden space panel: what a perceptron's layers do to points while it learns.

The space is drawn on a canvas and not by Plotly, as it changes with the plane in every frame of a
drag: without a graphics card a frame of both takes about 15 ms, and one of Plotly's space alone
about 50 ms. Plotly's script has 4.8 MB, and its first picture takes a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st
import torch

from ncd.app.panels.learning.mistakes import COLOURS
from ncd.app.parts.html_panel import read_static, sent_value
from ncd.app.scene import session_weights
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import UNTRAINED_REASON, Scene, with_tooltip
from ncd.app.scene.session_weights import POLL_SECONDS, Training
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, TextControl
from ncd.jobs.job_pool import QUIET
from ncd.jobs.training_runs import TrainingRun, prepare
from ncd.site import markup
from ncd.site.markup import PANEL_CSS
from ncd.site.scripts import script
from ncd.systems.networks.perceptrons import ACTIVATIONS, outputs
from ncd.systems.training.plane_training import (
    EDGE,
    MAX_POINTS,
    SETS,
    WIDEST,
    accuracy,
    flat,
    points,
    valid,
)
from ncd.systems.training.training_loop import TrainingProgress

KEY = "geometry"
VISITOR_POINTS = "your own"
POINTS, PLACED = (
    Choice("points", (*SETS, VISITOR_POINTS), next(iter(SETS))),
    TextControl("placed", longest=5 * MAX_POINTS),
)
UPDATES = Choice("updates", ("300", "1000", "3000"), "1000")
STILL = 0.05  # a run is stuck if its loss falls by a smaller share in its last fifth

_geometry = st.components.v2.component(
    "ncd_geometry",
    html=read_static("panels/learning/geometry.html"),
    css=PANEL_CSS + read_static("panels/learning/geometry.css"),
    js=script("app/panels/learning/geometry.js"),
)


@dataclass(frozen=True)
class ClassifiedPoints:
    """The points, how many are classified correctly, and the weights as one row."""

    places: tuple[tuple[float, float, int], ...]
    correct_count: int
    numbers: tuple[float, ...]

    @property
    def classes(self) -> int:
        """The number of classes with at least one point."""
        return len({kind for _, _, kind in self.places})


def show_geometry(scene: Scene) -> None:
    """Shows the choice of points, the buttons, and both spaces."""
    if scene.settings["p1"] > WIDEST:
        st.text(f"With more than {WIDEST} hidden units there is nothing to be seen any more.")
        return
    prepare()
    now = session_weights.training(scene.entry, scene.settings, scene.seed)
    going = now is not None and now.is_running
    chosen = _chosen_points()
    found = cached_value(
        "geometry",
        scene.term,
        *scene.weights_key,
        chosen,
        make=lambda: scene.run_in_pool(lambda: classified_points(scene, chosen)),
    )
    _controls(scene, now, found.classes > 1)
    with st.container():  # a fragment needs a container to draw itself again
        (st.fragment(_show_spaces, run_every=POLL_SECONDS) if going else _show_spaces)(
            scene, now, found
        )


GEOMETRY = Panel("Plane and hidden space", show_geometry, controls=(POINTS, PLACED, UPDATES))


def _chosen_points() -> str:
    """Returns the name of the chosen set, or the visitor's own points as text."""
    return POINTS.value if POINTS.value != VISITOR_POINTS else valid(PLACED.value)


@torch.no_grad()
def classified_points(scene: Scene, chosen: str) -> ClassifiedPoints:
    """Runs the page's own module on all points."""
    places, classes = points(chosen, scene.settings["n"], scene.seed)
    share = accuracy(scene.module(places.to(scene.device)).cpu(), classes)
    rows = zip(places.tolist(), classes.tolist(), strict=True)
    table = tuple((round(x, 4), round(y, 4), kind) for (x, y), kind in rows)
    return ClassifiedPoints(table, round(share * len(table)), flat(scene.module))


# --- buttons -------------------------------------------------------------------------------------


def _controls(scene: Scene, now: Training | None, enough: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="training"):
        if now is not None and now.is_running:
            assert now.run is not None
            st.button("Stop", key="stop", on_click=now.run.stop)
        else:
            begin = partial(_train, scene, scene.seed)
            st.button("Train", key="train", disabled=not enough, on_click=begin)
        st.button(
            "Train from another seed",
            key="next",
            disabled=not enough,
            on_click=partial(_train_next_seed, scene),
        )
        POINTS.segments("Points", on_change=partial(session_weights.replace_training, None))
        UPDATES.segments("Steps")
        session_weights.download(scene.entry, scene.loaded_weights)


def _train(scene: Scene, seed: int) -> None:
    """Starts a training run; a callback."""
    name, steps, given = scene.entry.name, int(UPDATES.value), {"points": _chosen_points()}
    run = TrainingRun(name, scene.settings, seed, steps, scene.device, loop="plane", given=given)
    session_weights.replace_training(Training(name, scene.settings, seed, run))


def _train_next_seed(scene: Scene) -> None:
    """Starts a training run from the weights of the next seed; a callback."""
    seed = (knobs.seed() + 1) % (knobs.SEED.max + 1)
    knobs.set_values({"seed": seed})
    _train(scene, seed)


def _place() -> None:
    """Stores the points that the visitor has set; stops a run on other points. A callback."""
    PLACED.put(valid(sent_value(KEY, "drawn")))
    found = st.session_state.get(session_weights.TRAINING_KEY)
    if found is not None and found.is_running:
        session_weights.replace_training(None)


# --- what is shown -------------------------------------------------------------------------------


def _show_spaces(scene: Scene, now: Training | None, found: ClassifiedPoints) -> None:
    """Shows both spaces at every recorded training step."""
    run = now.run if now else None
    progress = tuple(run.progress) if run else ()
    settings, own = scene.settings, POINTS.value == VISITOR_POINTS
    data = {
        "places": found.places,
        "n": settings["n"],
        "p": settings["p1"],
        "q": outputs(settings["n"]),
        "bend": ACTIVATIONS[settings["g"]],
        "frames": frames(progress, found, bool(scene.loaded_weights)),
        "steps": run.steps if run else 1,
        "own": own,
        "text": valid(PLACED.value) if own else "",
        "most": MAX_POINTS,
        "edge": EDGE,
        "colours": COLOURS,
        "said": _training_sentence(scene, now, progress, found),
        "where": _hidden_space_caption(scene),
        "foot": _foot(scene, own),
    }
    _geometry(key=KEY, data=data, on_drawn_change=_place, on_pick_change=lambda: None)


def frames(
    progress: Sequence[TrainingProgress], found: ClassifiedPoints, ended: bool
) -> list[tuple[int, float, float, Sequence[float]]]:
    """Returns the recorded steps: number, loss, accuracy and weights.

    After the end of a run, the last step has the weights of the page itself.
    """
    share = found.correct_count / max(1, len(found.places))
    known = [(now.step, now.loss, now.score or 0.0, now.numbers) for now in progress if now.numbers]
    if not known:
        return [(0, 0.0, share, found.numbers)]
    if ended:
        last = progress[-1]
        known = [each for each in known if each[0] < last.step]
        known.append((last.step, last.loss, last.score or 0.0, found.numbers))
    return known


def _training_sentence(
    scene: Scene,
    now: Training | None,
    progress: Sequence[TrainingProgress],
    found: ClassifiedPoints,
) -> str:
    """Returns the state of the training in a sentence."""
    if now is not None and now.run is not None:
        without = session_weights.waiting_message(now.run, progress)
        if without and now.run.failure not in QUIET:
            return markup.text(without)
    if now is not None and now.is_running and progress:
        last = progress[-1]
        return f"Step {last.step:,} of {last.steps:,} · loss {markup.digits(last.loss)}"
    count = len(found.places)
    if found.classes < 2:
        return "Set points of at least two classes: click the plane, and choose the class below it."
    told = f"{found.correct_count} of {count} points are on the right side"
    if not scene.loaded_weights:
        return f"{with_tooltip('Untrained weights', UNTRAINED_REASON)}: {told}."
    steps = f"after {progress[-1].step:,} steps" if progress else "after training"
    if found.correct_count == count:
        return f"✓ Parted: all {count} points are on the right side {steps}."
    return f"✗ {_failure_reason(scene, progress)}: {told} {steps}. {_cure(scene, progress)}"


def stuck(progress: Sequence[TrainingProgress]) -> bool:
    """Returns whether the loss has hardly fallen in the last fifth of a run.

    >>> falls = [TrainingProgress(step, 10, 1.0 - step / 20, 0.0) for step in range(11)]
    >>> stuck(falls), stuck([TrainingProgress(step, 10, 0.35, 0.0) for step in range(11)])
    (False, True)
    """
    if len(progress) < 5:
        return False
    before, last = progress[-len(progress) // 5], progress[-1]
    return last.loss > (1 - STILL) * before.loss


def _failure_reason(scene: Scene, progress: Sequence[TrainingProgress]) -> str:
    return "Stuck" if stuck(progress) or not scene.settings["g"] else "Not parted yet"


def _cure(scene: Scene, progress: Sequence[TrainingProgress]) -> str:
    if not scene.settings["g"]:
        return (
            "Without an activation both maps are one affine map, and the cuts of the plane are "
            "straight, whatever the weights."
        )
    if stuck(progress):
        return (
            "The loss hardly falls any more. Another seed may find a better way down, more hidden "
            "units make that likelier, and some plateaus end after many more steps."
        )
    return "The loss still falls: more steps may do."


def _hidden_space_caption(scene: Scene) -> str:
    p1 = scene.settings["p1"]
    axis = next(axis for axis in scene.circuit.axes if axis.name == "p_1")
    size = f"{markup.axis(axis)} = {p1}"
    if p1 > 3:
        return f"The hidden space, {size} dimensions, seen along three"
    return f"The hidden space, {size}" + (": drag to turn it" if p1 == 3 else "")


def _foot(scene: Scene, own: bool) -> str:
    p1, n = scene.settings["p1"], scene.settings["n"]
    lines = ["The plane: in colour, what it takes each place for; "]
    if p1 <= 12:
        lines.append("dashed, where a hidden unit is 0 before its activation; ")
    lines.append("struck through, points on the wrong side. ")
    if p1 > 3 and n == 2:
        lines.append("The hidden space is turned so that its hyperplane is seen from the edge. ")
    elif p1 > 3:
        lines.append("The hyperplanes are not drawn: three directions of many do not show them. ")
    else:
        lines.append("The arrows are the rows of W<sub>2</sub>, normal to their hyperplanes. ")
    made = "the points are yours" if own else f"the points are made from seed {scene.seed}"
    return f'<p class="muted">{"".join(lines)}The first weights come from the seed; {made}.</p>'
