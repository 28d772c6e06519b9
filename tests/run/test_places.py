"""Devices that there are, numbers of the environment, and tensors with and without a batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ncd import LimitError, Linear, Map, MismatchError, UnknownNameError
from ncd.circuit.costs import BYTES, INTEGER_BYTES
from ncd.circuit.elaborate import elaborate
from ncd.language.torch_code import Arg, Contract, Item
from ncd.run import device, guard
from ncd.run.device import devices
from ncd.run.evaluate import cat, looked_up, softmax
from ncd.run.fused_attention import _product
from ncd.run.limits import Limits, checked_limits, number
from ncd.run.run_memory import KEYS, LIBRARIES, SPLITS, most_kernel_bytes


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
    most = guard._upper_bound(circuit, "cpu")
    assert most == guard.peak_bound(circuit)
    assert (
        guard._upper_bound(circuit, "cuda")
        == guard._upper_bound(circuit, "cuda:1")
        == 2 * most + LIBRARIES
    )


@pytest.mark.parametrize(
    ("has", "wanted", "found"),
    [
        (("cpu",), "cpu", True),
        (("cpu",), "cuda:0", False),
        (("cpu",), "cuda", False),
        (("cpu", "cuda"), "cuda:0", True),
        (("cpu", "cuda"), "cuda:1", False),
        (("cpu", "cuda:0", "cuda:1"), "cuda:1", True),
    ],
)
def test_a_device_is_one_that_the_machine_has(
    has: tuple[str, ...], wanted: str, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "devices", lambda: has)
    if found:
        assert device.device(wanted) == torch.device(wanted)
        return
    with pytest.raises(UnknownNameError) as error:
        device.device(wanted)
    assert str(error.value) == f"this machine has no device {wanted!r}. Try {' or '.join(has)}."


def test_what_is_fused_contracts_two_arrays_that_are_not_the_same() -> None:
    given = [(Arg(0), Arg(1)), (Arg(0), Arg(0)), (Arg(0), Item(Arg(1), 0)), (Arg(0),)]
    found = [_product(Contract(args, ((),) * len(args), ())) for args in given]
    assert found == [True, False, False, False] and not _product(Arg(0)) and not _product(None)


@pytest.mark.parametrize("value", [0, 1, 10**12])
def test_a_limit_may_be_any_whole_number(value: int) -> None:
    assert (Limits(bytes=value).bytes, Limits(flops=value).flops) == (value, value)


@pytest.mark.parametrize("value", [-1, True, 2.5, None])
def test_a_limit_is_no_other_value(value: Any) -> None:
    for name in ("bytes", "flops"):
        with pytest.raises(LimitError, match=f"{name} is .*, but it is a whole number"):
            Limits(**{name: value})


def test_a_bound_holds_the_tiles_of_attention_and_grows_with_the_batch() -> None:
    """Where arrays are so small that nothing else is as large."""
    (cell,) = elaborate(Map("x:1 -> x", "$1 + 1")).cells
    tile = SPLITS[0][1] * (2 * KEYS + 1)
    assert most_kernel_bytes(cell) >= torch.get_num_threads() * tile * BYTES
    (cell,) = elaborate(Linear("m:40 -> k:50", "L")).cells
    more = most_kernel_bytes(cell, 3) - most_kernel_bytes(cell, 1)
    assert more == 2 * 3 * INTEGER_BYTES * 40 * 50  # of its largest array, the weight
