"""One network trained as a module or as functions, on house prices."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value

from ncd.circuit.elaborate import elaborate
from ncd.errors import SizeError
from ncd.language.terms import Term
from ncd.run.guard import check_run, compile
from ncd.run.module import CircuitModule
from ncd.run.seeding import generator
from ncd.systems.networks.perceptrons import MODULE_OR_FUNCTION
from ncd.systems.training.task_data import Data
from ncd.systems.training.training_loop import TrainingLoop

# --- Tables for regression: California housing if it is on this machine, else diabetes

UNSEEN = 0.2  # share of the examples, as in the notebook
HOUSES = "prices of houses in California in 100,000 dollars (Pace and Barry 1997)"
DIABETES = "how far diabetes went on in a year, scaled to a deviation of 1 (Efron et al. 2004)"
SOURCE_PLACES = {
    HOUSES: "scikit-learn’s copy on this machine",
    DIABETES: "shipped with scikit-learn",
}


def houses(i: int, seed: int) -> Data:
    """Returns rows (n, i) of the first i features, and the number (n, 1) to predict for each.

    California housing if scikit-learn has its copy on this machine (nothing is downloaded), in
    units of 100,000 dollars; else the diabetes data with standardised answers. Features are
    standardised over the training rows.

    >>> data = houses(8, seed=0)
    >>> data.inputs.shape[1], tuple(data.targets.shape[1:]), len(data.inputs) > len(data.unseen)
    (8, (1,), True)

    Raises SizeError for more features than there are.
    """
    rows, answers, source = _read()
    most = rows.shape[1]
    if i > most:
        what = "a house" if source == HOUSES else "a patient"
        raise SizeError(
            f"i is {i}, but {what} has {most} features here",
            cure=f"i = {most}",
            axis="i",
            nearest=most,
        )
    order = torch.randperm(len(rows), generator=generator(seed, "houses"))
    unseen, seen = order.tensor_split([round(UNSEEN * len(order))])
    rows = _standardise_columns(rows[:, :i], seen)
    answers = answers if source == HOUSES else _standardise_columns(answers, seen)
    rows, answers = rows.float(), answers.float()
    source_words = f"{source}, {SOURCE_PLACES[source]}, by {i} of {most} features"
    return Data(lambda: (rows[seen], answers[seen]), rows[unseen], answers[unseen], source_words)


def _read() -> tuple[Tensor, Tensor, str]:
    """Returns all rows, their answers (n, 1) and their source in words."""
    from sklearn.datasets import fetch_california_housing, load_diabetes

    kept = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()
    try:  # only if the folder exists, as scikit-learn would create it
        found = fetch_california_housing(download_if_missing=False) if kept.is_dir() else None
    except OSError:
        found = None
    source = DIABETES if found is None else HOUSES
    found = found or load_diabetes()
    rows, answers = (torch.from_numpy(table) for table in (found.data, found.target))
    return rows, answers[:, None], source


def _standardise_columns(table: Tensor, seen: Tensor) -> Tensor:
    """Standardises each column over the training rows."""
    known = table[seen]
    return (table - known.mean(0)) / known.std(0, correction=0)


# --- One training step, written twice: for a module that holds its weights, and as pure functions

Weights = dict[str, Tensor]
State = tuple[int, Weights, Weights]  # steps taken, and Adam's two means
Update = Callable[[Weights, Weights, State], tuple[Weights, State]]
RATE = 0.001


def module_step(model: nn.Module, optimiser: torch.optim.Optimizer, x: Tensor, y: Tensor) -> Tensor:
    """Updates ``model`` by ``optimiser`` and returns the loss."""
    loss = F.mse_loss(model(x), y)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.detach()


def loss_of(weights: Weights, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Returns the loss with these weights in place of the model's own."""
    found = functional_call(model, weights, (x,))
    return F.mse_loss(found, y)


def function_step(
    weights: Weights, state: State, update: Update, model: nn.Module, x: Tensor, y: Tensor
) -> tuple[Weights, State, Tensor]:
    """Returns new weights, a new state and the loss, and changes none of its arguments."""
    derive = grad_and_value(loss_of)
    gradients, loss = derive(weights, model, x, y)
    weights, state = update(weights, gradients, state)
    return weights, state, loss


def sgd(weights: Weights, gradients: Weights, state: State) -> tuple[Weights, State]:
    """Moves each weight against its gradient, as in the notebook's loop."""
    new = {n: w.add(gradients[n], alpha=-RATE) for n, w in weights.items()}
    return new, state


def adam(weights: Weights, gradients: Weights, state: State) -> tuple[Weights, State]:
    """Applies Adam (Kingma and Ba 2015, algorithm 1), in the order in which torch computes it."""
    step, g = state[0] + 1, gradients
    m = {n: mean.lerp(g[n], 1 - 0.9) for n, mean in state[1].items()}
    v = {n: (0.999 * mean).addcmul(g[n], g[n], value=1 - 0.999) for n, mean in state[2].items()}
    rate, root = RATE / (1 - 0.9**step), (1 - 0.999**step) ** 0.5
    new = {n: w.addcdiv(m[n], v[n].sqrt() / root + 1e-8, value=-rate) for n, w in weights.items()}
    return new, (step, m, v)


def begin(weights: Weights) -> State:
    """Returns the state before the first step."""
    first, second = ({n: torch.zeros_like(w) for n, w in weights.items()} for _ in range(2))
    return 0, first, second


# --- Trains one network in one of two ways: by a module and its optimiser, or by functions

OPTIMISERS = {"Adam": (torch.optim.Adam, adam), "SGD": (torch.optim.SGD, sgd)}


@dataclass
class TwoWayTraining(TrainingLoop):
    """``module-or-function`` at its knobs, to be trained on all examples at every step.

    ``way`` is "module" or "function", ``optimiser`` "Adam" or "SGD", and ``start`` the initial
    weights: "torch" as in a module, "He" as in the notebook's function. A score is the mean squared
    error on unseen examples. With equal optimiser and start both ways give the same losses, to the
    bit on one machine's CPU.

    >>> def losses(way):
    ...     run = TwoWayTraining("module-or-function", {"h": 8}, steps=5, way=way)
    ...     return [now.loss for now in run]
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
        check_run(elaborate(network(self.knobs, len(self.data.inputs))))  # as in one step
        self.module = compile(network(self.knobs, 1), self.seed, self.device)
        if self.start == "He":
            begin_as_he(self.module, self.seed)

    def losses(self) -> Iterator[Tensor]:
        x, y = self._as_batches(self.data.inputs), self._as_batches(self.data.targets)
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

    def _as_batches(self, rows: Tensor) -> Tensor:
        """Returns rows (n, f) as n batches of one, (n, 1, f)."""
        return rows[:, None].to(self.device)

    @torch.no_grad()
    def score(self) -> float:
        """Returns the mean squared error on the unseen examples."""
        found = self.module(self._as_batches(self.data.unseen))
        return float(F.mse_loss(found, self._as_batches(self.data.answers)))


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
