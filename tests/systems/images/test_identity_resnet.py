"""Figure 26: the notebook's modules, retyped; each repetition has weights of its own."""

from __future__ import annotations

import pytest
from torch import Tensor, nn

import ncd
from ncd.systems.images.resnet import identity_resnet, one_block
from tests.systems.retyped import close, given, in_order, layers, same


class NormActivate(nn.Sequential):
    def __init__(self, nf: int) -> None:
        super().__init__(nn.BatchNorm2d(nf), nn.ReLU())


class IdentityResNet(nn.Sequential):
    def __init__(self, N: int, s: int, n_mu: list[int], y: int) -> None:
        super().__init__(
            nn.Conv2d(3, n_mu[0], 3, padding=1),
            Block(1, N, n_mu[0], n_mu[1]),
            Block(s, N, n_mu[1], n_mu[2]),
            Block(s, N, n_mu[2], n_mu[3]),
            NormActivate(n_mu[3]),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(n_mu[3], y),
            nn.Softmax(-1),
        )


class Block(nn.Sequential):
    def __init__(self, s: int, N: int, n0: int, n1: int) -> None:
        nb = n1 // 4
        super().__init__(
            NormActivate(n0),
            ResidualConnection(
                nn.Sequential(
                    nn.Conv2d(n0, nb, 1, s),
                    NormActivate(nb),
                    nn.Conv2d(nb, nb, 3, padding=1),
                    NormActivate(nb),
                    nn.Conv2d(nb, n1, 1),
                ),
                nn.Conv2d(n0, n1, 1, s),
            ),
            *(
                ResidualConnection(
                    nn.Sequential(
                        NormActivate(n1),
                        nn.Conv2d(n1, nb, 1),
                        NormActivate(nb),
                        nn.Conv2d(nb, nb, 3, padding=1),
                        NormActivate(nb),
                        nn.Conv2d(nb, n1, 1),
                    )
                )
                for _ in range(N - 1)
            ),
        )


class ResidualConnection(nn.Module):
    def __init__(self, mainline: nn.Module, connection: nn.Module | None = None) -> None:
        super().__init__()
        self.main = mainline
        self.secondary = nn.Identity() if connection is None else connection

    def forward(self, x: Tensor) -> Tensor:
        return self.main(x) + self.secondary(x)


def retyped(module: nn.Module) -> list[nn.Module]:
    """Its layers in the notebook's order: there the way beside a component comes after it."""
    own = layers(module)
    names = [name for name, layer in module.named_modules() if layer in own]
    beside = {name.partition(".skip")[0]: name for name in names if ".skip" in name}
    order = []
    for name in (name for name in names if ".skip" not in name):
        order.append(name)
        if name.removesuffix(".conv_3") in beside:
            order.append(beside[name.removesuffix(".conv_3")])
    return [module.get_submodule(name) for name in order]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "sizes",
    [
        {"x": 8},
        {"b": 2, "x": 9, "N": 2, "n1": 3, "n2": 4, "n3": 12, "n4": 8, "y": 5},
        {"b": 5, "x": 7, "N": 1, "n1": 2, "n2": 8, "n3": 8, "n4": 4, "s": 3},
        {"b": 2, "x": 4, "N": 4, "n1": 1, "n2": 4, "n3": 4, "n4": 4, "s": 1},
    ],
    ids=str,
)
def test_identity_resnet(sizes: dict[str, int], training: bool) -> None:
    entry = ncd.catalogue["identity-resnet"]
    n = entry.settings(sizes)
    module = ncd.compile(entry.build(**n), seed=1).train(training)
    hand = IdentityResNet(n["N"], n["s"], [n[f"n{i}"] for i in (1, 2, 3, 4)], n["y"])
    hand.train(training)
    pairs = in_order(retyped(module), layers(hand))
    same(module, hand, given([n["b"], 3, n["x"], n["x"]]), pairs)
    for mine, its in zip(retyped(module), layers(hand), strict=True):  # statistics moved alike
        for one, two in zip(mine.buffers(), its.buffers(), strict=True):
            close(one.float(), two.float())


def test_no_weights_are_shared() -> None:
    module = ncd.compile(ncd.catalogue["identity-resnet"].build(x=8, N=3))
    first, second = (module.get_submodule(f"block_1.components.{i}.conv_2") for i in (0, 1))
    assert (first.weight != second.weight).any()


@pytest.mark.parametrize("mu", [1, 2, 3])
def test_one_block_is_that_of_the_network(mu: int) -> None:
    settings = ncd.catalogue["identity-resnet"].settings({"N": 2, "n2": 8, "n3": 12, "n4": 16})
    equation = one_block(mu, **settings)
    inside = [(cell.op, cell.site) for cell in ncd.elaborate(equation.sides[1]).cells]
    whole = ncd.elaborate(identity_resnet(**settings))
    own = [f.id for f in whole.fences if f.title.startswith("Block")][mu - 1]
    assert inside == [(cell.op, cell.site) for cell in whole.cells if own in cell.fences]
    assert ncd.prove(equation)
