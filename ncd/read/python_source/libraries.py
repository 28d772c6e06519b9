"""The libraries that a source may import and small parts that many sources import.

They are written here as sources, which are interpreted like that of a visitor. Whatever else such
a library has is unknown.

They are written here as a source, which is interpreted like that of a visitor.
"""

from __future__ import annotations

import ast
import copy
import itertools
import math
import operator
import re
import sys
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from ncd.errors import short_repr
from ncd.read.python_source.functions_and_classes import Factory, call, fill, forward_of
from ncd.read.python_source.interpreter import (
    ITEMS,
    SETTINGS,
    BoundFunction,
    BuiltinFunction,
    ClassValue,
    DecoratedFunction,
    Interpreter,
    Namespace,
    PartialNamespace,
    PlainObject,
    Scope,
    SourceFunction,
    UnknownValue,
)
from ncd.read.python_source.library_layers import (
    ACTIVATIONS,
    CHECKS,
    HEADS,
    MEDICAL,
    MODELS,
    PARALLEL,
    VISION,
)
from ncd.read.python_source.python_names import collection_function, numeric
from ncd.read.python_source.source_operators import binary_result
from ncd.read.python_source.torch_layers import deep_copy
from ncd.read.python_source.torch_names import (
    BACKENDS,
    CUDA,
    EINOPS,
    EINOPS_LAYERS,
    FUNCTIONAL,
    INIT,
    JIT,
    NN,
    NN_UTILS,
    TORCH,
    UTILS,
    native,
    torch_call,
)
from ncd.words import nearest_name

# --- The libraries that a source may import: torch, einops, and small parts of Python's own

MAX_REPEAT = 20  # times that a product takes its lists
FIELD = re.compile(r"[A-Za-z]\w{0,60}", re.ASCII)  # of a named tuple


def _nothing(machine: Interpreter, *args: Any, **named: Any) -> None:
    return None


def _identity(machine: Interpreter, value: Any, *more: Any, **named: Any) -> Any:
    return value


def _second(machine: Interpreter, kind: Any, value: Any) -> Any:
    return value


def _factorial(n: int) -> int:
    if not 0 <= n <= 50:
        raise ValueError("factorial of a number over 50")
    return math.factorial(n)


def _choose(n: int, k: int) -> int:
    if not 0 <= k <= n <= 200:
        raise ValueError("comb of a number over 200")
    return math.comb(n, k)


def _partial_call(machine: Interpreter, function: Any, *args: Any, **named: Any) -> Any:
    if isinstance(function, UnknownValue):
        return function
    return BoundFunction(lambda *more, **words: call(machine, function, more, words), args, named)


def _reduce(machine: Interpreter, function: Any, values: Any, *first: Any) -> Any:
    found = [*first, *machine.items(values)]
    if not found:
        raise TypeError("reduce of nothing")
    total = found[0]
    for each in found[1:]:
        total = machine.checked_size(call(machine, function, (total, each), {}))
    return total


def _wraps(machine: Interpreter, function: Any = None, **named: Any) -> Any:
    return BuiltinFunction("wraps", _identity)


def _cache(machine: Interpreter, function: Any = None, **named: Any) -> Any:
    return (
        function if isinstance(function, SourceFunction) else BuiltinFunction("cached", _identity)
    )


def _dataclass(machine: Interpreter, made: Any = None, **named: Any) -> Any:
    if made is None:
        return BuiltinFunction("dataclass", _dataclass)
    if not isinstance(made, ClassValue):
        raise TypeError("@dataclass stands before a class")
    made.fields = list(made.annotated_names)
    first = DecoratedFunction(
        "method", lambda it, *args, **named: fill(machine, made, it, args, named)
    )
    made.names.setdefault("__init__", first)
    return made


def _as_dict(machine: Interpreter, value: Any) -> Any:
    """Returns the fields of an object of a data class as a dict, also those inside of it."""
    if isinstance(value, PlainObject):
        return {name: _as_dict(machine, one) for name, one in value.own.items()}
    return [_as_dict(machine, one) for one in value] if isinstance(value, list) else value


def _copy(machine: Interpreter, value: Any) -> Any:
    """Returns a copy that shares what is inside."""
    if isinstance(value, PlainObject):
        found = type(value).__new__(type(value))
        found.__dict__ |= {**value.__dict__, "own": {**value.own}}
        return found
    return copy.copy(value) if isinstance(value, list | dict | set) else value


def _replace(machine: Interpreter, value: Any, **named: Any) -> Any:
    """Returns an object of a data class with other values in some fields."""
    if not isinstance(value, PlainObject):
        raise TypeError("replace takes an object of a data class")
    return call(machine, type(value).visitor, (), {**value.own, **named})


def _field(
    machine: Interpreter, default: Any = None, default_factory: Any = None, **named: Any
) -> Any:
    if default_factory is not None:
        return Factory(lambda: call(machine, default_factory, (), {}))
    return default


def _repeat(machine: Interpreter, value: Any, times: int = ITEMS + 1) -> Any:
    if not 0 <= times <= ITEMS:
        raise machine.stop("it is repeated too often", "fewer repetitions")
    return iter([value] * times)


def _product(machine: Interpreter, *values: Any, repeat: int = 1) -> Any:
    lists = [machine.items(one) for one in values] * min(repeat, MAX_REPEAT)
    if not 0 <= repeat <= MAX_REPEAT or math.prod(map(len, lists)) > ITEMS:
        raise machine.stop("it goes through too many things", "fewer")
    return iter(list(itertools.product(*lists)))


def _accumulate(
    machine: Interpreter, values: Any, function: Any = None, initial: Any = None
) -> Any:
    def step(total: Any, each: Any) -> Any:
        if function is None:
            return binary_result(machine, ast.Add(), total, each)
        return machine.checked_size(call(machine, function, (total, each), {}))

    return iter(list(itertools.accumulate(machine.items(values), step, initial=initial)))


def _named_tuple(
    machine: Interpreter, name: str, fields: Any, defaults: Any = None, **named: Any
) -> BuiltinFunction:
    """Returns the function that makes tuples whose parts have names."""
    words = fields.replace(",", " ").split() if isinstance(fields, str) else machine.items(fields)
    names = [pair[0] if isinstance(pair, tuple) else pair for pair in words]
    if len(names) > 50 or not all(
        isinstance(x, str) and FIELD.fullmatch(x) for x in (name, *names)
    ):
        raise machine.refuse("the fields of a named tuple are not understood", "plain names")
    last = machine.items(defaults) if defaults is not None else None
    kind = machine.attempt(namedtuple, name, names, defaults=last)
    return BuiltinFunction(name, lambda machine, *args, **given: kind(*args, **given))


def _zip_longest(machine: Interpreter, *values: Any, fillvalue: Any = None) -> Any:
    return iter(list(itertools.zip_longest(*map(machine.items, values), fillvalue=fillvalue)))


def _chain(machine: Interpreter, *values: Any) -> Any:
    return iter([one for each in values for one in machine.items(each)])


_MATH = """
acos asin atan atan2 ceil copysign cos cosh degrees erf exp expm1 fabs floor fmod gcd hypot isclose
isinf isnan isqrt lcm log log10 log1p log2 pow prod radians sin sinh sqrt tan tanh trunc
"""
MATH = Namespace(
    "math",
    {
        **native(
            **{name: numeric(getattr(math, name)) for name in _MATH.split()},
            factorial=numeric(_factorial),
            comb=numeric(_choose),
        ),
        "pi": math.pi,
        "e": math.e,
        "inf": math.inf,
        "nan": math.nan,
    },
)

_HINTS = """
Any AnyStr Callable ClassVar Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping
MutableMapping Optional Protocol Sequence Set Tuple Type TypeAlias TypedDict Union
Generator Collection Hashable Sized Annotated Self ParamSpec Concatenate
"""
TYPING = Namespace(
    "typing",
    {
        **native(**dict.fromkeys(_HINTS.split(), _nothing)),
        **native(
            **dict.fromkeys(("TypeVar", "NewType"), _nothing),
            **dict.fromkeys(("overload", "final", "no_type_check", "runtime_checkable"), _identity),
            cast=_second,
            NamedTuple=_named_tuple,
        ),
        "TYPE" + "_CHECKING": False,  # nothing is imported for types alone
        "OrderedDict": BuiltinFunction("OrderedDict", collection_function(OrderedDict)),
    },
)
COLLECTIONS = Namespace(
    "collections",
    {
        **native(namedtuple=_named_tuple),
        "OrderedDict": BuiltinFunction("OrderedDict", collection_function(OrderedDict)),
        "abc": TYPING,
    },
)
FUNCTOOLS = Namespace(
    "functools",
    native(
        partial=_partial_call,
        reduce=_reduce,
        wraps=_wraps,
        lru_cache=_cache,
        cache=_cache,
        total_ordering=_identity,
    ),
)
ITERTOOLS = Namespace(
    "itertools",
    native(
        repeat=_repeat,
        product=_product,
        chain=_chain,
        pairwise=lambda machine, values: iter(list(itertools.pairwise(machine.items(values)))),
        accumulate=_accumulate,
        zip_longest=_zip_longest,
    ),
)
_ARRAYS = "sqrt exp log log2 log10 sin cos tan tanh floor ceil prod"
_OF_LISTS = "where concatenate stack outer"  # whose arrays may be lists of numbers
_DOUBLE = "zeros ones empty eye linspace full"


def _either(name: str) -> Any:
    """Returns a function of numbers, or of tensors where it is given one."""
    whole = numeric(pow) if name == "power" else MATH.names[name].run
    of_tensors = torch.pow if name == "power" else getattr(torch, name)

    def run(machine: Interpreter, *args: Any) -> Any:
        if any(isinstance(one, Tensor) for one in args):
            return torch_call(machine, of_tensors, args, {})
        return whole(machine, *args)

    return BuiltinFunction(name, run)


def _array(machine: Interpreter, value: Any, dtype: Any = None) -> Any:
    """Returns an array of numpy, as a tensor: real numbers have 64 bits if nothing else is said."""
    words = {"dtype": dtype} if dtype else {}
    found = torch_call(machine, torch.as_tensor, (value,), words)
    plain = not dtype and isinstance(found, Tensor) and not isinstance(value, Tensor)
    return found.double() if plain and found.is_floating_point() else found


def _of_lists(name: str) -> Callable[..., Any]:
    """Returns a function of torch that takes lists of numbers as arrays, as numpy does."""
    of_several = name in ("concatenate", "stack")  # arrays, which stay in their list

    def run(machine: Interpreter, *args: Any, **named: Any) -> Any:
        def as_array(one: Any) -> Any:
            return _array(machine, one) if isinstance(one, list | tuple) else one

        several = of_several and args and isinstance(args[0], list | tuple)
        head = ([as_array(one) for one in args[0]],) if several else ()
        arrays = (*head, *map(as_array, args[len(head) :]))
        return call(machine, TORCH.names[name], arrays, named)

    return run


def _window(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of numpy that makes a window whose ends are the same."""

    def run(machine: Interpreter, length: int) -> Any:
        return torch_call(machine, function, (length, False), {"dtype": torch.float64})

    return run


def _double(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of torch that makes an array, as numpy has it: of 64 bits."""

    def run(machine: Interpreter, *args: Any, dtype: Any = None) -> Any:
        return torch_call(machine, function, args, {"dtype": dtype or torch.float64})

    return run


_OF_NUMBERS: dict[str, tuple[Callable[..., Any], Any]] = {  # of plain numbers, and of arrays
    "clip": (lambda x, low, high: min(max(x, low), high), torch.clip),
    "maximum": (max, torch.maximum),
    "minimum": (min, torch.minimum),
    "mod": (operator.mod, torch.remainder),
    "floor_divide": (operator.floordiv, torch.floor_divide),
    "round": (round, torch.round),
    "atleast_1d": (lambda x: torch.as_tensor([x]), torch.atleast_1d),
    "cumsum": (lambda x: torch.as_tensor([x]), lambda x: torch.cumsum(x, 0)),
    "sum": (lambda x: x, torch.sum),
    "max": (lambda x: x, torch.amax),
    "min": (lambda x: x, torch.amin),
    "mean": (lambda x: x, torch.mean),
    "abs": (abs, torch.abs),
    "square": (lambda x: x * x, torch.square),
    "sign": (lambda x: float((x > 0) - (x < 0)), torch.sign),
    "sinc": (lambda x: math.sin(math.pi * x) / (math.pi * x) if x else 1.0, torch.sinc),
    "exp2": (lambda x: 2.0**x, torch.exp2),
    "radians": (math.radians, torch.deg2rad),
}
_WINDOWS = {  # of so many numbers
    "hanning": torch.hann_window,
    "hamming": torch.hamming_window,
    "blackman": torch.blackman_window,
}


def _numbers(name: str) -> BuiltinFunction:
    """Returns a function of numpy that takes a number, a list of numbers or an array."""
    plain, of_arrays = _OF_NUMBERS[name]

    def run(machine: Interpreter, *args: Any) -> Any:
        if all(isinstance(one, int | float) for one in args):
            return machine.attempt(plain, *args)
        arrays = (one if isinstance(one, Tensor) else torch.as_tensor(one) for one in args)
        return machine.attempt(of_arrays, *arrays)

    return BuiltinFunction(name, run)


NUMPY = Namespace(
    "numpy",
    {
        **{name: _numbers(name) for name in _OF_NUMBERS},
        **{name: _either(name) for name in _ARRAYS.split()},
        "arange": TORCH.names["arange"],
        **native(**{name: _of_lists(name) for name in _OF_LISTS.split()}),
        **native(**{name: _double(getattr(torch, name)) for name in _DOUBLE.split()}),
        **native(**{name: _window(function) for name, function in _WINDOWS.items()}),
        **native(log1p=numeric(math.log1p), array=_array, asarray=_array),
        "random": PartialNamespace(
            "numpy.random",
            native(rand=_double(torch.rand), randn=_double(torch.randn), seed=_nothing),
        ),
        "power": _either("power"),
        "float32": torch.float32,
        "float64": torch.float64,
        "int64": torch.int64,
        "pi": math.pi,
        "inf": math.inf,
        "e": math.e,
    },
)


def _first_choice(machine: Interpreter, values: Any, *more: Any, **named: Any) -> Any:
    """Returns the first of what is chosen from, as a diagram shows one of them."""
    found = machine.items(values)
    if not found:
        raise IndexError("a choice of nothing")
    machine.assumed_values["random.choice(…)"] = short_repr(found[0])
    return found[0]


def _tree_map(machine: Interpreter, function: Any, tree: Any, *more: Any) -> Any:
    """Returns lists, tuples and dictionaries with what a function gives for each of their parts."""
    return tree_map(lambda *parts: call(machine, function, parts, {}), tree, *more)


def _is_function(machine: Interpreter, value: Any) -> bool:
    """Returns whether a value is a function that Python code defines."""
    return isinstance(value, SourceFunction)


def _is_class(machine: Interpreter, value: Any) -> bool:
    return isinstance(value, ClassValue | type)


RANDOM = PartialNamespace("random", native(seed=_nothing, shuffle=_nothing, choice=_first_choice))
LIBRARIES: dict[str, Any] = {
    "random": RANDOM,
    "inspect": PartialNamespace("inspect", native(isfunction=_is_function, isclass=_is_class)),
    "sys": PartialNamespace("sys", {"version_info": sys.version_info[:3], "maxsize": sys.maxsize}),
    "torch": TORCH,
    "torch.nn": NN,
    "torch.nn.functional": FUNCTIONAL,
    "torch.nn.init": INIT,
    "torch.nn.utils": NN_UTILS,
    "torch.utils": UTILS,
    "torch.utils._pytree": PartialNamespace("torch.utils._pytree", native(tree_map=_tree_map)),
    "torch.cuda": CUDA,
    "torch.jit": JIT,
    "torch.backends": BACKENDS,
    "torch.hub": Namespace("torch.hub", {}),
    "math": MATH,
    "numpy": NUMPY,
    "einops": EINOPS,
    "einops.layers.torch": EINOPS_LAYERS,
    "typing": TYPING,
    "typing_extensions": TYPING,
    "collections": COLLECTIONS,
    "collections.abc": TYPING,
    "functools": FUNCTOOLS,
    "itertools": ITERTOOLS,
    "dataclasses": Namespace(
        "dataclasses",
        {**native(dataclass=_dataclass, field=_field, replace=_replace, asdict=_as_dict)},
    ),
    "copy": Namespace("copy", native(deepcopy=deep_copy, copy=_copy)),
    "warnings": Namespace("warnings", native(warn=_nothing, filterwarnings=_nothing)),
    "__future__": Namespace("__future__", dict.fromkeys(("annotations", "division"))),
}


# --- Parts of libraries for courses, training and settings, on which models are often built

COURSE = """
class Module(nn.Module):
    def __init__(self, *args, **named):
        super().__init__()
    def save_hyperparameters(self, *args, **named):
        settings = settings_of(self)
        for name in settings:
            setattr(self, name, settings[name])
    def forward(self, X):
        return self.net(X)
    def apply_init(self, inputs, init=None):
        return None
    def layer_summary(self, X_shape):
        return self(torch.zeros(X_shape))

class Classifier(Module):
    pass

def add_to_class(owner):
    return lambda method: add(owner, method)

randn, rand, zeros, ones, arange = torch.randn, torch.rand, torch.zeros, torch.ones, torch.arange
"""
TRAINING = """
class Settings:
    def __init__(self, **named):
        for name in named:
            setattr(self, name, named[name])

class LightningModule(nn.Module):
    def __init__(self, *args, **named):
        super().__init__()
    def save_hyperparameters(self, *args, **named):
        self.hparams = Settings(**settings_of(self))
    def log(self, *args, **named):
        return None
"""
ARGUMENTS = """
class Namespace:
    def __init__(self, **named):
        for name in named:
            setattr(self, name, named[name])

class ArgumentParser:
    def __init__(self, *args, **named):
        self.kept = Namespace()
    def add_argument(self, *names, **named):
        given = named.get("default")
        if named.get("action") == "store_true":
            given = given or False
        if named.get("action") == "store_false":
            given = True
        if isinstance(given, str) and named.get("type") is not None:
            given = named["type"](given)
        long = [name for name in names if name.startswith("--")]
        name = named.get("dest") or (long or names)[0].lstrip("-").replace("-", "_")
        setattr(self.kept, name, given)
    def add_argument_group(self, *args, **named):
        return self
    def set_defaults(self, **named):
        for name in named:
            setattr(self.kept, name, named[name])
    def parse_args(self, *args):
        return self.kept
    def parse_known_args(self, *args):
        return self.kept, []
"""
SETTINGS_OBJECT = """
class SimpleNamespace:
    def __init__(self, **named):
        for name in named:
            setattr(self, name, named[name])
"""
FILES = re.compile(
    r"\.+(\w+\.)*(layers?|_builder|_registry|_manipulate|_features|_efficientnet_blocks)(\.\w+)*"
)
OURS = ("layer_summary", "apply_init")
COPIES = """
def subsequent_mask(length):
    return torch.tril(torch.ones(length, length)).bool().unsqueeze(-1)

def clone_module_list(module, n):
    return nn.ModuleList([deepcopy(module) for _ in range(n)])
"""
GRAPHS = """
class Linear(nn.Linear):
    def __init__(self, in_channels, out_channels, bias=True, **named):
        super().__init__(in_channels, out_channels, bias=bias)

class MLP(nn.Sequential):
    def __init__(self, channel_list=None, *, in_channels=None, hidden_channels=None,
                 out_channels=None, num_layers=None, dropout=0.0, act="relu", norm="batch_norm",
                 bias=True, plain_last=True, **named):
        if isinstance(channel_list, int):
            in_channels, channel_list = channel_list, None
        inner = [hidden_channels] * ((num_layers or 1) - 1)
        sizes = channel_list or [in_channels, *inner, out_channels]
        norms = {"batch_norm": nn.BatchNorm1d, "layer_norm": nn.LayerNorm}
        parts = []
        for i in range(len(sizes) - 1):
            parts.append(nn.Linear(sizes[i], sizes[i + 1], bias=bias))
            if plain_last and i == len(sizes) - 2:
                break
            parts.append(norms[norm](sizes[i + 1]) if norm else nn.Identity())
            parts.append(activation_resolver(act) or nn.Identity())
            parts.append(nn.Dropout(dropout))
        super().__init__(*parts)
        self.in_channels, self.out_channels = sizes[0], sizes[-1]
    def forward(self, x, *args, **named):
        return super().forward(x)

def activation_resolver(query="relu", *args, **named):
    return get_activation(query) if isinstance(query, str) else query
"""
VERSIONS = """
class version:
    @staticmethod
    def parse(text):
        return [int(part) for part in text.split("+")[0].split(".")[:2]]

parse = Version = version.parse
"""
SYSTEM = """
environ = {}

def getenv(name, default=None):
    return environ.get(name, default)
"""
REARRANGEMENTS = """
from einops import rearrange, reduce, repeat

def rearrange_many(tensors, pattern, **sizes):
    return [rearrange(one, pattern, **sizes) for one in tensors]

def repeat_many(tensors, pattern, **sizes):
    return [repeat(one, pattern, **sizes) for one in tensors]

def reduce_many(tensors, pattern, reduction, **sizes):
    return [reduce(one, pattern, reduction, **sizes) for one in tensors]

def check_shape(tensor, pattern, **sizes):
    return rearrange(tensor, f"{pattern} -> {pattern}", **sizes)
"""
SOURCES = {
    "os": SYSTEM,
    "einops_exts": REARRANGEMENTS,
    "d2l": COURSE,
    "pytorch_lightning": TRAINING,
    "lightning": TRAINING,
    "argparse": ARGUMENTS,
    "packaging": VERSIONS,
    "timm": VISION + HEADS,
    "torchvision": MODELS,
    "fairscale": PARALLEL,
    "megatron": PARALLEL,
    "types": SETTINGS_OBJECT,
    "labml_nn": COPIES,
    "torch_geometric": GRAPHS,
    "monai": MEDICAL,
    "kornia": CHECKS,
}


def _settings_of(machine: Interpreter, subject: Any) -> dict[str, Any]:
    """Returns the arguments with which an object of a source is made."""
    given = subject.__dict__.get(SETTINGS, {}) if isinstance(subject, nn.Module) else {}
    return {name: value for name, value in given.items() if value is not subject}


def _add(machine: Interpreter, owner: Any, method: Any) -> Any:
    """Makes a function a method of a class, unless it only shows or begins something."""
    if not isinstance(owner, ClassValue) or not isinstance(method, SourceFunction):
        raise TypeError("add_to_class stands before a function")
    if method.name in OURS:
        return method
    owner.names[method.name], method.owner = method, owner
    if method.name == "forward" and owner.is_module:
        owner.real.forward = forward_of(machine, method)  # type: ignore[attr-defined]
    return method


def parts_of(machine: Interpreter, library: str) -> dict[str, Any]:
    """Returns the parts of a library by name; none of one that is not on the list.

    A file of layers that stands beside the source is one of timm's, or like it.
    """
    library = "timm" if FILES.fullmatch(library) else library
    if library not in SOURCES:
        return {}
    if library not in machine.parts:
        machine.parts[library] = _read(machine, SOURCES[library])
    return machine.parts[library]


def _read(machine: Interpreter, source: str) -> dict[str, Any]:
    """Interprets the source of such parts, without counting steps."""
    tree = ast.parse(source)
    for node in ast.walk(tree):  # an error in one is told at the line that imports it
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = getattr(machine.node, "lineno", 1)
            node.col_offset = node.end_col_offset = 0
    inner = {
        **machine.known_file_values,
        "settings_of": BuiltinFunction("settings_of", _settings_of),
        "add": BuiltinFunction("add", _add),
        "deepcopy": BuiltinFunction("deepcopy", deep_copy),
    }
    scope, steps = Scope(names=dict(inner)), machine.steps
    machine.run(tree.body, scope)
    machine.steps = steps
    return {name: value for name, value in scope.names.items() if value is not inner.get(name)}


# --- Small modules that many sources import from other files, such as ``DropPath``

SOURCE = """
from torch import nn, Tensor

def to_2tuple(x):
    return tuple(x) if isinstance(x, (list, tuple)) else (x, x)

def to_3tuple(x):
    return tuple(x) if isinstance(x, (list, tuple)) else (x, x, x)

def to_ntuple(n):
    return lambda x: tuple(x) if isinstance(x, (list, tuple)) else (x,) * n

_pair, _triple, _ntuple = to_2tuple, to_3tuple, to_ntuple

def exists(value):
    return value is not None

def default(value, other):
    return value if value is not None else other() if callable(other) else other

def trunc_normal_(tensor, *args, **named):
    return tensor

def lecun_normal_(tensor):
    return tensor

def _log_api_usage_once(value):
    return None

class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0, scale_by_keep=True):
        super().__init__()
        self.drop_prob = drop_prob
    def forward(self, x):
        return x

class StochasticDepth(nn.Module):
    def __init__(self, p, mode):
        super().__init__()
        self.p, self.mode = p, mode
    def forward(self, x):
        return x

def drop_path(x, *args, **named):
    return x

def stochastic_depth(input, *args, **named):
    return input

def _make_divisible(v, divisor=8, min_value=None, round_limit=0.9):
    near = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return near + divisor if near < round_limit * v else near

make_divisible = _make_divisible

class CfgNode:
    def __init__(self, **settings):
        self.merge_from_dict(settings)
    def merge_from_dict(self, settings):
        for name in settings:
            setattr(self, name, settings[name])

class WeightsEnum:
    @classmethod
    def verify(cls, value):
        return None

class ConvNormActivation(nn.Sequential):
    layer = nn.Conv2d
    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm2d, activation_layer=nn.ReLU, dilation=1, inplace=True,
                 bias=None):
        if padding is None:
            sides = zip(to_2tuple(kernel_size), to_2tuple(dilation))
            padding = tuple((k - 1) // 2 * d for k, d in sides)
            padding = padding[0] if isinstance(kernel_size, int) else padding
        bias = norm_layer is None if bias is None else bias
        parts = [self.layer(in_channels, out_channels, kernel_size, stride, padding,
                            dilation=dilation, groups=groups, bias=bias)]
        if norm_layer is not None:
            parts.append(norm_layer(out_channels))
        if activation_layer is not None:
            parts.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*parts)
        self.out_channels = out_channels

class Conv2dNormActivation(ConvNormActivation):
    pass

class Conv3dNormActivation(ConvNormActivation):
    layer = nn.Conv3d
    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm3d, activation_layer=nn.ReLU, **named):
        if padding is None:
            padding = tuple((k - 1) // 2 for k in to_3tuple(kernel_size))
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups,
                         norm_layer, activation_layer, **named)

class FrozenBatchNorm2d(nn.BatchNorm2d):
    pass

class SqueezeExcitation(nn.Module):
    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU,
                 scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()
    def forward(self, input):
        scale = self.fc2(self.activation(self.fc1(self.avgpool(input))))
        return self.scale_activation(scale) * input

class MLP(nn.Sequential):
    def __init__(self, in_channels, hidden_channels, norm_layer=None, activation_layer=nn.ReLU,
                 inplace=None, bias=True, dropout=0.0):
        settings = {} if inplace is None else {"inplace": inplace}
        parts = []
        for width in hidden_channels[:-1]:
            parts.append(nn.Linear(in_channels, width, bias=bias))
            if norm_layer is not None:
                parts.append(norm_layer(width))
            parts += [activation_layer(**settings), nn.Dropout(dropout, **settings)]
            in_channels = width
        parts += [nn.Linear(in_channels, hidden_channels[-1], bias=bias),
                  nn.Dropout(dropout, **settings)]
        super().__init__(*parts)

class Permute(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims
    def forward(self, x):
        return x.permute(self.dims)
"""


def share(machine: Interpreter) -> None:
    """Makes these modules available to an interpretation, without counting steps."""
    scope = Scope()
    tree = ast.parse(SOURCE + ACTIVATIONS + PARALLEL)
    for node in ast.walk(tree):  # an error in one is told at the first line
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    machine.run(tree.body, scope)
    known = {*machine.libraries["torch.nn"].names, "nn", "Tensor"}
    machine.known_file_values = {
        name: value for name, value in scope.names.items() if name not in known
    }
    machine.steps = 0


# --- Imports in a source: listed names become known, all others unknown values


OTHERS = ("MLP", "Permute")  # names of which libraries have another one each


def _find_library(machine: Interpreter, path: str) -> Any:
    """Returns the library of a dotted path, or None."""
    head, *rest = path.split(".")
    if parts := parts_of(machine, head or path):
        return PartialNamespace(path, parts)
    found = machine.libraries.get(path, machine.libraries.get(head))
    for name in rest if path not in machine.libraries else ():
        if not isinstance(found, Namespace):
            return None
        found = found.names.get(name)
    return found


def imported_library(machine: Interpreter, path: str, alias: str | None) -> tuple[str, Any]:
    """Returns the name that ``import path`` sets, and its value."""
    name = alias or path.split(".")[0]
    found = _find_library(machine, path if alias else name)
    return name, _unknown_value(
        machine, path, f"the library {path} is not read"
    ) if found is None else found


def imported_name(machine: Interpreter, path: str, name: str, alias: str | None) -> dict[str, Any]:
    """Returns the value for ``from path import name``."""
    space = _find_library(machine, path)
    if name == "*":
        if isinstance(space, Namespace):
            return dict(space.names)
        machine.star_import = path.strip(".") or "another file"
        return {}
    whole, given = f"{path}.{name}", alias or name
    if whole in machine.libraries:
        return {given: machine.libraries[whole]}
    if isinstance(space, Namespace) and name in space.names:
        return {given: space.names[name]}
    other = name in OTHERS and path[:1] != "." and "torchvision" not in path
    shared = {} if other else machine.known_file_values
    if isinstance(space, PartialNamespace):
        return {given: shared.get(name, space.missing_name(name, None))}
    if not isinstance(space, Namespace) and name in shared:
        return {given: shared[name]}
    if isinstance(space, Namespace):
        near = nearest_name(name, sorted(space.names), "")
        why = f"it is not on the list{near and f'; try {near}'}"
        return {given: _unknown_value(machine, whole, why)}
    file = path.strip(".") or "another file"
    return {given: _unknown_value(machine, name, f"it is imported from {file}, which is not read")}


# --- Names whose imports an excerpt leaves out, as most excerpts leave out that of nn

USUAL_IMPORTS = {  # of each library, as most sources import it
    "torch": "Tensor",
    "torch.nn.init": "xavier_uniform_ kaiming_normal_",
    "torch.nn.utils": "weight_norm spectral_norm",
    "torch.utils.checkpoint": "checkpoint",
    "torch.autograd": "Variable",
    "torch.cuda.amp": "autocast GradScaler",
    "argparse": "ArgumentParser",
    "einops": "rearrange repeat",
    "einops.layers.torch": "Rearrange Reduce",
    "collections": "OrderedDict namedtuple defaultdict deque",
    "copy": "deepcopy",
    "dataclasses": "dataclass field",
    "functools": "partial",
    "itertools": "chain",
    "timm.models.layers": "DropPath trunc_normal_ to_2tuple",
    "typing": "Any Callable Dict Iterable List Literal Optional Sequence Tuple Union",
    "abc": "ABC abstractmethod",
}
LIBRARY_NAMES = """
argparse copy collections functools itertools random os sys time json re logging numpy timm
torchvision transformers wandb tqdm torchinfo torchsummary
"""
USUAL_LIBRARIES = {
    "np": "numpy",
    "pl": "pytorch_lightning",
    "models": "torchvision.models",
    "init": "torch.nn.init",
    "optim": "torch.optim",
    "plt": "matplotlib.pyplot",
    "pd": "pandas",
    **{name: name for name in LIBRARY_NAMES.split()},
}
USUAL_NAMES = {name: path for path, names in USUAL_IMPORTS.items() for name in names.split()}
IMPORT = re.compile(r"^\s*(import|from)\s+torch\b", re.M)


def unimported_value(machine: Interpreter, name: str, is_near: bool) -> Any:
    """Returns the value of a name whose import an excerpt leaves out; None for any other name.

    A class that an excerpt without its imports does not define is one of another file, unless its
    name is near to one that is set, and hence misspelt.
    """
    if name in USUAL_NAMES:
        return imported_name(machine, USUAL_NAMES[name], name, None)[name]
    if name in USUAL_LIBRARIES:
        return imported_library(machine, USUAL_LIBRARIES[name], name)[1]
    if name[:1].isupper() and not is_near and IMPORT.search(machine.text) is None:
        return UnknownValue(name, "the text neither sets nor imports it")
    return None


def _unknown_value(machine: Interpreter, name: str, why: str) -> UnknownValue:
    """Returns an unknown value; raises ImportError where the source handles that error."""
    if machine.optional:
        raise machine.source_error(ImportError(f"{name}: {why}"), machine.node)
    return UnknownValue(name, why)
