"""What is called otherwise elsewhere is answered with a term that can be copied."""

import pytest

import ncd
from ncd.formulas.elementwise_functions import ELEMENTWISE, OTHER_NAMES
from ncd.notation.other_names import TERMS, term_called
from ncd.notation.term_reader import TextError


@pytest.mark.parametrize("term", TERMS)
def test_what_is_shown_is_a_term(term: str) -> None:
    made = ncd.parse(term)
    assert ncd.parse(ncd.spell(made)) == made and ncd.elaborate(made).cells


def test_no_name_is_asked_for_twice_or_is_one_of_the_language() -> None:
    asked = [name for _, names in TERMS.values() for name in names.split()]
    functions = [name for names in OTHER_NAMES.values() for name in names.split()]
    assert len({*asked, *functions, *ELEMENTWISE}) == len(asked) + len(functions) + len(ELEMENTWISE)
    assert {*OTHER_NAMES} <= {*ELEMENTWISE}
    assert not {*asked, *functions} & {op.__name__ for op in ncd.ops.CATALOGUE}
    assert term_called("nothing") == ""


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("Mul()", 'Einsum("f, f -> f") for the products of two arrays, number by number'),
        ('Id("f") >> SiLU()', 'Elementwise("silu")'),
        ('Id("f") >> Elementwise("swish")', "silu"),
        ('Map("f -> f", "swish($1)")', "silu"),
        ('Map("f -> f", "Logistic($1)")', "sigmoid"),
        ('Elementwise("mush")', f"one of {', '.join(ELEMENTWISE)}"),
    ],
)
def test_the_error_has_it(text: str, cure: str) -> None:
    with pytest.raises(TextError) as caught:
        ncd.parse(text)
    assert caught.value.cure == cure
