"""The examples of the training tasks, made from the knobs of a system and a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ncd.errors import SizeError
from ncd.language.cached_property import lazy_property
from ncd.run.seeding import generator
from ncd.systems.training.captions import CAPTION_WORDS, LONGEST_CAPTION
from ncd.systems.training.labelled_images import KINDS, digits, rewrite_digits, shapes
from ncd.systems.training.sequence_data import Sequences
from ncd.systems.training.written_dates import date_lines

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


def sequence_count() -> int:
    return READ + UNREAD
