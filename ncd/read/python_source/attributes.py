"""The attributes and methods that a source may use or set, by kind of value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ncd.errors import short_repr
from ncd.read.python_source.interpreter import (
    ITEMS,
    PART,
    SETTINGS,
    AssumedSettings,
    BoundFunction,
    ClassValue,
    DecoratedFunction,
    Interpreter,
    ListedMethod,
    Namespace,
    PlainObject,
    SourceFunction,
    SourceModule,
    Super,
    UnknownValue,
    source_attributes,
)
from ncd.read.python_source.other_files import (
    ExternalModule,
    assumed_setting,
    of_no_number,
    unknown_attribute,
)
from ncd.read.python_source.source_operators import format_text, kind_name, unknown_result
from ncd.read.python_source.torch_layers import as_parts, begin, layer, placeholder
from ncd.read.python_source.torch_names import (
    DEVICE_METHODS,
    FORMAT_METHODS,
    as_dtype,
    tensor_method,
    torch_call,
)
from ncd.words import nearest_name

# --- The lists of attributes that a source may read, by the kind of value

_TENSOR_METHODS = """
abs absolute acos add add_ addbmm addcdiv addcmul addmm all allclose amax amin any argmax argmin
argsort asin atan atan2 baddbmm bfloat16 bitwise_and bitwise_not bitwise_or bmm bool broadcast_to
byte ceil chunk clamp clamp_ clamp_max clamp_min clip clone contiguous copy_ cos cosh count_nonzero
cpu cross cuda cummax cumprod cumsum deg2rad detach detach_ diag diag_embed diagonal diff dim dist
div div_ dot double eq equal erf erfc exp exp_ expand expand_as expm1 fill_ fill_diagonal_ flatten
flip fliplr flipud float floor floor_divide floor_divide_ fmod frac gather ge gt half hardshrink
index_add index_copy index_fill index_select int inner is_complex is_contiguous
is_floating_point isfinite isinf isnan item kthvalue le lerp log log10 log1p log2 log_softmax
logaddexp logical_and logical_not logical_or logical_xor logsumexp long lt masked_fill masked_fill_
masked_scatter masked_select matmul max maximum mean median min minimum mm mul mul_ multiply mv
nan_to_num narrow ne neg negative new_full new_ones new_tensor new_zeros nonzero norm
normal_ numel outer permute pow pow_ prod quantile reciprocal relu relu_ remainder repeat
repeat_interleave requires_grad_ reshape reshape_as roll rot90 round rsqrt scatter scatter_
scatter_add select select_scatter sgn shape short sigmoid sigmoid_ sign sin sinh size softmax sort
split split_with_sizes sqrt square squeeze squeeze_ std stride sub sub_ subtract sum svd swapaxes
swapdims t take take_along_dim tan tanh tanh_ tensor_split tile to tolist topk transpose tril triu
true_divide trunc type type_as unbind unflatten unfold uniform_ unsqueeze unsqueeze_ var view
view_as vsplit where xlogy xavier_uniform_ zero_ clip_ is_cuda_ unsafe_chunk backward trunc_normal_
bernoulli_ ndimension nelement element_size adaptive_avg_pool2d view_as_complex view_as_real
new erfinv_ floor_ ceil_ round_ abs_ neg_ sqrt_ rsqrt_ clamp_min_ clamp_max_
acosh asinh atanh bernoulli copysign cummin digamma erfinv fmax fmin heaviside hypot lgamma
aminmax cholesky_solve dequantize i0 istft ldexp msort nanmean nansum nextafter polygamma stft
logcumsumexp logit matrix_exp mode moveaxis movedim rad2deg sinc trace
adjoint arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_xor cov divide dsplit exp2 fix
float_power greater greater_equal hsplit isclose isneginf isposinf kron less less_equal not_equal
positive prelu qr ravel renorm scatter_reduce slice_scatter vdot
addcdiv_ addcmul_ cos_ index_add_ lerp_ log_ nan_to_num_ reciprocal_ scatter_add_ sin_ square_
tril_ triu_
"""
TENSOR_METHODS = frozenset(name for name in _TENSOR_METHODS.split() if hasattr(Tensor, name))

TENSOR_VALUES: Mapping[str, Callable[[Tensor], Any]] = {
    "shape": lambda x: x.shape,
    "dtype": lambda x: x.dtype,
    "device": lambda x: x.device,
    "ndim": lambda x: x.dim(),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "data": lambda x: x.detach(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "is_cuda": lambda x: False,
    "is_mps": lambda x: False,
    "is_xpu": lambda x: False,
    "is_sparse": lambda x: False,
    "requires_grad": lambda x: x.requires_grad,
    "grad": lambda x: None,
    "itemsize": lambda x: x.element_size(),
}
_MODULE_METHODS = """
add_module apply bfloat16 buffers children cpu cuda double eval extra_repr flatten_parameters float
forward generate_square_subsequent_mask get_parameter get_submodule half load_state_dict modules
named_buffers named_children named_modules named_parameters parameters register_buffer
register_module register_parameter requires_grad_ reset_parameters _reset_parameters state_dict to
train type zero_grad
"""
MODULE_METHODS = frozenset(_MODULE_METHODS.split())
CONTAINER_METHODS = ("append", "extend", "insert", "items", "keys", "pop", "update", "values")
_OF_KINDS: Mapping[type, str] = {
    str: """capitalize count endswith find format index isdecimal isdigit join lower lstrip
        partition removeprefix removesuffix replace rfind rpartition rsplit rstrip split startswith
        strip title upper""",
    list: "append clear copy count extend index insert pop remove reverse sort",
    dict: "clear copy get items keys pop setdefault update values",
    set: "add copy difference discard intersection remove union update",
    tuple: "count index numel",
    range: "count index start step stop",
    int: "bit_length real",
    float: "is_integer real",
}
PLAIN_KINDS = {kind: frozenset(names.split()) for kind, names in _OF_KINDS.items()}


# --- Methods of modules that list their parts, and methods without effect on a diagram

SELF_RETURNING_METHODS = (  # they change numbers, or where they lie, and return the module
    *("requires_grad_", "zero_grad", "load_state_dict", "flatten_parameters"),
    *("reset_parameters", "_reset_parameters"),
)
LISTING_METHODS = (  # what they give is gone through
    *("parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules"),
    *("children", "named_children", "items", "keys", "values"),
)

TABLES = (nn.Embedding, nn.EmbeddingBag)
HOLDING = ("append", "extend", "insert", "add_module", "register_module", "update")  # of parts


def module_method(machine: Interpreter, value: nn.Module, name: str) -> Any:
    """Returns a listed method of a module."""
    if name in ("to", "type", *FORMAT_METHODS, *DEVICE_METHODS):
        return ListedMethod(name, partial(_convert_module, machine, value, name))
    if name in SELF_RETURNING_METHODS:
        return ListedMethod(name, lambda *args, **named: value)
    if name == "state_dict":
        return ListedMethod(
            name, lambda *args, **named: UnknownValue("state_dict()", "it holds numbers")
        )
    if name == "generate_square_subsequent_mask":
        return class_method(machine, type(value), name)
    if name in LISTING_METHODS:
        return ListedMethod(
            name, lambda *args, **named: _list_of_method(machine, value, name, args, named)
        )
    if name == "apply":
        return ListedMethod(name, lambda function: _apply_function(machine, value, function))
    if name == "register_buffer":
        return ListedMethod(name, lambda *args, **named: _buffer(machine, value, *args, **named))
    if name in HOLDING:
        return ListedMethod(
            name,
            lambda *args, **named: _add_parts(
                machine, value, name, [as_parts(machine, one) for one in args], named
            ),
        )
    return ListedMethod(
        name, lambda *args, **named: machine.attempt(getattr(value, name), *args, **named)
    )


def class_method(machine: Interpreter, kind: type, name: str) -> ListedMethod | None:
    """Returns a listed method of a class of torch, which needs no module; None for others."""
    if name == "from_pretrained" and kind in TABLES:
        return ListedMethod(name, lambda table, *_, **named: _table(machine, kind, table, named))
    if name == "generate_square_subsequent_mask" and issubclass(kind, nn.Transformer):
        return ListedMethod(name, lambda sz, *_, **named: _square_mask(machine, sz, named))
    return None


def _table(machine: Interpreter, kind: type, table: Any, named: dict[str, Any]) -> Any:
    """Returns a layer with the sizes of a table of learned rows."""
    if not isinstance(table, Tensor):
        return unknown_result(machine, table)
    words = ("padding_idx", "mode")
    kept: dict[str, Any] = {word: named[word] for word in words if word in named}
    return layer(machine, kind, tuple(table.shape), kept)


def _square_mask(machine: Interpreter, size: Any, named: dict[str, Any]) -> Any:
    """Returns the mask that hides later keys from a query."""
    kind = {"dtype": named["dtype"]} if named.get("dtype") is not None else {}
    full = machine.names["torch"].names["full"].run(machine, (size, size), float("-inf"), **kind)
    return torch_call(machine, torch.triu, (full, 1), {})


def _add_parts(
    machine: Interpreter, value: nn.Module, name: str, args: list[Any], named: dict[str, Any]
) -> Any:
    """Makes modules parts of another one."""
    check_parts(machine, value, (args, named))
    return machine.attempt(getattr(value, name), *args, **named)


def check_parts(machine: Interpreter, value: nn.Module, new: Any) -> None:
    """Refuses a module as a part of itself, which torch would go through without an end."""
    for part in tree_leaves(new):
        if isinstance(part, nn.Module) and any(one is value for one in part.modules()):
            raise machine.refuse("a module cannot be a part of itself", "another module")


def _convert_module(
    machine: Interpreter, value: nn.Module, name: str, *args: Any, **named: Any
) -> Any:
    """Returns a module on another device, or of which the weights have another format."""
    given = [name] if name in DEVICE_METHODS else [*args, *named.values()]
    kind = FORMAT_METHODS.get(name) or next(filter(None, map(as_dtype, given)), None)
    if kind is not None and kind.is_floating_point:
        _convert_weights(machine, value, kind)
    elif any(isinstance(one, UnknownValue) for one in given):
        machine.follows_formats = False  # nobody knows which one it has
    return machine.put(value, given)


def _convert_weights(machine: Interpreter, value: nn.Module, kind: torch.dtype) -> None:
    """Gives the weights of a module a format.

    A short one only where it is asked whether formats fit: what is drawn does not depend on it.
    """
    kind = kind if machine.follows_format(kind) else torch.float32
    line, made = getattr(machine.node, "lineno", 0), dict[int, nn.Parameter]()
    for part in value.modules():
        for key, own in [*part._parameters.items()]:
            if own is not None and own.is_floating_point() and own.dtype != kind:
                fresh = placeholder(own.shape, kind, own.requires_grad)
                setattr(part, key, made.setdefault(id(own), fresh))  # tied ones stay tied
    machine.converted_weights.update((id(one), (one, line)) for one in made.values())
    for part in value.modules():
        for key, kept in [*part._buffers.items()]:
            if kept is not None and kept.is_floating_point():
                part._buffers[key] = kept.to(kind)


def _apply_function(machine: Interpreter, value: nn.Module, function: Any) -> nn.Module:
    """Calls a function on all parts of a module; one that is not known only sets numbers."""
    return value if isinstance(function, UnknownValue) else machine.attempt(value.apply, function)


def _list_of_method(
    machine: Interpreter, value: nn.Module, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    found = machine.attempt(lambda: list(getattr(value, name)(*args, **named)))
    machine.step(machine.node, len(found))
    if name == "parameters" and isinstance(value, ExternalModule):
        found = [placeholder((1,))]  # of which a source asks where it lies
    return iter(found) if name not in ("items", "keys", "values") else found


def _buffer(
    machine: Interpreter, value: nn.Module, name: str, tensor: Any = None, persistent: bool = True
) -> None:
    """Registers a buffer; its numbers are constants of the diagram."""
    if isinstance(tensor, UnknownValue):
        source_attributes(value)[name] = tensor
        return
    if tensor is not None and not isinstance(tensor, Tensor):
        raise machine.source_error(TypeError(f"register_buffer: {name} is no tensor"), machine.node)
    if tensor is not None and tensor.numel() == 1 and not machine.tracing:
        machine.flags[id(value), name] = bool(tensor)
    if isinstance(value, SourceModule) and isinstance(tensor, nn.Parameter):
        tensor = tensor.detach()
    machine.attempt(value.register_buffer, name, tensor, persistent=bool(persistent))


# --- Methods of Python's strings, lists, dicts and other built-in values, with limits

VALUES = ("real", "start", "stop", "step")  # which are no methods
DTYPE = ("is_floating_point", "is_complex", "itemsize")


def plain_method(machine: Interpreter, value: Any, name: str, missing: Any) -> Any:
    """Returns a listed attribute of a Python value, or ``missing``."""
    if isinstance(value, torch.dtype):
        return getattr(value, name) if name in DTYPE else missing
    if isinstance(value, torch.device):
        return value.type if name == "type" else None if name == "index" else missing
    if isinstance(value, torch.finfo | torch.iinfo):
        return getattr(value, name) if name in ("min", "max", "eps", "tiny", "bits") else missing
    kinds = (names for kind, names in PLAIN_KINDS.items() if isinstance(value, kind))
    if name not in next(kinds, ()) or not hasattr(value, name):
        return _of_result(machine, value, name, missing)
    if name in VALUES:
        return getattr(value, name)
    if isinstance(value, str) and name == "format":
        return ListedMethod(
            name, lambda *args, **named: format_text(machine, value, *args, **named)
        )
    return ListedMethod(
        name, lambda *args, **named: _call_method(machine, value, name, args, named)
    )


def _of_result(machine: Interpreter, value: Any, name: str, missing: Any) -> Any:
    """Returns a field of a named tuple, such as ``values`` of a maximum."""
    kind = type(value)
    if isinstance(value, tuple) and kind.__module__ == "torch.return_types":
        return getattr(value, name) if name in ("values", "indices") else missing
    fields = getattr(kind, "_fields", ()) if isinstance(value, tuple) else ()
    if name in fields or (fields and name == "_fields"):
        return getattr(value, name)
    if fields and name in ("_asdict", "_replace"):
        return ListedMethod(name, partial(machine.attempt, getattr(value, name)))
    return missing


def _call_method(
    machine: Interpreter, value: Any, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns the result of a method; raises Stopped if it is too large."""
    if name in ("extend", "update") and args:
        spread = args[0] if isinstance(args[0], dict) else machine.items(args[0])
        args = (spread, *args[1:])
        _check_growth(machine, value, len(spread))
    if name == "join":
        parts = machine.items(args[0]) if args else []
        _check_growth(machine, value, sum(len(value) + len(x) for x in parts if isinstance(x, str)))
        args = (parts, *args[1:])
    if name == "replace" and len(args) > 1 and isinstance(args[1], str):
        _check_growth(machine, value, len(value) * len(args[1]))
    machine.step(machine.node, len(value) // 100 if hasattr(value, "__len__") else 0)
    found = machine.attempt(getattr(value, name), *args, **named)
    if isinstance(value, dict) and name in ("items", "keys", "values"):
        found = list(found)
    machine.checked_size(value)
    return machine.checked_size(found)


def _check_growth(machine: Interpreter, value: Any, more: int) -> None:
    """Raises Stopped if a value would become too large by an addition."""
    if len(value) + more > ITEMS:
        raise machine.stop("it becomes too long", "less")


# --- Sets attributes of objects and modules of a source

MISSING = object()
PART_TABLES = ("_parameters", "_buffers", "_modules")  # where torch keeps the parts of a module
DATA = (bool, int, float, str, tuple, type(None), torch.dtype, torch.Size)  # of torch's modules


def set_attribute(machine: Interpreter, value: Any, name: str, new: Any) -> None:
    """Sets ``value.name = new``."""
    if name.startswith("__") or not PART.fullmatch(name):
        raise machine.refuse(f"{short_repr(name)} is not understood here", "a plain attribute")
    if isinstance(value, UnknownValue):
        unknown_result(machine, value)
    elif (sets := _property_setter(machine, value, name)) is not None:
        sets(value, new)
    elif isinstance(value, PlainObject):
        value.own[name] = new
    elif isinstance(value, ClassValue):
        value.names[name] = new
    elif isinstance(value, nn.Module):
        _set_on_module(machine, value, name, new)
    elif isinstance(value, Tensor):
        if name not in ("data", "requires_grad", "grad"):
            raise machine.refuse(
                f"{short_repr(name)} of a tensor cannot be set", "an attribute of self"
            )
    elif not isinstance(value, SourceFunction):
        raise machine.refuse(f"{short_repr(name)} of {kind_name(value)} cannot be set")


def _property_setter(machine: Interpreter, value: Any, name: str) -> Any:
    """Returns the function that sets a property of an object; None if it is no such property."""
    for real in type(value).__mro__ if isinstance(value, SourceModule | PlainObject) else ():
        own = machine.classes.get(real)
        if own is not None and name in own.names:
            return getattr(own.names[name], "sets", None)
    return None


def _set_on_module(machine: Interpreter, value: nn.Module, name: str, new: Any) -> None:
    own, inner = source_attributes(value), value.__dict__
    held = any(name in inner.get(kind, ()) for kind in PART_TABLES)
    plain = isinstance(inner.get(name, MISSING), (*DATA, Tensor))
    taken = hasattr(nn.Module, name) or (name in inner and not plain)
    if held and isinstance(new, UnknownValue):
        return  # the numbers of weights, as of a file that is loaded
    if isinstance(new, nn.Module | nn.Parameter) or held:
        if taken:
            raise machine.refuse(
                f"{short_repr(name)} is a name of nn.Module itself", "another name"
            )
        own.pop(name, None)
        if isinstance(new, nn.Module):
            check_parts(machine, value, new)
            machine.parents[id(new)] = value
        if not held or getattr(value, name) is not new:  # else torch would see a change
            machine.attempt(setattr, value, name, new)
    elif isinstance(new, (*DATA, Tensor)) and not taken and not name.startswith("_"):
        own.pop(name, None)
        inner[name] = new  # where torch and the import look for it
    else:
        if plain:
            del inner[name]
        own[name] = machine.checked_size(new)


# --- Attributes of values: those on a list for each kind, and those set by the source

DUNDER_METHODS = ("__init__", "__call__", "__getitem__", "__len__")  # dunder names that are written


def attribute(machine: Interpreter, value: Any, name: str) -> Any:
    """Returns ``value.name``; raises TextError for a name that is not listed."""
    found = lookup(machine, value, name)
    if found is not MISSING:
        return found
    if type(value) in (int, bool) and (other := of_no_number(machine, name)) is not None:
        return other
    kept = isinstance(value, SourceModule | PlainObject)
    if kept and (base := other_base(machine, value)) is not None:
        if (given := value.__dict__.get(SETTINGS, {}).get(name)) is not None:
            return given  # as bases keep what they are given
        return unknown_attribute(machine, base, name, True)
    if isinstance(value, Tensor) and any(value is one for one in machine.box_results):
        return value  # one of several results, each of which is assumed to be like the input
    if isinstance(value, nn.Module | PlainObject | ClassValue):
        words = f"{kind_name(value)!r} object has no attribute {short_repr(name)}"
        raise machine.source_error(AttributeError(words), machine.node)
    if isinstance(value, Namespace) and _is_torchs(value.name, name, machine.tracing):
        return UnknownValue(
            f"{value.name}.{name}", f"{name} of {value.name} is not understood here"
        )
    near = nearest_name(name, _attribute_names(value), "")
    raise machine.refuse(f"{name} of {_kind(value)} is not understood here", near)


def _is_torchs(path: str, name: str, tracing: bool) -> bool:
    """Returns whether a name is one of torch's; while a module runs, one that takes no arrays.

    >>> _is_torchs("torch", "load", False), _is_torchs("torch", "lode", False)
    (True, False)
    """
    if path.partition(".")[0] != "torch":
        return False
    try:
        found = attrgetter(f"{path}.{name}")(SimpleNamespace(torch=torch))
    except AttributeError:
        return False
    return not (tracing and callable(found))


def other_base(machine: Interpreter, value: SourceModule | PlainObject) -> UnknownValue | None:
    """Returns the base of an object's class that stands in another file; None if it has none."""
    bases = base_classes(machine, type(value).visitor)
    return next((base for base in bases if isinstance(base, UnknownValue)), None)


def lookup(machine: Interpreter, value: Any, name: str) -> Any:
    """Returns ``value.name``, or MISSING."""
    if name.startswith("__"):
        return _dunder(machine, value, name)
    if isinstance(value, UnknownValue):
        return unknown_attribute(machine, value, name)
    if isinstance(value, Namespace):
        return value.names.get(name, value.missing_name(name, MISSING))
    if isinstance(value, Super):
        return _super_attribute(machine, value, name)
    if isinstance(value, ClassValue):
        return _of_class(machine, value, name)
    if isinstance(value, AssumedSettings):
        return assumed_setting(machine, value, name)
    if isinstance(value, PlainObject):
        return value.own[name] if name in value.own else _source_attribute(machine, value, name)
    if isinstance(value, nn.Module):
        return _of_module(machine, value, name)
    if isinstance(value, Tensor):
        return _of_tensor(machine, value, name)
    if isinstance(value, type) and (found := class_method(machine, value, name)) is not None:
        return found
    return plain_method(machine, value, name, MISSING)


def member(machine: Interpreter, value: Any, name: str) -> Any:
    """Returns a method that a class of the source defines, or None."""
    if not isinstance(value, SourceModule | PlainObject):
        return None
    found = _source_attribute(machine, value, name)
    return None if found is MISSING else found


def _dunder(machine: Interpreter, value: Any, name: str) -> Any:
    """Returns one of the few supported attributes with double underscores."""
    if name == "__dict__" and isinstance(value, PlainObject):
        return value.own
    if name == "__class__" and isinstance(value, SourceModule | PlainObject):
        return type(value).visitor
    if name == "__class__" and isinstance(value, nn.Module):
        return type(value)
    if name == "__version__" and isinstance(value, Namespace) and name in value.names:
        return value.names[name]
    if name == "__name__" and isinstance(value, ClassValue | SourceFunction):
        return value.name
    if name == "__name__" and isinstance(value, type) and issubclass(value, nn.Module):
        return value.__name__
    if name == "__init__" and isinstance(value, type) and issubclass(value, nn.Module):
        return ListedMethod(
            name, lambda it, *args, **named: _begin(machine, value, it, args, named)
        )
    if isinstance(value, Super):
        return _super_attribute(machine, value, name)
    if name == "__setattr__" and isinstance(value, SourceModule | PlainObject):
        return ListedMethod(name, lambda key, new: set_attribute(machine, value, str(key), new))
    if name == "__getattr__" and isinstance(value, SourceModule):
        return ListedMethod(name, lambda key: attribute(machine, value, str(key)))
    if name in DUNDER_METHODS and isinstance(value, ClassValue):
        return _of_class(machine, value, name)
    if isinstance(value, UnknownValue):
        return value
    raise machine.refuse(f"{short_repr(name)} is not understood here", "a plain attribute")


# classes ------------------------------------------------------------------------------------------


def _of_class(machine: Interpreter, value: ClassValue, name: str) -> Any:
    for real in value.real.__mro__:
        own = machine.classes.get(real)
        if own is not None and name in own.names:
            return _bind_attribute(own.names[name], None, value)
    unknown = next(
        (base for base in base_classes(machine, value) if isinstance(base, UnknownValue)), None
    )
    return UnknownValue(f"{value.name}.{name}", unknown.reason) if unknown else MISSING


def base_classes(machine: Interpreter, value: ClassValue) -> list[Any]:
    """Returns all bases of a class, also those of its bases."""
    every = [machine.classes[real] for real in value.real.__mro__ if real in machine.classes]
    return [base for one in every for base in one.bases]


def _source_attribute(machine: Interpreter, value: SourceModule | PlainObject, name: str) -> Any:
    """Returns the attribute of an object as the classes of the source define it."""
    for real in type(value).__mro__:
        own = machine.classes.get(real)
        if own is not None and name in own.names:
            return _bind_attribute(own.names[name], value, type(value).visitor)
    return MISSING


def _bind_attribute(found: Any, subject: Any, owner: ClassValue) -> Any:
    """Returns a class attribute as seen from an object or from the class."""
    if isinstance(found, DecoratedFunction):
        if found.kind == "classmethod":
            return BoundFunction(found.function, (owner,))
        if found.kind == "property":
            return found if subject is None else found.function(subject)
        if found.kind == "method" and subject is not None:
            return BoundFunction(found.function, (subject,))
        return found.function
    if isinstance(found, SourceFunction) and subject is not None:
        return BoundFunction(found, (subject,))
    return found


def _super_attribute(machine: Interpreter, value: Super, name: str) -> Any:
    """Returns an attribute of ``super()``."""
    of_class = isinstance(value.subject, ClassValue)  # in a classmethod
    made = value.subject if of_class else type(value.subject).visitor
    subject, order = None if of_class else value.subject, [*made.real.__mro__]
    owners = [machine.classes.get(real) for real in order]
    above = order[owners.index(value.owner) + 1 :]
    for real in (one for one in above if one not in (SourceModule, PlainObject)):
        own = machine.classes.get(real)
        if own is not None and name in own.names:
            return _bind_attribute(own.names[name], subject, made)
        if own is None and name == "__init__":
            return _first_step(machine, real, value.subject)
        if (
            own is None
            and not of_class
            and name in (*MODULE_METHODS, "forward", "__call__")
            and name in vars(real)
        ):
            return ListedMethod(name, partial(machine.attempt, getattr(real, name), value.subject))
    return MISSING


def _first_step(machine: Interpreter, real: type, subject: Any) -> Any:
    """Returns the ``__init__`` of a class that the source does not define."""

    def first(*args: Any, **named: Any) -> None:
        if issubclass(real, nn.Module):
            other = any(
                isinstance(base, UnknownValue)
                for base in base_classes(machine, type(subject).visitor)
            )
            given = ((), {}) if real is nn.Module and other else (args, named)
            _begin(machine, real, subject, *given)

    return ListedMethod("__init__", first)


def _begin(
    machine: Interpreter, real: type, subject: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Initialises an object as a torch module whose weights take no memory."""
    if not isinstance(subject, SourceModule):
        raise machine.refuse("__init__ is called on something that is no module", "super()")
    begin(machine, real, subject, args, named)


# modules and tensors ------------------------------------------------------------------------------


def _of_module(machine: Interpreter, value: nn.Module, name: str) -> Any:
    own = source_attributes(value)
    if name in own:
        return own[name]
    for held in PART_TABLES:
        if name == held:
            return {**value.__dict__.get(held, {})}
        if name in value.__dict__.get(held, ()):
            found = getattr(value, name)
            if machine.tracing and (flag := machine.flags.get((id(value), name))) is not None:
                machine.flags_read[id(found)] = found, flag
            return found
    if isinstance(value, SourceModule):
        found = _source_attribute(machine, value, name)
        if found is not MISSING:
            return found
    if _is_setting(value, name) or isinstance(value.__dict__.get(name), Tensor):
        return value.__dict__[name]
    methods = (*MODULE_METHODS, *CONTAINER_METHODS)
    if name in methods and hasattr(type(value), name):
        return module_method(machine, value, name)
    if isinstance(value, ExternalModule):
        return value.attribute(name)
    return MISSING


def _of_tensor(machine: Interpreter, value: Tensor, name: str) -> Any:
    if name == "device" and machine.placement is not None:
        return torch.device(machine.placement.device(value) or "cpu")
    if name in TENSOR_VALUES:
        return machine.attempt(lambda: TENSOR_VALUES[name](value))
    if name in TENSOR_METHODS:
        return tensor_method(machine, value, name)
    return MISSING


def _attribute_names(value: Any) -> list[str]:
    """Returns the names that a kind of value has, for a suggestion."""
    if isinstance(value, Tensor):
        return sorted({*TENSOR_VALUES, *TENSOR_METHODS})
    if isinstance(value, Namespace):
        return sorted(value.names)
    return sorted(
        next((names for kind, names in PLAIN_KINDS.items() if isinstance(value, kind)), ())
    )


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return "a tensor"
    return value.name if isinstance(value, Namespace) else kind_name(value)


def _is_setting(value: nn.Module, name: str) -> bool:
    """Returns whether a name is a public setting of a layer, such as its stride."""
    return not name.startswith("_") and isinstance(value.__dict__.get(name, MISSING), DATA)
