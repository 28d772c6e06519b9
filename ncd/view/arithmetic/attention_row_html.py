"""A row of attention as HTML: each key's path from score to weight, and the mixed values."""

from __future__ import annotations

from collections.abc import Sequence

from ncd.export import markup
from ncd.run.explain.arithmetic_kinds import Each
from ncd.run.explain.attention_row import Mixed, Row, Step
from ncd.view.arithmetic import by_kind, sum_table
from ncd.view.arithmetic.formula_text import rule
from ncd.view.arithmetic.sum_table import Line, figure, summed
from ncd.view.arrays import captions, map_component
from ncd.view.session.scene import Scene

KEYS = 7  # keys shown in full
LARGEST = "The largest of the scores: without it the powers could grow beyond all numbers."


def html(scene: Scene, found: Row, across: str) -> str:
    """Returns the HTML from the product of query and key to the weights and the values they mix."""
    top = found.steps[0].cell if found.steps else None
    score = ""
    if found.score is not None and top is not None:
        score = (
            f"<h3>{by_kind.op(top)}, term by term</h3>{by_kind.products(scene, top, found.score)}"
        )
    mixes = ", and what the weights mix" if found.mixed else ""
    title = f"{by_kind.op(found.cell)}: each score beside all others{mixes}"
    return f"{score}<h3>{title}</h3>{_weights(scene, found, across)}"


def _weights(scene: Scene, found: Row, across: str) -> str:
    """Returns the table with score, factor, mask, exponential, weight and value of each key."""
    share = found.share
    powers = share.powers
    weights = powers / powers.sum()
    shown = sum_table.largest(weights, (share.at,), KEYS)
    lines = [
        Line(_step(step), step.numbers, attributes=f'data-node="{step.cell.id}"')
        for step in found.steps
    ] or [Line("score", share.scores)]
    largest = by_kind.enclosed(float(share.scores.max()))
    node = f'data-node="{found.cell.id}"'
    lines.append(
        summed(f"e^(… − {captions.explained(largest, LARGEST)})", powers, shown, attributes=node)
    )
    total = figure(float(powers.sum()))
    lines.append(summed(f"… ÷ their sum {total}", weights, shown, attributes=node, strong=True))
    for mixed in found.mixed:
        lines += _mixing(scene, mixed, shown)
    keys = _keys(scene, found, shown, across)
    return sum_table.table(found.cell.site, share.spans, lines, shown, columns=keys, here=share.at)


def _step(step: Step) -> str:
    """Returns a step's formula, or its name."""
    if isinstance(step.how, Each):
        return markup.text(rule(step.how))
    op = step.cell.op
    return markup.text(op.out(step.cell.site) or op.label)


def _keys(scene: Scene, found: Row, shown: Sequence[int], across: str) -> list[str]:
    """Returns the keys as column heads; on a map, as buttons to their cells."""
    spans = found.share.spans
    words = scene.words(spans[0].dim.name) if len(spans) == 1 else ()
    names = [
        f"{n} {words[i]}" if i < len(words) else n
        for i, n in zip(shown, sum_table.places(spans, shown), strict=True)
    ]
    if not across:
        return [markup.text(name) for name in names]
    return [
        f'<button type="button" class="link" data-pick="{map_component.ONE}={across}{i}">'
        f"{markup.text(n)}</button>"
        for i, n in zip(shown, names, strict=True)
    ]


def _mixing(scene: Scene, mixed: Mixed, shown: Sequence[int]) -> list[Line]:
    """Returns the table lines for one feature: its values, and their products with the weights."""
    every = mixed.cell.site.every
    at = ", ".join(
        f"{sum_table.dimension(every, dim)} = {i}"
        for dim, i in zip(mixed.dims, mixed.place, strict=True)
    )
    node = f'data-node="{mixed.cell.id}"'
    values = next(f for f in mixed.total.factors if f.source != mixed.weights)
    head = f"{by_kind.factor_name(scene, mixed.cell, values)} {f'at {at}' if at else ''}"
    return [
        Line(head, values.values, attributes=node),
        summed("weight × value", mixed.total.terms, shown, attributes=node, strong=True),
    ]
