"""Questions and lessons of systems so small that every answer is counted by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ncd import Add, Axes, Block, Copy, Einsum, Group, Id, Linear, Param, Softmax
from ncd.circuit.knob import Knob
from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.lessons.computed_questions import in_words, question
from ncd.systems.lessons.lesson import _times, default_lesson


def entry(system, *knobs: Knob, **more: object) -> Entry:
    return Entry("tiny", "Tiny", "none", knobs, system, "Learning", **more)


def head(y: int = 5, m: int = 6, k: int = 4) -> Term:
    inner = Id("y m") >> Linear("m -> k", "A") >> Softmax("k")
    return Axes(y=y, m=m, k=k)(Block(inner, "Head") >> Linear("k -> m", "B"))


def alike(m: int = 6) -> Term:
    layers = Linear("m -> m", "A") >> Linear("m -> m", "A") >> Linear("m -> k:2", "B")
    return Axes(m=m)(layers)


def many(m: int = 6, k: int = 4) -> Term:
    alone = Block(Linear("m -> k", "A"), "Alone")
    unnamed = Block(Linear("m -> k", "C") >> Softmax("k"), " ")
    both = Block(Linear("k -> k", "B") >> Softmax("k"), "Both")
    last = Block(Linear("k -> m", "D") >> Softmax("m"), "Last")
    third = Block(Softmax("m") >> Softmax("m"), "Third")
    joined = Id("m") >> Copy("m") >> alone @ unnamed >> Add()
    return Axes(m=m, k=k)(joined >> both >> last >> third)


M, K = Knob("m", 1, 64, 6, help="features"), Knob("k", 1, 64, 4, help="")
HEAD = entry(head, Knob("y", 1, 64, 5, help="rows"), M, K)
ALIKE = entry(alike, M)
# 12 would be more than the most of m, and 8 is that of k
MANY = entry(many, Knob("m", 1, 11, 6, help="features"), Knob("k", 1, 8, 4, help=""))


@pytest.mark.parametrize(
    ("own", "ask", "answers", "right", "why"),
    [
        (HEAD, "shape:v1", {"k", "y k", "y m", "y k m"}, "y k", "Learned linear map A, m to k."),
        (HEAD, "shape:v2", {"k", "y", "y k"}, "y k",
         "Softmax along k: the weights sum to 1 over k."),
        (ALIKE, "shape:v1", {"m", "m m"}, "m", "Learned linear map A, m to m."),
        (MANY, "shape:v3", {"k", "k m", "k k", "m"}, "k", "Learned linear map A, m to k."),
        # the largest, the sum of sizes, a row, a column
        (HEAD, "numbers:v1", {"120", "9", "20", "4"}, "20", "5 × 4 = 20."),
        (ALIKE, "numbers:v1", {"36", "6", "1"}, "6", "6, one a position."),
        (HEAD, "gone:n0", {"m", "y"}, "m", "Learned linear map A, m to k."),
        (HEAD, "along:n1", {"k", "y"}, "k",
         "Softmax along k: the weights sum to 1 over k, and the same at every place of y."),
        (ALIKE, "most:parameters", {"Linear A", "Linear B"}, "Linear A",
         "Linear A has 72 of 84, 86%, in 2 places, 36 in each; Linear B 12."),
        (ALIKE, "most:flops", {"Linear A", "Linear B"}, "Linear A",
         "Linear A has 144 of 168, 86%, in 2 places, 72 in each; Linear B 24."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_question_has_these_answers(own: Entry, ask, answers, right, why) -> None:
    found = question(own, own.settings({}), ask)
    assert found is not None
    assert {str(answer) for answer in found.answers} == answers
    assert (str(found.answers[found.answer_index]), found.explanation) == (right, why)
    assert found.subject_id == ("" if ask.startswith("most") else ask.partition(":")[2])
    assert found.hides == ask.startswith("shape")


HALF, SAME, TWICE, FOUR = "half as many", "just as many", "twice as many", "4 times as many"


@pytest.mark.parametrize(
    ("change", "answers", "right", "then"),
    [
        ("parameters:m=12", [HALF, SAME, TWICE, FOUR], TWICE, 96),
        ("parameters:k=2", ["0.25 times as many", HALF, SAME, TWICE], HALF, 24),
        ("parameters:y=10", [HALF, SAME, TWICE, FOUR], SAME, 48),
        ("parameters:m=12,k=8", [HALF, SAME, TWICE, FOUR], FOUR, 192),
        ("parameters:m=7",
         ["0.857 times as many", SAME, "1.17 times as many", "1.36 times as many"],
         "1.17 times as many", 56),
        ("flops:m=12", [HALF, SAME, TWICE, FOUR], TWICE, 960),
        ("flops:y=10", [HALF, SAME, TWICE, FOUR], TWICE, 960),
    ],
)  # fmt: skip
def test_what_becomes_of_a_cost(change: str, answers, right: str, then: int) -> None:
    found = question(HEAD, HEAD.settings({}), change)
    assert found is not None
    assert list(found.answers) == answers  # from the fewest on
    assert (found.answers[found.answer_index], found.explanation) == (
        right,
        f"There are {then} then.",
    )


DEPENDS = "Some of them depend on {}, so their number changes."
PLACES = "We change the input at one place of {0}. At which places of {0} does the result change?"
BOTH = "both just as many"
ASKED = [
    ("order:flops:n0,n1", {},
     "Which takes more floating-point operations: Linear A or Softmax?",
     {"Linear A": "", "Softmax": "It has only 0.", BOTH: "One has none."}),
    ("order:bytes:v1,v3", {},  # 4 bytes for each of 5 × 4 and 5 × 6 numbers
     "Which takes more bytes: a or b?",
     {"a": "It has only 80.", "b": "", BOTH: "One has 1.5 times as many."}),
    ("order:parameters:f0,n2", {},
     "Which has more parameters: Head or Linear B?",
     {"Head": "They are equal.", "Linear B": "They are equal.", BOTH: ""}),
    ("estimate:flops", {"m": 60, "k": 60},  # 2 maps of 2 × 5 × 60 × 60
     "About how many floating-point operations are there?",
     {"72 thousand": "", "720 thousand": "10 times too many.",
      "7.2 million": "100 times too many.", "72 million": "1,000 times too many."}),
    ("parameters:m=7", {},
     "m goes from 6 to 7. What becomes of the 48 parameters?",
     {"0.857 times as many": "They become more.", SAME: DEPENDS.format("m"),
      "1.17 times as many": "", "1.36 times as many": "They change less than that."}),
    ("parameters:m=3", {},
     "m goes from 6 to 3. What becomes of the 48 parameters?",
     {"0.25 times as many": "They change less than that.", HALF: "", SAME: DEPENDS.format("m"),
      TWICE: "They become fewer."}),
    ("flops:m=12,k=8", {},
     "m goes from 6 to 12 and k goes from 4 to 8."
     " What becomes of the 480 floating-point operations?",
     {HALF: "They become more.", SAME: DEPENDS.format("m and k"),
      TWICE: "Some of them grow with more than one power of m and k.", FOUR: ""}),
    ("flops:k=8,m=3", {},
     "k goes from 4 to 8 and m goes from 6 to 3."
     " What becomes of the 480 floating-point operations?",
     {HALF: "The changes cancel.", SAME: "", TWICE: "The changes cancel.",
      FOUR: "The changes cancel."}),
    ("bytes:m=12", {},  # 20 numbers in each of two arrays, and 30 in the result
     "m goes from 6 to 12. What becomes of the 280 bytes of arrays?",
     {SAME: DEPENDS.format("m"), "1.43 times as many": "",
      TWICE: "Only a part of them grows with m: the rest stays.",
      FOUR: "They change less than that."}),
    ("numbers:v3", {},
     "How many numbers are in b?",
     {"6": "That leaves out y.",
      "11": "That is the sum of the sizes; places are counted by their product.",
      "30": "", "120": "An array y 5 m 6 k 4 has so many."}),
    ("mixes:y", {}, PLACES.format("y"),
     {"none of them": "A change at place 1 reaches place 1.", "the same place only": "",
      "the same place and all later ones": "A change at place 1 does not reach place 2.",
      "all of them": "A change at place 1 does not reach place 2."}),
    ("mixes:m", {}, PLACES.format("m"),
     {"none of them": "A change at place 1 reaches place 1.",
      "the same place only": "A change at place 1 reaches place 2.",
      "the same place and all later ones": "A change at place 3 reaches place 1.",
      "all of them": ""}),
    ("mixes:y@v1,k@v2", {},
     "We change what leaves Linear A at one place of y."
     " At which places of k does what leaves Softmax change?",
     {"none of them": "A change at place 1 reaches place 1 of k.",
      "some of them": "It reaches every place.", "all of them": ""}),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "sizes", "text", "faults"), ASKED)
def test_each_answer_of_a_question_is_told_why_it_is_wrong(ask, sizes, text, faults) -> None:
    found = question(HEAD, HEAD.settings(sizes), ask)
    assert found is not None
    assert found.text == text
    assert list(zip(found.answers, found.feedback, strict=True)) == list(faults.items())


def test_a_block_without_a_name_is_called_the_block() -> None:
    found = question(MANY, MANY.settings({}), "order:flops:f0,f1")
    assert found is not None
    assert found.explanation == "Alone: 48; the block: 48."


def test_a_question_with_two_right_answers_or_one_answer_is_none() -> None:
    for own, ask in (
        (HEAD, "most:parameters"),  # both maps have as many
        (ALIKE, "gone:n0"),  # its axis stays
        (ALIKE, "along:n0"),  # there is no other axis
        (HEAD, "gone:n9"),
        (MANY, "shape:v1"),  # one of two copies
        (MANY, "along:n0"),
    ):
        assert question(own, own.settings({}), ask) is None


def views(own: Entry) -> list[tuple[str, str]]:
    return [(view.query, view.says) for view in default_lesson(own)]


def test_a_lesson_goes_from_the_whole_to_its_blocks_its_ops_and_its_costs() -> None:
    assert views(HEAD) == [
        ("", ""),
        ("select=f0", "Head takes y m, and gives y k."),
        ("ask=shape:v1", "Linear A takes y m."),
        ("ask=parameters:m=12", "We double m (features), now 6."),
        ("m=12", "m is 12. There are 96 then."),
        ("panel=Cost&with=panel", "48 parameters; 480 floating-point operations in one pass."),
    ]


def test_only_blocks_with_a_title_and_several_ops_are_shown_two_at_most() -> None:
    found = views(MANY)
    assert found[1:4] == [
        ("select=f2", "Both takes k, and gives k."),
        ("select=f3", "Last takes k, and gives m."),
        ("ask=shape:v3", "Linear A takes m."),
    ]
    assert found[4:6] == [
        ("ask=parameters:k=8", "We double k, now 4."),
        ("k=8", "k is 8. There are 208 then."),
    ]


def test_an_op_that_changes_no_numbers_is_asked_about_after_others() -> None:
    """A group changes three axes, but a product that changes two is worth more."""

    def grouped() -> Term:
        maps = Linear("c -> k:4 l:2 d:3", "A") >> Einsum("k l d -> d")
        return Id("a:2 b:3") >> Group("a b -> c") >> maps

    asked = [query for query, _ in views(entry(grouped)) if "shape" in query]
    assert asked == ["ask=shape:v2", "ask=shape:v3"]


def test_what_has_most_is_asked_and_then_lit() -> None:
    assert views(ALIKE)[1:4] == [
        ("ask=shape:v3", "Linear B takes m."),
        ("ask=most:parameters", "3 of its 3 operations have parameters."),
        ("select=n0", "Linear A has 72 of 84, 86%, in 2 places, 36 in each; Linear B 12."),
    ]
    large = Preset("large", {"m": 12}, "none")
    same = entry(alike, M, presets=(large,))
    assert views(same) == views(ALIKE)  # the answer is the same there


def test_another_answer_at_published_sizes_is_asked_there() -> None:
    def turned(m: int = 6, k: int = 2) -> Term:
        return Axes(m=m, k=k)(Linear("m -> m", "A") >> Linear("m -> k", "B"))

    wide = entry(turned, M, K, presets=(Preset("wide", {"k": 60}, "none"),))
    asked = [query for query, _ in views(wide) if "ask=most" in query]
    assert asked == ["k=60&ask=most:parameters"]
    assert ("k=60&select=n1", "Linear B has 360 of 396, 91%; Linear A 36.") in views(wide)


def test_a_lesson_of_what_learns_or_multiplies_nothing() -> None:
    def nothing() -> Term:
        return Softmax("m:3") @ Id("k:2, k:2")

    def learned(m: int = 6) -> Term:
        return Axes(m=m)(Param("m", "w"))

    assert views(entry(nothing))[1:] == [
        ("ask=shape:v3", "Softmax takes m."),
        ("panel=Cost&with=panel",
         "Nothing here is learned, and no arrays are multiplied: the work counts as 0."),
    ]  # fmt: skip
    assert views(entry(learned, M))[-1][1] == (
        "6 parameters, and no arrays are multiplied: the work counts as 0."
    )


def test_numbers_of_arrays_are_words_up_to_nine() -> None:
    found = [_times(*of) for of in (("a", 1), ("a", 2), ("a", 9), ("a", 10), ("", 1), ("", 3))]
    assert found == ["a", "two arrays a", "nine arrays a", "10 arrays a", "a number",
                     "three numbers"]  # fmt: skip


@pytest.mark.parametrize(
    ("thousandths", "words"),
    [
        (490, "almost half as many"),
        (500, HALF),
        (510, "a little over half as many"),
        (969, "0.969 times as many"),
        (971, "slightly fewer"),
        (1000, SAME),
        (1029, "slightly more"),
        (1031, "1.03 times as many"),
        (1939, "1.94 times as many"),
        (1941, "almost twice as many"),
        (2000, TWICE),
        (2059, "a little over twice as many"),
        (2061, "2.06 times as many"),
        (3900, "almost 4 times as many"),
        (4000, FOUR),
        (4100, "a little over 4 times as many"),
        (3000, "3 times as many"),
    ],
)
def test_a_ratio_is_named_after_a_plain_one_that_is_near(thousandths: int, words: str) -> None:
    assert in_words(Fraction(thousandths, 1000)) == words
