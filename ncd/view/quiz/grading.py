"""Grades answers to "what shape leaves here?", axis by axis."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ncd.export import markup
from ncd.lang.types.axes import Array, Axis

LONGEST = 200  # characters of an answer
SMALL = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789", "_{}")
SIZE = re.compile(r"\d{1,12}(?:[x×*]\d{1,12})*")
GLUED = re.compile(r"(?P<name>.*\D)(?P<size>\d{1,12}(?:[x×*]\d{1,12})*)")
NOTHING = {"()", "1", "[]", "scalar", "number", "a number"}  # answers that mean no axis


class Verdict(NamedTuple):
    """The reply to an answer, as HTML; an answer that is not ``whole`` does not count as a try."""

    right: bool
    words: str
    whole: bool = True


class Item(NamedTuple):
    """A part of an answer: an axis name, a size, or both."""

    called: str
    sizes: tuple[int, ...]


def grade(
    text: str,
    wanted: Array,
    known: Iterable[Axis],
    found: Collection[str] = (),
    taken: Collection[str] = (),
    drawn: Sequence[str] = (),
) -> Verdict:
    """Grades a text as the shape of an array, and says what is wrong with it.

    Names, sizes or both are accepted, in the array's order or in that of its wires (``drawn``).
    ``known`` are the axes that may be named. The size of an axis in ``found`` must be stated, as
    it is computed and not given. ``taken`` are the input axes of the op that the array leaves.

    >>> y, x, h = (Axis(name, n) for name, n in (("y", 20), ("x", 22), ("h", 4)))
    >>> grade("y 20 h=4", Array((y, x, h)), (y, x, h)).words
    'You forgot <i class="axis" data-axis="x">x</i>.'
    >>> [grade(text, Array((y, h)), (y, x, h)).right for text in ("y h", "20 4", "(4, 20)")]
    [True, True, False]
    >>> grade("z", Array((y,)), (y, Axis("y_2", 5, label="y"))).words
    '“z” is no axis here. There are <i class="axis" data-axis="y_2">y</i>.'
    """
    known = tuple(known)
    text = text[:LONGEST].strip()
    if not text:
        return Verdict(False, "Type a shape, or click it together.", whole=False)
    if not wanted and text.lower() in NOTHING:
        return Verdict(True, "")
    items, strange = read(text, known)
    if strange:
        names = ", ".join({axis.called: _named(axis) for axis in known}.values())
        what = markup.text(", ".join(f"“{word[:20]}”" for word in strange[:3]))
        return Verdict(False, f"{what} is no axis here. There are {names}.", whole=False)
    if sorted(drawn) == sorted(wanted.names) and _follows(items, wanted, drawn):
        wanted = wanted.with_axes(wanted[wanted.names.index(name)] for name in drawn)
    if any(item.called for item in items):
        return _by_names(items, wanted, found, taken)
    return _by_sizes(_flat(items), wanted)


def _follows(items: Sequence[Item], wanted: Array, drawn: Sequence[str]) -> bool:
    """Returns whether an answer lists the axes from the upper wire to the lower."""
    axes = {axis.name: axis for axis in wanted}
    if any(item.called for item in items):
        return [item.called for item in items] == [axes[name].called for name in drawn]
    return _flat(items) == [size for name in drawn for size in axes[name].shape]


def _flat(items: Sequence[Item]) -> list[int]:
    return [size for item in items for size in item.sizes]


def read(text: str, known: Iterable[Axis]) -> tuple[list[Item], list[str]]:
    """Returns the parts of an answer, and the words that could not be read.

    >>> read("(y 20, k:16)", (Axis("y", 20), Axis("k", 16)))
    ([Item(called='y', sizes=(20,)), Item(called='k', sizes=(16,))], [])
    >>> read("yk 16x16 z", (Axis("y", 20), Axis("k", 16)))[1]
    ['z']
    """
    names = _names(known)
    items: list[Item] = []
    strange: list[str] = []
    for word in re.split(r"[\s,;:=()\[\]·]+", text):
        parts = _parts(word, names)
        if parts is None:
            strange.append(word)
        for called, sizes in parts or ():
            if not called and items and _takes(items[-1], names):
                items[-1] = Item(items[-1].called, items[-1].sizes + sizes)
            else:
                items.append(Item(called, sizes))
    return items, strange


def _names(known: Iterable[Axis]) -> dict[str, Axis]:
    """Returns every way to write the name of an axis."""
    found: dict[str, Axis] = {}
    for axis in known:
        for name in (axis.called, axis.name, axis.identifier):
            if not name.isdecimal():
                found.setdefault(_plain(name), axis)
    return found


def _plain(name: str) -> str:
    return name.translate(SMALL)


def _parts(word: str, names: Mapping[str, Axis]) -> list[Item] | None:
    """Returns the parts that one word states, or None."""
    if not word:
        return []
    if _plain(word) in names:
        return [Item(names[_plain(word)].called, ())]
    if SIZE.fullmatch(word):
        return [Item("", _sizes(word))]
    glued = GLUED.fullmatch(word)
    if glued and _plain(glued["name"]) in names:
        return [Item(names[_plain(glued["name"])].called, _sizes(glued["size"]))]
    if all(letter in names for letter in word):
        return [Item(names[letter].called, ()) for letter in word]
    return None


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.split("[x×*]", text)))


def _takes(item: Item, names: Mapping[str, Axis]) -> bool:
    """Returns whether a size that follows belongs to this axis; a group takes one for each side."""
    axis = names.get(_plain(item.called))
    sides = 1 if axis is None or axis.size is None else len(axis.shape)
    return bool(item.called) and len(item.sizes) < sides


def _by_names(
    items: Sequence[Item], wanted: Array, found: Collection[str], taken: Collection[str]
) -> Verdict:
    left = list(items)
    pairs = [(axis, _taken(axis.called, left)) for axis in wanted]
    names = [item.called for item in items]
    missing = [_named(axis) for axis, item in pairs if item is None]
    faults = [f"You forgot {_listed(missing)}."] if missing else []
    faults += [_extra(item, wanted, taken) for item in dict.fromkeys(left)]
    if not faults and names != [axis.called for axis in wanted]:
        faults.append("These are the right axes, in another order.")
    given = [(axis, item.sizes) for axis, item in pairs if item is not None]
    wrong = [_named(axis) for axis, sizes in given if sizes not in ((), axis.shape)]
    faults += [f"The size of {name} is another one." for name in wrong]
    unsaid = [_named(axis) for axis, sizes in given if axis.called in found and not sizes]
    if faults or not unsaid:
        return Verdict(not faults, " ".join(faults))
    words = f"The axes are right. What is the size of {_listed(unsaid)}?"
    return Verdict(False, words, whole=False)


def _taken(called: str, left: list[Item]) -> Item | None:
    """Removes and returns the first item that names an axis, or returns None."""
    found = next((item for item in left if item.called == called), None)
    if found is not None:
        left.remove(found)
    return found


def _extra(item: Item, wanted: Array, taken: Collection[str]) -> str:
    name = markup.text(item.called or "×".join(map(str, item.sizes)))
    if count := sum(axis.called == item.called for axis in wanted):
        return f"{name} stands there {'once' if count == 1 else 'twice'}."
    if item.called in taken:
        return f"{name} goes in, but does not leave here."
    return f"{name} does not leave here."


def _by_sizes(given: list[int], wanted: Array) -> Verdict:
    sizes = list(wanted.shape)
    if given == sizes:
        return Verdict(True, "")
    if sorted(given) == sorted(sizes):
        return Verdict(False, "These are the right sizes, in another order.")
    strange = [f"{n} is no size of it." for n in dict.fromkeys(given) if n not in sizes]
    if len(given) >= len(sizes):
        more = [f"That is {markup.counted(len(given) - len(sizes), 'size')} too many."]
        wrong = strange or [f"The sizes are {markup.counted(len(sizes), 'number')}, not these."]
        return Verdict(False, " ".join(more * (len(given) > len(sizes)) + wrong))
    left = Counter(given)
    missing = [_named(axis) for axis in wanted if not _covered(axis, left)]
    return Verdict(False, " ".join([f"You forgot {_listed(missing)}."] * bool(missing) + strange))


def _covered(axis: Axis, left: Counter[int]) -> bool:
    """Removes an axis' sizes from those left; returns whether all were there."""
    own = Counter(axis.shape)
    if own <= left:
        left.subtract(own)
        return True
    return False


def _named(axis: Axis) -> str:
    return markup.axis(axis)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
