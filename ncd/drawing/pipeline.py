"""From a term, or one block of it, to its drawing, through all stages."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Literal, get_args

from ncd.circuit.circuit import Cell, Circuit, Fence, Loop, Unit, array_names, cast_formats
from ncd.circuit.elaborate import elaborate
from ncd.drawing.alt_text import describe
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.callouts import with_callouts
from ncd.drawing.cell_grids import with_broadcast_bands, with_cell_grids
from ncd.drawing.elements import style
from ncd.drawing.elements.plan_columns import Plan
from ncd.drawing.elements.primitives import Thumbnail, fast_replace
from ncd.drawing.equation import draw_equation, sides
from ncd.drawing.fit import (
    BlockExpander,
    FittedPlan,
    PageLimits,
    Plans,
    drawing_units,
    fit_width,
    matching_block_ids,
    rows_of,
)
from ncd.drawing.layout_cache import cached_drawing
from ncd.drawing.placement.layout import lay, stitch_rows
from ncd.drawing.placement.thumbnail_places import thumbnail_places
from ncd.drawing.plan.build_plan import first_bodies, plan
from ncd.drawing.plan.collapse import CollapsedBox, MemoryNote, collapsed, original
from ncd.drawing.plan.repeated_layers import fold_repetitions
from ncd.errors import ParseError, SizeError, UnknownNameError
from ncd.errors import short_repr as quoted
from ncd.language.arguments import (
    Labels,
    Palette,
    check_choice,
    check_flag,
    check_formats,
    check_names,
    check_term,
    check_text,
    check_texts,
    positive,
)
from ncd.language.blocks import Equation
from ncd.language.number_formats import Formats
from ncd.language.terms import Term

# --- The way from a term to its drawing: collapse, plan, row breaks, placement, overlays

CollapseOption = Literal["auto"] | Collection[str]
CollapsedSet = Literal["auto"] | frozenset[str]
Hiding = CollapsedBox | MemoryNote  # ops that replace others
TRIES = 5  # layouts at most, as sizes are first only estimated
SLACK = 1.1  # the share of its room that a drawing may take once two tries have taken more
SMALL_CIRCUIT_OPS = 12  # ops that mostly fit without collapsing


@dataclass(frozen=True)
class Options:
    """The options of a drawing; see :func:`draw`."""

    labels: Labels
    collapsed: CollapsedSet
    width: float | None
    notes: tuple[tuple[str, str], ...]
    bands: bool
    cells: bool
    dark: bool
    mark: str
    casts: tuple[tuple[str, str], ...]  # short names of formats, by the ids of arrays
    thumbnails: tuple[tuple[str, Thumbnail], ...] = ()  # their sizes alone, by the ids of arrays


def draw(
    term: Term,
    labels: Labels = "names",
    *,
    folded: CollapseOption = "auto",
    width: float | str | None = 1280.0,
    notes: Mapping[str, str] = MappingProxyType({}),
    bands: bool = False,
    cells: bool = False,
    dark: bool = False,
    palette: Palette = "quiet",
    mark: str = "",
    formats: Formats | None = None,
    thumbnails: Mapping[str, Thumbnail] = MappingProxyType({}),
    title: str = "",
) -> Drawing:
    """Draws the neural circuit diagram of a term.

    Args:
        term: The system. Axes without a size are drawn with their names.
        labels: The texts on the wires: "names", "sizes" or "both".
        folded: Ids or titles of blocks to collapse to one box. "auto" collapses blocks of the role
            "folded", and others until the text is readable at ``width``.
        width: Pixels at which the drawing will be shown. Longer diagrams break into rows, and equal
            layers are drawn once. None draws one row of everything. A width in TeX units, such as
            "12cm", is one on paper: the drawing takes at most so much, in TikZ, PDF and SVG, and
            its labels are 8 points high; smaller only if it fits no other way.
        notes: Callouts by what they point at: an op's name, a block's title, or an id.
        bands: Whether columns of data and columns of operations have grounds of two colours.
        cells: Whether arrays are also drawn as grids of cells beside their wires.
        dark: Whether the colours are for a dark page.
        palette: The fills: "quiet", "paper" for those of the published figures, with shadows, or
            "bw" for greys.
        mark: The id of an op to mark as failing.
        formats: Number formats; an array that is cast to another one has its name on its wire.
        thumbnails: Small pictures of the values of arrays by the arrays' ids, as of
            :func:`thumbnails`. An array has room for its own between its wires or below them.
        title: The name of the system, which files carry; by default that of the outermost block.

    Returns:
        A :class:`Drawing`, in drawing units of one pixel, y downwards.

    Raises:
        SizeError: If ``width`` is not positive, or no width in TeX units.
        UnknownNameError: If ``folded`` or ``notes`` names a part that the term does not have.
        ParseError: For an argument of another kind.

    Source: V. Abbott, *Neural Circuit Diagrams* (2024); placement after Gansner et al. 1993,
    *A Technique for Drawing Directed Graphs*.

    >>> from ncd import Id
    >>> draw(Id("y:2 m:3")).svg(fonts=False)[:4]
    '<svg'
    """
    check_term(term, "draw")
    check_choice(labels, "labels", "draw", get_args(Labels))
    check_texts(notes, "notes", "draw")
    check_choice(palette, "palette", "draw", get_args(Palette))
    for name, value in (("mark", mark), ("title", title)):
        check_text(value, name, "draw")
    for name, flag in (("bands", bands), ("cells", cells), ("dark", dark)):
        check_flag(flag, name, "draw")
    check_formats(formats, "draw")
    _check_thumbnails(thumbnails)
    if isinstance(width, str):
        look: dict[str, Any] = {"folded": folded, "notes": notes, "bands": bands, "cells": cells}
        look |= {"dark": dark, "palette": palette, "mark": mark, "formats": formats}
        look["thumbnails"] = thumbnails
        again = partial(draw, term, labels, title=title, **look)
        return fit_width(lambda room: again(width=room), drawing_units(width))
    if width is not None and not positive(width):
        raise SizeError(f"nothing is {quoted(width)} pixels wide", cure="width 1280", where="draw")
    if folded != "auto":
        check_names(folded, "folded", "draw", '"auto" or several ids and titles', "f1")
    circuit = elaborate(term)
    shut: CollapsedSet = "auto" if folded == "auto" else frozenset(folded)
    more = tuple(notes.items())
    to = tuple(cast_formats(circuit, formats or Formats()).items())
    empty = tuple((id, Thumbnail(own.width, own.height)) for id, own in thumbnails.items())
    options = Options(labels, shut, width, more, bands, cells, dark, mark, to, empty)
    sized = labels != "names" or cells
    drawing = cached_drawing(circuit, options, sized, lambda: _complete_drawing(circuit, options))
    drawn = tuple(replace(own, thumbnail=thumbnails[own.array]) for own in drawing.thumbnails)
    return fast_replace(drawing, title=title or drawing.title, thumbnails=drawn, palette=palette)


def _check_thumbnails(value: object) -> None:
    """Raises ParseError for anything but a mapping from ids of arrays to thumbnails."""
    if not isinstance(value, Mapping) or {type(each) for each in value.values()} - {Thumbnail}:
        fact = f"thumbnails is {quoted(value)}, but it is a mapping from ids to thumbnails"
        raise ParseError(fact, where="draw", cure="ncd.thumbnails(module, ncd.trace(module, x))")
    for id in value:
        check_text(id, "a key of thumbnails", "draw")


def drawn_cells(circuit: Circuit) -> tuple[Cell, ...]:
    """Returns the cells that a drawing shows, visible or inside a collapsed block.

    Later bodies of a repetition, and all but the first of a stack of equal layers, are left out.

    >>> from ncd import Repeat
    >>> from ncd.language.wire import Wire
    >>> circuit = elaborate(Repeat((Wire("a:2 -> a"),) * 3))
    >>> len(circuit.cells), len(drawn_cells(circuit))
    (3, 1)
    """
    return tuple(cell for part in sides(circuit) for cell in first_bodies(fold_repetitions(part)))


def drawn_wires(circuit: Circuit) -> int:
    """Returns how many wires a drawing of everything has, those of each column counted anew.

    >>> from ncd import Id
    >>> from ncd.ops import Softmax
    >>> drawn_wires(elaborate(Id("y:2 m:3") >> Softmax("m")))
    4
    """
    return sum(_wires(fold_repetitions(part)) for part in sides(circuit))


def _wires(circuit: Circuit) -> int:
    loops = [unit.bodies[0] for unit in circuit.units if isinstance(unit, Loop)]
    own = sum(max(1, len(value.array)) for state in circuit.states for value in state)
    return own + sum(map(_wires, loops))


def _complete_drawing(circuit: Circuit, options: Options) -> Drawing:
    parts = sides(circuit)
    drawings = [draw_circuit(part, options) for part in parts]
    if options.cells:
        drawings = [
            with_cell_grids(drawing, part) for drawing, part in zip(drawings, parts, strict=True)
        ]
    elif options.bands:
        drawings = [
            with_broadcast_bands(drawing, part)
            for drawing, part in zip(drawings, parts, strict=True)
        ]
    whole = drawings[0]
    if isinstance(circuit.term, Equation):
        whole = draw_equation(drawings, circuit.term.sign, options.width)
    room = PageLimits(options.width).widest(style.CALLOUT) if options.width else None
    return with_callouts(whole, circuit, dict(options.notes), room) if options.notes else whole


def draw_circuit(circuit: Circuit, options: Options) -> Drawing:
    """Draws a circuit, collapsed and broken into rows."""
    width, auto = options.width, options.collapsed == "auto"
    if width is None:
        shut = () if options.collapsed == "auto" else options.collapsed
        ids = matching_block_ids(circuit, shut)
        return _lay_out([plan(collapsed(circuit, ids))], options)
    down = style.WITH_THUMBNAILS if options.thumbnails else 1.0
    limits = room = PageLimits(width, height_share=down)
    circuit = fold_repetitions(circuit)
    if auto and len(circuit.cells) <= SMALL_CIRCUIT_OPS:  # laid out faster than it is estimated
        drawing = _lay_out([plan(collapsed(circuit, ()))], options)
        if max(room.used_shares(drawing)) <= 1:
            return drawing
    plans = Plans(circuit, options.labels, dict(options.thumbnails))
    laid: dict[tuple[int, ...], Drawing] = {}  # by the plan and its breaks
    tried: list[tuple[tuple[float, float], Drawing]] = []
    for n in range(TRIES):
        planned = _fitted_plan(plans, options, room)
        key = id(planned.plan), *planned.row_breaks
        if key not in laid:
            laid[key] = _lay_out(rows_of(planned.plan, planned.row_breaks), options)
        drawing = laid[key]
        along, down = limits.used_shares(drawing)
        if max(along, down if auto else 0.0) <= (SLACK if n > 1 else 1.0):
            near = [old for (wide, high), old in tried if max(wide, high) <= SLACK]
            return near[0] if near and len(drawing.glyphs) <= style.MAX_BARE_OPS else drawing
        tried.append(((max(along, SLACK), down), drawing))  # first readable, then low
        room = room.tighter(along, down)
    return min(tried, key=itemgetter(0))[1]


def _fitted_plan(plans: Plans, options: Options, room: PageLimits) -> FittedPlan:
    if options.collapsed == "auto":
        return BlockExpander(plans, room).best()
    return plans.fitted_plan(matching_block_ids(plans.circuit, options.collapsed), room)


def _lay_out(rows: list[Plan], options: Options) -> Drawing:
    circuit = rows[0].circuit
    cells, names = circuit.cells, array_names(circuit)
    hidden = {cell.id: cell.op.hidden for cell in cells if isinstance(cell.op, Hiding)}
    mark = next((id for id, own in hidden.items() if options.mark in own), options.mark)
    look = {"bands": options.bands, "dark": options.dark}
    to = dict(options.casts)
    places = thumbnail_places(rows, dict(options.thumbnails))
    laid = [
        lay(row, options.labels, names, mark=mark, casts=to, thumbnails=place, **look)
        for row, place in zip(rows, places, strict=True)
    ]
    title, description = describe(circuit, names)
    whole = replace(stitch_rows(rows, laid), title=title, description=description)
    if any(isinstance(cell.op, MemoryNote) for cell in cells):
        wires = tuple(replace(wire, array=original(wire.array)) for wire in whole.wires)
        labels = tuple(replace(text, array=original(text.array)) for text in whole.labels)
        whole = replace(whole, wires=wires, labels=labels)
    if hidden:
        glyphs = tuple(replace(glyph, cells=hidden.get(glyph.node, ())) for glyph in whole.glyphs)
        whole = replace(whole, glyphs=glyphs)
    return whole


# --- Drawings of one block, with the ids that its arrays and ops have in the whole term


def draw_part(term: Term, id: str, labels: Labels = "names", *, dark: bool = False) -> Drawing:
    """Draws the inside of one block of a term.

    >>> from ncd import Block
    >>> from ncd.ops import Linear, Softmax
    >>> term = Linear("m:2 -> k:3") >> Block(Softmax("k"), "Weights")
    >>> [glyph.node for glyph in draw_part(term, "f0").glyphs]
    ['n1']
    """
    inside = block_circuit(elaborate(term), id)
    options = Options(labels, "auto", 1280.0, (), False, False, dark, "", ())
    return cached_drawing(inside, options, labels != "names", lambda: draw_circuit(inside, options))


def block_circuit(circuit: Circuit, id: str) -> Circuit:
    """Returns the inside of a block as a circuit; of a repetition or a stack, the first body.

    Raises UnknownNameError if neither the circuit nor its drawing has such a block.

    >>> from ncd import Block
    >>> from ncd.ops import Linear, Softmax
    >>> whole = elaborate(Linear("m:2 -> k:3") >> Block(Softmax("k"), "Weights"))
    >>> inside = block_circuit(whole, "f0")
    >>> [cell.id for cell in inside.cells], [value.id for value in inside.inputs]
    (['n1'], ['v1'])
    """
    parts = sides(circuit)
    for whole in (*parts, *map(fold_repetitions, parts)):
        if (found := _part_circuit(whole, id)) is not None:
            return found
    raise UnknownNameError(f"there is no block {id!r}", cure="an id such as f0")


def _part_circuit(circuit: Circuit, id: str) -> Circuit | None:
    for loop in circuit.loops:
        if loop.id == id:
            return loop.bodies[0]
    for inner in (circuit, *(body for loop in circuit.loops for body in loop.bodies)):
        for fence in inner.own_fences:
            if fence.id == id:
                return _cut(inner, fence)
    return None


def _cut(circuit: Circuit, fence: Fence) -> Circuit:
    """Returns the columns of a circuit that lie inside one of its fences."""
    steps = tuple(
        tuple(_without_outer_fences(unit, fence.id) for unit in step if fence.id in unit.fences)
        for step in circuit.columns[fence.first_state : fence.last_state]
    )
    known = {fence.id}
    inner: list[Fence] = []
    for other in circuit.own_fences:  # the outer before the inner
        if other.parent in known:
            known.add(other.id)
            parent = "" if other.parent == fence.id else other.parent
            inner.append(
                replace(other, first_state=other.first_state - fence.first_state, parent=parent)
            )
    return Circuit(fence.term or circuit.term, fence.states, steps, tuple(inner))


def _without_outer_fences(unit: Unit, id: str) -> Unit:
    """Returns a unit without the fences around the part."""
    return replace(unit, fences=unit.fences[unit.fences.index(id) + 1 :])
