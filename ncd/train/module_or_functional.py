"""Trains one network in one of two ways: by a module and its optimiser, or by functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.terms import Term
from ncd.models.learning.two_way_network import MODULE_OR_FUNCTION
from ncd.run import CircuitModule, check, compile, generator
from ncd.train.house_prices import houses
from ncd.train.train_steps import RATE, adam, begin, function_step, module_step, sgd
from ncd.train.training_loop import TrainingLoop

OPTIMISERS = {"Adam": (torch.optim.Adam, adam), "SGD": (torch.optim.SGD, sgd)}


@dataclass
class Way(TrainingLoop):
    """``module-or-function`` at its knobs, to be trained on all examples at every step.

    ``way`` is "module" or "function", ``optimiser`` "Adam" or "SGD", and ``start`` the initial
    weights: "torch" as in a module, "He" as in the notebook's function. A score is the mean squared
    error on unseen examples. With equal optimiser and start both ways give the same losses, to the
    bit on one machine's CPU.

    >>> def losses(way):
    ...     return [now.loss for now in Way("module-or-function", {"h": 8}, steps=5, way=way)]
    >>> losses("module") == losses("function")
    True

    Raises SizeError for more features than the examples have, LimitError for too many weights.
    """

    way: str = "module"
    optimiser: str = "Adam"
    start: str = "torch"

    def __post_init__(self) -> None:
        self.knobs = MODULE_OR_FUNCTION.settings(self.knobs)
        self.data = houses(self.knobs["i"], self.seed)
        check(elaborate(network(self.knobs, len(self.data.inputs))))  # as in one step
        self.module = compile(network(self.knobs, 1), self.seed, self.device)
        if self.start == "He":
            begin_as_he(self.module, self.seed)

    def losses(self) -> Iterator[Tensor]:
        x, y = self._there(self.data.inputs), self._there(self.data.targets)
        make_optimiser, update = OPTIMISERS[self.optimiser]
        if self.way == "module":
            optimiser = make_optimiser(self.module.parameters(), RATE, foreach=False)
            while True:
                yield module_step(self.module, optimiser, x, y)
        weights = {name: w.detach().clone() for name, w in self.module.named_parameters()}
        state = begin(weights)
        while True:
            weights, state, loss = function_step(weights, state, update, self.module, x, y)
            self.module.load_state_dict(weights)  # so that it can be scored and saved
            yield loss

    def _there(self, rows: Tensor) -> Tensor:
        """Returns rows (n, f) as n batches of one, (n, 1, f)."""
        return rows[:, None].to(self.device)

    @torch.no_grad()
    def score(self) -> float:
        """Returns the mean squared error on the unseen examples."""
        found = self.module(self._there(self.data.unseen))
        return float(F.mse_loss(found, self._there(self.data.answers)))


def network(knobs: Mapping[str, int], b: int) -> Term:
    """Returns the network that holds its weights, on b examples."""
    return MODULE_OR_FUNCTION.build(**{**knobs, "b": b, "function": 0})


@torch.no_grad()
def begin_as_he(module: CircuitModule, seed: int) -> None:
    """Initialises weights as the notebook's function does: normal, times √(2 / inputs); biases 0.

    Source: He et al. 2015, "Delving Deep into Rectifiers", equation 10.
    """
    for name, weights in module.named_parameters():
        if weights.ndim > 1:
            drawn = torch.randn(weights.shape, generator=generator(seed, f"He {name}"))
            weights.copy_(drawn * (2 / weights.shape[1]) ** 0.5)
        else:
            weights.zero_()
