"""The module: layers found anew at each run, copies, batches of any size, torch's own tools."""

from __future__ import annotations

import copy
import io
import pickle
import re

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ncd.circuit.elaborate import Axes
from ncd.errors import MismatchError
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term
from ncd.ops import BatchNorm, Copy, Dropout, Einsum, Linear, Map, Scale, Softmax, Wire
from ncd.run.guard import compile
from ncd.run.module import CircuitModule, trace
from ncd.run.run_memory import Storages
from ncd.run.seeding import example_inputs


def layer(term: Term | None = None) -> CircuitModule:
    return compile(term or Id("y:2 m:3") >> Linear("m -> k:4", "Q"))


def attention(causal: bool = False) -> Term:
    """Multi-head attention with every weight, on a target and a source."""
    mask = Map("y x -> y x", "where(x > y, -inf, $1)")
    scores = Einsum("y k h, x k h -> y x h") >> Scale("k")
    return Axes(y=5, x=7, m=6, k=3, h=2)(
        Id("y m") @ Copy("x m")
        >> Linear("m -> k h", "Q") @ Linear("m -> k h", "K") @ Linear("m -> k h", "V")
        >> (scores >> mask if causal else scores)
        >> Softmax("x")
        >> Einsum("y x h, x k h -> y k h")
        >> Linear("k h -> m", "O")
    )


# --- layers are found when a step runs -----------------------------------------------------------


def test_a_layer_that_is_replaced_is_used() -> None:
    module = layer()
    (x,) = example_inputs(module.term)
    module.Q = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    torch.testing.assert_close(module(x), module.Q(x))


def test_a_weight_that_is_replaced_is_used() -> None:
    module = layer()
    (x,) = example_inputs(module.term)
    module.Q.weight = nn.Parameter(torch.ones(4, 3))
    torch.testing.assert_close(module(x), x.sum(-1, keepdim=True).expand(2, 4))


class _Twice(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return 2 * weight


def test_a_parametrization_takes_effect() -> None:
    module = layer()
    (x,) = example_inputs(module.term)
    before = module(x)
    parametrize.register_parametrization(module.Q, "weight", _Twice())
    torch.testing.assert_close(module(x), 2 * before)


def test_a_parameter_of_its_own_can_be_parametrized() -> None:
    from ncd.ops import Param

    module = layer(Id("m:3") @ Param("m:3", "gain") >> Map("m, m -> m", "$1 * $2"))
    (x,) = example_inputs(module.term)
    before = module(x)
    torch.testing.assert_close(before, x * module.gain)
    parametrize.register_parametrization(module, "gain", _Twice())
    torch.testing.assert_close(module(x), 2 * before)


def test_a_replica_runs_with_its_own_layers() -> None:
    """What ``DataParallel`` does: a shallow copy, whose layers are then replaced one by one."""
    module = layer()
    (x,) = example_inputs(module.term)
    replica = module._replicate_for_data_parallel()
    twin = module.Q._replicate_for_data_parallel()
    twin.weight, twin.bias = module.Q.weight.detach() + 1, None  # as there, plain tensors
    replica._modules["Q"] = twin
    torch.testing.assert_close(replica(x), x @ (module.Q.weight + 1).T)
    torch.testing.assert_close(module(x), x @ module.Q.weight.T)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dynamic_quantization_takes_effect() -> None:
    module = layer(Id("y:2 m:64") >> Linear("m -> k:64", "Q"))
    quantized = torch.ao.quantization.quantize_dynamic(module, {nn.Linear}, dtype=torch.qint8)
    (x,) = example_inputs(module.term)
    assert "quantized" in type(quantized.Q).__module__
    torch.testing.assert_close(quantized(x), quantized.Q(x))
    assert not torch.equal(quantized(x), module(x))


def test_hooks_on_a_layer_are_called() -> None:
    module, seen = layer(), []
    (x,) = example_inputs(module.term)
    module.Q.register_forward_hook(lambda *_: seen.append(1))
    module(x)
    assert seen == [1]


def test_named_blocks_and_repetitions_are_submodules() -> None:
    body = Block(Linear("m:4 -> m", "Q"), "Self", name="self_attn")
    module = layer(Id("y:2 m:4") >> Block(Repeat((body, body), "layers"), name="encoder"))
    assert [name for name, _ in module.named_parameters()] == [
        f"encoder.layers.{i}.self_attn.Q.weight" for i in range(2)
    ]
    assert type(module.encoder.layers) is nn.ModuleList
    (x,) = example_inputs(module.term)
    one, two = (part.self_attn.Q.weight for part in module.encoder.layers)
    torch.testing.assert_close(module(x), x @ one.T @ two.T)


def test_a_shared_repetition_has_one_layer() -> None:
    module = layer(Id("m:4") >> Repeat((Linear("m:4 -> m", "Q"),) * 3, shared=True))
    assert [name for name, _ in module.named_parameters()] == ["layers.Q.weight"]
    (x,) = example_inputs(module.term)
    w = module.layers.Q.weight.T
    torch.testing.assert_close(module(x), x @ w @ w @ w)


# --- copies --------------------------------------------------------------------------------------


def _saved(module: CircuitModule) -> CircuitModule:
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    loaded: CircuitModule = torch.load(file, weights_only=False)
    return loaded


COPIES = pytest.mark.parametrize(
    "again", [lambda m: pickle.loads(pickle.dumps(m)), _saved, copy.deepcopy]
)


@COPIES
def test_a_copy_gives_the_same_and_is_one_of_its_own(again: object) -> None:
    module = compile(attention(causal=True), seed=3)
    inputs = example_inputs(module.term)
    twin = again(module)  # type: ignore[operator]
    assert twin.term == module.term
    assert torch.equal(twin(*inputs), module(*inputs))
    with torch.no_grad():
        twin.Q.weight.add_(1)
    assert not torch.allclose(twin(*inputs), module(*inputs))
    run, other = trace(module, *inputs), trace(twin, *inputs)
    assert run.values.keys() == other.values.keys()


@COPIES
def test_a_copy_drops_what_the_original_would_drop(again: object) -> None:
    module = compile(Id("m:50") >> Dropout(0.5))
    (x,) = example_inputs(module.term)
    module(x)
    twin = again(module)  # type: ignore[operator]
    assert torch.equal(module(x), twin(x))
    assert not torch.equal(module(x), module(x))


# --- torch's own tools ---------------------------------------------------------------------------


def test_one_graph_for_every_batch_size_when_compiled() -> None:
    module = compile(attention(causal=True))
    graphs: list[object] = []

    def backend(graph: torch.fx.GraphModule, _: object) -> object:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    fast = torch.compile(module, fullgraph=True, dynamic=True, backend=backend)
    for batch in (2, 3, 5, 8):
        inputs = torch.randn(batch, 5, 6), torch.randn(batch, 7, 6)
        torch.testing.assert_close(fast(*inputs), module(*inputs))
    assert len(graphs) == 1


def test_export_with_a_dynamic_batch() -> None:
    module = compile(attention(causal=True)).eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(
        module,
        (torch.randn(4, 5, 6), torch.randn(4, 7, 6)),
        dynamic_shapes={"inputs": ({0: batch}, {0: batch})},
    )
    for size in (2, 9):
        inputs = torch.randn(size, 5, 6), torch.randn(size, 7, 6)
        torch.testing.assert_close(program.module()(*inputs), module(*inputs))


def test_ids_compile_and_export() -> None:
    from ncd.ops import Index, Param

    term = Id("y:4#v:9") @ Param("v:9 m:3", "wte") >> Index("y#v, v m -> y m")
    module = compile(term)
    ids = torch.randint(9, (5, 4))
    torch._dynamo.reset()
    fast = torch.compile(module, fullgraph=True, dynamic=True, backend="eager")
    torch.testing.assert_close(fast(ids), module.wte[ids])
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(module, (ids,), dynamic_shapes={"inputs": ({0: batch},)})
    torch.testing.assert_close(program.module()(ids[:3]), module.wte[ids[:3]])


@pytest.mark.parametrize("causal", [False, True])
def test_forward_mode_and_vmap(causal: bool) -> None:
    module = compile(attention(causal))
    x, source = torch.randn(5, 6), torch.randn(7, 6)
    tangent = torch.randn(5, 6)
    _, moved = torch.func.jvp(lambda x: module(x, source), (x,), (tangent,))
    step = 1e-3
    expected = (module(x + step * tangent, source) - module(x - step * tangent, source)) / 2 / step
    torch.testing.assert_close(moved, expected, atol=1e-2, rtol=1e-2)
    many, sources = torch.randn(3, 5, 6), torch.randn(3, 7, 6)
    torch.testing.assert_close(torch.func.vmap(module)(many, sources), module(many, sources))


def test_an_ensemble_by_vmap_over_the_weights() -> None:
    term = attention()
    modules = [compile(term, seed=seed) for seed in range(3)]
    weights, _ = torch.func.stack_module_state(modules)
    inputs = example_inputs(term)

    def one(weights: dict[str, Tensor]) -> Tensor:
        found: Tensor = torch.func.functional_call(modules[0], weights, inputs)
        return found

    together = torch.func.vmap(one)(weights)
    torch.testing.assert_close(together, torch.stack([module(*inputs) for module in modules]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_of_numbers(dtype: torch.dtype) -> None:
    module = compile(attention(causal=True)).to(dtype)
    inputs = [x.to(dtype) for x in example_inputs(module.term)]
    assert module(*inputs).dtype == dtype
    for value in trace(module, *inputs).values.values():
        assert value.dtype == dtype


def test_autocast() -> None:
    module = compile(attention(causal=True))
    inputs = example_inputs(module.term)
    with torch.autocast("cpu", torch.bfloat16):
        low = module(*inputs)
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.float(), module(*inputs), atol=0.05, rtol=0.1)


def test_new_tensors_follow_the_module_where_no_input_is_real() -> None:
    constant = compile(Map("-> y:3", "y / 2")).double()
    assert constant().dtype == torch.float64
    torch.testing.assert_close(constant(), torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64))
    term = Id("y:3#v:5") >> Map("y#v -> y", "$1 / 4")
    assert compile(term).to(torch.bfloat16)(torch.arange(3)).dtype == torch.bfloat16


# --- batches -------------------------------------------------------------------------------------


def test_a_batch_on_one_input_only() -> None:
    module = compile(attention())
    x, source = torch.randn(3, 5, 6), torch.randn(7, 6)
    whole = module(x, source)
    torch.testing.assert_close(whole, torch.stack([module(one, source) for one in x]))
    torch.testing.assert_close(trace(module, x, source).outputs[0], whole)


def test_a_batch_norm_takes_every_batch_in_front_as_one() -> None:
    module = compile(Id("b:2 c:3 x:2x2") >> BatchNorm("b c"))
    x = torch.randn(4, 5, 2, 3, 2, 2)
    expected = torch.nn.functional.batch_norm(x.flatten(0, 2), None, None, training=True)
    torch.testing.assert_close(module(x), expected.view_as(x))


# --- inputs and outputs --------------------------------------------------------------------------


def fails(message: str) -> object:
    return pytest.raises(MismatchError, match=f"^{re.escape(message)}$")


IDS = Id("y:3#v:5") >> Map("y#v -> y", "$1 + 1")


def test_whole_numbers_are_wanted_where_the_type_says_so() -> None:
    module = compile(IDS)
    with fails(
        "the array (y#v) holds whole numbers, but the tensor is of type torch.float32. "
        "Bound so far: y 3. Try x.long()."
    ):
        module(torch.zeros(3))
    with fails(
        "the array (y#v) holds whole numbers from 0 to 4, but the tensor has 5. "
        "Bound so far: y 3, v 5. Try x.clamp(0, 4)."
    ):
        module(torch.tensor([0, 5, 4]))
    with fails(
        "the array (y#v) holds whole numbers from 0 to 4, but the tensor has -1. "
        "Bound so far: y 3, v 5. Try x.clamp(0, 4)."
    ):
        module(torch.tensor([-1, 5, 4]))
    for dtype in (torch.int8, torch.int32, torch.uint8):
        assert module(torch.tensor([0, 4, 2], dtype=dtype)).tolist() == [1, 5, 3]


def test_real_numbers_are_wanted_where_the_type_says_so() -> None:
    with fails(
        "the array (y m) holds real numbers, but the tensor is of type torch.int64. "
        "Bound so far: y 2, m 3. Try x.float()."
    ):
        layer()(torch.zeros(2, 3, dtype=torch.int64))


def test_what_does_not_fit_is_refused() -> None:
    module = layer()
    with fails(
        "the module takes 1 tensors, one for each of (y m), but got 2. "
        "Bound so far: y 2, m 3. Try *ncd.example_inputs(term)."
    ):
        module(torch.zeros(2, 3), torch.zeros(2, 3))
    with fails(
        "the array (y m) has shape (2, 3), but the tensor has (3, 2). Bound so far: y 2, m 3. "
        "Try a tensor of shape (2, 3), or with batch axes in front of it."
    ):
        module(torch.zeros(3, 2))
    two = layer(Id("m:3, k:3"))
    with fails(
        "the batch axes in front of the arrays differ: (4,), (5,). Bound so far: m 3, k 3. "
        "Try the same batch axes in front of all."
    ):
        two(torch.zeros(4, 3), torch.zeros(5, 3))


def test_no_inputs_no_outputs_and_several() -> None:
    assert compile(Map("-> y:3", "y"))().tolist() == [0, 1, 2]
    assert compile(Id("m:3") >> Wire("m ->"))(torch.zeros(3)) == ()
    x = torch.randn(3)
    first, second = compile(Id("m:3") >> Copy("m"))(x)
    assert first is x and second is x


def test_a_trace_has_every_array_in_the_drawn_order() -> None:
    module = compile(attention(causal=True))
    inputs = example_inputs(module.term)
    run = trace(module, *inputs)
    assert run.values.keys() == module.circuit.values.keys()
    for id, value in module.circuit.values.items():
        assert tuple(run.values[id].shape) == value.array.shape
    torch.testing.assert_close(run.outputs[0], module(*inputs))


def test_values_are_freed_after_their_last_use() -> None:
    term = Id("y:1000")
    for _ in range(20):
        term = term >> Scale("y:1000")
    module = compile(term)
    inputs = example_inputs(term)
    with torch.no_grad(), Storages() as counted:
        module(*inputs)
    assert counted.peak < 3 * 4000  # two arrays, and what the kernel takes for itself


def test_a_part_of_a_run_calculates_what_some_arrays_depend_on() -> None:
    module = compile(attention(), seed=3)
    inputs = example_inputs(module.term)
    whole = trace(module, *inputs).values
    cell = next(cell for cell in module.circuit.cells if cell.name == "K")
    (array,) = (value.id for value in cell.outputs)
    values: dict[str, Tensor] = {}
    assert module.execute(inputs, keep=values, only=[array]) == ()
    torch.testing.assert_close(values[array], whole[array])
    later = {v.id for cell in module.circuit.cells[4:] for v in cell.outputs}
    assert all(values[id] is None for id in later)
