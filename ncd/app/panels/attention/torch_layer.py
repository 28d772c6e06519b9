"""The circuit beside torch's own layer, and which feature of a merged map belongs to which head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

import ncd
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.drawing.elements.style import role_colour
from ncd.explain.equation_proof import max_difference
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.transformers.encoder_decoder import ACTIVATIONS

# --- The Torch panel: the circuit beside torch's own layer with the same weights

Settings = Mapping[str, int]
Weights = Mapping[str, Tensor]
PARTS = ("q", "k", "v")
WRAPPED_NAME_STYLE = (
    ' style="white-space:normal;overflow-wrap:anywhere;min-width:9rem"'  # long names may wrap
)
MAX_MASK_SIDE = 12  # the greatest number of rows and columns of a mask that are shown


@dataclass(frozen=True)
class TorchLayer:
    """The torch layer that matches a system: its code, constructor and call."""

    code: str
    make: Callable[[Settings], nn.Module]
    call: Callable[[Settings, tuple[Tensor, ...]], tuple[tuple[Tensor, ...], dict[str, object]]]


@dataclass(frozen=True)
class LayerDifferences:
    """The largest differences of outputs and gradients, and torch's parameters by name."""

    outputs: float
    gradients: float
    parameters: tuple[tuple[str, tuple[int, ...], str], ...]
    row: float | None = None  # how far the rows of weights are from a sum of 1


def show_torch_layer(scene: Scene) -> None:
    """Shows the differences, torch's parameters, and its masks."""
    if scene.settings.get("cache") and scene.settings["t"] > 1:
        html_panel.render(
            "<p>torch’s layers keep no keys and values: switch the cache off.</p>", "torch"
        )
        return
    key = scene.run_key
    found = cached_value(
        "torch layer",
        scene.term,
        *key,
        make=lambda: scene.run_in_pool(lambda: compare_layers(scene)),
    )
    rows = [_row(*parameter) for parameter in found.parameters]
    table = markup.table(("torch’s parameter", "Shape", "Numbers", "Here"), rows, numbers=(2,))
    html_panel.render(_torch_layer_summary(scene, found) + _masks(scene) + table, "torch")


TORCH_LAYER = Panel("Torch", show_torch_layer)


# --- torch's layers -------------------------------------------------------------------------------


def _stack(settings: Settings) -> dict[str, object]:
    options = {"batch_first": True, "norm_first": bool(settings["prenorm"])}
    activation = ACTIVATIONS[settings.get("gelu", 0)]
    return {"dim_feedforward": settings["d"], "dropout": 0.0, "activation": activation, **options}


def _encoder(s: Settings, norm: nn.Module | None = None) -> nn.Module:
    if s.get("final"):
        norm = nn.LayerNorm(s["h"] * s["k"])
    layer = nn.TransformerEncoderLayer(s["h"] * s["k"], s["h"], **_stack(s))  # type: ignore[arg-type]
    return nn.TransformerEncoder(layer, s["n"], norm, enable_nested_tensor=False)


def _decoder(s: Settings) -> nn.Module:
    layer = nn.TransformerDecoderLayer(s["h"] * s["k"], s["h"], **_stack(s))  # type: ignore[arg-type]
    return nn.TransformerDecoder(layer, s["n"])


def _transformer(s: Settings) -> nn.Module:
    m = s["h"] * s["k"]
    own = {"num_decoder_layers": s["n"], "custom_encoder": _encoder(s, nn.LayerNorm(m))}
    return nn.Transformer(m, s["h"], **own, **_stack(s))  # type: ignore[arg-type]


def causal_mask(y: int, x: int) -> Tensor:
    """Returns a mask that is true where a query may not see a key.

    >>> causal_mask(2, 3).tolist()
    [[False, True, True], [False, False, True]]
    """
    return torch.ones(y, x, dtype=torch.bool).triu(1)


def masks(settings: Settings) -> dict[str, Tensor]:
    """Returns the masks of ``nn.MultiheadAttention``, in which True hides.

    >>> masks({"y": 1, "x": 3, "pad": 1, "causal": 0})["key_padding_mask"].tolist()
    [False, False, True]
    """
    y, x, found = settings["y"], settings["x"], {}
    if settings["causal"]:
        found["attn_mask"] = causal_mask(y, x)
    if settings["pad"]:
        found["key_padding_mask"] = torch.arange(x) >= x - settings["pad"]
    return found


def _hidden(x: Tensor) -> Tensor:
    return causal_mask(len(x), len(x)).to(x.device)


LAYERS = {
    "encoder-block": TorchLayer("nn.TransformerEncoder", _encoder, lambda s, a: (a, {})),
    "decoder-only-block": TorchLayer(
        "nn.TransformerEncoder", _encoder, lambda s, a: (a, {"mask": _hidden(a[0])})
    ),
    "decoder-block": TorchLayer(
        "nn.TransformerDecoder", _decoder, lambda s, a: (a, {"tgt_mask": _hidden(a[0])})
    ),
    "encoder-decoder": TorchLayer(
        "nn.Transformer", _transformer, lambda s, a: (a[::-1], {"tgt_mask": _hidden(a[0])})
    ),
    "torch-multihead-attention": TorchLayer(
        "nn.MultiheadAttention",
        lambda s: nn.MultiheadAttention(s["h"] * s["k"], s["h"], batch_first=True),
        lambda s, a: (
            (a[0], a[1], a[1]),
            {name: mask.to(a[0].device) for name, mask in masks(s).items()},
        ),
    ),
}


# --- the comparison -------------------------------------------------------------------------------


def torch_weights(weights: Weights) -> dict[str, Tensor]:
    """Returns the weights by torch's names; q, k and v of an attention are stacked."""
    found = dict(weights)
    for path in [name for name in weights if name.endswith("q.weight")]:
        scope = path.removesuffix("q.weight")
        for kind in ("weight", "bias"):
            parts = [found.pop(f"{scope}{part}.{kind}") for part in PARTS]
            found[f"{scope}in_proj_{kind}"] = torch.cat(parts)
            found[f"{scope}out_proj.{kind}"] = found.pop(f"{scope}out.{kind}")
    return found


def compare_layers(scene: Scene) -> LayerDifferences:
    """Runs both forward and backward on the same weights and inputs."""
    layer, settings = LAYERS[scene.entry.name], scene.settings
    weights = {name: w.detach().requires_grad_() for name, w in scene.module.named_parameters()}
    inputs = tuple(x.detach().requires_grad_() for x in scene.inputs)
    with torch.device("meta"):
        theirs = layer.make(settings)
    given, named = layer.call(settings, inputs)
    one = functional_call(scene.module, weights, inputs)
    two = functional_call(theirs, torch_weights(weights), given, named)
    row = None
    if isinstance(two, tuple):
        two, attention = two
        row = max_difference(attention.sum(-1), torch.ones(()).to(attention))
    random = torch.randn(one.shape, generator=generator(scene.seed, "gradient")).to(one)
    leaves = (*inputs, *weights.values())
    pairs = (torch.autograd.grad((x * random).sum(), leaves) for x in (one, two))
    gradients = max(max_difference(a, b) for a, b in zip(*pairs, strict=True))
    named_parameters = theirs.named_parameters()
    parameters = tuple(
        (name, tuple(p.shape), project_parameter_name(name)) for name, p in named_parameters
    )
    return LayerDifferences(max_difference(one, two), gradients, parameters, row)


def project_parameter_name(name: str) -> str:
    """Returns this project's name for one of torch's parameters.

    >>> project_parameter_name("layers.0.self_attn.in_proj_weight")
    'layers.0.self_attn.{q, k, v}.weight'
    >>> project_parameter_name("out_proj.bias")
    'out.bias'
    >>> project_parameter_name("norm1.weight")
    'norm1.weight'
    """
    name = name.replace("out_proj.", "out.")
    for kind in ("weight", "bias"):
        name = name.replace(f"in_proj_{kind}", f"{{{', '.join(PARTS)}}}.{kind}")
    return name


def _row(name: str, shape: tuple[int, ...], ours: str) -> str:
    numbers = torch.Size(shape).numel()
    sizes = " × ".join(f"{n:,}" for n in shape)
    theirs, own = (  # lines break behind points first
        markup.text(path).replace(".", ".<wbr>") for path in (name, ours)
    )
    return (
        f"<tr><td{WRAPPED_NAME_STYLE}><code>{theirs}</code></td><td>{sizes}</td>"
        f'<td class="number">{numbers:,}</td><td{WRAPPED_NAME_STYLE}><code>{own}</code></td></tr>'
    )


def _torch_layer_summary(scene: Scene, found: LayerDifferences) -> str:
    code = LAYERS[scene.entry.name].code
    rows = (
        ""
        if found.row is None
        else f" Its rows of weights sum to 1 within {markup.digits(found.row)}."
    )
    return (
        f"<p><code>{code}</code> on the same weights and inputs: the outputs are at most "
        f"<b>{markup.digits(found.outputs)}</b> apart, the gradients of inputs and weights at most "
        f"<b>{markup.digits(found.gradients)}</b>.{rows}</p>"
        f'<p class="muted">Numbers of 32 bits are rounded at about 10⁻⁷ of their size; both sum in '
        f"another order. {numbers_origin(scene)}</p>"
    )


def _masks(scene: Scene) -> str:
    """Returns the boolean masks in the form that torch expects."""
    if scene.entry.name != "torch-multihead-attention":
        return ""
    return "".join(_mask(name, mask) for name, mask in masks(scene.settings).items())


def _mask(name: str, mask: Tensor) -> str:
    if max(mask.shape) > MAX_MASK_SIDE:
        return f"<p><code>{name}</code>: too large to write out here.</p>"
    rows = mask.tolist() if mask.dim() > 1 else [mask.tolist()]
    cells = "".join(
        f"<tr>{''.join(f'<td>{_truth(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<p><code>{name}</code>, where True is left out:</p>"
        f'<table style="width:auto"><tbody>{cells}</tbody></table>'
    )


def _truth(hidden: bool) -> str:
    return "<b>True</b>" if hidden else '<span class="muted">False</span>'


# --- The Two orders panel: which feature of a merged map belongs to which head

MAX_FEATURES = 192  # the greatest number of features that are drawn as cells
ORDERS = {1: "(h 3k)", 0: "(3k h)"}
CELL = "display:inline-block;width:1.15em;text-align:center;font-size:0.8em;margin:0 1px 2px 0"
ROLES = {"q": "linear", "k": "einsum", "v": "scale"}


@dataclass(frozen=True)
class Orders:
    """The difference of the two orders on one map, before and after permuting its features."""

    plain_difference: float
    permuted_difference: float


def show_merged_heads(scene: Scene) -> None:
    """Shows the features of both orders as cells, the two runs, and the exercise line by line."""
    key = scene.run_key
    found = cached_value(
        "orders", scene.term, *key, make=lambda: scene.run_in_pool(lambda: orders(scene))
    )
    h, k = scene.settings["h"], scene.settings["k"]
    strips = "".join(_strip(h, k, outside, scene) for outside in ORDERS)
    html_panel.render(strips + _merged_heads_summary(scene, found) + _lines(scene), "two orders")


MERGED_HEADS = Panel("Two orders", show_merged_heads)


def head_owners(h: int, k: int, outside: int) -> list[tuple[str, int, int]]:
    """Returns for each of the 3hk features: query, key or value, the head, and the feature in it.

    >>> [f"{part}{head}" for part, head, _ in head_owners(2, 1, 1)]
    ['q0', 'k0', 'v0', 'q1', 'k1', 'v1']
    >>> [f"{part}{head}" for part, head, _ in head_owners(2, 1, 0)]
    ['q0', 'q1', 'k0', 'k1', 'v0', 'v1']
    """
    thirds = [(part, i) for part in ROLES for i in range(k)]
    if outside:
        return [(part, head, i) for head in range(h) for part, i in thirds]
    return [(part, head, i) for part, i in thirds for head in range(h)]


def permutation(h: int, k: int) -> Tensor:
    """Returns the place of each feature of ``(3k h)`` in ``(h 3k)``.

    >>> permutation(2, 1).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    return torch.arange(3 * h * k).view(h, 3 * k).T.flatten()


def orders(scene: Scene) -> Orders:
    """Runs both orders with the same weights, then the second with its features permuted."""
    one, two = (
        ncd.compile(scene.entry.build(**{**scene.settings, "outside": outside}), scene.seed)
        for outside in ORDERS
    )
    weights: dict[str, Tensor] = dict(one.named_parameters())
    at = permutation(scene.settings["h"], scene.settings["k"])
    turned = {n: w[at] if n.startswith("qkv.") else w for n, w in weights.items()}
    inputs = tuple(x.cpu() for x in scene.inputs)
    with torch.no_grad():
        expected, same, permuted = (
            functional_call(module, given, inputs)
            for module, given in ((one, weights), (two, weights), (two, turned))
        )
    return Orders(max_difference(expected, same), max_difference(expected, permuted))


def _strip(h: int, k: int, outside: int, scene: Scene) -> str:
    """Returns the features as cells coloured by query, key and value, with head numbers."""
    every = head_owners(h, k, outside)
    shade = {part: role_colour(role, scene.dark) for part, role in ROLES.items()}
    cells = "".join(
        f'<span style="{CELL};background:{shade[part]}" '
        f'title="feature {n}: {part} of head {head}, number {i}">{head}</span>'
        for n, (part, head, i) in enumerate(every[:MAX_FEATURES])
    )
    now = " (now)" if outside == scene.settings["outside"] else ""
    more = (
        f"<p class='muted'>The first {MAX_FEATURES} of {len(every):,}.</p>"
        if len(every) > MAX_FEATURES
        else ""
    )
    return f'<h2>{ORDERS[outside]}{now}</h2><div style="line-height:1.5">{cells}</div>{more}'


def _merged_heads_summary(scene: Scene, found: Orders) -> str:
    names = ", ".join(
        f"{markup.role(role, scene.dark)}{name}"
        for name, role in zip(("queries", "keys", "values"), ROLES.values(), strict=True)
    )
    return (
        f"<p>A cell is a feature of {names}; the number in it is its head.</p>"
        f"<p>The same map read in the other order: the outputs are "
        f"<b>{markup.digits(found.plain_difference)}</b> apart. With the map’s columns "
        "permuted alike: "
        f"<b>{markup.digits(found.permuted_difference)}</b>. "
        f'<span class="muted">{numbers_origin(scene)}</span></p>'
    )


def _lines(scene: Scene) -> str:
    """Returns the eight lines of the exercise, with their shapes."""
    s = scene.settings
    h, k, m, t = s["h"], s["k"], s["m"], s["t"]
    order = "h, 3k" if s["outside"] else "3k, h"
    pair, turned = ((h, 3 * k), (h, t, 3 * k)) if s["outside"] else ((3 * k, h), (h, t, 3 * k))
    rows = (
        ("qkv = Linear(m, 3·h·k)(x)", (t, 3 * h * k), "the learned map"),
        (f"qkv = qkv.reshape(t, {order})", (t, *pair), "the bar: one axis read as two"),
        ("qkv = qkv.permute(…)", turned, "wires only: no number moves among the others"),
        ("q, k, v = qkv.chunk(3, dim=-1)", (h, t, k), "the second bar: three arrays"),
        ("values, attention = scaled_dot_product(q, k, v)", (h, t, k), "the block"),
        ("values = values.permute(…)", (t, h, k), "wires only"),
        ("values = values.reshape(t, h·k)", (t, h * k), "inside the last map"),
        ("o = Linear(h·k, m)(values)", (t, m), "the last map mixes the heads"),
    )
    body = [
        f'<tr><td class="number">{n}</td><td><code>{markup.text(code)}</code></td>'
        f"<td>{' '.join(map(str, shape))}</td><td>{told}</td></tr>"
        for n, (code, shape, told) in enumerate(rows, 1)
    ]
    return markup.table(("", "The exercise", "Gives", "In the diagram"), body, numbers=(0,))
