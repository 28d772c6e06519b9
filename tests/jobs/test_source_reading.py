"""Sources are read in processes of their own, which the system ends when they take too much."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from ncd.jobs.source_job import BUILDING, MEMORY, SECONDS
from ncd.jobs.source_reading import Reader
from ncd.language.terms import Id
from ncd.notation.term_reader import TextError
from ncd.ops import Elementwise

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {first}
    def forward(self, x):
        {second}
        return x.relu()
2x3
"""
TOO_MUCH = (
    f"line 1, column 1: it takes more than {SECONDS} seconds of computing, or 200 MB. "
    "Try fewer layers, or smaller sizes."
)


def net(first: str = "pass", second: str = "pass") -> str:
    return NET.format(first=first, second=second)


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    made = Reader()
    yield made
    if made.workers.helper is not None:
        made.workers.helper.line.close()
        made.workers.helper.process.wait(20)


def refusal(reader: Reader, text: str) -> str:
    with pytest.raises(TextError) as error:
        reader.read(text)
    return str(error.value)


def test_a_source_gives_its_term(reader: Reader) -> None:
    found = reader.read(net())
    assert found.term == Id("b:2 m:3") >> Elementwise("relu")
    assert (found.note, found.failure) == ("", None)


def test_a_busy_machine_is_no_fault_of_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not remembered as one."""
    own = Reader()
    silent = SimpleNamespace(
        line=SimpleNamespace(settimeout=lambda _: None), news=tuple, end=lambda: None
    )
    monkeypatch.setattr(own.workers, "start", lambda _: silent)
    monkeypatch.setattr("ncd.jobs.source_reading.PATIENCE", 0.0)
    busy = "line 1, column 1: the machine is busy, and read nothing in a minute. Try it again."
    assert refusal(own, net()) == busy
    monkeypatch.undo()
    monkeypatch.setattr(own.workers, "start", lambda _: silent)
    assert refusal(own, net()) == TOO_MUCH


def test_an_answer_is_kept_and_so_is_a_refusal(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = net(first="self.a = nn.Linaer(2, 3)")
    said = refusal(reader, wrong)
    first = reader.read(net())

    def none(kind: str, text: str) -> bytes | None:
        raise AssertionError("another process is started")

    monkeypatch.setattr(reader, "_result", none)
    assert reader.read(net()) is first
    assert refusal(reader, wrong) == said
    assert said == "line 5, column 18: Linaer of torch.nn is not understood here. Try Linear."


def test_the_place_of_an_error_comes_through(reader: Reader) -> None:
    with pytest.raises(TextError) as error:
        reader.read(net(second="x = x.reluu()"))
    assert (error.value.line, error.value.column, error.value.end) == (7, 13, (7, 20))


LONG = "self.a = torch.ones(1500, 1500); [(self.a @ self.a).sum() for _ in range(5000)]"


def test_a_source_that_computes_too_long_is_ended_and_the_next_is_read(reader: Reader) -> None:
    assert BUILDING < SECONDS
    assert refusal(reader, net(first=LONG)) == TOO_MUCH
    assert reader.read(net(second="y = 3")).term == reader.read(net()).term


SLOW = f"""
class Part(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.map = nn.Linear(width, 4)
    def forward(self, x):
        return self.map(x)
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        {LONG}
    def forward(self, x):
        return self.part(x)
"""


def test_of_a_source_that_takes_too_long_a_part_is_read_and_told(reader: Reader) -> None:
    found = reader.read(SLOW)
    assert (found.call.drawn, found.shapes) == ("Part", ((1, 4),))
    assert "Whole is not drawn: it takes more than 6 seconds of computing" in found.note
    assert refusal(reader, f"{SLOW}1x3") == TOO_MUCH, "what is given a shape is not replaced"


@pytest.mark.parametrize("count", [2, 100])
def test_a_source_has_a_bounded_memory(reader: Reader, count: int) -> None:
    """Twice the memory at once is refused by the system, as are many parts that are kept."""
    numbers = MEMORY // 4 * 2 // count
    side = int(numbers**0.5)
    line = f"self.a = [(torch.ones({side}, 1) + torch.ones(1, {side})) for _ in range({count})]"
    said = refusal(reader, net(first=line))
    assert said.startswith("line 5, column ") and ("memory" in said or "numbers" in said)


def test_nothing_is_left_of_a_source_for_the_next(reader: Reader) -> None:
    first = "self.a = 1; torch.ones = 3; nn.Linear.forward = print; math.pi = 3"
    with pytest.raises(TextError):
        reader.read(net(first=first))
    assert reader.read(net(first="self.a = torch.ones(2) * math.pi")).failure is None


def test_a_text_that_is_too_long_starts_nothing() -> None:
    reader = Reader()
    said = refusal(reader, "class A: pass\n" * 15000)
    assert said.startswith("line 1, column 1: it has 210,000 letters, at most 200,000 are read.")
    assert reader.workers.helper is None
