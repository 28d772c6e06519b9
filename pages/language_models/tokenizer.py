"""Tokenizer: merges that are learned from a text, and the vectors of its tokens."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.language_models.token_merges import MERGES
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A language model reads no letters. Its text is cut into pieces that were frequent in the texts it
has learned from, and each piece becomes a row of a table.
"""

WHY = """
At first every byte is a token. Then the pair of tokens that stands side by side most often becomes
a token of its own, and this is done again and again: that is **byte-pair encoding**. Frequent words
end as one token, rare ones as several pieces, and no text is without tokens, as each of its bytes
is one.

The merges are made in the same order when a new text is cut. So they cut the texts best that are
like those they have learned from: other languages, code or names take more tokens for the same
meaning, which costs time and room. A token does not reach over the end of a word, and has the space
before the word with it, so that a word at the start of a line is another token than in its midst.

How many tokens? Each has a row of *m* numbers in the table, and one score at the end of the model.
With more of them texts are shorter, but many are rare, and little is learned of those.

The number of a token says nothing: it is only a place in the table. To take its row is the same as
to multiply the table with a vector that has a single 1, and its gradient reaches that row and no
other. Nobody multiplies so, as nearly all of the work would be with zeros.

A model that is given tokens does not see how they are spelled. That is why it may err where letters
are counted, or digits of long numbers are added.

Nothing is trained here but the merges: the table is drawn from the seed.

Where it is used: every language model here begins so, from [GPT-2](gpt-2) to [Llama](llama);
[sampling](sampling) is what stands at its other end.

Sources: Sennrich et al. 2016, *Neural Machine Translation of Rare Words with Subword Units*,
section 3.2; Gage 1994, *A New Algorithm for Data Compression*, whose idea it is; Radford et al.
2019, *Language Models are Unsupervised Multitask Learners*, section 2.2, for bytes.
"""

render_page(
    entry=catalogue["tokenizer"],
    lead=LEAD,
    why=WHY,
    panels=(MERGES, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
