"""The prose of the pages, read from their files, as plain text and as HTML."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

from ncd.bundled_files import bundled
from ncd.export import markup
from ncd.export.mathml import mathml
from ncd.models import Entry

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
    tree = ast.parse(bundled(path).read_text())
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    named = {ast.unparse(node.targets[0]): node.value for node in assigned}
    return {
        name: str(ast.literal_eval(named[name])).strip()
        for name in ("LEAD", "WHY")
        if isinstance(named.get(name), ast.Constant)
    }


def lead(entry: Entry) -> str:
    """Returns the first sentence of a system's page, ``LEAD`` in its file."""
    return plain_text(prose(file(entry))["LEAD"])


def plain_text(text: str) -> str:
    """Returns Markdown as one line of plain text.

    >>> plain_text("Every position of *y* in `einsum`, and [more](legend).")
    'Every position of y in einsum, and more.'
    """
    return " ".join(re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text).translate(MARKS).split())


def html(text: str, root: str = "") -> str:
    """Returns Markdown as HTML: paragraphs, lists, emphasis, code, formulas and links.

    ``root`` is put before the address of a page.

    >>> html("See [*a*](legend?x=1), `b < c`.", "../")
    '<p>See <a href="../legend/?x=1"><i>a</i></a>, <code>b &lt; c</code>.</p>'
    >>> html("`a * b` and *c*")
    '<p><code>a * b</code> and <i>c</i></p>'
    >>> html("as $n^2$").count("<msup>"), html("`$1 + $2`")
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

    def kept(found: re.Match[str]) -> str:
        links.append(address(found[2], root))
        return f"\0{len(links) - 1}\0{found[1]}\1"

    formulas = [mathml(latex) for latex in MATH.findall(text)]
    text = MATH.sub("\3", text)
    html = CODE.sub(_code, markup.text(LINK.sub(kept, text)))
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
