"""Sampling: how a language model's scores become the next token."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.language_models.sampling_steps import CUTS, TEXTS
from ncd.app.panels.language_models.speculative_texts import SPECULATIVE
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A language model gives each token a score, and no text. What it writes is drawn: from the likeliest
tokens, with chances that a temperature makes sharper or more even.
"""

WHY = """
A softmax makes chances of the scores, and a token is drawn from them: it is the one on whose piece
of a line from 0 to 1 a random number falls. What is written goes in again, and the model gives
scores for the token after it.

To draw from **all** tokens goes wrong in the tail. Each of its tokens is unlikely, but there are
thousands, and together they have a share that is drawn again and again; after one word that fits
nothing the model goes on as if it had been meant. **Top-k** leaves the *k* likeliest. But where
many words fit, that is too few, and where only one does, too many. **Top-p**, or nucleus sampling,
leaves the likeliest that together have a share of *p*: few where the model is sure, else many.

A **temperature** divides the scores before the softmax. Below one the likeliest gain, above one the
others; near zero the draw becomes **greedy**. It changes no order, so that top-k leaves the same
tokens before it as after it, but top-p does not: here, as in most libraries, the temperature comes
first.

Should a model not write what is likeliest? **Beams** keep the best few texts after each word, and
find likelier ones than greedy does. That is right for a translation, where there is little choice.
For a story it is not: likely words are dull, and the same beginning always goes on alike.

A pass of a model reads all its weights, for one word as for several. In **speculative decoding**
a small draft proposes a few words, and one pass gives the model's own chances at all of them. A
word with the chances *p* there and *q* in the draft stays with min(1, *p* / *q*); the first that
does not is drawn anew from max(0, *p* − *q*). So the text is drawn as if the model wrote it alone.

The logarithms of the chances leave the circuit too: reinforcement learning from rewards changes a
model by their gradient, which reaches the scores of all tokens that are left, and of no others.

Where it is used: [GPT-2](gpt-2) and [Llama](llama) write on with a temperature and top-k; the
temperature is that of [cross-entropy](cross-entropy).

Sources: Fan et al. 2018, *Hierarchical Neural Story Generation*, section 5.2; Holtzman et al. 2020,
*The Curious Case of Neural Text Degeneration*, sections 3 and 4; Graves 2012, *Sequence
Transduction with Recurrent Neural Networks*, for the beams; Leviathan et al. 2023, *Fast Inference
from Transformers via Speculative Decoding*; Chen et al. 2023, *Accelerating Large Language Model
Decoding with Speculative Sampling*.
"""

render_page(
    entry=catalogue["sampling"],
    lead=LEAD,
    why=WHY,
    panels=(CUTS, TEXTS, SPECULATIVE, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
