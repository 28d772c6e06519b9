"""A term with many cells: its run is refused by arithmetic, without a search for what fits."""

from __future__ import annotations

import pytest

from ncd import Axes, Linear
from ncd.circuit.elaborate import elaborate
from ncd.errors import LimitError
from ncd.run import guard
from ncd.run.guard import check_run, peak
from ncd.run.limits import Limits

CIRCUIT = elaborate(Axes(y=40, m=100)(Linear("m -> m", "A") >> Linear("m -> m", "B")))
WEIGHTS = 2 * 4 * (2 * 100 * 100 + 100)  # and the input, with their gradients


@pytest.mark.parametrize(
    ("searched", "said", "cure"),
    [
        (2, f"the run needs {peak(CIRCUIT):,} bytes", "m = "),
        (1, f"needs at least {WEIGHTS:,} bytes", "smaller sizes"),
    ],
)
def test_up_to_a_number_of_cells_the_peak_is_found_and_a_size_that_fits(
    monkeypatch: pytest.MonkeyPatch, searched: int, said: str, cure: str
) -> None:
    assert len(CIRCUIT.cells) == 2
    monkeypatch.setattr(guard, "MAX_SEARCHED_CELLS", searched)
    with pytest.raises(LimitError) as caught:
        check_run(CIRCUIT, Limits(bytes=WEIGHTS - 1), suggest=True)
    assert said in str(caught.value)
    assert caught.value.cure.startswith(cure)


@pytest.mark.parametrize(("searched", "need"), [(2, peak(CIRCUIT)), (1, WEIGHTS)])
def test_so_is_what_a_device_has_room_for(
    monkeypatch: pytest.MonkeyPatch, searched: int, need: int
) -> None:
    needs: list[int] = []
    monkeypatch.setattr(guard, "MAX_SEARCHED_CELLS", searched)
    monkeypatch.setattr(guard, "free_bytes", lambda device: 0)
    monkeypatch.setattr(guard, "check_free", lambda bytes, device: needs.append(bytes))
    guard.check_room(CIRCUIT, "cpu")
    assert needs == [need]


@pytest.mark.parametrize("limit", ["bytes", "flops"])
def test_what_is_just_allowed_runs(limit: str) -> None:
    """The bound of arithmetic, the peak, and the work: each may be reached, not passed."""
    most = {"bytes": peak(CIRCUIT), "flops": 2 * 2 * 100 * 100}[limit]
    check_run(CIRCUIT, Limits(**{limit: most}))
    with pytest.raises(LimitError, match=f"the limit NCD_MAX_{limit.upper()} is {most - 1:,}"):
        check_run(CIRCUIT, Limits(**{limit: most - 1}))
