"""The Autograd panel: a step of the backward pass, switches for what needs a gradient."""

from __future__ import annotations

import re

import pytest

import ncd
from ncd.app.panels.walk.checkpoint_choice import curve
from ncd.circuit.elaborate import elaborate
from ncd.explain.chain_rule import op_gradients
from ncd.run.checkpointing import plans
from ncd.site import markup
from ncd.site.forward_steps import drawn_ids
from tests.app.page.test_pages import page
from tests.app.panels.images.test_figure_panels import sent

NODES = re.compile(r'class="node ')


def step(back: int, **query: str) -> str:
    return str(sent(page("autograd", panel="Autograd", back=str(back), **query), "graph")["pass"])


def test_a_step_shows_what_arrives_its_rule_and_what_goes_on() -> None:
    term = ncd.catalogue["autograd"].build()
    found = op_gradients(ncd.compile(term), *ncd.example_inputs(term))
    told = step(5)
    assert "Step 5 of 8" in told and "∇a = G bᵀ and ∇b = aᵀ G" in told
    assert "The first 2 arrays are the inputs, the last is G" in told
    assert "<svg" in told.partition("The same as a diagram")[2]
    for grad in (found.arrays["v0"], found.parameters["w"]):
        for number in grad.flatten().tolist():
            assert f">{markup.digits(number)}</td>" in told
    assert "its own gradient is 1" in step(1) and "G / n" in step(2)
    assert "✓" in told and "6 ×" not in step(0) and "8 steps" in step(0)


def test_what_is_selected_is_the_step_where_it_has_one() -> None:
    circuit = elaborate(ncd.catalogue["autograd"].build())
    einsum = next(cell for cell in circuit.cells if cell.op.display_name.startswith("Einsum"))
    assert "Step 5 of 8" in step(2, select=einsum.id)
    assert "Step 2 of 8" in step(2, select=circuit.cells[0].id)  # a name is no step
    assert "Step 8 of 8" in step(99999)


def test_a_switch_takes_its_part_of_the_graph_away() -> None:
    whole = sent(page("autograd", panel="Autograd"), "graph")
    less = sent(page("autograd", panel="Autograd", frozen="v0,v1"), "graph")
    assert len(NODES.findall(whole["svg"])) == len(NODES.findall(less["svg"])) + 2
    assert 'aria-checked="false"' in less["head"] and 'aria-checked="false"' not in whole["head"]
    assert "∇ x" not in step(5, frozen="v0,v1") and "Step 5 of 6" in step(5, frozen="v0,v1")


def test_without_anything_to_learn_it_says_what_backward_would() -> None:
    told = step(1, frozen="v0,v1,w,nonsense,<b>")
    assert "does not require grad" in told and "<b>" not in told


@pytest.mark.parametrize("name", ["encoder-block", "unet", "indexes", "recall"])
def test_every_system_can_be_walked(name: str) -> None:
    app = page(name, panel="Autograd", back="3")
    assert "Step 3 of" in sent(app, "graph")["pass"]


def test_what_a_later_layer_does_is_lit_in_the_one_that_is_drawn() -> None:
    circuit = elaborate(ncd.catalogue["encoder-block"].build(n=3))
    named = [cell for cell in circuit.cells if cell.name == "linear1"]
    drawn = drawn_ids(circuit)
    assert [drawn.get(c.outputs[0].id, c.outputs[0].id) for c in named] == [
        named[0].outputs[0].id
    ] * 3
    assert drawn.get(named[2].id) == named[0].id and named[0].id not in drawn


def test_a_recomputed_block_saves_fewer_bytes_as_stated_and_as_measured() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    block = "Scaled Dot-Product Attention"
    (fence,) = (f.id for f in elaborate(term).fences if f.title == block)
    apps = [
        page("multi-head-attention", panel="Autograd", recompute=names) for names in ("", fence)
    ]
    foot = [sent(app, "graph")["foot"] for app in apps]
    assert not apps[0].get("plotly_chart"), "no layers, no budget"
    for told, again in zip(foot, ((), (block,)), strict=True):
        stated = markup.amount(ncd.saved(term, again).bytes, "B")
        assert f"<b>{stated}</b> are saved" in told and f"Measured: {stated}" in told
    assert ncd.saved(term, (block,)).bytes < ncd.saved(term).bytes
    assert f'aria-checked="true" data-pick="recompute={fence}"' in foot[1]


def test_a_block_inside_a_recomputed_one_has_no_switch_of_its_own() -> None:
    term = ncd.catalogue["encoder-block"].build()
    (layers,) = (f.id for f in elaborate(term).fences if f.repeats)
    foot = sent(page("encoder-block", panel="Autograd", recompute=layers), "graph")["foot"]
    assert "recomputed at most" in foot and "<td>Each of 2 layers</td>" in foot
    assert foot.count('disabled title="A block around it is recomputed"') == 3
    assert f'data-pick="recompute={layers}">Each of 2 layers' in foot


def test_the_title_of_a_block_is_typeset_on_its_switch() -> None:
    foot = str(sent(page("identity-resnet", panel="Autograd"), "graph")["foot"])
    switches = foot[foot.index('class="switches"') :].partition("</div>")[0]
    assert "<msub><mi>n</mi><mi>μ</mi></msub>" in switches and "n_" not in switches
    assert re.findall(r"</math>( \d)?</button>", switches)[2:4] == [" 1", " 2"]


def test_a_budget_chooses_the_layers_and_its_slider_follows_the_link() -> None:
    term = ncd.catalogue["vit"].build()
    whole, *_, least = plans(term)
    app = page("vit", panel="Autograd", recompute=",".join(least.recompute))
    told = str(sent(app, "budget")["html"])
    assert (
        "<code>layer.0</code>, <code>layer.1</code>" in told and 'min="0" max="2" value="0"' in told
    )
    for number in (least.bytes, least.bytes_between_passes, whole.bytes):
        assert markup.amount(number, "B") in told
    foot = str(sent(app, "graph")["foot"])
    stated = markup.amount(least.bytes_between_passes, "B")
    assert f"<b>{stated}</b> are saved" in foot and f"Measured: {stated}" in foot
    assert "<td>layer.0</td>" in foot
    assert foot.count('disabled title="Its layers are recomputed"') == 4


def test_the_curve_steps_up_where_a_budget_is_too_small() -> None:
    every = plans(ncd.catalogue["vit"].build())
    line, star = curve(every, 1).data
    assert (line.line.shape, list(line.x)) == ("vh", [one.bytes for one in every])
    assert (star.x[0], star.y[0]) == (every[1].bytes, every[1].flops)
