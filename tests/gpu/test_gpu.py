"""On a GPU: the CPU's numbers, within the limit, and all memory given back."""

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import ncd
from ncd.app.host.serve import collect_garbage
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.state.cache import CACHE
from ncd.language.number_formats import BITS, PLAIN_FORMATS
from ncd.run.device import exact
from ncd.run.guard import peak
from ncd.systems.catalogue_entry import Entry
from tests.app.page.test_pages import attention, fine, page
from tests.app.scene.test_url import panels
from tools.gpu import formats
from tools.gpu.agreement import CLOSE, Setting, array_difference, gradient_difference, gradients

GPU = next((name for name in ncd.devices() if name.startswith("cuda")), "")
ENTRIES = list(ncd.catalogue.values())
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch has no CUDA here"),
]


@pytest.fixture(autouse=True)
def emptied() -> Iterator[None]:
    exact()
    left()
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)
    left()


def left() -> int:
    """The bytes in use once nobody keeps anything."""
    CACHE.clear()
    gc.collect()
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    collect_garbage()
    return torch.cuda.memory_allocated()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_array_is_as_on_the_cpu(entry: Entry) -> None:
    assert array_difference(entry, GPU) < CLOSE


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_gradient_is_as_on_the_cpu(entry: Entry) -> None:
    assert gradient_difference(entry, GPU) < CLOSE


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_panel_opens(entry: Entry) -> None:
    for panel in panels()[entry.name]:
        app = page(entry.name, panel=panel.title, device=GPU)
        fine(app)
        assert not app.warning, panel.title
        assert app.session_state["device"] == GPU


def test_what_a_page_took_is_given_back() -> None:
    fine(attention(device=GPU))
    before = left()
    reserved = torch.cuda.memory_reserved()
    app = attention(device=GPU)
    for h in (2, 8, 5):
        fine(app.slider(key="h").set_value(h).run())
        assert not app.warning
    assert torch.cuda.memory_allocated() > before  # it did run there
    assert left() <= before
    assert torch.cuda.memory_reserved() <= reserved


def test_two_visitors_take_what_two_runs_may() -> None:
    terms = [ncd.catalogue["multi-head-attention"].build(y=1024, x=1024, h=h) for h in (8, 9)]
    allowed = sum(peak(ncd.elaborate(term), watched=True, device=GPU) for term in terms)

    def run(term: ncd.Term) -> torch.Tensor:
        module = ncd.compile(term, device=GPU)
        with torch.no_grad():
            trace = ncd.trace(module, *ncd.example_inputs(term, device=GPU))
        return trace.values[module.circuit.outputs[0].id].cpu()

    alone = [run_in_thread(lambda own=term: run(own), long=True) for term in terms]
    before = left()
    torch.cuda.reset_peak_memory_stats()
    with ThreadPoolExecutor(2) as visitors:
        both = list(visitors.map(lambda t: run_in_thread(lambda: run(t), long=True), terms))
    taken = torch.cuda.max_memory_allocated() - before
    assert 0 < taken <= allowed
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(both, alone, strict=True))


def test_a_full_gpu_is_a_refusal() -> None:
    fine(attention(device=GPU))
    before = left()
    total = torch.cuda.get_device_properties(GPU).total_memory
    torch.cuda.set_per_process_memory_fraction(torch.cuda.memory_reserved() / total)
    app = attention(device=GPU, y="64", x="64", h="8")
    fine(app)
    assert [own.value for own in app.warning] == [
        f"The run on {GPU} failed. Try another device, or smaller sizes."
    ]
    torch.cuda.set_per_process_memory_fraction(1.0)
    fine(app.run())
    assert not app.warning
    del app
    assert left() <= before


@pytest.mark.parametrize("name", [name for name in BITS if name != PLAIN_FORMATS])
def test_numbers_are_rounded_as_on_the_cpu(name: str) -> None:
    assert formats._rounding(name, Setting(GPU)).fault == ""


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_same_seed_gives_the_same_gradients(entry: Entry) -> None:
    one, two = (gradients(entry, GPU, torch.float32) for _ in range(2))
    assert all(map(torch.equal, one, two))
