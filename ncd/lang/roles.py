"""Roles of the parts of a system; a role has the same colour in every view."""

from __future__ import annotations

from ncd.lang.errors import unknown

ROLES = (
    "activate",
    "concat",
    "convolution",
    "copy",
    "data",
    "diagonal",
    "einsum",
    "folded",
    "index",
    "linear",
    "mask",
    "model",
    "module",
    "neutral",
    "note",
    "operation",
    "repeat",
    "reshape",
    "residual",
    "scale",
    "shortcut",
    "softmax",
    "transpose",
    "weighted",
    "window",
)


def check_role(role: str, where: str) -> None:
    """Raises UnknownNameError, with the nearest name, for a role that is not in ``ROLES``."""
    if role not in ROLES:
        raise unknown("role", role, ROLES, where)
