"""The Sizes panel: the published networks of a page side by side, as in the paper's table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.circuit.costs import Cost, cost_of
from ncd.circuit.elaborate import elaborate
from ncd.circuit.knob import Knob
from ncd.site import markup
from ncd.systems.catalogue_entry import Entry
from ncd.systems.images import efficientnet, published_resnet, vgg

# --- The panel of any network whose first knob chooses between its presets


class SizesRow(NamedTuple):
    """A part of the networks: its name, what there is of it in each, and the sides of its maps."""

    name: str
    cells: Sequence[str]
    side: str = ""


def published_sizes(entry: Entry, unit: str, rows: Sequence[SizesRow], note: str) -> Panel:
    """Returns the panel of a page whose first knob chooses a network, as each preset does.

    Args:
        entry: The entry, with a preset for each choice of the knob.
        unit: What stands behind the name of a choice, at the head of its column.
        rows: The parts of the networks.
        note: A sentence below the table.
    """
    knob = entry.knobs[0]

    def show(scene: Scene) -> None:
        html = f'{_table(scene, knob, unit, rows)}<p class="muted">{note}</p>'
        html_panel.render(html, "published sizes", on_pick=lambda picked: pick(knob, picked))

    return Panel("Sizes", show, needs_run=False, follows_moves=True)


@lru_cache
def published_cost(entry: Entry, i: int) -> Cost:
    """Returns what a published network costs on one image."""
    return cost_of(elaborate(entry.build(**entry.presets[i].knobs)))


def _table(scene: Scene, knob: Knob, unit: str, rows: Sequence[SizesRow]) -> str:
    chosen = scene.settings[knob.name]
    heads = "".join(
        f'<th scope="col"><button type="button" class="plain" data-pick="{knob.name}={i}" '
        f'aria-pressed="{str(i == chosen).lower()}">{f"{name} {unit}".strip()}</button></th>'
        for i, name in enumerate(knob.names)
    )
    costs = [published_cost(scene.entry, i) for i in range(len(knob.names))]
    counts = (
        SizesRow("parameters", [f"{cost.parameters:,}" for cost in costs]),
        SizesRow("products", [markup.amount(cost.flops // 2) for cost in costs]),
    )
    has_sides = any(row.side for row in rows)
    beside = '<th scope="col">side</th>' if has_sides else ""
    body = "".join(_row(row, has_sides) for row in (*rows, *counts))
    return (
        f'<div class="scroll"><table><thead><tr><td></td>{beside}{heads}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: SizesRow, has_side: bool) -> str:
    own = "".join(
        f"<td>{cell}</td>" for cell in ((row.side, *row.cells) if has_side else row.cells)
    )
    return f'<tr><th scope="row">{row.name}</th>{own}</tr>'


def pick(knob: Knob, picked: str) -> None:
    """Sets the network; a callback."""
    name, _, value = picked.partition("=")
    if name == knob.name and value in map(str, range(len(knob.names))):
        knobs.set_values({name: int(value)})


# --- ResNet


def _resnet_blocks(size: published_resnet.ResNetSize, i: int) -> str:
    """Returns the convolutions of a stage's blocks, and how many blocks it has.

    >>> _resnet_blocks(published_resnet.SIZES[2], 1)
    '1 × 1, 64<br>3 × 3, 64<br>1 × 1, 256<br><b>× 3</b>'
    """
    n = published_resnet.IMAGENET["n"] * 2 ** (i - 1)
    maps = [f"3 × 3, {n:,}"] * 2
    if size.narrows:
        maps = [f"1 × 1, {n:,}", f"3 × 3, {n:,}", f"1 × 1, {published_resnet.WIDER * n:,}"]
    return "<br>".join((*maps, f"<b>× {size.blocks[i - 1]}</b>"))


def _resnet_rows() -> list[SizesRow]:
    side, sizes = published_resnet.IMAGENET["x"], published_resnet.SIZES
    stages = [
        SizesRow(
            f"stage {i}", [_resnet_blocks(size, i) for size in sizes], str(side // 2 ** (i + 1))
        )
        for i in published_resnet.STAGES
    ]
    return [SizesRow("stem", ["7 × 7, 64; pooling"] * len(sizes), str(side // 4)), *stages]


RESNET_SIZES = published_sizes(
    published_resnet.RESNET,
    "layers",
    _resnet_rows(),
    "For images of 224 × 224 and 1,000 classes. Parameters and products are counted from the "
    "terms. The paper counts 1.8, 3.6, 3.8, 7.6 and 11.3 billion products: its bottlenecks make "
    "images smaller in their first convolution, those here, as torchvision’s, in the second.",
)

# --- VGG


def _vgg_rows() -> list[SizesRow]:
    n, side, sizes = vgg.IMAGENET["n"], vgg.IMAGENET["x"], vgg.SIZES
    stages = [
        SizesRow(
            f"stage {i}",
            [f"3 × 3, {n * vgg.wider(i)} <b>× {size.convolutions[i - 1]}</b>" for size in sizes],
            str(side // 2 ** (i - 1)),
        )
        for i in vgg.STAGES
    ]
    dense = " · ".join(f"{vgg.IMAGENET[name]:,}" for name in "mmy")
    return [*stages, SizesRow("dense", [dense] * len(sizes))]


VGG_SIZES = published_sizes(
    vgg.VGG,
    "layers",
    _vgg_rows(),
    "For images of 224 × 224 and 1,000 classes. Parameters and products are counted from the "
    "terms. The paper calls the columns A, B, D and E, and counts 133, 133, 138 and 144 million "
    "parameters.",
)

# --- EfficientNet


def _efficientnet_rows() -> list[SizesRow]:
    sizes = efficientnet.SIZES
    stages = [
        SizesRow(
            f"stage {i}, {stage.kernel} × {stage.kernel}",
            [
                f"{efficientnet.channels_at(stage.channels, size)} "
                f"<b>× {efficientnet.blocks_at(stage.blocks, size)}</b>"
                for size in sizes
            ],
        )
        for i, stage in enumerate(efficientnet.STAGES, 1)
    ]
    return [
        SizesRow("width", [f"× {size.width / 10:g}" for size in sizes]),
        SizesRow("depth", [f"× {size.depth / 10:g}" for size in sizes]),
        SizesRow("sides", [str(size.side) for size in sizes]),
        *stages,
    ]


EFFICIENTNET_SIZES = published_sizes(
    efficientnet.EFFICIENTNET,
    "",
    _efficientnet_rows(),
    "A stage has so many channels, and so many blocks. One step of compound scaling "
    "multiplies the depth by 1.2, the width by 1.1 and the sides of images by 1.15, and so the "
    "products by about 1.2 · 1.1² · 1.15² = 1.92. Parameters and products are counted from the "
    "terms; the paper counts 5.3, 7.8, 9.2, 12, 19, 30, 43 and 66 million parameters.",
)
