"""The Two ways panel: linear maps and 1 × 1 convolutions with the same weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

import ncd
from ncd.app.figure import diagram
from ncd.app.parts import html_panel
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.explain.equation_proof import max_difference
from ncd.language.blocks import Equation
from ncd.language.terms import Term
from ncd.site import markup

FEW = 8  # the greatest number of positions and features that are shown


@dataclass(frozen=True)
class Ways:
    """The difference between both ways, and the notebook's example."""

    outputs: float
    gradients: float
    given: tuple[tuple[float, ...], ...]
    sums: tuple[float, ...]
    found: tuple[tuple[float, ...], ...]


def show_pointwise(scene: Scene) -> None:
    """Shows both diagrams, their difference, and the notebook's example."""
    key = scene.run_key
    found = cached(
        "two ways", scene.term, *key, make=lambda: scene.run_in_pool(lambda: ways(scene))
    )
    conv, linear = both(scene)
    drawn = diagram.inert_drawing(Equation(linear, conv), scene)
    html_panel.render(
        drawn + _told(scene, found) + _example(found, scene.settings["m"]), "two ways"
    )


POINTWISE = Panel("Two ways", show_pointwise)


def both(scene: Scene) -> tuple[Term, Term]:
    """Returns the system with convolutions, and the same with linear maps."""
    conv, linear = (scene.entry.build(**{**scene.settings, "conv": n}) for n in (1, 0))
    return conv, linear


def ways(scene: Scene) -> Ways:
    """Runs both on the same weights, forward and backward."""
    conv, linear = (ncd.compile(term, scene.seed) for term in both(scene))
    weights = {name: w.detach().requires_grad_() for name, w in linear.named_parameters()}
    x = scene.inputs[0].detach().cpu().requires_grad_()
    windows = {name.replace("linear", "conv"): _windowed(w) for name, w in weights.items()}
    one, two = functional_call(linear, weights, (x,)), functional_call(conv, windows, (x,))
    leaves = (x, *weights.values())
    pairs = [torch.autograd.grad(y.square().sum(), leaves) for y in (one, two)]
    gradients = max(max_difference(a, b) for a, b in zip(*pairs, strict=True))
    given, found = x.detach(), twos(x.detach())
    return Ways(
        max_difference(one, two), gradients, _few(given), tuple(given.sum(-1).tolist()), _few(found)
    )


def _windowed(weight: Tensor) -> Tensor:
    """Returns the weights reshaped for the convolution; biases stay unchanged."""
    return weight.unsqueeze(-1) if weight.dim() > 1 else weight


def twos(x: Tensor) -> Tensor:
    """Returns the notebook's convolution: all weights 1, those of the second channel 2.

    >>> twos(torch.tensor([[1.0, 2.0, 3.0]])).tolist()
    [[6.0, 12.0, 6.0]]
    """
    m = x.shape[-1]
    weights = torch.ones(m, m, 1)
    weights[1:2] += 1
    return torch.nn.functional.conv1d(x.T, weights).T


def _few(x: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in x[:FEW, :FEW].tolist())


def _told(scene: Scene, found: Ways) -> str:
    return (
        "<p>A convolution's weights have one axis more, of size 1: the window. Without it they are "
        "those of the linear map. On the same weights and inputs the outputs are "
        f"<b>{markup.digits(found.outputs)}</b> apart, the gradients "
        f"<b>{markup.digits(found.gradients)}</b>. "
        f'<span class="muted">{captions.numbers_origin(scene)}</span></p>'
    )


def _example(found: Ways, m: int) -> str:
    """Returns rows of the input, their sums, and rows of the output."""
    n = len(found.given[0])
    rows = [
        f'<tr><td class="number">{i}</td>{_cells(x)}<td class="number"><b>{_figure(total)}</b></td>'
        f"{_cells(y)}</tr>"
        for i, (x, total, y) in enumerate(zip(found.given, found.sums, found.found, strict=False))
    ]
    head = ("t", *("x" if i == 0 else "" for i in range(n)), "sum", "out", *[""] * (n - 1))
    table = markup.table(head, rows, numbers=range(2 * n + 2))
    few = f" The first {n} features." if m > n else ""
    return (
        "<h2>Ones, with twos in the second channel</h2><p>With such weights, in one convolution "
        "without a bias, every feature of the output is the sum of the row, and the second one "
        f"twice that: no position has seen another.{few}</p>{table}"
    )


def _cells(numbers: tuple[float, ...]) -> str:
    return "".join(f'<td class="number">{_figure(number)}</td>' for number in numbers)


def _figure(number: float) -> str:
    return f"{number:.2f}".replace("-", "−")
