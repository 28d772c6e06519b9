"""einops: rearrange, reduce and repeat on a batch of pictures."""

from __future__ import annotations

from dataclasses import replace

from ncd.lang.terms.terms import Term
from ncd.models.catalogue_entry import Entry, Knob
from ncd.models.tensors.einops_calls import read
from ncd.models.tensors.pattern_terms import rearranged

NAMES = {"ims": "b h w c", "x": "b c h w", "y": "b c h w"}
CALLS = {  # as the document has them, in its order
    "channels last": 'rearrange(x, "b c h w -> b h w c")',
    "transpose": 'rearrange(ims[0], "h w c -> w h c")',
    "below each other": 'rearrange(ims, "b h w c -> (b h) w c")',
    "side by side": 'rearrange(ims, "b h w c -> h (b w) c")',
    "two batches": 'rearrange(ims, "(b1 b2) h w c -> b1 b2 h w c", b1=2)',
    "mean": 'reduce(ims, "b h w c -> h w c", "mean")',
    "max-pooling": 'reduce(ims, "b (h h1) (w w1) c -> b h w c", "max", h1=2, w1=2)',
    "repeat": 'repeat(ims[0], "h w c -> h new_axis w c", new_axis=5)',
    "largest": 'reduce(rearrange(reduce(x, "b c h w -> b c", "max"), "b c -> c b"), '
    '"c b ->", "sum")',
    "flatten": 'rearrange(x, "b c h w -> b (c h w)")',
    "space-to-depth": 'rearrange(x, "b c (h h1) (w w1) -> b (h1 w1 c) h w", h1=2, w1=2)',
    "depth-to-space": 'rearrange(y, "b (h1 w1 c) h w -> b c (h h1) (w w1)", h1=2, w1=2)',
}
TEXTS = tuple(CALLS.values())


def einops(pattern: int = 3, b: int = 6, h: int = 96, w: int = 96, c: int = 3) -> Term:
    """Returns one of the document's calls, by its number in CALLS, on b pictures of h × w × c."""
    return term(TEXTS[pattern], {"b": b, "h": h, "w": w, "c": c})


def shapes(b: int, h: int, w: int, c: int) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the inputs: ``ims``, ``x`` (channels first) and ``y`` (its depth)."""
    return {"ims": (b, h, w, c), "x": (b, c, h, w), "y": (b, 4 * c, h // 2, w // 2)}


def term(text: str, sizes: dict[str, int]) -> Term:
    """Returns a line of calls on pictures of these sizes as a term.

    >>> term('reduce(ims[0], "h w c -> c", "max")', {"b": 6, "h": 8, "w": 9, "c": 3}).cod.spec
    'c:3'

    Raises CallError for a text that says no such calls.
    """
    given = shapes(**sizes)
    written = read(text, tuple(given))
    names = NAMES[written.given] if written.first else ""
    return rearranged(given[written.given], written.calls, names)


EINOPS = Entry(
    name="einops",
    title="einops",
    source="Autograd to transformers, einops tutorial",
    knobs=(
        Knob(
            "pattern",
            0,
            len(CALLS) - 1,
            3,
            help="what is done",
            reason="the examples of the document, in its order",
            names=tuple(CALLS),
        ),
        Knob(
            "b",
            2,
            12,
            6,
            2,
            "pictures",
            "even, as one of the patterns makes two batches of them",
            multiple=2,
        ),
        Knob("h", 2, 128, 96, 2, "height", "even, as some of the patterns halve it", multiple=2),
        Knob("w", 2, 128, 96, 2, "width", "even, as some of the patterns halve it", multiple=2),
        Knob("c", 1, 4, 3, help="channels", reason="red, green and blue; 1 is grey"),
    ),
    system=einops,
    section="Tensors",
)


def line_entry(text: str) -> Entry:
    """The page's entry with a line of one's own in the place of the document's.

    >>> line_entry('reduce(ims[0], "h w c -> c", "max")').build(c=4).cod.spec
    'c:4'

    Its ``build`` raises CallError for a text that says no such calls.
    """

    def system(pattern: int = 0, **sizes: int) -> Term:
        return term(text, sizes)

    return replace(EINOPS, system=system, text=text)
