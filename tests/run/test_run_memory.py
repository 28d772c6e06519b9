"""The guard: what it says that a run takes is what one takes."""

from __future__ import annotations

import re
from itertools import accumulate
from resource import RUSAGE_SELF, getrusage

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

import ncd
from ncd import Axes, CausalMask, Einsum, Elementwise, Entry, Id, LimitError, Linear, Scan, Term
from ncd.circuit.elaborate import elaborate
from ncd.run.guard import check_run, compile, fits, nearest_fit, peak, peak_bound
from ncd.run.limits import Limits
from ncd.run.module import CircuitModule
from ncd.run.run_memory import LANES, NUMBER, SCALARS, Storages, measured_peak, scalar_of_outputs
from ncd.run.seeding import example_inputs
from tests.support.sampling import count, sample
from tests.support.strategies import terms

BATCH = 3
ENTRIES = pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)


def leaves(term: Term) -> tuple[Tensor, ...]:
    return tuple(x.requires_grad_() if x.is_floating_point() else x for x in example_inputs(term))


def assert_held(term: Term) -> None:
    """Never under, and at most a tenth over; the arithmetic that goes first is never under."""
    circuit = elaborate(term)
    module, inputs = compile(term), leaves(term)
    for watched in (False, True):
        measured = measured_peak(module, inputs, watched=watched).backward
        stated = peak(circuit, watched=watched)
        assert measured <= stated <= 1.1 * measured
        assert stated <= peak_bound(circuit)
    together = tuple(x.detach().expand(BATCH, *x.shape).clone() for x in inputs)
    together = tuple(x.requires_grad_() if x.is_floating_point() else x for x in together)
    assert measured_peak(module, together).backward <= peak_bound(circuit, BATCH)


@settings(max_examples=count(40, 100), deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_random_terms(term: Term) -> None:
    assert_held(term)


@pytest.mark.few(10)
@ENTRIES
def test_every_entry(entry: Entry) -> None:
    ends = (
        {knob.name: getattr(knob, e) for knob in entry.knobs} for e in ("min", "default", "max")
    )
    terms = [entry.build(**entry.with_clamped_indexes(entry.settings(end))) for end in ends]
    small = [term for term in terms if ncd.cost(term).flops < count(10**9, 10**12)]
    for term in sample(small, 1, entry.name):
        if fits(elaborate(term)):  # else it is too large to run here
            assert_held(term)


@pytest.mark.parametrize("op", ncd.ops.CATALOGUE, ids=lambda op: op.__name__)
def test_every_op(op: type[ncd.Op]) -> None:
    for one in op.examples():
        assert_held(ncd.Then(Id(one.dom), one.op))


# --- what the first edition missed ---------------------------------------------------------------


def test_what_an_einsum_makes_on_the_way_is_counted() -> None:
    term = Axes(a=200, b=200, k=200)(Einsum("a k, b k, a b -> k"))
    assert peak(elaborate(term)) > 4 * 200**3  # one product of three axes
    assert_held(term)


def test_attention_is_counted_as_it_runs() -> None:
    def run(y: int) -> ncd.Circuit:
        return elaborate(ncd.catalogue["multi-head-attention"].build(y=y, x=y, h=8, k=32))

    scores = 4 * 8 * 1024 * 1024
    assert peak(run(1024)) < scores  # never made
    assert peak(run(1024), watched=True) > 3 * scores  # made, scaled, and as weights


def test_gradients_are_counted() -> None:
    term = Axes(y=100, m=100)(Id("y m") >> Elementwise("sin"))
    assert peak(elaborate(term)) >= 4 * 100 * 100 * 3  # the input, its gradient, the output


# --- what kernels take for themselves ------------------------------------------------------------

SYSTEMS: dict[str, dict[str, int]] = {
    "scaled-dot-product-attention": {"y": 1024, "x": 1024},
    "multi-head-attention": {"y": 512, "x": 512},
    "visual-attention": {},
    "lenet": {},
    "unet": {"x": 64},
    "residual-block": {},
    "identity-resnet": {},
    "encoder-decoder": {},
    "layer-norm": {"t": 64, "m": 64},
    "batch-norm": {"b": 64, "x": 32},
}


# Systems that begin with a convolution of three channels whose windows lie side by side: at small
# sizes oneDNN copies less than is stated, and how much less depends on the processor.
PATCHES = ("convnext", "swin", "vit", "clip")


def profiled(module: CircuitModule, inputs: tuple[Tensor, ...]) -> int:
    """The most bytes held in a run forward and backward, as torch's profiler sees them."""

    def run() -> None:
        result = scalar_of_outputs(module.execute(inputs))
        if result.requires_grad:  # not where all numbers are whole or fixed
            result.backward()

    held = {x.untyped_storage()._cdata: x for x in (*inputs, *module.parameters())}
    held |= {x.untyped_storage()._cdata: x for x in module.buffers()}
    run()  # oneDNN keeps what it makes in its first run
    for x in held.values():
        x.grad = None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        run()
    assert found.profiler is not None and found.profiler.kineto_results is not None
    events = found.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    now = sum(x.untyped_storage().nbytes() for x in held.values())
    return max(accumulate((size for _, size in changes), initial=now))


@pytest.mark.skipif(not LANES, reason="oneDNN unrolls every convolution without AVX2")
@pytest.mark.parametrize("name", SYSTEMS)
def test_what_the_profiler_sees_is_within_a_tenth(name: str) -> None:
    term = ncd.catalogue[name].build(**SYSTEMS[name])
    seen, stated = profiled(compile(term), leaves(term)), peak(elaborate(term))
    assert seen <= stated <= 1.1 * seen


@pytest.mark.few(50)
@ENTRIES
@pytest.mark.parametrize("end", ["min", "default"])
def test_what_the_profiler_sees_is_never_more(entry: Entry, end: str) -> None:
    settings = entry.settings({knob.name: getattr(knob, end) for knob in entry.knobs})
    term = entry.build(**entry.with_clamped_indexes(settings))
    seen, stated = profiled(compile(term), leaves(term)), peak(elaborate(term))
    more = 1 if entry.name in PATCHES else 0.1
    assert seen <= stated <= (1 + more) * seen + 75_000  # oneDNN's tables do not shrink


@settings(max_examples=count(12, 30), deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_what_the_profiler_sees_of_random_terms_is_never_more(term: Term) -> None:
    assert profiled(compile(term), leaves(term)) <= peak(elaborate(term))


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("back", [False, True], ids=["conv", "transposed"])
@pytest.mark.parametrize("kernel, stride", [(1, 1), (1, 2), (3, 1), (3, 2), (5, 1)])
def test_convolutions_take_no_more_than_is_stated(
    kernel: int, stride: int, back: bool, threads: int
) -> None:
    """Both families of kernels: oneDNN's with several pictures, torch's own with a small one."""
    kind = ncd.ConvTranspose if back else ncd.Conv
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for batch, size, channels in ((1, 8, 5), (3, 24, 5), (2, 64, 1), (2, 64, 3)):
            line = kind("c x -> d:20 y", "conv", kernel, stride)
            term = Axes(b=batch, c=channels, x=(size, size))(Id("b c x") >> line)
            assert profiled(compile(term), leaves(term)) <= peak(elaborate(term))
    finally:
        torch.set_num_threads(before)


# --- refusals ------------------------------------------------------------------------------------


def test_nothing_is_allocated_by_counting() -> None:
    term = Axes(m=10**5, k=10**5, y=1)(Id("y m") >> Linear("m -> k", "huge"))
    before = getrusage(RUSAGE_SELF).ru_maxrss  # kilobytes, the most so far
    with pytest.raises(LimitError) as caught:
        compile(term)
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 500_000
    assert str(caught.value) == (
        "Linear huge: the run needs 80,001,200,064 bytes of memory, and the limit NCD_MAX_BYTES "
        "is 2,000,000,000. Bound so far: y 1, m 100000, k 100000. Try m = 2499."
    )
    compile(Axes(m=2499, k=10**5, y=1)(Id("y m") >> Linear("m -> k", "huge")))


def test_the_peak_of_many_ops_is_not_looked_for_where_the_weights_alone_are_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ncd.run.guard.peak", lambda *_, **__: pytest.fail("it is"))
    term = Id("y m") >> Linear("m -> k", "huge")
    for _ in range(200):
        term = term >> Elementwise("relu")
    with pytest.raises(LimitError) as caught:
        compile(Axes(m=10**5, k=10**5, y=1)(term))
    assert str(caught.value) == (
        "Linear huge: the run needs at least 80,000,800,000 bytes of memory, and the limit "
        "NCD_MAX_BYTES is 2,000,000,000. Bound so far: y 1, m 100000, k 100000. Try smaller sizes."
    )


def test_too_many_operations_are_refused() -> None:
    term = Axes(y=100, m=100, k=100)(Id("y m") >> Linear("m -> k", "Q"))
    with pytest.raises(LimitError) as caught:
        compile(term, limits=Limits(flops=10**6))
    assert str(caught.value) == (
        "Linear Q: the run needs 2,000,000 floating-point operations, and the limit NCD_MAX_FLOPS "
        "is 1,000,000. Bound so far: y 100, m 100, k 100. Try y = 50."
    )


@pytest.mark.parametrize("size", [10**7, 10**12])
def test_more_than_torch_can_count_is_refused(size: int) -> None:
    term = Axes(m=size, k=size, n=size)(Id("m k n"))
    with pytest.raises(LimitError, match="the run needs"):
        check_run(elaborate(term))


def test_a_scan_of_many_steps_is_refused() -> None:
    body = CausalMask("y x") >> ncd.Copy("y x")
    term = Axes(t=10**6, y=2, x=2)(Scan(body, "t", states=0))
    message = (
        "Scan t: the run has 2,000,000 steps, at most 50,000 can be. "
        "Bound so far: t 1000000, y 2, x 2. Try t = 25000."
    )
    with pytest.raises(LimitError, match=f"^{re.escape(message)}$"):
        compile(term)


def test_the_limit_is_the_one_that_is_given() -> None:
    term = Axes(y=100, m=50)(Id("y m") >> Elementwise("sin"))
    need = peak(elaborate(term))
    check_run(elaborate(term), Limits(bytes=need))
    with pytest.raises(LimitError, match=f"needs {need:,} bytes"):
        check_run(elaborate(term), Limits(bytes=need - 1))
    watched = peak(elaborate(term), watched=True)
    with pytest.raises(LimitError, match=f"needs {watched:,} bytes"):
        check_run(elaborate(term), Limits(bytes=watched - 1), watched=True)


@pytest.mark.parametrize("step", [1, 3, 7])
def test_the_nearest_fit_is_the_largest(step: int) -> None:
    for most in range(2, 60):
        found = nearest_fit(lambda n, most=most: n <= most, 50, least=2, step=step)
        expected = [n for n in range(2, 50, step) if n <= most]
        assert found == expected[-1]
    assert nearest_fit(lambda n: True, 2, least=2) is None


# --- the measurement -----------------------------------------------------------------------------


def test_the_measurement_sees_what_lives_and_what_is_freed() -> None:
    with Storages() as counted:
        x = torch.ones(1000)
        assert counted.now == 4000
        y = x + 1
        z = y.view(10, 100)  # a view is no new storage
        del x
        assert counted.now == 4000
        del y, z
    assert (counted.now, counted.peak) == (0, 8000 + SCALARS + NUMBER)


def test_weights_inputs_and_their_gradients_are_measured() -> None:
    term = Id("y:5 m:3") >> Linear("m -> k:2", "Q")
    found = measured_peak(compile(term), leaves(term))
    assert found.forward >= 4 * (6 + 15 + 10)
    assert found.backward >= 4 * 2 * (6 + 15)


@pytest.mark.parametrize("limit", [10**3, 10**5, 10**6, 10**8])
def test_what_fits_is_what_the_guard_lets_pass(limit: int) -> None:
    for y in (1, 30, 300):
        circuit = elaborate(ncd.catalogue["multi-head-attention"].build(y=y, x=y, m=16))
        try:
            check_run(circuit, Limits(bytes=limit))
            passed = True
        except LimitError:
            passed = False
        assert fits(circuit, Limits(bytes=limit)) == passed


def test_what_fits_when_every_array_is_kept_is_less() -> None:
    circuit = elaborate(ncd.catalogue["multi-head-attention"].build(y=300, x=300, m=16))
    limits = Limits(bytes=(peak(circuit) + peak(circuit, watched=True)) // 2)
    assert fits(circuit, limits) and not fits(circuit, limits, watched=True)
    with pytest.raises(LimitError):
        check_run(circuit, limits, watched=True)
