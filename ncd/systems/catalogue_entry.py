"""A system's name, knobs, presets and term; the sources of today's blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ncd.circuit.knob import Knob
from ncd.errors import SizeError, UnknownNameError, short_repr, unknown_name_error
from ncd.language.axes import Signature
from ncd.language.blocks import check_stated
from ncd.language.terms import Term
from ncd.systems.search_topics import TOPICS
from ncd.words import table_text

# --- Catalogue entries: a system's name, its knobs, and the function from knobs to its term


@dataclass(frozen=True)
class Preset:
    """The sizes of a published model, with its title and source."""

    name: str
    knobs: Mapping[str, int] = field(hash=False)
    source: str
    title: str = ""


@dataclass(frozen=True)
class Entry:
    """A system of the catalogue.

    Args:
        name: Its name, as in addresses and commands.
        title: Its title.
        source: The paper, figure or document it comes from.
        knobs: Its settings.
        system: The function from knobs to its term.
        section: Its section of the menu.
        type: The type of its term at any knobs, if it states one.
        presets: Settings of published models.
        notes: Callouts of its figure, or a function from knobs to them.
        bands: Whether its figure has column bands.
        cells: Whether its figure has grids of cells.
        width: The width at which its figure is drawn, in pixels.
        height: The share of the window's height that a page keeps for its figure, in percent.
        listing: Whether its figure has the lines of its code beside it.
        text: The text that it was read from, if it is none of the catalogue.
        cached: The names of the ops whose results are kept of every position while a text is
            written, such as keys and values; ``decoder.k`` is every k in a block ``decoder``.
        training: Whether it runs as while it learns; else its batch norms use the statistics that
            they keep.
        renamed_axes: What its axes are called now, by what they were called in older links.

    Raises:
        UnknownNameError: By :meth:`build` and :meth:`preset`, for an unknown knob or preset.
        SizeError: By :meth:`build`, for a value that a knob cannot have.

    Source: each entry's ``source``.

    >>> import ncd
    >>> entry: Entry = ncd.catalogue["multi-head-attention"]
    >>> entry.title, [knob.name for knob in entry.knobs][:2]
    ('Multi-head attention', ['h', 'k'])
    >>> ncd.cost(entry.build(**entry.preset("gpt-2-small").knobs)).parameters
    2359296
    """

    name: str
    title: str
    source: str
    knobs: tuple[Knob, ...]
    system: Callable[..., Term]
    section: str = ""
    type: str = ""
    presets: tuple[Preset, ...] = ()
    notes: Mapping[str, str] | Callable[..., Mapping[str, str]] = field(
        default_factory=dict, hash=False
    )
    bands: bool = False
    cells: bool = False
    width: float = 1280.0
    height: int = 35
    listing: bool = False
    text: str = ""
    cached: tuple[str, ...] = ()
    training: bool = True
    renamed_axes: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        sizes = "".join(f"; {knob.name} {knob.default}" for knob in self.knobs)
        return f"<Entry: {self.name}{sizes}>"

    @property
    def key(self) -> tuple[str, str]:
        """Returns what identifies it in caches."""
        return self.name, self.text

    @property
    def identifier(self) -> str:
        """Its name as a Python identifier: ``residual_block``."""
        return self.name.replace("-", "_")

    def callouts(self, knobs: Mapping[str, int]) -> Mapping[str, str]:
        """Returns the callouts of its figure at these knobs, the others at their defaults."""
        every = {knob.name: knobs.get(knob.name, knob.default) for knob in self.knobs}
        return self.notes(**every) if callable(self.notes) else self.notes

    def look(self, knobs: Mapping[str, int], notes: bool = True) -> dict[str, Any]:
        """Returns drawing options for :func:`ncd.draw`; with callouts if ``notes``.

        They are the caller's own, to be changed.
        """
        own = {"title": self.title, "bands": self.bands, "cells": self.cells, "width": self.width}
        return {"notes": {**self.callouts(knobs)} if notes else {}, **own}

    def build(self, /, **knobs: int) -> Term:
        """Returns the term at these knobs, the others at their defaults.

        Raises:
            UnknownNameError: For a knob that the system lacks.
            SizeError: For a value that a knob cannot have.
            MismatchError: If the term's type is not the one that the entry states.
        """
        settings = self.settings(knobs)
        limits = {knob.name: knob.below for knob in self.knobs}
        for name, most in self.with_clamped_indexes(settings).items():
            if settings[name] != most:
                fact = f"{name} is {settings[name]}, but below {limits[name]}: {most} at most here"
                raise SizeError(fact, cure=f"{name} = {most}", axis=name, nearest=most)
        term = self.system(**settings)
        if self.type and f"{term.dom} -> {term.cod}" != self.type:
            check_stated(term, Signature.parse(self.type), self.name)
        return term

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """Returns the diagram of its term, for notebooks, and its name and knobs."""
        shown: dict[str, str] = self.build()._repr_mimebundle_()  # type: ignore[attr-defined]
        sizes = ", ".join(f"{knob.name}={knob.default}" for knob in self.knobs)
        return {**shown, "text/plain": f"{self.title}: ncd.catalogue[{self.name!r}].build({sizes})"}

    def settings(self, knobs: Mapping[str, Any]) -> dict[str, int]:
        """Returns all knobs with checked values."""
        known = {knob.name: knob for knob in self.knobs}
        for name in knobs:
            if name not in known:
                raise unknown_name_error("knob", name, known, where=self.name)
        return {
            name: knob.check(knobs[name]) if name in knobs else knob.default
            for name, knob in known.items()
        }

    def with_clamped_indexes(self, settings: Mapping[str, int]) -> dict[str, int]:
        """Returns the settings with every index inside its axis."""
        last = {k.name: settings[k.below] - 1 for k in self.knobs if k.below}
        return {name: min(n, last.get(name, n)) for name, n in settings.items()}

    def preset(self, name: str) -> Preset:
        """Returns the preset of a name.

        Raises:
            UnknownNameError: If there is none.
        """
        known = {preset.name: preset for preset in self.presets}
        if not isinstance(name, str) or name not in known:
            raise unknown_name_error("preset", name, known, where=self.name)
        return known[name]


class Catalogue(dict[str, Entry]):
    """Entries by name, in the order in which they are shown.

    Args:
        entries: The entries.
    Raises:
        UnknownNameError: For an unknown name, with the most similar known one.

    Source: the documents in each entry's ``source``.

    >>> import ncd
    >>> "multi-head-attention" in ncd.catalogue
    True
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        super().__init__((entry.name, entry) for entry in entries)

    def __repr__(self) -> str:
        """Returns a table: the name, title, and sizes of each system."""
        rows = [
            (entry.name, entry.title, ", ".join(f"{k.name} {k.default}" for k in entry.knobs))
            for entry in self.values()
        ]
        return table_text([("name", "title", "sizes at first"), *rows])

    def __missing__(self, name: str) -> Entry:
        if answers := TOPICS.get(name.lower().replace("-", " ")):
            raise UnknownNameError(f"there is no system {short_repr(name)}", cure=answers[0])
        raise unknown_name_error("system", name, self, otherwise="a name that ncd list prints")

    @property
    def sections(self) -> dict[str, tuple[Entry, ...]]:
        """The entries of each section of the menu, in order."""
        found: dict[str, tuple[Entry, ...]] = {}
        for entry in self.values():
            found[entry.section] = (*found.get(entry.section, ()), entry)
        return found


# --- Sources of today's blocks: sections of papers, and published code at a pinned commit

_ARXIV, _GITHUB = "https://arxiv.org/abs/", "https://github.com/huggingface/transformers/blob/"
_FILES = {  # the commit at which each file was looked at
    "mamba": "1160c0f318703888750d20a6988febf52099df2b",
    "mixtral": "af3efdd71ee5b568dfdb71bb41d316df830147af",
    "deepseek_v2": "03eac6f6d2af7e8562113f0b78d3d2d59a7d843d",
    "llama": "5dd4a63548857797727ae73eeb6a6e886ea02a3e",
    "t5": "6b8b757dfcb582379a64f013cdce46c43629f2b0",
}


@dataclass(frozen=True)
class Reference:
    """The section of a paper, and the class that publishes it in the library ``transformers``.

    Args:
        paper: Authors, year and section.
        arxiv: Its number in arXiv.
        file: The model in whose file the class is; empty for none.
        name: The name of the class or function.
    """

    paper: str
    arxiv: str
    file: str = ""
    name: str = ""

    @property
    def paper_address(self) -> str:
        """Returns the address of the paper."""
        return _ARXIV + self.arxiv

    @property
    def code_address(self) -> str:
        """Returns the address of the file at its commit; empty if there is none.

        >>> REFERENCES["Mamba Block"].code_address.rpartition("/")[2]
        'modeling_mamba.py'
        """
        if not self.file:
            return ""
        path = f"src/transformers/models/{self.file}/modeling_{self.file}.py"
        return f"{_GITHUB}{_FILES[self.file]}/{path}"


_MAMBA = "Gu and Dao 2023, Mamba"
REFERENCES: Mapping[str, Reference] = {
    "Mamba Block": Reference(f"{_MAMBA}, section 3.4", "2312.00752", "mamba", "MambaMixer"),
    "Short Convolution": Reference(f"{_MAMBA}, section 3.4", "2312.00752", "mamba", "MambaMixer"),
    "Selective State Space": Reference(
        f"{_MAMBA}, section 3.2, algorithm 2", "2312.00752", "mamba", "MambaMixer"
    ),
    "Grouped-Query Attention": Reference(
        "Ainslie et al. 2023, GQA, section 2.2", "2305.13245", "llama", "LlamaAttention"
    ),
    "Rotary": Reference(
        "Su et al. 2021, RoFormer, section 3.2", "2104.09864", "llama", "apply_rotary_pos_emb"
    ),
    "Gated Feed-Forward": Reference(
        "Shazeer 2020, GLU Variants, section 2", "2002.05202", "llama", "LlamaMLP"
    ),
    "Mixture of Experts": Reference(
        "Jiang et al. 2024, Mixtral, section 2.1", "2401.04088", "mixtral", "MixtralSparseMoeBlock"
    ),
    "Router": Reference(
        "Jiang et al. 2024, Mixtral, section 2.1", "2401.04088", "mixtral", "MixtralSparseMoeBlock"
    ),
    "Latent Attention": Reference(
        "DeepSeek-AI 2024, DeepSeek-V2, section 2.1",
        "2405.04434",
        "deepseek_v2",
        "DeepseekV2Attention",
    ),
    "Self-Attention with Distances": Reference(
        "Raffel et al. 2020, T5, section 2.1", "1910.10683", "t5", "T5Attention"
    ),
    "Cross-Attention": Reference(
        "Vaswani et al. 2017, section 3.2.3", "1706.03762", "t5", "T5Attention"
    ),
    "Self-Attention": Reference("Vaswani et al. 2017, section 3.2", "1706.03762"),
    "Masked Self-Attention": Reference("Vaswani et al. 2017, section 3.2.3", "1706.03762"),
    "Multi-Head Attention": Reference("Vaswani et al. 2017, section 3.2.2", "1706.03762"),
    "Scaled Dot-Product Attention": Reference("Vaswani et al. 2017, section 3.2.1", "1706.03762"),
    "Feed-Forward": Reference("Vaswani et al. 2017, section 3.3", "1706.03762"),
    "Linear Attention": Reference("Katharopoulos et al. 2020, section 3.4", "2006.16236"),
    "Delta Rule": Reference("Yang et al. 2024, DeltaNet, section 2.2", "2406.06484"),
    "Low Rank": Reference("Hu et al. 2021, LoRA, section 4.1", "2106.09685"),
}
