"""The sizes that a source works for are said with the boundaries that it has in torch itself."""

from __future__ import annotations

import re

import pytest

import ncd
from ncd.findings.reading.finding import LATE_SIZES, Finding, apply_edits
from ncd.findings.search import plain_reading, size_findings
from ncd.findings.sizes.size_probe import SizeInterval, working_range
from ncd.findings.sizes.size_search import sizes
from tests.findings.silent.test_right_sources import with_inputs
from tests.findings.sizes.sized_sources import FLATTENED, LUCK, SIZES, U_NET
from tests.findings.test_search import ran

LONG = 300.0  # on a busy machine


def found_in(text: str) -> list[Finding]:
    """Returns the findings about the sizes of a source."""
    return sizes(text, plain_reading(text, float("inf")), LONG)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", SIZES)
def test_the_sizes_that_work(name: str) -> None:
    text, expected = SIZES[name]
    found = found_in(text)
    assert [(each.line, each.says) for each in found] == expected
    assert not [each for each in found if each.cures]  # nothing is equal by luck


@pytest.mark.few(3)
@pytest.mark.parametrize("name", LUCK)
def test_what_is_equal_by_luck_is_set_apart_by_an_edit(name: str) -> None:
    text, line, says, cured, changes = LUCK[name]
    (luck,) = [each for each in found_in(text) if each.cures]
    assert (luck.kind, luck.line, luck.says) == ("size", line, says)
    (cure,) = luck.cures
    assert cured in [row.strip() for row in cure.text.split("\n")]
    assert apply_edits(text, cure.edits) == cure.text
    assert ran(cure.text) == cure.shapes
    other, before = cure.text, text
    for old, new in changes.items():
        other, before = other.replace(old, new), before.replace(old, new)
    assert ran(other)
    with pytest.raises(RuntimeError):
        ran(before)


@pytest.mark.parametrize(
    ("text", "works", "fails"),
    [(FLATTENED, (28, 31), (27, 32)), (U_NET, (4, 68), (2, 6, 63))],
    ids=["flatten", "skips"],
)
def test_the_boundaries_are_those_of_torch(
    text: str, works: tuple[int, ...], fails: tuple[int, ...]
) -> None:
    last = re.compile(r"(\d+x\d+)x\d+x\d+$")
    for size in works:
        assert ran(last.sub(rf"\1x{size}x{works[0]}", text))
    for size in fails:
        with pytest.raises(RuntimeError):
            ran(last.sub(rf"\1x{size}x{works[0]}", text))


@pytest.mark.parametrize(
    ("rule", "now", "hints", "found"),
    [
        (lambda n: True, 1, (), SizeInterval(1)),
        (lambda n: n % 14 == 0, 224, (), SizeInterval(14, 14)),
        (lambda n: n % 16 == 0 and n <= 256, 224, (), SizeInterval(16, 16, 256)),
        (lambda n: n % 16 == 1, 17, (), SizeInterval(1, 16)),
        (lambda n: n <= 1000, 64, (1000,), SizeInterval(1, 1, 1000)),
        (lambda n: n in (1, 64), 64, (), SizeInterval(64, 1, 64, allows_one=True)),
        (lambda n: n >= 32 or n == 1, 40, (), SizeInterval(32)),
        (lambda n: int(n**0.5) ** 2 == n, 16, (), SizeInterval(1, square=True)),
        (lambda n: n in (4, 5, 9), 5, (), SizeInterval(4, 1, 5)),
        (lambda n: 48 % n == 0, 8, (), None),  # divisors follow no rule
        (lambda n: None if n > 8 else True, 8, (), None),  # not known
    ],
)
def test_a_range_is_found_by_trying(
    rule: object, now: int, hints: tuple[int, ...], found: SizeInterval | None
) -> None:
    assert working_range(rule, now, hints) == found  # type: ignore[arg-type]


def test_it_says_when_the_time_runs_out() -> None:
    text = SIZES["LSTM"][0]
    found = sizes(text, plain_reading(text, float("inf")), 0.0)
    assert found == [LATE_SIZES]


@pytest.mark.parametrize("text", ["nn.Linear(8, 3)(torch.randn(5, 6))", "nn.Linear(8, 3)\n2x8"])
def test_a_failure_and_a_single_layer_have_no_sizes(text: str) -> None:
    assert size_findings(text) == ()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["torch-multihead-attention", "merged-qkv", "lenet", "gcn", "linear-algebra"]
)
def test_nothing_in_the_source_of_a_system_is_equal_by_luck(name: str) -> None:
    found = found_in(with_inputs(ncd.catalogue[name].build()))
    assert found and not [each for each in found if each.cures]


LAYER = """
from einops import rearrange
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 8)
    def forward(self, x):
        return self.fc({x})
Net()(torch.randn({shape}))
"""


def test_inputs_with_more_numbers_than_torch_counts_are_not_tried() -> None:
    for rows in ("2**50", "2**57"):
        found = size_findings(LAYER.format(x="x", shape=f"{rows}, 3"))
        assert "Features must be 3." in [each.says for each in found]


def test_a_pattern_of_many_blanks_is_read_at_once() -> None:
    pattern = f"'b c{' ' * 3000}y x -> b y x c'"
    found = size_findings(LAYER.format(x=f"rearrange(x, {pattern})", shape="2, 3, 8, 9"))
    assert [each.says for each in found][-1] == "Axis 1 must be 3."
