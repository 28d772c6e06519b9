"""What the guard says of runs that are too large, at its edges."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd import LimitError, Limits, Linear, Softmax, elaborate
from ncd.run import guard
from ncd.run.guard import check_run, fits, nearest_fit
from ncd.run.run_memory import BLOCK, allocated_bytes, backward, forward, gpu_scratch_bytes

aten = torch.ops.aten


def refusal(term: ncd.Term, **limits: int) -> LimitError:
    with pytest.raises(LimitError) as caught:
        check_run(elaborate(term), Limits(**limits))
    return caught.value


def test_the_heaviest_op_counts_four_bytes_for_a_weight_beside_what_it_makes() -> None:
    few, many = Linear("m:100 -> k:1", "W"), Softmax("n:60")
    assert refusal(few @ many, bytes=100).op == few  # 404 against 240 bytes
    assert refusal(Linear("m:50 -> k:1", "W") @ many, bytes=100).op == many
    two = Linear("a:2 -> b:3", "A") @ Linear("c:3 -> d:3", "C")
    error = refusal(two, flops=29)
    assert str(error) == (
        "Linear C: the run needs 30 floating-point operations, and the limit NCD_MAX_FLOPS is 29. "
        "Bound so far: c 3, d 3. Try smaller sizes."
    )
    assert (error.need, error.limit) == (30, 29)
    check_run(elaborate(two), Limits(flops=30))


def test_what_fits_exactly_fits() -> None:
    circuit = elaborate(Linear("a:2 -> b:3", "A"))
    need = guard.peak(circuit)
    assert fits(circuit, Limits(bytes=need, flops=12))
    assert not fits(circuit, Limits(bytes=need - 1, flops=12))
    assert not fits(circuit, Limits(bytes=need, flops=11))


@pytest.mark.parametrize(
    ("above", "least", "step", "found"),
    [(1, 1, 1, None), (2, 1, 1, 1), (10, 1, 1, 9), (10, 2, 4, 6), (11, 2, 4, 10), (6, 2, 4, 2)],
)
def test_the_nearest_fit_is_below_and_in_steps(
    above: int, least: int, step: int, found: int | None
) -> None:
    assert nearest_fit(lambda n: True, above, least, step) == found


def test_more_numbers_than_torch_can_count_are_weights_and_inputs_at_least() -> None:
    side = 10**11
    term = Linear(f"m:{side} -> k:{side}", "W")
    with pytest.raises((RuntimeError, TypeError, OverflowError)):
        torch.empty(side, side, device="meta")
    assert guard.peak(elaborate(term)) == 2 * 4 * (side * side + side)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("aten.relu_", "aten.relu_ changes its inputs"),
        ("aten.no_such", "there is no function aten.no_such"),
    ],
)
def test_a_name_that_is_no_function_is_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        guard._check_functional(name)
    assert str(caught.value) == said
    guard._check_functional("aten.relu")


def test_a_bound_counts_each_position_of_a_scan_and_each_example() -> None:
    body = Linear("m:4 -> m", "Q")
    bounds = [
        guard.peak_bound(elaborate(ncd.Scan(body, ncd.Array.parse(f"t:{t}"), states=0)))
        for t in (1, 2, 3)
    ]
    assert bounds[2] - bounds[1] == bounds[1] - bounds[0] > 0
    one, two = (guard.peak_bound(elaborate(Softmax("m:1000")), batch) for batch in (1, 2))
    assert one < two < 2 * one


# --- what a kernel holds beside its arguments, on a GPU and where windows are unrolled ------------


@pytest.mark.parametrize(("features", "plain"), [(8, False), (6, True)])
def test_attention_on_a_gpu_makes_scores_where_there_is_no_fused_kernel(
    features: int, plain: bool
) -> None:
    query, key = torch.zeros(2, 3, 40, features), torch.zeros(2, 3, 50, features)
    scores, sums = 4 * 2 * 3 * 40 * 50, 4 * 2 * 3 * 40
    flash = aten._scaled_dot_product_flash_attention_for_cpu.default
    whole = allocated_bytes(scores)
    stated = gpu_scratch_bytes(flash, (query, key, key), query)
    assert stated == allocated_bytes(2 * whole if plain else sums)
    back = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    given = (query, query, key, key, query)
    copies = sum(allocated_bytes(4 * x.numel()) for x in given)
    stated = gpu_scratch_bytes(back, given, (query, key, key))
    assert stated == copies + (3 * whole if plain else 0)


def test_a_convolution_on_a_gpu_transforms_pictures_and_windows() -> None:
    x, weight, y = torch.zeros(2, 3, 8, 8), torch.zeros(4, 3, 3, 3), torch.zeros(2, 4, 8, 8)
    pictures, windows = 1536 + 2048, 512  # bytes in whole blocks
    assert [4 * n.numel() for n in (x, y, weight)] == [1536, 2048, 432] and BLOCK == 512
    made = 3 * pictures + 4 * windows
    assert gpu_scratch_bytes(aten.convolution.default, (x, weight, None), y) == made
    back = aten.convolution_backward.default
    assert gpu_scratch_bytes(back, (y, x, weight), (x, weight, None)) == made


def test_a_norm_on_a_gpu_sums_its_gradients_in_parts() -> None:
    x = torch.zeros(100, 6)
    given = (x, x, [6], torch.zeros(100, 1), torch.zeros(100, 1))
    parts = 2 * 64 * 6 * 4  # of scale and shift
    stated = gpu_scratch_bytes(aten.native_layer_norm_backward.default, given, (x, x, x))
    assert stated == allocated_bytes(parts + 2 * 2400)


def test_unrolled_windows_are_a_column_for_each_place_with_sums_of_the_bias() -> None:
    x = torch.zeros(2, 3, 6, 6, dtype=torch.float64)  # no kernel of oneDNN takes these
    weight, made = x.new_zeros(5, 3, 2, 2), x.new_zeros(2, 5, 5, 5)
    setting = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    columns = 4 * 3 * (2 * 2) * (5 * 5)
    assert forward(x, weight, setting, made) == columns
    assert backward(made, x, weight, setting, (x, weight, None)) == columns + 4 * (3 * 5 + 5 * 5)
