"""The names that the editor completes are those that there are, each behind its own prefix."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from ncd.text.reader import NAMES
from ncd.view.editor.completions import completions


def test_behind_a_prefix_stand_names_of_torch() -> None:
    known = completions()
    for prefix, owner in (("nn.", nn), ("F.", F), ("torch.", torch)):
        labels = [each["label"] for each in known[prefix]]
        assert len(labels) > 10 and all(hasattr(owner, label) for label in labels)


def test_behind_nothing_stand_names_of_the_language_with_what_they_need() -> None:
    known = {each["label"]: each for each in completions()[""]}
    assert {*known} == {name for name in NAMES if name.isidentifier()} < {*NAMES}
    assert known["Linear"]["detail"].startswith("(") and known["Linear"]["info"].endswith(".")
