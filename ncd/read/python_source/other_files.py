"""Modules and functions of files that are not read: boxes, whose results are assumed."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from inspect import signature
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ncd.notation.call_form import RESULT, result_of
from ncd.read.python_source.interpreter import (
    AssumedSettings,
    Interpreter,
    Record,
    SourceFunction,
    UnknownValue,
    parameters,
)
from ncd.read.python_source.source_tree import syntax_tree
from ncd.read.python_source.usual_sizes import NO_USUAL_VALUE, ROUND_WIDTH, VALUES, usual_value
from ncd.words import list_words

# --- Modules and functions of files that are not read: boxes, whose results are assumed


@lru_cache(maxsize=1)
def imported_from(text: str) -> dict[str, str]:
    """Returns the files from which a source imports names, by these names, wherever it does.

    >>> imported_from("try:\\n    from .a import b\\nexcept ImportError:\\n    import c.d")
    {'b': 'a', 'c': 'c.d'}
    """
    found: dict[str, str] = {}
    for node in ast.walk(syntax_tree(text)):
        if isinstance(node, ast.Import):
            found |= {one.asname or one.name.partition(".")[0]: one.name for one in node.names}
        if isinstance(node, ast.ImportFrom):
            file = node.module or "another file"
            found |= {one.asname or one.name: file for one in node.names}
    return found


SPACE = "elsewhere"  # of torch's functions, in which the boxes stand
ARRAYS = 20  # that a box takes
MAX_BOXES = 60  # boxes of one source
NOT_MADE_REASON = "it is a module that the source does not make"
COUNT = 2  # modules in one of which a source takes several
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^0-9A-Za-z]+")
KEEPS = re.compile(  # whose second size is no width
    r"((Attention|Transformer)(Block|Layer)?|(En|De)coderLayer|Feed_?Forward)$"
)
ATTENDS = re.compile(r"attn|attention", re.IGNORECASE)  # of queries, keys and values
TABLE = re.compile(r"Embed(ding)?s?$")  # of a row for each whole number
WIDTHS = (  # arguments for what a layer takes and gives, by their names
    ("in_channels", "in_features", "in_chs", "in_dim", "input_size", "in_chans", "dim"),
    (
        "out_channels",
        "out_features",
        "out_chs",
        "out_dim",
        "hidden_size",
        "embed_dim",
        "embedding_dim",
        "dim_out",
    ),
)


class ExternalModule(nn.Module):
    """A module of a class that stands in another file.

    Args:
        machine: The interpretation, which notes what is assumed.
        value: The class.
        args: The arguments with which it is made.
        named: Those by name.
    """

    def __init__(
        self,
        machine: Interpreter,
        value: UnknownValue,
        args: Sequence[Any] = (),
        named: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.__dict__["made_of"] = (machine, value, tuple(args), dict(named or {}))
        self.__dict__["place"] = machine.node

    @property
    def title(self) -> str:
        """The name of its class in the source."""
        value: UnknownValue = self.__dict__["made_of"][1]
        return value.name

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, place: int) -> ExternalModule:
        """Returns one of the modules that it holds if a source takes it for several."""
        machine, value, *_ = self.__dict__["made_of"]
        parts = self.__dict__.setdefault("parts", [])
        if not parts:
            with machine.building_module():
                parts += [ExternalModule(machine, value) for _ in range(COUNT)]
        found: ExternalModule = parts[place]
        return found

    @property
    def width(self) -> int:
        """The features that it takes, by what it is made with; 0 if they are not known."""
        return _widths(*self.__dict__["made_of"][2:])[0]

    @property
    def settings(self) -> list[Any]:
        """The arguments with which it is made, those by name last."""
        return tree_leaves(self.__dict__["made_of"][2:])

    def holds(self, kinds: tuple[type[nn.Module], ...]) -> list[nn.Module]:
        """Returns the layers of such kinds that it is made with, those of pictures first."""
        parts = [x for one in self.settings if isinstance(one, nn.Module) for x in one.modules()]
        found = [one for one in parts if isinstance(one, kinds)]
        return sorted(found, key=lambda one: not isinstance(one, nn.Conv2d))

    def forward(self, *args: Any, **named: Any) -> Any:
        machine, value, made, words = self.__dict__["made_of"]
        place = self.__dict__["place"]
        return box(machine, value, (*args, *named.values()), (made, words), place)

    def attribute(self, name: str) -> Any:
        """Returns an attribute: an argument of that name, or what is usual for the name."""
        machine, value, _, named = self.__dict__["made_of"]
        return named[name] if name in named else unknown_attribute(machine, value, name, True)

    def __deepcopy__(self, memo: Any) -> ExternalModule:
        return ExternalModule(*self.__dict__["made_of"])


def is_class_name(value: UnknownValue) -> bool:
    """Returns whether the name of an unknown value is that of a class: it has capitals.

    >>> is_class_name(UnknownValue("geometric.GCNConv", ""))
    True
    >>> is_class_name(UnknownValue("make", ""))
    False
    """
    last = value.name.rpartition(".")[2]
    return last[:1].isupper() and any(letter.islower() for letter in last)


def box(
    machine: Interpreter,
    value: UnknownValue,
    given: Any,
    made: Any = ((), {}),
    place: ast.AST | None = None,
) -> Any:
    """Returns the result of a box: like its first array, in the width that its class is made with.

    Args:
        machine: The interpretation, which notes what is assumed.
        value: The function or class.
        given: What it is called on; arrays may stand in lists.
        made: The arguments with which its class is made, and those by name.
        place: Where it is made; where it is called by default.
    """
    if (whole := _record(given)) is not None:
        return _record_of_boxes(machine, value, whole, place)
    arrays = [x for x in tree_leaves(given) if isinstance(x, Tensor)][:ARRAYS]
    if not arrays:
        return UnknownValue(f"{value.name}(…)"[:80], value.reason)
    if value.name not in machine.boxes and len(machine.boxes) >= MAX_BOXES:
        raise machine.unknown_error(value)
    machine.boxes.setdefault(value.name, (value, place or machine.node))
    keeps = KEEPS.search(value.name) is not None
    attended = _attention_result(value, arrays) or _looked_up(value, arrays, *made)
    shape = attended or _shape(arrays, *(((), {}) if keeps else made))
    key = value.name, tuple(shape)
    machine.box_calls[key] = None
    shape = machine.typed_results.get(box_name(value.name), machine.box_fits.get(key, shape))
    result = box_of_shape(value, arrays, shape)
    machine.box_results.append(result)
    machine.box_inputs[id(result)] = value, arrays
    return result


def several_results(machine: Interpreter, result: Tensor, count: int) -> list[Tensor]:
    """Returns as many results of a box as a source takes: each is like the array in its place.

    So are those of ``q, k = rotate(q, k, angles)``, where the keys have fewer heads.
    """
    value, arrays = machine.box_inputs[id(result)]
    alike = [x for x in arrays if x.is_floating_point()][1:count]
    others = [
        result if x.shape == result.shape else box_of_shape(value, arrays, [*map(int, x.shape)])
        for x in alike
    ]
    return [result, *others, *[result] * (count - 1 - len(others))]


def box_result(
    machine: Interpreter,
    value: UnknownValue,
    arrays: list[Tensor],
    shape: list[int],
    place: ast.AST,
    is_known: bool,
) -> Tensor:
    """Returns a result of a box whose shape is known up to its width.

    Args:
        machine: The interpretation, which notes what is assumed.
        value: The class.
        arrays: What it is called on.
        shape: The shape of the result.
        place: Where the class is made.
        is_known: Whether the width is known too; else that which the next layer takes fits.
    """
    if is_known:
        machine.library_models[value.name] = None
    else:
        machine.boxes.setdefault(value.name, (value, place))
        machine.box_calls[value.name, tuple(shape)] = None
        shape = machine.box_fits.get((value.name, tuple(shape)), shape)
    return box_of_shape(value, arrays[:ARRAYS], shape)


def box_of_shape(value: UnknownValue, arrays: list[Tensor], shape: Sequence[int]) -> Tensor:
    """Returns the result of a box, of a shape that is known."""
    made: Tensor = getattr(getattr(torch.ops, SPACE), _function(value.name))(arrays, shape)
    return made


def _record(given: Any) -> Record | None:
    """Returns the object of arrays among what a function takes; None if there is none."""
    values = given if isinstance(given, tuple) else (given,)
    return next((one for one in values if isinstance(one, Record)), None)


def _record_of_boxes(
    machine: Interpreter, value: UnknownValue, whole: Record, place: ast.AST | None
) -> Record:
    """Returns an object like the one that a function takes: a box for each array of real numbers.

    Its whole numbers, such as the edges of a graph, are handed on.
    """
    made = Record()
    for name, one in whole.own.items():
        real = isinstance(one, Tensor) and one.is_floating_point()
        made.own[name] = box(machine, value, (one,), place=place) if real else one
    return made


def _attention_result(value: UnknownValue, arrays: list[Tensor]) -> list[int] | None:
    """Returns the shape of what attention gives: the places of the queries, the widths of values.

    >>> query, value = torch.zeros(2, 5, 8), torch.zeros(2, 7, 3)
    >>> _attention_result(UnknownValue("flash_attn_func", ""), [query, query, value])
    [2, 5, 3]
    """
    if not ATTENDS.search(value.name) or len({x.dim() for x in arrays[:3]}) > 1 or len(arrays) < 3:
        return None
    query, _, values = (x.shape for x in arrays[:3])
    return [*map(int, query[:-1]), int(values[-1])]


def _looked_up(
    value: UnknownValue, arrays: list[Tensor], args: Sequence[Any], named: dict[str, Any]
) -> list[int] | None:
    """Returns the shape of what a table gives for whole numbers; None for other layers.

    >>> _looked_up(UnknownValue("TokenEmbedding", ""), [torch.zeros(2, 5).long()], (100, 8), {})
    [2, 5, 8]
    """
    if not TABLE.search(value.name) or any(x.is_floating_point() for x in arrays):
        return None
    words = [named[n] for n in (*WIDTHS[1], *WIDTHS[0]) if type(named.get(n)) is int]
    widths = [*[n for n in args if type(n) is int][1:2], *words]
    return [*map(int, arrays[0].shape), widths[0]] if widths and widths[0] > 0 else None


def _shape(arrays: list[Tensor], args: Sequence[Any], named: dict[str, Any]) -> list[int]:
    """Returns the assumed shape of a result.

    >>> _shape([torch.zeros(2, 5, 8)], (8, 3), {}), _shape([torch.zeros(2, 8, 4, 4)], (8, 3), {})
    ([2, 5, 3], [2, 3, 4, 4])
    """
    first = next((x for x in arrays if x.is_floating_point()), arrays[0])
    shape = [int(n) for n in first.shape]
    taken, given = _widths(args, named)
    order = (1, len(shape) - 1) if len(shape) > 3 else (len(shape) - 1, 1)
    places = [d for d in order if 0 <= d < len(shape) and shape[d] == taken]
    if places and given > 0:
        shape[places[0]] = given
    return shape


def _widths(args: Sequence[Any], named: dict[str, Any]) -> list[int]:
    """Returns what a layer takes and gives, by the arguments with which it is made; 0 if unknown.

    >>> _widths((8,), {"out_channels": 3})
    [8, 3]
    """
    given = (x for x in (*args, *named.values()) if isinstance(x, nn.Module))
    layers = [x for x in next(given, nn.Identity()).modules() if isinstance(x, nn.Linear)]
    if layers and not any(type(x) is int for x in (*args, *named.values())):  # it runs on rows
        return [layers[0].in_features, layers[-1].out_features]
    sizes = [*takewhile(lambda n: type(n) is int, args)][:2]
    words = [next((named[n] for n in names if type(named.get(n)) is int), 0) for names in WIDTHS]
    return (sizes + words[len(sizes) :])[:2]


# --- The shapes of the results of boxes, which a source may state and a form asks for

MAX_ASKED = 3  # boxes that a form asks for


def box_name(name: str) -> str:
    """Returns the name of a box in a line: without its file, and what is put behind it.

    >>> box_name(".layers.make_norm(…)")
    'make_norm'
    """
    return name.removesuffix(RESULT_SUFFIX).rpartition(".")[2]


def take_results(machine: Interpreter, tree: ast.Module) -> None:
    """Takes lines such as ``Attention.result = torch.empty(1, 16, 64)`` out of a source.

    They state the shapes of the results of boxes, which are noted. A class of the source itself
    is no box.
    """
    own = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    kept = []
    for node in tree.body:
        stated = result_of(node)
        if stated is None or stated[0] in own:
            kept.append(node)
        else:
            machine.typed_results[box_name(stated[0])] = stated[1]
    tree.body = kept


def result_lines(machine: Interpreter) -> tuple[str, tuple[str, ...]]:
    """Returns the lines that state the results of a source's boxes, and the names of these.

    They are the first boxes that give arrays of one shape each.
    """
    shapes: dict[str, set[tuple[int, ...]]] = {}
    for name, assumed in machine.box_calls:
        shape = machine.box_fits.get((name, assumed), assumed)
        if name in machine.boxes:
            shapes.setdefault(box_name(name), set()).add(tuple(shape))
    typed = {name: tuple(shape) for name, shape in machine.typed_results.items()}
    found = {name: typed.get(name, next(iter(some))) for name, some in shapes.items()}
    asked = [
        name
        for name, shape in found.items()
        if name.isidentifier() and shape and (name in typed or len(shapes[name]) == 1)
    ][:MAX_ASKED]
    lines = (f"{name}.{RESULT} = torch.empty({str(found[name]).strip('(,)')})\n" for name in asked)
    return "".join(lines), tuple(asked)


def function_words(name: str) -> str:
    """Returns the name of a class or function as that of a function of torch.

    >>> function_words("torch_geometric.nn.GCNConv")
    'gcn_conv'
    """
    last = name.removesuffix("(…)").rpartition(".")[2]
    words = HUMP.sub("_", last).strip("_").lower()[:40]
    return words if words[:1].isalpha() else f"f_{words}".rstrip("_")


def _function(name: str) -> str:
    """Returns the name of torch's function for a box, which is made at its first call.

    The name is that of its class or function, in words.
    """
    words = function_words(name)
    if not hasattr(getattr(torch.ops, SPACE), words):
        schema = "(Tensor[] arrays, int[] shape) -> Tensor"
        made = torch.library.custom_op(f"{SPACE}::{words}", _result, mutates_args=(), schema=schema)
        made.register_fake(_result)
    return words


def _result(arrays: list[Tensor], shape: list[int]) -> Tensor:
    first = next((x for x in arrays if x.is_floating_point()), None)
    return torch.zeros(shape) if first is None else first.new_zeros(shape)


def unknown_box(machine: Interpreter) -> Exception | None:
    """Returns the error for the first box of a source that stops; None if it has none.

    What stops may be wrong only because of what is assumed.
    """
    if not machine.boxes:
        return None
    value, machine.node = next(iter(machine.boxes.values()))
    return machine.unknown_error(value)


def assumed_boxes(machine: Interpreter) -> str:
    """Returns a sentence about the boxes of a source; empty if it has none."""
    names = [name.removesuffix("(…)") for name in machine.boxes]
    called = [box_name(name) for name in machine.boxes]
    lost = list_words([name for name in machine.typed_results if name not in called])
    unused = f"No box is called {lost}, whose result is stated." if lost else ""
    if not names:
        return unused
    more = f" and {len(names) - 5} more" * (len(names) > 5)
    files = "another file" if len(names) == 1 else "other files"
    fact = f"{', '.join(names[:5])}{more} {'is' if len(names) == 1 else 'are'} of {files}"
    boxes = "a box whose result is" if len(names) == 1 else "boxes whose results are"
    fitted = list_words([*dict.fromkeys(name.removesuffix("(…)") for name, _ in machine.box_fits)])
    sides = any(len(key[1]) != len(shape) for key, shape in machine.box_fits.items())
    size = "dimensions" if sides else "width"
    width = f", in {fitted} with the {size} that the next layer takes" if fitted else ""
    stated = list_words([name for name in called if name in machine.typed_results])
    given = f", of {stated} as a line states" if stated else ""
    result = f"{fact}: {boxes} assumed to be like the input{width}{given}. Values end there."
    return f"{result} {unused}".rstrip()


# --- Attributes of values of other files: those that are usual for their names are assumed


def unknown_attribute(
    machine: Interpreter, value: UnknownValue, name: str, module: bool = False
) -> Any:
    """Returns an attribute of an unknown value: a size that is usual for its name is assumed.

    A ``module`` may also have a choice, such as ``use_bias``, and a width called ``size``.
    """
    wide = name == "out_channels" or (module and name == "size")  # which groups may divide
    size = usual_value("dim" if wide else name) if module or wide else VALUES.get(name)
    if type(size) is int or (module and type(size) is bool):
        machine.assumed_settings.setdefault(value.name, {})[name] = size
        machine.assumed_at[id(machine.node)] = UnknownValue(
            f"{value.name}.{name}"[:80], value.reason
        )
        return size
    return UnknownValue(f"{value.name}.{name}"[:80], value.reason)


def of_no_number(machine: Interpreter, name: str) -> Any:
    """Returns an attribute of an assumed number that must be an object; None for other values.

    It is asked for at the node of ``a.b.c``, where ``a.b`` is taken as a number.
    """
    value = no_number(machine, getattr(machine.node, "value", None))
    return None if value is None else unknown_attribute(machine, value, name, True)


def no_number(machine: Interpreter, node: ast.AST | None) -> UnknownValue | None:
    """Takes back that what stands at a node is taken as a number; None if it is not."""
    value = machine.assumed_at.get(id(node))
    if value is None:
        return None
    owner, _, size = value.name.rpartition(".")
    settings = machine.assumed_settings.get(owner)
    if settings is not None:
        settings.pop(size, None)
        if not settings:
            del machine.assumed_settings[owner]
    return value


def assumed_setting(machine: Interpreter, value: AssumedSettings, name: str) -> Any:
    """Returns a setting that stands in another file, if a value is usual for its name."""
    if name not in value.own:
        if usual_value(name) is NO_USUAL_VALUE and machine.box_missing_modules:
            value.own[name] = ROUND_WIDTH
            return ROUND_WIDTH
        if usual_value(name) is NO_USUAL_VALUE:
            value.own[name] = ...  # a blank of the form
            raise machine.refuse(
                f"{value.name}.{name} is not given", f"a class with {name} = … for {value.name}"
            )
        value.own[name] = usual_value(name)
    return value.own[name]


# --- Sizes that come from other files or from data: usual numbers for their names are assumed

RESULT_SUFFIX = "(…)"  # the end of the name of what an unknown function gives


def usual_number(value: Any, name: str) -> int | float | None:
    """Returns the usual number for the name of an unknown value; None if it may be no number.

    >>> usual_number(UnknownValue("data.shape", ""), "in_features")
    64
    >>> usual_number(UnknownValue("get_model_dim(…)", ""), "in_features")
    64
    >>> usual_number(UnknownValue("make_layers(…)", ""), "features") is None
    True
    """
    if not isinstance(value, UnknownValue):
        return None
    function = value.name.removesuffix(RESULT_SUFFIX)
    makes = function.startswith(("make_", "build_", "create_"))  # layers, not how many
    sized = not makes and type(usual_value(function.removeprefix("get_"))) is int
    if function != value.name and "." not in function and not sized:  # it may give a module
        return None
    if function == value.name and is_class_name(value):
        return None
    size = usual_value(name)
    return size if type(size) in (int, float) else None


def with_usual_numbers(
    machine: Interpreter,
    title: str,
    names: list[str],
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a class, with numbers in the place of unknown sizes.

    Args:
        machine: The interpretation, which notes what is assumed.
        title: The name of the class.
        names: The names of its arguments in their order.
        args: The arguments.
        named: Those by name.
    """
    given = dict(zip(names, args, strict=False)) | dict(named)
    found = {name: usual_number(value, name) for name, value in given.items()}
    sizes = {name: size for name, size in found.items() if size is not None}
    if not sizes:
        return args, dict(named)
    machine.assumed_settings.setdefault(title, {}).update(sizes)
    places = (sizes.get(name, value) for name, value in zip(names, args, strict=False))
    words = {name: sizes.get(name, value) for name, value in named.items()}
    return (*places, *args[len(names) :]), words


def of_function(
    machine: Interpreter, title: str, first: Any, args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a class of the source, by the names that its ``__init__`` has."""
    if not isinstance(first, SourceFunction) or not any(
        isinstance(value, UnknownValue) for value in (*args, *named.values())
    ):
        return args, dict(named)
    return with_usual_numbers(machine, title, parameters(first)[0], args, named)


def of_layer(
    machine: Interpreter, real: type[nn.Module], args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a layer of torch, by the names that torch has for them."""
    if not any(isinstance(value, UnknownValue) for value in (*args, *named.values())):
        return args, dict(named)
    return with_usual_numbers(machine, real.__name__, [*signature(real).parameters], args, named)
