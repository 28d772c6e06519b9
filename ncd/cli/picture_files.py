"""The writers of `render` and `import`: a term as a picture or page that names its origin."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlencode

import ncd
from ncd.extras import needed_by
from ncd.file_facts import LICENCE, onnx_with_facts, png_with_facts, tex_with_facts
from ncd.lang.errors import unknown
from ncd.lang.terms.terms import Term
from ncd.models import Entry
from ncd.serial import svg_with_term

# By file suffix; ``args.facts`` are the facts of the file's origin.
FILES: dict[str, Callable[[Term, argparse.Namespace], bytes]] = {
    ".svg": lambda term, args: svg_with_term(_drawing(term, args).svg(), term, args.facts).encode(),
    ".png": lambda term, args: png_with_facts(_drawing(term, args).png(args.scale), args.facts),
    ".pdf": lambda term, args: _drawing(term, args).pdf(args.facts),
    ".tex": lambda term, args: tex_with_facts(
        _drawing(term, args).tex(not args.picture), args.facts
    ).encode(),
    ".html": lambda term, args: _html(term, args).encode(),
    ".onnx": lambda term, args: _onnx(term, args.facts),
}


LOOK = ("labels", "title", "dark", "notes", "bands", "cells")


def _html(term: Term, args: argparse.Namespace) -> str:
    from ncd.export.page.document import document  # takes a second, and `ncd list` needs none
    from ncd.static_site.runs.entry_sizes import of_entry

    facts = args.facts
    entry = ncd.catalogue.get(facts.get("system", ""))
    system = of_entry(entry, facts["settings"]) if entry else None
    return document(term, args.labels, args.title, facts, system)


def _onnx(term: Term, facts: Mapping[str, Any]) -> bytes:
    with needed_by("ncd render -o FILE.onnx"):
        model = ncd.onnx(term)
    return onnx_with_facts(model.SerializeToString(), facts)


def entry_facts(entry: Entry, settings: Mapping[str, int]) -> dict[str, Any]:
    """Returns the origin of a picture of the catalogue; its link opens the same page of the app."""
    turned = {k.name: settings[k.name] for k in entry.knobs if settings[k.name] != k.default}
    return {
        "system": entry.name,
        "title": entry.title,
        "source": entry.source,
        "settings": dict(settings),
        "seed": 0,  # that of the page; a picture does not depend on it
        "link": f"/{entry.name}{'?' if turned else ''}{urlencode(turned)}",
        **package_facts(),
    }


def package_facts() -> dict[str, Any]:
    """Returns the version and the licence of the package."""
    return {"version": ncd.__version__, "licence": LICENCE}


def _drawing(term: Term, args: argparse.Namespace) -> ncd.Drawing:
    look = {name: getattr(args, name) for name in LOOK}
    return ncd.draw(term, folded=_folded(term, args), width=args.width or None, **look)


def _folded(term: Term, args: argparse.Namespace) -> Sequence[str] | Literal["auto"]:
    """Returns the titles of the blocks to collapse."""
    titles = dict.fromkeys(fence.title for fence in ncd.elaborate(term).fences if fence.title)
    for name in args.folded:
        if name not in titles:
            raise unknown("block", name, titles)
    return args.folded or (() if args.open else "auto")
