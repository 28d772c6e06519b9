"""What the source of a term makes when it is run."""

from __future__ import annotations

from torch import nn

import ncd


def written(term: ncd.Term, *, einops: bool = True, **sizes: int) -> nn.Module:
    """The module of the class that stands last in the source, at these sizes or its own."""
    names: dict[str, object] = {"__name__": "written"}
    exec(ncd.source(term, einops=einops), names)
    classes = [v for v in names.values() if isinstance(v, type) and v.__module__ == "written"]
    made = classes[-1](**sizes)
    assert isinstance(made, nn.Module)
    return made
