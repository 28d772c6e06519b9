"""The decoders of language models: one structure, and the choices in which they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby

from ncd.circuit.elaborate import Axes
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    CausalMask,
    Concat,
    Cut,
    Einsum,
    LayerNorm,
    Linear,
    Map,
    Param,
    RMSNorm,
    Scale,
    Softmax,
)
from ncd.systems.language_models.expert_mixture import SWIGLU, mixture
from ncd.systems.language_models.model_parts import (
    Rotary,
    cap,
    feed_forward,
    gated_mlp,
    learned_positions,
    sliding_window,
    tied_model,
    times,
    untied_model,
    with_embeddings,
)

# --- The norms in which language models differ


@dataclass(frozen=True)
class Norm:
    """A kind of norm.

    Args:
        kind: ``rms``, ``layer``, ``unbiased`` for a layer norm without a bias, ``plain`` for one
            without learned numbers.
        eps: The number that is added before the root.

    >>> Norm("unbiased").term("m", "norm")
    LayerNorm('m', 'norm', 1e-06, False)
    """

    kind: str = "rms"
    eps: float = 1e-6

    def term(self, axes: str, name: str) -> Term:
        """Returns the norm over some axes."""
        if self.kind == "rms":
            return RMSNorm(axes, name, self.eps)
        biased, learned = self.kind == "layer", self.kind != "plain"
        return LayerNorm(axes, name, self.eps, biased or not learned, learned)


RMS = Norm()


# --- The attention of decoders: grouped queries, and the choices in which they differ

PLAIN_ROTARY = Rotary.from_base(10000)
SCORES = "y x g q"


@dataclass(frozen=True)
class Heads:
    """The choices in which the attention of decoders differs.

    Args:
        rotary: The angles of the positions; None if queries and keys do not turn.
        local: The angles of layers that see a window, where they are others.
        part: Whether only the first b of the k features of a head turn.
        adjacent: Whether a pair's features stand side by side.
        distances: Whether scores fall with the distance: ``after`` their scaling, or ``before``.
        window: The positions that a layer with a window sees.
        bias: Whether queries, keys and values have a bias.
        out_bias: Whether the last map has one.
        norm: The norm of queries and keys: ``head`` for the model's, over each head; ``all`` over
            all heads together; ``each`` for one with its own weights for each head.
        most: The number at which queries, keys and values are cut off; 0 for none.
        scale: The number by whose root scores are divided; 0 for the features of a head.
        cap: The number at which scores are capped; 0 for none.
        sinks: Whether each head has a learned score of a place that is no position.
        causal: Whether no position sees later ones.
        output_gate: Whether what a head gives is multiplied by a sigmoid of the position.

    Source: Ainslie et al. 2023, "GQA", section 2.2; Press et al. 2022, "Train Short, Test Long",
    section 3, for scores that fall with the distance; OpenAI 2025, "gpt-oss", section 2.2, for
    sinks.
    """

    rotary: Rotary | None = PLAIN_ROTARY
    local: Rotary | None = None
    part: bool = False
    adjacent: bool = False
    distances: str = ""
    window: int = 0
    bias: bool = False
    out_bias: bool = False
    norm: str = ""
    most: float = 0
    scale: float = 0
    cap: float = 0
    sinks: bool = False
    causal: bool = True
    output_gate: bool = False


USUAL_HEADS = Heads()


def grouped_attention(heads: Heads, norm: Norm, near: bool, turned: bool) -> Term:
    """Returns attention with g keys and values for g · q queries, ``t m -> t m``.

    Args:
        heads: The choices of the model.
        norm: The model's norm.
        near: Whether a position sees a window only.
        turned: Whether queries and keys turn with their positions.
    """
    rotary = (heads.local if near and heads.local else heads.rotary) if turned else None
    read = (
        _projection(heads, "q", "g q", norm, rotary)
        @ _projection(heads, "k", "g", norm, rotary)
        @ _chain_steps(Linear("m -> g k", "v_proj", heads.bias), *_cut_off(heads))
    )
    steps = [_scores(heads, near)]
    if heads.output_gate:
        read = read @ Linear("m -> g q k", "gate_proj", heads.bias)
        steps = [
            steps[0] @ Id("t g q k"),
            Map("t g q k, t g q k -> t g q k", "$1 * sigmoid($2)", "gate"),
        ]
    given = ", ".join(["t m"] * (4 if heads.output_gate else 3))
    body = Then(Id(given), read, *steps, Linear("g q k -> m", "o_proj", heads.out_bias))
    return Wire(f"t m -> {given}") >> Block(body, "Grouped-Query Attention", "folded", "self_attn")


def _projection(heads: Heads, name: str, axes: str, norm: Norm, rotary: Rotary | None) -> Term:
    """Returns the queries or the keys, normalised and turned as the model does."""
    steps: list[Term] = [Linear(f"m -> {axes} k", f"{name}_proj", heads.bias)]
    if heads.norm == "head":
        steps.append(norm.term("k", f"{name}_norm"))
    if heads.norm == "all":
        steps.append(norm.term(f"{axes} k", f"{name}_norm"))
    if heads.norm == "each":
        weights = Param(f"{axes} k", f"{name}_norm", "1")
        steps += [
            LayerNorm("k", f"{name}_plain", norm.eps, affine=False),
            Id(f"t {axes} k") @ weights,
            Map(f"{axes} k, {axes} k -> {axes} k", "$1 * $2", "weight"),
        ]
    steps += _cut_off(heads)
    if rotary is not None and heads.part:
        turned = rotary.term(axes, "b", heads.adjacent) @ Id(f"t {axes} j")
        steps += [Cut("k -> b, j"), turned, Concat("b, j -> k")]
    elif rotary is not None:
        steps.append(rotary.term(axes, adjacent=heads.adjacent))
    return _chain_steps(*steps)


def _chain_steps(first: Term, *others: Term) -> Term:
    """Returns steps one behind the other, of which there may be one alone."""
    return Then(first, *others) if others else first


def _cut_off(heads: Heads) -> list[Term]:
    most = f"{heads.most:.17g}"
    return [Map("() -> ()", f"min(max($1, -{most}), {most})", "clip")] if heads.most else []


def _scores(heads: Heads, near: bool) -> Term:
    """Returns the weights of all keys for each query, and the mean of the values by them."""
    scaled = [_scale(heads)]
    if heads.distances:
        scaled.insert(1 if heads.distances == "after" else 0, _falling())
    return Block(
        Then(
            Einsum(f"y g q k, x g k -> {SCORES}", "scores"),
            *scaled,
            *((cap(heads.cap),) if heads.cap else ()),
            *((sliding_window(heads.window, heads.causal),) if near and heads.window else ()),
            *((CausalMask("y x"),) if heads.causal else ()),
            *(_sinks() if heads.sinks else (Softmax("x"),)),
            Einsum(f"{SCORES}, x g k -> y g q k"),
        ),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )


def _sinks() -> tuple[Term, ...]:
    """Returns a softmax over the keys and a sink, of which only the keys' shares are used."""
    return (
        Id(SCORES) @ Param("g q", "sinks", "0"),
        Id(SCORES) @ Map("g q -> y o:1 g q", "$1", "sink"),
        Concat("x, o:1 -> z"),
        Softmax("z"),
        Cut("z -> x, o:1"),
        Wire(f"{SCORES}, y o:1 g q -> {SCORES}"),
    )


def _scale(heads: Heads) -> Term:
    if not heads.scale:
        return Scale("k")
    return Map("() -> ()", f"$1 / sqrt({heads.scale:.17g})", "scale")


def _falling() -> Term:
    """Returns scores that fall with the distance, for each head by another slope.

    Source: Press et al. 2022, "Train Short, Test Long", section 3, and its published code for
    numbers of heads that are no power of two.
    """
    whole = "2 ** floor(log(n_g * n_q) / log(2) + 0.000001)"
    head = "(g * n_q + q)"
    slope = (
        f"where({head} < {whole}, 2 ** (-8 * ({head} + 1) / {whole}), "
        f"2 ** (-4 * (2 * ({head} - {whole}) + 1) / {whole}))"
    )
    return Map(f"{SCORES} -> {SCORES}", f"$1 - {slope} * (y - x)", "distance")


# --- The decoders of language models: one structure, and the choices in which they differ

ARRAYS = ("w1", "w3", "w2")  # the arrays of all experts: of the gate, the values and the last map
NORMS = ("input_layernorm", "post_attention_layernorm")
FEED_FORWARD_NORMS = ("pre_feedforward_layernorm", "post_feedforward_layernorm")


@dataclass(frozen=True)
class DecoderLayer:
    """The choices in which the layers of one model differ.

    Args:
        has_window: Whether a position sees a window only.
        uses_rotary: Whether queries and keys turn with their positions.
        experts: Whether its feed-forward is a mixture of experts, if the model has one.
        attention_norm: Whether a norm stands before its attention.
        state: Whether it has a state in the place of attention.
        mixes: Whether it has attention or a state at all.
        forward: Whether it has a feed-forward.
    """

    has_window: bool = False
    uses_rotary: bool = True
    experts: bool = True
    attention_norm: bool = True
    state: bool = False
    mixes: bool = True
    forward: bool = True


@dataclass(frozen=True)
class DecoderDesign:
    """The choices in which decoders differ.

    Args:
        heads: The choices of attention.
        norm: The norm of positions.
        norms: Where the norms stand: ``before`` a part, ``after`` it, or ``around`` it.
        parallel: The norms that attention and feed-forward have side by side; 0 for one behind the
            other.
        gated: Whether the feed-forward has a gate.
        mlp_bias: Whether its maps have a bias.
        activation: Its function; by default SiLU.
        router: From a position to the weights and the choice of experts; None without experts.
        inner: The axis of an expert's hidden features.
        gate: The formula of an expert's gate and values.
        expert_bias: Whether the maps of experts have biases.
        shared: Whether an expert is shared by all positions, and whether it has a gate:
            ``plain``, ``gated``, or nothing.
        round: The layers of one round, which is repeated.
        dense: The first layers, which have no experts.
        first: The first layer, where it is another one.
        positions: The rows of a table of positions that are skipped; None without a table.
        first_norm: Whether a norm follows the embeddings.
        scores: Whether the model ends with scores of words.
        tied: Whether the table of words also gives the scores.
        head_bias: Whether the map to the scores has a bias.
        growth_factor: The number that multiplies the embeddings; 0 for the root of their features.
        part_scale: The number that multiplies what a part adds.
        word_scale: The number that multiplies the scores of words.
        word_cap: The number at which these are capped; 0 for none.
        mixer: From the sizes to what layers with a state have in the place of attention.

    Source: the papers of the families in ``ncd/read/configs/decoder_table.py``.
    """

    heads: Heads = USUAL_HEADS
    norm: Norm = RMS
    norms: str = "before"
    parallel: int = 0
    gated: bool = True
    mlp_bias: bool = False
    activation: Term | None = None
    router: Term | None = None
    inner: str = "d"
    gate: str = SWIGLU
    expert_bias: bool = False
    shared: str = ""
    round: tuple[DecoderLayer, ...] = (DecoderLayer(),)
    dense: int = 0
    first: DecoderLayer | None = None
    positions: int | None = None
    first_norm: bool = False
    scores: bool = True
    tied: bool = False
    head_bias: bool = False
    growth_factor: float = 1
    part_scale: float = 1
    word_scale: float = 1
    word_cap: float = 0
    mixer: Callable[..., Term] | None = None


def decoder(design: DecoderDesign, n: int, t: int, **sizes: int) -> Term:
    """Returns a language model with n layers, from words to scores, ``t#v -> t v``.

    Args:
        design: The choices of the model.
        n: The layers.
        t: The positions.
        **sizes: The sizes of the other axes: m features of a position, g heads of keys with q
            queries each, k features of a head of which b turn, d hidden features, v words, c of e
            experts with f hidden features, x hidden features of a shared one, u positions in a
            table, i features inside a layer with a state of s numbers each, and r that make its
            steps; or w groups of h heads with o features there.

    Source: Touvron et al. 2023, "LLaMA", section 2.2, for the usual choices.

    >>> sizes = dict(m=64, g=2, q=2, k=16, d=128, v=256)
    >>> str(decoder(DecoderDesign(), 2, 12, **sizes).cod)
    't v'
    """
    keys = {"z": seq(t + 1)} if design.heads.sinks else {}  # with the sink
    mixer = design.mixer(**sizes) if design.mixer else None
    if "o" in sizes:  # the features of all heads, and of all keys
        sizes |= {"l": sizes["w"] * sizes["h"] * sizes["o"], "a": sizes["w"] * sizes["s"]}
    return Axes(t=seq(t), **keys, **sizes)(_decoder(design, n, mixer))


@lru_cache(64)
def _decoder(design: DecoderDesign, n: int, mixer: Term | None) -> Term:
    layer_of = partial(_layer, design, mixer)
    dense = min(n, design.dense)
    steps: list[Term] = []
    if design.first:
        layer, n = layer_of(design.first), n - 1
        steps.append(Block(layer, "First Layer", "folded", "first"))
    if dense:
        plain = (replace(design.round[0], experts=False),) * dense
        steps.append(Block(Then(*_runs(layer_of, plain, "dense")), "Dense Layers", "folded"))
    layers = Then(
        *steps, *_rounds(layer_of, design.round, n - dense), design.norm.term("m", "norm")
    )
    model = _with_words(design, layers)
    if design.word_scale != 1:
        model = model >> times(design.word_scale)
    return model >> cap(design.word_cap) if design.word_cap else model


def _with_words(design: DecoderDesign, layers: Term) -> Term:
    """Returns the layers between the embeddings and the scores of words."""
    after: list[Term] = []
    if design.growth_factor != 1:
        grown = (
            times(design.growth_factor)
            if design.growth_factor
            else Map("m -> m", "$1 * sqrt(n_m)", "scale")
        )
        after.append(grown)
    if design.positions is not None:
        after.append(learned_positions("embed_positions", design.positions))
    if design.first_norm:
        after.append(design.norm.term("m", "embed_norm"))
    if not design.scores:
        return with_embeddings(layers, "embed_tokens", *after)
    if design.tied:
        return tied_model(layers, "embed_tokens", *after)
    return untied_model(layers, "embed_tokens", "lm_head", *after, bias=design.head_bias)


LayerOf = Callable[[DecoderLayer], Term]


def _rounds(layer_of: LayerOf, round: tuple[DecoderLayer, ...], n: int) -> list[Term]:
    """Returns n layers as rounds that are repeated, and what is left of the last one."""
    size = len(round)
    if size == 1:
        return [Repeat((layer_of(round[0]),) * n)] if n else []
    whole, left = n // size, n % size
    one = Then(*_runs(layer_of, round, "local"))
    rounds: list[Term] = [Repeat((one,) * whole)] if whole else []
    return [*rounds, *_runs(layer_of, round[:left], "last", every=True)]


def _runs(
    layer_of: LayerOf, layers: tuple[DecoderLayer, ...], name: str, every: bool = False
) -> list[Term]:
    """Returns layers with equal neighbours as one repetition; the last alone stands by itself."""
    runs = [(kind, len([*same])) for kind, same in groupby(layers)]
    made: list[Term] = []
    for i, (kind, count) in enumerate(runs):
        layer = layer_of(kind)
        alone = count == 1 and i == len(runs) - 1 and i > 0 and not every
        made.append(layer if alone else Repeat((layer,) * count, f"{name}{i or ''}"))
    return made


def _layer(design: DecoderDesign, mixer: Term | None, kind: DecoderLayer) -> Term:
    """Returns attention and feed-forward, one behind the other or side by side; or one alone."""
    attention = mixer if kind.state else None
    attention = attention or grouped_attention(
        design.heads, design.norm, kind.has_window, kind.uses_rotary
    )
    if not (kind.mixes and kind.forward):
        part = attention if kind.mixes else _forward(design, kind)
        return _residual(design, part, *(NORMS[0],) * 2)
    forward = _forward(design, kind)
    if design.parallel:
        return _side_by_side(design, attention, forward)
    if design.norms == "around":
        names = (NORMS, FEED_FORWARD_NORMS)
    elif design.norms == "after":
        names = ((NORMS[1],) * 2, (FEED_FORWARD_NORMS[1],) * 2)
    else:
        names = ((NORMS[0],) * 2, (NORMS[1],) * 2)
    first = _residual(design, attention, *names[0], kind.attention_norm)
    return first >> _residual(design, forward, *names[1])


def _residual(
    design: DecoderDesign, part: Term, before: str, after: str, normed: bool = True
) -> Term:
    """Returns x + part(norm x), with the norm before the part, after it, both, or neither."""
    steps: list[Term] = [part]
    if design.norms != "after" and normed:
        steps.insert(0, design.norm.term("m", before))
    if design.norms != "before":
        steps.append(design.norm.term("m", after))
    steps += _part_scaling(design)
    return Wire("t m -> t m, t m") >> Then(*steps) @ Id("t m") >> Add()


def _part_scaling(design: DecoderDesign) -> list[Term]:
    return [times(design.part_scale)] if design.part_scale != 1 else []


def _side_by_side(design: DecoderDesign, attention: Term, forward: Term) -> Term:
    """Returns x + attention(norm x) + forward(norm x), with one norm or two."""
    first, second = (design.norm.term("m", name) for name in NORMS)
    if design.parallel == 1:
        one = Then(first, Wire("t m -> t m, t m"), attention @ forward)
        return Wire("t m -> t m, t m") >> one @ Id("t m") >> Add() @ Id("t m") >> Add()
    both = (first >> attention) @ (second >> forward)
    return Wire("t m -> t m, t m, t m") >> both @ Id("t m") >> Add() @ Id("t m") >> Add()


def _forward(design: DecoderDesign, kind: DecoderLayer) -> Term:
    """Returns the feed-forward of a layer."""
    if design.router is not None and kind.experts:
        choices = (design.gate, design.expert_bias)
        moe = mixture(design.router, design.inner, ARRAYS, _shared_expert(design), *choices)
        return Block(moe, "Mixture of Experts", "folded", "block_sparse_moe")
    if design.gated:
        return gated_mlp(design.activation, design.mlp_bias)
    assert design.activation is not None
    return feed_forward(design.activation, "fc1", "fc2", "mlp", design.mlp_bias)


def _shared_expert(design: DecoderDesign) -> tuple[Term, ...]:
    """Returns the expert of all positions, if there is one."""
    if not design.shared:
        return ()
    plain = gated_mlp(design.activation, hidden="x", name="shared_expert")
    if design.shared == "plain":
        return (plain,)
    gate = plain @ Linear("m -> ", "shared_expert_gate")
    return (Wire("t m -> t m, t m") >> gate >> Map("t m, t -> t m", "$1 * sigmoid($2)", "gate"),)
