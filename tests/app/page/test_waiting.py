"""One visitor does not wait for another, and what nobody needs is given back."""

import gc
import weakref
from threading import Event, Thread

import pytest
import torch
from cachetools import LRUCache

import ncd
from ncd.app.host import serve
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.state.cache import LIMIT, RUN, get_or_make, size_of


class Ring:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def thawed() -> object:
    """Python's own collection, as it was."""
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_an_idle_moment_frees_what_was_there_at_the_last_one() -> None:
    ring = Ring()
    seen = weakref.ref(ring)
    serve.collect_garbage()
    assert seen() is ring
    assert gc.get_freeze_count() > 0  # not walked again by what collects under load
    del ring
    serve.collect_garbage(every=False)
    assert seen() is not None
    serve.collect_garbage()
    assert seen() is None
    lost = weakref.ref(Ring())
    serve.collect_garbage(every=False)
    assert lost() is None


def test_a_long_run_leaves_room_for_others() -> None:
    begun, over = Event(), Event()

    def long() -> bool:
        begun.set()
        return over.wait(60)

    first = Thread(target=lambda: run_in_thread(long, long=True))
    first.start()
    assert begun.wait(60)
    assert run_in_thread(lambda: 1 + 1) == 2
    assert not over.is_set()
    over.set()
    first.join(60)


def test_many_small_runs_are_not_all_kept() -> None:
    term = ncd.Id("m:3") >> ncd.Linear("m -> n:2", "W")
    module = ncd.compile(term)
    trace = ncd.trace(module, torch.zeros(3))
    assert size_of(module) > RUN and size_of(trace) > RUN
    shelf = LRUCache(LIMIT, getsizeof=size_of)
    for i in range(2000):
        get_or_make(shelf, (i,), lambda: trace)
    assert len(shelf) < 600


def test_a_rest_comes_once_after_a_while_in_which_nothing_is_made(monkeypatch) -> None:
    counts = iter([0, 0, 900, 900, 910, 900, 905, 905, 905, 905, 5_000, 0])
    monkeypatch.setattr(serve, "PERIOD", 0)
    monkeypatch.setattr(serve.gc, "get_count", lambda: (next(counts), 0, 0))
    looks = serve.resting()
    assert [next(looks) for _ in range(10)] == [*[False] * 5, True, *[False] * 4]
