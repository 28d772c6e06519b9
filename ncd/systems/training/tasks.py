"""The training task of each system: its data, loss, score and number of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.errors import unknown_name_error
from ncd.run.seeding import generator
from ncd.systems.recurrent.seq2seq_attention import LONGEST_DATE, WRITTEN_LENGTH
from ncd.systems.training.labelled_images import available
from ncd.systems.training.losses import (
    accuracy,
    answer_accuracy,
    answer_loss,
    class_loss,
    evidence_loss,
    explained_variance,
    iou,
    line_accuracy,
    pair_accuracy,
    pair_loss,
    written_loss,
)
from ncd.systems.training.sequence_data import SEQUENCES, STORY_MODELS
from ncd.systems.training.step_inputs import (
    InputsAndTargets,
    Knobs,
    add_noise,
    read_and_written,
    with_captions,
    with_point_noise,
)
from ncd.systems.training.task_data import (
    Data,
    any_digits,
    as_other_hands,
    batched_digits,
    captioned_digits,
    date_data,
    grey_digits,
    labelled_digits,
    labelled_shapes,
    sequence_count,
    sequence_data,
    shape_count,
    signed_digits,
)

TRAINING_STEPS = {
    "reversal": 300,
    "recall": 600,
    "induction": 1000,
    "brackets": 1000,
    "proofreader": 2500,
    **dict.fromkeys(STORY_MODELS, 3000),
}
STORY_SIZES = {"t": 64}  # positions that a language model learns to read
DATE_SIZES = {"s": LONGEST_DATE, "t": WRITTEN_LENGTH}  # places of a date, read and written
STORY_BATCH = 16
APART, DECAY = {"proofreader": 1.0}, {"proofreader": 0.3}


@dataclass(frozen=True)
class Task:
    """The training of a system.

    ``data`` is generated from the knobs and a seed, at most ``examples`` of them. ``score`` of
    outputs and answers is called ``measure``; higher is better. Training takes ``steps`` of
    ``batch`` examples with Adam at ``rate``. ``deep`` systems without norms start with larger
    weights: :func:`ncd.systems.training.training_loop.he_init`. ``similarity_penalty`` is the
    weight of :func:`ncd.systems.training.losses.overlap`, so that each head looks elsewhere;
    ``decay`` is AdamW's weight decay.
    ``sizes`` are the knobs that the data depends on. ``prepare`` makes inputs and answers out of
    examples and their answers, where there are several inputs or chance is in them. ``batch_knob``
    is the knob of how many examples a run takes, for systems that compare them; others take any
    number. ``training_sizes`` are the knobs, with their values while it learns, that change no
    weight: a page may have others. ``vary`` changes the examples of a step, as no two are alike.
    """

    name: str
    data: Callable[[Mapping[str, int], torch.Generator], Data]
    loss: Callable[[Any, Tensor], Tensor]
    score: Callable[[Tensor, Tensor], float]
    measure: str
    steps: int
    batch: int
    rate: float
    examples: Callable[[], int]
    sizes: tuple[str, ...]
    deep: bool = False
    similarity_penalty: float = 0
    decay: float = 0
    prepare: Callable[[Tensor, Tensor, Knobs, torch.Generator], InputsAndTargets] | None = None
    batch_knob: str = ""
    training_sizes: Mapping[str, int] = field(default_factory=dict)
    vary: Callable[[Tensor, torch.Generator], Tensor] | None = None

    @property
    def weightless_knobs(self) -> tuple[str, ...]:
        """The knobs that change no weight."""
        return tuple(filter(None, dict.fromkeys((*self.training_sizes, self.batch_knob))))

    def in_a_run(self, knobs: Mapping[str, int]) -> int:
        """Returns the number of examples that a run takes."""
        return knobs[self.batch_knob] if self.batch_knob else 1

    def in_a_step(self, knobs: Mapping[str, int]) -> int:
        """Returns the number of examples of a step: about ``batch``, in whole runs."""
        own = self.in_a_run(knobs)
        return max(1, self.batch // own) * own

    def inputs_and_targets(
        self, knobs: Mapping[str, int], examples: Tensor, answers: Tensor, random: torch.Generator
    ) -> InputsAndTargets:
        """Returns the inputs of the system for some examples, and what it is to answer."""
        make = self.prepare
        return make(examples, answers, knobs, random) if make else ((examples,), answers)


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            "image-recogniser",
            data=labelled_digits,
            loss=class_loss,
            score=accuracy,
            measure="accuracy",
            steps=300,
            batch=64,
            rate=1e-3,
            examples=available,
            sizes=("x", "k"),
        ),
        Task(
            "lenet",
            data=grey_digits,
            loss=class_loss,
            score=accuracy,
            measure="accuracy",
            steps=300,
            batch=64,
            rate=2e-3,
            examples=available,
            sizes=("x", "c", "k"),
        ),
        Task(
            "identity-resnet",
            data=batched_digits,
            loss=class_loss,
            score=accuracy,
            measure="accuracy",
            steps=600,
            batch=48,
            rate=2e-3,
            examples=available,
            sizes=("b", "x", "y"),
            batch_knob="b",
        ),
        Task(
            "unet",
            data=labelled_shapes,
            loss=F.cross_entropy,
            score=iou,
            measure="iou",
            steps=600,
            batch=16,
            rate=2e-3,
            examples=shape_count,
            sizes=("x", "y"),
            deep=True,
        ),
        Task(
            "vae",
            data=any_digits,
            loss=evidence_loss,
            score=explained_variance,
            measure="variance",
            steps=3000,
            batch=64,
            rate=2e-3,
            examples=available,
            sizes=("x",),
            prepare=with_point_noise,
        ),
        Task(
            "diffusion-unet",
            data=signed_digits,
            loss=F.mse_loss,
            score=explained_variance,
            measure="variance",
            steps=1200,
            batch=64,
            rate=2e-3,
            examples=available,
            sizes=("x", "o"),
            prepare=add_noise,
        ),
        Task(
            "seq2seq-attention",
            data=date_data,
            loss=written_loss,
            score=line_accuracy,
            measure="dates",
            steps=1500,
            batch=64,
            rate=3e-3,
            examples=sequence_count,
            sizes=("s", "t"),
            prepare=read_and_written,
            training_sizes=DATE_SIZES,
        ),
        Task(
            "clip",
            data=captioned_digits,
            loss=pair_loss,
            score=pair_accuracy,
            measure="pairs",
            steps=5000,
            batch=32,
            rate=1e-3,
            examples=available,
            sizes=("i", "j", "x", "p", "s", "v"),
            decay=0.01,
            prepare=with_captions,
            batch_knob="i",
            training_sizes={"i": 32, "j": 32},
            vary=as_other_hands,
        ),
        *(
            Task(
                name,
                data=sequence_data(own),
                loss=answer_loss,
                score=answer_accuracy,
                measure="answers",
                steps=TRAINING_STEPS[name],
                batch=STORY_BATCH if name in STORY_MODELS else 64,
                rate=3e-3,
                examples=sequence_count,
                sizes=("t", "v"),
                similarity_penalty=APART.get(name, 0),
                decay=DECAY.get(name, 0),
                training_sizes=STORY_SIZES if name in STORY_MODELS else {},
            )
            for name, own in SEQUENCES.items()
        ),
    )
}


def task(name: str) -> Task:
    """Returns the task of a system; raises UnknownNameError for a system without one."""
    if name not in TASKS:
        raise unknown_name_error("task", name, TASKS)
    return TASKS[name]


def data(task: Task, knobs: Mapping[str, int], seed: int) -> Data:
    """Returns the data of a task, equal for equal knobs and seed."""
    return task.data(knobs, generator(seed, f"data of {task.name}"))
