"""Low precision: what formats of 16 and 8 bits keep of weights, activations and gradients."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.number_bits import BITS
from ncd.app.panels.learning.number_ranges import RANGE
from ncd.app.panels.learning.running_sum import SUM
from ncd.app.panels.learning.vanishing_update import UPDATE
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Numbers of 16 or 8 bits take less memory than those of 32, and are multiplied faster. But they have
fewer digits or reach less far: small gradients become 0, and small steps change nothing.
"""

WHY = """
A number in floating point has a sign, an exponent and a mantissa. The bits of its exponent say how
far it reaches, and those of its mantissa how many digits it has. *float16* has 5 and 10 of them,
*bfloat16* 8 and 7: as far as float32, with fewer digits. Of the formats of 8 bits, *E4M3* is meant
for weights and activations, and *E5M2*, with less precision and a wider range, for gradients.

**Range.** A loss is a mean over many examples, and the gradient of each is so much smaller. What is
too small for the format becomes 0. A **loss scale** multiplies the loss, and with it every
gradient, before anything is rounded; the step divides by it again. Torch's `GradScaler` begins with
65,536. If a gradient becomes infinite, it leaves out the step and halves the scale, and after 2,000
good steps it doubles it. With bfloat16 none is needed.

**Digits.** A step changes a weight by a small share. If that is less than half of the spacing of
numbers there, w + Δ is w, at this step and at the next: what is learned slowly is not learned at
all. So **master weights** are kept in float32, and the network multiplies with a rounded copy. A
long sum has the same fault, and is kept in float32 for the same reason: a product of matrices takes
short numbers, and adds up long ones.

What goes wrong is told by no error. A gradient of 0 looks like a weight that has nothing to learn,
and a loss that is *nan* may come from one number that was too large.

Where it is used: `torch.autocast` runs linear maps and convolutions in 16 bits, and losses in
float32. *tf32* is float32 in memory, of which products read 10 bits of the mantissa. What the
formats save of a system's memory is shown under *Number formats* at the side.

Sources: PyTorch's documentation of *torch.amp*, *torch.finfo* and *Numerical accuracy*;
Micikevicius et al. 2018, *Mixed Precision Training*; Micikevicius et al. 2022, *FP8 Formats for
Deep Learning*.
"""

render_page(
    entry=catalogue["low-precision"],
    lead=LEAD,
    why=WHY,
    panels=(RANGE, BITS, UPDATE, SUM, VALUES, SOURCE, AUTOGRAD_GRAPH, COST_TABLE, SHAPES),
)
