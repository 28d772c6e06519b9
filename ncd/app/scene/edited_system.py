"""The system of a text after edits, each made on the term after the one before.

The list of edits belongs to a text. A link holds both, so that a reload makes the edits again, and
without them the text is as it was.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any
from zlib import crc32

from ncd.app.scene.own_entry import (
    CUSTOM_PAGE,
    DEFAULT_TEXT,
    SERVED_MODULES,
    TEXT_KEY,
    VisitorSystem,
    edited_system,
    visitor_system,
)
from ncd.app.state.link_text import decompress_text
from ncd.circuit.circuit import Cell, Circuit, Fence, array_names
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.language.terms import Term
from ncd.rewrite.rewriting import Rewrite, apply
from ncd.rewrite.rules.rule import AXIS_PREFIX
from ncd.site.op_cards import title
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.tensors.einops_patterns import EINOPS, line_entry

EDITS_KEY = "edits"  # a session key, and the name in the link
MOST_EDITS = 200  # of a link
SIZE = re.compile(r":\d+(x\d+)*")  # of an axis


# --- The list of edits as text: one in a line


def write_edits(edits: Iterable[Rewrite]) -> str:
    """Returns a list of edits as the text that a link holds.

    >>> write_edits([Rewrite("remove", "n2")])
    '{"rewrite": "remove", "at": "n2"}'
    """
    return "\n".join(edit.to_json() for edit in edits)


def read_edits(text: str) -> tuple[Rewrite, ...]:
    """Returns the edits of a text; what follows one that cannot be read is left out.

    >>> [edit.name for edit in read_edits('{"rewrite": "remove", "at": "n2"}\\nnonsense')]
    ['remove']
    """
    found: list[Rewrite] = []
    for line in text.splitlines()[:MOST_EDITS]:
        try:
            found.append(Rewrite.from_json(line))
        except NCDError:
            break
    return tuple(found)


# --- The system after some edits


@dataclass(frozen=True)
class EditedSystem:
    """The system of a text after some edits.

    ``labels`` says each edit in words, ``refusal`` why the next one cannot be made, if it cannot.
    ``origins`` has the id of each part in the system before the last edit.
    """

    system: VisitorSystem
    edits: tuple[Rewrite, ...] = ()
    labels: tuple[str, ...] = ()
    refusal: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def term(self) -> Term:
        """The term at the sizes of its text."""
        return self.system.entry.build()


def system_after(text: str, edits: Sequence[Rewrite]) -> EditedSystem:
    """Returns the system of a text after edits; from the first impossible one on none is made.

    Raises NCDError for a text that cannot be read.
    """
    return _system_after(text, tuple(edits))


@lru_cache(256)
def _system_after(text: str, edits: tuple[Rewrite, ...]) -> EditedSystem:
    if not edits:
        return EditedSystem(visitor_system(text))
    before, last = _system_after(text, edits[:-1]), edits[-1]
    if before.refusal:
        return before
    try:
        circuit = elaborate(before.term)
        term = apply(circuit.term, last)
        system = edited_system(before.system, term)
        return EditedSystem(
            system,
            edits,
            (*before.labels, label(circuit, last)),
            origins=origins(circuit, elaborate(system.entry.build())),
        )
    except NCDError as error:
        return replace(before, refusal=str(error))


def entry_of(page: str, asked: Mapping[str, str]) -> Entry | None:
    """Returns the system of a page's address and query, after its edits; None if there is none."""
    text = decompress_text(asked.get(TEXT_KEY, DEFAULT_TEXT))
    if page == EINOPS.name and TEXT_KEY in asked and text is not None:
        return line_entry(text)  # whose line is checked when it is built
    if page != CUSTOM_PAGE:
        return SERVED_MODULES.get(page) or CATALOGUE.get(page)
    try:
        made = read_edits(decompress_text(asked.get(EDITS_KEY, "")) or "")
        return None if text is None else system_after(text, made).system.entry
    except NCDError:
        return None


# --- What edits are called


def label(circuit: Circuit, edit: Rewrite) -> str:
    """Returns an edit in words, with the part of the circuit that it is made on.

    >>> from ncd import parse
    >>> circuit = elaborate(parse('Linear("m:3 -> k:2", "Q") >> Softmax("k")'))
    >>> label(circuit, Rewrite("remove", "n1"))
    'Remove Softmax'
    >>> label(circuit, Rewrite("insert", "v1", (("op", "gelu"),)))
    'Insert GELU on q'
    """
    subject = place_words(circuit, edit.at)
    source = str(dict(edit.options).get("from", ""))
    said = edit.title.removesuffix(source) + place_words(circuit, source) if source else edit.title
    if edit.name == "remove":
        return f"{said} {subject}".strip()
    return f"{said} on {subject}" if edit.at[:1] == "v" else f"{subject}: {said}"


def place_words(circuit: Circuit, at: str) -> str:
    """Returns the name of an op, array, block or axis of a circuit.

    >>> from ncd import parse
    >>> circuit = elaborate(parse('Block(Linear("m:3 -> k:2", "Q"), "Query")'))
    >>> [place_words(circuit, at) for at in ("n0", "v0", "f0", "axis:m", "")]
    ['Linear Q', 'm', 'Query', 'axis m', 'the system']
    """
    if at.startswith(AXIS_PREFIX):
        return f"axis {at.removeprefix(AXIS_PREFIX)}"
    if at in circuit.values:
        return array_names(circuit).get(at) or str(circuit.values[at].array) or "a number"
    cell = next((cell for cell in circuit.cells if cell.id == at), None)
    if cell is not None:
        return cell.op.display_name
    return next((title(fence) for fence in circuit.fences if fence.id == at), "the system")


# --- Which part of the system before an edit each part is


def origins(old: Circuit, new: Circuit) -> dict[str, str]:
    """Returns the id in an old circuit of each op, array and block of a new one that is there too.

    >>> from ncd import parse
    >>> texts = 'Linear("m:3 -> k:2") >> Softmax("k")', 'Linear("m:3 -> k:2") >> Scale("k")'
    >>> old, new = (elaborate(parse(f"{text} >> Elementwise('relu')")) for text in texts)
    >>> {id: before for id, before in origins(old, new).items() if id[0] == "n"}
    {'n0': 'n0', 'n1': 'n1', 'n2': 'n2'}
    """
    found: dict[str, str] = {}
    for mine, theirs in zip(new.inputs, old.inputs, strict=False):
        found[mine.id] = theirs.id
    for one, other in _matches(old.cells, new.cells, _cell_key):
        found[other.id] = one.id
        for mine, theirs in zip(
            (*other.outputs, *other.inputs), (*one.outputs, *one.inputs), strict=False
        ):
            found.setdefault(mine.id, theirs.id)
    for fence, other_fence in _matches(old.fences, new.fences, _fence_key):
        found[other_fence.id] = fence.id
    return found


def _cell_key(cell: Cell) -> Hashable:
    return SIZE.sub("", repr(cell.op)), cell.path


def _fence_key(fence: Fence) -> Hashable:
    return fence.title, fence.role, fence.repeats, fence.scope


def _matches(old: Sequence[Any], new: Sequence[Any], key: Any) -> Iterable[tuple[Any, Any]]:
    """Yields pairs of equal parts in order, and of parts that stand in the place of each other."""
    matcher = SequenceMatcher(None, [*map(key, old)], [*map(key, new)], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal" or (kind == "replace" and b - a == d - c):
            yield from zip(old[a:b], new[c:d], strict=True)


def moved_ids(text: str, before: Sequence[Rewrite], after: Sequence[Rewrite]) -> dict[str, str]:
    """Returns the id before of each part after, where one list of edits begins with the other."""
    least = min(len(before), len(after))
    longer = max(before, after, key=len)
    if tuple(before[:least]) != tuple(after[:least]) or len(before) == len(after):
        return {}
    steps = [system_after(text, longer[: n + 1]).origins for n in range(least, len(longer))]
    found = dict(steps[-1])
    for step in reversed(steps[:-1]):
        found = {id: step[origin] for id, origin in found.items() if origin in step}
    return found if len(after) > len(before) else {origin: id for id, origin in found.items()}


def shape(entry: Entry) -> str:
    """Returns a short mark of the text of a system, by which the browser knows its drawing."""
    return f"{crc32(entry.text.encode('utf-8', 'replace')):x}" if entry.text else ""
