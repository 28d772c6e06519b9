"""Training on a page: the numbers shown are then the trained ones, and only this visitor's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from ncd.app.panels.learning import mistakes, training
from ncd.app.parts import charts
from ncd.app.scene.session_weights import TRAINING_KEY, Training
from ncd.systems.training.task_data import Data
from ncd.systems.training.trained_weights import read_weights, write_weights
from ncd.systems.training.training_loop import TaskTraining
from tests.app.page.test_pages import fine, page
from tests.jobs.test_runs import ended

NAME, SMALL = "image-recogniser", {"x": 8, "n": 32}
QUERY = {"x": "8", "n": "32", "panel": "Training", "steps": "100"}
UNTRAINED = "Untrained weights"


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """As runs have, so that the numbers are the same."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def fit(one_thread: None) -> TaskTraining:
    """What a page's run has to come to."""
    found = TaskTraining(NAME, SMALL, seed=0, steps=100)
    list(found)
    return found


def state(app: AppTest) -> Training:
    found: Training = app.session_state[TRAINING_KEY]
    return found


def trained(app: AppTest) -> AppTest:
    fine(app.button(key="train").click().run())
    run = state(app).run
    assert run is not None
    assert not ended(run).failure
    fine(app.run())
    return app


def told(app: AppTest) -> str:
    """All that the page's own components are given to show."""
    return " ".join(str(found.proto) for found in app.get("bidi_component"))


def panel(app: AppTest, name: str) -> str:
    """What a panel says, opened by its tab."""
    app.session_state["panel"] = name
    fine(app.run())
    return told(app)


def test_a_link_s_seed_leads_to_the_same_numbers(fit: TaskTraining) -> None:
    app = trained(page(NAME, **QUERY))
    learned = state(app).learned_weights
    assert learned is not None and "trained for 100 steps" in panel(app, "Values")
    twin = TaskTraining(NAME, SMALL, seed=1).module
    read_weights(twin, learned.weights)
    for mine, its in zip(twin.parameters(), fit.module.parameters(), strict=True):
        assert torch.equal(mine, its)
    assert UNTRAINED not in told(app)
    assert UNTRAINED in panel(page(NAME, **QUERY), "Values")  # another visitor's page


def test_other_settings_are_untrained_and_these_stay_trained() -> None:
    app = trained(page(NAME, **QUERY))
    app.number_input(key="seed").set_value(1)
    assert UNTRAINED in panel(app, "Values")
    app.number_input(key="seed").set_value(0)
    assert UNTRAINED not in panel(app, "Values")
    app.slider(key="n").set_value(40)
    assert UNTRAINED in panel(app, "Values")


def test_a_run_ends_with_a_button_and_keeps_what_it_learned() -> None:
    app = page(NAME, **{**QUERY, "steps": "3000"})
    fine(app.button(key="train").click().run())
    run = state(app).run
    assert run is not None
    while not run.progress:
        run.poll(1)
    fine(app.button(key="stop").click().run())
    while not run.ended:
        run.poll(1)
    fine(app.run())
    learned = state(app).learned_weights
    assert learned is not None and learned.summary == f"trained for {len(run.progress):,} steps"
    assert len(run.progress) < 3000
    assert run.progress[-1].score is not None


def test_a_run_that_ends_while_the_page_is_made_is_shown_in_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the page begins with holds to its end; then it is made anew."""
    app = page(NAME, **QUERY)
    shown = training.bar

    def late(*given: Any) -> str:
        run = state(app).run
        while run is not None and not run.ended:
            run.poll(1)
        return shown(*given)

    monkeypatch.setattr(training, "bar", late)
    fine(app.button(key="train").click().run())
    assert state(app).learned_weights is not None
    assert app.button(key="train") and not [b for b in app.button if b.key == "stop"]
    assert "trained for 100 steps" in panel(app, "Values")


def test_a_run_of_other_settings_ends_quietly() -> None:
    app = page(NAME, **QUERY)
    fine(app.button(key="train").click().run())
    run = state(app).run
    assert run is not None
    app.slider(key="n").set_value(40).run()
    while not run.ended:
        run.poll(1)
    fine(app.run())
    assert UNTRAINED in panel(app, "Values")
    app.slider(key="n").set_value(32)
    assert UNTRAINED not in panel(app, "Values")


def test_a_run_ends_when_its_page_is_left() -> None:
    app = page(NAME, **{**QUERY, "steps": "3000"})
    fine(app.button(key="train").click().run())
    run = state(app).run
    assert run is not None
    app.query_params.clear()
    fine(app.switch_page("pages/legend.py").run())
    assert run.ended and run.failure == "left"


def test_what_cannot_be_trained_says_what_would() -> None:
    app = page(NAME, **{**QUERY, "k": "3"})
    fine(app)
    assert any(text.value == "k is 3, but there are ten digits. Try k = 10." for text in app.text)
    app.button(key="fit training").click().run()
    fine(app)
    assert app.slider(key="k").value == 10
    assert app.button(key="train")


def test_what_would_not_fit_in_memory_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", "10000000")
    app = page(NAME, **{**QUERY, "x": "28"})
    fine(app)
    (said,) = [text.value for text in app.text if "NCD_MAX_BYTES" in text.value]
    assert said.startswith("training takes ")


def test_weights_go_out_and_come_in_again(fit: TaskTraining) -> None:
    app = page(NAME, **QUERY)
    file = write_weights(fit.module, {})
    app.file_uploader(key=training.FILE).set_value(("<b>.safetensors", file, "")).run()
    fine(app)
    learned = state(app).learned_weights
    assert learned is not None and learned.weights == file
    said = panel(app, "Values")
    assert "from the file &lt;b&gt;.safetensors" in said and UNTRAINED not in said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x80\x04.", "this is no safetensors file"),
        (write_weights(torch.nn.Linear(2, 3), {}), "Try weights that were trained at these knobs"),
    ],
)
def test_a_wrong_file_is_told_and_changes_nothing(data: bytes, said: str) -> None:
    app = page(NAME, **QUERY)
    app.file_uploader(key=training.FILE).set_value(("w.safetensors", data, "")).run()
    fine(app)
    assert any(said in text.value for text in app.text)
    assert TRAINING_KEY not in app.session_state


# --- what it gets wrong --------------------------------------------------------------------------


@torch.no_grad()
def test_the_digits_read_wrong_are_shown_the_surest_first(fit: TaskTraining) -> None:
    chances = fit.module(fit.data.unseen)
    wrong, pictures = mistakes._digits(fit.data, chances, fit.data.answers)
    assert wrong == round((1 - fit.score()) * len(fit.data.answers)) > 0
    sure, found = chances.max(1)
    worst = int(torch.where(found == fit.data.answers, 0, sure).argmax())
    first = pictures[0].caption
    assert first == f"{fit.data.answers[worst]} → {found[worst]}, {float(sure[worst]):.0%}"
    assert len(pictures) == min(wrong, mistakes.MAX_PICTURES)


def test_the_masks_with_the_most_wrong_pixels_come_first() -> None:
    answers = torch.zeros(3, 4, 4, dtype=torch.long)
    found = answers.clone()
    found[1, :2], found[2, 0, 0] = 1, 2
    pictures = torch.rand(3, 1, 4, 4)
    own = Data(lambda: (pictures, answers), pictures, answers, "")
    scores = torch.nn.functional.one_hot(found, 3).movedim(-1, 1)
    wrong, shown = mistakes._masks(own, scores, answers)
    assert wrong == 2
    assert [picture.caption for picture in shown] == ["50.0%", "93.8%", "100.0%"]


def test_words_are_broken_into_lines_and_characters_are_not() -> None:
    words = mistakes.SequenceAnswers(("keys", "sings"), (("·", False), ("sing", True)))
    assert words.html == (
        '<code class="spaced"><span>keys\n·</span><span>sings\n<mark>sing</mark></span></code>'
    )
    assert (
        mistakes.SequenceAnswers(("[", "]"), (("]", False), ("·", False))).html
        == "<code>[]\n]·</code>"
    )


def test_a_system_without_mistakes_promises_none() -> None:
    blank = mistakes.SequenceAnswers((" ",), ((" ", False),))
    told = mistakes._answers_html(mistakes.Mistakes(512, 0, 1.0, "", (), blank))
    assert "all of them in 512 sequences. None went wrong, or it would stand here: what was" in told
    told = mistakes._answers_html(mistakes.Mistakes(512, 3, 0.99, "", (), blank))
    assert "in 509 sequences. Below are those that went worst, 12 at most: what was read" in told


def test_the_bar_says_how_far_a_run_is() -> None:
    html = training.bar("<b>", 10, 300)
    assert "&lt;b&gt;" in html and '<progress max="300" value="10"' in html


def test_curves_are_of_what_has_come() -> None:
    figure = charts.curves("Loss", {"this run": [(i, 2.0 / i) for i in range(1, 11)]}, 300)
    (line,) = figure.data
    assert line.x == tuple(range(1, 11)) and line.y[:2] == (2.0, 1.0)
    assert figure.layout.xaxis.range == (0, 300) and figure.layout.yaxis.range == (0, 2.1)
    assert not figure.layout.showlegend
    empty = charts.curves("Loss", {"this run": []}, 300)
    assert empty.data[0].x == () and empty.layout.yaxis.range == (0, 1.05)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_leaves_a_gap(odd: float) -> None:
    (line,) = charts.curves("Loss", {"": [(1, 1.0), (2, odd), (3, 2.0)]}, 3).data
    assert line.y == (1.0, None, 2.0)


def test_a_long_curve_is_thinned_but_keeps_its_ends() -> None:
    (line,) = charts.curves("Loss", {"": [(i, 1.0) for i in range(1, 3001)]}, 3000).data
    assert len(line.x) <= charts.MAX_POINTS + 1 and (line.x[0], line.x[-1]) == (1, 3000)


def test_runs_lie_over_each_other_in_colours_and_dashes_of_their_own() -> None:
    figure = charts.curves("Loss", {"this run": [(1, 1.0)], "before": [(1, 2.0)]}, 1)
    assert figure.layout.showlegend
    assert len({line.line.color for line in figure.data}) == 2
    assert len({line.line.dash for line in figure.data}) == 2


def test_a_second_run_is_drawn_over_the_first() -> None:
    app = page(NAME, **QUERY)
    for _ in range(2):
        fine(app.button(key="train").click().run())
        run = state(app).run
        assert run is not None
        while not run.ended:
            run.poll(1)
        fine(app.run())
    loss = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert [line["name"] for line in loss["data"]] == ["this run", "100 steps before"]
    assert loss["data"][0]["y"] == loss["data"][1]["y"]  # the seed decides all of it


def test_a_large_system_is_tried_once_it_is_trained() -> None:
    app = page("unet", x="64", c="8")
    fine(app)
    assert mistakes.LATER in told(app)
    assert app.button(key="train")
