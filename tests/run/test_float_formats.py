"""Floating-point formats beside torch's own casts, bit by bit, and runs in them."""

from __future__ import annotations

from math import inf, nan

import pytest
import torch
from torch import Tensor

import ncd
from ncd.errors import ParseError
from ncd.run.calculation import calculation_text, number_text, read_calculation
from ncd.run.float_formats import FORMATS, FloatFormat, rounded_run

CAST = ("float32", "bfloat16", "float16", "e5m2", "e4m3")  # torch has a dtype for each
WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


def numbers_of_all_sizes() -> Tensor:
    """Numbers of every power of two of float32, both signs, and ties between numbers."""
    random = torch.Generator().manual_seed(0)
    sizes = 2.0 ** torch.arange(-149, 128)
    drawn = (1 + torch.rand(40, len(sizes), generator=random)) * sizes
    ties = (1 + torch.arange(0, 64)[:, None] / 32) * sizes
    every = torch.cat([sizes, drawn.flatten(), ties.flatten(), torch.tensor([0.0, -0.0, inf])])
    return torch.cat([every, -every])


@pytest.mark.parametrize("key", CAST)
def test_rounding_is_torch_s_cast(key: str) -> None:
    format, x = FORMATS[key], numbers_of_all_sizes()
    bounded = x.clamp(-448, 448) if key == "e4m3" else x
    wanted = bounded.to(format.dtype)
    found = format.round(x)
    assert found.dtype == torch.float32
    assert torch.equal(found.view(torch.int32), wanted.float().view(torch.int32))
    assert format.round(torch.tensor([nan])).isnan().all()
    double = x.double().requires_grad_()
    assert torch.equal(format.round(double), found) and not format.round(double).requires_grad


def test_tf32_is_the_nearest_number_with_ten_bits() -> None:
    """The distances to both neighbours are compared in float64; of two equal, the last bit is 0."""
    x = numbers_of_all_sizes()
    x = x[x.isfinite() & (x.abs() < FORMATS["tf32"].largest)]
    found, last = FORMATS["tf32"].round(x), 2**13
    below = (x.view(torch.int32) // last * last).view(torch.float32)
    above = ((x.view(torch.int32) // last + 1) * last).view(torch.float32)
    down, up = ((x.double() - end.double()).abs() for end in (below, above))
    even = (below.view(torch.int32) // last) % 2 == 0
    wanted = torch.where((down < up) | ((down == up) & even), below, above)
    assert torch.equal(found[x > 0], wanted[x > 0])
    assert torch.equal(found, -FORMATS["tf32"].round(-x))
    edges = FORMATS["tf32"].round(torch.tensor([inf, -inf, nan, 3.4028e38, -3.4028e38]))
    assert str(edges.tolist()) == "[inf, -inf, nan, inf, -inf]"


@pytest.mark.parametrize("key", CAST)
def test_what_is_published_is_in_torch_finfo(key: str) -> None:
    format = FORMATS[key]
    own = torch.finfo(format.dtype)
    assert format.width == own.bits == 1 + format.exponent + format.mantissa
    assert (format.largest, format.epsilon) == (own.max, own.eps)
    assert (format.smallest_normal, format.has_infinity) == (own.smallest_normal, key != "e4m3")
    assert format.round_number(format.smallest) == format.smallest > 0
    assert (
        format.round_number(format.smallest / 2) == 0 < format.round_number(0.51 * format.smallest)
    )
    over = format.round_number(1.1 * format.largest)
    assert over == (inf if format.has_infinity else format.largest)


def test_tf32_is_float32_with_the_mantissa_of_float16() -> None:
    one, two, three = (FORMATS[key] for key in ("tf32", "float32", "float16"))
    assert (one.width, one.exponent, one.mantissa) == (19, two.exponent, three.mantissa)
    assert one.largest == (2 - 2**-10) * 2.0**127 and one.round_number(one.largest) == one.largest
    assert (one.smallest_normal, one.smallest) == (2.0**-126, 2.0**-136)
    assert one.round_number(one.smallest) == one.smallest and one.has_infinity


@pytest.mark.parametrize("key", FORMATS)
@pytest.mark.parametrize("number", [0.0, 1.0, -1.5, 0.1, 3e-5, -448.0, 1e-9, 70000.0, inf])
def test_the_bits_are_those_that_torch_holds(key: str, number: float) -> None:
    format = FORMATS[key]
    held = format.round(torch.tensor(number)).to(format.dtype)
    size = format.dtype.itemsize
    whole = held.view(WHOLE[size]).item() % 256**size
    every = format.bits(number)
    assert "".join(every) == f"{whole:0{8 * size}b}"[: format.width]
    assert [*map(len, every)] == [1, format.exponent, format.mantissa]


@pytest.mark.parametrize("key", FORMATS)
def test_the_spacing_is_the_difference_of_neighbours(key: str) -> None:
    """Of consecutive numbers, found by counting up the bits."""
    format = FORMATS[key]
    step = 2 ** (8 * format.dtype.itemsize - format.width)
    for number in (0.0, format.smallest, format.smallest_normal, 0.75, 1.0, 1.9, -2.0, 300.0):
        near = torch.tensor(abs(format.round_number(number))).to(format.dtype)
        whole = near.view(WHOLE[format.dtype.itemsize]) + step
        after = whole.view(format.dtype).float()
        assert format.spacing(number) == float(after - near.float()), number
    assert format.spacing(inf) == format.spacing(format.largest) == format.spacing(-inf)


# --- Calculations


SURPRISES = {
    "2048 + 1": {"float16": 2048, "tf32": 2048, "bfloat16": 2048, "float32": 2049},
    "256 + 1": {"float16": 257, "bfloat16": 256, "e5m2": 256, "e4m3": 256},
    "65504 * 2": {"float16": inf, "bfloat16": 131072, "e5m2": inf, "e4m3": 448},
    "1e38": {"float16": inf, "float32": float(torch.tensor(1e38))},
    "1e-8 * 32768": {"float16": 0, "float32": float(torch.tensor(1e-8) * 32768)},
    "1e-8 * 65536": {"float32": float(torch.tensor(1e-8) * 65536)},
    "-1.5": dict.fromkeys(FORMATS, -1.5),
    "16777216 + 1": {"float32": 2**24},
}


@pytest.mark.parametrize("text", SURPRISES)
def test_calculations(text: str) -> None:
    asked = read_calculation(text)
    assert asked.exact == eval_plain(text)
    assert {key: asked.result_in(FORMATS[key]) for key in SURPRISES[text]} == SURPRISES[text]


def eval_plain(text: str) -> float:
    left, *rest = text.split()
    sign, right = rest or ("+", "0")
    return float(left) + float(right) if sign == "+" else float(left) * float(right)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("sign", "+*")
def test_a_result_is_torch_s_own_to_the_bit(dtype: torch.dtype, sign: str) -> None:
    format = next(own for own in FORMATS.values() if own.dtype == dtype)
    random = torch.Generator().manual_seed(1)
    pairs = torch.randn(200, 2, generator=random) * 10.0 ** torch.randint(-4, 4, (200, 2))
    for left, right in pairs.tolist():
        text = f"{left:.6f} {sign} {right:.6f}"
        a, b = (torch.tensor(float(f"{number:.6f}")).to(dtype) for number in (left, right))
        wanted = a + b if sign == "+" else a * b
        assert read_calculation(text).result_in(format) == float(wanted), text


def test_infinite_times_zero_is_no_number() -> None:
    """65,536 is infinite in float16, and 1e-8 is 0."""
    found = read_calculation("1e-8 * 65536").result_in(FORMATS["float16"])
    assert found != found and number_text(found) == "no number"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("2048+1", "2048 + 1"), ("-1e-08*1e38", "−10⁻⁸ × 10³⁸"), ("2.5e3", "2.5 × 10³"),
     ("11e2", "11 × 10²"), ("0.1", "0.1")],
)  # fmt: skip
def test_how_a_calculation_is_written(text: str, shown: str) -> None:
    assert calculation_text(read_calculation(text).text) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0.0, "0"), (131072.0, "131072"), (-inf, "−∞"), (1e38, "10³⁸"),
     (2.0**-24, "5.96046448 × 10⁻⁸"), (0.1, "0.1"),
     (float(torch.tensor(0.1)), "0.100000001"), (-2.5, "−2.5")],
)  # fmt: skip
def test_how_a_number_is_written(number: float, shown: str) -> None:
    assert number_text(number) == shown


@pytest.mark.parametrize("text", ["", "x", "1 - 2", "1e999", "1 + 2 + 3", "0x10", "１", "1e5.5"])
def test_a_text_that_is_no_calculation_is_refused(text: str) -> None:
    with pytest.raises(ParseError) as error:
        read_calculation(text)
    assert str(error.value) == f"{text!r} is no calculation. Try 2048 + 1."


# --- Runs


def written_out(format: FloatFormat, x: Tensor, w: Tensor, v: Tensor) -> list[Tensor]:
    """Two layers in torch; what each op gives is cast."""
    near = format.round
    z = near(near(x) @ near(w).T)
    hidden = near(z.relu())
    return [z, hidden, near(hidden @ near(v).T)]


@pytest.mark.parametrize("key", FORMATS)
def test_every_array_of_a_run_is_rounded_and_a_loss_is_not(key: str) -> None:
    format, term = FORMATS[key], ncd.catalogue["low-precision"].build(b=4, m=8, d=16, k=3, n=0)
    module, (x, y) = ncd.compile(term, seed=3), ncd.example_inputs(term, seed=4)
    found = rounded_run(module, (x, y), format)
    makers = {cell.op.display_name: cell.outputs[0].id for cell in module.circuit.cells}
    wanted = written_out(format, x, module.W_1.weight, module.W_2.weight)
    for name, array in zip(("Linear W_1", "Elementwise relu", "Linear W_2"), wanted, strict=True):
        assert torch.equal(found[makers[name]], array), name
    assert torch.equal(found[makers["Named y"]], format.round(y))
    apart = format.round(wanted[-1] - format.round(y))
    loss = format.round(format.round(apart**2).mean(1)).sum() / 64
    torch.testing.assert_close(found[module.circuit.outputs[0].id], loss)
    assert not any(value.requires_grad for value in found.values())


def test_whole_numbers_stay() -> None:
    term = ncd.catalogue["cross-entropy"].build()
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    found = rounded_run(module, inputs, FORMATS["e4m3"])
    assert torch.equal(found[module.circuit.inputs[1].id], inputs[1])
