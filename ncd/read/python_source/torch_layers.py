"""Layers of torch, built without memory, and the one that stops with an error."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import Parameter, signature
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedOperatorException,
    unset_fake_temporarily,
)
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.rnn import RNNCellBase
from torch.utils._pytree import tree_map_only

from ncd.errors import printable_line, short_repr
from ncd.notation.term_reader import TextError
from ncd.read.python_source.interpreter import (
    NODE,
    BuiltinFunction,
    Interpreter,
    LayerStops,
    PlainObject,
    UnknownValue,
    WrongArguments,
    error_at,
)
from ncd.read.python_source.other_files import ExternalModule, of_layer
from ncd.read.python_source.source_operators import is_placeholder, shared_numbers
from ncd.read.torch_module.torch_export import quiet
from ncd.words import nearest_name

# --- Layers of torch whose weights take no memory, as only their shapes matter

PLACES = ("device", "pin_memory", "out")  # arguments that say where numbers lie
MODULES = 4_000  # that one source makes
STACKS = (nn.Transformer, nn.TransformerEncoder, nn.TransformerDecoder)
LAYERS = ("num_layers", "num_encoder_layers", "num_decoder_layers")  # of a stack
ONES = ("running_var",)  # buffers that begin with ones


def placeholder(shape: Any, dtype: torch.dtype = torch.float32, grad: bool = True) -> nn.Parameter:
    """Returns a weight of a given shape that takes no memory, as its numbers are those of others.

    >>> placeholder((3000, 2000)).untyped_storage().nbytes()
    4
    """
    real = dtype.is_floating_point or dtype.is_complex
    numbers = shared_numbers(shape) if dtype == torch.float32 else None
    if numbers is None:
        numbers = spread(shape, dtype, _mean(shape) if real else 1)
    return nn.Parameter(numbers, requires_grad=grad and real)


def _mean(shape: Any) -> float:
    """Returns the number with which a map gives a mean of its inputs; 1 for what is no map."""
    if any(type(n) is not int or n < 1 for n in shape) or len(shape) < 2:
        return 1
    return shape[0] / prod(shape)


def spread(shape: Any, dtype: torch.dtype = torch.float32, number: float = 1) -> Tensor:
    """Returns a tensor of one number, of which it takes the memory."""
    return torch.full((), number, dtype=dtype).expand(shape)


def begin(
    machine: Interpreter,
    real: type[nn.Module],
    subject: nn.Module,
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> None:
    """Initialises an object as the ``__init__`` of a class of torch does."""
    machine.step(machine.node, 20)
    if issubclass(real, nn.Sequential | nn.ModuleList | nn.ModuleDict):
        args = tuple(as_parts(machine, one) for one in args)
    args, named = of_layer(machine, real, args, named)
    if unknown := [one for one in (*args, *named.values()) if isinstance(one, UnknownValue)]:
        raise machine.unknown_error(unknown[0])
    if machine.first_layers and issubclass(real, STACKS):
        args, named = (), _of_one_layer(real, args, named)
    with _copies(), torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that another setting would be faster
        machine.attempt(real.__init__, subject, *args, **_without_placement(named))
    for part in subject.modules():
        _fill(part)
    machine.put(subject, [named.get("device")])


def _of_one_layer(
    real: type[nn.Module], args: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the arguments of a stack with one layer for many, which are copies of the first.

    They are given arrays of the same sizes, and so read the same.

    >>> _of_one_layer(nn.Transformer, (512, 8, 6), {})["num_encoder_layers"]
    1
    """
    bound = signature(real).bind(*args, **named)
    bound.apply_defaults()
    many = [name for name in LAYERS if isinstance(bound.arguments.get(name), int)]
    return {**bound.arguments, **dict.fromkeys(many, 1)}


def as_parts(machine: Interpreter, given: Any) -> Any:
    """Returns what a container is given, with boxes for what is not known."""
    if isinstance(given, UnknownValue):
        return ExternalModule(machine, given)
    if isinstance(given, dict):
        named = {name: as_parts(machine, one) for name, one in given.items()}
        return OrderedDict(named) if isinstance(given, OrderedDict) else named  # a list of layers
    return [as_parts(machine, one) for one in given] if isinstance(given, list | tuple) else given


def layer(
    machine: Interpreter, real: type[nn.Module], args: Any, named: Mapping[str, Any]
) -> nn.Module:
    """Returns a layer of torch."""
    check_arguments(machine, real, args, named)
    subject = real.__new__(real)
    begin(machine, real, subject, args, named)
    machine.places[id(subject)] = machine.node
    return subject


def check_arguments(
    machine: Interpreter, real: type[nn.Module], args: Any, named: Mapping[str, Any]
) -> None:
    """Raises an error for arguments that the class does not have, or lacks, as torch binds them."""
    takes = signature(real)
    known = [one.name for one in takes.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    names = _argument_names(real)
    for name in named if names else ():
        if name not in names:
            fact = f"{real.__name__} has no argument {short_repr(name)}"
            raise _misfit(machine, fact, nearest_name(name, names))
    try:
        takes.bind(*args, **named)
    except TypeError:
        given = {*known[: len(args)], *named}
        needed = [n for n in known if takes.parameters[n].default is Parameter.empty]
        if lacking := [name for name in needed if name not in given]:
            cure = f"{real.__name__}({', '.join(f'{name}=…' for name in needed)})"
            raise _misfit(machine, f"{real.__name__} lacks {', '.join(lacking)}", cure) from None
        if len(args) > len(known):
            fact = f"{real.__name__} takes {len(known)} arguments, but {len(args)} are given"
            raise _misfit(machine, fact, f"only {', '.join(known)}") from None
        twice = next((name for name in named if name in known[: len(args)]), "one")
        raise _misfit(machine, f"{real.__name__} is given {twice} twice", "it once") from None


def _argument_names(real: type[nn.Module]) -> list[str]:
    """Returns the names of the arguments of a class, with those that it passes on to its base.

    There are none for a class that takes any, such as the axes of einops' ``Rearrange``.

    >>> "num_layers" in _argument_names(nn.LSTM), "mode" in _argument_names(nn.LSTM)
    (True, False)
    """
    names: list[str] = []
    for kind in real.__mro__:
        takes = list(signature(vars(kind).get("__init__", object.__init__)).parameters.values())[1:]
        plain = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        names += [one.name for one in takes if one.kind in plain and one.name not in names]
        if not any(one.kind is one.VAR_KEYWORD for one in takes):
            break
    else:
        return []
    if issubclass(real, nn.RNNBase):  # whose mode its classes set; RNN takes one more out
        names = [name for name in names if name != "mode"]
        names += ["nonlinearity"] if issubclass(real, nn.RNN) else []
    return names


def _misfit(machine: Interpreter, fact: str, cure: str) -> Exception:
    """Returns an error that the source can catch as torch's TypeError."""
    return machine.source_error(error_at(machine.node, fact, cure, WrongArguments), machine.node)


def parameter(machine: Interpreter, value: Any = None, requires_grad: bool = True) -> Any:
    """Returns a parameter; its numbers are not kept. One of an unknown shape stays unknown."""
    if isinstance(value, UnknownValue):
        return value
    if value is None:
        value = torch.zeros(0)
    if not isinstance(value, Tensor):
        raise machine.source_error(TypeError("nn.Parameter takes a tensor"), machine.node)
    return placeholder(value.shape, value.dtype, bool(requires_grad))


def _without_placement(named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if name not in PLACES}


def _fill(part: nn.Module) -> None:
    """Gives a layer placeholder weights."""
    for name, own in [*part._parameters.items()]:
        if own is not None and own.is_meta:
            setattr(part, name, placeholder(own.shape, own.dtype, own.requires_grad))
    for name, buffer in [*part._buffers.items()]:
        if buffer is not None and buffer.is_meta:
            make = torch.ones if name in ONES else torch.zeros
            part._buffers[name] = make(buffer.shape, dtype=buffer.dtype)


@contextmanager
def _copies() -> Iterator[None]:
    """Makes copies of weights placeholders too, while torch copies layers."""
    before = nn.Parameter.__deepcopy__

    def copied(own: nn.Parameter, memo: dict[int, Any]) -> nn.Parameter:
        if id(own) not in memo:
            spread = own.is_meta or is_placeholder(own)
            made = placeholder(own.shape, own.dtype, own.requires_grad) if spread else own
            memo[id(own)] = made
        found: nn.Parameter = memo[id(own)]
        return found

    nn.Parameter.__deepcopy__ = copied  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        nn.Parameter.__deepcopy__ = before  # type: ignore[method-assign]


def deep_copy(machine: Interpreter, value: Any) -> Any:
    """Returns a copy of a module with its own weights, or of what holds other values."""
    import copy

    if not isinstance(value, nn.Module | nn.Parameter | PlainObject | list | dict | set | tuple):
        return value
    with _copies():
        return machine.attempt(copy.deepcopy, value)


# --- The layer of torch that stops with an error: which it is, what it takes, and what it is given

LETTERS = 300  # of a message of torch
DIMENSION_NAMES = {-1: "last", -2: "last but one", 1: "second"}
WIDTHS: tuple[tuple[type[nn.Module], str, int], ...] = (  # an argument, and a dimension of its size
    (nn.Linear, "in_features", -1),
    (nn.RNNBase, "input_size", -1),
    (RNNCellBase, "input_size", -1),
    (_NormBase, "num_features", 1),
    (nn.GroupNorm, "num_channels", 1),
)
TABLES = (nn.Embedding, nn.EmbeddingBag)


def layer_failure(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> TextError | None:
    """Returns the error of the layer that stops, at the place where it is made; None if none does.

    Args:
        machine: The interpretation; it knows where each layer was made.
        model: The module.
        inputs: Its inputs, of which only the shapes matter.
        named: Its inputs by name.
    """
    stopped = _stopping(model, inputs, named)
    return _input_error(machine, *stopped) if stopped else None


def misfit(
    model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> tuple[nn.Module, int, int] | None:
    """Returns the layer that stops on an array of another size, with that size and its own."""
    layer, args, _ = _stopping(model, inputs, named) or (model, (), None)
    given = next((x for x in args if isinstance(x, Tensor)), None)
    if given is None:
        return None
    widths = [(layer.normalized_shape[-1], -1)] if isinstance(layer, nn.LayerNorm) else []
    widths += [(getattr(layer, name), dimension) for name, dimension in _widths(layer)]
    for wanted, dimension in widths:
        if -given.dim() <= dimension < given.dim() and given.shape[dimension] != wanted:
            return layer, int(given.shape[dimension]), wanted
    return None


def _stopping(
    model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> tuple[nn.Module, tuple[Any, ...], Exception] | None:
    """Returns the innermost module that stops, with what it is given and its error."""
    running: list[tuple[nn.Module, tuple[Any, ...]]] = []

    def enter(layer: nn.Module, args: tuple[Any, ...]) -> None:
        running.append((layer, args))

    def leave(*_: Any) -> None:
        running.pop()

    hooks = [part.register_forward_pre_hook(enter) for part in model.modules()]
    hooks += [part.register_forward_hook(leave) for part in model.modules()]
    try:
        with quiet(), FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
            args, words = tree_map_only(Tensor, mode.from_tensor, (inputs, named))
            model(*args, **words)
    except Exception as error:
        return (*running[-1], error) if running else None
    finally:
        for hook in hooks:
            hook.remove()
    return None


NO_RULE = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)


def _input_error(
    machine: Interpreter, layer: nn.Module, args: tuple[Any, ...], error: Exception
) -> TextError | None:
    """Returns what a layer says of the first array that it is given."""
    given = next((x for x in args if isinstance(x, Tensor)), None)
    place = machine.places.get(id(layer), NODE)
    if given is None or machine.failure is not None:
        return None
    name, shape = type(layer).__name__, "×".join(map(str, given.shape)) or "of one number"
    if isinstance(layer, TABLES) and given.is_floating_point():
        fact = f"{name} takes whole numbers, but the array ({shape}) holds real ones"
        cure = f"a last line {'x'.join(map(str, given.shape))}#{layer.num_embeddings}"
        return error_at(place, fact, cure, LayerStops)
    for argument, dimension in _widths(layer):
        wanted = getattr(layer, argument)
        if -given.dim() <= dimension < given.dim() and given.shape[dimension] != wanted:
            size = given.shape[dimension]
            where = f"its {DIMENSION_NAMES.get(dimension, 'channel')} dimension"
            fact = f"{argument} is {wanted}, but the array ({shape}) has {size} in {where}"
            return error_at(place, f"{name}: {fact}", f"{argument}={size}", LayerStops)
    if isinstance(error, NO_RULE):  # of torch, for shapes
        return error_at(place, f"{name} has no op in a diagram", "what comes before it", LayerStops)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    words = printable_line(lines[0], LETTERS).rstrip(".!") if lines else type(error).__name__
    return error_at(place, f"{name} stops on an array ({shape}): {words}", kind=LayerStops)


def _widths(layer: nn.Module) -> list[tuple[str, int]]:
    """Returns the arguments that are the size of a dimension of the input, and which it is."""
    if isinstance(layer, _ConvNd):
        return [("in_channels", -len(layer.kernel_size) - 1)]
    return [(name, dimension) for kind, name, dimension in WIDTHS if isinstance(layer, kind)]


# --- Layers such as ``nn.LazyLinear``, whose number of inputs follows from the first input

PLAIN_LAYERS: dict[str, type[nn.Module]] = {
    "LazyLinear": nn.Linear,
    **{f"LazyConv{n}d": getattr(nn, f"Conv{n}d") for n in (1, 2, 3)},
    **{f"LazyConvTranspose{n}d": getattr(nn, f"ConvTranspose{n}d") for n in (1, 2, 3)},
    **{f"LazyBatchNorm{n}d": getattr(nn, f"BatchNorm{n}d") for n in (1, 2, 3)},
}


def _lazy(name: str) -> BuiltinFunction:
    """Returns a function that makes a plain layer without inputs, to be given them later."""
    real = PLAIN_LAYERS[name]

    def make_layer(machine: Interpreter, *args: Any, **named: Any) -> nn.Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch, about weights without numbers
            found = layer(machine, real, (0, *args), named)
        found.register_forward_pre_hook(_fit)
        return found

    return BuiltinFunction(name, make_layer)


def _fit(part: nn.Module, given: tuple[Any, ...]) -> None:
    """Gives a layer weights for an input."""
    x = given[0]
    if not isinstance(x, Tensor):
        return
    n = x.shape[-1] if isinstance(part, nn.Linear) else x.shape[1]
    with unset_fake_temporarily():
        for name, own in [*part._parameters.items()]:
            if own is not None and (shape := _shape(part, name, own, n)) != own.shape:
                setattr(part, name, placeholder(shape))
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.num_features != n:
            part.running_mean, part.running_var = torch.zeros(n), torch.ones(n)
    names = ("in_features", "num_features", "in_channels")
    setattr(part, next(name for name in names if hasattr(part, name)), n)


def _shape(part: nn.Module, name: str, own: Tensor, n: int) -> tuple[int, ...]:
    """Returns the shape of a parameter for ``n`` inputs."""
    if isinstance(part, nn.modules.batchnorm._BatchNorm):
        return (n,)
    if name != "weight":
        return tuple(own.shape)
    if isinstance(part, nn.modules.conv._ConvTransposeNd):
        return (n, *own.shape[1:])
    return (own.shape[0], n // getattr(part, "groups", 1), *own.shape[2:])


def lazy_parts(model: nn.Module) -> list[nn.Module]:
    """Returns the layers of a model that have not been given their inputs."""
    return [part for part in model.modules() if _fit in part._forward_pre_hooks.values()]


def settle(model: nn.Module) -> None:
    """Keeps the weights that its layers have now."""
    for part in lazy_parts(model):
        part._forward_pre_hooks.clear()


LAZY = {name: _lazy(name) for name in PLAIN_LAYERS}
