"""One block: its channels and kernels, and what is in its box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from ncd import Axes, space
from ncd.app.figure.diagram import terms_in_a_row
from ncd.app.panels.images import picture_parts as parts
from ncd.app.parts import heatmap, html_panel, map_component
from ncd.app.parts.html_panel import read_static
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.controls import Choice, Place
from ncd.circuit.circuit import Circuit
from ncd.circuit.costs import cost_of
from ncd.circuit.elaborate import elaborate
from ncd.explain.colour_scale import ColourRange
from ncd.language.axes import Array
from ncd.language.terms import Term
from ncd.site import markup
from ncd.systems.images.efficientnet import STAGES
from ncd.systems.images.efficientnet import one_block as mbconv
from ncd.systems.images.resnet import one_block, residual_component

# --- Two blocks: a channel and its kernel, and ConvNeXt's block beside a residual block

CHANNEL = Place("channel")
KERNELS = 24  # that are shown
SIDE, SMALL = 148, 44  # pixels of a map and of a kernel
WIDE, TALL = 330, 84  # pixels of a profile
CSS = read_static("panels/learning/feature_maps.css")


@dataclass(frozen=True)
class BlockMap:
    """A learned map of a block: its name, its channels before and after, and what it costs."""

    name: str
    channels_in: int
    channels_out: int
    parameters: int
    flops: int


def show_convolution_blocks(scene: Scene) -> None:
    """Shows a channel before and after its kernel, and the channels along both blocks."""
    cell = next(cell for cell in scene.circuit.cells if cell.name == "dwconv")
    before, after = (scene.trace.values[v.id] for v in (cell.inputs[0], cell.outputs[0]))
    kernels = dict(scene.module.named_parameters())[f"{cell.path}.weight"][:, 0]
    at = CHANNEL.among(len(kernels))
    size = kernels.shape[-1]
    shown = parts.row(
        parts.figure(parts.map_picture(before[at], "before", SIDE), f"channel {at} before"),
        parts.figure(parts.map_picture(kernels[at], "kernel", SIDE), f"its {size} × {size} kernel"),
        parts.figure(parts.map_picture(after[at], "after", SIDE), f"channel {at} after"),
        _gallery(kernels, at),
    )
    html_panel.render(
        f"{shown}<p>Each channel is convolved with a kernel of its own; channels are mixed by the "
        f"two maps behind it.</p>{_comparison_html(scene)}"
        f'<p class="muted">{numbers_origin(scene)}</p>',
        "two blocks",
        CONVOLUTION_BLOCKS.controls,
    )


CONVOLUTION_BLOCKS = Panel("Two blocks", show_convolution_blocks, controls=(CHANNEL,))


def _gallery(kernels: Tensor, at: int) -> str:
    run = heatmap.visible_range(len(kernels), at, KERNELS)
    maps = parts.grid(kernels[run.start : run.stop])
    sheet = heatmap.sprite_sheet(
        maps, ColourRange.from_numbers(maps, signed=True), heatmap.scale(signed=True)
    )
    names = [(CHANNEL.action(i), str(i)) for i in run]
    buttons = map_component.sprite_buttons(sheet, names, CHANNEL.action(at))
    style = f"<style>.heads .part {{ width: {SMALL}px; height: {SMALL}px; }}</style>"
    return f'<div style="max-width:26rem">{style}{buttons}</div>'


def steps(scene: Scene) -> tuple[tuple[BlockMap, ...], tuple[BlockMap, ...]]:
    """Returns the maps of the first block here, and those of a residual block as wide."""
    c, side = scene.settings["c"], max(1, scene.settings["x"] // 4)
    return block_maps(scene.circuit, "dwconv", "pwconv1", "pwconv2"), residual_maps(c, side)


def residual_maps(c: int, side: int) -> tuple[BlockMap, ...]:
    """Returns the maps of a residual block of c channels, on an image of such a side."""
    term = Axes(b=1, n=c, n_b=max(1, c // 4), x=space(side, side))(
        residual_component("n", "n_b", "x")
    )
    return block_maps(elaborate(term), "conv_1", "conv_2", "conv_3")


def block_maps(circuit: Circuit, *names: str) -> tuple[BlockMap, ...]:
    """Returns the first op of each name as a map of a block; none for a name that is not there."""
    costs = cost_of(circuit).by_node
    found = {cell.name: cell for cell in reversed(circuit.cells)}
    cells = [found[name] for name in names if name in found]
    return tuple(
        BlockMap(
            cell.name,
            _channels(cell.inputs[0].array),
            _channels(cell.outputs[0].array),
            costs[cell.id].parameters,
            costs[cell.id].flops,
        )
        for cell in cells
    )


def _channels(array: Array) -> int:
    """Returns the size of the last axis that is no place."""
    return next(axis.numel for axis in reversed(array) if not axis.spatial)


def _comparison_html(scene: Scene) -> str:
    """Returns a profile and a table for each of both blocks."""
    size = 2 * scene.settings["r"] + 1
    named = {
        "dwconv": f"{size} × {size}, each channel by itself",
        "pwconv1": "1 × 1, four times wider",
        "pwconv2": "1 × 1, back",
    }
    return beside_residual("ConvNeXt: wide inside", named, *steps(scene), scene.dark)


def beside_residual(
    title: str,
    named: Mapping[str, str],
    here: tuple[BlockMap, ...],
    plain: tuple[BlockMap, ...],
    dark: bool,
) -> str:
    """Returns a block beside a residual one; ``named`` tells what each of its maps does."""
    most = max(step.channels_out for step in (*here, *plain))
    told = {
        **named,
        "conv_1": "1 × 1, four times narrower",
        "conv_2": "3 × 3, all channels with all",
        "conv_3": "1 × 1, back",
    }
    return parts.row(
        _side(title, here, most, told, markup.colour("note", dark)),
        _side("Residual: narrow inside", plain, most, told, markup.colour("residual", dark)),
    )


def _side(
    title: str, block: tuple[BlockMap, ...], most: int, named: Mapping[str, str], colour: str
) -> str:
    rows = [
        f"<tr><td>{named[step.name]}</td><td class='number'>{step.channels_in:,} → "
        f"{step.channels_out:,}</td>"
        f"<td class='number'>{step.parameters:,}</td>"
        f"<td class='number'>{markup.amount(step.flops)}</td></tr>"
        for step in block
    ]
    total = sum(step.parameters for step in block), sum(step.flops for step in block)
    foot = (
        f"<tr><td>together</td><td></td><td class='number'>{total[0]:,}</td>"
        f"<td class='number'>{markup.amount(total[1])}</td></tr>"
    )
    head = ("Map", "channels", "parameters", "FLOPs")
    table = markup.table(head, rows, foot, numbers=(1, 2, 3))
    return f"<div><h2>{title}</h2>{profile(block, most, colour)}{table}</div>"


def profile(block: tuple[BlockMap, ...], most: int, colour: str) -> str:
    """Returns the outline of a block as SVG, as tall at each place as it has channels."""
    tall = [TALL * n / most for n in (block[0].channels_in, *(step.channels_out for step in block))]
    step = WIDE / len(block)
    upper = [f"{i * step:.1f},{(TALL - h) / 2 + 4:.1f}" for i, h in enumerate(tall)]
    lower = [f"{i * step:.1f},{(TALL + h) / 2 + 4:.1f}" for i, h in enumerate(tall)]
    said = " → ".join(
        f"{n:,}" for n in (block[0].channels_in, *(one.channels_out for one in block))
    )
    return (
        f'<svg viewBox="0 0 {WIDE} {TALL + 8}" width="{WIDE}" height="{TALL + 8}" role="img" '
        f'style="max-width:100%;height:auto" aria-label="channels: {said}"><polygon '
        f'points="{" ".join((*upper, *lower[::-1]))}" fill="{colour}" stroke="currentColor" '
        'stroke-width="1.2" stroke-linejoin="round"/></svg>'
    )


# --- The MBConv panel: a block of EfficientNet beside a residual block, and as a diagram

STAGE = Choice("stage", ("2", "3", "4", "5", "6"), "2")  # those with blocks that keep their sides


def show_mbconv(scene: Scene) -> None:
    """Shows a block of the chosen stage for one image, beside a residual block as wide."""
    stage = int(STAGE.value)
    circuit = elaborate(_block_of_stage(scene))
    here = block_maps(circuit, "expand", "depthwise", "project")
    array = circuit.inputs[0].array
    plain = residual_maps(here[-1].channels_out, array[-1].shape[0])
    kernel = STAGES[stage - 1].kernel
    named = {
        "expand": "1 × 1, six times wider",
        "depthwise": f"{kernel} × {kernel}, each channel by itself",
        "project": "1 × 1, back",
    }
    html = beside_residual("MBConv: wide inside", named, here, plain, scene.dark)
    html_panel.render(
        f"<style>{CSS}</style>{html}"
        f"<p>{_weights_if_mixing(here, kernel)} {_gate_cost(circuit)}</p>"
        f'<div class="images">A block of stage {STAGE.html()}</div>',
        "mbconv",
        MBCONV.controls,
    )


MBCONV = Panel("One block", show_mbconv, needs_run=False, controls=(STAGE,), follows_moves=True)


def show_block_diagram(scene: Scene) -> None:
    """Shows the diagram of a block of the chosen stage."""
    figure = terms_in_a_row((_block_of_stage(scene),), "=", scene)
    html = f'<style>{CSS}</style><div class="images">A block of stage {STAGE.html()}</div>{figure}'
    html_panel.render(html, "inside", BLOCK_DIAGRAM.controls)


BLOCK_DIAGRAM = Panel(
    "Inside", show_block_diagram, needs_run=False, controls=(STAGE,), follows_moves=True
)


def _block_of_stage(scene: Scene) -> Term:
    return mbconv(int(STAGE.value), **{**scene.settings, "b": 1})


def _weights_if_mixing(block: tuple[BlockMap, ...], kernel: int) -> str:
    """Returns how many weights the window has, and how many if it mixed channels as well."""
    wide = block[-1].channels_in
    own, mixed = (markup.plural(kernel**2 * n, "weight") for n in (wide, wide**2))
    return (
        f"As its window mixes no channels, it has {own}; among {wide} channels it would have "
        f"<b>{mixed}</b> if it did."
    )


def _gate_cost(circuit: Circuit) -> str:
    """Returns what squeeze-and-excitation costs, and why it is cheap; nothing where it is off."""
    maps = block_maps(circuit, "squeeze", "excite")
    if not maps:
        return ""
    parameters, flops = (
        sum(getattr(one, what) for one in maps) for what in ("parameters", "flops")
    )
    numbers = markup.plural(maps[0].channels_out, "number")
    return (
        f"Squeeze-and-excitation weights each channel, by maps from the means of all channels to "
        f"{numbers} and back: {parameters:,} parameters, and only "
        f"{markup.amount(flops)} FLOPs, as they see one number of a channel."
    )


# --- The One block panel: a block of the identity ResNet as one box, and what is in it

BLOCK = Choice("block", ("1", "2", "3"), "2")  # the second makes images smaller


def show_one_block(scene: Scene) -> None:
    """Shows the block that was chosen, at the sizes of the page, with buttons for the others."""
    mu = BLOCK.value
    sides = one_block(int(mu), **scene.settings).sides
    title = elaborate(sides[0]).fences[0].title
    figure = terms_in_a_row(sides, "=", scene, _notes(scene, int(mu) + 1), box=title)
    html = f'<style>{CSS}</style><div class="images">Block {BLOCK.html()}</div>{figure}'
    html_panel.render(html, "one block", ONE_BLOCK.controls)


ONE_BLOCK = Panel("One block", show_one_block, needs_run=False, controls=(BLOCK,))


def _notes(scene: Scene, i: int) -> dict[str, str]:
    """Returns the legend of a block that gives n_i channels, and a callout at its brackets."""
    more, narrow = scene.settings["N"] - 1, scene.settings[f"n{i}"] // 4
    legend = {"": f"In between there are $n_{{b{i}}} = n_{i} / 4 = {narrow}$ channels."}
    if not more:
        return legend
    return legend | {
        "components": "What stands in parentheses is fed back to itself, ranging $λ$ from $1$ to "
        f"$N - 1 = {more}$; each time it has weights of its own."
    }
