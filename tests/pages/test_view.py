"""The parts of the pages that need no page."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import ncd
from ncd.circuit import elaborate
from ncd.ops import Softmax
from ncd.terms import Term
from ncd.view import heat, listing, markup
from ncd.view.cache import Cache, remember
from ncd.view.inputs import Feed, takes_words
from ncd.view.panels.attention import weights
from ncd.view.refusal import bare
from ncd.view.scene import drawing
from ncd.view.words import embed, tokens


@dataclass(frozen=True, repr=False)
class First(Term):
    name: str


@dataclass(frozen=True, repr=False)
class Second(Term):
    name: str


def test_terms_with_equal_fields_are_kept_apart() -> None:
    """``st.cache_data`` mixed these up: it hashes the fields of a dataclass, not its type."""
    made = [remember("test", term, make=lambda: object()) for term in (First("d"), Second("d"))]
    assert made[0] is not made[1]
    assert made[0] is remember("test", First("d"), make=lambda: object())


def test_drawings_of_like_terms_are_kept_apart() -> None:
    relu, tanh = (ncd.Id("m:3") >> ncd.Elementwise(name) for name in ("relu", "tanh"))
    assert drawing(relu, "names", False) != drawing(tanh, "names", False)


def test_the_cache_is_bounded_by_its_weight() -> None:
    cache = Cache(limit=100_000)
    for i in range(50):
        cache.get((i,), lambda: torch.zeros(5_000))  # 20 kB
    assert cache.weight <= cache.limit
    assert cache.kept() == [(46,), (47,), (48,), (49,)]
    cache.get(("whale",), lambda: torch.zeros(50_000))
    assert all(key != ("whale",) for key in cache.kept())


def test_the_cache_keeps_no_errors() -> None:
    cache = Cache()
    with pytest.raises(ZeroDivisionError):
        cache.get(("a",), lambda: 1 / 0)
    assert cache.get(("a",), lambda: 1) == 1


def test_the_same_word_has_the_same_vector_until_positions_are_added() -> None:
    words = tokens("the cat and the dog")
    plain, placed = (embed(words, 16, seed=3, positions=p) for p in (False, True))
    assert torch.equal(plain[0], plain[3])
    assert not torch.equal(placed[0], placed[3])
    assert not torch.equal(plain, embed(words, 16, seed=4, positions=False))


def test_odd_features_have_positions_too() -> None:
    assert embed(["a", "b"], 5, seed=0, positions=True).shape == (2, 5)
    assert embed(["a", "b"], 1, seed=0, positions=True).shape == (2, 1)


def test_which_systems_take_sentences() -> None:
    takes = {name: takes_words(entry.build()) for name, entry in ncd.catalogue.items()}
    assert takes["multi-head-attention"]
    assert takes["scaled-dot-product-attention"]
    assert not takes["residual-block"]


def test_sentences_fill_every_input_at_its_shape() -> None:
    feed = Feed({"y": ("a", "b"), "x": ("c", "a", "d")})
    term = ncd.catalogue["multi-head-attention"].build(y=2, x=3)
    y, x = feed.tensors(term, seed=0, device="cpu")
    assert (y.shape, x.shape) == ((2, 128), (3, 128))
    assert torch.equal(y[0], x[1])
    assert Feed({"y": ("ab",)}).key != Feed({"y": ("a", "b")}).key


def test_the_maps_of_the_heads_are_the_slices_of_the_array() -> None:
    term = ncd.catalogue["multi-head-attention"].build(h=3, y=5, x=6)
    trace = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    cell = next(c for c in elaborate(term).cells if isinstance(c.op, Softmax))
    value = trace.values[cell.outputs[0].id]
    found = weights(cell, value)
    assert found.maps.shape == (3, 5, 6)
    assert found.names == ["h = 0", "h = 1", "h = 2"]
    assert np.allclose(found.maps[2], value[:, :, 2].detach())
    assert np.allclose(found.maps.sum(-1), 1, atol=1e-6)


def test_a_softmax_alone_has_one_row() -> None:
    term = ncd.Id("x:7") >> ncd.Softmax("x")
    trace = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    found = weights(elaborate(term).cells[0], trace.outputs[0])
    assert found.maps.shape == (1, 1, 7)
    assert found.queries is None


def test_a_large_map_is_pooled_and_small_in_bytes() -> None:
    grid = np.random.default_rng(0).random((2048, 2048), dtype=np.float32)
    pooled, block = heat.pooled(grid, heat.LARGE)
    assert pooled.shape == (256, 256)
    assert block == (8, 8)
    assert pooled[0, 0] == pytest.approx(grid[:8, :8].mean(), rel=1e-5)
    assert heat.told(grid.shape, block) == "2,048 × 2,048 cells, shown as means of 8 × 8."
    assert len(heat.picture(grid, 1.0)) < 16_000


def test_the_cells_of_a_pooled_map_stand_at_the_positions_they_cover() -> None:
    figure = heat.plot(
        np.zeros((2, 3), np.float32),
        ("y", []),
        ("x", []),
        "",
        signed=False,
        dark=False,
        block=(8, 4),
    )
    cells = figure["data"][0]
    assert [cells["x0"] + i * cells["dx"] for i in range(3)] == [1.5, 5.5, 9.5]  # 0-3, 4-7, 8-11
    assert figure["layout"]["yaxis"]["range"] == [15.5, -0.5]


@pytest.mark.parametrize("shape", [(1, 1), (129, 3), (300, 257)])
def test_pooling_keeps_the_mean(shape: tuple[int, int]) -> None:
    grid = np.random.default_rng(0).random(shape, dtype=np.float32)
    pooled, (rows, columns) = heat.pooled(grid, 128)
    assert max(pooled.shape) <= 128
    assert pooled.shape == (-(-shape[0] // rows), -(-shape[1] // columns))
    assert pooled.min() >= grid.min() and pooled.max() <= grid.max()


def test_every_text_is_escaped() -> None:
    bad = "<script>\"&'"
    assert "<script>" not in markup.text(bad)
    assert "<" not in heat.told((1, 1), (1, 1))
    line = listing.html([listing.SourceLine(f"x = 1  # {bad}")], elaborate(ncd.Id("m:3")), False)
    assert "<script>" not in line
    string = listing.html([listing.SourceLine(f'x = "{bad[:8]}"')], elaborate(ncd.Id("m:3")), False)
    assert "<script>" not in string


def test_axes_light_in_patterns_and_sizes_but_not_in_variables() -> None:
    circuit = elaborate(ncd.catalogue["multi-head-attention"].build())
    text = 'k = rearrange(self.K(x), "... (k h) -> ... k h", h=self.h)'
    html = listing.html([listing.SourceLine(text, ("n2",))], circuit, dark=False)
    assert html.count('data-axis="k"') == 2
    assert html.count('data-axis="h"') == 4
    assert 'data-axis="x"' not in html
    assert 'data-node="n2"' in html


def test_an_op_is_known_again_without_its_sizes() -> None:
    sized = ncd.Linear("~m:128 -> k:16 h:4", "Q")
    assert bare(sized) == ncd.Linear("m -> k h", "Q")
