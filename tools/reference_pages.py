"""A hook of MkDocs: all signs, ops, functions, systems, questions and public names, from the code.

In a page, ``<ncd-signs></ncd-signs>`` is every sign, drawn, ``<ncd-ops></ncd-ops>`` every op with
its sign and docstring, ``<ncd-names>cost Cost</ncd-names>`` public names with their docstrings,
``<ncd-functions></ncd-functions>`` the functions of one number, ``<ncd-systems></ncd-systems>`` the
catalogue, ``<ncd-questions></ncd-questions>`` the questions that a view may ask.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import ncd
from ncd.drawing.legend.legend import GROUPS
from ncd.formulas.elementwise_functions import ELEMENTWISE, OTHER_NAMES
from ncd.language.op import Op
from ncd.site import markup
from ncd.site.entry_page import lead
from ncd.systems.lessons import computed_questions
from ncd.systems.search_topics import topics

FOLDER = "signs"
ELEMENT = re.compile(r"^<ncd-(signs|ops|names|functions|systems|questions)>([^<]*)</ncd-\1>$", re.M)
pictures: dict[str, ncd.Drawing] = {}  # of this build, by the names of their files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Returns the text of a page, in which each element is the list that it stands for."""
    lists: dict[str, Callable[[str], Iterator[str]]] = {
        "signs": sign_lines,
        "ops": op_lines,
        "names": name_lines,
        "functions": function_lines,
        "systems": system_lines,
        "questions": question_lines,
    }
    return ELEMENT.sub(lambda found: "\n".join(lists[found[1]](found[2])), markdown)


def on_post_build(*, config: Any, **_: Any) -> None:
    """Writes the pictures, each for a light and for a dark page."""
    folder = Path(config.site_dir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in pictures.items():
        (folder / f"{name}.svg").write_text(drawing.svg())


def sign_lines(_: str = "") -> Iterator[str]:
    """Yields the lines of all signs: a table for each group."""
    for group, signs in GROUPS.items():
        yield from (
            "",
            f"## {group}",
            "",
            "| sign | name | meaning |",
            "| --- | --- | --- |",
        )
        for sign in signs:
            shown = picture(
                f"sign-{slug(sign.name)}", sign.picture(), sign.picture(dark=True), sign.title
            )
            code = f"<br>`{sign.code}`".replace("|", "\\|") if sign.code else ""
            yield f"| {shown} | {sign.title} | {markup.text(sign.explanation)}{code} |"


def op_lines(_: str = "") -> Iterator[str]:
    """Yields the lines of all ops: a heading, the sign of an example, and the docstring."""
    for op in sorted(ncd.ops.CATALOGUE, key=lambda op: op.__name__):
        example = type(op).examples()[0] if isinstance(op, Op) else op.examples()[0]
        term = ncd.Id(example.dom) >> example.op
        light, dark = ncd.draw(term, "names"), ncd.draw(term, "names", dark=True)
        shown = picture(f"op-{slug(op.__name__)}", light, dark, f"The sign of {op.__name__}")
        yield from (f"## {op.__name__}", "", shown, "")
        yield from reference(f"{op.__module__}.{op.__qualname__}", op.__name__, heading=False)


def name_lines(names: str) -> Iterator[str]:
    """Yields the lines of public names of the package.

    >>> next(name_lines("cost"))
    '::: ncd.circuit.costs.cost'
    """
    for name in names.split():
        value = getattr(ncd, name)
        home = value if hasattr(value, "__qualname__") else type(value)
        yield from reference(f"{home.__module__}.{home.__qualname__}", f"ncd.{name}")


def function_lines(_: str = "") -> Iterator[str]:
    """Yields the table of the functions of one number, with what else they are called.

    >>> [line for line in function_lines() if "silu" in line]
    ['| `silu` | `F.silu` | swish |']
    """
    yield from ("| function | in torch | also called |", "| --- | --- | --- |")
    for name, function in ELEMENTWISE.items():
        others = ", ".join(OTHER_NAMES.get(name, "").split())
        yield f"| `{name}` | `{function.torch}` | {others} |"


def system_lines(_: str = "") -> Iterator[str]:
    """Yields the catalogue: a heading for each section, and one for each system.

    >>> lines = [*system_lines()]
    >>> lines[lines.index("### SwiGLU") + 2][:22]
    '`swiglu`, Shazeer 2020'
    """
    for section in dict.fromkeys(entry.section for entry in ncd.catalogue.values()):
        yield from (f"## {section}", "")
        for entry in ncd.catalogue.values():
            if entry.section != section:
                continue
            yield from (f"### {markup.text(entry.title)}", "")
            yield f"`{entry.name}`, {markup.text(entry.source)}."
            yield markup.text(lead(entry))
            if words := ", ".join(sorted(topics(entry.name))):
                yield f"Searched for as: {markup.text(words)}."
            yield ""


def question_lines(_: str = "") -> Iterator[str]:
    """Yields the table of the questions that a view may ask, as the module that asks them has it.

    >>> [line for line in question_lines() if "shape" in line]
    ['| `ask=shape:v7` | which shape an array has |']
    """
    rows = [line for line in str(computed_questions.__doc__).splitlines() if line[:1] == "|"]
    yield from ("| in a link | asks |", *rows[1:2])
    for row in rows[2:]:
        text, asks = row.strip("| ").split(" | ")
        links = ", ".join(f"`ask={each}`" for each in re.findall("``(.*?)``", text))
        yield f"| {links} | {asks.replace('``', '`')} |"


def reference(path: str, title: str, heading: bool = True) -> Iterator[str]:
    """Yields the lines by which mkdocstrings shows a docstring."""
    yield f"::: {path}"
    yield "    options:"
    yield f"      heading: {title}"
    yield f"      toc_label: {title.removeprefix('ncd.')}"
    yield f"      show_root_heading: {str(heading).lower()}"
    yield f"      show_root_toc_entry: {str(heading).lower()}"
    yield "      show_bases: false"
    yield "      members: false"
    yield ""


def picture(name: str, light: ncd.Drawing, dark: ncd.Drawing, title: str) -> str:
    """Returns the HTML of a picture that follows the theme of the page."""
    pictures[f"{name}-light"], pictures[f"{name}-dark"] = light, dark
    said = markup.text(title)
    return "".join(
        f'<img src="{FOLDER}/{name}-{theme}.svg#only-{theme}" alt="{said}">'
        for theme in ("light", "dark")
    )


def slug(name: str) -> str:
    """Returns a name as that of a file.

    >>> slug("Einsum cap")
    'einsum-cap'
    """
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
