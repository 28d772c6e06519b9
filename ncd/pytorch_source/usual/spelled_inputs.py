"""Arrays and other inputs of a module, as a source makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ncd.pytorch_source.base.source_values import Plain
from ncd.pytorch_source.base.usual_sizes import PLAIN


def array_words(sizes: Sequence[str | int], below: str | int = "") -> str:
    """Returns the expression of an array: of whole numbers below one, or else of real numbers.

    >>> array_words((2, 8)), array_words(("4",), 50), array_words(())
    ('torch.randn(2, 8)', 'torch.randint(50, (4,))', 'torch.randn(())')
    """
    listed = ", ".join(map(str, sizes))
    if below:
        return f"torch.randint({below}, ({listed}{',' * (len(sizes) == 1)}))"
    return f"torch.randn({listed or '()'})"


def input_words(x: Any, below: Iterator[str] | None = None) -> str | None:
    """Returns the expression that makes an input; None if it has none.

    ``below`` are the limits of whole numbers; by default one more than the largest.

    >>> input_words([torch.ones(2, 3), None]), input_words(torch.tensor([4, 1]))
    ('[torch.randn(2, 3), None]', 'torch.randint(5, (2,))')
    """
    if type(x) in PLAIN:
        return repr(x)
    if isinstance(x, dict):
        values = [input_words(each, below) for each in x.values()]
        pairs = zip(x, values, strict=True)
        return None if None in values else f"{{{', '.join(f'{key!r}: {v}' for key, v in pairs)}}}"
    if isinstance(x, Plain):
        named = {key: input_words(each, below) for key, each in x.own.items()}
        words = ", ".join(f"{key}={word}" for key, word in named.items())
        return None if None in named.values() else f"SimpleNamespace({words})"
    if isinstance(x, list | tuple):
        parts = [input_words(each, below) for each in x]
        words = ", ".join(filter(None, parts))
        listed = f"[{words}]" if isinstance(x, list) else f"({words}{',' * (len(x) == 1)})"
        return None if None in parts else listed
    if not isinstance(x, Tensor):
        return None
    if x.dtype == torch.bool:
        return f"torch.zeros({tuple(x.shape)}, dtype=torch.bool)"
    if x.is_floating_point():
        return array_words(x.shape)
    largest = int(x.max()) if x.numel() else 0
    return array_words(x.shape, next(below or iter(()), largest + 1))
