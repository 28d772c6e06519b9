"""A table of the terms of a sum: a column for each large term, and one for the others."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ncd.export import markup
from ncd.lang.terms.op import Site
from ncd.lang.types.axes import Axis, Dim
from ncd.run.explain.arithmetic_kinds import Spans, place

MOST = 8  # terms shown in full
SIDES = ("", "height", "width")


@dataclass(frozen=True)
class Line:
    """A row of the table: its head (HTML), its numbers, the rest and the total.

    ``attributes`` are HTML attributes such as ``data-node="n3"``; ``links`` are what a click on
    each number picks.
    """

    head: str
    numbers: Tensor
    rest: float | None = None
    total: float | None = None
    attributes: str = ""
    strong: bool = False
    links: Mapping[int, str] = field(default_factory=dict)


def summed(head: str, numbers: Tensor, few: Sequence[int], **more: object) -> Line:
    """Returns a row whose numbers add up; those not shown are summed in ``rest``."""
    kept = torch.ones(len(numbers), dtype=torch.bool)
    kept[list(few)] = False
    rest = float(numbers[kept].sum()) if bool(kept.any()) else None
    total = more.pop("total", float(numbers.sum()))
    return Line(head, numbers, rest, total, **more)  # type: ignore[arg-type]


def largest(sizes: Tensor, also: Collection[int] = (), most: int = MOST) -> list[int]:
    """Returns which of many numbers to show: the largest, in order, and those in ``also``.

    >>> largest(torch.tensor([0.1, -9.0, 3.0, 0.2]), also=[0], most=1), largest(torch.zeros(4))
    ([0, 1], [0, 1, 2, 3])
    """
    if len(sizes) <= most + 1:
        return list(range(len(sizes)))
    large = torch.nan_to_num(sizes.abs(), nan=-1.0).topk(most).indices.tolist()
    return sorted({*large, *also})


def table(
    site: Site,
    spans: Spans,
    lines: Sequence[Line],
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
    corner = ", ".join(dimension(site.every, span.dim) for span in spans)
    heads = [
        f'<th scope="col"{_here(i, here)}>{name}</th>'
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
    line: Line, lines: Sequence[Line], shown: Sequence[int], more: int, here: int | None
) -> str:
    cells = [f"<td{_here(i, here)}>{_number(line, i)}</td>" for i in shown]
    if more:
        rest = "" if line.rest is None else f"together {figure(line.rest)}"
        cells.append(f'<td class="rest">{rest}</td>')
    if any(each.total is not None for each in lines):
        total = "" if line.total is None else figure(line.total)
        cells.append(f'<td class="total">{total}</td>')
    strong = ' class="strong"' if line.strong else ""
    return f'<tr{strong} {line.attributes}><th scope="row">{line.head}</th>{"".join(cells)}</tr>'


def _number(line: Line, i: int) -> str:
    number = figure(float(line.numbers[i]))
    if i not in line.links:
        return number
    return f'<button type="button" data-pick="{line.links[i]}">{number}</button>'


def _here(i: int, here: int | None) -> str:
    return ' class="here"' if i == here else ""


def figure(number: float) -> str:
    """Returns a number with three significant digits; infinity as its sign, NaN as a dash.

    >>> figure(-math.inf), figure(0.12345), figure(math.nan)
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
