"""Writes a presentation as one file: each view is drawn from its address, as on its page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

import ncd
from ncd.code import lines
from ncd.export import markup, source_listing
from ncd.export.slides import Slide, html
from ncd.models import CATALOGUE, Entry
from ncd.view.base import heatmap, knobs, selection
from ncd.view.base.heatmap import Ends
from ncd.view.base.knobs import SEED
from ncd.view.diagram import axis_chips
from ncd.view.inputs import feed as inputs
from ncd.view.panels.attention import attention_maps
from ncd.view.panels.common import cost_table, shapes, source
from ncd.view.runtime import scheduler
from ncd.view.server import live_endpoint
from ncd.view.session import trained_weights
from ncd.view.session.scene import Scene, built

FILE = "presentation.html"
MOST, LONGEST = 40, 8000  # views, and letters of all of them, as in present.js
CAPTION = 200
HEADS = 16
SAID = re.compile(r"([^?#]*)\??([^#]*)#?(.*)", re.DOTALL)
NONE = "No view is named here: ?views= has the address of each."


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """The file of the views that an address names; not found (404) where it names none."""
    asked = Request(scope).query_params.get("views", "")
    text = await run_in_threadpool(written, asked)
    named = {"Content-Disposition": f'attachment; filename="{FILE}"', "Cache-Control": "no-store"}
    response = Response(text, media_type="text/html", headers=named) if text else None
    await (response or PlainTextResponse(NONE, 404))(scope, receive, send)


def written(views: str) -> str:
    """The file of views such as ``residual-block?s=2#Half as large;residual-block``.

    >>> written("residual-block?s=2;nothing;residual-block").count('class="slide"')
    2
    >>> written("nothing")
    ''
    """
    found = list(slides(views)) if len(views) <= LONGEST else []
    return html(found, "Presentation" if len(found) > 1 else "") if found else ""


def slides(views: str) -> Iterator[Slide]:
    """A slide for each view of a system that there is."""
    for view in views.split(";")[:MOST]:
        match = SAID.fullmatch(view)
        assert match is not None
        name, query, caption = match.groups()
        if name in CATALOGUE:
            said = dict(parse_qsl(query))
            with scheduler.turn():
                yield _slide(CATALOGUE[name], said, unquote(caption)[:CAPTION])


def _slide(entry: Entry, said: Mapping[str, str], caption: str) -> Slide:
    scene = _scene(entry, said)
    if scene is None:  # the drawing as far as it goes, as on the page
        settings = {k.name: knobs.read(k, said.get(k.name, str(k.default)))[0] for k in entry.knobs}
        term, refused = built(entry, entry.within(settings))
        words = f"<p>{markup.text(str(refused.error))}</p>" if refused else ""
        return Slide(entry.title, ncd.draw(term or entry.build()), caption, words)
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
        said.get(selection.AXES, "")[:100],
        said.get(selection.KEY, "")[:20],
    )


def _costs(scene: Scene) -> str:
    if not scene.sized:
        return ""
    parameters = markup.counted(scene.cost.parameters, "parameter")
    return f'<p class="muted">{parameters} · {markup.amount(scene.cost.flops, "FLOP")}</p>'


def _scene(entry: Entry, said: Mapping[str, str]) -> Scene | None:
    """The page at a view, in light colours; the file turns them dark by itself."""
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
        known = trained_weights.proofreading(scene.settings["h"], seed)
    return replace(scene, seed=seed, feed=feed, learned=known)


# --- the panel ------------------------------------------------------------------------------------


def _panel(scene: Scene, said: Mapping[str, str]) -> str:
    """The panel that is open, where it says all that it has without being asked."""
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
        return _heads(scene, said.get(attention_maps.SOFTMAX, ""))
    return ""


def _heads(scene: Scene, softmax: str) -> str:
    """The maps of the heads of a softmax, in colours that are the same in all of them."""
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
