"""The parts of a page around its diagram, which a site adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ncd.export.collapse_states import LETTERS, STATES, WIDTH
from ncd.lang.circuits.circuit import Circuit


@dataclass(frozen=True)
class Around:
    """HTML of a site around the diagram: above it, its lead, and prose below; ``css`` is its own.

    ``legend`` is the address of the page of all signs, ``states`` the most drawings with different
    blocks collapsed. ``widths`` are those in pixels that the page is drawn for, the first in the
    page itself, each with the most letters of further drawings. ``run`` writes a part whose numbers
    follow the sizes, ``walk`` one that comes into it later; ``task`` and ``js`` are for them,
    ``scripts`` is where the page may load more of them from, and ``allowed`` what the content
    policy allows besides.
    """

    top: str = ""
    lead: str = ""
    below: str = ""
    css: str = ""
    legend: str = ""
    states: int = STATES
    widths: tuple[tuple[float, int], ...] = ((WIDTH, LETTERS),)
    run: Callable[[Circuit], str] | None = None
    walk: Callable[[Circuit], str] | None = None
    task: Mapping[str, Any] | None = None
    js: str = ""
    scripts: str = ""
    allowed: str = ""
