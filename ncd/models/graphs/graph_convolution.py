"""A graph convolutional network: each node takes a fixed weighted sum of its neighbours."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.models.graphs.links import EDGES, FEATURES, NODES, links
from ncd.ops import Einsum, Elementwise, Linear, Map, Reduce, Rename


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
