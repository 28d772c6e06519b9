"""Limits of lessons, lines and training, at their edges."""

from __future__ import annotations

import pytest

from ncd.systems.catalogue import CATALOGUE
from ncd.systems.lessons import lesson
from ncd.systems.lessons.lesson import Lesson, LessonStep
from ncd.systems.tensors import einops_patterns
from ncd.systems.training import plane_training
from ncd.systems.training.plane_training import PlaneTraining
from tests.support.limits import Limit

LESSON = Lesson((LessonStep("unet"),)).json()
LINE = 'rearrange(ims, "b h w (c n) -> b n h w c", n=3)'
LIMITS = (
    Limit(
        lesson,
        "FILE",
        len(LESSON),
        lambda: Lesson.of_json(LESSON, CATALOGUE),
        f"the file has {len(LESSON)} letters, at most {len(LESSON) - 1} are read. Try fewer views.",
    ),
    Limit(
        einops_patterns,
        "LENGTH",
        3,
        lambda: einops_patterns.read(LINE, ["ims"]),
        "the length of n is a whole number from 1 to 2. Try n=2.",
    ),
    Limit(
        plane_training,
        "WIDEST",
        4,
        lambda: PlaneTraining("mlp-geometry", {"p1": 4}),
        "p1 is 4, and at most 3 hidden units are trained here. Try p1 = 3.",
    ),
)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_what_is_larger_than_a_limit_is_refused(limit: Limit) -> None:
    limit.check()
