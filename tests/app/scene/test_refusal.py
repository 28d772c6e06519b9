"""The settings that are offered where a system cannot be built."""

from __future__ import annotations

import pytest

from ncd import Id, Linear, Softmax, catalogue
from ncd.app.scene import refusal
from ncd.app.scene.own_entry import custom_entry
from ncd.app.scene.scene import build_term, limit_refusal
from ncd.circuit.elaborate import elaborate
from ncd.circuit.knob import Knob
from ncd.errors import LimitError, MismatchError, NCDError
from ncd.run.guard import ValuesEnd, check_run


def test_only_knobs_that_have_a_part_in_an_error_are_tried() -> None:
    entry = catalogue["unet"]
    _, found = build_term(entry, {**entry.settings({}), "x": 33})
    assert found is not None
    assert found.error.fact.startswith("an image of 33 × 33 cannot be halved")
    part = {knob.name: refusal._matters(found, knob) for knob in entry.knobs if knob.is_size}
    assert part == {"depth": True, "c": False, "x": True, "y": False}
    assert found.fixes == ({"x": 32},)


PUBLISHED = [(entry.name, preset.name) for entry in catalogue.values() for preset in entry.presets]


@pytest.mark.few(12)
@pytest.mark.parametrize(("name", "preset"), [*PUBLISHED, ("multi-head-attention", "")])
def test_no_cure_makes_a_size_smaller_than_the_page_has_it_at_first(name: str, preset: str) -> None:
    entry = catalogue[name]
    long = {"y": 65536, "x": 65536}
    settings = entry.settings(entry.preset(preset).knobs if preset else long)
    term, _ = build_term(entry, settings)
    assert term is not None
    try:
        check_run(elaborate(term), watched=True)
    except LimitError as error:
        ways = refusal.Refusal(error, None, entry, settings).fixes
        assert ways
        knobs = {knob.name: knob for knob in entry.knobs}
        for way in ways:
            assert refusal.works(entry, {**settings, **way})
            assert all(knobs[one].default <= value or len(way) > 1 for one, value in way.items())


def test_a_small_llama_is_small_in_all_its_sizes() -> None:
    entry = catalogue["llama"]
    settings = entry.settings(entry.preset("llama-3-8b").knobs)
    error = LimitError("a run takes at least 60,000,000,000 bytes of memory", cure="less")
    (way,) = refusal.Refusal(error, None, entry, settings).fixes
    assert way == {"n": 6, "m": 256, "k": 64, "d": 512, "v": 1024}
    assert all(knob.min <= way.get(knob.name, knob.default) <= knob.max for knob in entry.knobs)


def test_no_setting_is_offered_that_torch_refuses_too() -> None:
    entry = custom_entry('Opaque("b:2 d:4 -> b k:2", "aten.glu", "a")')
    settings = entry.settings({"d": 5})
    term, _ = build_term(entry, settings)
    assert term is not None
    found = limit_refusal(entry, settings, term)
    assert found is not None and "torch refuses it: Halving dimension" in found.error.fact
    assert found.fixes == ({"d": 4},)
    check_run(elaborate(entry.build(**{**settings, **found.fixes[0]})), watched=True)


MHA = catalogue["multi-head-attention"]


def refused(error: NCDError) -> refusal.Refusal:
    return refusal.Refusal(error, None, MHA, MHA.settings({}))


def too_large(fact: str, need: int, limit: int) -> LimitError:
    error = LimitError(fact, cure="less")
    error.need, error.limit, error.where = need, limit, "Softmax"
    return error


NO_RUN = "Shapes, cost and source need no run."


@pytest.mark.parametrize(
    ("error", "title", "reason"),
    [
        (MismatchError("y is not x", cure="x"), "This does not fit yet.", "y is not x. Try x."),
        (
            ValuesEnd("this box is drawn only", cure="an op"),
            "Values end here.",
            "this box is drawn only. Try an op.",
        ),
        (
            LimitError("it is too long", cure="less"),
            "Too large to run here.",
            "it is too long. Try less.",
        ),
        (
            too_large("a run takes 2,000,000,000 bytes", 2 * 10**9, 10**9),
            "Too large to run here.",
            "A run takes 2 GB of memory, forward and backward, most of it in Softmax, and this "
            f"server allows 1 GB (NCD_MAX_BYTES). {NO_RUN}",
        ),
        (
            too_large("a run takes at least 3,000,000 operations", 3 * 10**6, 10**6),
            "Too large to run here.",
            "A run takes at least 3 MFLOP, most of it in Softmax, and this server allows 1 MFLOP "
            f"(NCD_MAX_FLOPS). {NO_RUN}",
        ),
    ],
)
def test_a_refusal_says_in_plain_words_what_does_not_work(
    error: NCDError, title: str, reason: str
) -> None:
    assert (refused(error).title, refused(error).reason) == (title, reason)


def test_no_size_brings_the_values_of_a_box_that_is_only_drawn() -> None:
    assert refused(ValuesEnd("this box is drawn only", cure="an op")).fixes == ()


@pytest.mark.parametrize(
    ("most", "above", "least", "multiple", "size"),
    [
        (7, 100, 1, 1, 7),
        (1, 100, 1, 1, 1),
        (12_345, 10**6, 1, 1, 12_000),
        (12_345, 10**6, 1, 64, 11_968),
        (12_345, 10**6, 12_340, 1, 12_340),  # and no less than it has to be
        (12_345, 10**6, 12_346, 1, None),
        (12_345, 12_345, 12_345, 1, None),  # there is nothing below
    ],
)
def test_the_largest_size_that_fits_is_found_and_rounded(
    most: int, above: int, least: int, multiple: int, size: int | None
) -> None:
    knob = Knob("n", 1, 10, 1, multiple=multiple)
    assert refusal.largest(knob, above, lambda n: n <= most, least) == size


def test_a_round_size_that_does_not_fit_is_not_offered() -> None:
    size = refusal.largest(Knob("n", 1, 10, 1), 1000, lambda n: n <= 345 and n % 10 > 0, 1)
    assert size is not None and 300 < size <= 345 and size % 10


@pytest.mark.parametrize(
    ("at", "fitting", "nearest"),
    [
        (8, {6, 12}, 6),
        (8, {4, 10}, 10),
        (8, {6, 10}, 6),
        (8, {8, 12}, 12),  # the one that does not work is no cure
        (8, {7, 20}, 20),  # no step leads to 7
        (8, {1, 0}, None),
        (8, {8 + 2 * refusal.REACH}, 8 + 2 * refusal.REACH),
        (8, {10 + 2 * refusal.REACH}, None),
        (500, {18}, 18),  # from the end of the slider
    ],
)
def test_the_nearest_size_that_fits_is_a_few_steps_away(
    at: int, fitting: set[int], nearest: int | None
) -> None:
    knob = Knob("n", 2, 20, 8, step=2)
    assert refusal._nearest_fitting(knob, at, fitting.__contains__) == nearest


def test_the_op_that_fails_is_known_without_its_sizes() -> None:
    drawn = Id("m:3") >> Linear("m -> k:2", "A") >> Softmax("k")
    for op in (Softmax("k"), Softmax("k:7"), Softmax("~k:7")):
        assert refusal.failing_op_id(MismatchError("no").with_context(op=op), drawn) == "n1"
    for op in (Softmax("m"), Linear("m -> k", "B")):
        assert refusal.failing_op_id(MismatchError("no").with_context(op=op), drawn) is None
    known = MismatchError("no").with_context(op=Softmax("k"))
    assert refusal.failing_op_id(known, None) is None
    assert refusal.failing_op_id(MismatchError("no"), drawn) is None
