"""The autograd graph is the one that torch walks, told in the ops of the circuit."""

from __future__ import annotations

import gc
import math
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from torch import Tensor

import ncd
from ncd.autograd import autograd
from ncd.circuit import elaborate
from ncd.dag import LEVELS, Dag
from ncd.errors import UnknownNameError
from ncd.ops import BatchNorm, Copy, Elementwise, LayerNorm, Linear, Named, Softmax
from ncd.run.seed import generator
from ncd.terms import Block, Id, Repeat, Term
from tests.strategies import terms

NAMES = list(ncd.catalogue)


def graph(term: Term, seed: int = 0) -> Dag:
    return autograd(ncd.compile(term, seed), *ncd.example_inputs(term, seed))


def walked(outputs: tuple[Tensor, ...]) -> set[Any]:
    """Every function that a plain walk over ``grad_fn`` meets."""
    found: set[Any] = set()

    def walk(function: Any) -> None:
        if function is not None and function not in found:
            found.add(function)
            for earlier, _ in function.next_functions:
                walk(earlier)

    for y in outputs:
        walk(y.grad_fn)
    return found


def plain_run(term: Term) -> tuple[list[Tensor], list[Tensor], tuple[Tensor, ...]]:
    """Leaves (inputs, then parameters), their gradients, and the outputs, by torch alone."""
    module = ncd.compile(term)
    inputs = [x.requires_grad_() for x in ncd.example_inputs(term)]
    outputs = module.execute(tuple(inputs))
    leaves = [*inputs, *module.parameters()]
    random = generator(0, "cotangent")
    flows = [torch.randn(y.shape, generator=random) for y in outputs]
    grads = torch.autograd.grad(outputs, leaves, flows, retain_graph=True)
    return leaves, list(grads), outputs


def svg(dot: str) -> str:
    run = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", NAMES)
def test_it_has_the_functions_of_a_plain_walk(name: str) -> None:
    term = ncd.catalogue[name].build()
    _, _, outputs = plain_run(term)
    dag = graph(term)
    functions = [node for node in dag.nodes if node.kind != "output"]
    assert len(functions) == len(walked(outputs))
    names = sorted(f.name().removesuffix("Backward0") for f in walked(outputs) if not leaf(f))
    assert names == sorted(node.label for node in dag.nodes if node.kind == "function")


def leaf(function: Any) -> bool:
    return hasattr(function, "variable")


@pytest.mark.parametrize("name", NAMES)
def test_norms_are_those_of_torch(name: str) -> None:
    term = ncd.catalogue[name].build()
    _, grads, _ = plain_run(term)
    norms = [float(torch.linalg.vector_norm(grad)) for grad in grads]
    dag = graph(term)
    module = ncd.compile(term)
    by_name = {node.label: node.gradient for node in dag.nodes if node.kind == "parameter"}
    mine = [node.gradient for node in dag.nodes if node.kind == "input"]
    mine += [by_name[name] for name, _ in module.named_parameters()]
    assert mine == pytest.approx(norms, rel=1e-4, abs=1e-5)


def test_an_op_has_the_norm_of_the_gradient_at_its_output() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    values: dict[str, Tensor] = {}
    outputs = module.execute(inputs, keep=values)
    flow = torch.randn(outputs[0].shape, generator=generator(0, "cotangent"))
    shown = {node.cell: node for node in graph(term).at("op").nodes if node.kind == "op"}
    for cell in elaborate(term).cells:
        if cell.id in shown:
            (grad,) = torch.autograd.grad(outputs, values[cell.outputs[0].id], flow, True)
            assert shown[cell.id].gradient == pytest.approx(float(grad.norm()), rel=1e-4)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_random_terms(term: Term) -> None:
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    before = {name: x.clone() for name, x in module.state_dict().items()}
    dag = autograd(module, *inputs)
    cells = {cell.id for cell in module.circuit.cells}
    ids = [node.id for node in dag.nodes]
    assert len(ids) == len(set(ids))
    assert all(node.cell in cells for node in dag.nodes if node.kind in ("function", "parameter"))
    for level in LEVELS:
        view = dag.at(level)
        known = {node.id for node in view.nodes}
        assert all({edge.source, edge.target} <= known for edge in view.edges)
        assert dag.hidden(level) + len(view.nodes) == len(dag.nodes)
        assert dag.dot(level).startswith("digraph")
    assert all(x.grad is None and not x.requires_grad for x in inputs)
    assert all(p.grad is None for p in module.parameters())
    after = module.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("name", NAMES)
def test_every_level_draws(name: str) -> None:
    dag = graph(ncd.catalogue[name].build())
    assert dag.hidden("every function") == 0
    assert dag.hidden("block") >= dag.hidden("op")
    for level in LEVELS:
        for dark in (False, True):
            drawn = svg(dag.dot(level, dark))
            assert drawn.count('class="edge"') == len(dag.at(level).edges)
            for node in dag.at(level).nodes:
                assert f'<g id="{node.id}"' in drawn


def test_a_selected_op_is_drawn_with_a_thick_outline() -> None:
    dag = graph(ncd.catalogue["multi-head-attention"].build())
    softmax = next(n.cell for n in dag.at("op").nodes if n.role == "softmax")
    for level in LEVELS:
        thick = re.findall(r"label=\"?([^\\\"]*).*penwidth=3", dag.dot(level, selected=softmax))
        want = "Scaled Dot-Product Attention" if level == "block" else "Softmax"
        assert thick == [want]
    assert "penwidth=3" not in dag.dot("op")


def test_softmax_keeps_its_result() -> None:
    term = ncd.catalogue["scaled-dot-product-attention"].build()
    dag = graph(term)
    (softmax,) = [node for node in dag.nodes if node.label == "Softmax"]
    assert softmax.saved == 4 * 20 * 22
    assert softmax.shape == "20×22"
    assert "keeps 1.76 kB" in softmax.facts


def test_memory_kept_twice_counts_once() -> None:
    whole = graph(ncd.catalogue["multi-head-attention"].build())
    attention = next(n for n in whole.at("block").nodes if n.label.startswith("Scaled"))
    parts = [n for n in whole.nodes if n.cell in attention.cell.split()]
    assert attention.saved == sum(dict(s for n in parts for s in n.storages).values())
    assert attention.saved < sum(n.saved for n in parts)


def test_a_copy_adds_no_function() -> None:
    dag = graph(Named("y:3 m:4", "X") >> Copy("y m"))
    assert [(node.id, node.kind) for node in dag.nodes] == [
        ("v0", "input"),
        ("out0", "output"),
        ("out1", "output"),
    ]
    x, one, two = (node.gradient or 0 for node in dag.nodes)
    assert x > 0 and math.isfinite(one) and math.isfinite(two)
    assert [(edge.source, edge.target) for edge in dag.edges] == [("v0", "out0"), ("v0", "out1")]


def test_inputs_without_gradients() -> None:
    module = ncd.compile(Id("y:3 m:4"))
    dag = autograd(module, torch.zeros(3, 4, dtype=torch.int64))
    assert [node.gradient for node in dag.nodes] == [None, None] and not dag.edges
    svg(dag.dot("op"))


def test_frozen_weights_and_no_grad_outside() -> None:
    module = ncd.compile(Linear("m:4 -> n:3", "L"))
    module.requires_grad_(False)
    with torch.no_grad():
        dag = autograd(module, torch.randn(2, 4))
    assert [node.kind for node in dag.nodes if node.kind == "parameter"] == []
    assert dag.nodes[0].gradient is not None and dag.nodes[0].shape == "2×4"


def test_evaluation_stays_evaluation() -> None:
    module = ncd.compile(Id("b:4 n:3") >> BatchNorm("b n", "norm")).eval()
    x = torch.randn(4, 3)
    dag = autograd(module, x)
    assert dag.nodes[0].gradient is not None
    assert not module.training and int(module.state_dict()["norm.num_batches_tracked"]) == 0


def test_every_body_of_a_repetition_has_its_own_nodes() -> None:
    body = Block(Id("y:3 m:4") >> LayerNorm("m") >> Elementwise("relu"), "Layer")
    dag = graph(Repeat((body,) * 3))
    blocks = [node for node in dag.at("block").nodes if node.kind == "op"]
    assert [node.label for node in blocks] == ["Layer"] * 3
    assert len({node.id for node in blocks}) == 3
    assert "layers.2.norm.weight" in [node.label for node in dag.nodes]


def test_text_from_outside_is_escaped() -> None:
    title = '<b>"\\N\n]; x [label=boo'
    term = Block(Id("m:3") >> Softmax("m") >> Elementwise("relu"), title) >> Linear("m -> n:2", "Q")
    dag = graph(Block(term, "\\"))
    for level in LEVELS:
        drawn = svg(dag.dot(level))
        assert drawn.count('class="node') == len(dag.at(level).nodes)
    assert "&lt;b&gt;&quot;\\N ]; x [label=boo" in svg(dag.dot("block"))


def test_threads_do_not_meet() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    with ThreadPoolExecutor(8) as pool:
        dags = list(pool.map(lambda _: autograd(module, *inputs), range(24)))
    assert len({dag.dot("op") for dag in dags}) == 1


def test_an_unknown_level() -> None:
    dag = graph(Id("m:2"))
    with pytest.raises(UnknownNameError, match=r"^there is no level 'all'\. Try block or op or"):
        dag.dot("all")


def test_nothing_is_left_behind() -> None:
    def alive() -> int:
        gc.collect()
        return sum(issubclass(type(x), Tensor) for x in gc.get_objects())

    module = ncd.compile(ncd.catalogue["residual-block"].build())
    inputs = ncd.example_inputs(module.term)
    autograd(module, *inputs)
    before = alive()
    for _ in range(3):
        autograd(module, *inputs)
    assert alive() == before


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    there = autograd(ncd.compile(term, device="cuda"), *ncd.example_inputs(term, device="cuda"))
    for mine, yours in zip(there.at("op").nodes, graph(term).at("op").nodes, strict=True):
        assert mine.label == yours.label
        assert mine.gradient == pytest.approx(yours.gradient, rel=1e-3)
