"""From a term to a module that runs, once the guard has let it pass."""

from __future__ import annotations

import torch

from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.arguments import check_term
from ncd.lang.terms.terms import Term
from ncd.run.base.device import device as find_device
from ncd.run.base.limits import Limits
from ncd.run.execution.module import CircuitModule
from ncd.run.limits.guard import check


def compile(
    term: Term,
    seed: int = 0,
    device: str | torch.device = "cpu",
    limits: Limits | None = None,
) -> CircuitModule:
    """The term as a ``torch.nn.Module``, its weights drawn from ``seed``.

    Learned parts are submodules named as in the diagram; a repetition is a ``ModuleList``.

    >>> from ncd.lang.terms.terms import Id
    >>> from ncd.ops import Linear
    >>> compile(Id("y:5 m:3") >> Linear("m -> k:2", "Q")).Q
    Linear(in_features=3, out_features=2, bias=False)

    Raises LimitError before anything is allocated if the run is over the limits, and
    UnknownNameError for a device that this machine lacks.
    """
    check_term(term, "compile")
    target = find_device(device)
    circuit = elaborate(term)
    check(circuit, limits, suggest=True)
    module = CircuitModule(circuit, seed)
    return module if target.type == "cpu" else module.to(target)
