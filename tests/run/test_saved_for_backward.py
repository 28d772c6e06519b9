"""What is saved for the backward pass is what torch saves, and blocks are calculated again."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import ncd
from ncd import Axes, Block, Dropout, Id, Linear, Repeat, Softmax
from ncd.run.checkpointing import measured_saved, training_flops
from ncd.run.module import CircuitModule
from ncd.run.run_memory import scalar_of_outputs

SYSTEMS = {
    "multi-head-attention": "Scaled Dot-Product Attention",
    "lenet": "Features",
    "lstm": "",
    "gpt-2": "Feed-Forward",
    "layer-norm": "Layer Norm",
    "residual-block": "Residual Component",
    "mixture-of-experts": "Chosen Values",
    "rotary": "",
}


def gradients(module: CircuitModule, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    given = [x.double().requires_grad_() if x.is_floating_point() else x for x in inputs]
    scalar_of_outputs(module(*given)).backward()
    found = [x.grad for x in (*given, *module.parameters())]
    return [x for x in found if x is not None]


@pytest.mark.parametrize(("name", "block"), SYSTEMS.items())
def test_stated_bytes_are_measured_bytes(name: str, block: str) -> None:
    term = ncd.catalogue[name].build()
    inputs = ncd.example_inputs(term)
    plain = gradients(ncd.compile(term).double(), inputs)
    for again in ((), (block,)) if block else ((),):
        module = ncd.compile(term, recompute=again)
        stated, measured = ncd.saved(term, again), measured_saved(module, inputs)
        assert stated.bytes == pytest.approx(measured.bytes, rel=0.1)
        assert stated.arrays
        torch.testing.assert_close(gradients(module.double(), inputs), plain, rtol=1e-9, atol=1e-9)


LAYERS = Axes(y=5, m=4)(
    Repeat(tuple(Block(Linear("m -> m", "L") >> Softmax("m"), "Layer") for _ in range(3)))
)


def test_a_block_of_a_repetition_stands_for_that_of_every_body() -> None:
    term = Id("y:5 m:4") >> LAYERS
    whole, again = ncd.saved(term), ncd.saved(term, ["Layer"])
    # the softmax of each layer, and what the first takes; the last softmax is nobody's input
    assert (whole.bytes, whole.flops) == (4 * 4 * 20, 0)
    assert (again.bytes, again.flops) == (3 * 4 * 20, ncd.cost(term).flops)
    assert [one.formula for one in again.arrays] == ["y·m"] * 3
    halves = ncd.Formats(activations="bfloat16")
    assert ncd.saved(term, ["Layer"], halves).bytes == again.bytes // 2


def test_dropout_drops_the_same_when_it_is_calculated_again() -> None:
    term = Id("y:5 m:4") >> Block(Linear("m -> m", "L") >> Dropout(0.5) >> Softmax("m"), "Layer")
    inputs = ncd.example_inputs(term)
    plain, again = (ncd.compile(term, recompute=names).double() for names in ((), ("Layer",)))
    for _ in range(2):  # the second draws on from where the first has stopped
        torch.testing.assert_close(gradients(plain, inputs), gradients(again, inputs))


def test_a_block_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ncd.UnknownNameError) as caught:
        ncd.compile(LAYERS, recompute=["Lair"])
    assert (
        str(caught.value) == "recompute: there is no block 'Lair'. Try one of f0, Layer, layers.0."
    )


def test_the_backward_pass_of_a_matrix_product_is_two_products() -> None:
    term = Id("y:5 m:4") >> Linear("m -> k:3", "L")
    assert training_flops(term) == 3 * ncd.cost(term).flops


def test_sizes_that_could_be_of_several_axes_stay_numbers() -> None:
    """U-Net's poolings keep places of 16 × 16 × 16 numbers: channels, rows and columns."""
    arrays = ncd.saved(ncd.catalogue["unet"].build(c=8)).arrays
    found = [one.formula for one in arrays if not one.array]
    assert found == ["16·16·16", "q_2·8·8", "64·4·4", "q_4·2·2"]
