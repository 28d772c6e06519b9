"""Functions, classes and objects of a source, and their calls."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map_only

from ncd.errors import short_repr
from ncd.notation.term_reader import TextError
from ncd.read.python_source.attributes import attribute, base_classes, member
from ncd.read.python_source.interpreter import (
    MIXIN,
    SETTINGS,
    BoundFunction,
    BuiltinFunction,
    ClassValue,
    DecoratedFunction,
    Interpreter,
    ListedMethod,
    Namespace,
    NoOpContext,
    PlainObject,
    Record,
    Scope,
    SourceException,
    SourceFunction,
    SourceModule,
    Super,
    UnknownValue,
    source_attributes,
)
from ncd.read.python_source.other_files import (
    NOT_MADE_REASON,
    ExternalModule,
    box,
    is_class_name,
    of_function,
)
from ncd.read.python_source.published_models import published_part
from ncd.read.python_source.source_operators import kind_name
from ncd.read.python_source.torch_layers import MODULES, begin, layer, spread
from ncd.read.python_source.torch_names import (
    GRADIENT,
    LISTED_CALLABLES,
    is_size,
    size_limited,
    torch_call,
)
from ncd.read.torch_module.axis_names import METHODS
from ncd.read.torch_module.torch_export import quiet
from ncd.words import nearest_name

# --- Calls of functions and classes of a source, of modules, and of listed functions

SOURCE_CALLABLES = (SourceFunction, BoundFunction, ClassValue, ListedMethod)
ERRORS = (
    *(ValueError, TypeError, RuntimeError, AssertionError, NotImplementedError, ImportError),
    *(ModuleNotFoundError, KeyError, IndexError, AttributeError, Exception, StopIteration),
    *(ZeroDivisionError, OverflowError, ArithmeticError, LookupError, DeprecationWarning),
    *(UserWarning, FutureWarning, Warning, OSError, FileNotFoundError, PermissionError),
    *(NameError, RecursionError, TimeoutError, EOFError, MemoryError),
    *(RuntimeWarning, BaseException, KeyboardInterrupt),
)
LIST_MAKER = re.compile(  # of one thing or several
    r"L|(.*_)?listify|(.*_)?(as|to|ensure|make|cast)_?(a_)?(list|tuple)|tuplify"
)
QUESTION = re.compile(r"_?(is|has|can|should)_\w+|\w+_(available|enabled)")
NOT_RUN_REASON = "a module runs on its inputs only when it is drawn"


def call(
    machine: Interpreter,
    function: Any,
    args: tuple[Any, ...],
    named: dict[str, Any],
    scope: Scope | None = None,
) -> Any:
    """Returns the result of a call; raises TextError if it is not supported."""
    if isinstance(function, UnknownValue):
        return _of_unknown(machine, function, args, named)
    if isinstance(function, BuiltinFunction):
        return machine.checked_size(_native(machine, function, args, named, scope))
    if isinstance(function, nn.Module):
        return _run(machine, function, args, named)
    if isinstance(function, SOURCE_CALLABLES):
        return function(*args, **named)
    if isinstance(function, DecoratedFunction):
        return call(machine, function.function, args, named, scope)
    if isinstance(function, NoOpContext):
        return function(*args[:1])
    if (own := member(machine, function, "__call__")) is not None:
        return own(*args, **named)
    return _call_listed(machine, function, args, named)


def _native(
    machine: Interpreter, function: BuiltinFunction, args: Any, named: Any, scope: Scope | None
) -> Any:
    if function.name == "super":
        return _super(machine, args, scope)
    if function.name == "locals":
        return dict(scope.names) if scope else {}
    return machine.attempt(function.run, machine, *args, **named)


def _call_listed(
    machine: Interpreter, function: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns the result of a listed function, layer or error."""
    if isinstance(function, torch.Tensor) and any(function is one for one in machine.box_results):
        return function  # what a method of such a result gives is assumed to be like the input
    try:
        listed = function in LISTED_CALLABLES
    except TypeError:
        listed = False
    if function is torch.Tensor:
        if all(is_size(n) for n in args):
            return size_limited(torch.zeros)(machine, *(args or (0,)))
        return torch_call(machine, torch.tensor, args, {"dtype": torch.float32})
    if function is nn.Module and not machine.strict:  # one that is to be given
        return ExternalModule(machine, UnknownValue("Module", NOT_MADE_REASON))
    if isinstance(function, type) and issubclass(function, nn.Module) and listed:
        return layer(machine, function, args, named)
    if listed:
        return torch_call(machine, function, args, named)
    if isinstance(function, type) and function in ERRORS:
        return function(*(str(one) for one in args if isinstance(one, str | int | float)))
    raise machine.refuse(f"{kind_name(function)} is not called here", "a listed function")


def _of_unknown(
    machine: Interpreter, function: UnknownValue, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns a box of what stands in another file, or an unknown value."""
    last = function.name.rpartition(".")[2]
    found = None if machine.tracing else published_part(machine, function, args, named)
    if found is not None:
        return found
    if machine.strict and QUESTION.fullmatch(last):
        machine.assumed_values[f"{function.name}(…)"] = "false"
        return False
    if machine.tracing:
        return box(machine, function, (*args, *named.values()))
    if type(given := named.get("default")) in (bool, int, float, str, tuple):  # of a setting
        words = f"{function.name}({short_repr(args[0])})" if args else f"{function.name}(…)"
        machine.assumed_values[words] = short_repr(given)
        return given
    if machine.building and is_class_name(function):
        return ExternalModule(machine, function, args, named)
    if machine.building and args and LIST_MAKER.fullmatch(last):
        layers = (re.search(r"([123])d$", getattr(one, "__name__", "")) for one in args)
        sides = next((int(one[1]) for one in layers if one), 1)  # of a layer that takes the list
        given = args[-1]
        found = [*given] if isinstance(given, list | tuple | range) else [given] * sides
        machine.assumed_values[f"{function.name}(…)"] = short_repr(found)
        return found
    return UnknownValue(f"{function.name}(…)"[:80], function.reason)


def _run(
    machine: Interpreter, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Runs a module inside another one; at the top level, records the call."""
    if machine.strict:
        machine.step(machine.node, 20)
        words = {**_plain_masks(module, args), **named}
        if (
            not machine.tracing
            and (found := _shapes_alone(machine, module, args, words)) is not None
        ):
            return found
        return machine.attempt(module, *args, **words)
    machine.ran.append((module, args, named))
    if not machine.calls:
        machine.direct.add(id(module))
    if machine.runner is not None:
        return machine.runner(module, args, {**_plain_masks(module, args), **named})
    return UnknownValue("the result of the model", NOT_RUN_REASON)


LARGE_INPUT_NUMBERS = 2**17  # numbers that a module takes while another one is made


def _shapes_alone(
    machine: Interpreter, module: nn.Module, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns what a module gives for a large input, without numbers; None for a small one.

    A source runs one while it makes another to ask for shapes: numbers of weights do not matter.
    """
    arrays = [x for x in tree_leaves((args, named)) if isinstance(x, Tensor)]
    fake = any(isinstance(x, FakeTensor) for x in arrays)
    if (
        fake
        or sum(x.numel() for x in arrays) < LARGE_INPUT_NUMBERS
        or not any(True for _ in module.parameters())
    ):
        return None
    try:
        with quiet(), FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
            args, named = tree_map_only(Tensor, mode.from_tensor, (args, named))
            found = module(*args, **named)
    except (SourceException, TextError, RuntimeError, TypeError, ValueError, LookupError):
        machine.failure = None
        return None  # and it is run with numbers, which it may ask for
    return tree_map_only(Tensor, lambda x: spread(x.shape, x.dtype), found)


def _plain_masks(module: nn.Module, args: tuple[Any, ...]) -> dict[str, bool]:
    """Changes arguments so that torch does not inspect the numbers of a mask."""
    if isinstance(module, nn.TransformerEncoder) and len(args) < 4:
        return {"is_causal": False}
    if isinstance(module, nn.TransformerDecoder) and len(args) < 7:
        return {"tgt_is_causal": False}
    return {}


def _super(machine: Interpreter, args: tuple[Any, ...], scope: Scope | None) -> Super:
    """Returns ``super()`` for the current class and object."""
    function = scope.function if scope else None
    if len(args) == 2 and isinstance(args[0], ClassValue):
        return Super(args[0], args[1])
    if args or function is None or function.owner is None or scope is None:
        raise machine.refuse("super() stands outside of a method", "super().__init__()")
    own = scope
    while own.function is function and own.outer is not None and own.outer.function is function:
        own = own.outer
    names = [one.arg for one in function.node.args.args]
    subject = own.names.get(names[0]) if names else None
    if not isinstance(subject, ClassValue) and not hasattr(type(subject), "visitor"):
        raise machine.refuse("super() stands outside of a method", "super().__init__()")
    return Super(function.owner, subject)


def is_module_class(value: Any) -> bool:
    """Returns whether a value is a class of modules, of torch or of the source."""
    if isinstance(value, ClassValue):
        return value.is_module
    return isinstance(value, type) and issubclass(value, nn.Module) and value is not SourceModule


# --- Functions of a source: their creation, and their calls

INITIAL = re.compile(
    r"_*(re)?(init|initiali[sz]e|reset)_?(all_)?(parameters?|weights?|params)_?|local_init"
)  # names of functions that set numbers only


class ReturnSignal(Exception):
    """The end of a function, with its result."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class LoopExit(Exception):
    """``break`` or ``continue``; ``loop`` says whether the whole loop ends."""

    def __init__(self, loop: bool) -> None:
        super().__init__()
        self.loop = loop


def lambda_value(machine: Interpreter, node: ast.Lambda, scope: Scope) -> SourceFunction:
    """Returns the function of a ``lambda``."""
    return _function(machine, "lambda", node, scope, None)


def function_value(
    machine: Interpreter, node: ast.FunctionDef, scope: Scope, owner: ClassValue | None = None
) -> SourceFunction:
    """Returns the function of a ``def``, without its decorators."""
    return _function(machine, node.name, node, scope, owner)


def _function(
    machine: Interpreter,
    name: str,
    node: ast.FunctionDef | ast.Lambda,
    scope: Scope,
    owner: ClassValue | None,
) -> SourceFunction:
    given = node.args
    places = [*given.posonlyargs, *given.args]
    last = places[len(places) - len(given.defaults) :]
    defaults = {
        one.arg: machine.value(value, scope)
        for one, value in zip(last, given.defaults, strict=True)
    }
    for one, word in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if word is not None:
            defaults[one.arg] = machine.value(word, scope)

    def interpret(function: SourceFunction, args: Any, named: Any) -> Any:
        return _call_function(machine, function, args, named)

    return SourceFunction(name, node, scope, interpret, defaults, owner)


def _call_function(
    machine: Interpreter, function: SourceFunction, args: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """Returns the result of a function."""
    scope = Scope(function.scope, bind_arguments(machine, function, args, named), function=function)
    if INITIAL.fullmatch(function.name) and not machine.tracing:
        return _call_initialiser(machine, function, scope)
    return _ran(machine, function, scope)


def _call_initialiser(machine: Interpreter, function: SourceFunction, scope: Scope) -> Any:
    """Returns the result of a function that only sets numbers; an error in it does not matter."""
    try:
        return _ran(machine, function, scope)
    except (SourceException, TextError):
        if machine.steps > machine.step_limit:
            raise
        return None


def _ran(machine: Interpreter, function: SourceFunction, scope: Scope) -> Any:
    """Returns the result of the body of a function."""
    with machine.entering_call():
        if isinstance(function.node, ast.Lambda):
            return machine.value(function.node.body, scope)
        yields = _yields(function.node)
        given: list[Any] = []
        if yields:
            scope.names["yield"] = given  # no name, so that the source cannot reach it
        try:
            machine.run(function.node.body, scope)
        except ReturnSignal as end:
            return iter(given) if yields else end.value
        except LoopExit:
            raise machine.refuse("a loop is left outside of one", "return") from None
        return iter(given) if yields else None


def _yields(node: ast.FunctionDef) -> bool:
    """Returns whether a function is a generator; it then runs to its end at once."""
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(one)
    return False


def bind_arguments(
    machine: Interpreter, function: SourceFunction, args: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the arguments of a call by name; raises Python's errors if they do not match."""
    given = function.node.args
    places = [one.arg for one in (*given.posonlyargs, *given.args)]
    found: dict[str, Any] = dict(zip(places, args, strict=False))
    if given.vararg:
        found[given.vararg.arg] = tuple(args[len(places) :])
    elif len(args) > len(places):
        raise _misfit(machine, f"{function.name}() takes {len(places)} arguments, not {len(args)}")
    words = {*places, *(one.arg for one in given.kwonlyargs)} - {
        one.arg for one in given.posonlyargs
    }
    more = {name: value for name, value in named.items() if name not in words}
    for name in named.keys() & found.keys() & words:
        raise _misfit(machine, f"{function.name}() is given {name} twice")
    found.update((name, value) for name, value in named.items() if name in words)
    if given.kwarg:
        found[given.kwarg.arg] = more
    elif more:
        name = min(more)
        near = nearest_name(name, sorted(words))
        fact = f"{function.name}() has no argument {short_repr(name)}"
        raise _misfit(machine, f"{fact}{near and f'; try {near}'}")
    found = {**function.defaults, **found}
    wanted = [*places, *(one.arg for one in given.kwonlyargs)]
    if missing := [name for name in wanted if name not in found]:
        raise _misfit(machine, f"{function.name}() lacks {', '.join(missing)}")
    return found


def _misfit(machine: Interpreter, words: str) -> Exception:
    return machine.source_error(TypeError(words), machine.node)


# --- Classes of a source: their creation, and their objects

CLASSES = 300
MAX_LIST_DEPTH = 5  # lists of what a model gives inside of each other
SAVED_CONTEXT = (  # methods of the context of a function with a gradient of its own
    *("save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable"),
    "set_materialize_grads",
)
HOME = "yours"  # the module in which the classes of a source are said to stand


def class_value(machine: Interpreter, node: ast.ClassDef, scope: Scope) -> ClassValue:
    """Returns the class of a ``class`` statement, without its decorators."""
    if len(machine.classes) >= CLASSES:
        raise machine.stop(f"it has more than {CLASSES} classes", "fewer")
    bases = tuple(machine.value(base, scope) for base in node.bases)
    if not all(_is_elsewhere(machine, word, bases, scope) for word in node.keywords):
        raise machine.refuse("a metaclass is not understood here", f"class {node.name}(nn.Module):")
    methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    real = _real(machine, node.name, bases, methods)
    made = ClassValue(node.name, real, {}, lambda *given: _instance(machine, *given), bases)
    made.annotated_names = [
        one.target.id
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    ]
    machine.classes[real] = made
    real.visitor = made  # type: ignore[attr-defined]
    inner = Scope(scope, made.names, is_class=True)
    machine.run(node.body, inner)
    for value in made.names.values():
        _set_owner(value, made)
    if any(map(_has_own_gradient, bases)):
        made.names["apply"] = ListedMethod("apply", partial(_run_gradient_function, machine, made))
    functions = (one for one in made.names.values() if isinstance(one, SourceFunction))
    nodes = {one.name: one.node for one in functions if isinstance(one.node, ast.FunctionDef)}
    setattr(real, METHODS, nodes)
    if isinstance(forward := made.names.get("forward"), SourceFunction) and made.is_module:
        real.forward = forward_of(machine, forward)  # type: ignore[attr-defined]
    elif made.is_module and any(map(_sets_forward, ast.walk(node))):
        real.forward = _run_assigned_forward  # type: ignore[attr-defined]
    return made


def _is_elsewhere(
    machine: Interpreter, word: ast.keyword, bases: tuple[Any, ...], scope: Scope
) -> bool:
    """Returns whether a word of a class only matters in other files, or demands methods alone."""
    if word.arg != "metaclass":
        return any(isinstance(base, UnknownValue) for base in bases)
    abstract = ast.unparse(word.value).endswith("ABCMeta")
    return abstract or isinstance(machine.value(word.value, scope), UnknownValue)


def _sets_forward(node: ast.AST) -> bool:
    """Returns whether a statement is ``self.forward = …``, as for one of several methods."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(ast.unparse(target) == "self.forward" for target in targets)


def _run_assigned_forward(self: nn.Module, *args: Any, **named: Any) -> Any:
    """Runs the method that an object has set as its ``forward``."""
    return source_attributes(self)["forward"](*args, **named)


def _has_own_gradient(base: Any) -> bool:
    """Returns whether a base of a class is a function with a gradient of its own, or extends it."""
    if isinstance(base, ClassValue):
        return isinstance(base.names.get("apply"), ListedMethod)
    return isinstance(base, BuiltinFunction) and base.name == GRADIENT


def _run_gradient_function(machine: Interpreter, made: ClassValue, *args: Any) -> Any:
    """Returns what a function with a gradient of its own gives: that of its ``forward``."""
    machine.own_gradients[made.name] = None
    context = Record()
    for name in SAVED_CONTEXT:
        context.own[name] = ListedMethod(name, lambda *_, **named: None)
    context.own["needs_input_grad"] = (True,) * len(args)
    before = () if "setup_context" in made.names else (context,)
    return call(machine, attribute(machine, made, "forward"), (*before, *args), {})


def _set_owner(value: Any, made: ClassValue) -> None:
    """Records for each method the class that it belongs to, for ``super()``."""
    inner = value.function if isinstance(value, DecoratedFunction | BoundFunction) else value
    if isinstance(inner, SourceFunction) and inner.owner is None:
        inner.owner = made
    if isinstance(value, DecoratedFunction) and value.sets is not None:
        _set_owner(value.sets, made)


def _real(machine: Interpreter, name: str, bases: tuple[Any, ...], methods: set[str]) -> type:
    """Returns an empty Python class that gives the method resolution order."""
    found: list[type] = []
    for base in bases:
        if isinstance(base, ClassValue):
            found.append(base.real)
        elif is_module_class(base):
            found += [one for one in (SourceModule, base) if one not in found]
        elif not isinstance(base, UnknownValue | Namespace | BuiltinFunction | type):
            raise machine.refuse(f"{kind_name(base)} is no class to inherit from", "nn.Module")
    if SourceModule in found and nn.Module in found:
        found.remove(nn.Module)
    if not found and "forward" in methods and any(isinstance(base, UnknownValue) for base in bases):
        found = [SourceModule]  # a module whose base stands in another file
    modules = any(issubclass(one, nn.Module) for one in found)
    plain = any(issubclass(one, PlainObject) for one in found)
    order = found if found else [PlainObject]
    if modules and plain:
        order = [_mixin(machine, one) if issubclass(one, PlainObject) else one for one in found]
    real = machine.attempt(type, name, tuple(order), {"__module__": HOME})
    assert isinstance(real, type)
    return real


def _mixin(machine: Interpreter, plain: type) -> type:
    """Returns a class that gives a module what a plain class of the source defines."""
    if MIXIN not in vars(plain):
        bases = (_mixin(machine, one) for one in plain.__bases__ if one is not PlainObject)
        made = type(plain.__name__, tuple(bases), {"__module__": HOME})
        setattr(plain, MIXIN, made)
        machine.classes[made] = machine.classes[plain]
    found: type = vars(plain)[MIXIN]
    return found


def forward_of(machine: Interpreter, function: SourceFunction) -> Any:
    """Returns the ``forward`` that torch calls; it interprets that of the source."""

    def forward(self: nn.Module, *args: Any, **named: Any) -> Any:
        try:
            found = function(self, *args, **named)
            return _tensors(machine, found) if self is machine.root else found
        except (SourceException, TextError) as error:
            machine.failure = machine.failure or error  # torch may raise another one
            raise

    kind = inspect.Parameter
    given = function.node.args
    several = [
        *((one, kind.POSITIONAL_OR_KEYWORD) for one in (*given.posonlyargs, *given.args)),
        *(((given.vararg, kind.VAR_POSITIONAL),) if given.vararg else ()),
        *((one, kind.KEYWORD_ONLY) for one in given.kwonlyargs),
        *(((given.kwarg, kind.VAR_KEYWORD),) if given.kwarg else ()),
    ]
    made = []
    for one, sort in several:
        default = function.defaults.get(one.arg, kind.empty)
        text = ast.unparse(one.annotation) if _is_text(one.annotation) else kind.empty
        made.append(kind(one.arg, sort, default=default, annotation=text))
    forward.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    return forward


def _is_text(annotation: ast.expr | None) -> bool:
    """Returns whether an annotation holds a text, as ``Float[Tensor, "b t m"]`` does."""
    parts = ast.walk(annotation) if isinstance(annotation, ast.Subscript) else ()
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


def _tensors(machine: Interpreter, found: Any, depth: int = 0) -> Any:
    """Returns the outputs of a whole model; an output object becomes a tuple of its tensors."""
    if isinstance(found, UnknownValue):
        raise machine.unknown_error(found)
    if isinstance(found, PlainObject):
        found = tuple(found.own.values())
    if isinstance(found, list | tuple) and depth < MAX_LIST_DEPTH:
        arrays = (one for one in found if not isinstance(one, SourceFunction))  # such as an inverse
        return tuple(_tensors(machine, one, depth + 1) for one in arrays)
    if isinstance(found, dict):
        return {name: _tensors(machine, one, depth + 1) for name, one in found.items()}
    return found


# objects ------------------------------------------------------------------------------------------


def _instance(
    machine: Interpreter, made: ClassValue, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns an object of a class."""
    if not made.is_module:
        return _plain_object(machine, made, args, named)
    machine.modules += 1
    if machine.modules > MODULES:
        raise machine.stop(f"it makes more than {MODULES:,} modules", "fewer layers")
    subject: Any = object.__new__(made.real)
    with machine.building_module():
        if any(isinstance(base, UnknownValue) for base in base_classes(machine, made)):
            begin(machine, nn.Module, subject, (), {})  # as a base of another file may do itself
        try:
            if (first := member(machine, subject, "__init__")) is not None:
                if isinstance(first, BoundFunction) and isinstance(first.function, SourceFunction):
                    args, named = of_function(machine, made.name, first.function, args, named)
                    given = bind_arguments(machine, first.function, (subject, *args), named)
                    subject.__dict__[SETTINGS] = given
                    _name_boxes(given)
                first(*args, **named)
            else:
                attribute(machine, Super(made, subject), "__init__")(*args, **named)
        except (SourceException, TextError) as error:
            error.inside = True  # type: ignore[union-attr]
            raise
    if "_parameters" not in subject.__dict__:
        begin(machine, nn.Module, subject, (), {})
    return subject


def _name_boxes(given: Mapping[str, Any]) -> None:
    """Gives each ``nn.Module()`` among arguments the name of its argument."""
    for name, one in given.items():
        for part in one if isinstance(one, list | nn.ModuleList) else (one,):
            if isinstance(part, ExternalModule) and part.title == "Module":
                part.__dict__["made_of"][1].name = name


def _plain_object(
    machine: Interpreter, made: ClassValue, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    subject = made.real()
    if (first := member(machine, subject, "__init__")) is not None:
        first(*args, **named)
    elif any(isinstance(base, UnknownValue) for base in made.bases):
        return UnknownValue(
            made.name, next(b for b in made.bases if isinstance(b, UnknownValue)).reason
        )
    elif args or named:
        error = TypeError(f"{made.name}() takes no arguments")
        raise machine.source_error(error, machine.node)
    return subject


def fill(
    machine: Interpreter,
    made: ClassValue,
    subject: PlainObject,
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> None:
    """Sets the fields of an object of a data class."""
    fields = data_class_fields(machine, made)
    given = ast.arguments([], [ast.arg(name) for name in fields], None, [], [], None, [])
    node = ast.Lambda(given, ast.Constant(None))
    defaults = {name: value for name, value in fields.items() if not isinstance(value, Missing)}
    function = SourceFunction(made.name, node, Scope(), lambda *_: None, defaults)
    for name, value in bind_arguments(machine, function, args, named).items():
        subject.own[name] = value.make() if isinstance(value, Factory) else value
    if (after := member(machine, subject, "__post_init__")) is not None:
        after()


class Missing:
    """The default of a field that has none."""


class Factory:
    """A default value that is made anew for each object."""

    def __init__(self, make: Any) -> None:
        self.make = make


def data_class_fields(machine: Interpreter, made: ClassValue) -> dict[str, Any]:
    """Returns the fields of a data class with their defaults, those of its bases first."""
    found: dict[str, Any] = {}
    for real in reversed(made.real.__mro__):
        own = machine.classes.get(real)
        for name in (own.fields or ()) if own else ():
            found[name] = own.names.get(name, Missing()) if own else Missing()
    return found
