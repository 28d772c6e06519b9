"""The formats of numbers that calls take are asked for just as torch itself does."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ncd.findings.failures.explanation import explanation
from ncd.findings.failures.failure import failure_of
from ncd.findings.reading.format_check import WrongFormat
from ncd.findings.reading.source_trace import SourceTrace
from ncd.findings.search import findings
from ncd.read.python_source.source_reader import read_source

PICTURE = "torch.ones(1, 4, 6, 6)"
SEQUENCE = "torch.ones(5, 3, 4)"
LINES = {  # what takes real numbers, and an array that it takes as such
    **dict.fromkeys(
        (
            *("nn.Linear(4, 2)", "nn.Bilinear(4, 4, 2)", "nn.LSTM(4, 2)", "nn.GRU(4, 2)"),
            *("nn.RNN(4, 2)", "nn.MultiheadAttention(4, 2)", "nn.TransformerEncoderLayer(4, 2, 8)"),
            *("nn.LayerNorm(4)", "nn.RMSNorm(4)", "nn.GroupNorm(1, 3)", "nn.BatchNorm1d(3)"),
            *("nn.InstanceNorm1d(3)", "nn.Softmax(-1)", "nn.LogSoftmax(-1)", "nn.GELU()"),
            *("nn.SiLU()", "nn.Mish()", "nn.ELU()", "nn.SELU()", "nn.CELU()", "nn.LeakyReLU()"),
            *("nn.Softplus()", "nn.Hardswish()", "nn.Hardsigmoid()", "nn.LogSigmoid()", "nn.GLU()"),
            *("nn.PReLU()", "nn.Dropout(0.5)", "nn.AdaptiveAvgPool1d(2)", "nn.MaxPool1d(2)"),
            *("nn.Tanh()", "nn.Sigmoid()", "nn.ReLU()", "nn.Hardtanh()", "nn.Softsign()"),
            *("nn.AvgPool1d(2)", "nn.ConstantPad1d(1, 0)", "nn.Flatten()"),
            *("torch.std", "torch.mean", "torch.exp", "torch.sum"),
        ),
        SEQUENCE,
    ),
    **dict.fromkeys(
        (
            *("nn.Conv2d(4, 2, 3)", "nn.ConvTranspose2d(4, 2, 3)", "nn.BatchNorm2d(4)"),
            *("nn.AdaptiveAvgPool2d(2)", "nn.AdaptiveMaxPool2d(2)", "nn.Upsample(scale_factor=2)"),
            *("nn.AvgPool2d(2)", "nn.MaxPool2d(2)", "nn.Unfold(2)", "nn.PixelShuffle(2)"),
            *("nn.Dropout2d(0.5)",),
        ),
        PICTURE,
    ),
    **dict.fromkeys(
        ("nn.LSTMCell(4, 2)", "nn.GRUCell(4, 2)", "nn.RNNCell(4, 2)"), "torch.ones(3, 4)"
    ),
}
SEVERAL = {"nn.Bilinear(4, 4, 2)": 2, "nn.MultiheadAttention(4, 2)": 3}  # arrays that they take


def run(made: str, array: str, move: str, count: int = 0) -> bool:
    """Returns whether torch itself takes an array, so many times."""
    names = {"torch": torch, "nn": nn, "F": F}
    x = eval(f"{array}{move}", names)
    try:
        eval(made, names)(*[x] * (count or SEVERAL.get(made, 1)))
    except (RuntimeError, ValueError):
        return False
    return True


MOVES = (".long()", ".double()", ".half()", ".bfloat16()")


@pytest.mark.parametrize("made", LINES)
def test_a_format_is_refused_just_where_torch_refuses_it(made: str) -> None:
    assert run(made, LINES[made], "")
    _refused_as_by_torch(made, LINES[made], MOVES)


@pytest.mark.parametrize("weights", [".double()", ".half()", ".bfloat16()"])
@pytest.mark.parametrize("made", [made for made in LINES if made.startswith("nn.")])
def test_weights_of_another_format_take_what_torch_lets_them_take(made: str, weights: str) -> None:
    _refused_as_by_torch(f"{made}{weights}", LINES[made], ("", *MOVES[1:]))


def _refused_as_by_torch(made: str, array: str, moves: tuple[str, ...]) -> None:
    for move in moves:
        count = SEVERAL.get(made.split(").")[0].rstrip(")") + ")", 1)
        text = f"f = {made}\nx = {array}{move}\ny = f({', '.join('x' * count)})"
        failure = failure_of(SourceTrace(text, symbolic=False).read())
        assert (failure is None) is run(made, array, move, count), move
        if failure is not None:
            says = explanation(failure)
            assert ("takes real numbers" in says) is (move == ".long()")
            assert ("one format is needed" in says) is (move != ".long()")


def test_whole_numbers_become_real_ones() -> None:
    text = "fc = nn.Linear(3, 4)\nx = torch.tensor([[1, 2, 3], [4, 5, 6]])\ny = fc(x)"
    (found,) = findings(text)
    assert found.says == "Linear takes real numbers, but its array (2 × 3) holds whole ones."
    assert [cure.text.split("\n")[2] for cure in found.cures] == ["y = fc(x.float())"]


def test_a_product_of_two_arrays_says_both_formats() -> None:
    text = "a = torch.ones(2, 3)\nb = torch.ones(3, 4, dtype=torch.float64)\nc = a @ b"
    trace = SourceTrace(text).read()
    assert isinstance(trace.error, WrongFormat)
    assert (trace.error.given, trace.error.taken) == (torch.float32, torch.float64)
    failure = failure_of(trace)
    assert failure is not None
    assert explanation(failure) == (
        "`a @ b` gets an array (2 × 3) of float32 beside one of float64; one format is needed."
    )


def test_a_mask_is_no_array_of_real_numbers() -> None:
    made = f"f = nn.MultiheadAttention(4, 2)\nx = {SEQUENCE}\nm = torch.ones(5, 5).bool()"
    text = f"{made}\nf(x, x, x, attn_mask=m)"
    assert SourceTrace(text, symbolic=False).read().error is None


def test_dropout_passes_whole_numbers_on_in_evaluation() -> None:
    text = f"x = {SEQUENCE}.long()\ny = F.dropout(x, 0.5, training={{}})"
    assert SourceTrace(text.format(False), symbolic=False).read().error is None
    assert isinstance(SourceTrace(text.format(True), symbolic=False).read().error, WrongFormat)


NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.bn = nn.BatchNorm1d(16)
        self.fc2 = nn.Linear(16, 3)
    def forward(self, x):
        return self.fc2(self.bn(self.fc1(x)))
"""
CONVERTED: dict[str, tuple[str, str, int, tuple[str, ...]]] = {  # the line, and the lines cured
    "model = Net().half()\nmodel(torch.randn(4, 8))": (
        *("float32", "float16", 9),
        (
            "model(torch.randn(4, 8).half())",
            "model = Net()",
            "        return self.fc2(self.bn(self.fc1(x.half())))",
        ),
    ),
    "model = Net()\nmodel.to(torch.bfloat16)\nmodel(torch.randn(4, 8))": (
        *("float32", "bfloat16", 10),
        (
            "model(torch.randn(4, 8).bfloat16())",
            "",
            "        return self.fc2(self.bn(self.fc1(x.bfloat16())))",
        ),
    ),
    'model = Net().to("cpu", dtype=torch.double)\nmodel(torch.randn(4, 8))': (
        *("float32", "float64", 9),
        (
            "model(torch.randn(4, 8).double())",
            "model = Net().to('cpu')",
            "        return self.fc2(self.bn(self.fc1(x.double())))",
        ),
    ),
    "torch.set_default_dtype(torch.float64)\nmodel = Net()\nx = torch.ones(4, 8, dtype=torch.float)"
    "\nmodel(x)": (
        *("float32", "float64", 0),
        ("model(x.double())", "", "x = torch.ones(4, 8)"),
    ),
    "model = Net()\nx = torch.randn(4, 8).half()\nmodel(x)": (
        *("float16", "float32", 0),
        (
            "model(x.float())",
            "x = torch.randn(4, 8)",
            "        return self.fc2(self.bn(self.fc1(x.float())))",
        ),
    ),
}


@pytest.mark.parametrize("call", CONVERTED)
def test_a_converted_model_is_given_arrays_of_its_format_or_left_as_it_was(call: str) -> None:
    given, taken, line, lines = CONVERTED[call]
    text = f"{NET}{call}"
    (found,) = findings(text)
    weights = f"weights of {taken} (line {line})" if line else f"one of {taken}"
    assert (found.line, found.layer) == (4, "fc1")
    assert found.says == (
        f"fc1 (Linear) gets an array (4 × 8) of {given} beside {weights}; one format is needed."
    )
    changed = [
        next(
            new
            for new, old in zip(cure.text.split("\n"), text.split("\n"), strict=True)
            if new != old
        )
        for cure in found.cures
    ]
    assert changed == [*lines]
    for cure in found.cures:
        before = torch.get_default_dtype()
        try:
            exec(cure.text, {"nn": nn, "torch": torch})
        finally:
            torch.set_default_dtype(before)


def test_a_part_of_another_format_stops_where_it_is_reached() -> None:
    (found,) = findings(f"{NET}model = Net()\nmodel.fc2.half()\nmodel(torch.randn(4, 8))")
    assert (found.line, found.layer) == (6, "fc2")
    assert found.cures[0].text.split("\n")[9] == ""


RIGHT = r"""
model = Net().half()\nmodel(torch.randn(4, 8).half())
model = Net().half()\nmodel(torch.randn(4, 8, dtype=torch.float16))
model = Net().half().float()\nmodel(torch.randn(4, 8))
model = Net().bfloat16()\nmodel(torch.randn(4, 8).type(next(model.parameters()).dtype))
model = Net().half()\nwith torch.autocast("cuda"):\n    model(torch.randn(4, 8))
torch.set_default_dtype(torch.float64)\nmodel = Net()\nmodel(torch.randn(4, 8))
model = Net().half()
model = Net().half()\n4x8
model = Net().double()\n4x8
"""


@pytest.mark.parametrize("call", RIGHT.strip().split("\n"))
def test_formats_that_go_together_are_no_failure_and_are_drawn(call: str) -> None:
    text = NET + call.replace("\\n", "\n")
    assert not [one for one in findings(text) if one.kind == "failure"]
    reading = read_source(text)
    assert reading.failure is None
    assert reading.shapes == ((2 if call == "model = Net().half()" else 4, 3),)
    assert torch.get_default_dtype() == torch.float32


WHOLE = (  # calls that take whole numbers t, of 4 numbers below 3
    *("F.cross_entropy(x, t)", "F.nll_loss(x, t)", "F.one_hot(t, 3)", "torch.take(x, t)"),
    *("F.nll_loss(x[:, :, None, None], t.view(4, 1, 1))", "F.multi_margin_loss(x, t)"),
    *("torch.take_along_dim(x, t.view(4, 1), 1)", "x.index_fill(0, t, 0.0)"),
    *("x.index_copy(0, t, x)", "x.index_add(0, t, x)", "x.index_select(0, t)"),
    *("x.gather(1, t.view(4, 1))", "x.scatter(1, t.view(4, 1), 1.0)"),
    *("x.scatter_add(1, t.view(4, 1), x[:, :1])", "F.embedding(t, x)"),
    *("nn.CrossEntropyLoss()(x, t)", "nn.Embedding(4, 3)(t)", "F.cross_entropy(x, x)"),
)


@pytest.mark.parametrize("call", WHOLE)
def test_whole_numbers_of_few_bits_are_refused_just_where_torch_refuses_them(call: str) -> None:
    for move in ("long()", "int()", "short()", "to(torch.int8)"):
        text = f"x = torch.ones(4, 3)\nt = torch.tensor([0, 1, 1, 0]).{move}\ny = {call}"
        try:
            exec(text, {"torch": torch, "nn": nn, "F": F})
            takes = True
        except (RuntimeError, IndexError):
            takes = False
        failure = failure_of(SourceTrace(text, symbolic=False).read())
        assert (failure is None) is takes, move


def test_classes_of_32_bits_become_64() -> None:
    text = "x = torch.randn(5, 3)\ny = torch.randint(0, 3, (5,)).int()\nF.cross_entropy(x, y)"
    (found,) = findings(text)
    words = "`F.cross_entropy(x, y)` takes whole numbers of int64, but gets 5 of int32."
    assert found.says == words
    assert found.cures[0].text.split("\n")[2] == "F.cross_entropy(x, y.long())"


ASSERTED = {  # an assertion on an array of 1 × 4 × 3, and what it says
    "x.size(2) >= 5": "5 (line 9) is more than 3 (the length of the input, line 11)",
    "x.size(2) > 3": "3 (the length of the input, line 11) is not more than 3 (line 9)",
    "x.shape[2] <= 2": "3 (the length of the input, line 11) is more than 2 (line 9)",
    "x.shape[2] < 3": "3 (line 9) is not more than 3 (the length of the input, line 11)",
}


@pytest.mark.parametrize("claim", ASSERTED)
def test_an_assertion_about_sizes_says_them(claim: str) -> None:
    head = "class N(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    made = "        self.c = nn.Conv1d(2, 4, 1)\n\n"
    body = f"{made}    def forward(self, x):\n        x = self.c(x)\n"
    claimed = f"        # sizes\n        assert {claim}\n        return x\n"
    text = f"{head}{body}{claimed}N()(torch.randn(1, 2, 3))"
    (found,) = findings(text)
    assert found.says.startswith(f"`assert {claim}` does not hold: {ASSERTED[claim]}.")


@pytest.mark.parametrize("loss", ["nn.CrossEntropyLoss()", "F.nll_loss"])
def test_classes_may_be_told_in_bytes(loss: str) -> None:
    """Torch takes them, though its functions for arrays without numbers do not."""
    text = f"{loss}(torch.randn(8, 4), torch.randint(0, 4, (8,), dtype=torch.uint8))"
    assert SourceTrace(text, False).read().message == ""
    F.nll_loss(torch.randn(8, 4), torch.zeros(8, dtype=torch.uint8))
