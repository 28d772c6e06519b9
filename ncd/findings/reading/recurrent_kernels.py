"""The results of torch's recurrent kernels, whose loops over the steps no reading needs."""

from __future__ import annotations

from typing import Any

from torch import Tensor

KERNELS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def kernel(name: str, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Returns the arrays that a recurrent layer gives: the sequence, and its last states.

    Args:
        name: The kernel.
        args: Its arguments, as torch's own layers give them: a packed sequence has its batch sizes
            second.

    Source: ``torch.nn.modules.rnn``.
    """
    packed = isinstance(args[1], Tensor) and isinstance(args[3], list | tuple)
    x, states = args[0], args[2] if packed else args[1]
    two = args[8 if packed else 7] if packed else args[7]
    every = tuple(states) if isinstance(states, list | tuple) else (states,)
    width = every[0].shape[-1] * (2 if two else 1)
    return (x.new_empty((*x.shape[:-1], width)), *(one.new_empty(one.shape) for one in every))
