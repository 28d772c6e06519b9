"""ONNX models of terms, run by ONNX Runtime beside torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import ncd
from ncd import Cumulative, Id, Linear, Opaque, Param, Scale, Softmax, Type
from ncd.__main__ import main
from ncd.formulas.traced_sizes import SizeTrace
from ncd.ops import CATALOGUE, MaxPool
from ncd.ops.sliding_window import SlidingWindowOp
from ncd.site.entry_page import of_entry
from ncd.site.live_texts import TESTS
from ncd.systems.catalogue_entry import Entry
from ncd.write.file_facts import facts_of_file
from ncd.write.onnx.onnx_model import STRUCTURE, ModelGraph, fixed_sizes, open_graph

CASES = [
    (op, sample) for op in CATALOGUE if op is not Opaque for sample in op.examples()
]  # fmt: skip


def prepared(term: ncd.Term) -> ncd.run.module.CircuitModule:
    """The module of a term as ONNX has it: batch norm by its batch, no dropout."""
    module = ncd.run.guard.compile(term)
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.eval()
    return module


def opened(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def run(model: onnx.ModelProto, inputs: Sequence[torch.Tensor]) -> list[np.ndarray]:
    session = opened(model)
    names = [given.name for given in session.get_inputs()]
    return session.run(None, {n: x.detach().numpy() for n, x in zip(names, inputs, strict=True)})


def feeds(graph: ModelGraph, term: ncd.Term, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The inputs of a model with open sizes: arrays, weights, and sizes."""
    arrays = [value.id for value in graph.circuit.inputs]
    weights = prepared(term).state_dict()
    return {
        **{id: x.numpy() for id, x in zip(arrays, ncd.example_inputs(term), strict=True)},
        **{name: weights[name].numpy() for name in graph.weights},
        **{f"size.{name}": np.array([sizes[name]]) for name in graph.sizes},
    }


def holds(trace: SizeTrace, sizes: Mapping[str, int]) -> bool:
    trace.sizes = {name: sizes[name] for name in trace.sizes}
    return all(TESTS[sign](trace.current_value(total)) is true for total, sign, true in trace.holds)


def assert_equal(model: onnx.ModelProto, term: ncd.Term) -> None:
    inputs = ncd.example_inputs(term)
    wanted = prepared(term).execute(inputs)
    for found, want in zip(run(model, inputs), wanted, strict=True):
        np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-5, atol=1e-5)


def free(model: onnx.ModelProto) -> set[str]:
    shapes = [given.type.tensor_type.shape.dim for given in model.graph.input]
    return {dim.dim_param for shape in shapes for dim in shape if dim.dim_param}


def resized(entry: Entry, names: set[str]) -> Mapping[str, int]:
    """The settings with every knob of these names at another size."""
    knobs = (knob for knob in entry.knobs if knob.name in names and not knob.is_fixed)
    return {
        knob.name: knob.default + knob.step * (-1) ** (knob.default == knob.max) for knob in knobs
    }


@pytest.mark.few(16)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_every_system_gives_what_torch_gives(entry: Entry) -> None:
    """Also at other sizes of the axes that the model leaves open."""
    model = ncd.onnx(entry.build())
    assert_equal(model, entry.build())
    if other := resized(entry, free(model)):
        assert_equal(model, entry.build(**other))


@pytest.mark.few(16)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_one_model_gives_what_torch_gives_at_every_size(entry: Entry) -> None:
    """With weights as inputs: each size is moved alone, where that is the same term."""
    graph = open_graph(of_entry(entry, entry.settings({})))
    session = opened(graph.build_model())
    outputs = [f"out{i}" for i in range(len(graph.circuit.outputs))]
    moved = set()
    for name in ("", *graph.trace.sizes):
        sizes = entry.settings(resized(entry, {name}))
        if not holds(graph.trace, sizes) or (name and not _builds(entry, sizes)):
            continue
        term = entry.build(**sizes)
        given = feeds(graph, term, sizes)
        known = {each.name for each in session.get_inputs()}
        found = session.run(outputs, {n: x for n, x in given.items() if n in known})
        for one, want in zip(found, prepared(term).execute(ncd.example_inputs(term)), strict=True):
            np.testing.assert_allclose(one, want.detach().numpy(), rtol=1e-5, atol=1e-5)
        moved.add(name)
    depth = {knob.name for knob in entry.knobs if knob.name in fixed_sizes(graph.trace)}
    assert not depth & moved
    for name in depth:
        assert graph.fixing_ops[name] in {STRUCTURE, *_slid_otherwise(entry, name)}, name


def _slid_otherwise(entry: Entry, name: str) -> set[str]:
    """The convolutions and poolings of which a knob changes more than sizes: how they slide.

    Strides and the like are numbers of a node in ONNX, so that a model has them once and for all.
    """
    own = _slides(entry.build())
    other = _slides(entry.build(**resized(entry, {name})))
    return {op for op, slid in own.items() if other.get(op) != slid}


def _slides(term: ncd.Term) -> dict[str, tuple[object, ...]]:
    ops = (cell.op for cell in ncd.elaborate(term).cells)
    return {
        op.display_name: (op.stride, op.pad, op.dilation, isinstance(op, MaxPool) and op.kernel)
        for op in ops
        if isinstance(op, SlidingWindowOp)
    }


def _builds(entry: Entry, sizes: Mapping[str, int]) -> bool:
    try:
        entry.build(**sizes)
    except ncd.NCDError:
        return False
    return True


def test_settings_of_windows_follow_sizes() -> None:
    """A kernel of one weight for each channel, and its padding, as ConvNeXt has them."""
    entry = ncd.catalogue["convnext"]
    graph = open_graph(of_entry(entry, entry.settings({})))
    session = opened(graph.build_model())
    sizes = entry.settings({"c": 16, "r": 2, "x": 96})
    assert holds(graph.trace, sizes) and fixed_sizes(graph.trace) == ("n", "N")
    term = entry.build(**sizes)
    (found,) = session.run(None, feeds(graph, term, sizes))
    (want,) = ncd.compile(term).execute(ncd.example_inputs(term))
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.few(40)
@pytest.mark.parametrize(("op", "sample"), CASES, ids=lambda case: str(case)[:60])
def test_every_op_gives_what_torch_gives(op: type[ncd.Op], sample: ncd.Sample) -> None:
    term = Id(Type.parse(sample.dom)) >> sample.op if sample.dom else sample.op
    assert_equal(ncd.onnx(term), term)


def test_sizes_are_free_where_no_op_fixes_them() -> None:
    term = ncd.catalogue["scaled-dot-product-attention"].build(y=3, x=4, k=5)
    model = ncd.onnx(term)
    assert free(model) == {"y", "x", "k"}  # Scale divides by the root of k, whatever k is
    assert_equal(model, ncd.catalogue["scaled-dot-product-attention"].build(y=2, x=7, k=9))


def test_the_model_says_what_fixes_a_size() -> None:
    model = ncd.onnx(ncd.catalogue["gpt-2"].build())
    assert free(model) == set()
    assert model.doc_string == "Fixed: t by Add."  # the weights of the positions


def test_a_scan_runs_over_any_number_of_positions() -> None:
    entry = ncd.catalogue["lstm"]
    model = ncd.onnx(entry.build(t=4))
    assert [node.op_type for node in model.graph.node].count("Scan") == 1
    assert_equal(model, entry.build(t=9))


def test_weights_come_from_a_state_dict_or_as_inputs() -> None:
    term = Id("y:4 m:3") >> Linear("m -> k:2", "Q", bias=True) >> Softmax("k") >> Scale("k")
    module = ncd.run.guard.compile(term, seed=7)
    x = ncd.example_inputs(term)
    want = module(*x).detach().numpy()
    given = ncd.onnx(term, module.state_dict())
    np.testing.assert_allclose(run(given, x)[0], want, atol=1e-6)
    asked = ncd.onnx(term, "inputs")
    assert [i.name for i in asked.graph.input] == ["v0", "Q.weight", "Q.bias"]
    np.testing.assert_allclose(run(asked, [*x, module.Q.weight, module.Q.bias])[0], want, atol=1e-6)


def test_whole_numbers_stay_whole() -> None:
    term = Id("y:4#v") @ Param("v:6 m:3", "wte") >> ncd.Index("y#v, v m -> y m")
    model = ncd.onnx(term)
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.INT64
    assert_equal(model, term)


def test_running_products_keep_zeros_and_signs() -> None:
    term = Id("y:5") >> Cumulative("y", "product")
    x = torch.tensor([-1.0, 2, -3, 0, 5])
    assert run(ncd.onnx(term), [x])[0].tolist() == [-1, -2, 6, 0, 0]


def test_what_onnx_lacks_is_named() -> None:
    term = Id("y:3 m:2") >> Opaque("y m -> y m", "aten.roll", "a, [1], [0]")
    with pytest.raises(ncd.MismatchError) as error:
        ncd.onnx(term)
    assert str(error.value) == (
        "Opaque roll: torch.ops.aten.roll has no translation to ONNX. "
        "Try ncd.source, which writes it in PyTorch."
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("outputs", "onnx: 'outputs' is no state dict. Try module.state_dict(), or \"inputs\"."),
        (
            {},
            "onnx: the weight Q.weight has shape (2, 3), but none is given. "
            "Try the state_dict of ncd.compile(term).",
        ),
        (
            {"Q.weight": torch.zeros(3, 2)},
            "onnx: the weight Q.weight has shape (2, 3), but the one given has (3, 2). "
            "Try the state_dict of ncd.compile(term).",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: object, message: str) -> None:
    with pytest.raises(ncd.MismatchError) as error:
        ncd.onnx(Linear("m:3 -> k:2", "Q"), weights)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_the_command_writes_a_model_that_leads_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "lora.onnx"
    assert main(["render", "lora", "--set", "t=3", "-o", str(path)]) == 0
    model = onnx.load(path)
    (prop,) = model.metadata_props
    assert prop.key == "ncd" and json.loads(prop.value) == facts_of_file(path.read_bytes())
    assert json.loads(prop.value)["link"] == "/lora?t=3"
    assert_equal(model, ncd.catalogue["lora"].build(t=3))
