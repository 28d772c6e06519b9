"""Puts steps together to a term: wires bring each op its arrays, modules become blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ncd.importing.base.import_values import Constant, Path, Slot
from ncd.importing.base.op_order import identifier
from ncd.lang.errors import NCDError
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.loops import Repeat
from ncd.lang.terms.terms import Beside, Id, Term, Then
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Add

Arrays = Mapping[Slot, Array]
Slots = tuple[Slot, ...]
ABREAST = 6  # ops that stand beside each other, at most


@dataclass(frozen=True, eq=False)
class Item:
    """A term with the arrays that it takes and gives, and the modules around it."""

    term: Term
    takes: Slots
    gives: Slots
    path: Path = ()
    name: str = ""  # of the module that it is, such as ``layers.0``
    weights: tuple[Constant, ...] = ()


def assembled(items: Sequence[Item], inputs: Slots, outputs: Slots, arrays: Arrays) -> Then:
    """Returns the term of all steps, in blocks for the modules."""
    whole = [Item(i.term, i.takes, i.gives, i.path) for i in late(alive(items, outputs))]
    return wired(_blocks(whole, "", outputs, arrays), inputs, outputs, arrays)


def alive(items: Sequence[Item], outputs: Slots) -> list[Item]:
    """Returns the items of which something is needed."""
    needed = {*outputs}
    found: list[Item] = []
    for item in reversed(items):
        if needed & {*item.gives}:
            found.insert(0, item)
            needed |= {*item.takes}
    return found


def late(items: Sequence[Item]) -> list[Item]:
    """Returns the items with those that take nothing just before the first that takes theirs.

    One that is taken in several modules stands before the first of them, in the module around.
    """
    found = [item for item in items if item.takes]
    for item in [item for item in items if not item.takes]:
        users = [one for one in found if {*one.takes} & {*item.gives}]
        if not users:
            found.append(item)
            continue
        path = _common([one.path for one in users])
        at = found.index(users[0])
        inside = users[0].path[: len(path) + 1]
        while len(inside) > len(path) and at and found[at - 1].path[: len(path) + 1] == inside:
            at -= 1
        found.insert(at, replace(item, path=path))
    return found


def _common(paths: Sequence[Path]) -> Path:
    """Returns the modules that all of these are in."""
    first = paths[0]
    same = 0
    while same < len(first) and all(path[: same + 1] == first[: same + 1] for path in paths):
        same += 1
    return first[:same]


# wires --------------------------------------------------------------------------------------------


def wired(items: Sequence[Item], inputs: Slots, outputs: Slots, arrays: Arrays) -> Then:
    """Returns the items one after the other, each with its arrays brought to the top."""
    state: Slots = inputs
    steps: list[Term] = [Id(Type(arrays[slot] for slot in inputs))]
    waiting = list(items)
    while waiting:
        group = _abreast(waiting)
        del waiting[: len(group)]
        needed = {*outputs, *(slot for item in waiting for slot in item.takes)}
        wanted = tuple(slot for item in group for slot in _taken(item, state))
        terms = [item.term for item in group]
        made = tuple(slot for item in group for slot in item.gives)
        at = _in_place(state, wanted, needed)
        if at:
            above = [Id(Type((arrays[slot],))) for slot in state[:at]]
            steps.append(Beside(*above, *terms))
            state = (*state[:at], *made, *state[at + len(wanted) :])
            continue
        rest = tuple(dict.fromkeys(slot for slot in state if slot in needed))
        steps += _brought(state, (*wanted, *rest), arrays)
        steps.append(terms[0] if len(terms) == 1 else Beside(*terms))
        state = (*made, *rest)
    steps += _brought(state, outputs, arrays)
    return Then(*steps)


def _in_place(state: Slots, wanted: Slots, needed: set[Slot]) -> int:
    """Returns the place where these arrays stand side by side, with all others still needed.

    Returns 0 if they are elsewhere, or on top.
    """
    if not wanted or needed & {*wanted} or {*state} - {*wanted} - needed:
        return 0
    at = state.index(wanted[0])
    return at if state[at : at + len(wanted)] == wanted and len({*state}) == len(state) else 0


def _taken(item: Item, state: Slots) -> Slots:
    """Returns what an item takes; a sum takes its arrays in the order in which they come."""
    if isinstance(item.term, Add) and {*item.takes} <= {*state}:
        return tuple(sorted(item.takes, key=state.index))
    return item.takes


def _abreast(items: Sequence[Item]) -> list[Item]:
    """Returns the first items that do not need each other."""
    group = [items[0]]
    made = {*items[0].gives}
    for item in items[1:ABREAST]:
        blocks = isinstance(item.term, Block | Repeat) or isinstance(group[0].term, Block | Repeat)
        if blocks or made & {*item.takes} or bool(item.takes) != bool(group[0].takes):
            break
        group.append(item)
        made |= {*item.gives}
    return group


def _brought(state: Slots, wanted: Slots, arrays: Arrays) -> list[Term]:
    """Returns the wires from one state to another; none if they are the same."""
    if state == wanted:
        return []
    same = 0  # arrays at the end that stay where they are
    while same < min(len(state), len(wanted)) and state[-1 - same] is wanted[-1 - same]:
        same += 1
    before, after = state[: len(state) - same], wanted[: len(wanted) - same]
    if not before:  # a copy of what stays
        before, after = state[:1] or before, (*after, *state[:1])
    if {*after} - {*before}:
        before, after = state, wanted
    dom, cod = (Type(arrays[slot] for slot in slots) for slots in (before, after))
    places = " ".join(str(before.index(slot) + 1) for slot in after)
    return [Wire(Signature(dom, cod), places)]


# modules ------------------------------------------------------------------------------------------


def _child(item: Item, base: str) -> tuple[str, str]:
    """Returns path and class of the module just inside ``base`` that an item is in."""
    for path, kind in item.path:
        if not base or path.startswith(f"{base}."):
            return path, kind
    return "", ""


def _blocks(items: Sequence[Item], base: str, outputs: Slots, arrays: Arrays) -> list[Item]:
    """Returns the items of a module, with a block for each module inside it."""
    found: list[Item] = []
    at = 0
    while at < len(items):
        path, kind = _child(items[at], base)
        end = at + 1
        while path and end < len(items) and _child(items[end], base)[0] == path:
            end += 1
        if not path:
            found.append(items[at])
        else:
            later = [*items[end:]]
            needed = {*outputs, *(slot for item in later for slot in item.takes)}
            before = found[-1].gives if found else ()
            run = items[at:end]
            block = _block(run, path, kind, base, before, needed, arrays)
            found.append(block)
        at = end
    return _repeated(_unique(found), outputs)


def _block(
    items: Sequence[Item],
    path: str,
    kind: str,
    base: str,
    before: Slots,
    needed: set[Slot],
    arrays: Arrays,
) -> Item:
    """Returns the block of a module: what it takes from the step before stands first."""
    made = {slot for item in items for slot in item.gives}
    taken = dict.fromkeys(s for item in items for s in item.takes if s not in made)
    carried = [s for s in before if s in taken and s not in needed]
    takes = (*carried, *(s for s in taken if s not in carried))
    gives = tuple(slot for item in items for slot in item.gives if slot in needed)
    name = path.removeprefix(f"{base}.") if base else path
    body = wired(_blocks(items, path, gives, arrays), takes, gives, arrays)
    block = Block(body, kind, role_of(kind), identifier(name))
    return Item(block, takes, gives, name=name)


def role_of(kind: str) -> str:
    """Returns the colour of a module by its class."""
    words = {
        "attention": "module",
        "mlp": "linear",
        "feed": "linear",
        "norm": "activate",
        "conv": "convolution",
        "embed": "index",
        "encoder": "model",
        "decoder": "model",
    }
    return next((role for word, role in words.items() if word in kind.lower()), "neutral")


def _unique(items: Sequence[Item]) -> list[Item]:
    """Returns the items with other names for modules that run again."""
    seen: dict[str, int] = {}
    found = []
    for item in items:
        term = item.term
        if isinstance(term, Block) and term.name:
            seen[term.name] = seen.get(term.name, 0) + 1
            if seen[term.name] > 1:
                term = replace(term, name=f"{term.name}_{seen[term.name]}")
                item = replace(item, term=term)
        found.append(item)
    return found


# repetitions --------------------------------------------------------------------------------------


def _repeated(items: Sequence[Item], outputs: Slots) -> list[Item]:
    """Returns the items with equal neighbours, such as the layers of a model, as repetitions."""
    found: list[Item] = []
    at = 0
    while at < len(items):
        end = at + 1
        while end < len(items) and _continues(items[at], items[end - 1], items[end]):
            end += 1
        later = {*outputs, *(slot for item in items[end:] for slot in item.takes)}
        inner = {slot for item in items[at : end - 1] for slot in item.gives}
        found.append(items[at] if end - at < 2 or inner & later else _repetition(items[at:end]))
        if end - at >= 2 and inner & later:
            found += items[at + 1 : end]
        at = end
    return found


def _continues(first: Item, last: Item, item: Item) -> bool:
    """Returns whether an item is the next layer: equal to the first, on what the last gives."""
    n = len(last.gives)
    numbered = (
        first.name.rpartition(".")[2].isdecimal() and item.name.rpartition(".")[2].isdecimal()
    )
    return (
        numbered
        and 0 < n == len(first.gives)
        and item.takes[:n] == last.gives
        and item.takes[n:] == first.takes[n:]
        and not {*item.takes[n:]} & {*last.gives}
        and _body(first) == _body(item)
    )


def _body(item: Item) -> Term:
    assert isinstance(item.term, Block)
    return replace(item.term, name="")


def _repetition(items: Sequence[Item]) -> Item:
    first, last = items[0], items[-1]
    name = identifier(first.name.rpartition(".")[0].rpartition(".")[2] or "layers")
    memory = len(first.takes) - len(first.gives)
    try:
        term = Repeat((_body(first),) * len(items), name, False, memory)
    except NCDError as error:
        raise error.at(where=name) from None
    return Item(term, first.takes, last.gives, name=name)
