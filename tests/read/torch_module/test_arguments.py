"""What is given to an import: what is refused, with a message, and what torch itself refuses."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import ncd
from ncd import ImportFailed, from_torch
from ncd.read.python_source.source_reader import read_source
from ncd.read.torch_module import comparison
from tests.read.torch_module.test_from_torch import Called, drawn

X = drawn(5, 8)
LAYER = nn.Linear(8, 3)
TWICE = Called(lambda x: x * 2)
PLUS_NAN = Called(lambda x: x + torch.tensor([1.0, torch.nan] * 4))


def calm(x: torch.Tensor) -> torch.Tensor:
    return x


REFUSED: dict[str, tuple[Any, tuple[Any, ...], Any, str]] = {
    # what is imported, its inputs, its axes, and the message
    "a function": (
        calm,
        (X,),
        None,
        "calm is no nn.Module. Try a class of nn.Module that calls it in its forward.",
    ),
    "a class": (
        nn.ReLU,
        (X,),
        None,
        "ReLU is the class of a module. Try a module, such as ReLU(…).",
    ),
    "nothing": (None, (X,), None, "None is no nn.Module. Try nn.Linear(8, 3)."),
    "axes as a text": (
        LAYER,
        (X,),
        "b m",
        'axes is \'b m\', but it is a dict by the names of inputs. Try axes={"x": "b m"}.',
    ),
    "axes as a list": (
        LAYER,
        (X,),
        {"input": ["b", "m"]},
        "the axes of the input input are ['b', 'm'], but they are text. "
        'Try axes={"input": "b m"}.',
    ),
    "axes as a number": (
        LAYER,
        (X,),
        {"input": 2},
        'the axes of the input input are 2, but they are text. Try axes={"input": "b t"}.',
    ),
    "axes by number": (
        LAYER,
        (X,),
        {0: "b m"},
        '0 is no name of an input. Try axes={"x": "b t"}.',
    ),
    "axes of no input": (
        LAYER,
        (X,),
        {"inptu": "b m"},
        "axes: there is no input 'inptu'. Try input.",
    ),
    "axes where there is no tensor": (
        Called(lambda n: torch.ones(n)),
        (3,),
        {"x": "b"},
        "axes: there is no input 'x'. Try no axes, as it takes no tensors.",
    ),
    "sparse": (
        TWICE,
        (X.to_sparse(),),
        None,
        "the input has the layout sparse_coo. Try x.to_dense().",
    ),
    "complex": (
        TWICE,
        (torch.complex(X, X),),
        None,
        "the input holds complex numbers. Try torch.view_as_real(x).",
    ),
    "one of two": (
        Called(lambda x, y: x + y),
        (X, X.to_sparse()),
        None,
        "input 2 has the layout sparse_coo. Try x.to_dense().",
    ),
    "a constant that is no number": (
        PLUS_NAN,
        (X,),
        None,
        "aten.add.Tensor cannot be imported: a constant that holds NaN, which has no spelling in a "
        "term. Try another way.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_imported_is_refused(name: str) -> None:
    module, inputs, axes, message = REFUSED[name]
    with pytest.raises(ImportFailed) as error:
        from_torch(module, *inputs, axes=axes)
    assert str(error.value) == message


STOPPED: dict[str, tuple[nn.Module, torch.Tensor, str]] = {
    # a module, an input on which torch stops as it runs, and torch's reason
    "a dimension that is missing": (
        nn.Softmax(2),
        X,
        "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
    ),
    "half precision": (
        LAYER,
        X.half(),
        "mat1 and mat2 must have the same dtype, but got Half and Float",
    ),
    "whole numbers": (
        LAYER,
        X.long().abs(),
        "mat1 and mat2 must have the same dtype, but got Long and Float",
    ),
    "a place beyond a table": (
        nn.Embedding(4, 3),
        torch.tensor([1, 7]),
        "index out of range in self",
    ),
}


@pytest.mark.parametrize("name", STOPPED)
def test_what_torch_itself_refuses_is_a_failure(name: str) -> None:
    module, x, reason = STOPPED[name]
    with pytest.raises((RuntimeError, IndexError)):
        module(x)
    found = from_torch(module, x)
    assert found.failure == f"torch itself refuses this: {reason}"
    assert not any("could not be run" in note for note in found.notes)
    with pytest.raises(ImportFailed) as error:
        found.difference  # noqa: B018
    kind = type(module).__name__
    assert str(error.value).startswith(f"{kind}: torch itself refuses this: {reason}.")


@pytest.mark.parametrize("most", [2**40, 10**12])
def test_huge_whole_numbers_are_taken_as_real_ones(most: int) -> None:
    found = from_torch(TWICE, torch.tensor([1, most]))
    note = "whole numbers of 1,000,000,000,000 and more, and the term takes real ones there."
    assert found.notes[0] == f"The input holds {note}" and found.term.dom[0].below is None
    assert ncd.from_json(ncd.to_json(found.term)) == found.term
    constant = from_torch(Called(lambda x: x + torch.tensor([1, most])), drawn(2))
    assert not constant.notes and constant.difference == 0


def test_complex_numbers_are_compared_whole() -> None:
    one, i = torch.ones(2), torch.complex(torch.zeros(2), torch.ones(2))
    assert (
        comparison.largest_difference(one + i, one + i) == 0
        and comparison.largest_difference(one + i, one) == 1
    )


def test_rounding_that_a_layer_blows_up_is_no_difference() -> None:
    def blown_up(x: torch.Tensor) -> torch.Tensor:
        same = torch.stack([x.sum(-1) / 3, (x / 3).sum(-1)], -1)  # but for rounding
        return nn.functional.layer_norm(same, (2,), eps=1e-12)

    found = from_torch(Called(blown_up), drawn(5, 64))
    assert found.difference > comparison.TOLERANCE and not found.notes
    line = "nn.TransformerEncoderLayer(8, 2)(5, 2, 8)"  # whose weights are all equal
    assert not read_source(line).note


def test_a_format_may_be_given_by_name() -> None:
    class Cast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor, dtype: torch.dtype, device: Any = None) -> torch.Tensor:
            return self.layer(x.to(device, dtype))

    named = {"dtype": torch.float32, "device": torch.device("cpu")}
    found = from_torch(Cast(), X, **named)
    assert (found.boxes, found.notes) == ((), ())
    assert found.difference < 1e-6 and [*found.state_dict()] == ["layer.weight", "layer.bias"]
    stopped = from_torch(Cast(), drawn(5, 9), **named)
    assert "[5, 9] X [8, 3]" in stopped.failure


@pytest.mark.parametrize("at", [0, 1, -1])
def test_a_single_position_leaves_a_row_of_one(at: int) -> None:
    found = from_torch(Called(lambda x: x.index_select(at, torch.tensor(2))), X)
    assert found.notes == () and found.exported_module.shapes[0] == tuple(found.module()(X).shape)
    assert found.difference == 0 and found.boxes == ()
