"""The values of formulas on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.formulas.formula import SIGNS, Application, Formula, Name, Number, Operand

_HOMES = {"torch": torch, "F": F}


def _torch_function(name: str) -> Callable[..., Tensor]:
    home, _, word = name.partition(".")
    found: Callable[..., Tensor] = getattr(_HOMES[home], word)
    return found


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **SIGNS,
    "-": lambda *parts: operator.neg(*parts) if len(parts) == 1 else operator.sub(*parts),
    "and": torch.logical_and,
    "or": torch.logical_or,
    "not": torch.logical_not,
    "min": torch.minimum,
    "max": torch.maximum,
    "where": lambda test, yes, no: torch.where(test != 0, yes, no),
    "clamp": lambda x, low, high: torch.minimum(torch.maximum(x, low), high),
    **{name: _torch_function(function.torch) for name, function in ELEMENTWISE.items()},
}
IN_PLACE: Mapping[str, Callable[..., Tensor]] = {"*": Tensor.mul_, "/": Tensor.div_}


def formula_value(
    formula: Formula, leaf: Callable[[Number | Operand | Name], Any], is_fresh: bool = False
) -> Any:
    """Returns the value of a formula.

    Args:
        formula: The formula.
        leaf: Gives the value of a number, an operand or a name.
        is_fresh: Whether each tensor of ``leaf`` is new, so that it may be overwritten.

    >>> from ncd.formulas.formula import parse
    >>> formula_value(parse("exp(-$1)"), lambda operand: torch.zeros(2))
    tensor([1., 1.])
    """
    if not isinstance(formula, Application):
        return leaf(formula)
    parts = [formula_value(part, leaf, is_fresh) for part in formula.parts]
    if is_fresh and formula.operation in IN_PLACE and _can_scale(*parts):
        return IN_PLACE[formula.operation](*parts)
    return FUNCTIONS[formula.operation](*parts)


def _can_scale(array: Tensor, number: Tensor) -> bool:
    """Returns whether an array can be multiplied by a number without another array."""
    return array.is_floating_point() and array.dim() > 0 and number.dim() == 0
