"""Records the input and output shapes of every module of a model as it runs.

After the ``Tracker`` of the notebook's appendix, for any ``nn.Module``, which is not changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ContextDecorator
from dataclasses import asdict, dataclass, fields, is_dataclass
from types import TracebackType
from typing import Any, Self

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

Shape = tuple[int, ...]


@dataclass(frozen=True)
class TrackedCall:
    """A call of a module: its path in the model, its class, and the shapes it took and gave."""

    name: str
    kind: str
    took: tuple[Shape, ...]
    gave: tuple[Shape, ...]

    def __str__(self) -> str:
        """Returns the line that the notebook's Tracker prints."""
        return (
            f"{self.name or self.kind}: \t {_shapes_text(self.took)} -> {_shapes_text(self.gave)}"
        )


class Tracker(ContextDecorator):
    """The calls of a model's modules, in the order in which they ended.

    ``str`` gives the lines that the notebook's Tracker prints, :meth:`json` the same as data.
    """

    def __init__(
        self, module: nn.Module, echo: Callable[[str], object] | None, whole: bool
    ) -> None:
        self.module, self.echo, self.whole = module, echo, whole
        self.calls: list[TrackedCall] = []
        self._hooks: list[RemovableHandle] = []
        self._inside = 0  # a decorated function may call itself

    def __repr__(self) -> str:
        return f"<Tracker of {type(self.module).__name__}: {len(self.calls)} calls>"

    def __enter__(self) -> Self:
        self._inside += 1
        if self._inside > 1:
            return self
        for name, module in self.module.named_modules():
            if self.whole or not any(True for _ in module.children()):
                hook = self._hook(name)
                self._hooks.append(module.register_forward_hook(hook, with_kwargs=True))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._inside -= 1
        while self._hooks and not self._inside:
            self._hooks.pop().remove()

    def _hook(self, name: str) -> Callable[..., None]:
        def note(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            kind = type(module).__name__
            call = TrackedCall(name, kind, tuple(_shapes((args, kwargs))), tuple(_shapes(output)))
            self.calls.append(call)
            if self.echo:
                self.echo(str(call))

        return note

    def __str__(self) -> str:
        return "\n".join(map(str, self.calls))

    def json(self) -> str:
        """Returns the calls as JSON."""
        return as_json(self.calls)


def as_json(calls: Iterable[TrackedCall]) -> str:
    """Returns calls as JSON, one in each line.

    >>> print(as_json([TrackedCall("0", "ReLU", ((5, 2),), ((5, 2),))]))
    [
    {"name": "0", "kind": "ReLU", "took": [[5, 2]], "gave": [[5, 2]]}
    ]
    """
    return "[\n" + ",\n".join(json.dumps(asdict(call)) for call in calls) + "\n]"


def track(
    module: nn.Module, echo: Callable[[str], object] | None = None, whole: bool = False
) -> Tracker:
    """Records every call of a model's modules, inside ``with`` or in a decorated function.

    Parts that are used without being called, such as the last map of ``nn.MultiheadAttention``,
    leave no line.

    Args:
        module: Any module; it is not changed.
        echo: A function that gets each line at once, such as ``print``.
        whole: Whether modules that contain others are recorded too.

    Returns:
        A :class:`Tracker` with the calls.

    Source: the notebook's appendix, ``Tracker``.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    >>> with track(model) as sizes:
    ...     _ = model(torch.zeros(5, 2))
    >>> print(str(sizes).expandtabs(8))
    0:       5 2 -> 5 3
    1:       5 3 -> 5 3
    >>> sizes.calls[0].kind, sizes.calls[0].gave
    ('Linear', ((5, 3),))
    """
    return Tracker(module, echo, whole)


def _shapes_text(shapes: tuple[Shape, ...]) -> str:
    return ", ".join(" ".join(map(str, shape)) or "()" for shape in shapes) or "nothing"


def _shapes(value: object) -> Iterator[Shape]:
    """Returns the shapes of all tensors in a value."""
    if isinstance(value, Tensor):
        yield tuple(value.shape)
        return
    if is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, Mapping):
        value = list(value.values())
    for part in value if isinstance(value, list | tuple) else ():
        yield from _shapes(part)
