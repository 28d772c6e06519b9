"""Modules of PyTorch as steps of a term: each handler takes a module's arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.errors import NCDError, shown
from ncd.lang.terms.terms import Id, Term, Then
from ncd.lang.types.axis_kinds import Marked
from ncd.ops import (
    BatchNorm,
    Conv,
    ConvTranspose,
    Dropout,
    Elementwise,
    Group,
    GroupNorm,
    Index,
    LayerNorm,
    Linear,
    MaxPool,
    Param,
    Reduce,
    RMSNorm,
    Softmax,
    Window,
)
from ncd.ops.windows.window_shapes import Sides

NOTHING = Id("()")
UNARY = {
    "ReLU": "relu",
    "GELU": "gelu",
    "SiLU": "silu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Softplus": "softplus",
}


@dataclass
class Line:
    """The array between two modules: its axes with their sizes, and the steps so far.

    ``first`` is what stands before the steps.
    """

    axes: dict[str, Marked] = field(default_factory=dict)  # those of the array, in order
    sizes: dict[str, Marked] = field(default_factory=dict)  # all that are known
    steps: list[Term] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    first: Term = NOTHING

    @property
    def term(self) -> Term:
        """The steps so far, with their sizes."""
        return Axes(**self.sizes)(Then(self.first, *self.steps))

    def fresh(self, letter: str) -> str:
        """Returns a name for a new axis, such as m_1 and then m_2."""
        self.counts[letter] += 1
        return f"{letter}_{self.counts[letter]}"

    def set(self, axes: Mapping[str, Marked]) -> None:
        """Makes these the axes of the array."""
        self.axes = dict(axes)
        self.sizes |= axes


Arguments = Mapping[str, Any]
Handler = Callable[[Line, Arguments], None]


def _features(line: Line, arguments: Arguments, key: str) -> str:
    """Returns the last axis; raises an error if its size differs from that of the module."""
    name, mark = list(line.axes.items())[-1]
    _fits(name, mark, arguments[key], key)
    return name


def _fits(name: str, mark: Marked, size: int, key: str) -> None:
    if mark.size != size:
        fact = f"{key} is {shown(size)}, but the array has {shown(mark.size)} along {name}"
        raise NCDError(fact, cure=f"{key}={mark.size}")


def _linear(line: Line, arguments: Arguments) -> None:
    old, new = _features(line, arguments, "in_features"), line.fresh("m")
    line.steps.append(Linear(f"{old} -> {new}", bias=arguments.get("bias", True)))
    kept = {name: mark for name, mark in line.axes.items() if name != old}
    line.set({**kept, new: Marked(arguments["out_features"])})


def _conv(kind: Callable[..., Term], usual: Mapping[str, int]) -> Handler:
    def handle(line: Line, arguments: Arguments) -> None:
        (*lead, c, x), marks = line.axes, line.axes
        _fits(c, marks[c], arguments["in_channels"], "in_channels")
        d, y = line.fresh("c"), line.fresh("x")
        words = {
            "kernel": _sides(arguments["kernel_size"], "kernel_size"),
            "bias": arguments.get("bias", True),
            **{k: _sides(arguments.get(k, n), k) for k, n in usual.items()},
        }
        line.steps.append(kind(f"{c} {x} -> {d} {y}", "conv", **words))
        channels = Marked(arguments["out_channels"])
        line.sizes[d] = channels
        line.axes = {**{name: marks[name] for name in lead}, d: channels, y: _after(line, y)}

    return handle


def _pool(line: Line, arguments: Arguments) -> None:
    x, kernel, stride, padding = _windows(line, arguments)
    y = line.fresh("x")
    line.steps.append(MaxPool(f"{x} -> {y}", kernel, stride, padding))
    line.axes = {**_without(line, x), y: _after(line, y)}


def _average_pool(line: Line, arguments: Arguments) -> None:
    x, kernel, stride, padding = _windows(line, arguments)
    y, w = line.fresh("x"), line.fresh("w")
    line.steps.append(Window(f"{x} -> {y} {w}", kernel, stride, padding))
    line.steps.append(Reduce(f"{w} ->", "mean"))
    line.axes = {**_without(line, x), y: _after(line, y)}


def _windows(line: Line, arguments: Arguments) -> tuple[str, Sides, Sides, Sides]:
    """Returns the positions, and the kernel, stride and padding of a pooling."""
    kernel = _sides(arguments["kernel_size"], "kernel_size")
    stride = _sides(arguments.get("stride") or kernel, "stride")
    return list(line.axes)[-1], kernel, stride, _sides(arguments.get("padding", 0), "padding")


def _without(line: Line, name: str) -> dict[str, Marked]:
    return {key: mark for key, mark in line.axes.items() if key != name}


def _after(line: Line, name: str) -> Marked:
    """Returns the size of an output axis after the steps so far."""
    (axis,) = (axis for axis in line.term.cod.axes if axis.name == name)
    return Marked(axis.size if axis.size is not None else 1)


def _sides(value: Any, key: str) -> Sides:
    """Returns a number, or one for each dimension."""
    numbers = value if isinstance(value, tuple) else (value,)
    if not numbers or any(type(number) is not int for number in numbers):
        fact = f"{key} is {shown(value)}, but it is a whole number, or one for each dimension"
        raise NCDError(fact, cure=f"{key}=3")
    found: Sides = numbers[0] if len(set(numbers)) == 1 else numbers
    return found


def _flatten(line: Line, arguments: Arguments) -> None:
    start = arguments.get("start_dim", 1)
    names = list(line.axes)
    merged, new = names[start:], line.fresh("m")
    line.steps.append(Group(f"{' '.join(merged)} -> {new}"))
    sides = (line.axes[name].size for name in merged)
    size = prod(prod(n) if isinstance(n, tuple) else int(n) for n in sides)
    line.axes = {**{name: line.axes[name] for name in names[:start]}, new: Marked(size)}


def _embedding(line: Line, arguments: Arguments) -> None:
    v, m = arguments["num_embeddings"], arguments["embedding_dim"]
    *lead, t = line.axes
    if line.steps:
        raise NCDError("it stands behind another module", cure="nn.Embedding as the first")
    line.first = Id(f"{' '.join(lead)} ~{t}#v") @ Param("v m", "weight", "normal")
    line.steps.append(Index(f"{t}#v, v m -> {t} m"))
    line.sizes |= {"v": Marked(v), "m": Marked(m)}
    line.axes = {**line.axes, "m": Marked(m)}


def _norm(kind: Callable[..., Term]) -> Handler:
    def handle(line: Line, arguments: Arguments) -> None:
        line.steps.append(kind(_features(line, arguments, "normalized_shape"), "norm"))

    return handle


def _batch_norm(line: Line, arguments: Arguments) -> None:
    names = list(line.axes)
    c = next((name for name in names if name.startswith("c")), names[-1])
    _fits(c, line.axes[c], arguments["num_features"], "num_features")
    line.steps.append(BatchNorm(f"b {c}", "norm"))


def _group_norm(line: Line, arguments: Arguments) -> None:
    names = list(line.axes)
    at = next((i for i, name in enumerate(names) if name.startswith("c")), len(names) - 1)
    _fits(names[at], line.axes[names[at]], arguments["num_channels"], "num_channels")
    if at == len(names) - 1:
        raise NCDError("it stands behind no image", cure="nn.GroupNorm behind nn.Conv2d")
    groups, eps = arguments["num_groups"], arguments.get("eps", 1e-5)
    line.steps.append(GroupNorm(" ".join(names[at:]), "norm", groups, eps))


def _softmax(line: Line, arguments: Arguments) -> None:
    line.steps.append(Softmax(list(line.axes)[arguments.get("dim", -1)]))


def _unary(name: str) -> Handler:
    return lambda line, arguments: line.steps.append(Elementwise(name))


CONV = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
HANDLERS: Mapping[str, Handler] = {
    "Linear": _linear,
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), _conv(Conv, CONV)),
    "ConvTranspose2d": _conv(ConvTranspose, {"stride": 1, "padding": 0}),
    **dict.fromkeys(("MaxPool1d", "MaxPool2d", "MaxPool3d"), _pool),
    **dict.fromkeys(("AvgPool1d", "AvgPool2d", "AvgPool3d"), _average_pool),
    "Flatten": _flatten,
    "Embedding": _embedding,
    "LayerNorm": _norm(LayerNorm),
    "RMSNorm": _norm(RMSNorm),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d"), _batch_norm),
    "GroupNorm": _group_norm,
    "Softmax": _softmax,
    "Dropout": lambda line, arguments: line.steps.append(Dropout(arguments.get("p", 0.5))),
    **{module: _unary(name) for module, name in UNARY.items()},
}
_CONV = ("in_channels", "out_channels", "kernel_size", "stride", "padding")
_POOL = ("kernel_size", "stride", "padding")
NAMED: Mapping[str, tuple[str, ...]] = {
    "Linear": ("in_features", "out_features", "bias"),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), (*_CONV, "dilation", "groups", "bias")),
    "ConvTranspose2d": _CONV,
    **{f"{kind}Pool{n}d": _POOL for kind in ("Avg", "Max") for n in (1, 2, 3)},
    "GroupNorm": ("num_groups", "num_channels", "eps"),
    "Flatten": ("start_dim",),
    "Embedding": ("num_embeddings", "embedding_dim"),
    **dict.fromkeys(("LayerNorm", "RMSNorm"), ("normalized_shape",)),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d"), ("num_features",)),
    "Softmax": ("dim",),
    "Dropout": ("p",),
}
