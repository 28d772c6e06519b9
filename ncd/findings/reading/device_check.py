"""Whether the arrays of a call lie on one device, as torch wants them to."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor, nn

from ncd.read.device_places import DevicePlace, Placement
from ncd.read.python_source.interpreter import SourceModule

GPU = re.compile(r"""\.cuda\(|["'](?:cuda|mps)\b""")
CONDITIONAL_DEVICE = re.compile(r"is_available\(\)\s*else")  # "cuda" if … else "cpu"
OTHER_PLACING = re.compile(  # a wrapper for several devices moves what it is called with
    r"set_default_(?:device|tensor_type)|Accelerator\(|with torch\.device|DataParallel\("
)
MIXING = (  # which take arrays of two devices, or no numbers of the second
    *("__getitem__", "__setitem__", "copy_", "type_as", "to", "expand_as", "view_as", "reshape_as"),
    *("set_", "__get__", "__set__"),
)


class OtherDevice(RuntimeError):
    """Two arrays of a call that lie on two devices: their places in the call, and where."""

    def __init__(self, arrays: tuple[int, int], places: tuple[DevicePlace, DevicePlace]) -> None:
        super().__init__(f"{places[0].device} and {places[1].device}")
        self.arrays, self.places = arrays, places


def placement_of(text: str) -> Placement | None:
    """Returns an empty placement for a source that uses a GPU; None for one that does not.

    >>> placement_of('x.to("cuda")').has_gpu, placement_of("x.to(y)")
    (False, None)
    """
    if GPU.search(text) is None or OTHER_PLACING.search(text) is not None:
        return None
    return Placement(CONDITIONAL_DEVICE.search(text) is not None)


def check_devices(placement: Placement | None, call: Any) -> None:
    """Raises OtherDevice for a call whose arrays lie on two devices, as far as it is known."""
    if placement is None or call.name in MIXING:
        return
    seen: dict[str, int] = {}
    for i, array in enumerate(call.takes):
        if array.dim() and (device := placement.device(array)):
            seen.setdefault(device, i)
    if len(seen) > 1:
        first, second = list(seen.values())[:2]
        kept = [
            placement.places.get(id(call.takes[i]), DevicePlace("cpu", 0)) for i in (first, second)
        ]
        raise OtherDevice((first, second), (kept[0], kept[1]))


def follow_devices(placement: Placement | None, call: Any, written: bool) -> None:
    """Keeps where the results of a call lie: where its arrays do, or on the CPU if it has none.

    Args:
        placement: What is known so far.
        call: The call.
        written: Whether the text itself calls the function, not a layer of torch.
    """
    if placement is None:
        return
    line = getattr(call.node, "lineno", 0)
    known = [place for x in call.takes if (place := _place(placement, x)) is not None]
    place = next((one for one in known if one.device != "cpu"), None)
    own = call.layer is None or isinstance(call.layer.module, SourceModule | nn.Sequential)
    if place is None and len(known) == len(call.takes) and (known or (own and written)):
        place = known[0] if known else DevicePlace("cpu", line)
    for each in call.gives:
        if place is not None and id(each) not in placement.places:
            placement.note(each, place)


def _place(placement: Placement, array: Tensor) -> DevicePlace | None:
    found = placement.places.get(id(array))
    return found or (DevicePlace("cpu", 0) if isinstance(array, nn.Parameter) else None)
