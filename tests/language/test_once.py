"""Once: a value that is kept with its object, for which nobody else waits; a key hashed once."""

from threading import Event, Thread

import pytest

from ncd.language.cached_property import HashedKey, lazy_property


class Slow:
    def __init__(self, waits: Event | None = None) -> None:
        self.waits, self.times = waits, 0

    @lazy_property
    def value(self) -> int:
        """What takes long."""
        self.times += 1
        if self.waits is not None:
            assert self.waits.wait(10)
        return 7


def test_it_is_worked_out_once():
    slow = Slow()
    assert (slow.value, slow.value, slow.times) == (7, 7, 1)
    assert Slow.value.__doc__ == "What takes long."


def test_what_fails_is_asked_again():
    class Failing:
        times = 0

        @lazy_property
        def value(self) -> int:
            self.times += 1
            return 1 // (self.times - 1)

    failing = Failing()
    with pytest.raises(ZeroDivisionError):
        failing.value  # noqa: B018
    assert failing.value == 1


def test_objects_of_a_class_do_not_wait_for_each_other():
    going = Event()
    held = Slow(going)
    first = Thread(target=lambda: held.value, daemon=True)
    first.start()
    found: list[int] = []
    second = Thread(target=lambda: found.append(Slow().value), daemon=True)
    second.start()
    second.join(5)
    assert found == [7]
    going.set()
    first.join(5)
    assert held.__dict__["value"] == 7


def test_a_key_is_hashed_once():
    class Part:
        times = 0

        def __hash__(self) -> int:
            self.times += 1
            return 1

    part = Part()
    kept = {HashedKey("all", part): 7}
    again = HashedKey("all", part)
    assert [kept[again] for _ in range(5)] == [7] * 5
    assert part.times == 2
    assert HashedKey("all") not in kept and ("all", part) not in kept
