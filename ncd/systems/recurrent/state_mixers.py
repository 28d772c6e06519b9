"""Blocks whose heads carry a matrix along the text: Mamba-2, and the gated delta rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from ncd.language.blocks import Block
from ncd.language.loops import Scan
from ncd.language.terms import Beside, Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Elementwise, Linear, Map, Param, Reduce, RMSNorm, Scale, Split
from ncd.systems.recurrent.linear_attention import MatrixState, unit_length
from ncd.systems.recurrent.selective_state import short_convolution

HEADS = MatrixState("w h", "w", "s", "o")
VALUES, KEYS = f"t {HEADS.value}", f"t {HEADS.key}"
STEP_SIZES = "log(exp(0.001 * 100 ** ((uniform + 1) / 2)) - 1)"  # 0.001 to 0.1, before softplus


@dataclass(frozen=True)
class StateMixer:
    """The choices of a block that carries a matrix for each head, ``t m -> t m``.

    Its axes are w groups of h heads, o features of a value, s of a key, l = w h o features inside
    and a = w s of all keys.

    Args:
        kernel: The positions that the convolutions see.
        corrects: Whether a state is corrected by its error, as the delta rule does; else a value
            is added, as Mamba-2 does.
        eps: The number that the norm adds.
        bias: Whether the first and the last map have a bias.
        convolution_bias: Whether the convolutions have one.

    Source: Dao and Gu 2024, "Transformers are SSMs", section 7; Yang et al. 2025, "Gated Delta
    Networks", section 3.
    """

    kernel: int = 4
    corrects: bool = False
    eps: float = 1e-5
    bias: bool = False
    convolution_bias: bool = True

    def term(self, w: int, h: int, o: int, s: int, **others: int) -> Term:
        """Returns the block for sizes, of which convolutions need those of l and a."""
        convolved = partial(self._convolution, {"l": w * h * o, "a": w * s})
        parts = [convolved("l", "x", HEADS.value), *self._keys_and_queries(convolved)]
        parts.append(Linear("m -> w h", "in_dt", self.bias) >> _step_size())
        parts += [Linear("m -> w h", "in_b") >> Elementwise("sigmoid")] if self.corrects else []
        parts.append(Linear("m -> w h o", "in_z", self.bias))
        body = Then(
            Id(", ".join(["t m"] * len(parts))),
            Beside(*parts),
            (self._delta_scan() if self.corrects else _mamba_scan()) @ Id(VALUES),
            self._gated_norm(w),
            Linear("w h o -> m", "out_proj", self.bias),
        )
        title = "Gated Delta Rule" if self.corrects else "Mamba-2 Block"
        return Wire(f"t m -> {', '.join(['t m'] * len(parts))}") >> Block(
            body, title, "module", "mixer"
        )

    def _convolution(self, sizes: Mapping[str, int], axis: str, name: str, heads: str) -> Term:
        """Returns a map to the features of heads, and their short convolution."""
        biased = self.convolution_bias
        convolution = short_convolution(sizes[axis], self.kernel, axis, f"conv_{name}", biased)
        first = Linear(f"m -> {axis}", f"in_{name}", self.bias)
        return first >> convolution >> Split(f"{axis} -> {heads}")

    def _keys_and_queries(self, convolved: Callable[..., Term]) -> list[Term]:
        if not self.corrects:
            return [convolved("a", name, HEADS.key) for name in "BC"]
        keys, queries = (convolved("a", name, HEADS.key) >> unit_length("w", "s") for name in "kq")
        return [keys, queries >> Scale("s")]

    def _delta_scan(self) -> Term:
        """Returns the scan of the delta rule: from values, keys, queries, steps and shares."""
        rest = f"{HEADS.key}, {HEADS.value}, {HEADS.key}, {HEADS.heads}"
        order = Wire(
            f"{VALUES}, {KEYS}, {KEYS}, t w h, t w h -> {KEYS}, {VALUES}, {KEYS}, t w h, t w h",
            "2 1 3 5 4",
        )
        given = f"{KEYS}, {VALUES}, {KEYS}, t w h"
        return order >> Id(given) @ _decay() >> _scan(HEADS.forget(HEADS.correct(), rest), rest)

    def _gated_norm(self, groups: int) -> Term:
        """Returns the norm, and the gate behind it; with Mamba-2 the gate is before it."""
        gate = Map(f"{VALUES}, {VALUES} -> {VALUES}", "$1 * silu($2)", "gate")
        if self.corrects:
            return RMSNorm("o", "norm", self.eps) @ Id(VALUES) >> gate
        if groups == 1:
            return gate >> RMSNorm(HEADS.value, "norm", self.eps)
        return gate >> Block(_norm_of_groups(self.eps), "RMS Norm of Groups", "folded")


def _step_size() -> Term:
    """Returns the step of each head, ``t w h -> t w h``, which is above 0."""
    bias = Param("w h", "dt_bias", STEP_SIZES)
    return Id("t w h") @ bias >> Map("t w h, w h -> t w h", "softplus($1 + $2)", "steps")


def _decay() -> Term:
    """Returns the factor by which a state decays in a step, ``t w h -> t w h``."""
    rates = Param("w h", "A_log", "log(1 + w * n_h + h)")
    return Id("t w h") @ rates >> Map("t w h, w h -> t w h", "exp(-exp($2) * $1)", "decay")


def _mamba_scan() -> Term:
    """Returns the scan of Mamba-2 and its skip: from values, writes, reads and steps."""
    rest = f"{HEADS.key}, {HEADS.value}, {HEADS.key}"
    order = Wire(
        f"{VALUES}, {KEYS}, {KEYS}, t w h -> {KEYS}, {VALUES}, t w h, {KEYS}, t w h, {VALUES}",
        "2 1 4 3 4 1",
    )
    return Then(
        order,
        Id(KEYS)
        @ Map(f"{VALUES}, t w h -> {VALUES}", "$1 * $2", "step")
        @ Id(KEYS)
        @ _decay()
        @ Id(VALUES),
        _scan(HEADS.forget(HEADS.write(), rest), rest) @ Id(VALUES),
        Id(f"{VALUES}, {VALUES}") @ Param("w h", "D", "1"),
        Map(f"{VALUES}, {VALUES}, w h -> {VALUES}", "$1 + $3 * $2", "skip"),
    )


def _scan(step: Term, rest: str) -> Term:
    """Returns the scan of a step, from its inputs at all positions and the decay to ``t w h o``."""
    given = ", ".join(f"t {each.strip()}" for each in rest.split(",")) + ", t w h"
    start = Map(f"-> {HEADS.state}", "0", "0") @ Id(given)
    return start >> Scan(step, "t", "state") >> Wire(f"{HEADS.state}, {VALUES} -> {VALUES}")


def _norm_of_groups(eps: float) -> Term:
    """Returns a norm of each group of heads, with a weight for each feature."""
    return (
        Wire(f"{VALUES} -> {VALUES}, {VALUES}")
        >> (Map("() -> ()", "$1 ** 2") >> Reduce("h o -> ", "mean")) @ Id(VALUES)
        >> Map(f"t w, {VALUES} -> {VALUES}", f"$2 / sqrt($1 + {eps!r})", "normalise")
        >> Id(VALUES) @ Param("w h o", "norm", "1")
        >> Map(f"{VALUES}, w h o -> {VALUES}", "$1 * $2", "weight")
    )
