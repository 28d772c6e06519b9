"""The devices of this machine."""

from __future__ import annotations

from functools import lru_cache

import torch

from ncd.lang.errors import UnknownNameError


@lru_cache
def devices() -> tuple[str, ...]:
    """Returns the devices that a run can use: always "cpu", and "cuda" or "mps" if present.

    Source: ``torch.cuda`` and ``torch.backends.mps``.

    >>> devices()[0]
    'cpu'
    """
    found = ["cpu"]
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        found += ["cuda"] if count == 1 else [f"cuda:{i}" for i in range(count)]
    if torch.backends.mps.is_available():
        found.append("mps")
    return tuple(found)


def device(name: str | torch.device) -> torch.device:
    """Returns the device of a name; raises UnknownNameError if this machine lacks it."""
    wanted = str(name)
    has = devices()
    if wanted not in has and not (wanted == "cuda:0" and "cuda" in has):
        raise UnknownNameError(f"this machine has no device {wanted!r}", cure=" or ".join(has))
    return torch.device(wanted)


def synchronise(name: str | torch.device) -> None:
    """Waits until a device has finished its work, so that times are right."""
    kind = torch.device(name).type
    if kind == "cuda":
        torch.cuda.synchronize(name)
    elif kind == "mps":
        torch.mps.synchronize()


def exact() -> None:
    """Switches off TF32, so that GPUs compute convolutions with all 32 bits.

    It applies to the whole process, so only the app and the tests call it, not the library.
    """
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
