"""Terms as JSON: every kind goes there and back, and no small text keeps a machine busy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import reduce
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ncd
from ncd import Beside, Block, Equation, Id, Linear, Repeat, Scan, Term, Then
from ncd.language.fields import TERM, TERMS, spelling
from ncd.language.terms import DEPTH
from ncd.ops import CATALOGUE
from ncd.write.term_json import KINDS, LONGEST_JSON, from_json, svg_with_term, term_of_file, to_json
from tests.support.effort import calls
from tests.support.sampling import count

L = Linear("m:3 -> m", "L")
STRUCTURES = (
    Id('~y:20 c"3 3":9 x:2x3, (), t:4#v:7'),
    L >> Id("m"),
    Beside(L, Id("m")),
    Block(L, "A title", "linear", name="part", type="m -> m", local=True),
    Repeat((L, L), "blocks", shared=True),
    Repeat((Id("m:3, n") >> Beside(L),) * 2),
    Scan(Id("n:2, n") >> Id("n, n"), "~t:5", "steps"),
    Equation(L, Id("m:3"), sign="≝"),
)


def samples() -> Iterator[Term]:
    for op in CATALOGUE:
        yield from (sample.op for sample in op.examples())


@pytest.mark.parametrize("term", [*STRUCTURES, *samples()], ids=repr)
def test_every_kind_goes_there_and_back(term: Term) -> None:
    for indent in (None, 2):
        again = from_json(to_json(term, indent=indent))
        assert again == term
        assert hash(again) == hash(term)
        assert again.dom.spec == term.dom.spec


@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_every_system_goes_there_and_back(entry: ncd.Entry) -> None:
    term = entry.build()
    assert from_json(to_json(term)) == term


@pytest.mark.parametrize("title", ["</script><b>", "</metadata>&lt;", "<!-- <script>", "]]>&"])
def test_an_exported_file_contains_its_term(title: str) -> None:
    term = Block(L, title)
    html, svg = ncd.html(term), svg_with_term(ncd.draw(term).svg(), term, {"seed": title})
    assert term_of_file(html) == term_of_file(svg) == term
    assert ElementTree.fromstring(svg).find("{*}metadata") is not None
    assert html.count("</script>") == 6  # term, drawings, cards, formulas, values, and what runs


def test_a_file_without_a_term_is_refused() -> None:
    for text in ("<svg></svg>", "<metadata></metadata", "<html>"):
        with pytest.raises(ncd.NCDError, match="this file contains no term") as error:
            term_of_file(text)
        assert error.value.cure == "an SVG or HTML file that was exported here"
    with pytest.raises(ncd.NCDError, match="this is not JSON"):
        term_of_file("<svg><metadata>a picture</metadata></svg>")


def test_an_unknown_field_is_refused_however_many_there_are() -> None:
    """Also where a field with a default is missing, so that their number is right."""
    message = "Linear has no field 'bia'. Try its fields: pattern, name, bias, init."
    for text in (
        '{"term": "Linear", "pattern": "m:2 -> k:3", "bia": true}',
        '{"term": "Linear", "pattern": "m:2 -> k:3", "name": "Q", "bia": true}',
    ):
        with pytest.raises(ncd.NCDError) as caught:
            from_json(text)
        assert str(caught.value) == message


def test_a_file_from_before_a_field_means_what_it_meant() -> None:
    text = '{"term": "ConvTranspose", "pattern": "c:2 x:4 -> d:3 y", "kernel": 3, "padding": 1}'
    op = ncd.ConvTranspose("c:2 x:4 -> d:3 y", "up", 3, 2, 1)
    assert from_json(text) == op and op.dilation == 1 and op.output_padding == 0


@pytest.mark.catalogue
def test_the_kinds_are_the_structures_and_the_ops() -> None:
    assert set(KINDS.values()) == {*map(type, STRUCTURES), *CATALOGUE}
    assert [name for name, kind in KINDS.items() if kind.__name__ != name] == []


def test_what_is_left_out_has_its_default() -> None:
    assert from_json('{"term": "Linear", "pattern": "m:3 -> m", "name": "L"}') == L
    assert from_json('{"term": "Then", "steps": [{"term": "Id", "type": "m"}]}') == Then(Id("m"))


def test_equal_terms_in_sequence_are_written_once() -> None:
    layers = ncd.Repeat((L, L, Id("m:3"), L), "layers")
    tree = json.loads(to_json(layers))
    assert [(part.get("times"), part["term"]) for part in tree["bodies"]] == [
        (2, "Linear"),
        (None, "Id"),
        (None, "Linear"),
    ]
    assert from_json(json.dumps(tree)) == layers
    few, many = (to_json(ncd.catalogue["mamba"].build(n=n)) for n in (4, 64))
    assert len(many) == len(few) + 1  # "times": 4 and "times": 64
    alike = [*(tree["bodies"][:1] * 2), *tree["bodies"]]  # also where they could have been one
    assert from_json(json.dumps({**tree, "bodies": alike})).children == (L,) * 6 + (Id("m:3"), L)


@pytest.mark.parametrize("times", [0, -1, 1.0, True, "2", None, [2]])
def test_a_term_occurs_a_whole_number_of_times(times: object) -> None:
    part = {"times": times, **ids("m")}
    with pytest.raises(ncd.ParseError) as caught:
        from_json(json.dumps(then(part)))
    assert str(caught.value) == f'times is {times!r}, no whole number from 1. Try "times": 2.'


def test_a_short_text_of_too_many_terms_is_refused() -> None:
    """However its copies are nested, and before they are made."""
    message = "the term has more than 50,000 parts. Try fewer."

    def repeated(times: int, body: dict[str, Any]) -> dict[str, Any]:
        return {"term": "Repeat", "bodies": [{"times": times, **body}]}

    assert from_json(json.dumps(repeated(49_999, ids("m")))).nodes == 50_000
    for tree in (
        repeated(50_000, ids("m")),
        repeated(10**30, ids("m")),
        then(*[{"times": 10_000, **ids("m")}] * 6),
        reduce(lambda body, _: repeated(40, body), range(3), ids("m")),
    ):
        with pytest.raises(ncd.LimitError) as caught:
            from_json(json.dumps(tree))
        assert str(caught.value).removeprefix("Repeat: ") == message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
)


@settings(max_examples=count(60, 150))
@given(st.sampled_from([*STRUCTURES, *samples()]), st.data())
def test_a_wrong_value_anywhere_is_one_of_our_errors(term: Term, data: st.DataObject) -> None:
    tree = json.loads(to_json(term))
    name = data.draw(st.sampled_from(sorted(tree)))
    tree[name] = data.draw(VALUES)
    try:
        from_json(json.dumps(tree))
    except ncd.NCDError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.get)
def test_every_field_refuses_what_is_no_value_of_it(kind: type[Term]) -> None:
    example = next(term for term in [*STRUCTURES, *samples()] if type(term) is kind)
    for field in fields(kind):
        nested = spelling(field) in (TERM, TERMS)
        tree = json.loads(to_json(example))
        tree[field.name] = [[3]] if nested else {"no": "value"}
        with pytest.raises(ncd.NCDError):
            from_json(json.dumps(tree))


# --- texts that are small, and terms that are not ------------------------------------------------


def ids(type: str) -> dict[str, Any]:
    return {"term": "Id", "type": type}


def then(*steps: Any) -> dict[str, Any]:
    return {"term": "Then", "steps": list(steps)}


def block(body: Any, **more: Any) -> dict[str, Any]:
    return {"term": "Block", "body": body, **more}


def axes(n: int) -> str:
    return " ".join(f"a{i}" for i in range(n))


WIDE = [ids(", ".join([axes(n)] * 20)) for n in range(1, 50)]
SLOW = {
    "two arrays in each block": reduce(
        lambda body, _: block(then(ids("a, b"), body, ids("a, b"))), range(60), ids("a, b")
    ),
    "one array more at each step": then(
        *(ids(", ".join(f"a{i}" for i in range(n + 1))) for n in range(250))
    ),
    "one axis more at each step": then(*WIDE),
    "one axis more after many steps": then(*[ids("a0")] * 2000, *map(ids, map(axes, range(1, 60)))),
    "one axis more in each block": reduce(
        lambda body, n: block(then(body, ids(axes(n + 1)))), range(60), ids("a0")
    ),
    "names that are local": reduce(
        lambda body, _: block(then(ids("a b, b a"), body), local=True), range(90), ids("a b, b a")
    ),
    "repetitions in repetitions": reduce(
        lambda body, _: {"term": "Repeat", "bodies": [body] * 2}, range(9), ids("a b, c")
    ),
    "scans in scans": reduce(
        lambda body, n: {"term": "Scan", "body": body, "axis": f"t{n}"}, range(50), ids("a, b")
    ),
}


@pytest.mark.parametrize("tree", SLOW.values(), ids=SLOW.keys())
def test_no_small_text_keeps_a_machine_busy(tree: dict[str, Any]) -> None:
    """Each took minutes, or would not have ended; now it is done, or refused, in a second or so."""
    text = json.dumps(tree)
    assert len(text) < 400_000

    def read() -> None:
        try:
            ncd.elaborate(from_json(text))
        except ncd.LimitError as error:
            assert str(error).startswith("Then: its steps want more axes again and again")

    assert calls(read) < 10**7


def test_a_text_that_is_too_long_is_not_read() -> None:
    assert from_json('{"term": "Id", "type": "m"}'.ljust(LONGEST_JSON)) == ncd.Id("m")
    with pytest.raises(ncd.LimitError) as caught:
        from_json("[" * (LONGEST_JSON + 1))
    assert str(caught.value) == (
        "the text has 1,000,001 letters, at most 1,000,000 are read. Try a smaller term."
    )


def test_a_text_that_is_nested_too_deep_is_refused() -> None:
    text = '{"term": "Id", "type": "m"}'
    for _ in range(DEPTH - 1):
        text = f'{{"term": "Block", "body": {text}, "title": "", "role": "linear"}}'
    assert isinstance(from_json(text), Block)
    with pytest.raises(ncd.LimitError) as caught:
        from_json(f'{{"term": "Block", "body": {text}, "title": "", "role": "linear"}}')
    assert str(caught.value) == "the term is nested more than 200 deep. Try a flatter term."


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ncd.ParseError) as caught:
        from_json(b"{}")  # type: ignore[arg-type]
    assert str(caught.value) == "b'{}' is no text. Try the text of an exported term."


def test_reading_and_writing_grow_as_the_term_does() -> None:
    few, many = (Then(*[Block(L >> L, "Part")] * count) for count in (50, 200))
    assert from_json(to_json(many)) == many
    effort = [calls(lambda term=term: from_json(to_json(term))) for term in (few, many)]
    assert effort[1] < 4.4 * effort[0]
