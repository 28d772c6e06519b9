"""What is drawn: weights by their formulas, inputs by their kind, dropout by its own generator."""

from __future__ import annotations

import copy
import math
import pickle
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ncd.circuit.elaborate import elaborate
from ncd.errors import LimitError
from ncd.formulas.formula import parse
from ncd.language.axes import Array
from ncd.language.op import InitialValue
from ncd.language.terms import Id
from ncd.ops import BatchNorm, Conv, Dropout, LayerNorm, Linear, Param
from ncd.run.guard import compile
from ncd.run.limits import Limits
from ncd.run.module import CircuitModule
from ncd.run.seeding import SeededDropout, example_inputs, fill_initial, generator


def begun(array: str, formula: str, seed: int = 0) -> torch.Tensor:
    found = Array.parse(array)
    tensor = torch.empty(found.shape)
    fill_initial(tensor, InitialValue(found, parse(formula)), seed, "test")
    return tensor


def test_a_formula_of_positions_and_sizes() -> None:
    expected = torch.arange(3.0)[:, None] * 10 + torch.arange(4.0) / 4
    torch.testing.assert_close(begun("y:3 x:4", "10 * y + x / n_x"), expected)
    torch.testing.assert_close(begun("m:3 k:3", "where(m == k, 1, 0)"), torch.eye(3))
    torch.testing.assert_close(begun("x:2x3", "x"), torch.arange(6.0).view(2, 3))
    assert begun("()", "pi").item() == pytest.approx(math.pi)
    assert begun("m:2", "-inf").tolist() == [-math.inf] * 2


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("min(m, 2) + max(m, 1)", [1, 2, 4]),
        ("m > 0 and not m == 1", [0, 0, 1]),
        ("m < 1 or m >= 2", [1, 0, 1]),
        ("m // 2 + m % 2 - -m ** 2", [0, 2, 5]),
        ("abs(sin(m)) - sqrt(m) * 0", [0, math.sin(1), math.sin(2)]),
    ],
)
def test_every_kind_of_operation(formula: str, expected: list[float]) -> None:
    torch.testing.assert_close(begun("m:3", formula), torch.tensor(expected, dtype=torch.float32))


def test_draws_have_their_distributions() -> None:
    normal, uniform = begun("m:20000", "2 * normal + 1"), begun("m:20000", "uniform")
    assert normal.mean().item() == pytest.approx(1, abs=0.05)
    assert normal.std().item() == pytest.approx(2, abs=0.05)
    assert uniform.abs().max() <= 1
    assert uniform.std().item() == pytest.approx(1 / math.sqrt(3), abs=0.01)
    assert torch.equal(uniform, begun("m:20000", "uniform"))
    assert not torch.equal(uniform, begun("m:20000", "uniform", seed=1))
    two = begun("m:1000", "normal - normal")
    assert two.std().item() == pytest.approx(math.sqrt(2), abs=0.15)  # each is a draw of its own


def test_every_module_begins_with_numbers_of_its_own() -> None:
    term = Linear("m:3 -> k:2", "Q")
    one, two = compile(term), compile(term)
    assert torch.equal(one.Q.weight, two.Q.weight)
    before = two.Q.weight.clone()
    with torch.no_grad():
        one.Q.weight.zero_()
    assert torch.equal(two.Q.weight, before)
    assert torch.equal(compile(term).Q.weight, before)


def test_modules_that_nobody_changes_share_their_weights_but_not_what_a_run_changes() -> None:
    term = Id("b:4 m:5") >> BatchNorm("b m", "bn") >> Linear("m -> k:2", "Q")
    one, two = (CircuitModule(elaborate(term), shared=True) for _ in range(2))
    assert one.Q.weight.data_ptr() == two.Q.weight.data_ptr()
    assert torch.equal(one.Q.weight, compile(term).Q.weight)
    one(torch.randn(4, 5))
    assert (two.bn.running_mean == 0).all()
    assert not (one.bn.running_mean == 0).all()


def test_a_layer_begins_as_torch_begins_it() -> None:
    conv = Conv("c x -> d:32 x", "conv", 3)
    module = compile(Id("m:256 x:8x8") >> Linear("m -> c:64", "Q", bias=True) >> conv)
    for part, fan in ((module.Q, 256), (module.conv, 64 * 9)):
        for weight in (part.weight, part.bias):
            assert weight.abs().max() <= fan**-0.5
            assert weight.std().item() == pytest.approx((3 * fan) ** -0.5, rel=0.4)


def test_a_norm_begins_at_one_and_zero() -> None:
    module = compile(Id("b:4 m:5") >> LayerNorm("m", "ln") >> BatchNorm("b m", "bn"))
    for name, tensor in module.state_dict().items():
        expected = 1 if name.endswith(("weight", "var")) else 0
        if name == "bn.num_batches_tracked":
            assert tensor.dtype == torch.int64
        assert (tensor == expected).all(), name


def test_a_learned_array_begins_as_it_says() -> None:
    module = compile(Param("v:3 m:4", "wte", "v * n_m + m"))
    assert torch.equal(module.wte, torch.arange(12.0).view(3, 4))
    assert isinstance(module.wte, nn.Parameter)


# --- inputs --------------------------------------------------------------------------------------


def test_inputs_are_normal_or_whole() -> None:
    real, whole, mask = example_inputs(Id("y:5000, y:5000#v:7, y:5000#2"), seed=4)
    assert real.mean().item() == pytest.approx(0, abs=0.05)
    assert real.std().item() == pytest.approx(1, abs=0.05)
    assert whole.dtype == torch.int64
    assert whole.unique().tolist() == list(range(7))
    assert mask.unique().tolist() == [0, 1]


def test_inputs_are_counted_before_they_are_drawn() -> None:
    message = (
        "Input: the inputs take 4,000,000,000,000 bytes of memory, and the limit NCD_MAX_BYTES is "
        "2,000,000,000. Bound so far: m 1000000000000. Try smaller sizes."
    )
    with pytest.raises(LimitError, match=f"^{re.escape(message)}$"):
        example_inputs(Id("m:1000000000000"))
    with pytest.raises(LimitError, match="take 80 bytes"):
        example_inputs(Id("y:10#v:5"), limits=Limits(bytes=79))
    assert len(example_inputs(Id("y:10#v:5"), limits=Limits(bytes=80))) == 1


# --- dropout -------------------------------------------------------------------------------------


def test_dropout_draws_what_torch_draws() -> None:
    x = torch.randn(6, 7)
    ours = SeededDropout(0.3, generator(0, "d"))
    state = ours.random.get_state()
    with torch.random.fork_rng():
        torch.set_rng_state(state)
        expected = F.dropout(x, 0.3)
    assert torch.equal(ours(x), expected)


def test_dropout_follows_the_seed_and_the_path() -> None:
    term = Id("m:200") >> Dropout(0.5, "one") >> Dropout(0.5, "two")
    x = torch.ones(200)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = compile(term, seed=1)(x)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(compile(term, seed=1)(x), first)
    assert not torch.equal(compile(term, seed=2)(x), first)
    assert (first > 0).float().mean().item() == pytest.approx(0.25, abs=0.1)
    assert torch.equal(compile(term).eval()(x), x)


def test_dropout_drops_the_same_whatever_the_memory_looks_like() -> None:
    x = torch.randn(5, 6)
    one, two = (SeededDropout(0.5, generator(0, "d")) for _ in range(2))
    assert torch.equal(one(x.T.contiguous().T), two(x))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copied_dropout_goes_on_from_where_it_was(again: object) -> None:
    layer, x = SeededDropout(0.5, generator(0, "d")), torch.ones(100)
    layer(x)
    twin = again(layer)  # type: ignore[operator]
    assert torch.equal(twin(x), layer(x))
    twin(x)
    assert not torch.equal(twin(x), layer(x))


def test_the_gradient_passes_what_was_kept() -> None:
    layer, x = SeededDropout(0.5, generator(0, "d")), torch.ones(50, requires_grad=True)
    out = layer(x)
    out.sum().backward()
    assert torch.equal(x.grad, out.detach())


def test_a_seed_gives_the_numbers_that_it_always_gave() -> None:
    """A link holds a seed, and shows later what it showed before."""
    seeds = [generator(seed, purpose).initial_seed() for seed, purpose in ((0, "Q"), (1, "é"))]
    assert seeds == [4223417143040459680, 408255354771406942]
    layers = Linear("m:2 -> k:1", "Q") >> Linear("k -> n:1", "R", bias=True)
    drawn = [round(x.item(), 4) for p in compile(layers, 3).parameters() for x in p.flatten()]
    assert drawn == [0.1891, 0.175, 0.7549, 0.8355]
    (x,) = example_inputs(Id("y:2"), 3)
    assert [round(n, 4) for n in x.tolist()] == [-0.9278, 0.7138]
