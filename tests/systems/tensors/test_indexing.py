"""Section 2.3 of the notebook, retyped: f, g and h, indexes, and broadcasting as it defines it."""

from itertools import product
from math import sqrt

import pytest
import torch
from torch import Tensor

import ncd
from ncd.run.module import CircuitModule
from tests.systems.retyped import close, given, matrix, same

SIZES = ({}, {"a": 5, "b": 3}, {"a": 2, "b": 7})


def system(name: str, **knobs: int) -> CircuitModule:
    return ncd.compile(ncd.catalogue[name].build(**knobs))


@pytest.mark.parametrize("sizes", [{}, {"a": 1, "c": 5, "d": 2}, {"p": 7, "r": 3, "s": 5}], ids=str)
def test_tensors(sizes: dict[str, int]) -> None:
    n = ncd.catalogue["tensors"].settings(sizes)

    def f(x0: Tensor, x1: Tensor) -> Tensor:
        """f: b c, d -> p q"""
        assert x0.size() == torch.Size([n["b"], n["c"]])
        assert x1.size() == torch.Size([n["d"]])
        return taken("f", (x0, x1), (n["p"], n["q"]))

    def g(x0: Tensor, x1: Tensor) -> Tensor:
        """g: a, p q -> r s"""
        assert x0.size() == torch.Size([n["a"]])
        assert x1.size() == torch.Size([n["p"], n["q"]])
        return taken("g", (x0, x1), (n["r"], n["s"]))

    def h(x0: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        """h: a, b c, d -> r s"""
        return g(x0, f(x1, x2))

    arrays = given([n["a"]], [n["b"], n["c"]], [n["d"]])
    same(system("tensors", **sizes), h, arrays)


def taken(letter: str, arrays: tuple[Tensor, ...], shape: tuple[int, ...]) -> Tensor:
    """Some smooth function of some arrays: the one that a box of this letter stands for."""
    out, size = torch.Size(shape).numel(), sum(x.numel() for x in arrays)
    parts = (matrix(letter, out, x.numel(), i) @ x.flatten() for i, x in enumerate(arrays))
    return torch.tanh(sum(parts) / sqrt(size)).view(shape)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_indexes(sizes: dict[str, int]) -> None:
    n = ncd.catalogue["indexes"].settings(sizes)
    (table,) = given([n["a"], n["b"]])
    for i in range(n["a"]):
        same(system("indexes", **n | {"i": i}), lambda table, i=i: table[i, :], [table])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_all_orders_of_access_give_the_same_number(sizes: dict[str, int]) -> None:
    n = ncd.catalogue["subtensors"].settings(sizes)
    a, b = n["a"], n["b"]
    (Xab,) = given([a, b])

    def accessed(ia: int, jb: int) -> tuple[Tensor, Tensor, Tensor]:
        return Xab[ia, jb], Xab[ia, :][jb], Xab[:, jb][ia]

    for ia, jb in product(range(a), range(b)):
        ours = system("subtensors", **n | {"i": ia, "j": jb})
        same(ours, lambda _, at=(ia, jb): accessed(*at), [Xab])


@pytest.mark.parametrize("c", [2, 4, 7])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_broadcasting(sizes: dict[str, int], c: int) -> None:
    n = ncd.catalogue["broadcasting"].settings(sizes | {"c": c, "i": 0})
    a, b = n["a"], n["b"]

    def G(Xa: Tensor) -> Tensor:
        """G: a -> b"""
        return taken("G", (Xa,), (b,))

    def Gc(Xac: Tensor) -> Tensor:
        """G c : a c -> b c"""
        Ybc = torch.zeros(b, c)
        for jc in range(c):
            Ybc[:, jc] = G(Xac[:, jc])
        return Ybc

    Gs = torch.vmap(G, -1, -1)
    (Xca,) = given([c, a])
    for jc in range(c):
        ours = system("broadcasting", **n | {"i": jc})
        same(ours, lambda x, jc=jc: (Gc(x.T)[:, jc], G(x.T[:, jc])), [Xca])
        close(ours(Xca)[0], Gs(Xca.T)[:, jc])


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_inner_broadcasting(sizes: dict[str, int], d: int) -> None:
    n = ncd.catalogue["inner-broadcasting"].settings(sizes | {"d": d, "i": 0})
    a, b, c = n["a"], n["b"], n["c"]

    def H(Xa: Tensor, Xd: Tensor) -> Tensor:
        """H: a, d -> b"""
        return taken("H", (Xa, Xd), (b,))

    def Hc0(Xca: Tensor, Xd: Tensor) -> Tensor:
        """c0 H: c a, d -> c b"""
        Ycb = torch.zeros(c, b)
        for ic in range(c):
            Ycb[ic, :] = H(Xca[ic, :], Xd)
        return Ycb

    Hs0 = torch.vmap(H, (0, None), 0)
    Xca, Xd = given([c, a], [d])
    for ic in range(c):
        ours = system("inner-broadcasting", **n | {"i": ic})
        same(ours, lambda x, xd, ic=ic: (Hc0(x, xd)[ic, :], H(x[ic, :], xd)), [Xca, Xd])
        close(ours(Xca, Xd)[0], Hs0(Xca, Xd)[ic, :])


@pytest.mark.parametrize("sizes", [{}, {"c": 2, "a": 5}, {"c": 7, "a": 1}], ids=str)
def test_elementwise(sizes: dict[str, int]) -> None:
    n = ncd.catalogue["elementwise"].settings(sizes)

    def f(x: Tensor) -> Tensor:
        """f : 1 -> 1"""
        return taken("f", (x,), x.shape)

    fs = torch.vmap(torch.vmap(f))
    (Xca,) = given([n["c"], n["a"]])
    for i in range(n["c"]):
        ours = system("elementwise", **n | {"i": i})
        same(ours, lambda x, i=i: (fs(x)[i], torch.stack([f(one) for one in x[i]])), [Xca])


@pytest.mark.parametrize(("c", "some"), [(2, "0, 1"), (5, "0, 1, 2, 3, 4"), (6, "0 … 5")])
def test_notes_name_the_indexes_of_an_axis(c: int, some: str) -> None:
    for name in ("broadcasting", "inner-broadcasting"):
        (said, *_) = ncd.catalogue[name].callouts({"c": c, "i": 1}).values()
        assert (
            f"expressions hold for $1$ replaced by any valid index $i_{{{c}}} ∈ {{{some}}}$."
            in said
        )


def test_an_index_may_be_0() -> None:
    for name in ("indexes", "subtensors", "broadcasting", "inner-broadcasting", "elementwise"):
        indexes = [knob for knob in ncd.catalogue[name].knobs if knob.below]
        assert indexes and all(knob.min == 0 for knob in indexes)
