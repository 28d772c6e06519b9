"""The legend as HTML: the drawer below a diagram, and the page of all signs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

import streamlit as st

from ncd import catalogue
from ncd.drawing import draw
from ncd.drawing.base.primitives import Picture
from ncd.export import markup
from ncd.key import COLOURS, GROUPS, SIGNS, Found, Kind, Sign, key
from ncd.view.base import html_panel
from ncd.view.base.static_files import static
from ncd.view.session import url

CSS = static("diagram/legend.css")
KINDS: tuple[Kind, ...] = ("node", "array", "axis", "fence", "part")
FIRST = GROUPS["Axes and arrays"]
SEEN = 3  # pages named with each sign
SCALE = 0.9  # scale of the pictures
# Interactive parts of a drawing, which the pictures of signs must not have.
_OF_DIAGRAMS = re.compile(
    r"<(title|desc)\b.*?</\1>| (?:data-\w+|tabindex|role)=\"[^\"]*\"", re.DOTALL
)
_STYLE = re.compile(r"<style>(.*?)</style>(?:<filter.*?</filter>)?", re.DOTALL)
_SIZE = re.compile(r'(?<= )(width|height)="([\d.]+)"')


def drawer(drawing: Picture, dark: bool) -> str:
    """Returns the signs of a drawing in a closed drawer; each highlights its places."""
    blocks = tuple((fence.role, fence.id) for fence in drawing.fences if not fence.brackets)
    return _drawer(key(drawing), blocks, dark)


@lru_cache(maxsize=256)
def _drawer(found: tuple[Found, ...], blocks: tuple[tuple[str, str], ...], dark: bool) -> str:
    """Returns the drawer for the signs and blocks found; cached, as sizes do not change it."""
    colours = _colours(blocks, dark)
    rows = "".join(
        row(each.sign, dark, places(each), colours if each.sign.name == "fence" else "")
        for each in sorted(found, key=lambda each: each.sign in FIRST)  # the familiar signs last
    )
    count = markup.counted(len(found), "sign")
    return (
        f"{rules((each.sign for each in found), dark)}"
        f'<details class="key"><summary>Key to the {count} in this diagram</summary>'
        f'<div class="sheet"><ul class="signs">{rows}</ul>'
        '<p><a href="legend">All signs of the notation</a></p></div></details>'
    )


def row(sign: Sign, dark: bool, attributes: Mapping[str, str], more: str = "") -> str:
    """Returns the row of a sign: picture, name, sentence and line of torch."""
    given = "".join(f' {name}="{markup.text(value)}"' for name, value in attributes.items())
    code = f"<code>{markup.text(sign.code)}</code>" if sign.code else ""
    return (
        f'<li class="entry"{given}><span class="look">{picture(sign, dark)}</span>'
        f"<div><b>{markup.text(sign.title)}</b><p>{markup.text(sign.words)}</p>"
        f"{code}{more}</div></li>"
    )


def _colours(blocks: Iterable[tuple[str, str]], dark: bool) -> str:
    """Returns the colours of a drawing's blocks, each highlighted with its blocks."""
    ids: dict[str, list[str]] = {}
    for role, id in blocks:
        ids.setdefault(role, []).append(id)
    chips = (
        f'<span data-fence="{" ".join(own)}">{colour(role, dark)}</span>'
        for role, own in ids.items()
    )
    return f'<p class="colours">{" ".join(chips)}</p>'


def colour(role: str, dark: bool) -> str:
    """Returns the row of a role's colour."""
    return markup.role(role, dark) + markup.text(COLOURS[role])


def places(found: Found) -> dict[str, str]:
    """Returns the attributes by which a row is highlighted with the diagram.

    An op's row is highlighted by the op; otherwise by arrays, then axes, and so on.
    """
    of = {kind: found.ids(kind) for kind in KINDS}
    return {"tabindex": "0"} | {f"data-{kind}": " ".join(ids) for kind, ids in of.items() if ids}


@lru_cache(maxsize=256)
def picture(sign: Sign, dark: bool) -> str:
    """Returns the picture of a sign as inert SVG."""

    def scaled(found: re.Match[str]) -> str:
        return f'{found[1]}="{SCALE * float(found[2]):.0f}"'

    head, end, rest = inert(_STYLE.sub("", _svg(sign, dark))).partition(">")
    return f"{_SIZE.sub(scaled, head)}{end}{rest}"


def inert(svg: str) -> str:
    """Returns a drawing without the ids, roles and titles that make it interactive.

    >>> inert('<svg role="group"><title>m</title><path data-axis="m" d="M0 0"/></svg>')
    '<svg aria-hidden="true"><path d="M0 0"/></svg>'
    """
    shown = _OF_DIAGRAMS.sub("", svg).replace(' class="op marked"', ' class="op"')
    return shown.replace("<svg", '<svg aria-hidden="true"', 1)


def rules(signs: Iterable[Sign], dark: bool) -> str:
    """Returns the style sheet for the pictures of these signs."""
    found: dict[str, None] = {}
    for sign in signs:
        for text in _STYLE.findall(_svg(sign, dark)):
            found |= dict.fromkeys(re.findall(r"[^{}]+{[^{}]*}", text))
    return f"<style>{''.join(found)}</style>"


@lru_cache(maxsize=256)
def _svg(sign: Sign, dark: bool) -> str:
    return sign.picture(dark).svg(fonts=False)


# --- the page ------------------------------------------------------------------------------------

TITLE = "Legend"
LEAD = """
A circuit is read from left to right, as the numbers go. Wires are the axes of arrays, and what
stands in them is done to the arrays. Below is every sign, drawn as in the circuits, with the line
of PyTorch or einops that does the same, and pages on which to see it.
"""


def show() -> None:
    """Shows the page of all signs, by group."""
    url.take("legend")
    st.title(TITLE, anchor=False)
    st.markdown(LEAD)
    html_panel.show(all_signs(st.context.theme.type == "dark"), "legend")


@lru_cache(maxsize=2)
def all_signs(dark: bool) -> str:
    """Returns all signs by group, then the colours."""
    used = _used()
    style = f"<style>{CSS}</style>{rules(SIGNS.values(), dark)}"
    groups = "".join(
        f"<h2>{name}</h2><ul class='signs'>"
        + "".join(row(sign, dark, {"id": sign.name}, used.get(sign.name, "")) for sign in group)
        + "</ul>"
        for name, group in GROUPS.items()
    )
    colours = "".join(f"<li>{colour(role, dark)}</li>" for role in COLOURS)
    return f"{style}{groups}<h2>Colours</h2><ul class='signs'>{colours}</ul>"


def _used() -> dict[str, str]:
    """Returns links to the pages on which each sign occurs."""
    pages: dict[str, list[str]] = {}
    for entry in catalogue.values():
        for found in key(draw(entry.build())):
            page = f'<a href="{entry.name}">{markup.text(entry.title)}</a>'
            pages.setdefault(found.sign.name, []).append(page)
    return {name: f'<p class="used">{", ".join(links[:SEEN])}</p>' for name, links in pages.items()}
