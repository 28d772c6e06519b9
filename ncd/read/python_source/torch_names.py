"""The names of torch and einops that a source may use, and their checked calls."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import einops
import einops.layers.torch
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.utils._pytree import tree_leaves

from ncd.read.device_places import named_device
from ncd.read.python_source.interpreter import (
    BuiltinFunction,
    Interpreter,
    ListedMethod,
    Namespace,
    NoOpContext,
    PartialNamespace,
    UnknownValue,
)
from ncd.read.python_source.other_files import box_of_shape
from ncd.read.python_source.source_operators import is_placeholder, truth, unknown_result
from ncd.read.python_source.torch_layers import LAZY, parameter, spread

# --- Calls of torch functions, with checked arguments and limited results

NUMBERS = 2**22  # of a tensor whose numbers are computed
WORK = 2**27  # numbers of all these tensors together
DEVICE_METHODS = ("cpu", "cuda")
FORMAT_METHODS = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
}
IDENTITY_METHODS = ("requires_grad_", "detach_")
COPY_METHODS = ("contiguous", "clone")  # which weights without memory need not be
NUMBER_DEPENDENT_METHODS = ("item", "tolist", "nonzero", "masked_select", "equal", "allclose")
IGNORED_ARGUMENTS = ("device", "pin_memory", "non_blocking", "generator", "layout", "memory_format")
REFUSED_ARGUMENTS = ("out",)
TENSOR_TYPES = {  # by the names of their tensors
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "Long": torch.int64,
    "Int": torch.int32,
    "Byte": torch.uint8,
    "Bool": torch.bool,
}


def tensor_method(machine: Interpreter, value: Tensor, name: str) -> Any:
    """Returns a listed method of a tensor."""
    weights = not machine.tracing and is_placeholder(value)
    if name in DEVICE_METHODS:
        return ListedMethod(name, lambda *args, **named: machine.put(value, [name]))
    if name in IDENTITY_METHODS or (weights and name in COPY_METHODS):
        return ListedMethod(name, lambda *args, **named: value)
    if name == "backward":
        return ListedMethod(name, lambda *args, **named: None)
    if name == "new":
        return ListedMethod(name, partial(_new_array, machine, value))
    if name.endswith("_") and weights:
        return ListedMethod(
            name, lambda *args, **named: value
        )  # the numbers of weights do not matter
    if name in ("to", "type", "type_as"):
        return ListedMethod(
            name, lambda *args, **named: _convert_dtype(machine, value, args, named)
        )
    if name in NUMBER_DEPENDENT_METHODS and machine.tracing:
        raise machine.refuse(f"{name}() depends on the numbers, which are not known", "its shape")
    inner = getattr(value, name)
    return ListedMethod(name, lambda *args, **named: torch_call(machine, inner, args, named))


def _new_array(machine: Interpreter, value: Tensor, *args: Any, **named: Any) -> Any:
    """Returns an array like another one, of given sizes or numbers, as old sources make it."""
    shape = args[0] if len(args) == 1 and isinstance(args[0], torch.Size) else args
    if all(is_size(n) for n in shape):
        return size_limited(torch.zeros)(machine, *(shape or (0,)), dtype=value.dtype)
    return torch_call(machine, value.new_tensor, args, {})


def _convert_dtype(
    machine: Interpreter, value: Tensor, args: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Returns a tensor of another dtype, or on another device."""
    given = [*args, *named.values()]
    value = machine.put(value, given)
    kind = next((found for x in given if (found := as_dtype(x)) is not None), None)
    return value if kind is None else torch_call(machine, value.to, (kind,), {})


def as_dtype(value: Any) -> torch.dtype | None:
    """Returns the type of numbers that a value names: ``torch.int64``, ``torch.LongTensor``."""
    if isinstance(value, BuiltinFunction | str):
        name = value.name if isinstance(value, BuiltinFunction) else value.removeprefix("torch.")
        return TENSOR_TYPES.get(name.removesuffix("Tensor")) if name.endswith("Tensor") else None
    return (
        value.dtype
        if isinstance(value, Tensor)
        else value
        if isinstance(value, torch.dtype)
        else None
    )


PYTHON_DTYPES = {"float": torch.float64, "int": torch.int64, "bool": torch.bool}


def torch_call(
    machine: Interpreter,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    named: Mapping[str, Any],
) -> Any:
    """Returns what a listed function of torch gives."""
    given = {name: value for name, value in named.items() if name not in IGNORED_ARGUMENTS}
    if isinstance(kind := given.get("dtype"), BuiltinFunction):
        given["dtype"] = PYTHON_DTYPES.get(kind.name, kind)
    for one in _flat((*args, *given.values()), 0):
        if isinstance(one, UnknownValue):
            return unknown_result(machine, one)
        if isinstance(one, int) and not -(2**63) <= one < 2**63:
            raise machine.stop("a size has more than 63 bits")
    if refused := [name for name in REFUSED_ARGUMENTS if named.get(name) is not None]:
        raise machine.refuse(f"the argument {refused[0]} is not understood here", "its result")
    machine.step(machine.node, 5)
    found = _count_numbers(machine, machine.attempt(function, *args, **given))
    found = machine.put(found, [named.get("device")])
    _note_finite(machine, function, args, found)
    return found


FINITE_TESTS: Mapping[str, bool] = {"isnan": False, "isinf": False, "isfinite": True}
NOT_FINITE = "Whether a number is NaN or infinite"


def _note_finite(
    machine: Interpreter, function: Callable[..., Any], args: tuple[Any, ...], found: Any
) -> None:
    """Notes that a test for numbers that are none fails, where a condition may ask for it."""
    name, known = getattr(function, "__name__", ""), machine.flags_read
    if name in FINITE_TESTS and isinstance(found, Tensor):
        known[id(found)] = found, FINITE_TESTS[name]
    if name in ("any", "all") and isinstance(found, Tensor):
        asked = getattr(function, "__self__", None)
        tested = known.get(id(asked if isinstance(asked, Tensor) else next(iter(args), None)))
        if tested is not None:
            known[id(found)] = found, tested[1]
            machine.assumed_values[NOT_FINITE] = "false"


def _flat(values: Any, depth: int) -> list[Any]:
    """Returns the values in lists of lists."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple) and depth < 3:
            found += _flat(value, depth + 1)
        else:
            found.append(value)
    return found


def _count_numbers(machine: Interpreter, found: Any) -> Any:
    """Counts the numbers of the results, up to a limit."""
    if machine.tracing:
        return found
    for one in _flat((found,), 0):
        if isinstance(one, Tensor) and not isinstance(one, FakeTensor) and not is_placeholder(one):
            _count(machine, one.numel())
    return found


def _count(machine: Interpreter, numbers: int) -> None:
    machine.numbers += numbers
    if numbers > NUMBERS or machine.numbers > WORK:
        raise machine.stop(f"it computes a tensor of {numbers:,} numbers", "smaller sizes")


# tensors that a source makes ----------------------------------------------------------------------


def is_size(value: Any) -> bool:
    """Returns whether a value is a whole number; one that remembers its origin is one too."""
    return isinstance(value, int) and not isinstance(value, bool)


RANDOM = (torch.randn, torch.rand, torch.empty)  # whose numbers do not matter
MAX_RANDOM_NUMBERS = 4096  # of such a tensor that has numbers all the same


def size_limited(function: Callable[..., Tensor], first: int = 0) -> Callable[..., Any]:
    """Returns a function such as ``torch.zeros`` with a limit on the size.

    ``first`` is the number of arguments before the shape.
    """

    def limited(machine: Interpreter, *args: Any, **named: Any) -> Any:
        lead, rest = args[:first], args[first:]
        shape = rest = (named.pop("size"),) if "size" in named else rest
        if len(rest) == 1 and isinstance(rest[0], tuple | list):
            shape = tuple(rest[0])
        if any(isinstance(n, UnknownValue) for n in _flat((shape,), 0)):
            return torch_call(machine, function, (*lead, *rest), named)
        if not all(is_size(n) and n >= 0 for n in shape):
            return torch_call(machine, function, (*lead, *rest), named)
        few = NUMBERS if machine.tracing or function not in RANDOM else MAX_RANDOM_NUMBERS
        if prod(shape) <= few:
            return torch_call(machine, function, (*lead, shape), named)
        if machine.tracing:
            raise machine.stop(f"it is a tensor of {prod(shape):,} numbers", "smaller sizes")
        kind = named.get("dtype") or (torch.int64 if function is torch.randint else torch.float32)
        return machine.attempt(spread, shape, kind)

    return limited


def limited_arange(machine: Interpreter, *args: Any, **named: Any) -> Any:
    """Returns ``torch.arange(…)`` of a bounded length."""
    numbers = [x for x in (*args, named.get("end", 0)) if isinstance(x, int | float)]
    step = named.get("step", args[2] if len(args) > 2 else 1)
    far = max(map(abs, numbers), default=0)
    if isinstance(step, int | float) and far > NUMBERS * min(abs(step) or 1, 1):
        raise machine.stop(f"it is a tensor of more than {NUMBERS:,} numbers")
    return torch_call(machine, torch.arange, args, named)


def limited_linspace(
    machine: Interpreter, start: Any, end: Any, steps: Any = 100, **named: Any
) -> Any:
    """Returns ``torch.linspace(…)`` of a bounded length."""
    if not isinstance(steps, int) or not 0 <= steps <= NUMBERS:
        raise machine.stop(f"it is a tensor of more than {NUMBERS:,} numbers")
    return torch_call(machine, torch.linspace, (start, end, steps), named)


# --- Names of torch that a source may use as they are, by the part of torch that they are in

FUNCTIONS = """
abs acos add addcdiv addcmul addmm all allclose amax amin any argmax argmin argsort asin atan atan2
atleast_1d atleast_2d baddbmm bitwise_and bitwise_not bitwise_or bmm broadcast_tensors broadcast_to
bucketize cartesian_prod cat cdist ceil chunk clamp clamp_max clamp_min clip clone column_stack
complex concat concatenate cos cosh cosine_similarity count_nonzero cross cummax cumprod cumsum diag
diag_embed diagonal diff div divide dot einsum eq equal erf erfc exp expm1 flatten flip fliplr
flipud floor floor_divide fmod frac gather ge gt hstack inner is_complex
is_floating_point is_tensor isfinite isinf isnan isclose kron le lerp log log10 log1p log2 logaddexp
logical_and logical_not logical_or logical_xor logsumexp lt masked_fill masked_select matmul max
maximum mean median meshgrid min minimum mm movedim moveaxis mul multiply mv nan_to_num narrow ne
neg negative norm numel outer permute polar pow prod quantile reciprocal relu relu_ remainder
repeat_interleave reshape roll rot90 round rsqrt scatter scatter_add select sgn sigmoid sign sin
sinh softmax log_softmax sort split sqrt square squeeze stack std std_mean sub subtract sum swapaxes
swapdims t take take_along_dim tan tanh tensor_split tensordot tile topk transpose tril
tril_indices triu triu_indices true_divide trunc unbind unflatten unsqueeze var var_mean vstack
view_as_complex view_as_real where xlogy zeros_like ones_like rand_like randn_like
full_like result_type promote_types dropout selu celu prelu layer_norm batch_norm group_norm
conv1d conv2d conv3d bilinear channel_shuffle pixel_shuffle baddbmm renorm cov scalar_tensor
softmax sum dsplit hsplit block_diag combinations vander trapz searchsorted
acosh addbmm asinh atanh conv_tbc copysign cummin deg2rad digamma erfinv float_power fmax fmin
heaviside hypot kthvalue lgamma logcumsumexp logit matrix_exp mode rad2deg sinc trace
conv_transpose1d conv_transpose2d conv_transpose3d vdot chain_matmul hardshrink rms_norm
instance_norm pairwise_distance cosine_embedding_loss triplet_margin_loss qr
absolute adjoint arccos arccosh arcsin arcsinh arctan arctan2 arctanh bernoulli bitwise_xor detach
dist exp2 fix greater greater_equal index_add index_copy index_fill index_select isneginf isposinf
less less_equal masked_scatter nonzero not_equal positive ravel scatter_reduce select_scatter svd
slice_scatter split_with_sizes unsafe_chunk vsplit
hann_window hamming_window blackman_window bartlett_window kaiser_window stft istft
cholesky_solve i0 polygamma nansum nanmean aminmax logit row_stack gradient
alias_copy unfold_copy msort dequantize heaviside ldexp nextafter softmax conv_tbc
"""
FUNCTION_NAMES = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear binary_cross_entropy
binary_cross_entropy_with_logits celu conv1d conv2d conv3d conv_transpose1d conv_transpose2d
conv_transpose3d cosine_similarity cross_entropy dropout dropout1d dropout2d dropout3d elu elu_
embedding embedding_bag feature_alpha_dropout fold gelu glu grid_sample group_norm hardshrink
hardsigmoid hardswish hardtanh huber_loss instance_norm interpolate kl_div l1_loss layer_norm
leaky_relu leaky_relu_ linear local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d
max_pool1d max_pool2d max_pool3d mish mse_loss multi_head_attention_forward nll_loss normalize
one_hot pad pairwise_distance pixel_shuffle pixel_unshuffle prelu relu relu6 relu_ rms_norm rrelu
scaled_dot_product_attention selu sigmoid silu smooth_l1_loss softmax softmin softplus softshrink
softsign tanh tanhshrink threshold unfold upsample
adaptive_max_pool3d cosine_embedding_loss ctc_loss gaussian_nll_loss gumbel_softmax
hinge_embedding_loss margin_ranking_loss max_unpool1d max_unpool2d max_unpool3d multi_margin_loss
multilabel_margin_loss multilabel_soft_margin_loss poisson_nll_loss soft_margin_loss
triplet_margin_loss lp_pool3d
"""
LAYER_NAMES = """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d
BatchNorm3d Bilinear CELU ChannelShuffle CircularPad2d ConstantPad1d ConstantPad2d Conv1d Conv2d
Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineSimilarity CrossEntropyLoss Dropout
Dropout1d Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold GELU GLU
GRU GRUCell GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HuberLoss Identity InstanceNorm1d
InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LSTM LSTMCell LayerNorm LeakyReLU Linear
LocalResponseNorm LogSigmoid LogSoftmax MSELoss MaxPool1d MaxPool2d MaxPool3d Mish Module ModuleDict
ModuleList MultiheadAttention NLLLoss PReLU ParameterDict ParameterList PixelShuffle PixelUnshuffle
RMSNorm RNN RNNCell RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReplicationPad1d
ReplicationPad2d SELU Sequential SiLU Sigmoid SmoothL1Loss Softmax Softmax2d Softmin Softplus
Softshrink Softsign SyncBatchNorm Tanh Tanhshrink Threshold Transformer TransformerDecoder
TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer Unflatten Unfold Upsample
UpsamplingBilinear2d UpsamplingNearest2d ZeroPad2d
AdaptiveMaxPool3d CTCLoss CircularPad1d CircularPad3d ConstantPad3d CosineEmbeddingLoss
GaussianNLLLoss HingeEmbeddingLoss LPPool1d LPPool2d MarginRankingLoss MaxUnpool1d MaxUnpool2d
MaxUnpool3d MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss PairwiseDistance
PoissonNLLLoss ReflectionPad3d ReplicationPad3d SoftMarginLoss TripletMarginLoss ZeroPad1d ZeroPad3d
"""
LINEAR_ALGEBRA = """
norm vector_norm matrix_norm cross matmul multi_dot diagonal vecdot inv solve det slogdet cholesky
qr matrix_power pinv eigvalsh svdvals
"""
FOURIER = """
fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn fftfreq rfftfreq
fftshift ifftshift
"""
SPECIAL = "expit logit erf exp2 softmax log_softmax"
INITS = """
constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_ sparse_
trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_ kaiming_normal kaiming_uniform normal
uniform constant xavier_normal xavier_uniform
"""
DTYPES = """
float32 float float64 double float16 half bfloat16 int8 int16 int32 int64 int long short uint8 bool
complex64 cfloat complex128
"""


# --- The names of torch and einops that a source may use

_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": 2**0.5}


def _select_attributes(source: Any, names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names.split() if hasattr(source, name)}


def _identity(machine: Any, value: Any = None, *more: Any, **named: Any) -> Any:
    return value


def _parametrisation_stub(name: str) -> Callable[..., Any]:
    """Returns a function that would compute the weight of a layer, and leaves it as it is.

    ``machine.extra_parameter_counts`` counts the numbers that torch would learn more, by the
    function's name.
    """

    def left(machine: Any, layer: Any, *more: Any, **named: Any) -> Any:
        machine.extra_parameter_counts.setdefault(name, 0)
        if name == "weight_norm" and isinstance(layer, nn.Module):
            given = {**dict(zip(("name", "dim"), more, strict=False)), **named}
            shape = layer.get_parameter(given.get("name", "weight")).shape
            dim = given.get("dim", 0)
            machine.extra_parameter_counts[name] += 1 if dim is None else shape[dim]
        return layer

    return left


def _nothing(machine: Any, *args: Any, **named: Any) -> None:
    return None


def _set_default_format(machine: Any, kind: Any) -> None:
    """Lets layers and arrays that are made from now on have a format, if formats are followed."""
    if (found := as_dtype(kind)) is None:
        machine.follows_formats = False  # nobody knows which one they have
    elif machine.follows_format(found):
        machine.default_format = found


def _has_gpu(machine: Any) -> bool:
    return machine.placement is not None and bool(machine.placement.has_gpu)


def _no(machine: Any, *args: Any, **named: Any) -> bool:
    return False


def _quiet(machine: Any, function: Any = None, *args: Any, **named: Any) -> Any:
    return NoOpContext() if function is None or not callable(function) else function


def _device(machine: Any, *args: Any, **named: Any) -> torch.device:
    return torch.device((machine.placement is not None and named_device(args)) or "cpu")


def _checkpoint(machine: Any, function: Any, *args: Any, **named: Any) -> Any:
    settings = ("use_reentrant", "preserve_rng_state")
    return function(*args, **{k: v for k, v in named.items() if k not in settings})


def _assert(machine: Any, test: Any, message: str = "") -> None:
    if not truth(machine, test):
        raise AssertionError(message)


def _masked_choice(machine: Any, condition: Any, *args: Any, **named: Any) -> Any:
    """Returns ``torch.where``, whose condition may be of bytes, which shapes alone do not allow."""
    if isinstance(condition, Tensor) and condition.dtype == torch.uint8:
        condition = condition.bool()
    return torch_call(machine, torch.where, (condition, *args), named)


def _gradients(machine: Any, outputs: Any, inputs: Any, *args: Any, **named: Any) -> Any:
    """Returns gradients in a forward: boxes with the shapes of what they are for."""
    several = [*inputs] if isinstance(inputs, list | tuple) else [inputs]
    value = UnknownValue("grad", "gradients are taken anew in each run")
    arrays = [x for x in tree_leaves((outputs, several)) if isinstance(x, Tensor)]
    if not machine.tracing or not all(isinstance(x, Tensor) for x in several):
        return unknown_result(machine, value)
    machine.gradient_shapes += len(several)
    return tuple(box_of_shape(value, arrays, [*map(int, x.shape)]) for x in several)


ONE_PROCESS: dict[str, Callable[..., Any]] = {  # in which a source is read
    "get_world_size": lambda machine, *_: 1,
    "get_rank": lambda machine, *_: 0,
    **dict.fromkeys(("is_initialized", "is_available"), _no),
}


def _gain(machine: Any, name: str, *args: Any) -> float:
    return _GAINS.get(name, 1.0)


def native(**functions: Callable[..., Any]) -> dict[str, BuiltinFunction]:
    """Returns functions of Python as values of a source, by their names."""
    return {name: BuiltinFunction(name, run) for name, run in functions.items()}


def _tensor_constructor(kind: torch.dtype) -> Callable[..., Any]:
    """Returns a function such as ``torch.LongTensor``, of a shape or of numbers."""

    def construct(machine: Any, *args: Any) -> Any:
        if all(is_size(n) for n in args):
            return size_limited(torch.zeros)(machine, *(args or (0,)), dtype=kind)
        return torch_call(machine, torch.tensor, args, {"dtype": kind})

    return construct


TENSOR_MAKERS = {
    name: size_limited(getattr(torch, name)) for name in ("zeros", "ones", "rand", "randn")
}
TENSOR_MAKERS["empty"] = TENSOR_MAKERS["zeros"]  # not what lies in memory
LAYERS = _select_attributes(nn, LAYER_NAMES)
QUIET = native(
    **dict.fromkeys(("no_grad", "inference_mode", "enable_grad", "autocast", "profile"), _quiet),
    **dict.fromkeys(("compile", "fork_rng"), _quiet),
    set_grad_enabled=lambda machine, mode=True: NoOpContext(),
)
INIT = Namespace(
    "torch.nn.init",
    {
        **native(**dict.fromkeys(INITS.split(), _identity)),
        **native(calculate_gain=_gain),
    },
)
FUNCTIONAL = Namespace("torch.nn.functional", _select_attributes(F, FUNCTION_NAMES))
UTILS = Namespace(
    "torch.utils",
    {"checkpoint": Namespace("torch.utils.checkpoint", native(checkpoint=_checkpoint))},
)
NN_UTILS = Namespace(
    "torch.nn.utils",
    {
        **native(clip_grad_norm_=_identity),
        **native(
            **{name: _parametrisation_stub(name) for name in ("weight_norm", "spectral_norm")}
        ),
        "parametrizations": Namespace(
            "torch.nn.utils.parametrizations",
            native(
                **{
                    n: _parametrisation_stub(n)
                    for n in ("weight_norm", "spectral_norm", "orthogonal")
                }
            ),
        ),
    },
)
PARAMETER = BuiltinFunction("nn.Parameter", parameter)


def _files() -> dict[str, Namespace]:
    """Returns the files of torch's layers, in which their common bases stand too."""
    bases: dict[str, dict[str, Any]] = {
        "batchnorm": {"_BatchNorm": _BatchNorm, "_NormBase": _NormBase},
        "conv": {"_ConvNd": _ConvNd},
        "instancenorm": {"_InstanceNorm": _InstanceNorm},
    }
    names = (
        "activation batchnorm container conv dropout instancenorm linear loss module normalization "
        "padding pooling rnn sparse transformer upsampling"
    )
    return {
        name: Namespace(f"torch.nn.modules.{name}", {**LAYERS, **bases.get(name, {})})
        for name in names.split()
    }


# Wrappers that run a module on several devices: what comes out is the module's.
COPIES = native(DataParallel=_identity, DistributedDataParallel=_identity)
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
        **COPIES,
        "parallel": Namespace("torch.nn.parallel", COPIES),
        "quantized": UnknownValue("torch.nn.quantized", "layers of whole numbers are not read"),
    },
)
GRADIENT = "Function"  # of torch.autograd: the base of functions with gradients of their own
OWN_GRADIENT = {GRADIENT: BuiltinFunction(GRADIENT, _identity)}
CUDA = Namespace(
    "torch.cuda",
    {
        **native(
            is_available=_has_gpu, synchronize=_nothing, empty_cache=_nothing, manual_seed=_nothing
        ),
        "amp": Namespace("torch.cuda.amp", native(autocast=_quiet)),
    },
)
JIT = Namespace(
    "torch.jit",
    {
        **native(
            **dict.fromkeys(("script", "ignore", "unused", "export", "_overload_method"), _quiet),
            **dict.fromkeys(("script_method", "script_if_tracing"), _quiet),
            is_scripting=_no,
            is_tracing=_no,
            annotate=lambda machine, kind, value: value,
            Final=_nothing,
        ),
        "ScriptModule": nn.Module,
    },
)
BACKENDS = Namespace(
    "torch.backends",
    {
        "mps": Namespace("torch.backends.mps", native(is_available=_no, is_built=_no)),
        **{
            name: UnknownValue(f"torch.backends.{name}", "it is a setting")
            for name in ("cuda", "cudnn")
        },
    },
)
_TENSORS = {
    **native(**TENSOR_MAKERS),
    **native(
        full=size_limited(
            lambda shape, fill_value, **named: torch.full(shape, fill_value, **named)
        ),
        randint=lambda machine, *args, **named: _randint(machine, *args, **named),
        normal=lambda machine, *args, **named: _normal(machine, *args, **named),
        eye=lambda machine, n, m=None, **named: _eye(machine, n, m, **named),
        randperm=lambda machine, n, **named: limited_arange(machine, n),
        arange=limited_arange,
        range=limited_arange,
        linspace=limited_linspace,
        device=_device,
        **dict.fromkeys(("manual_seed", "get_rng_state", "set_rng_state"), _nothing),
        set_default_dtype=_set_default_format,
        set_float32_matmul_precision=_nothing,
        set_printoptions=_nothing,
        is_grad_enabled=_no,
        is_autocast_enabled=_no,
        _assert=_assert,
    ),
}


def _copied_tensor(machine: Interpreter, data: Any, dtype: Any = None, **named: Any) -> Any:
    """Returns a tensor of numbers, or a copy of one: arrays of numpy are tensors here."""
    words = {**named, **({"dtype": dtype} if dtype is not None else {})}
    if isinstance(data, Tensor):
        words.pop("requires_grad", None)
        return torch_call(machine, torch.as_tensor, (data.detach().clone(),), words)
    return torch_call(machine, torch.tensor, (data,), words)


PROFILER = Namespace("torch.profiler", native(profile=_quiet, record_function=_quiet))
TORCH = Namespace(
    "torch",
    {
        **_select_attributes(torch, FUNCTIONS),
        **_select_attributes(torch, DTYPES),
        **_TENSORS,
        **QUIET,
        "spmm": torch.mm,
        "where": BuiltinFunction("where", _masked_choice),
        "tensor": BuiltinFunction("tensor", _copied_tensor),
        "as_tensor": torch.as_tensor,
        "from_numpy": torch.as_tensor,
        "empty_like": torch.zeros_like,
        "Tensor": torch.Tensor,
        **{
            f"{name}Tensor": BuiltinFunction(f"{name}Tensor", _tensor_constructor(kind))
            for name, kind in TENSOR_TYPES.items()
        },
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
        "random": Namespace("torch.random", native(fork_rng=_quiet)),
        "autograd": Namespace(
            "torch.autograd",
            {
                "Variable": BuiltinFunction("Variable", _identity),
                "profiler": PROFILER,
                "function": Namespace("torch.autograd.function", OWN_GRADIENT),
                **dict.fromkeys(("no_grad", "enable_grad"), QUIET["no_grad"]),
                "set_grad_enabled": QUIET["set_grad_enabled"],
                **OWN_GRADIENT,
                **native(grad=_gradients),
            },
        ),
        "linalg": Namespace("torch.linalg", _select_attributes(torch.linalg, LINEAR_ALGEBRA)),
        "fft": Namespace("torch.fft", _select_attributes(torch.fft, FOURIER)),
        "special": Namespace("torch.special", _select_attributes(torch.special, SPECIAL)),
        "Generator": UnknownValue("torch.Generator", "random numbers are drawn anew in each run"),
        "ao": UnknownValue("torch.ao", "layers of whole numbers are not read"),
        "optim": UnknownValue("torch.optim", "a diagram needs no training"),
        "distributed": PartialNamespace("torch.distributed", native(**ONE_PROCESS)),
    },
)
EINOPS_LAYERS = Namespace(
    "einops.layers.torch", _select_attributes(einops.layers.torch, "Rearrange Reduce EinMix")
)
EINOPS = Namespace(
    "einops",
    {
        **_select_attributes(einops, "rearrange reduce repeat einsum pack unpack"),
        "layers": Namespace("einops.layers", {"torch": EINOPS_LAYERS}),
    },
)


def _randint(machine: Any, *args: Any, **named: Any) -> Any:
    """Returns ``torch.randint(low, high, size)``; ``low`` is optional."""
    bounds = [*itertools.takewhile(lambda one: isinstance(one, int), args)]
    shape = named.pop("size", args[len(bounds)] if len(args) > len(bounds) else ())
    high = named.pop("high") if "high" in named else bounds.pop() if bounds else 1
    low = named.pop("low", bounds[0] if bounds else 0)
    return size_limited(torch.randint, 2)(machine, low, high, shape, **named)


def _normal(machine: Any, mean: Any, std: Any = 1.0, size: Any = None, **named: Any) -> Any:
    """Returns ``torch.normal(mean, std, size)``."""
    shape = size if size is not None else getattr(mean, "shape", ())
    return size_limited(torch.randn)(machine, shape)


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
    kept = (BuiltinFunction, Namespace, UnknownValue, NoOpContext)
    return frozenset(each for each in every if not isinstance(each, kept))


LISTED_CALLABLES = _callables()
