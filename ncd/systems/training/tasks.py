"""The task of each system: data from the seed, loss, score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.errors import SizeError, unknown_name_error
from ncd.language.cached_property import lazy_property
from ncd.run.seeding import generator
from ncd.systems.recurrent.seq2seq_attention import LONGEST_DATE, WRITTEN_LENGTH
from ncd.systems.training.captions import CAPTION_WORDS, LONGEST_CAPTION, random_captions
from ncd.systems.training.labelled_images import KINDS, available, digits, rewrite_digits, shapes
from ncd.systems.training.sequence_data import NOT_ASKED, SEQUENCES, STORY_MODELS, Sequences
from ncd.systems.training.written_dates import date_lines, decoder_inputs

# --- What is made of examples at each step, with chance in it: noise, or a caption

FIRST, LAST, NOISE_STEPS = 1e-4, 0.02, 1000  # the variance of the noise that the steps add
Knobs = Mapping[str, int]
InputsAndTargets = tuple[
    tuple[Tensor, ...], Tensor
]  # what a system is given, and what it is to answer


def with_point_noise(
    pictures: Tensor, answers: Tensor, knobs: Knobs, random: torch.Generator
) -> InputsAndTargets:
    """Returns pictures (n, x, y) beside noise for the point of each; the answer is the picture."""
    noise = torch.randn(len(pictures), knobs["k"], generator=random)
    return (pictures, noise), answers


def with_captions(
    pictures: Tensor, digits: Tensor, knobs: Knobs, random: torch.Generator
) -> InputsAndTargets:
    """Returns pictures beside a caption of each (n, s); the answers are the digits (n)."""
    return (pictures, random_captions(digits, knobs["s"], random)), digits


def add_noise(
    pictures: Tensor, answers: Tensor, knobs: Knobs, random: torch.Generator
) -> InputsAndTargets:
    """Returns pictures (n, o, x, x), each at a step of its own; the answer is the noise in it.

    Source: Ho et al. 2020, "Denoising Diffusion Probabilistic Models", algorithm 1.
    """
    at = torch.randint(knobs["T"], (len(pictures),), generator=random)
    noise = torch.randn(pictures.shape, generator=random)
    left = signal_fraction(knobs["T"])[at][:, None, None, None]
    return (left.sqrt() * pictures + (1 - left).sqrt() * noise, at), noise


def signal_fraction(steps: int) -> Tensor:
    """Returns the share of a picture's variance that is left after each step, (steps,).

    A step adds noise of a variance that grows evenly; with fewer steps than a thousand each adds
    more. Source: Ho et al. 2020, section 4; Nichol and Dhariwal 2021, "Improved Denoising
    Diffusion Probabilistic Models", whose published code scales the variances so.

    >>> signal_fraction(1000)[[0, -1]].tolist() == [0.9998999834060669, 4.035830352222547e-05]
    True
    """
    return (1 - noise_fraction(steps)).cumprod(0)


def noise_fraction(steps: int) -> Tensor:
    """Returns the variance of the noise that each step adds, (steps,)."""
    scale = NOISE_STEPS / steps
    return torch.linspace(scale * FIRST, scale * LAST, steps).clamp_max(0.999)


def evidence_loss(outputs: tuple[Tensor, ...], pictures: Tensor) -> Tensor:
    """Returns what a picture costs: its pixels, and how far its point is from a plain one.

    Args:
        outputs: The pictures again (n, x, y), and means and log variances of their points (n, k).
        pictures: The pictures, from 0 to 1.

    Source: Kingma and Welling 2014, "Auto-Encoding Variational Bayes", equation 10.
    """
    again, mean, spread = outputs
    pixels = F.binary_cross_entropy(again, pictures, reduction="sum")
    return (pixels + divergence(mean, spread).sum()) / len(pictures)


def divergence(mean: Tensor, spread: Tensor) -> Tensor:
    """Returns the KL divergence of each number of a point from a standard normal one.

    >>> divergence(torch.tensor([0.0, 1.0]), torch.zeros(2)).tolist()
    [0.0, 0.5]
    """
    return (mean.square() + spread.exp() - spread - 1) / 2


def explained_variance(found: Tensor, wanted: Tensor) -> float:
    """Returns the share of the variance of numbers (n, …) that is explained.

    >>> explained_variance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
    1.0
    """
    rest = (found - wanted).square().sum() / (wanted - wanted.mean(0)).square().sum()
    return 1 - float(rest)


# --- The data of the training tasks, made from the knobs of a system and a seed

SEEN, UNSEEN = 512, 64  # numbers of pictures of shapes
READ, UNREAD = 4096, 512  # numbers of sequences


@dataclass(frozen=True)
class Data:
    """Training examples and unseen examples: inputs and expected outputs.

    The training examples are made by ``train`` when they are first used; a page tests untrained
    weights on the unseen ones alone.
    """

    train: Callable[[], tuple[Tensor, Tensor]]
    unseen: Tensor
    answers: Tensor
    source: str

    @lazy_property
    def _train(self) -> tuple[Tensor, Tensor]:
        return self.train()

    @property
    def inputs(self) -> Tensor:
        """The inputs of the training examples."""
        return self._train[0]

    @property
    def targets(self) -> Tensor:
        """The expected outputs of the training examples."""
        return self._train[1]


def labelled_digits(knobs: Mapping[str, int], random: torch.Generator, classes: str = "k") -> Data:
    """Returns digits (n, x, x) from 0 to 1, and what each is; ``classes`` is a knob.

    The unseen ones are the same for every seed: weights that ship have not learned from them.
    """
    if knobs[classes] < 10:
        raise SizeError(
            f"{classes} is {knobs[classes]}, but there are ten digits",
            cure=f"{classes} = 10",
            axis=classes,
            nearest=10,
        )
    images, labels, source = digits(knobs["x"])
    order = torch.randperm(len(images), generator=generator(0, "order of the digits"))
    unseen, seen = order.tensor_split([len(order) // 6])
    return Data(lambda: (images[seen], labels[seen]), images[unseen], labels[unseen], source)


def grey_digits(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    """Returns digits with c equal channels."""
    return _in_channels(labelled_digits(knobs, random), knobs["c"])


def _in_channels(own: Data, c: int) -> Data:
    inputs, unseen = (x[:, None].expand(-1, c, -1, -1) for x in (own.inputs, own.unseen))
    return Data(lambda: (inputs, own.targets), unseen, own.answers, own.source)


def batched_digits(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    """Returns digits of y classes with three equal channels, for a system that takes b at once."""
    own = _in_channels(labelled_digits(knobs, random, "y"), 3)
    if knobs["b"] > (most := len(own.unseen)):
        raise SizeError(
            f"b is {knobs['b']}, but there are {most} digits to test with",
            cure=f"b = {most}",
            axis="b",
            nearest=most,
        )
    return own


def any_digits(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    """Returns digits (n, x, x) from 0 to 1, to be made again."""
    own = labelled_digits({**knobs, "k": 10}, random)
    return Data(lambda: (own.inputs, own.inputs), own.unseen, own.unseen, own.source)


def signed_digits(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    """Returns digits (n, o, x, x) from -1 to 1 in o equal colours."""
    own = any_digits(knobs, random)
    seen, unseen = (
        (2 * x - 1)[:, None].expand(-1, knobs["o"], -1, -1) for x in (own.inputs, own.unseen)
    )
    return Data(lambda: (seen, seen), unseen, unseen, own.source)


def captioned_digits(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    """Returns digits with three equal channels; their captions are made when they are used."""
    least = {"j": knobs["i"], "v": len(CAPTION_WORDS), "s": LONGEST_CAPTION}
    facts = {
        "j": f"there are {knobs['i']} pictures and {knobs['j']} sentences, not one for each",
        "v": f"the captions have {len(CAPTION_WORDS)} words, and v is {knobs['v']}",
        "s": f"a caption has up to {LONGEST_CAPTION} words, and s is {knobs['s']}",
    }
    for axis, size in least.items():
        if knobs[axis] < size or (axis == "j" and knobs[axis] != size):
            raise SizeError(facts[axis], cure=f"{axis} = {size}", axis=axis, nearest=size)
    return _in_channels(labelled_digits({"x": knobs["x"] * knobs["p"], "k": 10}, random), 3)


def as_other_hands(pictures: Tensor, random: torch.Generator) -> Tensor:
    """Returns pictures (n, c, x, x) of equal channels as other hands might have written them."""
    return rewrite_digits(pictures[:, 0], random)[:, None].expand_as(pictures)


def labelled_shapes(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    if knobs["y"] > len(KINDS):
        raise SizeError(
            f"y is {knobs['y']}, but there are {len(KINDS)} kinds: {', '.join(KINDS)}",
            cure=f"y = {len(KINDS)}",
            axis="y",
            nearest=len(KINDS),
        )
    seen = shapes(SEEN, knobs["x"], knobs["y"], random)
    unseen, answers = shapes(UNSEEN, knobs["x"], knobs["y"], random)
    return Data(lambda: seen, unseen, answers, "shapes made up from the seed")


def shape_count() -> int:
    return SEEN + UNSEEN


def sequence_data(own: Sequences) -> Callable[[Mapping[str, int], torch.Generator], Data]:
    def make_data(knobs: Mapping[str, int], random: torch.Generator) -> Data:
        t, v = knobs["t"], knobs["v"]
        unseen = own.make(UNREAD, t, v, generator(random.initial_seed(), "unseen sequences"))

        def train() -> tuple[Tensor, Tensor]:
            inputs = own.make(READ, t, v, random)
            return inputs, own.answers(inputs)

        source = "sequences made up from the seed"
        return Data(train, unseen, own.answers(unseen), source)

    return make_data


def date_data(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    """Returns dates (n, s + t), as they are read and then as they are written, and the latter.

    No date that is unseen is among those of the training, in whatever format.
    """
    s, t = knobs["s"], knobs["t"]
    unseen = generator(random.initial_seed(), "unseen sequences")

    def make(n: int, random: torch.Generator, unseen: bool) -> tuple[Tensor, Tensor]:
        read, written = date_lines(n, s, t, random, unseen)
        return torch.cat((read, written), 1), written

    return Data(
        lambda: make(READ, random, False), *make(UNREAD, unseen, True), "dates from the seed"
    )


def read_and_written(
    examples: Tensor, answers: Tensor, knobs: Knobs, random: torch.Generator
) -> InputsAndTargets:
    """Returns what is read and, at each place, what is written before; the answer is what follows.

    Args:
        examples: The symbols that are read, then those that are to be written (n, s + t).
    """
    read, written = examples.split((knobs["s"], knobs["t"]), 1)
    return (read, decoder_inputs(written)), written


def sequence_count() -> int:
    return READ + UNREAD


# --- The training task of each system: data from the seed, a loss, and a score on unseen data

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
MIN_PROBABILITY = 1e-12  # smallest probability, so that its logarithm is finite


@dataclass(frozen=True)
class Task:
    """The training of a system.

    ``data`` is generated from the knobs and a seed, at most ``examples`` of them. ``score`` of
    outputs and answers is called ``measure``; higher is better. Training takes ``steps`` of
    ``batch`` examples with Adam at ``rate``. ``deep`` systems without norms start with larger
    weights: :func:`ncd.systems.training.training_loop.he_init`. ``similarity_penalty`` is the
    weight of :func:`overlap`, so that each head looks elsewhere; ``decay`` is AdamW's weight decay.
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
        return tuple({**self.training_sizes, **({self.batch_knob: 0} if self.batch_knob else {})})

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


def answer_loss(scores: Tensor, answers: Tensor) -> Tensor:
    """Returns the cross-entropy of scores (n, t, v), averaged over the answers (n, t) asked for."""
    total = F.cross_entropy(scores.transpose(1, 2), answers, reduction="sum")
    return total / (answers != NOT_ASKED).sum().clamp_min(1)


def written_loss(outputs: Tensor | tuple[Tensor, ...], answers: Tensor) -> Tensor:
    """Returns the cross-entropy of the scores (n, t, w), the first output where it has several."""
    scores = outputs[0] if isinstance(outputs, tuple) else outputs
    return answer_loss(scores, answers)


def line_accuracy(scores: Tensor, answers: Tensor) -> float:
    """Returns the share of lines (n, t) of which every symbol is right.

    >>> line_accuracy(F.one_hot(torch.tensor([[0, 1], [1, 1]]), 2), torch.tensor([[0, 1], [1, 0]]))
    0.5
    """
    return float((scores.argmax(-1) == answers).all(1).float().mean())


def overlap(maps: Tensor) -> Tensor:
    """Returns how similar the maps (…, h, t, t) of the heads are: their mean cosine.

    Source: Li et al. 2018, "Multi-Head Attention with Disagreement Regularization", section 3.1.

    >>> [round(float(overlap(maps)), 3) for maps in (torch.ones(2, 1, 3), torch.eye(2)[:, None])]
    [1.0, 0.0]
    """
    rows = F.normalize(maps, dim=-1).transpose(-3, -2)  # (…, t, h, t)
    h = rows.shape[-2]
    return ((rows @ rows.mT).sum((-1, -2)) - h).mean() / max(1, h * (h - 1))


def answer_accuracy(scores: Tensor, answers: Tensor) -> float:
    """Returns the share of right answers (n, t) among those asked for.

    >>> answer_accuracy(F.one_hot(torch.tensor([[0, 1, 1]]), 2), torch.tensor([[NOT_ASKED, 1, 0]]))
    0.5
    """
    due = answers != NOT_ASKED
    return float((scores.argmax(-1) == answers)[due].sum() / due.sum().clamp_min(1))


def pair_loss(scores: Tensor, digits: Tensor) -> Tensor:
    """Returns the cross-entropy of scores (n, n), along rows and along columns; mean of both.

    The pairs on the diagonal belong together, and so do all others of the same digit (n), which
    share what is right. Source: Radford et al. 2021, figure 3, where each pair is another one.

    >>> scores = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> [round(float(pair_loss(scores, torch.tensor(own))), 2) for own in ([1, 2], [3, 3])]
    [0.0, 4.5]
    """
    same = (digits[:, None] == digits).to(scores.dtype)
    right = same / same.sum(1, keepdim=True)
    return (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2


def best_sentence_digits(scores: Tensor, digits: Tensor) -> Tensor:
    """Returns what the best sentence of each picture says (n), of the sentences in its run.

    ``scores`` are (n, j): runs of j pictures and their j sentences. ``digits`` are (n).

    >>> best_sentence_digits(torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.tensor([4, 5])).tolist()
    [5, 5]
    """
    j = scores.shape[1]
    return digits.view(-1, j).repeat_interleave(j, 0).gather(1, scores.argmax(1, True))[:, 0]


def pair_accuracy(scores: Tensor, digits: Tensor) -> float:
    """Returns the share of pictures whose best sentence says their digit."""
    return float((best_sentence_digits(scores, digits) == digits).float().mean())


def class_loss(chances: Tensor, labels: Tensor) -> Tensor:
    """Returns the mean of -log of the probability (n, k) of the right class (n)."""
    return F.nll_loss(chances.clamp_min(MIN_PROBABILITY).log(), labels)


def accuracy(chances: Tensor, labels: Tensor) -> float:
    """Returns the share of examples whose most likely class is right."""
    return float((chances.argmax(1) == labels).float().mean())


def iou(scores: Tensor, classes: Tensor) -> float:
    """Returns intersection over union of pixels (n, y, h, w), averaged over classes but background.

    >>> right = torch.tensor([[[0, 1], [1, 1]]])
    >>> iou(F.one_hot(right, 2).movedim(-1, 1), right)
    1.0
    """
    found = scores.argmax(1)
    shares = []
    for kind in range(1, scores.shape[1]):
        either = ((found == kind) | (classes == kind)).sum()
        both = ((found == kind) & (classes == kind)).sum()
        shares.append(float(both / either) if either else 1.0)
    return sum(shares) / len(shares)


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            "image-recogniser",
            labelled_digits,
            class_loss,
            accuracy,
            "accuracy",
            300,
            64,
            1e-3,
            available,
            ("x", "k"),
        ),
        Task(
            "lenet",
            grey_digits,
            class_loss,
            accuracy,
            "accuracy",
            300,
            64,
            2e-3,
            available,
            ("x", "c", "k"),
        ),
        Task(
            "identity-resnet",
            batched_digits,
            class_loss,
            accuracy,
            "accuracy",
            600,
            48,
            2e-3,
            available,
            ("b", "x", "y"),
            batch_knob="b",
        ),
        Task(
            "unet",
            labelled_shapes,
            F.cross_entropy,
            iou,
            "iou",
            600,
            16,
            2e-3,
            shape_count,
            ("x", "y"),
            deep=True,
        ),
        Task(
            "vae",
            any_digits,
            evidence_loss,
            explained_variance,
            "variance",
            3000,
            64,
            2e-3,
            available,
            ("x",),
            prepare=with_point_noise,
        ),
        Task(
            "diffusion-unet",
            signed_digits,
            F.mse_loss,
            explained_variance,
            "variance",
            1200,
            64,
            2e-3,
            available,
            ("x", "o"),
            prepare=add_noise,
        ),
        Task(
            "seq2seq-attention",
            date_data,
            written_loss,
            line_accuracy,
            "dates",
            1500,
            64,
            3e-3,
            sequence_count,
            ("s", "t"),
            prepare=read_and_written,
            training_sizes=DATE_SIZES,
        ),
        Task(
            "clip",
            captioned_digits,
            pair_loss,
            pair_accuracy,
            "pairs",
            5000,
            32,
            1e-3,
            available,
            ("i", "j", "x", "p", "s", "v"),
            decay=0.01,
            prepare=with_captions,
            batch_knob="i",
            training_sizes={"i": 32, "j": 32},
            vary=as_other_hands,
        ),
        *(
            Task(
                name,
                sequence_data(own),
                answer_loss,
                answer_accuracy,
                "answers",
                TRAINING_STEPS[name],
                STORY_BATCH if name in STORY_MODELS else 64,
                3e-3,
                sequence_count,
                ("t", "v"),
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
