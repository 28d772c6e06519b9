"""Lessons from the files of ``assets/lessons``; systems without a file have one made from them."""

from __future__ import annotations

from functools import lru_cache

from ncd.bundled_files import bundled
from ncd.lessons.default_lesson import default_lesson
from ncd.lessons.lesson import Lesson
from ncd.models import CATALOGUE, Entry

FOLDER = bundled("assets", "lessons")


def lesson_of(entry: Entry) -> Lesson:
    """Returns the lesson of a system.

    >>> import ncd
    >>> lesson_of(ncd.catalogue["unet"]).views[0].page
    'unet'
    """
    return written().get(entry.name) or _default(entry)


@lru_cache(1)
def written() -> dict[str, Lesson]:
    """Returns the lessons that have a file, by the name of their system."""
    files = sorted(FOLDER.glob("*.json"))
    return {file.stem: Lesson.of_json(file.read_text(), CATALOGUE) for file in files}


@lru_cache(128)
def _default(entry: Entry) -> Lesson:
    return Lesson(default_lesson(entry))
