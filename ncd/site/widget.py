"""The widget of a system: its diagram, its sizes, the values of the array that is selected."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anywidget
import traitlets
from torch import Tensor, nn

from ncd.circuit.circuit import array_names
from ncd.circuit.elaborate import elaborate
from ncd.circuit.knob import Knob
from ncd.circuit.sized_system import parametric_term
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.fonts import all_faces_css
from ncd.drawing.elements.primitives import Thumbnail
from ncd.drawing.fit import matching_block_ids
from ncd.drawing.pipeline import CollapseOption, draw
from ncd.drawing.plan.collapse import blocks
from ncd.errors import NCDError, ParseError, short_repr, unknown_name_error
from ncd.explain.thumbnails import thumbnails
from ncd.language.arguments import Labels, Palette, check_seed, check_text
from ncd.language.number_formats import Formats
from ncd.language.terms import Term
from ncd.read.torch_module.from_torch import from_torch
from ncd.run.guard import compile
from ncd.run.module import CircuitModule, Trace, trace, with_rounding
from ncd.run.seeding import example_inputs
from ncd.site.live_texts import size_data
from ncd.site.markup import DIAGRAM_CSS, MAP_COLOURS, PANEL_CSS, SIZES_CSS, THEME_CSS
from ncd.site.scripts import script
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry

STATIC_FOLDER = Path(__file__).parent / "static"
WIDGET_NAME = "Explorer"
MAX_TABLE_SIDE = 64  # rows and columns of an array that are shown
_ESM = (
    f"const FONTS = {json.dumps(all_faces_css())};\n"
    f"const MAP_COLOURS = {json.dumps(MAP_COLOURS)};\n"
)


def explore(
    system: str | Term | nn.Module,
    *inputs: Tensor,
    seed: int = 0,
    labels: Labels = "both",
    folded: CollapseOption = "auto",
    width: float | str | None = 1280.0,
    notes: Mapping[str, str] = MappingProxyType({}),
    bands: bool = False,
    cells: bool = False,
    dark: bool | None = None,
    palette: Palette = "quiet",
    mark: str = "",
    formats: Formats | None = None,
    thumbnails: Mapping[str, Thumbnail] = MappingProxyType({}),
    title: str = "",
    **sizes: int,
) -> Explorer:
    """Returns a widget of a system: the last line of a notebook's cell shows it.

    Sizes are moved or typed in it, or set as ``widget.sizes``. A click on an array, an op or a
    block selects it (``widget.selected``), highlights it, and shows the values of the array.
    With ``widget.wire_values = True``, or a press on *values on the wires*, every array shows its
    values in the diagram.

    Args:
        system: A name of the catalogue, a term, or a torch module.
        inputs: The inputs of a torch module.
        seed: The seed of weights and inputs.
        labels: This and all that follow but ``sizes`` are those of :func:`draw`.
        folded: The blocks that are one box at first.
        width: The width in pixels for which it is drawn.
        notes: Callouts.
        bands: Grounds of columns.
        cells: Grids of cells.
        dark: By default as the page of the notebook is.
        palette: The fills.
        mark: An op that is marked as failing.
        formats: Number formats, in which values are calculated, too.
        thumbnails: Pictures on the wires at the first sizes; ``wire_values`` makes them anew.
        title: The name of the system; by default that of the catalogue, or the module's class.
        sizes: The first sizes of a system or a term.

    Returns:
        An anywidget, tested in JupyterLab and marimo.

    Raises:
        UnknownNameError: For a name that is not in the catalogue, or a size that it has not.
        NCDError: For sizes that do not fit, or a module that cannot be read.

    Source: anywidget, one protocol for all notebooks; https://anywidget.dev.

    >>> import ncd
    >>> widget = ncd.explore("multi-head-attention", h=2)
    >>> widget.sizes["h"], widget.selected
    (2, '')
    >>> widget.sizes = widget.sizes | {"h": 8}              # draws it anew
    >>> noted = ncd.explore("multi-head-attention", notes={"Copy": "keys and values"}, palette="bw")
    """
    look: dict[str, Any] = {"labels": labels, "folded": folded, "width": width, "notes": notes}
    look |= {"bands": bands, "cells": cells, "dark": dark, "palette": palette, "mark": mark}
    look |= {"formats": formats, "thumbnails": thumbnails}
    module: CircuitModule | None = None
    if isinstance(system, str):
        entry = CATALOGUE[system]
        own = title or entry.title
        return Explorer(own, _sliders(entry), entry.build, seed, sizes, look=look)
    if isinstance(system, nn.Module):
        found = from_torch(system, *inputs)
        title = title or type(system).__name__
        term, module = found.term, with_rounding(found.module(), formats or Formats())
    elif isinstance(system, Term):
        term = system
    else:
        cure = 'ncd.explore("multi-head-attention")'
        raise ParseError(
            f"{short_repr(system)} is no name, term or module", where="explore", cure=cure
        )
    sized = parametric_term(term, elaborate(term))
    sliders = [_slider(name, size) for name, size in sized.settings.items()]
    return Explorer(title, sliders, lambda **given: sized.build(given), seed, sizes, module, look)


def _sliders(entry: Entry) -> list[dict[str, Any]]:
    return [{**size_data(knob), "value": knob.default} for knob in entry.knobs]


def _slider(name: str, size: int) -> dict[str, Any]:
    return {**size_data(Knob(name, 1, max(16, 4 * size), size)), "value": size}


def _check_arguments(
    title: object, sliders: Any, build: object, seed: object, sizes: Any, module: object
) -> dict[str, int]:
    """Returns the first value of each size; raises ParseError for an argument of another kind."""
    check_text(title, "title", WIDGET_NAME)
    check_seed(seed, WIDGET_NAME)
    own = ("name", str), *((name, int) for name in ("min", "max", "step", "value"))
    listed = isinstance(sliders, Sequence) and not isinstance(sliders, str | bytes)
    for slider in sliders if listed else (None,):
        if not isinstance(slider, Mapping) or not all(isinstance(slider.get(n), t) for n, t in own):
            fact = (
                f"sliders is {short_repr(sliders)}, but it is dicts with a name and whole numbers"
            )
            cure = '[{"name": "h", "min": 1, "max": 16, "step": 1, "value": 4}]'
            raise ParseError(fact, where=WIDGET_NAME, cure=cure)
    if not callable(build):
        fact = f"build is {short_repr(build)}, but it is a function from sizes to a term"
        raise ParseError(fact, where=WIDGET_NAME, cure='ncd.catalogue["tensors"].build')
    if sizes is not None and not isinstance(sizes, Mapping):
        fact = f"sizes is {short_repr(sizes)}, but it is a mapping from names to sizes"
        raise ParseError(fact, where=WIDGET_NAME, cure='sizes={"h": 2}')
    if module is not None and not isinstance(module, CircuitModule):
        fact = f"module is {short_repr(module)}, but it is a compiled module"
        raise ParseError(fact, where=WIDGET_NAME, cure="module=ncd.compile(term)")
    known = {slider["name"]: slider["value"] for slider in sliders}
    for name in sizes or {}:
        if name not in known:
            raise unknown_name_error(
                "size", name if isinstance(name, str) else short_repr(name), known, "explore"
            )
    return known


def _build_term(build: Callable[..., object], sizes: Mapping[str, int]) -> Term:
    """Returns the term at some sizes; raises ParseError if the function gives none."""
    try:
        term = build(**sizes)
    except TypeError as error:
        fact = f"build takes other arguments than {', '.join(sizes) or 'none'}"
        raise ParseError(fact, where=WIDGET_NAME, cure="lambda **sizes: …") from error
    if not isinstance(term, Term):
        fact = f"build gives {short_repr(term)}, which is not a term"
        raise ParseError(fact, where=WIDGET_NAME, cure='ncd.catalogue["tensors"].build')
    return term


class Explorer(anywidget.AnyWidget):
    """The widget that :func:`explore` returns; its traits are shared with the browser.

    Args:
        title: The title over the diagram.
        sliders: The name, limits, step and first value of each size.
        build: The function from sizes to the term.
        seed: The seed of weights and inputs.
        sizes: The first sizes, where they differ.
        module: The module whose weights are used at the first sizes.
        look: Options of :func:`draw`; ``dark`` None is as the page of the notebook is.

    Raises:
        UnknownNameError: For a size that the system has not.
        ParseError: For an argument of another kind.

    Source: after the page of a system in the app.

    >>> from ncd.ops import Softmax
    >>> widget: Explorer = explore(Softmax("x:3"))
    >>> widget.selected = "v1"
    >>> widget.value["title"], len(widget.value["rows"][0])
    ('weights: x 3', 3)
    """

    _esm = _ESM + script("site/static/widget.js")
    _css = THEME_CSS.replace(":root", ".ncd-explore") + PANEL_CSS + DIAGRAM_CSS + SIZES_CSS
    _css += (STATIC_FOLDER / "widget.css").read_text()
    title = traitlets.Unicode().tag(sync=True)
    sliders: traitlets.List[Any] = traitlets.List().tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)
    axes: traitlets.List[str] = traitlets.List().tag(sync=True)
    folded = traitlets.Any("auto").tag(sync=True)
    dark = traitlets.Bool(False).tag(sync=True)
    follows_page = traitlets.Bool(True).tag(sync=True)  # is dark where the page is
    drawing = traitlets.Dict().tag(sync=True)
    value = traitlets.Dict().tag(sync=True)
    told = traitlets.Unicode().tag(sync=True)
    wire_values = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        title: str,
        sliders: Sequence[Mapping[str, Any]],
        build: Any,
        seed: int = 0,
        sizes: Mapping[str, int] | None = None,
        module: CircuitModule | None = None,
        look: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        known = _check_arguments(title, sliders, build, seed, sizes, module)
        self._build, self._seed, self._usual, self._module = build, seed, known, module
        self._last_run: tuple[CircuitModule, Trace] | None = None
        first = known | dict(sizes or {})
        self._term: Term = _build_term(build, first)
        self._look = {"labels": "both", **look}
        dark = self._look.pop("dark", None)
        folded = self._look.pop("folded", "auto")
        if isinstance(folded, Collection) and not isinstance(folded, str):
            folded = list(folded)  # as JSON has it
        self._pictured = first, self._look.pop("thumbnails", {})
        theme = {"follows_page": dark is None, "dark": False if dark is None else dark}
        super().__init__(title=title, sliders=list(sliders), sizes=first, folded=folded, **theme)
        self._draw()
        self.observe(self._resize, "sizes")
        self.observe(lambda change: self._draw(), ["folded", "dark", "wire_values"])
        self.observe(lambda change: self._show(), "selected")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {size}" for name, size in self.sizes.items())
        return f"<Explorer{f' of {self.title}' if self.title else ''}: {sizes}>"

    @property
    def term(self) -> Term:
        """The term at the sizes that are shown."""
        return self._term

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Returns the widget, and for a page without a kernel the picture with its description."""
        shown = super()._repr_mimebundle_(**kwargs)
        if shown is None:
            return None
        picture = self._draw_with(self._first_pictures())._repr_mimebundle_()
        return {**shown[0], **{kind: picture[kind] for kind in ("text/html", "text/plain")}}, shown[
            1
        ]

    def _resize(self, change: Any) -> None:
        """Draws the term at new sizes; where they do not fit, the error is shown instead."""
        try:
            self._term = self._build(**self.sizes)
            self._last_run = None
            self._draw()
            self._show()
        except (NCDError, TypeError) as error:
            self.told = str(error)

    def _draw(self) -> None:
        self.told = ""
        drawing = self._draw_with(self._pictures())
        boxes = {glyph.node for glyph in drawing.glyphs if glyph.node[0] in "fs"}
        circuit = elaborate(self._term)
        shut = boxes if self.folded == "auto" else matching_block_ids(circuit, self.folded)
        known = {block.id for block in blocks(circuit)}
        seen = boxes | {fence.id for fence in drawing.fences if fence.id in known}
        self.drawing = {
            "svg": drawing.svg(fonts=False),
            "folds": {id: sorted(shut ^ {id}) for id in sorted(seen)},
            "words": drawing.description,
        }

    def _draw_with(self, pictures: Mapping[str, Thumbnail]) -> Drawing:
        """Returns the drawing with these pictures, beside which sizes would have no room."""
        labels = self._look["labels"]
        look = self._look | {"labels": "names" if pictures and labels == "both" else labels}
        own = {"dark": self.dark, "folded": self.folded, "title": self.title}
        return draw(self._term, thumbnails=pictures, **look, **own)

    def _first_pictures(self) -> Mapping[str, Thumbnail]:
        """Returns the pictures that were given, which are of the first sizes."""
        first, pictures = self._pictured
        return pictures if self.sizes == first else {}

    def _pictures(self) -> Mapping[str, Thumbnail]:
        """Returns the values for the wires; none where the sizes are too large to run."""
        if not self.wire_values:
            return self._first_pictures()
        try:
            return thumbnails(*self._run(), dark=self.dark)
        except NCDError as error:
            self.told = str(error)
            return {}

    def _show(self) -> None:
        """Sends the values of the array that is selected, or of the op's first output."""
        circuit = elaborate(self._term)
        made = {cell.id: cell.outputs[0].id for cell in circuit.cells if cell.outputs}
        id = made.get(self.selected, self.selected)
        if id not in circuit.values:
            self.value = {}
            return
        try:
            found = self._run()[1].values.get(id)
        except NCDError as error:
            self.told = str(error)
            found = None
        if found is None:  # inside a block of many layers
            self.value = {}
            return
        array = circuit.values[id].array
        axes = " ".join(axis.sized_words for axis in array) or "a number"
        name = array_names(circuit).get(id, "")
        self.value = {"title": f"{name}: {axes}" if name else axes, **_rows(found)}

    def _run(self) -> tuple[CircuitModule, Trace]:
        """Returns the module and its run at the sizes that are shown; there is one for each."""
        if self._last_run is None:
            own = self._module if self.sizes == self._usual else None
            module = own or compile(self._term, self._seed, formats=self._look.get("formats"))
            self._last_run = module, trace(module, *example_inputs(self._term, self._seed))
        return self._last_run


def _rows(found: Tensor) -> dict[str, Any]:
    """Returns the last two dimensions of an array as rows of numbers, cut where they are long."""
    rows = found.detach().float()
    shape = tuple(rows.shape)
    while rows.dim() > 2:
        rows = rows[0]
    rows = rows.reshape(-1, rows.shape[-1] if rows.dim() else 1)
    cut = max(rows.shape) > MAX_TABLE_SIDE
    first = "the first of the leading positions; " if len(shape) > 2 else ""
    said = (
        f"{first}{'the first ' + str(MAX_TABLE_SIDE) + ' rows and columns' if cut else ''}".strip(
            "; "
        )
    )
    return {"rows": rows[:MAX_TABLE_SIDE, :MAX_TABLE_SIDE].tolist(), "said": said}
