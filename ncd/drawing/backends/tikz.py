r"""Writes a drawing as TikZ: lines, fills and shapes with coordinates, and labels as LaTeX text.

Labels use the document's own font, each centred where it is in the drawing, so that a figure
matches its paper. It needs the packages tikz, amsmath and amssymb.
"""

from __future__ import annotations

from collections.abc import Iterator

from ncd.drawing.backends.latex_text import latex
from ncd.drawing.backends.paint_order import Stroke, layers
from ncd.drawing.backends.path_data import is_flat, number
from ncd.drawing.base import style
from ncd.drawing.base.primitives import Box, Dot, Path, Picture, Text

UNIT = 0.5  # points for a drawing unit, so that names are 8 points high
EM = 10.0  # points of the text that a node scales
SHADOW = ((6, 0.05), (4, 0.05), (2, 0.06))  # widths in drawing units, and how dark


def tex(drawing: Picture, alone: bool, unit: float = UNIT) -> str:
    """Returns a LaTeX document with the drawing, or only its tikzpicture without ``alone``."""
    picture = "\n".join(_picture(drawing, unit))
    if not alone:
        return f"{picture}\n"
    width, height = number(drawing.box.width * unit), number(drawing.box.height * unit)
    return "\n".join(
        (
            r"\documentclass{article}",
            r"\usepackage{amsmath,amssymb,tikz}",
            rf"\pdfpagewidth={width}pt \pdfpageheight={height}pt",
            r"\paperwidth=\pdfpagewidth \paperheight=\pdfpageheight \textwidth=\pdfpagewidth",
            r"\textheight=2\pdfpageheight \hoffset=-1in \voffset=-1in \oddsidemargin=0pt",
            r"\topmargin=0pt \headheight=0pt \headsep=0pt \topskip=0pt \parindent=0pt",
            r"\pagestyle{empty}",
            r"\begin{document}",
            rf"\noindent{picture}",
            r"\end{document}",
            "",
        )
    )


def _picture(drawing: Picture, unit: float) -> Iterator[str]:
    parts = list(layers(drawing))
    yield rf"\begin{{tikzpicture}}[{_options(unit)}]"
    yield r"\medmuskip=3mu \thickmuskip=4mu"  # as near to our own spaces as is round
    for name in dict.fromkeys(_colours(parts)):
        value = style.paint(name, drawing.dark)[1:].upper()
        yield rf"\definecolor{{ncd{name}}}{{HTML}}{{{value}}}"
    yield rf"\useasboundingbox {_rectangle(drawing.box)};"
    if drawing.dark:
        yield rf"\fill[ncdpage] {_rectangle(drawing.box)};"
    for part in parts:
        match part:
            case Stroke():
                yield _stroke(part, unit)
            case Dot():
                yield _dot(part, unit)
            case Text():
                yield _text(part, unit)
    yield r"\end{tikzpicture}"


def _options(unit: float) -> str:
    """Returns the options of the tikzpicture: its scale, its joins and its two styles."""
    dash = " ".join(
        f"{'on' if i % 2 == 0 else 'off'} {number(part * unit)}pt"
        for i, part in enumerate(style.DASH)
    )
    shadow = ",".join(
        f"preaction={{draw=black,opacity={dark},line width={number(width * unit)}pt}}"
        for width, dark in SHADOW
    )
    return (
        rf"x={number(unit)}pt,y=-{number(unit)}pt,line join=round,"
        rf"inner sep=0pt,outer sep=0pt,ncd/soft/.style={{{shadow}}},"
        rf"ncd/dash/.style={{dash pattern={dash}}}"
    )


def _colours(parts: list[Stroke | Dot | Text]) -> Iterator[str]:
    yield from ("ink", "page")
    for part in parts:
        if isinstance(part, Stroke):
            yield from (name for name in (part.fill, part.line) if name != "none")
        elif part.paint != "none":
            yield part.paint


def _stroke(part: Stroke, unit: float) -> str:
    look = [] if part.fill == "none" else [f"fill=ncd{part.fill}"]
    if part.width:
        look += [f"draw=ncd{part.line}", f"line width={number(part.width * unit)}pt"]
    look += ["line cap=round"] * part.round
    look += ["ncd/soft"] * part.soft + ["ncd/dash"] * part.dashed
    return rf"\path[{','.join(look)}] {_path(part.path, part.closed)};"


def _path(path: Path, closed: bool) -> str:
    pieces, last = [], None
    for curve in path:
        if curve.a != last:
            pieces.append(_point(*curve.a))
        end = _point(*curve.d)
        if is_flat(curve):
            pieces.append(f"--{end}")
        else:
            pieces.append(f"..controls{_point(*curve.b)}and{_point(*curve.c)}..{end}")
        last = curve.d
    return "".join(pieces) + ("--cycle" if closed else "")


def _dot(dot: Dot, unit: float) -> str:
    look = [] if dot.paint == "none" else [f"fill=ncd{dot.paint}"]
    if dot.stroke:
        look += ["draw=ncdink", f"line width={number(dot.stroke * unit)}pt"]
    radius = number(dot.radius * unit)
    return rf"\path[{','.join(look)}] {_point(*dot.center)} circle[radius={radius}pt];"


def _text(text: Text, unit: float) -> str:
    """Returns a label at its centre; plain words, as wide as ours, from their start."""
    label, (x, y) = text.label, text.at
    named = label.typed.mode != "sans"
    place = _point(x + label.width / 2 if named else x, y)
    look = f"text=ncd{text.paint},anchor=base{'' if named else ' west'},"
    look += f"scale={number(label.typed.size * unit / EM)}"
    return rf"\node[{look}] at {place} {{{latex(label)}}};"


def _rectangle(box: Box) -> str:
    return f"{_point(box.x0, box.y0)} rectangle {_point(box.x1, box.y1)}"


def _point(x: float, y: float) -> str:
    return f"({number(x)},{number(y)})"
