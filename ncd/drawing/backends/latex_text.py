r"""Labels in LaTeX: ``math("n_b")`` is ``$n_{b}$``, in whatever font a document has.

What plain pdflatex cannot set with amsmath and amssymb is written as a question mark.
"""

from __future__ import annotations

import unicodedata

from ncd.drawing.base.label import Label
from ncd.drawing.base.mini_math import Atom, lead, parse

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
SMALL = {
    *("alpha", "beta", "gamma", "delta", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"),
    *("nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "chi", "psi", "omega"),
}
CAPITALS = {"Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"}
ESCAPED = frozenset("#$%&_{}")
SPECIAL = {
    **{char: f"\\{char}" for char in sorted(ESCAPED)},
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
UNKNOWN = "?"


def latex(label: Label) -> str:
    r"""A label as LaTeX for running text.

    >>> from ncd.drawing.base.label import math, sans
    >>> latex(math("k^{-1/2}")), latex(math("x", bold=True, bar=True))
    ('$k^{-1/2}$', '$\\overline{\\mathbf{x}}$')
    >>> latex(sans("100% of $n_b$"))
    '\\textsf{100\\% of $n_{b}$}'
    """
    typed = label.typed
    if typed.mode == "math":
        return f"${_atoms(lead(parse(typed.text), typed.bold, typed.bar))}$"
    parts = typed.text.split("$") if typed.text.count("$") % 2 == 0 else [typed.text]
    inside = "".join(f"${_atoms(parse(p))}$" if i % 2 else prose(p) for i, p in enumerate(parts))
    inside = rf"\textbf{{{inside}}}" if typed.bold else inside
    return rf"\textsf{{{inside}}}" if typed.mode == "sans" else inside


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
    return UNKNOWN if sign is None else f"${sign}$"


def _sign(char: str) -> str | None:
    """A sign or a letter of mathematics, or nothing if LaTeX has none."""
    if char in SIGNS:
        return SIGNS[char]
    name = unicodedata.name(char, "")
    if name.startswith("GREEK "):
        word = name.rpartition(" ")[2].replace("LAMDA", "LAMBDA")
        word = word.capitalize() if "CAPITAL" in name else word.lower()
        return f"\\{word}" if word in SMALL | CAPITALS else None
    plain = unicodedata.normalize("NFKC", char)
    if name.startswith(("DOUBLE-STRUCK", "MATHEMATICAL DOUBLE-STRUCK")) and plain.isascii():
        return rf"\mathbb{{{plain}}}" if plain.isalpha() else rf"\mathbf{{{plain}}}"
    return plain if plain.isascii() and plain.isalnum() else None


def _atoms(atoms: tuple[Atom, ...]) -> str:
    return "".join(map(_atom, atoms)) or "{}"


def _atom(atom: Atom) -> str:
    base = _base(atom)
    if atom.bar:
        base = rf"\overline{{{base}}}"
    below = f"_{{{_atoms(atom.sub)}}}" if atom.sub else ""
    above = f"^{{{_atoms(atom.sup)}}}" if atom.sup else ""
    return f"{base or '{}'}{below}{above}"


def _base(atom: Atom) -> str:
    text = atom.text
    if atom.kind == "space":
        return r"\,"  # as thin as in SVG
    if atom.kind == "sign":
        if text.isascii() and text not in SIGNS:
            return f"\\{text}" if text in ESCAPED else text
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
