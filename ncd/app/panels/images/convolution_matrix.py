"""The As a matrix panel: a convolution along a line, the same turned over, and its gradient."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from ncd.app.panels.images.convolution_window import sliding_cell
from ncd.app.parts import heatmap, html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.site import markup

KEY = "convolution matrix"
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
LARGEST = 200_000  # numbers of a picture, and of a matrix, that are shown
SIDE = "min(19rem, 36vw)"  # of the longer side of a matrix


def line_matrix(weight: Tensor, x: int, s: int, p: int, o: int, d: int) -> CellGrid:
    """Returns the matrix (places out, places in) of a transposed convolution along a line.

    >>> line_matrix(torch.tensor([1.0, 2.0]), x=2, s=1, p=0, o=0, d=1).tolist()
    [[1.0, 0.0], [2.0, 1.0], [0.0, 2.0]]
    """
    found = F.conv_transpose1d(torch.eye(x)[:, None], weight[None, None], None, s, p, o, 1, d)
    numbers: CellGrid = found[:, 0].T.numpy()
    return numbers


def gradient_of_convolution(weight: Tensor, x: Tensor, y: int, s: int, p: int, d: int) -> Tensor:
    """Returns the gradient of a convolution's input, of y places along each dimension.

    Args:
        weight: The weights, (channels of x, channels, window, …).
        x: The gradient of the output, (channels, places, …).
    """
    n = x.dim() - 1
    with torch.enable_grad():
        given = x.new_zeros(weight.shape[1], *[y] * n, requires_grad=True)
        made = CONVOLUTIONS[n](given, weight, None, s, p, d)
    (found,) = torch.autograd.grad(made, given, x)
    return found


# --- The panel


def show_convolution_matrix(scene: Scene) -> None:
    """Shows the matrix of a convolution along a line, the same turned over, and the gradient."""
    cell = sliding_cell(scene)
    x, y = scene.settings["x"], scene.circuit.outputs[0].array[-1].shape[-1]
    if max(cell.inputs[0].array.numel, x * y) > LARGEST:
        html_panel.render(f"<p>The matrix is drawn up to {LARGEST:,} numbers.</p>", KEY)
        return
    matrix, gap = cached_value("matrix", scene.term, *scene.run_key, make=lambda: _compute(scene))
    pair = "".join(
        _figure(title, numbers, max(x, y))
        for title, numbers in (
            (f"A convolution: {y} places to {x}", matrix.T),
            (f"Turned over: {x} places to {y}", matrix),
        )
    )
    words = f'<div style="flex:1 1 18rem">{_words(scene, gap)}</div>'
    html_panel.render(
        f'<div style="display:flex;flex-wrap:wrap;gap:1.4rem">{pair}{words}</div>', KEY
    )


CONVOLUTION_MATRIX = Panel("As a matrix", show_convolution_matrix, follows_moves=True)


def _compute(scene: Scene) -> tuple[CellGrid, float]:
    """Returns the matrix along a line, and how far the result is from a convolution's gradient."""
    weight, bias = (x.detach().float().cpu() for x in scene.module.parameters())
    x, made = (t.detach().float().cpu() for t in (scene.inputs[0], scene.trace.outputs[0]))
    line = weight[0, 0]
    while line.dim() > 1:  # the middle row of a picture's window
        line = line[len(line) // 2]
    steps = {name: scene.settings[name] for name in "spd"}
    own = gradient_of_convolution(weight, x, made.shape[-1], **steps)
    shift = bias.view(-1, *[1] * (made.dim() - 1))
    return line_matrix(line, x.shape[-1], o=scene.settings["o"], **steps), float(
        (own + shift - made).abs().max()
    )


def _figure(title: str, numbers: CellGrid, longest: int) -> str:
    """Returns a matrix as a picture in two hues, under its title."""
    address = heatmap.data_url(
        numbers, ColourRange.from_numbers(numbers, signed=True), heatmap.scale(True)
    )
    high, wide = (f"calc({SIDE} * {n / longest:.4f})" for n in numbers.shape)
    return (
        f"<figure style='margin:0'><figcaption>{title}</figcaption><img alt='{title}: a matrix of "
        f"{numbers.shape[0]} rows and {numbers.shape[1]} columns' src='{address}' style='width:"
        f"{wide};height:{high};image-rendering:pixelated;border:1px solid'></figure>"
    )


def _words(scene: Scene, gap: float) -> str:
    own = scene.settings
    mark = "✓ the same" if gap < 1e-4 else "here"
    along = "" if own["n"] == 1 else ", with the middle row of the first map’s window"
    return (
        f"<p>One line of places{along}. A row makes one number: in the left matrix each row holds "
        f"the window, {markup.plural(own['s'], 'place')} further on; turned over, each column "
        "does, so that a pixel is spread over it. Rows on the right have more or fewer weights: "
        "those are the overlaps.</p><p>A convolution with these weights, and the gradient of its "
        f"input when that of its output is the input here: {mark}, {gap:.1g} apart at most.</p>"
    )
