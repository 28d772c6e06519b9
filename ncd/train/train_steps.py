"""One training step, written twice: for a module that holds its weights, and as pure functions."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value

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
