"""Helpers of ops: where their own axes are in the whole arrays, and glyphs around them."""

from __future__ import annotations

from collections.abc import Callable

from ncd.errors import SizeError
from ncd.language.axes import Array, Axis
from ncd.language.op import Glyph, Mark, Site
from ncd.language.torch_code import Arg, TorchExpr, reorder_axes

MAX_SUPERSCRIPT_LETTERS = 6  # letters of a name that is drawn as a superscript


def with_axes_last(site: Site, make: Callable[[TorchExpr, Array], TorchExpr]) -> tuple[TorchExpr]:
    """Applies ``make`` to the op's only input with the op's own axes moved to the end.

    ``make`` is given the tensor and the axes before the own ones; its result has the axes of the
    op's own output at the end, which are then moved to their places.
    """
    (array,), (own,), (out,), (new,) = site.inputs, site.own_inputs, site.outputs, site.own_outputs
    rest = site.broadcast_axes
    moved = reorder_axes(Arg(0), array, Array((*rest, *own)))
    return (reorder_axes(make(moved, rest), Array((*rest, *new)), out),)


def ports(arrays: tuple[Array, ...]) -> list[tuple[int, int, str]]:
    """Returns every wire of some arrays: its port, the index of its array, the name of its axis."""
    wires = [(k, axis.name) for k, array in enumerate(arrays) for axis in array]
    return [(port, k, name) for port, (k, name) in enumerate(wires)]


def broadcast_glyph(site: Site, *marks: Mark, keep: tuple[str, ...] = ()) -> Glyph:
    """Returns a glyph in which broadcast wires, and own axes named in ``keep``, run through.

    The wires of an axis that several arrays have meet at a dot before the op and part behind it.
    """
    ins, outs = ports(site.inputs), ports(site.outputs)
    own_in = {name for array in site.own_inputs for name in array.names} - set(keep)
    own_out = {name for array in site.own_outputs for name in array.names} - set(keep)
    sources = {name: port for port, _, name in ins if name not in own_in}
    targets = {name: port for port, _, name in reversed(outs) if name not in own_out}
    both = [name for name in sources if name in targets]
    return Glyph(
        through=tuple([(sources[name], targets[name]) for name in both]),
        joins=tuple([(p, targets[n]) for p, _, n in ins if n in both and p != sources[n]]),
        splits=tuple([(sources[n], p) for p, _, n in outs if n in both and p != targets[n]]),
        marks=marks,
    )


def single_mark_glyph(
    site: Site, shape: str, text: str = "", note: str = "", keep: tuple[str, ...] = ()
) -> Glyph:
    """Returns a glyph with one mark on the op's own axes; those in ``keep`` run through it."""
    ins, outs = (
        axis_ports(site.inputs, site.own_inputs),
        axis_ports(site.outputs, site.own_outputs),
    )
    return broadcast_glyph(site, Mark(shape, text, ins, outs, note), keep=keep)


def axis_ports(arrays: tuple[Array, ...], own: tuple[Array, ...]) -> tuple[int, ...]:
    """Returns the ports of an op's own axes."""
    return tuple([port for port, k, name in ports(arrays) if name in own[k].names])


def weight_letter(letter: str, name: str, usual: str) -> tuple[str, str]:
    """Returns the letter of a learned map, with a short name as superscript, and a longer name.

    The usual name, also with a number, is not shown.

    >>> weight_letter("L", "Q", "L"), weight_letter("L", "self_attn_in", "L")
    (('L^{Q}', ''), ('L', 'self_attn_in'))
    >>> weight_letter("L", "up_1", "up"), weight_letter("L", "hidden", "L")
    (('L', ''), ('L^{hidden}', ''))
    >>> weight_letter("L", "hiddens", "L")
    ('L', 'hiddens')
    """
    if name == usual or name.removeprefix(f"{usual}_").isdecimal():
        return letter, ""
    return (f"{letter}^{{{name}}}", "") if len(name) <= MAX_SUPERSCRIPT_LETTERS else (letter, name)


def check_not_spatial(axis: Axis, why: str) -> None:
    """Raises SizeError for a spatial group; ``why`` is the reason: "has no single order"."""
    if axis.spatial:
        raise SizeError(
            f"axis {axis.name} is a group of {len(axis.shape)} dimensions, which {why}",
            cure=f'Group("{axis.name} -> …") before it',
            axis=axis.name,
        )


def subscript(array: Array) -> str:
    """Returns the names of the axes as a subscript in LaTeX."""
    return r"\,".join(axis.identifier.replace("_", "") for axis in array)
