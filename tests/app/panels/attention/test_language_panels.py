"""The pages of transformers and norms: their own panels, without a browser."""

from __future__ import annotations

import pytest

import ncd
from ncd.app.panels.attention import attention_maps, torch_layer
from ncd.app.panels.attention.position_panels import ROUNDING, compare_permuted
from ncd.app.scene.scene import Scene
from ncd.circuit.elaborate import elaborate
from tests.app.page.test_pages import fine, page

PANELS = (
    ("decoder-only-block", "KV cache"),
    ("decoder-only-block", "Attention"),
    ("encoder-decoder", "Attention"),
    ("merged-qkv", "Two orders"),
    ("positional-embedding", "Positions"),
    ("pointwise-feed-forward", "Two ways"),
    ("layer-norm", "By hand"),
    ("layer-norm", "Sides"),
    ("batch-norm", "Statistics"),
    *((name, "Torch") for name in torch_layer.LAYERS if name != "decoder-only-block"),
)


@pytest.mark.parametrize(("name", "panel"), PANELS)
def test_a_panel_stands_at_the_least_and_with_every_switch(name: str, panel: str) -> None:
    app = page(name, panel=panel)
    fine(app)
    knobs = ncd.catalogue[name].knobs
    switches = [{knob.name: not knob.default} for knob in knobs if knob.switch]
    for turned in (*switches, {knob.name: knob.min for knob in knobs if not knob.switch}):
        for key, value in turned.items():
            app.session_state[key] = value
        fine(app.run())
        assert not app.warning, [warning.value for warning in app.warning]


@pytest.mark.few(12)
@pytest.mark.parametrize(
    ("name", "key"), [("layer-norm", "position"), ("batch-norm", "gamma"), ("batch-norm", "beta")]
)
@pytest.mark.parametrize("asked", ["0", "3", "-7", "", "zz", "<b>", "9" * 5000])
def test_what_a_panel_keeps_may_be_wrong(name: str, key: str, asked: str) -> None:
    fine(page(name, **{key: asked}))


def scene(name: str, **knobs: int) -> Scene:
    """A system at these knobs, outside of a page."""
    from ncd.systems.inputs.run_inputs import InputSpec as Feed

    entry = ncd.catalogue[name]
    settings = entry.settings(knobs)
    looks = {"dark": False, "labels": "names", "selected_id": ""}
    return Scene(entry, settings, 0, "cpu", Feed(), term=entry.build(**settings), **looks)


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        *((name, {"prenorm": pre}) for name in torch_layer.LAYERS for pre in (0, 1)),
        *(("torch-multihead-attention", {"pad": p, "causal": c}) for p in (0, 2) for c in (0, 1)),
    ],
)
def test_torch_shows_the_same_numbers(name: str, knobs: dict[str, int]) -> None:
    known = {knob.name for knob in ncd.catalogue[name].knobs}
    own = {key: value for key, value in knobs.items() if key in known}
    found = torch_layer.compare_layers(scene(name, **own))
    assert found.outputs < 1e-5
    assert found.gradients < 1e-3  # sums over all positions, in 32 bits
    count = sum(p.numel() for p in ncd.compile(ncd.catalogue[name].build(**own)).parameters())
    shapes = [shape for _, shape, _ in found.parameters]
    assert (
        sum(ncd.Array.parse(" ".join(f"a{i}:{n}" for i, n in enumerate(s))).numel for s in shapes)
        == count
    )


def test_only_attention_without_positions_is_the_same_for_another_order() -> None:
    found = compare_permuted(scene("positional-embedding"))
    same = [apart < ROUNDING for apart in found.differences]
    assert same == [True, False, False, False]
    assert sorted(found.order) == list(range(24))


def test_one_picker_has_every_layer_and_kind() -> None:
    circuit = elaborate(ncd.catalogue["encoder-decoder"].build(n=2))
    cells = [cell for cell in circuit.cells if cell.op.role == "softmax"]
    assert list(attention_maps.places(cells, circuit).values()) == [
        "Encoder · layer 1 · Self-Attention",
        "Encoder · layer 2 · Self-Attention",
        "Decoder · layer 1 · Masked Self-Attention",
        "Decoder · layer 1 · Cross-Attention",
        "Decoder · layer 2 · Masked Self-Attention",
        "Decoder · layer 2 · Cross-Attention",
    ]
    circuit = elaborate(ncd.catalogue["gemma"].build())  # whose local layers are a loop in a loop
    cells = [cell for cell in circuit.cells if cell.op.role == "softmax"]
    assert list(attention_maps.places(cells, circuit).values()) == [
        "layer 1 · local 1 · Grouped-Query Attention",
        "layer 1 · Grouped-Query Attention",
    ]


def test_the_link_opens_any_head_of_any_softmax() -> None:
    circuit = elaborate(ncd.catalogue["encoder-decoder"].build())
    for cell in circuit.cells:
        if cell.op.role == "softmax":
            app = page("encoder-decoder", panel="Attention", softmax=cell.id, head="3")
            fine(app)
            assert app.session_state["head"] == "3"
