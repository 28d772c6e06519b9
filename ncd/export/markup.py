"""HTML of the panels. Text from outside is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from markupsafe import escape

from ncd.code.identifiers import Allotted
from ncd.drawing.base.style import fill
from ncd.lang.formulas.prefixed_amounts import amount as amount
from ncd.lang.formulas.prefixed_amounts import digits as digits
from ncd.lang.formulas.prefixed_amounts import flops as flops
from ncd.lang.types.axes import Array, Axis, Type

METER = 6.0  # em
SEPARATOR = '<span class="muted">,</span> '


def text(value: object) -> str:
    """Returns any value as escaped text, also valid in an attribute.

    >>> text('<b title="x">')
    '&lt;b title=&#34;x&#34;&gt;'
    """
    return str(escape(str(value)))


@lru_cache(maxsize=4096)
def axis(axis: Axis) -> str:
    """Returns the label of an axis, highlighted with its wires.

    >>> axis(Axis("n_0", 3)), axis(Axis("c", 3, label="c_{5-λ}"))
    ('<i class="axis" data-axis="n_0">n<sub>0</sub></i>',
     '<i class="axis" data-axis="c">c<sub>5-λ</sub></i>')
    >>> axis(Axis("w", 9, label="3^2"))
    '<i class="axis" data-axis="w">3<sup>2</sup></i>'
    >>> axis(Axis("x", (8, 8), label="x/2"))
    '<i class="axis space" data-axis="x"><span class="bar">x</span>/2</i>'
    """
    raised, _, above = axis.called.partition("^")
    base, _, below = raised.partition("_")
    name = text(base)
    if axis.spatial:
        stem, slash, rest = name.partition("/")
        name = f'<span class="bar">{stem}</span>{slash}{rest}'
    name += f"<sub>{text(below.strip('{}'))}</sub>" if below else ""
    name += f"<sup>{text(above.strip('{}'))}</sup>" if above else ""
    kind = "axis bar" if axis.sequence else "axis space" if axis.spatial else "axis"
    return f'<i class="{kind}" data-axis="{text(axis.name)}">{name}</i>'


def array(array: Array) -> str:
    """Returns the labels of an array's axes, or 1 for a number; whole numbers as ``y#v``."""
    names = " ".join(map(axis, array)) or "1"
    return names if array.below is None else f"{names}#{axis(array.below)}"


def arrays(arrays: Type | Iterable[Array]) -> str:
    """Returns the arrays of a type; a line breaks between them."""
    return listed(map(array, arrays))


def shape(array: Array) -> str:
    """Returns the sizes of an array: ``20 128``."""
    return " ".join(text(axis.size_text) for axis in array) or "1"


def sized(array: Array) -> str:
    """Returns the axes of an array with their sizes.

    >>> sized(Array()), sized(Array((Axis("w", 3), Axis("m", None))))
    ('a number',
     '<i class="axis" data-axis="w">w</i> 3 · <i class="axis" data-axis="m">m</i>')
    """
    sizes = ("" if a.size is None else f" {text(a.size_text)}" for a in array)
    return " · ".join(map("".join, zip(map(axis, array), sizes, strict=True))) or "a number"


def dimensions(axis: Axis) -> tuple[str, ...]:
    """Returns the names of an axis' dimensions in the source: two for a group.

    >>> dimensions(Axis("x", (16, 16))), dimensions(Axis("y", 20))
    (('x_h', 'x_w'), ('y',))
    """
    return tuple(Allotted().dim(dim) for dim in axis.dims)


def shapes(arrays: Iterable[Array]) -> str:
    """Returns the sizes of some arrays; a line breaks between them."""
    return listed(map(shape, arrays))


def listed(arrays: Iterable[str]) -> str:
    """Returns arrays as HTML, with commas between them; each stays on one line.

    >>> listed("yx")
    '<span class="unbroken">y</span><span class="muted">,</span> <span class="unbroken">x</span>'
    >>> listed(["y m"])
    'y m'
    """
    every = list(arrays)
    if len(every) > 1:
        every = [f'<span class="unbroken">{own}</span>' for own in every]
    return SEPARATOR.join(every)


def colour(role: str, dark: bool | None) -> str:
    """Returns the colour of a role; with ``dark`` None, a variable of the page's theme.

    >>> colour("softmax", dark=False), colour("softmax", None)
    ('#cce7cf', 'var(--softmax)')
    """
    return f"var(--{role})" if dark is None else fill(role, dark)


def role(role: str, dark: bool | None) -> str:
    """Returns a small box in the colour of a role."""
    return f'<span class="role" style="background:{colour(role, dark)}"></span>'


def table(
    head: Sequence[str], rows: Iterable[str], foot: str = "", numbers: Sequence[int] = ()
) -> str:
    """Returns a table; ``rows`` are whole ``<tr>``, ``numbers`` the right-aligned columns."""
    cells = "".join(
        f'<th scope="col"{NUMBER if i in numbers else ""}>{text(name)}</th>'
        if name
        else "<td></td>"
        for i, name in enumerate(head)
    )
    return (
        f'<div class="scroll"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody>{f'<tfoot>{foot}</tfoot>' if foot else ''}</table></div>"
    )


NUMBER = ' class="number"'


def meter(share: float, colour: str, longest: float = METER) -> str:
    """Returns a bar for a share of ``longest`` (em); empty if the share is 0.

    >>> meter(0.5, "teal")
    '<span class="meter" style="width:3.00em;background:teal"></span>'
    """
    if not share:
        return ""
    return f'<span class="meter" style="width:{longest * share:.2f}em;background:{colour}"></span>'


def counted(number: int, one: str) -> str:
    """Returns a whole number with its noun.

    >>> counted(1, "word"), counted(32768, "parameter")
    ('1 word', '32,768 parameters')
    """
    return f"{number:,} {one if number == 1 else one + 's'}"
