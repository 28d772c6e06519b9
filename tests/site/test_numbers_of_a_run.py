"""The numbers with which a page runs a system are torch's: those drawn from a seed, and weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import ncd
from ncd.language.terms import Id
from ncd.ops import CATALOGUE
from ncd.site.browser_run import _seed, _start
from ncd.site.scripts import script
from tests.support.javascript import called

RANDOM, INITIAL = (
    script(f"site/static/runs/{name}.js") for name in ("torch_random", "initial_values")
)
SAMPLES = [sample for op in CATALOGUE for sample in op.examples()]
COUNTS = (1, 2, 15, 16, 17, 31, 32, 700)  # one below 16 is drawn otherwise; 700 outlast the state
SEEDS = (0, 7, 2**32 - 1)


def numbers(text: str, name: str, calls: list[list[Any]]) -> list[torch.Tensor]:
    """What a function of a script gives for each list of arguments, with NaN and infinities."""
    plain = f"((...own) => Array.from({name}(...own), (each) => `${{each}}`))"
    found = called(text, plain, calls)
    return [torch.tensor([float(each.replace("Infinity", "inf")) for each in own]) for own in found]


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("normals", torch.randn),
        ("uniforms", lambda n, generator: torch.rand(n, generator=generator) * 2 - 1),
        ("wholes", lambda n, generator: torch.randint(0, 50257, (n,), generator=generator).float()),
    ],
)
def test_numbers_drawn_from_a_seed_are_those_of_torch(
    name: str, drawn: Callable[..., torch.Tensor]
) -> None:
    cases = [(seed, count) for seed in SEEDS for count in COUNTS]
    more = [50257] if name == "wholes" else []
    found = numbers(RANDOM, name, [[*case, *more] for case in cases])
    for (seed, count), own in zip(cases, found, strict=True):
        wanted = drawn(count, generator=torch.Generator().manual_seed(seed))
        assert own.shape == (count,)
        torch.testing.assert_close(own, wanted, rtol=1e-5, atol=1e-6)


ROW, COLUMN = torch.arange(2.0)[:, None], torch.arange(3.0)


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        (["+", ["*", 10, "i"], "j"], 10 * ROW + COLUMN),
        (["%", ["-", "j", "i"], "n_j"], (COLUMN - ROW) % 3),
        (["//", ["-", "j", 5], "n_i"], (COLUMN - 5) // 2 + 0 * ROW),
        (
            ["where", ["and", "i", [">=", "j", 1]], ["sin", ["/", "j", "n_j"]], ["-", "pi"]],
            torch.where((ROW > 0) & (COLUMN >= 1), (COLUMN / 3).sin(), torch.tensor(-torch.pi)),
        ),
    ],
    ids=lambda part: part[0] if isinstance(part, list) else "",
)
def test_a_first_value_may_follow_from_its_place(formula: list[Any], wanted: torch.Tensor) -> None:
    (own,) = numbers(INITIAL, "initial", [[formula, [["i", 2], ["j", 3]], 0, 6]])
    torch.testing.assert_close(own, wanted.flatten())


def weights() -> Iterator[tuple[list[Any], torch.Tensor]]:
    """Each weight of the ops' examples: what a page is told of it, and its numbers in a module."""
    for sample in SAMPLES:
        term = Id(sample.dom) >> sample.op
        module = ncd.compile(term, seed=0).state_dict()
        for cell in ncd.elaborate(term).cells:
            for own, initial in cell.initial_values.items():
                name = f"{cell.path}.{own}"
                if name not in module:  # a constant
                    continue
                start, tensor = _start(initial), module[name].float().flatten()
                told = [start["start"], start.get("axes"), _seed(name), tensor.numel()]
                yield told, tensor


def test_weights_begin_as_those_of_a_module() -> None:
    every = [*weights()]
    found = numbers(INITIAL, "initial", [told for told, _ in every])
    assert {"0.0", "1.0", "uniform", "m_in"} <= {*re.findall(r"[\w.]+", f"{every}")}
    for (told, wanted), own in zip(every, found, strict=True):
        torch.testing.assert_close(own, wanted, rtol=1e-5, atol=1e-6, msg=f"{told}")
