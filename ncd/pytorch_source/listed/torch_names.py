"""The names of torch and einops that a source may use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import einops
import einops.layers.torch
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd

from ncd.pytorch_source.base.source_operators import truth
from ncd.pytorch_source.base.source_values import Namespace, Native, Quiet, Unknown
from ncd.pytorch_source.listed import torch_lists
from ncd.pytorch_source.listed.layer_building import parameter
from ncd.pytorch_source.listed.lazy_layers import LAZY
from ncd.pytorch_source.listed.tensor_calls import TYPED, counted, is_size, lined, sized, torch_call

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": 2**0.5}


def _chosen(source: Any, names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names.split() if hasattr(source, name)}


def _same(machine: Any, value: Any = None, *more: Any, **named: Any) -> Any:
    return value


def _plain(name: str) -> Callable[..., Any]:
    """Returns a function that would compute the weight of a layer, and leaves it as it is.

    ``machine.plain`` counts the numbers that torch would learn more, by the function's name.
    """

    def left(machine: Any, layer: Any, *more: Any, **named: Any) -> Any:
        machine.plain.setdefault(name, 0)
        if name == "weight_norm" and isinstance(layer, nn.Module):
            given = {**dict(zip(("name", "dim"), more, strict=False)), **named}
            shape = layer.get_parameter(given.get("name", "weight")).shape
            dim = given.get("dim", 0)
            machine.plain[name] += 1 if dim is None else shape[dim]
        return layer

    return left


def _nothing(machine: Any, *args: Any, **named: Any) -> None:
    return None


def _no(machine: Any, *args: Any, **named: Any) -> bool:
    return False


def _quiet(machine: Any, function: Any = None, *args: Any, **named: Any) -> Any:
    return Quiet() if function is None or not callable(function) else function


def _device(machine: Any, *args: Any, **named: Any) -> torch.device:
    return torch.device("cpu")


def _checkpoint(machine: Any, function: Any, *args: Any, **named: Any) -> Any:
    settings = ("use_reentrant", "preserve_rng_state")
    return function(*args, **{k: v for k, v in named.items() if k not in settings})


def _assert(machine: Any, test: Any, message: str = "") -> None:
    if not truth(machine, test):
        raise AssertionError(message)


def _gain(machine: Any, name: str, *args: Any) -> float:
    return _GAINS.get(name, 1.0)


def native(**functions: Callable[..., Any]) -> dict[str, Native]:
    """Returns functions of Python as values of a source, by their names."""
    return {name: Native(name, run) for name, run in functions.items()}


def _typed(kind: torch.dtype) -> Callable[..., Any]:
    """Returns a function such as ``torch.LongTensor``, of a shape or of numbers."""

    def made(machine: Any, *args: Any) -> Any:
        if all(is_size(n) for n in args):
            return sized(torch.zeros)(machine, *(args or (0,)), dtype=kind)
        return torch_call(machine, torch.tensor, args, {"dtype": kind})

    return made


MADE = {name: sized(getattr(torch, name)) for name in ("zeros", "ones", "rand", "randn")}
MADE["empty"] = MADE["zeros"]  # not what lies in memory
LAYERS = _chosen(nn, torch_lists.LAYERS)
QUIET = native(
    **dict.fromkeys(("no_grad", "inference_mode", "enable_grad", "autocast", "profile"), _quiet),
    **dict.fromkeys(("compile", "fork_rng"), _quiet),
)
INIT = Namespace(
    "torch.nn.init",
    {
        **native(**dict.fromkeys(torch_lists.INITS.split(), _same)),
        **native(calculate_gain=_gain),
    },
)
FUNCTIONAL = Namespace("torch.nn.functional", _chosen(F, torch_lists.FUNCTIONAL))
UTILS = Namespace(
    "torch.utils",
    {"checkpoint": Namespace("torch.utils.checkpoint", native(checkpoint=_checkpoint))},
)
NN_UTILS = Namespace(
    "torch.nn.utils",
    {
        **native(clip_grad_norm_=_same),
        **native(**{name: _plain(name) for name in ("weight_norm", "spectral_norm")}),
        "parametrizations": Namespace(
            "torch.nn.utils.parametrizations",
            native(**{n: _plain(n) for n in ("weight_norm", "spectral_norm", "orthogonal")}),
        ),
    },
)
PARAMETER = Native("nn.Parameter", parameter)


def _files() -> dict[str, Namespace]:
    """Returns the files of torch's layers, in which their common bases stand too."""
    bases: dict[str, dict[str, Any]] = {
        "batchnorm": {"_BatchNorm": _BatchNorm, "_NormBase": _NormBase},
        "conv": {"_ConvNd": _ConvNd},
    }
    names = "activation batchnorm container conv dropout linear loss normalization padding pooling"
    return {
        name: Namespace(f"torch.nn.modules.{name}", {**LAYERS, **bases.get(name, {})})
        for name in (*names.split(), "module", "rnn", "sparse", "transformer", "upsampling")
    }


NN = Namespace(
    "torch.nn",
    {
        **LAYERS,
        **LAZY,
        "Parameter": PARAMETER,
        "parameter": Namespace("torch.nn.parameter", {"Parameter": PARAMETER}),
        "functional": FUNCTIONAL,
        "init": INIT,
        "utils": NN_UTILS,
        "modules": Namespace("torch.nn.modules", {**LAYERS, **_files()}),
    },
)
CUDA = Namespace(
    "torch.cuda",
    {
        **native(
            is_available=_no, synchronize=_nothing, empty_cache=_nothing, manual_seed=_nothing
        ),
        "amp": Namespace("torch.cuda.amp", native(autocast=_quiet)),
    },
)
JIT = Namespace(
    "torch.jit",
    native(
        **dict.fromkeys(("script", "ignore", "unused", "export", "_overload_method"), _quiet),
        is_scripting=_no,
        is_tracing=_no,
        annotate=lambda machine, kind, value: value,
        Final=_nothing,
    ),
)
BACKENDS = Namespace(
    "torch.backends",
    {
        "mps": Namespace("torch.backends.mps", native(is_available=_no, is_built=_no)),
        **{
            name: Unknown(f"torch.backends.{name}", "it is a setting") for name in ("cuda", "cudnn")
        },
    },
)
_TENSORS = {
    **native(**MADE),
    **native(
        full=sized(lambda shape, fill_value, **named: torch.full(shape, fill_value, **named)),
        randint=lambda machine, *args, **named: _whole(machine, *args, **named),
        normal=lambda machine, *args, **named: _normal(machine, *args, **named),
        eye=lambda machine, n, m=None, **named: _eye(machine, n, m, **named),
        randperm=lambda machine, n, **named: counted(machine, n),
        arange=counted,
        range=counted,
        linspace=lined,
        device=_device,
        manual_seed=_nothing,
        set_default_dtype=_nothing,
        set_float32_matmul_precision=_nothing,
        set_printoptions=_nothing,
        is_grad_enabled=_no,
        is_autocast_enabled=_no,
        _assert=_assert,
    ),
}
PROFILER = Namespace("torch.profiler", native(profile=_quiet, record_function=_quiet))
TORCH = Namespace(
    "torch",
    {
        **_chosen(torch, torch_lists.FUNCTIONS),
        **_chosen(torch, torch_lists.DTYPES),
        **_TENSORS,
        **QUIET,
        "spmm": torch.mm,
        "tensor": torch.tensor,
        "as_tensor": torch.as_tensor,
        "empty_like": torch.zeros_like,
        "Tensor": torch.Tensor,
        **{f"{name}Tensor": Native(f"{name}Tensor", _typed(kind)) for name, kind in TYPED.items()},
        "Size": torch.Size,
        "dtype": torch.dtype,
        "finfo": torch.finfo,
        "iinfo": torch.iinfo,
        "pi": torch.pi,
        "inf": torch.inf,
        "nan": torch.nan,
        "strided": torch.strided,
        "contiguous_format": torch.contiguous_format,
        "channels_last": torch.channels_last,
        "__version__": str(torch.__version__),
        "nn": NN,
        "cuda": CUDA,
        "jit": JIT,
        "utils": UTILS,
        "backends": BACKENDS,
        "onnx": Namespace("torch.onnx", native(is_in_onnx_export=_no)),
        "amp": Namespace("torch.amp", native(autocast=_quiet, custom_fwd=_quiet)),
        "profiler": PROFILER,
        "autograd": Namespace(
            "torch.autograd", {"Variable": Native("Variable", _same), "profiler": PROFILER}
        ),
        "linalg": Namespace("torch.linalg", _chosen(torch.linalg, torch_lists.LINEAR_ALGEBRA)),
        "fft": Namespace("torch.fft", _chosen(torch.fft, torch_lists.FOURIER)),
        "special": Namespace("torch.special", _chosen(torch.special, torch_lists.SPECIAL)),
        "optim": Unknown("torch.optim", "a diagram needs no training"),
        "distributed": Unknown("torch.distributed", "there is one process"),
    },
)
EINOPS_LAYERS = Namespace(
    "einops.layers.torch", _chosen(einops.layers.torch, "Rearrange Reduce EinMix")
)
EINOPS = Namespace(
    "einops",
    {
        **_chosen(einops, "rearrange reduce repeat einsum pack unpack"),
        "layers": Namespace("einops.layers", {"torch": EINOPS_LAYERS}),
    },
)


def _whole(machine: Any, *args: Any, **named: Any) -> Any:
    """Returns ``torch.randint(low, high, size)``; ``low`` is optional."""
    bounds = [*itertools.takewhile(lambda one: isinstance(one, int), args)]
    shape = named.pop("size", args[len(bounds)] if len(args) > len(bounds) else ())
    high = named.pop("high") if "high" in named else bounds.pop() if bounds else 1
    low = named.pop("low", bounds[0] if bounds else 0)
    return sized(torch.randint, 2)(machine, low, high, shape, **named)


def _normal(machine: Any, mean: Any, std: Any = 1.0, size: Any = None, **named: Any) -> Any:
    """Returns ``torch.normal(mean, std, size)``."""
    shape = size if size is not None else getattr(mean, "shape", ())
    return sized(torch.randn)(machine, shape)


def _eye(machine: Any, n: int, m: Any = None, **named: Any) -> Any:
    """Returns ``torch.eye(n)`` of a bounded size."""
    if not isinstance(n, int) or not 0 <= n <= 2000 or not (m is None or 0 <= m <= 2000):
        raise machine.stop("it is a tensor of more than 4,000,000 numbers")
    return torch_call(machine, torch.eye, (n, m if m is not None else n), named)


def _callables() -> frozenset[Any]:
    """Returns all functions of torch and einops that are called directly."""
    spaces: list[Mapping[str, Any]] = [
        *(space.names for space in (TORCH, NN, FUNCTIONAL, EINOPS, EINOPS_LAYERS)),
        *(TORCH.names[name].names for name in ("linalg", "fft", "special")),
    ]
    every = {each for names in spaces for each in names.values() if callable(each)}
    kept = (Native, Namespace, Unknown, Quiet)
    return frozenset(each for each in every if not isinstance(each, kept))


LISTED = _callables()
