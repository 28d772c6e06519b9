"""What the layers of a perceptron do to the plane: the notes on interpreting MLPs."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.geometry import GEOMETRY
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
One layer turns, stretches, shifts and bends the plane; then a single straight cut is to part the
classes. Train it, and watch where the plane goes.
"""

WHY = """
A classifier with one hidden layer says y = sign(W₂ g(W₁ x + b₁) + b₂). Its last step can only cut
straight: the points where W₂ z + b₂ = 0 are a **hyperplane** of the hidden space, with W₂ as its
normal, and the sign says on which side z lies. So all that comes before has to bring the classes
to different sides of one flat cut.

W₁ turns the plane, stretches it along two axes and turns it again, which is its **singular value
decomposition**; with three hidden units it tilts the plane like a sheet of paper in a room. The
bias shifts it. All of that keeps straight lines straight, so it cannot part XOR, whatever the
numbers: choose *none* as activation and see it fail. The activation **bends** the sheet. Two hidden
units are enough then, if training finds the way there; from some seeds it does not. Training looks
at W₂ z + b₂ itself: a sign is flat, so it has no slope that could say which way is better.

How many units are needed is a question of shape. No single cut of a line parts a piece from both of
its ends; bent into a V in the plane it can, so one feature has to become two. A disc in a ring has
to be lifted out of its plane: two units never part them, however many layers there are; some layer
needs three.

With more classes each has a hyperplane of its own, and the softmax likes the class whose side a
point is deepest in. Take that as a picture only: the rows of W₂ differ in length, so the scores are
distances times those lengths, and the softmax takes their exponential.

Sources: *Notes*, Interpreting MLPs; Olah 2014, *Neural Networks, Manifolds, and Topology*, for
the disc in the ring. The notes write W₁ with p₀ rows and p₁ columns; to multiply x from the left it
has p₁ rows, as here. A map W₁ x also stretches: the notes speak of rotating and shifting alone.
"""

render_page(
    entry=catalogue["mlp-geometry"],
    lead=LEAD,
    why=WHY,
    panels=(GEOMETRY, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
