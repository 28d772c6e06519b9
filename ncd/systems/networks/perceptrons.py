"""Small systems that show gradients and training, such as a perceptron of the plane."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.blocks import Block
from ncd.language.terms import Beside, Id, Term
from ncd.ops import Einsum, Elementwise, Linear, Map, Named, Param, Reduce, Softmax
from ncd.systems.catalogue_entry import Entry

# --- A loss of one matrix product: the graph with which autograd is explained


def autograd(b: int = 4, m: int = 3, k: int = 2) -> Term:
    """``loss = L(x @ w)``: L is the mean of the squares of z − y."""
    return Axes(b=b, m=m, k=k)(_loss())


@lru_cache
def _loss() -> Term:
    squares = (
        Map("b k, b k -> b k", "$1 - $2", "z − y")
        >> Map("b k -> b k", "$1 ** 2", "square")
        >> Reduce("b k ->", "mean")
    )
    return (
        Named("b m", "x") @ Param("m k", "w", "normal") @ Named("b k", "y")
        >> Einsum("b m, m k -> b k", "z") @ Id("b k")
        >> Block(squares, "L", "residual")
    )


_SIZE_REASON = "a few, so that every number can be followed"

AUTOGRAD = Entry(
    name="autograd",
    title="Autograd",
    source="From autograd to transformers, part 1",
    knobs=(
        Knob("b", 1, 16, 4, help="examples", reason=_SIZE_REASON),
        Knob("m", 1, 16, 3, help="features that go in", reason=_SIZE_REASON),
        Knob("k", 1, 16, 2, help="features that come out", reason=_SIZE_REASON),
    ),
    system=autograd,
    section="Learning",
    type="b m, b k -> ()",
    notes={"L": "The mean of the squares of z − y: one number, from which backward() begins."},
)


# --- A perceptron with one hidden layer, on points of the plane

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


# --- One network as a module that owns its weights, and as a function of its weights

FUNCTION_INPUTS = {
    "x": "b i",
    "w1": "h i",
    "b1": "h",
    "w2": "o h",
    "b2": "o",
}  # what the function is given


def module_or_function(b: int = 8, i: int = 8, h: int = 64, function: int = 0) -> Term:
    """Two affine maps with a relu between them, on b examples.

    With ``function`` the weights and biases come in as further arrays, and nothing is held.
    """
    return Axes(b=b, i=i, h=h, o=1)(_network(function))


@lru_cache
def _network(function: int) -> Term:
    if not function:
        maps = Linear("i -> h", "layer1", True), Linear("h -> o", "layer2", True)
        return Named("b i", "x") >> Block(_relu_between(*maps), "SimpleMLP", "module")
    first = Einsum("b i, h i -> b h") >> Map("b h, h -> b h", "$1 + $2", "+")
    second = Einsum("b h, o h -> b o") >> Map("b o, o -> b o", "$1 + $2", "+")
    given = (Named(axes, name) for name, axes in FUNCTION_INPUTS.items())
    return Beside(*given) >> Block(_relu_between(first, second), "mlp_fn", "neutral")


def _relu_between(first: Term, second: Term) -> Term:
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
