"""Functions, layers and expressions as ONNX nodes: each beside torch, and shapes at open sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from onnx import helper
from torch import nn

import ncd
from ncd.formulas.traced_sizes import SizeTrace
from ncd.language import torch_code as ex
from ncd.language.axes import Dim
from ncd.language.torch_code import call
from ncd.write.onnx import onnx_model
from ncd.write.onnx.onnx_expressions import FUNCTIONS, LAYERS, METHODS, NodeWriter, _common, infix
from ncd.write.onnx.onnx_model import fixed_sizes, symbol_of
from ncd.write.onnx.onnx_nodes import (
    TYPES,
    ConstantValue,
    Nodes,
    Tensor,
    broadcast,
    same_shape,
    settings,
    shapes,
    window_convolution,
)
from tests.write.onnx.test_onnx import opened

KINDS: Any = {torch.float32: "real", torch.int64: "whole", torch.bool: "truth"}


def assert_same(write: Callable[..., Any], want: Any, *arrays: torch.Tensor) -> None:
    """Asserts that nodes give what torch gives, with the shapes and kinds that they state."""
    nodes = Nodes()
    given = [Tensor(f"i{i}", KINDS[x.dtype], tuple(x.shape)) for i, x in enumerate(arrays)]
    made = write(nodes, *given)
    made, want = ([x] if not isinstance(x, list | tuple) else x for x in (made, want))
    model = model_of(nodes, given, made)
    found = opened(model).run(None, {f"i{i}": x.numpy() for i, x in enumerate(arrays)})
    for stated, one, other in zip(made, found, want, strict=True):
        assert stated.shape == one.shape == tuple(other.shape)
        assert stated.kind == KINDS[torch.from_numpy(one).dtype] == KINDS[other.dtype]
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-5, atol=1e-5)


def model_of(nodes: Nodes, given: Any, made: Any) -> onnx.ModelProto:
    lists = (
        [helper.make_tensor_value_info(x.name, TYPES[x.kind], x.shape) for x in each]
        for each in (given, made)
    )
    constants = [*nodes.graph_constants.constants.values()]
    graph = helper.make_graph(nodes.nodes, "test", *lists, initializer=constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


R, S = torch.tensor([[1.5, -2.0, 3.0], [-0.5, 4.0, -2.5]]), torch.tensor([2.0, -1.5, 4.0])
W, V = torch.tensor([[7, -7, 0], [5, -3, 2]]), torch.tensor([2, 3, -2])
T, U = torch.tensor([[True, False, True], [False, False, True]]), torch.tensor([True, True, False])
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


@pytest.mark.parametrize("sign", SIGNS)
def test_a_binary_operation_is_that_of_torch(sign: str) -> None:
    function = SIGNS[sign]
    for a in (R, W):
        for b in (S, V):
            assert_same(lambda n, x, y: infix(n, sign, x, y), function(a, b), a, b)
        for number in (2, 1.5, -3):
            known = ConstantValue(number)
            assert_same(lambda n, x, k=known: infix(n, sign, x, k), function(a, number), a)
    assert_same(lambda n, x: infix(n, sign, ConstantValue(3), x), function(3, V), V)
    assert_same(lambda n, x: infix(n, sign, ConstantValue(3), x), function(3, S), S)


def test_powers_and_truths() -> None:
    for base in (W, R):
        for power in (2, 0, 3):
            known = ConstantValue(power)
            assert_same(lambda n, x, k=known: infix(n, "**", x, k), base**power, base)
    assert_same(lambda n, x: infix(n, "**", x, ConstantValue(-1)), V.float() ** -1, V)
    assert_same(lambda n, x: infix(n, "**", x, ConstantValue(1.0)), V.float(), V)
    assert_same(lambda n, x: infix(n, "**", ConstantValue(2), x), 2.0**S, S)
    assert_same(lambda n, x, y: infix(n, "&", x, y), T & U, T, U)
    assert_same(lambda n, x, y: infix(n, "|", x, y), T | U, T, U)


LAST = ConstantValue(-1)  # a dimension
B = torch.arange(24.0).view(2, 3, 4) % 7 - 3
K = (torch.arange(24) % 5 - 1).view(2, 3, 4)
PICTURE = torch.sin(torch.arange(2 * 4 * 7 * 6.0)).view(2, 4, 7, 6)
LINE = PICTURE.view(2, 4, 42)[..., :9]


def of(name: str, *more: Any, **named: Any) -> Callable[..., Any]:
    """Returns the nodes of a function; arguments that are no tensors are known."""
    table: Any = FUNCTIONS if name in FUNCTIONS else METHODS
    known = {key: ConstantValue(value) for key, value in named.items()}
    return lambda n, *x: table[name](n, *x, *map(ConstantValue, more), **known)


CASES: dict[str, tuple[Callable[..., Any], Any, tuple[torch.Tensor, ...]]] = {
    "gelu": (of("F.gelu"), F.gelu(R), (R,)),
    "silu": (of("F.silu"), F.silu(R), (R,)),
    "rsqrt": (of("torch.rsqrt"), torch.rsqrt(R.abs()), (R.abs(),)),
    "hardtanh": (of("F.hardtanh", -1.0, 2.0), F.hardtanh(R, -1.0, 2.0), (R,)),
    "abs of whole numbers": (of("torch.abs"), W.abs(), (W,)),
    "clamp": (of("torch.clamp", -1, 2), W.clamp(-1, 2), (W,)),
    "clamp below": (of("torch.clamp", min=0), W.clamp(min=0), (W,)),
    "clamp above": (of("torch.clamp", max=1), W.clamp(max=1), (W,)),
    "clamp at a fraction": (of("torch.clamp", min=0.5), W.clamp(min=0.5), (W,)),
    "maximum": (of("torch.maximum"), torch.maximum(R, W.float()), (R, W)),
    "minimum": (of("torch.minimum"), torch.minimum(W, V), (W, V)),
    "where": (of("torch.where"), torch.where(T, R, W.float()), (T, R, W)),
    "where of numbers": (of("torch.where", 0), torch.where(T, W, 0), (T, W)),
    "where of a fraction": (of("torch.where", 0.5), torch.where(T, W.float(), 0.5), (T, W)),
    "div": (of("torch.div", rounding_mode="floor"), torch.div(R, S, rounding_mode="floor"), (R, S)),
    "sum": (of("torch.sum", 1), B.sum(1), (B,)),
    "sum of several": (of("torch.sum", (0, -1)), B.sum((0, -1)), (B,)),
    "mean": (of("torch.mean", -1), B.mean(-1), (B,)),
    "prod": (of("torch.prod", 0), B.prod(0), (B,)),
    "amax": (of("torch.amax", (1, 2)), B.amax((1, 2)), (B,)),
    "amin": (of("torch.amin", -2), B.amin(-2), (B,)),
    "softmax": (of("softmax", -1), B.softmax(-1), (B,)),
    "softmax of the first": (of("softmax", 0), B.softmax(0), (B,)),
    "cumsum": (of("torch.cumsum", -2), B.cumsum(-2), (B,)),
    "cumsum of whole numbers": (of("torch.cumsum", 0), K.cumsum(0), (K,)),
    **{f"cumprod {d}": (of("torch.cumprod", d), B.cumprod(d), (B,)) for d in (0, 1, -1)},
    "cumprod of whole numbers": (of("torch.cumprod", 1), K.cumprod(1), (K,)),
    "cat": (lambda n, x, y: FUNCTIONS["torch.cat"](n, [x, y], ConstantValue(-1)),
            torch.cat([B, K[..., :2]], -1), (B, K[..., :2].contiguous())),
    "cat of the first": (lambda n, x, y: FUNCTIONS["torch.cat"](n, [x, y], ConstantValue(0)),
                         torch.cat([K, K]), (K, K)),
    "split": (of("split", (1, 3), -1), B.split((1, 3), -1), (B,)),
    "split of the first": (of("split", (1, 1), 0), K.split((1, 1), 0), (K,)),
    "topk": (of("torch.topk", 2, 1), tuple((B + 0.1 * K).topk(2, 1)), (B + 0.1 * K,)),
    "roll": (of("torch.roll", 1, 2), B.roll(1, 2), (B,)),
    "roll back": (of("torch.roll", (-1, 2), (0, -1)), K.roll((-1, 2), (0, -1)), (K,)),
    "index_select": (lambda n, x, i: METHODS["index_select"](n, x, ConstantValue(1), i),
                     B.index_select(1, torch.tensor([2, 0])), (B, torch.tensor([2, 0]))),
    "index_select from the end": (lambda n, x, i: METHODS["index_select"](n, x, LAST, i),
                                  K.index_select(2, V.abs()), (K, V.abs())),
    "linear": (of("F.linear"), F.linear(B, PICTURE[0, :, 0, :4]),
               (B, PICTURE[0, :, 0, :4].contiguous())),
    "linear and bias": (of("F.linear"), F.linear(R, R, R[:, 0]), (R, R, R[:, 0].contiguous())),
    "pad": (of("F.pad", (1, 2)), F.pad(B, (1, 2)), (B,)),
    "pad by a value": (of("F.pad", (0, 1, 2, 0), value=5), F.pad(K, (0, 1, 2, 0), value=5), (K,)),
    **{f"unfold {d} {w} {s}": (of("unfold", d, w, s), B.unfold(d, w, s), (B,))
       for d, w, s in ((1, 2, 1), (-1, 2, 2), (0, 2, 1), (2, 3, 1))},
    "max_pool": (of("F.max_pool2d", (2, 3), (2, 1), (1, 0)),
                 F.max_pool2d(PICTURE, (2, 3), (2, 1), (1, 0)), (PICTURE,)),
    "max_pool of one": (of("F.max_pool2d", 2, 2), F.max_pool2d(PICTURE[0], 2, 2), (PICTURE[0],)),
    "max_pool of a line": (of("F.max_pool1d", 3, 2, 1), F.max_pool1d(LINE, 3, 2, 1),
                           (LINE.contiguous(),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_function_is_that_of_torch(name: str) -> None:
    write, want, arrays = CASES[name]
    assert_same(write, want, *arrays)


def test_the_kind_of_several_numbers() -> None:
    real, whole, truth = (Tensor("x", kind, ()) for kind in ("real", "whole", "truth"))
    for given, kind in (
        ((truth, ConstantValue(True)), "truth"),
        ((truth, ConstantValue(1)), "whole"),
        ((whole, truth), "whole"),
        ((whole, ConstantValue(0.5)), "real"),
        ((ConstantValue(1), real), "real"),
        ((ConstantValue(False),), "truth"),
    ):
        assert _common(*given) == kind


# --- layers ---------------------------------------------------------------------------------------

LAYER_CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...]]] = [
    ("Linear", (4, 3), {}, (2, 5, 4)),
    ("Linear", (4, 3), {"bias": False}, (2, 4)),
    ("Conv1d", (4, 6, 3), {}, (2, 4, 9)),
    ("Conv2d", (4, 6, (3, 2)), {"padding": (1, 0), "stride": (2, 1), "dilation": 2}, (2, 4, 9, 8)),
    ("Conv2d", (4, 6, 3), {"groups": 2, "bias": False}, (2, 4, 5, 6)),
    ("Conv2d", (4, 6, 3), {"padding": 2}, (4, 5, 6)),
    ("Conv3d", (2, 3, 2), {}, (1, 2, 3, 4, 5)),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "padding": 1, "output_padding": 1}, (2, 4, 5)),
    ("ConvTranspose2d", (4, 6, (3, 2)), {"stride": (2, 3), "groups": 2}, (2, 4, 5, 3)),
    ("ConvTranspose2d", (4, 6, 2), {"dilation": 2, "bias": False}, (4, 5, 3)),
    ("BatchNorm1d", (4,), {}, (3, 4)),
    ("BatchNorm2d", (4,), {"eps": 0.1}, (3, 4, 5, 2)),
    ("BatchNorm1d", (4,), {"affine": False}, (3, 4, 5)),
    ("GroupNorm", (2, 4), {}, (3, 4, 5, 2)),
    ("GroupNorm", (4, 4), {"eps": 0.1, "affine": False}, (3, 4, 5)),
    ("LayerNorm", (4,), {}, (3, 5, 4)),
    ("LayerNorm", ((5, 4),), {"eps": 0.1}, (3, 5, 4)),
    ("LayerNorm", (4,), {"bias": False}, (3, 4)),
    ("LayerNorm", (4,), {"elementwise_affine": False}, (3, 4)),
    ("RMSNorm", (4,), {}, (3, 5, 4)),
    ("RMSNorm", ((5, 4),), {"eps": 0.1}, (3, 5, 4)),
    ("RMSNorm", (4,), {"elementwise_affine": False}, (3, 4)),
    ("Dropout", (), {}, (3, 4)),
]


@pytest.mark.parametrize(("name", "args", "named", "shape"), LAYER_CASES)
def test_a_layer_is_that_of_torch(name: str, args: Any, named: Any, shape: Any) -> None:
    layer = getattr(nn, name)(*args, **named)
    if name == "Dropout":
        layer.eval()
    draw = torch.Generator().manual_seed(3)
    weights = {key: torch.randn(x.shape, generator=draw) for key, x in layer.named_parameters()}
    layer.load_state_dict(weights, strict=False)
    x = torch.randn(shape, generator=draw)
    own = call(f"nn.{name}", *map(ex.number_or_tuple, args), **{
        key: ex.number_or_tuple(value) for key, value in named.items()
    })  # fmt: skip
    stated = shapes(own)
    assert {key: stated[key] for key in weights} == {k: tuple(v.shape) for k, v in weights.items()}

    def write(nodes: Nodes, x: Tensor, *given: Tensor) -> Tensor:
        return LAYERS[name](nodes, settings(own), dict(zip(weights, given, strict=True)), x)

    assert_same(write, layer(x), x, *weights.values())
    if name.startswith("Conv") and "Transpose" not in name and len(shape) == len(args[2:]) + 3:

        def gathered(nodes: Nodes, x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
            return window_convolution(nodes, settings(own), weight, bias, x)

        assert_same(gathered, layer(x), x, *weights.values())


# --- expressions ----------------------------------------------------------------------------------

A0, A1 = ex.Arg(0), ex.Arg(1)
Y, X = Dim("y", 0, 2), Dim("x", 0, 3)
TABLE = torch.arange(24.0).view(4, 3, 2)
ROWS = torch.tensor([[3, 0], [1, 3]])
PLACES = torch.tensor([[2, 0], [1, 1], [0, 2], [2, 2]])
EXPRESSIONS: list[tuple[ex.TorchExpr, Any, tuple[torch.Tensor, ...]]] = [
    (ex.Select(A0, 1, 2), B[:, 2], (B,)),
    (ex.Select(A0, -1, 0), B[..., 0], (B,)),
    (ex.Prefix("-", A0), -W, (W,)),
    (ex.Prefix("~", A0), ~T, (T,)),
    (ex.Infix("*", A0, ex.Prefix("-", ex.Const(2))), R * -2, (R,)),
    (ex.Infix("+", A0, ex.Infix("*", ex.Const(2), ex.Const(3))), W + 6, (W,)),
    (ex.Infix("+", A0, call("math.sqrt", 16)), R + 4, (R,)),
    (ex.Infix("-", ex.Size(()), A0), 1 - W, (W,)),
    (ex.Lookup(A0, A1, 0, 2), TABLE[ROWS], (ROWS, TABLE)),
    (ex.Lookup(A0, A1, 0, 1), torch.stack([t[r] for t, r in zip(TABLE, PLACES, strict=True)]),
     (PLACES, TABLE)),
    (ex.Lookup(A0, A1, 0, 1), TABLE[:, [2, 0]], (PLACES[:1].contiguous(), TABLE)),
    (ex.Align(A0, (Y, X), (X, Dim("z", 0, 5), Y)), R.T[:, None], (R,)),
    (ex.Align(A0, (Y, X), (Y, X)), R, (R,)),
    (ex.Position(X, (Y, X)), torch.arange(3), ()),
    (ex.Position(Y, (Y, X)), torch.arange(2)[:, None], ()),
    (ex.Filled((Y, X)), torch.zeros(2, 3), ()),
    (ex.Cast(A0, "real"), W.float(), (W,)),
    (ex.Cast(A0, "whole"), R.long(), (R,)),
    (ex.Rearrange(A0, ((Y,), (X,)), ((X, Y),)), R.T.reshape(6), (R,)),
    (ex.Contract((A0, A1), ((Y, X), (X,)), (Y,)), R @ S, (R, S)),
    (ex.Contract((A0, A1), ((Y, X), (X,)), (Y,)), W.float() @ S, (W, S)),
    (ex.Contract((A0,), ((Y, X),), (X,)), W.sum(0), (W,)),
    (ex.Scattered(A0, A1, 1, 1, 4), torch.zeros(4, 3).index_add(0, torch.tensor([3, 3]), R),
     (torch.tensor([3, 3]), R)),
    (ex.Scattered(A0, A1, 1, 0, 4), torch.zeros(2, 4).index_add(1, torch.tensor([1, 0, 1]), R),
     (torch.tensor([1, 0, 1]).expand(2, 3).contiguous(), R)),
    (ex.Scattered(A0, A1, 1, 0, 4), torch.zeros(4, dtype=torch.long).index_add(0, V.abs(), V),
     (V.abs(), V)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(EXPRESSIONS)))
def test_an_expression_is_that_of_torch(case: int) -> None:
    expr, want, arrays = EXPRESSIONS[case]
    assert_same(lambda n, *x: NodeWriter(n, x, {}, None, {}).tensor(expr), want, *arrays)


def test_plain_numbers_are_computed_and_need_no_node() -> None:
    nodes = Nodes()
    writer = NodeWriter(nodes, [], {X.key: 7}, None, {})
    assert (writer.size(X), writer.size(Y), writer.shape((X, Y))) == (7, 2, (7, 2))
    two, three, true = ex.Const(2), ex.Const(3), ex.Const(True)
    for expr, value in (
        (ex.Infix("-", two, three), -1), (ex.Infix("/", three, two), 1.5),
        (ex.Infix("<", two, three), True), (ex.Infix("&", true, true), True),
        (ex.Prefix("-", two), -2), (ex.Prefix("~", true), False),
        (ex.Tuple((two, three)), (2, 3)), (call("math.sqrt", 16), 4.0),
    ):  # fmt: skip
        assert writer.read(expr) == ConstantValue(value)
    assert writer.read(two) is writer.read(ex.Const(2)) and nodes.nodes == []
    numbers = (two, ex.Const(0.5), ex.Const(2.0), ex.Const(2), ex.Const(3.0), three)
    assert [writer.tensor(x).kind for x in numbers] == [
        "whole",
        "real",
        "real",
        "whole",
        "real",
        "whole",
    ]
    for expr, what in (
        (call("torch.fft"), "torch.fft"), (ex.Method(two, "cos"), "Tensor.cos"),
    ):  # fmt: skip
        with pytest.raises(ncd.MismatchError) as error:
            writer.read(expr)
        assert f"{what} has no translation to ONNX" in str(error.value)


# --- shapes ---------------------------------------------------------------------------------------


def test_shapes_that_are_broadcast_or_alike() -> None:
    trace = SizeTrace()
    h, k = trace.size("h", 1), trace.size("k", 4)
    for given, wide in (
        (((2, 3), (3,)), (2, 3)), (((1, 3), (2, 1)), (2, 3)), (((1,), (1, 1)), (1, 1)),
        (((), (2,)), (2,)), (((h, 3), (1, 1)), (h, 3)), (((1, 1), (k,)), (1, k)),
    ):  # fmt: skip
        assert same_shape(broadcast(*given), wide)
    assert not same_shape((h, k), (1, 4)) and same_shape((h + k, 2), (k + h, 2))
    assert not same_shape((2,), (2, 1))
    nodes = Nodes()
    one = nodes.constant([1, 2], "whole")
    assert nodes.constant([1, 2], "whole") == one != nodes.constant([1, 2], "real")
    assert nodes.constant([[1, 2]], "whole").name != one.name
    same = (nodes.reshape(one, (2,)), nodes.transpose(one, [0]), nodes.expand(one, (2,)))
    assert {*same, nodes.cast(one, "whole")} == {one} and nodes.nodes == []
    assert_same(lambda n, x: n.add_reduction("ReduceSum", x, [-1, 0], True), B.sum((0, 2), True), B)
    assert [symbol_of(x) for x in (k, 2 * k, k + 1, k * k, h * k, 3)] == ["k", *[None] * 5]


@pytest.mark.parametrize(("h", "k"), [(1, 2), (3, 5), (6, 4)])
def test_sizes_are_computed_when_the_model_runs(h: int, k: int) -> None:
    trace = SizeTrace()
    a, b = trace.size("h", 2), trace.size("k", 8)
    rules: list[Callable[[Any, Any], Any]] = [
        lambda h, k: h, lambda h, k: 2 * k, lambda h, k: h * k + 3, lambda h, k: h - k,
        lambda h, k: (h + 7) // k, lambda h, k: (3 * h + 1) % k, lambda h, k: h * h * k,
        lambda h, k: 4,
    ]  # fmt: skip
    nodes = Nodes()
    name = nodes.vector(tuple(rule(a, b) for rule in rules))
    assert nodes.vector(tuple(rule(a, b) for rule in rules)) == name
    made = [Tensor(name, "whole", (len(rules),)), nodes.places(a * b), nodes.number(b)]
    made[1:] = [Tensor(made[1].name, "whole", ("n",)), made[2]]  # type: ignore[arg-type]
    given = [Tensor(f"size.{each}", "whole", (1,)) for each in ("h", "k")]
    feeds = {"size.h": np.array([h]), "size.k": np.array([k])}
    numbers, places, number = opened(model_of(nodes, given, made)).run(None, feeds)
    assert numbers.tolist() == [rule(h, k) for rule in rules]
    assert places.tolist() == list(range(h * k)) and number == k
    assert fixed_sizes(trace) == () and [*nodes.graph_constants.sizes] == ["h", "k"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('Id("y:3 m:4") >> Softmax("m")', "Free sizes: y, m."),
        ('Id("y:3 m:4") >> Linear("m -> k:2", "L")', "Free sizes: y. Fixed: m by Linear L."),
        ('Id("y:3, y") >> Add()', "Free sizes: y."),
        ('Id("x:6x8")', "Free sizes: x_1, x_2."),
        ('Id("y:2 d:9") >> Split("d -> h:3 k")', "Free sizes: y. Fixed: d by Split."),
    ],
)
def test_which_sizes_stay_open(text: str, said: str) -> None:
    assert ncd.onnx(ncd.parse(text)).doc_string == said


@pytest.mark.parametrize("n", range(len(ncd.Cut.examples())))
def test_pieces_whose_size_is_found_stay_open(n: int) -> None:
    sample = ncd.Cut.examples()[n]
    term = ncd.Id(ncd.Type.parse(sample.dom)) >> sample.op
    assert ncd.onnx(term, "inputs").doc_string.startswith("Free sizes: d")


def test_weights_too_large_for_one_file_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    term = ncd.Linear("m:3 -> k:2", "Q", bias=True)  # 8 numbers of 4 bytes
    for most, fits in ((32, True), (31, False)):
        monkeypatch.setattr(onnx_model, "LARGEST", most)
        if fits:
            ncd.onnx(term)
            continue
        with pytest.raises(ncd.LimitError) as error:
            ncd.onnx(term)
        assert str(error.value) == (
            "onnx: the weights take more than 31 bytes, too many for one file of ONNX. "
            'Try weights="inputs".'
        )
