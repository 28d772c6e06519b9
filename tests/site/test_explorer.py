"""The widget's traits: what moves with a size, a selection, a fold."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
import torch
from torch import nn

import ncd
from ncd.site.widget import Explorer, _rows


def test_a_size_draws_and_runs_anew() -> None:
    widget = ncd.explore("multi-head-attention", y=5, x=7)
    assert (widget.sizes["y"], widget.sizes["h"]) == (5, 4)
    widget.selected = "n5"  # the softmax, whose first output is shown
    before = widget.drawing["svg"]
    module = ncd.run.guard.compile(widget.term)
    values = ncd.trace(module, *ncd.example_inputs(widget.term)).values
    weights = values[ncd.elaborate(widget.term).cell("n5").outputs[0].id]
    want = weights.reshape(-1, *weights.shape[-2:])[0]
    torch.testing.assert_close(torch.tensor(widget.value["rows"]), want)
    widget.sizes = widget.sizes | {"y": 6}
    assert widget.drawing["svg"] != before
    assert "y 6" in widget.value["title"] and widget.term.dom[0].shape == (6, 128)


def test_values_stand_on_the_wires_and_follow_the_sizes() -> None:
    widget = ncd.explore("multi-head-attention", y=5, x=7)
    assert "thumbnail" not in widget.drawing["svg"]
    widget.wire_values = True
    module = ncd.run.guard.compile(widget.term)
    run = ncd.trace(module, *ncd.example_inputs(widget.term))
    pictures = ncd.thumbnails(module, run)
    drawn = ncd.draw(widget.term, thumbnails=pictures, title=widget.title)
    assert drawn.svg(fonts=False) == widget.drawing["svg"]
    light = widget.drawing["svg"]
    widget.dark = True
    assert widget.drawing["svg"] != light
    widget.sizes = widget.sizes | {"y": 6}
    assert "y × m, 768 numbers" in widget.drawing["svg"]
    widget.sizes = widget.sizes | {"m": 10**9}
    assert "thumbnail" not in widget.drawing["svg"] and "NCD_MAX_FLOPS" in widget.told


def test_it_takes_the_options_of_a_drawing() -> None:
    """All of them, with the same defaults but for the sizes on wires and the theme of the page."""
    own, other = (inspect.signature(f).parameters for f in (ncd.explore, ncd.draw))
    assert own["labels"].default == "both" and own["dark"].default is None
    for name in {*other} - {"term", "labels", "dark"}:
        assert own[name].default == other[name].default, name
    look: dict[str, Any] = {
        "labels": "sizes",
        "folded": ["Scaled Dot-Product Attention"],
        "width": "12cm",
        "notes": {"Copy": "keys and values"},
        "bands": True,
        "dark": True,
        "palette": "bw",
        "mark": "n1",
        "formats": ncd.Formats(activations="bfloat16"),
        "title": "Two heads",
    }
    widget = ncd.explore("multi-head-attention", h=2, **look)
    for h in (2, 4):  # they stay when a size moves
        widget.sizes = widget.sizes | {"h": h}
        drawn = ncd.draw(ncd.catalogue["multi-head-attention"].build(h=h), **look)
        assert widget.drawing["svg"] == drawn.svg(fonts=False)
    assert (widget.title, widget.dark, widget.follows_page) == ("Two heads", True, False)
    assert ncd.explore(ncd.Softmax("x:3")).follows_page
    boxes = ncd.draw(widget.term, **look).glyphs
    (shut,) = (glyph.node for glyph in boxes if glyph.node[0] == "f")
    assert widget.drawing["folds"][shut] == []  # a press opens what a title has folded
    with pytest.raises(ncd.UnknownNameError):
        ncd.explore("multi-head-attention", notes={"Nothing": "here"})


def test_pictures_that_are_given_are_those_of_the_first_sizes() -> None:
    term = ncd.Softmax("x:3")
    module = ncd.run.guard.compile(term)
    pictures = ncd.thumbnails(module, ncd.trace(module, torch.tensor([1.0, 2.0, 4.0])))
    widget = ncd.explore(term, thumbnails=pictures)
    assert widget.drawing["svg"] == ncd.draw(term, thumbnails=pictures).svg(fonts=False)
    first = widget.drawing["svg"]
    widget.wire_values = True
    assert "thumbnail" in widget.drawing["svg"] and widget.drawing["svg"] != first
    widget.wire_values = False
    assert widget.drawing["svg"] == first
    widget.sizes = {"x": 4}
    assert "thumbnail" not in widget.drawing["svg"]


def test_values_are_in_the_formats_that_are_given() -> None:
    formats = ncd.Formats(weights="int4", activations="float8")
    net = nn.Linear(4, 3)
    for system, own in ((net, net), (ncd.Linear("m:4 -> k:3", "L"), None)):
        inputs = (torch.ones(2, 4),) if own else ()
        widget = ncd.explore(system, *inputs, formats=formats)  # type: ignore[arg-type]
        widget.selected = ncd.elaborate(widget.term).outputs[0].id
        module = ncd.run.guard.compile(widget.term, formats=formats)
        if own:
            found = ncd.from_torch(net, *inputs).module()
            module = ncd.run.module.with_rounding(found, formats)
        want = module(*ncd.example_inputs(widget.term))
        torch.testing.assert_close(torch.tensor(widget.value["rows"]), want.reshape(-1, 3))


def test_sizes_that_do_not_fit_leave_the_drawing() -> None:
    widget = ncd.explore("multi-head-attention")
    before, term = widget.drawing, widget.term
    widget.sizes = widget.sizes | {"h": 0}
    assert widget.told == "h is 0, but it is 1 or more. Try h = 1."
    assert (widget.drawing, widget.term) == (before, term)
    widget.sizes = widget.sizes | {"h": 2}
    assert widget.told == ""


def test_blocks_fold_and_unfold() -> None:
    widget = ncd.explore("multi-head-attention")
    (id, *_) = (id for id, shut in widget.drawing["folds"].items() if shut == [id])
    widget.folded = widget.drawing["folds"][id]
    assert len(widget.drawing["svg"]) < len(ncd.draw(widget.term, "both").svg(fonts=False))
    assert widget.drawing["folds"][id] == []


def test_a_module_is_read_with_its_weights() -> None:
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    widget = ncd.explore(net, torch.ones(2, 4))
    assert widget.title == "Sequential" and set(widget.sizes.values()) == {2, 4, 3}
    circuit = ncd.elaborate(widget.term)
    widget.selected = circuit.outputs[0].id
    found = ncd.example_inputs(widget.term)
    torch.testing.assert_close(torch.tensor(widget.value["rows"]), net(*found).detach())


def test_only_independent_sizes_move() -> None:
    term = ncd.Axes(k=3, h=2, d="k*h")(ncd.Linear("m:4 -> k h", "Q") >> ncd.Linear("k h -> d", "W"))
    widget = ncd.explore(term)
    assert dict(widget.sizes) == {"m": 4, "k": 3, "h": 2, "d": 6}
    assert [slider["max"] for slider in widget.sliders] == [16, 16, 16, 24]  # four times, or 16
    (large,) = ncd.explore(ncd.Softmax("x:30")).sliders
    assert (large["min"], large["value"], large["max"]) == (1, 30, 120)
    widget.sizes = widget.sizes | {"h": 5}
    first = ncd.elaborate(widget.term).cells[0].outputs[0].array
    assert (first.shape, widget.term.cod[0].shape) == ((3, 5), (6,))


def test_long_arrays_are_cut() -> None:
    widget = ncd.explore(ncd.Softmax("x:100"))
    widget.selected = "v1"
    assert len(widget.value["rows"][0]) == 64
    assert widget.value["said"] == "the first 64 rows and columns"


def test_without_a_kernel_there_is_a_picture_with_its_description() -> None:
    widget = ncd.explore("multi-head-attention", h=8)
    shown = widget._repr_mimebundle_()
    assert shown and "application/vnd.jupyter.widget-view+json" in shown[0]
    picture = ncd.draw(widget.term, "both", title=widget.title)._repr_mimebundle_()
    assert shown[0]["text/html"] == picture["text/html"]
    assert shown[0]["text/plain"] == picture["text/plain"]


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ncd.UnknownNameError) as error:
        ncd.explore("multi-head-attention", q=3)
    assert str(error.value).startswith("explore: there is no size 'q'. Try ")
    with pytest.raises(ncd.ParseError) as wrong:
        ncd.explore(3)  # type: ignore[arg-type]
    assert str(wrong.value) == (
        'explore: 3 is no name, term or module. Try ncd.explore("multi-head-attention").'
    )


SLIDER = {"name": "m", "min": 1, "max": 9, "step": 1, "value": 3}
NO_SLIDERS = (
    "but it is dicts with a name and whole numbers. "
    'Try [{"name": "h", "min": 1, "max": 16, "step": 1, "value": 4}].'
)
NO_TERM = 'Try ncd.catalogue["tensors"].build.'


def softmax(m: int) -> ncd.Term:
    return ncd.Softmax(f"m:{m}")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"title": 3}, "Explorer: title is 3, but it is text. Try text."),
        ({"sliders": 3}, f"Explorer: sliders is 3, {NO_SLIDERS}"),
        ({"sliders": ""}, f"Explorer: sliders is '', {NO_SLIDERS}"),
        ({"sliders": [SLIDER, 3]}, f"…, {NO_SLIDERS}"),
        ({"sliders": [{**SLIDER, "step": "1"}]}, f"…, {NO_SLIDERS}"),
        (
            {"build": 3},
            f"Explorer: build is 3, but it is a function from sizes to a term. {NO_TERM}",
        ),
        ({"build": lambda m: 3}, f"Explorer: build gives 3, which is not a term. {NO_TERM}"),
        (
            {"build": lambda k: softmax(k)},
            "Explorer: build takes other arguments than m. Try lambda **sizes: ….",
        ),
        (
            {"sizes": 3},
            'Explorer: sizes is 3, but it is a mapping from names to sizes. Try sizes={"h": 2}.',
        ),
        ({"sizes": {"q": 1}}, "explore: there is no size 'q'. Try one of m."),
        (
            {"module": 3},
            "Explorer: module is 3, but it is a compiled module. Try module=ncd.compile(term).",
        ),
    ],
)
def test_an_argument_of_another_kind_is_named(wrong: dict[str, Any], said: str) -> None:
    own = {"title": "T", "sliders": [SLIDER], "build": softmax}
    assert repr(Explorer(**own)) == "<Explorer of T: m 3>"
    with pytest.raises(ncd.NCDError) as error:
        Explorer(**{**own, **wrong})
    assert str(error.value).endswith(said.removeprefix("…"))


@pytest.mark.parametrize(
    ("shape", "shown", "said"),
    [
        ((), (1, 1), ""),
        ((3,), (1, 3), ""),
        ((2, 3), (2, 3), ""),
        ((64, 64), (64, 64), ""),
        ((65, 3), (64, 3), "the first 64 rows and columns"),
        ((4, 2, 3), (2, 3), "the first of the leading positions"),
        (
            (2, 2, 2, 65),
            (2, 64),
            "the first of the leading positions; the first 64 rows and columns",
        ),
    ],
)
def test_an_array_is_told_as_rows(
    shape: tuple[int, ...], shown: tuple[int, int], said: str
) -> None:
    array = torch.arange(float(max(1, math.prod(shape)))).reshape(shape)
    found = _rows(array)
    rows = torch.tensor(found["rows"])
    assert (tuple(rows.shape), found["said"]) == (shown, said)
    flat = array.reshape(-1, *shape[-2:])[0] if len(shape) > 2 else array.reshape(-1, *shape[-1:])
    assert rows.equal(flat.reshape(-1, flat.shape[-1])[:64, :64])
