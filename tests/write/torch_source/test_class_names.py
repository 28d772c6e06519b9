"""Classes of one title: each is named after what tells it apart."""

from __future__ import annotations

import re

import pytest

from ncd import Block, Linear, Repeat, Softmax, Term
from ncd.language import torch_code as ex
from ncd.language.axes import Array, Axis
from ncd.write.torch_source.expression_writer import Writer
from ncd.write.torch_source.identifiers import UniqueNames
from ncd.write.torch_source.line_breaking import Code
from ncd.write.torch_source.source_file import source


def part(steps: int, name: str = "part") -> Term:
    """A block of a title that others have as well; with more steps it needs a class of its own."""
    term: Term = Linear("m:3 -> m:3", "Q")
    for _ in range(steps):
        term = term >> Softmax("m")
    return Block(term, "Part", name=name)


def classes(term: Term) -> list[str]:
    return re.findall(r"class (\w+)\(", source(term, "Whole"))


def test_a_class_is_named_after_what_stands_around_it_if_its_own_names_are_taken() -> None:
    one, two, three = (
        Block(part(i), title, name=title.lower()) for i, title in enumerate(["Up", "Down", "Left"])
    )
    term = Block(one, "First", name="first") >> Block(two >> three, "Second", name="second")
    found = classes(term)
    assert [name for name in found if name.endswith("Part")] == ["Part", "DownPart", "LeftPart"]


def test_a_list_around_it_has_no_title() -> None:
    bodies = tuple(Block(part(i), f"Body {i}", name="body") for i in range(3))
    term = Block(Repeat(bodies, "layers"), "Stack", name="stack")
    found = [name for name in classes(term) if name.endswith("Part")]
    assert found == ["Part", "Body1Part", "Body2Part"]


(DIM,) = Array.parse("m:3").dims
ZEROS = ex.Filled((DIM,))
NUMBER = ex.Infix("*", ex.Const(2), ex.Call("math.sqrt", (ex.Const(3),)))


@pytest.mark.parametrize(
    ("added", "text"),
    [
        (ex.Const(2), "torch.full((3,), 2.0)"),
        (NUMBER, "torch.full((3,), float(2 * math.sqrt(3)))"),
        (ex.Arg(0), "torch.zeros(3) + x"),
        (ex.Infix("*", ex.Const(2), ex.Arg(0)), "torch.zeros(3) + 2 * x"),
        (ex.Call("torch.exp", (ex.Const(2),)), "torch.zeros(3) + torch.exp(2)"),
    ],
)
def test_zeros_and_a_number_are_a_full_tensor_but_not_zeros_and_a_tensor(
    added: ex.TorchExpr, text: str
) -> None:
    def size(axis: Axis) -> Code:
        return Code(str(axis.size))

    writer = Writer(size, UniqueNames(), set(), args=("x",), batched_args=(False,), ranks=(1,))
    assert writer.write(ex.Infix("+", ZEROS, added)).text == text
