"""What the panels say of numbers, without a page."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

import ncd
from ncd.app.panels.attention import attention_maps
from ncd.app.panels.walk import autograd_graph
from ncd.app.panels.walk.values import statistics, statistics_html
from ncd.app.parts import heatmap, slice_picker
from ncd.app.parts.slice_picker import ArraySlice
from ncd.circuit.elaborate import elaborate
from ncd.explain.colour_scale import ColourRange, pool
from ncd.language.axes import Array, Axis, Type


def cut(array: Array, picture: tuple[str, str], **at: int) -> ArraySlice:
    """A choice of rows and columns, and of positions along the other dimensions."""
    whole = slice_picker.dimensions(array)
    names = [dimension.name for dimension in whole]
    places = tuple(at.get(name, 0) for name in names)
    return ArraySlice(whole, tuple(map(names.index, picture)), places)


# --- maps ----------------------------------------------------------------------------------------


def test_a_large_map_is_pooled_and_small_in_bytes() -> None:
    grid = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    found = pool(grid, heatmap.LARGE)
    assert found.maps.shape == (256, 256) and found.block == (8, 8)
    assert found.maps[0, 0] == pytest.approx(grid[:8, :8].mean(), rel=1e-5)
    assert found.caption == "2,048 × 2,048 numbers, shown as means of 8 × 8."
    small = pool(grid, heatmap.SMALL)
    assert len(heatmap.data_url(small.maps, ColourRange.from_numbers(grid, signed=False))) < 16_000


@pytest.mark.parametrize("shape", [(1, 1), (3, 129), (84, 84)])
def test_a_picture_has_the_colour_of_each_number(shape: tuple[int, int]) -> None:
    """Zero is the first colour and the highest number the last; what is masked is clear."""
    grid = np.random.default_rng(0).random((2, *shape), dtype=np.float32)
    grid[0, 0, 0], grid[1, -1, -1] = 0.0, np.nan
    ends = ColourRange.from_numbers(grid, signed=False)
    table = np.frombuffer(heatmap.palette(heatmap.POSITIVE), np.uint8).reshape(256, 3)
    file = BytesIO(b64decode(heatmap.sprite_sheet(grid, ends).partition(",")[2]))
    sheet = np.asarray(Image.open(file).convert("RGBA"))
    for cells, seen in zip(grid, np.split(sheet, 2), strict=True):
        clear = np.isnan(cells)
        assert (seen[..., 3] == np.where(clear, 0, 255)).all()
        shades = np.round(cells[~clear] / ends.high * 255).astype(int)
        assert (seen[~clear][:, :3] == table[shades]).all()


@pytest.mark.parametrize("shape", [(1, 1), (129, 3), (300, 257)])
def test_pooling_stays_between_the_extremes(shape: tuple[int, int]) -> None:
    grid = np.random.default_rng(0).random(shape, dtype=np.float32)
    found = pool(grid, 128)
    rows, columns = found.block
    assert max(found.maps.shape) <= 128
    assert found.maps.shape == (-(-shape[0] // rows), -(-shape[1] // columns))
    assert found.maps.min() >= grid.min() and found.maps.max() <= grid.max()


@pytest.mark.parametrize("sign", [1, -1])
def test_what_stands_out_is_not_averaged_away(sign: int) -> None:
    grid = sign * np.eye(1024, dtype=np.float32)
    found = pool(grid, 84)
    assert found.largest and "the largest number of 13 × 13" in found.caption
    assert np.all(np.diag(found.maps) == sign) and np.all(found.maps[0, 1:] == 0)


def test_what_is_masked_counts_only_where_all_is() -> None:
    grid = np.ones((4, 4), np.float32)
    grid[:2] = np.nan
    grid[2, 0] = np.nan
    found = pool(grid, 2)
    assert np.isnan(found.maps[0]).all() and (found.maps[1] == 1).all()


@pytest.mark.parametrize("far", [1, 2, 3])
def test_a_few_huge_numbers_do_not_set_the_colours(far: int) -> None:
    numbers = np.linspace(-1, 1, 400, dtype=np.float32).reshape(20, 20)
    numbers[0, :far] = -1e6
    ends = ColourRange.from_numbers(numbers, signed=True)
    assert (ends.low, ends.high) == pytest.approx((-1, 1), rel=0.01)
    assert (ends.outliers, ends.largest) == (far, 1e6)
    assert (ends.with_outliers.low, ends.with_outliers.high) == (-1e6, 1e6)


@pytest.mark.parametrize(
    "numbers",
    [np.zeros((3, 3)), np.eye(20), np.full((2, 2), np.nan), np.float32([[5]]), np.arange(20.0)],
)
def test_other_numbers_set_the_colours_to_the_largest(numbers: heatmap.CellGrid) -> None:
    ends = ColourRange.from_numbers(np.float32(numbers), signed=False)
    assert ends.outliers == 0 and ends.high == (ends.largest or 1) and ends == ends.with_outliers


def test_the_first_queries_of_a_causal_map_do_not_hide_the_others() -> None:
    rows = np.arange(200, dtype=np.float32)[:, None]
    causal = np.tril(np.ones((200, 200), np.float32)) / (rows + 1)
    ends = ColourRange.from_numbers(causal, signed=False)
    assert ends.largest == 1 and ends.outliers and ends.high < 0.2


def test_three_channels_are_red_green_and_blue() -> None:
    pixels = heatmap.rgb_image(np.eye(3, dtype=np.float32).reshape(3, 1, 3))
    assert pixels.tolist() == [[[255, 0, 0], [0, 255, 0], [0, 0, 255]]]


# --- which part of an array ----------------------------------------------------------------------


@pytest.mark.parametrize("picture", [("y", "x"), ("x", "h"), ("h", "y"), ("y", "b"), ("b", "x")])
def test_any_two_axes_make_the_picture(picture: tuple[str, str]) -> None:
    (array,) = Type.parse("b:2 ~y:3 ~x:4 h:5")
    tensor = torch.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    chosen = cut(array, picture, b=1, y=2, x=3, h=4)
    rest = [i for i, axis in enumerate(array) if axis.name not in picture]
    wanted = tensor
    for i in reversed(rest):
        wanted = wanted.select(i, (1, 2, 3, 4)[i])
    names = [axis.name for axis in array if axis.name in picture]
    wanted = wanted if tuple(names) == picture else wanted.T
    assert slice_picker.grid(tensor, chosen).tolist() == wanted.tolist()
    along = chosen.gallery_dim
    assert along is not None
    size, at = array[along].numel, chosen.positions[along]
    assert slice_picker.stack(tensor, chosen, range(size))[at].tolist() == wanted.tolist()


def test_an_axis_of_one_place_is_not_asked_for() -> None:
    (array,) = Type.parse("b:1 y:3 x:4 h:5")
    assert cut(array, ("y", "x")).other_dims == [3]
    assert cut(array, ("x", "h")).other_dims == [1]


def test_images_and_sequences_have_square_cells() -> None:
    (image,) = Type.parse("b:2 c:3 x:4x6")
    (scores,) = Type.parse("~y:3 ~x:4 h:2")
    assert cut(image, ("x_h", "x_w")).alike and cut(image, ("x_h", "x_w")).is_colour_image
    assert cut(scores, ("y", "x")).alike and not cut(scores, ("y", "h")).alike
    assert not cut(image, ("b", "c")).alike


# --- what the numbers are ------------------------------------------------------------------------


def test_statistics_tell_what_is_masked_from_what_is_undefined() -> None:
    inf = float("inf")
    found = statistics(torch.tensor([1.0, 3.0, -inf, -inf, inf, float("nan")]))
    assert (found.mean, found.deviation, found.masked_count, found.undefined_count) == (2, 1, 2, 2)
    (array,) = Type.parse("x:6")
    html = statistics_html(array, found)
    assert "Masked" in html and "Infinite or no number" in html


def test_whole_numbers_are_counted() -> None:
    found = statistics(torch.tensor([4, 0, 4]))
    assert (found.different, found.smallest, found.largest) == (2, 0, 4)
    assert statistics(torch.tensor([4.0, 0.0])).different == 0


def test_every_node_of_the_graph_is_known_by_what_it_stands_for() -> None:
    term = ncd.catalogue["residual-block"].build(b=2, x=2)
    dag = ncd.autograd(ncd.compile(term), *ncd.example_inputs(term))
    circuit = elaborate(term)
    for level in ("op", "block"):
        nodes = dag.at_level(level).nodes
        text = "".join(f'<g id="{n.id}" class="node {n.kind} {n.cell}">' for n in nodes)
        html = autograd_graph.add_highlight_ids(text, circuit)
        assert html.count("data-select=") == len(nodes)
        assert f'data-array="{circuit.inputs[0].id}"' in html
        assert f'data-array="{circuit.outputs[0].id}"' in html
    block = next(fence.id for fence in circuit.fences if fence.title == "Residual Component")
    assert f'data-select="{block}"' in html


def test_a_router_does_not_attend() -> None:
    """In Mixtral each layer has two softmaxes: over the keys, and over the chosen experts."""
    cells = elaborate(ncd.catalogue["mixtral"].build(n=2)).cells
    softmaxes = [cell for cell in cells if cell.op.role == "softmax"]
    over = [cell.site.own_outputs[0][0].name for cell in softmaxes if attention_maps.attends(cell)]
    assert (over, len(softmaxes)) == (["x", "x"], 4)


def test_the_name_of_a_head_breaks_between_its_axes() -> None:
    (name,) = attention_maps.heads_named(Array((Axis("g", 1), Axis("q", 1))))
    assert [part.endswith(f"{attention_maps.NO_BREAK_EQUALS}0") for part in name.split(", ")] == [
        True,
        True,
    ]


def test_several_softmaxes_are_told_apart_by_their_blocks() -> None:
    one = ncd.Block(ncd.Id("~y:3 ~x:4") >> ncd.Softmax("x"), "Self <attention>")
    two = ncd.Block(ncd.Id("~y:3 ~x:4") >> ncd.Softmax("x"), "Cross attention")
    circuit = elaborate(one @ two)
    first, second = circuit.cells
    names = attention_maps.places([first, second], circuit)
    html = attention_maps.choice([first, second], second, names)
    assert f'<option value="{first.id}">1. Self &lt;attention&gt;</option>' in html
    assert f'<option value="{second.id}" selected>2. Cross attention</option>' in html
    assert attention_maps.choice([first], first, names) == ""
