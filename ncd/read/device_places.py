"""The devices on which a source puts its arrays and weights; nothing is moved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

DEVICES = ("cpu", "cuda", "mps", "xpu")


@dataclass(frozen=True)
class DevicePlace:
    """A device, and the line of the source that puts something there."""

    device: str
    line: int


@dataclass
class Placement:
    """The places of arrays and weights, by their ids.

    ``has_gpu`` says whether ``torch.cuda.is_available()`` holds.
    """

    has_gpu: bool = False
    places: dict[int, DevicePlace] = field(default_factory=dict)
    retained_objects: list[Any] = field(default_factory=list)  # so that no id is given twice

    def put(self, value: Any, device: str, line: int) -> Any:
        """Returns a value that lies on a device; an array that lies elsewhere as another one."""
        place = DevicePlace(device, line)
        if isinstance(value, nn.Module):
            for part in (*value.parameters(), *value.buffers()):
                self.note(part, place)
        if not isinstance(value, Tensor) or self.device(value) == device:
            return value
        with torch._C.DisableTorchFunction():
            return self.note(torch.ops.aten.alias(value), place)

    def note(self, array: Tensor, place: DevicePlace) -> Tensor:
        """Keeps where an array lies, and returns it."""
        self.places[id(array)] = place
        self.retained_objects.append(array)
        return array

    def device(self, array: Tensor) -> str:
        """Returns where an array lies; empty if it is not known."""
        found = self.places.get(id(array))
        return found.device if found else "cpu" * isinstance(array, nn.Parameter)

    def named_device(self, values: Iterable[Any]) -> str:
        """Returns the device that is among some arguments, or that of an array among them."""
        arrays = [one for one in values if isinstance(one, Tensor)]
        return named_device(values) or (self.device(arrays[0]) if arrays else "")


def named_device(values: Iterable[Any]) -> str:
    """Returns the device that is among some arguments; empty if none is.

    >>> named_device([torch.float64, "cuda:1"]), named_device([torch.device("cpu"), 3])
    ('cuda', 'cpu')
    """
    for one in values:
        words = one.type if isinstance(one, torch.device) else one
        if isinstance(words, str) and words.partition(":")[0] in DEVICES:
            return words.partition(":")[0]
    return ""
