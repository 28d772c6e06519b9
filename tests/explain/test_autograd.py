"""The autograd graph is the one that torch walks, told in the ops of the circuit."""

from __future__ import annotations

import gc
import math
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from torch import Tensor

import ncd
from ncd.circuit.elaborate import elaborate
from ncd.errors import UnknownNameError
from ncd.explain import graphviz_layout
from ncd.explain.autograd_dag import LEVELS, Dag, Node, _flows, autograd
from ncd.language.blocks import Block
from ncd.language.loops import Repeat, Scan
from ncd.language.terms import Id, Term
from ncd.ops import (
    Add,
    BatchNorm,
    Copy,
    Cut,
    Dropout,
    Elementwise,
    Index,
    LayerNorm,
    Linear,
    Named,
    Param,
    Softmax,
)
from ncd.run.module import CircuitModule
from ncd.run.seeding import generator
from tests.support.sampling import count, sample
from tests.support.strategies import terms

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


def unfused(module: CircuitModule, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """A run in which every op is a step of its own, as it is where somebody looks on."""
    return module.execute(tuple(inputs), watch=lambda *_: None)


def plain_run(term: Term) -> tuple[list[Tensor], list[Tensor], tuple[Tensor, ...]]:
    """Leaves (inputs, then parameters), their gradients, and the outputs, by torch alone."""
    module = ncd.compile(term)
    inputs = ncd.example_inputs(term)
    reals = [x.requires_grad_() for x in inputs if x.is_floating_point()]
    outputs = unfused(module, inputs)
    leaves = [*reals, *module.parameters()]
    random = generator(0, "cotangent")
    drawn = [torch.randn(y.shape, generator=random) for y in outputs]
    starts = [flow if flow.ndim else torch.ones(()) for flow in drawn]
    pairs = zip(outputs, starts, strict=True)
    real, flows = zip(*((y, flow) for y, flow in pairs if y.requires_grad), strict=True)
    grads = torch.autograd.grad(real, leaves, flows, retain_graph=True)
    return leaves, list(grads), real


def svg(dot: str) -> str:
    run = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout


@pytest.mark.few(20)
@pytest.mark.parametrize("name", NAMES)
def test_it_has_the_functions_of_a_plain_walk(name: str) -> None:
    term = ncd.catalogue[name].build()
    _, _, outputs = plain_run(term)
    dag = graph(term)
    whole = [node for node in dag.nodes if node.kind == "input" and node.gradient is None]
    behind = leading_to_outputs(dag)
    functions = [node for node in behind if node.kind != "output" and node not in whole]
    assert len(functions) == len(walked(outputs))
    names = sorted(f.name().removesuffix("Backward0") for f in walked(outputs) if not leaf(f))
    assert names == sorted(node.label for node in behind if node.kind == "function")
    assert all(node.gradient is None for node in dag.nodes if node not in behind)


def leading_to_outputs(dag: Dag) -> list[Node]:
    """The nodes from which a result is reached; what is only compared with leads to none."""
    found = {node.id for node in dag.nodes if node.kind == "output"}
    for _ in dag.nodes:
        found |= {edge.source for edge in dag.edges if edge.target in found}
    return [node for node in dag.nodes if node.id in found]


def leaf(function: Any) -> bool:
    return hasattr(function, "variable")


@pytest.mark.few(20)
@pytest.mark.parametrize("name", NAMES)
def test_norms_are_those_of_torch(name: str) -> None:
    term = ncd.catalogue[name].build()
    _, grads, _ = plain_run(term)
    norms = [float(torch.linalg.vector_norm(grad)) for grad in grads]
    dag = graph(term)
    module = ncd.compile(term)
    by_name = {node.label: node.gradient for node in dag.nodes if node.kind == "parameter"}
    mine = [
        node.gradient for node in dag.nodes if node.kind == "input" and node.gradient is not None
    ]
    mine += [by_name[name] for name, _ in module.named_parameters()]
    assert mine == pytest.approx(norms, rel=1e-4, abs=1e-5)


def test_an_op_has_the_norm_of_the_gradient_at_its_output() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    values: dict[str, Tensor] = {}
    outputs = module.execute(inputs, keep=values)
    flow = torch.randn(outputs[0].shape, generator=generator(0, "cotangent"))
    shown = {node.cell: node for node in graph(term).at_level("op").nodes if node.kind == "op"}
    for cell in elaborate(term).cells:
        if cell.id in shown:
            (grad,) = torch.autograd.grad(outputs, values[cell.outputs[0].id], flow, True)
            assert shown[cell.id].gradient == pytest.approx(float(grad.norm()), rel=1e-4)


@settings(max_examples=count(25, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_random_terms(term: Term) -> None:
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    before = {name: x.clone() for name, x in module.state_dict().items()}
    dag = autograd(module, *inputs)
    cells = {cell.id for cell in module.circuit.cells}
    ids = [node.id for node in dag.nodes]
    assert len(ids) == len(set(ids))
    owned = [node.cell for node in dag.nodes if node.kind in ("function", "parameter")]
    assert cells.issuperset(owned) or any(loop.kind == "scan" for loop in module.circuit.loops)
    for level in LEVELS:
        view = dag.at_level(level)
        known = {node.id for node in view.nodes}
        assert all({edge.source, edge.target} <= known for edge in view.edges)
        assert dag.hidden(level) + len(view.nodes) == len(dag.nodes)
        assert dag.dot(level).startswith("digraph")
    assert all(x.grad is None and not x.requires_grad for x in inputs)
    assert all(p.grad is None for p in module.parameters())
    after = module.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.few(20)
@pytest.mark.parametrize("name", NAMES)
def test_every_level_draws(name: str) -> None:
    dag = graph(ncd.catalogue[name].build())
    assert dag.hidden("every function") == 0
    assert dag.hidden("block") >= dag.hidden("op")
    for level, dark in sample(product(LEVELS, (False, True)), 2, name):
        drawn = svg(dag.dot(level, dark))
        assert drawn.count('class="edge"') == len(dag.at_level(level).edges)
        for node in dag.at_level(level).nodes:
            assert f'<g id="{node.id}"' in drawn


def test_a_selected_op_is_drawn_with_a_thick_outline() -> None:
    dag = graph(ncd.catalogue["multi-head-attention"].build())
    softmax = next(n.cell for n in dag.at_level("op").nodes if n.role == "softmax")
    for level in LEVELS:
        lines = [line for line in dag.dot(level, selected=softmax).splitlines() if "=3 " in line]
        thick = [re.findall(r"label=\"?([^\\\"]*)", line)[0] for line in lines]
        want = "Scaled Dot-Product Attention" if level == "block" else "Softmax"
        assert want in thick and (level == "every function" or thick == [want])
    assert "penwidth=3" not in dag.dot("op")


def test_softmax_keeps_its_result() -> None:
    term = ncd.catalogue["scaled-dot-product-attention"].build()
    dag = graph(term)
    (softmax,) = [node for node in dag.nodes if node.label == "Softmax"]
    assert softmax.saved_bytes == 4 * 20 * 22
    assert softmax.shape == "20×22"
    assert "keeps 1.76 kB" in softmax.facts


def test_memory_kept_twice_counts_once() -> None:
    whole = graph(ncd.catalogue["multi-head-attention"].build())
    attention = next(n for n in whole.at_level("block").nodes if n.label.startswith("Scaled"))
    parts = [n for n in whole.nodes if n.cell in attention.cell.split()]
    assert attention.saved_bytes == sum(dict(s for n in parts for s in n.storages).values())
    assert attention.saved_bytes < sum(n.saved_bytes for n in parts)


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
    dag = graph(Id("y:3#v:4"))
    assert [node.gradient for node in dag.nodes] == [None, None] and not dag.edges
    svg(dag.dot("op"))


def test_whole_numbers_have_no_gradient_but_the_table_has() -> None:
    dag = graph(Id("y:3#v:5") @ Param("v:5 m:4", "wte") >> Index("y#v, v m -> y m"))
    by_kind = {node.kind: node for node in dag.nodes if node.kind in ("input", "parameter")}
    assert by_kind["input"].gradient is None
    assert by_kind["parameter"].label == "wte" and (by_kind["parameter"].gradient or 0) > 0


def test_a_parameter_that_is_an_output() -> None:
    dag = graph(Param("v:5 m:4", "wte"))
    assert [(node.label, node.kind) for node in dag.nodes] == [
        ("wte", "parameter"),
        ("v m", "output"),
    ]
    assert [edge.target for edge in dag.edges] == ["out0"]
    assert dag.nodes[0].gradient == dag.nodes[1].gradient


def test_an_op_with_several_outputs() -> None:
    dag = graph(Id("y:3 m:4") >> Linear("m -> d:5", "L") >> Cut("d:5 -> a:2, b:3"))
    assert [node.label for node in dag.nodes if node.kind == "output"] == ["y a", "y b"]
    one, two = (node for node in dag.nodes if node.kind == "output")
    linear = next(node for node in dag.at_level("op").nodes if node.label == "Linear L")
    assert linear.gradient == pytest.approx(math.hypot(one.gradient or 0, two.gradient or 0))


def test_a_scan_has_its_functions_at_every_position_and_its_ops_once() -> None:
    step = Linear("n:3 -> n", "W") @ Id("n:3") >> Add() >> Elementwise("tanh") >> Copy("n")
    term = Scan(step, "t:5")
    dag = autograd(ncd.compile(term), torch.randn(3), torch.randn(5, 3))
    ids = [node.id for node in dag.nodes]
    assert len(ids) == len(set(ids))
    assert [node.label for node in dag.nodes].count("Tanh") == 5
    ops = dag.at_level("op").nodes
    assert [node.label for node in ops].count("Elementwise") + sum(
        "tanh" in node.label for node in ops
    ) == 1
    assert [node.label for node in ops if node.kind == "parameter"] == ["W.weight"]
    for level in LEVELS:
        svg(dag.dot(level))


def test_a_shared_layer_is_one_leaf() -> None:
    body = Block(Id("y:3 m:4") >> Linear("m -> m", "L"), "Layer")
    dag = graph(Repeat((body,) * 3, shared=True))
    assert [node.label for node in dag.nodes if node.kind == "parameter"] == ["layers.L.weight"]
    assert [node.label for node in dag.at_level("op").nodes].count("Linear L") == 3


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
    blocks = [node for node in dag.at_level("block").nodes if node.kind == "op"]
    assert [node.label for node in blocks] == ["Layer"] * 3
    assert len({node.id for node in blocks}) == 3
    assert "layers.2.norm.weight" in [node.label for node in dag.nodes]
    alone = graph(Block(Id("y:3 m:4") >> LayerNorm("m"), "Layer")).at_level("block").nodes
    assert [node.label for node in alone if node.kind == "op"] == ["LayerNorm norm"]  # says more


def test_nothing_changes_in_a_module_that_remembers_its_runs() -> None:
    module = ncd.compile(Id("b:4 n:3") >> BatchNorm("b n", "norm") >> Dropout(0.5, "drop"))
    x, other = torch.randn(4, 3), ncd.compile(module.term)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    around = torch.random.get_rng_state()
    first = autograd(module, x)
    assert autograd(module, x).dot(LEVELS[-1]) == first.dot(LEVELS[-1])
    assert torch.equal(torch.random.get_rng_state(), around)
    assert all(torch.equal(before[name], y) for name, y in module.state_dict().items())
    assert torch.equal(module(x), other(x))  # both drop the same, as at a first run


@pytest.mark.few(20)
@pytest.mark.parametrize("name", NAMES)
def test_few_nodes_by_ops_or_else_by_blocks(name: str) -> None:
    dag = graph(ncd.catalogue[name].build())
    assert min(len(dag.at_level(level).nodes) for level in ("op", "block")) <= 80


def test_a_whole_resnet_is_a_few_dozen_blocks_and_its_picture_stays_the_same() -> None:
    dag = graph(ncd.catalogue["identity-resnet"].build())
    assert len(dag.at_level("block").nodes) <= 40 < len(dag.at_level("op").nodes) < len(dag.nodes)
    first, again = (graphviz_layout.svg(dag.dot("block"), patience=60) for _ in range(2))
    alone = svg(dag.dot("block"))
    lines = [
        sorted(picture.splitlines()) for picture in (first, again, alone[alone.find("<svg") :])
    ]
    assert lines[0] == lines[1] == lines[2]  # the blocks may come in another order


def test_text_from_outside_is_escaped() -> None:
    title = '<b>"\\N ]; x [label=boo'
    term = Block(Id("m:3") >> Softmax("m") >> Elementwise("relu"), title) >> Linear("m -> n:2", "Q")
    dag = graph(Block(term, "\\"))
    for level in LEVELS:
        drawn = svg(dag.dot(level))
        assert drawn.count('class="node') == len(dag.at_level(level).nodes)
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
    for mine, yours in zip(
        there.at_level("op").nodes, graph(term).at_level("op").nodes, strict=True
    ):
        assert mine.label == yours.label
        assert mine.gradient == pytest.approx(yours.gradient, rel=1e-3)


def test_gradients_that_come_to_one_node_are_told_together() -> None:
    came = [("n0", torch.ones(3, 4)), ("n1", torch.zeros(2)), ("n0", 2 * torch.ones(1))]
    flows = _flows(came)
    assert flows["n0"] == ("3×4, 1", pytest.approx(4.0)) and flows["n1"] == ("2", 0.0)
    assert _flows([]) == {}


class _Fake:
    """Stands for a process of dot."""

    command = "dot"

    def __init__(self, alive: bool) -> None:
        self.alive, self.stopped = alive, False

    def stop(self) -> None:
        self.stopped = True


def test_idle_processes_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [_Fake(alive=i != 1) for i in range(graphviz_layout.SPARE + 3)]
    idle: list[Any] = []
    monkeypatch.setattr(graphviz_layout, "_IDLE", idle)
    for program in given:
        graphviz_layout._give_back(program)  # type: ignore[arg-type]
    kept = [program for program in given if program.alive][: graphviz_layout.SPARE]
    assert idle == kept and [one for one in given if not one.stopped] == kept
    kept[-1].alive = False
    assert graphviz_layout._waiting("dot") is (kept[-2] if len(kept) > 1 else None)
    assert kept[-1].stopped and graphviz_layout._waiting("other") is None
