"""TikZ, and labels in LaTeX.

What plain pdflatex cannot set with amsmath and amssymb is written as a question mark.

Labels use the document's own font, each centred where it is in the drawing, so that a figure
matches its paper. It needs the packages tikz, amsmath and amssymb.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from io import BytesIO
from itertools import groupby

import numpy as np

from ncd.drawing.backends.painting import Stroke, is_flat, layers, number
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label, MathAtom, lead, parse
from ncd.drawing.elements.primitives import Dot, DrawingData, Path, PictureTile, Rectangle, Text

# --- Labels in LaTeX: ``math("n_b")`` is ``$n_{b}$``, in whatever font a document has

SIGNS = {
    "−": "-", "–": "-", "—": "-", "∗": "*", "×": r"\times", "⋆": r"\star", "★": r"\bigstar",
    "±": r"\pm", "·": r"\cdot", "∘": r"\circ", "⊗": r"\otimes", "⊕": r"\oplus", "⊙": r"\odot",
    "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "≤": r"\leq", "≥": r"\geq", "∈": r"\in",
    "→": r"\to", "←": r"\gets", "↦": r"\mapsto", "↔": r"\leftrightarrow", "⊂": r"\subset",
    "⊃": r"\supset", "≔": ":=", "≝": r"\overset{\mathrm{def}}{=}", "…": r"{\ldots}", "∞": r"\infty",
    "√": r"\surd", "∂": r"\partial", "∇": r"\nabla", "∑": r"\sum", "∏": r"\prod", "∫": r"\int",
    "ℓ": r"\ell", "ϵ": r"\epsilon", "ε": r"\varepsilon", "φ": r"\varphi", "′": "'", "⊤": r"\top",
    "➤": r"\blacktriangleright", "‖": r"\Vert", "∣": "|", "⟨": r"\langle",
    "⟩": r"\rangle", "¬": r"\neg", "∧": r"\wedge", "∨": r"\vee", "\\": r"\backslash",
    "~": r"\sim", "^": r"\wedge", "'": "{'}", ":": "{:}",
}  # fmt: skip
SMALL_LETTERS = {
    *("alpha", "beta", "gamma", "delta", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"),
    *("nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "chi", "psi", "omega"),
}
CAPITALS = {"Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"}
ESCAPED_CHARACTERS = frozenset("#$%&_{}")
SPECIAL = {
    **{char: f"\\{char}" for char in sorted(ESCAPED_CHARACTERS)},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "–": "--",
    "—": "---",
}  # fmt: skip
UNKNOWN_SIGN = "?"


def latex(label: Label) -> str:
    r"""A label as LaTeX for running text.

    >>> from ncd.drawing.elements.labels import math, sans
    >>> latex(math("k^{-1/2}")), latex(math("x", bold=True, bar=True))
    ('$k^{-1/2}$', '$\\overline{\\mathbf{x}}$')
    >>> latex(sans("100% of $n_b$"))
    '\\textsf{100\\% of $n_{b}$}'
    """
    typed = label.source
    if typed.font_style == "math":
        return f"${_atoms(lead(parse(typed.text), typed.bold, typed.bar))}$"
    parts = typed.text.split("$") if typed.text.count("$") % 2 == 0 else [typed.text]
    inside = "".join(f"${_atoms(parse(p))}$" if i % 2 else prose(p) for i, p in enumerate(parts))
    inside = rf"\textbf{{{inside}}}" if typed.bold else inside
    return rf"\textsf{{{inside}}}" if typed.font_style == "sans" else inside


def prose(text: str) -> str:
    r"""Plain text, with what means something to LaTeX escaped.

    >>> prose("a_b → λ 漢")
    'a\\_b $\\to$ $\\lambda$ ?'
    """
    return "".join(map(_letter, text))


def _letter(char: str) -> str:
    if char in SPECIAL:
        return SPECIAL[char]
    if char.isascii() and char.isprintable():
        return char
    if char.isspace():
        return " "
    if "À" <= char <= "ž" and char.isalpha():
        return char
    sign = _sign(char)
    return UNKNOWN_SIGN if sign is None else f"${sign}$"


def _sign(char: str) -> str | None:
    """A sign or a letter of mathematics, or nothing if LaTeX has none."""
    if char in SIGNS:
        return SIGNS[char]
    name = unicodedata.name(char, "")
    if name.startswith("GREEK "):
        word = name.rpartition(" ")[2].replace("LAMDA", "LAMBDA")
        word = word.capitalize() if "CAPITAL" in name else word.lower()
        return f"\\{word}" if word in SMALL_LETTERS | CAPITALS else None
    plain = unicodedata.normalize("NFKC", char)
    if name.startswith(("DOUBLE-STRUCK", "MATHEMATICAL DOUBLE-STRUCK")) and plain.isascii():
        return rf"\mathbb{{{plain}}}" if plain.isalpha() else rf"\mathbf{{{plain}}}"
    return plain if plain.isascii() and plain.isalnum() else None


def _atoms(atoms: tuple[MathAtom, ...]) -> str:
    return "".join(map(_atom, atoms)) or "{}"


def _atom(atom: MathAtom) -> str:
    base = _base(atom)
    if atom.bar:
        base = rf"\overline{{{base}}}"
    below = f"_{{{_atoms(atom.sub)}}}" if atom.sub else ""
    above = f"^{{{_atoms(atom.sup)}}}" if atom.sup else ""
    return f"{base or '{}'}{below}{above}"


def _base(atom: MathAtom) -> str:
    text = atom.text
    if atom.kind == "space":
        return r"\,"  # as thin as in SVG
    if atom.kind == "sign":
        if text.isascii() and text not in SIGNS:
            return f"\\{text}" if text in ESCAPED_CHARACTERS else text
        sign = _sign(text)
        if sign is None:
            return rf"\text{{{prose(text)}}}" if text else ""
        return f"{sign} " if sign.startswith("\\") and not sign.endswith("}") else sign
    if atom.kind in ("name", "barred"):
        return _name(text, atom.bold)
    return text if text.isascii() else rf"\text{{{prose(text)}}}"


def _name(text: str, bold: bool) -> str:
    if text.isascii():
        if bold:
            return rf"\mathbf{{{text}}}"
        return text if len(text) == 1 else rf"\mathit{{{text}}}"
    signs = [char if char.isascii() else _sign(char) for char in text]
    if all(signs):
        inside = " ".join(sign for sign in signs if sign)
        return rf"\boldsymbol{{{inside}}}" if bold else f"{{{inside}}}"
    return rf"\text{{\itshape {prose(text)}}}"


# --- Writes a drawing as TikZ: lines, fills and shapes with coordinates, and labels as LaTeX text

UNIT = 0.5  # points for a drawing unit, so that names are 8 points high
EM = 10.0  # points of the text that a node scales
SHADOW = ((6, 0.05), (4, 0.05), (2, 0.06))  # widths in drawing units, and how dark


def tex(drawing: DrawingData, alone: bool, unit: float = UNIT) -> str:
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


def _picture(drawing: DrawingData, unit: float) -> Iterator[str]:
    parts = list(layers(drawing))
    yield rf"\begin{{tikzpicture}}[{_options(unit)}]"
    yield r"\medmuskip=3mu \thickmuskip=4mu"  # as near to our own spaces as is round
    for name in dict.fromkeys(_colours(parts)):
        value = style.paint_colour(name, drawing.dark, drawing.palette)[1:].upper()
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
            case PictureTile():
                yield from _tile(part)
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
        rf"x={unit:.5g}pt,y=-{unit:.5g}pt,line join=round,"
        rf"inner sep=0pt,outer sep=0pt,ncd/soft/.style={{{shadow}}},"
        rf"ncd/dash/.style={{dash pattern={dash}}}"
    )


def _colours(parts: list[Stroke | Dot | Text | PictureTile]) -> Iterator[str]:
    yield from ("ink", "page")
    for part in parts:
        if isinstance(part, Stroke):
            yield from (name for name in (part.fill, part.line) if name != "none")
        elif not isinstance(part, PictureTile) and part.paint != "none":
            yield part.paint


def _stroke(part: Stroke, unit: float) -> str:
    look = [] if part.fill == "none" else [f"fill=ncd{part.fill}"]
    if part.width:
        look += [f"draw=ncd{part.line}", f"line width={number(part.width * unit)}pt"]
    look += ["line cap=round"] * part.round
    look += ["ncd/soft"] * part.has_shadow + ["ncd/dash"] * part.is_dashed
    return rf"\path[{','.join(look)}] {_path(part.path, part.is_closed)};"


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
    label, (x, y) = text.label, text.position
    named = label.source.font_style != "sans"
    place = _point(x + label.width / 2 if named else x, y)
    look = f"text=ncd{text.paint},anchor=base{'' if named else ' west'},"
    look += f"scale={label.source.size * unit / EM:.4g}"
    return rf"\node[{look}] at {place} {{{latex(label)}}};"


def _tile(tile: PictureTile) -> Iterator[str]:
    """Yields the rows of a picture as rectangles, neighbours of one colour as one."""
    from PIL import Image

    box, rows = tile.box, np.asarray(Image.open(BytesIO(tile.png)).convert("RGBA")).tolist()
    across, down = box.width / len(rows[0]), box.height / len(rows)
    for y, row in enumerate(rows):
        x, top = 0, box.y0 + y * down
        for (red, green, blue, opacity), run in groupby(row):
            end = x + len(list(run))
            place = Rectangle(box.x0 + x * across, top, box.x0 + end * across, top + down)
            mixed = f"rgb,255:red,{red};green,{green};blue,{blue}"
            if opacity:
                yield rf"\fill[fill={{{mixed}}}] {_rectangle(place)};"
            x = end


def _rectangle(box: Rectangle) -> str:
    return f"{_point(box.x0, box.y0)} rectangle {_point(box.x1, box.y1)}"


def _point(x: float, y: float) -> str:
    return f"({number(x)},{number(y)})"
