"""Graph attention: each node weights what it takes from each of its neighbours."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.models.graphs.links import EDGES, FEATURES, NODES, links
from ncd.ops import Einsum, Linear, Map, Param, Rename, Softmax


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
