"""Every published figure draws without a fault, and holds what the picture holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

import ncd
from ncd import Equation
from ncd.drawing.elements.primitives import DrawingData, Text
from ncd.drawing.lint.lint import lint
from tests.drawing.figures import algebra, attention, tensors, vision
from tests.drawing.figures.figure import Figure

FIGURES: dict[str, tuple[Callable[[], Figure], ...]] = {  # by the name of the picture
    "IdResNet_block": (vision.resnet_block,),
    "IdResNet_overall": (vision.resnet,),
    "broadcasting0": (tensors.broadcasting0,),
    "broadcasting0a": (tensors.broadcasting0a,),
    "elementwise0": (tensors.elementwise0,),
    "imagerec": (vision.imagerec,),
    "implementation": (algebra.implementation,),
    "indexes": (tensors.indexes,),
    "inner_broadcasting0": (tensors.inner_broadcasting0,),
    "inner_broadcasting0a": (tensors.inner_broadcasting0a,),
    "linear_algebra": (algebra.transpose, algebra.shift, algebra.outer),
    "multihead0": (attention.multihead0,),
    "rediagram": (tensors.rediagram,),
    "scaled_attention": (attention.scaled_attention,),
    "subtensors": (tensors.subtensors,),
    "unet": (vision.unet,),
    "visual_attention": (attention.visual_attention,),
}
EVERY = [
    pytest.param(make, id=f"{name}-{make.__name__}")
    for name, parts in FIGURES.items()
    for make in parts
]


def test_all_seventeen_are_here() -> None:
    assert len(FIGURES) == 17


@pytest.mark.parametrize("make", EVERY)
def test_it_draws_without_a_fault(make: Callable[[], Figure]) -> None:
    for part in make().parts():
        assert lint(part) == []


@pytest.mark.parametrize("make", EVERY)
def test_it_holds_what_the_picture_holds(make: Callable[[], Figure]) -> None:
    figure = make()
    drawing = figure.draw()
    names = {_written(text) for text in drawing.labels}
    signs = Counter(" ".join(map(_written, _signs(drawing))).split())
    titles = Counter(fence.words for fence in drawing.fences)
    assert not set(figure.names.split()) - names
    assert not Counter(figure.signs.split()) - signs
    assert not Counter(figure.titles) - titles


def _written(text: Text) -> str:
    return "".join(span.text for span in text.label.spans)


def _signs(drawing: DrawingData) -> Iterator[Text]:
    parts = [*drawing.glyphs, *(extra for extra in drawing.extras if extra.kind == "sign")]
    return (item for part in parts for item in part.items if isinstance(item, Text))


@pytest.mark.parametrize("make", EVERY)
def test_notes_bands_and_cells_stand_where_they_are_asked_for(make: Callable[[], Figure]) -> None:
    figure = make()
    kinds = Counter(extra.kind for extra in figure.draw().extras)
    assert kinds["note"] == len(figure.options.get("notes", {}))
    assert (kinds["band"] > 0) == bool(figure.options.get("bands"))
    assert (kinds["cells"] > 0) == bool(figure.options.get("cells"))


@pytest.mark.parametrize("make", EVERY)
def test_the_sides_of_an_equation_agree(make: Callable[[], Figure]) -> None:
    for term in make().terms:
        if isinstance(term, Equation):
            assert ncd.prove(term)
