"""Random terms at which a law applies: each of a seed, with axes and sizes of its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import pairwise

from ncd import (
    Add,
    Array,
    BatchNorm,
    Block,
    Concat,
    Conv,
    Copy,
    Cut,
    Einsum,
    Elementwise,
    Group,
    Id,
    Index,
    LayerNorm,
    Linear,
    Map,
    Reduce,
    Rename,
    Repeat,
    RMSNorm,
    Scale,
    Softmax,
    Split,
    Term,
    Type,
    Wire,
)
from ncd.ops import CausalMask

Draw = random.Random
LETTERS = "bcdfghjklpqstuwz"


def axes(r: Draw, count: int, taken: str = "") -> list[str]:
    """Axes with sizes, of names that are not taken."""
    names = r.sample([c for c in LETTERS if c not in taken], count)
    return [f"{name}:{r.randint(2, 4)}" for name in names]


def text(names: list[str]) -> str:
    return " ".join(names) or "()"


def around(r: Draw, own: list[str], term: Term) -> Term:
    """The term on arrays that have more axes in front, and with an activation behind."""
    taken = "".join(one[0] for one in own)
    more = axes(r, r.randint(0, 2), taken + "mnxyvea")
    whole = Type((Array((*Type.parse(text(more)).axes, *Type.parse(text(own)).axes)),))
    behind = (Elementwise("tanh"), Elementwise("sigmoid"))
    return Id(whole) >> term >> r.choice(behind)


def composed(r: Draw) -> Term:
    own, middle, new = axes(r, r.randint(1, 2)), "m:3 n:2", "x:4"
    one = Linear(f"{text(own)} -> {middle}", "A", r.random() < 0.5)
    return around(r, own, one >> Linear(f"m n -> {new}", "B", r.random() < 0.5))


def fused(r: Draw) -> Term:
    own, bias = axes(r, r.randint(1, 2)), r.random() < 0.5
    whole, news = text(own), ("m:3 n:2", "m:3 n:2", "x:4")
    maps = [Linear(f"{whole} -> {new}", name, bias) for name, new in zip("QKV", news, strict=True)]
    copies = Wire(f"{whole} -> {whole}, {whole}, {whole}")
    return copies >> maps[0] @ maps[1] @ maps[2]


def added_maps(r: Draw) -> Term:
    own = axes(r, r.randint(1, 2))
    maps = [Linear(f"{text(own)} -> x:4 y:2", name, r.random() < 0.5) for name in "AB"]
    return Copy(text(own)) >> maps[0] @ maps[1] >> Add() >> Elementwise("tanh")


def scaled(r: Draw) -> Term:
    own = axes(r, r.randint(1, 2))
    scale = Scale(r.choice(("m:5", "n:3")), r.choice(("-1/2", "2", "-1", "1/3")))
    linear = Linear(f"{text(own)} -> x:4", "A", r.random() < 0.5)
    return around(r, own, scale >> linear if r.random() < 0.5 else linear >> scale)


def normed_scale(r: Draw) -> Term:
    own = axes(r, r.randint(1, 2))
    norm = r.choice((LayerNorm, RMSNorm))(text(own), "norm")
    return around(r, own, Scale("m:3", r.choice(("-1/2", "1/2", "1"))) >> norm)


def norm_weights(r: Draw) -> Term:
    whole = text(axes(r, r.randint(1, 2)))
    norm = LayerNorm(whole, "norm", bias=r.random() < 0.5)
    one, two = (Linear(f"{whole} -> x:4", name, r.random() < 0.5) for name in "AB")
    return Id(whole) >> norm >> Copy(whole) >> one @ two >> Add()


def batch_norm(r: Draw) -> Term:
    n = r.randint(3, 5)
    first = Id(f"b:{r.randint(1, 3)} c:{r.randint(1, 3)} x:{n}x{n + 1}")
    conv = Conv(f"c x -> d:{r.randint(1, 3)} x", "conv", 3, bias=r.random() < 0.5)
    return first >> conv >> BatchNorm("b d", "norm", affine=r.random() < 0.5)


def products(r: Draw) -> Term:
    b, c, d, f = axes(r, 4)
    one = Einsum(f"{b} {c}, {c} {d} -> {b} {d}")
    other = f"{b} {d}, {d} {f} -> {b} {f}" if r.random() < 0.5 else f"{b} {d}, {b} {f} -> {d} {f}"
    return one @ Elementwise("tanh") >> Einsum(other)


def long_product(r: Draw) -> Term:
    names = axes(r, 5)
    chain = [f"{one} {two}" for one, two in pairwise(names)]
    r.shuffle(chain)
    return Einsum(f"{', '.join(chain)} -> {names[0]} {names[-1]}")


def distributed(r: Draw) -> Term:
    a, b, c = axes(r, 3)
    ops = (
        Einsum(f"{a} {b} -> {b} {a}"),
        Reduce(f"{b} ->", r.choice(("sum", "mean"))),
        Scale("m:5"),
        Rename(f"{b} -> {c[0]}"),
    )
    if r.random() < 0.3:
        two = Id(f"{a} {b}, {a} {b}, {b} {c}")
        return two >> Add() @ Id(f"{b} {c}") >> Einsum(f"{a} {b}, {b} {c} -> {a} {c}")
    return Id(f"{a} {b}, {a} {b}") >> Add() >> r.choice(ops)


def moved_scale(r: Draw) -> Term:
    a, b = axes(r, 2)
    ops = (
        Einsum(f"{a} {b} -> {b} {a}"),
        Linear(f"{b} -> m:4", "A"),
        Reduce(f"{b} ->", "mean"),
        Group(f"{a} {b} -> m"),
    )
    scale, op = Scale("v:3", "-1/2"), r.choice(ops)
    return Id(f"{a} {b}") >> (scale >> op if r.random() < 0.5 else op >> scale)


def inverses(r: Draw) -> Term:
    a, b = axes(r, 2)
    m = f"m:{int(a[2:]) * int(b[2:])}"
    pairs = (
        Id(f"{a} {b}") >> Group(f"{a} {b} -> m") >> Split(f"m -> {a} {b}"),
        Id(m) >> Split(f"m -> {a} {b}") >> Group(f"{a} {b} -> {m}"),
        Id(f"{a} {b}") >> Rename(f"{a[0]} -> m") >> Rename(f"m -> {a[0]}"),
        Id(f"{a} e:5") >> Cut("e -> x:2, y:3") >> Concat("x, y -> e"),
    )
    return r.choice(pairs) >> Elementwise("tanh")


def broadcast(r: Draw) -> Term:
    a, b, c = axes(r, 3)
    ops = (
        Elementwise("gelu"),
        Linear(f"{a} -> m:4", "A", True),
        LayerNorm(a, "norm"),
        Scale("v:3"),
        Map("() -> ()", "$1 ** 2"),
        Softmax(a),
    )
    return Id(f"{b} {a}") >> Map(f"{b} {a} -> {c} {b} {a}", "$1") >> r.choice(ops)


def layers(r: Draw) -> Term:
    own = axes(r, 1)
    behind = r.choice((Elementwise("tanh"), LayerNorm(own[0])))
    body = Linear(f"{own[0]} -> {own[0]}", "A", True) >> behind
    return Repeat((body,) * r.randint(1, 4), "layers")


def single_op(r: Draw) -> Term:
    """One op that has another form, on more axes than its own."""
    own = axes(r, r.randint(1, 2))
    ops: tuple[Term, ...] = (
        Softmax(own[0]),
        LayerNorm(text(own), "norm", bias=r.random() < 0.5),
        RMSNorm(text(own), "norm"),
        Linear(f"{text(own)} -> m:3 n:2", "A", r.random() < 0.5),
        Linear(f"{text(own)} -> {own[0]}", "A"),
        Reduce(f"{own[0]} ->", r.choice(("sum", "mean"))),
        Elementwise(r.choice(("silu", "relu"))),
        Copy(text(own)) >> Elementwise("sin") @ Id(text(own)) >> Add(),
    )
    if r.random() < 0.2:
        return Id("a:3#v:5, v:5 m:2") >> Index("a#v, v m -> a m")
    if r.random() < 0.2:
        n = r.randint(3, 5)
        padding = r.choice((0, 1))
        return Id(f"c:{r.randint(1, 3)} x:{n}x{n}") >> Conv(
            "c x -> d:2 x" if padding else "c x -> d:2 u", "conv", 3, padding=padding
        )
    if r.random() < 0.1:
        return Id("y:3 x:4") >> CausalMask("y x") >> Softmax("x")
    return around(r, own, r.choice(ops))


def fenced(r: Draw) -> Term:
    return Block(single_op(r), "Part", name=r.choice(("", "part"))) >> Elementwise("sin")


LAW_TERMS: Mapping[str, Callable[[Draw], Term]] = {
    "write": single_op,
    "compose-linear": composed,
    "add-linears": added_maps,
    "fuse-linears": fused,
    "absorb-scale": scaled,
    "absorb-scale-in-norm": normed_scale,
    "absorb-norm-weights": norm_weights,
    "fold-batch-norm": batch_norm,
    "merge-einsums": products,
    "best-order": long_product,
    "distribute": distributed,
    "move-scale": moved_scale,
    "cancel-inverses": inverses,
    "through-broadcast": broadcast,
    "unroll": layers,
    "fence": single_op,
    "unwrap": fenced,
}
