"""The pictures of the 90 seconds: cells of one size, a row for each word, a tile for each head."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch

from ncd.circuit.elaborate import elaborate
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.primitives import Rectangle, Text
from ncd.site.step_frames import (
    GAP,
    LAST_NARROW_STYLE,
    MARGIN,
    NARROW_FIRST,
    NARROW_STYLE,
    TEXT,
    WIDE_STYLE,
    ArrayCells,
    kind_of,
    picture,
    style_of,
)
from ncd.systems.lessons.ninety_seconds import QUERY, STEPS, WORDS, StepRun, trained_arrays

NUMBERS = range(1, len(STEPS) + 1)
CASES = [(number, narrow) for number in NUMBERS for narrow in (False, True)]


def run(number: int) -> StepRun:
    step = STEPS[number - 1]
    return step.run(max(step.range))


def cells_of(number: int, narrow: bool) -> list[ArrayCells]:
    found = run(number)
    circuit = elaborate(found.term)
    values = {v.id: v for state in circuit.states for v in state}
    style = style_of(number, narrow)
    return [ArrayCells(circuit, value, found, style, number) for value in values.values()]


def drawn(number: int, narrow: bool) -> Drawing:
    return picture(number, run(number), narrow, False)


def words(drawing: Drawing) -> list[Text]:
    (extra,) = [extra for extra in drawing.extras if extra.kind == "words"]
    return [item for item in extra.items if isinstance(item, Text)]


def text_of(text: Text) -> str:
    return "".join(span.text for span in text.label.spans)


def test_each_step_has_the_style_of_its_window() -> None:
    assert all(style_of(number, False) is WIDE_STYLE for number in NUMBERS)
    narrow = [style_of(number, True) for number in NUMBERS]
    between = [NARROW_STYLE] * (len(STEPS) - 4)
    assert narrow == [NARROW_FIRST] * 3 + between + [LAST_NARROW_STYLE]
    assert {style.column_count for style in narrow} == {1, 2}


@pytest.mark.parametrize(("number", "narrow"), CASES)
def test_tiles_hold_a_cell_for_each_number_and_do_not_overlap(number: int, narrow: bool) -> None:
    for cells in cells_of(number, narrow):
        boxes, tiles = [*cells.boxes], cells.tiles
        assert len(boxes) == len(tiles)
        assert sum(tile.numel() for tile in tiles) == cells.value.array.numel
        wide, high = cells.cell
        for box, tile in zip(boxes, tiles, strict=True):
            rows, columns = tile.shape
            assert (box.width, box.height) == pytest.approx((columns * wide, rows * high))
        assert boxes[0][:2] == (MARGIN if cells.has_words else 0.0, 0.0)
        for one, two in combinations(boxes, 2):
            beside = max(one.x0, two.x0) - min(one.x1, two.x1)
            below = max(one.y0, two.y0) - min(one.y1, two.y1)
            assert max(beside, below) >= GAP - 1e-9


@pytest.mark.parametrize(("number", "narrow"), CASES)
def test_pairs_of_words_stand_in_the_columns_of_the_style(number: int, narrow: bool) -> None:
    for cells in cells_of(number, narrow):
        boxes = [*cells.boxes]
        across = len({box.x0 for box in boxes})
        pairs = cells.kind in ("scores", "shares")
        most = style_of(number, narrow).column_count if pairs else len(boxes)
        assert across == min(most, len(boxes))
        assert len({box.y0 for box in boxes}) == -(-len(boxes) // across)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_numbers_of_a_head_stand_in_its_tile(number: int) -> None:
    for cells in cells_of(number, False):
        numbers = cells.run.values[cells.value.id].detach()
        if "h" in cells.names:
            heads = [numbers[..., n] for n in range(numbers.shape[-1])]
        else:
            heads = [numbers]
        for tile, head in zip(cells.tiles, heads, strict=True):
            torch.testing.assert_close(tile.flatten(), head.flatten())
            assert tile.dim() == 2


@pytest.mark.parametrize("number", NUMBERS)
def test_the_row_of_the_word_that_is_followed_is_marked_in_every_tile(number: int) -> None:
    for cells in cells_of(number, False):
        marks = [*cells.marks]
        if cells.names[:1] != ("y",) or cells.tiles[0].shape[0] <= QUERY:
            assert marks == []
            continue
        high = cells.cell[1]
        for mark, box in zip(marks, cells.boxes, strict=True):
            assert mark == pytest.approx(
                Rectangle(box.x0, box.y0 + QUERY * high, box.x1, box.y0 + (QUERY + 1) * high)
            )


@pytest.mark.parametrize("number", NUMBERS)
def test_shares_go_from_0_to_1_and_others_as_far_below_0_as_above(number: int) -> None:
    arrays = trained_arrays()
    for cells in cells_of(number, False):
        low, high = cells.scale.low, cells.scale.high
        if cells.kind == "shares":
            assert (low, high) == (0.0, 1.0)
            continue
        assert low == -high < 0
        largest = max(float(tile.abs().max()) for tile in cells.tiles)
        if cells.kind == "input":  # one scale at all sizes: that of the whole array
            whole = arrays[cells.circuit.inputs.index(cells.value)]
            head = whole if "h" in cells.names else whole[..., 0]
            assert high == pytest.approx(float(head.abs().max())) and largest <= high + 1e-6
        else:
            assert high == pytest.approx(largest)


def test_arrays_are_inputs_scores_shares_and_mixes() -> None:
    found = run(len(STEPS))
    circuit = elaborate(found.term)
    kinds = {v.id: kind_of(circuit, v) for state in circuit.states for v in state}
    for value in circuit.inputs:
        assert kinds[value.id] == "input"
    assert kinds[circuit.outputs[0].id] == "mix"
    for cell in circuit.cells:
        (made,) = cell.outputs
        if cell.op.role == "softmax":
            assert kinds[made.id] == "shares"
            assert kinds[cell.inputs[0].id] == "scores"
    assert {*kinds.values()} == {"input", "scores", "shares", "mix"}


@pytest.mark.parametrize(("number", "narrow"), CASES)
def test_a_picture_shows_what_has_room_and_no_text_leaves_its_box(number, narrow) -> None:
    drawing = drawn(number, narrow)
    out = style_of(number, narrow).left_out.get(number, ())
    shown = {drawn.array for drawn in drawing.thumbnails}
    for cells in cells_of(number, narrow):
        assert cells.value.id not in shown or cells.kind not in out
    for text in words(drawing):
        box = text.box
        assert drawing.box.x0 <= box.x0 and box.x1 <= drawing.box.x1
        assert drawing.box.y0 <= box.y0 and box.y1 <= drawing.box.y1


@pytest.mark.parametrize("number", NUMBERS)
def test_words_stand_left_of_their_rows(number: int) -> None:
    drawing = drawn(number, False)
    cells = {one.value.id: one for one in cells_of(number, False)}
    texts = words(drawing)
    for shown in drawing.thumbnails:
        own, boxes = cells[shown.array], [tile.box for tile in shown.tiles]
        if not own.has_words or own.value.array.numel == 1:
            continue
        first, (rows, _) = boxes[0], own.tiles[0].shape
        here = [
            text
            for text in texts
            if abs(text.box.x1 + GAP - first.x0) < 1 and first.y0 < text.box.y1 < first.y1 + 1
        ]
        assert [text_of(text) for text in here] == [*WORDS[:rows]]
        for n, text in enumerate(here):
            middle = first.y0 + (n + 0.5) * first.height / rows
            assert text.position.y == pytest.approx(middle + TEXT / 4)
            bold = any(span.face.weight > 400 for span in text.label.spans)
            assert bold == (own.names[0] == "y" and n == QUERY)


def test_a_single_number_has_its_digits_beside_it() -> None:
    step = next(n for n in NUMBERS if any(c.value.array.numel == 1 for c in cells_of(n, False)))
    drawing = drawn(step, False)
    (one,) = [c for c in cells_of(step, False) if c.value.array.numel == 1][:1]
    (shown,) = [t for t in drawing.thumbnails if t.array == one.value.id]
    right = next(iter(shown.tiles)).box.x1
    digits = [text for text in words(drawing) if text.position.x >= right]
    assert f"{abs(one.tiles[0].item()):.2f}" in text_of(digits[0])
    assert digits[0].position.x == right + GAP


def test_on_a_phone_only_the_steps_of_one_array_have_words_beside_their_rows() -> None:
    worded = {n for n in NUMBERS if any(cells.has_words for cells in cells_of(n, True))}
    assert worded <= {1, 2, 3} and 3 in worded
    assert {n for n in NUMBERS if any(cells.has_words for cells in cells_of(n, False))} > worded
