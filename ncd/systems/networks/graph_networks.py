"""Graph attention and graph convolution."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Einsum, Elementwise, Linear, Map, Param, Reduce, Rename, Softmax
from ncd.systems.catalogue_entry import Entry, Preset

# --- The links of a graph, from its list of edges

NODES = Knob("n", 2, 24, 8, help="nodes", reason="up to 24, so that the graph stays readable")
EDGES = Knob("e", 1, 64, 12, help="edges", reason="each from one node to another")
FEATURES = Knob("c", 1, 64, 6, help="features of a node", reason="1,433 words in Cora")
LINKS = "links"  # the label of the op that gives the table


def links() -> Term:
    """Returns a table with 1 where node n may read node u, from the two ends of every edge.

    It is a term ``e#u, e#n -> n u``. Every node may read itself, and an edge that occurs twice
    counts once.
    """
    ends = Map("e#u -> e u", "$1 == u", "from") @ Map("e#n -> e n", "$1 == n", "to")
    table = Map("n u -> n u", "max(min($1, 1), n == u)", LINKS)
    return Block(ends >> Einsum("e u, e n -> n u", "count") >> table, "Links", "mask")


# --- Graph attention: each node weights what it takes from each of its neighbours


def gat(n: int = 8, e: int = 12, c: int = 6, h: int = 2, k: int = 4) -> Term:
    """Returns a layer of attention over the neighbours of each node, ``e#u, e#n, u c -> n h k``.

    Args:
        n: The nodes; as those that are read they have the axis u.
        e: The edges, each from a node u to a node n.
        c: The features of a node.
        h: The heads.
        k: The features of a head.

    Source: Veličković et al. 2018, "Graph Attention Networks", equations 1 to 5.
    """
    return Axes(n=n, u=n, e=e, c=c, h=h, k=k)(_gat())


@lru_cache
def _gat() -> Term:
    features = Id("u c") >> Linear("c -> h k", "W") >> Wire("u h k -> u h k, u h k, u h k")
    return (
        links() @ features
        >> Id("n u") @ _scores() @ Id("u h k")
        >> Map("n u, n u h -> n u h", "where($1 > 0, $2, -inf)", "neighbours") @ Id("u h k")
        >> Softmax("u") @ Id("u h k")
        >> Einsum("n u h, u h k -> n h k", "mix")
        >> Map("n h k -> n h k", "where($1 > 0, $1, exp($1) - 1)", "ELU")
    )


def _scores() -> Term:
    """Returns a score for each pair of nodes: one number of the reader, one of the node it reads.

    The paper's vector a, of 2 k numbers, is here its two halves.
    """
    reader = Id("u h k") @ Param("h k", "a1") >> Einsum("u h k, h k -> u h") >> Rename("u -> n")
    read = Id("u h k") @ Param("h k", "a2") >> Einsum("u h k, h k -> u h")
    leaky = Map("n h, u h -> n u h", "max($1 + $2, 0.2 * ($1 + $2))", "LeakyReLU")
    return Block(reader @ read >> leaky, "Scores", "activate")


GAT = Entry(
    name="gat",
    title="Graph attention",
    source="Veličković et al. 2018, equations 1 to 5",
    knobs=(
        NODES,
        EDGES,
        FEATURES,
        Knob("h", 1, 8, 2, help="heads", reason="8 in the paper"),
        Knob("k", 1, 32, 4, help="features of a head", reason="8 in the paper"),
    ),
    system=gat,
    section="Graphs",
    type="e#u, e#n, u c -> n h k",
    width=900.0,
    presets=(
        Preset(
            "cora",
            {"n": 2708, "e": 10858, "c": 1433, "h": 8, "k": 8},
            "Veličković et al. 2018: the first layer on the citations of Cora, 5,429 of them, each "
            "in both directions",
            "Cora, 2018",
        ),
    ),
    notes={"neighbours": "Pairs without an edge get −∞, so that the softmax gives them 0."},
)


# --- A graph convolutional network: each node takes a fixed weighted sum of its neighbours


def gcn(n: int = 8, e: int = 12, c: int = 6, d: int = 8, f: int = 4) -> Term:
    """Returns two layers of graph convolution, ``e#u, e#n, u c -> n f``.

    Args:
        n: The nodes; as those that are read they have the axis u.
        e: The edges, each from a node u to a node n.
        c: The features of a node.
        d: The hidden features.
        f: The classes.

    Source: Kipf & Welling 2017, "Semi-Supervised Classification with Graph Convolutional Networks",
    equation 9, without the softmax; for edges in both directions the table is symmetric as there.

    >>> import ncd
    >>> ncd.cost(gcn(n=2708, e=10858, c=1433, d=16, f=7)).parameters
    23040
    """
    return Axes(n=n, u=n, e=e, c=c, d=d, f=f)(_gcn())


@lru_cache
def _gcn() -> Term:
    hidden = _layer("u c", "c -> d", "W0") >> Elementwise("relu") >> Rename("n -> u")
    return (
        (links() >> _shares() >> Wire("n u -> n u, n u")) @ Id("u c")
        >> Id("n u") @ Block(hidden, "Hidden Layer", "linear")
        >> Block(_layer("u d", "d -> f", "W1"), "Output Layer", "linear")
    )


def _shares() -> Term:
    """Returns D^(-1/2) A D^(-1/2): links divided by the roots of the counts at both ends."""
    counted = (
        (Reduce("u ->") >> Map("n -> n", "1 / sqrt($1)", "degree"))
        @ Id("n u")
        @ (Reduce("n ->") >> Map("u -> u", "1 / sqrt($1)", "degree"))
    )
    return Block(
        Wire("n u -> n u, n u, n u") >> counted >> Einsum("n, n u, u -> n u", "share"),
        "Normalise",
        "scale",
    )


def _layer(features: str, weights: str, name: str) -> Term:
    new = weights.split()[-1]
    return Id("n u") @ (Id(features) >> Linear(weights, name)) >> Einsum(
        f"n u, u {new} -> n {new}", "mix"
    )


GCN = Entry(
    name="gcn",
    title="Graph convolution",
    source="Kipf & Welling 2017, equation 9",
    knobs=(
        NODES,
        EDGES,
        FEATURES,
        Knob("d", 1, 64, 8, help="hidden features", reason="16 in the paper"),
        Knob("f", 1, 16, 4, help="classes", reason="7 in Cora"),
    ),
    system=gcn,
    section="Graphs",
    type="e#u, e#n, u c -> n f",
    width=900.0,
    presets=(
        Preset(
            "cora",
            {"n": 2708, "e": 10858, "c": 1433, "d": 16, "f": 7},
            "Kipf & Welling 2017: the citations of Cora, 5,429 of them, each in both directions, "
            "and 16 hidden features",
            "Cora, 2017",
        ),
    ),
    notes={"share": "Nodes with many links count less in each of them."},
)
