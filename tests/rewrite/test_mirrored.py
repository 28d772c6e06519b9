"""The backward pass with a box for each block: its gradients, its order, and what it loads."""

from __future__ import annotations

from itertools import pairwise

import pytest

import ncd
from ncd import Elementwise, Param
from ncd.app.figure.backward_diagram import readable
from ncd.circuit.elaborate import elaborate
from ncd.drawing.lint.lint import lint
from ncd.drawing.plan.collapse import CollapsedBox, MemoryNote
from ncd.language.op import ArrayHandle
from ncd.language.step_wires import AppliedTerm
from ncd.rewrite.backward_blocks import (
    MIN_BOX_STEPS,
    BackwardBox,
    LoadNote,
    _BackwardGroup,
    _boxes,
    backward_diagram,
)


def boxes(name: str, again: tuple[str, ...] = ()) -> list[tuple[str, list[str]]]:
    """Returns the title of each box in order, with the notes that it loads."""
    term = ncd.catalogue[name].build()
    circuit = elaborate(readable(elaborate(term), ncd.saved(term, again).arrays))
    found: list[tuple[str, list[str]]] = []
    notes: list[str] = []
    for cell in circuit.cells:
        if isinstance(cell.op, LoadNote):
            notes.append(cell.op.text)
        if isinstance(cell.op, BackwardBox):
            found.append((cell.op.title, notes))
            notes = []
    return found


def test_blocks_come_in_reverse_order_and_load_what_was_saved_for_them() -> None:
    assert boxes("encoder-block") == [
        ("Feed-Forward'", ["norm2 3.07 kB", "relu 6.14 kB"]),
        ("LayerNorm norm2'", ["3.07 kB"]),
        (
            "Self-Attention'",
            ["norm1 3.07 kB", "k 3.07 kB", "q 3.07 kB", "weights 2.3 kB", "v 3.07 kB", "3.07 kB"],
        ),
        ("LayerNorm norm1'", ["3.07 kB"]),
    ]


def test_a_recomputed_block_loads_only_what_it_takes() -> None:
    again = dict(boxes("encoder-block", ("Self-Attention",)))
    assert again["Self-Attention'"] == ["norm1 3.07 kB"]
    assert again["Feed-Forward'"] == ["norm2 3.07 kB", "relu 6.14 kB"]


@pytest.mark.parametrize("name", ["encoder-block", "unet", "swiglu", "lenet"])
def test_gradients_go_from_the_outputs_to_the_inputs_in_a_sound_drawing(name: str) -> None:
    term = ncd.catalogue[name].build(**({"c": 2} if name == "unet" else {}))
    back = readable(elaborate(term), ncd.saved(term).arrays)
    sizes = [[array.shape for array in side] for side in (back.dom, back.cod)]
    assert sizes == [[array.shape for array in side] for side in (term.cod, term.dom)]
    assert lint(ncd.draw(back, "sizes", width=900)) == []


def test_layers_of_other_sizes_are_all_drawn() -> None:
    titles = [title for title, _ in boxes("unet")]
    assert titles.count("Down Scale Block'") == 4 and titles.count("Up Scale Block'") == 3


def test_a_block_around_layers_is_open() -> None:
    titles = [title for title, _ in boxes("encoder-decoder")]
    assert [title for title in titles if "Attention" in title] == [
        *("Cross-Attention'", "Masked Self-Attention'", "Self-Attention'")
    ]


def test_what_cannot_be_read_is_not_drawn() -> None:
    term = ncd.catalogue["gru"].build()
    with pytest.raises(ncd.LimitError) as caught:
        readable(elaborate(term), ncd.saved(term).arrays)
    assert str(caught.value) == (
        "76 boxes and notes, with 75 arrays side by side, are too many to be read."
    )


def test_gradients_of_what_is_learned_are_drawn_where_nothing_comes_in() -> None:
    term = backward_diagram(Param("m:3", "w") >> Elementwise("exp"), {})
    (cell,) = elaborate(term).cells
    assert term.dom.spec == "m:3" and isinstance(cell.op, BackwardBox)


def test_ops_that_are_only_drawn_can_be_printed() -> None:
    array = Param("y:2", "b").cod[0]
    assert repr(LoadNote("q", array)) == f"LoadNote('q', {array!r})"
    term = readable(elaborate(ncd.catalogue["encoder-block"].build()), ())
    assert 'BackwardBox("Feed-Forward\'", ' in repr(term)
    assert (
        repr(CollapsedBox("Layer", ("n0",))) == "CollapsedBox('Layer', ('n0',))"
        and repr(CollapsedBox("L")) == "CollapsedBox('L')"
    )
    assert repr(MemoryNote("save", "q", ())) == "MemoryNote('save', 'q')"


@pytest.mark.parametrize(
    ("count", "box"), [(1, False), (MIN_BOX_STEPS - 1, False), (MIN_BOX_STEPS, True)]
)
def test_few_steps_are_drawn_as_they_are(count: int, box: bool) -> None:
    arrays = [ArrayHandle(Param("y:2", "b").cod[0]) for _ in range(count + 1)]
    steps = [AppliedTerm(Elementwise("sin"), (one,), (two,)) for one, two in pairwise(arrays)]
    found = [*_boxes([_BackwardGroup("A", steps, ())], arrays[:1], arrays[-1:], {})]
    plain = [(step.takes, step.gives) for step in steps]
    wanted = [((arrays[0],), (arrays[-1],))] if box else plain
    assert [(step.takes, step.gives) for step in found] == wanted
    assert [isinstance(step.term, BackwardBox) for step in found] == [box] * len(wanted)
