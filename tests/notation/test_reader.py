"""Terms read from text: every system comes back, and nothing else is read or run."""

import ast
import builtins
import socket
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ncd
from ncd.errors import NCDError
from ncd.notation.term_reader import TextError, parse
from ncd.notation.term_text import spell
from ncd.read.recognise import read_any
from tests.support.sampling import count

NAMES = list(ncd.catalogue)


@pytest.mark.few(25)
@pytest.mark.parametrize("name", NAMES)
def test_every_system_comes_back_from_its_repr_and_its_spelling(name: str) -> None:
    term = ncd.catalogue[name].build()
    assert parse(repr(term)) == term
    text = spell(term)
    assert parse(text) == term
    assert eval(text, vars(ncd)) == term  # it is Python, too
    ast.parse(text)


def test_a_spelling_is_readable() -> None:
    assert spell(ncd.catalogue["multi-head-attention"].build()) == (
        "Axes(y=seq(20), m=128, x=seq(22), k=16, h=4)(\n"
        "    Block(\n"
        "        Id('y m') @ Block(Copy('x m'), 'Copy', 'copy')\n"
        "        >> Block(Linear('m -> k h', 'Q'), 'Linear', 'linear')\n"
        "        @ Block(Linear('m -> k h', 'K'), '', 'linear')\n"
        "        @ Block(Linear('m -> k h', 'V'), '', 'linear')\n"
        "        >> Block(\n"
        "            Einsum('y k h, x k h -> y x h', 'scores')\n"
        "            >> Scale('k')\n"
        "            >> Softmax('x')\n"
        "            >> Einsum('y x h, x k h -> y k h', 'out'),\n"
        "            'Scaled Dot-Product Attention',\n"
        "            'einsum',\n"
        "        )\n"
        "        >> Block(Linear('k h -> m', 'O'), 'Linear', 'linear'),\n"
        "        'Multi-Head Attention',\n"
        "        'module',\n"
        "    )\n"
        ")"
    )


def test_equal_layers_are_written_once() -> None:
    layer = ncd.Linear("m:8 -> m:8", "W") >> ncd.Elementwise("relu")
    term = ncd.Repeat((layer,) * 12)
    assert spell(term).count("Linear") == 1 and parse(spell(term)) == term


def test_lines_before_the_last_name_parts() -> None:
    text = 'f = Linear("m:4 -> k:3", "Q")\ng = f >> Softmax("k")\ng'
    assert parse(text) == ncd.Linear("m:4 -> k:3", "Q") >> ncd.Softmax("k")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: there is no term. Try "),
        ("f = 1", "line 1, column 1: the last line is a term. Try "),
        ("3", "line 1, column 1: '3' is not a term. Try "),
        ('Id("m") >> 3', "line 1, column 12: '3' is not a term. Try "),
        (
            'Id("m") + Id("m")',
            "line 1, column 1: terms are joined by >> and @. Try f >> g, or f @ g.",
        ),
        ('Coppy("m")', "line 1, column 1: there is no op 'Coppy'. Try Copy."),
        ('Add("m")', "line 1, column 1: Add takes no arguments. Try Add()."),
        (
            'Axes(t=seq(256), m=4)(Id("m"))',
            "line 1, column 1: Axes: there is no axis 't', only m. Try it without t.",
        ),
        (
            '@define(m=4, zz=5)\ndef f(x: "m"):\n    return Softmax("m")(x)',
            "line 2, column 1: Axes: there is no axis 'zz', only m. Try it without zz.",
        ),
        ("Linear", "line 1, column 1: Linear stands here without its arguments. Try Linear(…)."),
        ("layr", "line 1, column 1: there is nothing called 'layr'. Try "),
        ('Linear("m -> k", nme="Q")', "line 1, column 1: Linear has no 'nme'. Try name."),
        ('Id("y m" @', "line 1, column"),
        ('Linear("m k", "Q")', "line 1, column 1: "),
        ('Id("y:2 m:8") >> Linear("n:7 k:3 -> j:2", "Q") >> Softmax("q")', "line 1, column"),
        ('(Id("m"),) * 10**9', "line 1, column 14: terms are joined by >> and @."),
        ('Repeat((Id("m"),) * 100000)', "line 1, column 8: it makes 100000 copies, at most 200."),
        (
            'a = Id("m")\nb = Repeat((a,) * 90)\nRepeat((b,) * 90)',
            "line 3, column 1: it has more than 8,000 parts. Try fewer.",
        ),
        (
            'a = Softmax("m")\nb = Repeat((a,) * 90)\nRepeat((b,) * 90)',
            "line 3, column 1: it has more than 2,000 ops. Try fewer.",
        ),
        (
            "x.view(2, 3)",
            "line 1, column 1: 'x.view' is no op of the language, and only those are ",
        ),
        (
            "lambda: 1",
            "line 1, column 1: a function without a name is not part of the language. Try ",
        ),
        (
            'Id("m").__class__',
            "line 1, column 1: a name behind a dot is not part of the language. Try ",
        ),
        ('Id(*["m"])', "line 1, column 4: arguments are written one by one. Try "),
        ('Id(b"m")', "line 1, column 4: b'm' is neither a text nor a number. Try a text."),
        ('Id("m")("m")', "line 1, column 1: a term is not called. Try "),
        ('Id = Copy("m")\nId', "line 1, column 1: Id cannot be given a value. Try another name."),
        ("x" * 30_001, "line 1, column 1: it has 30,001 letters, at most 30,000 are read."),
        *(
            (f"Softmax({sign})", "line 1, column 9: only numbers have a sign. Try -1.")
            for sign in ('-"m"', "+3", "-True")
        ),
        ('Index("m", {"m": -1, k: 0})', "line 1, column 12: the names between { and } are texts."),
        ('(Id("m"),) * True', "line 1, column 1: only several terms are multiplied. Try (layer,)"),
        ("Add(x=3)", "line 1, column 1: Add has no 'x'."),
        ('@define(m=3)\n@define(m=3)\ndef f(x: "m"):\n    return x', "line 2, column 2: the only "),
        (
            f"Softmax({'9' * 5000})",
            "line 1, column 1: a whole number has 5,000 digits. Try a smaller one.",
        ),
        (
            "Softmax(1, 2, 3, 4)",
            "line 1, column 1: Softmax takes axis, result. Try these arguments.",
        ),
        ('f = g = Id("m")\nf', "line 1, column 1: f cannot be given a value. Try another name."),
        ('import os\nId("m")', "line 1, column 1: a line before the last is name = term. Try "),
    ],
)
def test_other_texts_are_refused_at_their_place(text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        parse(text)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value) and error.value.line >= 1 and error.value.column >= 1


def test_a_mismatch_is_told_at_its_step() -> None:
    text = 'Id("y:20 m:128") >> Linear("m -> k:16", "Q")\\\n  >> Linear("m -> k:16", "O")'
    with pytest.raises(TextError) as error:
        parse(text)
    assert (error.value.line, error.value.column, error.value.end[0]) == (2, 6, 2)


def test_a_chain_may_go_on_over_lines_without_brackets() -> None:
    assert parse('Id("m:3")\n  >> Softmax("m")') == ncd.Id("m:3") >> ncd.Softmax("m")
    with pytest.raises(TextError) as error:
        parse('Id("m:3")\n  >> Sofmax("m")')
    assert (error.value.line, error.value.column) == (2, 6)


def test_nothing_but_text_is_read() -> None:
    with pytest.raises(ncd.ParseError, match="text is 3, but it is text"):
        parse(3)  # type: ignore[arg-type]


HOSTILE = [
    '__import__("os").system("touch /tmp/pwned")',
    'open("/etc/passwd").read()',
    "().__class__.__bases__[0].__subclasses__()",
    'exec("import os")',
    "[x for x in (1, 2)]",
    "f'{open}'",
    'eval("1")',
    "einsum(__import__('os'), 3)",
    "einsum('ij->i', open('/etc/passwd'))",
    "einsum('ij->i', torch.randn(9**9**9, 3))",
    "(" * 3000 + 'Id("m")' + ")" * 3000,
    'Id("m")' + ' >> Id("m")' * 2900,
    "einsum(" * 300 + "x" + ")" * 300,
    'Repeat((Repeat((Repeat((Linear("m -> m"),) * 200),) * 200),) * 200)',
    'Id("m:999999999999999999999999")',
    'Map("m -> m", "$1 ** ** $2")',
    '{"term": "Id", "type": ' + "[" * 5000,
    "\x00",
    "\ud800",
    "a -> " + "b" * 5000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_errors_and_nothing_runs(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **words: object) -> None:
        raise AssertionError("something was run")

    seen: list[str] = []
    watched = {"exec", "import", "open", "os.system", "subprocess.Popen", "socket.connect"}
    hook_on = [True]

    def audit(event: str, args: tuple[object, ...]) -> None:
        if hook_on[0] and event in watched and not (event == "open" and "__pycache__" in str(args)):
            seen.append(event)

    read_any('Id("m")')  # so that whatever is imported late is there
    sys.addaudithook(audit)
    for module, name in ((builtins, "eval"), (subprocess, "Popen"), (socket, "socket")):
        monkeypatch.setattr(module, name, refuse)
    try:
        with pytest.raises(NCDError):
            read_any(text)
    finally:
        hook_on[0] = False
    assert not seen


SAMPLES = [repr(ncd.catalogue[name].build()) for name in ("residual-block", "induction", "lenet")]


@settings(max_examples=count(120, 300), deadline=None)
@given(st.data())
def test_a_changed_text_is_a_term_or_an_error(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SAMPLES))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        cut = data.draw(st.integers(0, 6))
        text = text[:at] + data.draw(st.text(max_size=4)) + text[at + cut :]
    try:
        assert isinstance(read_any(text).term, ncd.Term)
    except NCDError as error:
        assert "\n" not in str(error)
