"""The training loop, which depends on a seed alone."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import ClassVar

import torch
from torch import Tensor, nn

from ncd.circuit.circuit import Circuit
from ncd.circuit.costs import cost_of
from ncd.circuit.elaborate import elaborate
from ncd.errors import LimitError
from ncd.run.guard import compile, peak, peak_bound
from ncd.run.head_switches import capture_maps
from ncd.run.limits import Limits, weight
from ncd.run.module import CircuitModule
from ncd.run.seeding import generator
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.training.losses import overlap
from ncd.systems.training.task_data import Data
from ncd.systems.training.tasks import Task, data, task


@dataclass(frozen=True)
class TrainingProgress:
    """The progress of a run: the loss of this step's batch, and sometimes the score on unseen data.

    ``numbers`` are its weights, for runs that are watched closely.
    """

    step: int
    steps: int
    loss: float
    seconds: float
    score: float | None = None
    numbers: Sequence[float] = ()


@dataclass
class TrainingLoop(ABC):
    """A system at its knobs, to be trained; iterating takes the steps.

    Equal settings give equal numbers, to the bit on one machine's CPU with one thread.
    """

    name: str
    knobs: Mapping[str, int]
    seed: int = 0
    steps: int | None = None
    device: str = "cpu"
    module: CircuitModule = field(init=False)
    usual_steps: int = field(init=False, default=100)  # where no number of steps is given
    first_step: ClassVar[int] = 1  # the number of the first progress; 0 is before the first step
    scores: ClassVar[int] = 20  # how often the score is computed

    def __iter__(self) -> Iterator[TrainingProgress]:
        steps, begun = self.steps or self.usual_steps, monotonic()
        every = max(1, steps // self.scores)
        for step, loss in zip(range(self.first_step, steps + 1), self.losses(), strict=False):
            scored = step % every == 0 or step == steps
            score, numbers = (self.score(), self.numbers()) if scored else (None, ())
            yield TrainingProgress(step, steps, float(loss), monotonic() - begun, score, numbers)

    @abstractmethod
    def losses(self) -> Iterator[Tensor]:
        """Takes steps without end, and yields the loss of each."""

    @abstractmethod
    def score(self) -> float:
        """Returns the score on the unseen data."""

    def numbers(self) -> Sequence[float]:
        """Returns the weights, for runs that are watched closely."""
        return ()


@dataclass
class TaskTraining(TrainingLoop):
    """A system at its knobs, to be trained on batches from the seed.

    >>> last = [*TaskTraining("image-recogniser", {"x": 8, "n": 8}, seed=0, steps=2)][-1]
    >>> last.step, last.steps, last.score is not None
    (2, 2, True)
    """

    def __post_init__(self) -> None:
        self.task = task(self.name)
        self.usual_steps = self.task.steps
        entry = CATALOGUE[self.name]
        self.knobs = {**entry.settings(self.knobs), **self.task.training_sizes}
        term = entry.build(**self.knobs)
        check_room(self.task, self.knobs, elaborate(term))
        self.data = data(self.task, self.knobs, self.seed)
        self.module = compile(term, self.seed, self.device)
        if self.task.deep:
            he_init(self.module)

    def losses(self) -> Iterator[Tensor]:
        optimiser = torch.optim.AdamW(
            self.module.parameters(), self.task.rate, weight_decay=self.task.decay
        )
        self.module.train()
        random = generator(self.seed, "noise of each step")
        for rows in self._batches():
            examples, answers = self.data.inputs[rows], self.data.targets[rows]
            if self.task.vary:
                examples = self.task.vary(examples, random)
            given, targets = self.task.inputs_and_targets(self.knobs, examples, answers, random)
            optimiser.zero_grad()
            loss = self._backward(given, targets)
            optimiser.step()
            yield loss

    def _backward(self, given: tuple[Tensor, ...], targets: Tensor) -> Tensor:
        """Adds the gradients of the mean loss of one run, or of several, and returns that loss."""
        size = self.task.in_a_run(self.knobs) if self.task.batch_knob else len(targets)
        runs = [*zip(*(x.split(size) for x in (*given, targets)), strict=True)]
        loss = torch.zeros((), device=self.device)
        for *inputs, answers in runs:
            own = self._loss(tuple(inputs), answers) / len(runs)
            own.backward()
            loss += own.detach()
        return loss

    def _loss(self, given: tuple[Tensor, ...], targets: Tensor) -> Tensor:
        """Returns the task's loss, and the penalty on heads that look at the same."""
        inputs, targets = tuple(x.to(self.device) for x in given), targets.to(self.device)
        if not self.task.similarity_penalty:
            return self.task.loss(self.module(*inputs), targets)
        maps: dict[str, Tensor] = {}
        (outputs,) = self.module.execute(inputs, watch=capture_maps(self.module.circuit, maps))
        alike = torch.stack([overlap(found) for found in maps.values()]).mean()
        return self.task.loss(outputs, targets) + self.task.similarity_penalty * alike

    def _batches(self) -> Iterator[Tensor]:
        """Yields the rows of each step: every example once, in a new order each epoch."""
        random, count = generator(self.seed, "batches"), len(self.data.inputs)
        rows, batch = torch.empty(0, dtype=torch.long), self.task.in_a_step(self.knobs)
        while True:
            while len(rows) < batch:
                rows = torch.cat((rows, torch.randperm(count, generator=random)))
            yield rows[:batch]
            rows = rows[batch:]

    @torch.no_grad()
    def score(self) -> float:
        module = copy.deepcopy(self.module)  # the averages of its norms are of training alone
        module.train(bool(self.task.batch_knob))
        found, answers = answer_unseen(self.task, self.knobs, module, self.data, self.device)
        return self.task.score(found, answers)


@torch.no_grad()
def answer_unseen(
    task: Task,
    knobs: Mapping[str, int],
    module: CircuitModule,
    own: Data,
    device: str = "cpu",
    count: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns what a module answers to unseen examples, the first ``count``, and what is right.

    Of several outputs the first counts. Noise is the same each time. Where a run takes some
    examples together, those that do not fill one are left out.
    """
    size = task.in_a_run(knobs) if task.batch_knob else 64
    if task.batch_knob:
        count = len(own.unseen[:count]) // size * size
    unseen, answers = own.unseen[:count], own.answers[:count]
    given, wanted = task.inputs_and_targets(
        knobs, unseen, answers, generator(0, "noise of the unseen")
    )
    found = []
    for part in zip(*(x.split(size) for x in given), strict=True):
        outputs = module(*(x.to(device) for x in part))
        found.append((outputs[0] if isinstance(outputs, tuple) else outputs).cpu())
    return torch.cat(found), wanted


def check_room(task: Task, knobs: Mapping[str, int], circuit: Circuit) -> None:
    """Raises LimitError if training needs more memory than one run may take.

    That is a batch forward and backward, or one of its runs if it has several, the weights with
    gradients and Adam's two means, and the examples twice, as generated and as split.
    """
    weights, together = 4 * cost_of(circuit).parameters, task.in_a_run(knobs)
    at_once = 1 if task.batch_knob else task.batch
    examples = task.examples() * sum(weight(value.array) for value in circuit.inputs) // together
    beside, most = 4 * weights + 2 * examples, Limits.from_environment().bytes

    if peak_bound(circuit, at_once) + beside <= most:  # the peak takes a run without numbers
        return
    taken = at_once * (peak(circuit) - 2 * weights) + beside
    if taken > most:
        raise LimitError(
            f"training takes {taken:,} bytes of memory, and the limit NCD_MAX_BYTES is {most:,}",
            cure="smaller sizes",
        )


@torch.no_grad()
def he_init(module: nn.Module) -> None:
    """Initialises weights so that their products keep their variance through a relu; biases are 0.

    Torch's default weights are √6 times smaller: after ten layers without a norm little of the
    input is left. Source: He et al. 2015, "Delving Deep into Rectifiers", equation 10.

    >>> layer = nn.Linear(100, 100)
    >>> he_init(layer)
    >>> 1.3 < float(layer.weight.detach().std()) * 10 < 1.5
    True
    """
    for weights in module.parameters():
        if weights.ndim > 1:
            weights.mul_(6**0.5)
        else:
            weights.zero_()
