"""One network as a module that owns its weights, and as a function of its weights."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Beside, Term
from ncd.models.catalogue_entry import Entry, Knob
from ncd.ops import Einsum, Elementwise, Linear, Map, Named

GIVEN = {"x": "b i", "w1": "h i", "b1": "h", "w2": "o h", "b2": "o"}  # what the function is given


def module_or_function(b: int = 8, i: int = 8, h: int = 64, function: int = 0) -> Term:
    """Two affine maps with a relu between them, on b examples.

    With ``function`` the weights and biases come in as further arrays, and nothing is held.
    """
    return Axes(b=b, i=i, h=h, o=1)(_network(function))


@lru_cache
def _network(function: int) -> Term:
    if not function:
        maps = Linear("i -> h", "layer1", True), Linear("h -> o", "layer2", True)
        return Named("b i", "x") >> Block(_between(*maps), "SimpleMLP", "module")
    first = Einsum("b i, h i -> b h") >> Map("b h, h -> b h", "$1 + $2", "+")
    second = Einsum("b h, o h -> b o") >> Map("b o, o -> b o", "$1 + $2", "+")
    given = (Named(axes, name) for name, axes in GIVEN.items())
    return Beside(*given) >> Block(_between(first, second), "mlp_fn", "neutral")


def _between(first: Term, second: Term) -> Term:
    return first >> Elementwise("relu") >> second


MODULE_OR_FUNCTION = Entry(
    name="module-or-function",
    title="Module or function",
    source="Autograd, section 2",
    knobs=(
        Knob("h", 1, 256, 64, help="hidden features", reason="64 in the notebook"),
        Knob("i", 1, 10, 8, help="features of an example", reason="California has 8, diabetes 10"),
        Knob("b", 1, 32, 8, help="examples", reason="as many as stand in a table"),
        Knob(
            "function",
            0,
            1,
            0,
            help="written as",
            reason="a module holds its weights; to a function they come beside the examples",
            names=("module", "function"),
        ),
    ),
    system=module_or_function,
    section="Learning",
)
