"""The module to draw, with the arguments that it needs."""

from __future__ import annotations

import ast
import gc
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import permutations
from typing import Any

from torch import nn

from ncd.errors import short_repr
from ncd.notation.call_form import BLANK, ModuleCall, result_name
from ncd.notation.term_reader import TextError
from ncd.read.python_source.assumptions import in_training, mode_words, unfit
from ncd.read.python_source.folding import is_large
from ncd.read.python_source.functions_and_classes import Missing, data_class_fields
from ncd.read.python_source.input_search import sizes_in
from ncd.read.python_source.interpreter import (
    AssumedSettings,
    ClassValue,
    Interpreter,
    LimitExceeded,
    PlainObject,
    Scope,
    SourceException,
    SourceFunction,
    SourceModule,
    UnknownValue,
    UnknownValueError,
    as_text_error,
    error_at,
    parameters,
)
from ncd.read.python_source.model_classes import (
    builders,
    builders_of,
    by_completeness,
    call_sizes,
    example_module,
    left_open,
    left_to_others,
    module_classes,
    most_complete,
    outermost_classes,
    place_of,
)
from ncd.read.python_source.model_inputs import forward_node, input_words
from ncd.read.python_source.module_arguments import (
    as_hinted,
    attributes_read,
    defaults_elsewhere,
    in_stages,
    is_part,
    is_several,
    is_text,
    of_arithmetic,
    of_choice,
    of_docstring,
    of_hint,
    of_question,
    of_text,
    part,
    parts_in_list,
)
from ncd.read.python_source.other_files import ExternalModule, result_lines
from ncd.read.python_source.published_models import LibraryModel
from ncd.read.python_source.structured_inputs import attributes_of, required_inputs
from ncd.read.python_source.usual_sizes import (
    NO_USUAL_VALUE,
    PLAIN_TYPES,
    ROUND_WIDTH,
    call_text,
    size_of,
    usual_value,
)
from ncd.read.torch_module.from_torch import Imported

# --- The line that makes a module and calls it, with all that a reading has assumed

NUMBER_BOUND = re.compile(
    r"#(\d+)"
)  # in the words of an input: its whole numbers are below this one
NAMESPACE = "from types import SimpleNamespace\n"
UNKNOWN_MODULE = "nn.Module()"  # a module that is to be given, which is drawn as a box


def module_call(
    machine: Interpreter,
    found: Imported,
    tree: ast.Module,
    scope: Scope,
    words: str,
    shapes: str,
    classes: tuple[str, ...],
) -> ModuleCall:
    """Returns how the drawn module is made and called.

    Args:
        machine: The interpretation.
        found: The module as a term.
        tree: The source.
        scope: The names of the source.
        words: The inputs that are assumed; empty if the source gives them.
        shapes: The shapes that the source gives.
        classes: The classes that could be drawn.
    """
    model = found.exported_module.module
    args, named = found.exported_module.args, dict(found.exported_module.named_parts)
    inputs = tuple(inspect.signature(model.forward).parameters)
    sizes = tuple(name for given in machine.assumed_settings.values() for name in given)
    line, modes = "", mode_words(model, tree)
    if words or sizes or (shapes and modes):
        line = assumed_call(machine, model, args, named, words or shapes, tree, scope)
    line, boxes = _with_results(machine, line)
    sizes = (*sizes, *boxes)
    asked = (*inputs[: len(args)], *named)
    assumed = (*sizes, *(asked if words else ())) if line else ()
    drawn, training = type(model).__name__, in_training(model)
    refused = bool(machine.evaluation_reason)
    return ModuleCall(line, assumed, inputs, drawn, classes, training, modes, refused)


def _with_results(machine: Interpreter, line: str) -> tuple[str, tuple[str, ...]]:
    """Returns a line behind those that state results of boxes, and the fields of these.

    An empty line stays empty: what a source itself calls is left as it is.
    """
    lines, boxes = result_lines(machine)
    assumed = (name for name in boxes if name not in machine.typed_results)
    return (f"{lines}{line}", tuple(map(result_name, assumed))) if line else (line, ())


def assumed_call(
    machine: Interpreter,
    model: nn.Module,
    args: tuple[Any, ...],
    named: dict[str, Any],
    words: str,
    tree: ast.Module,
    scope: Scope,
) -> str:
    """Returns the line that makes a module and calls it on its inputs, or an empty text.

    Args:
        machine: The interpretation.
        model: The module that is drawn.
        args: What it is called on.
        named: Those by name.
        words: The shapes of its inputs, such as ``1x16#50257``.
        tree: The source.
        scope: The names of the source.
    """
    made = _module_expression(machine, model, tree, scope)
    below = iter(NUMBER_BOUND.findall(words))
    given = [input_words(x, below) for x in args]
    words_of = {name: input_words(x, below) for name, x in named.items()}
    if not made or None in given or None in words_of.values():
        return ""
    every = (*filter(None, given), *(f"{name}={word}" for name, word in words_of.items()))
    call = f"{made}({', '.join(every)})"
    return f"{NAMESPACE}{call}" if "SimpleNamespace(" in call else call


def open_call(
    machine: Interpreter, model: nn.Module, tree: ast.Module, scope: Scope
) -> ModuleCall | None:
    """Returns the call of a module that stops: what was assumed, and blanks for what is not known.

    It is None for a module that has no name.
    """
    made = _module_expression(machine, model, tree, scope, blanks=True)
    if not made:
        return None
    names, kind = required_inputs(model), type(model).__name__
    sizes = tuple(name for given in machine.assumed_settings.values() for name in given)
    if (tried := machine.tried_inputs) is not None and tried[0] is model:
        line = assumed_call(machine, model, *tried[1:], tree, scope)
        if line:
            line, boxes = _with_results(machine, line)
            return ModuleCall(line, (*sizes, *names, *boxes), tuple(names), kind, (kind,))
    read = attributes_of(forward_node(machine, model), names)
    words = (
        f"SimpleNamespace({', '.join(f'{x}={BLANK}' for x in read[name])})"
        if name in read
        else BLANK
        for name in names
    )
    call = f"{made}({', '.join(words)})"
    line = f"{NAMESPACE}{call}" if "SimpleNamespace(" in call else call
    return ModuleCall(line, sizes, tuple(names), kind, (kind,))


def call_of(name: str, given: dict[str, Any], machine: Interpreter, blanks: bool = False) -> str:
    """Returns the call of a class or function with such arguments.

    One that has no spelling is a blank, or the call is empty.
    """
    words = {key: _argument_text(key, value, machine) for key, value in given.items()}
    if None in words.values() and not blanks:
        return ""
    words = {key: BLANK if word is None else word for key, word in words.items()}
    return f"{name}({', '.join(f'{key}={word}' for key, word in words.items())})"


def of_other_values(
    machine: Interpreter, raised: SourceException | TextError, name: str, given: dict[str, Any]
) -> TextError:
    """Returns the error of making a class with assumed values; its call asks for these.

    What the reader does not understand is no matter of values.
    """
    error = as_text_error(raised) if isinstance(raised, SourceException) else raised
    rests = error is not raised and error is not getattr(raised, "error", None)
    fact = f"{unfit('', machine.assumed_settings)}: {error.fact}" if rests else error.fact
    cure = error.cure or f"a last line model = {call_text(name, given)}, of other values"
    line = call_of(name, given, machine, blanks=True)
    call = ModuleCall(line, tuple(given), (), name)
    return TextError(fact, error.line, error.column, error.end, cure, call)


def _module_expression(
    machine: Interpreter, model: nn.Module, tree: ast.Module, scope: Scope, blanks: bool = False
) -> str:
    """Returns the expression that gives a module: a call, the last line, or a name."""
    if machine.maker is not None and machine.maker[0] is model:
        return call_of(machine.maker[1], machine.maker[2], machine, blanks)
    last = tree.body[-1] if tree.body else None
    shown = machine.last_value_module is model and machine.last_value is last
    if shown and isinstance(last, ast.Expr):
        return ast.get_source_segment(machine.text, last.value) or ""
    return next((name for name, value in scope.names.items() if value is model), "")


def _argument_text(key: str, value: Any, machine: Interpreter) -> str | None:
    """Returns an argument as it is written, or None."""
    if value is ...:
        return BLANK
    if type(value) in PLAIN_TYPES or value == {}:
        return repr(value)
    if isinstance(value, ExternalModule):
        return UNKNOWN_MODULE
    if isinstance(value, nn.ModuleList):
        parts = [_argument_text(key, one, machine) for one in value]
        return None if None in parts else f"[{', '.join(filter(None, parts))}]"
    if isinstance(value, tuple | list):
        parts = [_argument_text(key, each, machine) for each in value]
        return None if None in parts else repr(value)
    if isinstance(value, AssumedSettings):
        return call_of("SimpleNamespace", value.own, machine) or None
    if isinstance(value, PlainObject):  # a settings object of a class of the source
        return call_of(type(value).__name__, machine.assumed_settings.get(key, {}), machine) or None
    return None


# --- Arguments for a class of modules: settings objects, or values usual for their names

CONFIGS = ("config", "cfg", "args", "conf", "params", "hparams", "model_args", "opt", "configs")
CHANNELS = ("channels", "in_channels", "out_channels", "num_channels")
MIN_CHANNELS = 64
END_WIDTH = re.compile(  # of what goes in or out
    r"(num_|n_)?(in|out|input|output)_?(channels?|chans?|ch|chs|features|feats|dims?|size|planes|c|nc)|"
    r"(channels?|dims?|features)(_in|_out)|in_?planes|c1|c2|nin|nout|inp|oup"
)
PER_STAGE_NAME = re.compile(r"depths?|num_blocks|layers|.*_dims")  # that may be one for each stage
UNSET = -1  # a size that is "defined later"


def arguments(
    machine: Interpreter, tree: ast.Module, value: ClassValue, scope: Scope, usual_too: bool
) -> dict[str, Any] | None:
    """Returns the arguments that a class needs, or None if one is not known.

    Args:
        machine: The interpretation; ``taken`` gets what is assumed.
        tree: The source.
        value: The class.
        scope: The names of the source.
        usual_too: Whether values that are usual for the names of the arguments are taken.
    """
    if first_step(machine, value) is None:
        return _layer_arguments(machine, value, usual_too)
    sizes = sizes_of_calls(machine, tree, value) if usual_too else {}
    given, assumed = dict[str, Any](), dict[str, Any]()
    for step, name in _required_arguments(machine, value):
        if (config := _config(machine, step, name, scope)) is not None:
            fields = _missing(machine, config)
            if fields is None or (fields and not usual_too):
                return None
            given[name] = _settings_object(machine, config, fields, name)
        elif usual_too and name not in CONFIGS and is_part(machine, step, name, scope):
            if not machine.box_missing_modules:
                return None
            given[name] = part(machine, step, name, scope)
        elif usual_too and (listed := parts_in_list(machine, step, name)) is not None:
            if not machine.box_missing_modules:
                return None
            given[name] = listed
        elif usual_too and (name in CONFIGS or _is_settings(machine, step, name)):
            given[name] = AssumedSettings(name)
            machine.assumed_settings[name] = given[name].own
        else:
            size = usual_size(machine, step, name, scope, sizes)
            if not usual_too or size is NO_USUAL_VALUE:
                return None
            given[name] = assumed[name] = as_hinted(step, name, size)
    if assumed:
        other = machine.other_widths.get(value.name, {})
        machine.assumed_settings[value.name], given = {**assumed, **other}, {**given, **other}
    return given


def _required_arguments(
    machine: Interpreter, value: ClassValue
) -> Iterator[tuple[SourceFunction, str]]:
    """Yields the arguments that a class needs, each with the ``__init__`` that has it.

    One that hands others on, as by ``super().__init__(*args, **kwargs)`` or ``Layer(**kwargs)``,
    needs those of its base or of that class.
    """
    given, places = set[str](), 0
    last: SourceFunction | None = None  # that hands on what it is given to a layer of torch
    for step in _first_steps(machine, value):
        names, needed = parameters(step)
        needed = [name for name in names if name in needed or _is_left_open(step, name)]
        yield from ((step, name) for name in needed if name not in given | {*names[:places]})
        handed = _handed_on(step) if step.node.args.kwarg else None
        if handed is None:
            return
        given = {*names, *(word.arg for word in handed.keywords if word.arg)}
        places = sum(not isinstance(one, ast.Starred) for one in handed.args)
        if isinstance(handed.func, ast.Name):
            inner = step.scope.top.names.get(handed.func.id)
            if isinstance(inner, ClassValue) and inner is not value:
                for own, name in _required_arguments(machine, inner):
                    if name not in given | {*parameters(own)[0][:places]}:
                        yield own, name
            return
        last = step
    if last is not None:
        names = _layer_names(value.real)
        yield from ((last, name) for name in names[places:] if name not in given)


def _layer_names(real: type) -> list[str]:
    """Returns the arguments without which the layer of torch that a class extends is not made."""
    base = next((one for one in real.__mro__ if one.__module__.startswith("torch.")), object)
    takes = list(inspect.signature(base).parameters.values())
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in takes if one.default is one.empty and one.kind in plain]


def _is_left_open(step: SourceFunction, name: str) -> bool:
    """Returns whether an argument has the default None, and must have settings that are read."""
    if step.defaults.get(name, ...) is not None or not attributes_read(step, name):
        return False
    tests = (ast.Compare, ast.BoolOp, ast.If, ast.IfExp, ast.Try)
    asked = [
        part for one in ast.walk(step.node) if isinstance(one, tests) for part in ast.walk(one)
    ]
    return not any(isinstance(one, ast.Name) and one.id == name for one in asked)


BASE_CALL = re.compile(r"super\(.*\)\.__init__")


def _handed_on(step: SourceFunction) -> ast.Call | None:
    """Returns the call of a base's ``__init__``, or of a class, that gets all other arguments."""
    assert step.node.args.kwarg is not None
    rest = step.node.args.kwarg.arg
    calls = [one for one in ast.walk(step.node) if isinstance(one, ast.Call)]
    handed = [
        one
        for one in calls
        if any(word.arg is None and ast.unparse(word.value) == rest for word in one.keywords)
    ]
    above = (one for one in handed if BASE_CALL.fullmatch(ast.unparse(one.func)))
    return next(above, next((one for one in handed if isinstance(one.func, ast.Name)), None))


def _is_settings(machine: Interpreter, first: SourceFunction, name: str) -> bool:
    """Returns whether an ``__init__`` reads only sizes of an argument: ``data.num_classes``.

    Where everything that lacks is assumed, it may read what else it likes.
    """
    read = attributes_read(first, name)
    called = (one.func for one in ast.walk(first.node) if isinstance(one, ast.Call))
    if any(ast.unparse(one).startswith(f"{name}.") for one in called):
        return False
    return (
        bool(read)
        and usual_value(name) is NO_USUAL_VALUE
        and (machine.box_missing_modules or all(usual_value(x) is not NO_USUAL_VALUE for x in read))
    )


def sizes_of_calls(machine: Interpreter, tree: ast.Module, value: ClassValue) -> dict[str, Any]:
    """Returns the numbers that the source itself gives to a class, by their names."""
    first = first_step(machine, value)
    return call_sizes(tree, value.name, parameters(first)[0]) if first else {}


def usual_size(
    machine: Interpreter, first: SourceFunction, name: str, scope: Scope, sizes: Mapping[str, Any]
) -> Any:
    """Returns the usual value of an argument of an ``__init__``, or UNKNOWN.

    A number of the source that has the name of the argument comes first, as ``n_embd = 384``;
    then one of ``sizes``, which the source gives elsewhere.
    """
    for known in (name, name.upper()):
        if type(value := scope.names.get(known)) in (int, float):
            return value
    if name in sizes:
        return sizes[name]
    if name.endswith("kwargs"):
        return {}
    size = size_of(name, first, scope, partial(first_step, machine))
    others = (
        lambda: size,
        lambda: of_choice(first, name),
        lambda: defaults_elsewhere(machine.text).get(name, NO_USUAL_VALUE),
        lambda: of_hint(first, name),
        lambda: of_docstring(machine.text, first, name),
        lambda: of_text(first, name),
        lambda: of_question(first, name),
        lambda: of_arithmetic(first, name),
        lambda: _any_number(machine, first, name),
    )
    values = (one() for one in others[: -2 if is_text(first, name) else None])
    found = next((one for one in values if one is not NO_USUAL_VALUE), NO_USUAL_VALUE)
    return in_stages(name, found) if is_several(first, name) else found


def _any_number(machine: Interpreter, first: SourceFunction, name: str) -> Any:
    """Returns a number for an argument of which nothing tells, where everything is assumed.

    One that is looked up, such as by ``parts[kind]``, is no number.
    """
    keys = (
        ast.unparse(one.slice) for one in ast.walk(first.node) if isinstance(one, ast.Subscript)
    )
    plain = machine.box_missing_modules and not attributes_read(first, name) and name not in keys
    return ROUND_WIDTH if plain else NO_USUAL_VALUE


def _layer_arguments(
    machine: Interpreter, value: ClassValue, usual_too: bool
) -> dict[str, Any] | None:
    """Returns the arguments of a class that is made as the layer of torch that it extends."""
    names = _layer_names(value.real)
    given = {name: usual_value(name) for name in names}
    if names and (not usual_too or NO_USUAL_VALUE in given.values()):
        return None
    if names:
        machine.assumed_settings[value.name] = given
    return dict(given)


def other_settings(
    given: Mapping[str, Any], defaults: Mapping[str, Any], error: str
) -> Iterator[dict[str, Any]]:
    """Yields other values for assumed sizes, those first that an error speaks of.

    Sizes whose default is None get a value; one for each stage; channels that groups divide;
    several in the place of one, and one in the place of several.

    >>> [*other_settings({"n": 4}, {"width": None}, "'int' object is not iterable")]
    [{'n': (4, 4, 4)}, {'width': 64}]
    >>> next(other_settings({}, {"r": None, "n": None}, "you must specify the side (n=h=w)"))
    {'n': 8}
    """
    names = [name for name, x in defaults.items() if x is None and name not in given]
    wanted = [name for name in names if re.search(rf"\b{re.escape(name)}\b", error)]
    required = [{name: _usual_size(name)} for name in wanted]
    unset = [{name: usual_value(name)} for name in names if type(usual_value(name)) is int]
    whole = {name: value for name, value in given.items() if type(value) is int}
    stages = {name: (value,) * 4 for name, value in whole.items() if PER_STAGE_NAME.fullmatch(name)}
    wide = {n: MIN_CHANNELS for n, value in whole.items() if n in CHANNELS and value < MIN_CHANNELS}
    several = [{name: in_stages(name, value)} for name, value in whole.items()]
    single = [{name: x[0]} for name, x in given.items() if isinstance(x, tuple | list) and x]
    changes = [(NONE_ERROR, unset), (LIST_ERROR, [stages, *several]), (SCALAR_ERROR, single)]
    changes.append((DIVISION_ERROR, [wide]))
    flags = [name for name, x in defaults.items() if x is False and name not in given]
    if REQUIRED_ERROR.search(error):
        yield from required
    spoken = {*re.findall(r"\w+", error)}
    if ODD_ERROR.search(error):
        even = (n for n, x in whole.items() if x > 2 and x % 2 == 0)
        yield from ({name: whole[name] - 1} for name in even if name in spoken)
    if "AssertionError" in error:
        yield from ({name: 0.1} for name, x in given.items() if x == 0.0 and name in spoken)
    yield from ({name: True} for name in flags if name in spoken)
    for asked in (True, False):
        for words, own in changes:
            if bool(words.search(error)) is asked:
                yield from filter(None, own)


def _usual_size(name: str) -> int:
    """Returns the usual number for a name, or a small side of a picture."""
    usual = usual_value(name)
    return usual if type(usual) is int else SIDE


SIDE = 8  # of what a layer is said to be made for, if its name says nothing
REQUIRED_ERROR = re.compile(r"specif|must be (given|set|provided|passed)|requir|need", re.I)
NONE_ERROR = re.compile("None")
LIST_ERROR = re.compile(r"iterable|len\(\)|subscript|has no items|unpack|values for")
ODD_ERROR = re.compile(r"% 2 (== 1|!= 0)|\bodd\b|not even")
SCALAR_ERROR = re.compile(r"tuple|list|range")
DIVISION_ERROR = re.compile(r"divi|groups|modul")


def equal_widths(given: Mapping[str, Any]) -> dict[str, int]:
    """Returns one width for all arguments that are widths of what goes in and out, if they differ.

    A block that adds its input to its result takes no others.

    >>> equal_widths({"in_channels": 3, "out_channels": 8, "kernel_size": 3})
    {'in_channels': 64, 'out_channels': 64}
    """
    own = {n: x for n, x in given.items() if END_WIDTH.fullmatch(n.lower()) and type(x) is int}
    return dict.fromkeys(own, MIN_CHANNELS) if len({*own.values()}) > 1 else {}


def other_widths(given: Mapping[str, Any], error: str) -> Iterator[dict[str, int]]:
    """Yields other widths of what goes in and out, for a module that stops when it runs.

    Equal ones come first, then those of which an error speaks.

    >>> [*other_widths({"inplanes": 64, "planes": 64}, "64 is not 256")]
    [{'inplanes': 256}]
    """
    if equal := equal_widths(given):
        yield equal
    for have, want in permutations(sizes_in(error), 2):
        for name, value in given.items():
            if END_WIDTH.fullmatch(name.lower()) and value == have and want > 1:
                yield {name: want}


def required_arguments(machine: Interpreter, value: ClassValue) -> list[str]:
    """Returns the names of the arguments that a class needs."""
    return [name for _, name in _required_arguments(machine, value)]


def first_step(machine: Interpreter, value: ClassValue) -> SourceFunction | None:
    """Returns the ``__init__`` of a class."""
    return next(_first_steps(machine, value), None)


def _first_steps(machine: Interpreter, value: ClassValue) -> Iterator[SourceFunction]:
    """Yields the ``__init__`` of a class, and those of its bases."""
    for real in value.real.__mro__:
        own = machine.classes.get(real)
        if own and isinstance(found := own.names.get("__init__"), SourceFunction):
            yield found


def _config(
    machine: Interpreter, first: SourceFunction, name: str, scope: Scope
) -> ClassValue | None:
    """Returns the settings class for an argument, by its type hint or its name."""
    shared = [*machine.known_file_values.values()]
    whole = {
        value.name: value
        for value in scope.names.values()
        if isinstance(value, ClassValue) and not value.is_module and value not in shared
        if _missing(machine, value) is not None
    }
    every = [*first.node.args.posonlyargs, *first.node.args.args, *first.node.args.kwonlyargs]
    hint = next((one.annotation for one in every if one.arg == name), None)
    words = {n.id for n in ast.walk(hint) if isinstance(n, ast.Name)} if hint else set()
    if isinstance(hint, ast.Constant):
        words = {str(hint.value)}
    if by_hint := words & whole.keys():
        return whole[min(by_hint)]
    return next(iter(whole.values())) if name in CONFIGS and len(whole) == 1 else None


def _missing(machine: Interpreter, value: ClassValue) -> dict[str, Any] | None:
    """Returns usual values of the settings without a default, or None if one has none."""
    if value.fields is None:
        names = (
            required_arguments(machine, value) if first_step(machine, value) else ["an __init__"]
        )
    else:
        fields = data_class_fields(machine, value)
        names = [name for name, default in fields.items() if isinstance(default, Missing)]
    found = {name: usual_value(name) for name in names}
    return None if NO_USUAL_VALUE in found.values() else found


def _settings_object(
    machine: Interpreter, config: ClassValue, fields: dict[str, Any], name: str
) -> Any:
    """Returns an object of a settings class; sizes that are to be set later have usual values."""
    made = config(**fields)
    taken = dict(fields)
    for field, value in made.own.items():
        if type(value) is int and value == UNSET and usual_value(field) is not NO_USUAL_VALUE:
            made.own[field] = taken[field] = usual_value(field)
    if taken:
        machine.assumed_settings[name] = taken
    return made


# --- Chooses the module of a source to draw: one that it runs, creates, or defines


def model_of(machine: Interpreter, tree: ast.Module, scope: Scope) -> nn.Module:
    """Returns the module that a source describes; raises TextError if it has none."""
    if (chosen := _named_last(tree, scope)) is not None:
        return _chosen_one(machine, tree, scope, chosen)
    alone = outermost_classes(machine, tree, scope)
    if (tried := _last_run_module(machine, alone)) is not None:
        return tried
    if machine.last_value_module is not None:
        return machine.last_value_module
    made = [value for value in scope.names.values() if isinstance(value, nn.Module)]
    if alone and all(isinstance(one, LibraryModel) for one in made):
        made = []  # they are parts of the classes
    if whole := _outer_modules(made):
        return whole[-1]
    if not alone:
        raise machine.unknown_line or _no_module(tree, scope)
    return _make_module(machine, tree, scope, alone)


def _no_module(tree: ast.Module, scope: Scope) -> TextError:
    """Returns the error for a source without a module that can run."""
    kinds = (x for x in scope.names.values() if isinstance(x, ClassValue) and x.is_module)
    base = next(
        (one for one in kinds if left_open(one) and place_of(tree, one.name) is not tree), None
    )
    if base is not None:
        line = getattr(place_of(tree, base.name), "lineno", 1)
        fact = f"{base.name} leaves its forward to the classes that extend it"
        return TextError(fact, line, 1, cure=f"class Net({base.name}): …, with a forward")
    cure = "class Net(nn.Module): …, or a layer such as nn.Linear(8, 3)"
    return TextError("there is no module in it", 1, 1, cure=cure)


def _named_last(tree: ast.Module, scope: Scope) -> ClassValue | None:
    """Returns the class whose name is the last line of a source: it is the one to draw."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Name):
        return None
    value = scope.names.get(last.value.id)
    return value if isinstance(value, ClassValue) and value.is_module else None


def _chosen_one(
    machine: Interpreter, tree: ast.Module, scope: Scope, chosen: ClassValue
) -> nn.Module:
    """Returns an object of a class; raises the error of making one, or the one for its sizes."""
    failures: list[Exception] = []
    if chosen.real not in machine.classes_without_input:
        for usual_too in (False, True):
            if made := _first_instance(machine, tree, scope, [chosen], usual_too, failures):
                return made
    raise failures[0] if failures else _lacks(machine, tree, scope, chosen)


def _make_module(
    machine: Interpreter, tree: ast.Module, scope: Scope, alone: list[ClassValue]
) -> nn.Module:
    """Returns an object of the first class that can be made, or what a function makes of one."""
    failures: list[Exception] = []
    machine.box_missing_modules = False
    most = most_complete(tree, alone)
    for name in left_to_others(machine, tree, scope):
        machine.instead.setdefault(name, "what it does stands in another file")
    examples = (_of_example(machine, tree, scope, one) for one in most)
    if (found := next(filter(None, examples), None)) is not None:
        return found
    for function in builders_of(machine, tree, scope, alone[0].name):
        if (found := _result(machine, function, False, alone, failures)) is not None:
            return found
    for usual_too in (False, True):
        if not usual_too and (made := _first_instance(machine, tree, scope, most, False, failures)):
            return made
        for function in builders(machine, tree, scope):
            if (found := _result(machine, function, usual_too, alone, failures)) is not None:
                return found
        wrong = next((x for x in failures if not isinstance(x, UnknownValueError)), None)
        if wrong is not None and not usual_too and not leans(machine, scope, wrong):
            raise wrong
        if usual_too and (made := _first_instance(machine, tree, scope, alone, True, failures)):
            return made
    if needs := [
        n for n, x in _sizes(machine, tree, scope, alone[0]).items() if x is NO_USUAL_VALUE
    ]:
        machine.instead.setdefault(alone[0].name, f"it needs {' and '.join(needs)}")
    if (made := _of_parts(machine, tree, scope, alone, failures)) is not None:
        return made
    raise failures[0] if failures else _lacks(machine, tree, scope, alone[0])


def _of_parts(
    machine: Interpreter,
    tree: ast.Module,
    scope: Scope,
    alone: list[ClassValue],
    failures: list[Exception],
) -> nn.Module | None:
    """Returns an object of a class that others use, or of one with boxes; None if none is made."""
    inner = [one for one in module_classes(machine, scope) if one not in alone]
    for partly, classes in ((False, by_completeness(tree, inner)), (True, alone)):
        machine.box_missing_modules = partly
        for one in classes:
            made = _of_example(machine, tree, scope, one) or _first_instance(
                machine, tree, scope, [one], True, failures
            )
            if made is not None and (partly or learns(made)):
                return made
    return None


def _of_example(
    machine: Interpreter, tree: ast.Module, scope: Scope, value: ClassValue
) -> nn.Module | None:
    """Returns the object of a class that the example in its docstring runs; None if it has none."""
    if value.name in machine.failed_examples:
        return None
    made = example_module(machine, tree, scope, value)
    if made is not None and is_large(made):  # which takes seconds, in sizes that are rarely small
        machine.failed_examples.add(value.name)
        machine.ran.clear()
        return None
    if made is not None:
        machine.example = value.name
        machine.instead.pop(value.name, None)
    return made


def _first_instance(
    machine: Interpreter,
    tree: ast.Module,
    scope: Scope,
    classes: list[ClassValue],
    usual_too: bool,
    failures: list[Exception],
) -> nn.Module | None:
    """Returns an object of the first class that can be made; an error of assumed sizes counts not.

    ``failures`` gets such errors, and those of what comes from other files.
    """
    for each in classes:
        waiting, furthest, met = [dict[str, Any]()], -1, set[str]()
        first = first_step(machine, each)
        for _ in range(CHANGES if usual_too else 1):
            if not waiting:
                break
            change, begin = waiting.pop(0), machine.steps
            try:
                made = _changed_instance(machine, tree, scope, each, usual_too, change, failures)
            except RefusedSettings as refused:
                came, machine.steps = machine.steps - begin, begin
                error = refused.fact.rpartition(" may not fit: ")[2]
                others = other_settings(refused.given, first.defaults if first else {}, error)
                more = [{**change, **one} for one in others]
                if came > furthest:  # what comes further is changed further
                    waiting, furthest = more, came
                elif came == furthest and error not in met:
                    waiting += more
                met.add(error)
            else:
                if made is not None:
                    return made
                break
        gc.collect()  # once for all that could not be made: it takes long in a large process
    return None


CHANGES = 16  # of the assumed settings of a class that cannot be made with them


class RefusedSettings(Exception):
    """A class that cannot be made with its assumed settings; ``fact`` says why, without a cure."""

    def __init__(self, given: dict[str, Any], fact: str) -> None:
        super().__init__()
        self.given, self.fact = given, fact


def _changed_instance(
    machine: Interpreter,
    tree: ast.Module,
    scope: Scope,
    each: ClassValue,
    usual_too: bool,
    change: dict[str, Any],
    failures: list[Exception],
) -> nn.Module | None:
    """Returns an object of a class, of which some assumed settings are changed.

    It is None for a class whose arguments are not known.
    """
    before, presumed = dict(machine.assumed_settings), dict(machine.assumed_values)
    given = arguments(machine, tree, each, scope, usual_too)
    settings = given is not None and any(isinstance(x, AssumedSettings) for x in given.values())
    if given is None or (failures and settings and not change):
        machine.assumed_settings = before
        return None
    if change:
        given = {**given, **change}
        machine.assumed_settings.setdefault(each.name, {}).update(change)
    try:
        made = _instantiate(machine, tree, each, given)
    except (SourceException, TextError) as error:
        assumed = machine.assumed_settings.keys() - before.keys()
        if isinstance(error, LimitExceeded) or (
            usual_too and not assumed and not leans(machine, scope, error)
        ):
            raise
        machine.failure = None
        failures.append(error.with_traceback(None))
        machine.assumed_settings, machine.assumed_values = before, presumed
        machine.instead.setdefault(each.name, fact_of(error))
        raise RefusedSettings(given, fact_of(error)) from None
    machine.maker = made, each.name, given
    machine.instead.pop(each.name, None)
    return made


def leans(machine: Interpreter, scope: Scope, error: Exception) -> bool:
    """Returns whether an error may come from what a source has in other files, or hides there.

    So may a refusal of what is assumed. Then another class of it is drawn; what stands whole in a
    source shows its own errors.
    """
    values = scope.names.values()
    refused = bool(machine.assumed_settings) and not isinstance(error, SourceException)
    others = refused or any(isinstance(value, UnknownValue) for value in values)
    several = sum(isinstance(value, ClassValue) and value.is_module for value in values) > 1
    return others and several and not isinstance(error, LimitExceeded)


def fact_of(error: SourceException | TextError) -> str:
    """Returns an error with its line, as part of a sentence."""
    found = as_text_error(error) if isinstance(error, SourceException) else error
    if found.line == 1:  # of no line
        return found.fact
    return f"line {found.line}: {found.fact}"


def _last_run_module(machine: Interpreter, alone: list[ClassValue]) -> nn.Module | None:
    """Returns the last module that the source runs on an input: no part of another, no loss."""
    whole = tuple(each.real for each in alone)
    ran = [module for module, _, _ in machine.ran]
    direct = [module for module in ran if not alone or id(module) in machine.direct]
    for one in reversed(ran):
        while id(one) not in machine.direct and id(one) in machine.parents:
            one = machine.parents[id(one)]
        if isinstance(one, whole) and any(True for _ in one.parameters()):
            return one
    return max(reversed(direct), key=lambda one: any(True for _ in one.parameters()), default=None)


def _result(
    machine: Interpreter,
    function: SourceFunction,
    usual_too: bool,
    alone: list[ClassValue],
    failures: list[Exception],
) -> nn.Module | None:
    """Returns the module that a function creates or tries out, or None."""
    given = {name: usual_value(name) for name in parameters(function)[1]}
    if any(type(value) is tuple for value in given.values()):
        return None
    if NO_USUAL_VALUE in given.values() or bool(given) is not usual_too:
        return None
    machine.node = function.node
    try:
        value = function(**given)
    except (SourceException, TextError) as error:
        if not given and getattr(error, "inside", False):
            failures.append(error.with_traceback(None))
        value = None
    if (tried := _last_run_module(machine, alone)) is not None:
        return tried
    machine.ran.clear()
    kinds = tuple(each.real for each in alone) if given else (SourceModule,)
    whole = isinstance(value, nn.Module) and any(isinstance(x, kinds) for x in value.modules())
    if isinstance(value, nn.Module) and (whole or (not given and learns(value))):
        machine.assumed_settings.update({function.name: given} if given else {})
        machine.maker = value, function.name, given
        return value
    gc.collect()  # the parts made so far, which refer to each other
    return None


def learns(model: nn.Module) -> bool:
    """Returns whether a module has weights, here or in a box: others say little of a source."""
    parts = (*model.parameters(), *model.modules())
    return any(isinstance(one, nn.Parameter | ExternalModule) for one in parts)


def _outer_modules(modules: list[nn.Module]) -> list[nn.Module]:
    """Returns the modules that are not part of another; the source's own classes come first."""
    own = [one for one in modules if isinstance(one, SourceModule)] or modules
    inner = {id(part) for one in own for part in list(one.modules())[1:]}
    losses = [one for one in own if type(one).__name__.endswith("Loss")]
    return [one for one in own if id(one) not in inner and one not in losses]


def _instantiate(
    machine: Interpreter, tree: ast.Module, value: ClassValue, given: dict[str, Any]
) -> nn.Module:
    machine.node = place_of(tree, value.name)
    try:
        made = value(**given)
    except LimitExceeded:
        raise
    except (SourceException, TextError) as raised:
        if not machine.assumed_settings:
            raise
        raise of_other_values(machine, raised, value.name, given) from None
    assert isinstance(made, nn.Module)
    return made


def _sizes(
    machine: Interpreter, tree: ast.Module, scope: Scope, value: ClassValue
) -> dict[str, Any]:
    """Returns the usual values of the arguments that a class needs; UNKNOWN for what has none."""
    names = required_arguments(machine, value) or ["in_features", "out_features"]
    first, sizes = first_step(machine, value), sizes_of_calls(machine, tree, value)
    return {
        n: usual_size(machine, first, n, scope, sizes) if first else usual_value(n) for n in names
    }


def _lacks(machine: Interpreter, tree: ast.Module, scope: Scope, value: ClassValue) -> TextError:
    """Returns the error for a class whose arguments are not known."""
    known = _sizes(machine, tree, scope, value)
    words = ", ".join(f"{n}={'…' if v is NO_USUAL_VALUE else repr(v)}" for n, v in known.items())
    fact = f"{short_repr(value.name).strip(chr(39))} needs {', '.join(known)}"
    line = getattr(place_of(tree, value.name), "lineno", 1)
    spot = ast.Pass(lineno=line, col_offset=0, end_lineno=line, end_col_offset=6 + len(value.name))
    error = error_at(spot, fact, f"a last line model = {value.name}({words})")
    given = {name: ... if each is NO_USUAL_VALUE else each for name, each in known.items()}
    line = call_of(value.name, given, machine, blanks=True)
    error.call = ModuleCall(line, tuple(known), (), value.name)
    return error
