"""The parts of VGG that have its weights and its work, and what its small windows see."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.app.panels.images.receptive_field import layer_rows
from ncd.app.parts import html_panel
from ncd.app.parts.html_panel import read_static
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.controls import Choice
from ncd.circuit.circuit import Cell
from ncd.site import markup
from ncd.systems.images.convolution_layers import field_sizes, stack_of
from ncd.systems.images.vgg import KERNEL, STAGES, wider

# --- The Weights and work panel: which part has the parameters, and which the products


@dataclass(frozen=True)
class NetworkPart:
    """A stage of convolutions or a dense map: its id, its name, its colour and what it costs.

    Each of its weights is used at so many ``places`` of a map.
    """

    id: str
    name: str
    role: str
    places: int
    parameters: int
    products: int


def parts(scene: Scene) -> tuple[list[NetworkPart], list[NetworkPart]]:
    """Returns the stages and the dense maps, in order."""
    fences = {fence.id: fence for fence in scene.circuit.fences}
    stages: dict[str, list[Cell]] = {}
    dense = []
    for cell in scene.circuit.cells:
        outermost = next(iter(cell.fences), "")
        if cell.op.role == "convolution":
            stages.setdefault(outermost, []).append(cell)
        elif cell.op.role == "linear":
            dense.append(_part(scene, cell.id, cell.name, fences[outermost].role, [cell], 1))
    windows = []
    for id, cells in stages.items():
        name = fences[id].title.replace("$", "").lower()
        places = cells[0].outputs[0].array[-1].numel
        windows.append(_part(scene, id, name, "convolution", cells, places))
    return windows, dense


def _part(
    scene: Scene, id: str, name: str, role: str, cells: list[Cell], places: int
) -> NetworkPart:
    costs = [scene.cost.by_node[cell.id] for cell in cells]
    products = sum(cost.flops for cost in costs) // 2
    return NetworkPart(id, name, role, places, sum(cost.parameters for cost in costs), products)


def show_weights_and_work(scene: Scene) -> None:
    """Shows how parameters and products are shared between the parts."""
    windows, dense = parts(scene)
    every = [*windows, *dense]
    bars = "".join(_bar(what, every, scene.dark) for what in PART_COSTS)
    html_panel.render(
        f"{bars}<p>{_shares(windows, dense)}</p>{_table(every, scene.dark)}", "weights and work"
    )


WEIGHTS_AND_WORK = Panel(
    "Weights and work", show_weights_and_work, needs_run=False, follows_moves=True
)
PART_COSTS = ("parameters", "products")
# A name that is longer than its piece goes to a second line, which is not seen.
PIECE = (
    "height:1.7em;line-height:1.7;overflow:hidden;text-align:center;"
    "box-shadow:inset -1.5px 0 var(--st-background-color);"
)


def _share(what: str, among: list[NetworkPart], every: list[NetworkPart]) -> float:
    """Returns the share of some parts in all parameters or products."""
    return sum(getattr(part, what) for part in among) / sum(getattr(part, what) for part in every)


def _bar(what: str, every: list[NetworkPart], dark: bool) -> str:
    """Returns one bar for all parameters or products, each part as long as its share."""
    shares = [_share(what, [part], every) for part in every]
    told = ", ".join(f"{p.name} {100 * n:.2g} %" for p, n in zip(every, shares, strict=True))
    pieces = "".join(
        f'<span data-node="{part.id}" style="flex:0 0 {100 * share:.2f}%;{PIECE}background:'
        f'{markup.colour(part.role, dark)}">&#8203;<span style="white-space:nowrap">'
        f"{markup.text(part.name)}</span></span>"
        for part, share in zip(every, shares, strict=True)
    )
    return (
        f'<div style="display:flex;align-items:center;margin-bottom:0.2rem">'
        f'<span style="flex:0 0 6em">{what}</span><div role="img" aria-label="{what}: {told}" '
        f'style="display:flex;flex:1;min-width:0">{pieces}</div></div>'
    )


def _shares(windows: list[NetworkPart], dense: list[NetworkPart]) -> str:
    """Returns how parameters and products are shared, and the reason."""
    every = [*windows, *dense]

    def share(what: str, among: list[NetworkPart]) -> str:
        return f"{100 * _share(what, among, every):.2g} %"

    return (
        f"The first dense map has <b>{share('parameters', dense[:1])}</b> of the parameters and "
        f"{share('products', dense[:1])} of the work; the convolutions have "
        f"{share('parameters', windows)} and <b>{share('products', windows)}</b>. "
        "A weight of a window makes a product at every place of a map, one of a dense map a single "
        "one."
    )


def _table(every: list[NetworkPart], dark: bool) -> str:
    rows = [
        f'<tr data-node="{part.id}" data-select="{part.id}" tabindex="0">'
        f"<td>{markup.role(part.role, dark)}{markup.text(part.name)}</td>"
        f'<td class="number">{part.parameters:,}</td>'
        f'<td class="number">{part.places:,}</td>'
        f'<td class="number">{part.products:,}</td></tr>'
        for part in every
    ]
    total = [sum(getattr(part, what) for part in every) for what in PART_COSTS]
    foot = (
        f'<tr><td>together</td><td class="number">{total[0]:,}</td><td></td>'
        f'<td class="number">{total[1]:,}</td></tr>'
    )
    head = ("part", "parameters", "places of a map", "products")
    return markup.table(head, rows, foot, numbers=(1, 2, 3))


# --- The Small windows panel: a stack of 3 × 3 beside one window that sees as much

LAYERS = Choice("windows", ("2", "3", "4"), "2")
CSS = read_static("panels/images/layer_rows.css")
BAR = "min(5em, 10vw)"


def show_small_windows(scene: Scene) -> None:
    """Shows what both see of a row of pixels, with their weights and their activations."""
    n = int(LAYERS.value)
    stack = stack_of(n=n, k=KERNEL, s=1, d=1, double=0)
    large = field_sizes(stack)[-1]
    one = stack_of(n=1, k=large, s=1, d=1, double=0)
    side = large + 4
    seen = "".join(
        f'<div style="flex:1 1 14rem;max-width:20rem;--tower:{1.5 * len(own) + 1.5}rem">'
        f"<h2>{title}</h2>"
        f"{layer_rows(own, side, side // 2)}</div>"
        for title, own in ((f"{n} windows of 3 × 3", stack), (f"One of {large} × {large}", one))
    )
    html_panel.render(
        f"<style>{CSS}</style><p>{LAYERS.html()} convolutions in a row</p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:0.4rem 2rem">{seen}</div>'
        f"{_comparison_table(scene, n, large)}",
        "small windows",
        SMALL_WINDOWS.controls,
    )


SMALL_WINDOWS = Panel(
    "Small windows", show_small_windows, needs_run=False, controls=(LAYERS,), follows_moves=True
)


def _comparison_table(scene: Scene, n: int, large: int) -> str:
    """Returns a table of both ways, for as many channels as the last stage has."""
    c = scene.settings["n"] * wider(STAGES[-1])
    counts = (n * KERNEL**2 * c**2, large**2 * c**2)
    ways = (
        (f"{n} of 3 × 3", f"{n} · 3² · {c}²", n),
        (f"one of {large} × {large}", f"{large}² · {c}²", 1),
    )
    colour = markup.colour("convolution", scene.dark)
    rows = [
        f'<tr><td><span class="unbroken">{name}</span></td><td class="number">{formula}</td>'
        f'<td class="number"><b>{count:,}</b></td><td class="number">{relus}</td>'
        f"<td>{markup.share_bar(count / counts[1], colour, BAR)}</td></tr>"
        for (name, formula, relus), count in zip(ways, counts, strict=True)
    ]
    head = ("", "weights", "number", "activations", "")
    return (
        f"{markup.table(head, rows, numbers=(1, 2, 3))}<p>Both see {large} × {large} pixels. "
        f"With {c} channels in and out, as in stage {STAGES[-1]}, one large window has "
        f"<b>{100 * (counts[1] / counts[0] - 1):.0f} %</b> more weights, and makes as many more "
        "products at every place.</p>"
    )
