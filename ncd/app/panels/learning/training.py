"""The Training panel: a run on examples from the seed, its curves, and remaining mistakes."""

from __future__ import annotations

from functools import partial

import streamlit as st

import ncd
from ncd.app.panels.learning import mistakes
from ncd.app.parts import charts, html_panel
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.scene.session_weights import (
    POLL_SECONDS,
    STEPS,
    Training,
    download,
    replace_training,
    shipped_or_served,
    training,
    waiting_message,
)
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.errors import NCDError
from ncd.jobs.training_runs import TrainingRun, prepare
from ncd.site import markup
from ncd.systems.training.tasks import Task, task
from ncd.systems.training.trained_weights import TrainedWeights, read_weights
from ncd.systems.training.training_loop import TrainingProgress

FILE, WRONG = "weights", "wrong weights"
MEGABYTES = 64  # the largest file of weights
SLOW = 2.0  # seconds between new curves: Streamlit mounts a Plotly chart again for new data
NAMES = {
    "accuracy": "accuracy",
    "answers": "right answers",
    "dates": "right dates",
    "pairs": "right sentences",
    "iou": "intersection over union",
    "variance": "variance explained",
}
SHARES = (
    "accuracy",
    "answers",
    "dates",
    "pairs",
    "variance",
)  # measures that are shown in per cent
EARLIER, KEPT = "earlier runs", 3  # session key; the number of earlier runs whose curves are kept
STYLE = """<style>
progress { width: 100%; height: 0.6rem; accent-color: var(--st-primary-color); }
</style>"""


def show_training(scene: Scene) -> None:
    """Shows buttons, curves and mistakes; or why this system cannot be trained at these sizes."""
    own = task(scene.entry.name)
    try:
        found = cached_value(
            "mistakes",
            scene.term,
            *scene.weights_key,
            make=lambda: run_in_thread(lambda: mistakes.measure(scene, own), long=True),
        )
    except NCDError as error:
        _refuse(error)
        return
    prepare()
    now = training(scene.entry, scene.settings, scene.seed)
    going = now is not None and now.is_running
    _controls(scene, now)
    with st.container():  # a fragment needs a container to draw itself again
        st.fragment(_show_progress, run_every=POLL_SECONDS if going else None)(
            now, own, _beginning(scene)
        )
    if now is not None and now.run is not None:
        with st.container():
            st.fragment(_curves, run_every=SLOW if going else None)(now, own)
    html_panel.render(mistakes.html(found, own), "mistakes")
    _file(scene)


TRAINING = Panel("Training", show_training, controls=(STEPS,))


def _refuse(error: NCDError) -> None:
    st.text(str(error))
    if error.axis and error.nearest is not None:
        way = {error.axis: error.nearest}
        said = f"{knobs.subscript_name(error.axis)} = {error.nearest}"
        st.button(said, key="fit training", on_click=partial(knobs.set_values, way))


# --- buttons -------------------------------------------------------------------------------------


def _controls(scene: Scene, now: Training | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="training"):
        if now is not None and now.is_running:
            assert now.run is not None
            st.button("Stop", key="stop", on_click=now.run.stop)
        else:
            st.button("Train", key="train", on_click=partial(_train, scene))
        STEPS.segments("Steps")
        if (
            now is not None
            and not now.is_running
            and shipped_or_served(scene.entry, scene.settings)
        ):
            st.button("Shipped weights", key="shipped", on_click=partial(replace_training, None))
        download(scene.entry, scene.loaded_weights)


def _train(scene: Scene) -> None:
    """Starts a run, and keeps the curves of the previous one; a callback."""
    before = training(scene.entry, scene.settings, scene.seed)
    if before is not None and before.run is not None and before.run.progress:
        kept = (f"{len(before.run.progress):,} steps before", tuple(before.run.progress))
        earlier = (kept, *_earlier(scene.entry.name))[:KEPT]
        st.session_state[EARLIER] = (scene.entry.name, earlier)
    steps = int(STEPS.value)
    run = TrainingRun(scene.entry.name, scene.settings, scene.seed, steps, scene.device)
    replace_training(Training(scene.entry.name, scene.settings, scene.seed, run))


# --- what the run tells --------------------------------------------------------------------------


def _beginning(scene: Scene) -> str:
    """Returns the text that is shown before any training."""
    if scene.loaded_weights:
        said = scene.loaded_weights.summary
        return f"Shipped: {said}. Training here begins anew, from the weights of this page's seed."
    if shipped_or_served(scene.entry, scene.entry.settings({})):
        return "Not trained yet at these sizes: weights ship for those that the page begins with."
    return "Not trained yet. The seed decides the weights, the examples and their order."


def _earlier(name: str) -> tuple[tuple[str, tuple[TrainingProgress, ...]], ...]:
    """Returns the earlier runs of this page, with their names in the legend."""
    page, runs = st.session_state.get(EARLIER, ("", ()))
    return runs if page == name else ()


def _progress(now: Training | None) -> tuple[tuple[TrainingProgress, ...], int]:
    """Returns what a run has reported, and its number of steps."""
    run = now.run if now else None
    steps = (run.steps if run else None) or int(STEPS.value)
    return tuple(run.progress) if run else (), steps


def _show_progress(now: Training | None, own: Task, beginning: str) -> None:
    """Shows the progress of the run, in words and as a bar."""
    progress, steps = _progress(now)
    line = _line(now, progress, own) if now else beginning
    html_panel.render(bar(line, len(progress), steps), "progress")


def bar(said: str, done: int, steps: int) -> str:
    """Returns a line of text and a progress bar, as HTML."""
    return (
        f'{STYLE}<p role="status">{markup.text(said)}</p>'
        f'<progress max="{steps}" value="{done}" aria-label="steps"></progress>'
    )


def _curves(now: Training, own: Task) -> None:
    """Shows the loss and the score of the run, over those of earlier runs."""
    progress, steps = _progress(now)
    earlier = dict(_earlier(now.page))
    runs = {"this run": progress, **earlier}
    losses = {name: [(p.step, p.loss) for p in run] for name, run in runs.items()}
    scores = {
        name: [(p.step, p.score) for p in run if p.score is not None] for name, run in runs.items()
    }
    most = max([steps, *(p[-1].steps for p in earlier.values())])
    title, share = f"{NAMES[own.measure].capitalize()} on unseen examples", own.measure in SHARES
    one, two = st.columns(2)
    with one:
        said = f"Loss of each batch: {charts.curve_description('', losses['this run'])}"
        charts.render(charts.curves("Loss of each batch", losses, most), "loss", said)
    with two:
        said = f"{title}: {charts.curve_description('', scores['this run'])}"
        figure = charts.curves(title, scores, most, percent=share, dots=True)
        charts.render(figure, "score", said)


def _line(now: Training, progress: tuple[TrainingProgress, ...], own: Task) -> str:
    """Returns the text above the progress bar."""
    if now.run is None:
        return "The weights are those of your file."
    if said := waiting_message(now.run, progress):
        return said
    last = progress[-1]
    scores = [each.score for each in progress if each.score is not None]
    parts = [f"Step {last.step:,} of {last.steps:,}", f"loss {last.loss:.3f}"]
    if scores:
        score = f"{scores[-1]:.1%}" if own.measure in SHARES else f"{scores[-1]:.2f}"
        parts.append(f"{NAMES[own.measure]} {score}")
    again = ("begun again, as its worker was lost",) if now.run.again else ()
    return " · ".join((*parts, f"{last.seconds:.1f} s", *again))


# --- weights as a file ---------------------------------------------------------------------------


def _file(scene: Scene) -> None:
    st.file_uploader(
        "Weights from a file",
        "safetensors",
        key=FILE,
        max_upload_size=MEGABYTES,
        help="A file that was downloaded here, or kept by `python -m ncd train`, at these sizes.",
        on_change=partial(_take, scene),
    )
    if st.session_state.get(WRONG):
        st.text(st.session_state[WRONG])


def _take(scene: Scene) -> None:
    """Loads weights from a file, if they fit; a callback."""
    file = st.session_state.get(FILE)
    st.session_state[WRONG] = ""
    if file is None:
        return
    data = file.getvalue()
    try:
        scene.run_in_pool(lambda: read_weights(ncd.compile(scene.term, scene.seed), data))
    except NCDError as error:
        st.session_state[WRONG] = str(error)
        return
    name = file.name if len(file.name) <= 40 else f"{file.name[:39]}…"
    own = TrainedWeights(data, f"from the file {name}")
    replace_training(Training(scene.entry.name, scene.settings, None, learned_weights=own))
