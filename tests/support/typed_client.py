"""A program of a client, in the style of README, which type checkers read and tests run."""

from typing import assert_type

import torch
from torch import Tensor, nn

import ncd
from ncd import (
    Add,
    Axes,
    BatchNorm,
    Block,
    Conv,
    ConvTranspose,
    Copy,
    Einsum,
    Entry,
    Equation,
    GroupNorm,
    Id,
    Index,
    Knob,
    LayerNorm,
    Linear,
    Map,
    MaxPool,
    Param,
    Reduce,
    Rename,
    Repeat,
    Scale,
    Scan,
    Signature,
    Softmax,
    Term,
    Top,
    Type,
    Wire,
    elaborate,
    plain,
    seq,
    space,
)


def attention(y: int = 20, x: int = 22, h: int = 4) -> Term:
    sizes = Axes(y=seq(y), x=seq(x), m=128, k=16, h=h, d="k*h")
    return sizes(
        Id("y m") @ Copy("x m")
        >> Linear("m -> k h", "Q") @ Linear("m -> k h", "K") @ Linear("m -> k h", "V")
        >> Einsum("y k h, x k h -> y x h")
        >> Scale("k")
        >> Softmax("x")
        >> Einsum("y x h, x k h -> y k h")
        >> Linear("k h -> m", "O", bias=True)
    )


def other_ops() -> list[Term]:
    layer = Block(Wire("m -> m, m") >> LayerNorm("m") >> Linear("m -> m", "W") >> Add(), "Layer")
    picture = Axes(c=3, x=space(8, 8), d=plain(6, "2c"))
    return [
        Map("h y x, x#2 -> h y x", "where($2 == 1, -inf, $1)"),
        Id("y#v") @ Param("v m", "wte", "0.02 * normal") >> Index("y#v, v m -> y m"),
        Index("y m", y=2),
        GroupNorm("c x", groups=2) >> BatchNorm("b c"),
        Axes(m=4)(Repeat((layer,) * 3, "encoder")),
        picture(Conv("c x -> d x", "conv", kernel=3) >> MaxPool("x -> y")),
        ConvTranspose("c x -> d:8 y", kernel=(2, 2), stride=2),
        Reduce("m ->", "mean") @ Top("v -> k:3") @ Rename("a -> b"),
        Scan(Id("n, n") >> Id("n, n"), "t"),
        Equation(Linear("m -> k", "A"), Linear(Signature.parse("m -> k"), "A")),
    ]


def names(term: Term) -> list[str]:
    ops = [cell.op for cell in elaborate(term).cells]
    return [str(op.pattern.dom) for op in ops if isinstance(op, Linear)]


def mistakes() -> None:
    """Never called: each line is refused by type checkers, or else its comment is."""
    Linear(3)  # type: ignore[arg-type]
    Softmax(x="m")  # type: ignore[call-arg]
    Linear("m -> k", bias="no")  # type: ignore[arg-type]
    ncd.draw("Id('m')")  # type: ignore[arg-type]


def runs(term: Term) -> Tensor:
    module = ncd.compile(term, seed=0)
    inputs = ncd.example_inputs(term, seed=0)
    trace = ncd.trace(module, *inputs)
    with ncd.track(module) as sizes:
        y: Tensor = module(*inputs)
    print(sizes.calls[0], trace.values["v7"].shape, ncd.autograd(module, *inputs).dot(level="op"))
    imported = ncd.from_torch(nn.Linear(3, 4), torch.randn(2, 3))
    print(imported.term.dom, imported.difference, imported.module())
    return y


def views(term: Term) -> list[str | bytes]:
    small = ncd.Formats(weights="int8", cache="bfloat16", cached=("K", "V"))
    figure = ncd.draw(term, "both", folded=["Layer"], width=400, notes={"Copy": "keys"}, dark=True)
    stream = ncd.stream(term, {"y": 16}, ("x", 8), around=False)
    gradient = ncd.gradient(term, "parameters")
    print(
        ncd.cost(term, small).weight_bytes,
        stream.moved_numbers,
        gradient.cod,
        ncd.onnx(term).doc_string,
    )
    texts = [ncd.source(term), ncd.html(term), ncd.to_json(term), ncd.spell(term), figure.svg()]
    return [*texts, figure.png(scale=2), figure.pdf(), figure.tex()]


def main() -> None:
    entry = assert_type(ncd.catalogue["multi-head-attention"], Entry)
    knob = assert_type(entry.knobs[0], Knob)
    assert_type(Linear("m -> k").pattern, Signature)
    term = entry.build(h=8)
    read = [ncd.parse('Id("m:3")'), ncd.from_json(ncd.to_json(term)), Id(Type.parse("y m"))]
    try:
        print(knob.name, views(term), runs(attention()), names(attention()), *read, *other_ops())
    except (ncd.NCDError, ncd.TextError) as error:
        print(error)
