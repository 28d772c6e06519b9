"""Shapes that a module may accept, by the names of its sizes and by its first layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from ncd.read.python_source.interpreter import (
    Interpreter,
    SourceModule,
    UnknownValue,
    source_attributes,
)
from ncd.read.python_source.other_files import ExternalModule
from ncd.read.python_source.structured_inputs import FRAMES, TOKENS, of_pattern, settings_of
from ncd.read.python_source.usual_sizes import usual_value

SQUARE = re.compile(r"\b(\d{2,3})\s*(?:x|×|\*|by|\\times)\s*\1(?!\d)")  # 84 x 84
SIDES_OF_NAME = re.compile(r"([123])d(?=$|[A-Z_(])")  # Conv2d, create_conv2d(…), Conv3dBlock
WIDEST = 5000  # features of an input
IMAGE_SIZE_NAMES = (
    "input_shape",
    "image_size",
    "img_size",
    "input_size",
    "in_size",
    "image_resolution",
    "resolution",
)
CHANNELS = ("channels", "input_channels", "c_in", "n_chans")
STEPS = ("seq_len", "length", "n_times")
WIDTHS = ("in_channels", "num_features", "num_channels", "in_features", "input_size")
SIDES = (64, 224, 256, 32, 28, 96, 128, 299, 512)  # of a picture
FIXED_SIDES = (32, 224, 28, 64, 256, 96, 128, 299)  # of one that a linear layer follows
LENGTHS = (16, 8, 64, 128)  # of a sequence
SOUND_LENGTHS = (1024, 16000)  # of a sound, of which one window takes hundreds of numbers
LAYERS = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Embedding, nn.Linear, nn.RNNBase, nn.LayerNorm)


def of_names(model: nn.Module, settings: dict[str, Any]) -> Iterator[str]:
    """Yields shapes by the pattern of a first ``Rearrange``, and by the settings of a picture."""
    sides = sides_of(model)
    if shape := of_pattern(model, settings, (*sides, 64)[0]):
        yield shape
    if type(n := settings.get("input_axis")) is int and 0 < n < 4:  # channels come last
        yield "x".join(map(str, (1, *[16] * n, settings.get("input_channels", 3))))
    channels, length, frames = (_size(settings, names) for names in (CHANNELS, STEPS, FRAMES))
    if 0 < channels < WIDEST and sides:
        along = [frames] if frames else []
        yield "x".join(map(str, (1, channels, *along, sides[0], sides[0])))
    elif 0 < channels < WIDEST and length:
        yield f"1x{channels}x{length}"


def _size(settings: dict[str, Any], names: tuple[str, ...]) -> int:
    """Returns the first of the settings with these names that is a whole number, or 0."""
    return next((n for name in names if type(n := settings.get(name)) is int), 0)


def of_tokens(model: nn.Module, name: str) -> Iterator[str]:
    """Yields a shape of whole numbers for an input of that name, where a first box may be a table.

    >>> [*of_tokens(nn.Linear(2, 3), "input_ids")]
    []
    """
    first = next((part for part in model.modules() if not [*part.children()]), None)
    if isinstance(first, ExternalModule) and re.fullmatch(TOKENS, name):
        yield "1x16#10"


def of_settings(settings: dict[str, Any]) -> Iterator[str]:
    """Yields shapes for a module without layers of torch: the width is that of its settings."""
    if type(n := settings.get("n_channels", settings.get("in_chans"))) is int and 0 < n < WIDEST:
        yield f"1x{n}x64x64"
    names = ("in_channels", "num_features", "in_features", "in_dim", "dim", "d_model", "input_dim")
    for n in (settings.get(name) for name in names):
        if type(n) is int and 0 < n < WIDEST:
            if type(sides := settings.get("spatial_dims")) is int and 0 < sides < 4:
                yield f"1x{n}{'x32' * sides}"
            yield from (f"1x{n}x{side}x{side}" for side in sides_in(settings))
            yield from (f"10x{n}", f"1x16x{n}", f"1x{n}x32x32")
            return


def of_told_rank(model: nn.Module, settings: dict[str, Any], shapes: list[str]) -> list[str]:
    """Returns shapes with as many dimensions as are told; those that are given if none are.

    Args:
        model: The module.
        settings: Its settings.
        shapes: Those that it may accept.
    """
    if not (rank := rank_of_first_part(model, settings)):
        return shapes
    first = _first_part(model)
    width = _size(settings, ("in_channels", "in_chans", "input_channels", *CHANNELS))
    width = width or (first.width if isinstance(first, ExternalModule) else 0) or 3
    own = f"1x{width}{('x16' if rank > 4 else 'x32') * (rank - 2)}"
    return [own, *(one for one in shapes if one.partition("#")[0].count("x") == rank - 1)]


def rank_of_first_part(model: nn.Module, settings: dict[str, Any]) -> int:
    """Returns the dimensions of the input of a module whose first part is of another file.

    A layer with whose class it is made tells them, such as ``nn.Conv3d``, else its own name, else
    a setting; 0 where nothing does.
    """
    first = _first_part(model)
    if isinstance(first, ExternalModule):
        names = [*(one.__name__ for one in first.settings if isinstance(one, type)), first.title]
    elif first is None:
        values = source_attributes(model).values() if isinstance(model, SourceModule) else ()
        names = [one.name for one in values if isinstance(one, UnknownValue)]
    else:
        return 0
    found = [int(one[1]) for name in names if (one := SIDES_OF_NAME.search(name))]
    sides = _size(settings, ("spatial_dims", "dimensions", "ndim", "num_spatial_dims"))
    return next((n + 2 for n in (*found, sides if names else 0) if 0 < n < 4), 0)


def _first_part(model: nn.Module) -> nn.Module | None:
    every = (part for part in model.modules() if isinstance(part, (*LAYERS, ExternalModule)))
    return next(every, None)


def sequences_first(model: nn.Module) -> Iterator[str]:
    """Yields the shape for a layer of sequences, whose first dimension may be the steps.

    >>> [*sequences_first(nn.GRU(8, 5))], [*sequences_first(nn.GRUCell(8, 5))]
    (['16x2x8'], ['2x8'])
    """
    for part in model.modules():
        if isinstance(part, nn.RNNCellBase):
            yield f"2x{part.input_size}"
        if isinstance(part, nn.RNNBase | nn.MultiheadAttention):
            n = part.input_size if isinstance(part, nn.RNNBase) else part.embed_dim
            yield f"2x16x{n}" if part.batch_first else f"16x2x{n}"


def of_layer(layer: nn.Module) -> Iterator[str]:
    """Yields shapes that a layer of torch accepts, by its settings and by its name."""
    own = next((n for name in WIDTHS if (n := getattr(layer, name, None))), None)
    sides = int(found[1]) if (found := re.search(r"([123])d$", type(layer).__name__)) else 0
    if isinstance(layer, nn.EmbeddingBag):
        yield f"4x8#{layer.num_embeddings}"
    if isinstance(layer, nn.RMSNorm | nn.LayerNorm):
        yield "x".join(map(str, (8, *layer.normalized_shape)))
    if sides or isinstance(layer, nn.GroupNorm):
        yield "x".join(map(str, (1, own or 16, *[32 if sides < 3 else 16] * (sides or 2))))
    yield from (f"8x{own or 16}", f"1x{own or 16}x32", f"1x{own or 16}x32x32")


def sides_of(model: nn.Module) -> list[int]:
    """Returns the side of a picture given in the settings of a module."""
    return sides_in(settings_of(model))


def sides_in(settings: dict[str, Any]) -> list[int]:
    """Returns the side of a picture given in settings.

    >>> sides_in({"in_size": (224, 224), "img_size": (3, 32, 32), "resolution": None})
    [32, 224]
    """
    found = []
    for name in IMAGE_SIZE_NAMES:
        value = settings.get(name)
        sides = value if isinstance(value, tuple | list) else (value,)
        value = (*sides[len(sides) == 3 :], None)[0]  # 3 are channels, height and width
        if type(value) is int and 0 < value < 2000:
            found.append(value)
    return found


def of_last_dimension(model: nn.Module, first: Any) -> Iterator[str]:
    """Yields shapes for a layer that works on the last dimension."""
    n = getattr(first, "in_features", getattr(first, "input_size", 0))
    n = n or (first.normalized_shape[-1] if isinstance(first, nn.LayerNorm) else 784)
    if (own := sides_of(model)) and own[0] != n:  # else it is the width itself
        yield f"1x3x{own[0]}x{own[0]}"
    if not isinstance(first, nn.RNNBase):
        yield f"1x{n}"
    yield f"1x16x{n}"
    if 0 < (length := _size(settings_of(model), (*STEPS, "max_seq_len", "block_size"))) < WIDEST:
        yield f"1x{length}x{n}"
    for side, channels in ((28, 1), (32, 3)):  # a picture that is flattened first
        if side * side * channels == n:
            yield f"1x{channels}x{side}x{side}"
    if isinstance(first, nn.RNNBase):  # the rows of a picture, one after the other
        yield from (f"1x{n}x{n}", f"1x1x{n}x{n}")
    yield from (f"1x3x{n}x{n}" for n in (224, 256, 32, 64))


def likely(machine: Interpreter, model: nn.Module) -> bool:
    """Returns whether the first layer of a module determines the input shape."""
    first = next((part for part in model.modules() if isinstance(part, LAYERS)), None)
    parts = [*model.modules()]
    free = "adaptive_" in machine.text
    free = free or any(type(part).__name__.startswith("Adaptive") for part in parts)
    free = free or not any(isinstance(part, nn.Linear) for part in parts)
    picture = isinstance(first, nn.Conv2d) and first.in_channels > 1 and free
    wide = isinstance(first, nn.Linear) and first.in_features in sides_of(model)
    return picture or isinstance(first, nn.Embedding) or (bool(sides_of(model)) and not wide)


def of_first(machine: Interpreter, model: nn.Module, first: Any) -> Iterator[str]:
    """Yields shapes that the first layer of a module accepts."""
    if isinstance(first, nn.Conv1d):
        yield from (f"1x{first.in_channels or 3}x{n}" for n in (*LENGTHS, *SOUND_LENGTHS))
        if first.in_channels == 1:  # which may be added first
            yield from (f"1x{n}" for n in SOUND_LENGTHS)
    elif isinstance(first, nn.Conv2d):
        named = _named_sides(machine.text)
        usual = SIDES if likely(machine, model) else (*named, *FIXED_SIDES)
        sides = (*sides_of(model), *((28, *usual) if first.in_channels < 2 else usual))
        channels = first.in_channels or (3 if sides_of(model) else 1)  # a lazy one takes any
        yield from (f"1x{channels}x{n}x{n}" for n in sides)
        if channels % 3 == 0 and channels > 3:  # of patches of a picture, perhaps
            yield from (f"1x3x{n}x{n}" for n in SIDES[:2])
    elif isinstance(first, nn.Conv3d):
        yield from (f"1x{first.in_channels or 3}x{n}x{n}x{n}" for n in (16, 32, 64))
        yield f"1x{first.in_channels or 3}x16x224x224"
    elif isinstance(first, nn.Embedding):
        yield from (f"1x{n}#{first.num_embeddings}" for n in (*LENGTHS, 4, 1))
    elif isinstance(first, _BatchNorm):
        along = {"2d": 2, "3d": 3}.get(type(first).__name__[-2:], 0)  # sides of its arrays
        yield f"1x{first.num_features}{'x32' * along}"
    elif isinstance(first, nn.Linear | nn.LayerNorm | nn.RNNBase):
        yield from of_last_dimension(model, first)


def _named_sides(text: str) -> list[int]:
    """Returns the sides of pictures that a text speaks of, the largest ones first.

    >>> _named_sides("# takes an 84 x 84 frame, gives 20x20 by 3x3 windows")
    [84, 20]
    """
    found = {int(side) for side in SQUARE.findall(text)}
    found |= {224} if "224" in text else set()  # hardly a number of channels
    return sorted((side for side in found if 16 <= side <= 512), reverse=True)[:4]


# --- Shapes that a source itself tells: where it takes them apart, and in its comments

BATCH = re.compile(r"b|bs|bsz|nb|batch|batch_?size|batches")
FEATURES_NAME = re.compile(
    r"c|ch|d|f|m|dim|(in_|input_|num_|n_|embed_)?(channels?|features|dim|size)|in_ch"
)
SIDE = re.compile(r"h|w|hh|ww|hei(ght)?|wid(th)?|height|rows|cols|(image_|img_)?(h|w|height|width)")
TURNS = re.compile(r"t|n|l|s|k|(num_|n_)?(nodes|tokens|patches|frames|steps)|time|seq|len|length")
MORE_TURNS = re.compile(r".*(_len|_length|_steps|seq.*|frames|tokens)|sequence(_length)?")
HEADS = re.compile(r"(num_|n_)?heads?")
SHAPE_IN_BRACKETS = re.compile(r"[\[(]([\w ,×*]{3,80})[\])]")
FAR = 160  # letters between the name of an input and its shape


def sides_of_words(words: list[str], model: nn.Module) -> str:
    """Returns the shape whose sizes have such names, by the settings of a module; else empty.

    >>> sides_of_words(["B", "C", "H", "W"], nn.Conv2d(5, 3, 1))
    '1x5x32x32'
    >>> sides_of_words(["see", "above"], nn.Conv2d(5, 3, 1))
    ''
    """
    settings = settings_of(model)
    names = [word.strip().lower().replace(" ", "_") for word in words]
    sizes = [_named_size(name, i, names, settings, model) for i, name in enumerate(names)]
    return "" if None in sizes or not sizes else "x".join(map(str, sizes))


def _named_size(
    name: str, place: int, names: list[str], settings: dict[str, Any], model: nn.Module
) -> int | None:
    """Returns the size of a dimension of such a name; None where nothing is known of it."""
    if name.isdecimal():
        return int(name) or None
    if BATCH.fullmatch(name) or (name == "n" and place == 0 and len(names) > 2):
        return 1
    if type(own := settings.get(name)) is int and 0 < own < WIDEST:
        return own
    wide = any(SIDE.fullmatch(one) and one[:1] == "w" for one in names)
    if HEADS.fullmatch(name) or (name == "h" and not wide):
        return _size(settings, ("heads", "num_heads", "n_heads", "nhead", "h")) or 4
    if SIDE.fullmatch(name):
        return (*sides_of(model), 32)[0]
    if FEATURES_NAME.fullmatch(name):
        first = next((part for part in model.modules() if isinstance(part, LAYERS)), None)
        widths = (getattr(first, one, 0) for one in WIDTHS if first is not None)
        own = _size(settings, ("in_channels", "channels", "in_chans", *WIDTHS, "d_model", "dim"))
        own = next((n for n in widths if type(n) is int and n > 0), own)
        if own or first is not None:
            return own or None
    if TURNS.fullmatch(name) or MORE_TURNS.fullmatch(name):
        return 16
    return found if type(found := usual_value(name)) is int and found > 0 else None


def of_source(text: str, forward: ast.AST, name: str, model: nn.Module) -> Iterator[str]:
    """Yields the shapes of an input that a ``forward`` takes apart, or that its comments tell.

    >>> text = "def forward(self, x):\\n    # x has shape [seq_len, batch_size, d_model]\\n    ..."
    >>> [*of_source(text, ast.parse(text).body[0], "x", nn.Linear(8, 3))]
    ['16x1x64']
    """
    for words in (*_unpacked_names(forward, name), *_shapes_in_comments(text, forward, name)):
        if len(words) > 1 and (shape := sides_of_words(words, model)):
            yield shape


def _unpacked_names(forward: ast.AST, name: str) -> Iterator[list[str]]:
    """Yields the names of sizes in ``b, c = x.shape``, also with others behind them."""
    for node in ast.walk(forward):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
            continue
        targets, value, more = node.targets[0].elts, node.value, 0
        match value:
            case ast.Tuple(elts=[ast.Starred(value=value), *rest]):
                more = len(rest)
        names = [one.id for one in targets[: len(targets) - more] if isinstance(one, ast.Name)]
        whole = len(names) == len(targets) - more
        if whole and ast.unparse(value) in (f"{name}.shape", f"{name}.size()"):
            yield names


def _shapes_in_comments(text: str, forward: ast.AST, name: str) -> Iterator[list[str]]:
    """Yields the names of sizes in brackets behind the name of an input, in comments and texts."""
    first, last = getattr(forward, "lineno", 0), getattr(forward, "end_lineno", 0)
    lines = text.split("\n")[first - 1 : last] if first else []
    body = getattr(forward, "body", ())
    notes = [ast.get_docstring(forward) or ""] if isinstance(forward, ast.FunctionDef) else []
    notes += [line.partition("#")[2] for line in lines if "#" in line] if body else []
    for note in notes:
        for place in re.finditer(rf"\b{re.escape(name)}\b", note):
            yield from (
                re.split(r"[,×*]", found[1].strip(" ,"))
                for found in SHAPE_IN_BRACKETS.finditer(note, place.end(), place.end() + FAR)
            )
