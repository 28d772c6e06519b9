"""What stops because of an assumed size or input is no fault of the source, and is said so."""

from __future__ import annotations

import pytest

from ncd.findings.search import findings
from ncd.jobs.source_job import source_message
from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source

HEAD = "import torch\nimport torch.nn as nn\n"
TABLE = f"""{HEAD}class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 10)
        self.table = nn.Parameter(torch.zeros(1, 8, 37, 37))
    def forward(self, x):
        return self.head((self.conv(x) + self.table).mean((2, 3)))
"""
CHANNELS = f"""{HEAD}class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.two = nn.Conv2d(3, 8, 3), nn.Conv2d(9, 8, 3)
    def forward(self, x):
        return self.two(self.conv(x))
"""
SIZES = f"""{HEAD}class Net(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if heads * 7 != dim:
            raise ValueError("seven for each")
        self.layer = nn.Linear(dim, 10)
    def forward(self, x):
        return self.layer(x)
"""
FOUND = "The assumed input 1 × 3 × 32 × 32 does not fit: "


def test_a_failure_that_rests_on_the_assumed_input_says_that_this_does_not_fit() -> None:
    says = findings(TABLE)[0].says
    assert says.startswith(FOUND)
    assert says.endswith("Try another one in the last line.")
    failure = read_source(TABLE).failure
    assert failure is not None
    assert failure.fact.startswith("the assumed input 1 × 3 × 32 × 32 may not fit: ")
    assert failure.cure == "another one in the last line"


@pytest.mark.parametrize("text", [f"{TABLE}2x3x32x32", CHANNELS])
def test_a_failure_that_no_assumption_changes_is_that_of_the_source(text: str) -> None:
    assert "assumed" not in findings(text)[0].says.replace("which is assumed", "")


def test_sizes_with_which_nothing_can_be_made_are_asked_for() -> None:
    with pytest.raises(TextError) as caught:
        read_source(SIZES)
    fact = "the assumed Net(dim=64, heads=4) may not fit: ValueError: seven for each"
    assert caught.value.fact == fact
    assert caught.value.call is not None
    assert caught.value.call.line == "Net(dim=64, heads=4)"
    assert caught.value.call.assumed == ("dim", "heads")
    assert "error" not in source_message(f"{SIZES}Net(dim=28, heads=4)(torch.randn(2, 28))")


def test_a_side_that_the_source_names_is_tried_first() -> None:
    text = TABLE.replace("37, 37", "224, 224")
    reading = read_source(text)
    assert reading.failure is None
    assert "1, 3, 224, 224" in reading.call.line
