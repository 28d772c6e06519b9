"""Excerpts that leave their imports out are read with the usual ones."""

from __future__ import annotations

import pytest

from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source

EXCERPT = """
@dataclass
class Config:
    width: int = 6
class Net(pl.LightningModule):
    def __init__(self, settings: Optional[Config] = None):
        super().__init__()
        norm = partial(nn.LayerNorm, eps=1e-6)
        self.score = Accuracy(task="multiclass")
        self.net = nn.Sequential(OrderedDict([("a", nn.Linear(6, 4)), ("b", norm(4))]))
    def forward(self, x):
        return self.net(rearrange(x, "b (h d) -> b (d h)", h=2)) * np.sqrt(2)
"""


def test_what_an_excerpt_does_not_import_is_known_by_its_usual_name() -> None:
    assert read_source(f"{EXCERPT}2x6").shapes == ((2, 4),)
    options = (
        "p = ArgumentParser()\np.add_argument('--n', type=int, default=5)\na = p.parse_args()\n"
    )
    assert read_source(f"{options}nn.Linear(a.n, 3)\n2x5").shapes == ((2, 3),)


def test_a_name_that_nothing_sets_is_an_error_unless_it_is_a_class_of_an_excerpt() -> None:
    net = "class Head(nn.Module):\n    def __init__(self, weight=3):\n        super().__init__()\n"
    end = "        self.own = {}\n    def forward(self, x):\n        return x\n2x3"
    for name, cure in (("wieght", "weight"), ("Haed", "Head"), ("zzz", "a name that is set above")):
        with pytest.raises(TextError, match=f"nothing called '{name}'. Try {cure}"):
            read_source(net + end.format(name))
    assert read_source(net + end.format("Accuracy(3)")).shapes == ((2, 3),)
    with pytest.raises(TextError, match="nothing called 'Accuracy'"):
        read_source(f"import torch\nfrom torch import nn\n{net}{end.format('Accuracy(3)')}")
