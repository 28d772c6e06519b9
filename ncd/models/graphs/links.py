"""The links of a graph, from its list of edges."""

from __future__ import annotations

from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Term
from ncd.models.catalogue_entry import Knob
from ncd.ops import Einsum, Map

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
