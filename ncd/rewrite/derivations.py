"""Derivations: systems that become others in a few laws, each with a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ncd.rewrite.rewriting import Rewrite


@dataclass(frozen=True)
class DerivationStep:
    """A law, and what it does here in one sentence."""

    rewrite: Rewrite
    sentence: str


@dataclass(frozen=True)
class Derivation:
    """A system, and the laws by which it becomes another one that computes the same.

    Args:
        title: What is derived.
        text: The system that it begins with, in the language.
        steps: The laws, each on the system after the ones before.
        source: Where it was published.
    """

    title: str
    text: str
    steps: tuple[DerivationStep, ...]
    source: str

    @property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """The laws without their sentences."""
        return tuple(step.rewrite for step in self.steps)


def _step(sentence: str, name: str, at: str, **options: str) -> DerivationStep:
    return DerivationStep(Rewrite(name, at, tuple(options.items())), sentence)


LINEAR_ATTENTION = Derivation(
    "Linear attention",
    """Axes(y=seq(256), x=seq(256), k=16, v=16)(
    Einsum("y k, x k -> y x", "scores") @ Id("x v") >> Einsum("y x, x v -> y v")
)""",
    (
        _step(
            "Without a softmax between them, scores and their product with the values are one "
            "product of three arrays.",
            *("merge-einsums", "n0"),
        ),
        _step(
            "It is cheapest to multiply keys and values first: their product has no axis of "
            "positions, so that the work grows with the length and no longer with its square.",
            *("best-order", "n0"),
        ),
    ),
    'Katharopoulos et al. 2020, "Transformers are RNNs", section 3.2',
)
FUSED_MAPS = Derivation(
    "Queries, keys and values by one map",
    """Axes(t=seq(16), m=32, h=4, k=8)(
    Wire("t m -> t m, t m, t m")
    >> Linear("m -> h k", "Q") @ Linear("m -> h k", "K") @ Linear("m -> h k", "V")
    >> Block(
        Einsum("y h k, x h k -> y x h") >> Scale("k") >> Softmax("x")
        >> Einsum("y x h, x h k -> y h k"), "Attention", "einsum", local=True)
)""",
    (
        _step(
            "Three maps of one array are one map with three times as many rows, cut in three "
            "afterwards: one large product keeps a GPU busier than three small ones.",
            *("fuse-linears", "n1"),
        ),
    ),
    "torch.nn.MultiheadAttention, whose in_proj_weight is this map",
)
MERGED_ADAPTER = Derivation(
    "A low-rank adapter merged into its map",
    """Axes(t=seq(16), m=64, k=64, r=4)(
    Wire("t m -> t m, t m")
    >> Linear("m -> k", "W") @ (Linear("m -> r", "A") >> Linear("r -> k", "B")) >> Add()
)""",
    (
        _step(
            "The two narrow maps of the adapter are one map, whose weights are their product.",
            *("compose-linear", "n2"),
        ),
        _step(
            "Two maps of one array, added, are one map with the sum of their weights: after "
            "training the adapter costs nothing.",
            *("add-linears", "n3"),
        ),
    ),
    'Hu et al. 2021, "LoRA", section 4.1',
)
ABSORBED_LATENT = Derivation(
    "Latent attention that reads its cache directly",
    """Axes(y=seq(1), x=seq(256), h=4, k=16, c=32)(
    Id("y h k") @ (
        Wire("x c -> x c, x c") >> Linear("c -> h k", "UK") @ Linear("c -> h k", "UV"))
    >> Einsum("y h k, x h k -> y x h", "scores") @ Id("x h k")
    >> (Scale("k") >> Softmax("x")) @ Id("x h k") >> Einsum("y x h, x h k -> y h k")
)""",
    (
        _step(
            "The map from the cached features to keys is a product with its weights.",
            *("write", "n1"),
            **{"as": "einsum"},
        ),
        _step(
            "Keys are only made to be multiplied by the query: both products are one.",
            *("merge-einsums", "n3"),
        ),
        _step(
            "It is cheaper to take the one query through the weights than all cached positions: "
            "the weights are absorbed into the query.",
            *("best-order", "n3"),
        ),
        _step(
            "The map from the cached features to values is a product with its weights as well.",
            *("write", "n2"),
            **{"as": "einsum"},
        ),
        _step(
            "Values are only made to be averaged: both products are one.",
            *("merge-einsums", "n4"),
        ),
        _step(
            "The average of the cached features goes through the weights once, so that no key and "
            "no value of an earlier position is ever made.",
            *("best-order", "n9"),
        ),
    ),
    'DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.2',
)
DERIVATIONS: Mapping[str, Derivation] = {
    "linear-attention": LINEAR_ATTENTION,
    "latent-attention": ABSORBED_LATENT,
    "lora": MERGED_ADAPTER,
    "merged-qkv": FUSED_MAPS,
}


def derivation_of(text: str) -> Derivation | None:
    """Returns the derivation that begins with a text, if there is one.

    >>> derivation_of(MERGED_ADAPTER.text).title
    'A low-rank adapter merged into its map'
    """
    same = (one for one in DERIVATIONS.values() if one.text.strip() == text.strip())
    return next(same, None)


def derivation_sentence(text: str, edits: Sequence[Rewrite]) -> str:
    """Returns the sentence of the last edit, where all are steps of a derivation; else nothing.

    >>> derivation_sentence(MERGED_ADAPTER.text, MERGED_ADAPTER.rewrites[:1])
    'The two narrow maps of the adapter are one map, whose weights are their product.'
    """
    found, n = derivation_of(text), len(edits)
    if found is None or not n or found.rewrites[:n] != tuple(edits):
        return ""
    return found.steps[n - 1].sentence
