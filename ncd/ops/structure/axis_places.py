"""Where an op's own axes lie in the arrays around it; shared by the families of ops."""

from __future__ import annotations

from collections.abc import Callable

from ncd.lang.errors import MismatchError
from ncd.lang.formulas.expr import Arg, Expr, reordered
from ncd.lang.glyph import Glyph, Mark
from ncd.lang.terms.op import Op, Site
from ncd.lang.types.axes import Array

SHORT = 6  # letters of a name that stands over the letter of a map


def at_end(site: Site, make: Callable[[Expr, Array], Expr]) -> tuple[Expr]:
    """What ``make`` does with the last axes of a tensor, wherever the site has them.

    ``make`` is given the op's only input with its own axes last, and the axes before them; what
    it gives has the axes of the op's own output last. For an op that takes one array.
    """
    (array,), (own,), (out,), (new,) = site.ins, site.dom, site.outs, site.cod
    rest = site.rest
    moved = reordered(Arg(0), array, Array((*rest, *own)))
    return (reordered(make(moved, rest), Array((*rest, *new)), out),)


def ports(arrays: tuple[Array, ...]) -> list[tuple[int, int, str]]:
    """Every wire of some arrays: its port, the number of its array, the name of its axis."""
    wires = [(k, axis.name) for k, array in enumerate(arrays) for axis in array]
    return [(port, k, name) for port, (k, name) in enumerate(wires)]


def over(site: Site, *marks: Mark, keep: tuple[str, ...] = ()) -> Glyph:
    """A glyph whose broadcast wires go straight on; so do the op's own axes named in ``keep``.

    An axis that several arrays have meets at a dot before the op, and parts at one behind it.
    """
    ins, outs = ports(site.ins), ports(site.outs)
    own_in = {name for array in site.dom for name in array.names} - set(keep)
    own_out = {name for array in site.cod for name in array.names} - set(keep)
    sources = {name: port for port, _, name in ins if name not in own_in}
    targets = {name: port for port, _, name in reversed(outs) if name not in own_out}
    both = [name for name in sources if name in targets]
    return Glyph(
        through=tuple([(sources[name], targets[name]) for name in both]),
        joins=tuple([(p, targets[n]) for p, _, n in ins if n in both and p != sources[n]]),
        splits=tuple([(sources[n], p) for p, _, n in outs if n in both and p != targets[n]]),
        marks=marks,
    )


def own_ports(arrays: tuple[Array, ...], own: tuple[Array, ...]) -> tuple[int, ...]:
    """The ports of an op's own axes."""
    return tuple([port for port, k, name in ports(arrays) if name in own[k].names])


def learned(letter: str, name: str, usual: str) -> tuple[str, str]:
    """The letter of a learned map with its name: over it if that is short, else beside it.

    A usual name, also with a number, is not shown.

    >>> learned("L", "Q", "L"), learned("L", "self_attn_in", "L"), learned("L", "up_1", "up")
    (('L^{Q}', ''), ('L', 'self_attn_in'), ('L', ''))
    """
    if name == usual or name.removeprefix(f"{usual}_").isdecimal():
        return letter, ""
    return (f"{letter}^{{{name}}}", "") if len(name) <= SHORT else (letter, name)


def check_kinds(op: Op) -> None:
    """Raises MismatchError for a pattern of whole numbers, if the op cannot give them so.

    An op for any kind of numbers may say which they are, but only as it is given them.
    """
    dom, cod = op.signature.dom, op.signature.cod
    given = {array.below.name for array in dom if array.below} if op.any_kind else set()
    for array in cod if op.any_kind else (*dom, *cod):
        if array.below and array.below.name not in given:
            raise MismatchError(
                f"({array}) holds {array.kind}, which is not what it works on"
                if not op.any_kind
                else f"({array}) holds {array.kind}, but nothing that it takes does",
                where=op.label,
                cure=f'"{Array(array)}"' + ("" if op.any_kind else ", or Map to make real ones"),
            )
