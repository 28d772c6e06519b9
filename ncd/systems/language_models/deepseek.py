"""DeepSeek-V2 and V3: latent attention, and many small experts beside a shared one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import CausalMask, Einsum, Linear, Map, RMSNorm, Softmax
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.expert_mixture import Routing, mixture
from ncd.systems.language_models.model_parts import (
    CHOSEN_EXPERTS,
    EXPERTS,
    FEATURES,
    HEADS,
    HIDDEN,
    LAYERS,
    POSITIONS,
    SECTION,
    WIDTH,
    WORDS,
    Rotary,
    after_norm,
    gated_mlp,
    untied_model,
)

ARRAYS = ("gate_proj", "up_proj", "down_proj")  # the arrays of all experts
PLAIN, SIGMOID = Rotary.from_base(10000), Routing()


@dataclass(frozen=True)
class DeepSeekDesign:
    """The choices in which DeepSeek's models differ.

    Args:
        dense: The first layers, whose feed-forward is one for all positions.
        compressed_queries: Whether queries come from compressed features as well.
        routing: The router of the experts.
        rotary: The angles of the positions.
        scale: The number by which the scores are multiplied beside 1 / √(k + b).
        eps: The number that the norms add.
    """

    dense: int = 1
    compressed_queries: bool = True
    routing: Routing = SIGMOID
    rotary: Rotary = PLAIN
    scale: float = 1
    eps: float = 1e-6


def deepseek(
    n: int = 2,
    t: int = 12,
    m: int = 64,
    h: int = 4,
    k: int = 16,
    b: int = 8,
    w: int = 16,
    a: int = 24,
    o: int = 16,
    d: int = 128,
    f: int = 32,
    g: int = 32,
    e: int = 8,
    c: int = 2,
    z: int = 4,
    s: int = 2,
    v: int = 256,
    *,
    design: DeepSeekDesign | None = None,
) -> Term:
    """Returns a language model with latent attention and a mixture of experts.

    Args:
        n: The layers.
        t: The positions.
        m: The features of a position.
        h: The heads.
        k: The features of a head that know no position.
        b: The features of a head that turn with the position.
        w: The features of a value.
        a: The compressed features of the queries.
        o: The compressed features of keys and values, which alone are kept.
        d: The hidden features of the first layers.
        f: The hidden features of an expert.
        g: The hidden features of the shared expert.
        e: The experts.
        c: The experts that are chosen for a position.
        z: The groups of experts.
        s: The groups that are chosen from.
        v: The words.
        design: The choices of the model.

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: DeepSeek-AI 2024, "DeepSeek-V2", section 2; "DeepSeek-V3", section 2.1.

    >>> str(deepseek().cod)
    't v'
    """
    sizes = {"h": h, "k": k, "b": b, "w": w, "o": o, "d": d, "f": f, "e": e, "c": c, "v": v}
    used = design or DeepSeekDesign()
    if used.compressed_queries:
        sizes["a"] = a
    if used.routing.group_limited:
        sizes |= {"z": z, "s": s}
    term = _deepseek(n, used)
    return Axes(t=seq(t), m=m, g=g, **sizes)(term)


@lru_cache(32)
def _deepseek(n: int, design: DeepSeekDesign) -> Term:
    dense = min(n, design.dense)
    shared = gated_mlp(hidden="g", name="shared_experts")
    moe = Block(
        mixture(design.routing.term(), "f", ARRAYS, (shared,)),
        "Mixture of Experts",
        "folded",
        "mlp",
    )
    plain = Repeat((_layer(gated_mlp(), design),) * dense, "dense") if dense else Id("t m")
    first = (Block(plain, "Dense Layers", "folded"),) if dense else ()
    rest = (Repeat((_layer(moe, design),) * (n - dense)),) if n > dense else ()
    layers = Then(Id("t m"), *first, *rest, RMSNorm("m", "norm", design.eps))
    return untied_model(layers, "embed_tokens")


def _layer(feed_forward: Term, design: DeepSeekDesign) -> Term:
    return after_norm(
        latent_attention(design), RMSNorm("m", "input_layernorm", design.eps)
    ) >> after_norm(feed_forward, RMSNorm("m", "post_attention_layernorm", design.eps))


def latent_attention(design: DeepSeekDesign) -> Term:
    """Returns attention whose keys and values come from a few compressed features.

    Source: DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.
    """
    turned = design.rotary.term
    if design.compressed_queries:
        few = Linear("m -> a", "q_a_proj") >> RMSNorm("a", "q_a_layernorm", 1e-6)
        queries: Term = few >> Wire("t a -> t a, t a") >> Id("t a, t a")
    else:
        queries = Wire("t m -> t m, t m")
    given = "a" if design.compressed_queries else "m"
    queries = queries >> Linear(f"{given} -> h k", "q") @ (
        Linear(f"{given} -> h b", "q_rope") >> turned("h", "b", adjacent=True)
    )
    kept = (
        Linear("m -> o", "kv_a_proj")
        >> RMSNorm("o", "kv_a_layernorm", 1e-6)
        >> Wire("t o -> t o, t o")
        >> Linear("o -> h k", "k") @ Linear("o -> h w", "v")
    )
    key = Linear("m -> b", "k_rope") >> turned("", "b", adjacent=True)
    body = (
        Id("t m, t m, t m")
        >> queries @ kept @ key
        >> _scores(design.scale)
        >> Linear("h w -> m", "o_proj")
    )
    return Wire("t m -> t m, t m, t m") >> Block(body, "Latent Attention", "folded", "self_attn")


def _scores(scale: float) -> Term:
    """Returns attention whose scores are a sum over plain and over rotated features."""
    rule = "($1 + $2) / sqrt(n_k + n_b)" + (f" * {scale:.17g}" if scale != 1 else "")
    return Block(
        Wire("y h k, y h b, x h k, x h w, x b -> y h k, x h k, y h b, x b, x h w")
        >> Einsum("y h k, x h k -> y x h") @ Einsum("y h b, x b -> y x h") @ Id("x h w")
        >> Map("y x h, y x h -> y x h", rule, "", "k b") @ Id("x h w")
        >> CausalMask("y x") @ Id("x h w")
        >> Softmax("x") @ Id("x h w")
        >> Einsum("y x h, x h w -> y h w"),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )


LITE = DeepSeekDesign(compressed_queries=False, routing=Routing(sigmoid=False, normalised=False))


def deepseek_lite(
    n: int, t: int, m: int, h: int, k: int, b: int, o: int, d: int, f: int, e: int, c: int, v: int
) -> Term:
    """Returns DeepSeek-V2-Lite: queries are not compressed, two experts are shared.

    A value has as many features as a key that knows no position.
    """
    sizes = {"n": n, "t": t, "m": m, "h": h, "k": k, "b": b, "w": k, "o": o, "d": d, "f": f}
    return deepseek(**sizes, g=2 * f, e=e, c=c, v=v, design=LITE)


_LITE = 'DeepSeek-AI 2024, "DeepSeek-V2", appendix B'

DEEPSEEK = Entry(
    name="deepseek",
    title="DeepSeek",
    source="DeepSeek-AI 2024, DeepSeek-V2",
    knobs=(
        LAYERS,
        POSITIONS,
        FEATURES,
        HEADS,
        Knob("k", 1, 64, 16, help="features of a head", reason="they know no position"),
        Knob(
            "b",
            2,
            32,
            8,
            step=2,
            help="features that turn",
            reason="even, as they turn in pairs",
            multiple=2,
        ),
        Knob("o", 1, 128, 16, help="compressed features", reason="of keys and values together"),
        HIDDEN,
        Knob("f", 1, 128, 32, help="hidden features of an expert", reason="far fewer than d"),
        EXPERTS,
        CHOSEN_EXPERTS,
        WORDS,
    ),
    system=deepseek_lite,
    section=SECTION,
    type="t#v -> t v",
    cached=("kv_a_proj", "k_rope"),
    width=WIDTH,
    presets=(
        Preset(
            "deepseek-v2-lite",
            {
                **{"n": 27, "m": 2048, "h": 16, "k": 128, "b": 64, "o": 512, "d": 10944},
                **{"f": 1408, "e": 64, "c": 6, "v": 102400},
            },
            f"{_LITE}; the hidden features d of its first layer stand in its configuration",
            "DeepSeek-V2-Lite",
        ),
    ),
)
