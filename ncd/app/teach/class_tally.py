"""Tallies of a class: a question that is open, and how many phones have chosen each answer.

A room exists only while its question is open: closing it, or a lecturer who is away for a minute,
forgets everything. Only the sums leave it. All of it stays in the memory of one process, and within
limits: a full server refuses, and drops nothing that is open.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from ncd.errors import LimitError, NCDError

MAX_ROOMS = 100  # questions that are open at the same time
MAX_PHONES = 1000  # phones in a room
MAX_ANSWERS = 8  # answers of a question
IDLE_SECONDS = 60.0  # seconds without its lecturer after which a question is closed
KEY = re.compile(r"[A-Za-z0-9_-]{20,64}")  # of a lecturer, or of a phone
CODE_LENGTH = 12


class TallyError(NCDError):
    """Nothing is counted: the question is closed, or somebody else's."""


@dataclass
class Room:
    """An open question, and the answer of each phone by the phone's key.

    ``number`` is larger for each new question of a room, so that phones see that it is another.
    """

    question: str
    answers: Sequence[str]
    number: int
    last_look: float
    votes: dict[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> list[int]:
        """The number of phones that chose each answer."""
        chosen = [*self.votes.values()]
        return [chosen.count(n) for n in range(len(self.answers))]


@dataclass
class Tallies:
    """The rooms of a process, by their codes.

    >>> tallies, key = Tallies(), "a" * 20
    >>> code = room_code(key)
    >>> tallies.open(code, key, "1 + 1?", ("2", "3"))
    >>> tallies.vote(code, "b" * 20, 1)
    >>> tallies.vote(code, "b" * 20, 0)  # a phone may think again
    >>> tallies.counts(code, key), tallies.close(code, key), tallies.rooms
    ([1, 0], [1, 0], {})
    """

    clock: Callable[[], float] = time.monotonic
    rooms: dict[str, Room] = field(default_factory=dict)
    last_number: int = 0

    def open(self, code: str, key: str, question: str, answers: Sequence[str]) -> None:
        """Opens a question in the room of a key, in place of the one before."""
        self._check(code, key)
        self._forget_idle()
        if len(self.rooms) >= MAX_ROOMS and code not in self.rooms:
            fact = f"{MAX_ROOMS} classes are asked already"
            raise LimitError(fact, cure="another try in a minute")
        if not 2 <= len(answers) <= MAX_ANSWERS:
            fact = f"this question has {len(answers)} answers"
            raise LimitError(fact, cure=f"one with 2 to {MAX_ANSWERS}")
        now = self.clock()  # a process that has begun anew counts on from there
        self.last_number = max(self.last_number + 1, int(1000 * now))
        self.rooms[code] = Room(question, answers, self.last_number, now)

    def vote(self, code: str, phone: str, answer: int) -> None:
        """Counts the answer of a phone, in place of the one that it gave before."""
        room = self.room(code)
        if not KEY.fullmatch(phone) or answer not in range(len(room.answers)):
            raise TallyError("this is no answer to the question", cure="the page opened anew")
        if phone not in room.votes and len(room.votes) >= MAX_PHONES:
            raise LimitError(f"{MAX_PHONES:,} phones have answered", cure="the next question")
        room.votes[phone] = answer

    def counts(self, code: str, key: str) -> list[int]:
        """Returns the sums for the lecturer, whose question stays open by it."""
        self._check(code, key)
        room = self.room(code)
        room.last_look = self.clock()
        return room.counts

    def close(self, code: str, key: str) -> list[int]:
        """Returns the sums for the last time, and forgets the question and all answers."""
        found = self.counts(code, key)
        del self.rooms[code]
        return found

    def room(self, code: str) -> Room:
        """Returns an open room.

        Raises:
            TallyError: If there is none.
        """
        self._forget_idle()
        if code not in self.rooms:
            raise TallyError("no question is open here", cure="the next one, which comes by itself")
        return self.rooms[code]

    def _check(self, code: str, key: str) -> None:
        if not code or code != room_code(key):
            raise TallyError("this room is another lecturer's", cure="a room of one's own")

    def _forget_idle(self) -> None:
        oldest = self.clock() - IDLE_SECONDS
        for code in [code for code, room in self.rooms.items() if room.last_look < oldest]:
            del self.rooms[code]


def room_code(key: str) -> str:
    """Returns the code of the room that belongs to a key, which it does not give away.

    >>> room_code("a" * 20)
    '42492da06234'
    >>> room_code("short")
    ''
    """
    return sha256(key.encode()).hexdigest()[:CODE_LENGTH] if KEY.fullmatch(key) else ""
