"""Typed text as mathematics, set with exact sizes, and read aloud.

A label is data: runs of text and overbars with positions. Lengths are in drawing units, x to the
right and y downwards, as in SVG. Sizes come from the advance widths, kerning pairs and outlines of
the fonts that an exported drawing embeds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from math import inf
from typing import NamedTuple

from ncd.drawing.elements.fonts import MATH, ROMAN, SANS, Face, has_glyph, measure, union
from ncd.language.cached_property import lazy_property

# --- The mathematics of labels: parses typed text into atoms, and reads atoms aloud

# Space on both sides of a sign on the base line; an operation has it between two operands only.
OPERATIONS: Mapping[str, float] = {**dict.fromkeys("+−×∗⋆±·∘⊗⊕⊙", 0.18), "/": 0.04}
RELATIONS: Mapping[str, float] = dict.fromkeys("=≠≈≡<>≤≥∈→←↦⊂⊃≔≝", 0.28)
SPOKEN: Mapping[str, str] = {
    "+": "plus", "−": "minus", "∗": "times", "×": "by", "/": "over", "=": "equals",
    "→": "to", "…": "to", "𝔼": "expectation", ",": ",", "(": "(", ")": ")", ".": ".",
}  # fmt: skip
FRACTIONS: Mapping[str, str] = {"2": "one half", "3": "one third", "4": "one quarter"}
POWERS: Mapping[str, str] = {"2": "squared", "3": "cubed"}


@dataclass(frozen=True, slots=True)
class MathAtom:
    text: str
    kind: str  # "name", "number", "space" or "sign"
    bold: bool = False
    bar: bool = False
    sub: tuple[MathAtom, ...] = ()
    sup: tuple[MathAtom, ...] = ()


_BAR = "\u0304\u0305"  # combining macron and overline
_BARRED, _NUMBER = rf"[^\W\d_][{_BAR}]", r"\d+(?:\.\d+)*"
_NAME = rf"(?:[^\W\d_](?![{_BAR}]))+(?:‐[^\W\d_]+)*"
_HYPHEN = re.compile(r"(?<=[^\W\d_]{3})-(?=[^\W\d_]{3})")  # of a word such as cross-entropy
_GROUP = r"\{(?:[^{}]|\{[^{}]*\})*\}"
_TOKEN = re.compile(
    rf"(?P<barred>{_BARRED})|(?P<function>[^\W\d_]{{2,}}(?=\())|(?P<name>{_NAME})"
    rf"|(?P<number>{_NUMBER})|(?P<space>\s+)|(?P<script>[_^](?:{_GROUP}|{_BARRED}|{_NAME}|{_NUMBER}|.))|(?P<sign>.)"
)
_AROUND_SIGNS = re.compile(rf"\s*([{re.escape(''.join((*OPERATIONS, *RELATIONS, ',')))}])\s*")
_TYPED_SIGNS = str.maketrans({"-": "−", "*": "∗", "²": "^2", "³": "^3", "\n": " "})


def parse(text: str) -> tuple[MathAtom, ...]:
    plain = "".join(map(_decompose, _HYPHEN.sub("‐", text))).translate(_TYPED_SIGNS)
    return _atoms(_AROUND_SIGNS.sub(r"\1", plain).strip())


def _decompose(char: str) -> str:
    """Returns ȳ as y and a combining bar; other characters unchanged."""
    parts = unicodedata.normalize("NFD", char)
    return parts if parts[1:] == "\u0304" else char


def _atoms(text: str) -> tuple[MathAtom, ...]:
    atoms: tuple[MathAtom, ...] = ()
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "script":
            *rest, base = atoms or (MathAtom("", "sign"),)
            grouped = len(token[0]) > 2 and token[0][1] == "{"
            script = _atoms(token[0][2:-1] if grouped else token[0][1:])
            below = token[0][0] == "_"
            before = base.sub if below else base.sup
            if before:  # of n_1_2 the second index follows the first
                script = (*before, MathAtom(",", "sign"), *script)
            scripted = replace(base, sub=script) if below else replace(base, sup=script)
            atoms = (*rest, scripted)
        else:
            atoms += (_atom(token[0], token.lastgroup or "sign"),)
    return atoms


def _atom(text: str, kind: str) -> MathAtom:
    if kind not in ("barred", "name"):
        return MathAtom(text, kind)
    letters = text.rstrip(_BAR).replace("‐", "-")
    style = unicodedata.name(letters[0], "").rpartition(" ")[0]
    if style.startswith(("MATHEMATICAL BOLD", "MATHEMATICAL ITALIC")):  # but not 𝔼
        letters = unicodedata.normalize("NFKC", letters)
    return MathAtom(letters, "name", style.startswith("MATHEMATICAL BOLD"), kind == "barred")


def lead(atoms: tuple[MathAtom, ...], bold: bool, bar: bool) -> tuple[MathAtom, ...]:
    """Returns the atoms with the first name bold or barred."""
    first = next((i for i, atom in enumerate(atoms) if atom.kind == "name"), len(atoms))
    marked = (replace(a, bold=a.bold or bold, bar=a.bar or bar) for a in atoms[first : first + 1])
    return (*atoms[:first], *marked, *atoms[first + 1 :])


def spoken_text(atoms: tuple[MathAtom, ...]) -> str:
    words = " ".join(" ".join(_say_atom(atom)) for atom in atoms if atom.kind != "space")
    return re.sub(r"(^|minus )1 over ([234])$", lambda found: found[1] + FRACTIONS[found[2]], words)


def _say_atom(atom: MathAtom) -> Iterator[str]:
    greek = (unicodedata.name(c, c).removeprefix("GREEK SMALL LETTER ").lower() for c in atom.text)
    letters = atom.text.replace("-", "")
    plain = atom.kind == "number" or (letters.isascii() and letters.isalpha())
    spelled = atom.text if plain else " ".join(greek).replace("lamda", "lambda")
    yield SPOKEN.get(atom.text, spelled)
    if atom.bar:
        yield "bar"
    if atom.sub:
        yield f"sub {spoken_text(atom.sub)}"
    if atom.sup:
        power = spoken_text(atom.sup)
        label = atom.sup[0].kind == "name" and atom.sup[0].text[0].isupper()
        yield POWERS.get(power) or (f"superscript {power}" if label else f"to the {power}")


# --- Labels: text with its exact size in the fonts of `assets/fonts`

# A letter is set in the first face of its chain that has it.
UPRIGHT = (Face(ROMAN), Face(MATH))
ITALIC = (Face(ROMAN, "italic"), *UPRIGHT)
BOLD = (Face(ROMAN, weight=700), *UPRIGHT)

# Lengths in em, after the MATH table of TeX Gyre Pagella Math.
SCRIPT, LARGE_SCRIPT = 0.72, 0.86  # size of a script, relative to its base; of small names
READABLE = 11.0  # scripts of names of usual size are no smaller
SUPERSCRIPT_UP, SUBSCRIPT_DOWN, SCRIPT_GAP = 0.37, 0.22, 0.12
BAR_GAP, BAR_THICKNESS = 0.13, 0.06


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A run of text in one face; (dx, dy) is the start of its baseline, relative to the label's."""

    text: str
    face: Face
    size: float
    dx: float
    dy: float


@dataclass(frozen=True, slots=True)
class Overbar:
    """An overbar: a line from (x0, y) to (x1, y), `thickness` wide."""

    x0: float
    x1: float
    y: float
    thickness: float


class LabelSource(NamedTuple):
    """The source of a label: `mode` is "math", "sans" or "roman", as in the functions below."""

    text: str
    font_style: str = "math"
    size: float = 16
    bold: bool = False
    bar: bool = False


@dataclass(frozen=True)
class Label:
    """Placed runs and bars, and their ink box: x from 0 to width, y from -ascent to descent.

    `words` is the label as spoken; `typed` lets another typesetter set it again.
    """

    spans: tuple[TextSpan, ...]
    bars: tuple[Overbar, ...]
    width: float
    ascent: float
    descent: float
    words: str
    source: LabelSource = field(default=LabelSource(""), compare=False)

    @lazy_property
    def size(self) -> float:
        """The size of its largest run; infinite if it has none."""
        return max((span.size for span in self.spans), default=inf)


# --- Setting: each step returns its pieces, and where the pen then stands

_Piece = TextSpan | Overbar
_Set = tuple[tuple[_Piece, ...], float]


def _place(text: str, chain: tuple[Face, ...], size: float, x: float, y: float) -> _Set:
    pieces: tuple[_Piece, ...] = ()
    for face, chars in groupby(text, lambda char: _face_for(char, chain)):
        run = "".join(chars)
        # SVG drops the spaces at the ends of a text, so they are left out here.
        indent = run[: len(run) - len(run.lstrip())]
        start = x + size * measure(face, indent).advance
        pieces += (TextSpan(run.strip(), face, size, start, y),)
        x = start + size * measure(face, run[len(indent) :]).advance
    return pieces, x


def _face_for(char: str, chain: tuple[Face, ...]) -> Face:
    return next((face for face in chain if has_glyph(face, char)), chain[0])


def _set(
    atoms: tuple[MathAtom, ...], size: float, x: float, y: float, script: bool = False
) -> _Set:
    pieces: tuple[_Piece, ...] = ()
    for before, atom, after in zip((None, *atoms), atoms, (*atoms[1:], None), strict=False):
        pad = 0.0 if script else RELATIONS.get(atom.text, 0.0)
        if before and after and not script and not {before.text} & {*OPERATIONS, *RELATIONS}:
            pad = pad or OPERATIONS.get(atom.text, 0.0)
        more, x = _set_atom(atom, size, x + (pad * size if before else 0.0), y)
        pieces += more
        x += (pad or 0.2 * (atom.text == ",")) * size if after else 0.0
    return pieces, x


def _set_atom(atom: MathAtom, size: float, x: float, y: float) -> _Set:
    chain = UPRIGHT if atom.kind != "name" else BOLD if atom.bold else ITALIC
    base, end = _place(atom.text, chain, size, x, y)
    _, top, right, _ = _ink(base) or (x, y, end, y)
    if atom.bar:
        base += (_overbar(x, end, top, size, lean=0.0 if atom.bold else 0.05 * size),)
    if not (atom.sub or atom.sup):
        return base, end
    small, up, down = _script(size), y - size * SUPERSCRIPT_UP, y + size * SUBSCRIPT_DOWN
    above, above_end = _set(atom.sup, small, max(end, right) + 0.04 * size, up, True)
    below, below_end = _set(atom.sub, small, end + 0.02 * size, down, True)
    upper, lower = _ink(above), _ink(below)
    if upper and lower and (lack := upper[3] + SCRIPT_GAP * size - lower[1]) > 0:
        below = tuple(_shift(piece, 0.0, lack) for piece in below)
    ends = (above_end if above else end, below_end if below else end)
    return base + above + below, max(ends) + 0.04 * size


def _script(size: float) -> float:
    """Returns the size of scripts: readable where the name is, but smaller than it."""
    return max(size * SCRIPT, min(size * LARGE_SCRIPT, READABLE))


def _overbar(x: float, end: float, top: float, size: float, lean: float) -> Overbar:
    inset, thickness = 0.02 * size, BAR_THICKNESS * size
    y = top - BAR_GAP * size - thickness / 2
    return Overbar(x + lean + inset, end + lean - inset, y, thickness)


def _prose(text: str, size: float, weight: int, family: str) -> tuple[_Set, str]:
    chain = (Face(family, weight=weight), Face(ROMAN, weight=weight), *UPRIGHT)
    parts = text.split("$") if text.count("$") % 2 == 0 else [text]
    pieces: tuple[_Piece, ...] = ()
    x, words = 0.0, ""
    for i, part in enumerate(parts):
        atoms, plain = parse(part) if i % 2 else (), re.sub(r"\s+", " ", part)
        more, x = _set(atoms, size, x, 0.0) if i % 2 else _place(plain, chain, size, x, 0.0)
        pieces, words = pieces + more, words + (spoken_text(atoms) if i % 2 else plain)
    return (pieces, x), words


def _ink(pieces: tuple[_Piece, ...]) -> tuple[float, float, float, float] | None:
    return union(box for piece in pieces if (box := _piece_ink(piece)))


def _piece_ink(piece: _Piece) -> tuple[float, ...] | None:
    if isinstance(piece, Overbar):
        return piece.x0, piece.y - piece.thickness / 2, piece.x1, piece.y + piece.thickness / 2
    box, size = measure(piece.face, piece.text).box, piece.size
    x, y = piece.dx, piece.dy
    return box and (x + size * box[0], y + size * box[1], x + size * box[2], y + size * box[3])


def _shift(piece: _Piece, x: float, y: float) -> _Piece:
    if isinstance(piece, TextSpan):
        return replace(piece, dx=round(piece.dx + x, 3), dy=round(piece.dy + y, 3))
    ends = (round(piece.x0 + x, 3), round(piece.x1 + x, 3))
    return Overbar(*ends, round(piece.y + y, 3), round(piece.thickness, 3))


def _label(pieces: tuple[_Piece, ...], end: float, words: str, typed: LabelSource) -> Label:
    left, top, right, bottom = _ink(pieces) or (0.0, 0.0, end, 0.0)
    placed = tuple(_shift(piece, -left, 0.0) for piece in pieces)
    spans = tuple(piece for piece in placed if isinstance(piece, TextSpan) and piece.text)
    bars = tuple(piece for piece in placed if isinstance(piece, Overbar))
    size = round(right - left, 3), round(-top, 3), round(bottom, 3)
    return Label(spans, bars, *size, words, typed)


# --- What others use


@lru_cache(maxsize=4096)
def math(text: str, size: float = 16, *, bold: bool = False, bar: bool = False) -> Label:
    """Sets a name or formula, with letters in italics and `_` and `^` for scripts.

    A `-` becomes a minus and `*` an asterisk. A script is the next name, number or sign, or a group
    in braces. `bold` and `bar` apply to the first name; a letter typed as x̄ or 𝐱 is barred or bold
    anywhere. No text raises an error.

    >>> math("k^{-1/2}").words
    'k to the minus one half'
    >>> [span.text for span in math("n_b").spans]
    ['n', 'b']
    >>> math("x/s", bold=True, bar=True).words
    'x bar over s'
    """
    atoms = lead(parse(text), bold, bar)
    typed = LabelSource(text, "math", size, bold, bar)
    return _label(*_set(atoms, float(size), 0.0, 0.0), spoken_text(atoms), typed)


@lru_cache(maxsize=4096)
def sans(text: str, size: float = 14, weight: int = 400) -> Label:
    """Sets a line of plain text, as in titles and callouts; text between two $ is set by `math`.

    >>> sans("Multi-Head Attention").spans[0].face.family
    'NCD Sans'
    >>> sans("These are $k × h$-shaped").words
    'These are k by h-shaped'
    """
    set_, words = _prose(text, float(size), weight, SANS)
    return _label(*set_, words, LabelSource(text, "sans", size, weight > 400))


@lru_cache(maxsize=4096)
def roman(text: str, size: float = 16, weight: int = 400) -> Label:
    """Sets a line of upright text in the formulas' face, for function names such as Max.

    >>> roman("Max").spans[0].face.style
    'normal'
    """
    set_, words = _prose(text, float(size), weight, ROMAN)
    return _label(*set_, words, LabelSource(text, "roman", size, weight > 400))


def unbroken(text: str) -> list[str]:
    """Returns the parts of a text that stay on one line: words, some with a letter behind.

    >>> unbroken("Operation on a value, element-wise $f$")
    ['Operation', 'on', 'a', 'value,', 'element-wise $f$']
    """
    return re.findall(r"(?:\$[^$]*\$|\S)+(?: \$\w\$(?=\s|$))?", text)


@lru_cache(maxsize=1024)
def wrap(text: str, width: float, size: float = 14) -> tuple[Label, ...]:
    """Breaks text into lines of `sans` no wider than `width`, except for longer single words.

    >>> [line.words for line in wrap("We copy the injected data", 90)]
    ['We copy the', 'injected data']
    """
    lines: tuple[str, ...] = ()
    for word in unbroken(text):
        longer = f"{lines[-1]} {word}" if lines else word
        fits = sans(longer, size).width <= width
        lines = (*lines[:-1], longer) if fits or not lines else (*lines, word)
    return tuple(sans(line, size) for line in lines)
