"""Laws of linear maps: composed, fused, and with what stands beside them absorbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

from ncd.circuit.circuit import Cell
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.op import Op
from ncd.ops import Add, BatchNorm, Conv, Cut, LayerNorm, Linear, RMSNorm, Scale, Split
from ncd.ops.weights import unused_axis
from ncd.rewrite.rules.block_steps import BlockStep, BlockSteps
from ncd.rewrite.rules.rule import Options, Weights, unused_axis_name, unused_layer_name
from ncd.rewrite.rules.step_edits import LawSite, MakeWeights, StepLaw, leave_out, new_slot

LawResult = tuple[BlockSteps, MakeWeights | None] | None


def linear_op(cell: Cell | None) -> Linear | None:
    """Returns the linear map of a cell; None if it has another op."""
    return cell.op if cell is not None and isinstance(cell.op, Linear) else None


def scale_factor(cell: Cell) -> float:
    """Returns the number that a scale multiplies by."""
    assert isinstance(cell.op, Scale)
    return float(cell.site.reads[0].numel ** float(Fraction(cell.op.power)))


def _bias(old: Weights, path: str, like: Any) -> Any:
    return old.get(f"{path}.bias", like.new_zeros(like.shape[0]))


class ComposeLinear(StepLaw):
    """Two linear maps, one after the other, are one."""

    name: ClassVar[str] = "compose-linear"
    op_kinds: ClassVar[tuple[type, ...]] = (Linear,)

    def title(self, options: Options) -> str:
        return "Compose with the linear map behind it"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        user = site.only_user(site.step.gives[0])
        one, two = site.cell(site.i), site.cell(user[0]) if user else None
        first, second = linear_op(one), linear_op(two)
        if user is None or one is None or two is None or first is None or second is None:
            return None
        if one.site.own_outputs[0] != two.site.own_inputs[0]:
            return None
        pattern = Signature(one.site.own_inputs, two.site.own_outputs)
        op = Linear(pattern, second.name, first.bias or second.bias)
        step = replace(site.region.steps[user[0]], term=op, takes=site.step.takes)
        if not _gives_the_same(site.region, step):
            return None

        def weights(old: Weights) -> Weights:
            a, b = old[f"{one.path}.weight"], old[f"{two.path}.weight"]
            found = {f"{two.path}.weight": b @ a}
            if op.bias:
                found[f"{two.path}.bias"] = b @ _bias(old, one.path, a) + _bias(old, two.path, b)
            return found

        return site.with_steps({site.i: (), user[0]: (step,)}), weights


class AddLinears(StepLaw):
    """The sum of two linear maps of one array is one linear map."""

    name: ClassVar[str] = "add-linears"
    op_kinds: ClassVar[tuple[type, ...]] = (Add,)

    def title(self, options: Options) -> str:
        return "Add the two linear maps before it into one"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        makers = [site.maker(slot) for slot in site.step.takes if site.only_user(slot)]
        cells = [(j, site.cell(j)) for j in makers if j is not None]
        found = [(j, cell) for j, cell in cells if cell is not None and linear_op(cell)]
        if len(found) != 2:
            return None
        (i, one), (j, two) = sorted(found, key=lambda pair: pair[0])
        own, same = site.region.steps, one.site.own_inputs == two.site.own_inputs
        if not same or own[i].takes != own[j].takes or one.site.outputs != two.site.outputs:
            return None
        first, second = linear_op(one), linear_op(two)
        assert first is not None and second is not None
        op = replace(first, bias=first.bias or second.bias)

        def weights(old: Weights) -> Weights:
            a, b = old[f"{one.path}.weight"], old[f"{two.path}.weight"]
            total = {f"{one.path}.weight": a + b}
            if op.bias:
                total[f"{one.path}.bias"] = _bias(old, one.path, a) + _bias(old, two.path, b)
            return total

        step = replace(own[i], term=op, gives=site.step.gives)
        return site.with_steps({i: (step,), j: (), site.i: ()}), weights


def _gives_the_same(own: BlockSteps, step: BlockStep) -> bool:
    """Returns whether a step gives the arrays that it is to give."""
    made = step.term.infer_outputs(Type(own.arrays[slot] for slot in step.takes))
    return made == Type(own.arrays[slot] for slot in step.gives)


class AbsorbScale(StepLaw):
    """A scale beside a linear map is a part of its weights."""

    name: ClassVar[str] = "absorb-scale"
    op_kinds: ClassVar[tuple[type, ...]] = (Scale,)

    def choices(self, cell: Cell) -> Iterator[Options]:
        yield {"into": "before"}
        yield {"into": "behind"}

    def title(self, options: Options) -> str:
        return f"Absorb into the linear map {options.get('into', 'before')} it"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        (given,), (made,) = site.step.takes, site.step.gives
        before = options.get("into") == "before"
        if before:
            only = site.only_user(given)
            j = site.maker(given) if only is not None else None
        else:
            user = site.only_user(made)
            j = user[0] if user is not None else None
        cell, own = site.cell(j) if j is not None else None, site.cell(site.i)
        op = linear_op(cell)
        if cell is None or op is None or own is None:
            return None
        factor, names = scale_factor(own), ["weight", "bias"] if before and op.bias else ["weight"]

        def weights(old: Weights) -> Weights:
            return {f"{cell.path}.{name}": factor * old[f"{cell.path}.{name}"] for name in names}

        return leave_out(site.region, site.i, 0), weights


class AbsorbScaleInNorm(StepLaw):
    """A norm undoes a scale before it, but for the small number that it adds."""

    name: ClassVar[str] = "absorb-scale-in-norm"
    op_kinds: ClassVar[tuple[type, ...]] = (Scale,)

    def title(self, options: Options) -> str:
        return "Leave to the norm behind it"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        user, own = site.only_user(site.step.gives[0]), site.cell(site.i)
        if user is None or own is None:
            return None
        op = site.region.steps[user[0]].term
        if not isinstance(op, LayerNorm | RMSNorm):
            return None
        eps = op.eps / scale_factor(own) ** 2
        if not 0 < eps < 1:
            return None
        step = replace(site.region.steps[user[0]], term=replace(op, eps=eps), takes=site.step.takes)
        return site.with_steps({site.i: (), user[0]: (step,)}), None


class FuseLinears(StepLaw):
    """Linear maps of one array, such as those to queries, keys and values, are one map."""

    name: ClassVar[str] = "fuse-linears"
    op_kinds: ClassVar[tuple[type, ...]] = (Linear,)

    def title(self, options: Options) -> str:
        return "Fuse with the linear maps of the same array"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        cells = [(j, cell) for j, cell in self._alike(site) if cell.site.own_outputs[0]]
        if len(cells) < 2 or cells[0][0] != site.i:
            return None
        first, circuit = cells[0][1], site.circuit
        sizes = [cell.site.own_outputs[0].numel for _, cell in cells]
        whole = Axis(unused_axis_name(circuit, "f"), sum(sizes))
        name = unused_layer_name(circuit, "qkv" if len(cells) == 3 else "fused")
        bias = bool(linear_op(first) and linear_op(first).bias)  # type: ignore[union-attr]
        both = Signature(first.site.own_inputs, Type((Array((whole,)),)))
        steps, own = _fused_steps(site, cells, Linear(both, name, bias), whole)
        if not all(_gives_the_same(own, step) for step in steps):
            return None
        new: dict[int, Sequence[BlockStep]] = {j: () for j, _ in cells}
        new[site.i] = steps
        path = ".".join((*first.module_path, name))

        def weights(old: Weights) -> Weights:
            names = ["weight", "bias"] if bias else ["weight"]
            return {
                f"{path}.{kind}": _rows([old[f"{cell.path}.{kind}"] for _, cell in cells])
                for kind in names
            }

        return replace(site, region=own).with_steps(new), weights

    def _alike(self, site: LawSite) -> Iterator[tuple[int, Cell]]:
        """Yields the linear maps of the same array, with as many biases."""
        (given,), own = site.step.takes, site.cell(site.i)
        for j, step in enumerate(site.region.steps):
            cell = site.cell(j)
            op, mine = linear_op(cell), linear_op(own)
            if cell is None or own is None or op is None or mine is None:
                continue
            same = step.takes == (given,) and cell.site.own_inputs == own.site.own_inputs
            if same and op.bias == mine.bias and cell.module_path == own.module_path:
                yield j, cell


def _rows(parts: list[Any]) -> Any:
    """Returns tensors one below the other."""
    found = parts[0].new_zeros((sum(len(part) for part in parts), *parts[0].shape[1:]))
    start = 0
    for part in parts:
        found[start : start + len(part)] = part
        start += len(part)
    return found


def _fused_steps(
    site: LawSite, cells: list[tuple[int, Cell]], op: Linear, whole: Axis
) -> tuple[tuple[BlockStep, ...], BlockSteps]:
    """Returns the fused map, its cut into pieces, and the split of each piece into its axes."""
    own = site.region
    (array,) = op.infer_outputs(Type((own.arrays[site.step.takes[0]],)))
    own, joined = new_slot(own, array)
    taken, pieces, splits, gives = [whole.name, *array.names], [], [], []
    for j, cell in cells:
        (new,), (slot,) = cell.site.own_outputs, own.steps[j].gives
        (piece,) = new if len(new) == 1 and not new[0].spatial else (None,)
        if piece is None:
            (piece,) = unused_axis((*taken, *cell.site.axes_by_name), "p", new.numel)
            taken.append(piece.name)
            own, part = new_slot(own, array.with_axes(piece if a == whole else a for a in array))
            pattern = Signature(Type((Array((piece,)),)), Type((new,)))
            splits.append(BlockStep(Split(pattern), (part,), (slot,)))
            slot = part
        pieces.append(piece)
        gives.append(slot)
    cut = Cut(Signature(Type((Array((whole,)),)), Type(Array((piece,)) for piece in pieces)))
    fused = BlockStep(op, site.step.takes, (joined,))
    return (fused, BlockStep(cut, (joined,), tuple(gives)), *splits), own


class AbsorbNormWeights(StepLaw):
    """The weight and the bias of a norm are a part of the linear maps behind it."""

    name: ClassVar[str] = "absorb-norm-weights"
    op_kinds: ClassVar[tuple[type, ...]] = (LayerNorm,)

    def title(self, options: Options) -> str:
        return "Absorb its weight and bias into the linear maps behind it"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        norm, op, (made,) = site.cell(site.i), site.step.term, site.step.gives
        users = [j for j, step in enumerate(site.region.steps) if made in step.takes]
        if norm is None or not isinstance(op, LayerNorm) or not op.affine or not users:
            return None
        cells = [site.cell(j) for j in users]
        found = [cell for cell in cells if cell is not None and linear_op(cell) is not None]
        if len(found) < len(users) or made in site.region.outputs:
            return None
        if any(cell.site.own_inputs != norm.site.own_inputs for cell in found):
            return None
        new: dict[int, Sequence[BlockStep]] = {
            j: (replace(site.region.steps[j], term=_with_bias(cell.op, op.bias)),)
            for j, cell in zip(users, found, strict=True)
        }
        new[site.i] = (replace(site.step, term=replace(op, affine=False)),)

        def weights(old: Weights) -> Weights:
            gain, made = old[f"{norm.path}.weight"].flatten(), {}
            for cell in found:
                w = old[f"{cell.path}.weight"]
                made[f"{cell.path}.weight"] = w * gain
                if op.bias:
                    shift = w @ old[f"{norm.path}.bias"].flatten()
                    made[f"{cell.path}.bias"] = shift + _bias(old, cell.path, w)
            return made

        return site.with_steps(new), weights


def _with_bias(op: Op, bias: bool) -> Linear:
    assert isinstance(op, Linear)
    return replace(op, bias=op.bias or bias)


class FoldBatchNorm(StepLaw):
    """A batch norm behind a convolution is a part of it once training is over."""

    name: ClassVar[str] = "fold-batch-norm"
    op_kinds: ClassVar[tuple[type, ...]] = (BatchNorm,)

    def title(self, options: Options) -> str:
        return "Fold into the convolution before it, in evaluation"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        (given,), norm, op = site.step.takes, site.cell(site.i), site.step.term
        j = site.maker(given)
        conv = site.cell(j) if j is not None else None
        if j is None or conv is None or norm is None or site.only_user(given) is None:
            return None
        if not isinstance(conv.op, Conv) or not isinstance(op, BatchNorm):
            return None
        channel = norm.site.own_inputs[0][1]
        if conv.site.own_outputs[0][:-1] != (channel,):
            return None
        step = replace(
            site.region.steps[j], term=replace(conv.op, bias=True), gives=site.step.gives
        )
        eps, affine = op.eps, op.affine

        def weights(old: Weights) -> Weights:
            w, path = old[f"{conv.path}.weight"], norm.path
            gain = (old[f"{path}.running_var"] + eps) ** -0.5
            gain = gain * old[f"{path}.weight"] if affine else gain
            shift = (_bias(old, conv.path, w) - old[f"{path}.running_mean"]) * gain
            shift = shift + old[f"{path}.bias"] if affine else shift
            shape = (-1, *(1 for _ in w.shape[1:]))
            return {f"{conv.path}.weight": w * gain.reshape(shape), f"{conv.path}.bias": shift}

        return site.with_steps({j: (step,), site.i: ()}), weights
