"""What is true of a system at the settings of a view: sizes, costs, values, and what it lights."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from urllib.parse import parse_qsl

from torch import Tensor

import ncd
from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import Cost
from ncd.language.axes import Axis
from ncd.run.seeding import example_inputs
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import Question, question

Claim = Callable[["Facts"], bool]
NUMBERS = "two three four five six seven eight nine ten twelve seventy hundred thousand"
COUNTS = "twice half quarter thirds times double doubles doubled halve halves billion million"
COMPARED = "more fewer less most least larger largest smaller nearly almost hardly equal same alike"
STATES = re.compile(
    rf"\d|\b({'|'.join([*NUMBERS.split(), *COUNTS.split()])}|just as)\b", re.IGNORECASE
)  # a number, in a sentence of a page
COMPARES = re.compile(rf"{STATES.pattern}|\b({'|'.join(COMPARED.split())})\b", re.IGNORECASE)


def sentences(text: str) -> list[str]:
    """The sentences of a line or a paragraph."""
    return re.split(r"(?<=[.?!])(?<!al\.)\s+", " ".join(text.split()))


@dataclass
class Facts:
    """A system at some settings; ``query`` is the rest of a view's query."""

    entry: Entry
    settings: dict[str, int]
    query: dict[str, str]

    @classmethod
    def of(cls, name: str, query: str = "") -> Facts:
        entry, said = ncd.catalogue[name], dict(parse_qsl(query))
        knobs = {knob.name for knob in entry.knobs} & set(said)
        return cls(entry, entry.settings({n: int(said.pop(n)) for n in knobs}), said)

    def at(self, **knobs: int) -> Facts:
        """The same system at other sizes, the others at their defaults."""
        return Facts(self.entry, self.entry.settings(knobs), {})

    def published(self, preset: str, **knobs: int) -> Facts:
        """The system at the sizes of a preset."""
        return self.at(**{**self.entry.preset(preset).knobs, **knobs})

    @property
    def then(self) -> Facts:
        """The system after the change that the view asks about, as in ``ask=parameters:h=8``."""
        change = self.query["ask"].partition(":")[2]
        new = {name: int(n) for name, n in (pair.split("=") for pair in change.split(","))}
        return Facts(self.entry, {**self.settings, **new}, {})

    @cached_property
    def circuit(self) -> Circuit:
        return ncd.elaborate(self.entry.build(**self.settings))

    @cached_property
    def cost(self) -> Cost:
        return ncd.cost(self.circuit.term)

    def count(self, what: str, *ops: str) -> int:
        """The parameters or FLOPs of all ops, or of those whose labels match."""
        found = (op for op in self.cost.ops if not ops or any(_is(op.label, name) for name in ops))
        return sum(getattr(op, what) for op in found)

    def share(self, what: str, *ops: str) -> float:
        return self.count(what, *ops) / self.count(what)

    def grows(self, what: str, *ops: str) -> Fraction:
        """How many times as much it is as at the defaults."""
        return Fraction(self.count(what, *ops), self.at().count(what, *ops))

    def size(self, axis: str) -> int:
        return self._axis(axis).numel

    def shape(self, axis: str) -> tuple[int, ...]:
        return self._axis(axis).shape

    def _axis(self, name: str) -> Axis:
        axes = (axis for value in self.circuit.values.values() for axis in value.array)
        return next(axis for axis in axes if name in (axis.name, axis.display_name))

    def ops(self, label: str = "") -> list[Cell]:
        return [cell for cell in self.circuit.cells if _is(cell.op.display_name, label)]

    def ins(self, label: str) -> list[str]:
        """The axes of each array that goes into the first op of a label."""
        return [_text(value.array) for value in self.ops(label)[0].inputs]

    def outs(self, label: str) -> list[str]:
        return [_text(value.array) for value in self.ops(label)[0].outputs]

    @property
    def lit(self) -> list[str]:
        """The labels of the ops that the view lights."""
        id = self.query["select"]
        cells = (c for c in self.circuit.cells if id == c.id or id in c.fences)
        return [cell.op.display_name for cell in cells]

    @property
    def asked(self) -> Question:
        found = question(self.entry, self.settings, self.query["ask"])
        assert found is not None
        return found

    @property
    def answer(self) -> str:
        found = self.asked.answers[self.asked.answer_index]
        return found if isinstance(found, str) else _text(found)

    def value(self, label: str, n: int = 0) -> Tensor:
        """What leaves an op at random inputs and weights."""
        term = self.circuit.term
        trace = ncd.trace(ncd.compile(term), *example_inputs(term))
        return trace.values[self.ops(label)[n].outputs[0].id]


def growth_factor(f: Facts, knob: str) -> float:
    """How many times as large the question makes a size."""
    return f.then.settings[knob] / f.settings[knob]


def answer(right: str) -> Claim:
    """The claim that this is the right answer to a view's question."""
    return lambda f: f.answer == right


def _is(label: str, name: str) -> bool:
    return not name or label == name or label.split()[-1] == name or label.split()[0] == name


def _text(array: object) -> str:
    axes = array if isinstance(array, tuple) else getattr(array, "axes", None) or [array]
    return " ".join(getattr(axis, "called", str(axis)) for axis in axes)
