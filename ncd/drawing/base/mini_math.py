"""The mathematics of labels: parses typed text into atoms, and reads atoms aloud."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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
class Atom:
    text: str
    kind: str  # "name", "number", "space" or "sign"
    bold: bool = False
    bar: bool = False
    sub: tuple[Atom, ...] = ()
    sup: tuple[Atom, ...] = ()


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
_TYPED = str.maketrans({"-": "−", "*": "∗", "²": "^2", "³": "^3", "\n": " "})


def parse(text: str) -> tuple[Atom, ...]:
    plain = "".join(map(_decompose, _HYPHEN.sub("‐", text))).translate(_TYPED)
    return _atoms(_AROUND_SIGNS.sub(r"\1", plain).strip())


def _decompose(char: str) -> str:
    """Returns ȳ as y and a combining bar; other characters unchanged."""
    parts = unicodedata.normalize("NFD", char)
    return parts if parts[1:] == "\u0304" else char


def _atoms(text: str) -> tuple[Atom, ...]:
    atoms: tuple[Atom, ...] = ()
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "script":
            *rest, base = atoms or (Atom("", "sign"),)
            grouped = len(token[0]) > 2 and token[0][1] == "{"
            script = _atoms(token[0][2:-1] if grouped else token[0][1:])
            below = token[0][0] == "_"
            before = base.sub if below else base.sup
            if before:  # of n_1_2 the second index follows the first
                script = (*before, Atom(",", "sign"), *script)
            scripted = replace(base, sub=script) if below else replace(base, sup=script)
            atoms = (*rest, scripted)
        else:
            atoms += (_atom(token[0], token.lastgroup or "sign"),)
    return atoms


def _atom(text: str, kind: str) -> Atom:
    if kind not in ("barred", "name"):
        return Atom(text, kind)
    letters = text.rstrip(_BAR).replace("‐", "-")
    style = unicodedata.name(letters[0], "").rpartition(" ")[0]
    if style.startswith(("MATHEMATICAL BOLD", "MATHEMATICAL ITALIC")):  # but not 𝔼
        letters = unicodedata.normalize("NFKC", letters)
    return Atom(letters, "name", style.startswith("MATHEMATICAL BOLD"), kind == "barred")


def lead(atoms: tuple[Atom, ...], bold: bool, bar: bool) -> tuple[Atom, ...]:
    """Returns the atoms with the first name bold or barred."""
    first = next((i for i, atom in enumerate(atoms) if atom.kind == "name"), len(atoms))
    marked = (replace(a, bold=a.bold or bold, bar=a.bar or bar) for a in atoms[first : first + 1])
    return (*atoms[:first], *marked, *atoms[first + 1 :])


def say(atoms: tuple[Atom, ...]) -> str:
    words = " ".join(" ".join(_say_atom(atom)) for atom in atoms if atom.kind != "space")
    return re.sub(r"(^|minus )1 over ([234])$", lambda found: found[1] + FRACTIONS[found[2]], words)


def _say_atom(atom: Atom) -> Iterator[str]:
    greek = (unicodedata.name(c, c).removeprefix("GREEK SMALL LETTER ").lower() for c in atom.text)
    letters = atom.text.replace("-", "")
    plain = atom.kind == "number" or (letters.isascii() and letters.isalpha())
    spelled = atom.text if plain else " ".join(greek).replace("lamda", "lambda")
    yield SPOKEN.get(atom.text, spelled)
    if atom.bar:
        yield "bar"
    if atom.sub:
        yield f"sub {say(atom.sub)}"
    if atom.sup:
        power = say(atom.sup)
        label = atom.sup[0].kind == "name" and atom.sup[0].text[0].isupper()
        yield POWERS.get(power) or (f"superscript {power}" if label else f"to the {power}")
