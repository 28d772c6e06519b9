"""The Side by side panel: one network, trained as a module and as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from ncd.app.parts import charts, html_panel
from ncd.app.parts.charts import COLOURS
from ncd.app.runtime import torch_threads
from ncd.app.scene import session_weights
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.scene.session_weights import POLL_SECONDS, Training
from ncd.app.state import knobs
from ncd.app.state.cache import cached
from ncd.app.state.controls import Choice
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.jobs.training_runs import TrainingRun, prepare
from ncd.run.guard import check_run
from ncd.site import markup
from ncd.systems.training.module_or_functional import RATE, houses, network
from ncd.systems.training.training_loop import Progress

MODULE = {"way": "module", "optimiser": "Adam", "start": "torch"}
SLOW = 2.0  # seconds between new curves: Streamlit mounts a Plotly chart again for new data
FUNCTION = {  # the code for each setting; the first is that of the notebook
    "as in the notebook": {"way": "function", "optimiser": "SGD", "start": "He"},
    "one start": {"way": "function", "optimiser": "SGD", "start": "torch"},
    "one optimiser": {"way": "function", "optimiser": "Adam", "start": "He"},
    "both the same": {"way": "function", "optimiser": "Adam", "start": "torch"},
}
COMPARED = Choice("compared", tuple(FUNCTION), "as in the notebook")
EPOCHS = Choice("epochs", ("20", "100", "300", "1000", "3000"), "300")
NAMES = {"module": "nn.Module", "function": "torch.func"}
STARTS = {"torch": "begun as torch does", "He": "begun as the notebook’s init_params"}
STYLE = f"""<style>
.run svg {{ vertical-align: middle; margin-right: 0.4em; }}
.run path {{ stroke: {COLOURS[0]}; stroke-width: 2.5; }}
.run .second {{ stroke: {COLOURS[1]}; stroke-dasharray: 6 4; }}
progress {{ width: 100%; height: 0.6rem; accent-color: var(--st-primary-color); }}
</style>"""
Way = Mapping[str, str]
Told = Sequence[Progress]


@dataclass(frozen=True)
class Examples:
    """The numbers of training and test examples, their description, and a baseline error."""

    seen: int
    unseen: int
    source: str
    mean: float


def show_module_vs_function(scene: Scene) -> None:
    """Shows buttons, both runs and their curves; or why these sizes cannot be trained."""
    settings = plain(scene.settings)
    try:
        given = cached(
            "examples",
            scene.term,
            scene.seed,
            make=lambda: torch_threads.run_in_thread(
                lambda: examples(settings, scene.seed), long=True
            ),
        )
    except NCDError as error:
        refuse(error)
        return
    prepare()
    now = session_weights.training(scene.entry, settings, scene.seed)
    going = now is not None and now.is_running
    _controls(scene, now)
    with st.container():  # a fragment needs a container to draw itself again
        st.fragment(_shown, run_every=POLL_SECONDS if going else None)(now, given)
    with st.container():
        st.fragment(_curves, run_every=SLOW if going else None)(now)


MODULE_VS_FUNCTION = Panel("Side by side", show_module_vs_function, controls=(COMPARED, EPOCHS))


def plain(settings: Mapping[str, int]) -> dict[str, int]:
    """Returns the settings of the network that owns its weights, which is trained."""
    return {**settings, "function": 0}


def examples(settings: Mapping[str, int], seed: int) -> Examples:
    """Returns a description of the training examples.

    Raises SizeError or LimitError if these sizes cannot be trained.
    """
    own = houses(settings["i"], seed)
    check_run(elaborate(network(settings, len(own.inputs))))
    mean = float((own.answers - own.targets.mean()).square().mean())
    return Examples(len(own.inputs), len(own.unseen), own.source, mean)


def refuse(error: NCDError) -> None:
    """Shows why these sizes cannot be trained, and a button that sets sizes that can."""
    st.text(str(error))
    if error.axis and error.nearest is not None:
        said = f"{knobs.subscripted(error.axis)} = {error.nearest}"
        way = {error.axis: error.nearest}
        st.button(said, key="fit training", on_click=partial(knobs.set_values, way))


# --- buttons -------------------------------------------------------------------------------------


def _controls(scene: Scene, now: Training | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="training"):
        if now is not None and now.is_running:
            st.button("Stop", key="stop", on_click=partial(_stop, now))
        else:
            st.button("Train both", key="train", on_click=partial(_train, scene))
        COMPARED.segments("Compared")
        EPOCHS.segments("Epochs")


def _stop(now: Training) -> None:
    for run in now.runs:
        run.stop()


def _train(scene: Scene) -> None:
    """Starts both runs; a callback."""
    name, settings, seed = scene.entry.name, plain(scene.settings), scene.seed
    one, two = (
        TrainingRun(name, settings, seed, _epochs(), scene.device, loop="way", given=way)
        for way in chosen()
    )
    session_weights.replace_training(Training(name, settings, seed, one, second_run=two))


def chosen() -> tuple[Way, Way]:
    """Returns the settings of both runs."""
    return MODULE, FUNCTION[COMPARED.value]


def _epochs() -> int:
    return int(EPOCHS.value)


# --- what the runs tell --------------------------------------------------------------------------


def _reported(now: Training | None) -> tuple[tuple[TrainingRun, ...], Sequence[Told], int]:
    """Returns the runs, what each has reported, and the number of epochs."""
    runs = now.runs if now else ()
    steps = (runs[0].steps if runs else None) or _epochs()
    return runs, tuple(tuple(run.progress) for run in runs) or ((), ()), steps


def _shown(now: Training | None, given: Examples) -> None:
    """Shows the progress of both runs, and a comparison of their losses."""
    runs, told, steps = _reported(now)
    ways = tuple(run.given for run in runs) or chosen()
    without = tuple(
        session_weights.waiting_message(*each) for each in zip(runs, told, strict=False)
    )
    bars = "".join(
        _bar(way, own, steps, why or _where(own))
        for way, own, why in zip(ways, told, without or ("not trained yet",) * 2, strict=True)
    )
    over = now is not None and now.ended
    html_panel.render(f"{STYLE}{bars}{_compared(told, over)}{_data(given)}", "runs")


def _bar(way: Way, told: Told, steps: int, where: str) -> str:
    """Returns the name and progress of a run as text and a bar."""
    name, style = NAMES[way["way"]], ' class="second"' if way["way"] == "function" else ""
    key = f'<svg width="26" height="8" aria-hidden="true"><path d="M0 4H26"{style}/></svg>'
    said = f"{way['optimiser']}, {STARTS[way['start']]} · {where}"
    return (
        f'<div class="run"><p>{key}<b>{name}</b> <span role="status">{markup.text(said)}</span></p>'
        f'<progress max="{steps}" value="{len(told)}" aria-label="epochs of {name}"></progress>'
        "</div>"
    )


def _where(told: Told) -> str:
    last = told[-1]
    scores = [now.score for now in told if now.score is not None]
    unseen = f", unseen {scores[-1]:.3f}" if scores else ""
    epoch = f"epoch {last.step:,} of {last.steps:,}"
    return f"{epoch} · loss {last.loss:.3f}{unseen} · {last.seconds:.1f} s"


def _curves(now: Training | None) -> None:
    """Shows the losses of both runs, and their errors on test examples."""
    _, told, steps = _reported(now)
    named = dict(zip(NAMES.values(), told, strict=True))
    losses = {name: [(now.step, now.loss) for now in own] for name, own in named.items()}
    scores = {
        name: [(now.step, now.score) for now in own if now.score is not None]
        for name, own in named.items()
    }
    titles = {"Loss on what is learned from": losses, "Mean squared error on what is not": scores}
    for column, (title, lines) in zip(st.columns(2), titles.items(), strict=True):
        said = "; ".join(charts.curve_description(name, points) for name, points in lines.items())
        with column:
            figure = charts.curves(title, lines, steps, across="epoch")
            charts.render(figure, title, f"{title}: {said}")


def _compared(told: Sequence[Told], over: bool) -> str:
    """Returns whether the two curves agree, once both runs have ended."""
    one, two = ([now.loss for now in own] for own in told)
    both = min(len(one), len(two))
    if not (over and both):
        return "<p>&nbsp;</p>"
    if one[:both] == two[:both]:
        return (
            f"<p>The losses of both are <b>the same to the last bit</b>, at each of {both:,} "
            "epochs: what differs is only how it is written.</p>"
        )
    first = next(i for i in range(both) if one[i] != two[i])
    largest = max(abs(a - b) for a, b in zip(one, two, strict=False))
    return (
        f"<p>The losses are up to <b>{markup.digits(largest)}</b> apart, from epoch {first + 1} "
        "on. That is the optimiser and the start, not the way it is written: let both be the "
        "same, and see.</p>"
    )


def _data(given: Examples) -> str:
    return (
        f'<p class="muted">Learned from: {markup.text(given.source)}. An epoch is one '
        f"step on all {given.seen:,} examples, as in the notebook, at a rate of {RATE}; "
        f"{given.unseen:,} are kept apart. On those, always answering the mean has an error of "
        f"{markup.digits(given.mean)}.</p>"
    )
