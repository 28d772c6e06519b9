"""Pictures that go into a system: a sample of ours, one that is uploaded, one that is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from threading import Lock

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from ncd.bundled_files import bundled
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array
from ncd.run import generator
from ncd.train.shape_images import shapes
from ncd.view.inputs import strokes

FOLDER = bundled("assets", "pictures")
MADE_UP = "made-up shapes"
SCENES = ("boat", "balloons", "cat")
SIX = (*SCENES, "house", "fish", "night")
CALLED = {"boat": "a boat", "cat": "a cat"}
DIGITS = tuple(f"digit {i}" for i in range(10))
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
MEGABYTES, MEGAPIXELS = 10, 30  # of a file
KEPT = 512  # pixels a side, of an uploaded picture
_DECODING = Lock()  # one at a time, as each may take a hundred megabytes


class UnreadableError(ValueError):
    """Why a file is no picture that can be read, as it is told to the visitor."""


@dataclass(frozen=True)
class Picture:
    """A picture: what it is ``called``, the ``kind`` of it, and what that kind is made from.

    ``made`` is the name of a sample, the strokes of a drawing, or the PNG of an uploaded picture.
    """

    called: str
    kind: str
    made: str | bytes

    @property
    def key(self) -> str:
        """What tells it from every other picture."""
        data = self.made if isinstance(self.made, bytes) else self.made.encode()
        return f"{self.kind} {sha256(data).hexdigest()}"

    @property
    def code(self) -> str:
        """The picture as Python; of an uploaded one, that of its file.

        >>> sample("boat").code
        "ncd.view.inputs.images.sample('boat')"
        """
        if isinstance(self.made, bytes):
            return "ncd.view.inputs.images.uploaded(open('the uploaded picture', 'rb').read())"
        return f"ncd.view.inputs.images.{self.kind}({self.made!r})"

    def seen(self, channels: int, height: int, width: int, seed: int, fit: bool = False) -> Tensor:
        """Its pixels, (channels, height, width) between 0 and 1: grey, or red, green and blue.

        More channels are red, green and blue again. With ``fit`` a drawing fills the picture, and
        what is uploaded dark on light, such as ink on paper, is turned into light on dark.
        """
        if self.made == MADE_UP:
            side = max(height, width)
            made, _ = shapes(1, side, 3, generator(seed, MADE_UP))
            return made[0, :, :height, :width].expand(channels, -1, -1)
        grey = channels == 1
        image = self._image(height, width, fit)
        pixels = np.asarray(image.convert("L" if grey else "RGB"), np.float32) / 255
        if fit and self.kind == "upload" and pixels.mean() > 0.5:
            pixels = 1 - pixels
        planes = torch.from_numpy(pixels.reshape(height, width, -1)).permute(2, 0, 1)
        return planes[[i % len(planes) for i in range(channels)]]

    def _image(self, height: int, width: int, fit: bool) -> Image.Image:
        if isinstance(self.made, bytes):
            return _sized(Image.open(BytesIO(self.made)), height, width)
        if self.kind == "sample" and self.made in SIX:
            return _sized(_scene(self.made), height, width)
        text = _digits()[DIGITS.index(self.made)] if self.kind == "sample" else self.made
        lines = strokes.read(text)
        return strokes.drawn(strokes.fitted(lines) if fit else lines, height, width)


def _sized(image: Image.Image, height: int, width: int) -> Image.Image:
    """The middle of an image, at a size."""
    return ImageOps.fit(image.convert("RGB"), (width, height), Image.Resampling.BICUBIC)


@lru_cache
def _scene(name: str) -> Image.Image:
    with Image.open(FOLDER / f"{name}.png") as image:
        return image.convert("RGB")


@lru_cache
def _digits() -> tuple[str, ...]:
    return tuple((FOLDER / "digits.txt").read_text().split())


def sample(name: str) -> Picture:
    """One of ``SCENES`` or ``DIGITS``, or the made-up shapes."""
    return Picture(CALLED.get(name, name), "sample", name)


def drawing(text: str) -> Picture:
    """What a visitor has drawn, in the letters of :mod:`ncd.view.inputs.strokes`."""
    return Picture("a drawing", "drawing", strokes.sound(text))


def uploaded(data: bytes) -> Picture:
    """The picture of a file, turned upright and no larger than is of use.

    Raises UnreadableError for what is no picture, or too much of one.
    """
    if len(data) > MEGABYTES * 10**6:
        raise UnreadableError(f"The file has more than {MEGABYTES} MB.")
    try:
        with _DECODING, Image.open(BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MEGAPIXELS * 10**6:
                raise UnreadableError(f"The picture has more than {MEGAPIXELS} million pixels.")
            image.draft("RGB", (2 * KEPT, 2 * KEPT))
            upright = _on_white(ImageOps.exif_transpose(image))
            upright.thumbnail((KEPT, KEPT))
    except UnreadableError:
        raise
    except (OSError, ValueError, SyntaxError, MemoryError, Image.DecompressionBombError):
        known = ", ".join(FORMATS)
        raise UnreadableError(f"The file is no picture that can be read here: {known}.") from None
    file = BytesIO()
    upright.save(file, "png")
    return Picture("an uploaded picture", "upload", file.getvalue())


def _on_white(image: Image.Image) -> Image.Image:
    """In colours; what is transparent is white."""
    if image.mode.startswith("I"):  # 16 bits, which would be cut off at 8
        image = image.point(lambda value: value / 256).convert("L")
    full = image.convert("RGBA")
    white = Image.new("RGBA", full.size, "white")
    return Image.alpha_composite(white, full).convert("RGB")


# --- where they go --------------------------------------------------------------------------------


def taken(term: Term) -> bool:
    """Whether every input is a picture, or a batch of them."""
    return bool(term.dom) and (plain(term) or all(_places(array) for array in term.dom))


def plain(term: Term) -> bool:
    """Whether the input is one grey picture without an axis for channels, ``x̄ ȳ``."""
    (*more, array) = term.dom or (Array(),)
    return not more and len(array) == 2 and all(a.sequence and not a.spatial for a in array)


def read(term: Term) -> bool:
    """Whether it tells the class of one picture, such as which digit it is."""
    if plain(term):
        return True
    (*more, array) = term.dom or (Array(),)
    (*others, found) = term.cod or (Array(),)
    alone = not more and len(array) == 2 and _places(array)
    return alone and not others and len(found) == 1 and not found[0].spatial


def _places(array: Array) -> bool:
    if not array or array.below is not None or len(array) > 3 or not array[-1].spatial:
        return False
    sized = all(axis.size is not None for axis in array)
    return (
        sized
        and len(array[-1].shape) == 2
        and not any(axis.spatial or axis.sequence for axis in array[:-1])
    )


def channels(term: Term) -> int:
    """How many channels the first input has; 0 for none."""
    array = term.dom[0]
    if plain(term):
        return 0
    return array[-2].numel if len(array) > 1 else 1


def names(term: Term) -> list[str]:
    """What the inputs are called: by their places."""
    return [array[0 if plain(term) else -1].name for array in term.dom]


def samples(term: Term) -> tuple[str, ...]:
    """The samples for a system, the one that it begins with first."""
    if read(term):
        return (*DIGITS[7:], *DIGITS[:7])
    return (MADE_UP, *SCENES) if channels(term) == 1 else (*SCENES, MADE_UP)


def tensors(term: Term, pictures: Sequence[Picture], seed: int) -> tuple[Tensor, ...]:
    """A tensor for each input; the later images of a batch are the samples that follow."""
    every, fit = samples(term), read(term)
    return tuple(
        _batch(array, own, every, seed, fit) for array, own in zip(term.dom, pictures, strict=True)
    )


def _batch(array: Array, own: Picture, every: tuple[str, ...], seed: int, fit: bool) -> Tensor:
    height, width = array.shape[-2:]
    count = array[0].numel if len(array) == 3 else 1
    depth = array[-2].numel if array[-1].spatial and len(array) > 1 else 1
    first = every.index(own.made) if own.made in every else -1
    others = [sample(every[(first + i) % len(every)]) for i in range(1, count)]
    seen = [each.seen(depth, height, width, seed + i, fit) for i, each in enumerate((own, *others))]
    return torch.stack(seen).reshape(array.shape)
