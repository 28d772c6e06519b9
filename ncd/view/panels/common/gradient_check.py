"""The comparison of gradients with finite differences, a part of the Autograd panel."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.export import markup
from ncd.graph import Slope, slopes
from ncd.view.base.cache import remember
from ncd.view.learning import requires_grad
from ncd.view.session.scene import Scene

MANY = 20  # the greatest number of entries that are changed one by one
MOST = 200_000_000  # the limit for the FLOPs of all trials together, and for the parameters
CORNER = (
    " They differ at a corner: where the largest numbers of a window are equal, as on the plain "
    "ground of a picture, or a ReLU stands at 0, there is no single slope; torch takes one side."
)


def told(scene: Scene, off: frozenset[str], names: Mapping[str, str]) -> str:
    """Returns a sentence about the comparison."""
    count = len(requires_grad.leaves(scene)) - len(off)
    if scene.cost.flops > MOST or scene.cost.parameters > MOST:
        return '<p class="muted">Finite differences would take too long at these sizes.</p>'
    together = 2 * count * scene.cost.flops > MOST or count > MANY

    def tried() -> tuple[Slope, ...]:
        return slopes(scene.module, *scene.inputs, frozen=off, together=together)

    key = (*scene.numbers, off)
    found = remember("slopes", scene.term, *key, make=lambda: scene.work(tried))
    return _lines(found, names)


def _lines(found: tuple[Slope, ...], names: Mapping[str, str]) -> str:
    sign = "✓" if all(found) else "✗"
    far = markup.digits(max(slope.apart for slope in found))
    one = len(found) == 1 and len(found[0].names) > 1
    what = "all of them together" if one else "each of them"
    rows = [_line(slope, "all" if one else names.get(slope.names[0], "")) for slope in found]
    return (
        f"<details><summary>{sign} The same by finite differences, but for {far}</summary>"
        f"<p>In 64 bits, {what} moved by 10⁻⁶ along a random direction, there and back: how fast "
        f"the end changes.{'' if all(found) else CORNER}</p>"
        f"{markup.table(('', 'as the gradient says', 'as tried'), rows, numbers=(1, 2))}</details>"
    )


def _line(slope: Slope, name: str) -> str:
    said = (f"{number:.8f}".replace("-", "−") for number in (slope.gradient, slope.tried))
    cells = "".join(f'<td class="number">{number}</td>' for number in said)
    return f"<tr><td>{name}</td>{cells}</tr>"
