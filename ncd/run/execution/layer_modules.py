"""The layers of a circuit as torch's modules, each at its path."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from torch import nn

from ncd.lang.formulas.expr import Call, Expr
from ncd.run.base.seeding import SeededDropout, generator
from ncd.run.execution.evaluate import function, known


def submodule(module: nn.Module, scope: tuple[str, ...]) -> nn.Module:
    """Returns the module that holds a scope's layers; numbered ones are in a ``ModuleList``.

    Those on the way to it are made.
    """
    for name, following in zip(scope, (*scope[1:], ""), strict=False):
        if isinstance(module, nn.ModuleList):
            while len(module) <= int(name):
                module.append(nn.Module())
        elif name not in module._modules:
            module.add_module(name, nn.ModuleList() if following.isdecimal() else nn.Module())
        module = module.get_submodule(name)
    return module


def new_layer(call: Call, path: str, seed: int | None) -> nn.Module:
    """Returns the layer of a call without initial numbers; torch's global state is not used."""
    kind = function(call.function)
    args = [_value(arg) for arg in call.args]
    named = {name: _value(value) for name, value in call.kwargs}
    if kind is nn.Dropout:
        return SeededDropout(kind(*args, **named).p, generator(seed or 0, path))
    device = "meta" if seed is None else "cpu"
    layer: nn.Module = _undrawn(kind)(*args, **named, device=device)
    layer.__class__ = kind
    return layer


def _value(expr: Expr) -> Any:
    """Returns the value of a layer's argument."""
    found = known(expr)
    assert found is not None, expr
    return found.value


@lru_cache
def _undrawn(kind: type[nn.Module]) -> type[nn.Module]:
    """Returns a subclass of a layer class that does not initialise its numbers."""
    return type(kind.__name__, (kind,), {"reset_parameters": lambda layer: None})
