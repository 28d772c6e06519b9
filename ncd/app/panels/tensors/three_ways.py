"""One result in several ways: a loop, vmap, broadcasting; a linear map and a 1 × 1 convolution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

import ncd
from ncd.app.figure import diagram
from ncd.app.figure.diagram import terms_in_a_row
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin, with_tooltip
from ncd.app.state.cache import cached_value
from ncd.drawing.elements.style import role_colour
from ncd.explain.equation_proof import max_difference
from ncd.language.blocks import Block, Equation
from ncd.language.terms import Term
from ncd.run.measurement import medians
from ncd.site import markup, source_listing
from ncd.systems.tensors import array_indexing

# --- The Three ways panel: an operation on every row by a loop, by torch.vmap, and by broadcasting

MANY_ROWS = 300  # the number of rows in the second timing
LARGEST = 10_000_000  # the greatest number of values in those rows
LONGEST = 3_000  # the greatest number of steps of a loop
Map = Callable[..., Tensor]


@dataclass(frozen=True)
class Lift:
    """An operation on one row, its broadcast form as a figure, and code for each way.

    ``op`` is the operation as code, ``code`` the code of each way to apply it to every row.
    """

    row_term: Callable[..., Term]
    broadcast_term: Callable[..., Term]
    takes: tuple[str, ...]
    formula: str
    notes: Mapping[str, str]
    op: str
    code: Mapping[str, str]
    cells: bool = True


@dataclass(frozen=True)
class BatchedRuns:
    """The seconds of each way for each number of rows; None where it would take too long.

    ``differences`` is the largest difference between each way and the diagram's module.
    """

    seconds: Mapping[int, Mapping[str, float | None]]
    differences: Mapping[str, float | None]


LOOP, VMAP, OWN = "by a loop", "by torch.vmap", "by torch’s own rules"


def show_three_ways(scene: Scene) -> None:
    """Shows the operation, its broadcast form, and for each way its code, time and error."""
    lift = LIFTS[scene.entry.name]
    own = {name: scene.settings[name] for name in lift.takes}
    each = lift.broadcast_term(c=scene.settings["c"], **own)
    found = cached_value(
        "ways",
        each,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: measure_ways(scene, lift)),
    )
    sizes = {**scene.settings, "by": _times(scene)}
    figure = terms_in_a_row(
        (_fenced_term(lift.row_term(**own), lift), _fenced_term(each, lift, lifted=True)),
        f"{lift.formula.format_map(sizes)} ↦",
        scene,
        {part: note.format_map(sizes) for part, note in lift.notes.items()},
        cells=lift.cells,
        paint="inner" if "d" in lift.takes else "lift",
    )
    html_panel.render(figure + _ways_summary(found) + _table(found, lift, scene), "ways")


THREE_WAYS = Panel("Three ways", show_three_ways, follows_moves=True)


def _times(scene: Scene) -> str:
    return f"×{scene.settings['c']} × {scene.settings['a']}"


def _fenced_term(term: Term, lift: Lift, lifted: bool = False) -> Term:
    """Returns the term in its fence, if the figure has one."""
    if lift.cells:
        return term
    title = "Element-wise $f$" if lifted else "Operation on a Value $f : ℝ → ℝ$"
    return Block(term, title, "transpose")


# --- the run --------------------------------------------------------------------------------------


def measure_ways(scene: Scene, lift: Lift) -> BatchedRuns:
    """Runs all ways on the page's input, and measures their times there and on many rows."""
    settings, inputs = scene.settings, scene.inputs
    ways = way_functions(scene, lift)
    own = {name: settings[name] for name in lift.takes}
    module = ncd.compile(lift.broadcast_term(c=settings["c"], **own), scene.seed, scene.device)
    seconds = {}
    with torch.no_grad():
        right = module(*inputs)
        short = {name: way for name, way in ways.items() if _steps(name, scene, settings["c"])}
        apart = {
            name: ncd.explain.equation_proof.max_difference(way(*inputs), right)
            for name, way in short.items()
        }
        row = inputs[0][0].numel() + right[0].numel()
        many = MANY_ROWS if MANY_ROWS * row <= LARGEST else settings["c"]
        for rows in dict.fromkeys((settings["c"], many)):
            given = (_rows(inputs[0], rows), *inputs[1:])
            calls = {
                name: (lambda way=way, given=given: way(*given))
                for name, way in ways.items()
                if _steps(name, scene, rows)
            }
            found = medians(calls, device=scene.device, rounds=9, warm=0, budget=0.05)
            seconds[rows] = {name: found.get(name) for name in ways}
    return BatchedRuns(seconds, {name: apart.get(name) for name in ways})


def _steps(name: str, scene: Scene, rows: int) -> bool:
    """Returns whether a loop needs few enough steps in Python."""
    each = scene.settings["a"] if scene.entry.name == "elementwise" else 1
    return name != LOOP or rows * each <= LONGEST


def _rows(table: Tensor, rows: int) -> Tensor:
    """Returns ``rows`` rows, repeating those of the table."""
    return table[torch.arange(rows, device=table.device) % len(table)]


def way_functions(scene: Scene, lift: Lift) -> dict[str, Map]:
    """Returns each way as a function of the page's inputs."""
    weights, nested = _weights(scene, lift), not lift.cells

    def op(*given: Tensor) -> Tensor:
        if nested:
            return torch.tanh(weights[0] * given[0])
        parts = [x @ weight for x, weight in zip(given, weights, strict=True)]
        return torch.tanh(sum(parts[1:], parts[0]))

    def loop(table: Tensor, *rest: Tensor) -> Tensor:
        found = table.new_zeros(len(table), scene.settings["a" if nested else "b"])
        for i in range(len(table)):
            if not nested:
                found[i] = op(table[i], *rest)
            for j in range(found.shape[1] if nested else 0):
                found[i, j] = op(table[i, j])
        return found

    rest = (None,) * (len(weights) - 1)
    lifted = torch.vmap(torch.vmap(op)) if nested else torch.vmap(op, (0, *rest))
    return {LOOP: loop, VMAP: lifted, OWN: op}


def _weights(scene: Scene, lift: Lift) -> list[Tensor]:
    """Returns the matrix of each input of the operation, (in, out); of a number, a number.

    It is found by applying the operation without its tanh to unit vectors, with the other inputs 0,
    or its gradient if there are fewer outputs than inputs.
    """
    term = lift.row_term(**{name: scene.settings[name] for name in lift.takes}, fn="linear")
    linear = ncd.compile(term, device=scene.device)
    if not lift.cells:
        return [linear(torch.ones(1, device=scene.device)).squeeze()]
    (gives,), found = term.cod, []
    zeros = [torch.zeros(array[0].numel, device=scene.device) for array in term.dom]
    for n, zero in enumerate(zeros):

        def alone(x: Tensor, n: int = n) -> Tensor:
            made: Tensor = linear(*zeros[:n], x, *zeros[n + 1 :])
            return made

        if len(zero) <= gives.numel:
            found.append(torch.vmap(alone)(torch.eye(len(zero), device=scene.device)))
        else:
            back = torch.func.vjp(alone, zero)[1]
            units = torch.eye(gives.numel, device=scene.device)
            found.append(torch.vmap(back)(units)[0].T)
    return found


# --- the page -------------------------------------------------------------------------------------


def _ways_summary(found: BatchedRuns) -> str:
    """Returns a sentence about the agreement of the ways and the cost of the loop."""
    far = [apart for apart in found.differences.values() if apart is not None]
    sign, agree = ("✓", "give the same") if max(far) < 1e-5 else ("✗", "do not give the same")
    many = found.seconds[max(found.seconds)]
    loop, own = many[LOOP], many[OWN]
    slow = ""
    if loop and own:
        times = float(f"{loop / own:.1g}")
        slow = (
            f" On {max(found.seconds):,} rows the loop takes about {times:,.0f} times as long as "
            "torch’s own rules."
        )
    count = "All three" if len(far) == 3 else "Those that were run"
    return f'<p role="status">{sign} {count} {agree} as the diagram.{slow}</p>'


def _table(found: BatchedRuns, lift: Lift, scene: Scene) -> str:
    heads = [f"{rows:,} rows" for rows in found.seconds]
    longest = {rows: max(t or 0.0 for t in times.values()) for rows, times in found.seconds.items()}
    names = {name: name for name in "abcd" if name in scene.settings}
    colour = role_colour("operation", scene.dark)
    rows = [
        f"<tr><td>{way}{_code(lift.code[way], names)}</td>"
        + "".join(
            f'<td class="number">{_time(times[way])}'
            f"<br>{markup.meter((times[way] or 0.0) / longest[rows], colour)}</td>"
            for rows, times in found.seconds.items()
        )
        + f'<td class="number">{_difference_text(found.differences[way])}</td></tr>'
        for way in (LOOP, VMAP, OWN)
    ]
    head = ("Way", *heads, "Off by")
    return (
        _code(lift.op, names)
        + markup.table(head, rows, numbers=range(1, len(head)))
        + f'<p class="muted">Times are medians on {markup.text(scene.device)}. “Off by” is the '
        "largest difference from what the diagram’s own module gives, in any number: "
        f"{with_tooltip('rounding', 'sums in another order')}. "
        f"{numbers_origin(scene)}</p>"
    )


def _code(text: str, names: Mapping[str, str]) -> str:
    return (
        f'<div class="code">{"<br>".join(source_listing.coloured(text.splitlines(), names))}</div>'
    )


def _time(seconds: float | None) -> str:
    return "too long to wait" if seconds is None else markup.amount(seconds, "s")


def _difference_text(apart: float | None) -> str:
    return "–" if apart is None else markup.digits(apart)


LIFTS = {
    "broadcasting": Lift(
        array_indexing.row,
        array_indexing.rows,
        ("a", "b"),
        "×{c} Broadcasting",
        {
            "": "An operation over a single ${a}$-length row is applied in parallel over ${c}$ "
            "separate rows by broadcasting. This lifts an operation $G : ℝ^{{{a}}} → ℝ^{{{b}}}$ to "
            "$ℝ^{{{c}×{a}}} → ℝ^{{{c}×{b}}}$."
        },
        "def G(x): return torch.tanh(x @ W)",
        {
            LOOP: "Y = torch.zeros(c, b)\nfor i in range(c):\n    Y[i] = G(X[i])",
            VMAP: "Y = torch.vmap(G)(X)",
            OWN: "Y = G(X)",
        },
    ),
    "inner-broadcasting": Lift(
        array_indexing.pair,
        array_indexing.pairs,
        ("a", "d", "b"),
        "×{c} Inner Broadcasting",
        {
            "": "A $ℝ^{{{c}×{a}}} × ℝ^{{{d}}}$ collection of data can be reduced to $ℝ^{{{a}}} × "
            "ℝ^{{{d}}}$ in ${c}$ different ways. Therefore, an operation $H : ℝ^{{{a}}} × "
            "ℝ^{{{d}}} → ℝ^{{{b}}}$ can be lifted to an operation $ℝ^{{{c}×{a}}} × ℝ^{{{d}}} → "
            "ℝ^{{{c}×{b}}}$ by inner broadcasting."
        },
        "def H(x, z): return torch.tanh(x @ W + z @ V)",
        {
            LOOP: "Y = torch.zeros(c, b)\nfor i in range(c):\n    Y[i] = H(X[i], Z)",
            VMAP: "Y = torch.vmap(H, (0, None))(X, Z)",
            OWN: "Y = H(X, Z)",
        },
    ),
    "elementwise": Lift(
        lambda a, fn="tanh": array_indexing.value(fn),
        array_indexing.values,
        ("a",),
        "{by} Broadcasting",
        {
            "": "Starting with a function on values, we apply it onto every value in data by "
            "broadcasting.",
            "f": "Broadcasting with a $1$-length axis leaves data types unchanged, so $1$-length "
            "axes can be freely introduced and removed with arrows.",
        },
        "def f(x): return torch.tanh(w * x)",
        {
            LOOP: "Y = torch.zeros(c, a)\nfor i in range(c):\n    for j in range(a):\n"
            "        Y[i, j] = f(X[i, j])",
            VMAP: "Y = torch.vmap(torch.vmap(f))(X)",
            OWN: "Y = f(X)",
        },
        cells=False,
    ),
}


# --- The Two ways panel: linear maps and 1 × 1 convolutions with the same weights

MAX_TABLE_SIDE = 8  # the greatest number of positions and features that are shown


@dataclass(frozen=True)
class Ways:
    """The difference between both ways, and the notebook's example."""

    outputs: float
    gradients: float
    example_inputs: tuple[tuple[float, ...], ...]
    sums: tuple[float, ...]
    example_outputs: tuple[tuple[float, ...], ...]


def show_pointwise(scene: Scene) -> None:
    """Shows both diagrams, their difference, and the notebook's example."""
    key = scene.run_key
    found = cached_value(
        "two ways", scene.term, *key, make=lambda: scene.run_in_pool(lambda: ways(scene))
    )
    conv, linear = conv_and_linear(scene)
    drawn = diagram.inert_drawing(Equation(linear, conv), scene)
    html_panel.render(
        drawn + _pointwise_summary(scene, found) + _example(found, scene.settings["m"]), "two ways"
    )


POINTWISE = Panel("Two ways", show_pointwise, follows_moves=True)


def conv_and_linear(scene: Scene) -> tuple[Term, Term]:
    """Returns the system with convolutions, and the same with linear maps."""
    conv, linear = (scene.entry.build(**{**scene.settings, "conv": n}) for n in (1, 0))
    return conv, linear


def ways(scene: Scene) -> Ways:
    """Runs both on the same weights, forward and backward."""
    conv, linear = (ncd.compile(term, scene.seed) for term in conv_and_linear(scene))
    weights = {name: w.detach().requires_grad_() for name, w in linear.named_parameters()}
    x = scene.inputs[0].detach().cpu().requires_grad_()
    windows = {
        name.replace("linear", "conv"): _convolution_weight(w) for name, w in weights.items()
    }
    one, two = functional_call(linear, weights, (x,)), functional_call(conv, windows, (x,))
    leaves = (x, *weights.values())
    pairs = [torch.autograd.grad(y.square().sum(), leaves) for y in (one, two)]
    gradients = max(max_difference(a, b) for a, b in zip(*pairs, strict=True))
    given, found = x.detach(), twos(x.detach())
    return Ways(
        max_difference(one, two),
        gradients,
        _first_cells(given),
        tuple(given.sum(-1).tolist()),
        _first_cells(found),
    )


def _convolution_weight(weight: Tensor) -> Tensor:
    """Returns the weights reshaped for the convolution; biases stay unchanged."""
    return weight.unsqueeze(-1) if weight.dim() > 1 else weight


def twos(x: Tensor) -> Tensor:
    """Returns the notebook's convolution: all weights 1, those of the second channel 2.

    >>> twos(torch.tensor([[1.0, 2.0, 3.0]])).tolist()
    [[6.0, 12.0, 6.0]]
    """
    m = x.shape[-1]
    weights = torch.ones(m, m, 1)
    weights[1:2] += 1
    return torch.nn.functional.conv1d(x.T, weights).T


def _first_cells(x: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in x[:MAX_TABLE_SIDE, :MAX_TABLE_SIDE].tolist())


def _pointwise_summary(scene: Scene, found: Ways) -> str:
    return (
        "<p>A convolution's weights have one axis more, of size 1: the window. Without it they are "
        "those of the linear map. On the same weights and inputs the outputs are "
        f"<b>{markup.digits(found.outputs)}</b> apart, the gradients "
        f"<b>{markup.digits(found.gradients)}</b>. "
        f'<span class="muted">{numbers_origin(scene)}</span></p>'
    )


def _example(found: Ways, m: int) -> str:
    """Returns rows of the input, their sums, and rows of the output."""
    n = len(found.example_inputs[0])
    rows = [
        f'<tr><td class="number">{i}</td>{_cells(x)}<td class="number"><b>{_figure(total)}</b></td>'
        f"{_cells(y)}</tr>"
        for i, (x, total, y) in enumerate(
            zip(found.example_inputs, found.sums, found.example_outputs, strict=False)
        )
    ]
    head = ("t", *("x" if i == 0 else "" for i in range(n)), "sum", "out", *[""] * (n - 1))
    table = markup.table(head, rows, numbers=range(2 * n + 2))
    few = f" The first {n} features." if m > n else ""
    return (
        "<h2>Ones, with twos in the second channel</h2><p>With such weights, in one convolution "
        "without a bias, every feature of the output is the sum of the row, and the second one "
        f"twice that: no position has seen another.{few}</p>{table}"
    )


def _cells(numbers: tuple[float, ...]) -> str:
    return "".join(f'<td class="number">{_figure(number)}</td>' for number in numbers)


def _figure(number: float) -> str:
    return f"{number:.2f}".replace("-", "−")
