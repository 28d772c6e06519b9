"""Compiles a term to a module, once the guard has accepted it."""

from __future__ import annotations

from collections.abc import Collection

import torch

from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.formats import Formats
from ncd.lang.terms.arguments import check_formats, check_names, check_seed, check_term
from ncd.lang.terms.terms import Term
from ncd.run.base.device import device as find_device
from ncd.run.base.limits import Limits
from ncd.run.execution.module import CircuitModule, in_formats, recomputing
from ncd.run.limits.guard import check, check_room


def compile(
    term: Term,
    seed: int = 0,
    device: str | torch.device = "cpu",
    limits: Limits | None = None,
    formats: Formats | None = None,
    recompute: Collection[str] = (),
) -> CircuitModule:
    """Compiles a term to a ``torch.nn.Module`` with weights drawn from a seed.

    Learned parts are submodules named as in the diagram; a repetition is a ``ModuleList``.

    Args:
        term: The system; all its axes need sizes.
        seed: The seed of the weights; torch's global state is not used.
        device: The device of the weights: "cpu", "cuda" or "mps".
        limits: The memory and FLOPs allowed; by default those of the environment.
        formats: The number formats to which weights and arrays are rounded; float32 by default.
        recompute: Ids or titles of blocks whose arrays are not saved for the backward pass, but
            calculated again there. A block in a repetition stands for that of every body, and a
            repetition for each of its bodies. ``"layers.2"`` is one body of ``module.layers``, and
            ``"layers.0:3"`` the first three together, as :func:`ncd.checkpoints` gives them.

    Returns:
        A :class:`CircuitModule`. It takes a tensor for each array of ``term.dom``, all with the
        same batch axes in front.

    Raises:
        LimitError: If a run would exceed the limits; it names the nearest size that fits. Or if a
            GPU has less memory left than the run needs.
        SizeError: If an axis has no size.
        UnknownNameError: If the machine lacks the device, or ``recompute`` names no block or layer.
        ParseError: For an argument of another kind.

    Source: the modules of the notebook, such as figure 21's multi-head attention;
    ``torch.utils.checkpoint`` and Chen et al. 2016, arXiv 1604.06174, for ``recompute``.

    >>> from ncd.lang.terms.terms import Id
    >>> from ncd.ops import Linear
    >>> compile(Id("y:5 m:3") >> Linear("m -> k:2", "Q")).Q
    Linear(in_features=3, out_features=2, bias=False)
    """
    check_term(term, "compile")
    check_seed(seed, "compile")
    check_formats(formats, "compile")
    check_names(recompute, "recompute", "compile", "several ids and titles", "f1")
    target = find_device(device)
    circuit = elaborate(term)
    used = formats or Formats()
    check(circuit, limits, suggest=True, formats=used, device=str(target))
    if target.type == "cuda":
        check_room(circuit, str(target), used)
    module = recomputing(in_formats(CircuitModule(circuit, seed), used), recompute)
    return module if target.type == "cpu" else module.to(target)
