"""Limits of the interpreter at their edges: the last that passes, the first that is refused."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ncd.notation.term_reader import TextError
from ncd.read.python_source import functions_and_classes, usual_sizes
from ncd.read.python_source.source_reader import new_machine, read_source
from tests.support.hostile import hostile
from tests.support.sampling import count

SOURCE = """from torch import nn, ones
def down(n):
    return 0 if n == 0 else down(n - 1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.a = {expression}
    def forward(self, x):
        return self.layer(x)
Net()(ones(3, 4))
"""
BITS = "a whole number has more than 256 bits. Try a smaller one."
REPEATED = "it is repeated too often. Try fewer repetitions."
LONG = "it becomes too long. Try less."
EDGES = {
    "a shift": ("1 << 255", "1 << 256", BITS),
    "a power": ("3 ** 128", "3 ** 129", BITS),
    "a sum": ("(1 << 255) + ((1 << 255) - 1)", "(1 << 255) + (1 << 255)", BITS),
    "a product": ("(1 << 254) * 3", "(1 << 255) * 3", BITS),
    "a negative number": ("1 - (1 << 255) - (1 << 255)", "0 - (1 << 255) - (1 << 255)", BITS),
    "a repeated list": ("[0] * 100_000", "[0] * 100_001", REPEATED),
    "a list repeated from the left": ("50_000 * [0, 0]", "50_001 * [0, 0]", REPEATED),
    "a repeated tuple": ("(0, 0) * 50_000", "(0, 0) * 50_001", REPEATED),
    "two lists": ("[0] * 60_000 + [0] * 40_000", "[0] * 60_000 + [0] * 40_001", LONG),
    "two tuples": ("(0,) * 60_000 + (0,) * 40_000", "(0,) * 60_000 + (0,) * 40_001", LONG),
    "a repeated text": ("'ab' * 10_000", "'ab' * 10_001", REPEATED),
    "two texts": ("'a' * 15_000 + 'b' * 5_000", "'a' * 15_000 + 'b' * 5_001", LONG),
    "a loop": (
        "len([*range(100_000)])",
        "len([*range(100_001)])",
        "it goes through more than 100,000 things. Try a smaller one.",
    ),
    "numbers of a tensor": (
        "ones(2 ** 21).repeat(2)",
        "ones(2 ** 21 + 1).repeat(2)",
        "it computes a tensor of 4,194,306 numbers. Try smaller sizes.",
    ),
    "calls of calls": (
        "down(38)",
        "down(39)",
        "functions call each other more than 40 deep. Try a loop.",
    ),
}


@pytest.mark.parametrize(
    "expression",
    ["self", "nn.Sequential(); self.a.append(self.a)", "nn.ModuleList(); self.a.extend([self])"],
)
def test_a_module_is_no_part_of_itself(expression: str) -> None:
    with pytest.raises(TextError) as error:
        read_source(SOURCE.format(expression=expression))
    assert str(error.value).endswith("a module cannot be a part of itself. Try another module.")
    assert error.value.line == 8


def test_a_layer_that_no_memory_holds_is_refused_at_its_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*sizes: int, **more: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: 40000000000 bytes")

    monkeypatch.setattr("torch.nn.modules.batchnorm.torch.ones", full)
    with pytest.raises(TextError) as error:
        read_source(SOURCE.format(expression="nn.BatchNorm2d(10**10)"))
    assert str(error.value).endswith("it needs too much memory. Try smaller sizes.")


@pytest.mark.parametrize("name", EDGES)
def test_a_limit_at_its_edge(name: str) -> None:
    allowed, beyond, words = EDGES[name]
    read_source(SOURCE.format(expression=allowed))
    with pytest.raises(TextError) as error:
        read_source(SOURCE.format(expression=beyond))
    assert str(error.value).endswith(words)


SEVERAL = """from torch import nn, ones
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Part() for _ in range({parts})])
    def forward(self, x):
        return self.layers[0](x)
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
    def forward(self, x):
        return self.layer(x)
{more}
Net()(ones(3, 4))
"""


def test_classes_and_their_objects_are_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions_and_classes, "MODULES", 4)
    monkeypatch.setattr(functions_and_classes, "CLASSES", len(new_machine().classes) + 3)
    read_source(SEVERAL.format(parts=3, more="class Third: pass"))
    with pytest.raises(TextError, match=r"it makes more than 4 modules\. Try fewer layers"):
        read_source(SEVERAL.format(parts=4, more=""))
    with pytest.raises(TextError, match=r"it has more than \d+ classes\. Try fewer"):
        read_source(SEVERAL.format(parts=3, more="class Third: pass\nclass Fourth: pass"))


HELD = """from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {settings}
        self.layer = nn.Identity()
    def forward(self, x{more}):
        return self.layer(x{key})
"""


@pytest.mark.parametrize(
    ("settings", "more", "key"),
    [
        ("self.channels, self.image_size, self.num_frames = 3, 64, 10**8", "", ""),
        ("self.channels, self.seq_len = 3, 10**9", "", ""),
        ("self.channels, self.seq_len = 3, -1", "", ""),
        ("self.low_channels = 10**8", "", "['low']"),
        ("self.in_channels = (10**8, 10**8)", "", "[0]"),
        ("self.d_model = -1", ", context", ""),
        ("self.d_model = 10**9", ", context", ""),
    ],
)
def test_assumed_inputs_are_neither_empty_nor_too_large(settings: str, more: str, key: str) -> None:
    reading = read_source(HELD.format(settings=settings, more=more, key=key))
    assert reading.failure is None and reading.shapes


def test_an_argument_that_is_handed_on_often_is_followed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uses, seen = usual_sizes._uses, []

    def counted(node: ast.AST, name: str) -> Iterator[tuple[str, int | str]]:
        seen.append(name)
        return uses(node, name)

    monkeypatch.setattr(usual_sizes, "_uses", counted)
    lines = "        self.a = A(x)\n" * 50
    head = "from torch import nn\nclass A(nn.Module):\n    def __init__(self, x):\n"
    source = f"{head}{lines}    def forward(self, y):\n        return y\n"
    with pytest.raises(TextError, match="functions call each other more than 40 deep"):
        read_source(source)
    assert 0 < len(seen) < 50


def test_a_long_sum_is_no_error_of_python() -> None:
    with pytest.raises(TextError, match="it is nested more than 90 deep"):
        read_source(f"x = torch.ones(2)\n{' + '.join(['x'] * 600)}")


# --- Hostile sources: nothing runs, nothing is read or sent, and each ends with a term or an error


def watched(mutations: int) -> dict[str, object]:
    """Returns what was seen while all hostile sources and some mutations were read."""
    command = [sys.executable, "-m", "tests.support.watched", str(mutations)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_there_are_over_two_hundred_of_them() -> None:
    assert len({*hostile()}) > 200


def test_nothing_runs_and_each_is_read_or_refused() -> None:
    found = watched(count(40, 2000))
    assert found["seen"] == {} and found["wrong"] == []
    said = found["count"]
    assert isinstance(said, dict) and {*said} == {"read", "refused"}
    assert said["refused"] > 200 and said["read"] > 20
