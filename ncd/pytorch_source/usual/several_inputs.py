"""Inputs of modules that take several, or a list: each by its name, around one main shape."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from types import MappingProxyType
from typing import Any

import torch
from einops.layers.torch import Rearrange
from torch import Tensor, nn

from ncd.importing.module_files import example_tensors
from ncd.pytorch_source.base.source_values import SETTINGS, own_names

ADJACENCY = r"adj|adj(acency)?_?mat(rix)?|adjacency"
TOKENS = r"(input_|token_)?ids?|(src_|tgt_|trg_)?(tokens?|seq)|idx|indices|.*_(ids|tokens|indices)"
KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (  # of inputs, by their names; {} is a size
    (r".*mask.*|.*padding", ("None", "mask")),
    (TOKENS, ("{lead}#10", "{same}")),
    (r"mems?|memories|(kv_)?cache|past.*", ("None",)),
    (
        r"t|times?|timesteps?|time_?steps?|noise_(level|label|cond|variance)s?|sigmas?|log_snr|gamma",
        ("1", "1#1000", "1x1"),
    ),
    (
        r"(class_?)?labels?|y|classes|classes_?emb|targets?|cond_label",
        ("1#10", "{same}", "1x{dim}"),
    ),
    (r"edge_index|edges|adj_t", ("2x20#10",)),
    (ADJACENCY, ("{n}x{n}", "1x{n}x{n}", "2x20#10")),
    (r"edge_(attr|weight)|edge_features?", ("20x{dim}", "20", "20#4")),
    (r"batch|batch_index|index", ("10#1", "{same}")),
    (r"pos|positions|coords", ("10x3", "1x16x3", "{same}")),
    (r"h|hidden|hx|state|h_?0|prev_hidden|c|cell", ("1x{dim}", "1x1x{dim}", "{same}")),
    (r"query_(embed|pos)|queries_embed", ("100x{dim}",)),
    (r"lengths?|.*_lens?|seq_lens?", ("1#8",)),
    (
        r"c?ontext.*|cond|encoder_hidden_states|memory|text_embeds?|enc_out(put)?",
        ("1x16x{dim}", "{same}", "1x{dim}"),
    ),
)
LISTS = ("features", "feats", "feature_maps", "xs", "inputs", "x")
WIDTHS = ("encoder_channels", "in_channels_list", "in_channels", "channels", "feature_channels")
TRIES = 24  # combinations for one main shape
NUMBERS = 2**24  # of an input
KEYS = 16  # of a dictionary of inputs
FRAMES = ("frames", "num_frames", "max_frames", "time")


@dataclass(frozen=True)
class Guess:
    """Inputs that a module may accept, and what they are, in words."""

    inputs: tuple[Any, ...]
    words: str


def fits(shape: str) -> bool:
    """Returns whether an input of a shape can be made: it is not empty, and not too large.

    >>> fits("1x3x64x64"), fits("8x64#100"), fits("1x3x-1"), fits("1x5000x5000")
    (True, True, False, False)
    """
    sizes = [int(n) for n in shape.partition("#")[0].split("x")]
    return min(sizes) > 0 and prod(sizes) <= NUMBERS


def combinations(
    names: list[str],
    shape: str,
    settings: dict[str, Any],
    own: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Guess]:
    """Yields inputs around one main shape, those of equal shapes after those by their names.

    Args:
        names: The names of the inputs.
        shape: The main shape, such as ``1x16x64``.
        settings: The arguments with which the module is made, of which the width is taken.
        own: The shapes that the first layers fix, by the names of their inputs.

    >>> next(combinations(["x", "t", "mask"], "1x16x64", {})).words
    'x 1x16x64, t 1, no mask'
    """
    ways = [_ways(name, shape, settings, first=i == 0) for i, name in enumerate(names)]
    for name, usual in zip(names, ways, strict=True):
        usual[:0] = [own[name]] if own.get(name, usual[0]) not in usual else []
    for chosen in islice(product(*ways), TRIES):
        inputs = tuple(_input(way, shape) for way in chosen)
        named = [
            f"{n} {w}" for n, w in zip(names, chosen, strict=True) if w not in ("None", "mask")
        ]
        none = [n for n, w in zip(names, chosen, strict=True) if w == "None"]
        masks = [n for n, w in zip(names, chosen, strict=True) if w == "mask"]
        words = ", ".join((*named, *(f"{name} of truths" for name in masks)))
        yield Guess(inputs, words + f", no {' or '.join(none)}" * bool(none))


def _ways(name: str, shape: str, settings: dict[str, Any], first: bool) -> list[str]:
    """Returns the shapes that are tried for an input, the likeliest first."""
    own = name.rpartition(".")[2]
    found = next((ways for pattern, ways in KINDS if re.fullmatch(pattern, own)), ())
    if not found or (first and own != "mask" and "{lead}" not in found[0]):
        return [shape]
    dim = (
        _own_width(own, settings)
        or width_of(settings)
        or int(re.split("[x#]", shape)[-1 if "#" not in shape else 0])
    )
    n = int(re.split("[x#]", shape)[max(0, shape.count("x") - 1)])
    lead = "x".join(shape.partition("#")[0].split("x")[:2])
    ways = dict.fromkeys(way.format(same=shape, dim=dim, n=n, lead=lead) for way in found)
    return [way for way in ways if way in ("None", "mask") or fits(way)]


def _own_width(name: str, settings: dict[str, Any]) -> int:
    """Returns the width that settings give for one input, such as ``d_cond``; 0 for none.

    >>> _own_width("cond", {"d_cond": 768, "dim": 64})
    768
    """
    names = (f"d_{name}", f"{name}_dim", f"dim_{name}", f"{name}_size", f"{name}_channels")
    return next((n for own in names if type(n := settings.get(own)) is int), 0)


def optional(model: nn.Module) -> Iterator[list[str]]:
    """Yields the next inputs of a module that have a default, one more each time.

    Of two that are both optional the source may ask for one, such as the labels of its classes.
    """
    kinds = inspect.Parameter
    given = inspect.signature(model.forward).parameters.values()
    if any(x.kind is kinds.KEYWORD_ONLY and x.default is kinds.empty for x in given):
        return  # which come last
    plain = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in given if one.default is not kinds.empty and one.kind in plain]
    yield from (names[: n + 1] for n in range(min(2, len(names))))


def width_of(settings: dict[str, Any]) -> int:
    """Returns the width with which a module is made; 0 if it has none."""
    names = ("d_model", "dim", "embed_dim", "hidden_size", "hidden_dim", "context_dim")
    return next((n for name in names if type(n := settings.get(name)) is int), 0)


def _input(way: str, shape: str) -> Tensor | None:
    if way == "None":
        return None
    if way == "mask":
        sizes = [int(n) for n in shape.partition("#")[0].split("x")]
        sizes = [sizes[0], *sizes[2:]] if len(sizes) == 4 else sizes[:2]
        return torch.zeros(sizes, dtype=torch.bool)
    return example_tensors(way)[0]


def settings_of(model: nn.Module) -> dict[str, Any]:
    """Returns the arguments with which a module is made, and the sizes that it keeps."""
    return {**own_names(model), **model.__dict__, **model.__dict__.get(SETTINGS, {})}


def of_pattern(model: nn.Module, settings: dict[str, Any], side: int) -> str:
    """Returns the shape that a first ``Rearrange`` takes, by the letters of its pattern.

    >>> layer = Rearrange("b c (f p) (h q) (w r) -> b (f h w) (p q r c)", p=2, q=16, r=16)
    >>> of_pattern(nn.Sequential(layer), {}, 64)
    '1x3x16x64x64'
    """
    first = next((part for part in model.modules() if not [*part.children()]), None)
    if not isinstance(first, Rearrange):
        return ""
    sizes: list[str] = []
    for part in re.findall(r"\([^)]*\)|\w+", str(first.pattern).partition("->")[0]):
        letters = part.strip("()").split()
        if letters and letters[0] in ("b", "batch"):
            sizes.append("1")
        elif letters and letters[0] in ("c", "channels", "chan"):
            sizes.append(str(settings.get("channels", settings.get("in_channels", 3))))
        elif letters and letters[0] in ("f", "t", "frames"):
            frames = next((n for name in FRAMES if type(n := settings.get(name)) is int), 16)
            sizes.append(str(frames))
        elif letters and letters[0] in ("n", "l") and len(letters) == 2:
            length = settings.get("seq_len", 64)
            sizes.append(str(length if type(length) is int else 64))
        else:
            sizes.append(str(side))
    return "x".join(sizes) if len(sizes) > 1 and all(s.isdecimal() for s in sizes) else ""
