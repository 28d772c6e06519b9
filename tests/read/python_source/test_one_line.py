"""A line of PyTorch gives the values, the shapes, the weights and the refusals that torch gives."""

from __future__ import annotations

import ast

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import ncd
from ncd.notation.term_reader import TextError
from ncd.read.python_source.one_line import take_shape
from ncd.read.python_source.source_reader import read_source
from ncd.read.recognise import Reading
from tests.support.layer_lines import SHAPED, VALUED, Shapes


def called(layer: str, shapes: Shapes) -> str:
    """The line that makes a layer and calls it."""
    return f"{layer}({', '.join(f'torch.randn{shape}' for shape in shapes)})"


def read(text: str) -> Reading:
    found = read_source(text)
    assert (found.failure, found.kind) == (None, "a line of PyTorch")
    return found


def like(ours: object, theirs: object) -> list[tuple[Tensor, Tensor]]:
    """The arrays of both, which have one shape."""
    pairs = list(zip(tree_leaves(ours), tree_leaves(theirs), strict=True))
    for one, other in pairs:
        assert one.shape == other.shape
    return pairs


@pytest.mark.few(20)
@pytest.mark.parametrize(("layer", "shapes"), VALUED, ids=[layer for layer, _ in VALUED])
def test_every_setting_of_a_layer_counts(layer: str, shapes: Shapes) -> None:
    theirs: nn.Module = eval(layer, {"nn": nn})
    term = read(called(layer, shapes)).term
    ours = ncd.compile(term)
    assert ncd.cost(term).parameters == sum(p.numel() for p in theirs.parameters())
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        nn.init.normal_(other)
        mine.data.copy_(other.data.reshape(mine.shape))
    if "BatchNorm" not in layer:  # whose compiled layer has the statistics of its batch
        ours.eval()
        theirs.eval()
    arrays = [torch.randn(shape) for shape in shapes]
    for one, other in like(ours(*arrays), theirs(*arrays)):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.few(4)
@pytest.mark.parametrize(("layer", "shapes"), SHAPED, ids=[layer for layer, _ in SHAPED])
def test_recurrent_and_attention_layers_have_torch_s_shapes_and_weights(
    layer: str, shapes: Shapes
) -> None:
    theirs: nn.Module = eval(layer, {"nn": nn})
    term = read(called(layer, shapes)).term
    assert ncd.cost(term).parameters == sum(p.numel() for p in theirs.parameters())
    arrays = [torch.randn(shape) for shape in shapes]
    assert like(ncd.compile(term)(*arrays), theirs(*arrays))


@pytest.mark.parametrize(
    "text",
    [
        "nn.Linear(8, 3)(5, 8)",
        "torch.nn.Linear(8, 3)(5, 8)",
        "nn.Linear(8, 3)((5, 8))",
        "  nn.Linear(8, 3)(5, 8)",
        "\n\n\tnn.Linear(8, 3)(5, 8)",
        "nn.Linear(8, 3)\n5x8",
        "nn.Linear(8, 3)\n5 × 8",
        "nn.Linear(8, 3)\n5 8",
        "nn.Linear(8, 3)(2, 8)\n5x8",
        "nn.Linear(8, 3).eval()(torch.randn(5, 8))",
        "nn.Linear(\n    8,\n    3,\n)(torch.zeros((5, 8)))",
    ],
)
def test_an_input_is_given_in_any_spelling(text: str) -> None:
    found = read(text)
    assert (found.term.dom.spec, found.term.cod.spec) == ("b:5 m:8", "b:5 d:3")
    assert found.note == ""


@pytest.mark.parametrize(
    "text",
    [
        "x = nn.Linear(8, 3)(5, 8)",
        "import torch.nn as nn\nnn.Linear(8, 3)(5, 8)",
        "import torch.nn as nn\nlayer = nn.Linear(8, 3)\ny = nn.Sequential(layer)(5, 8)",
    ],
)
def test_a_source_may_end_with_a_shape_in_place_of_an_input(text: str) -> None:
    found = read_source(text)
    assert (found.term.dom.spec, found.term.cod.spec) == ("b:5 m:8", "b:5 d:3")


def test_a_line_of_hundreds_of_calls_is_refused() -> None:
    with pytest.raises(TextError, match=r"it is nested more than 90 deep"):
        read_source(f"nn.Linear(8, 3)(torch.randn(5, 8){'.relu()' * 400})")


USUAL = {
    "nn.Linear(8, 3)": "torch.randn(1, 8)",
    "nn.Conv2d(3, 6, 7)": "torch.randn(1, 3, 64, 64)",
    "nn.ConvTranspose2d(8, 4, 2)": "torch.randn(1, 8, 32, 32)",
    "nn.MaxPool2d(2)": "torch.randn(1, 16, 32, 32)",
    "nn.BatchNorm1d(6)": "torch.randn(10, 6)",
    "nn.GroupNorm(2, 6)": "torch.randn(1, 6, 32, 32)",
    "nn.Embedding(50, 12)": "torch.randint(50, (1, 16))",
    "nn.Softmax(-1)": "torch.randn(8, 16)",
    "nn.LSTM(8, 4)": "torch.randn(16, 2, 8)",
    "nn.MultiheadAttention(8, 2, batch_first=True)": ", ".join(["torch.randn(2, 16, 8)"] * 3),
}


@pytest.mark.parametrize(("layer", "inputs"), USUAL.items(), ids=USUAL)
def test_without_an_input_a_usual_one_is_taken_and_written(layer: str, inputs: str) -> None:
    assert read(layer).call.line == f"{layer}({inputs})"


REFUSED = {
    "nn.MaxPool2d(3, strde=2)": "column 1: MaxPool2d has no argument 'strde'. Try stride.",
    "nn.Linear(8, 3, banana=1)": (
        "column 1: Linear has no argument 'banana'. "
        "Try one of in_features, out_features, bias, device, dtype."
    ),
    "nn.LSTM(8, 4, num_layer=2)": "column 1: LSTM has no argument 'num_layer'. Try num_layers.",
    "nn.Linear(3)": (
        "column 1: Linear lacks out_features. Try Linear(in_features=…, out_features=…)."
    ),
    "nn.Linear(3, 4, True, None, None, 5)": (
        "column 1: Linear takes 5 arguments, but 6 are given. "
        "Try only in_features, out_features, bias, device, dtype."
    ),
    "nn.Linear(3, 4, in_features=3)": "column 1: Linear is given in_features twice. Try it once.",
    "nn.Linaer(3, 6)": "column 1: Linaer of torch.nn is not understood here. Try Linear.",
    "nn.Linear(3, 4)(0, 3)": (
        "column 17: a shape is several whole numbers, 1 or more. "
        "Try nn.Conv2d(3, 64, 7)(torch.randn(1, 3, 224, 224))."
    ),
    "nn.Linear(3, 4)(2.0, 3)": (
        "column 17: a shape is several whole numbers, 1 or more. "
        "Try nn.Conv2d(3, 64, 7)(torch.randn(1, 3, 224, 224))."
    ),
    "nn.Linear(3, 4)('2x3')": (
        "column 17: a shape is several whole numbers, 1 or more. "
        "Try nn.Conv2d(3, 64, 7)(torch.randn(1, 3, 224, 224))."
    ),
    "nn.Linear(3, 4)(*[2, 3])": (
        "column 17: a shape is several whole numbers, 1 or more. "
        "Try nn.Conv2d(3, 64, 7)(torch.randn(1, 3, 224, 224))."
    ),
    "nn.Linear(3, 4)(None)": (
        "column 17: a shape is several whole numbers, 1 or more. "
        "Try nn.Conv2d(3, 64, 7)(torch.randn(1, 3, 224, 224))."
    ),
    "nn.Linear(8, 3)(5, 8)(2, 8)": (
        "column 1: more is done here than to call a layer on its input. "
        "Try nn.Sequential(…), or a class with a forward."
    ),
    "nn.Linear(8, 3)(torch.randn(5, 8))(torch.randn(5, 3))": (
        "column 1: more is done here than to call a layer on its input. "
        "Try nn.Sequential(…), or a class with a forward."
    ),
    "nn.Linear(3, 4)(x)": "column 17: there is nothing called 'x'. Try a name that is set above.",
    "nn.Linear(3, 4)(torch.randn(2, 3)).relu()": (
        "column 1: more is done here than to call a layer on its input. "
        "Try nn.Sequential(…), or a class with a forward."
    ),
    "nn.ReLU()(nn.Linear(3, 4)(torch.randn(2, 3)))": (
        "column 11: a layer is called on the result of another one. "
        "Try nn.Sequential(…), or a class with a forward."
    ),
    "nn.functional.relu(torch.randn(2, 3))": (
        "column 1: more is done here than to call a layer on its input. "
        "Try nn.Sequential(…), or a class with a forward."
    ),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED)
def test_no_part_of_a_line_is_left_out(text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        read_source(text)
    assert str(error.value) == f"line 1, {message}"


def test_a_second_line_is_not_left_out() -> None:
    with pytest.raises(TextError) as error:
        read_source("nn.Linear(3, 4)\nnn.ReLU()")
    assert str(error.value) == (
        "line 2, column 1: a line of PyTorch is one line, and this is another. "
        "Try nn.Sequential(…), or a class with a forward."
    )


FAILING = {
    "nn.Linear(8, 3)(torch.randn(2, 9))": (
        "column 1: Linear: in_features is 8, but the array (2×9) has 9 in its last dimension. "
        "Try in_features=9."
    ),
    "nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(5, 4))(torch.randn(2, 8))": (
        "column 43: Linear: in_features is 5, but the array (2×4) has 4 in its last dimension. "
        "Try in_features=4."
    ),
    "nn.Conv2d(3, 4, 3)(torch.randn(1, 5, 9, 9))": (
        "column 1: Conv2d: in_channels is 3, but the array (1×5×9×9) has 5 in its channel "
        "dimension. Try in_channels=5."
    ),
    "nn.Conv2d(3, 4, 30)(torch.randn(1, 3, 9, 9))": (
        "column 1: Conv2d stops on an array (1×3×9×9): Calculated padded input size per channel: "
        "(9 x 9). Kernel size: (30 x 30). Kernel size can't be greater than actual input size."
    ),
    "nn.Embedding(50, 12)(torch.randn(2, 7))": (
        "column 1: Embedding takes whole numbers, but the array (2×7) holds real ones. "
        "Try a last line 2x7#50."
    ),
}


@pytest.mark.parametrize(("text", "message"), FAILING.items(), ids=FAILING)
def test_a_layer_that_does_not_fit_is_named_with_what_would(text: str, message: str) -> None:
    assert str(read_source(text).failure) == f"line 1, {message}"


def test_a_source_may_catch_a_wrong_argument() -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            self.layer = nn.Linear(8, 3, banana=True)
        except TypeError:
            self.layer = nn.Linear(8, 3)
    def forward(self, x):
        return self.layer(x)
2x8
"""
    assert read_source(text).term.cod.spec == "b:2 d:3"


@pytest.mark.parametrize(("given", "shape"), [("(1, 2)", "1x2"), ("1, 1", "1x1"), ("(3,)", "3")])
def test_a_line_ends_with_a_shape_of_whole_numbers_from_1_on(given: str, shape: str) -> None:
    assert take_shape(ast.parse(f"nn.ReLU()({given})")) == shape
    for other in ("(1, 0)", "(1, -1)", "1, 2.5", "True", "*x"):
        tree = ast.parse(f"nn.ReLU()({other})")
        if other == "(1, -1)":  # no plain number
            assert take_shape(tree) == ""
            continue
        with pytest.raises(TextError, match="a shape is several whole numbers, 1 or more"):
            take_shape(tree)
