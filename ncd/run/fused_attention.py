"""Attention as one call of torch, where nobody looks at the weights.

The pattern is a contraction of two arrays, then factors and masks, a softmax, and a contraction of
its weights with a third array, each intermediate value used once. Nothing is fused where the result
could differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.circuit.circuit import Circuit
from ncd.language import torch_code as ex
from ncd.language.torch_code import Group
from ncd.run.evaluate import (
    CREATING_NODES,
    Code,
    StaticValue,
    TensorOptions,
    compile_expr,
    permute_function,
    rearrange_function,
    static_value,
)
from ncd.run.program import Parts, UnboundInstruction, input_output_ids

# --- Attention as one call of ``F.scaled_dot_product_attention``

Move = Callable[[Tensor], Tensor]
AttentionDims = tuple[Group, Group, Group]  # the dimensions of heads, queries and keys


class Mask(NamedTuple):
    """A mask that hides scores or is added to them; ``args`` are its inputs of the step."""

    code: Code
    hides: bool
    args: slice


@dataclass(frozen=True)
class Attention:
    """Attention of a query, a key and a value in any order of dimensions.

    Each is brought to (batch, heads, positions, features) with contiguous features, for which torch
    is fast.
    """

    input_permutations: tuple[Move, Move, Move]
    back: Move
    scale: float
    causal: bool
    masks: tuple[Mask, ...]
    align_mask: Move

    def __call__(self, args: Sequence[Tensor], own: Any, like: TensorOptions) -> Tensor:
        parts = [move(x) for move, x in zip(self.input_permutations, args, strict=False)]
        leads = [x.shape[:-3] for x in parts]
        lead: tuple[int, ...] = leads[0]
        if leads[1] != lead or leads[2] != lead:
            lead = torch.broadcast_shapes(*leads)
            parts = [x.expand(lead + x.shape[-3:]) for x in parts]
        query, key, value = [_contiguous_input(x) for x in parts]
        mask = self._mask(args, like, lead)
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.to(query.dtype)
        out = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=self.causal, scale=self.scale
        )
        if mask is not None:
            out = self._nan_blind_queries(out, mask, value)
        if len(lead) != 1:
            out = out.reshape(lead + out.shape[-3:])
        return self.back(out)

    def _mask(
        self, args: Sequence[Tensor], like: TensorOptions, lead: tuple[int, ...]
    ) -> Tensor | None:
        """Combines all masks: true where a score counts, or the numbers that are added to it."""
        hidden: Tensor | None = None
        added: Tensor | None = None
        for mask in self.masks:
            x = self.align_mask(mask.code(args[mask.args], None, like))
            if mask.hides:
                hidden = x if hidden is None else hidden | x
            else:
                added = x if added is None else added + x
        if added is not None:
            both = added if hidden is None else torch.where(hidden, -math.inf, added)
        elif hidden is not None:
            both = ~hidden
        else:
            return None
        if both.dim() > 4:
            both = both.expand(lead + both.shape[-3:])
        return _batch(both)

    def _nan_blind_queries(self, out: Tensor, mask: Tensor, value: Tensor) -> Tensor:
        """Returns NaN for each query that sees no key, as a softmax of nothing does.

        Torch returns 0 there. Gradients also match the separate steps: none through a hidden
        score, and some through an added mask.
        """
        hidden = ~mask if mask.dtype == torch.bool else mask == -math.inf
        blind = hidden.all(-1, keepdim=True)
        if not all(part.hides for part in self.masks):
            return out * torch.where(blind, math.nan, 1.0).to(out.dtype)
        spoilt = torch.where(blind.any(-2, keepdim=True), math.nan, 0.0).to(out.dtype)
        return torch.where(blind, spoilt * value.sum(-2, keepdim=True), out)


def attention_instruction(
    arrays: tuple[Group, Group, Group],
    scores: AttentionDims,
    weights: AttentionDims,
    features: tuple[Group, Group],
    out: Group,
    order: tuple[int, ...],
    scale: float,
    causal: bool,
    masks: tuple[Mask, ...],
) -> Attention:
    """Returns the step of an attention.

    ``arrays`` are the dimensions of query, key and value. ``scores`` and ``weights`` are those of
    the scores, by the names of the first and of the second product; ``order`` is where these are
    in the scores. ``features`` are those of the query and of the value.
    """
    heads, queries, keys = scores
    moves = (
        _move(arrays[0], (heads, queries, features[0])),
        _move(arrays[1], (heads, keys, features[0])),
        _move(arrays[2], (weights[0], weights[2], features[1])),
    )
    given = (weights[0], weights[1], features[1])
    back = rearrange_function(given, tuple((dim,) for dim in out))
    return Attention(moves, back, scale, causal, masks, _mask_move(scores, order))


def _move(before: Group, after: tuple[Group, ...]) -> Move:
    return rearrange_function(tuple((dim,) for dim in before), after)


def _mask_move(scores: AttentionDims, order: tuple[int, ...]) -> Move:
    """Returns how to reshape a mask to (…, heads, queries, keys), each full or 1."""
    n, several = len(order), any(len(group) != 1 for group in scores)
    move = permute_function([place - n for place in order])
    sizes = tuple(dim.size for group in scores for dim in group)
    ends = tuple(math.prod(dim.size for dim in group) for group in scores)

    def shaped(x: Tensor) -> Tensor:
        if x.dim() < n:
            x = x.reshape((1,) * (n - x.dim()) + x.shape)
        x = move(x)
        if not several:
            return x
        lead = x.shape[: x.dim() - n]
        return x.expand(lead + sizes).reshape(lead + ends)

    return shaped


def _batch(x: Tensor) -> Tensor:
    """Returns the tensor with exactly one batch axis before the last three."""
    if x.dim() == 4:
        return x
    return x.unsqueeze(0) if x.dim() == 3 else x.reshape((-1, *x.shape[-3:]))


def _contiguous_input(x: Tensor) -> Tensor:
    x = _batch(x)
    return x if x.stride(-1) == 1 else x.contiguous()


# --- Replaces attention by one function of torch where nobody looks at the scores and weights


def fuse_attention(parts: Parts, circuit: Circuit) -> Parts:
    """Returns the steps with every attention as one step, in place of its last one."""
    uses = Counter(id for part in parts for id in input_output_ids(part)[0])
    uses.update(value.id for value in circuit.outputs)
    takers = {id: i for i, part in enumerate(parts) for id in input_output_ids(part)[0]}
    done: dict[int, UnboundInstruction | None] = {}
    for i, part in enumerate(parts):
        chain = _AttentionMatch(parts, uses, takers)
        if i not in done and isinstance(part, UnboundInstruction) and chain.follow(i):
            done |= dict.fromkeys(chain.matched_steps)
            done[chain.matched_steps[-1]] = chain.step()
    found = [done.get(i, part) for i, part in enumerate(parts)]
    return [part for part in found if part is not None]


class _ChainMask(NamedTuple):
    """A mask in the chain: an expression on its cell's inputs, or a causal mask's dimensions."""

    expr: ex.TorchExpr
    hides: bool
    part: UnboundInstruction
    masked_value: str  # the value that it masks
    causal: tuple[int, int] | None  # the dimensions of the query and the key, if it is causal


@dataclass
class _AttentionMatch:
    """The steps from the scores to the values, as far as they have been followed."""

    parts: Parts
    uses: Counter[str]
    takers: dict[str, int]
    matched_steps: list[int] = field(default_factory=list)
    scale: float = 1.0
    masks: list[_ChainMask] = field(default_factory=list)

    def follow(self, start: int) -> bool:
        """Returns whether an attention begins at this step, and records its parts."""
        scores = self._step_expr(start)
        if not _product(scores):
            return False
        self.scores, self.matched_steps = scores, [start]
        self.along = self._softmax()
        return bool(self.along) and self._values() and self._fits()

    def _part(self, at: int) -> UnboundInstruction:
        part = self.parts[at]
        assert isinstance(part, UnboundInstruction)
        return part

    def _step_expr(self, at: int) -> ex.TorchExpr | None:
        """Returns the expression of a step, if it has only one."""
        part = self.parts[at]
        if not isinstance(part, UnboundInstruction) or part.cell is None or not part.alone:
            return None
        return part.expressions[0]

    def _next_expr(self) -> tuple[ex.TorchExpr, ex.Arg] | None:
        """Returns the expression of the only taker of the last value, and which input it takes."""
        (value,) = self._part(self.matched_steps[-1]).outputs
        if self.uses[value] != 1:
            return None
        at = self.takers.get(value)
        said = None if at is None else self._step_expr(at)
        if at is None or said is None:
            return None
        arg = ex.Arg(self._part(at).inputs.index(value))
        self.matched_steps.append(at)
        return said, arg

    def _softmax(self) -> tuple[int, ...]:
        """Follows factors, masks and names to the softmax; returns its dimensions."""
        while following := self._next_expr():
            said, arg = following
            along = _softmax_dims(said, arg, len(self.scores.target_dims))
            if along:
                return along
            if (
                said != arg
                and not self._accept_scale(said, arg)
                and not self._accept_mask(said, arg)
            ):
                return ()
        return ()

    def _accept_scale(self, said: ex.TorchExpr, arg: ex.Arg) -> bool:
        """Accepts a plain factor; after an added mask it would change the result."""
        if not isinstance(said, ex.Infix) or said.sign not in "*/" or self.masks:
            return False
        left, right = said.left, said.right
        if said.sign == "*" and right == arg:
            left, right = right, left
        value = static_value(right)
        if left != arg or not isinstance(value, StaticValue) or not 0 < value.value < math.inf:
            return False
        self.scale = self.scale * value.value if said.sign == "*" else self.scale / value.value
        return True

    def _accept_mask(self, said: ex.TorchExpr, arg: ex.Arg) -> bool:
        found = _mask(said, arg)
        if found is None or arg in found[0].walk():
            return False
        part = self._part(self.matched_steps[-1])
        self.masks.append(_ChainMask(*found, part, part.inputs[arg.index], _causal(*found)))
        return True

    def _values(self) -> bool:
        """Follows names to the contraction of the weights with the values."""
        while following := self._next_expr():
            said, arg = following
            if _product(said):
                self.weights = arg.index
                self.last = said
                return True
            if said != arg:
                return False
        return False

    def _fits(self) -> bool:
        """Sorts the dimensions of both products; returns False if they form no attention."""
        scores, last = self.scores, self.last
        names = last.source_dims[self.weights]  # of the scores' dimensions, in the second product
        values, out = last.source_dims[1 - self.weights], last.target_dims
        for turn in (0, 1):
            query, key = scores.source_dims[turn], scores.source_dims[1 - turn]
            self.turn = turn
            self.keys = tuple(i for i, dim in enumerate(scores.target_dims) if dim not in query)
            if sorted(self.keys) == sorted(self.along):
                break
        else:
            return False
        both = [dim for dim in query if dim in key]
        self.inner = tuple(dim for dim in both if dim not in scores.target_dims)
        self.heads = tuple(i for i, dim in enumerate(scores.target_dims) if dim in both)
        self.queries = tuple(
            i for i, dim in enumerate(scores.target_dims) if i not in (*self.keys, *self.heads)
        )
        self.outer = tuple(dim for dim in values if dim not in names)
        kept = {names[i] for i in (*self.heads, *self.queries)} | set(self.outer)
        return (
            bool(self.inner and self.keys and self.outer)
            and {*query, *key} == {*scores.target_dims, *self.inner}
            and set(values) == {names[i] for i in (*self.heads, *self.keys)} | set(self.outer)
            and set(out) == kept
        )

    def step(self) -> UnboundInstruction:
        """Returns the whole chain as one step."""
        scores, last = self.scores, self.last
        end = self._part(self.matched_steps[-1])
        inputs = self._part(self.matched_steps[0]).inputs
        ids = [inputs[_index(scores.args[i])] for i in (self.turn, 1 - self.turn)]
        ids.append(end.inputs[_index(last.args[1 - self.weights])])
        masks, new = [], False
        causal = [masked.causal for masked in self.masks] == [(*self.queries, *self.keys)]
        for masked in self.masks if not causal else ():
            place = slice(len(ids), len(ids) + len(masked.part.inputs))
            masks.append(Mask(_code(masked), masked.hides, place))
            # the scores are among its inputs, but no mask that depends on them is fused
            ids += [ids[0] if id == masked.masked_value else id for id in masked.part.inputs]
            new = new or any(isinstance(node, CREATING_NODES) for node in masked.expr.walk())
        places = (self.heads, self.queries, self.keys)
        queries, keys = (scores.source_dims[i] for i in (self.turn, 1 - self.turn))
        run = attention_instruction(
            (queries, keys, last.source_dims[1 - self.weights]),
            _attention_dims(scores.target_dims, places),
            _attention_dims(last.source_dims[self.weights], places),
            (self.inner, self.outer),
            last.target_dims,
            (*self.heads, *self.queries, *self.keys),
            self.scale,
            causal,
            tuple(masks),
        )
        return UnboundInstruction(run, tuple(ids), end.outputs, new)


def _attention_dims(
    dims: ex.Group, places: Sequence[Sequence[int]]
) -> tuple[ex.Group, ex.Group, ex.Group]:
    heads, queries, keys = (tuple(dims[i] for i in some) for some in places)
    return heads, queries, keys


def _index(expr: ex.TorchExpr) -> int:
    assert isinstance(expr, ex.Arg)
    return expr.index


def _code(masked: _ChainMask) -> Any:
    assert masked.part.cell is not None
    return compile_expr(masked.expr, [len(array.shape) for array in masked.part.cell.site.inputs])


# --- what a step may say -------------------------------------------------------------------------


def _product(said: ex.TorchExpr | None) -> TypeGuard[ex.Contract]:
    """Returns whether an expression contracts two of its inputs."""
    return (
        isinstance(said, ex.Contract)
        and len(said.args) == 2
        and all(isinstance(arg, ex.Arg) for arg in said.args)
        and said.args[0] != said.args[1]
    )


def _softmax_dims(said: ex.TorchExpr, arg: ex.Arg, rank: int) -> tuple[int, ...]:
    """Returns the dimensions of a softmax, counted from the front; none if it is not one.

    Several dimensions are merged before and split after.
    """
    inner, on = said, said.operand if isinstance(said, ex.Method) else None
    groups: tuple[tuple[int, ...], ...] = tuple((i,) for i in range(rank))
    if isinstance(said, ex.Rearrange) and isinstance(said.operand, ex.Method):
        inner = said.operand
        before = inner.operand
        if not isinstance(before, ex.Rearrange) or before.source_dims != said.target_dims:
            return ()
        if before.target_dims != said.source_dims or any(
            len(group) != 1 for group in before.source_dims
        ):
            return ()
        order = [dim for (dim,) in before.source_dims]
        groups = tuple(tuple(order.index(dim) for dim in group) for group in before.target_dims)
        on = before.operand
    if not isinstance(inner, ex.Method) or inner.name != "softmax" or on != arg:
        return ()
    dim = inner.args[0] if len(inner.args) == 1 and not inner.kwargs else None
    return groups[dim.value] if isinstance(dim, ex.Const) and isinstance(dim.value, int) else ()


_MINUS = StaticValue(-math.inf)


def _mask(said: ex.TorchExpr, arg: ex.Arg) -> tuple[ex.TorchExpr, bool] | None:
    """Returns a mask's expression and whether it hides scores (or is added), or None."""
    match said:
        case ex.Call("torch.where", (test, no, yes)) if yes == arg and static_value(no) == _MINUS:
            return test, True
        case ex.Call("torch.where", (test, yes, no)) if yes == arg and static_value(no) == _MINUS:
            return ex.Prefix("~", test), True
        case ex.Infix("+", left, right) if arg in (left, right) and left != right:
            return (right if left == arg else left), False
        case ex.Infix("-", left, right) if left == arg:
            return ex.Prefix("-", right), False
    return None


def _causal(test: ex.TorchExpr, hides: bool) -> tuple[int, int] | None:
    """Returns the dimensions of query and key, if the key may not come after the query."""
    match test if hides else None:
        case ex.Infix(">", ex.Position(key, after), ex.Position(query, _)):
            return after.index(query), after.index(key)
        case ex.Infix("<", ex.Position(query, after), ex.Position(key, _)):
            return after.index(query), after.index(key)
        case ex.Prefix("~", ex.Infix("<=", ex.Position(key, after), ex.Position(query, _))):
            return after.index(query), after.index(key)
        case ex.Prefix("~", ex.Infix(">=", ex.Position(query, after), ex.Position(key, _))):
            return after.index(query), after.index(key)
    return None
