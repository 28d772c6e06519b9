"""The parts around the diagram of a system: links, published sizes, prose, and its lesson."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from urllib.parse import parse_qs, urlencode

from ncd.export import markup
from ncd.lang.errors import NCDError
from ncd.lang.types.axes import Array, Axis
from ncd.lessons import Question, View, lesson_of, question
from ncd.models import CATALOGUE, Entry
from ncd.static_site.page_prose import address, file, html, prose


def top(before: Entry | None, after: Entry | None) -> str:
    """Returns the links above a page: the gallery, the legend, the pages beside it."""
    back, on = _beside(before, "prev", "← {}"), _beside(after, "next", "{} →")
    return (
        '<nav class="site" aria-label="Site"><a href="../">Neural circuits</a>'
        f'<a href="../legend/">Legend</a><span class="beside">{back}{on}</span></nav>'
    )


def _beside(entry: Entry | None, rel: str, words: str) -> str:
    if entry is None:
        return ""
    said = words.format(markup.text(entry.title))
    return f'<a href="../{entry.name}/" rel="{rel}">{said}</a>'


def below(entry: Entry, pages: Collection[str]) -> str:
    """Returns the prose below a diagram, its published sizes and its lesson."""
    why = prose(file(entry)).get("WHY", "")
    return (
        f'{_presets(entry)}<section class="prose why"><h2>Why it works</h2>{html(why, "../")}'
        f"</section>{_lesson(entry, pages)}"
    )


def _presets(entry: Entry) -> str:
    links = (
        _here(urlencode(dict(preset.knobs)), preset.title or preset.name, preset.source)
        for preset in entry.presets
    )
    items = "".join(links)
    return f'<p class="presets"><b>Published sizes</b> {items}</p>' if items else ""


def _here(query: str, title: str, tip: str = "") -> str:
    """Returns a link to a view of the same page."""
    said = markup.text(query)
    hint = f' title="{markup.text(tip)}"' if tip else ""
    return f'<a href="?{said}" data-view="{said}"{hint}>{markup.text(title)}</a> '


def _lesson(entry: Entry, pages: Collection[str]) -> str:
    """Returns the steps of a lesson, each a link to its view, with its questions."""
    steps = "".join(
        f"<li>{_step(entry, view)}</li>" for view in lesson_of(entry).views if view.page in pages
    )
    return f"<details class='told lesson'><summary>A lesson</summary><ol>{steps}</ol></details>"


def _step(entry: Entry, view: View) -> str:
    says = view.says or f"{CATALOGUE[view.page].title}, as it is."
    if view.page == entry.name:
        link = _here(view.query, says)
    else:
        href = address(str(View(view.page, view.query)), "../")
        link = f'<a href="{href}">{markup.text(says)}</a>'
    return link + "".join(map(_asked, _questions(view)))


def _questions(view: View) -> Iterator[Question]:
    """Yields the question of a view at the sizes of its link."""
    asked = {name: own[0] for name, own in parse_qs(view.query).items()}
    entry = CATALOGUE[view.page]
    sizes = {k.name: int(asked[k.name]) for k in entry.knobs if asked.get(k.name, "").isdecimal()}
    try:
        found = question(entry, entry.settings(sizes), asked.get("ask", ""))
    except NCDError:
        return
    if found:
        yield found


def _asked(found: Question) -> str:
    answers = " · ".join(map(_answer, found.answers))
    return (
        f"<p>{markup.text(found.text)} <span class='muted'>{answers}</span></p><details>"
        f"<summary>The answer</summary><p><b>{_answer(found.answers[found.right])}</b> "
        f"{markup.text(found.why)}</p></details>"
    )


def _answer(answer: Array | Axis | str) -> str:
    if isinstance(answer, Array):
        return markup.sized(answer)
    return markup.axis(answer) if isinstance(answer, Axis) else markup.text(answer)
