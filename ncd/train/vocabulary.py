"""The words of the proofreader, by kind."""

from __future__ import annotations

SINGULAR = ("cat", "dog", "bird", "key", "box", "book", "letter", "picture")
PLURAL = ("cats", "dogs", "birds", "keys", "boxes", "books", "letters", "pictures")
PLACES = ("wall", "garden", "table", "house", "window", "door")
PREPOSITIONS = ("near", "behind", "on", "by")
WOMEN = ("Anna", "Emma", "Mary", "Lucy")
MEN = ("Tom", "Ben", "Paul", "Max")
SURNAMES = ("Hill", "Stone", "Wood", "Park", "Young")
IS, ARE = ("is", "was", "sleeps", "sings", "falls"), ("are", "were", "sleep", "sing", "fall")
ADJECTIVES = ("old", "small", "new", "red", "quiet")
SAW, SAID, FELL = ("saw", "found", "liked"), ("said", "asked"), ("fell", "shone")
OPEN, CLOSE = ("“", "‘"), ("”", "’")
HE, IT, MR = ("he", "she"), ("it", "they"), ("Mr", "Mrs")
END = "."  # also fills what is left at the end
OTHERS = (END, ",", "The", "the", "and", "because", "wanted")

WORDS = (
    *OTHERS,
    *(*OPEN, *CLOSE, *HE, *IT, *MR, *SAW, *SAID, *FELL),
    *(*SINGULAR, *PLURAL, *PLACES, *PREPOSITIONS, *WOMEN, *MEN, *SURNAMES, *IS, *ARE, *ADJECTIVES),
)
NUMBER = {word: i for i, word in enumerate(WORDS)}
