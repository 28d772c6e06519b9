"""What a prompt shows of a value: short, one glance, and no address in memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ncd

LONGEST = 700  # letters; tables of costs and systems, and modules of torch, have lines of their own


class Bessel(nn.Module):
    """A module whose function has no op."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j0(x)


def values() -> dict[str, object]:
    """Returns one of each kind of value that the package's functions return."""
    entry, term = ncd.catalogue["grouped-queries"], ncd.Axes(m=4, k=3)(ncd.Linear("m -> k", "Q"))
    module, cached = ncd.compile(term), ncd.decode(entry.build(t=6), "t")
    inputs = ncd.example_inputs(term)
    run, gpt = ncd.trace(module, *inputs), ncd.catalogue["gpt-2"].build()
    parts = ncd.shard(term, ["m"], 2)
    streamed = ncd.stream(ncd.Einsum("a:4 b:4, b:4 c:4 -> a c"), {"a": 2, "c": 2}, ("b", 2))
    return {
        "axes": ncd.Axes(m=4, k=ncd.seq(3)),
        "entry": ncd.catalogue["gpt-2"],
        "circuit": ncd.elaborate(gpt),
        "loop": ncd.elaborate(gpt).loops[0],
        "fence": ncd.elaborate(gpt).fences[0],
        "cell": ncd.elaborate(gpt).cells[0],
        "cached pass": cached,
        "term": term,
        "drawing": ncd.draw(entry.build()),
        "page": ncd.html(term),
        "explorer": ncd.explore(term),
        "cost": ncd.cost(term),
        "trace": run,
        "module": module,
        "graph": ncd.autograd(module, *inputs),
        "saved": ncd.saved(term),
        "stream": streamed,
        "result": ncd.run_stream(streamed, [torch.ones(4, 4), torch.ones(4, 4)]),
        "sharding": parts,
        "joined": ncd.run_sharded(parts, inputs, module),
        "checkpoints": ncd.checkpoints(ncd.catalogue["gpt-2"].build(n=6), budget=200_000),
        "thumbnails": ncd.thumbnails(module, run),
        "imported": ncd.from_torch(nn.Linear(8, 4), torch.ones(2, 8)),
        "tracker": ncd.track(nn.Linear(2, 3)),
        "placement": cached.placements[0],
        "rewrite": ncd.rewrites(term, "n0")[0],
        "answer": ncd.ask("b h i d, b h j d -> b h i j"),
        "failure": ncd.ask("nn.Linear(8, 3)(torch.randn(2, 9))"),
        "box": ncd.from_torch(Bessel(), torch.ones(2, 3)),
        "blocks": ncd.Block(term @ ncd.Id("y:2"), "Q") >> ncd.Id("k:3, y:2"),
        "repetition": ncd.Repeat((ncd.Linear("m:4 -> m", "W"),) * 2),
        "scan": ncd.Scan(ncd.Id("n, n") >> ncd.Id("n, n"), "t"),
        "sample": ncd.Softmax.examples()[0],
        "equation": ncd.catalogue["linear-algebra"].build(),
        "formats": ncd.Formats("int8"),
        "limits": ncd.Limits(),
        "signature": ncd.Signature.parse("m -> k"),
        "axis": ncd.Axis("m", 4),
        "knob": entry.knobs[0],
    }


def public_attributes(value: object) -> Iterator[tuple[str, object]]:
    """Yields what a prompt completes after a value and a dot, but for what is called."""
    own = [each for each in type(value).__mro__ if each.__module__.partition(".")[0] == "ncd"]
    for name in {*getattr(value, "__dict__", ()), *(name for each in own for name in vars(each))}:
        held = inspect.getattr_static(value, name)
        if not name.startswith("_") and not callable(held) and not isinstance(held, classmethod):
            with suppress(ncd.NCDError, AttributeError):  # such as the cost of what has no sizes
                yield name, getattr(value, name)


def shown_values(given: Mapping[str, object]) -> dict[str, object]:
    """Returns the values, and those that they hold in public; one of each class of the package."""
    found: dict[str, object] = {}
    ahead, seen = [*given.items()], set()
    while ahead:
        path, value = ahead.pop()
        if isinstance(value, Mapping | tuple | list):
            inside = value.values() if isinstance(value, Mapping) else value
            ahead += [(f"{path}[…]", each) for each in inside]
        if (
            type(value).__module__.partition(".")[0] != "ncd"
            or (type(value), path in given) in seen
        ):
            continue
        seen |= {(type(value), False), (type(value), path in given)}
        found[path] = value
        if type(value).__name__ in ncd.__all__:
            ahead += [(f"{path}.{name}", held) for name, held in public_attributes(value)]
    return found


def is_covered(name: str, classes: Collection[type]) -> bool:
    """Returns whether a public name is no class of values, or one of these is of the class."""
    public = getattr(ncd, name)
    if not isinstance(public, type) or issubclass(public, Exception | ncd.Op):
        return True
    return any(issubclass(each, public) for each in classes)


@pytest.mark.slow
def test_no_value_is_shown_by_its_address_or_as_a_wall() -> None:
    given = values()
    held = shown_values(given)
    assert [path for path, value in held.items() if " at 0x" in repr(value)] == []
    classes = {type(value) for value in held.values()}
    assert [name for name in ncd.__all__ if not is_covered(name, classes)] == []
    shown = {name: repr(value) for name, value in given.items()}
    assert {name: len(text) for name, text in shown.items() if len(text) > LONGEST} == {}
    assert shown["axes"] == "Axes(m=4, k=SizeWithKind(size=3, sequence=True, label=''))"
    assert shown["trace"] == "<Trace of 2 arrays; outputs 3>"
    assert shown["imported"] == "<Imported: b m -> b d>"
    assert shown["explorer"] == "<Explorer: m 4, k 3>"
    assert shown["entry"] == "<Entry: gpt-2; n 2; t 12; h 4; k 16; d 128; u 64; v 256>"
    assert shown["circuit"] == "<Circuit: t#v -> t v; 47 ops>"
    assert shown["cached pass"] == ("<CachedPass: t m -> t m along t; keeps K (x g k), V (x g k)>")


def test_a_cost_is_a_table_that_is_cut() -> None:
    gpt = ncd.cost(ncd.catalogue["gpt-2"].build(n=6))
    head, *rows, last = repr(gpt).splitlines()
    assert head.split() == ["op", "parameters", "FLOPs", "bytes"]
    assert len(rows) == 41 and rows[-1] == f"… {len(gpt.ops) - 40} more"
    assert last.split() == ["total", f"{gpt.parameters:,}", f"{gpt.flops:,}", f"{gpt.bytes:,}"]


def test_an_answer_is_printed_with_its_cures() -> None:
    answer = ncd.ask("net = nn.Linear(8, 4)\nnet(torch.randn(2, 9))")
    first, *cures = str(answer).splitlines()
    assert first.startswith("line 1: Linear gets 9 features (the features of the input, line 2)")
    assert cures[0] == "cure 1, which changes the model, line 1: net = nn.Linear(9, 4)"


def test_an_entry_is_a_diagram_in_a_notebook() -> None:
    shown = ncd.catalogue["residual-block"]._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert shown["text/plain"].startswith("Residual block: ncd.catalogue['residual-block'].build(")


def test_a_drawing_is_saved_by_the_end_of_its_name(tmp_path: Path) -> None:
    drawing = ncd.draw(ncd.Id("m:3"))
    begins = {"a.svg": b"<svg", "a.PNG": b"\x89PNG", "a.pdf": b"%PDF", "a.tex": b"\\documentclass"}
    for name, start in begins.items():
        drawing.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    for name, said in {
        "figure.jpg": "save: 'figure.jpg' ends in none of .svg, .png, .pdf, .tex. Try figure.svg.",
        "none/a.svg": "No such file or directory. Try another file.",
    }.items():
        with pytest.raises(ncd.ParseError) as error:
            drawing.save(tmp_path / name)
        assert str(error.value).endswith(said)


def test_arithmetic_of_arrays_in_a_definition_names_the_op() -> None:
    def of(act: Callable[[Any, Any], Any]) -> str:
        act.__annotations__ = {"x": "b m", "y": "b m"}
        with pytest.raises(ncd.MismatchError) as error:
            ncd.define(act)
        return str(error.value)

    added = "arrays are added by an op, not by +. Try Add()(x, y)."
    assert of(lambda x, y: x + y) == of(lambda x, y: 2 + x) == added
    cure = 'Map("b m, b m -> b m", "$1 * $2")(x, y)'
    multiplied = f"arrays are multiplied by an op, not by *. Try {cure}."
    assert of(lambda x, y: x * y) == of(lambda x, y: 2 * x) == multiplied
