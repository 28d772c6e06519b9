"""A lesson as data: its link and file, the written ones, and one made from a term.

A view is the address of a page: its name and its query, which has the sizes, the selection and the
open panel. A link has ``name?query#line``, separated by semicolons; ``presenter.js`` writes the
same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from ncd.circuit.circuit import Cell, Circuit, Fence, Value
from ncd.circuit.costs import Cost, cost_of
from ncd.circuit.elaborate import elaborate
from ncd.circuit.knob import Knob
from ncd.errors import LimitError, NCDError, ParseError, short_repr
from ncd.installation import package_path
from ncd.language.arguments import check_text
from ncd.language.axes import Axis
from ncd.language.torch_code import Arg
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import Question, question
from ncd.words import list_words, nearest_name, plain_text

# --- A lesson as data: its text in a link, and its JSON file

MAX_VIEWS = 40  # views
LETTERS = 8000  # of all of them in a link
LINE = 200  # letters
FILE = 64_000  # letters of a file
FORMAT = "neural circuit lesson, version 1"
VIEW = re.compile(r"([^?#]*)\??([^#]*)#?(.*)", re.DOTALL)
QUERY = re.compile(r"[A-Za-z0-9%.~+=&,:!*'()/@$|_-]*")  # as a browser writes a query
SAFE = "!'()*~"  # what encodeURIComponent leaves, beside letters, digits and "-._"
FIELDS = ("page", "query", "says")
SHAPE = '{"views": [{"page": "unet", "query": "c=8", "says": "Twice the channels."}]}'


@dataclass(frozen=True)
class LessonStep:
    """A page at a query such as ``h=8&panel=Cost``, and the line that is said with it."""

    page: str
    query: str = ""
    says: str = ""

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"{self.page}{query}{f'#{quote(self.says, safe=SAFE)}' if self.says else ''}"


@dataclass(frozen=True)
class Lesson:
    """Some views in order.

    >>> lesson = Lesson((LessonStep("unet", "c=16", "Twice."), LessonStep("unet")))
    >>> str(lesson), Lesson.of_link(str(lesson), {"unet"}) == lesson
    ('unet?c=16#Twice.;unet', True)
    >>> Lesson.of_json(lesson.json(), {"unet"}) == lesson
    True
    """

    views: tuple[LessonStep, ...]

    def __str__(self) -> str:
        return ";".join(map(str, self.views))

    @classmethod
    def of_link(cls, text: str, pages: Collection[str]) -> Lesson:
        """Returns the lesson of a link, without the views of pages that do not exist.

        Raises LimitError for a text that is too long.
        """
        if len(text) > LETTERS:
            raise LimitError(
                f"the views have {len(text):,} letters, at most {LETTERS:,} are read",
                cure="fewer views",
            )
        views = []
        for part in text.split(";"):
            match = VIEW.fullmatch(part)
            assert match is not None
            page, query, says = match.groups()
            if page in pages:
                views.append(LessonStep(page, query, unquote(says)[:LINE]))
        return cls(tuple(views[:MAX_VIEWS]))

    def json(self) -> str:
        """Returns the text of the lesson's file."""
        views = [{name: getattr(view, name) for name in FIELDS} for view in self.views]
        return json.dumps({"format": FORMAT, "views": views}, indent=2, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str, pages: Collection[str]) -> Lesson:
        """Returns the lesson of a file.

        Raises ParseError for a text that is no lesson, LimitError for one that is too long, each
        with the view and the field in question.
        """
        if len(text) > FILE:
            fact = f"the file has {len(text):,} letters, at most {FILE:,} are read"
            raise LimitError(fact, cure="fewer views")
        said = _read(text)
        if not isinstance(said, dict) or not isinstance(said.get("views"), list):
            raise ParseError('a lesson is an object with a list "views"', cure=SHAPE)
        views = said["views"]
        if not 0 < len(views) <= MAX_VIEWS:
            fact = f"the lesson has {len(views)} views"
            raise LimitError(fact, cure=f"1 to {MAX_VIEWS}")
        lesson = cls(tuple(_view(each, n, pages) for n, each in enumerate(views, 1)))
        return cls.of_link(str(lesson), pages)  # also if it is too long for a link


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ParseError("the file is nested too deep for a lesson", cure=SHAPE) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ParseError(f"the file is not JSON at {where}: {error.msg}", cure=SHAPE) from None
    except ValueError:  # a number of thousands of digits
        raise ParseError("the file has a number that no lesson has", cure=SHAPE) from None


def _view(said: Any, n: int, pages: Collection[str]) -> LessonStep:
    """Returns a view of a file, checked field by field."""
    where = f"view {n}"
    if not isinstance(said, Mapping):
        cure = f"an object with {', '.join(FIELDS)}"
        raise ParseError(f"{short_repr(said)} is not a view", where=where, cure=cure)
    for name, value in said.items():
        if name not in FIELDS:
            cure = nearest_name(name, FIELDS)
            raise ParseError(f"there is no field {short_repr(name)}", where=where, cure=cure)
        if not isinstance(value, str):
            raise ParseError(f"{name} is {short_repr(value)}, but it is a text", where=where)
        check_text(value, name, where)
    view = LessonStep(**said) if "page" in said else LessonStep("")
    if view.page not in pages:
        cure = nearest_name(view.page, pages)
        raise ParseError(f"there is no page {short_repr(view.page)}", where=where, cure=cure)
    if not QUERY.fullmatch(view.query):
        fact = f"query is {short_repr(view.query)}, but it is the part of an address after its “?”"
        raise ParseError(fact, where=where, cure='"h=8&panel=Cost"')
    if len(view.says) > LINE:
        fact = f"says has {len(view.says):,} letters, at most {LINE} are shown"
        raise LimitError(fact, where=where, cure="a shorter line")
    return view


# --- The lesson of a system that has no written one, made from its term

BLOCKS, OPS = 2, 2  # views of them, at most
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PASSING = ("copy", "reshape", "neutral")  # roles of ops that only pass arrays on


def default_lesson(entry: Entry) -> tuple[LessonStep, ...]:
    """Returns views of a system: the whole, its blocks, its main ops, and what it costs.

    The first has no line, as the page's own first sentence stands there.

    >>> import ncd
    >>> default_lesson(ncd.catalogue["grouped-queries"])[1].says
    'Grouped-Query Attention takes three arrays t̄ m, and gives t̄ m.'
    """
    whole = LessonStep(entry.name)
    try:
        circuit = elaborate(entry.build())
        cost = cost_of(circuit)
    except NCDError:  # a text whose sizes are not known
        return (whole,)
    found = [
        *_blocks(circuit),
        *_shapes(entry, circuit),
        *_busiest(entry),
        *_growth(entry),
        ("panel=Cost&with=panel", _total(cost)),
    ]
    views = (LessonStep(entry.name, query, says[:LINE]) for query, says in found)
    return (whole, *views)


def _blocks(circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Yields the first blocks with a title, each title once."""
    seen: dict[str, Fence] = {}
    for fence in circuit.fences:
        inner = [cell for cell in circuit.cells if fence.id in cell.fences]
        if fence.title.strip() and len(inner) > 1:
            seen.setdefault(_title(fence), fence)
    for title, fence in list(seen.items())[:BLOCKS]:
        ins, outs = (_arrays(fence.states[end]) for end in (0, -1))
        takes = f"takes {ins}, and gives" if ins else "gives"
        yield f"select={fence.id}", f"{title} {takes} {outs}."


def _title(fence: Fence) -> str:
    return plain_text(fence.title.strip())


def _arrays(values: Sequence[Value]) -> str:
    """Returns the axes of some arrays: ``ȳ k and two arrays x̄ k``."""
    axes = (" ".join(map(_axis, value.array)) for value in values)
    return list_words(_times(name, n) for name, n in Counter(axes).items())


def _times(axes: str, n: int) -> str:
    if n == 1:
        return axes or "a number"
    count = COUNTS[n] if n < len(COUNTS) else f"{n:,}"
    return f"{count} arrays {axes}" if axes else f"{count} numbers"


def _axis(axis: Axis) -> str:
    return f"{axis.display_name}\u0304" if axis.sequence else axis.display_name


def _shapes(entry: Entry, circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Yields the ops that change axes the most, each asked for its shape."""
    cells = [cell for cell in circuit.cells if cell.inputs and len(cell.outputs) == 1]
    chosen: dict[str, Cell] = {}  # one of each role
    for cell in sorted(cells, key=_news, reverse=True):
        role = cell.op.role
        worth = _changed_axis_count(cell) or not chosen
        if len(chosen) < OPS and role not in chosen and worth and _question(entry, _asking(cell)):
            chosen[role] = cell
    for cell in sorted(chosen.values(), key=cells.index):
        yield f"ask={_asking(cell)}", f"{cell.op.display_name} takes {_arrays(cell.inputs)}."


def _asking(cell: Cell) -> str:
    return f"shape:{cell.outputs[0].id}"


def _question(entry: Entry, ask: str) -> Question | None:
    return question(entry, entry.settings({}), ask)


def _news(cell: Cell) -> int:
    """Returns how many axes an op adds and drops, less for one that changes no numbers."""
    calls = cell.expressions
    passes = all(isinstance(call, Arg) for call in calls)
    return _changed_axis_count(cell) + (cell.op.role not in PASSING) * 2 - passes * 9


def _changed_axis_count(cell: Cell) -> int:
    """Returns how many axes go in and do not leave, or the other way."""
    ins = {axis.display_name for value in cell.inputs for axis in value.array}
    outs = {axis.display_name for value in cell.outputs for axis in value.array}
    return len(ins ^ outs)


def _busiest(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yields the op with the most parameters, or the most work, asked for first and then shown.

    Where it is another op at the published sizes, those are asked about: what is said of a model is
    true of the published one.
    """
    for what, verb, all_verb in (
        ("parameters", "has parameters", "have parameters"),
        ("flops", "multiplies arrays", "multiply arrays"),
    ):
        ask = f"most:{what}"
        at = _published_sizes(entry, ask)
        if found := question(entry, entry.settings(at), ask):
            ops = cost_of(elaborate(entry.build(**entry.settings(at)))).ops
            busy = [op for op in ops if getattr(op, what)]
            sizes = "".join(f"{name}={n}&" for name, n in at.items())
            does = verb if len(busy) == 1 else all_verb
            yield f"{sizes}ask={ask}", f"{len(busy)} of its {len(ops)} operations {does}."
            same = (op for op in busy if op.label == found.answers[found.answer_index])
            largest = max(same, key=lambda op: getattr(op, what))
            yield f"{sizes}select={largest.node}", found.explanation
            return


def _published_sizes(entry: Entry, ask: str) -> dict[str, int]:
    """Returns the sizes that a published model changes, if a question has another answer there."""
    usual = _question(entry, ask)
    if not usual or not entry.presets:
        return {}
    settings = entry.settings(entry.presets[0].knobs)
    there = question(entry, settings, ask)
    if not there or there.answers[there.answer_index] == usual.answers[usual.answer_index]:
        return {}
    return {name: n for name, n in settings.items() if n != entry.settings({})[name]}


def _growth(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yields what doubling a size does to the cost, asked for first and then shown."""
    for what in ("parameters", "flops"):
        for knob in filter(_grows, entry.knobs):
            now, then = knob.default, 2 * knob.default
            found = _question(entry, f"{what}:{knob.name}={then}")
            if found and found.answers[found.answer_index] != "just as many":
                meaning = f" ({knob.help})" if knob.help else ""
                says = f"We double {knob.name}{meaning}, now {now}."
                yield f"ask={what}:{knob.name}={then}", says
                yield f"{knob.name}={then}", f"{knob.name} is {then}. {found.explanation}"
                return


def _grows(knob: Knob) -> bool:
    return knob.is_size and knob.most is None and not knob.below and 2 * knob.default <= knob.max


def _total(cost: Cost) -> str:
    learned = f"{cost.parameters:,} parameters" if cost.parameters else "Nothing here is learned"
    if not cost.flops:
        return f"{learned}, and no arrays are multiplied: the work counts as 0."
    return f"{learned}; {cost.flops:,} floating-point operations in one pass."


# --- Lessons from the files of ``assets/lessons``; systems without a file have one made from them

FOLDER = package_path("assets", "lessons")


def lesson_of(entry: Entry) -> Lesson:
    """Returns the lesson of a system.

    >>> import ncd
    >>> lesson_of(ncd.catalogue["unet"]).views[0].page
    'unet'
    """
    return written_lessons().get(entry.name) or _default(entry)


@lru_cache(1)
def written_lessons() -> dict[str, Lesson]:
    """Returns the lessons that have a file, by the name of their system."""
    files = sorted(FOLDER.glob("*.json"))
    return {file.stem: Lesson.of_json(file.read_text(), CATALOGUE) for file in files}


@lru_cache(128)
def _default(entry: Entry) -> Lesson:
    return Lesson(default_lesson(entry))
