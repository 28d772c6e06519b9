"""Panels of attention: what is said of caches, orders, positions, experts and patches."""

from __future__ import annotations

import re
from base64 import b64decode
from unittest.mock import patch

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.attention import attention_maps, expert_routing, kv_cache, picture_attention
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.expert_routing import EXPERT_ROUTING
from ncd.app.panels.attention.kv_cache import KV_CACHE
from ncd.app.panels.attention.picture_attention import IMAGE_PATCHES, Windows
from ncd.app.panels.attention.position_panels import POSITIONS, ROTARY, compare_permuted
from ncd.app.panels.attention.torch_layer import MERGED_HEADS, head_owners, orders, permutation
from ncd.app.parts import heatmap
from ncd.site import markup
from ncd.systems.transformers.position_encoding import KINDS
from tests.app.panels.views import bars, inside, scene, shown, tags, text

# --- a cache --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["decoder-only-block", "decoder-block", "encoder-decoder"])
def test_a_step_keeps_the_keys_and_values_of_the_steps_before(name: str) -> None:
    here = scene(name, n=1, t=4, h=2, k=4)
    found = kv_cache.run_decoding(here, dict(here.settings))
    assert len(found.steps) == 4 and all(step.difference < 1e-4 for step in found.steps)
    row = 2 * 2 * 4 * 4  # keys and values of 2 heads with 4 features, at 4 bytes
    encoder = row * here.settings.get("s", 0)
    assert [step.cache_bytes for step in found.steps] == [
        0,
        *(row * i + encoder for i in (1, 2, 3)),
    ]
    for i, step in enumerate(found.steps):
        sizes = {**here.settings, "t": i + 1}
        whole = ncd.cost(here.entry.build(**{**sizes, "cache": 0})).flops
        assert (step.uncached_flops == whole and step.flops < step.uncached_flops) or i == 0
    told = shown(KV_CACHE, here)
    assert [row[1] for row in told.rows[1:]] == [
        markup.amount(s.cache_bytes, "B") for s in found.steps
    ]
    assert [row[2] for row in told.rows[1:]] == [
        markup.amount(s.flops, "FLOP") for s in found.steps
    ]
    most = found.steps[-1].uncached_flops
    lengths = [n / most for s in found.steps for n in (s.flops, s.uncached_flops)]
    assert bars(told.html) == pytest.approx(lengths, abs=0.01)
    total = markup.amount(sum(s.flops for s in found.steps), "FLOP")
    again = markup.amount(sum(s.uncached_flops for s in found.steps), "FLOP")
    assert f"4 positions, written one by one: {total} with the cache, {again} if all" in told.text
    assert ("cross-attention makes the keys and values of the" in told.text) == (encoder > 0)
    assert ("and the encoder" in told.text) == (name == "encoder-decoder")


def test_of_a_long_text_the_first_positions_are_written() -> None:
    told = shown(KV_CACHE, scene("decoder-only-block", n=16, t=5, h=1, k=2))
    assert "The first 3 of 5 positions, written one by one" in told.text  # 48 layers in all
    assert len(told.rows) == 4


# --- orders of a merged map -----------------------------------------------------------------------


@pytest.mark.parametrize("outside", [0, 1])
def test_a_merged_map_may_be_read_in_two_orders(outside: int) -> None:
    here = scene("merged-qkv", h=2, k=3, outside=outside)
    found = orders(here)
    assert found.plain_difference > 1e-3 and found.permuted_difference < 1e-5
    told = shown(MERGED_HEADS, here)
    cells = [own["title"] for own in tags(told.html, "span") if "title" in own]
    for cells_, order in ((cells[:18], 1), (cells[18:36], 0)):
        for n, said in enumerate(cells_):
            head, rest = divmod(n, 9) if order else (n % 2, n // 2)
            part = "qkv"[rest // 3]
            assert said == f"feature {n}: {part} of head {head}, number {rest % 3}"
    titles = [text(own) for own in inside(told.html, "h2")]
    assert titles == (["(h 3k) (now)", "(3k h)"] if outside else ["(h 3k)", "(3k h) (now)"])
    h, k, m, t = (here.settings[name] for name in "hkmt")
    shapes = [row[2] for row in told.rows[1:]]
    pair = (h, 3 * k) if outside else (3 * k, h)
    first = ((t, 3 * h * k), (t, *pair), (h, t, 3 * k), (h, t, k), (h, t, k))
    wanted = (*first, (t, h, k), (t, h * k), (t, m))
    assert shapes == [" ".join(map(str, own)) for own in wanted]
    assert [row[0] for row in told.rows[1:]] == [str(n) for n in range(1, 9)]
    assert "The first" not in told.text
    many = shown(MERGED_HEADS, scene("merged-qkv", h=13, k=5)).text
    assert many.count("The first 192 of 195.") == 2
    at = permutation(2, 3)
    owners = [head_owners(2, 3, order) for order in (1, 0)]
    assert [owners[0][int(i)] for i in at] == owners[1]


# --- positions ------------------------------------------------------------------------------------


def test_without_positions_the_order_is_not_seen() -> None:
    here = scene("positional-embedding", t=13)
    found = compare_permuted(here)
    assert sorted(found.order) == list(range(13)) and list(found.order) != list(range(13))
    assert found.differences[0] < 1e-5 < 1e-3 < min(found.differences[1:])
    told = shown(POSITIONS, here)
    verdicts = [row[2] for row in told.rows[1:]]
    assert verdicts == ["the same, up to rounding", *["other numbers"] * (len(verdicts) - 1)]
    order = ", ".join(map(str, found.order[:12]))
    assert f"The positions {order} … go in" in told.text
    kind = here.settings["kind"]
    assert [bool(re.search("<b>", row)) for row in inside(told.html, "tr")[1:]] == [
        n == kind for n in range(len(verdicts))
    ]
    few = shown(POSITIONS, scene("positional-embedding", t=12)).text
    assert "…" not in few


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_picture_has_the_numbers_of_the_positions(kind: int) -> None:
    here = scene("positional-embedding", t=5, kind=kind)
    map_ = shown(POSITIONS, here).map
    source = next((cell for cell in here.circuit.cells if not cell.inputs), None)
    assert (map_ is None) == (source is None)
    if map_ is not None and source is not None:
        value = here.trace.values[source.outputs[0].id].detach().float()
        rotary = kind == ROTARY
        wanted = value[:, 0, :, 0] if rotary else value
        assert np.allclose(map_.pooled_maps.maps, wanted.numpy())
        assert map_.columns.position_label == ("pair" if rotary else "feature")
        axis = source.outputs[0].array[2 if rotary else 1]
        title = f"{map_.columns.position_label} {axis.display_name}"
        assert text(map_.columns.title) == title
        assert map_.pooled_maps.shape == tuple(wanted.shape) and map_.ends.low < 0


# --- experts --------------------------------------------------------------------------------------


def test_loads_and_parameters_of_experts_are_counted() -> None:
    here = scene("mixture-of-experts")
    (choice,) = expert_routing.choices(here.circuit)
    table = expert_routing._table(here, choice)
    count, each = table.shape[1], choice.experts.array[1].numel
    assert ((table > 0).sum(1) == each).all() and np.allclose(table.sum(1), 1, atol=1e-5)
    told = shown(EXPERT_ROUTING, here)
    loads = (table > 0).sum(0)
    assert told.rows[1 : 1 + count] == [[str(i), str(n), ""] for i, n in enumerate(loads)]
    mean = markup.digits(float(each * len(table) / count))
    assert f"With equal loads each expert would have {mean} positions." in told.text
    stored, used = expert_routing.idle(here.circuit, choice)
    own = sum(p.numel() for p in here.module.parameters() if p.dim() > 2 or p.shape[0] == count)
    assert stored <= own and used == stored * each // count
    whole = here.cost.parameters
    assert [row[1] for row in told.rows[-3:]] == [
        f"{n:,}" for n in (whole, stored, whole - stored + used)
    ]
    lengths = [n / whole for n in (whole, stored, whole - stored + used)]
    assert bars(told.html.rpartition("<table>")[2]) == pytest.approx(lengths, abs=0.01)
    assert told.map is not None and np.allclose(told.map.pooled_maps.maps, table)
    assert told.map.ends.low == 0 and "The first" not in told.text


def test_routers_of_several_layers_are_told_apart() -> None:
    here = scene("mixtral", n=2, t=5)
    told = shown(EXPERT_ROUTING, here, layer=1)
    tables = [expert_routing._table(here, own) for own in expert_routing.choices(here.circuit)]
    assert len(tables) == 2 and told.map is not None
    buttons = [(own["data-pick"], own["aria-pressed"]) for own in tags(told.html, "button")]
    name = expert_routing.LAYER.name
    assert [pick for pick, _ in buttons] == [f"{name}=0", f"{name}=1"]
    chosen = [pressed for _, pressed in buttons].index("true")
    assert np.allclose(told.map.pooled_maps.maps, tables[chosen])
    assert "router 1" in told.text and "router 2" in told.text


# --- attention on a picture -----------------------------------------------------------------------


def sent(here: object, **session: str) -> dict[str, object]:
    found: list[dict[str, object]] = []
    keep = lambda **own: found.append(own["data"])  # noqa: E731
    with (
        patch.object(picture_attention, "_patches", keep),
        patch("streamlit.session_state", dict(session)),
    ):
        IMAGE_PATCHES.show(here)  # type: ignore[arg-type]
    return found[0]


def test_a_patch_gives_its_weights_to_patches_of_the_other_picture() -> None:
    here = scene("visual-attention", w=3, s=2)
    cell = next(c for c in here.circuit.cells if c.op.role == "softmax")
    values = here.trace.values[cell.outputs[0].id].detach()
    data = sent(here, patch="1.99", head="0")
    high, wide = data["asks"]["count"]  # type: ignore[index]
    assert data["at"] == (1, wide - 1)
    own = np.frombuffer(b64decode(str(data["weights"])), "<f4")
    wanted = values[..., 1, wide - 1][0].flatten()
    assert np.allclose(own, wanted.numpy()) and own.sum() == pytest.approx(1, abs=1e-4)
    assert data["ends"] == [markup.digits(float(n)) for n in (own.min(), own.max())]
    asks, answers = (Windows(tuple(x.shape[-2:]), 3, 2) for x in here.inputs)
    assert (high, wide) == asks.count and data["asks"]["shape"] == asks.shape  # type: ignore[index]
    assert data["answers"]["count"] == answers.count  # type: ignore[index]
    words = text(str(data["words"]))
    rows, columns = answers.count
    assert f"Patch 1, {wide - 1} of {high} × {wide}." in words
    assert f"on the {rows} × {columns} patches sum to 1; all alike, each would be" in words
    assert markup.digits(1 / (rows * columns)) in words
    assert ("Hatched" in words) == bool(asks.uncovered_count or answers.uncovered_count)
    heads = values.shape[0]
    assert str(data["side"]).count("<img") == (heads if heads > 1 else 0)
    middle = sent(here)
    assert middle["at"] == (high // 2, wide // 2)


def test_weights_are_laid_over_the_grey_of_a_picture() -> None:
    picture = np.full((2, 2, 3), 0.5, np.float32)
    weights = np.float32([[0.0, 1.0], [0.5, np.nan]])
    colours: list[np.ndarray] = []
    with patch.object(heatmap, "image_url", lambda pixels: colours.append(pixels) or ""):
        picture_attention._overlay_url(picture, weights, 512)
        picture_attention._overlay_url(picture, np.full((2, 2), 3.0, np.float32), 512)
        picture_attention._address(np.zeros((5, 7, 3), np.float32), np.zeros((5, 7), bool), 3)
    (image, alike, small) = colours
    table = np.frombuffer(heatmap.palette(heatmap.POSITIVE), np.uint8).reshape(256, 3)
    for place, shade in (((0, 0), 0), ((0, 1), 255), ((1, 0), 128)):
        mixed = np.round(0.75 * table[shade] + 0.25 * 127.5)
        assert np.allclose(image[place][:3], mixed, atol=1) and image[place][3] == 255
    assert np.allclose(image[1, 1], [128, 128, 128, 70], atol=1)
    assert (alike == alike[0, 0]).all()
    assert small.shape == (2, 3, 4)  # every third pixel


def test_colours_are_those_of_a_grey_or_a_coloured_picture() -> None:
    grey = picture_attention._picture(torch.rand(1, 2, 3) * 2 - 0.5, pictured=True)
    assert grey.shape == (2, 3, 3) and (grey[..., 0] == grey[..., 2]).all()
    assert grey.min() >= 0 and grey.max() <= 1
    colours = torch.rand(3, 2, 3)
    assert np.allclose(
        picture_attention._picture(colours, True), np.moveaxis(colours.numpy(), 0, -1)
    )


# --- maps of heads --------------------------------------------------------------------------------


def test_a_map_has_its_heads_queries_and_keys() -> None:
    here = scene("multi-head-attention", y=3, x=4, h=2)
    told = shown(ATTENTION_MAPS, here, head=1)
    cell = next(c for c in here.circuit.cells if c.op.role == "softmax")
    value = here.trace.values[cell.outputs[0].id].detach()
    order = [value.shape.index(n) for n in (2, 3, 4)]
    maps = value.permute(*order)
    assert told.map is not None
    assert np.allclose(told.map.pooled_maps.maps, maps[1].numpy())
    assert told.map.label.endswith("h = 1") and told.map.square_cells
    buttons = [
        own for own in tags(told.html, "button") if own.get("data-pick", "").startswith("head")
    ]
    assert [own["aria-pressed"] for own in buttons] == ["false", "true"]
    assert "Rows are queries y, columns keys x; each row sums to 1." in told.text
    found = attention_maps.weights(cell, value)
    found.maps[0, 2] = np.nan
    said = text(attention_maps._sentence(found, here))
    assert "but 1 row with every key masked, which has no weights" in said
    assert "nothing attends" not in told.html
    none = shown(ATTENTION_MAPS, scene("lora"))
    assert none.text == "Nothing attends here: the circuit has no softmax." and none.map is None


def test_all_softmaxes_of_a_system_are_shown_at_once_or_chosen() -> None:
    here = scene("encoder-decoder", n=1, h=2, k=4)
    told = shown(ATTENTION_MAPS, here)
    assert len(inside(told.html, "h2")) == 3
    picks = [
        own["data-pick"] for own in tags(told.html, "button") if own["data-pick"][:4] == "map="
    ]
    softmaxes = [c.id for c in here.circuit.cells if c.op.role == "softmax"]
    assert picks[:6] == [f"map={id}.{head}" for id in softmaxes for head in range(2)]
    session: dict[str, str] = {}
    with patch("streamlit.session_state", session):
        attention_maps._pick("map", f"{softmaxes[2]}.1")
    assert session == {"softmax": softmaxes[2], "head": "1"}
    large = shown(ATTENTION_MAPS, scene("encoder-decoder", n=3, h=6, k=4))
    assert not inside(large.html, "h2") and "<select" in large.html
