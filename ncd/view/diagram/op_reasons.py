"""One sentence for each kind of op on what it is for, shown at its step."""

from __future__ import annotations

from ncd.lang.circuits.circuit import Cell
from ncd.lang.plain_text import listed
from ncd.lang.types.axes import Axis

BY_OP = {
    "Linear": (
        "Each new feature is a learned mixture of the old ones: this is where the system learns."
    ),
    "Wire": "Several parts need the same array, or need it in another place.",
    "Copy": "Several parts need the same array.",
    "Add": "What was found is added to what was there, so that nothing gets lost on the way.",
    "Elementwise": (
        "A bend: without one, linear maps in a row would be no more than one linear map."
    ),
    "Softmax": (
        "Scores become positive weights with sum 1, so that what follows is a weighted mean."
    ),
    "Conv": "The same small pattern is looked for at every place, with the same few weights.",
    "ConvTranspose": "Each place is spread over a window, which makes the image larger again.",
    "Scale": (
        "A sum over many features grows with their number; this keeps the scores in a "
        "range where a softmax can still choose."
    ),
    "Index": "One place of the axis is wanted, so the axis ends here.",
    "LayerNorm": "Numbers of a usual size go into the next layer, whatever came out of the last.",
    "RMSNorm": "Numbers of a usual size go into the next layer, without the cost of a mean.",
    "GroupNorm": "Numbers of a usual size go into the next layer, in groups of channels.",
    "BatchNorm": (
        "Each channel gets a usual mean and spread over the whole batch, so that large "
        "steps of learning stay safe."
    ),
    "Param": "This array is not computed from what goes in: it is learned itself.",
    "CausalMask": "A position must not read its own answer, which stands further on.",
    "Group": "Two axes become one, as the next part reads a single row of numbers.",
    "Split": "One axis becomes two, as the next part treats its pieces separately.",
    "Rename": "The numbers stay: the next part calls this axis by another name.",
    "Named": "The array has a name from here on.",
    "MaxPool": (
        "The strongest answer of each window is enough: where exactly it was matters little."
    ),
    "AveragePool": "The mean of each window is enough: where exactly it was matters little.",
    "Reduce": "One number stands for all along the axis.",
    "Cut": "One map has made several arrays at once; here they part.",
    "Concat": (
        "Both arrays are kept side by side, and the next part decides what to take from which."
    ),
    "Top": "Only the best are computed further, which saves the work for all others.",
    "Window": "Every place sees its neighbours.",
    "Fold": "Each place adds up what all windows say of it.",
    "Scatter": "Each number is added where its place says: this is how a table learns.",
    "Inner": "How much do two arrays agree? The products along the axis are summed.",
    "Function": "Any function on these axes: what the diagram says of it holds for each.",
    "Map": "The same formula for the numbers at every place.",
    "Dropout": (
        "Numbers are left out at random in training, so that the system relies on none of them."
    ),
    "Cumulative": "Each place gets the sum of all before it.",
    "Pad": "The edge gets neighbours too.",
    "Roll": "Every place sees what its neighbour had.",
    "Swap": "The next part takes the arrays in another order.",
    "Unit": "A loop of two wires that can be pulled straight.",
    "Given": "This array is fixed: neither computed nor learned.",
    "Opaque": "A function of torch, taken as it is.",
}
BY_NAME = {
    "angle": (
        "Each pair of features turns with its own speed, so that near and far can be told apart."
    ),
    "turn": (
        "A turned pair keeps its length: only the angle between a query and a key depends "
        "on their distance."
    ),
    "gate": "The gate says how much of each feature passes.",
    "times": "The gate says how much of each feature passes.",
    "SwiGLU": "The gate says how much of each feature passes.",
    "window": (
        "What is too far back is not read, so that the work grows with the length and not "
        "its square."
    ),
    "positions": "Without its number a position would not know where it stands.",
    "sin, cos": "Without its number a position would not know where it stands.",
    "distance": "What is far away needs no exact distance.",
    "cap": "No score grows without bound, so that none drowns all others.",
    "cell": (
        "The memory keeps what the forget gate lets stay, and takes in what the input gate "
        "lets pass."
    ),
    "hidden": "The new state lies between the old one and what was proposed.",
    "update": "It says how much of the old state is replaced.",
    "reset": "It says how much of the old state the proposal may use.",
    "write": "What was learned at this position is written into the matrix of the state.",
    "error": "Only what the memory does not know yet is written.",
    "share": "Divided by the sum of all weights, the result is a weighted mean.",
    "unit": "Keys of length 1 make sure that writing replaces, and never blows up.",
    "links": "Every node also reads itself.",
    "neighbours": "Where there is no edge the score is minus infinity, and the weight becomes 0.",
    "degree": "A node with many neighbours must not get larger numbers for it.",
    "from": "Each edge names the node that it comes from.",
    "to": "Each edge names the node that it goes to.",
    "scale": "The numbers are brought to the size that the next part expects.",
    "square": "A mistake counts whatever its sign, and a large one counts more.",
    "0": "Nothing is remembered at the beginning.",
}
ELEMENTWISE = {
    "sigmoid": "A number between 0 and 1 says how far a gate is open.",
    "tanh": (
        "A number between −1 and 1 can be written into a memory again and again without growing."
    ),
}
SUMMED = (
    "The products are summed over {axes}: that is how much two vectors agree, or a "
    "mean of some by the weights of others."
)
PAIRED = "Every pair is multiplied, and nothing is summed."
TURNED = "The same numbers with their axes in another order, as the next part wants them."


def reason(cell: Cell) -> str:
    """Returns one sentence on what an op is for.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.ops import Softmax
    >>> reason(elaborate(Softmax("x:3")).cells[0])[:36]
    'Scores become positive weights with '
    """
    kind, name = type(cell.op).__name__, cell.op.label.partition(" ")[2]
    if kind == "Einsum":
        return _einsum(cell)
    if kind == "Map":
        return BY_NAME.get(name, BY_OP[kind])
    if kind == "Elementwise":
        return ELEMENTWISE.get(name, BY_OP[kind])
    if kind == "Index" and len(cell.inputs) > 1:
        return "Each position looks up its own row of the table."
    return BY_OP.get(kind) or f"{cell.words[:1].upper()}{cell.words[1:]}."


def _einsum(cell: Cell) -> str:
    outs = {axis.name for value in cell.outputs for axis in value.array}
    every: dict[str, Axis] = {a.name: a for value in cell.inputs for a in value.array}
    summed = [axis.called for name, axis in every.items() if name not in outs]
    if summed:
        return SUMMED.format(axes=listed(summed))
    return PAIRED if len(cell.inputs) > 1 else TURNED
