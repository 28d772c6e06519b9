"""One network trained as a module and as functions, with both codes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import dedent, indent
from typing import Any

import streamlit as st
import torch
from torch import Tensor
from torch.func import grad

import ncd
from ncd.app.parts import charts, html_panel
from ncd.app.parts.charts import COLOURS
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene import session_weights
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.scene.session_weights import POLL_SECONDS, Training
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.explain.equation_proof import max_difference
from ncd.jobs.training_runs import TrainingRun, prepare
from ncd.language.terms import Term
from ncd.run.guard import check_run
from ncd.site import markup, source_listing
from ncd.systems.training.module_or_functional import (
    OPTIMISERS,
    RATE,
    function_step,
    houses,
    loss_of,
    module_step,
    network,
)
from ncd.systems.training.training_loop import TrainingProgress
from ncd.write.torch_source.source_file import lines

# --- The Side by side panel: one network, trained as a module and as pure functions

MODULE = {"way": "module", "optimiser": "Adam", "start": "torch"}
SLOW = 2.0  # seconds between new curves: Streamlit mounts a Plotly chart again for new data
FUNCTION = {  # the code for each setting; the first is that of the notebook
    "as in the notebook": {"way": "function", "optimiser": "SGD", "start": "He"},
    "one start": {"way": "function", "optimiser": "SGD", "start": "torch"},
    "one optimiser": {"way": "function", "optimiser": "Adam", "start": "He"},
    "both the same": {"way": "function", "optimiser": "Adam", "start": "torch"},
}
COMPARED_CODE = Choice("compared", tuple(FUNCTION), "as in the notebook")
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
ProgressReports = Sequence[TrainingProgress]


@dataclass(frozen=True)
class Examples:
    """The numbers of training and test examples, their description, and a baseline error."""

    pixel_count: int
    unseen: int
    source: str
    mean: float


def show_module_vs_function(scene: Scene) -> None:
    """Shows buttons, both runs and their curves; or why these sizes cannot be trained."""
    settings = owned_settings(scene.settings)
    try:
        given = cached_value(
            "examples",
            scene.term,
            scene.seed,
            make=lambda: run_in_thread(lambda: examples(settings, scene.seed), long=True),
        )
    except NCDError as error:
        refuse(error)
        return
    prepare()
    now = session_weights.training(scene.entry, settings, scene.seed)
    going = now is not None and now.is_running
    _controls(scene, now)
    with st.container():  # a fragment needs a container to draw itself again
        st.fragment(_show_progress, run_every=POLL_SECONDS if going else None)(now, given)
    with st.container():
        st.fragment(_curves, run_every=SLOW if going else None)(now)


MODULE_VS_FUNCTION = Panel(
    "Side by side", show_module_vs_function, controls=(COMPARED_CODE, EPOCHS)
)


def owned_settings(settings: Mapping[str, int]) -> dict[str, int]:
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
        said = f"{knobs.subscript_name(error.axis)} = {error.nearest}"
        way = {error.axis: error.nearest}
        st.button(said, key="fit training", on_click=partial(knobs.set_values, way))


# --- buttons -------------------------------------------------------------------------------------


def _controls(scene: Scene, now: Training | None) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="training"):
        if now is not None and now.is_running:
            st.button("Stop", key="stop", on_click=partial(_stop, now))
        else:
            st.button("Train both", key="train", on_click=partial(_train, scene))
        COMPARED_CODE.segments("Compared")
        EPOCHS.segments("Epochs")


def _stop(now: Training) -> None:
    for run in now.runs:
        run.stop()


def _train(scene: Scene) -> None:
    """Starts both runs; a callback."""
    name, settings, seed = scene.entry.name, owned_settings(scene.settings), scene.seed
    one, two = (
        TrainingRun(name, settings, seed, _epochs(), scene.device, loop="way", given=way)
        for way in run_settings()
    )
    session_weights.replace_training(Training(name, settings, seed, one, second_run=two))


def run_settings() -> tuple[Way, Way]:
    """Returns the settings of both runs."""
    return MODULE, FUNCTION[COMPARED_CODE.value]


def _epochs() -> int:
    return int(EPOCHS.value)


# --- what the runs tell --------------------------------------------------------------------------


def _run_progress(
    now: Training | None,
) -> tuple[tuple[TrainingRun, ...], Sequence[ProgressReports], int]:
    """Returns the runs, what each has reported, and the number of epochs."""
    runs = now.runs if now else ()
    steps = (runs[0].steps if runs else None) or _epochs()
    return runs, tuple(tuple(run.progress) for run in runs) or ((), ()), steps


def _show_progress(now: Training | None, given: Examples) -> None:
    """Shows the progress of both runs, and a comparison of their losses."""
    runs, told, steps = _run_progress(now)
    ways = tuple(run.given for run in runs) or run_settings()
    without = tuple(
        session_weights.waiting_message(*each) for each in zip(runs, told, strict=False)
    )
    bars = "".join(
        _bar(way, own, steps, why or _epoch_text(own))
        for way, own, why in zip(ways, told, without or ("not trained yet",) * 2, strict=True)
    )
    over = now is not None and now.has_ended
    html_panel.render(f"{STYLE}{bars}{_loss_comparison(told, over)}{_data(given)}", "runs")


def _bar(way: Way, told: ProgressReports, steps: int, where: str) -> str:
    """Returns the name and progress of a run as text and a bar."""
    name, style = NAMES[way["way"]], ' class="second"' if way["way"] == "function" else ""
    key = f'<svg width="26" height="8" aria-hidden="true"><path d="M0 4H26"{style}/></svg>'
    said = f"{way['optimiser']}, {STARTS[way['start']]} · {where}"
    return (
        f'<div class="run"><p>{key}<b>{name}</b> <span role="status">{markup.text(said)}</span></p>'
        f'<progress max="{steps}" value="{len(told)}" aria-label="epochs of {name}"></progress>'
        "</div>"
    )


def _epoch_text(told: ProgressReports) -> str:
    last = told[-1]
    scores = [now.score for now in told if now.score is not None]
    unseen = f", unseen {scores[-1]:.3f}" if scores else ""
    epoch = f"epoch {last.step:,} of {last.steps:,}"
    return f"{epoch} · loss {last.loss:.3f}{unseen} · {last.seconds:.1f} s"


def _curves(now: Training | None) -> None:
    """Shows the losses of both runs, and their errors on test examples."""
    _, told, steps = _run_progress(now)
    named = dict(zip(NAMES.values(), told, strict=True))
    losses = {name: [(now.step, now.loss) for now in own] for name, own in named.items()}
    scores = {
        name: [(now.step, now.score) for now in own if now.score is not None]
        for name, own in named.items()
    }
    titles = {"Loss on what is learned from": losses, "Mean squared error on what is not": scores}
    for column, (title, curves) in zip(st.columns(2), titles.items(), strict=True):
        said = "; ".join(charts.curve_description(name, points) for name, points in curves.items())
        with column:
            figure = charts.curves(title, curves, steps, across="epoch")
            charts.render(figure, title, f"{title}: {said}")


def _loss_comparison(told: Sequence[ProgressReports], over: bool) -> str:
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
        f"step on all {given.pixel_count:,} examples, as in the notebook, at a rate of {RATE}; "
        f"{given.unseen:,} are kept apart. On those, always answering the mean has an error of "
        f"{markup.digits(given.mean)}.</p>"
    )


# --- The Two codes panel: code that trains a module, beside code with pure functions

COMMENTS = {
    "module": "# The model and the optimiser change in place.",
    "function": "# What is given stays as it is; what is new comes back.",
}


@dataclass(frozen=True)
class CodeDifferences:
    """The largest differences between both ways, in outputs and in gradients."""

    outputs: float
    gradients: float


def show_training_code(scene: Scene) -> None:
    """Shows both codes in two columns, and the differences of their results."""
    module, function = module_and_function(scene)
    found = cached_value(
        "two codes",
        module,
        scene.seed,
        make=lambda: scene.run_in_pool(lambda: compare_codes(scene)),
    )
    held, given = (OPTIMISERS[way["optimiser"]] for way in run_settings())
    name = held[0].__name__
    optimiser = f"torch.optim.{name}(model.parameters(), lr={RATE})"
    made = f"model = SimpleMLP()\noptimiser = {optimiser}"
    left = (_class(module), made, COMMENTS["module"], plain_source(module_step))
    pure = (plain_source(loss_of), plain_source(function_step), plain_source(given[1]))
    rate = f"RATE = {RATE}"
    right = (_function(function), rate, COMMENTS["function"], *pure)
    columns = "".join(
        f"<section><h2>{title}</h2>{_listing(title, parts, term)}</section>"
        for title, parts, term in (("nn.Module", left, module), ("torch.func", right, function))
    )
    html_panel.render(
        f'{_summary_html(scene, found)}<div class="listings">{columns}</div>', "two codes"
    )


TRAINING_CODE = Panel("Two codes", show_training_code)


def module_and_function(scene: Scene) -> tuple[Term, Term]:
    """Returns the network that owns its weights, and the one that takes them as inputs."""
    module, function = (
        scene.entry.build(**{**scene.settings, "function": given}) for given in (0, 1)
    )
    return module, function


def compare_codes(scene: Scene) -> CodeDifferences:
    """Runs both with the same weights and examples, and compares outputs and gradients."""
    module, function = (ncd.compile(term, scene.seed) for term in module_and_function(scene))
    (x,) = ncd.example_inputs(module.term, scene.seed)
    weights = dict(module.named_parameters())
    free = {name: w.detach() for name, w in weights.items()}
    y = torch.zeros(module.term.cod[0].shape)
    held, given = module(x), function(x, *free.values())
    torch.nn.functional.mse_loss(held, y).backward()
    pure = grad(loss_of)(free, module, x, y)
    gradients = max(max_difference(_gradient(w), pure[name]) for name, w in weights.items())
    return CodeDifferences(max_difference(held, given), gradients)


def _gradient(weights: Tensor) -> Tensor:
    assert weights.grad is not None
    return weights.grad


# --- the codes -----------------------------------------------------------------------------------


def plain_source(function: Callable[..., Any]) -> str:
    """Returns the source of a function without its type annotations and docstring.

    >>> print(plain_source(loss_of))
    def loss_of(weights, model, x, y):
        found = functional_call(model, weights, (x,))
        return F.mse_loss(found, y)
    """
    (found,) = ast.parse(dedent(inspect.getsource(function))).body
    assert isinstance(found, ast.FunctionDef)
    found.returns, found.body = None, found.body[1:]
    for argument in found.args.args:
        argument.annotation = None
    return ast.unparse(found)


def _class(term: Term) -> str:
    """Returns the source of a term's class, without imports."""
    text = [line.text for line in lines(term)]
    first = next(i for i, line in enumerate(text) if line.startswith("class "))
    return "\n".join(text[first:])


def _function(term: Term) -> str:
    """Returns the source of a term as a function."""
    tree = ast.parse(_class(term))
    forward = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    names = ", ".join(argument.arg for argument in forward.args.args[1:])
    body = "\n".join(map(ast.unparse, forward.body))
    return f"def mlp_fn({names}):\n{indent(body, '    ')}"


def _listing(title: str, parts: Sequence[str], term: Term) -> str:
    """Returns pieces of coloured source, whose axes are highlighted with the diagram's."""
    text = "\n\n".join(parts).split("\n")
    rows = source_listing.coloured(text, source_listing.identifiers(elaborate(term)))
    body = "".join(map(_line, rows))
    return f'<div class="code" role="group" aria-label="the code of {title}">{body}</div>'


def _line(row: str) -> str:
    """Returns a line of code; what does not fit its column goes on further to the right."""
    indent = len(row) - len(row.lstrip(" "))
    whole = row.replace("-&gt;", '<span class="arrow">-&gt;</span>')  # or it breaks at its hyphen
    return f'<div class="line" style="--hang:{indent + 4}ch">{whole or " "}</div>'


def _summary_html(scene: Scene, found: CodeDifferences) -> str:
    examples = markup.plural(scene.settings["b"], "random example")
    return (
        f"<p>The same weights, from seed {scene.seed}, inside the module and handed to the "
        f"function, on {examples}: the outputs are <b>{markup.digits(found.outputs)}</b> apart, "
        "the gradients of <code>backward()</code> and of <code>grad</code> are "
        f"<b>{markup.digits(found.gradients)}</b> apart. This is the code that trains in "
        "<b>Side by side</b>; <code>functional_call</code> runs the module with weights that are "
        "not its own, so that nobody has to write <code>mlp_fn</code>.</p>"
    )
