"""Shapes of what recurrent layers give, where torch would go through all steps of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch._decomp.decompositions  # which has the kernels that go through the steps
from torch import Tensor
from torch._C import DispatchKey
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor

KEYS = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd)


def read_shapes_at_once() -> None:
    """Lets torch give the results of recurrent layers by their shapes, for arrays without numbers.

    A module of which only the shapes count is then read in a time that does not grow with the
    length of a sequence. Arrays with numbers are computed as before.

    >>> from torch._subclasses.fake_tensor import FakeTensorMode
    >>> read_shapes_at_once()
    >>> with FakeTensorMode():
    ...     rows, (state, cell) = torch.nn.LSTM(8, 5, 2)(torch.empty(1000, 3, 8))
    >>> rows.shape, state.shape, cell.shape
    (torch.Size([1000, 3, 5]), torch.Size([2, 3, 5]), torch.Size([2, 3, 5]))
    """
    aten = torch.ops.aten
    for op in (aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input):
        for key in KEYS:
            if getattr(op.py_kernels[key], "__name__", "") != _with_shapes.__name__:
                op.py_kernels[key] = _with_shapes(op.py_kernels[key])
        _forget_kernels(op)


def _forget_kernels(op: OpOverload[..., Any]) -> None:
    """Lets torch look up the kernels of a function anew."""
    op._dispatch_cache.clear()


def _with_shapes(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a kernel that gives arrays of the right shapes for arrays without numbers."""

    def run(x: Tensor, states: Any, params: Any, biases: bool, layers: int, *more: Any) -> Any:
        if not isinstance(x, FakeTensor):
            return kernel(x, states, params, biases, layers, *more)
        several = [*states] if isinstance(states, list | tuple) else [states]
        ways = several[0].shape[0] // layers  # 2 for a layer that reads both ways
        rows = x.new_empty((*x.shape[:-1], ways * several[0].shape[-1]))
        return (rows, *(one.new_empty(one.shape) for one in several))

    run.__name__ = _with_shapes.__name__
    return run
