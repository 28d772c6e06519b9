"""The tally of a class: one answer a phone, only sums, nothing left behind, and limits."""

from __future__ import annotations

import pytest

from ncd.app.teach import class_tally
from ncd.app.teach.class_tally import (
    IDLE_SECONDS,
    MAX_PHONES,
    MAX_ROOMS,
    Tallies,
    TallyError,
    room_code,
)
from ncd.errors import LimitError, NCDError

KEY, OTHER = "k" * 24, "o" * 24
CODE = room_code(KEY)
ANSWERS = ("2", "3", "4")


def phone(n: int) -> str:
    return f"phone-{n:014}"


class Clock:
    """A clock that a test turns on."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def asked(clock: Clock | None = None) -> Tallies:
    tallies = Tallies(clock or Clock())
    tallies.open(CODE, KEY, "1 + 1?", ANSWERS)
    return tallies


def test_a_phone_has_one_answer_which_it_can_change() -> None:
    tallies = asked()
    for n, answer in ((0, 0), (1, 0), (2, 2), (0, 1), (0, 1)):
        tallies.vote(CODE, phone(n), answer)
    assert tallies.counts(CODE, KEY) == [1, 1, 1]


def test_closing_forgets_all_and_says_the_sums_once_more() -> None:
    tallies = asked()
    tallies.vote(CODE, phone(0), 2)
    assert tallies.close(CODE, KEY) == [0, 0, 1] and tallies.rooms == {}
    for late in (
        lambda: tallies.vote(CODE, phone(0), 1),
        lambda: tallies.counts(CODE, KEY),
        lambda: tallies.close(CODE, KEY),
    ):
        with pytest.raises(TallyError) as error:
            late()
        assert str(error.value) == (
            "no question is open here. Try the next one, which comes by itself."
        )


def test_a_new_question_begins_with_nothing_and_another_number() -> None:
    tallies = asked()
    tallies.vote(CODE, phone(0), 2)
    before = tallies.room(CODE).number
    tallies.open(CODE, KEY, "2 + 2?", ANSWERS)
    assert tallies.counts(CODE, KEY) == [0, 0, 0] and tallies.room(CODE).number > before


def test_only_its_lecturer_sees_a_room_and_closes_it() -> None:
    tallies = asked()
    for key in (OTHER, "", "short", KEY + "\n", "<" * 30):
        for way in (tallies.counts, tallies.close):
            with pytest.raises(TallyError, match="this room is another lecturer's"):
                way(CODE, key)
        with pytest.raises(TallyError, match="this room is another lecturer's"):
            tallies.open(CODE, key, "Mine?", ANSWERS)
    with pytest.raises(TallyError):
        tallies.open("", "", "Mine?", ANSWERS)


@pytest.mark.parametrize(
    ("who", "answer"), [("", 0), ("x" * 500, 0), (phone(0), -1), (phone(0), 3), ("a b" * 9, 0)]
)
def test_what_is_no_answer_is_not_counted(who: str, answer: int) -> None:
    tallies = asked()
    with pytest.raises(TallyError, match="this is no answer to the question"):
        tallies.vote(CODE, who, answer)
    assert tallies.counts(CODE, KEY) == [0, 0, 0]


def test_a_question_without_its_lecturer_is_closed_after_a_minute() -> None:
    clock = Clock()
    tallies = asked(clock)
    clock.now += IDLE_SECONDS - 1
    assert tallies.counts(CODE, KEY) == [0, 0, 0]  # looking at it keeps it open
    clock.now += IDLE_SECONDS - 1
    tallies.vote(CODE, phone(0), 0)  # answering does not
    clock.now += 2
    with pytest.raises(TallyError):
        tallies.vote(CODE, phone(1), 0)
    assert tallies.rooms == {}


def test_a_flood_of_phones_is_refused_and_those_before_may_change() -> None:
    tallies = asked()
    for n in range(MAX_PHONES):
        tallies.vote(CODE, phone(n), 0)
    with pytest.raises(LimitError) as error:
        tallies.vote(CODE, phone(MAX_PHONES), 0)
    assert str(error.value) == "1,000 phones have answered. Try the next question."
    tallies.vote(CODE, phone(0), 1)
    assert tallies.counts(CODE, KEY) == [MAX_PHONES - 1, 1, 0]


def test_a_flood_of_rooms_is_refused_and_those_before_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    tallies = asked(clock)
    keys = [f"lecturer-{n:014}" for n in range(MAX_ROOMS)]
    for key in keys[:-1]:
        tallies.open(room_code(key), key, "?", ANSWERS)
    with pytest.raises(LimitError, match="100 classes are asked already"):
        tallies.open(room_code(keys[-1]), keys[-1], "?", ANSWERS)
    tallies.open(CODE, KEY, "And now?", ANSWERS)  # one that is there may ask again
    clock.now += IDLE_SECONDS + 1
    tallies.open(room_code(keys[-1]), keys[-1], "?", ANSWERS)  # the others were left alone
    assert len(tallies.rooms) == 1
    with pytest.raises(NCDError, match="this question has 9 answers"):
        tallies.open(CODE, KEY, "?", "abcdefghi")
    assert class_tally.MAX_ANSWERS == 8


def test_a_code_does_not_tell_its_key_and_keys_have_codes_of_their_own() -> None:
    codes = {room_code(f"lecturer-{n:014}") for n in range(500)}
    assert len(codes) == 500 and all(len(code) == 12 for code in codes)
