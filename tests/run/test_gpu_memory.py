"""The memory of a GPU, stated without one: what a run was seen to take there, or more."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import ncd
from ncd import Entry, LimitError, Linear
from ncd.circuit.elaborate import elaborate
from ncd.language.number_formats import BITS, PLAIN_FORMATS
from ncd.run import device
from ncd.run.guard import _upper_bound, check_run, peak
from ncd.run.limits import Limits
from ncd.run.module import round_to_format
from ncd.run.run_memory import LARGE_ARRAY_BYTES, LIBRARIES, allocated_bytes
from tools.gpu.memory import LARGE as SYSTEMS

# What torch.cuda.max_memory_allocated was on an H200, with torch 2.11: the run, and where every
# array is kept.
SEEN = {
    "multi-head-attention": (290_194_432, 7_704_937_472),
    "grouped-queries": (1_109_820_416, 2_215_314_432),
    "encoder-block": (181_718_528, 791_886_848),
    "gpt-2": (476_386_304, 1_049_830_400),
    "llama": (608_404_480, 1_130_413_056),
    "mixture-of-experts": (4_357_383_168, 7_579_143_168),
    "vit": (111_621_536, 179_079_072),
    "unet": (485_518_092, 671_902_476),
    "identity-resnet": (294_879_240, 603_671_560),
    "convnext": (96_209_192, 122_532_648),
    "residual-block": (134_522_392, 193_242_648),
    "flash-attention": (18_942_976, 1_621_099_520),
}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", SEEN)
def test_what_was_seen_is_stated(name: str) -> None:
    """And not more than twice as much, beside what libraries take once and for all."""
    circuit = elaborate(ncd.catalogue[name].build(**SYSTEMS[name]))
    for watched, seen in zip((False, True), SEEN[name], strict=True):
        stated = peak(circuit, watched=watched, device="cuda")
        assert seen <= stated <= 2 * seen + LIBRARIES + 32 * LARGE_ARRAY_BYTES
        assert stated <= _upper_bound(circuit, "cuda")


@pytest.mark.few(8)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_the_arithmetic_that_goes_first_is_never_under(entry: Entry) -> None:
    circuit = elaborate(entry.build())
    for watched in (False, True):
        stated = peak(circuit, watched=watched, device="cuda")
        assert LIBRARIES < stated <= _upper_bound(circuit, "cuda")


def test_an_array_takes_whole_blocks() -> None:
    assert [allocated_bytes(n) for n in (1, 512, 513)] == [512, 512, 1024]
    assert (
        allocated_bytes(LARGE_ARRAY_BYTES) == LARGE_ARRAY_BYTES
        and allocated_bytes(LARGE_ARRAY_BYTES + 1) == 2 * LARGE_ARRAY_BYTES + 512
    )


def test_a_softmax_backward_takes_an_array_more_than_on_a_cpu() -> None:
    """The product of the gradient and the weights of attention."""
    circuit = elaborate(ncd.catalogue["flash-attention"].build(y=4096, x=4096))
    array = 4 * 4096 * 4096
    more = peak(circuit, watched=True, device="cuda") - LIBRARIES - peak(circuit, watched=True)
    assert array <= more < array + 20 * LARGE_ARRAY_BYTES


@pytest.mark.parametrize(("k", "fused"), [(16, True), (18, False)])
def test_attention_of_odd_features_has_no_fused_kernel(k: int, fused: bool) -> None:
    """It is fused on a CPU; a GPU makes the scores then, keeps them, and makes their gradients."""
    term = ncd.catalogue["multi-head-attention"].build(y=1024, x=1024, k=k, h=4)
    scores = 4 * 4 * 1024 * 1024
    circuit = elaborate(term)
    more = peak(circuit, device="cuda") - LIBRARIES - peak(circuit)
    assert peak(circuit) < scores and (more < scores if fused else more > 5 * scores)


def test_the_limit_is_held_by_what_a_gpu_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = elaborate(ncd.Id("y:64 m:64") >> Linear("m -> k:64", "L"))
    between = Limits(bytes=peak(circuit) + LIBRARIES // 2)
    check_run(circuit, between)
    needs = f"needs {peak(circuit, device='cuda'):,} bytes"
    with pytest.raises(LimitError, match=needs):
        check_run(circuit, between, device="cuda")
    monkeypatch.setattr(device, "devices", lambda: ("cpu", "cuda"))
    with pytest.raises(LimitError, match=needs):
        ncd.compile(circuit.term, device="cuda", limits=between)


class Divisors(TorchDispatchMode):
    """Keeps the shapes of what is divided, and by what."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[object, object]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if func.overloadpacket == torch.ops.aten.div:
            shapes = [x.shape if isinstance(x, torch.Tensor) else x for x in args[:2]]
            self.seen.append((shapes[0], shapes[1]))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", [name for name in BITS if name != PLAIN_FORMATS])
def test_numbers_are_rounded_by_true_divisions(name: str) -> None:
    """By a number alone, a GPU multiplies by its inverse, which is another number."""
    with Divisors() as found:
        round_to_format(torch.arange(6.0).reshape(2, 3), name)
    assert all(isinstance(by, torch.Size) and len(by) for _, by in found.seen)
    assert bool(found.seen) == name.startswith("int")
