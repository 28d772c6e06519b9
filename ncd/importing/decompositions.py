"""Calls that have no op of their own, as smaller calls: torch's own decompositions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, fx
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

from ncd.importing.base.memory_views import mutates_views

DEEP = 4  # decompositions inside others
Table = Mapping[Any, Callable[..., Any]]


def decomposed(node: fx.Node) -> fx.GraphModule | None:
    """Returns a call of torch's graph as a graph of smaller calls; None where torch knows none.

    Its placeholders are the tensors among the arguments, in their order. Only shapes are computed.

    Source: ``torch._decomp``, whose rules ``torch.export`` and the compiler use as well.

    >>> class Gated(torch.nn.Module):
    ...     def forward(self, x):
    ...         return torch.nn.functional.glu(x)
    >>> graph = torch.export.export(Gated(), (torch.ones(2, 6),)).graph
    >>> smaller = decomposed(list(graph.nodes)[1])
    >>> [str(one.target) for one in smaller.graph.nodes if "aten" in str(one.target)]
    ['aten.tensor_split.sections', 'aten.sigmoid.default', 'aten.mul.Tensor']
    """
    target: Any = _functional(node.target)
    flat, spec = tree_flatten(tree_map_only(fx.Node, _shape, (node.args, dict(node.kwargs))))
    places = [i for i, x in enumerate(flat) if isinstance(x, Tensor)]
    if not places or any(isinstance(x, fx.Node) for x in flat):
        return None

    def called(run: Callable[..., Any], *tensors: Tensor) -> Any:
        given = list(flat)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        args, named = tree_unflatten(given, spec)
        return run(*args, **named)

    rules = {target: decomposition_table[target]} if target in decomposition_table else {}
    run = target if rules or not target._can_decompose() else target.decompose
    for early in (True, False):  # before functions are replaced by those that autograd knows
        found = _traced(lambda *xs: called(run, *xs), rules, [flat[i] for i in places], early)
        if found is not None and all(one.target is not target for one in found.graph.nodes):
            return found
    return None


def _traced(
    function: Callable[..., Any], rules: Table, given: list[Tensor], early: bool
) -> fx.GraphModule | None:
    """Returns what a function calls; None for what cannot be traced, or depends on the numbers."""
    try:
        with torch.no_grad():
            found = make_fx(function, decomposition_table=rules, pre_dispatch=early)(*given)
    except Exception:  # whatever torch raises for what a rule does not cover
        return None
    if any(torch.Tag.nondeterministic_seeded in _tags(one) for one in found.graph.nodes):
        return None  # random numbers, which are drawn anew in each run
    if mutates_views(found):
        return None
    held = [getattr(found, str(one.target)) for one in found.graph.nodes if one.op == "get_attr"]
    return None if any(isinstance(x, FakeTensor) for x in held) else found


def _tags(node: fx.Node) -> list[torch.Tag]:
    return getattr(node.target, "tags", [])


def _shape(node: fx.Node) -> Any:
    return node.meta.get("val", node)


def _functional(target: Any) -> Any:
    """Returns the function that gives what another one writes in place."""
    name = target._schema.name.split("::")[-1]
    plain = getattr(torch.ops.aten, name.removesuffix("_"), None)
    if not name.endswith("_") or plain is None:
        return target
    return getattr(plain, target._overloadname, target)
