"""Every operation of a formula on every two kinds of numbers is what it means number by number."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from ncd.errors import SizeError
from ncd.formulas.formula import parse
from ncd.ops.elementwise import Map
from tests.ops.values import values
from tests.support.formula_meanings import FUNCTIONS, value

# Plain numbers, some of them of sizes, and tensors: whole, real and truth values of each.
PLAIN = ("3", "n_x", "0.5", "(n_x > 3)", "(n_x < 3)")
TENSORS = ("(x + 1)", "$1", "(x > 1)")
A = torch.tensor([0.75, -2.5, 1.25, 3.0], dtype=torch.float64)
TWO = {name: f"{{}} {name} {{}}" for name in ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">")}
TWO |= {name: f"{{}} {name} {{}}" for name in (">=", "==", "!=", "and", "or")}
TWO |= {"min": "min({}, {})", "max": "max({}, {})", "where": "where($1 > 0, {}, {})"}
TWO |= {
    "picked": "where($1 > 0, {}, {}) * 3 // 2",
    "test": "where({}, {}, 7)",
    "low": "clamp({}, {}, 2)",
    "high": "clamp({}, -1, {})",
}
ONE = (
    "-",
    "not ",
    *(
        name
        for name, of in FUNCTIONS.items()
        if name.isalpha()
        and name not in (*TWO, "clamp", "where", "not", "and", "or", "log", "sqrt", "rsqrt")
    ),
)


def meant(text: str) -> torch.Tensor:
    formula = parse(text)
    with np.errstate(all="ignore"):
        each = [float(value(formula, [float(a)], {"x": x, "n_x": 4})) for x, a in enumerate(A)]
    return torch.tensor(each, dtype=torch.float64)


def assert_meant(text: str) -> None:
    uses = "$1" in text
    try:
        (found,) = values(Map(f"{'x' * uses} -> x:4", text), "x:4" * uses, *([A] * uses))
    except SizeError as error:
        assert "is no number with these sizes" in str(error)
        plain = meant(text.replace("$1", "1"))
        assert not plain.isfinite().all(), text
        return
    torch.testing.assert_close(found, meant(text), equal_nan=True, msg=lambda why: f"{text}: {why}")


@pytest.mark.parametrize("name", TWO)
def test_two_numbers(name: str) -> None:
    for one, other in product((*PLAIN, *TENSORS), repeat=2):
        assert_meant(TWO[name].format(one, other))


@pytest.mark.parametrize("name", ONE)
def test_one_number(name: str) -> None:
    for one in (*PLAIN, *TENSORS):
        assert_meant(f"{name}({one})")


def test_a_power_is_computed_as_long_as_its_digits_are_few() -> None:
    for text, power in (("2 ** 52", 52.0), ("(-2) ** 51", 51.0), ("1 ** 65", 0.0), ("2 ** -1", -1)):
        sign = -1.0 if text.startswith("(") else 1.0
        (found,) = values(Map("-> x:1", text), "")
        assert found.item() == sign * 2.0**power
    (found,) = values(Map("-> x:1", "0.5 ** 65"), "")
    assert found.item() == 0.5**65
    for text in ("2 ** 65", "(-2) ** 65"):
        with pytest.raises(SizeError, match=r"is no number with these sizes"):
            values(Map("-> x:1", text), "")


def test_whole_numbers_end_at_what_real_ones_hold() -> None:
    (found,) = values(Map("-> x:1", "2 ** 53 - 1"), "")
    assert found.item() == 2.0**53 - 1
    for text in ("2 ** 53 + 1", "-(2 ** 53) - 1"):
        with pytest.raises(SizeError, match=r"is over 2\*\*53, too large for a whole number"):
            values(Map("-> x:1", text), "")
    (real,) = values(Map("-> x:1", "2 ** 53 * 4.0"), "")
    assert real.item() == 2.0**55


def test_whole_numbers_below_an_axis() -> None:
    for text in ("0", "4", "n_x + 2", "n_x == 2"):
        (found,) = values(Map("-> x:2#v:5", text), "")
        assert found.dtype == torch.int64
        assert found.tolist() == [int(eval(text, {"n_x": 2}))] * 2
    for text in ("5", "-1", "0.5"):
        with pytest.raises(SizeError) as caught:
            Map("-> x:2#v:5", text).cod  # noqa: B018
        assert f"it gives {text}, but its numbers are whole ones below v 5" in str(caught.value)
