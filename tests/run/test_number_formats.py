"""Number formats: runs against plain torch casts, bytes against arithmetic, signs on the wires."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ncd
from ncd.circuit.circuit import cast_formats
from ncd.errors import NCDError
from ncd.language.number_formats import BITS, read_formats
from ncd.run.guard import peak
from ncd.run.module import round_to_format

MHA = ncd.catalogue["multi-head-attention"]
NAMES = [name for name in BITS if name != "float32"]


def symmetric(x: Tensor, last: int) -> Tensor:
    """Jacob et al. 2018 without a zero point: a scale for each row."""
    scale = x.abs().amax(-1, keepdim=True) / last
    return torch.clamp(torch.round(x / scale), -last, last) * scale


CASTS: dict[str, Callable[[Tensor], Tensor]] = {
    "bfloat16": lambda x: x.to(torch.bfloat16).float(),
    "float16": lambda x: x.to(torch.float16).float(),
    "float8": lambda x: x.clamp(-448, 448).to(torch.float8_e4m3fn).float(),
    "int8": lambda x: symmetric(x, 127),
    "int4": lambda x: symmetric(x, 7),
}


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_a_cast(name: str) -> None:
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(1)) * 300
    torch.testing.assert_close(round_to_format(x, name), CASTS[name](x), rtol=0, atol=1e-4)
    row = torch.tensor([0.1, -torch.inf, 0.05, torch.inf])  # a mask stays, and is no largest one
    kept = round_to_format(row, name)
    torch.testing.assert_close(kept[::2], CASTS[name](row[::2]))
    assert kept[1] <= -448 and kept[3] >= 448


@pytest.mark.parametrize("name", NAMES)
def test_a_run_rounds_weights_arrays_and_the_cache(name: str) -> None:
    """y = Q x with its weights, its input and its result rounded; K's result once more."""
    cast = CASTS[name]
    term = ncd.Id("x:5 m:6") >> ncd.Linear("m -> k:4", "K", True) >> ncd.Softmax("k")
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(2))
    plain = ncd.compile(term, 3)
    weight, bias = plain.K.weight, plain.K.bias
    only = ncd.compile(term, 3, formats=ncd.Formats(weights=name))
    vector = cast(bias) if BITS[name] > 8 else bias
    wanted = F.softmax(F.linear(x, cast(weight), vector), -1)
    torch.testing.assert_close(only(x), wanted, rtol=1e-5, atol=1e-6)
    arrays = ncd.compile(term, 3, formats=ncd.Formats(activations=name))
    wanted = cast(F.softmax(cast(F.linear(cast(x), weight, bias)), -1))
    torch.testing.assert_close(arrays(x), wanted, rtol=1e-5, atol=1e-6)
    kept = ncd.compile(term, 3, formats=ncd.Formats(cache=name, cached=("K",)))
    wanted = F.softmax(cast(F.linear(x, weight, bias)), -1)
    torch.testing.assert_close(kept(x), wanted, rtol=1e-5, atol=1e-6)
    traced = ncd.trace(kept, x)
    torch.testing.assert_close(traced.values["v1"], cast(F.linear(x, weight, bias)))


def test_a_rounded_run_still_has_gradients() -> None:
    used = ncd.Formats("int4", "float8", "int8", MHA.cached)
    term = MHA.build(y=3, x=4, m=8, k=2, h=2)
    module = ncd.compile(term, formats=used)
    module(*ncd.example_inputs(term)).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in module.parameters())


def test_bytes_follow_the_formats() -> None:
    term = MHA.build()
    cost = ncd.cost(term, ncd.Formats("int8", "bfloat16", "float8", MHA.cached))
    rows = 4 * 16 * 3 + 128  # Q, K, V have k · h rows and O has m; each has a scale
    assert cost.parameters == 4 * 128 * 64
    assert cost.cache_bytes == 2 * 4 * 16
    plain = ncd.cost(term)
    ops = {op.label: op.bytes for op in cost.ops}
    before = {op.label: op.bytes for op in plain.ops}
    assert before["Linear Q"] == 2 * ops["Linear Q"] and before["Linear K"] == 4 * ops["Linear K"]
    assert (plain.weight_bytes, plain.cache_bytes) == (4 * plain.parameters, 0)
    assert cost.weight_bytes == cost.parameters + 4 * rows
    half = ncd.cost(term, ncd.Formats("int4")).weight_bytes
    assert half == cost.parameters // 2 + 4 * rows


def test_the_guard_counts_what_a_rounded_run_takes() -> None:
    circuit = ncd.elaborate(MHA.build())
    assert peak(circuit, formats=ncd.Formats(activations="float8")) > peak(circuit)


def test_a_cast_is_drawn_where_the_format_changes() -> None:
    term = MHA.build()
    used = ncd.Formats("int8", "bfloat16", "float8", MHA.cached)
    circuit = ncd.elaborate(term)
    made = {cell.name: cell.outputs[0].id for cell in circuit.cells if cell.name}
    found = cast_formats(circuit, used)
    assert found == {"v0": "bf16", "v1": "bf16", made["K"]: "f8", made["V"]: "f8"}
    said = [text.label.words for text in ncd.draw(term, formats=used).labels]
    assert sum("to bf16" in words or "to bf 16" in words for words in said) == 2
    assert sum("to f8" in words or "to f 8" in words for words in said) == 2
    assert not any(" to " in text.label.words for text in ncd.draw(term).labels)


def test_casts_stand_on_the_wires_of_a_folded_diagram() -> None:
    """Llama's blocks are boxes at first; the casts inside them are not seen."""
    entry = ncd.catalogue["llama"]
    used = ncd.Formats("int8", "bfloat16", "float8", entry.cached)
    drawing = ncd.draw(entry.build(), formats=used, **entry.look({}))
    said = [text.label.words for text in drawing.labels if " to " in text.label.words]
    assert len(said) == 2 and said[0].startswith("v to i") and said[1].startswith("t bar to bf")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("weights=int3", "weights: there is no format 'int3'. Try int8."),
        ("q=int8", "formats: 'q=int8' is no format. Try weights=int8."),
        (
            "cache=<b>",
            "cache: there is no format '<b>'. Try one of float32, bfloat16, float16, float8, "
            "int8, int4.",
        ),
    ],
)
def test_a_wrong_format_says_what_would_work(said: str, why: str) -> None:
    with pytest.raises(NCDError) as found:
        read_formats(said)
    assert str(found.value) == why
