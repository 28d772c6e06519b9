"""The libraries that a source may import: torch, einops, and small parts of Python's own."""

from __future__ import annotations

import ast
import copy
import itertools
import math
from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor

from ncd.pytorch_source.base.machine import ITEMS, Machine
from ncd.pytorch_source.base.source_operators import combined
from ncd.pytorch_source.base.source_values import (
    Bound,
    ClassValue,
    Function,
    Marked,
    Namespace,
    Native,
    Plain,
    Unknown,
)
from ncd.pytorch_source.calls import call
from ncd.pytorch_source.class_values import Factory, fill
from ncd.pytorch_source.listed.layer_building import deep_copy
from ncd.pytorch_source.listed.tensor_calls import torch_call
from ncd.pytorch_source.listed.torch_names import (
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
)
from ncd.pytorch_source.python_names import collected, numeric


def _nothing(machine: Machine, *args: Any, **named: Any) -> None:
    return None


def _same(machine: Machine, value: Any, *more: Any, **named: Any) -> Any:
    return value


def _second(machine: Machine, kind: Any, value: Any) -> Any:
    return value


def _factorial(n: int) -> int:
    if not 0 <= n <= 50:
        raise ValueError("factorial of a number over 50")
    return math.factorial(n)


def _choose(n: int, k: int) -> int:
    if not 0 <= k <= n <= 200:
        raise ValueError("comb of a number over 200")
    return math.comb(n, k)


def _partial(machine: Machine, function: Any, *args: Any, **named: Any) -> Any:
    if isinstance(function, Unknown):
        return function
    return Bound(lambda *more, **words: call(machine, function, more, words), args, named)


def _reduce(machine: Machine, function: Any, values: Any, *first: Any) -> Any:
    found = [*first, *machine.items(values)]
    if not found:
        raise TypeError("reduce of nothing")
    total = found[0]
    for each in found[1:]:
        total = machine.within(call(machine, function, (total, each), {}))
    return total


def _wraps(machine: Machine, function: Any = None, **named: Any) -> Any:
    return Native("wraps", _same)


def _cached(machine: Machine, function: Any = None, **named: Any) -> Any:
    return function if isinstance(function, Function) else Native("cached", _same)


def _dataclass(machine: Machine, made: Any = None, **named: Any) -> Any:
    if made is None:
        return Native("dataclass", _dataclass)
    if not isinstance(made, ClassValue):
        raise TypeError("@dataclass stands before a class")
    made.fields = list(made.annotated)
    first = Marked("method", lambda it, *args, **named: fill(machine, made, it, args, named))
    made.names.setdefault("__init__", first)
    return made


def _as_dict(machine: Machine, value: Any) -> Any:
    """Returns the fields of an object of a data class as a dict, also those inside of it."""
    if isinstance(value, Plain):
        return {name: _as_dict(machine, one) for name, one in value.own.items()}
    return [_as_dict(machine, one) for one in value] if isinstance(value, list) else value


def _copied(machine: Machine, value: Any) -> Any:
    """Returns a copy that shares what is inside."""
    if isinstance(value, Plain):
        found = type(value).__new__(type(value))
        found.__dict__ |= {**value.__dict__, "own": {**value.own}}
        return found
    return copy.copy(value) if isinstance(value, list | dict | set) else value


def _replaced(machine: Machine, value: Any, **named: Any) -> Any:
    """Returns an object of a data class with other values in some fields."""
    if not isinstance(value, Plain):
        raise TypeError("replace takes an object of a data class")
    return call(machine, type(value).visitor, (), {**value.own, **named})


def _field(machine: Machine, default: Any = None, default_factory: Any = None, **named: Any) -> Any:
    if default_factory is not None:
        return Factory(lambda: call(machine, default_factory, (), {}))
    return default


def _repeat(machine: Machine, value: Any, times: int = ITEMS + 1) -> Any:
    if not 0 <= times <= ITEMS:
        raise machine.stop("it is repeated too often", "fewer repetitions")
    return iter([value] * times)


def _product(machine: Machine, *values: Any, repeat: int = 1) -> Any:
    lists = [machine.items(one) for one in values] * min(max(repeat, 0), 20)
    if math.prod(map(len, lists)) > ITEMS:
        raise machine.stop("it goes through too many things", "fewer")
    return iter(list(itertools.product(*lists)))


def _accumulate(machine: Machine, values: Any, function: Any = None, initial: Any = None) -> Any:
    def step(total: Any, each: Any) -> Any:
        if function is None:
            return combined(machine, ast.Add(), total, each)
        return machine.within(call(machine, function, (total, each), {}))

    return iter(list(itertools.accumulate(machine.items(values), step, initial=initial)))


def _zip_longest(machine: Machine, *values: Any, fillvalue: Any = None) -> Any:
    return iter(list(itertools.zip_longest(*map(machine.items, values), fillvalue=fillvalue)))


def _chain(machine: Machine, *values: Any) -> Any:
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
MutableMapping NamedTuple Optional Protocol Sequence Set Tuple Type TypeAlias TypedDict Union
Generator Collection Hashable Sized Annotated Self ParamSpec Concatenate
"""
TYPING = Namespace(
    "typing",
    {
        **native(**dict.fromkeys(_HINTS.split(), _nothing)),
        **native(
            **dict.fromkeys(("TypeVar", "NewType"), _nothing),
            **dict.fromkeys(("overload", "final", "no_type_check", "runtime_checkable"), _same),
            cast=_second,
        ),
        "TYPE" + "_CHECKING": False,  # nothing is imported for types alone
        "OrderedDict": Native("OrderedDict", collected(OrderedDict)),
    },
)
COLLECTIONS = Namespace(
    "collections",
    {"OrderedDict": Native("OrderedDict", collected(OrderedDict)), "abc": TYPING},
)
FUNCTOOLS = Namespace(
    "functools",
    native(
        partial=_partial,
        reduce=_reduce,
        wraps=_wraps,
        lru_cache=_cached,
        cache=_cached,
        total_ordering=_same,
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
_TORCH = "zeros ones arange linspace eye where concatenate stack outer"


def _either(name: str) -> Any:
    """Returns a function of numbers, or of tensors where it is given one."""
    whole = numeric(pow) if name == "power" else MATH.names[name].run
    of_tensors = torch.pow if name == "power" else getattr(torch, name)

    def run(machine: Machine, *args: Any) -> Any:
        if any(isinstance(one, Tensor) for one in args):
            return torch_call(machine, of_tensors, args, {})
        return whole(machine, *args)

    return Native(name, run)


def _array(machine: Machine, value: Any, dtype: Any = None) -> Any:
    """Returns an array of numpy, as a tensor."""
    return torch_call(machine, torch.as_tensor, (value,), {"dtype": dtype} if dtype else {})


NUMPY = Namespace(
    "numpy",
    {
        **{name: _either(name) for name in _ARRAYS.split()},
        **{name: TORCH.names[name] for name in _TORCH.split()},
        **native(abs=numeric(abs), log1p=numeric(math.log1p), array=_array, asarray=_array),
        "power": _either("power"),
        "float32": torch.float32,
        "float64": torch.float64,
        "int64": torch.int64,
        "pi": math.pi,
        "inf": math.inf,
        "e": math.e,
    },
)
LIBRARIES: dict[str, Any] = {
    "torch": TORCH,
    "torch.nn": NN,
    "torch.nn.functional": FUNCTIONAL,
    "torch.nn.init": INIT,
    "torch.nn.utils": NN_UTILS,
    "torch.utils": UTILS,
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
        {**native(dataclass=_dataclass, field=_field, replace=_replaced, asdict=_as_dict)},
    ),
    "copy": Namespace("copy", native(deepcopy=deep_copy, copy=_copied)),
    "warnings": Namespace("warnings", native(warn=_nothing, filterwarnings=_nothing)),
    "__future__": Namespace("__future__", dict.fromkeys(("annotations", "division"))),
}
