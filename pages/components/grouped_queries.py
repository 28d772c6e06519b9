"""Grouped queries: several query heads share one head of keys and values."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention import attention_maps
from ncd.app.panels.attention.cache_size import CacheSize
from ncd.app.panels.tensors.memory_bound import WhatMoves
from ncd.app.panels.walk import autograd_graph, cost_table, shapes, source, values

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
        CacheSize(heads=("g", "q")),
        attention_maps,
        values,
        source,
        cost_table,
        WhatMoves(),
        autograd_graph,
        shapes,
    ),
)
