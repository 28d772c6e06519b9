"""Complex numbers: pairs of real ones are read, and all others refused at their own line."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ncd import ImportFailed, from_torch
from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source

HEAD = "import torch\nx = torch.randn(2, 4)\n"
LINES = {
    "y = x.to(torch.complex64)": "to",
    "y = x.type(torch.complex128).real": "to",
    "y = torch.fft.fft(x)": "fft_fft",
    "y = torch.fft.rfft(x).abs()": "fft_rfft",
    "y = torch.fft.fft2(x).real": "fft_fft2",
    "y = x * 1j": "mul",
    "y = torch.complex(x, x).abs()": "abs",
    "y = torch.complex(x, x)": "the output complex_1",
    "y = torch.view_as_complex(x.reshape(2, 2, 2))": "the output view_as_complex",
    "y = torch.polar(x.abs(), x)": "the output polar",
}


@pytest.mark.parametrize("line", LINES)
def test_complex_numbers_are_refused_at_their_line(line: str) -> None:
    with pytest.raises(TextError) as caught:
        read_source(HEAD + line)
    assert caught.value.line == 3
    fact = f"{LINES[line]} is of complex numbers, which the arrays of a term do not hold"
    assert caught.value.fact.startswith(fact)
    assert "Try pairs of real numbers: torch.view_as_complex of them" in str(caught.value)


class Constant(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return x + 1, torch.tensor([1 + 2j, 3])


def test_a_complex_constant_is_refused() -> None:
    with pytest.raises(ImportFailed, match="is complex numbers, which the arrays of a term do not"):
        from_torch(Constant(), torch.ones(2))


class Pairs(nn.Module):
    """What becomes real again may be complex on the way."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        z = torch.complex(x, y) * torch.polar(x.abs(), y)
        turned = torch.view_as_complex(torch.stack((x, y), -1)) * z
        return torch.view_as_real(z), z.real, turned.imag


def test_pairs_of_real_numbers_are_as_torch_s() -> None:
    found = from_torch(Pairs(), torch.randn(2, 3), torch.randn(2, 3))
    assert (found.boxes, found.notes) == ((), ())
    assert found.difference < 1e-5


def test_a_module_that_gives_complex_numbers_is_refused() -> None:
    class Spectrum(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.to(torch.complex64)

    with pytest.raises(ImportFailed, match="to is of complex numbers") as caught:
        from_torch(Spectrum(), torch.randn(2, 3))
    assert caught.value.node.name == "to"


def test_other_casts_say_what_they_do() -> None:
    class Casts(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, ...]:
            return x.int(), x.bool(), x.half().float(), x.double()

    found = from_torch(Casts(), torch.tensor([[0.5, 0.0, 2.25]]))
    assert "'$1', 'int32')" in repr(found.term) and "'$1 != 0')" in repr(found.term)
    assert found.notes == (
        "It casts numbers to float16, with fewer digits; the term keeps all digits.",
    )
    assert found.difference == 0
