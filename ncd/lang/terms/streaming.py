"""The rules by which ops work on one tile of an axis after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ncd.lang.errors import MismatchError
from ncd.lang.terms.site import Site


@dataclass(frozen=True)
class Running:
    """A number that is kept from tile to tile, for every place that the op is broadcast over.

    Args:
        name: Its name in the formulas that follow; ``NAME_old`` is its value before a tile.
        how: How the numbers of a tile are joined, and the tile with those before: sum or maximum.
        of: A formula of the tile, ``$1``, and of the numbers kept before this one.
        rescale: What the sum of the tiles before is multiplied by; empty for 1.
    """

    name: str
    how: Literal["max", "sum"]
    of: str
    rescale: str = ""


@dataclass(frozen=True)
class Part:
    """A term of a result that is only known after the last tile.

    Args:
        of: A formula of the tile, ``$1``, of what is kept, and of the op's parameters.
        coefficient: What it is multiplied by at the end, a formula of what is kept.
        rescale: What a sum of it over the tiles before is multiplied by; empty for 1.
    """

    of: str
    coefficient: str
    rescale: str = ""


@dataclass(frozen=True)
class Streamed:
    """The rule by which an op works on tiles of one axis.

    Without ``merge`` and ``parts`` each tile of its result is the op on that tile. With ``merge``
    its result has no such axis, and the results of the tiles are joined. With ``parts`` a tile of
    its result is their sum, each times a coefficient that is known at the end; what follows has to
    be linear in it.

    Args:
        merge: How results of tiles are joined; empty if they stand side by side.
        mean: Whether the joined result is divided by the size of the reduced axes.
        linear: The inputs in which the op is linear.
        states: What it keeps from tile to tile.
        parts: The terms of its result, if that has to wait for the last tile.

    Source: Abbott and Zardini 2024, *FlashAttention on a Napkin*, on streamable functions;
    Milakov and Gimelshein 2018, "Online normalizer calculation for softmax", algorithm 3.
    """

    merge: Literal["", "max", "min", "product", "sum"] = ""
    mean: bool = False
    linear: tuple[int, ...] = ()
    states: tuple[Running, ...] = ()
    parts: tuple[Part, ...] = ()


class Streamable:
    """The base of ops: each can be cut into tiles along the axes that it is broadcast over.

    ``weighted`` says that it is the product of its inputs and its weight, which is cut like them.
    """

    weighted: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """Its name in words."""
        return type(self).__name__

    def streamed(self, site: Site, axis: str) -> Streamed:
        """Returns how it works on tiles of an axis.

        Raises:
            MismatchError: For an axis along which it cannot be cut, with the reason.
        """
        own = {a.name for a in (*site.dom.axes, *site.cod.axes)}
        if axis in own:
            raise MismatchError(
                f"{self.label} works on all of {axis} at once, so tiles of {axis} are not enough",
                cure=f"an axis other than {axis}",
            )
        return Streamed()
