"""Settings that the language models of the catalogue share: sizes small enough to run."""

from __future__ import annotations

from ncd.models.catalogue_entry import Knob

SECTION = "Language models"
WIDTH = 900.0  # a layer in one row
MAPS = "up to 32, so that every map stays readable"

LAYERS = Knob("n", 1, 6, 2, help="layers", reason="12 to 80 in published models", most=48)
POSITIONS = Knob("t", 1, 32, 12, help="positions", reason=MAPS)
FEATURES = Knob(
    "m", 8, 256, 64, 8, "features of a position", "2,048 to 8,192 in published models", least=1
)
HEADS = Knob("h", 1, 16, 4, help="heads", reason="12 to 32 in published models")
GROUPS = Knob("g", 1, 8, 2, help="heads of keys and values", reason="8 in large models")
QUERIES = Knob("q", 1, 8, 2, help="queries for each of them", reason="with 1, plain multi-head")
HEAD = Knob("k", 1, 64, 16, help="features of a head", reason="64 to 256 in published models")
TURNED = Knob(
    "k",
    2,
    64,
    16,
    step=2,
    help="features of a head",
    reason="even, as they turn in pairs",
    multiple=2,
)
HIDDEN = Knob("d", 8, 512, 128, 8, "hidden features", "about 3 to 4 · m", least=1)
TABLE = Knob("u", 32, 256, 64, 8, "positions that have a vector", "512 or 1,024 as published")
WORDS = Knob("v", 8, 1024, 256, 8, "words", "30,000 to 256,000 in published models", least=1)
EXPERTS = Knob("e", 4, 16, 8, help="experts", reason="8 to 64 in published models")
CHOSEN = Knob("c", 1, 4, 2, help="experts for a position", reason="2 to 6 in published models")
