"""Random choices from a generator of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor

# --- Random choices from a generator of torch


DRAW_COUNT = 1024  # numbers that are drawn at once
T = TypeVar("T")


class Dice:
    """Random choices from a generator of torch.

    >>> Dice(torch.Generator().manual_seed(0)).pick("abc")
    'b'
    """

    def __init__(self, random: torch.Generator) -> None:
        self.draws = self._draw_numbers(random)

    def _draw_numbers(self, random: torch.Generator) -> Iterator[float]:
        while True:
            yield from torch.rand(DRAW_COUNT, generator=random).tolist()

    def random(self) -> float:
        """Returns a number from 0 to 1."""
        return next(self.draws)

    def pick(self, among: Sequence[T]) -> T:
        """Returns one of several."""
        return among[int(self.random() * len(among))]


# --- Small stories from a seed, for language models: their words, and the grammar that writes them

# In each story something that comes later follows from what stands before it: the number of a verb,
# the pronoun of a person, a surname, a closing quotation mark, a sum, a rhyme, the next day.


# --- The words, most of them by kind

END, BLANK = "¶", "_"  # ends a story; stands for a hidden word
WOMEN = ("Anna", "Emma", "Mary", "Lucy", "Mia", "Ida")
MEN = ("Tom", "Ben", "Paul", "Max", "Sam", "Leo")
SURNAMES = ("Hill", "Stone", "Wood", "Young", "King")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
COLOURS = ("red", "blue", "green", "yellow", "white", "black")
FRUIT = {"apple": "apples", "pear": "pears", "egg": "eggs", "cake": "cakes"}
TOYS = {"ball": "balls", "book": "books", "key": "keys", "cup": "cups", "hat": "hats"}
ANIMALS = {"cat": "cats", "dog": "dogs", "hen": "hens", "fox": "foxes", "mouse": "mice"} | {
    "bear": "bears",
    "bee": "bees",
    "goat": "goats",
    "duck": "ducks",
    "bird": "birds",
}
RHYMES = {"cat": "mat", "dog": "log", "hen": "pen", "fox": "box", "mouse": "house"} | {
    "bear": "chair",
    "bee": "tree",
    "goat": "boat",
    "duck": "truck",
}
PLURALS = FRUIT | TOYS | ANIMALS
CONTAINERS = ("box", "bag", "basket", "boat", "house")
PLACES = ("door", "tree", "river", "house", "table", "window")
OUTING_PLACES = (
    "in the park",
    "in the garden",
    "by the river",
    "near the school",
    "in the kitchen",
)
LOOKS = ("old", "new", "big", "small")
DEEDS = {"sleeps": "sleep", "sings": "sing", "runs": "run", "sits": "sit"}
NEEDS = {  # what somebody is, and what helps
    "hungry": ("an apple", "a pear", "an egg", "a cake"),
    "cold": ("a coat", "a hat"),
    "thirsty": ("a cup of water", "a cup of milk"),
    "sad": ("a ball", "a book"),
}
OTHERS = (
    ". , ? ! “ ” The the a an and but in on On near by to of with because He he She she It it "
    "They they I you them him her his them are is am has have does not more left Now Then So "
    "Where What Who Does Yes No too all day night Mr Mrs Good morning Thank says asks meets go "
    "goes sees finds puts takes gives eats opens likes like wants play there There happy "
    "friends home"
)


def _every_word() -> tuple[str, ...]:
    """Returns all words, each once."""
    helps = (word for every in NEEDS.values() for words in every for word in words.split())
    kinds = (*WOMEN, *MEN, *SURNAMES, *NUMBERS, *DAYS, *COLOURS, *PLURALS, *PLURALS.values())
    visited = (word for phrase in OUTING_PLACES for word in phrase.split())
    where = (*RHYMES.values(), *CONTAINERS, *PLACES, *visited)
    deeds = (*LOOKS, *DEEDS, *DEEDS.values(), *NEEDS, *helps)
    return tuple(dict.fromkeys((END, BLANK, *OTHERS.split(), *kinds, *where, *deeds)))


STORY_WORDS = _every_word()
NUMBER = {word: i for i, word in enumerate(STORY_WORDS)}

# --- Parts of sentences


def number_of_things(number: int, thing: str) -> str:
    """Returns a number of things.

    >>> number_of_things(1, "apple"), number_of_things(3, "mouse")
    ('one apple', 'three mice')
    """
    return f"{NUMBERS[number - 1]} {thing if number == 1 else PLURALS[thing]}"


def with_article(word: str) -> str:
    """Returns a word with its indefinite article.

    >>> with_article("egg"), with_article("pear")
    ('an egg', 'a pear')
    """
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _person(dice: Dice, *, but: str = "") -> tuple[str, str]:
    """Returns the name of somebody, another one than ``but``, and the pronoun."""
    woman = dice.random() < 0.5
    names = [name for name in (WOMEN if woman else MEN) if name != but]
    return dice.pick(names), "she" if woman else "he"


def _two_people(dice: Dice) -> tuple[str, str, str, str]:
    """Returns the names and pronouns of two people."""
    one, he = _person(dice)
    two, other = _person(dice, but=one)
    return one, he, two, other


def _pick_different(dice: Dice, words: tuple[str, ...], count: int) -> list[str]:
    """Returns different words."""
    left, found = [*words], list[str]()
    for _ in range(count):
        found.append(dice.pick(left))
        left.remove(found[-1])
    return found


def _title(dice: Dice, surname: str) -> str:
    return f"{dice.pick(('Mr', 'Mrs'))} {surname}"


OBJECTS = {"he": "him", "she": "her"}
OWNERS = {"he": "his", "she": "her"}

# --- The kinds of stories, each a function that returns one as words between spaces


def _sum(dice: Dice) -> str:
    """Somebody has some things, and finds, gives or eats others."""
    (one, he, two, _), thing = _two_people(dice), dice.pick([*FRUIT, *TOYS])
    first, more = dice.pick(range(2, 8)), dice.pick(range(1, 4))
    if (kind := dice.pick(range(3))) == 0:
        rest = f"{he.title()} finds {NUMBERS[more - 1]} more ."
        now = f"Now {he} has {number_of_things(first + more, thing)} ."
        return f"{one} has {number_of_things(first, thing)} . {rest} {now}"
    more = min(more, first - 1)
    left = first - more
    if kind == 1:
        rest = f"{he.title()} gives {NUMBERS[more - 1]} to {two} ."
        now = f"Now {he} has {number_of_things(left, thing)} and {two} has {NUMBERS[more - 1]} ."
        return f"{one} has {number_of_things(first, thing)} . {rest} {now}"
    food = dice.pick([*FRUIT])
    verb = "is" if left == 1 else "are"
    rest = (
        f"{one} eats {NUMBERS[more - 1]} . Now there {verb} {number_of_things(left, food)} left ."
    )
    return f"There are {number_of_things(first, food)} on the table . {rest}"


def _search(dice: Dice) -> str:
    """Somebody puts a thing away, and somebody else looks for it."""
    (one, _, two, _), where = _two_people(dice), dice.pick(CONTAINERS)
    thing, many = dice.pick([*TOYS]), dice.random() < 0.5
    named = f"{dice.pick(COLOURS)} {TOYS[thing] if many else thing}"
    is_, it = ("are", "They") if many else ("is", "It")
    asked = f"“ Where {is_} the {named} ? ” asks {two} ."
    told = f"“ {it} {is_} in the {where} , ” says {one} ."
    seen = dice.pick(("them" if many else "it", f"the {named}"))
    found = f"{two} opens the {where} and finds {seen} ."
    begin = f"{one} puts the {named} in the {where} ."
    return f"{begin} {asked} {told}" + (f" {found}" if dice.random() < 0.5 else "")


def _description(dice: Dice) -> str:
    """Sentences whose verb agrees with a noun that stands further back."""
    return " ".join(_statement(dice) for _ in range(3))


def _statement(dice: Dice) -> str:
    thing, many = dice.pick([*PLURALS]), dice.random() < 0.5
    noun = PLURALS[thing] if many else thing
    near = f"{dice.pick(('near', 'by'))} the {dice.pick(PLACES)} " if dice.random() < 0.7 else ""
    if thing in ANIMALS and dice.random() < 0.5:
        deed = dice.pick([*DEEDS])
        return f"The {noun} {near}{DEEDS[deed] if many else deed} ."
    look = dice.pick((*LOOKS, *COLOURS))
    return f"The {noun} {near}{'are' if many else 'is'} {look} ."


def _rhyme(dice: Dice) -> str:
    """Animals sit where it rhymes."""
    animals = _pick_different(dice, tuple(RHYMES), 3)
    lines = " ".join(f"The {animal} sits on the {RHYMES[animal]} ." for animal in animals)
    return f"{lines} They sit there all {dice.pick(('day', 'night'))} ."


def _help(dice: Dice) -> str:
    """Somebody lacks something, gets it, and gives thanks."""
    (one, he, two, _), need = _two_people(dice), dice.pick([*NEEDS])
    begin = f"“ I am {need} , ” says {one} ."
    given = f"{two} gives {OBJECTS[he]} {dice.pick(NEEDS[need])} ."
    thanks = f"“ Thank you , {two} ! ” says {one} ."
    return f"{begin} {given} {thanks} Now {he} is not {need} ."


def _greeting(dice: Dice) -> str:
    """Two people meet and greet each other by their names."""
    one, two = (_title(dice, name) for name in _pick_different(dice, SURNAMES, 2))
    good = f"Good {dice.pick(('morning', 'day'))}"
    begin = f"{one} meets {two} {dice.pick(OUTING_PLACES)} ."
    return f"{begin} “ {good} , {two} , ” says {one} . “ {good} , {one} , ” says {two} ."


def _outing(dice: Dice) -> str:
    """Two people with their surnames, which come again after their names."""
    (one, _, two, _), (here, there) = _two_people(dice), _pick_different(dice, SURNAMES, 2)
    animals = _pick_different(dice, tuple(ANIMALS), 2)
    begin = f"{one} {here} and {two} {there} play {dice.pick(OUTING_PLACES)} ."
    first = f"{one} {here} sees {with_article(animals[0])} ."
    second = f"{two} {there} sees {with_article(animals[1])} ."
    return f"{begin} {first} {second} {one} {here} is happy ."


def _week(dice: Dice) -> str:
    """On each day one more than on the day before."""
    (one, he), animal = _person(dice), dice.pick([*ANIMALS])
    start, first = dice.pick(range(len(DAYS))), dice.pick(range(1, 6))
    days = [DAYS[(start + i) % len(DAYS)] for i in range(3)]
    return " ".join(
        f"On {day} {he if i else one} sees {number_of_things(first + i, animal)} ."
        for i, day in enumerate(days)
    )


def _choice(dice: Dice) -> str:
    """Each takes the thing of the colour that he or she likes."""
    one, _, two, _ = _two_people(dice)
    thing, (here, there) = dice.pick([*TOYS]), _pick_different(dice, COLOURS, 2)
    likes = f"{one} likes the {here} {thing} . {two} likes the {there} {thing} ."
    first, second = (f"{one} takes the {here}", f"{two} takes the {there}")
    if dice.random() < 0.5:
        first, second = second, first
    return f"{likes} So {first} {thing} and {second} {thing} ."


def _pet(dice: Dice) -> str:
    """Somebody and animals, with pronouns for both."""
    (one, he), animal = _person(dice), dice.pick([*ANIMALS])
    look, colour = dice.pick(LOOKS), dice.pick(COLOURS)
    count = dice.pick(range(1, 5))
    it, is_, noun = ("It", "is", animal) if count == 1 else ("They", "are", PLURALS[animal])
    like = "likes" if count == 1 else "like"
    had = f"{one} has {with_article(animal) if count == 1 else number_of_things(count, animal)} ."
    return (
        f"{had} {it} {is_} {look} and {colour} . {one} likes {OWNERS[he]} {noun} , "
        f"and the {noun} {like} {OBJECTS[he]} too ."
    )


def _question(dice: Dice) -> str:
    """Each has a thing, and somebody asks which, or whose."""
    (one, he, two, she), (here, there) = _two_people(dice), _pick_different(dice, tuple(TOYS), 2)
    first = dice.random() < 0.5
    who, thing, its = (one, here, he) if first else (two, there, she)
    begin = f"{one} has {with_article(here)} and {two} has {with_article(there)} ."
    kind = dice.pick(range(3))
    if kind == 0:
        return f"{begin} Who has the {thing} ? {who} has the {thing} ."
    if kind == 1:
        return f"{begin} What does {who} have ? {its.title()} has {with_article(thing)} ."
    asked = dice.pick((here, there))
    right = f"Yes , {its} does ." if asked == thing else f"No , {its} does not ."
    return f"{begin} Does {who} have the {asked} ? {right}"


def _friends(dice: Dice) -> str:
    """Animals, one or several, that do something together."""
    animals = _pick_different(dice, tuple(ANIMALS), 2)
    one, two = (PLURALS[x] if dice.random() < 0.5 else x for x in animals)
    deed = dice.pick([*DEEDS])
    return (
        f"The {one} and the {two} are friends . They play {dice.pick(OUTING_PLACES)} all day . "
        f"Then the {two} {DEEDS[deed] if two in ANIMALS.values() else deed} , and the {one} "
        f"{'go' if one in ANIMALS.values() else 'goes'} home ."
    )


def _reason(dice: Dice) -> str:
    """Somebody wants to play, but somebody else lacks something."""
    (one, he, two, she), need = _two_people(dice), dice.pick([*NEEDS])
    wish = f"{one} wants to play with {two} , but {two} is {need} ."
    if dice.random() < 0.5:
        wish = f"{one} does not play with {two} because {she} is {need} ."
    return (
        f"{wish} So {he} gives {OBJECTS[she]} {dice.pick(NEEDS[need])} . Then they play "
        f"{dice.pick(OUTING_PLACES)} ."
    )


STORIES: tuple[Callable[[Dice], str], ...] = (
    _sum,
    _search,
    _description,
    _rhyme,
    _help,
    _greeting,
    _outing,
    _week,
    _choice,
    _pet,
    _question,
    _friends,
    _reason,
)


def story(dice: Dice) -> list[str]:
    """Returns the words of a story, and the sign that ends it."""
    return [*dice.pick(STORIES)(dice).split(), END]


def story_lines(n: int, t: int, v: int, random: torch.Generator) -> Tensor:
    """Generates n lines of t words: one story after the other, the last one cut.

    Words beyond the v-th, if not all are used, become the sign that ends a story.

    >>> (line,) = story_lines(1, 16, len(STORY_WORDS), torch.Generator().manual_seed(0))
    >>> " ".join(STORY_WORDS[i] for i in line)
    'Tom Young and Emma Stone play near the school . Tom Young sees a duck .'
    """
    dice = Dice(random)
    lines = torch.tensor([[NUMBER[word] for word in _line(t, dice)] for _ in range(n)])
    return lines.where(lines < v, NUMBER[END])


def _line(t: int, dice: Dice) -> list[str]:
    """Returns the first t words of some stories."""
    words: list[str] = []
    while len(words) < t:
        words += story(dice)
    return words[:t]
