"""The formats of numbers that a call takes, and whether its arrays have them."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor, nn

from ncd.read.python_source.interpreter import Interpreter

PRODUCTS = (  # whose arrays are of one format: a reading without numbers does not ask for it
    *("linear", "bilinear", "matmul", "__matmul__", "__rmatmul__", "mm", "mv", "bmm", "dot"),
    *("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    *("addmm", "addmv", "baddbmm", "addbmm", "cdist", "grid_sample", "prelu", "lerp"),
    *("multi_head_attention_forward", "scaled_dot_product_attention", "binary_cross_entropy"),
    *("lstm", "gru", "rnn_tanh", "rnn_relu"),
    *("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
)
NORMS = ("batch_norm", "layer_norm", "group_norm", "instance_norm")  # may keep long weights
SHORT_FORMATS = (torch.float16, torch.bfloat16)
REAL = (  # which torch has for real numbers alone
    *("softmax", "log_softmax", "softmin", "gelu", "silu", "mish", "celu", "softplus", "glu"),
    *("hardswish", "hardsigmoid", "hardshrink", "logsigmoid", "std", "var", "fold", "unfold"),
    *("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "prelu"),
    *("elu", "elu_", "selu", "leaky_relu", "softshrink", "mean", "log_sigmoid"),
    *("max_pool1d", "interpolate", "upsample", "grid_sample"),
    *("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"),
    *("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"),
)
INDICES = {  # where an array of whole numbers stands that has 64 bits
    **dict.fromkeys(("cross_entropy", "nll_loss", "take", "take_along_dim"), 1),
    **dict.fromkeys(("index_fill", "index_copy", "multi_margin_loss"), 1),
    "one_hot": 0,
}
SHORT_INDICES = {  # or 32 bits
    **dict.fromkeys(("gather", "scatter", "scatter_add", "index_select", "index_add"), 1),
    **dict.fromkeys(("embedding", "embedding_bag"), 0),
}
MAX_PLACES = 9
BYTES = ("cross_entropy", "nll_loss")  # which take them too
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "alpha_dropout")
OF_TENSORS = ("unfold",)  # as a method a cut of any array, as a function of nn.functional not
OTHER_CONVERSION = re.compile(r"autocast\(|Accelerator\(|deepspeed|\bamp\.initialize\(")


class WrongFormat(RuntimeError):
    """Numbers of a type that a call does not take: those that it gets, and those that it takes.

    ``line`` is where its weights got their format; 0 if that is not known, or no weights differ.
    """

    def __init__(self, given: torch.dtype, taken: torch.dtype | None, line: int = 0) -> None:
        super().__init__(f"the type {given} does not go with {taken or 'real numbers alone'}")
        self.given, self.taken, self.line = given, taken, line


def check_formats(machine: Interpreter, call: Any) -> None:
    """Raises WrongFormat for whole numbers where real ones are taken, and for formats that differ.

    Torch's arrays without numbers, which a reading runs on, are not asked for it by all functions.
    """
    words = call.words
    if not call.takes or words.get("dtype") is not None:
        return
    first: Tensor = call.takes[0]
    trains = call.name in DROPOUTS and words.get("training", words.get(2, True))
    if (call.name in REAL or trains) and not _is_real(first) and not _is_method(call):
        raise WrongFormat(first.dtype, None)
    _check_indices(call)
    if call.name not in (*PRODUCTS, *NORMS):
        return
    weights = [one for one in call.takes[2:] if isinstance(one, nn.Parameter)]
    for other in (*call.takes[1:2], *weights):
        if _differ(machine, call.name, first, other):
            line = machine.converted_weights.get(id(other), (None, 0))[1]
            raise WrongFormat(first.dtype, other.dtype, line)


def _check_indices(call: Any) -> None:
    """Raises WrongFormat for whole numbers of too few bits where places or classes are told."""
    place = {**INDICES, **SHORT_INDICES}.get(call.name, MAX_PLACES)
    if len(call.takes) <= place or _is_real(call.takes[place]):
        return
    kind = call.takes[place].dtype
    short = (torch.int32,) if call.name in SHORT_INDICES else ()
    byte = (torch.uint8,) if call.name in BYTES and call.takes[place].dim() < 2 else ()
    if kind not in (torch.int64, *short, *byte):
        raise WrongFormat(kind, torch.int64)


def _differ(machine: Interpreter, name: str, first: Tensor, other: Tensor) -> bool:
    """Returns whether a call takes no arrays of two formats."""
    if _is_real(first) != _is_real(other):
        return True
    long_weights = name in NORMS and first.dtype in SHORT_FORMATS and other.dtype == torch.float32
    known = all(map(machine.follows_format, (first.dtype, other.dtype)))
    return first.dtype != other.dtype and known and not long_weights


def _is_method(call: Any) -> bool:
    """Returns whether a call of a name that has two meanings is the method of an array."""
    return call.name in OF_TENSORS and call.function is torch.Tensor.unfold


def _is_real(array: Tensor) -> bool:
    return array.is_floating_point() or array.is_complex()
