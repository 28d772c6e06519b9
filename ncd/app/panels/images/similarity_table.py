"""Similarity: the table of pictures and sentences, and the loss that is learned from it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.app.panels.images import picture_parts as parts
from ncd.app.parts import heatmap, html_panel
from ncd.app.scene.panel import Panel, about_output
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.controls import Choice, Range
from ncd.site import markup
from ncd.systems.inputs.picture_inputs import takes_captions
from ncd.systems.training.captions import caption_text

SCALES = (1, 2, 5, 10, 14, 20, 50, 100)  # what cosines are multiplied by; 100 at most in CLIP
USUAL_SCALE_INDEX = SCALES.index(14)  # 1 / 0.07, with which training begins
READING_NAMES = {
    "cosine": "cosines",
    "rows": "each picture over sentences",
    "columns": "each sentence over pictures",
}
WARMTH = Range("warmth", range(len(SCALES)), USUAL_SCALE_INDEX)
READ = Choice("read_along", READING_NAMES, "rows")
THUMB, WORDS = 52, 4  # pixels of a picture, and numbers of words that are shown


def show_similarity_table(scene: Scene) -> None:
    """Shows the table at a temperature, and its loss if the diagonal were right."""
    cosines = next(
        scene.trace.values[cell.outputs[0].id].float().cpu()
        for cell in scene.circuit.cells
        if cell.op.display_name.endswith("similarity")
    )
    scale, way = SCALES[WARMTH.number], READ.value
    slider = WARMTH.html(f"times {scale}")
    html_panel.render(
        f'<div class="told">{slider}</div><p>{READ.html()}</p>'
        + parts.row(_table(scene, cosines, way, scale), _side_html(scene, cosines, scale)),
        "similarity",
        SIMILARITY_TABLE.controls,
    )


SIMILARITY_TABLE = Panel(
    "Similarity", show_similarity_table, controls=(WARMTH, READ), about=about_output
)


def numbers(cosines: Tensor, way: str, scale: float) -> Tensor:
    """Returns the cosines (i, j), or the chances that they give along rows or columns.

    >>> numbers(torch.zeros(2, 4), "rows", 10)[0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if way == "cosine":
        return cosines
    return (scale * cosines).softmax(1 if way == "rows" else 0)


def loss(cosines: Tensor, scale: float) -> tuple[float, float]:
    """Returns the cross-entropy along rows and along columns, if pair n belongs together.

    Source: Radford et al. 2021, figure 3.

    >>> loss(torch.eye(2), 100.0)
    (0.0, 0.0)
    """
    n = min(cosines.shape)
    scores, right = scale * cosines[:n, :n], torch.arange(n)
    return float(F.cross_entropy(scores, right)), float(F.cross_entropy(scores.T, right))


def _table(scene: Scene, cosines: Tensor, way: str, scale: float) -> str:
    """Returns the table, whose rows are pictures and whose columns are sentences."""
    shown = numbers(cosines, way, scale)
    given = scene.inputs_spec.pictures
    # No sentence is known to belong to a visitor's own picture, which is the first.
    unpaired = 1 if given and given[0].kind != "sample" else 0
    head = "".join(
        f'<th scope="col" class="number">{markup.text(each)}</th>' for each in _sentences(scene)
    )
    rows = "".join(
        f'<tr><th scope="row">{_thumb(scene, i)}</th>'
        + "".join(_cell(float(x), i == j and i >= unpaired, way) for j, x in enumerate(row))
        + "</tr>"
        for i, row in enumerate(shown)
    )
    return (
        '<div class="scroll"><table style="width:auto"><thead><tr><td></td>'
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _sentences(scene: Scene) -> list[str]:
    """Returns the captions, or the first numbers of the words of sentences that are random."""
    rows = scene.inputs[1].tolist()
    if _has_captions(scene):
        return [caption_text(row) for row in rows]
    more = " …" * (len(rows[0]) > WORDS)
    return [" ".join(map(str, row[:WORDS])) + more for row in rows]


def _has_captions(scene: Scene) -> bool:
    return bool(scene.inputs_spec.pictures) and takes_captions(scene.term)


def _thumb(scene: Scene, i: int) -> str:
    picture, said = scene.inputs[0][i], f"picture {i}"
    if scene.inputs_spec.pictures:
        return parts.photograph(picture, said, THUMB)
    return parts.image(heatmap.image_url(heatmap.rgb_image(parts.grid(picture))), said, THUMB)


def _cell(x: float, pair: bool, way: str) -> str:
    share = max(0.0, min(1.0, x))
    shade = f"color-mix(in srgb, var(--st-primary-color) {60 * share:.0f}%, transparent)"
    frame = ";outline:2px solid var(--st-primary-color);outline-offset:-2px" if pair else ""
    said = f"{x:.2f}".replace("-", "−") if way == "cosine" else f"{100 * x:.0f} %"
    return f'<td class="number" style="background:{shade}{frame}">{said}</td>'


def _side_html(scene: Scene, cosines: Tensor, scale: float) -> str:
    along, down = loss(cosines, scale)
    n = min(cosines.shape)
    chance = float(torch.tensor(float(n)).log())
    words = "" if _has_captions(scene) else "The columns are the numbers of the words. "
    return (
        '<div style="flex:1;min-width:15em;max-width:30em">'
        "<p>In training, picture 0 belongs to sentence 0, and so on: the framed cells. All others "
        "are examples of what does not belong together.</p>"
        f"<p>Each row asks which sentence fits the picture: loss {along:.2f}. Each column asks "
        f"which picture fits the sentence: loss {down:.2f}. The mean, <b>{(along + down) / 2:.2f}"
        f"</b>, is what is learned from; by chance it is ln {n} = {chance:.2f}.</p>"
        "<p>The cosines are multiplied by a number that is learned too; training begins with 14 "
        "and stops at 100.</p>"
        f'<p class="muted">{words}{numbers_origin(scene)}</p></div>'
    )
