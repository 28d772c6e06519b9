"""Runs a cached pass in torch: the first positions at once, then one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from ncd.errors import MismatchError
from ncd.language.terms import Term
from ncd.run.guard import compile


def load_weights(term: Term, weights: Mapping[str, Tensor], like: Sequence[Tensor]) -> nn.Module:
    """Returns the module of a term with the weights of another one that has their names.

    Args:
        term: The term.
        weights: The weights by their names.
        like: A tensor of the format and on the device of the weights, if there is one.

    Raises:
        MismatchError: If one is missing.
    """
    module: nn.Module = compile(term).eval()
    for x in like:
        module = module.to(x.device, x.dtype)
    wanted = module.state_dict()
    missing = [name for name in wanted if name not in weights]
    if missing:
        fact = f"the weights lack {missing[0]}"
        raise MismatchError(fact, where="decode", cure="weights=ncd.compile(term).state_dict()")
    module.load_state_dict({name: weights[name] for name in wanted})
    return module


class CachedRunner:
    """The two modules of a cached pass, with the places of positions in their arrays.

    Args:
        prefill: The module of the first positions.
        step: The module of one position.
        input_dims: For each input the dimension of its positions, from the end; None without one.
        output_dims: The same for each output.
        changes: For each cache whether a step gives it anew.
    """

    def __init__(
        self,
        prefill: nn.Module,
        step: nn.Module,
        input_dims: Sequence[int | None],
        output_dims: Sequence[int | None],
        changes: Sequence[bool],
    ) -> None:
        self.prefill, self.step = prefill, step
        self.input_dims, self.output_dims, self.changes = input_dims, output_dims, changes

    def positions(self, inputs: Sequence[Tensor], start: int, count: int) -> list[Tensor]:
        """Returns some positions of the inputs that are sequences, and the others as they are."""
        return [
            x if dim is None else x.narrow(dim, start, count)
            for x, dim in zip(inputs, self.input_dims, strict=True)
        ]

    @torch.no_grad()
    def run(self, inputs: Sequence[Tensor], count: int, length: int) -> tuple[Tensor, ...]:
        """Returns the outputs of all positions, of which ``count`` are computed at once first."""
        outputs, caches = self.begin(self.positions(inputs, 0, count))
        parts = [[x] for x in outputs]
        for place in range(count, length):
            made, caches = self.advance(self.positions(inputs, place, 1), place, caches)
            for own, x in zip(parts, made, strict=True):
                own.append(x)
        return tuple(
            own[-1] if dim is None else torch.cat(own, dim)
            for own, dim in zip(parts, self.output_dims, strict=True)
        )

    def begin(self, inputs: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Returns the outputs of the first positions, and the caches."""
        made = _as_list(self.prefill(*inputs))
        count = len(self.output_dims)
        return made[:count], made[count:]

    def advance(
        self, inputs: Sequence[Tensor], place: int, caches: Sequence[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Returns the outputs of one position, and the caches after it."""
        new = [x for x, dim in zip(inputs, self.input_dims, strict=True) if dim is not None]
        like = new[0].device if new else None
        made = _as_list(self.step(*new, torch.tensor(place, device=like), *caches))
        count = len(self.output_dims)
        changed = iter(made[count:])
        kept = [
            next(changed) if changes else x for x, changes in zip(caches, self.changes, strict=True)
        ]
        return made[:count], kept


def _as_list(made: Tensor | tuple[Tensor, ...]) -> list[Tensor]:
    return [made] if isinstance(made, Tensor) else [*made]
