"""A perceptron with one hidden layer, on points of the plane."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Term
from ncd.models.catalogue_entry import Entry, Knob
from ncd.ops import Elementwise, Linear, Named, Softmax

ACTIVATIONS = ("none", "tanh", "relu", "sigmoid")


def mlp_geometry(p1: int = 2, g: int = 1, n: int = 2) -> Term:
    """Classifies a point of the plane: y = sign(W₂ g(W₁ x + b₁) + b₂) for two classes.

    There are p₁ hidden units; g is one of ``ACTIVATIONS``. Of more than two classes each has a
    hyperplane of its own, and a softmax says how likely it is. Notes on MLPs.
    """
    return Axes(p_0=2, p_1=p1, p_2=outputs(n))(_classifier(g, n > 2))


def outputs(n: int) -> int:
    """Returns the number of hyperplanes for n classes: one for two, else one each."""
    return n if n > 2 else 1


def scores(p1: int = 2, g: int = 1, n: int = 2) -> Term:
    """Returns the perceptron without its last step: the scores that training uses."""
    return Axes(p_0=2, p_1=p1, p_2=outputs(n))(Named("p_0", "x") >> _hidden(g) >> _planes())


@lru_cache
def _classifier(g: int, several: bool) -> Term:
    last, title = (Softmax("p_2"), "n hyperplanes") if several else (Elementwise("sign"), "")
    title = title or "One hyperplane"
    fence = Block(_planes() >> last, title, "window")
    return Named("p_0", "x") >> _hidden(g) >> fence >> Named("p_2", "y")


def _hidden(g: int) -> Term:
    affine = Linear("p_0 -> p_1", "W_1", True)
    bent = affine >> Elementwise(ACTIVATIONS[g]) if g else affine
    return Block(bent, "Hidden space", "residual")


def _planes() -> Term:
    return Linear("p_1 -> p_2", "W_2", True)


MLP_GEOMETRY = Entry(
    name="mlp-geometry",
    title="Geometry of an MLP",
    source="Notes, interpreting MLPs",
    knobs=(
        Knob("p1", 1, 12, 2, help="hidden units", reason="two or three can be seen as they are"),
        Knob("g", 0, 3, 1, help="activation", reason=", ".join(ACTIVATIONS), names=ACTIVATIONS),
        Knob("n", 2, 4, 2, help="classes", reason="a colour for each", most=4),
    ),
    system=mlp_geometry,
    section="Learning",
    type="p_0 -> p_2",
)
