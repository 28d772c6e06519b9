"""Imports of modules: names of axes, modules that fail, and single functions of torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd import Id, ImportFailed, Term, from_torch
from ncd.read.torch_calls.call_table import CALLS
from ncd.read.torch_calls.import_recorder import DimensionBuilder, ImportedValue
from ncd.read.torch_module import from_torch as from_torch_module
from ncd.read.torch_module.axis_names import PartOfGroup
from ncd.read.torch_module.from_torch import example_tensor, imported_file
from ncd.read.torch_module.graph_reader import record_module


class Called(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def labels(term: Term) -> list[str]:
    return [cell.op.display_name for cell in ncd.elaborate(term).cells]


A, B, C = drawn(2, 3, 4), drawn(2, 3, 4), drawn(2, 4, 5)
IMAGE, SCORES = drawn(2, 3, 8, 8), drawn(2, 6, 6)
LOWER = torch.ones(6, 6).tril().bool()
WIDE = drawn(2, 5, 3, 4)
PLACES = torch.tensor([2, 0, 1])
TURNS = torch.tensor([[[0, 1, 2, 0]] * 3, [[1, 1, 1, 2]] * 3])

# A function of each kind, and how many boxes it needs.
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], int]] = {
    "sum over axes": (lambda a: a.sum((0, 2)), (A,), 0),
    "mean that keeps an axis": (lambda a: a - a.mean(-1, keepdim=True), (A,), 0),
    "maximum": (lambda a: a.amax(1), (A,), 0),
    "product of all": (lambda a: a.prod(), (A,), 0),
    "product along an axis": (lambda a: a / a.prod(1, keepdim=True), (A,), 0),
    "clamp on one side": (lambda a: a.clamp(max=0.25) * torch.rsqrt(a.abs()), (A,), 0),
    "softmax in the middle": (lambda a: a.softmax(1), (A,), 0),
    "log softmax": (lambda a: a.log_softmax(-1), (A,), 0),
    "picture in windows that is padded, cut and pooled": (
        lambda a: F.avg_pool2d(
            F.pad(a, (0, 1, 0, 1)).view(6, 3, 3, 3, 3).mul(2).view(2, 3, 9, 9)[..., :8, :8], 2
        ),
        (IMAGE,),
        0,
    ),
    "batched product": (lambda a, c: a @ c, (A, C), 0),
    "product with itself": (lambda a: a @ a.transpose(1, 2), (A,), 0),
    "product with a vector": (lambda a: a @ torch.ones(4), (A,), 0),
    "einsum": (lambda a, c: torch.einsum("bij,bjk->kib", a, c), (A, C), 0),
    "einsum of one array twice": (lambda a: torch.einsum("bij,bkj->bik", a, a), (A,), 0),
    "sum of a row and a column": (lambda a: a[:, 0] + a[:, 1], (A,), 0),
    "outer sum": (lambda a: a[0, :, :1] + a[0, :, :1].T, (A,), 0),
    "the last of several, by a list": (lambda a: a[:, [-1], :], (A,), 0),
    "neighbours, by a list": (lambda a: a[:, :, [1, 2]], (A,), 0),
    "rows counted from the end": (lambda a: a[[-1, 0]], (A,), 0),
    "two conditions": (lambda a: ((a > 0) & (a < 1)).float() * a, (A,), 0),
    "one of two conditions": (lambda a, b: (~(a > b) | (a <= 0)).float() * a, (A, B), 0),
    "exactly one of two": (lambda a, b: ((a > 0) ^ (b != a)).float() + a, (A, B), 0),
    "scaled": (lambda a: 2 * a / 3 - 1, (A,), 0),
    "from a number": (lambda a: 1 - a, (A,), 0),
    "power": (lambda a: a.pow(2), (A,), 0),
    "leaky relu": (lambda a: F.leaky_relu(a, 0.3), (A,), 0),
    "elu": (F.elu, (A,), 0),
    "mish": (F.mish, (A,), 0),
    "hard swish": (F.hardswish, (A,), 0),
    "gelu by a tanh": (lambda a: F.gelu(a, approximate="tanh"), (A,), 0),
    "clamp": (lambda a: a.clamp(-0.5, 0.25), (A,), 0),
    "where": (lambda a: torch.where(a > 0, a, torch.tensor(-1.0)), (A,), 0),
    "where of two arrays": (lambda a, b: torch.where(a > b, a, 2 * b), (A, B), 0),
    "the larger of two": (lambda a, b: torch.maximum(a, b) - torch.minimum(a, b), (A, B), 0),
    "filled": (lambda a: a.masked_fill(a < 0.5, 7.0), (A,), 0),
    "causal mask": (lambda s: s.masked_fill(~LOWER, -torch.inf).softmax(-1), (SCORES,), 0),
    "mask that is added": (
        lambda s: (s + torch.zeros(6, 6).masked_fill(~LOWER, -1e9)).softmax(-1),
        (SCORES,),
        0,
    ),
    "causal attention": (
        lambda s: F.scaled_dot_product_attention(s, s, s, is_causal=True),
        (SCORES,),
        0,
    ),
    "attention with a mask": (
        lambda s: F.scaled_dot_product_attention(s, s, s, attn_mask=LOWER),
        (SCORES,),
        0,
    ),
    "grouped queries": (
        lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        (drawn(2, 4, 5, 3), drawn(2, 2, 5, 3)),
        0,
    ),
    "written over an array": (lambda a: torch.empty_like(a).copy_(a.relu()) + a, (A,), 0),
    "one column over all": (lambda a: torch.empty_like(a).copy_(a[..., :1]) * a, (A,), 0),
    "a number over all": (lambda a: torch.empty_like(a).copy_(torch.tensor(3.0)) * a, (A,), 0),
    "view that splits": (lambda a: a.view(2, 3, 2, 2).transpose(1, 2), (A,), 0),
    "view that merges": (lambda a: a.transpose(0, 1).reshape(3, 8) * 2, (A,), 0),
    "view across axes": (lambda a: a.reshape(2, 4, 3) + 1, (A,), 0),
    "view across axes of a transposed array": (
        lambda a: a.transpose(1, 2).contiguous().view(2, 3, 4) + 1,
        (A,),
        0,
    ),
    "select": (lambda a: a[:, 1], (A,), 0),
    "slice": (lambda a: a[:, 1:] * 2, (A,), 0),
    "every second": (lambda a: a[:, :, ::2] + 0.5, (A,), 0),
    "pieces": (lambda a: torch.cat(a.chunk(2, -1)[::-1], -1), (A,), 0),
    "concatenation": (lambda a, b: torch.cat([a, b], 1), (A, B), 0),
    "stack": (lambda a, b: torch.stack([a, b], 1), (A, B), 0),
    "repeat": (lambda a: a[:, None].expand(2, 5, 3, 4) * WIDE, (A,), 0),
    "repeat of entries": (lambda a: a.repeat_interleave(2, 1) + 1, (A,), 0),
    "squeeze": (lambda a: a[:, :1].squeeze(1) * 2, (A,), 0),
    "largest": (lambda a: a.topk(2, -1).values, (A,), 0),
    "rows by a constant": (lambda a: a[0][PLACES], (A,), 0),
    "average pooling": (lambda x: F.avg_pool2d(x, 2), (IMAGE,), 0),
    "average pooling with a border": (lambda x: F.avg_pool2d(x, 3, 2, 1), (IMAGE,), 0),
    "max pooling": (lambda x: F.max_pool2d(x, 3, 2, 1), (IMAGE,), 0),
    "pooling to a size": (lambda x: F.adaptive_avg_pool2d(x, 4), (IMAGE,), 0),
    "mean of an image": (lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1), (IMAGE,), 0),
    "mean over the height": (lambda x: F.avg_pool2d(x, 2).mean(2), (IMAGE,), 0),
    "image as a row": (lambda x: F.max_pool2d(x, 2).flatten(1) + 1, (IMAGE,), 0),
    "windows of an image": (
        lambda x: F.relu(F.max_pool2d(x, 2)).view(2, 3, 2, 2, 2, 2).permute(0, 2, 4, 1, 3, 5) * 2,
        (IMAGE,),
        0,
    ),
    "layer norm without weights": (lambda a: F.layer_norm(a, (4,)), (A,), 0),
    "mean square of a norm": (lambda a: a * torch.rsqrt(a.pow(2).mean(-1, True) + 1e-6), (A,), 0),
    "roll": (lambda a: a.roll(1, 1), (A,), 0),
    "roll along two axes": (lambda a: a.roll((-1, 5, 0), (1, 2, 0)), (A,), 0),
    "roll of all as one": (lambda a: a.roll(1), (A,), 0),
    "roll of an image": (lambda x: F.max_pool2d(x, 2) + F.max_pool2d(x, 2).roll(1, 2), (IMAGE,), 0),
    "cumulative sum": (lambda a: a.cumsum(1), (A,), 0),
    "cumulative sum of a mask": (lambda a: (a > 0).cumsum(1) * 2 + 1, (A,), 0),
    "cumulative product": (lambda a: a.cumprod(-1), (A,), 0),
    "padding": (lambda a: F.pad(a, (1, 2)), (A,), 0),
    "padding of two axes": (lambda a: F.pad(a, (0, 2, 1, 0), value=0.5), (A,), 0),
    "padding below nothing": (lambda a: F.pad(a, (1, -1, -1, 0)), (A,), 0),
    "padding of an image": (
        lambda x: F.max_pool2d(F.pad(F.max_pool2d(x, 2), (1, 1, 1, 1)), 2),
        (IMAGE,),
        0,
    ),
    "padding by reflection": (lambda a: F.pad(a, (1, 2), mode="reflect"), (A,), 0),
    "gathered": (lambda a: a.gather(1, TURNS), (A,), 0),
    "gathered by positions": (lambda a: a.gather(2, a.topk(2, -1).indices), (A,), 0),
    "gates of channels": (lambda x: x * F.adaptive_avg_pool2d(x, 1).sigmoid(), (IMAGE,), 0),
    "changed in place": (lambda a: _divided(a), (A,), 0),
    "changed in place behind a view": (lambda a: _seen(a), (A,), 0),
    "largest place": (lambda a: a.argmax(-1), (A,), 0),
    "sorted": (lambda a: a.sort(-1).values, (A,), 0),
    "written in place": (lambda a: _written(a), (A,), 0),
    "several results": (lambda a: (a + 1, a.sum(1)), (A,), 0),
}


def _written(a: Tensor) -> Tensor:
    found = torch.zeros(2, 3, 4)
    found[:, 1:] = a[:, 1:] * 2
    return found


def _divided(a: Tensor) -> Tensor:
    """A tensor is changed in place, and used by its first name before and behind."""
    found = a * 2
    total = found.sum(-1, keepdim=True) + 9
    other = found.div_(total)
    found.add_(1)
    return found * other + total


def _seen(a: Tensor) -> Tensor:
    """A tensor is changed in place while a view of it waits."""
    found = a * 2
    turned = found.transpose(1, 2)
    found.mul_(3)
    return turned + 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_torch(name: str) -> None:
    function, inputs, boxes = FUNCTIONS[name]
    found = from_torch(Called(function), *inputs)
    assert found.difference <= 1e-6 and not found.notes
    assert len(found.boxes) == boxes, found.boxes
    torch.manual_seed(0)
    other = [torch.randn_like(x) for x in inputs]  # not only on the inputs it was read with
    mine, theirs = found.module()(*other), function(*other)
    pairs = zip(mine, theirs, strict=True) if isinstance(mine, tuple) else [(mine, theirs)]
    for one, two in pairs:
        torch.testing.assert_close(one, two, check_dtype=False)


@pytest.mark.parametrize(
    ("numbers", "op"),
    [
        ([0, 1, 2], "Map('-> m:3#p:3', 'm', 'positions')"),
        ([1, 2, 3], "Map('-> m:3#p:4', 'm + 1', 'positions')"),
        ([0, 2, 4], "Map('-> m:3#p:5', '2 * m', 'positions')"),
        ([2, 4, 6], "Map('-> m:3#p:7', '2 * m + 2', 'positions')"),
        ([2, 4, 5], "Given('m:3#p:6', 'constant', '2 4 5')"),
        ([2, 2, 2], "Given('m:3#p:3', 'constant', '2*3')"),
        ([0, 0, 0], "Given('m:3#p:2', 'constant', '0*3')"),
        ([2, 1, 0], "Given('m:3#p:3', 'constant', '2 1 0')"),
        ([-1, 0, 1], "Given('m:3', 'constant', '-1 0 1')"),
        ([0.5, 0.5, 0.5], "Map('-> m:3', '0.5')"),
    ],
)
def test_whole_numbers_that_rise_evenly_are_positions(numbers: list[float], op: str) -> None:
    found = from_torch(Called(lambda x: x + torch.tensor(numbers)), torch.randn(2, 3))
    assert f" >> {op} >> " in repr(found.term)


# passes ---------------------------------------------------------------------------------------


def test_a_graph_is_traced_once_where_nobody_else_sees_what_is_changed_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each further trace takes as long as the export itself."""
    again: list[object] = []
    once = torch.export.ExportedProgram.run_decompositions

    def counted(self: Any, *args: Any) -> Any:
        again.append(self)
        return once(self, *args)

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", counted)
    assert not from_torch(Called(_divided), A).boxes and len(again) == 0
    assert not from_torch(Called(_seen), A).boxes and len(again) == 1


def test_all_calls_that_do_not_fit_become_boxes_in_one_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passes: list[object] = []

    def counted(*args: Any) -> Any:
        passes.append(args)
        return record_module(*args)

    monkeypatch.setattr(from_torch_module, "record_module", counted)

    def unfit(g: DimensionBuilder, x: ImportedValue) -> ImportedValue:
        def make(axes: object, arrays: object) -> Term:
            raise PartOfGroup("one side of a spatial group")

        return g.op(make, [x], x.dims)

    monkeypatch.setitem(CALLS, "tanh", unfit)
    found = from_torch(Called(lambda x: x.tanh() * (x + 1).tanh()), IMAGE)
    assert [box.function for box in found.boxes] == ["tanh", "tanh"]
    assert found.boxes[0].reason == "one side of a spatial group"
    assert found.difference <= 1e-6 and len(passes) == 2


# names --------------------------------------------------------------------------------------------


def test_axes_have_the_names_that_the_caller_gives() -> None:
    module = nn.Linear(8, 8)
    found = from_torch(module, drawn(2, 5, 8), axes={"input": "batch y d"})
    assert found.term.dom.spec == "batch:2 y:5 d:8"


class Float:
    """Stands for the class of jaxtyping, which keeps its axes as text."""

    def __init__(self, dim_str: str) -> None:
        self.dim_str = dim_str

    def __class_getitem__(cls, parts: tuple[type, str]) -> Float:
        return cls(parts[1])


class Scorer(nn.Module):
    """A module that says its axes: as text, as this file keeps all annotations."""

    def forward(self, x: Float[Tensor, "batch heads t"], w: Tensor, mask: "t s") -> Tensor:  # noqa
        return x @ mask + w


ANNOTATED = {
    "jaxtyping": (Float("batch heads t"), "batch:2 heads:3 ~t:4"),
    "one of several": (Annotated[Tensor, "rows _ d"] | None, "rows:2 ~t:3 d:4"),
    "text": ("rows cols d", "rows:2 cols:3 d:4"),
    "code": ("Optional[Float[Tensor, '*lead #d']]", "b:2 ~t:3 d:4"),
    "dots": (Float("rows ... 4"), "rows:2 ~t:3 m:4"),
    "sizes": (Float("rows=2 n+1 d"), "rows:2 ~t:3 d:4"),
    "another number": (Float("rows d"), "b:2 ~t:3 m:4"),
    "two stars": (Float("*a b *c"), "b:2 ~t:3 m:4"),
    "a type": (Tensor, "b:2 ~t:3 m:4"),
    "its name": ("torch.Tensor", "b:2 ~t:3 m:4"),
    "nothing": (inspect.Parameter.empty, "b:2 ~t:3 m:4"),
}


@pytest.mark.parametrize("name", ANNOTATED)
def test_axes_have_the_names_of_annotations(name: str) -> None:
    annotation, spec = ANNOTATED[name]

    class Annotation(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2

    Annotation.forward.__annotations__["x"] = annotation
    if annotation is inspect.Parameter.empty:
        del Annotation.forward.__annotations__["x"]
    assert from_torch(Annotation(), A).term.dom.spec == spec
    assert from_torch(Annotation(), A, axes={"x": "p q r"}).term.dom.spec == "p:2 q:3 r:4"


def test_annotations_that_are_kept_as_text_name_the_axes_of_several_inputs() -> None:
    found = from_torch(Scorer(), A, drawn(5), drawn(4, 5))
    assert found.term.dom.spec == "batch:2 heads:3 ~t:4, ~s:5, ~t:4 ~s:5"
    assert found.difference < 1e-6


def test_axes_have_usual_names() -> None:
    module = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 3))
    assert from_torch(module, torch.zeros(2, 5).long()).term.dom.spec == "b:2 ~t:5#v:9"
    assert from_torch(nn.Conv2d(3, 4, 3), IMAGE).term.dom.spec == "b:2 c:3 x:8x8"


def test_axes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ImportFailed) as error:
        from_torch(nn.Linear(4, 2), A, axes={"input": "b m"})
    assert str(error.value) == (
        'the input input has 3 dimensions, but its axes are b m. Try axes={"input": "b t m"}.'
    )


def test_a_system_of_other_sizes_runs() -> None:
    """A length is no property of the module, so that the term has it free."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    found = from_torch(layer, drawn(2, 5, 8))
    text = ncd.spell(found.term)
    term = ncd.parse(text.replace("t=seq(5)", "t=seq(7)").replace("s=seq(5)", "s=seq(7)"))
    mine = ncd.compile(term)
    mine.load_state_dict(found.module().state_dict())
    x = drawn(2, 7, 8)
    torch.testing.assert_close(mine(x), layer(x), rtol=1e-4, atol=1e-5)


# modules that fail --------------------------------------------------------------------------------


class Misfit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(63, 16)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(torch.relu(self.up(x)))


def test_a_module_that_fails_is_shown_up_to_the_call_that_fails() -> None:
    found = from_torch(Misfit(), drawn(2, 5, 16))
    assert labels(found.term) == ["Linear up", "Elementwise relu"]
    assert found.term.cod.spec == "b:2 ~t:5 d:64"
    assert found.failure == (
        "down: a and b must have same reduction dim, but got [10, 64] X [63, 16]."
    )
    assert found.difference == 0


def test_a_module_that_fails_in_python_says_so() -> None:
    def unpacked(x: Tensor) -> Tensor:
        one, two = x.shape
        return x.reshape(one * two)

    with pytest.raises(ImportFailed) as error:
        from_torch(Called(unpacked), A)
    assert str(error.value) == "Called: too many values to unpack (expected 2)."


def test_a_result_of_unknown_size_is_refused() -> None:
    with pytest.raises(ImportFailed) as error:
        from_torch(Called(lambda a: a[a > 0]), A)
    assert "aten.index.Tensor cannot be imported" in str(error.value)


# files --------------------------------------------------------------------------------------------

TEXT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 64)
    def forward(self, x):
        return self.up(x).relu()

class Sized(nn.Module):
    def __init__(self, n):
        super().__init__()

ready = nn.Embedding(50, 8)
number = 3
"""


@pytest.fixture
def file(tmp_path: Any) -> str:
    path = tmp_path / "net.py"
    path.write_text(TEXT)
    return str(path)


def test_a_module_of_a_file(file: str) -> None:
    found = imported_file(f"{file}:Net", "2x5x16")
    assert labels(found.term) == ["Linear up", "Elementwise relu"] and found.difference == 0
    assert imported_file(f"{file}:ready", "2x5#50").term.dom.spec == "b:2 ~t:5#v:50"


def test_a_file_that_does_not_fit_is_refused(file: str) -> None:
    faults = {
        f"{file}:Nat": "net.py: there is no module 'Nat'. Try Net.",
        f"{file}:number": "net.py:number is 3, which is no module. Try an nn.Module.",
        "nowhere.py:Net": "there is no file 'nowhere.py'. Try model.py:Net.",
    }
    for place, message in faults.items():
        with pytest.raises(ncd.NCDError) as error:
            imported_file(place, "2x3")
        assert str(error.value) == message
    with pytest.raises(ImportFailed, match=r"needs arguments: .*'n'"):
        imported_file(f"{file}:Sized", "2x3")
    with pytest.raises(ImportFailed, match=r"takes inputs \(x\), of which no shape is given"):
        imported_file(f"{file}:Net")


def test_shapes_are_read() -> None:
    assert example_tensor("2x3").shape == (2, 3) and example_tensor("4#9").dtype == torch.int64
    for text in ("2y3", "", "x", "2x"):
        with pytest.raises(ImportFailed, match="is no shape"):
            example_tensor(text)


# the ops of imports -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ncd.Opaque("m -> m", "os.system"), ""),
        (lambda: ncd.Opaque("m -> m", "aten.__class__"), "is no function of torch"),
        (lambda: ncd.Opaque("m -> m", "aten.roll", "a.__class__"), "are no arguments"),
        (lambda: ncd.Opaque("m -> m", "aten.roll", "open('x')"), "are no arguments"),
        (lambda: ncd.Opaque("m, m -> m", "aten.roll", "a"), "do not use b"),
        (lambda: ncd.Opaque("-> m", "aten.roll"), "it takes 0 arrays"),
        (lambda: Id("b m") >> ncd.Opaque("m -> m", "aten.roll", "a, [1], [0]"), "just so"),
        (lambda: ncd.Given("m:3", "c", "1 2 x"), "is no number"),
        (lambda: ncd.compile(ncd.Given("m:3", "c", "1 2")), "has 3 numbers, but 2 are given"),
        (lambda: ncd.compile(ncd.Given("m:3", "c", "1 2 3 4")), "has 3 numbers, but 4 are given"),
        (lambda: ncd.Given("m:3#v:2", "c", "0 1 2"), r"2 is no whole numbers below v"),
        (lambda: ncd.Given("m:3", "c", "1*9999999"), "more than 1,000,000"),
    ],
)
def test_what_is_no_call_and_no_constant_is_refused(make: Callable[[], Any], message: str) -> None:
    if message:
        with pytest.raises(ncd.NCDError, match=message):
            make()
    else:  # a name that may be a function of torch.ops, but is none
        with pytest.raises((ncd.NCDError, AttributeError)):
            ncd.compile(make())


def test_a_norm_that_is_frozen_while_its_module_trains_keeps_its_statistics() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    module[1].train(False).running_mean.normal_()
    found = ncd.from_torch(module, torch.randn(2, 3, 6, 6))
    assert not found.boxes  # but its formula
    other = torch.randn(2, 3, 6, 6)
    assert torch.allclose(found.module()(other), module(other), atol=1e-6)
    assert not ncd.from_torch(module.eval(), other).boxes


def test_a_wire_chooses_among_equal_arrays_by_their_numbers() -> None:
    wire = ncd.Wire("m, m, k -> $2, k, $1")
    assert wire.sources == (1, 2, 0) and ncd.parse(repr(wire)) == wire
    assert ncd.Wire("m, m -> $1, $2") == ncd.Wire("m, m -> m, m")
    with pytest.raises(ncd.ParseError, match="'3' is no number of an input, of which there are 2"):
        ncd.Wire("m, k -> $3")
    with pytest.raises(ncd.MismatchError, match="the places 2 are of"):
        ncd.Wire("m, k -> m", "2")
