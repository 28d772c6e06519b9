"""Names are nouns or verbs of their subject, not a lone preposition, adjective or participle.

A name of several words is not looked at. What is written in files, links and arguments keeps the
name that it has there; so do a few words of the notation, and methods found by a class's name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.test_layering import FILES, ROOT


def words(text: str) -> set[str]:
    return {*text.split()}


PREPOSITIONS = words(
    """
    of on at in over before after inside around about with without under above below beside
    between within along across beyond apart outside near next here there elsewhere until since
    as by for from to into onto off out up down then again
    """
)
DETERMINERS = words(
    """
    own every each all any some several rest other another both whole one two more most least
    few many much only such same else that this what which where why how who when given
    """
)
ADJECTIVES = words(
    """
    plain usual free fine good bad right wrong able ready sure known unknown wide large small
    long short new old first last bare single sound stale closed loose tight full empty partial
    partly dear cheap
    """
)
PARTICIPLES = words(
    """
    told said found kept made shown drawn chosen written held seen taken sent left lit met
    spelt sold built bent bound dealt done fed felt gone got grown hung heard laid led lent
    lost meant paid sat shut slept spent stood sung swept thought thrown torn understood worn
    woken won begun broken brought caught
    """
)
WORDS = PREPOSITIONS | DETERMINERS | ADJECTIVES | PARTICIPLES
NOUNS = {"embed", "need", "feed", "speed", "seed", "bed", "shed", "red"}

# --- Names that stay

WRITTEN = words(
    """
    Array.below Repeat.shared Formats.cached Function.of Index.at Pad.before Pad.after
    Cumulative.how Reduce.how Swap.first Entry.cached PublishedModel.cached InputSpec.trained
    Rewrite.at Answer.assumed Edit.new ModuleCall.assumed ModuleCall.drawn ModuleCall.refused
    Field.assumed CallForm.first CallForm.last Report.refused CheckedTerm.where PeakMemory.how
    Options.collapsed Knob.least Knob.most Knob.below Ticket.ended
    RepeatLoop.shared
    ImportedArray.below WindowSizes.padded WindowSizes.left WindowWalk.before WindowWalk.after
    WindowWalk.apart TransposedSizes.reached
    """
)
PUBLIC = words("Given Imported Named Saved plain saved CircuitBuilder.then CircuitBuilder.beside")
NOTATION = words("Then Beside Infix.left Infix.right Rectangle.grown Curve.reversed")
BY_CLASS = words(
    """
    Scattered Filled _ExprCompiler.scattered _ExprCompiler.filled NodeWriter._scattered
    NodeWriter._filled
    """
)
MODELS = words(
    """
    Heads.most DecoderDesign.gated DecoderDesign.shared DecoderDesign.first DecoderDesign.tied
    Routing.normalised Rotary.interpolated T5Style.gated T5Style.tied
    """
)
OTHERS = words(
    """
    oembed LimitExceeded ImportFailed collapsed coloured WHY Terms.known Panel.about
    BoundFunction.named ImportRecorder.narrowed Form.scaled PageParts.below WhatMoves.around
    ThumbnailPlaces.placed
    """
)
STAY = WRITTEN | PUBLIC | NOTATION | BY_CLASS | MODELS | OTHERS


def is_vague(name: str) -> bool:
    """Returns whether a name is one word that says nothing of its subject."""
    word = name.strip("_").lower()
    if not word or "_" in word or name.startswith("__"):
        return False
    return word in WORDS or (bool(re.fullmatch("[a-z]+ed", word)) and word not in NOUNS)


def names(tree: ast.Module) -> Iterator[str]:
    """Yields the functions, classes and constants of a file, and the members of its classes."""
    for node in tree.body:
        yield from targets(node)
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AnnAssign):
                    yield from (f"{node.name}.{name}" for name in targets(member))


def targets(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    assigned = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    yield from (target.id for target in assigned if isinstance(target, ast.Name))


def vague_names() -> Iterator[tuple[str, str]]:
    for path in FILES:
        if path.relative_to(ROOT).parts[0] == "ncd":
            for name in names(ast.parse(path.read_text(encoding="utf-8"))):
                if is_vague(name.rpartition(".")[2]):
                    yield name, str(path.relative_to(ROOT))


def test_a_name_says_what_it_is() -> None:
    assert [(name, file) for name, file in vague_names() if name not in STAY] == []


def test_what_stays_is_there() -> None:
    assert STAY - {name for name, _ in vague_names()} == set()
