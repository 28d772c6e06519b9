"""Drawing: a term becomes a neural circuit diagram."""

from __future__ import annotations

from ncd.drawing.drawing import Drawing
from ncd.drawing.fold import plan
from ncd.drawing.layout import lay
from ncd.drawing.names import Labels
from ncd.lang.elaborate import elaborate
from ncd.lang.terms import Term


def draw(term: Term, labels: Labels = "names", *, dark: bool = False, mark: str = "") -> Drawing:
    """The neural circuit diagram of a term.

    ``labels``: what stands on the wires. ``mark``: the id of an op to be marked as the one that
    fails. Axes without a size are drawn with their names.

    >>> from ncd.lang.terms import Id
    >>> draw(Id("y:2 m:3")).svg(fonts=False)[:4]
    '<svg'
    """
    return lay(plan(elaborate(term)), labels, dark=dark, mark=mark)
