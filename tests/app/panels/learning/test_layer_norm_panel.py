"""Layer norm by hand, as its panel tells it."""

from __future__ import annotations

import torch

from ncd.app.panels.learning.norm_panels import norms
from tests.app.panels.tensors.test_tensor_panels import scene


def test_both_variances_of_a_position() -> None:
    of = scene("layer-norm", t=3, m=5)
    found = norms(of, 1)
    row = of.inputs[0][1]
    assert len(found.x) == 5
    torch.testing.assert_close(torch.tensor(found.mean), row.mean())
    torch.testing.assert_close(torch.tensor(found.biased_variance), row.var(unbiased=False))
    torch.testing.assert_close(torch.tensor(found.unbiased_variance), row.var(unbiased=True))
