"""The lists of attributes that a source may read, by the kind of value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

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
floor_ ceil_ round_ abs_ neg_ sqrt_ rsqrt_ clamp_min_ clamp_max_
acosh asinh atanh bernoulli copysign cummin digamma erfinv fmax fmin heaviside hypot lgamma
logcumsumexp logit matrix_exp mode moveaxis movedim rad2deg sinc trace
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
