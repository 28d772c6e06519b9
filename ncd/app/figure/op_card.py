"""The card of an op or block, and what each kind of op is for."""

from __future__ import annotations

import torch

from ncd.app.figure import diagram
from ncd.app.parts import array_summary, html_panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Cell, Circuit, Fence
from ncd.language.axes import Axis
from ncd.site import markup, op_cards, source_listing
from ncd.site.collapse_states import drawn_circuits
from ncd.site.markup import mathml
from ncd.systems.catalogue_entry import REFERENCES
from ncd.words import list_words
from ncd.write.torch_source.source_file import lines

# --- The card of an op or a block: its place, meaning, cost, inside and source


def render(scene: Scene) -> bool:
    """Shows the card of the selection; returns False if it is neither an op nor a block."""
    id = scene.selected_id
    if id.startswith("n"):
        html = _op(scene, scene.circuit.cell(id))
    elif found := _fence(scene.circuit, id):
        html = _block(scene, *found)
    else:
        return False
    html_panel.render(f'<article class="card">{html}</article>', "card")
    return True


def _fence(circuit: Circuit, id: str) -> tuple[Circuit, Fence] | None:
    """Returns a block and its circuit (for a stack of layers, the stacked circuit), or None."""
    if id.startswith("f"):
        return circuit, next(fence for fence in circuit.fences if fence.id == id)
    if not id.startswith("s"):
        return None
    every = ((whole, fence) for whole in drawn_circuits(circuit) for fence in whole.fences)
    return next(((whole, fence) for whole, fence in every if fence.id == id), None)


def _op(scene: Scene, cell: Cell) -> str:
    """Returns name, formula, pattern, arrays, cost and source lines of one op."""
    pattern, facts = str(cell.op.signature), {}
    if pattern.strip("() ->"):
        arrow = pattern.replace("->", "→")
        facts["Written on"] = source_listing.pattern(arrow, scene.circuit)
    facts |= op_cards.of_cell(cell, scene.cost)
    term = cell.op.expansion(cell.site)
    return (
        _breadcrumb(scene.circuit, cell.fences)
        + _head(cell.op.display_name, cell.op.role, scene.dark)
        + f"<p>{markup.text(cell.op.description(cell.site))}</p>"
        + mathml(cell.op.latex(cell.site), block=True)
        + op_cards.facts_html(facts)
        + _weights(scene, cell)
        + _source(scene, frozenset({cell.id}))
        + _captioned_drawing(
            "Written out", "" if term is None else diagram.inert_drawing(term, scene)
        )
        + _reference(scene.circuit, cell.fences)
    )


def _weights(scene: Scene, cell: Cell) -> str:
    """Returns what an op has learned as pictures; nothing of a module that takes long to make."""
    if not (scene.can_run and (scene.is_quick or scene.is_compiled)):
        return ""
    learned = {name: value.array for name, value in cell.initial_values.items() if value.is_learned}
    return "".join(
        f'<p class="muted">What it has learned, its {name}: {array_summary.shape(array)}</p>'
        + array_summary.html(array, _parameter(scene, cell, name).reshape(array.shape))
        for name, array in learned.items()
    )


def _parameter(scene: Scene, cell: Cell, name: str) -> torch.Tensor:
    """Returns a parameter of an op; one without inputs is a parameter itself."""
    path = f"{cell.path}.{name}" if cell.inputs else cell.path
    return scene.module.get_parameter(path).detach()


def _block(scene: Scene, circuit: Circuit, fence: Fence) -> str:
    """Returns arrays, cost and source lines of a block, and its inside as a diagram."""
    chain = _chain(circuit, fence.parent)
    first = f", the first of {fence.repeats}" if fence.repeats else ""
    return (
        _breadcrumb(circuit, chain)
        + _head(op_cards.title(fence), fence.role, scene.dark)
        + op_cards.facts_html(op_cards.of_block(circuit, fence, scene.cost))
        + _reference(circuit, (*chain, fence.id))
        + diagram.fold_button(scene, fence.id)
        + _captioned_drawing(f"What is inside{first}", diagram.block_inside(scene, fence.id))
        + _source(scene, op_cards.block_op_ids(circuit, fence))
    )


def _chain(circuit: Circuit, id: str) -> tuple[str, ...]:
    """Returns the ids of a fence and of those around it, the outermost first."""
    parents = {fence.id: fence.parent for fence in circuit.fences}
    chain: list[str] = []
    while id in parents:
        chain.insert(0, id)
        id = parents[id]
    return tuple(chain)


def _breadcrumb(circuit: Circuit, chain: tuple[str, ...]) -> str:
    """Returns the breadcrumb of the blocks around a block, the outermost first."""
    known = {fence.id: fence for fence in circuit.fences}
    steps = " › ".join(_step(known[id]) for id in chain if id in known)
    return f'<nav class="around" aria-label="The blocks around it">{steps}</nav>' if steps else ""


def _reference(circuit: Circuit, chain: tuple[str, ...]) -> str:
    """Returns links to the paper and the published code of the innermost block that has some."""
    titles = {fence.id: fence.title.strip() for fence in circuit.fences}
    blocks = (REFERENCES.get(titles.get(id, "")) for id in reversed(chain))
    found = next(filter(None, blocks), None)
    if found is None:
        return ""
    links = [_link(found.paper_address, found.paper)]
    if found.code_address:
        links.append(_link(found.code_address, f"{found.name} in transformers"))
    return f'<p class="muted">Published: {" · ".join(links)}</p>'


def _link(address: str, said: str) -> str:
    return f'<a href="{address}" target="_blank" rel="noopener">{markup.text(said)}</a>'


def _step(fence: Fence) -> str:
    title = markup.text(op_cards.title(fence))
    return f'<button data-fence="{fence.id}" data-select="{fence.id}">{title}</button>'


def _head(title: str, role: str, dark: bool) -> str:
    return f"<h2>{markup.role(role, dark)}{markup.text(title)}</h2>"


def _source(scene: Scene, nodes: frozenset[str]) -> str:
    term, circuit = scene.term, scene.circuit
    source = cached_value(
        "painted", term, make=lambda: source_listing.coloured_lines(lines(term), circuit)
    )
    html = source_listing.excerpt(source, circuit, scene.dark, nodes)
    return f'<p class="muted">Its lines of source</p>{html}' if html else ""


def _captioned_drawing(title: str, drawn: str) -> str:
    return f'<p class="muted">{title}</p>{drawn}' if drawn else ""


# --- One sentence for each kind of op on what it is for, shown at its step

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
CONTRACTION_TEXT = (
    "The products are summed over {axes}: that is how much two vectors agree, or a "
    "mean of some by the weights of others."
)
OUTER_PRODUCT_TEXT = "Every pair is multiplied, and nothing is summed."
PERMUTATION_TEXT = "The same numbers with their axes in another order, as the next part wants them."


def op_purpose(cell: Cell) -> str:
    """Returns one sentence on what an op is for.

    >>> from ncd import elaborate
    >>> from ncd.ops import Softmax
    >>> op_purpose(elaborate(Softmax("x:3")).cells[0])[:36]
    'Scores become positive weights with '
    """
    kind, name = type(cell.op).__name__, cell.op.display_name.partition(" ")[2]
    if kind == "Einsum":
        return _einsum(cell)
    if kind == "Map":
        return BY_NAME.get(name, BY_OP[kind])
    if kind == "Elementwise":
        return ELEMENTWISE.get(name, BY_OP[kind])
    if kind == "Index" and len(cell.inputs) > 1:
        return "Each position looks up its own row of the table."
    return BY_OP.get(kind) or f"{cell.description[:1].upper()}{cell.description[1:]}."


def _einsum(cell: Cell) -> str:
    outs = {axis.name for value in cell.outputs for axis in value.array}
    every: dict[str, Axis] = {a.name: a for value in cell.inputs for a in value.array}
    summed = [axis.display_name for name, axis in every.items() if name not in outs]
    if summed:
        return CONTRACTION_TEXT.format(axes=list_words(summed))
    return OUTER_PRODUCT_TEXT if len(cell.inputs) > 1 else PERMUTATION_TEXT
