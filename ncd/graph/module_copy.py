"""A second module with the same weights, whose run does not change the first."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any, TypeVar

from torch import Generator, nn

M = TypeVar("M", bound=nn.Module)


def isolated_copy(module: M, frozen: Collection[str] = ()) -> M:
    """Returns a module with the same parameters but buffers and random generators of its own.

    A forward pass changes the running statistics of a batch norm and the state of a dropout's
    generator; these are copied, and weights are shared. Parameters named in ``frozen`` need no
    gradient in the copy. A module without buffers and generators is returned itself.

    >>> norm = nn.BatchNorm1d(3)
    >>> _ = isolated_copy(norm)(norm.weight.expand(4, 3))
    >>> int(norm.num_batches_tracked), isolated_copy(norm).weight is norm.weight
    (0, True)
    >>> isolated_copy(norm, {"weight"}).weight.requires_grad, norm.weight.requires_grad
    (False, True)
    """
    return _twin(module, {}, frozenset(frozen), "")


def _twin(module: M, known: dict[int, Any], frozen: frozenset[str], path: str) -> M:
    if id(module) in known:
        twin: M = known[id(module)]
        return twin
    known[id(module)] = module
    old, buffers = module._modules, module._buffers
    children = {
        name: child and _twin(child, known, frozen, f"{path}{name}.") for name, child in old.items()
    }
    still = {
        name: nn.Parameter(x.detach(), requires_grad=False)
        for name, x in module._parameters.items()
        if x is not None and f"{path}{name}" in frozen
    }
    own = {n: x.clone_state() for n, x in vars(module).items() if type(x) is Generator}
    if (
        not own
        and not buffers
        and not still
        and all(map(operator.is_, children.values(), old.values()))
    ):
        return module
    copy = type(module).__new__(type(module))
    copies = {name: x if x is None else x.clone() for name, x in buffers.items()}
    changed = {"_modules": children, "_buffers": copies, "_parameters": module._parameters | still}
    vars(copy).update({**vars(module), **own, **changed})
    known[id(module)] = copy
    return copy
