"""Writes the explorer as static files that work on any host and under any prefix."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.backends.svg import write
from ncd.drawing.elements import style
from ncd.drawing.legend.legend import COLOURS, GROUPS, SIGNS, legend_entries
from ncd.drawing.pipeline import draw
from ncd.installation import package_path
from ncd.site import markup
from ncd.site.browser_run import entry_model, run_section, walk, without_model
from ncd.site.collapse_states import LETTERS, WIDTH
from ncd.site.document import PAGE_SCRIPT, PageParts, css, document, policy
from ncd.site.entry_page import (
    FOLDER,
    GALLERY_CSS,
    GALLERY_HTML,
    Card,
    card,
    markdown_html,
    of_entry,
    page_texts,
    prose_html,
    top,
)
from ncd.site.ninety_seconds_page import (
    PAGE_CSS,
    PAGE_JS,
    PageAddresses,
    frame_facts,
    ninety_seconds_page,
)
from ncd.site.ninety_seconds_page import TITLE as NINETY_SECONDS
from ncd.site.page_tables import colour, inert, row, rules
from ncd.site.scripts import script
from ncd.site.wire_values import opening_values
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.ninety_seconds import STEPS
from ncd.systems.training.trained_weights import WeightSource, shipped_weights

TITLE = "Neural circuits"
LEAD = (
    "Deep learning systems drawn as circuits: every wire is an axis of an array, every shape is an "
    "operation. Move a size, and shapes, cost and source follow."
)
YOUR_OWN = (
    "Your own PyTorch? What comes out of it, or what fails and its cure, is told on your machine: "
    "<code>pip install 'neural-circuit-explorer[run]'</code>, and then <code>ncd ask net.py</code>."
)
LEGEND_LEAD = (
    "A circuit is read from left to right, as the numbers go. Wires are the axes of arrays, and "
    "what stands in them is done to the arrays. Here is every sign, with the line of PyTorch or "
    "einops that does the same, and pages on which to see it."
)
STATES = 12  # drawings in a page with different blocks collapsed, for each width
PHONE = 360.0  # its width in pixels
WIDTHS = ((WIDTH, LETTERS), (PHONE, LETTERS // 20))
NEXT_PAGE = "multi-head-attention"  # after the 90 seconds
MAX_PAGES_PER_SIGN = 3  # pages named with each sign
SITE_CSS = (FOLDER / "site.css").read_text()
SHELL = (FOLDER / "site.html").read_text()
RUNS = FOLDER / "runs"
RUN_LOADER, *RUN_PARTS = (
    f"site/static/runs/run_{name}.js" for name in ("loader", "steps", "wires")
)
LOADER_JS = script(RUN_LOADER, loaded=[PAGE_SCRIPT])
RUN_JS = script(*RUN_PARTS, loaded=[PAGE_SCRIPT, RUN_LOADER])
WORKER_JS = script("site/static/runs/run_worker.js")
RUN_CSS = markup.WALK_CSS + (RUNS / "run_here.css").read_text()
RUNTIME = ("ort.mjs", "ort.wasm.gz", "LICENSE.txt")
# What the page of the 90 seconds may load: its own files, and the pictures and fonts in them.
OWN_FILES = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; "
    "connect-src 'self'; font-src data:; img-src data:"
)
THEME_JS, START_JS = "site/static/theme_button.js", "site/static/start.js"
Facts = Callable[[Entry, Mapping[str, int]], dict[str, Any]]
Report = Callable[[int, int, str], None]


def write_site(
    folder: Path,
    entries: Sequence[Entry],
    facts: Facts,
    report: Report = lambda *_: None,
    weights_of: WeightSource = shipped_weights,
) -> int:
    """Writes the pages of these systems, the gallery, the legend and the 90 seconds.

    ``facts`` gives the origin that each page states, ``weights_of`` the weights with which it runs,
    and ``report`` is told the progress.

    Returns:
        The bytes written.

    Raises:
        OSError: If a file cannot be written.
    """
    drawings, cards, bytes = {}, [], 0
    for number, entry in enumerate(entries):
        report(number, len(entries), entry.title)
        term = entry.build()
        drawings[entry.name] = drawing = draw(term, **entry.look({}, notes=False))
        own = card(entry, term, drawing)
        own["href"], own["picture"] = f"{entry.name}/", f"pictures/{entry.name}.svg"
        cards.append(own)
        bytes += _write(folder / "pictures" / f"{entry.name}.svg", picture(drawing))
        page, files = entry_page(entry, entries, facts, weights_of)
        for name, content in files.items():
            bytes += _write_file(folder / entry.name / name, content)
        bytes += _write(folder / entry.name / "index.html", page)
    for name in RUNTIME:
        bytes += _write_file(
            folder / "runtime" / name, package_path("assets", "runtime", name).read_bytes()
        )
    bytes += _write(folder / "runtime" / "run_worker.js", WORKER_JS)
    bytes += _write(folder / "runtime" / "run_here.js", RUN_JS)
    bytes += _write(folder / "index.html", gallery(cards))
    bytes += _write(folder / "legend" / "index.html", legend(entries, drawings))
    bytes += _write_ninety_seconds(folder / "ninety-seconds", entries)
    report(len(entries), len(entries), "")
    return bytes


def _write_ninety_seconds(folder: Path, entries: Sequence[Entry]) -> int:
    """Writes the page "Read it in 90 seconds", and a file for each of its pictures."""
    doors = [(f"../{entry.name}/", entry.title) for entry in entries if entry.name == NEXT_PAGE]
    doors += [("../", "All systems"), ("../legend/", "Every sign")]
    frame = "{step}-{size}-{narrow}-{dark}.json"
    addresses = PageAddresses("../", "page.css", "page.js", frame, doors)
    page = ninety_seconds_page(addresses, f"{NINETY_SECONDS} · {TITLE}", OWN_FILES)
    bytes = _write(folder / "index.html", page)
    bytes += _write(folder / "page.css", PAGE_CSS) + _write(folder / "page.js", PAGE_JS)
    for number, step in enumerate(STEPS, 1):
        for size, narrow, dark in product(step.range, (0, 1), (0, 1)):
            name = frame.format(step=number, size=size, narrow=narrow, dark=dark)
            facts = frame_facts(number, size, bool(narrow), bool(dark))
            bytes += _write(folder / name, json.dumps(facts))
    return bytes


def _write(path: Path, text: str) -> int:
    return _write_file(path, text.encode())


def _write_file(path: Path, bytes: bytes) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_bytes(bytes)


def picture(drawing: Drawing) -> str:
    """Returns a drawing as an SVG file that follows the colours of the page around it."""
    names = (*style.COLOURS, *style.QUIET)
    colours = ";".join(
        f"--{name}:light-dark({style.paint_colour(name)},{style.paint_colour(name, dark=True)})"
        for name in names
    )
    text = inert(write(drawing, fonts=True, paint=lambda name: f"var(--{name})"))
    head, end, rest = text.partition(">")
    return f"{head}{end}<style>:root{{color-scheme:light dark;{colours}}}</style>{rest}"


def entry_page(
    entry: Entry, entries: Sequence[Entry], facts: Facts, weights_of: WeightSource = shipped_weights
) -> tuple[str, Mapping[str, bytes]]:
    """Returns the page of a system, with links to the ones before and after it, and its files."""
    at = [one.name for one in entries].index(entry.name)
    before = entries[at - 1] if at else None
    after = entries[at + 1] if at + 1 < len(entries) else None
    settings, model = entry.settings({}), entry_model(entry, weights_of)
    known = model.facts or {}
    around = PageParts(
        top=top(before, after),
        lead=f'<div class="prose">{markdown_html(page_texts(entry)["LEAD"], "../")}</div>',
        below=prose_html(entry, {one.name: one for one in entries}),
        css=SITE_CSS + RUN_CSS,
        legend="../legend/",
        states=STATES,
        widths=WIDTHS,
        run=run_section(known["said"][0]) if known else without_model(model.reason),
        walk=walk if known else None,
        task=known or None,
        js=LOADER_JS if known else "",
        scripts=" 'self'" if known else "",
        extra_policy="; worker-src 'self'" if known else "",
    )
    system = of_entry(entry, settings)
    page = document(
        entry.build(),
        title=entry.title,
        about=facts(entry, settings),
        system=system,
        around=around,
        values=opening_values(entry, settings, weights_of),
    )
    return page, model.files


def gallery(cards: Sequence[Card]) -> str:
    """Returns the first page: all systems, searched in the browser."""
    data = json.dumps(cards, ensure_ascii=False).replace("<", "\\u003c")
    body = (
        f'<p class="prose">{LEAD}</p>'
        f'<p class="doors"><a href="ninety-seconds/">New here? {NINETY_SECONDS}</a> · '
        '<a href="legend/">Every sign</a></p>'
        f'<p class="prose">{YOUR_OWN}</p>'
        f'<div class="gallery">{GALLERY_HTML}</div>'
        f'<script type="application/json" id="cards">{data}</script>'
    )
    return _page(TITLE, body, (START_JS,), (), GALLERY_CSS, "./")


def legend(entries: Sequence[Entry], drawings: Mapping[str, Drawing]) -> str:
    """Returns the page of all signs, by group, then the colours."""
    used: dict[str, list[str]] = {}
    for entry in entries:
        for found in legend_entries(drawings[entry.name]):
            link = f'<a href="../{entry.name}/">{markup.text(entry.title)}</a>'
            used.setdefault(found.sign.name, []).append(link)
    more = {
        name: f'<p class="used">{", ".join(own[:MAX_PAGES_PER_SIGN])}</p>'
        for name, own in used.items()
    }
    groups = "".join(
        f"<h2>{name}</h2><ul class='signs'>"
        + "".join(row(sign, None, {"id": sign.name}, more.get(sign.name, "")) for sign in group)
        + "</ul>"
        for name, group in GROUPS.items()
    )
    colours = "".join(f"<li>{colour(role, None)}</li>" for role in COLOURS)
    body = (
        f'{rules(SIGNS.values(), None)}<p class="prose">{LEGEND_LEAD}</p>{groups}'
        f"<h2>Colours</h2><ul class='signs'>{colours}</ul>"
    )
    signs = [sign.picture(False) for sign in SIGNS.values()]
    return _page("Legend", body, (), signs, "", "../")


def _page(
    title: str,
    body: str,
    scripts: Sequence[str],
    drawings: Sequence[Drawing],
    more: str,
    root: str,
) -> str:
    js = script(THEME_JS, *scripts)
    return SHELL.format(
        policy=f"{policy(js)}; img-src 'self'",
        title=title if title == TITLE else f"{title} · {TITLE}",
        heading=title,
        css=css(drawings) + SITE_CSS + more,
        root=root,
        body=body,
        js=js,
    )


def selected_entries(names: Sequence[str]) -> list[Entry]:
    """Returns the systems of these names, or all, in the order of the catalogue."""
    wanted = {CATALOGUE[name].name for name in names}
    return [entry for entry in CATALOGUE.values() if not wanted or entry.name in wanted]
