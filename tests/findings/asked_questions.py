"""Public questions about models that fail, with what is to be said, and right models."""

from __future__ import annotations

import json
from pathlib import Path

DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
FIELDS = ("name", "text", "line", "layer", "says", "cured")
QUESTIONS = [tuple(one[field] for field in FIELDS) for one in DATA["failing"]]
RIGHT: list[str] = DATA["right"]
