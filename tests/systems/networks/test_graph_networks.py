"""Networks on graphs against plain torch, which adds along the list of edges."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.app.panels.attention import neighbours
from tests.app.panels.attention.test_language_panels import scene

SIZES = (
    {"n": 5, "e": 9, "c": 3},
    {"n": 2, "e": 1, "c": 1},
    {"n": 6, "e": 40, "c": 4},  # some edges occur twice
)


def neighbourhoods(start: Tensor, end: Tensor, n: int) -> list[list[int]]:
    """Returns the nodes that each node reads, itself among them."""
    pairs = {(int(v), int(u)) for u, v in zip(start, end, strict=True)} | {(i, i) for i in range(n)}
    return [sorted(u for v, u in pairs if v == i) for i in range(n)]


def convolved(w: dict[str, Tensor], start: Tensor, end: Tensor, x: Tensor) -> Tensor:
    reads = neighbourhoods(start, end, len(x))
    readers = [sum(u in own for own in reads) for u in range(len(x))]

    def mixed(x: Tensor) -> Tensor:
        return torch.stack(
            [sum(x[u] / (len(own) * readers[u]) ** 0.5 for u in own) for own in reads]
        )

    return mixed(mixed(x @ w["W0.weight"].T).relu() @ w["W1.weight"].T)


def attended(w: dict[str, Tensor], start: Tensor, end: Tensor, x: Tensor) -> Tensor:
    heads, features = w["a1"].shape
    z = (x @ w["W.weight"].reshape(heads * features, -1).T).reshape(len(x), heads, features)
    vector = torch.cat((w["a1"], w["a2"]), 1)
    out = []
    for n, own in enumerate(neighbourhoods(start, end, len(x))):
        both = torch.cat((z[n].expand(len(own), -1, -1), z[own]), 2)
        shares = F.leaky_relu((both * vector).sum(2), 0.2).softmax(0)
        out.append(F.elu((shares[..., None] * z[own]).sum(0)))
    return torch.stack(out)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize(("name", "reference"), [("gcn", convolved), ("gat", attended)])
def test_it_equals_torch(name: str, reference: object, sizes: dict[str, int]) -> None:
    term = ncd.catalogue[name].build(**sizes)
    module: nn.Module = ncd.compile(term, seed=1).double()
    start, end, x = ncd.example_inputs(term, seed=2)
    x = x.double().requires_grad_()
    own = dict(module.named_parameters())
    ours, theirs = module(start, end, x), reference(own, start, end, x)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)
    wanted = [x, *own.values()]
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(0)).double()
    for one, two in zip(
        torch.autograd.grad(ours, wanted, upstream),
        torch.autograd.grad(theirs, wanted, upstream),
        strict=True,
    ):
        torch.testing.assert_close(one, two, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("name", "parameters"), [("gcn", 23_040), ("gat", 1433 * 64 + 2 * 64)])
def test_cora_has_the_published_weights(name: str, parameters: int) -> None:
    entry = ncd.catalogue[name]
    assert ncd.cost(entry.build(**entry.preset("cora").knobs)).parameters == parameters


@pytest.mark.parametrize("name", ["gcn", "gat"])
def test_the_panel_shows_the_edges_of_the_run(name: str) -> None:
    found = scene(name)
    start, end, _ = found.inputs
    shown = neighbours.weights(found)
    reads = neighbourhoods(start, end, len(shown))
    assert [list(row.nonzero()[0]) for row in shown[:, :, 0]] == reads
    drawn = neighbours.picture(shown[:, :, 0], 3)
    assert drawn.count("<polygon") == sum(len(own) - 1 for own in reads)
    assert drawn.count("#c9732b") == len(reads[3])  # its lines, and itself


def test_all_readers_put_their_neighbours_in_one_order() -> None:
    """Brody et al. 2022, theorem 1: the attention of these layers is static."""
    shown = neighbours.weights(scene("gat"))
    assert (shown.sum(1) > 0.999).all()
    for head in range(shown.shape[2]):
        table = torch.tensor(shown[:, :, head])
        for one in table:
            for two in table:
                both = ((one > 0) & (two > 0)).nonzero()[:, 0]
                assert torch.equal(one[both].argsort(), two[both].argsort())
