"""Scans: the body at each position, as torch's recurrent layers and plain loops have it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ncd.circuit.circuit import Cell
from ncd.circuit.elaborate import Axes
from ncd.language.axes import Type
from ncd.language.loops import Scan
from ncd.language.terms import Id, Term
from ncd.ops import Copy, Einsum, Elementwise, Linear, Map, Rename, Softmax
from ncd.run.guard import compile
from ncd.run.module import trace
from ncd.run.seeding import example_inputs


def recurrent() -> Term:
    """``nn.RNN`` without biases: s = tanh(W s + U x), which is also what it gives."""
    step = Linear("n -> n_out", "W") @ Linear("m -> n_out", "U") >> Map(
        "n_out, n_out -> n_out", "tanh($1 + $2)"
    )
    body = step >> Rename("n_out -> n") >> Copy("n")
    return Axes(t=6, n=4, m=3)(Scan(body, "t"))


def test_a_recurrence_is_torchs() -> None:
    module = compile(recurrent())
    state, x = example_inputs(module.term)
    state.requires_grad_()
    x.requires_grad_()
    peer = nn.RNN(3, 4, bias=False)
    with torch.no_grad():
        peer.weight_hh_l0.copy_(module.W.weight)
        peer.weight_ih_l0.copy_(module.U.weight)
    outputs, last = peer(x, state[None])
    ours_last, ours = module(state, x)
    torch.testing.assert_close(ours, outputs)
    torch.testing.assert_close(ours_last, last[0])
    a = torch.autograd.grad(ours.square().sum(), [state, x, *module.parameters()])
    theirs = [state, x, peer.weight_hh_l0, peer.weight_ih_l0]
    for one, two in zip(a, torch.autograd.grad(outputs.square().sum(), theirs), strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("batch", [(2,), (2, 3)])
def test_a_batch_in_front_of_a_scan(batch: tuple[int, ...]) -> None:
    module = compile(recurrent())
    state, x = torch.randn(*batch, 4), torch.randn(*batch, 6, 3)
    last, whole = module(state, x)
    at = (1,) * len(batch)
    one_last, one = module(state[at], x[at])
    torch.testing.assert_close(whole[at], one)
    torch.testing.assert_close(last[at], one_last)


def test_the_axis_may_stand_anywhere() -> None:
    """Running sums along the last axis of an array."""
    body = Map("(), () -> ()", "$1 + $2") >> Copy("()")
    module = compile(Id("b:2 c:3, b:2 c:3 t:5") >> Scan(body, "t"))
    state, x = example_inputs(module.term)
    last, sums = module(state, x)
    expected = state[..., None] + x.cumsum(-1)
    torch.testing.assert_close(sums, expected)
    torch.testing.assert_close(last, expected[..., -1])


def test_no_states_and_several() -> None:
    none = compile(Axes(t=4, m=3)(Scan(Elementwise("relu") >> Id("m"), "t", states=0)))
    (x,) = example_inputs(none.term)
    torch.testing.assert_close(none(x), x.relu())
    two = Axes(t=4, n=3)(
        Scan(Id("n, n, n") >> Map("n, n -> n", "$1 + $2") @ Id("n") >> Copy("n") @ Id("n"), "t")
    )
    module = compile(two)
    inputs = example_inputs(two)
    state, outputs = inputs[0], []
    for a, b in zip(*inputs[1:], strict=True):
        state = state + a
        outputs.append((state, b))
    got = module(*inputs)
    torch.testing.assert_close(got[0], state)
    torch.testing.assert_close(got[1], torch.stack([y for y, _ in outputs]))
    torch.testing.assert_close(got[2], inputs[2])


def test_a_trace_has_the_last_position_and_a_watch_sees_all() -> None:
    module = compile(recurrent())
    inputs = example_inputs(module.term)
    run = trace(module, *inputs)
    assert run.values.keys() == module.circuit.values.keys()
    loop = module.circuit.loops[0]
    (body,) = loop.bodies
    for inner, outer in zip(body.outputs, loop.outputs, strict=True):
        expected = run.values[outer.id]
        expected = expected if outer is loop.outputs[0] else expected[-1]
        assert torch.equal(run.values[inner.id], expected)
    seen: list[str] = []

    def watch(cell: Cell, given: object, made: object) -> None:
        seen.append(cell.id)

    module.execute(inputs, watch=watch)
    assert seen == [cell.id for cell in body.cells] * 6


def test_attention_inside_a_scan_is_fused_as_well() -> None:
    body = Einsum("k, x k -> x") >> Softmax("x") >> Einsum("x, x k -> k") >> Copy("k")
    module = compile(Axes(t=3, x=5, k=4)(Scan(body, "t")))
    (step,) = module._program(plain=False).steps
    assert any(inner.cell is None for inner in step.body.steps)  # type: ignore[union-attr]
    inputs = example_inputs(module.term)
    for one, two in zip(module(*inputs), trace(module, *inputs).outputs, strict=True):
        torch.testing.assert_close(one, two)


def test_the_axis_stands_in_the_outputs_where_the_first_input_has_it() -> None:
    """The other inputs may have it elsewhere."""
    scan = Scan(Id("a, b"), "t", states=0)
    assert str(scan.infer_outputs(Type.parse("t:3 a:2, b:4 t:3"))) == "t a, t b"
    assert str(scan.infer_outputs(Type.parse("a:2 t:3, t:3 b:4"))) == "a t, b t"
    term = Id("t:3 a:2, b:4 t:3") >> scan
    one, two = example_inputs(term)
    first, second = compile(term)(one, two)
    assert torch.equal(first, one) and torch.equal(second, two.T)
