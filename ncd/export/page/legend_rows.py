"""Rows of the key to a diagram as HTML: the picture of each sign, its name and its meaning.

``dark`` chooses the colours of the pictures; with None they are variables of the page's theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ncd.export import markup
from ncd.export.collapse_states import svg
from ncd.key import COLOURS, Found, Kind, Sign

KINDS: tuple[Kind, ...] = ("node", "array", "axis", "fence", "part")
SCALE = 0.9  # scale of the pictures
# Interactive parts of a drawing, which the pictures of signs must not have.
_OF_DIAGRAMS = re.compile(
    r"<(title|desc)\b.*?</\1>| (?:data-\w+|tabindex|role)=\"[^\"]*\"", re.DOTALL
)
_STYLE = re.compile(r"<style>(.*?)</style>(?:<filter.*?</filter>)?", re.DOTALL)
_SIZE = re.compile(r'(?<= )(width|height)="([\d.]+)"')


def row(sign: Sign, dark: bool | None, attributes: Mapping[str, str], more: str = "") -> str:
    """Returns the row of a sign: picture, name, sentence and line of torch."""
    given = "".join(f' {name}="{markup.text(value)}"' for name, value in attributes.items())
    code = f"<code>{markup.text(sign.code)}</code>" if sign.code else ""
    return (
        f'<li class="entry"{given}><span class="look">{picture(sign, dark)}</span>'
        f"<div><b>{markup.text(sign.title)}</b><p>{markup.text(sign.words)}</p>"
        f"{code}{more}</div></li>"
    )


def colour(role: str, dark: bool | None) -> str:
    """Returns the row of a role's colour."""
    return markup.role(role, dark) + markup.text(COLOURS[role])


def places(found: Found) -> dict[str, str]:
    """Returns the attributes by which a row is highlighted with the diagram.

    An op's row is highlighted by the op; otherwise by arrays, then axes, and so on.
    """
    of = {kind: found.ids(kind) for kind in KINDS}
    return {"tabindex": "0"} | {f"data-{kind}": " ".join(ids) for kind, ids in of.items() if ids}


@lru_cache(maxsize=256)
def picture(sign: Sign, dark: bool | None) -> str:
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


def rules(signs: Iterable[Sign], dark: bool | None) -> str:
    """Returns the style sheet for the pictures of these signs."""
    found: dict[str, None] = {}
    for sign in signs:
        for text in _STYLE.findall(_svg(sign, dark)):
            found |= dict.fromkeys(re.findall(r"[^{}]+{[^{}]*}", text))
    return f"<style>{''.join(found)}</style>"


@lru_cache(maxsize=256)
def _svg(sign: Sign, dark: bool | None) -> str:
    return svg(sign.picture(False)) if dark is None else sign.picture(dark).svg(fonts=False)
