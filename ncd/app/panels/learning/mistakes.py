"""The mistakes on unseen examples, and pictures of classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ncd.app.parts import heatmap
from ncd.app.scene.scene import LONG_RUN_FLOPS, Scene
from ncd.app.state.cache import CACHE, get_or_make
from ncd.circuit.elaborate import elaborate
from ncd.explain.colour_scale import ColourRange
from ncd.site import markup
from ncd.systems.training.losses import best_sentence_digits
from ncd.systems.training.sequence_data import NOT_ASKED, SEQUENCES
from ncd.systems.training.task_data import Data
from ncd.systems.training.tasks import Task, data
from ncd.systems.training.training_loop import answer_unseen, check_room
from ncd.systems.training.written_dates import READ_SYMBOLS, WRITTEN_SYMBOLS, as_symbols

# --- Pictures with a class for each pixel, in one colour for each class

# Colours by Okabe and Ito, which colour-blind readers can tell apart.
COLOURS = ((230, 159, 0), (86, 180, 233), (204, 121, 167), (0, 158, 115))
COVER = 0.6  # the opacity of the class colour
IMAGE_SIDE = 256  # the side of the image in points; a pixel is a square of several points
STROKE = 4  # the least side of a pixel, in points, for a stroke through it


def colour(kind: int) -> tuple[int, int, int]:
    """Returns one of the four class colours, as red, green and blue."""
    return COLOURS[(kind - 1) % len(COLOURS)]


def class_overlay(
    picture: Tensor, classes: Tensor, wrong: Tensor | None = None, large: int = IMAGE_SIDE
) -> NDArray[np.uint8]:
    """Returns a grey picture with its pixels in class colours, struck through if wrong.

    All are (h, w). Class 0 is the background, which has no colour.

    >>> class_overlay(torch.zeros(1, 2), torch.tensor([[0, 1]]), large=2).tolist()
    [[[0, 0, 0], [138, 95, 0]]]
    """
    grey = 255 * picture.clamp(0, 1)[..., None].expand(-1, -1, 3)
    table = torch.tensor([(0, 0, 0), *map(colour, range(1, int(classes.max()) + 1))])
    cover = COVER * (classes > 0)[..., None]
    pixels = ((1 - cover) * grey + cover * table[classes]).round().byte()
    scale = max(1, large // max(picture.shape))
    pixels = _larger(pixels, scale)
    if wrong is not None and scale >= STROKE:
        stroke = torch.eye(scale, dtype=torch.bool).repeat(wrong.shape)
        pixels[stroke & _larger(wrong, scale)] = 255
    return pixels.numpy()


def _larger(pixels: Tensor, scale: int) -> Tensor:
    return pixels.repeat_interleave(scale, 0).repeat_interleave(scale, 1)


# --- The mistakes of a system on unseen examples, as pictures

UNTRAINED_FLOPS = (
    100_000_000  # FLOPs for unseen examples of untrained weights: tens of milliseconds
)
FEWEST = 10  # unseen examples: fewer say nothing about untrained weights
MAX_PICTURES = 12  # the greatest number of pictures
LATER = "A system of this size is tried on unseen examples once it has been trained."
BLANK = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
STYLE = """<style>
.mistakes { display: flex; flex-wrap: wrap; gap: 0.5rem 0.75rem; }
.mistakes figure { margin: 0; min-width: 84px; }
.mistakes figure[aria-hidden] { visibility: hidden; }
.mistakes img { display: block; margin: 0 auto; width: 72px; height: 72px; }
.mistakes img { image-rendering: pixelated; }
.mistakes figcaption { font-size: 0.875rem; text-align: center; }
.mistakes code { white-space: pre; line-height: 1.5; }
.mistakes code.spaced { white-space: normal; } /* a line is broken between words */
.mistakes .spaced span { display: inline-block; white-space: pre; margin-right: 1ch; }
.mistakes mark { color: inherit; background: light-dark(#fbd9d3, #6b2f27); }
.mistakes mark { text-decoration: underline; }
</style>"""


@dataclass(frozen=True)
class ExamplePicture:
    """An example as a data URL, with a caption."""

    address: str
    caption: str

    @property
    def html(self) -> str:
        said = markup.text(self.caption)
        return f'<img alt="" src="{self.address}"><figcaption>{said}</figcaption>'


@dataclass(frozen=True)
class SequenceAnswers:
    """A sequence, with the answer at each place and whether it is wrong."""

    read: tuple[str, ...]
    marked_answers: tuple[tuple[str, bool], ...]

    @property
    def html(self) -> str:
        read = [markup.text(one) for one in self.read]
        said = [
            f"<mark>{markup.text(one)}</mark>" if wrong else markup.text(one)
            for one, wrong in self.marked_answers
        ]
        if all(len(one) == 1 for one in self.read):
            return f"<code>{''.join(read)}\n{''.join(said)}</code>"
        columns = (f"<span>{a}\n{b}</span>" for a, b in zip(read, said, strict=True))
        return f'<code class="spaced">{"".join(columns)}</code>'


@dataclass(frozen=True)
class Mistakes:
    """The number of examples tried, the score, and the worst examples, the worst first.

    ``blank`` is the number of empty places, so that what is below does not move.
    """

    example_count: int
    wrong_count: int
    score: float
    source: str
    pictures: tuple[ExamplePicture | SequenceAnswers, ...]
    blank: ExamplePicture | SequenceAnswers


def examples(scene: Scene, task: Task) -> Data:
    """Returns the data of a task; a move of another size than those it depends on keeps it."""
    key = ("data", task.name, *(scene.settings[name] for name in task.sizes), scene.seed)
    return get_or_make(CACHE, key, lambda: data(task, scene.settings, scene.seed))


def budget(scene: Scene) -> int:
    """Returns how many FLOPs may be spent on unseen examples: few while nothing has been learned.

    Every move of a size leads to other untrained weights, whose answers are all alike.
    """
    return LONG_RUN_FLOPS if scene.loaded_weights else UNTRAINED_FLOPS


def measure(scene: Scene, task: Task) -> Mistakes:
    """Evaluates the scene's module on unseen examples.

    A large system without trained weights is not evaluated. Raises SizeError or LimitError if the
    system cannot be trained at these sizes; a large one says so when its training begins.
    """
    at_once = task.in_a_run(scene.settings)
    runs = budget(scene) // max(1, scene.cost.flops)
    if not scene.loaded_weights and runs * at_once < FEWEST:
        return Mistakes(0, 0, 0.0, "", (), ExamplePicture(BLANK, "\N{NO-BREAK SPACE}"))
    check_room(task, scene.settings, elaborate(scene.term))
    own = examples(scene, task)
    count = min(len(own.unseen), max(1, runs) * at_once)
    outputs, answers = answer_unseen(task, scene.settings, scene.module, own, scene.device, count)
    if task.measure == "dates":
        wrong, pictures = _dates(own, outputs.argmax(-1), answers)
        blank: ExamplePicture | SequenceAnswers = SequenceAnswers((" ",), ((" ", False),))
    elif task.measure == "answers":
        symbols = SEQUENCES[task.name].symbols(scene.settings["v"])
        wrong, pictures = _lines(own, outputs.argmax(-1), answers, symbols)
        length = answers.shape[1]
        blank = SequenceAnswers((" ",) * length, ((" ", False),) * length)
    else:
        blank = ExamplePicture(BLANK, "\N{NO-BREAK SPACE}")
        wrong, pictures = PICTURES[task.measure](own, outputs, answers)
    score = task.score(outputs, answers)
    return Mistakes(len(answers), wrong, score, own.source, pictures, blank)


def _digits(own: Data, chances: Tensor, answers: Tensor) -> tuple[int, tuple[ExamplePicture, ...]]:
    """Returns the misread images, the most confident first."""
    return _misread(own, *chances.max(1), answers)


def _pairs(own: Data, scores: Tensor, answers: Tensor) -> tuple[int, tuple[ExamplePicture, ...]]:
    """Returns the images whose best sentence names another digit, the most confident first."""
    sure = scores.softmax(1).amax(1)
    return _misread(own, sure, best_sentence_digits(scores, answers), answers)


def _misread(
    own: Data, sure: Tensor, found: Tensor, answers: Tensor
) -> tuple[int, tuple[ExamplePicture, ...]]:
    """Returns images that are read as other digits; ``sure`` is the probability of what is read."""
    wrong = (found != answers).nonzero()[:, 0]
    order = wrong[sure[wrong].argsort(descending=True, stable=True)]

    def each() -> Iterator[ExamplePicture]:
        for i in order[:MAX_PICTURES].tolist():
            said = f"{int(answers[i])} → {int(found[i])}, {float(sure[i]):.0%}"
            image = own.unseen[i].reshape(-1, *own.unseen.shape[-2:])[0]  # all channels are equal
            yield ExamplePicture(
                heatmap.data_url(image.numpy(), ColourRange(0.0, 1.0), heatmap.GREY), said
            )

    return len(wrong), tuple(each())


def _masks(own: Data, scores: Tensor, answers: Tensor) -> tuple[int, tuple[ExamplePicture, ...]]:
    """Returns the images with the most wrong pixels, which are struck through."""
    found = scores.argmax(1)
    wrong = found != answers
    worst = wrong.flatten(1).sum(1).argsort(descending=True, stable=True)

    def each() -> Iterator[ExamplePicture]:
        for i in worst[:MAX_PICTURES].tolist():
            pixels = class_overlay(own.unseen[i, 0], found[i], wrong[i])
            share = 1 - float(wrong[i].float().mean())
            yield ExamplePicture(heatmap.image_url(pixels), f"{share:.1%}")

    return int(wrong.flatten(1).any(1).sum()), tuple(each())


def _remade(own: Data, found: Tensor, answers: Tensor) -> tuple[int, tuple[ExamplePicture, ...]]:
    """Returns the images with the largest errors."""
    errors = (found - answers).square().flatten(1).mean(1)
    ends = ColourRange(float(own.unseen.min()), 1.0)

    def each() -> Iterator[ExamplePicture]:
        for i in errors.argsort(descending=True, stable=True)[:MAX_PICTURES].tolist():
            image = own.unseen[i].reshape(-1, *own.unseen.shape[-2:])[0]
            address = heatmap.data_url(image.numpy(), ends, heatmap.GREY)
            yield ExamplePicture(address, markup.digits(float(errors[i])))

    return len(errors), tuple(each())


PICTURES = {"accuracy": _digits, "pairs": _pairs, "iou": _masks, "variance": _remade}


def _lines(
    own: Data, found: Tensor, answers: Tensor, symbols: Sequence[str]
) -> tuple[int, tuple[ExamplePicture | SequenceAnswers, ...]]:
    """Returns the sequences with the most wrong answers; a dot marks places without a question."""
    due = answers != NOT_ASKED
    wrong = due & (found != answers)
    worst = wrong.sum(1).argsort(descending=True, stable=True)

    def each() -> Iterator[SequenceAnswers]:
        for i in worst[:MAX_PICTURES].tolist():
            if wrong[i].any():
                told = torch.where(due[i], found[i], len(symbols)).tolist()
                read = tuple(symbols[n] for n in own.unseen[i].tolist())
                said = [(*symbols, "·")[n] for n in told]
                yield SequenceAnswers(read, tuple(zip(said, wrong[i].tolist(), strict=True)))

    return int(wrong.any(1).sum()), tuple(each())


def _dates(
    own: Data, found: Tensor, answers: Tensor
) -> tuple[int, tuple[ExamplePicture | SequenceAnswers, ...]]:
    """Returns the dates with the most wrong symbols, as they are read and as they are written."""
    wrong = found != answers
    worst = wrong.sum(1).argsort(descending=True, stable=True)
    bad = [i for i in worst[:MAX_PICTURES].tolist() if wrong[i].any()]
    length = answers.shape[1]
    return int(wrong.any(1).sum()), tuple(
        SequenceAnswers(
            tuple(as_symbols(own.unseen[i, :-length], READ_SYMBOLS)),
            tuple(
                zip((WRITTEN_SYMBOLS[n] for n in found[i].tolist()), wrong[i].tolist(), strict=True)
            ),
        )
        for i in bad
    )


def html(found: Mistakes, task: Task) -> str:
    """Returns the pictures with their captions."""
    figures = "".join(f"<figure>{picture.html}</figure>" for picture in found.pictures)
    blank = f'<figure aria-hidden="true">{found.blank.html}</figure>'
    figures += blank * (MAX_PICTURES - len(found.pictures))
    said = MEASURE_WRITERS[task.measure](found) if found.example_count else f"<p>{LATER}</p>"
    return f'{STYLE}<h2>What it gets wrong</h2>{said}<div class="mistakes">{figures}</div>'


# These texts always have the same length, so that what is below does not move.
def _read(found: Mistakes) -> str:
    right = found.example_count - found.wrong_count
    return (
        f"<p>It reads {right:,} of {found.example_count:,} digits right that it has not "
        "learned from: "
        f"{found.score:.1%}. Below are its surest errors, {MAX_PICTURES} at most: the "
        "digit that was "
        "written → the one it reads, with the probability that it gives it.</p>"
    )


def _pairs_html(found: Mistakes) -> str:
    right = found.example_count - found.wrong_count
    return (
        f"<p>For {right:,} of {found.example_count:,} pictures that it has not learned from, the "
        f"best sentence of their batch names their digit: {found.score:.1%}. Below are its surest "
        f"errors, {MAX_PICTURES} at most: the digit that was written → the one that the sentence "
        "names, with its probability.</p>"
    )


def _iou_html(found: Mistakes) -> str:
    return (
        f"<p>On {found.example_count:,} pictures that it has not learned from, the "
        "intersection over union "
        f"is {found.score:.2f}, the mean over all kinds of shape. Below are the "
        f"{len(found.pictures)} worst, with the share of their pixels that is right; wrong pixels "
        "are struck through.</p>"
    )


def _answers_html(found: Mistakes) -> str:
    shown = "None went wrong, or it would stand here"
    if found.wrong_count:
        shown = f"Below are those that went worst, {MAX_PICTURES} at most"
    return (
        f"<p>On {found.example_count:,} sequences that it has not learned from, "
        f"{found.score:.1%} of its "
        "answers are right, and all of them in "
        f"{found.example_count - found.wrong_count:,} sequences. {shown}: "
        "what was read, and below each symbol what it says there, underlined where it is "
        "wrong.</p>"
    )


def _dates_html(found: Mistakes) -> str:
    return (
        f"<p>Of {found.example_count:,} dates that it has not learned from, it writes "
        f"{found.example_count - found.wrong_count:,} without a mistake: {found.score:.1%}. Before "
        "each symbol it is given the right ones. Below are those that went worst, "
        f"{MAX_PICTURES} at most: what was read, and below it what it writes, underlined where it "
        "is wrong.</p>"
    )


def _variance_html(found: Mistakes) -> str:
    return (
        f"<p>Of the variance of {found.example_count:,} examples that it has not learned "
        "from, it explains "
        f"{found.score:.1%}. The {MAX_PICTURES} pictures with the largest errors, and the "
        "mean of their "
        "squares.</p>"
    )


MEASURE_WRITERS = {
    "variance": _variance_html,
    "accuracy": _read,
    "pairs": _pairs_html,
    "answers": _answers_html,
    "dates": _dates_html,
    "iou": _iou_html,
}
