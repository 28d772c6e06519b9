"""Devices that there are, numbers of the environment, and tensors with and without a batch."""

from __future__ import annotations

import pytest
import torch

from ncd import LimitError, Map, MismatchError
from ncd.lang.circuits.elaborate import elaborate
from ncd.run import Limits
from ncd.run.base.device import devices
from ncd.run.base.limits import checked_limits, number
from ncd.run.execution.tensor_ops import cat, looked_up, softmax
from ncd.run.limits import guard
from ncd.run.limits.gpu_scratch import LIBRARIES


@pytest.mark.parametrize(
    ("count", "mps", "found"),
    [
        (0, False, ("cpu",)),
        (1, False, ("cpu", "cuda")),
        (2, False, ("cpu", "cuda:0", "cuda:1")),
        (0, True, ("cpu", "mps")),
        (2, True, ("cpu", "cuda:0", "cuda:1", "mps")),
    ],
)
def test_the_devices_of_a_machine(
    count: int, mps: bool, found: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert getattr(devices, "__wrapped__", devices)() == found


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 7), ("1", 1), ("2.5e3", 2500), ("0", 0), ("-1", 0), ("x", 0), ("inf", 0), ("nan", 0)],
)
def test_a_number_of_the_environment_is_1_or_more(
    text: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_SOME", text)
    if value:
        assert number("NCD_SOME", 7) == value
        return
    with pytest.raises(LimitError) as error:
        number("NCD_SOME", 7)
    assert str(error.value) == (
        f"NCD_SOME is {text!r}, but it is a number, 1 or more. Try NCD_SOME=7."
    )


def test_limits_are_those_of_the_environment_or_as_they_are() -> None:
    assert checked_limits(None) == Limits.from_environment()
    assert checked_limits(Limits(bytes=5)) == Limits(bytes=5)


@pytest.mark.parametrize("dim", [-1, -2])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_a_tensor_without_a_batch_is_joined_to_one_with_it(dim: int, lead: tuple[int, ...]) -> None:
    wide, own = torch.randn(*lead, 4, 5), torch.randn(4, 5)
    found = cat((own, wide, own), dim)
    repeated = own.expand(*lead, 4, 5)
    torch.testing.assert_close(found, torch.cat((repeated, wide, repeated), dim))


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_a_softmax_of_any_dimension_is_that_of_torch(dim: int) -> None:
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(softmax(x, dim), x.softmax(dim))


@pytest.mark.parametrize(("rest", "shape"), [(0, (4,)), (1, (4, 5)), (2, (4, 5, 6))])
def test_an_index_out_of_range_names_the_places(rest: int, shape: tuple[int, ...]) -> None:
    table, places = torch.randn(shape), 4
    with pytest.raises(MismatchError, match=f"none of the places, which are 0 to {places - 1}"):
        looked_up(torch.tensor([places]), table, 1, rest)
    assert looked_up(torch.tensor([3]), table, 1, rest).shape == (1, *shape[1:])


def test_other_errors_of_a_lookup_are_those_of_torch() -> None:
    with pytest.raises(RuntimeError) as error:
        looked_up(torch.tensor([0.5]), torch.randn(4, 5), 1, 1)
    assert not isinstance(error.value, MismatchError)


def test_a_gpu_may_take_twice_as_much_and_what_libraries_take() -> None:
    circuit = elaborate(Map("x:100 -> x", "$1 + 1"))
    most = guard._bound(circuit, "cpu")
    assert most == guard.peak_bound(circuit)
    assert guard._bound(circuit, "cuda") == guard._bound(circuit, "cuda:1") == 2 * most + LIBRARIES
