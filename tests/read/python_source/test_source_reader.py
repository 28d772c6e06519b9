"""Pasted sources give the terms of the modules that they define."""

from __future__ import annotations

import linecache
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.read.python_source.source_reader import read_source
from ncd.read.python_source.torch_layers import placeholder
from tests.support.sources import LANGUAGE_MODEL, LENET, PATCHES, RESIDUAL


def defined(source: str) -> dict[str, Any]:
    """Returns what a source of these tests defines when Python itself runs it."""
    plain = re.sub(r"^from \.\S* import .*$", "", source, flags=re.M)
    plain = plain.partition("_COMMON_META")[0].replace("_log_api_usage_once(self)", "pass")
    names: dict[str, Any] = {"__name__": __name__, "WeightsEnum": object}
    file = f"source {len(linecache.cache)}"
    linecache.cache[file] = (len(plain), None, plain.splitlines(True), file)  # for ``inspect``
    code = compile(plain, file, "exec")
    exec(code, names)  # written in this folder
    return names


def model(source: str, **settings: Any) -> nn.Module:
    names = defined(source)
    made: nn.Module = {
        LANGUAGE_MODEL: lambda: names["Model"](names["Config"](**settings)),
        RESIDUAL: lambda: names["Residual"](names["Basic"], [2, 2]),
        LENET: lambda: names["LeNet"](),
        PATCHES: lambda: names["model"],
    }[source]()
    return made.eval()


TOKENS = torch.arange(16).reshape(1, 16)
CASES: dict[str, tuple[str, str, Tensor, dict[str, Any]]] = {
    "language model": (LANGUAGE_MODEL, "", TOKENS, {}),
    "language model with a mask": (
        LANGUAGE_MODEL,
        "\nmodel = Model(Config(slow=True, layers=1))\nmodel(torch.randint(96, (1, 16)))",
        TOKENS,
        {"slow": True, "layers": 1},
    ),
    "residual network": (RESIDUAL, "", torch.ones(1, 3, 64, 64), {}),
    "residual network of another size": (RESIDUAL, "\n2x3x32x32", torch.ones(2, 3, 32, 32), {}),
    "LeNet": (LENET, "", torch.ones(2, 1, 28, 28), {}),
    "patches": (PATCHES, "", torch.ones(1, 3, 16, 16), {}),
}


@pytest.mark.parametrize(("source", "end", "x", "settings"), CASES.values(), ids=CASES)
def test_the_term_is_that_of_the_module_itself(
    source: str, end: str, x: Tensor, settings: dict[str, Any]
) -> None:
    found = read_source(source + end)
    itself = ncd.from_torch(model(source, **settings), x)
    assert found.failure is None
    assert found.term == itself.term
    assert itself.difference < 1e-5 and "Opaque" not in repr(found.term)


def test_all_weights_are_counted_and_none_is_held() -> None:
    source = f"{LANGUAGE_MODEL}\nModel(Config(width=4096, layers=2, heads=2, vocabulary=50000))"
    count = ncd.cost(read_source(source).term).parameters
    layer = 4 * 4096**2 + 4 * 4096 + 8 * 4096**2 + 5 * 4096 + 4 * 4096
    assert count == 50000 * 4096 + 32 * 4096 + 2 * layer + 2 * 4096
    assert placeholder((4096, 50000)).untyped_storage().nbytes() == 4


ONE_LAYER = """
class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layer = {}
    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("layer", "taken"),
    [
        ("nn.Linear(width, 3)", "randn(1, 8)"),
        ("nn.Embedding(50, width)", "randint(50, (1, 16))"),
        ("nn.Conv2d(3, width, 3)", "randn(1, 3, 64, 64)"),
        ("nn.Conv1d(2, width, 3)", "randn(1, 2, 16)"),
        ("nn.Conv3d(1, width, 3)", "randn(1, 1, 16, 16, 16)"),
        (
            "nn.Sequential(nn.Conv2d(1, 4, 5), nn.Flatten(), nn.Linear(4 * 28 * 28, 2))",
            "randn(1, 1, 32, 32)",
        ),
    ],
)
def test_a_shape_is_taken_where_none_is_given_and_written(layer: str, taken: str) -> None:
    assert read_source(ONE_LAYER.format(layer)).call.line.endswith(f"(torch.{taken})")


@pytest.mark.parametrize(
    "end",
    [
        "5x8",
        "# 5x8",
        "(5, 8)",
        "Net()(torch.randn(5, 8))",
        "net = Net()\ny = net(torch.rand(5, 8))",
    ],
)
def test_a_shape_is_given_in_the_last_line_or_by_a_call(end: str) -> None:
    found = read_source(f"{ONE_LAYER.format('nn.Linear(width, 3)')}\n{end}")
    assert (str(found.term.dom.spec), found.note) == ("b:5 m:8", "")


PYTHON = """
from functools import partial, reduce
from typing import NamedTuple
class Settings:
    def __init__(self, **more):
        self.__setattr__("sizes", more.get("sizes", (4, 6)))
    @property
    def last(self):
        return self.sizes[-1]
    @staticmethod
    def double(n): return 2 * n * (-1) ** 1000 * 1 ** 9**9
    @classmethod
    def make(cls, *sizes): return cls(sizes=[*sizes])
def pairs(values):
    for a, b in zip(values, values[1:]):
        yield a, b
class Base(nn.Module):
    act = staticmethod(torch.tanh) if False else None
    def __init__(self, settings):
        super().__init__()
        try:
            import flash_attn
        except ImportError:
            flash_attn = None
        if flash_attn is None and not hasattr(self, "fast"):
            self.fast = False
        layer = partial(nn.Linear, bias=False)
        for i, (a, b) in enumerate(pairs(settings.sizes), start=1):
            self.add_module(f"step_{i:02d}", layer(a, b))
        self.count = i
        self.names = {f"step_{j:02d}": j for j in range(1, i + 1) if j > 0}
        total = 0
        while True:
            total += 1
            if total % 2: continue
            if total >= settings.double(3): break
        else:
            raise ValueError("never")
        self.total = reduce(lambda a, b: a + b, [1, 2, 3]) + total
class Net(Base):
    def __init__(self, settings):
        super(Net, self).__init__(settings)
        self.end = nn.Linear(settings.last, self.total, bias=self.fast)
        assert self.total == 12, "%d is not 12" % self.total
        assert [self.total and 5, 0 or 7, None or 0, [] and 1] == [5, 7, 0, []]
    def forward(self, x, *, scale=2.0):
        for name in sorted(self.names):
            x = getattr(self, name)(x).relu() if name != "none" else x
        a, *rest = x.shape
        return self.end(x) * scale
Net(Settings.make(3, 5, 7))(torch.ones(2, 3))
"""


def test_python_around_the_layers_is_understood() -> None:
    term = read_source(PYTHON).term
    shapes = re.findall(
        r"Linear\('m:(\d+) -> d:(\d+)'|Linear\('\w+:(\d+) -> \w+:(\d+)'", repr(term)
    )
    assert [tuple(filter(None, one)) for one in shapes] == [("3", "5"), ("5", "7"), ("7", "12")]
    assert "2" in repr(term) and [axis.size for axis in term.cod[0]] == [2, 12]


def test_methods_that_are_not_called_may_hold_anything() -> None:
    more = (
        "\n    def save(self):\n        import pickle; return pickle.dumps(open('a')), exec('b')\n"
    )
    plain = ONE_LAYER.format("nn.Linear(width, 3)")
    assert read_source(plain + more + "5x8").term == read_source(plain + "5x8").term


def test_lines_apart_from_the_module_are_left_out_and_named() -> None:
    text = f"{ONE_LAYER.format('nn.Linear(width, 3)')}\nx = 1 @ 2\nNet()(torch.ones(5, 8))"
    assert read_source(text).note == "Line 9 stands apart from the module, and is left out."


def test_a_module_that_fails_is_drawn_up_to_the_call() -> None:
    text = ONE_LAYER.format("nn.Sequential(nn.Linear(width, 5), nn.ReLU(), nn.Linear(6, 2))")
    found = read_source(f"{text}\nNet()(torch.ones(2, 8))")
    assert "Linear('m:8 -> d:5', 'layer_0'" in repr(found.term)
    assert found.failure is not None and (found.failure.line, found.failure.column) == (7, 16)
    assert found.failure.fact.startswith("RuntimeError: ") and "[2, 5]" in found.failure.fact


@pytest.mark.parametrize(
    ("layer", "note"),
    [
        (
            "nn.utils.weight_norm(nn.Conv1d(4, 8, 3), 'weight', dim=0)",
            "weight_norm is left out: its layers are drawn with plain weights, without the 8 "
            "lengths that torch counts.",
        ),
        (
            "nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 8, 3), dim=None)",
            "weight_norm is left out: its layers are drawn with plain weights, without the 1 "
            "length that torch counts.",
        ),
        (
            "nn.utils.spectral_norm(nn.Conv1d(4, 8, 3), n_power_iterations=2)",
            "spectral_norm is left out: its layers are drawn with plain weights.",
        ),
        ("nn.Sequential(nn.Conv1d(4, 8, 3), nn.BatchNorm1d(8))", ""),  # in its own mode
    ],
)
def test_what_is_drawn_in_another_way_than_torch_runs_it_is_said(layer: str, note: str) -> None:
    source = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = {layer}
    def forward(self, x):
        return self.c(x)
2x4x20"""
    found = read_source(source)
    assert found.note == note
    assert found.term.dom.spec == "b:2 c:4 ~t:20"


def test_a_batch_norm_of_a_text_uses_the_statistics_of_the_batch_as_it_says() -> None:
    found = read_source("nn.Sequential(nn.BatchNorm1d(4), nn.BatchNorm1d(4))\n8x4")
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(0)) * 3 + 2
    normed = ncd.compile(found.term)(x)
    assert found.call.modes.endswith("the mean and the variance of this batch.")
    torch.testing.assert_close(normed.mean(0), torch.zeros(4), rtol=0, atol=1e-5)


def test_lines_have_shapes_up_to_the_one_that_stops_and_there_what_it_is_given() -> None:
    text = """class Net(nn.Module):
    def forward(self, x):
        y = x.transpose(1, 2)
        x = (x + y).transpose(1, 2)
        return x.flatten(1)
Net()(torch.randn(2, 4, 8))
"""
    found = read_source(text)
    assert found.failure is not None and found.failure.line == 4
    assert found.lines == {3: ((2, 8, 4),), 4: ((2, 4, 8), (2, 8, 4))}
