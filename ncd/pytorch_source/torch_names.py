"""The names of torch and einops that a source may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import einops
import einops.layers.torch
import torch
import torch.nn.functional as F
from torch import nn

from ncd.pytorch_source.layer_building import parameter
from ncd.pytorch_source.operators import truth
from ncd.pytorch_source.source_values import Namespace, Native, Quiet, Unknown
from ncd.pytorch_source.tensor_calls import TYPED, counted, lined, sized, torch_call

_FUNCTIONS = """
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
"""
_FUNCTIONAL = """
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
"""
_LAYERS = """
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d
BatchNorm3d Bilinear CELU ChannelShuffle CircularPad2d ConstantPad1d ConstantPad2d Conv1d Conv2d
Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineSimilarity CrossEntropyLoss Dropout
Dropout1d Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold GELU GLU
GRU GRUCell GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh Identity InstanceNorm1d
InstanceNorm2d InstanceNorm3d L1Loss LSTM LSTMCell LayerNorm LeakyReLU Linear LocalResponseNorm
LogSigmoid LogSoftmax MSELoss MaxPool1d MaxPool2d MaxPool3d Mish Module ModuleDict ModuleList
MultiheadAttention NLLLoss PReLU ParameterDict ParameterList PixelShuffle PixelUnshuffle RMSNorm RNN
RNNCell RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReplicationPad1d ReplicationPad2d SELU
Sequential SiLU Sigmoid SmoothL1Loss Softmax Softmax2d Softmin Softplus Softshrink Softsign
SyncBatchNorm Tanh Tanhshrink Threshold Transformer TransformerDecoder TransformerDecoderLayer
TransformerEncoder TransformerEncoderLayer Unflatten Unfold Upsample UpsamplingBilinear2d
UpsamplingNearest2d ZeroPad2d
"""
_LINEAR_ALGEBRA = "norm vector_norm matrix_norm cross matmul multi_dot diagonal vecdot"
_FOURIER = "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftshift ifftshift"
_SPECIAL = "expit logit erf exp2 softmax log_softmax"
_INITS = """
constant_ dirac_ eye_ kaiming_normal_ kaiming_uniform_ normal_ ones_ orthogonal_ sparse_
trunc_normal_ uniform_ xavier_normal_ xavier_uniform_ zeros_ kaiming_normal kaiming_uniform normal
uniform constant xavier_normal xavier_uniform
"""
_DTYPES = """
float32 float float64 double float16 half bfloat16 int8 int16 int32 int64 int long short uint8 bool
complex64 cfloat complex128
"""
_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": 2**0.5, "leaky_relu": 2**0.5}
_NUMBERS = "they depend on a run of the model"


def _chosen(source: Any, names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names.split() if hasattr(source, name)}


def _same(machine: Any, value: Any = None, *more: Any, **named: Any) -> Any:
    return value


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
        if all(type(n) is int for n in args):
            return sized(torch.zeros)(machine, *args, dtype=kind)
        return torch_call(machine, torch.tensor, args, {"dtype": kind})

    return made


MADE = {name: sized(getattr(torch, name)) for name in ("zeros", "ones", "rand", "randn")}
MADE["empty"] = MADE["zeros"]  # not what lies in memory
LAYERS = _chosen(nn, _LAYERS)
QUIET = native(
    **dict.fromkeys(("no_grad", "inference_mode", "enable_grad", "autocast", "profile"), _quiet),
    **dict.fromkeys(("compile", "fork_rng"), _quiet),
)
INIT = Namespace(
    "torch.nn.init",
    {
        **native(**dict.fromkeys(_INITS.split(), _same)),
        **native(calculate_gain=_gain),
    },
)
FUNCTIONAL = Namespace("torch.nn.functional", _chosen(F, _FUNCTIONAL))
UTILS = Namespace(
    "torch.utils",
    {"checkpoint": Namespace("torch.utils.checkpoint", native(checkpoint=_checkpoint))},
)
NN_UTILS = Namespace(
    "torch.nn.utils",
    {
        **native(**dict.fromkeys(("weight_norm", "spectral_norm", "clip_grad_norm_"), _same)),
        "parametrizations": Namespace(
            "torch.nn.utils.parametrizations",
            native(**dict.fromkeys(("weight_norm", "spectral_norm", "orthogonal"), _same)),
        ),
    },
)
PARAMETER = Native("nn.Parameter", parameter)
NN = Namespace(
    "torch.nn",
    {
        **LAYERS,
        "Parameter": PARAMETER,
        "parameter": Namespace("torch.nn.parameter", {"Parameter": PARAMETER}),
        "functional": FUNCTIONAL,
        "init": INIT,
        "utils": NN_UTILS,
        "modules": Namespace("torch.nn.modules", LAYERS),
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
    {"mps": Namespace("torch.backends.mps", native(is_available=_no, is_built=_no))},
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
TORCH = Namespace(
    "torch",
    {
        **_chosen(torch, _FUNCTIONS),
        **_chosen(torch, _DTYPES),
        **_TENSORS,
        **QUIET,
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
        "amp": Namespace("torch.amp", native(autocast=_quiet, custom_fwd=_quiet)),
        "autograd": Namespace("torch.autograd", {"Variable": Native("Variable", _same)}),
        "linalg": Namespace("torch.linalg", _chosen(torch.linalg, _LINEAR_ALGEBRA)),
        "fft": Namespace("torch.fft", _chosen(torch.fft, _FOURIER)),
        "special": Namespace("torch.special", _chosen(torch.special, _SPECIAL)),
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
    """Returns ``torch.randint(low, high, size)``, whose first argument may be left out."""
    bounds = [named.pop(name) for name in ("low", "high") if name in named]
    whole = [*args]
    while whole and isinstance(whole[0], int) and len(bounds) < 2:
        bounds.append(whole.pop(0))
    low, high = (bounds or [0])[0] if len(bounds) > 1 else 0, (bounds or [1])[-1]
    shape = named.pop("size", whole[0] if whole else ())
    return sized(torch.randint, 2)(machine, low, high, shape, **named)


def _normal(machine: Any, mean: Any, std: Any = 1.0, size: Any = None, **named: Any) -> Any:
    """Returns ``torch.normal(mean, std, size)``."""
    shape = size if size is not None else getattr(mean, "shape", ())
    return sized(torch.randn)(machine, shape)


def _eye(machine: Any, n: int, m: Any = None, **named: Any) -> Any:
    """Returns ``torch.eye(n)`` of a bounded size."""
    if not isinstance(n, int) or not 0 <= n <= 2000 or not (m is None or 0 <= m <= 2000):
        raise machine.stop("it is a tensor of more than 4,000,000 numbers")
    return torch.eye(n, m if m is not None else n)


def _callables() -> frozenset[Any]:
    """Returns everything of torch and einops that is called as it is."""
    spaces: list[Mapping[str, Any]] = [
        *(space.names for space in (TORCH, NN, FUNCTIONAL, EINOPS, EINOPS_LAYERS)),
        *(TORCH.names[name].names for name in ("linalg", "fft", "special")),
    ]
    every = {each for names in spaces for each in names.values() if callable(each)}
    kept = (Native, Namespace, Unknown, Quiet)
    return frozenset(each for each in every if not isinstance(each, kept))


LISTED = _callables()
