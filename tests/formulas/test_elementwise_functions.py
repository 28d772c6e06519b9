"""Each row of the table of functions of one number, held against torch."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from ncd.formulas.elementwise_functions import ELEMENTWISE

POINTS = (-3.7, -1.0, -0.25, 0.0, 0.5, 1.0, 2.9, 40.0)
POSITIVE = ("log", "log1p", "rsqrt", "sqrt")


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_row_is_torch_s_function(name: str) -> None:
    row = ELEMENTWISE[name]
    function = getattr({"torch": torch, "F": F}[row.torch.split(".")[0]], name)
    for point in POINTS:
        if name not in POSITIVE or point > 0:
            expected = function(torch.tensor(point, dtype=torch.float64)).item()
            assert row.of_number(point) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_whole_numbers_stay_whole_where_a_row_says_so(name: str) -> None:
    row = ELEMENTWISE[name]
    if row.keeps_whole:
        assert getattr(torch, name)(torch.tensor([-2, 3])).dtype == torch.int64
        assert isinstance(row.of_number(-2), int)
    assert row.is_in_math == hasattr(math, name)
