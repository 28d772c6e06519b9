"""Readable and unique names for classes, methods and arrays."""

from __future__ import annotations

import builtins
import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from keyword import iskeyword, kwlist
from textwrap import shorten
from typing import Protocol

from ncd.circuit.circuit import Cell, RepeatLoop, Value
from ncd.language.axes import Axis, Dim
from ncd.write.torch_source.line_breaking import WIDTH
from ncd.write.torch_source.scopes import CellCode, MethodBody, SourcePart

# --- Identifiers that Python and einops accept, hide nothing, and are unique

IMPORTED_NAMES = frozenset(("math", "torch", "nn", "F", "einsum", "rearrange", "Tensor", "self"))
TAKEN_NAMES = IMPORTED_NAMES | {
    *dir(builtins),
    *kwlist,
}  # a name that hides none of these is safe anywhere
AMBIGUOUS = frozenset("lOI")  # letters that look like others
EINOPS = frozenset(("tensor", "pattern"))  # the arguments of rearrange itself
Key = tuple[str, int]  # an axis, and its size or the side of a group
_SIDES = {1: "h", 2: "w", 3: "d"}


def ascii_identifier(text: str) -> str:
    """Returns the text as an ASCII identifier, or empty; several texts may give the same.

    >>> [ascii_identifier(text) for text in ("W^O", "2c", "λ", "ﬁ", "a_", "½")]
    ['W_O', 'n2c', 'lamda', 'fi', 'a', 'n1_2']
    """
    letters = "".join(map(_latin, unicodedata.normalize("NFKD", text)))
    name = re.sub(r"\W+", "_", letters, flags=re.ASCII).strip("_")
    return f"n{name}" if name[:1].isdigit() else name


def _latin(letter: str) -> str:
    if letter.isascii():
        return letter
    if unicodedata.combining(letter):
        return ""
    kind, _, rest = unicodedata.name(letter, "").partition(" ")
    word = rest.rpartition(" ")[2].lower()
    return word if kind == "GREEK" and word.isascii() and word.isalpha() else "_"


def variable(text: str) -> str:
    """Returns the text as a variable name that hides nothing.

    >>> variable("scores"), variable("2c"), variable("class")
    ('scores', 'n2c', 'class_')
    """
    name = ascii_identifier(text) or "x"
    return f"{name}_" if name in TAKEN_NAMES | AMBIGUOUS else name


def class_name(title: str) -> str:
    """Returns the title as a class name, or empty.

    >>> class_name("Scaled Dot-Product Attention"), class_name("self_attn"), class_name("2 heads")
    ('ScaledDotProductAttention', 'SelfAttn', 'Net2Heads')
    """
    words = re.findall(r"[A-Za-z0-9]+", unicodedata.normalize("NFKD", title))
    name = "".join(word[0].upper() + word[1:] for word in words)
    return f"Net{name}" if name[:1].isdigit() else name


def unique(name: str, taken: Container[str], join: str = "_") -> str:
    """Returns the name, with a number if it is taken: ``x_2``."""
    if name not in taken and not iskeyword(name):
        return name
    base = re.sub(r"_?\d+$", "", name).rstrip("_") or name
    count = 2
    while f"{base}{join}{count}" in taken:
        count += 1
    return f"{base}{join}{count}"


class UniqueNames:
    """Unique names for sizes or dimensions; anonymous ones are numbered."""

    def __init__(self, taken: Container[str] = (), anonymous: bool = False) -> None:
        self.taken, self.anonymous = taken, anonymous
        self.names: dict[Key, str] = {}
        self._used: set[str] = set()
        self._count: dict[str, int] = {}

    def name_for(self, key: Key, wanted: str) -> str:
        """Returns the name for a key; a new key gets the wanted name or one like it."""
        if key not in self.names:
            name = f"a{len(self.names)}" if self.anonymous else ascii_identifier(wanted) or "x"
            if name in self.taken or name in TAKEN_NAMES:
                name = f"n_{name}"
            while name in self.taken or name in self._used:
                self._count[name] = count = self._count.get(name, 1) + 1
                name = f"{name}_{count}"
            self._used.add(name)
            self.names[key] = name
        return self.names[key]

    def dim(self, dim: Dim) -> str:
        """Returns the name of a dimension: its axis', or ``x_h`` and ``x_w`` for a group."""
        side = f"_{_SIDES.get(dim.side, dim.side)}" if dim.side else ""
        return self.name_for(dim.key, f"{ascii_identifier(dim.name) or 'x'}{side}")


def attribute(on: str, name: str) -> str:
    """Returns code that reads an attribute, even if Python would mangle or reject its name."""
    return f"{on}.{name}" if _safe(name) else f"getattr({on}, {quote(name)})"


def assignment_code(name: str, kind: str = "module") -> tuple[str, str]:
    """Returns the code before and after the value that an attribute is set to."""
    if kind != "buffer" and _safe(name):
        return f"self.{name} = ", ""
    head = {"module": "add_module", "parameter": "register_parameter"}.get(kind, "register_buffer")
    return f"self.{head}({quote(name)}, ", ")"


def _safe(name: str) -> bool:
    return bool(re.fullmatch(r"(?!__)[A-Za-z_]\w*", name, re.ASCII)) and not iskeyword(name)


def quote(text: str) -> str:
    """Returns the text in double quotes, in ASCII."""
    inner = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{inner}"'


def comment(title: str) -> str:
    """Returns a title as a comment of one line, whatever it contains."""
    return shorten("".join(c if c.isprintable() else " " for c in title), WIDTH - 12)


# --- Readable names for the arrays of a method

GENERIC = ("", "x")


class NamingFacts(Protocol):
    """Facts about cells and axes that names are chosen by."""

    dims: UniqueNames

    def steps(self, cell: Cell) -> CellCode: ...


class VariableNames:
    """The variables of one method: the name of each array by id, and how long it is in use."""

    def __init__(self, known: NamingFacts, body: MethodBody) -> None:
        self.known, self.body = known, body
        self.names: dict[str, str] = {}  # of values, by their ids
        self.busy: dict[str, int] = {}  # names, and when what they hold is last needed
        self.real: dict[str, bool] = {}  # names, and whether they hold real numbers
        self._numbers: dict[str, int] = {}
        self._look_ahead()
        self._name_inputs()

    def _look_ahead(self) -> None:
        """Finds when each array is last used, and the names given to it later."""
        self.roots: dict[str, str] = {}
        self.given: dict[str, str] = {}
        self.last: dict[str, int] = {}
        self.times: list[int] = []
        now = 0
        for unit in self.body.units:
            self.times.append(now)
            if self.has_statement(unit):  # what is only copied or dropped is not needed for that
                self.last.update((self.root(value), now) for value in unit.inputs)
            if isinstance(unit, Cell):
                self._alias(unit)
            elif isinstance(unit.loop, RepeatLoop):  # each body has a time of its own
                for body in unit.bodies:
                    self.last.update((self.root(value), now) for value in body.inputs)
                    now += 1
            now += 1
        self.last.update((self.root(value), now) for value in self.body.outputs)

    def root(self, value: Value) -> str:
        return self.roots.get(value.id, value.id)

    def _alias(self, cell: Cell) -> None:
        steps = self.known.steps(cell)
        for value, source in steps.aliases(cell):
            self.roots[value.id] = self.root(source)
        name = cell.op.result_name(cell.site) if not steps.needs_statement else ""
        if name and len(cell.outputs) == 1:
            self.given.setdefault(self.root(cell.outputs[0]), variable(name.lower()))

    def has_statement(self, unit: Cell | SourcePart) -> bool:
        return isinstance(unit, SourcePart) or self.known.steps(unit).needs_statement

    def _name_inputs(self) -> None:
        several = len(self.body.inputs) > 1
        for value in self.body.inputs:
            axes = value.array if several else ()
            wanted = self._by_axis(axes[0]) if axes else "x"
            self.reserve(value, self.choose([self.given.get(value.id, wanted)], -1))
            name = self.names[value.id]
            self.busy[name] = max(self.busy[name], 0)  # two inputs have two names
        self.arguments = tuple(self.names[value.id] for value in self.body.inputs)

    def _by_axis(self, axis: Axis) -> str:
        name = self.known.dims.name_for((axis.name, 0), ascii_identifier(axis.name))
        return variable(name)

    # names ----------------------------------------------------------------------------------------

    def choose(self, wanted: Sequence[str], time: int, block: Iterable[str] = ()) -> str:
        """Returns the first name that is free, or the first with a number.

        Whatever is given this name hides the tensor that had it before, and need not be a tensor:
        a loop's variable may be a layer.
        """
        name = self._choose(wanted, time, set(block))
        self.real.pop(name, None)
        return name

    def _choose(self, wanted: Sequence[str], time: int, blocked: set[str]) -> str:
        wanted = [name if name.isidentifier() else _attribute_variable(name) for name in wanted]
        for name in wanted:
            if self.is_free(name, time, blocked):
                return name
        base = unique(wanted[0], {wanted[0]}).rpartition("_")[0]
        count = self._numbers.get(base, 2)
        while not self.is_free(f"{base}_{count}", time, blocked):
            count += 1
        if count > 50:  # not to try them all again where there are so many
            self._numbers[base] = count
        return f"{base}_{count}"

    def is_free(self, name: str, time: int, blocked: set[str]) -> bool:
        return name not in TAKEN_NAMES and name not in blocked and self.busy.get(name, -1) <= time

    def reserve(self, value: Value, name: str) -> None:
        self.names[value.id] = name
        self.busy[name] = self.last.get(self.root(value), -1)
        self.real[name] = value.array.below is None

    def name_candidates(self, cell: Cell, place: int) -> list[str]:
        """Returns possible names for a result, the best first."""
        value, op = cell.outputs[place], cell.op
        given = self.given.get(self.root(value))
        if given:
            return [given]
        words = [word.strip() for word in op.result_name(cell.site).split(",")]
        out = words[place] if place < len(words) else ""
        more = [name.lower() for name in (cell.name, type(op).__name__) if name]
        more = [name for name in map(ascii_identifier, more) if name not in AMBIGUOUS | TAKEN_NAMES]
        layer = cell.name.lower() if cell.name[-1:].isdecimal() else ""
        if out not in (*GENERIC, layer):
            return [variable(out), *more]
        if len(cell.outputs) > 1:
            return [self._by_axis(axis) for axis in _new_axes(cell, place)[:1]] or ["x", *more]
        ins = [self.names[value.id] for value in cell.inputs]
        if len(ins) == 1:
            same = cell.site.inputs[0].names == cell.site.outputs[0].names
            same = same or self.known.steps(cell).reshapes
            return [*(ins if same else []), "x", "out", *more]
        alike = zip(ins, cell.site.inputs, strict=True)
        kept = [name for name, array in alike if array.names == cell.site.outputs[0].names]
        return ["x", *kept, "out", *more]


def _new_axes(cell: Cell, place: int) -> list[Axis]:
    """The axes of an output that are in no input."""
    known = {name for array in cell.site.own_inputs for name in array.names}
    return [axis for axis in cell.site.own_outputs[place] if axis.name not in known]


def _attribute_variable(name: str) -> str:
    """Returns a variable name for an attribute: ``wte`` for ``self.wte``."""
    last = name.rpartition(".")[2]
    return variable(last) if last.isidentifier() else "x"
