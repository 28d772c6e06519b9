"""The shapes that names, settings, first layers and comments tell, rule by rule."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from einops.layers.torch import Rearrange
from torch import nn

from ncd.read.python_source import input_shapes as shapes
from ncd.read.python_source import structured_inputs as parts
from ncd.read.python_source.interpreter import Interpreter

SQUARES = [f"1x3x{n}x{n}" for n in (224, 256, 32, 64)]
FIXED = (32, 224, 28, 64, 256, 96, 128, 299)
SIDES = (64, 224, 256, 32, 28, 96, 128, 299, 512)


def kept(model: nn.Module, **settings: Any) -> nn.Module:
    """Returns a module that keeps these sizes."""
    for name, value in settings.items():
        setattr(model, name, value)
    return model


def machine_of(text: str = "") -> Interpreter:
    return cast(Interpreter, SimpleNamespace(text=text))


@pytest.mark.parametrize(
    ("settings", "side", "found"),
    [
        ({}, 0, []),
        ({"input_axis": 2, "input_channels": 5}, 0, ["1x16x16x5"]),
        ({"input_axis": 1}, 0, ["1x16x3"]),
        ({"input_axis": 3}, 0, ["1x16x16x16x3"]),
        ({"input_axis": 0}, 0, []),
        ({"input_axis": 4}, 0, []),
        ({"channels": 5}, 48, ["1x5x48x48"]),
        ({"channels": 1, "frames": 4}, 48, ["1x1x4x48x48"]),
        ({"n_chans": 4999, "length": 9}, 0, ["1x4999x9"]),
        ({"channels": 1, "seq_len": 9}, 0, ["1x1x9"]),
        *(({"channels": n, "seq_len": 9}, 48, []) for n in (0, 5000, "3", None)),
        ({"channels": 5}, 0, []),
    ],
)
def test_shapes_by_the_names_of_settings(settings: Any, side: int, found: list[str]) -> None:
    model = kept(nn.Linear(2, 3), **({"img_size": side} if side else {}))
    assert [*shapes.of_names(model, settings)] == found


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, []),
        ({"n_channels": 2}, ["1x2x64x64"]),
        ({"in_chans": 1, "dim": 1}, ["1x1x64x64", "10x1", "1x16x1", "1x1x32x32"]),
        ({"n_channels": 0, "num_features": 0, "dim": 7}, ["10x7", "1x16x7", "1x7x32x32"]),
        ({"n_channels": 5000, "dim": 5000, "d_model": 4999},
         ["10x4999", "1x16x4999", "1x4999x32x32"]),
        ({"in_channels": 2, "spatial_dims": 3, "dim": 5},
         ["1x2x32x32x32", "10x2", "1x16x2", "1x2x32x32"]),
        ({"dim": 2, "spatial_dims": 1}, ["1x2x32", "10x2", "1x16x2", "1x2x32x32"]),
        *(({"dim": 2, "spatial_dims": n}, ["10x2", "1x16x2", "1x2x32x32"]) for n in (0, 4)),
        ({"dim": 7, "img_size": 48}, ["1x7x48x48", "10x7", "1x16x7", "1x7x32x32"]),
    ],
)  # fmt: skip
def test_shapes_of_a_module_without_layers_of_torch(settings: Any, found: list[str]) -> None:
    assert [*shapes.of_settings(settings)] == found


@pytest.mark.parametrize(
    ("layer", "first"),
    [
        (nn.ReLU(), []),
        (nn.Linear(5, 3), []),
        (nn.Conv1d(5, 3, 1), ["1x5x32"]),
        (nn.Conv2d(5, 3, 1), ["1x5x32x32"]),
        (nn.Conv3d(5, 3, 1), ["1x5x16x16x16"]),
        (nn.MaxPool3d(2), ["1x16x16x16x16"]),
        (nn.GroupNorm(1, 5), ["1x5x32x32"]),
        (nn.LayerNorm((2, 7)), ["8x2x7"]),
        (nn.EmbeddingBag(9, 4), ["4x8#9"]),
    ],
)
def test_shapes_of_a_layer_of_torch(layer: nn.Module, first: list[str]) -> None:
    n = 5 if any(getattr(layer, name, 0) == 5 for name in shapes.WIDTHS) else 16
    assert [*shapes.of_layer(layer)] == [*first, f"8x{n}", f"1x{n}x32", f"1x{n}x32x32"]


def test_shapes_of_layers_of_sequences() -> None:
    found = shapes.sequences_first(
        nn.ModuleList(
            [
                nn.GRU(8, 5, batch_first=True),
                nn.MultiheadAttention(6, 2),
                nn.MultiheadAttention(4, 2, batch_first=True),
            ]
        )
    )
    assert [*found] == ["2x16x8", "16x2x6", "2x16x4"]


def test_the_side_of_a_picture_in_settings() -> None:
    for value, sides in (
        (7, [7]), ([7], [7]), ((7, 9), [7]), ((1, 7, 9), [7]), ((1, 2, 3, 4), [1]), ((), []),
        (0, []), (1, [1]), (1999, [1999]), (2000, []), (7.0, []), (True, []), (None, []),
    ):  # fmt: skip
        assert shapes.sides_in({"img_size": value}) == sides
    assert shapes._named_sides("15x15 16x16 512 by 512 513x513") == [512, 16]
    assert shapes._named_sides("the 224 of it, 99 * 98") == [224]
    assert shapes._named_sides("20x20 30x30 40x40 50x50 60x60") == [60, 50, 40, 30]


@pytest.mark.parametrize(
    ("layer", "settings", "found"),
    [
        (nn.Linear(9, 2), {}, ["1x9", "1x16x9"]),
        (nn.Linear(9, 2), {"img_size": 12}, ["1x3x12x12", "1x9", "1x16x9"]),
        (nn.Linear(9, 2), {"img_size": 9}, ["1x9", "1x16x9"]),
        (nn.Linear(9, 2), {"seq_len": 1}, ["1x9", "1x16x9", "1x1x9"]),
        (nn.Linear(9, 2), {"block_size": 4999}, ["1x9", "1x16x9", "1x4999x9"]),
        (nn.Linear(9, 2), {"block_size": 5000}, ["1x9", "1x16x9"]),
        (nn.Linear(784, 2), {}, ["1x784", "1x16x784", "1x1x28x28"]),
        (nn.Linear(3072, 2), {}, ["1x3072", "1x16x3072", "1x3x32x32"]),
        (nn.LazyLinear(2), {}, ["1x784", "1x16x784", "1x1x28x28"]),
        (nn.LayerNorm((4, 7)), {}, ["1x7", "1x16x7"]),
        (nn.GRU(8, 5), {}, ["1x16x8", "1x8x8", "1x1x8x8"]),
    ],
)
def test_shapes_for_a_layer_of_the_last_dimension(
    layer: nn.Module, settings: Any, found: list[str]
) -> None:
    model = kept(layer, **settings)
    assert [*shapes.of_last_dimension(model, layer)] == [*found, *SQUARES]
    assert [*shapes.of_first(machine_of(), model, layer)] == [*found, *SQUARES]


CONV, LAST = nn.Conv2d(3, 4, 3), nn.Linear(9, 2)


@pytest.mark.parametrize(
    ("model", "text", "likely"),
    [
        (CONV, "", True),
        (nn.Conv2d(1, 4, 3), "", False),
        (nn.Conv2d(2, 4, 3), "", True),
        (nn.Sequential(CONV, LAST), "", False),
        (nn.Sequential(CONV, LAST), "adaptive_avg_pool2d", True),
        (nn.Sequential(CONV, nn.AdaptiveAvgPool2d(1), LAST), "", True),
        (nn.Sequential(LAST, CONV), "", False),
        (nn.Embedding(3, 4), "", True),
        (LAST, "", False),
        (kept(nn.Linear(9, 2), img_size=9), "", False),
        (kept(nn.Linear(9, 2), img_size=12), "", True),
    ],
)
def test_whether_the_first_layer_tells_the_shape(model: nn.Module, text: str, likely: bool) -> None:
    assert shapes.likely(machine_of(text), model) is likely


@pytest.mark.parametrize(
    ("layer", "found"),
    [
        (nn.Conv1d(2, 3, 1), [f"1x2x{n}" for n in (16, 8, 64, 128, 1024, 16000)]),
        (nn.Conv1d(1, 3, 1),
         [*(f"1x1x{n}" for n in (16, 8, 64, 128, 1024, 16000)), "1x1024", "1x16000"]),
        (nn.LazyConv1d(3, 1), [f"1x3x{n}" for n in (16, 8, 64, 128, 1024, 16000)]),
        (CONV, [f"1x3x{n}x{n}" for n in SIDES]),
        (nn.Conv2d(6, 4, 3),
         [*(f"1x6x{n}x{n}" for n in SIDES), "1x3x64x64", "1x3x224x224"]),
        (nn.Conv2d(4, 4, 3), [f"1x4x{n}x{n}" for n in SIDES]),
        (nn.Conv2d(1, 4, 3), [f"1x1x{n}x{n}" for n in (28, *FIXED)]),
        (kept(nn.LazyConv2d(4, 3), img_size=48),
         [f"1x3x{n}x{n}" for n in (48, 28, *SIDES)]),
        (nn.Conv3d(2, 3, 1), [*(f"1x2x{n}x{n}x{n}" for n in (16, 32, 64)), "1x2x16x224x224"]),
        (nn.LazyConv3d(3, 1), [*(f"1x3x{n}x{n}x{n}" for n in (16, 32, 64)), "1x3x16x224x224"]),
        (nn.Embedding(9, 4), [f"1x{n}#9" for n in (16, 8, 64, 128, 4, 1)]),
        (nn.BatchNorm1d(4), ["1x4"]),
        (nn.BatchNorm2d(4), ["1x4x32x32"]),
        (nn.BatchNorm3d(4), ["1x4x32x32x32"]),
        (nn.ReLU(), []),
    ],
)  # fmt: skip
def test_shapes_that_a_first_layer_accepts(layer: nn.Module, found: list[str]) -> None:
    assert [*shapes.of_first(machine_of(), layer, layer)] == found
    both, text = nn.Sequential(CONV, LAST), "frames of 84 x 84"
    sides = [f"1x3x{n}x{n}" for n in (84, *FIXED)]
    assert [*shapes.of_first(machine_of(text), both, CONV)] == sides


@pytest.mark.parametrize(
    ("words", "model", "shape"),
    [
        ("N C L", nn.Linear(8, 3), "1x8x16"),
        ("N C", nn.Linear(8, 3), "16x8"),
        ("batch heads t d", nn.Linear(8, 3), "1x4x16x8"),
        ("b h t d", nn.Linear(8, 3), "1x4x16x8"),
        ("b h t d", kept(nn.Linear(8, 3), num_heads=2), "1x2x16x8"),
        ("b c h w", nn.Conv2d(5, 3, 1), "1x5x32x32"),
        ("b c h w", kept(nn.Conv2d(5, 3, 1), img_size=48), "1x5x48x48"),
        ("b foo", kept(nn.ReLU(), foo=7), "1x7"),
        ("b foo", kept(nn.ReLU(), foo=1), "1x1"),
        ("b foo", kept(nn.ReLU(), foo=0), ""),
        ("b foo", kept(nn.ReLU(), foo=5000), ""),
        ("b foo", kept(nn.ReLU(), foo=4999), "1x4999"),
        ("b d", nn.ReLU(), ""),
        ("b d", nn.Sequential(nn.Linear(8, 3)), "1x8"),
        ("b d", nn.Sequential(nn.Linear(1, 3)), "1x1"),
        ("b d", kept(nn.ReLU(), d_model=6), "1x6"),
        ("2 12 0", nn.ReLU(), ""),
        ("2 12", nn.ReLU(), "2x12"),
        ("b num_classes", nn.ReLU(), "1x10"),
        ("b dropout", nn.ReLU(), ""),
        ("b pad_idx", nn.ReLU(), ""),
        ("b n_frames", nn.ReLU(), "1x16"),
    ],
)
def test_the_shape_whose_sizes_have_such_names(words: str, model: nn.Module, shape: str) -> None:
    assert shapes.sides_of_words(words.split(), model) == shape


FORWARD = '''# x (batch, 99)
def forward(self, x, y):  # x is (batch, 11)
    """Takes x (b, 12) and y (b, {far} 13)."""
    b, c = x.shape
    b, c, z = (*x.size(), 3)
    (b,) = x.shape
    b, *rest = x.shape
    b, c = y.shape
    x.shape = b, c
    return x  # of x: (batch × 14)
# x (batch, 98)
'''


def test_the_shapes_that_a_source_itself_tells() -> None:
    for far, third in (("", ["1x13"]), ("m" * 200, [])):
        text = FORWARD.format(far=far)
        (forward,) = ast.parse(text).body
        found = [*shapes.of_source(text, forward, "x", nn.Linear(8, 3))]
        assert found == ["1x8", "1x8", "1x12", *third, "1x11", "1x14"]
        found = [*shapes.of_source(text, forward, "y", nn.Linear(8, 3))]
        assert found == ["1x8", *third]


@pytest.mark.parametrize(
    ("name", "shape", "settings", "first", "ways"),
    [
        ("x", "1x3x8x9", {}, False, ["1x3x8x9"]),
        ("mask", "1x3x8x9", {}, True, ["None", "1x8x9!"]),
        ("a.mask", "1x3x8", {}, False, ["None", "1x3!"]),
        ("y_mask", "1x3x8", {}, True, ["1x3x8"]),
        ("labels", "2x3", {}, True, ["2x3"]),
        ("labels", "2x3", {"dim": 7}, False, ["2#10", "2x3", "1x7"]),
        ("input_ids", "2x9x5", {}, True, ["2x9#10", "2x9x5"]),
        ("edge_index", "2x9", {}, True, ["2x20#10"]),
        ("adj", "1x16x64", {}, False, ["16x16", "1x16x16", "2x20#10"]),
        ("adj", "7", {}, False, ["7x7", "1x7x7", "2x20#10"]),
        ("h", "2x5#50", {}, False, ["1x2", "1x1x2", "2x5#50"]),
        ("h", "2x5", {}, False, ["1x5", "1x1x5", "2x5"]),
        ("cond", "1x16x64", {"d_cond": 7, "dim": 9}, False, ["1x16x7", "1x16x64", "1x7"]),
        ("num_nodes", "1x16", {}, False, ["=8"]),
        ("adj", "1x5000x2", {}, False, ["2x20#10"]),  # of 25 million numbers
    ],
)  # fmt: skip
def test_what_is_usual_for_an_input_of_a_name(
    name: str, shape: str, settings: Any, first: bool, ways: list[str]
) -> None:
    assert parts.usual_ways(name, shape, settings, first) == ways


def forward_of(function: Callable[..., Any]) -> nn.Module:
    return type("Net", (nn.Module,), {"forward": function})()


def test_inputs_that_have_a_default_come_one_by_one() -> None:
    forwards: tuple[Callable[..., Any], ...] = (
        lambda self, x: x,
        lambda self, x, a=1, *rest, b=2, **more: x,
        lambda self, x, a=1, b=2, c=3: x,
        lambda self, x, a=1, *, b: x,
    )
    found = [parts.optional(forward_of(each)) for each in forwards]
    assert [[*each] for each in found] == [[], [["a"]], [["a"], ["a", "b"]], []]
    assert [parts.fits(x) for x in ("4096x4096", "4096x4097", "0x3", "1", "2x3!", "2x3#7")] == (
        [True, False, False, True, True, True]
    )


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return x[i]", {"i": "10#10"}),
        ("return x[mask]", {}),
        ("a, b = i; return x[b]", {"i": "2x20#10"}),
        ("a, b, c = i; return x[b]", {}),
        ("a, b = i; return x", {}),
        ("return x[i[0]]", {"i": "2x20#10"}),
        ("return x[i[1]]", {"i": "2x20#10"}),
        ("return x[i[2]]", {}),
        ("return i[0]", {}),
        ("return x[j]", {}),
    ],
)
def test_inputs_by_which_rows_are_taken(body: str, found: dict[str, str]) -> None:
    forward = ast.parse(f"def forward(self, x, i, mask): {body}")
    assert parts.index_inputs(forward, ["x", "i", "mask"]) == found


@pytest.mark.parametrize(
    ("pattern", "settings", "shape"),
    [
        ("b (h p) (w q) c -> b h w (p q c)", {"channels": 5}, "1x64x64x5"),
        ("b c (h p) (w q) -> b (h w) (p q c)", {"in_channels": 1}, "1x1x64x64"),
        ("b c (h p) (w q) -> b (h w) (p q c)", {"channels": "5"}, "1x5x64x64"),
        ("b c (h p) (w q) -> b (h w) (p q c)", {"channels": "x"}, ""),
        ("b t c -> b c t", {"frames": 9}, "1x9x3"),
        ("b c (n p) -> b n (p c)", {}, "1x3x64"),
        ("b c (n p) -> b n (p c)", {"seq_len": 20}, "1x3x20"),
        ("b c (n p) -> b n (p c)", {"seq_len": "20"}, "1x3x64"),
        ("b c (n p) -> b n (p c)", {"seq_len": 20, "channels": 2}, "1x2x20"),
        ("b c (n p q) -> b n (p q c)", {"seq_len": 20}, "1x3x64"),
        ("b c (h p) (w q) -> b (h w) (p q c)", {"seq_len": 20}, "1x3x64x64"),
        ("(h p) -> h p", {}, ""),
    ],
)
def test_the_shape_that_a_first_pattern_takes(pattern: str, settings: Any, shape: str) -> None:
    layer = nn.Sequential(Rearrange(pattern, **{name: 2 for name in "pq" if name in pattern}))
    assert parts.of_pattern(layer, settings, 64) == shape
    assert parts.of_pattern(nn.Sequential(nn.ReLU(), layer), settings, 64) == ""


def test_a_list_that_goes_along_with_layers() -> None:
    def given(text: str, *layers: nn.Module) -> list[str] | None:
        model = kept(nn.Module(), maps=nn.ModuleList(layers), other=3)
        return parts.alongside(ast.parse(f"def forward(self, xs, y): {text}"), ["xs"], model)

    line, conv, deep = (
        nn.Linear(8, 3),
        nn.Conv2d(5, 3, 1),
        nn.Sequential(nn.ReLU(), nn.Linear(4, 3)),
    )
    along = "return [f(x) for x, f in zip(xs, self.maps)]"
    assert given(along, line, conv, deep) == ["1x8", "1x5x32x32", "1x4"]
    for text, layers in (
        (along, ()), (along, (nn.ReLU(), line)), (along, (line,) * 17),
        (along.replace("zip", "map"), (line,)), (along.replace("xs,", "y,"), (line,)),
        (along.replace("xs,", "xs, y,"), (line,)), (along.replace("maps", "other"), (line,)),
    ):  # fmt: skip
        assert given(text, *layers) is None
    assert given(along, *[line] * 16) == ["1x8"] * 16


def test_inputs_in_words() -> None:
    record = parts.Record()
    record.own |= {"a": "1x2", "b": "3!"}
    for names, ways, words in (
        (["x"], ("1x16",), "1x16"), (["x", "y"], ("1x16", "2"), "x 1x16, y 2"),
        (["x"], (["1x2", "3"],), "a list of 1x2, 3"), (["x", "m"], (("1x2",), "None"),
         "x a tuple of 1x2, no m"), (["x"], ({"k": "1x2", "l": "3!"},), "k 1x2, l of truths"),
        (["x", "m", "n"], ("2!", "None", "None"), "x of truths, no m or n"),
        (["d"], (record,), ".a 1x2, .b of truths"), (["x", "n"], ("2!", "=4"), "x of truths, n 4"),
        (["x"], ("2!",), "an array of truths"),
    ):  # fmt: skip
        assert parts.words_of(names, ways) == words
