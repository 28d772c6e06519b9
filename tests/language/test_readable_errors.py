"""Every message is one readable line of bounded length, whatever stands in what was given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ncd
from ncd import Axes, Axis, Id, Index, Softmax
from ncd.errors import NCDError

MHA = ncd.catalogue["multi-head-attention"]
TERM = Id("m:3") >> Softmax("m")
HALF = "\ud800"  # a surrogate, which no encoding can write
LONGEST = 400 + 900 + 120 + 400 + 30  # fact, cure, where, sizes, and what joins them
Call = Callable[[], object]


def message(call: Call) -> str:
    with pytest.raises(NCDError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a\nb", r"a\nb"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("a\x00b", r"a\x00b"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u2028b", r"a\u2028b"),
        (f"a{HALF}b", r"a\ud800b"),
        ("m" * 5000, f"{'m' * 39}…"),
        ("Ö𝛼", "Ö𝛼"),
    ],
)
def test_what_cannot_be_printed_is_escaped_and_what_is_long_is_cut(name: str, written: str) -> None:
    assert message(lambda: Index("a:3 b:2", {name: 1})) == (
        f"Index (a b -> a b): the array (a b) has no axis {written}. Try one of (a b)."
    )


def test_every_part_of_a_message_is_readable_and_bounded() -> None:
    nasty = "\n\x1b" + "x" * 9000 + " y" * 9000 + "\u202e" * 9000
    bound = [Axis("x" * 9000 + str(i), 3) for i in range(30)]
    error = NCDError(nasty, cure=nasty, where=nasty, bound=bound)
    assert str(error).isprintable() and len(str(error)) <= LONGEST
    error = NCDError("it does not fit").with_context(where=nasty, bound=bound)
    assert str(error).isprintable() and len(str(error)) <= LONGEST
    error.cure = nasty
    assert str(error).isprintable() and error.cure.isprintable() and error.fact == "it does not fit"


def test_names_of_many_letters_make_no_message_of_many_letters() -> None:
    array = " ".join("abcdefgh"[i % 8] * 700 + str(i) for i in range(20))
    text = message(lambda: Id(array) >> Softmax("x"))
    assert len(text) <= LONGEST and text.startswith("Softmax (x -> x): it takes (x), but the array")


def test_a_name_may_be_self() -> None:
    assert Axes(self=3)(Id("self")) == Id("self:3")
    assert message(lambda: MHA.build(self=1)) == (
        "multi-head-attention: there is no knob 'self'. Try one of h, k, m, y, x, causal."
    )


DOORS: dict[str, Callable[[ncd.Term], object]] = {
    "draw": ncd.draw,
    "compile": ncd.compile,
    "cost": ncd.cost,
    "source": ncd.source,
    "html": ncd.html,
    "to_json": ncd.to_json,
    "elaborate": ncd.elaborate,
    "example_inputs": ncd.example_inputs,
    "Axes": Axes(m=3),
}
TEXT = "Try text."


@pytest.mark.parametrize("name", DOORS)
def test_what_is_no_term(name: str) -> None:
    for value in (3, None, "m", Softmax):
        assert message(lambda value=value: DOORS[name](value)) == (
            f'{name}: {value!r} is not a term. Try a term, such as Id("m:3") >> Softmax("m").'
        )


@pytest.mark.parametrize("name", ["autograd", "trace"])
def test_what_is_no_module(name: str) -> None:
    assert message(lambda: getattr(ncd, name)(Id("m:3"))) == (
        f"{name}: Id('m:3') is not a compiled module. Try ncd.compile(term)."
    )


@pytest.mark.parametrize("width", [-1, 0, float("nan"), True, (3,)])
def test_odd_widths_and_scales(width: object) -> None:
    assert message(lambda: ncd.draw(TERM, width=width)) == (
        f"draw: nothing is {width!r} pixels wide. Try width 1280."
    )
    assert message(lambda: ncd.draw(TERM).png(width)) == (
        f"png: a picture cannot have {width!r} pixels a unit. Try scale 2."
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"folded": "Q"},
            "folded is 'Q', but it is \"auto\" or several ids and titles. Try folded=['Q'].",
        ),
        (
            {"folded": 3},
            "folded is 3, but it is \"auto\" or several ids and titles. Try folded=['f1'].",
        ),
        (
            {"folded": None},
            "folded is None, but it is \"auto\" or several ids and titles. Try folded=['f1'].",
        ),
        ({"folded": [3]}, f"an item of folded is 3, but it is text. {TEXT}"),
        (
            {"labels": "all"},
            "labels is 'all', but it is one of names, sizes, both. Try labels=\"names\".",
        ),
        (
            {"notes": "a"},
            'notes is \'a\', but it is a mapping from text to text. Try notes={"Q": "…"}.',
        ),
        ({"notes": {"": 3}}, f"notes[''] is 3, but it is text. {TEXT}"),
        (
            {"notes": {"": HALF}},
            r"notes[''] is '\ud800', which holds half a letter (a surrogate). Try whole letters.",
        ),
    ],
)
def test_odd_options_of_a_drawing(options: dict[str, object], said: str) -> None:
    assert message(lambda: ncd.draw(TERM, **options)) == f"draw: {said}"


WRITTEN = r"'\ud800', which holds half a letter (a surrogate). Try whole letters."
HALVES: list[tuple[Call, str]] = [
    (
        lambda: Axis("m", 3, label=HALF),
        r"""'\ud800' is no label. Try a short text such as "3 3".""",
    ),
    (lambda: Axis("m", 3, label=3), """3 is no label. Try a short text such as "3 3"."""),
    (
        lambda: Id(f'm"{HALF}":3'),
        r"""'\ud800' is no label. Try a short text such as "3 3".""",
    ),
    (lambda: ncd.html(TERM, title=HALF), f"html: title is {WRITTEN}"),
    (lambda: ncd.html(TERM, title=3), f"html: title is 3, but it is text. {TEXT}"),
    (lambda: ncd.source(TERM, name=HALF), f"source: name is {WRITTEN}"),
    (lambda: ncd.source(TERM, name=3), f"source: name is 3, but it is text. {TEXT}"),
    (
        lambda: ncd.compile(MHA.build(), seed=HALF),
        r"compile: the seed is '\ud800', but it is a whole number. Try seed=0.",
    ),
    (
        lambda: ncd.example_inputs(TERM, seed=1.5),
        "example_inputs: the seed is 1.5, but it is a whole number. Try seed=0.",
    ),
]


@pytest.mark.parametrize(("call", "said"), HALVES)
def test_half_a_letter_and_other_odd_texts(call: Call, said: str) -> None:
    assert message(call) == said
