"""The mistakes of a system on unseen examples, as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ncd.export import markup
from ncd.lang.circuits.elaborate import elaborate
from ncd.train import Data, Task, check_room, data
from ncd.train.symbol_sequences import NOT_ASKED, SEQUENCES
from ncd.view.arrays.class_image import painted
from ncd.view.base import heatmap
from ncd.view.base.heatmap import Ends
from ncd.view.session.scene import LONG, Scene

MOST = 12  # pictures
BLANK = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
STYLE = """<style>
.mistakes { display: flex; flex-wrap: wrap; gap: 0.5rem 0.75rem; }
.mistakes figure { margin: 0; min-width: 84px; }
.mistakes figure[aria-hidden] { visibility: hidden; }
.mistakes img { display: block; margin: 0 auto; width: 72px; height: 72px; }
.mistakes img { image-rendering: pixelated; }
.mistakes figcaption { font-size: 0.875rem; text-align: center; }
.mistakes code { white-space: pre; line-height: 1.5; }
.mistakes mark { color: inherit; background: light-dark(#fbd9d3, #6b2f27); }
.mistakes mark { text-decoration: underline; }
</style>"""


@dataclass(frozen=True)
class Picture:
    """An example as a data URL, with a caption."""

    address: str
    said: str

    @property
    def html(self) -> str:
        said = markup.text(self.said)
        return f'<img alt="" src="{self.address}"><figcaption>{said}</figcaption>'


@dataclass(frozen=True)
class Line:
    """A sequence, with the answer at each place and whether it is wrong."""

    read: str
    said: tuple[tuple[str, bool], ...]

    @property
    def html(self) -> str:
        said = "".join(
            f"<mark>{markup.text(one)}</mark>" if wrong else markup.text(one)
            for one, wrong in self.said
        )
        return f"<code>{markup.text(self.read)}\n{said}</code>"


@dataclass(frozen=True)
class Mistakes:
    """The number of examples tried, the score, and the worst examples, the worst first.

    ``blank`` is the number of empty places, which keep what is below from moving.
    """

    tried: int
    wrong: int
    score: float
    source: str
    pictures: tuple[Picture | Line, ...]
    blank: Picture | Line


def measure(scene: Scene, task: Task) -> Mistakes:
    """Tries the scene's module on unseen examples.

    Raises SizeError and LimitError as training would.
    """
    check_room(task, elaborate(scene.term))
    own = data(task, scene.settings, scene.seed)
    count = min(len(own.unseen), max(MOST, LONG // max(1, scene.cost.flops)))
    with torch.no_grad():
        parts = own.unseen[:count].split(task.batch)
        outputs = torch.cat([scene.module(part.to(scene.device)).cpu() for part in parts])
    answers = own.answers[:count]
    if task.measure == "answers":
        symbols = SEQUENCES[task.name].symbols(scene.settings["v"])
        wrong, pictures = _lines(own, outputs.argmax(-1), answers, symbols)
        length = answers.shape[1]
        blank: Picture | Line = Line(" " * length, ((" " * length, False),))
    else:
        blank = Picture(BLANK, "\N{NO-BREAK SPACE}")
        wrong, pictures = (_digits if task.measure == "accuracy" else _masks)(own, outputs, answers)
    return Mistakes(count, wrong, task.score(outputs, answers), own.source, pictures, blank)


def _digits(own: Data, chances: Tensor, answers: Tensor) -> tuple[int, tuple[Picture, ...]]:
    """Returns the misread images, the most confident first."""
    sure, found = chances.max(1)
    wrong = (found != answers).nonzero()[:, 0]
    order = wrong[sure[wrong].argsort(descending=True, stable=True)]

    def each() -> Iterator[Picture]:
        for i in order[:MOST].tolist():
            said = f"{int(answers[i])} → {int(found[i])}, {float(sure[i]):.0%}"
            image = own.unseen[i].reshape(-1, *own.unseen.shape[-2:])[0]  # its channels are alike
            yield Picture(heatmap.picture(image.numpy(), Ends(0.0, 1.0), heatmap.GREY), said)

    return len(wrong), tuple(each())


def _masks(own: Data, scores: Tensor, answers: Tensor) -> tuple[int, tuple[Picture, ...]]:
    """Returns the images with the most wrong pixels, which are struck through."""
    found = scores.argmax(1)
    wrong = found != answers
    worst = wrong.flatten(1).sum(1).argsort(descending=True, stable=True)

    def each() -> Iterator[Picture]:
        for i in worst[:MOST].tolist():
            pixels = painted(own.unseen[i, 0], found[i], wrong[i])
            share = 1 - float(wrong[i].float().mean())
            yield Picture(heatmap.address(pixels), f"{share:.1%}")

    return int(wrong.flatten(1).any(1).sum()), tuple(each())


def _lines(
    own: Data, found: Tensor, answers: Tensor, symbols: Sequence[str]
) -> tuple[int, tuple[Picture | Line, ...]]:
    """Returns the sequences with the most wrong answers; a dot marks places without a question."""
    due = answers != NOT_ASKED
    wrong = due & (found != answers)
    worst = wrong.sum(1).argsort(descending=True, stable=True)

    def each() -> Iterator[Line]:
        for i in worst[:MOST].tolist():
            if wrong[i].any():
                told = torch.where(due[i], found[i], len(symbols)).tolist()
                read = [symbols[n] for n in own.unseen[i].tolist()]
                said = [(*symbols, "·")[n] for n in told]
                if any(len(symbol) > 1 for symbol in symbols):  # words stand in columns
                    widths = [max(len(a), len(b)) + 1 for a, b in zip(read, said, strict=True)]
                    read, said = (
                        [word.ljust(n) for word, n in zip(row, widths, strict=True)]
                        for row in (read, said)
                    )
                yield Line("".join(read), tuple(zip(said, wrong[i].tolist(), strict=True)))

    return int(wrong.any(1).sum()), tuple(each())


def html(found: Mistakes, task: Task) -> str:
    """Returns the pictures with their captions."""
    figures = "".join(f"<figure>{picture.html}</figure>" for picture in found.pictures)
    blank = f'<figure aria-hidden="true">{found.blank.html}</figure>'
    figures += blank * (MOST - len(found.pictures))
    said = SAID[task.measure](found)
    return f'{STYLE}<h2>What it gets wrong</h2>{said}<div class="mistakes">{figures}</div>'


# What is said is as long whatever is found: what stands below keeps its place.
def _read(found: Mistakes) -> str:
    right = found.tried - found.wrong
    return (
        f"<p>It reads {right:,} of {found.tried:,} digits right that it has not learned from: "
        f"{found.score:.1%}. The errors that it is surest of, {MOST} at most: what was written → "
        "what it reads, and how likely it finds that.</p>"
    )


def _outlined(found: Mistakes) -> str:
    return (
        f"<p>On {found.tried:,} pictures that it has not learned from the intersection over union "
        f"is {found.score:.2f}, the mean over all kinds of shape. The {len(found.pictures)} worst, "
        "with how many of their pixels are right; one that is struck through is wrong.</p>"
    )


def _answered(found: Mistakes) -> str:
    return (
        f"<p>On {found.tried:,} sequences that it has not learned from, {found.score:.1%} of its "
        f"answers are right, and all of them in {found.tried - found.wrong:,} sequences. Those "
        f"that went worst, {MOST} at most: what was read, and below each symbol what it says "
        "there, underlined where it is wrong.</p>"
    )


SAID = {"accuracy": _read, "answers": _answered, "iou": _outlined}
