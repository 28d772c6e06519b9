"""The arithmetic of one number written out: sums, windows, norms, a row of attention."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ncd.app.parts import heatmap, map_component
from ncd.app.scene.scene import Scene, with_tooltip
from ncd.circuit.circuit import Cell, array_names, input_names
from ncd.explain.attention_row import AttentionRow, MixedValue, RowStage
from ncd.explain.cell_arithmetic import (
    Arithmetic,
    FormulaArithmetic,
    NormArithmetic,
    NumberOrigin,
    Numbers,
    Products,
    ReductionArithmetic,
    Spans,
    exact,
    place,
    place_count,
)
from ncd.explain.colour_scale import ColourRange
from ncd.language.axes import Axis, Dim
from ncd.language.op import Site
from ncd.language.torch_code import (
    Align,
    Arg,
    Call,
    Cast,
    Const,
    Filled,
    Infix,
    Method,
    Position,
    Prefix,
    Size,
    TorchExpr,
)
from ncd.site import markup

# --- A table of the terms of a sum: a column for each large term, and one for the others

MOST_SUMMANDS = 8  # terms shown in full
SIDES = ("", "height", "width")


@dataclass(frozen=True)
class TableRow:
    """A row of the table: its head (HTML), its numbers, the rest and the total.

    ``attributes`` are HTML attributes such as ``data-node="n3"``; ``links`` are what a click on
    each number picks.
    """

    head: str
    numbers: Tensor
    remainder: float | None = None
    total: float | None = None
    attributes: str = ""
    strong: bool = False
    links: Mapping[int, str] = field(default_factory=dict)


def sum_row(head: str, numbers: Tensor, few: Sequence[int], **more: object) -> TableRow:
    """Returns a row whose numbers add up; those not shown are summed in ``rest``."""
    kept = torch.ones(len(numbers), dtype=torch.bool)
    kept[list(few)] = False
    rest = float(numbers[kept].sum()) if bool(kept.any()) else None
    total = more.pop("total", float(numbers.sum()))
    return TableRow(head, numbers, rest, total, **more)  # type: ignore[arg-type]


def largest_summands(
    sizes: Tensor, also: Collection[int] = (), most: int = MOST_SUMMANDS
) -> list[int]:
    """Returns which of many numbers to show: the largest, in order, and those in ``also``.

    >>> largest_summands(torch.tensor([0.1, -9.0, 3.0, 0.2]), also=[0], most=1)
    [0, 1]
    >>> largest_summands(torch.zeros(4))
    [0, 1, 2, 3]
    """
    if len(sizes) <= most + 1:
        return list(range(len(sizes)))
    large = torch.nan_to_num(sizes.abs(), nan=-1.0).topk(most).indices.tolist()
    return sorted({*large, *also})


def sum_html(
    site: Site,
    spans: Spans,
    lines: Sequence[TableRow],
    shown: Sequence[int],
    *,
    columns: Sequence[str] = (),
    end: str = "sum",
    here: int | None = None,
) -> str:
    """Returns the table of the shown terms along some spans, as HTML.

    ``columns`` are the heads (HTML), by default the places of the terms; ``end`` is the head of the
    totals, ``here`` the number of the term in focus.
    """
    more = len(lines[0].numbers) - len(shown)
    columns = columns or places(spans, shown)
    corner = ", ".join(dimension(site.axes_by_name, span.dim) for span in spans)
    heads = [
        f'<th scope="col"{_highlight_attribute(i, here)}>{name}</th>'
        for i, name in zip(shown, columns, strict=True)
    ]
    if more:
        heads.append(f'<th scope="col" class="rest">… {more:,} more</th>')
    if any(line.total is not None for line in lines):
        heads.append(f'<th scope="col" class="total">{end}</th>')
    rows = "".join(_row(line, lines, shown, more, here) for line in lines)
    return (
        f'<div class="scroll"><table class="terms"><thead><tr><th scope="col">{corner}</th>'
        f"{''.join(heads)}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(
    line: TableRow, lines: Sequence[TableRow], shown: Sequence[int], more: int, here: int | None
) -> str:
    cells = [f"<td{_highlight_attribute(i, here)}>{_number(line, i)}</td>" for i in shown]
    if more:
        rest = "" if line.remainder is None else f"together {number_text(line.remainder)}"
        cells.append(f'<td class="rest">{rest}</td>')
    if any(each.total is not None for each in lines):
        total = "" if line.total is None else number_text(line.total)
        cells.append(f'<td class="total">{total}</td>')
    strong = ' class="strong"' if line.strong else ""
    return f'<tr{strong} {line.attributes}><th scope="row">{line.head}</th>{"".join(cells)}</tr>'


def _number(line: TableRow, i: int) -> str:
    number = number_text(float(line.numbers[i]))
    if i not in line.links:
        return number
    return f'<button type="button" data-pick="{line.links[i]}">{number}</button>'


def _highlight_attribute(i: int, here: int | None) -> str:
    return ' class="here"' if i == here else ""


def number_text(number: float) -> str:
    """Returns a number with three significant digits; infinity as its sign, NaN as a dash.

    >>> number_text(-math.inf), number_text(0.12345), number_text(math.nan)
    ('−∞', '0.123', '–')
    """
    if math.isnan(number):
        return "–"
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    return markup.digits(number + 0.0)  # turns -0.0 into 0.0


def dimension(every: Mapping[str, Axis], dim: Dim) -> str:
    """Returns a dimension as HTML: its axis, and its side for a spatial group."""
    axis = every.get(dim.name)
    name = markup.axis(axis) if axis is not None else markup.text(dim.name)
    side = SIDES[dim.side] if dim.side < len(SIDES) else str(dim.side)
    return f"{name} {side}".strip()


def places(spans: Spans, shown: Sequence[int]) -> list[str]:
    """Returns the positions of the shown terms as column heads."""
    return [", ".join(map(str, place(spans, i))) or "here" for i in shown]


# --- The window of a convolution over its picture: the pixels in each channel, and the weights

MOST_CHANNELS = 3  # channels shown as pictures


def window_html(
    values: Mapping[str, Tensor],
    cell: Cell,
    index: tuple[int, ...],
    how: Products | ReductionArithmetic,
) -> str:
    """Returns, for the channels that contribute most, the picture with its window and weights.

    The result is empty if the window does not slide over a two-dimensional picture.
    """
    channels, own = how.spans[:-2], how.spans[-2:]
    if how.window != 2 or not place_count(own):
        return ""
    seen = how.numbers.reshape(-1, *(span.count for span in own))
    each, weights = torch.zeros(len(seen)), None
    if isinstance(how, Products):
        each = how.terms.reshape(len(seen), -1).sum(1)
        weights = how.factors[1].values.reshape(seen.shape)
    parts = [
        '<div class="seen">'
        + _channel(_picture(values, cell, index, channels, i, own), own, seen[i])
        + (_weights_html(weights[i], weights, float(each[i])) if weights is not None else "")
        + f"</div><figcaption>{_channel_title(cell, channels, i)}</figcaption>"
        for i in largest_summands(each, most=MOST_CHANNELS)[: MOST_CHANNELS + 1]
    ]
    figures = "".join(f"<figure>{part}</figure>" for part in parts)
    more = len(each) - len(parts)
    rest = f'<p class="muted">… and {markup.plural(more, "channel")} more</p>' if more else ""
    return f'<div class="windows">{figures}{rest}</div>'


def _channel_title(cell: Cell, channels: Spans, i: int) -> str:
    """Returns the title of a channel."""
    every = cell.site.axes_by_name
    at = zip(channels, place(channels, i), strict=True)
    return ", ".join(f"{dimension(every, span.dim)} = {n}" for span, n in at)


def _picture(
    values: Mapping[str, Tensor],
    cell: Cell,
    index: tuple[int, ...],
    channels: Spans,
    i: int,
    window: Spans,
) -> heatmap.CellGrid:
    """Returns the picture below the window, of one channel."""
    (own,) = cell.site.inputs
    at = {dim.key: n for dim, n in zip(cell.site.outputs[0].dims, index, strict=True)}
    at |= {s.dim.key: n for s, n in zip(channels, place(channels, i), strict=True)}
    sliding = {span.dim.key for span in window}
    cut = tuple(slice(None) if d.key in sliding else at[d.key] for d in own.dims)
    return exact(values[cell.inputs[0].id][cut]).float().numpy()


def _channel(picture: heatmap.CellGrid, window: Spans, seen: Tensor) -> str:
    """Returns a picture with a frame around the window, and an enlarged view of the frame."""
    ends = ColourRange.from_numbers(picture, signed=bool((picture < 0).any()))
    stops = heatmap.scale(ends.low < 0)
    down, across = ((s.start, s.step * (s.count - 1) + 1, s.dim.size) for s in window)
    style = ";".join(
        f"{name}:{100 * part / whole:.2f}%"
        for name, part, whole in (
            ("top", down[0], down[2]),
            ("height", down[1], down[2]),
            ("left", across[0], across[2]),
            ("width", across[1], across[2]),
        )
    )
    small = heatmap.data_url(heatmap.pool(picture, heatmap.SMALL).maps, ends, stops)
    near = heatmap.data_url(seen.float().numpy(), ends, stops)
    ratio = f"aspect-ratio:{across[2]}/{down[2]}"
    return (
        f'<span class="whole" style="{ratio}"><img alt="the channel" src="{small}">'
        f'<i style="{style}"></i></span><img class="near" alt="what the window sees" src="{near}">'
    )


def _weights_html(weights: Tensor, every: Tensor, total: float) -> str:
    """Returns the weights of a channel and their contribution to the sum."""
    ends = ColourRange.from_numbers(every.float().numpy(), signed=True)
    near = heatmap.data_url(weights.float().numpy(), ends, heatmap.scale(signed=True))
    number = number_text(total)
    return f'<b>×</b><img class="near" alt="the weights" src="{near}"><b>→ {number}</b>'


# --- Formulas with numbers in place of arrays, in usual notation

SIGNS = {
    "*": "×",
    "/": "÷",
    "-": "−",
    "**": "^",
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "==": "=",
    "%": "mod",
    "&": "and",
}


def formula_text(how: FormulaArithmetic) -> str:
    """Returns the formula with numbers, as plain text.

    >>> formula_text(FormulaArithmetic(Infix("*", Arg(0), Const(2)), (-0.5,), {}, (), -1.0))
    '−0.5 × 2'
    """
    return _text(how.expr, how, top=True)


def rule(how: FormulaArithmetic) -> str:
    """Returns the formula for any place: a dot for the first number, axis names for positions.

    >>> rule(FormulaArithmetic(Infix("/", Arg(0), Const(4)), (-0.5,), {}, (), -0.125))
    '… ÷ 4'
    """
    return _text(how.expr, replace(how, numbers=(), places={}), top=True)


def _text(expr: TorchExpr, how: FormulaArithmetic, top: bool = False) -> str:
    match expr:
        case Arg(index):
            return number_text(how.numbers[index]) if how.numbers else "…"
        case Const(value):
            return number_text(float(value)) if isinstance(value, int | float) else str(value)
        case Size(axes):
            sizes = [axis.numel for axis in axes]
            return " × ".join(map(str, sizes)) or "1"
        case Position(dim, _):
            return f"{dim.name} {how.places.get(dim.key, '')}".strip()
        case Filled():
            return "0"
        case Align(on, _, _) | Cast(on, _):
            return _text(on, how, top)
        case Prefix(sign, on):
            return f"{'not ' if sign == '~' else '−'}{_text(on, how)}"
        case Infix(sign, left, right):
            return _infix(sign, left, right, how, top)
        case Call(function):
            return _call(function.rpartition(".")[2], expr.args, expr.kwargs, how)
        case Method(on, name):
            return _call(name, (on, *expr.args), expr.kwargs, how)
    return "…"


def _infix(sign: str, left: TorchExpr, right: TorchExpr, how: FormulaArithmetic, top: bool) -> str:
    if isinstance(_without_casts(right), Filled) and sign == "+":  # adding zeros only broadcasts
        return _text(left, how, top)
    if isinstance(_without_casts(left), Filled) and sign == "+":
        return _text(right, how, top)
    second = _text(right, how)
    if second.startswith("−") and sign not in ("<", ">"):
        second = f"({second})"
    text = f"{_text(left, how)} {SIGNS.get(sign, sign)} {second}"
    return text if top else f"({text})"


def _without_casts(expr: TorchExpr) -> TorchExpr:
    return _without_casts(expr.operand) if isinstance(expr, Align | Cast) else expr


def _call(
    name: str,
    args: Sequence[TorchExpr],
    kwargs: Sequence[tuple[str, TorchExpr]],
    how: FormulaArithmetic,
) -> str:
    given = [_text(part, how, top=True) for part in args]
    if name == "where":
        return f"{given[1]} if {given[0]}, else {given[2]}"
    if name == "div":  # rounded down
        return f"⌊{_text(args[0], how)} ÷ {_text(args[1], how)}⌋"
    if name == "sqrt":
        return f"√{_text(args[0], how)}"
    options = {key: _text(part, how, top=True) for key, part in kwargs}
    if name == "clamp":
        text = f"max({given[0]}, {options['min']})" if "min" in options else given[0]
        return f"min({text}, {options['max']})" if "max" in options else text
    name = {"maximum": "max", "minimum": "min"}.get(name, name)
    return f"{name}({', '.join([*given, *(f'{key} = {text}' for key, text in options.items())])})"


# --- Kinds of arithmetic as HTML: sums of products, norms, maxima, formulas

Place = tuple[int, ...]


def op_html(cell: Cell) -> str:
    return f'<span data-node="{cell.id}">{markup.text(cell.op.display_name)}</span>'


def array_html(scene: Scene, id: str) -> str:
    """Returns an array's name, or its axes, as a button that selects it."""
    name = array_names(scene.circuit).get(id) or input_names(scene.circuit).get(id, "")
    shown = markup.text(name) if name else markup.array(scene.circuit.values[id].array)
    return f'<span data-array="{id}" data-select="{id}" role="button" tabindex="0">{shown}</span>'


def op_arithmetic_html(scene: Scene, found: NumberOrigin, cell: Cell, how: Arithmetic) -> str:
    """Returns how an op made a number; a window is shown over its picture."""
    if isinstance(how, Products):
        pictures = window_html(scene.trace.values, cell, found.index, how)
        return pictures + products(scene, cell, how, found.index)
    if isinstance(how, ReductionArithmetic):
        return window_html(scene.trace.values, cell, found.index, how) + _reduction_html(cell, how)
    if isinstance(how, NormArithmetic):
        return _norm_html(cell, how)
    assert isinstance(how, FormulaArithmetic)
    return (
        f'<p class="spelled">{markup.text(formula_text(how))} = <b>{number_text(how.value)}</b></p>'
        f"{_operands(scene, cell, how)}"
    )


def _operands(scene: Scene, cell: Cell, how: FormulaArithmetic) -> str:
    """Returns the numbers of a formula, each linked to its own arithmetic."""
    parts = [
        f"{array_html(scene, value.id)} "
        f'<button type="button" class="link" data-pick="{pick}">{number_text(number)}</button>'
        for n, (value, number) in enumerate(zip(cell.inputs, how.numbers, strict=True))
        if (pick := _behind(cell, n, how.places))
    ]
    return f"<p>{', '.join(parts)}</p>" if parts else ""


def products(scene: Scene, cell: Cell, how: Products, index: Place | None = None) -> str:
    """Returns a sum of products, factor by factor; given ``index``, each factor is a link."""
    products = how.terms
    shown = largest_summands(products)
    several = len(how.factors) > 1
    lines = [
        TableRow(
            factor_name(scene, cell, factor),
            factor.values,
            links=_sources(cell, how, factor, shown, index),
        )
        for factor in how.factors
        if several
    ]
    name = "product" if several else factor_name(scene, cell, how.factors[0])
    lines.append(sum_row(name, products, shown, total=how.value, strong=True))
    end = "sum" if how.bias is None else f"sum + bias {number_text(how.bias)}"
    return sum_html(cell.site, how.spans, lines, shown, end=end)


def _sources(
    cell: Cell,
    how: Products,
    factor: Numbers,
    shown: Sequence[int],
    index: Place | None,
) -> dict[int, str]:
    """Returns the link of each shown number of a factor, by its number in the sum."""
    if index is None or not isinstance(factor.source, int):
        return {}
    source = factor.source
    out = {dim.key: i for dim, i in zip(cell.site.outputs[0].dims, index, strict=True)}
    found = {}
    for i in shown:
        at = out | dict(zip((s.dim.key for s in how.spans), place(how.spans, i), strict=True))
        found[i] = _behind(cell, source, at)
    return {i: pick for i, pick in found.items() if pick}


def _behind(cell: Cell, source: int, at: Mapping[tuple[str, int], int]) -> str:
    """Returns the link to a number of an op's input, or an empty text if it has no such place."""
    dims = cell.site.inputs[source].dims
    if not all(0 <= at.get(dim.key, -1) < dim.size for dim in dims):
        return ""
    place = ".".join(str(at[dim.key]) for dim in dims)
    return f"{map_component.BEHIND}={cell.inputs[source].id}.{place}"


def factor_name(scene: Scene, cell: Cell, factor: Numbers) -> str:
    """Returns the name of a factor: an array, or a parameter of the layer."""
    if isinstance(factor.source, int):
        return array_html(scene, cell.inputs[factor.source].id)
    return f"{factor.source} {markup.text(cell.name)}"


def _reduction_html(cell: Cell, how: ReductionArithmetic) -> str:
    """Returns a maximum or a mean, with the numbers it is of."""
    adds = how.reduction in ("sum", "mean")
    picks = how.reduction in ("max", "min")
    best = int(getattr(how.numbers, f"arg{how.reduction}")()) if picks else None
    shown = largest_summands(how.numbers, () if best is None else (best,))
    line = TableRow("", how.numbers, total=how.value, strong=True)
    if adds:
        line = sum_row("", how.numbers, shown, total=how.value, strong=True)
    end = {"max": "the largest", "min": "the least"}.get(how.reduction, how.reduction)
    return sum_html(cell.site, how.spans, [line], shown, end=end, here=best)


def _norm_html(cell: Cell, how: NormArithmetic) -> str:
    """Returns the numbers, their mean and variance, and the normalised number."""
    shown = largest_summands(how.numbers, (how.focus_index,))
    lines = [TableRow("", how.numbers)]
    table = sum_html(cell.site, how.spans, lines, shown, here=how.focus_index)
    x, n = number_text(float(how.numbers[how.focus_index])), f"{len(how.numbers):,}"
    whose = "kept from training" if how.uses_running_statistics else f"of these {n}"
    known = [f"variance σ² = {number_text(how.variance)}"]
    above = x
    if how.mean is None:
        known = [f"mean square σ² = {number_text(how.variance)}"]
    else:
        known.insert(0, f"mean μ = {number_text(how.mean)}")
        above = f"{x} − {in_brackets(how.mean)}"
    ways = [
        f"({above}) ÷ √({number_text(how.variance)} + {number_text(how.eps)})"
        f" = {number_text(how.normalised_number)}"
    ]
    if how.weight is not None:
        bias = "" if how.bias is None else f" + β {in_brackets(how.bias)}"
        ways.append(f"{number_text(how.normalised_number)} × γ {in_brackets(how.weight)}{bias}")
    steps = " , then ".join(ways).replace(" ,", ",")
    return (
        f"{table}<p>{', '.join(known)}, {whose}.</p>"
        f'<p class="spelled">{steps} = <b>{number_text(how.value)}</b></p>'
    )


def in_brackets(number: float) -> str:
    text = number_text(number)
    return f"({text})" if text.startswith("−") else text


# --- A row of attention as HTML: each key's path from score to weight, and the mixed values

KEYS = 7  # keys shown in full
LARGEST = "The largest of the scores: without it the powers could grow beyond all numbers."


def attention_row_html(scene: Scene, found: AttentionRow, across: str) -> str:
    """Returns the HTML from the product of query and key to the weights and the values they mix."""
    top = found.steps[0].cell if found.steps else None
    score = ""
    if found.score is not None and top is not None:
        score = f"<h3>{op_html(top)}, term by term</h3>{products(scene, top, found.score)}"
    mixes = ", and what the weights mix" if found.mixed_values else ""
    title = f"{op_html(found.cell)}: each score beside all others{mixes}"
    return f"{score}<h3>{title}</h3>{_weights(scene, found, across)}"


def _weights(scene: Scene, found: AttentionRow, across: str) -> str:
    """Returns the table with score, factor, mask, exponential, weight and value of each key."""
    share = found.share
    powers = share.powers
    weights = powers / powers.sum()
    shown = largest_summands(weights, (share.focus_index,), KEYS)
    lines = [
        TableRow(_step(step), step.numbers, attributes=f'data-node="{step.cell.id}"')
        for step in found.steps
    ] or [TableRow("score", share.scores)]
    largest = in_brackets(float(share.scores.max()))
    node = f'data-node="{found.cell.id}"'
    lines.append(
        sum_row(f"e^(… − {with_tooltip(largest, LARGEST)})", powers, shown, attributes=node)
    )
    total = number_text(float(powers.sum()))
    lines.append(sum_row(f"… ÷ their sum {total}", weights, shown, attributes=node, strong=True))
    for mixed in found.mixed_values:
        lines += _mixing(scene, mixed, shown)
    keys = _keys(scene, found, shown, across)
    return sum_html(
        found.cell.site, share.spans, lines, shown, columns=keys, here=share.focus_index
    )


def _step(step: RowStage) -> str:
    """Returns a step's formula, or its name."""
    if isinstance(step.focus_arithmetic, FormulaArithmetic):
        return markup.text(rule(step.focus_arithmetic))
    op = step.cell.op
    return markup.text(op.result_name(step.cell.site) or op.display_name)


def _keys(scene: Scene, found: AttentionRow, shown: Sequence[int], across: str) -> list[str]:
    """Returns the keys as column heads; on a map, as buttons to their cells."""
    spans = found.share.spans
    words = scene.axis_words(spans[0].dim.name) if len(spans) == 1 else ()
    names = [
        f"{n} {words[i]}" if i < len(words) else n
        for i, n in zip(shown, places(spans, shown), strict=True)
    ]
    if not across:
        return [markup.text(name) for name in names]
    return [
        f'<button type="button" class="link" data-pick="{map_component.ONE}={across}{i}">'
        f"{markup.text(n)}</button>"
        for i, n in zip(shown, names, strict=True)
    ]


def _mixing(scene: Scene, mixed: MixedValue, shown: Sequence[int]) -> list[TableRow]:
    """Returns the table lines for one feature: its values, and their products with the weights."""
    every = mixed.cell.site.axes_by_name
    at = ", ".join(
        f"{dimension(every, dim)} = {i}" for dim, i in zip(mixed.dims, mixed.place, strict=True)
    )
    node = f'data-node="{mixed.cell.id}"'
    values = next(f for f in mixed.total.factors if f.source != mixed.weights)
    head = f"{factor_name(scene, mixed.cell, values)} {f'at {at}' if at else ''}"
    return [
        TableRow(head, values.values, attributes=node),
        sum_row("weight × value", mixed.total.terms, shown, attributes=node, strong=True),
    ]
