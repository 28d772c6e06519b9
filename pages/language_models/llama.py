"""Llama: the decoder that most open language models are built like."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.model_size import MODEL_SIZE
from ncd.app.panels.language_models.next_word import NEXT_WORD
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A language model with four changes since GPT-2: simpler norms, positions that turn, heads that share
keys, and a gate.
"""

WHY = """
The norm divides by the root of the mean square and subtracts no mean (RMSNorm). Positions are not
added to the words: in every layer, pairs of features of each query and key are turned by an angle
that grows with the position, so that a score depends on how far two words are apart (rotary
positions). Values are not turned.

Of *g* · *q* heads that ask, *q* share the keys and values of one, so that a text that is written
needs memory for *g* heads only: in Llama 3 8B, a quarter. With *q* = 1 every head has its own; with
*g* = 1 there is one for all. And in the feed-forward a second map says how much of each hidden
feature passes (SwiGLU).

What stays: the layers only add to what comes in, each position sees itself and what came before.

At the sizes that the page opens at, the weights are trained on the same small stories as those of
[GPT-2](gpt-2) (`python -m ncd train llama --seed 0`). On stories that it has not learned from, its
perplexity is 1.75. At other sizes the weights are drawn from the seed.

Sources: Touvron et al. 2023, *LLaMA*, section 2.2; Grattafiori et al. 2024, *The Llama 3 Herd of
Models*, section 3.2; Zhang and Sennrich 2019, *Root Mean Square Layer Normalization*; Su et al.
2021, *RoFormer*; Ainslie et al. 2023, *GQA*; Shazeer 2020, *GLU Variants Improve Transformer*.
"""

render_page(
    entry=catalogue["llama"],
    lead=LEAD,
    why=WHY,
    panels=(
        NEXT_WORD,
        ATTENTION_MAPS,
        TRAINING,
        MODEL_SIZE,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
