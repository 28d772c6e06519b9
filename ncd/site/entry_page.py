"""The static page of a system: prose, links, lesson, settings that move, its gallery card."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NotRequired, TypedDict
from urllib.parse import parse_qs, urlencode

from ncd.circuit.elaborate import elaborate
from ncd.circuit.sized_system import ParametricTerm
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.legend.legend import legend_entries
from ncd.errors import NCDError
from ncd.installation import package_path
from ncd.language.terms import Term
from ncd.site import markup
from ncd.site.markup import mathml
from ncd.site.question_html import question_html
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import Question, question
from ncd.systems.lessons.lesson import LessonStep, lesson_of
from ncd.systems.search_topics import topics

# --- The prose of the pages, read from their files, as plain text and as HTML

MATH = re.compile(r"\$(\S(?:[^$]*\S)?)\$")
CODE = re.compile(r"`([^`]+)`")
SIGNS = (
    (re.compile(r"\*\*(.+?)\*\*", re.DOTALL), r"<b>\1</b>"),
    (re.compile(r"\*(.+?)\*", re.DOTALL), r"<i>\1</i>"),
)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")
MARKS = str.maketrans("", "", "*`")
ITEM = re.compile(r"^(?:[-*]|\d+\.) ", re.MULTILINE)


def file(entry: Entry) -> str:
    """Returns the file of a system's page, relative to the app's folder."""
    folder = entry.section.lower().replace(" ", "_")
    return f"pages/{folder}/{entry.identifier}.py"


@lru_cache(128)
def prose(path: str) -> Mapping[str, str]:
    """Returns the texts of a page by name: ``LEAD`` and ``WHY``."""
    tree = ast.parse(package_path(path).read_text())
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    named = {ast.unparse(node.targets[0]): node.value for node in assigned}
    return {
        name: str(ast.literal_eval(named[name])).strip()
        for name in ("LEAD", "WHY")
        if isinstance(named.get(name), ast.Constant)
    }


def page_texts(entry: Entry) -> Mapping[str, str]:
    """Returns the texts of a system's page; of one that has no file, where it comes from."""
    if entry.name in CATALOGUE:
        return prose(file(entry))
    return {"LEAD": f"Read from `{entry.source}`."}


def lead(entry: Entry) -> str:
    """Returns the first sentence of a system's page, ``LEAD`` in its file."""
    return plain_text(page_texts(entry)["LEAD"])


def plain_text(text: str) -> str:
    """Returns Markdown as one line of plain text.

    >>> plain_text("Every position of *y* in `einsum`, and [more](legend).")
    'Every position of y in einsum, and more.'
    """
    return " ".join(re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text).translate(MARKS).split())


def markdown_html(text: str, root: str = "") -> str:
    """Returns Markdown as HTML: paragraphs, lists, emphasis, code, formulas and links.

    ``root`` is put before the address of a page.

    >>> markdown_html("See [*a*](legend?x=1), `b < c`.", "../")
    '<p>See <a href="../legend/?x=1"><i>a</i></a>, <code>b &lt; c</code>.</p>'
    >>> markdown_html("`a * b` and *c*")
    '<p><code>a * b</code> and <i>c</i></p>'
    >>> markdown_html("as $n^2$").count("<msup>"), markdown_html("`$1 + $2`")
    (1, '<p><code>$1 + $2</code></p>')
    """
    return "".join(_block(block, root) for block in re.split(r"\n\s*\n", text.strip()))


def _block(block: str, root: str) -> str:
    if block.startswith("#"):
        return f"<h2>{_inline(block.lstrip('# '), root)}</h2>"
    if not ITEM.match(block):
        return f"<p>{_inline(block, root)}</p>"
    kind = "ol" if block[0].isdigit() else "ul"
    items = (item for item in ITEM.split(block) if item.strip())
    return f"<{kind}>{''.join(f'<li>{_inline(item, root)}</li>' for item in items)}</{kind}>"


def _inline(text: str, root: str) -> str:
    links: list[str] = []

    def link_placeholder(found: re.Match[str]) -> str:
        links.append(address(found[2], root))
        return f"\0{len(links) - 1}\0{found[1]}\1"

    formulas = [mathml(latex) for latex in MATH.findall(text)]
    text = MATH.sub("\3", text)
    html = CODE.sub(_code, markup.text(LINK.sub(link_placeholder, text)))
    for sign, tag in SIGNS:
        html = sign.sub(tag, html)
    html = html.replace("\2", "*")
    opened = re.sub(r"\0(\d+)\0", lambda found: f'<a href="{links[int(found[1])]}">', html)
    for formula in formulas:
        opened = opened.replace("\3", formula, 1)
    return opened.replace("\1", "</a>")


def _code(found: re.Match[str]) -> str:
    """Returns code, in which a star is no sign."""
    inside = found[1].replace("*", "\2")
    return f"<code>{inside}</code>"


def address(link: str, root: str) -> str:
    """Returns the address of a page from another one; other addresses stay.

    >>> address("unet?c=16", "../"), address("https://arxiv.org", "../")
    ('../unet/?c=16', 'https://arxiv.org')
    """
    if re.match(r"[a-z]+:", link):
        return markup.text(link)
    page, mark, rest = re.split(r"([?#]|$)", link, maxsplit=1)
    return markup.text(f"{root}{page}/{mark}{rest}" if page else f"{root}{mark}{rest}")


# --- The settings of a system of the catalogue, for a page on which they can be moved


def of_entry(entry: Entry, settings: Mapping[str, int]) -> ParametricTerm:
    """Returns a system as a function of its settings.

    >>> import ncd
    >>> found = of_entry(ncd.catalogue["multi-head-attention"], {"h": 4})
    >>> found.sizes[0].limits, found.settings["k"], found.fixed_names
    ('1 or more', 16, ('causal',))
    """
    plain = tuple(knob.name for knob in entry.knobs if not knob.is_size or knob.below)
    return ParametricTerm(
        entry.knobs,
        entry.settings(settings),
        lambda given: entry.system(**given),
        plain,
        entry.renamed_axes,
    )


# --- The parts around the diagram of a system: links, published sizes, prose, and its lesson


def top(before: Entry | None, after: Entry | None) -> str:
    """Returns the links above a page: the gallery, the legend, the pages beside it."""
    back, on = _adjacent_link(before, "prev", "← {}"), _adjacent_link(after, "next", "{} →")
    return (
        '<nav class="site" aria-label="Site"><a href="../">Neural circuits</a>'
        f'<a href="../legend/">Legend</a><span class="beside">{back}{on}</span></nav>'
    )


def _adjacent_link(entry: Entry | None, rel: str, words: str) -> str:
    if entry is None:
        return ""
    said = words.format(markup.text(entry.title))
    return f'<a href="../{entry.name}/" rel="{rel}">{said}</a>'


def prose_html(entry: Entry, pages: Mapping[str, Entry]) -> str:
    """Returns the prose below a diagram, its published sizes and its lesson."""
    why = page_texts(entry).get("WHY", "")
    heading = '<section class="prose why"><h2>Why it works</h2>'
    told = f"{heading}{markdown_html(why, '../')}</section>" if why else ""
    return f"{_presets(entry)}{told}{_lesson(entry, pages)}"


def _presets(entry: Entry) -> str:
    links = (
        _view_link(urlencode(dict(preset.knobs)), preset.title or preset.name, preset.source)
        for preset in entry.presets
    )
    items = "".join(links)
    return f'<p class="presets"><b>Published sizes</b> {items}</p>' if items else ""


def _view_link(query: str, title: str, tip: str = "") -> str:
    """Returns a link to a view of the same page."""
    said = markup.text(query)
    hint = f' title="{markup.text(tip)}"' if tip else ""
    return f'<a href="?{said}" data-view="{said}"{hint}>{markup.text(title)}</a> '


def _lesson(entry: Entry, pages: Mapping[str, Entry]) -> str:
    """Returns the steps of a lesson, each a link to its view, with its questions."""
    steps = "".join(
        f"<li>{_step(entry, view, pages[view.page])}</li>"
        for view in lesson_of(entry).views
        if view.page in pages
    )
    return f"<details class='told lesson'><summary>A lesson</summary><ol>{steps}</ol></details>"


def _step(entry: Entry, view: LessonStep, shown: Entry) -> str:
    """Returns a view of a lesson, which shows its own system or another one."""
    says = view.says or f"{shown.title}, as it is."
    if view.page == entry.name:
        link = _view_link(view.query, says)
    else:
        href = address(str(LessonStep(view.page, view.query)), "../")
        link = f'<a href="{href}">{markup.text(says)}</a>'
    return link + "".join(map(question_html, _questions(view, shown)))


def _questions(view: LessonStep, entry: Entry) -> Iterator[Question]:
    """Yields the question of a view at the sizes of its link."""
    asked = {name: own[0] for name, own in parse_qs(view.query).items()}
    sizes = {k.name: int(asked[k.name]) for k in entry.knobs if asked.get(k.name, "").isdecimal()}
    try:
        found = question(entry, entry.settings(sizes), asked.get("ask", ""))
    except NCDError:
        return
    if found:
        yield found


# --- The cards of the gallery: what a system is found by

FOLDER = Path(__file__).parent / "static"
GALLERY_CSS = (FOLDER / "gallery.css").read_text()
GALLERY_HTML = """<search><label>Search
<input type="search" placeholder="a name, an op, an axis"></label>
<span class="count" role="status"></span></search>
<div class="cards"></div>"""
MODULE = re.compile(r"\bnn\.\w+")


class Card(TypedDict):
    """A system in the gallery; it is found by its names, its ``ops`` and its ``axes``.

    ``also`` are published models with its sizes, and the modules of PyTorch that it uses;
    ``topics`` are what else it is searched for, with its place among the answers. ``svg`` is its
    picture, or ``picture`` the address of it; ``href`` is the address of its page if that is not
    its name.
    """

    name: str
    title: str
    section: str
    source: str
    lead: str
    ops: list[str]
    axes: list[str]
    also: list[str]
    topics: dict[str, int]
    svg: NotRequired[str]
    picture: NotRequired[str]
    href: NotRequired[str]


def card(entry: Entry, term: Term, drawing: Drawing) -> Card:
    """Returns the card of a system without its picture."""
    circuit = elaborate(term)
    labels = (cell.op.display_name for cell in circuit.cells)
    found = [one.sign for one in legend_entries(drawing) if one.ids("node")]
    modules = (name for sign in found for name in MODULE.findall(sign.code))
    return Card(
        name=entry.name,
        title=entry.title,
        section=entry.section,
        source=entry.source,
        lead=lead(entry),
        ops=list(dict.fromkeys((*labels, *(sign.title for sign in found)))),
        axes=list(dict.fromkeys(axis.name for axis in circuit.axes)),
        also=list(dict.fromkeys((*(preset.title for preset in entry.presets), *modules))),
        topics=topics(entry.name),
    )
