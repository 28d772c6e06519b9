"""Settings of ops at their edges: what still fits, what does not and which cure is offered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import ncd
from ncd import BatchNorm, Conv, GroupNorm, Id, MaxPool, NCDError, Term, Window
from ncd.language.axes import Signature, Type
from ncd.language.op import Op
from ncd.language.terms import Then
from ncd.ops import CATALOGUE
from ncd.ops.constant_array import run_lengths
from ncd.ops.pooling import mean_of_windows
from tests.rewrite.test_gradient_term import RANDOM, assert_gradient

ALONE = [
    sample
    for op in CATALOGUE
    for sample in op.examples()
    if op.__name__ not in RANDOM and (sample.alone or not sample.dom)
]


@pytest.mark.parametrize("sample", ALONE, ids=lambda s: f"{s.op!r} on {s.dom}")
def test_the_gradient_of_an_op_without_a_batch_in_front_is_that_of_torch(sample) -> None:
    assert_gradient(ncd.elaborate(Then(Id(sample.dom), sample.op)).term)


REFUSED: list[tuple[Callable[[], Term], str, int | None]] = [
    (
        lambda: Id("k:3 h:2 x:5") >> Conv("k h x -> d:4 x", "c", 1, groups=4),
        "k·h = 6 channels are not 4 groups of one size. Bound so far: k 3, h 2, x 5, d 4. "
        "Try k·h = 8, or groups = 1.",
        None,
    ),
    (
        lambda: Id("c:6 x:5") >> Conv("c x -> d:4 x", "c", 1, groups=3),
        "d = 4 channels are not 3 groups of one size. Bound so far: c 6, x 5, d 4. "
        "Try d = 6, or groups = 1.",
        6,
    ),
    (
        lambda: Id("c:5 x:7") >> GroupNorm("c x", "g", 4),
        "c = 5 channels are not 4 groups of one size. Bound so far: c 5, x 7. "
        "Try c = 8, or groups = 1.",
        8,
    ),
    (
        lambda: Id("c:1 x:7") >> Conv("c x -> d:1 x", "c", 3, 2),
        "axis x would go from 7 to 4, but keeps its name. Bound so far: c 1, x 7, d 1. "
        "Try stride = 1, or another name than x on the right.",
        None,
    ),
    (
        lambda: Id("c:1 x:7") >> Conv("c x -> d:1 x", "c", 3, 1, 0),
        "axis x would go from 7 to 5, but keeps its name. Bound so far: c 1, x 7, d 1. "
        "Try another name than x on the right.",
        None,
    ),
    (
        lambda: Id("x:4x9") >> MaxPool("x -> u", (5, 3), 1),
        "axis x has size 4×9, too small for a window of 5×3. Bound so far: x 4×9. Try x = 5×3.",
        5,
    ),
    (
        lambda: Id("x:2") >> MaxPool("x -> u", 3),
        "axis x has size 2, too small for a window of 3. Bound so far: x 2. Try x = 3.",
        3,
    ),
    (
        lambda: Id("x:2x2x2x2") >> MaxPool("x -> u"),
        "a window slides over 1 to 3 dimensions, but x has 4. Bound so far: x 2×2×2×2, "
        "u 1×1×1×1. Try places such as x:16x16.",
        None,
    ),
]


@pytest.mark.parametrize(("make", "why", "nearest"), REFUSED, ids=[w[:40] for _, w, _ in REFUSED])
def test_sizes_that_no_op_takes(make: Callable[[], Term], why: str, nearest: int | None) -> None:
    with pytest.raises(NCDError) as caught:
        make()
    assert str(caught.value).partition(": ")[2] == why
    assert getattr(caught.value, "nearest", None) == nearest


@pytest.mark.parametrize(
    ("op", "dom"),
    (
        (Conv("c x -> d:4 x", "c", 1, groups=2), "c:6 x:5"),
        (Conv("k h x -> d:4 x", "c", 3), "k:3 h:2 x:5"),
        (GroupNorm("c x", "g", 4), "c:8 x:1"),
        (MaxPool("x -> u", (4, 3), 1), "x:4x3"),
        (Conv("c x -> d:2 x", "c", 3, 1), "c:1 x:1x1x1"),
    ),
)
def test_weights_have_the_axes_of_their_channels(op: Op, dom: str) -> None:
    site = ncd.elaborate(Id(dom) >> op).cells[-1].site
    module = ncd.compile(Id(dom) >> op)
    shapes = {name.split(".")[-1]: tensor.shape for name, tensor in module.state_dict().items()}
    initial = op.initial_values(site)
    assert {name: value.array.numel for name, value in initial.items()} == {
        name: shape.numel() for name, shape in shapes.items()
    }
    if isinstance(op, Conv):
        grouped = op.groups > 1
        names = ("d", "".join(op.dom[0].names[:-1])) if grouped else ("d", *op.dom[0].names[:-1])
        assert initial["weight"].array.names[: len(names)] == names


@pytest.mark.parametrize(
    ("shape", "kernel", "stride"), [("6", 3, 2), ("4x6", 2, 2), ("5x4", (3, 2), 1)]
)
def test_the_mean_of_windows_is_average_pooling(shape: str, kernel, stride) -> None:
    size = "x".join(
        str((int(n) - k) // s + 1)
        for n, k, s in zip(
            shape.split("x"),
            kernel if isinstance(kernel, tuple) else (kernel,) * 2,
            (stride,) * 2,
            strict=False,
        )
    )
    term = mean_of_windows(Signature.parse(f"x:{shape} -> y:{size}"), kernel, stride)
    x = torch.randn(1, *map(int, shape.split("x")))
    pool = F.avg_pool1d if x.dim() == 2 else F.avg_pool2d
    assert term.dom == Type.parse(f"x:{shape}")
    torch.testing.assert_close(ncd.compile(term)(x[0]), pool(x, kernel, stride)[0])


def test_numbers_as_text_count_equal_neighbours() -> None:
    assert run_lengths([]) == ""
    assert run_lengths([1, 1, 2, 2, 2, 0.5, 1]) == "1*2 2*3 0.5 1"
    assert run_lengths([1e15, 1e14, -1e14, -0.25]) == "1000000000000000.0 100000000000000 " + (
        "-100000000000000 -0.25"
    )


def test_settings_that_change_nothing_are_not_written() -> None:
    site = (Id("x:4") >> Window("x -> y w", 2)).steps[-1].apply_to(Type.parse("x:4"))
    assert Window("x -> y w", 2).latex(site) == r"z_{y,\,w} = a_{y + w}"
    assert Window("x -> y w", 2, 1, 0, 2).latex(site) == r"z_{y,\,w} = a_{y + 2 w}"
    assert Window("x -> y w", 2, 2).latex(site) == r"z_{y,\,w} = a_{2 y + w}"
    assert Window("x -> y w", 2, 1, 1).latex(site) == r"z_{y,\,w} = a_{y + w - 1}"
    for eps, layer in ((1e-5, "nn.BatchNorm2d(c)"), (1e-3, "nn.BatchNorm2d(c, eps=0.001)")):
        assert layer in ncd.source(Id("b:2 c:3 x:4x4") >> BatchNorm("b c", eps=eps))


@pytest.mark.parametrize("kernel", (1, 2, 5))
@pytest.mark.parametrize("stride", (1, 2, 3))
@pytest.mark.parametrize("padding", (0, 1, 2))
@pytest.mark.parametrize(("more", "gap"), ((0, 1), (0, 2), (1, 2), (1, 3)))
def test_a_transposed_window_gives_the_sizes_that_torch_gives(
    kernel: int, stride: int, padding: int, more: int, gap: int
) -> None:
    op = ncd.ConvTranspose("c x -> d:1 y", "up", kernel, stride, padding, True, more, gap)
    given = {}
    for size in range(1, 12):
        weight = torch.ones(1, 1, kernel)
        try:
            x = torch.ones(1, 1, size)
            out = F.conv_transpose1d(x, weight, None, stride, padding, more, 1, gap).shape[-1]
        except RuntimeError:
            out = 0
        if out > 0:
            given[out] = size
            assert (op.output_size(size, 0), op.input_size(out, 0)) == (out, size)
    assert op.min_input_size(0) == min(given.values())
    for out in range(1, max(given)):
        if out not in given:
            with pytest.raises(ncd.SizeError) as caught:
                op.input_size(out, 0)
            assert caught.value.nearest in given
