"""The Two orders panel: which feature of a merged map belongs to which head."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

import ncd
from ncd.app.parts import html_panel
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.drawing.elements.style import role_colour
from ncd.explain.equation_proof import max_difference
from ncd.site import markup

MOST = 192  # the greatest number of features that are drawn as cells
ORDERS = {1: "(h 3k)", 0: "(3k h)"}
CELL = "display:inline-block;width:1.15em;text-align:center;font-size:0.8em;margin:0 1px 2px 0"
ROLES = {"q": "linear", "k": "einsum", "v": "scale"}


@dataclass(frozen=True)
class Orders:
    """The difference of the two orders on one map, before and after permuting its features."""

    same: float
    permuted: float


def show_merged_heads(scene: Scene) -> None:
    """Shows the features of both orders as cells, the two runs, and the exercise line by line."""
    key = scene.run_key
    found = cached(
        "orders", scene.term, *key, make=lambda: scene.run_in_pool(lambda: orders(scene))
    )
    h, k = scene.settings["h"], scene.settings["k"]
    strips = "".join(_strip(h, k, outside, scene) for outside in ORDERS)
    html_panel.render(strips + _told(scene, found) + _lines(scene), "two orders")


MERGED_HEADS = Panel("Two orders", show_merged_heads)


def owners(h: int, k: int, outside: int) -> list[tuple[str, int, int]]:
    """Returns for each of the 3hk features: query, key or value, the head, and the feature in it.

    >>> [f"{part}{head}" for part, head, _ in owners(2, 1, 1)]
    ['q0', 'k0', 'v0', 'q1', 'k1', 'v1']
    >>> [f"{part}{head}" for part, head, _ in owners(2, 1, 0)]
    ['q0', 'q1', 'k0', 'k1', 'v0', 'v1']
    """
    thirds = [(part, i) for part in ROLES for i in range(k)]
    if outside:
        return [(part, head, i) for head in range(h) for part, i in thirds]
    return [(part, head, i) for part, i in thirds for head in range(h)]


def permutation(h: int, k: int) -> Tensor:
    """Returns the place of each feature of ``(3k h)`` in ``(h 3k)``.

    >>> permutation(2, 1).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    return torch.arange(3 * h * k).view(h, 3 * k).T.flatten()


def orders(scene: Scene) -> Orders:
    """Runs both orders with the same weights, then the second with its features permuted."""
    one, two = (
        ncd.compile(scene.entry.build(**{**scene.settings, "outside": outside}), scene.seed)
        for outside in ORDERS
    )
    weights: dict[str, Tensor] = dict(one.named_parameters())
    at = permutation(scene.settings["h"], scene.settings["k"])
    turned = {n: w[at] if n.startswith("qkv.") else w for n, w in weights.items()}
    inputs = tuple(x.cpu() for x in scene.inputs)
    with torch.no_grad():
        expected, same, permuted = (
            functional_call(module, given, inputs)
            for module, given in ((one, weights), (two, weights), (two, turned))
        )
    return Orders(max_difference(expected, same), max_difference(expected, permuted))


def _strip(h: int, k: int, outside: int, scene: Scene) -> str:
    """Returns the features as cells coloured by query, key and value, with head numbers."""
    every = owners(h, k, outside)
    shade = {part: role_colour(role, scene.dark) for part, role in ROLES.items()}
    cells = "".join(
        f'<span style="{CELL};background:{shade[part]}" '
        f'title="feature {n}: {part} of head {head}, number {i}">{head}</span>'
        for n, (part, head, i) in enumerate(every[:MOST])
    )
    now = " (now)" if outside == scene.settings["outside"] else ""
    more = f"<p class='muted'>The first {MOST} of {len(every):,}.</p>" if len(every) > MOST else ""
    return f'<h2>{ORDERS[outside]}{now}</h2><div style="line-height:1.5">{cells}</div>{more}'


def _told(scene: Scene, found: Orders) -> str:
    names = ", ".join(
        f"{markup.role(role, scene.dark)}{name}"
        for name, role in zip(("queries", "keys", "values"), ROLES.values(), strict=True)
    )
    return (
        f"<p>A cell is a feature of {names}; the number in it is its head.</p>"
        f"<p>The same map read in the other order: the outputs are "
        f"<b>{markup.digits(found.same)}</b> apart. With the map’s columns permuted alike: "
        f"<b>{markup.digits(found.permuted)}</b>. "
        f'<span class="muted">{captions.numbers_origin(scene)}</span></p>'
    )


def _lines(scene: Scene) -> str:
    """Returns the eight lines of the exercise, with their shapes."""
    s = scene.settings
    h, k, m, t = s["h"], s["k"], s["m"], s["t"]
    order = "h, 3k" if s["outside"] else "3k, h"
    pair, turned = ((h, 3 * k), (h, t, 3 * k)) if s["outside"] else ((3 * k, h), (h, t, 3 * k))
    rows = (
        ("qkv = Linear(m, 3·h·k)(x)", (t, 3 * h * k), "the learned map"),
        (f"qkv = qkv.reshape(t, {order})", (t, *pair), "the bar: one axis read as two"),
        ("qkv = qkv.permute(…)", turned, "wires only: no number moves among the others"),
        ("q, k, v = qkv.chunk(3, dim=-1)", (h, t, k), "the second bar: three arrays"),
        ("values, attention = scaled_dot_product(q, k, v)", (h, t, k), "the block"),
        ("values = values.permute(…)", (t, h, k), "wires only"),
        ("values = values.reshape(t, h·k)", (t, h * k), "inside the last map"),
        ("o = Linear(h·k, m)(values)", (t, m), "the last map mixes the heads"),
    )
    body = [
        f'<tr><td class="number">{n}</td><td><code>{markup.text(code)}</code></td>'
        f"<td>{' '.join(map(str, shape))}</td><td>{told}</td></tr>"
        for n, (code, shape, told) in enumerate(rows, 1)
    ]
    return markup.table(("", "The exercise", "Gives", "In the diagram"), body, numbers=(0,))
