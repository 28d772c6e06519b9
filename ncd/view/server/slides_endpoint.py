"""The endpoint that writes a presentation as one file, each view drawn from its address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

import ncd
from ncd.code import lines
from ncd.drawing import Drawing
from ncd.export import markup, source_listing
from ncd.export.page.slides import Slide, html
from ncd.lang.errors import LimitError, NCDError
from ncd.lang.terms.terms import Term
from ncd.lessons import Lesson
from ncd.models import Entry
from ncd.train.learned_weights import proofreading
from ncd.view.base import heatmap, knobs, selection
from ncd.view.base.heatmap import Ends
from ncd.view.base.knobs import SEED
from ncd.view.diagram import axis_chips
from ncd.view.inputs import feed as inputs
from ncd.view.panels.attention import attention_maps
from ncd.view.panels.common import cost_table, shapes, source
from ncd.view.runtime import scheduler
from ncd.view.server import lessons_endpoint, live_endpoint
from ncd.view.session import own_entry, trained_weights
from ncd.view.session.scene import Scene, built

FILE = "presentation.html"
HEADS = 16
NONE = "No views given: put the address of each view into ?views=, separated by semicolons."


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the file of the views that an address names, or with 404 if there are none."""
    query = Request(scope).query_params
    asked, own = query.get("views", ""), query.get(own_entry.TEXT, "")
    text = await run_in_threadpool(written, asked, own)
    named = {"Content-Disposition": f'attachment; filename="{FILE}"', "Cache-Control": "no-store"}
    response = Response(text, media_type="text/html", headers=named) if text else None
    await (response or PlainTextResponse(NONE, 404))(scope, receive, send)


def written(views: str, text: str = "") -> str:
    """Returns the file for views such as ``residual-block?s=2#Half as large;residual-block``.

    ``text`` is that of one's own system, for the views of it that have none.

    >>> written("residual-block?s=2;nothing;residual-block").count('class="slide"')
    2
    >>> written("nothing")
    ''
    """
    try:
        found = list(slides(Lesson.of_link(views, lessons_endpoint.pages()), text))
    except LimitError:
        return ""
    return html(found, "Presentation" if len(found) > 1 else "") if found else ""


def slides(lesson: Lesson, text: str) -> Iterator[Slide]:
    """Yields a slide for each view whose system exists."""
    for view in lesson.views:
        said = {own_entry.TEXT: text, **dict(parse_qsl(view.query))}
        if entry := own_entry.entry_of(view.page, {k: v for k, v in said.items() if v}):
            with scheduler.turn():
                yield _slide(entry, said, view.says)


def _slide(entry: Entry, said: Mapping[str, str], caption: str) -> Slide:
    scene = _scene(entry, said)
    if scene is None:  # draws what can be drawn, as the page does
        settings = {k.name: knobs.read(k, said.get(k.name, str(k.default)))[0] for k in entry.knobs}
        term, refused = built(entry, entry.within(settings))
        words = f"<p>{markup.text(str(refused.error))}</p>" if refused else ""
        return Slide(entry.title, _drawn(term, entry), caption, words)
    folded = selection.folded(scene.circuit, said.get(selection.FOLDED, selection.AUTO))
    covered = said.get("quiz") == "1"
    facts = axis_chips.html(scene.circuit) + _costs(scene)
    return Slide(
        entry.title,
        ncd.draw(scene.term, **scene.look, folded=folded),
        caption,
        facts,
        _panel(scene, said) if said.get("with") == "panel" and not covered else "",
        covered,
        selection.known_axes(scene.circuit, entry, said.get(selection.AXES, "")),
        said.get(selection.KEY, "")[:20],
    )


def _drawn(term: Term | None, entry: Entry) -> Drawing | None:
    """Returns the part of a system that can be drawn, or the usual one; None for a wrong text."""
    try:
        return ncd.draw(term or entry.build())
    except NCDError:
        return None


def _costs(scene: Scene) -> str:
    if not scene.sized:
        return ""
    parameters = markup.counted(scene.cost.parameters, "parameter")
    return f'<p class="muted">{parameters} · {markup.flops(scene.cost.flops)}</p>'


def _scene(entry: Entry, said: Mapping[str, str]) -> Scene | None:
    """Returns the scene of a view in light colours; the file itself switches to dark ones."""
    hidden = {"labels": "names"} if said.get("quiz") == "1" else {}
    asked = {**said, **hidden, "dark": "0"}
    sketch, _ = built(entry, entry.settings({}))
    scene = live_endpoint.scene(entry, asked)
    if scene is None:
        return None
    feed = inputs.Feed()
    if sketch and inputs.takes_words(sketch):
        feed = inputs.read_words(entry, sketch, said, scene.settings)
    if feed.lengths:
        lengths = {name: str(n) for name, n in feed.lengths.items()}
        scene = live_endpoint.scene(entry, asked | lengths) or scene
    seed = knobs.read(SEED, said.get("seed", "0"))[0]
    known = trained_weights.ready(entry, scene.settings)
    if feed.trained:
        known = proofreading(scene.settings["h"], seed)
    return replace(scene, seed=seed, feed=feed, learned=known)


# --- the panel ------------------------------------------------------------------------------------


def _panel(scene: Scene, said: Mapping[str, str]) -> str:
    """Returns the open panel as HTML, if all its content is known without a visitor's request."""
    opened = said.get(selection.PANEL)
    if not scene.sized:
        return ""
    if opened == source.TITLE:
        return source_listing.html(lines(scene.term), scene.circuit, None)
    if opened == shapes.TITLE:
        return shapes.html(scene)
    if opened == cost_table.TITLE:
        return cost_table.html(scene, None)
    if opened == attention_maps.TITLE and scene.runs and not scene.long:
        return _heads(scene, said.get(attention_maps.SOFTMAX.name, ""))
    return ""


def _heads(scene: Scene, softmax: str) -> str:
    """Returns the maps of a softmax's heads on one colour scale."""
    cells = [cell for cell in scene.circuit.cells if cell.op.role == "softmax"]
    if not cells:
        return ""
    cell = next((own for own in cells if own.id == softmax), cells[0])
    found = attention_maps.weights(cell, scene.trace.values[cell.outputs[0].id])
    maps = heatmap.pooled(found.maps[:HEADS], heatmap.SMALL)
    ends = Ends.of(found.maps[:HEADS], signed=False)
    names = attention_maps.heads_named(found.heads)
    figures = (
        f'<figure><img alt="" src="{heatmap.picture(own, ends)}"><figcaption>{name}</figcaption>'
        "</figure>"
        for name, own in zip(names, maps.maps, strict=False)
    )
    told = f"<p>Attention: rows are queries, columns keys. {maps.told}</p>"
    return f'{told}<div class="heads">{"".join(figures)}</div>'
