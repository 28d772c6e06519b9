"""Plain torch modules and published architectures, imported: equal, and legible."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd import Imported, from_torch
from tests.read.torch_module import published
from tests.read.torch_module.modules import CASES, LAYERS, LanguageModel

CLOSE = 1e-5


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Gives modules the same weights at each run, and leaves torch's own state alone."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def layers(found: Imported) -> list[tuple[str, int]]:
    """Returns the repetitions of a term, by name and number."""
    return [
        (loop.name, len(loop.bodies))
        for loop in ncd.elaborate(found.term).loops
        if loop.kind == "repeat"
    ]


def state_of(module: nn.Module) -> dict[str, Tensor]:
    return {name: x.clone() for name, x in module.state_dict().items()}


@pytest.mark.parametrize("name", CASES)
def test_a_module_is_its_term(name: str) -> None:
    module, inputs = CASES[name]()
    before, training = state_of(module), module.training
    found = from_torch(module, *inputs)
    assert found.difference <= CLOSE
    assert not found.boxes
    assert layers(found) == LAYERS.get(name, [])
    assert not found.failure and module.training == training
    given = found.state_dict()
    for state in (before, module.state_dict()):  # nothing is lost, and the module is as it was
        assert given.keys() == state.keys()
        assert all(torch.equal(given[key], x) for key, x in state.items())


@pytest.mark.few(16)
@pytest.mark.parametrize("name", CASES)
def test_the_term_of_a_module_is_a_term_like_any_other(name: str) -> None:
    module, inputs = CASES[name]()
    term = from_torch(module, *inputs).term
    assert ncd.parse(repr(term)) == term
    assert ncd.from_json(ncd.to_json(term)) == term
    assert ncd.cost(term).parameters == sum(x.numel() for x in module.parameters())
    assert ncd.draw(term, width=1280).svg().startswith("<svg")


@pytest.mark.parametrize(
    "name",
    [
        *("mlp", "nanogpt", "unet", "rotary", "convnext", "sides", "squeeze and excitation"),
        *("shifted windows", "tied and turned"),
    ],
)
def test_gradients_are_those_of_the_module(name: str) -> None:
    module, inputs = CASES[name]()
    found = from_torch(module, *inputs)
    mine = found.module()
    module(*inputs).square().sum().backward()
    mine(*inputs).square().sum().backward()
    wanted = {key: x.grad for key, x in module.named_parameters()}
    for parameter in mine.parameters():
        assert parameter.grad is not None
        parameter.data = parameter.grad
    given = found.state_dict(mine)
    for key, grad in wanted.items():
        torch.testing.assert_close(given[key], grad, rtol=1e-3, atol=1e-4)


def test_trained_weights_go_back_under_torchs_names() -> None:
    module, inputs = CASES["nanogpt"]()
    found = from_torch(module, *inputs)
    mine = found.module()
    with torch.no_grad():
        for parameter in mine.parameters():
            parameter.mul_(1.1)
    other = LanguageModel()
    other.load_state_dict(found.state_dict(mine))
    torch.testing.assert_close(mine(*inputs), other(*inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.few(12)
@pytest.mark.parametrize("name", published.CASES)
def test_a_published_architecture_is_its_term(name: str) -> None:
    module, inputs = published.CASES[name]()
    found = from_torch(module, *inputs)
    assert found.difference <= CLOSE
    assert sorted({box.function for box in found.boxes}) == published.BOXES.get(name, [])
    assert layers(found) == published.LAYERS.get(name, [("layers", 3)])
    given, state = found.state_dict(), module.state_dict()
    assert given.keys() == state.keys()
    assert all(torch.equal(given[key], x) for key, x in state.items())
