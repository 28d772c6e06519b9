"""Finds the sign of each part of a drawing, by name."""

from __future__ import annotations

from collections.abc import Iterator

from ncd.drawing.elements.plan_columns import PlanItem, Port
from ncd.drawing.marks.marks import in_marks
from ncd.language.op import Mark

# Signs by the shape of their mark; `of_mark` decides where a shape has several signs.
SHAPES = {
    "array": "parameter",
    "arrow": "scale",
    "barred": "layernorm",
    "circle": "batchnorm",
    "cup": "cup",
    "folded": "folded",
    "function": "function",
    "load": "load",
    "lookup": "lookup",
    "mask": "mask",
    "name": "name",
    "pentagon": "index",
    "plus": "add",
    "rms": "rmsnorm",
    "save": "save",
    "triangle": "softmax",
}
TOGETHER = {"batchnorm", "lookup", "concat", "cut"}  # ops whose passing wires are no broadcasting
WORDS = {"Max": "extreme", "Min": "extreme", "Σ": "sum", "Π": "product", "𝔼": "mean"}


def of_mark(mark: Mark, role: str = "") -> str:
    """Returns the sign of a mark in an op of this role.

    >>> of_mark(Mark("letter", "L_+^{O}")), of_mark(Mark("trapezoid", "3^2|2|Max"))
    ('affine', 'pool')
    """
    text = mark.text
    match mark.shape:
        case "bar" if role == "concat":
            return "concat" if len(mark.ins) > 1 else "cut"
        case "bar":
            return "group" if len(mark.ins) > 1 else "split"
        case "box" if text.startswith("★"):
            return "convolution"
        case "box" if role == "index" and text.startswith("Roll"):
            return "roll"
        case "box" if role == "concat":
            return "pad"
        case "box" if role == "einsum":
            return "cumulative"
        case "box":
            return "top" if role == "index" else "formula"
        case "elementwise":
            return "dropout" if text == "D" else "elementwise"
        case "italic":
            return "turned" if text.endswith("^T") else "letter"
        case "letter":
            return "affine" if text.startswith("L_+") else "linear"
        case "trapezoid":
            return _window(*text.split("|"))
        case "word":
            return WORDS[text]
    return SHAPES[mark.shape]


def _window(kernel: str, stride: str, end: str) -> str:
    if stride.endswith("T"):
        return "transposed"
    return {"": "window", "Max": "pool"}.get(end, "strided")


def of_unit(unit: PlanItem) -> set[str]:
    """Returns the signs of an op: its marks, and how its wires run."""
    glyph, role = unit.glyph, unit.cell.op.role if unit.cell else ""
    found = {of_mark(mark, role) for mark in glyph.marks}
    if _past(unit) and not found & TOGETHER:
        found.add("broadcast")
    if glyph.caps:
        found.add("cap")
    if glyph.joins and not found & {"add", "concat"}:
        found.add("diagonal")
    if glyph.splits and "cut" not in found:
        found.add("copy")
    return found if found - {"broadcast"} else found | set(_unmarked_op_signs(unit))


def _past(unit: PlanItem) -> bool:
    """Returns whether wires run past marks on other wires."""
    ins, outs = in_marks(unit.glyph)
    return bool(ins or outs) and any(i not in ins for i, _ in unit.glyph.through)


def _unmarked_op_signs(unit: PlanItem) -> Iterator[str]:
    """Yields the signs of an op without marks, in which no wires meet."""
    given = dict(unit.glyph.through)
    if len(given) < len(unit.ins):
        yield "drop"
    if _has_renamed_axis(unit):
        yield "rename"
    if len(unit.inputs) > len(unit.outputs) == 1 and len(given) == len(unit.ins):
        yield "outer"
    elif crossed := _crossed_pairs(unit):
        yield "transpose" if all(a[0] == b[0] for a, b in crossed) else "swap"


def _has_renamed_axis(unit: PlanItem) -> bool:
    arrays = {value.id: value.array for value in (*unit.inputs, *unit.outputs)}

    def name(port: Port) -> str:
        return arrays[port[0]][port[1]].name

    pairs = ((unit.ins[i], unit.outs[o]) for i, o in unit.glyph.through)
    return any(name(before) != name(after) for before, after in pairs)


def _crossed_pairs(unit: PlanItem) -> list[tuple[Port, Port]]:
    """Returns the pairs of inputs whose wires change places."""
    ways = sorted(unit.glyph.through)
    return [
        (unit.ins[i], unit.ins[j])
        for n, (i, o) in enumerate(ways)
        for j, p in ways[n + 1 :]
        if p < o
    ]
