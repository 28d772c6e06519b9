"""Grouped queries: several query heads share one head of keys and values."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.kv_cache import cache_size
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Attention with many heads of queries, and fewer heads of keys and values, which groups of them
share.
"""

WHY = """
A model that writes keeps the keys and values of all tokens so far, and reads every one of them for
each new token. In a long text this cache is what fills the memory and takes the time, not the
arithmetic. So *g* heads of keys and values are shared by *g·q* heads of queries: on the wires
([how to read them](legend)) keys and values have the axis *g* alone, and the cache is *q* times
smaller. With *q* = 1 this is multi-head attention, with *g* = 1 multi-query attention, and a few
groups in between lose little of the quality and keep most of the speed. Every query head still has
a map of its own, so it can ask a question of its own.

Sources: Ainslie et al. 2023, *GQA: Training Generalized Multi-Query Transformer Models from
Multi-Head Checkpoints*, section 2.2; Shazeer 2019, *Fast Transformer Decoding: One Write-Head is
All You Need*, section 3.
"""

render_page(
    entry=catalogue["grouped-queries"],
    lead=LEAD,
    why=WHY,
    panels=(
        cache_size(heads=("g", "q")),
        ATTENTION_MAPS,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
