"""Dates as people write them, and the same dates in one format, as numbers of symbols.

Each line reads like ``november 3 1998``, and is to be written as ``1998-11-03``: what stands first
is found at the end, and a name becomes a number.
"""

from __future__ import annotations

import re
from datetime import date
from string import ascii_lowercase, digits

import torch
from torch import Tensor

from ncd.systems.training.story_grammar import Dice

BLANK = " "
READ_SYMBOLS = f"{BLANK}{digits}{ascii_lowercase}.,/"
START = "▸"  # stands for what is written before the first symbol
WRITTEN_SYMBOLS = f"{digits}-{START}"
DAYS = range(date(1900, 1, 1).toordinal(), date(2100, 1, 1).toordinal())
FIRST_YEAR = 1000  # that has four digits
UNSEEN_EVERY = 8  # one day of so many is kept for tests
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
FORMATS = (
    "{month} {day} {year}",
    "{month} {day}, {year}",
    "{day} {month} {year}",
    "{short} {day} {year}",
    "{day} {short} {year}",
    "{day}.{number}.{year}",
    "{number}/{day}/{year}",
)


def date_lines(
    n: int, s: int, t: int, random: torch.Generator, unseen: bool = False
) -> tuple[Tensor, Tensor]:
    """Generates n dates: the symbols of s places that are read, and of t that are to be written.

    Places behind a date are blank where it is read, and start marks where it is written; what does
    not fit is cut. Every eighth day is ``unseen``.

    >>> read, written = date_lines(1, 18, 10, torch.Generator().manual_seed(0))
    >>> as_symbols(read[0], READ_SYMBOLS), as_symbols(written[0], WRITTEN_SYMBOLS)
    ('30.3.1999', '1999-03-30')
    """
    dice = Dice(random)
    days = [_day(dice, unseen) for _ in range(n)]
    texts = [date_text(dice.pick(FORMATS), day) for day in days]
    return (
        torch.tensor([symbol_numbers(text, READ_SYMBOLS, s) for text in texts]),
        torch.tensor([symbol_numbers(day.isoformat(), WRITTEN_SYMBOLS, t) for day in days]),
    )


def _day(dice: Dice, unseen: bool) -> date:
    number = dice.pick(DAYS[:-UNSEEN_EVERY])
    eighth = number // UNSEEN_EVERY * UNSEEN_EVERY
    if unseen:
        return date.fromordinal(eighth + UNSEEN_EVERY)
    return date.fromordinal(number + (number == eighth))


def date_text(form: str, day: date) -> str:
    """Returns a date in one of the formats.

    >>> [date_text(form, date(1998, 11, 3)) for form in (FORMATS[1], FORMATS[-1])]
    ['november 3, 1998', '11/3/1998']
    """
    name = MONTHS[day.month - 1]
    return form.format(year=day.year, month=name, short=name[:3], number=day.month, day=day.day)


def iso_date(text: str) -> str:
    """Returns a date that is written in one of the formats as ``1998-11-03``; else nothing.

    >>> iso_date("3 nov 1998"), iso_date("3.11.1998"), iso_date("11/3/1998"), iso_date("today")
    ('1998-11-03', '1998-11-03', '1998-11-03', '')
    """
    numbers = [int(number) for number in re.findall("[0-9]+", text)]
    month = next((i for i, name in enumerate(MONTHS, 1) if name[:3] in text), 0)
    if month:
        numbers.insert(0, month)
    elif "." in text:
        numbers[:2] = numbers[1::-1]
    if len(numbers) != 3:
        return ""
    try:
        day = date(numbers[2], numbers[0], numbers[1])
    except (ValueError, OverflowError):
        return ""
    known = {date_text(form, day) for form in FORMATS if day.year >= FIRST_YEAR}
    return day.isoformat() if text in known else ""


def symbol_numbers(text: str, symbols: str, length: int) -> list[int]:
    """Returns the numbers of the symbols of a text, filled up and cut to a length.

    >>> symbol_numbers("3 may", READ_SYMBOLS, 7)
    [4, 0, 23, 11, 35, 0, 0]
    """
    fill = BLANK if symbols == READ_SYMBOLS else START
    return [symbols.index(symbol) for symbol in text[:length].ljust(length, fill)]


def as_symbols(numbers: Tensor, symbols: str) -> str:
    """Returns the symbols of some numbers as a text, without blanks at its end."""
    return "".join(symbols[i] for i in numbers.tolist()).rstrip()


def decoder_inputs(written: Tensor) -> Tensor:
    """Returns what is written before each place (n, t): a start mark, and all but the last symbol.

    >>> decoder_inputs(torch.tensor([[1, 9, 9, 8]])).tolist()
    [[11, 1, 9, 9]]
    """
    start = torch.full_like(written[..., :1], WRITTEN_SYMBOLS.index(START))
    return torch.cat((start, written[..., :-1]), -1)
