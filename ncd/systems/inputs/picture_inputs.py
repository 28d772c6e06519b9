"""Pictures: samples, uploads, drawings.

A point is four hexadecimal digits: x from 00 to ff, then y. Dots separate strokes:
``4020c020.80208ff0``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from itertools import takewhile
from threading import Lock

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageOps
from torch import Tensor

from ncd.installation import package_path
from ncd.language.axes import Array
from ncd.language.terms import Term
from ncd.run.seeding import example_inputs, generator
from ncd.systems.training.captions import CAPTION_WORDS, LONGEST_CAPTION, TEMPLATES, caption
from ncd.systems.training.labelled_images import shapes

# --- Drawings as text short enough for a link, and as pictures

SIDE = 256  # grid points across and down
MAX_DRAWING_CHARACTERS = 4000  # characters of a drawing
PEN = 0.13  # thickness of a line, as a share of the side
MARGIN = 0.04  # around a drawing that fills the picture
OVERSAMPLING = 8  # oversampling factor
STROKE = re.compile(r"(?:[0-9a-f]{4})+")

Points = list[tuple[float, float]]


def valid(text: object) -> str:
    """Returns the longest valid beginning of a text.

    >>> valid("4020c020.80208ff0"), valid("4020<script>"), valid(None), len(valid("4020" * 9000))
    ('4020c020.80208ff0', '', '', 4000)
    """
    strokes = text[:MAX_DRAWING_CHARACTERS].split(".") if isinstance(text, str) else []
    return ".".join(takewhile(STROKE.fullmatch, strokes))


def parse(text: str) -> list[Points]:
    """Returns the strokes of a drawing, with coordinates from 0 to 1.

    >>> parse("00ff.3300")
    [[(0.0, 1.0)], [(0.2, 0.0)]]
    """
    last = SIDE - 1
    return [
        [
            (int(stroke[i : i + 2], 16) / last, int(stroke[i + 2 : i + 4], 16) / last)
            for i in range(0, len(stroke), 4)
        ]
        for stroke in filter(None, valid(text).split("."))
    ]


def as_text(strokes: list[Points]) -> str:
    """Returns strokes as text.

    >>> as_text(parse("4020c020.80208ff0"))
    '4020c020.80208ff0'
    """
    last = SIDE - 1
    return ".".join(
        "".join(f"{round(x * last):02x}{round(y * last):02x}" for x, y in stroke)
        for stroke in strokes
    )


def centre_strokes(strokes: list[Points]) -> list[Points]:
    """Returns the strokes centred and scaled to fill the picture."""
    points = [point for stroke in strokes for point in stroke]
    if not points:
        return []
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    scale = (1 - PEN - 2 * MARGIN) / max(right - left, bottom - top, PEN)
    across, down = (left + right) / 2, (top + bottom) / 2
    return [
        [(0.5 + scale * (x - across), 0.5 + scale * (y - down)) for x, y in stroke]
        for stroke in strokes
    ]


def picture(strokes: list[Points], height: int, width: int) -> Image.Image:
    """Returns the strokes as a picture, white on black."""
    wide, high = OVERSAMPLING * width, OVERSAMPLING * height
    image = Image.new("L", (wide, high))
    pen, paint = PEN * min(wide, high), ImageDraw.Draw(image)
    for stroke in strokes:
        points = [(x * wide, y * high) for x, y in stroke]
        paint.line(points, fill=255, width=math.ceil(pen), joint="curve")
        for x, y in points:
            paint.ellipse((x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2), fill=255)
    return image.resize((width, height), Image.Resampling.BOX)


# --- Pictures as inputs: our samples, uploads, and drawings

FOLDER = package_path("assets", "pictures")
MADE_UP = "made-up shapes"
SCENES = ("boat", "balloons", "cat")
SIX = (*SCENES, "house", "fish", "night")
IMAGE_TITLES = {"boat": "a boat", "cat": "a cat"}
DIGITS = tuple(f"digit {i}" for i in range(10))
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
MEGABYTES, MEGAPIXELS = 10, 30  # limits of an uploaded file
BAND = 64  # rows of the small picture that are converted at a time
DIGIT = 64  # pixels along a side, up to which a picture to classify is a digit
DISTINCT = 64  # different images in a batch; later ones repeat
MAX_UPLOAD_SIDE = 512  # largest side of a stored upload, in pixels
_DECODING = Lock()  # one at a time: each may need 150 MB


class UnreadableError(ValueError):
    """A file that cannot be read as a picture; the message is for the visitor."""


@dataclass(frozen=True)
class InputPicture:
    """A picture: its title, its kind (sample, drawing or upload), and what it is made from.

    ``data`` is the name of a sample, the strokes of a drawing, or the PNG bytes of an upload.
    """

    title: str
    kind: str
    data: str | bytes

    @property
    def key(self) -> str:
        """A text that identifies the picture."""
        content = self.data if isinstance(self.data, bytes) else self.data.encode()
        return f"{self.kind} {sha256(content).hexdigest()}"

    @property
    def code(self) -> str:
        """The picture as Python; an upload is read from its file.

        >>> sample("boat").code
        "ncd.systems.inputs.picture_inputs.sample('boat')"
        """
        if isinstance(self.data, bytes):
            return f"{__name__}.uploaded(open('the uploaded picture', 'rb').read())"
        return f"{__name__}.{self.kind}({self.data!r})"

    def pixels(
        self, channels: int, height: int, width: int, seed: int, fit: bool = False
    ) -> Tensor:
        """Returns the pixels, (channels, height, width) from 0 to 1: grey, or red, green and blue.

        More channels repeat red, green and blue. With ``fit`` a drawing fills the picture, and a
        picture dark on light, such as ink on paper, is inverted.
        """
        if self.data == MADE_UP:
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
        if isinstance(self.data, bytes):
            return _fit_image(Image.open(BytesIO(self.data)), height, width)
        if self.kind == "sample" and self.data in SIX:
            return _fit_image(_scene(self.data), height, width)
        text = _digits()[DIGITS.index(self.data)] if self.kind == "sample" else self.data
        lines = parse(text)
        return picture(centre_strokes(lines) if fit else lines, height, width)


def _fit_image(image: Image.Image, height: int, width: int) -> Image.Image:
    """Returns the centre of an image, scaled to a size."""
    return ImageOps.fit(image.convert("RGB"), (width, height), Image.Resampling.BICUBIC)


@lru_cache
def _scene(name: str) -> Image.Image:
    with Image.open(FOLDER / f"{name}.png") as image:
        return image.convert("RGB")


@lru_cache
def _digits() -> tuple[str, ...]:
    return tuple((FOLDER / "digits.txt").read_text().split())


def sample(name: str) -> InputPicture:
    """Returns one of ``SCENES`` or ``DIGITS``, or the generated shapes."""
    return InputPicture(IMAGE_TITLES.get(name, name), "sample", name)


def drawing(text: str) -> InputPicture:
    """Returns a visitor's drawing from its text (:mod:`ncd.systems.inputs.picture_inputs`)."""
    return InputPicture("a drawing", "drawing", valid(text))


def read_upload(data: bytes) -> InputPicture:
    """Returns the picture in a file, upright and scaled down to ``MAX_UPLOAD_SIDE`` pixels.

    Raises UnreadableError if it is no picture, or too large.
    """
    if len(data) > MEGABYTES * 10**6:
        raise UnreadableError(f"The file has more than {MEGABYTES} MB.")
    try:
        with _DECODING, Image.open(BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MEGAPIXELS * 10**6:
                raise UnreadableError(f"The picture has more than {MEGAPIXELS} million pixels.")
            image.draft("RGB", (2 * MAX_UPLOAD_SIDE, 2 * MAX_UPLOAD_SIDE))
            upright = ImageOps.exif_transpose(_shrink_image(image))
            upright.thumbnail((MAX_UPLOAD_SIDE, MAX_UPLOAD_SIDE))
    except UnreadableError:
        raise
    except (OSError, ValueError, SyntaxError, MemoryError, Image.DecompressionBombError):
        known = ", ".join(FORMATS)
        raise UnreadableError(f"The file is no picture that can be read here: {known}.") from None
    file = BytesIO()
    upright.save(file, "png")
    return InputPicture("an uploaded picture", "upload", file.getvalue())


def _shrink_image(image: Image.Image) -> Image.Image:
    """Returns the image in colours at a whole fraction of its size.

    It is made in bands of rows, since conversions take up to 20 bytes for each pixel.
    """
    factor = max(1, min(image.size) // (2 * MAX_UPLOAD_SIDE))
    step = BAND * factor
    found = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    found.info = image.info  # contains the orientation
    for top in range(0, image.height, step):
        band = image.crop((0, top, image.width, min(top + step, image.height)))
        found.paste(_on_white(band).reduce(factor), (0, top // factor))
    return found


def _on_white(image: Image.Image) -> Image.Image:
    """Returns the image in colours; transparent parts become white."""
    if image.mode.startswith("I"):  # 16 bits: convert() would clip them to 8
        image = image.point(lambda value: value / 256).convert("L")
    full = image.convert("RGBA")
    white = Image.new("RGBA", full.size, "white")
    return Image.alpha_composite(white, full).convert("RGB")


# --- where they go --------------------------------------------------------------------------------


def takes_pictures(term: Term) -> bool:
    """Returns whether the inputs are pictures or batches of them, perhaps beside noise or words."""
    return bool(image_inputs(term))


def image_inputs(term: Term) -> tuple[Array, ...]:
    """Returns the first inputs, as far as they are pictures, if the others are small vectors."""
    if is_plain_grey(term):
        return tuple(term.dom[:1])
    own = tuple(takewhile(_places, term.dom))
    return own if all(map(_is_vector_or_words, term.dom[len(own) :])) else ()


def _is_vector_or_words(array: Array) -> bool:
    """Returns whether an array is a vector, or holds the words of sentences."""
    if array.below is not None:
        return len(array) == 2
    return len(array) == 1 and not (array[0].sequence or array[0].spatial)


def is_plain_grey(term: Term) -> bool:
    """Returns whether the input is one grey picture without a channel axis, ``x̄ ȳ``."""
    array, *more = term.dom or (Array(),)
    plain = len(array) == 2 and all(a.sequence and not a.spatial for a in array)
    return plain and all(map(_is_vector_or_words, more))


def classifies(term: Term) -> bool:
    """Returns whether the system classifies small pictures, such as digits: one, or a batch."""
    if is_plain_grey(term):
        return True
    array, *more = term.dom or (Array(),)
    (*others, found) = term.cod or (Array(),)
    small = _places(array) and len(array) > 1 and max(array[-1].shape) <= DIGIT
    each = array[:-2] == found[:-1] and len(found) == len(array) - 1
    return small and each and not more and not others and not found[-1].spatial


def takes_captions(term: Term) -> bool:
    """Returns whether small coloured pictures go in, and sentences long enough to name a digit."""
    pictures, *more = term.dom or (Array(),)
    if len(more) != 1 or not _places(pictures) or len(pictures) != 3:
        return False
    (words,) = more
    named = words.below is not None and words.below.numel >= len(CAPTION_WORDS)
    small = max(pictures[-1].shape) <= DIGIT
    return named and small and len(words) == 2 and words[-1].numel >= LONGEST_CAPTION


def _shows_digits(term: Term) -> bool:
    return classifies(term) or takes_captions(term)


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
    """Returns how many channels the first input has; 0 for none."""
    array = term.dom[0]
    if is_plain_grey(term):
        return 0
    return array[-2].numel if len(array) > 1 else 1


def opens_with_sample(term: Term) -> bool:
    """Returns whether a system opens with a sample: its input is grey or has three colours."""
    return takes_pictures(term) and channels(term) in (0, 1, 3)


def names(term: Term) -> list[str]:
    """Returns the inputs' titles, by their places."""
    return [array[0 if is_plain_grey(term) else -1].name for array in image_inputs(term)]


def samples(term: Term) -> tuple[str, ...]:
    """Returns the names of samples for a system, its default first."""
    if _shows_digits(term):
        return (*DIGITS[7:], *DIGITS[:7])
    marks = channels(term) == 1 and term.cod[0][-1:] == term.dom[0][-1:]  # each pixel of shapes
    return (MADE_UP, *SCENES) if marks else (*SCENES, MADE_UP)


def tensors(term: Term, pictures: Sequence[InputPicture], seed: int) -> tuple[Tensor, ...]:
    """Returns a tensor for each input; the later images of a batch are the samples that follow.

    Sentences beside digits are their captions, picture by picture; that of a picture which is no
    sample names the digit before those that follow.

    Of scenes all six come before one comes again. After ``DISTINCT`` images a batch repeats, since
    each image is drawn by Python: a batch of 64,000 would otherwise take half a minute that no
    limit counts.
    """
    every, fit, held = samples(term), _shows_digits(term), image_inputs(term)
    if not fit:
        every = tuple(dict.fromkeys((*every, *SIX)))
    seen = tuple(
        _batch(array, own, every, seed, fit) for array, own in zip(held, pictures, strict=True)
    )
    if takes_captions(term):
        return (*seen, _captions(term.dom[1], pictures[0], every))
    rest = len(held) < len(term.dom)
    return (*seen, *example_inputs(term, seed)[len(held) :]) if rest else seen


def _captions(array: Array, own: InputPicture, every: tuple[str, ...]) -> Tensor:
    """Returns a caption of each picture; when all digits have one, the next say it otherwise."""
    count, length = array.shape
    first = _place(own, every)
    digits = (DIGITS.index(every[(first + n) % len(every)]) for n in range(count))
    lines = (n // len(every) % len(TEMPLATES) for n in range(count))
    return torch.tensor([caption(*each, length) for each in zip(digits, lines, strict=True)])


def _place(own: InputPicture, every: tuple[str, ...]) -> int:
    """Returns the place of a picture among the samples; -1 if it is none."""
    return every.index(own.data) if own.data in every else -1


def _batch(array: Array, own: InputPicture, every: tuple[str, ...], seed: int, fit: bool) -> Tensor:
    height, width = array.shape[-2:]
    count = array[0].numel if len(array) == 3 else 1
    depth = array[-2].numel if array[-1].spatial and len(array) > 1 else 1
    first = _place(own, every)
    distinct = min(count, DISTINCT)
    others = [sample(every[(first + i) % len(every)]) for i in range(1, distinct)]
    seen = [
        each.pixels(depth, height, width, seed + i, fit) for i, each in enumerate((own, *others))
    ]
    places = torch.arange(count) % distinct
    return torch.stack(seen)[places].reshape(array.shape)
