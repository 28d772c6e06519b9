"""Names for the axes of an imported module, from annotations, from its source, or by place."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, get_args

from torch import Tensor, nn

from ncd.language.axes import Array, Axis
from ncd.read.torch_calls.dimension_atoms import (
    AxisFactor,
    Dim,
    all_atoms,
    group_of,
    resolved_atoms,
)
from ncd.read.torch_calls.import_recorder import DimensionBuilder, ImportedValue, ImportStep

# --- Names for the axes of an imported module

SEQUENCES = ("t", "s")
# Names to choose from, by the hint of an atom; then they are numbered.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "": ("n", "p", "r", "q", "j", "i", "o", "y", "z"),
    "bit": ("2",),
    "bound": ("p", "o"),
    "c": ("c", "d", "e", "f", "g"),
    "heads": ("h", "g", "q"),
    "hidden": ("d", "f", "k", "e", "g"),  # of a recurrent layer
    "m": ("m", "d", "e", "f", "g", "l"),
    "one": ("u", "w"),
    "out": ("d", "f", "k", "l", "n", "e", "g", "a", "q", "r"),
    "whole": ("i",),
}


class PartOfGroup(ValueError):
    """Some atoms of a spatial group, where only all of them are an axis."""


class AxisNames:
    """Chooses a name for every axis: the same one for atoms of one size that never meet.

    Equal layers get equal names so, and can be recognised as a repetition.
    """

    def __init__(
        self, inputs: Iterable[Dim], steps: Iterable[ImportStep], given: Mapping[AxisFactor, str]
    ):
        self.names: dict[AxisFactor, str] = {}  # by the first atom of a group
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.users: dict[str, list[Dim]] = {}
        for atom, name in given.items():
            found = resolved_atoms((atom,))
            for i, leaf in enumerate(found):
                group = group_of(leaf) or (leaf,)
                own = name if len(found) == 1 else f"{name}_{i + 1}"
                if group[0] not in self.names and self._fits(own, group):
                    self._take(own, group)
        for dim in inputs:
            self._add(dim)
        for step in steps:
            for slot in (*step.takes, *step.gives):
                self._add(slot.atoms)
                if slot.below is not None:
                    self._add((slot.below,))

    def _add(self, atoms: Dim) -> None:
        for atom in resolved_atoms(atoms):
            group = group_of(atom) or (atom,)
            if group[0] not in self.names:
                self._take(self._choose(group), group)

    def _choose(self, group: Dim) -> str:
        hint = "x" if len(group) > 1 else group[0].hint
        choices = CHOICES.get(hint, (hint,))
        for name in choices:
            if self._fits(name, group):
                return name
        first = "one" if choices[0].isdecimal() else choices[0]
        return next(name for i in count(2) if self._fits(name := f"{first}_{i}", group))

    def _fits(self, name: str, group: Dim) -> bool:
        sizes = tuple(atom.size for atom in group)
        if self.sizes.setdefault(name, sizes) != sizes:
            return False
        places = {place for atom in group for place in atom.step_numbers}
        return not any(
            places & atom.step_numbers for other in self.users.get(name, ()) for atom in other
        )

    def _take(self, name: str, group: Dim) -> None:
        self.names[group[0]] = name
        self.sizes[name] = tuple(atom.size for atom in group)
        self.users.setdefault(name, []).append(group)

    def __call__(self, atoms: Iterable[AxisFactor]) -> Array:
        """Returns the axes of some atoms, in order; a spatial group is one axis.

        Raises PartOfGroup where a group is not complete, or not in order.
        """
        self._add(tuple(atoms := tuple(atoms)))
        found: list[Axis] = []
        waiting = list(resolved_atoms(atoms))
        while waiting:
            group = group_of(waiting[0]) or (waiting[0],)
            if tuple(waiting[: len(group)]) != group:
                raise PartOfGroup("one side of a spatial group")
            del waiting[: len(group)]
            name = self.names[group[0]]
            size = tuple(atom.size for atom in group) if len(group) > 1 else group[0].size
            found.append(Axis(name, size, name.split("_")[0] in SEQUENCES))
        return Array(found)


# --- Names of axes from the annotations of a module's ``forward``

_NAME = re.compile(r"[^\W\d_]\w*")
_VARIADIC = re.compile(r"\.\.\.|[#?_]*\*.*")


def annotated_axes(
    module: nn.Module, inputs: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the axes of the inputs that are annotated with them; ``_`` is one without a name.

    An annotation is of jaxtyping (``Float[Tensor, "b t m"]``), ``Annotated[Tensor, "b t m"]`` or
    text. One that has another number of dimensions than its input says nothing about it.

    Source: the array annotations of jaxtyping.
    """
    try:
        signature = inspect.signature(module.forward)
        given = signature.bind(*inputs, **named).arguments
    except (TypeError, ValueError):  # torch says what is wrong with the call
        return {}
    known = {*vars(builtins), *getattr(module.forward, "__globals__", {})}
    found = {}
    for name, value in given.items():
        annotation = signature.parameters[name].annotation
        if isinstance(value, Tensor):
            texts = _texts(annotation) if annotation is not inspect.Parameter.empty else ()
            words = next((text.split() for text in texts if text not in known), [])
            axes = _axes_by_dimension(words, value.dim())
            if any(axis != "_" for axis in axes):
                found[name] = " ".join(axes)
    return found


def _texts(annotation: Any) -> Iterator[str]:
    """Yields the texts in an annotation that may be axes; an annotation may be text as a whole."""
    if isinstance(annotation, str):
        yield from _in_text(annotation)
    dims = getattr(annotation, "dim_str", "")  # of jaxtyping
    if isinstance(dims, str) and dims:
        yield dims
    for part in (*getattr(annotation, "__metadata__", ()), *get_args(annotation)):
        if part is not annotation:
            yield from _texts(part)


def _in_text(text: str) -> Iterator[str]:
    """Yields the axes in a text: all of it, or the strings in Python code that it holds."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        yield text
        return
    if isinstance(tree, ast.Name):
        yield tree.id
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _axes_by_dimension(words: Sequence[str], count: int) -> list[str]:
    """Returns one axis for each dimension, or none; dots and a star stand for any number."""
    axes = [_axis(word) for word in words]
    any_number = [i for i, word in enumerate(words) if _VARIADIC.fullmatch(word)]
    if len(any_number) == 1 and len(axes) - 1 <= count:
        (at,) = any_number
        axes[at : at + 1] = ["_"] * (count - len(axes) + 1)
    return axes if len(axes) == count and len(any_number) < 2 else []


def _axis(word: str) -> str:
    """Returns the name in a word of jaxtyping, such as ``#b`` or ``b=4``."""
    name = word.lstrip("#?").partition("=")[0]
    return name if _NAME.fullmatch(name) else "_"


# --- Names for the last axis of a module's results, by what they are

LAYERS = 2  # with fewer a module is a layer, whose results are no classes


def name_results(
    outputs: Sequence[ImportedValue], g: DimensionBuilder, inputs: Iterable[ImportedValue]
) -> None:
    """Suggests names for what the last layer of a module gives: words, or classes.

    It gives words if it has as many results as a table of the module has rows, and classes if it is
    the only result, one row for each example, and of another size than
    all of the input but its batch.
    """
    slots = [slot for step in g.steps for slot in (*step.takes, *step.gives)]
    words = {atom.size for slot in slots for atom in resolved_atoms(slot.atoms) if atom.hint == "v"}
    learned = sum(bool(step.weights) for step in g.steps)
    sizes = {atom.size for value in inputs for atom in all_atoms(value.dims[1:])}
    for value in outputs:
        last = resolved_atoms(value.dims[-1]) if value.dims else ()
        if len(last) != 1 or last[0].hint != "out" or value.slot.kind != "real":
            continue
        alone = len(outputs) == 1 and len(value.dims) == 2 and learned >= LAYERS
        if last[0].size in words:
            last[0].hint = "v"
        elif alone and last[0].size not in sizes:
            last[0].hint = "classes"


# --- Names of axes from the source of a module: of the sizes of its layers, and of its inputs

METHODS = "method_nodes"  # the attribute of a class whose source was never a file
SIZE_NAMES: Mapping[str, str] = {  # the names of axes, by the names of sizes in sources
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
BY_SIZE = {size: name for name, sizes in SIZE_NAMES.items() for size in sizes.split()}
HEADS = frozenset(SIZE_NAMES["h"].split()) - {"h"}
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
        for name, call in _layer_calls(method(type(part), "__init__")):
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


def _layer_calls(init: ast.FunctionDef | None) -> Iterator[tuple[str, ast.Call]]:
    """Yields the calls that make layers, by the names of these: also those in containers."""
    for node in ast.walk(init) if init is not None else ():
        if not isinstance(node, ast.Assign):
            continue
        for target, value in _pairs(node):
            match target, value:
                case ast.Attribute(value=ast.Name(id="self"), attr=name), ast.Call() as call:
                    yield name, call
                    yield from _container_calls(name, call)


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields what is set, and to what; of ``a, b = c, d`` the pairs."""
    match node.targets[0], node.value:
        case ast.Tuple(elts=names), ast.Tuple(elts=values):
            yield from zip(names, values, strict=False)
        case name, value:
            yield name, value


def _container_calls(name: str, call: ast.Call) -> Iterator[tuple[str, ast.Call]]:
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
