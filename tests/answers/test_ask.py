"""A text is answered: its kind, torch's shapes, a sentence, what was assumed, what is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from torch import nn

import ncd
from ncd.answers.answer import Answer
from ncd.answers.plain_answer import answer_of, with_findings
from ncd.findings.reading.finding import LATE, Cure, Edit, Finding
from ncd.jobs.source_reading import reader
from ncd.notation.term_reader import TextError
from ncd.read.recognise import Reading

HEAD = "import torch\nfrom torch import nn\n"
NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1))
    def forward(self, x):
        return self.parts(x)
"""
MERGED = """class Net(nn.Module):
    def forward(self, x):
        b, t, m = x.shape
        y = x.view(b, t, 2, 8).transpose(1, 2)
        return y.transpose(1, 2).reshape(b, t, m), y.mean((0, 1, 2, 3)), y[:, 0], x
"""
LLAMA = """{"model_type": "llama", "num_hidden_layers": 1, "vocab_size": 50, "hidden_size": 32,
"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64}"""
RECURRENT_AUTOENCODER = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(4, 6, batch_first=True)
        self.decoder = nn.LSTM(6, 4, batch_first=True)
    def forward(self, x):
        code = self.encoder(x)[0]
        return self.decoder(code)[0], code
"""
TEXTS = {  # a text: its kind, the shapes and the sentence of its answer
    HEAD + NET + "2x3x8x8": (
        "source",
        ((2, 4, 1, 1),),
        "out: 2 × 4 × 1 × 1 (batch, channels, 1, 1)",
    ),
    "nn.Linear(8, 3)(torch.randn(2, 8))": ("line", ((2, 3),), "out: 2 × 3 (batch, features)"),
    "nn.LSTM(4, 6, batch_first=True)(torch.rand(3, 5, 4))": (
        "line",
        ((3, 5, 6), (1, 3, 6), (1, 3, 6)),
        "out: 3 × 5 × 6 (batch, tokens, features)",
    ),
    "nn.GRU(4, 6, bidirectional=True)(torch.rand(5, 3, 4))": (
        "line",
        ((5, 3, 12), (2, 3, 6)),
        "out: 5 × 3 × 12 (tokens, batch, features)",
    ),
    f"{RECURRENT_AUTOENCODER}2x5x4": (
        "source",
        ((2, 5, 4), (2, 5, 6)),
        "out: 2 × 5 × 4 (batch, tokens, features) and 2 × 5 × 6 (batch, tokens, features)",
    ),
    "bhid,bhjd->bhij": ("einsum", ((8, 8, 8, 8),), "out: 8 × 8 × 8 × 8 (b, h, i, j)"),
    'rearrange(x, "b (h w) -> b h w", h=4)\n2x8': ("einops", ((2, 4, 2),), "out: 2 × 4 × 2"),
    'Id("batch:2 classes:9")': ("term", ((2, 9),), "out: 2 × 9 (batch, classes)"),
}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:12])
def test_the_kind_the_shapes_and_the_sentence(text: str) -> None:
    kind, shapes, sentence = TEXTS[text]
    answer = ncd.ask(text)
    assert (answer.kind, answer.shapes) == (kind, shapes)
    assert {each.kind for each in answer.findings} <= {"size"}
    assert answer.sentence.startswith(sentence)
    assert answer.term is not None


def test_the_hidden_axis_of_a_recurrent_layer_has_a_name_that_heads_do_not_have() -> None:
    for layer in ("LSTM", "GRU", "RNN"):
        term = ncd.from_torch(getattr(nn, layer)(4, 6), torch.zeros(5, 3, 4)).term
        assert "h" not in {axis.name for array in term.cod for axis in array}


def test_the_shapes_are_torchs_own() -> None:
    """Also of several results, merged axes, axes of size 1, and a result without any."""
    x = torch.zeros(2, 5, 16)
    y = x.view(2, 5, 2, 8).transpose(1, 2)
    whole = (y.transpose(1, 2).reshape(2, 5, 16), y.mean((0, 1, 2, 3)), y[:, 0], x)
    assert ncd.ask(HEAD + MERGED + "2x5x16").shapes == tuple(tuple(a.shape) for a in whole)
    lstm = "nn.LSTM(6, 7, num_layers=2)(torch.randn(4, 3, 6))"
    out, (hidden, cell) = nn.LSTM(6, 7, num_layers=2)(torch.zeros(4, 3, 6))
    assert ncd.ask(lstm).shapes == tuple(tuple(a.shape) for a in (out, hidden, cell))


def test_a_configuration() -> None:
    answer = ncd.ask(LLAMA)
    assert (answer.kind, answer.shapes) == ("config", ((16, 50),))
    assert answer.sentence.endswith("out: 16 × 50 (t, v)")
    wrong = ncd.ask('{"model_type": "lama"}')
    assert (wrong.kind, wrong.term) == ("config", None)
    assert "llama" in wrong.sentence


def test_what_is_assumed_is_a_sentence_each() -> None:
    assert ncd.ask("nn.Linear(8, 3)").assumed == (
        "The text leaves sizes open; with them it ends in `nn.Linear(8, 3)(torch.randn(1, 8))`.",
    )
    assert ncd.ask('Id("~y m:8") >> Linear("m -> k", "W")').assumed == (
        "y = 12 was assumed.",
        "k = 16 was assumed.",
    )


def test_a_failure_is_a_finding_with_its_line() -> None:
    text = HEAD + NET.replace("Conv2d(3", "Conv2d(4") + "2x3x8x8"
    answer = ncd.ask(text)
    (failure,) = (each for each in answer.findings if each.kind == "failure")
    assert answer.shapes == () and "3" in failure.says and "4" in failure.says
    assert answer.sentence == str(failure)


WRONG = {
    "Traceback (most recent call last):\nRuntimeError: shapes": "traceback",
    "mat1 and mat2 shapes cannot be multiplied (64x9216 and 400x120)": "traceback",
    "nn.Linaer(3, 4)": "line",
    "class Net(nn.Module): pass": "source",
    "b i, b j -> b k": "einsum",
    "rearrange(x, 'a b -> c')": "einops",
    'Liner("m -> k")': "term",
    "": "term",
    "{": "term",
    "🙂": "term",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:12])
def test_a_text_that_cannot_be_read_is_answered_too(text: str) -> None:
    answer = ncd.ask(text)
    assert (answer.kind, answer.term, answer.shapes) == (WRONG[text], None, ())
    assert [each.kind for each in answer.findings][:1] == ["failure"]
    assert answer.sentence == str(answer.findings[0])


def test_nothing_of_a_text_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for text in (f"open({str(mark)!r}, 'w')", f"__import__('os').mkdir({str(mark)!r})"):
        ncd.ask(f"{HEAD}{text}\n{NET}{text}\n2x3x8x8")
        ncd.ask(text)
    assert not mark.exists()


def test_classes_come_from_other_files(tmp_path: Path) -> None:
    """A file is a path, or a name with a text; lines are those of the text itself."""
    (tmp_path / "parts.py").write_text(HEAD + NET)
    text = f"{HEAD}from parts import Net as Parts\nParts()(torch.randn(2, 3, 8, 8))"
    for files in ([tmp_path / "parts.py"], [str(tmp_path / "parts.py")], [("parts.py", NET)]):
        assert ncd.ask(text, files).shapes == ((2, 4, 1, 1),)
    wrong = ncd.ask(
        "class A(nn.Module):\n  def forward(self, x):\n    return x.reluu()\n2x3", files
    )
    assert wrong.findings[0].line == 3 and wrong.sentence.startswith("line 3")
    with pytest.raises(ncd.ParseError, match=r"cannot read .* No such file"):
        ncd.ask(text, [tmp_path / "none.py"])


def test_findings_take_the_place_of_the_plain_failure() -> None:
    """Without any of their own, the failure of the reading stays."""
    term = ncd.parse('Id("b:2 m:3")')
    error = ncd.TextError("it stops", 4, 1)
    plain = answer_of("nn.Linear(2, 3)", Reading(term, "a line of PyTorch", failure=error))
    assert plain.sentence == "line 4: it stops."
    silent = Finding("silent", 2, "", "hm")
    assert with_findings(plain, [silent]).findings == (*plain.findings, silent)
    cure = Cure((Edit(4, 0, 1, "y"),), "y", "model", ((2, 3),))
    better = Finding("failure", 4, "fc", "It takes 2, and gets 3.", (cure,))
    done = with_findings(plain, [better, silent])
    assert (done.findings, done.sentence) == (
        (better, silent),
        "line 4, fc: It takes 2, and gets 3.",
    )


@pytest.mark.parametrize(
    ("text", "reason", "cured"),
    [
        (
            'torch.einsum("bid,bjd->bij", torch.randn(32, 4, 8), torch.randn(8, 5, 8))',
            "b is 32 (the batch of the input, line 1) in operand 1 (`bid`) and 8",
            'torch.einsum("bid,bjd->bij", torch.randn(8, 4, 8), torch.randn(8, 5, 8))',
        ),
        (
            'rearrange(x, "b (r h) l -> b l h r", r=2)\n16x11x7',
            "(r h) is 11 (the length of the input, line 2), which is not divisible by r = 2. It "
            "works where the length is divisible by 2, such as 10 or 12.",
            'rearrange(x, "b (r h) l -> b l h r", r=2)\n16x12x7',
        ),
        (
            'rearrange(torch.randn(16, 11, 7), "b (r h) l -> b l h r", r=2)',
            "(r h) is 11 (the length of the input, line 1), which is not divisible by r = 2.",
            'rearrange(torch.randn(16, 12, 7), "b (r h) l -> b l h r", r=2)',
        ),
    ],
)
def test_a_bare_call_has_its_reason_and_its_cure(text: str, reason: str, cured: str) -> None:
    (failure,) = ncd.ask(text).findings
    assert reason in failure.says
    assert failure.cures[0].text == cured
    assert not ncd.ask(cured).findings


def test_an_array_of_einops_may_be_made_in_its_call() -> None:
    text = 'rearrange(torch.randn(16, 12, 7), "b (r h) l -> b l h r", r=2)'
    assert ncd.ask(text).shapes == ((16, 7, 6, 2),)


def test_sizes_come_after_all_else_and_a_search_that_is_ended_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A text that fails has none, and a search for reasons that takes too long is no secret."""
    head = "class Net(nn.Module):\n    def __init__(self, d=8):\n        super().__init__()\n"
    body = (
        "        self.fc = nn.Linear(d, 2)\n    def forward(self, x):\n        return self.fc(x)\n"
    )
    said = [(each.kind, each.says) for each in ncd.ask(f"{head}{body}3x8").findings]
    assert said == [
        ("size", "Batch is free."),
        ("size", "Features must be 8, as `d` is 8."),
        ("size", "`d` is free."),
    ]
    assert [each.kind for each in ncd.ask(f"{head}{body}3x9").findings] == ["failure"]
    monkeypatch.setattr(reader(), "findings", Mock(side_effect=TextError("it takes", 1, 1)))
    assert ncd.ask(f"{head}{body}4x9").findings[1:] == (LATE,)


@pytest.mark.parametrize("wrapper", ["nn.DataParallel", "nn.parallel.DistributedDataParallel"])
def test_a_wrapper_for_several_devices_calls_the_module_that_it_holds(wrapper: str) -> None:
    text = f"from torch import nn\nimport torch\nnet = {wrapper}(nn.Linear(10, 5)).cuda()\n"
    assert ncd.ask(f"{text}net(torch.randn(4, 10))").shapes == ((4, 5),)
    (finding, *_) = ncd.ask(f"{text}net(torch.randn(4, 12))").findings
    assert finding.kind == "failure" and "gets 12 features" in finding.says


def test_what_is_assumed_of_a_whole_is_no_fault_where_a_part_is_drawn() -> None:
    part = ("Net is not drawn: line 3: it needs a side.",)
    plain = Answer("source", None, ((1, 3),), "out: 1 × 3", assumed=part)
    assumed = Finding("failure", 3, "", "The assumed input 1 × 8 does not fit: 8 is not 6.")
    own, size = Finding("failure", 3, "", "head gets 8 features."), Finding("size", 0, "", "n.")
    assert with_findings(plain, [assumed, size]) == replace(plain, findings=(size,))
    assert with_findings(plain, [own]).sentence == str(own)
    for other in (replace(plain, assumed=()), replace(plain, shapes=())):
        assert with_findings(other, [assumed]).findings == (assumed,)
