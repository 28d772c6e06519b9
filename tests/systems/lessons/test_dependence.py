"""The module with which a question probes what depends on what."""

import pytest
import torch

import ncd
from ncd.systems.lessons.dependence import DependenceProbe


@pytest.mark.parametrize("op", [ncd.LayerNorm("m"), ncd.Linear("m -> k:3", bias=True)])
def test_weights_that_are_all_alike_are_drawn_and_others_stay(op: ncd.Term) -> None:
    term = ncd.Id("y:2 m:4") >> op
    probed = dict(DependenceProbe(ncd.elaborate(term)).module.named_parameters())
    for name, weight in ncd.compile(term).named_parameters():
        alike = bool((weight == weight.flatten()[0]).all())
        assert len(set(probed[name].flatten().tolist())) == weight.numel()
        assert alike != torch.equal(probed[name], weight.double())
