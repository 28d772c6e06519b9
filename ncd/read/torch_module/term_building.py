"""The recorded steps as a term, a block for each module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ncd.errors import NCDError
from ncd.language.axes import Array, Type
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.op import Op
from ncd.language.step_wires import AppliedTerm, drop_dead_steps, wire_together
from ncd.language.terms import Id, Term, Then
from ncd.ops import Add
from ncd.read.torch_calls.dimension_atoms import (
    AxisFactor,
    Dim,
    all_atoms,
    group_of,
    resolved_atoms,
)
from ncd.read.torch_calls.import_recorder import (
    ImportedArray,
    ImportedConstant,
    ImportStep,
    Path,
    RejectedSteps,
    identifier,
    reordering_op,
)
from ncd.read.torch_module.axis_names import AxisNames, PartOfGroup
from ncd.read.torch_module.graph_calls import fact
from ncd.read.torch_module.graph_reader import RecordedModule

# --- Joins the recorded steps to a term: wires between ops, and a block for each module

ALTERNATE = 4  # layers in a group that is repeated
Arrays = Mapping[ImportedArray, Array]
Slots = tuple[ImportedArray, ...]


@dataclass(frozen=True, eq=False)
class ModuleStep(AppliedTerm):
    """A step, the modules around it, and its weights."""

    path: Path = ()
    name: str = ""  # of the module that it is, such as ``layers.0``
    node: str = ""  # of torch's graph
    weights: tuple[ImportedConstant, ...] = ()

    @property
    def is_commutative(self) -> bool:
        """Whether the order of its arrays does not matter, as of a sum."""
        return isinstance(self.term, Add)

    @property
    def has_weights(self) -> bool:
        """Whether it has weights, which are in the order of the ops."""
        return bool(self.weights)


def assemble_term(
    items: Sequence[ModuleStep], inputs: Slots, outputs: Slots, arrays: Arrays
) -> Then:
    """Returns the term of all steps, in blocks for the modules."""
    return wire_together(
        _blocks(delay_constants(drop_dead_steps(items, outputs)), "", outputs, arrays),
        inputs,
        outputs,
        arrays,
    )


def origins(items: Sequence[ModuleStep], term: Term) -> tuple[str, ...]:
    """Returns the node of torch's graph for each op of a term, in order; empty for its wires."""
    waiting = [(op, item.node) for item in items for op in ops(item.term)]
    found = []
    at = 0
    for op in ops(term):
        same = at < len(waiting) and waiting[at][0] == op
        found.append(waiting[at][1] if same else "")
        at += same
    return tuple(found)


def ops(term: Term) -> Iterator[Op]:
    """Yields the ops of a term, in the order in which its circuit numbers them."""
    if isinstance(term, Op):
        yield term
    for part in term.children:
        yield from ops(part)


def delay_constants(items: Sequence[ModuleStep]) -> list[ModuleStep]:
    """Returns the items with each input-free item moved just before the first that needs it.

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


# modules ------------------------------------------------------------------------------------------


def _child(item: ModuleStep, base: str) -> tuple[str, str]:
    """Returns path and class of the module directly inside ``base`` that contains an item."""
    for path, kind in item.path:
        if not base or path.startswith(f"{base}."):
            return path, kind
    return "", ""


def _blocks(
    items: Sequence[ModuleStep], base: str, outputs: Slots, arrays: Arrays
) -> list[ModuleStep]:
    """Returns the items of a module, with a block for each module inside it."""
    found: list[ModuleStep] = []
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
    return _with_repetitions(_unique(found), outputs, arrays)


def _block(
    items: Sequence[ModuleStep],
    path: str,
    kind: str,
    base: str,
    before: Slots,
    needed: set[ImportedArray],
    arrays: Arrays,
) -> ModuleStep:
    """Returns the block of a module; the output of the previous step comes first in its inputs."""
    made = {slot for item in items for slot in item.gives}
    taken = dict.fromkeys(s for item in items for s in item.takes if s not in made)
    carried = [s for s in before if s in taken and s not in needed]
    takes = (*carried, *(s for s in taken if s not in carried))
    gives = tuple(slot for item in items for slot in item.gives if slot in needed)
    name = (path.removeprefix(f"{base}.") if base else path).partition("@")[0]
    body = wire_together(_blocks(items, path, gives, arrays), takes, gives, arrays)
    block = Block(body, kind, role_of(kind), identifier(name))
    return ModuleStep(block, takes, gives, name=name)


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


def _unique(items: Sequence[ModuleStep]) -> list[ModuleStep]:
    """Returns the items with new names for modules that are called more than once."""
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


def _with_repetitions(
    items: Sequence[ModuleStep], outputs: Slots, arrays: Arrays
) -> list[ModuleStep]:
    """Returns the items with equal neighbours, such as the layers of a model, as repetitions.

    Layers that alternate, such as those of Gemma 2, are repeated in groups.
    """
    found: list[ModuleStep] = []
    at = 0
    while at < len(items):
        sizes = (n for n in range(1, ALTERNATE + 1) if _run(items, at, n) >= 2 * n)
        n = next(sizes, 1)
        end = at + _run(items, at, n)
        later = {*outputs, *(slot for item in items[end:] for slot in item.takes)}
        if end - at < 2 or any({*one.gives} & later for one in items[at : end - 1]):
            found += items[at:end]
        else:
            parts = range(at, end, n)
            found.append(_repetition([_layer_group(items[i : i + n], arrays) for i in parts]))
        at = end
    return found


def _run(items: Sequence[ModuleStep], at: int, n: int) -> int:
    """Returns how many items repeat the first ``n`` of them, in whole groups."""
    end, more = at + 1, items[at].takes[len(items[at].gives) :]
    while end < len(items):
        first, last, item = items[at + (end - at) % n], items[end - 1], items[end]
        if not _continues(first, last, item) or item.takes[len(item.gives) :] != more:
            break
        end += 1
    return (end - at) // n * n


def _layer_group(items: Sequence[ModuleStep], arrays: Arrays) -> ModuleStep:
    """Returns a group of layers as one block."""
    if len(items) == 1:
        return items[0]
    first, last = items[0], items[-1]
    layers = [replace(item, term=_body(item, f"layer_{i}")) for i, item in enumerate(items)]
    body = wire_together(layers, first.takes, last.gives, arrays)
    block = Block(body, f"{len(items)} layers", "neutral", "")
    return ModuleStep(block, first.takes, last.gives, name=first.name)


def _continues(first: ModuleStep, last: ModuleStep, item: ModuleStep) -> bool:
    """Returns whether an item is the next layer: equal to the first, on the previous output."""
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


def _body(item: ModuleStep, name: str = "") -> Term:
    assert isinstance(item.term, Block)
    return replace(item.term, name=name)


def _repetition(items: Sequence[ModuleStep]) -> ModuleStep:
    first, last = items[0], items[-1]
    name = identifier(first.name.rpartition(".")[0].rpartition(".")[2] or "layers")
    memory = len(first.takes) - len(first.gives)
    try:
        term = Repeat((_body(first),) * len(items), name, False, memory)
    except NCDError as error:
        raise error.with_context(where=name) from None
    return ModuleStep(term, first.takes, last.gives, name=name)


# --- Builds the term of a module from its steps, once every axis has a name


def build_term(
    walked: RecordedModule,
) -> tuple[Term, tuple[ImportedConstant, ...], tuple[str, ...]]:
    """Returns the term of the steps, its weights, and the node of torch's graph of each op.

    Raises Refused for steps that do not fit.
    """
    steps = walked.builder.steps
    axes = AxisNames([slot.atoms for slot in walked.inputs.values()], steps, walked.caller_names)
    arrays: dict[ImportedArray, Array] = {}
    for slot in walked.inputs.values():
        bound = axes((slot.below,))[0] if slot.below is not None else None
        arrays[slot] = Array(axes(slot.atoms), bound)
    items = _items(steps, axes, arrays)
    outputs = []
    for value in walked.outputs:
        slot, more = _in_order(value.slot, all_atoms(value.dims), axes, arrays)
        outputs.append(slot)
        items += more
    ready = delay_constants(drop_dead_steps(items, tuple(outputs)))
    weights = tuple(weight for item in ready for weight in item.weights)
    inputs = tuple(walked.inputs.values())
    term = assemble_term(ready, inputs, tuple(outputs), arrays)
    return term, weights, origins(ready, term)


def _items(
    steps: Iterable[ImportStep], axes: AxisNames, arrays: dict[ImportedArray, Array]
) -> list[ModuleStep]:
    """Returns the ops of all steps.

    Raises Refused for all that do not fit, but for none that takes what another of them gives.
    """
    found: list[ModuleStep] = []
    reasons: dict[str, str] = {}
    for step in steps:
        if any(slot not in arrays for slot in step.takes):
            continue
        try:
            found.append(_item(step, axes, arrays))
        except RejectedSteps as error:
            reasons |= error.reasons
    if reasons:
        raise RejectedSteps(reasons)
    return found


def _item(step: ImportStep, axes: AxisNames, arrays: dict[ImportedArray, Array]) -> ModuleStep:
    """Returns the op of a step, and records the arrays that it gives; raises Refused."""
    given = [arrays[slot] for slot in step.takes]
    try:
        term = step.make(axes, given)
        found = (Id(Type(given)) >> term).cod if given else term.cod
        given_now = dict(zip(step.gives, found, strict=True))
        for slot, array in given_now.items():
            wanted = axes(_together(slot.atoms)).names
            if set(array.names) != set(wanted):
                raise RejectedSteps({step.node: f"it gives ({array}), not ({' '.join(wanted)})"})
        arrays |= given_now
    except (NCDError, PartOfGroup) as error:
        raise RejectedSteps({step.node: str(error)}) from None
    except Exception as error:  # whatever an op raises for what nobody has thought of
        raise RejectedSteps({step.node: f"it has no op here ({fact(error)})"}) from None
    return ModuleStep(term, step.takes, step.gives, step.path, weights=step.weights, node=step.node)


def _together(atoms: Iterable[AxisFactor]) -> Dim:
    """Returns atoms with those of a spatial group next to each other."""
    return tuple(dict.fromkeys(one for a in resolved_atoms(atoms) for one in group_of(a) or (a,)))


def _in_order(
    slot: ImportedArray, dim: Dim, axes: AxisNames, arrays: dict[ImportedArray, Array]
) -> tuple[ImportedArray, list[ModuleStep]]:
    """Returns an output with its axes in torch's order, and the op that puts them so."""
    array = arrays[slot]
    try:
        wanted = Array(axes(dim), array.below)
    except PartOfGroup:
        wanted = array
    if wanted.names == array.names:
        return slot, []
    ordered = slot.with_atoms(slot.atoms)
    arrays[ordered] = wanted
    return ordered, [ModuleStep(reordering_op(array, wanted), (slot,), (ordered,))]
