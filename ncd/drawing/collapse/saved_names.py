"""The arrays that a repetition saves for another one, and their names in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ncd.lang.circuits.circuit import Circuit, Loop

LETTERS = "CDEFGHJK"

_Saved = Mapping[str, tuple[str, int, int]]  # for each array its letter, its number, of how many


class Places:
    """The arrays that the loops of a circuit save and load, with their names."""

    def __init__(self, circuit: Circuit) -> None:
        self.saved: _Saved
        loops = [u for u in circuit.units if isinstance(u, Loop) and u.kind == "repeat"]
        letters = iter(LETTERS)
        left = {loop.id: dict(_left(loop, letters)) for loop in loops}
        self.saved = {id: at for own in left.values() for id, at in own.items()}
        self.loaders = [loop for loop in loops if not left[loop.id] and self.calls_of(loop)]
        self.calls = {id: at for loop in self.loaders for id, at in self.calls_of(loop).items()}
        self.loaded = {v.id for loop in self.loaders for v in loop.inputs if v.id in self.saved}
        elsewhere = {v.id for u in circuit.units if isinstance(u, Loop) for v in u.inputs}
        elsewhere -= self.loaded  # a loop that takes them in another way
        self.savers = [
            loop
            for loop in loops
            if left[loop.id].keys() & self.loaded and not left[loop.id].keys() & elsewhere
        ]
        self.saved = {id: at for loop in self.savers for id, at in left[loop.id].items()}
        self.dropped = {
            unit.inputs[0].id: unit.id
            for unit in circuit.units
            if not unit.outputs and len(unit.inputs) == 1 and unit.inputs[0].id in self.saved
        }
        number = {unit.id: s for s, step in enumerate(circuit.steps) for unit in step}
        self.loaders = [
            loop for loop in self.loaders if any(v.id in self.saved for v in loop.inputs)
        ]
        self.after = {id: number[loop.id] + 1 for loop in self.savers for id in left[loop.id]}

    def calls_of(self, loop: Loop) -> Mapping[str, str]:
        """Returns the names of the arrays that the first body loads, if all bodies load alike."""
        found: list[list[tuple[str, int, int]]] = []
        for body in loop.bodies:
            found.append([self.saved[v.id] for v in body.inputs if v.id in self.saved])
        if not found[0] or len({len(one) for one in found}) > 1:
            return {}
        first = [v.id for v in loop.bodies[0].inputs if v.id in self.saved]
        calls = [_called([one[k] for one in found]) for k in range(len(first))]
        return dict(zip(first, calls, strict=True)) if all(calls) else {}


def _left(loop: Loop, letters: Iterator[str]) -> Iterator[tuple[str, tuple[str, int, int]]]:
    """Yields the arrays that every body leaves behind, with their letters and indexes."""
    more = {len(body.outputs) - len(body.inputs) for body in loop.bodies}
    if len(loop.bodies) < 2 or len(more) > 1 or min(more) < 1 or loop.memory:
        return
    outside = {value.id for value in loop.outputs}
    for k in range(min(more)):
        own = [body.outputs[len(body.inputs) + k].id for body in loop.bodies]
        letter = next(letters, "")
        if letter and outside.issuperset(own):
            for n, id in enumerate(own, start=1):
                yield id, (letter, n, len(own))


def _called(loaded: Sequence[tuple[str, int, int]]) -> str:
    """Returns the name that body λ loads: C_λ, or an index from the other end."""
    letters, numbers = {letter for letter, _, _ in loaded}, [number for _, number, _ in loaded]
    if len(letters) > 1:
        return ""
    (letter,), steps = letters, range(1, len(loaded) + 1)
    shift = numbers[0] - 1
    if all(number == numbers[0] + 1 - n for number, n in zip(numbers, steps, strict=True)):
        return f"{letter}_{{{numbers[0] + 1}-λ}}"
    if all(number == n + shift for number, n in zip(numbers, steps, strict=True)):
        return f"{letter}_{{λ+{shift}}}" if shift else f"{letter}_λ"
    return ""
