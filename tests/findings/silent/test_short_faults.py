"""What a search for silent faults finds in a short source, whole, and what it leaves alone."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from ncd.findings.reading.finding import apply_edits
from ncd.findings.silent.axis_mistakes import grown_pairs
from ncd.findings.silent.batch_mixing import attention_over_batch
from ncd.findings.silent.model_runs import Source
from ncd.findings.silent.training_mistakes import (
    dropout_always,
    layers_of_forward,
    softmax_before_loss,
    trained_in_evaluation,
)
from ncd.findings.silent.unused_parts import (
    plain_lists,
    plain_tensors,
    tied_layers,
    twice_assigned,
    two_names,
)

Found = tuple[int, str, str, str]  # the line, the layer, what is said, and the rows of a cure


def faults(search, text: str) -> list[Found]:
    rows = text.split("\n")
    found = []
    for fault in search(Source(text)):
        assert len(fault.attempts) <= 1
        cured = apply_edits(text, fault.attempts[0].edits).split("\n") if fault.attempts else []
        changed = "\n".join(row.strip() for row in cured if row.strip() and row not in rows)
        found.append((fault.line, fault.layer, fault.says, changed))
    return found


def net(init: str, forward: str = "x", call: str = "Net()(torch.randn(4, 3))") -> str:
    """Returns a source whose ``__init__`` begins at line 4."""
    rows = init.replace("\n", "\n        ")
    return (
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {rows}\n"
        f"    def forward(self, x):\n        return {forward}\n{call}"
    )


# losses -------------------------------------------------------------------------------------------

ITS_OWN = "the scores themselves, as it has a softmax of its own"
SIGMOID = "the scores themselves, as it has a sigmoid of its own"
LOGARITHMS = "logarithms, as log_softmax gives them"
CLASSES, EACH = "torch.zeros(4).long()", "torch.zeros(4, 3)"
BCE = "binary_cross_entropy_with_logits"


def given(loss: str, maker: str, takes: str) -> str:
    return (
        f"{loss} is given the result of {maker}, but takes {takes}: it trains, slowly and to the "
        "wrong values."
    )


@pytest.mark.parametrize(
    ("loss", "call", "takes", "cured"),
    [
        ("cross_entropy", "F.softmax(x, 1)", ITS_OWN, "y = x"),
        ("cross_entropy", "torch.softmax(x, 1)", ITS_OWN, "y = x"),
        ("cross_entropy", "x.softmax(1)", ITS_OWN, "y = x"),
        ("cross_entropy", "x.softmax(1).view(4, 3)", ITS_OWN, "y = x.view(4, 3)"),
        ("cross_entropy", "torch.sigmoid(x)", "", ""),
        ("cross_entropy", "F.log_softmax(x, 1)", "", ""),
        ("cross_entropy", "x.softmax(1) * 2", "", ""),
        ("nll_loss", "F.softmax(x, 1)", LOGARITHMS, "y = F.log_softmax(x, 1)"),
        ("nll_loss", "x.softmax(1)", LOGARITHMS, "y = x.log_softmax(1)"),
        ("nll_loss", "nn.Softmax(1)(x)", LOGARITHMS, "y = nn.LogSoftmax(1)(x)"),
        ("nll_loss", "F.log_softmax(x, 1)", "", ""),
        (BCE, "F.softmax(x, 1)", SIGMOID, "y = x"),
        (BCE, "torch.sigmoid(x)", SIGMOID, "y = x"),
        (BCE, "x.sigmoid()", SIGMOID, "y = x"),
        (BCE, "x.tanh()", "", ""),
        ("mse_loss", "x.softmax(1)", "", ""),
    ],
)
def test_a_loss_is_not_given_what_it_does_itself(loss, call, takes, cured) -> None:
    target = CLASSES if loss in ("cross_entropy", "nll_loss") else EACH
    text = f"x = torch.randn(4, 3)\ny = {call}\nF.{loss}(y, {target})"
    maker = "sigmoid" if "sigmoid" in call else "softmax"
    says = given(loss, maker, takes)
    assert faults(softmax_before_loss, text) == ([(2, "", says, cured)] if takes else [])


TRAINED = "model = Net()\nloss = nn.CrossEntropyLoss()\ndef train(x, y):\n    a, b = model(x)\n    return loss({}, y)\nmodel(torch.randn(4, 3))"


@pytest.mark.parametrize(
    ("text", "line", "layer", "says", "cured"),
    [
        ("x = torch.randn(4, 3)\nx.softmax(1).softmax(1)", 2, "",
         "softmax is taken twice in a row: the second one flattens them.", "x.softmax(1)"),
        ("x = torch.randn(4, 3)\nx.log_softmax(1).log_softmax(1)", 2, "",
         "log_softmax is taken twice in a row: the second one changes nothing.", "x.log_softmax(1)"),
        ("x = torch.randn(4, 3)\nx.softmax(1).softmax(0)", 0, "", "", ""),
        (net("self.net = nn.Sequential(nn.Softmax(1), nn.Flatten())", "self.net(x)",
             f"nn.CrossEntropyLoss()(Net()(torch.randn(4, 3)), {CLASSES})"), 4, "net.0",
         given("cross_entropy", "softmax", ITS_OWN), "self.net = nn.Sequential(nn.Flatten())"),
        (net("self.net = nn.Sequential(nn.Linear(3, 2), nn.Softmax(1))", "self.net(x)",
             f"nn.CrossEntropyLoss()(Net()(torch.randn(4, 3)), {CLASSES})"), 4, "net.1",
         given("cross_entropy", "softmax", ITS_OWN), "self.net = nn.Sequential(nn.Linear(3, 2))"),
        (net("self.net = nn.Sequential(nn.Softmax(1))", "self.net(x)",
             f"nn.CrossEntropyLoss()(Net()(torch.randn(4, 3)), {CLASSES})"), 4, "net.0",
         given("cross_entropy", "softmax", ITS_OWN), ""),
        (net("self.s = nn.Softmax(1)", "self.s(x)",
             f"nn.NLLLoss()(Net()(torch.randn(4, 3)), {CLASSES})"), 6, "s",
         given("nll_loss", "softmax", LOGARITHMS), "self.s = nn.LogSoftmax(1)"),
        (net("self.s = nn.Sigmoid()", "self.s(x)",
             f"nn.BCEWithLogitsLoss()(Net()(torch.randn(4, 3)), {EACH})"), 6, "s",
         given(BCE, "sigmoid", SIGMOID), "return x"),
        (net("self.f = nn.Linear(3, 2)", "x, self.f(x).softmax(1)", TRAINED.format("b")), 6, "",
         given("cross_entropy", "softmax", ITS_OWN), "return x, self.f(x)"),
        (net("self.f = nn.Linear(3, 2)", "x, self.f(x).softmax(1)", TRAINED.format("a")), 0, "", "", ""),
    ],
)  # fmt: skip
def test_a_softmax_that_another_one_follows(text, line, layer, says, cured) -> None:
    assert faults(softmax_before_loss, text) == ([(line, layer, says, cured)] if line else [])


# a column against a row ---------------------------------------------------------------------------

PAIRED = "give 4 × 4: each number of one against all of the other, where 4 pairs are meant."


@pytest.mark.parametrize(
    ("a", "b", "call", "shapes", "cured"),
    [
        ("4, 1", "4", "a - b", "(4, 1) and (4)", "a.squeeze(-1) - b"),
        ("4", "4, 1", "a - b", "(4) and (4, 1)", "a - b.squeeze(-1)"),
        ("4, 1", "4", "a.sub(b)", "(4, 1) and (4)", "a.squeeze(-1).sub(b)"),
        ("4, 1", "4", "torch.sub(a, b)", "(4, 1) and (4)", "torch.sub(a.squeeze(-1), b)"),
        ("4, 1", "4", "F.mse_loss(a, b)", "(4, 1) and (4)", "F.mse_loss(a.squeeze(-1), b)"),
        ("4, 1", "4", "F.l1_loss(b, a + 1)", "(4) and (4, 1)", "F.l1_loss(b, (a + 1).squeeze(-1))"),
        ("4, 1", "4", "nn.MSELoss()(a, b)", "(4, 1) and (4)", "nn.MSELoss()(a.squeeze(-1), b)"),
        ("4", "4", "F.mse_loss(a.unsqueeze(1), b)", "(4, 1) and (4)",
         "F.mse_loss(a.unsqueeze(1).squeeze(-1), b)"),
        ("4, 1", "4", "a + b", "", ""),
        ("4, 1", "3", "a - b", "", ""),
        ("1, 1", "1", "a - b", "", ""),
        ("4, 1", "4, 1", "a - b", "", ""),
        ("4", "4", "a[:, None] - b", "", ""),  # meant
        ("4", "4", "a.unsqueeze(1) - b", "", ""),
        ("4, 3", "4", "a.mean(1, keepdim=True) - b", "", ""),
        ("4, 1", "4", "a - torch.arange(4)", "", ""),
        ("4, 1", "4", "a - torch.arange(4).float()", "", ""),
        ("4, 1", "4", "a - b.long()", "", ""),
    ],
)  # fmt: skip
def test_a_column_meets_a_row(a: str, b: str, call: str, shapes: str, cured: str) -> None:
    text = f"a = torch.randn({a})\nb = torch.randn({b})\n{call}"
    found = faults(grown_pairs, text)
    assert found == ([(3, "", f"{shapes} {PAIRED}", cured)] if shapes else [])


# layers and arrays of a class ---------------------------------------------------------------------

PLAIN = "asks for gradients, but is a plain array and no parameter of the model, so that no optimiser trains it, and nothing saves or moves it."
LIST = "is a plain {}: its {} no part of the model, so that no optimiser trains {}, and nothing saves or moves {}."
ONE = "with one set of weights: all {} places share it."


@pytest.mark.parametrize(
    ("search", "init", "layer", "says", "cured"),
    [
        (plain_tensors, "self.w = torch.ones(3, requires_grad=True)", "w", f"w {PLAIN}",
         "self.w = nn.Parameter(torch.ones(3, requires_grad=True))"),
        (plain_tensors, "self.w = torch.ones(3, requires_grad=False)", "", "", ""),
        (plain_tensors, "self.w = torch.ones(3)", "", "", ""),
        (plain_tensors, "self.w = nn.Parameter(torch.ones(3, requires_grad=True))", "", "", ""),
        (plain_lists, "self.a = [nn.Linear(3, 3)]", "a",
         "a " + LIST.format("list", "1 layer is", "it", "it"), "self.a = nn.ModuleList([nn.Linear(3, 3)])"),
        (plain_lists, "self.a = (nn.Linear(3, 3), nn.Linear(3, 2))", "a",
         "a " + LIST.format("tuple", "2 layers are", "them", "them"),
         "self.a = nn.ModuleList((nn.Linear(3, 3), nn.Linear(3, 2)))"),
        (plain_lists, "self.a = {'b': nn.Parameter(torch.ones(3))}", "a",
         "a " + LIST.format("dict", "1 parameter is", "it", "it"),
         "self.a = nn.ParameterDict({'b': nn.Parameter(torch.ones(3))})"),
        (plain_lists, "self.a = [nn.Dropout(0.5)]", "a",
         "a " + LIST.format("list", "1 layer is", "it", "it"), "self.a = nn.ModuleList([nn.Dropout(0.5)])"),
        (plain_lists, "self.a = [[nn.Linear(3, 3)]]", "", "", ""),  # handed on in a list
        (plain_lists, "self.a = [nn.ReLU()]", "", "", ""),
        (plain_lists, "self.a = [3]", "", "", ""),
        (tied_layers, "self.a = nn.Sequential(*[nn.Linear(3, 3)] * 3)", "a.0",
         "a.0, a.1 and a.2 are one and the same Linear, " + ONE.format(3),
         "self.a = nn.Sequential(*[nn.Linear(3, 3) for _ in range(3)])"),
        (tied_layers, "self.a = nn.ModuleList(4 * [nn.Linear(3, 3)])", "a.0",
         "a.0 to a.2 and a.3 are one and the same Linear, " + ONE.format(4),
         "self.a = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)])"),
        (tied_layers, "self.a = nn.ModuleList([nn.ReLU()] * 3)", "", "", ""),
        (tied_layers, "self.a = nn.ModuleList([nn.Linear(3, 3)] * 2)  # shared", "", "", ""),
        (twice_assigned, "self.a = self.b = nn.Linear(3, 3)", "a",
         "a and b are one and the same Linear, with one set of weights: what one learns, the other has too.",
         "self.a = nn.Linear(3, 3)\nself.b = nn.Linear(3, 3)"),
        (twice_assigned, "self.a = self.b = nn.ReLU()", "", "", ""),
        (twice_assigned, "self.a = c = nn.Linear(3, 3)", "", "", ""),
    ],
)  # fmt: skip
def test_layers_and_arrays_that_a_class_keeps(search, init, layer, says, cured) -> None:
    assert faults(search, net(init)) == ([(4, layer, says, cured)] if layer else [])


def test_one_layer_under_two_names() -> None:
    says = "a and b are one and the same Linear, with one set of weights: what one learns, the other has too."
    text = net("c = nn.Linear(3, 3)\nself.a = c\nself.b = c")
    assert faults(two_names, text) == [(6, "b", says, "self.b = nn.Linear(3, 3)")]
    for init in (
        "c = nn.ReLU()\nself.a = c\nself.b = c",
        "c = nn.Linear(3, 3)\nself.tied_a = c\nself.b = c",
        "self.a = nn.Linear(3, 3)\nself.b = nn.Linear(3, 3)",
        "self.a = nn.Linear(3, 3)\nself.b = self.a",
    ):
        assert faults(two_names, net(init)) == []


def test_one_layer_that_a_loop_appends() -> None:
    text = net(
        "layer = nn.Linear(3, 3)\nself.a = nn.ModuleList()\nfor _ in range(2):\n    self.a.append(layer)"
    )
    says = (
        "a.0 and a.1 are one and the same Linear, with one set of weights: all 2 places share it."
    )
    assert faults(tied_layers, text) == [(7, "a.0", says, "self.a.append(nn.Linear(3, 3))")]


# evaluation that is never undone, and what it does not reach ---------------------------------------

FIT = "model = Net()\nopt = torch.optim.SGD(model.parameters(), 0.1)\ndef fit(data):\n    {}\nmodel(torch.randn(4, 3))"
SILENT = (
    "model.eval() is never undone in the loop: from its second turn on {} silent while it trains."
)
DROP, NORM = "self.d = nn.Dropout(0.5)", "self.n = nn.BatchNorm1d(3)"
TRAIN, EVAL, TURN = "model.train()", "model.eval()", "for x in data:"
LOSS = "model(x).sum().backward()"
ALWAYS = "F.{} drops numbers in evaluation too, as training is True unless it is passed on: eval() does not reach it."
ANEW = "nn.{} is made at each call with new weights: nothing that it learns is kept."


def loop(*rows: str) -> str:
    return FIT.format("\n    ".join(rows))


@pytest.mark.parametrize(
    ("init", "rows", "line", "kinds"),
    [
        (DROP, (TURN, f"    {LOSS}", f"    {EVAL}"), 12, "Dropout is"),
        (NORM, (TURN, f"    {LOSS}", f"    {EVAL}"), 12, "BatchNorm1d is"),
        (f"{DROP}\n{NORM}", (TURN, f"    {LOSS}", f"    {EVAL}"), 13, "BatchNorm1d and Dropout are"),
        (DROP, ("while data:", f"    {LOSS}", f"    {EVAL}"), 12, "Dropout is"),
        (DROP, (TURN, "    for y in x:", f"        {LOSS}", f"    {EVAL}"), 13, "Dropout is"),
        (DROP, (TURN, f"    {TRAIN}", f"    {LOSS}", f"    {EVAL}"), 0, ""),
        (DROP, (TURN, f"    {EVAL}", "    model(x).sum()"), 0, ""),  # it does not train
        (DROP, (TURN, f"    {LOSS}"), 0, ""),
        (DROP, (TURN, f"    {LOSS}", "    other.eval()"), 0, ""),
        (DROP, (EVAL, TURN, f"    {LOSS}"), 0, ""),
        ("self.f = nn.Linear(3, 3)", (TURN, f"    {LOSS}", f"    {EVAL}"), 0, ""),  # nothing is silent
    ],
)  # fmt: skip
def test_a_loop_that_trains_in_evaluation(init, rows, line, kinds) -> None:
    found = faults(trained_in_evaluation, net(init, "x", loop(*rows)))
    cured = [] if not line else [(line, "", SILENT.format(kinds), "model.train()")]
    assert found == cured


@pytest.mark.parametrize(
    ("search", "call", "says", "cured"),
    [
        (dropout_always, "F.dropout(x)", ALWAYS.format("dropout"), "return F.dropout(x, training=self.training)"),
        (dropout_always, "F.dropout(x, 0.5)", ALWAYS.format("dropout"), "return F.dropout(x, 0.5, training=self.training)"),
        (dropout_always, "nn.functional.dropout2d(x, p=0.5)", ALWAYS.format("dropout2d"),
         "return nn.functional.dropout2d(x, p=0.5, training=self.training)"),
        (dropout_always, "F.dropout(x, 0)", "", ""),
        (dropout_always, "F.dropout(x, p=0.0)", "", ""),
        (dropout_always, "F.dropout(x, 0.5, self.training)", "", ""),
        (dropout_always, "F.dropout(x, training=self.training)", "", ""),
        (dropout_always, "F.dropout(x) if self.training else x", "", ""),
        (dropout_always, "self.dropout(x)", "", ""),
        (dropout_always, "F.relu(x)", "", ""),
        (layers_of_forward, "nn.Linear(3, 3)(x)", ANEW.format("Linear"), ""),
        (layers_of_forward, "nn.PReLU()(x)", ANEW.format("PReLU"), ""),
        (layers_of_forward, "nn.Dropout(0.5)(x)",
         "nn.Dropout is made at each call, and so always training: eval() does not reach it.", ""),
        (layers_of_forward, "nn.ReLU()(x)", "", ""),
        (layers_of_forward, "nn.Softmax(1)(x)", "", ""),
    ],
)  # fmt: skip
def test_what_evaluation_and_training_do_not_reach(search, call, says, cured) -> None:
    found = faults(search, net("pass", call))
    assert found == ([(6, "", says, cured)] if says else [])


# attention over the batch -------------------------------------------------------------------------

MIXED = "axis 0 of its input (4 × 5 × 8), which is the batch: the samples mix, and the 5 places of axis 1 never meet."
BATCHED = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {0}
    def forward(self, x):
        B, T, m = x.shape
        {1}
        return x
Net()(torch.randn(4, 5, 8))"""


@pytest.mark.parametrize(
    ("init", "forward", "says", "cured"),
    [
        (
            "self.layers = nn.Sequential(*[nn.TransformerEncoderLayer(8, 2) for _ in range(3)])",
            "x = self.layers(x)",
            "layers.0 (TransformerEncoderLayer), like 2 more, attends over",
            "self.layers = nn.Sequential(*[nn.TransformerEncoderLayer(8, 2, batch_first=True) for _ in range(3)])",
        ),
        (
            "self.attention = nn.MultiheadAttention(8, 2)",
            "x = self.attention(x, x, x)[0]",
            "attention (MultiheadAttention) attends over",
            "self.attention = nn.MultiheadAttention(8, 2, batch_first=True)",
        ),
        (
            "self.cell = nn.GRU(8, 8)",
            "x = self.cell(x)[0]",
            "cell (GRU) steps along",
            "self.cell = nn.GRU(8, 8, batch_first=True)",
        ),
    ],
)
def test_what_one_call_makes_is_one_fault(init, forward, says, cured) -> None:
    found = faults(attention_over_batch, BATCHED.format(init, forward))
    assert found == [(4, says.partition(" ")[0], f"{says} {MIXED}", cured)]
