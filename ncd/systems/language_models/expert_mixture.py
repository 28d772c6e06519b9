"""Mixtures of experts: each position is worked on by the best few of many feed-forwards."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    Einsum,
    Elementwise,
    Group,
    Index,
    Linear,
    Map,
    Param,
    Reduce,
    Softmax,
    Split,
    Top,
)

SWIGLU = "silu($1) * $2"


def mixture(
    router: Term,
    hidden: str,
    names: tuple[str, str, str],
    shared: tuple[Term, ...] = (),
    gate: str = SWIGLU,
    bias: bool = False,
) -> Term:
    """Returns the c best of e gated feed-forwards, weighted by a router.

    Args:
        router: From a position's features ``t m`` to the weights ``t c`` and the choice ``t c#e``.
        hidden: The axis of an expert's hidden features.
        names: The names of the gate, the values and the last map.
        shared: A feed-forward that works on every position, if there is one.
        gate: The formula of gate and values.
        bias: Whether the maps of the experts have biases.

    Returns:
        A term ``t m -> t m``.

    Source: Shazeer et al. 2017, "Outrageously Large Neural Networks", section 2.1; Dai et al. 2024,
    "DeepSeekMoE", section 3.2, for experts that are shared.
    """
    gates, up, down = names
    inner = f"t c {hidden}"
    mixed = Then(
        Wire("t m -> t m, t m"),
        Block(router, "Router", "neutral") @ Id("t m"),
        Wire("t c, t c#e, t m -> t c#e, t c#e, t c#e, t m, t m, t c"),
        Id("t c#e, t c#e") @ Wire("t c#e, t m -> t m, t c#e") @ Id("t m, t c"),
        Id("t c#e")
        @ Block(expert_linear("t m", "m", hidden, gates, bias), "Chosen Gates", "index")
        @ Block(expert_linear("t m", "m", hidden, up, bias), "Chosen Values", "index")
        @ Id("t c"),
        Id("t c#e") @ Map(f"{inner}, {inner} -> {inner}", gate, "SwiGLU") @ Id("t c"),
        Block(expert_linear(inner, hidden, "m", down, bias), "Chosen Outputs", "index") @ Id("t c"),
        Einsum("t c m, t c -> t m", "mix"),
    )
    both = (Wire("t m -> t m, t m"), mixed @ shared[0], Add()) if shared else (mixed,)
    return Then(*both)


def expert_linear(given: str, old: str, new: str, name: str, bias: bool = False) -> Term:
    """Returns a linear map whose weights are those of the chosen experts.

    It takes the choice ``t c#e`` and the array ``given``, and gives ``t c new``.
    """
    table = f"e {old} {new}"
    made = (
        Id(f"t c#e, {given}") @ Param(table, name)
        >> Wire(f"t c#e, {given}, {table} -> t c#e, {table}, {given}")
        >> Index(f"t c#e, {table} -> t c {old} {new}") @ Id(given)
        >> Einsum(f"t c {old} {new}, {given} -> t c {new}")
    )
    if not bias:
        return made
    added = Id("t c#e") @ Param(f"e {new}", f"{name}_bias") >> Index(f"t c#e, e {new} -> t c {new}")
    return Wire(f"t c#e, {given} -> t c#e, t c#e, {given}") >> added @ made >> Add()


def softmax_router(bias: bool = False) -> Term:
    """Returns the c largest scores and their softmax, as Mixtral routes."""
    return Linear("m -> e", "gate", bias) >> Top("e -> c") >> Softmax("c")


@dataclass(frozen=True)
class Routing:
    """The router of DeepSeek's models.

    Args:
        sigmoid: Whether scores are sigmoids with a bias for the choice, as in DeepSeek-V3; else a
            softmax, as in DeepSeek-V2.
        group_limited: Whether only experts of the s best of z groups are chosen.
        normalised: Whether the weights of the chosen experts add up to 1.
        factor: The number by which the weights are multiplied.

    Source: DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.2; "DeepSeek-V3", section 2.1.2.
    """

    sigmoid: bool = True
    group_limited: bool = False
    normalised: bool = True
    factor: float = 1

    def term(self) -> Term:
        """Returns the router, from ``t m`` to the weights ``t c`` and the choice ``t c#e``."""
        steps: list[Term] = [Linear("m -> e", "gate") >> self._scores()]
        if self.sigmoid or self.group_limited:
            steps += [
                Wire("t e -> t e, t e"),
                self._for_choice() @ Id("t e"),
                Top("e -> c") @ Id("t e"),
                Wire("t c, t c#e, t e -> t c#e, t e, t c#e"),
                Index("t c#e, t e -> t c") @ Id("t c#e"),
            ]
        else:  # those that choose are those that count
            steps.append(Top("e -> c"))
        if self.normalised:
            steps.append(_normalise_shares() @ Id("t c#e"))
        if self.factor != 1:
            steps.append(Map("t c -> t c", f"$1 * {self.factor:.17g}", "scale") @ Id("t c#e"))
        return Then(*steps)

    def _scores(self) -> Term:
        return Elementwise("sigmoid") if self.sigmoid else Softmax("e")

    def _for_choice(self) -> Term:
        """Returns the scores by which experts are chosen."""
        steps: list[Term] = [Id("t e")]
        if self.sigmoid:
            biased = Map("t e, e -> t e", "$1 + $2", "bias")
            steps += [Id("t e") @ Param("e", "e_score_correction_bias", "0"), biased]
        if self.group_limited:
            steps.append(self._best_groups())
        return Then(*steps)

    def _best_groups(self) -> Term:
        """Returns the scores with those outside the best groups set to -∞."""
        group: Term = (
            Top("l -> j:2") >> Wire("t z j, t z j#l -> t z j") >> Reduce("j ->")
            if self.sigmoid
            else Reduce("l ->", "max")
        )
        outside = Map("t s#z -> t s z", "$1 == z", "in") >> Reduce("s ->")
        return (
            Split("e -> z l")
            >> Wire("t z l -> t z l, t z l")
            >> (group >> Top("z -> s") >> Wire("t s, t s#z -> t s#z") >> outside) @ Id("t z l")
            >> Map("t z, t z l -> t z l", "where($1 > 0, $2, -inf)", "best groups")
            >> Group("z l -> e")
        )


def _normalise_shares() -> Term:
    return (
        Wire("t c -> t c, t c")
        >> Reduce("c ->") @ Id("t c")
        >> Map("t, t c -> t c", "$2 / ($1 + 1e-20)", "share")
    )
