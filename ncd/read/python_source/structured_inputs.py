"""Inputs of modules that take several, or dictionaries, tuples, lists and objects of arrays."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import torch
from einops.layers.torch import Rearrange
from torch import Tensor, nn
from torch.utils import _pytree as tree

from ncd.read.python_source.interpreter import SETTINGS, PlainObject, Record, source_attributes
from ncd.read.torch_module.from_torch import example_tensors

# --- Inputs of modules that take several, or a list: each by its name, around one main shape

ADJACENCY = r"adj|adj(acency)?_?mat(rix)?|adjacency"
TOKENS = (
    r"(input_|token_)?ids?|(src_|tgt_|trg_|original_)?(tokens?|seq)|tags?|idx|indices|"
    r".*_(ids|tokens|indices)"
)
EDGES = r"edge_index|edges|adj_t|edge_label_index"
KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (  # of inputs, by their names; {} is a size
    (r".*mask.*|.*padding", ("None", "{truths}!")),
    (TOKENS, ("{lead}#10", "{same}")),
    (r"mems?|memories|(kv_)?cache|past.*", ("None",)),
    (
        r"t|times?|timesteps?|time_?steps?|noise_(level|label|cond|variance)s?|sigmas?|log_snr|gamma",
        ("{batch}", "{batch}#1000", "{batch}x1"),
    ),
    (
        r"(class_?)?labels?|y|classes|classes_?emb|targets?|cond_label",
        ("{batch}#10", "{same}", "1x{dim}"),
    ),
    (EDGES, ("2x20#10",)),
    (ADJACENCY, ("{n}x{n}", "1x{n}x{n}", "2x20#10")),
    (r"edge_(attr|weight)|edge_features?", ("20x{dim}", "20", "20#4")),
    (r"batch|batch_index|index", ("10#1", "{same}")),
    (r"pos|positions|coords", ("10x3", "1x16x3", "{same}")),
    (r"h|hidden|hx|state|h_?0|prev_hidden|c|cell", ("1x{dim}", "1x1x{dim}", "{same}")),
    (r"(batch|bs)_?size|bsz|(num|n)_(nodes|graphs)|dim_size", ("=8",)),
    (r"H|W|(x_|img_|image_)?(height|width)", ("=4",)),
    (r"query_(embed|pos)|queries_embed", ("100x{dim}",)),
    (r"lengths?|.*_lens?|seq_lens?", ("1#8",)),
    (
        r"c?ontext.*|cond|encoder_hidden_states|memory|text_embeds?|enc_out(put)?",
        ("1x16x{dim}", "{same}", "1x{dim}"),
    ),
)
LISTS = ("features", "feats", "feature_maps", "xs", "inputs", "x")
WIDTHS = ("encoder_channels", "in_channels_list", "in_channels", "channels", "feature_channels")
NUMBER_MARK, TRUTH_MARK = "=", "!"  # before a value that is no array, behind an array of truths
NOTHING = "None"  # in the place of an input that is left out
NUMBERS = 2**24  # of an input
KEYS = 16  # of a dictionary of inputs
FRAMES = ("frames", "num_frames", "max_frames", "time", "time_size")


@dataclass(frozen=True)
class Guess:
    """Inputs that a module may accept, and what they are, in words."""

    inputs: tuple[Any, ...]
    words: str


Ways = Any  # inputs, with a word such as 1x16x64 in the place of each array


def guess_of(names: Sequence[str], ways: Ways) -> Guess:
    """Returns inputs with arrays in the place of their words."""
    return Guess(tree.tree_map_only(str, array_of, ways), words_of(names, ways))


def array_of(way: str) -> Any:
    """Returns what a word stands for: an array, a plain value or nothing.

    >>> array_of("2x3").shape, array_of("2x3!").dtype, array_of("=4"), array_of("None")
    (torch.Size([2, 3]), torch.bool, 4, None)
    """
    if way[:1] == NUMBER_MARK:
        return ast.literal_eval(way[1:])
    if way.endswith(TRUTH_MARK):
        return torch.zeros([int(n) for n in way[:-1].split("x")], dtype=torch.bool)
    return None if way == NOTHING else example_tensors(way)[0]


def words_of(names: Sequence[str], ways: Ways) -> str:
    """Returns what inputs are, in words; one alone has no name.

    >>> words_of(["x", "t", "mask", "mems"], ("1x16x64", "=4", "1x16!", "None"))
    'x 1x16x64, t 4, mask of truths, no mems'
    """
    found = {name: way for name, way in zip(names, ways, strict=False) if way != NOTHING}
    alone = len(ways) == 1
    words = [_input_words("" if alone else name, way) for name, way in found.items()]
    none = [name for name, way in zip(names, ways, strict=False) if way == NOTHING]
    return ", ".join(words) + f", no {' or '.join(none)}" * bool(none)


def _input_words(name: str, way: Ways) -> str:
    before = f"{name} " * bool(name)
    if isinstance(way, Record):
        return ", ".join(_input_words(f"{name}.{key}", one) for key, one in way.own.items())
    if isinstance(way, dict):
        return before + ", ".join(_input_words(str(key), one) for key, one in way.items())
    if isinstance(way, list | tuple):
        kind = "list" if isinstance(way, list) else "tuple"
        return f"{before}a {kind} of {', '.join(_input_words('', one) for one in way)}"
    truths = f"{name or 'an array'} of truths"
    return truths if way.endswith(TRUTH_MARK) else before + way.lstrip(NUMBER_MARK)


def fits(shape: str, most: int = NUMBERS) -> bool:
    """Returns whether an input of a shape can be made: not empty, and of so many numbers at most.

    >>> fits("1x3x64x64"), fits("8x64#100"), fits("1x3x-1"), fits("1x5000x5000"), fits("4x4", 15)
    (True, True, False, False, False)
    """
    sizes = [int(n) for n in shape.partition("#")[0].rstrip(TRUTH_MARK).split("x")]
    return min(sizes) > 0 and prod(sizes) <= most


def usual_ways(
    name: str, shape: str, settings: Mapping[str, Any], first: bool = False
) -> list[str]:
    """Returns what is usual for an input of a name beside a main shape, the likeliest first.

    Args:
        name: The name of the input.
        shape: The main shape, such as ``1x16x64``.
        settings: The arguments with which the module is made, of which the width is taken.
        first: Whether it is the first input, which has the main shape.

    >>> usual_ways("t", "2x16x64", {}), usual_ways("mask", "2x16x64", {})
    (['2', '2#1000', '2x1'], ['None', '2x16!'])
    """
    own = name.rpartition(".")[2]
    found = next((ways for pattern, ways in KINDS if re.fullmatch(pattern, own)), ())
    alone = own == "mask" or re.fullmatch(EDGES, own)  # which the main shape says nothing of
    if not found or (first and not alone and "{lead}" not in found[0]):
        return [shape]
    sizes = shape.partition("#")[0].rstrip(TRUTH_MARK).split("x")
    last = sizes[-1 if "#" not in shape else 0]
    dim = _width_of_input(own, settings) or width_of(settings) or int(last)
    truths = [sizes[0], *sizes[2:]] if len(sizes) == 4 else sizes[:2]
    known = {
        **{"same": shape, "dim": dim, "n": sizes[max(0, len(sizes) - 2)]},
        **{"lead": "x".join(sizes[:2]), "batch": sizes[0], "truths": "x".join(truths)},
    }
    ways = dict.fromkeys(way.format(**known) for way in found)
    return [way for way in ways if way == NOTHING or way[:1] == NUMBER_MARK or fits(way)]


def _width_of_input(name: str, settings: Mapping[str, Any]) -> int:
    """Returns the width that settings give for one input, such as ``d_cond``; 0 for none.

    >>> _width_of_input("cond", {"d_cond": 768, "dim": 64})
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


def width_of(settings: Mapping[str, Any]) -> int:
    """Returns the width with which a module is made; 0 if it has none."""
    names = ("d_model", "dim", "embed_dim", "hidden_size", "hidden_dim", "context_dim")
    return next((n for name in names if type(n := settings.get(name)) is int), 0)


def index_inputs(forward: ast.AST, names: Sequence[str]) -> dict[str, str]:
    """Returns the shapes of inputs that a ``forward`` takes rows by: whole numbers.

    >>> text = "def forward(self, x, i, edges): a, b = edges; return x[i] + x[a] + x[b]"
    >>> index_inputs(ast.parse(text), ["x", "i", "edges"])
    {'i': '10#10', 'edges': '2x20#10'}
    """
    parts, pairs = {name: name for name in names}, set[str]()
    nodes = [*ast.walk(forward)]
    for one in nodes:
        plain = isinstance(one, ast.Assign) and isinstance(one.value, ast.Name)
        value = one.value.id if plain else ""  # type: ignore[attr-defined]
        target = one.targets[0] if value in names else None  # type: ignore[attr-defined]
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            pairs.add(value)
            parts |= {each.id: value for each in target.elts if isinstance(each, ast.Name)}
    used = {ast.unparse(one.slice) for one in nodes if isinstance(one, ast.Subscript)}
    pairs |= {name for name in names for i in (0, 1) if f"{name}[{i}]" in used}
    rows = {parts[name] for name in parts if name in used}
    rows |= {name for name in pairs if f"{name}[0]" in used or f"{name}[1]" in used}
    rows = {name for name in rows if "mask" not in name}
    return {name: "2x20#10" if name in pairs else "10#10" for name in names if name in rows}


def settings_of(model: nn.Module) -> dict[str, Any]:
    """Returns the arguments with which a module is made, and the sizes that it keeps."""
    return {**source_attributes(model), **model.__dict__, **model.__dict__.get(SETTINGS, {})}


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


# --- Inputs in parts: dictionaries, tuples and lists of arrays, as a ``forward`` reads them


def dictionary_input(
    forward: ast.AST,
    name: str,
    shape: str,
    settings: Mapping[str, Any],
    own: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str] | None:
    """Returns a dictionary for an input of which a ``forward`` reads keys; None if it reads none.

    Its keys stand in the order in which they are read. ``own`` are shapes of its arrays, by their
    names such as ``x.high``; others have the main one.

    >>> function = ast.parse("def forward(self, x): return x['low'] + x['high']").body[0]
    >>> dictionary_input(function, "x", "1x8x4x4", {"low_channels": 3})
    {'low': '1x3x4x4', 'high': '1x8x4x4'}
    """
    places = sorted(_places(forward, name), key=lambda one: (one.lineno, one.col_offset))
    keys = [one.value for one in places if isinstance(one, ast.Constant)]
    shapes: dict[str, str] = {}
    for key in (one for one in keys if isinstance(one, str)):
        width = settings.get(f"{key}_channels")
        first, *rest = shape.split("x")
        named = "x".join((first, str(width), *rest[1:]))
        usual = named if type(width) is int and rest and fits(named) else shape
        shapes[key] = own.get(f"{name}.{key}", usual)
    return shapes if 0 < len(shapes) <= KEYS else None


def _places(forward: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yields what an input is read at: ``k`` of ``x[k]`` and of ``x.get(k)``."""
    for one in _with_that(forward, name):
        if isinstance(one, ast.Subscript) and _is(one.value, name):
            yield one.slice
        call = one.func if isinstance(one, ast.Call) and one.args else None
        if isinstance(call, ast.Attribute) and call.attr == "get" and _is(call.value, name):
            yield one.args[0]  # type: ignore[attr-defined]


def _with_that(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """Yields the nodes of a function without the inner functions that have such an argument."""
    hidden: set[int] = set()
    for one in ast.walk(node):
        inner = isinstance(one, ast.Lambda | ast.FunctionDef) and one is not node
        own = inner and any(each.arg == name for each in one.args.args)  # type: ignore[attr-defined]
        if own or id(one) in hidden:
            hidden |= {id(each) for each in ast.iter_child_nodes(one)}
        else:
            yield one


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def tuple_input(forward: ast.AST, name: str, shape: str) -> tuple[str, ...] | None:
    """Returns a tuple for an input that a ``forward`` takes apart; None if it does not.

    >>> tuple_input(ast.parse("def forward(self, x): a, b = x"), "x", "1x8")
    ('1x8', '1x8')
    """
    count = max(
        (
            len(one.targets[0].elts)
            for one in ast.walk(forward)
            if isinstance(one, ast.Assign)
            and _is(one.value, name)
            and isinstance(one.targets[0], ast.Tuple | ast.List)
        ),
        default=0,
    )
    if not count:
        keys = [one.value for one in _places(forward, name) if isinstance(one, ast.Constant)]
        whole = {key for key in keys if type(key) is int}
        count = max(whole) + 1 if {0, 1} <= whole else 0
    return (shape,) * count if 1 < count <= KEYS else None


def attributes(forward: ast.AST, name: str) -> list[str]:
    """Returns the attributes that a ``forward`` reads of an input, and that no array has.

    >>> attributes(ast.parse("def forward(self, d): return d.x + d.shape[0] + d.y"), "d")
    ['x', 'y']
    """
    read = [one for one in ast.walk(forward) if isinstance(one, ast.Attribute)]
    read.sort(key=lambda one: (one.lineno, one.col_offset))
    names = dict.fromkeys(one.attr for one in read if _is(one.value, name))
    plain = (*dir(dict), *dir(list))  # an input that is one of these
    return [each for each in names if not hasattr(Tensor, each) and each not in plain]


def lists(
    names: list[str], settings: Mapping[str, Any], forward: ast.AST | None = None
) -> list[str] | None:
    """Returns feature maps of halving sides for a module that is made with a list of widths.

    >>> lists(["features"], {"encoder_channels": (3, 8)})
    ['1x3x64x64', '1x8x32x32']
    """
    if len(names) != 1 or names[0] not in LISTS:
        return None
    given = forward.args.args if isinstance(forward, ast.FunctionDef) else []
    hints = (ast.unparse(one.annotation) for one in given if one.annotation)
    if any(hint.rpartition(".")[2] == "Tensor" for hint in hints):
        return None
    widths = next((w for n in WIDTHS if isinstance(w := settings.get(n), list | tuple)), ())
    whole = [n for n in widths if type(n) is int and n > 0]
    if not 1 < len(whole) < 8:
        return None
    shapes = [f"1x{n}x{64 >> i}x{64 >> i}" for i, n in enumerate(whole)]
    return shapes if all(map(fits, shapes)) else None


LIST_HINT = re.compile(r"(typing\.)?(Sequence|Iterable|[Ll]ist)\[.*Tensor.*\]")
LIST_LENGTH = 3


def hinted_list(forward: ast.AST, name: str, shape: str) -> list[str] | None:
    """Returns a list for an input that is one of arrays by its type hint; None for another.

    >>> node = ast.parse("def forward(self, x: List[Tensor]): ...").body[0]
    >>> hinted_list(node, "x", "1x8")
    ['1x8', '1x8', '1x8']
    """
    given = forward.args.args if isinstance(forward, ast.FunctionDef) else []
    hint = next((one.annotation for one in given if one.arg == name), None)
    return [shape] * LIST_LENGTH if hint and LIST_HINT.fullmatch(ast.unparse(hint)) else None


def alongside(forward: ast.AST, names: list[str], model: nn.Module) -> list[str] | None:
    """Returns a list for an input that a ``forward`` goes through together with layers.

    >>> class Hops(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.maps = nn.ModuleList([nn.Linear(8, 3), nn.Linear(4, 3)])
    >>> tree = ast.parse("def forward(self, xs): return [f(x) for x, f in zip(xs, self.maps)]")
    >>> alongside(tree, ["xs"], Hops())
    ['1x8', '1x4']
    """
    for call in ast.walk(forward):
        args = call.args if isinstance(call, ast.Call) else []
        zipped = isinstance(call, ast.Call) and ast.unparse(call.func) == "zip"
        ours = [one.id for one in args if isinstance(one, ast.Name)]
        held = (getattr(model, x.attr, None) for x in args if isinstance(x, ast.Attribute))
        layers = next((x for x in held if isinstance(x, nn.ModuleList | nn.Sequential)), None)
        if not zipped or ours != names or layers is None or len(names) > 1:
            continue
        shapes = [_first_layer_shape(layer) for layer in layers]
        if 0 < len(shapes) <= KEYS and all(shape and fits(shape) for shape in shapes):
            return shapes
    return None


def _first_layer_shape(layer: nn.Module) -> str:
    """Returns the shape that the first layer in a module takes; empty if that is not known."""
    for part in layer.modules():
        if isinstance(part, nn.Linear):
            return f"1x{part.in_features}"
        if isinstance(part, nn.Conv2d):
            return f"1x{part.in_channels}x32x32"
    return ""


# --- Inputs that are objects of which a module reads attributes, such as ``data.x`` of a graph

MAX_ATTRIBUTES = 12  # attributes of an input
SIDE = ("edge_index", "edge_attr", "edge_weight", "batch", "pos", "mask", "adj", "adj_t", "y")
Attributes = Mapping[str, Sequence[str]]  # of inputs, by their names; none of an array


def attributes_of(forward: ast.AST, names: Sequence[str]) -> dict[str, list[str]]:
    """Returns the attributes that a ``forward`` reads of its inputs, where these are no arrays.

    The main array of an object comes first.

    >>> tree = ast.parse("def forward(self, data, y): return data.edge_index, data.x, y.shape")
    >>> attributes_of(tree, ["data", "y"])
    {'data': ['x', 'edge_index']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        if 0 < len(read := attributes(forward, name)) <= MAX_ATTRIBUTES:
            found[name] = sorted(read, key=lambda one: one in SIDE)
    return found


def spread(names: Sequence[str], attributes: Attributes) -> list[str]:
    """Returns the names of all arrays of some inputs.

    >>> spread(["data", "y"], {"data": ["x", "mask"]})
    ['data.x', 'data.mask', 'y']
    """
    found: list[str] = []
    for name in names:
        found += [f"{name}.{one}" for one in attributes.get(name, ())] or [name]
    return found


def inputs_from_arrays(
    names: Sequence[str], attributes: Attributes, values: Sequence[Any]
) -> Iterator[Any]:
    """Yields the inputs that some arrays make, those of an object together."""
    left = iter(values)
    for name in names:
        if own := attributes.get(name, ()):
            made = Record()
            made.own |= {one: next(left) for one in own}
            see_inside(Record)
            yield made
        else:
            yield next(left)


def see_inside(kind: type) -> None:
    """Lets torch see the arrays in the objects of a class that is no module."""
    if kind not in tree.SUPPORTED_NODES:
        tree.register_pytree_node(
            kind,
            lambda x: ([*x.own.values()], (kind, tuple(x.own))),
            _remade,
            serialized_type_name=f"ncd.{kind.__name__}",
            flatten_with_keys_fn=lambda x: (
                [(tree.GetAttrKey(key), each) for key, each in x.own.items()],
                (kind, tuple(x.own)),
            ),
        )


def _remade(values: Any, context: Any) -> PlainObject:
    kind, names = context
    made: PlainObject = object.__new__(kind)
    made.own = dict(zip(names, values, strict=True))
    return made


def required_inputs(model: nn.Module) -> list[str]:
    """Returns the required inputs of a module."""
    kinds = inspect.Parameter
    given = inspect.signature(model.forward).parameters.values()
    taken = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
    names = [one.name for one in given if one.default is kinds.empty and one.kind in taken]
    return names or [one.name for one in given if one.kind is kinds.VAR_POSITIONAL]


def by_name(model: nn.Module, inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the inputs of a module, and those among them that it takes by their names alone.

    >>> class Sum(nn.Module):
    ...     def forward(self, x, *, y):
    ...         return x + y
    >>> by_name(Sum(), (1, 2))
    ((1,), {'y': 2})
    """
    given = inspect.signature(model.forward).parameters.values()
    kinds = inspect.Parameter
    needed = [x.name for x in given if x.kind is kinds.KEYWORD_ONLY and x.default is kinds.empty]
    at = len(inputs) - len(needed)
    if not needed or at < 0:
        return inputs, {}
    return inputs[:at], dict(zip(needed, inputs[at:], strict=True))
