"""The Sizes panel: the published networks side by side, as in the paper's table."""

from __future__ import annotations

from functools import lru_cache

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.circuit.costs import Cost, cost_of
from ncd.circuit.elaborate import elaborate
from ncd.site import markup
from ncd.systems.images.published_resnet import IMAGENET, SIZES, STAGES, WIDER, ResNetSize, resnet

SIDE = IMAGENET["x"]
PRODUCTS_TEXT = (
    "Parameters and products are counted from the terms. The paper counts 1.8, 3.6, 3.8, 7.6 and "
    "11.3 billion products: its bottlenecks make images smaller in their first convolution, those "
    "here, as torchvision’s, in the second."
)


def show_sizes(scene: Scene) -> None:
    """Shows the blocks of each stage of every published network, its parameters and products."""
    chosen = scene.settings["depth"]
    heads = "".join(
        f'<th scope="col"><button type="button" class="plain" data-pick="depth={i}" '
        f'aria-pressed="{str(i == chosen).lower()}">{size.name} layers</button></th>'
        for i, size in enumerate(SIZES)
    )
    rows = [_row("stem", SIDE // 4, ["7 × 7, 64; pooling"] * len(SIZES))]
    rows += [
        _row(f"stage {i}", SIDE // 2 ** (i + 1), [_blocks(size, i) for size in SIZES])
        for i in STAGES
    ]
    costs = [published_cost(i) for i in range(len(SIZES))]
    rows += [
        _row("parameters", None, [f"{cost.parameters:,}" for cost in costs]),
        _row("products", None, [f"{markup.amount(cost.flops // 2)}" for cost in costs]),
    ]
    html = (
        f'<div class="scroll"><table><thead><tr><td></td><th scope="col">side</th>{heads}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="muted">For images of {SIDE} × {SIDE} and 1,000 classes. {PRODUCTS_TEXT}</p>'
    )
    html_panel.render(html, "published sizes", PUBLISHED_SIZES.controls, _pick)


PUBLISHED_SIZES = Panel("Sizes", show_sizes, needs_run=False, follows_moves=True)


@lru_cache
def published_cost(depth: int) -> Cost:
    """Returns what a published network costs on one image."""
    return cost_of(elaborate(resnet(depth, **IMAGENET)))


def _blocks(size: ResNetSize, i: int) -> str:
    """Returns the convolutions of a stage's blocks, and how many blocks it has.

    >>> _blocks(SIZES[2], 1)
    '1 × 1, 64<br>3 × 3, 64<br>1 × 1, 256<br><b>× 3</b>'
    """
    n = IMAGENET["n"] * 2 ** (i - 1)
    maps = [f"3 × 3, {n:,}"] * 2
    if size.narrows:
        maps = [f"1 × 1, {n:,}", f"3 × 3, {n:,}", f"1 × 1, {WIDER * n:,}"]
    return "<br>".join((*maps, f"<b>× {size.blocks[i - 1]}</b>"))


def _row(name: str, side: int | None, cells: list[str]) -> str:
    own = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{name}</th><td>{side or ""}</td>{own}</tr>'


def _pick(picked: str) -> None:
    """Sets the network; a callback."""
    name, _, value = picked.partition("=")
    if name == "depth" and value in map(str, range(len(SIZES))):
        knobs.set_values({"depth": int(value)})
