"""Names of axes from the source of a module: of the sizes of its layers, and of its inputs."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from torch import nn

METHODS = "method_nodes"  # the attribute of a class whose source was never a file
USUAL: Mapping[str, str] = {  # the names of axes, by the names of sizes in sources
    "b": "b bs bsz batch batch_size nbatch n_batch num_batch",
    "t": "t seq seq_len seq_length seqlen sequence_length num_steps time_steps timesteps",
    "h": "h heads n_head n_heads nhead num_attention_heads num_head num_heads",
    "k": "d_head d_k dim_head head_dim head_size",
    "m": "d_model dim emb_dim emb_size embed_dim embed_size embedding_dim embedding_size "
    "hidden_size model_dim n_embd n_embed",
    "p": "block_size context_length max_len max_length max_position_embeddings max_seq_len n_ctx "
    "n_positions",
    "v": "n_vocab ntoken ntokens num_tokens vocab vocab_size vocabulary vocabulary_size",
    "classes": "class_num n_class n_classes n_labels nb_classes num_class num_classes num_labels "
    "out_classes output_classes",
}
BY_SIZE = {size: name for name, sizes in USUAL.items() for size in sizes.split()}
HEADS = frozenset(USUAL["h"].split()) - {"h"}
NEARBY = re.compile(r"^(?:num|nb|n|dim|d)_|_(?:size|dim|dims|features|channels|len|length)$")
WORD = re.compile(r"[a-z]{3,12}")
NOTHING = (  # words that say nothing of an axis
    *("channel", "channels", "chans", "context", "dim", "dims", "expansion", "feature", "features"),
    *("feedforward", "ffn", "filters", "fixed", "hidden", "image", "img", "inner", "inplanes"),
    *("input", "inside", "inter", "intermediate", "kernel", "key", "mid", "middle", "mlp", "model"),
    *("none", "num", "out", "output", "outside", "patch", "planes", "proj", "query", "size"),
    *("token", "units", "value", "width"),
)


def axis_name(size: str) -> str:
    """Returns the name of an axis by that of its size in a source; empty if it says nothing.

    >>> [axis_name(size) for size in ("batch_size", "n_embd", "latent_dim", "hidden_dim", "W")]
    ['b', 'm', 'latent', '', 'w']
    """
    name = size.lower()
    if name in BY_SIZE:
        return BY_SIZE[name]
    if len(name) == 1 and name.isalpha():
        return name
    word = NEARBY.sub("", name)
    return word if WORD.fullmatch(word) and word not in NOTHING else ""


def layer_axes(module: nn.Module) -> dict[str, tuple[str, ...]]:
    """Returns names for the first two dimensions of the layers' weights, by the weights' names.

    >>> layer_axes(nn.Sequential(nn.Linear(8, 3)))  # whose layers are no attributes
    {}
    """
    found = {}
    for path, part in module.named_modules():
        for name, call in _made(method(type(part), "__init__")):
            try:
                layer = part.get_submodule(name)
            except AttributeError:
                continue
            if (axes := _layer(layer, call)) is not None:
                found[f"{path}.{name}.weight".lstrip(".")] = axes
    return found


def input_axes(module: nn.Module) -> dict[str, str]:
    """Returns the axes of inputs that ``forward`` unpacks, as in ``b, t, d = x.shape``."""
    forward = method(type(module), "forward")
    found: dict[str, str] = {}
    for node in ast.walk(forward) if forward is not None else ():
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=sizes)], value=value):
                name = _shape_of(value)
                plain = all(isinstance(size, ast.Name) for size in sizes)
                if name and plain and name not in found:
                    words = [axis_name(size.id) for size in sizes if isinstance(size, ast.Name)]
                    axes = [word or "_" for word in words[:-1]] + [words[-1] or "m"]
                    known = [axis for axis in axes if axis != "_"]
                    if len({*known}) == len(known):
                        found[name] = " ".join(axes)
    return found


def head_count(module: nn.Module) -> int:
    """Returns the number of heads that a module keeps under a usual name; 0 for none."""
    held = {**vars(module), **vars(module).get("own_names", {})}
    counts = (held[name] for name in sorted(HEADS & held.keys()))
    return next((n for n in counts if type(n) is int and n > 1), 0)


def method(kind: type, name: str) -> ast.FunctionDef | None:
    """Returns the syntax of a method of a class of somebody's own; None if it has no source."""
    for one in kind.__mro__:
        if one.__module__.startswith("torch."):
            return None
        nodes = vars(one).get(METHODS)
        if nodes is None and name in vars(one):
            return _of_file(vars(one)[name])
        if nodes is not None and name in nodes:
            node: ast.FunctionDef = nodes[name]
            return node
    return None


@lru_cache(maxsize=1000)
def _of_file(function: Any) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError):
        return None
    first = tree.body[0] if tree.body else None
    return first if isinstance(first, ast.FunctionDef) else None


def _made(init: ast.FunctionDef | None) -> Iterator[tuple[str, ast.Call]]:
    """Yields the calls that make layers, by the names of these: also those in containers."""
    for node in ast.walk(init) if init is not None else ():
        if not isinstance(node, ast.Assign):
            continue
        for target, value in _pairs(node):
            match target, value:
                case ast.Attribute(value=ast.Name(id="self"), attr=name), ast.Call() as call:
                    yield name, call
                    yield from _held(name, call)


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields what is set, and to what; of ``a, b = c, d`` the pairs."""
    match node.targets[0], node.value:
        case ast.Tuple(elts=names), ast.Tuple(elts=values):
            yield from zip(names, values, strict=False)
        case name, value:
            yield name, value


def _held(name: str, call: ast.Call) -> Iterator[tuple[str, ast.Call]]:
    """Yields the calls that make the layers of a container."""
    for i, inner in enumerate(call.args):
        if isinstance(inner, ast.Call):
            yield f"{name}.{i}", inner
            for word in inner.keywords:  # of ``nn.ModuleDict(dict(…))``
                if isinstance(word.value, ast.Call):
                    yield f"{name}.{word.arg}", word.value


def _layer(layer: nn.Module, call: ast.Call) -> tuple[str, ...] | None:
    """Returns the names of a layer's two sizes in the order of its weight's dimensions."""
    words = {word.arg: word.value for word in call.keywords}

    def size(place: int, name: str) -> str:
        given = call.args[place] if len(call.args) > place else words.get(name)
        text = given.id if isinstance(given, ast.Name) else getattr(given, "attr", "")
        return axis_name(text) if text else ""

    if isinstance(layer, nn.Linear):
        return size(1, "out_features"), size(0, "in_features")
    if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        return size(1, "out_channels"), size(0, "in_channels")
    if isinstance(layer, nn.Embedding):
        return size(0, "num_embeddings"), size(1, "embedding_dim")
    return None


def _shape_of(node: ast.expr) -> str:
    """Returns the name of which an expression is the shape."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[]):
            return name
    return ""
