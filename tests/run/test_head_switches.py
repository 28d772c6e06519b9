"""Heads switched off: the same as an output map whose columns for them are zero."""

import pytest
import torch

import ncd
from ncd import Einsum, Id, Softmax
from ncd.explain.equation_proof import max_difference
from ncd.run.head_switches import Head, disable_heads, find_attention

SYSTEMS = {"encoder-block": 4, "decoder-block": 4, "visual-attention": 4, "merged-qkv": 4}


def test_every_attention_is_found_with_all_its_heads() -> None:
    circuit = ncd.elaborate(ncd.catalogue["decoder-block"].build(n=2, h=3))
    found = list(find_attention(circuit))
    assert [len(each.heads) for each in found] == [3, 3, 3, 3]  # masked and cross, in two layers
    assert len({head for each in found for head in each.heads}) == 12
    recogniser = ncd.elaborate(ncd.catalogue["image-recogniser"].build())
    assert not list(find_attention(recogniser))  # its softmax gives chances, not weights


def test_a_head_that_is_off_is_one_whose_numbers_nobody_takes() -> None:
    term = ncd.catalogue["encoder-block"].build(n=2, h=4, k=8, t=5)
    module, x = ncd.compile(term), ncd.example_inputs(term)
    first, second = find_attention(module.circuit)
    off = [Head(first.softmax.id, 1), Head(second.softmax.id, 0), Head(second.softmax.id, 3)]
    weights = {name: w.clone() for name, w in module.state_dict().items()}
    for layer, head in ((0, 1), (1, 0), (1, 3)):
        name = f"layers.{layer}.self_attn.out.weight"
        weights[name].view(-1, 4, 8)[:, head] = 0
    cut = ncd.compile(term)
    cut.load_state_dict(weights)
    with torch.no_grad():
        (found,) = module.execute(x, watch=disable_heads(module.circuit, off))
        assert max_difference(found, cut(*x)) < 1e-6
        assert max_difference(found, module(*x)) > 1e-3


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_maps_of_all_heads_have_rows_that_sum_to_one(name: str) -> None:
    term = ncd.catalogue[name].build()
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    values = ncd.trace(module, *inputs).values
    for found in find_attention(module.circuit):
        maps = found.maps(values[found.softmax.outputs[0].id])
        assert len(maps) == len(found.heads) == SYSTEMS[name]
        torch.testing.assert_close(maps.sum(-1), torch.ones(maps.shape[:2]))


def test_each_of_the_queries_that_share_keys_is_a_head() -> None:
    """With grouped queries a head has its own weights, though its keys and values are shared."""
    term = ncd.catalogue["grouped-queries"].build(g=2, q=3, k=4)
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    (found,) = find_attention(module.circuit)
    assert len(found.heads) == 6
    values = ncd.trace(module, *inputs).values
    softmax = values[found.softmax.outputs[0].id]  # y x g q
    maps = found.maps(softmax)
    whole = values[found.product.outputs[0].id]  # y g q k
    for g in range(2):
        for q in range(3):
            assert torch.equal(maps[3 * g + q], softmax[:, :, g, q])
            made = found.without_heads([3 * g + q], whole)
            wanted = whole.clone()
            wanted[:, g, q] = 0
            assert torch.equal(made, wanted)


def test_several_axes_of_heads_in_another_order() -> None:
    """Heads of two axes, which the product has in another order than the weights."""
    values = Id("h:3 x:5 g:2 k:6")
    term = Id("g:2 h:3 y:4 x:5") >> Softmax("x") @ values
    term = term >> Einsum("g h y x, h x g k -> h y g k")
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    (found,) = find_attention(module.circuit)
    (whole,) = module.execute(inputs)
    for g in range(2):
        for h in range(3):
            head = found.heads[3 * g + h]
            (made,) = module.execute(inputs, watch=disable_heads(module.circuit, [head]))
            wanted = whole.clone()
            wanted[h, :, g] = 0
            assert torch.equal(made, wanted)


def test_a_batch_in_front_changes_nothing() -> None:
    term = ncd.catalogue["merged-qkv"].build(h=3, k=4, m=6, t=5)
    module = ncd.compile(term)
    (found,) = find_attention(module.circuit)
    watch = disable_heads(module.circuit, found.heads[1:2])
    x = torch.randn(7, 5, 6, generator=torch.Generator().manual_seed(0))
    kept: dict[str, torch.Tensor] = {}
    with torch.no_grad():
        (whole,) = module.execute((x,), keep=kept, watch=watch)
        alone = [module.execute((each,), watch=watch)[0] for each in x]
    assert max_difference(whole, torch.stack(alone)) < 1e-6
    assert found.maps(kept[found.softmax.outputs[0].id]).shape == (7, 3, 5, 5)


def test_nothing_off_is_the_run_itself() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    kept: dict[str, torch.Tensor] = {}
    module.execute(inputs, keep=kept, watch=disable_heads(module.circuit, ()))
    plain = ncd.trace(module, *inputs).values
    assert all(torch.equal(kept[id], plain[id]) for id in plain)
