"""Texts at their limits: lengths, copies, widths of lines, and the places of errors."""

from __future__ import annotations

import ast

import pytest

import ncd
from ncd import Axes, Id, Linear, Repeat, Softmax, Term, plain, seq, space
from ncd.notation import term_reader
from ncd.notation.term_reader import TextError, parse
from ncd.notation.term_text import WIDTH, spell
from tests.support.limits import Limit


def test_texts_and_copies_are_read_up_to_their_limits() -> None:
    text = 'Id("m")'
    assert parse(text + " " * (30_000 - len(text))) == Id("m")
    with pytest.raises(TextError, match=r"it has 30,001 letters, at most 30,000 are read"):
        parse(text + " " * (30_001 - len(text)))
    assert parse('Repeat((Id("m"),) * 200)') == Repeat((Id("m"),) * 200)
    with pytest.raises(TextError, match=r"it makes 201 copies, at most 200\."):
        parse('Repeat((Id("m"),) * 201)')
    for times in (0, -1):
        with pytest.raises(TextError):
            parse(f'Repeat((Id("m"),) * {times})')


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        ({"m": 3}, "m=3"),
        ({"m": seq(3)}, "m=seq(3)"),
        ({"m": seq(3, label="m_1")}, "m=seq(3, 'm_1')"),
        ({"m": plain(3, label="m_1")}, "m=plain(3, 'm_1')"),
        ({"m": space(3, 4)}, "m=space(3, 4)"),
        ({"m": space(3, 4, label="m_1")}, "m=space(3, 4, label='m_1')"),
    ],
)
def test_sizes_stand_in_front(axes: dict[str, object], text: str) -> None:
    term = Axes(**axes)(Id("m"))
    assert spell(term) == f"Axes({text})(\n    Id('m')\n)"
    assert parse(spell(term)) == term


def test_sizes_stay_at_their_axes_where_they_cannot_stand_in_front() -> None:
    for term in (Id("m:3, x/s:4"), Id("m:3") @ Id("m:4"), Id("3 4"), Id("m")):
        assert spell(term) == repr(term)
        assert parse(spell(term)) == term


def test_a_line_is_as_wide_as_it_may_be() -> None:
    def chain(letters: int) -> Term:
        name = "Q" * (letters - len(repr(Id("m") >> Linear("m -> k", "Q"))) + 1)
        return Id("m") >> Linear("m -> k", name)

    fits, over = chain(WIDTH), chain(WIDTH + 1)
    assert spell(fits) == repr(fits) and len(repr(fits)) == WIDTH
    lines = spell(over).splitlines()
    assert lines[0] == "(" and lines[-1] == ")" and lines[2].startswith("    >> Linear(")
    assert [parse(spell(term)) for term in (fits, over)] == [fits, over]


@pytest.mark.parametrize("more", [0, 1])
def test_a_line_inside_of_a_block_is_as_wide_as_its_indentation_leaves(more: int) -> None:
    inner = Id("m") >> Linear("m -> k", "Q")
    inner = Id("m") >> Linear("m -> k", "Q" * (WIDTH - 4 - len(repr(inner)) + 1 + more))
    text = spell(ncd.Block(inner, "B" * 60))
    assert (f"\n    {inner!r},\n" in text) == (more == 0)
    assert parse(text) == ncd.Block(inner, "B" * 60)


def test_only_several_equal_layers_are_multiplied() -> None:
    layer = Linear("m -> m", "Q" * 50) >> Softmax("m")
    for term, times in ((Repeat((layer,)), 0), (Repeat((layer,) * 2), 1)):
        for text in (spell(term), spell(term, "lines")):
            assert text.count(" * ") == times
        assert parse(spell(term)) == term


def test_names_in_lines_are_names_in_python() -> None:
    names = ("if", "if", "2x", "x", "λ")
    term = ncd.Then(*(ncd.Map("m:2 -> m", "$1 + 1", name) for name in names))
    lines = spell(term, "lines").split("\n")[2:-1]
    assert [line.split(" = ")[0].strip() for line in lines] == [
        *("if_2", "if_3", "a_2x", "x_2", "map"),
    ]


def test_only_chains_inside_of_others_are_in_brackets() -> None:
    long = Linear("m -> k", "Q" * 50)
    pair = (long >> Softmax("k") >> Id("k")) @ Id("a_very_long_name_of_an_axis")
    text = spell(pair)
    assert parse(text) == pair and text.count("(\n") == 2
    row = (Id("m") @ Id("a_very_long_name_of_an_axis")) >> long @ Id("a_very_long_name_of_an_axis")
    assert parse(spell(row)) == row


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ('Coppy("m")', (1, 1), (1, 6)),
        ('Id("m") >> Coppy("m")', (1, 12), (1, 17)),
        ('f = Id("m")\nf >> g', (2, 6), (2, 7)),
        ('Id("m") >> (\n  Linear("k -> j"))', (2, 3), (2, 19)),
        ('Softmax("m", nme="a")', (1, 1), (1, 22)),
        ('Id("m") >> 3', (1, 12), (1, 13)),
    ],
)
def test_an_error_is_marked_from_its_first_to_behind_its_last_letter(
    text: str, start: tuple[int, int], end: tuple[int, int]
) -> None:
    with pytest.raises(TextError) as caught:
        parse(text)
    assert ((caught.value.line, caught.value.column), caught.value.end) == (start, end)
    assert f"line {start[0]}, column {start[1]}: " in str(caught.value)
    assert isinstance(caught.value, ncd.ParseError)


def test_a_text_has_as_many_parts_as_it_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Id('m') >> Id('m')"
    count = len([*ast.walk(ast.parse(text))])
    monkeypatch.setattr(term_reader, "NODES", count)
    assert parse(text).dom.spec == "m"
    monkeypatch.setattr(term_reader, "NODES", count - 1)
    with pytest.raises(TextError, match=f"it has more than {count - 1} parts"):
        parse(text)


@pytest.mark.parametrize(
    ("name", "size", "text", "refusal"),
    [
        ("LONGEST", 7, "Id('m')", "it has 7 letters, at most 6 are read"),
        ("DEPTH", 3, "Block(Id('m'), 'a')", "it is nested more than 2 deep. Try named parts."),
        ("COPIES", 6, "Repeat((Id('m'), Id('m')) * 3)", "it makes 3 copies, at most 5."),
        ("OPS", 2, "Softmax('m') >> Softmax('m')", "it has more than 1 ops. Try fewer."),
        ("MOST_PARTS", 3, "Softmax('m') >> Softmax('m')", "it has more than 2 parts. Try fewer."),
    ],
)
def test_what_is_larger_than_a_limit_is_refused(
    name: str, size: int, text: str, refusal: str
) -> None:
    Limit(term_reader, name, size, lambda: parse(text), refusal).check()
