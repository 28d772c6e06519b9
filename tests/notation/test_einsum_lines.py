"""An einsum gives the numbers of torch, with the sizes of the arrays that it is called on."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.notation.term_reader import TextError
from ncd.read.recognise import read_any


@pytest.mark.parametrize(
    "text",
    ["b h i d, b h j d -> b h i j", "bhid,bhjd->bhij", "einsum('bhid,bhjd->bhij', q, self.k)"],
)
def test_an_einsum_is_read_in_both_spellings(text: str) -> None:
    found = read_any(text)
    assert found.kind == "an einsum"
    q, k = torch.randn(2, 8, 8, 8, 8).unbind()
    torch.testing.assert_close(ncd.compile(found.term)(q, k), torch.einsum("bhid,bhjd->bhij", q, k))


CALLS = [
    'torch.einsum("bix,iox->box", torch.rand(12, 81, 2), torch.rand(81, 32, 2))',
    'torch.einsum("ij,jk->ik", torch.randn((2, 3)), torch.zeros([3, 4]))',
    'torch.einsum("i,j->ij", torch.ones(5), torch.empty(7))',
    'torch.einsum("b i d -> b d", torch.randn(2, 3, 4))',
]


@pytest.mark.parametrize("text", CALLS)
def test_the_sizes_are_those_of_the_arrays(text: str) -> None:
    term = read_any(text).term
    theirs = eval(text, {"torch": torch})
    assert ncd.compile(term)(*ncd.example_inputs(term)).shape == theirs.shape


def test_a_named_array_has_usual_sizes_where_the_others_do_not_say() -> None:
    term = read_any('torch.einsum("ij,jk->ik", x, torch.randn(3, 4))').term
    assert (term.dom.spec, term.cod.spec) == ("i:8 j:3, j:3 k:4", "i:8 k:4")


EXAMPLE = 'torch.einsum("bid,bjd->bij", torch.randn(2, 5, 8), torch.randn(2, 6, 8))'
WRONG = {
    'torch.einsum("ij,jk->ik", torch.randn(2, 3), torch.randn(4, 5))': (
        "column 46: j is 3 in one array and 4 in another. Try 3 in both."
    ),
    'torch.einsum("ij,jk->ik", torch.randn(2, 3))': (
        f"column 1: the pattern takes 2 arrays, but 1 are given. Try {EXAMPLE}."
    ),
    'torch.einsum("ij->i", torch.randn(2, 3, 4))': (
        f"column 23: i j names 2 axes, but the array has 3 dimensions. Try {EXAMPLE}."
    ),
    'torch.einsum("ij->i", torch.randn(2, n))': (
        "column 23: a shape is several whole numbers. Try torch.randn(2, 3)."
    ),
    'torch.einsum("ij->i", x + y)': (
        "column 23: 'x + y' is no array of a known shape. Try torch.randn(2, 3), or a name."
    ),
    'torch.einsum("ij->i", x, path="left")': (
        f"column 26: einsum takes no argument named path. Try {EXAMPLE}."
    ),
    'torch.einsum("ij->i", x).sum()': f"column 1: it is more than one einsum. Try {EXAMPLE}.",
    "torch.einsum(x, y)": (
        f"column 14: the first argument of an einsum is its pattern. Try {EXAMPLE}."
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=WRONG)
def test_no_part_of_a_call_is_left_out(text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        read_any(text)
    assert str(error.value) == f"line 1, {message}"


@pytest.mark.parametrize("text", ["b i, b j -> b k", "einsum('bi,bj->bk', x, y)"])
def test_a_pattern_that_makes_an_axis_from_nothing_is_refused(text: str) -> None:
    with pytest.raises(TextError, match="einsum: "):
        read_any(text)
