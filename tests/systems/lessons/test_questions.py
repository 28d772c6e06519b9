"""Every question has one right answer, and it is what the term itself says."""

from __future__ import annotations

import pytest

import ncd
from ncd.language.axes import Array, Axis
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import Question, question
from ncd.systems.lessons.dependence import relation
from tests.support.sampling import sample

MHA, LENET = ncd.catalogue["multi-head-attention"], ncd.catalogue["lenet"]


def asked(entry: Entry, ask: str, **sizes: int) -> Question:
    found = question(entry, entry.settings(sizes), ask)
    assert found is not None, ask
    return found


def right(entry: Entry, ask: str, **sizes: int) -> object:
    found = asked(entry, ask, **sizes)
    return found.answers[found.answer_index]


def parts(answer: object) -> object:
    """What makes an answer another one: the axes of a shape in any order, or its words."""
    if isinstance(answer, Array):
        return sorted((axis.display_name, axis.size_text) for axis in answer)
    return answer.display_name if isinstance(answer, Axis) else answer


@pytest.mark.catalogue
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_a_shape_is_asked_with_one_right_answer(entry: Entry) -> None:
    circuit = ncd.elaborate(entry.build())
    ids = sample(list(circuit.producers), 4, entry.name)
    for found in (question(entry, entry.settings({}), f"shape:{id}") for id in ids):
        if found is None:  # such as a number, or one of several arrays that leave an op
            continue
        assert found.hides
        array = circuit.values[found.subject_id].array
        same = [answer for answer in found.answers if parts(answer) == parts(array)]
        assert same == [found.answers[found.answer_index]]
        assert 2 <= len(found.answers) <= 4
        assert len({str(parts(answer)) for answer in found.answers}) == len(found.answers)


def test_costs_are_those_of_the_changed_term() -> None:
    for what in ("parameters", "flops"):
        before = getattr(ncd.cost(MHA.build()), what)
        for change in ({"h": 8}, {"x": 44}, {"k": 8}, {"h": 8, "k": 8}):
            found = asked(MHA, f"{what}:{','.join(f'{n}={v}' for n, v in change.items())}")
            after = getattr(ncd.cost(MHA.build(**change)), what)
            assert f"{before:,}" in found.text and f"{after:,}" in found.explanation
            words = {0.5: "half as many", 1.0: "just as many", 2.0: "twice as many"}.get(
                after / before
            )
            assert found.answers[found.answer_index] == (
                words or f"{after / before:.3g} times as many"
            )


def test_axes_numbers_and_layers() -> None:
    assert parts(right(MHA, "gone:n4")) == "k"
    assert parts(right(MHA, "along:n6")) == "x"
    assert right(MHA, "numbers:v7") == f"{20 * 22 * 4:,}"
    assert right(MHA, "numbers:v7", h=2, y=5) == f"{5 * 22 * 2:,}"
    assert right(LENET, "most:parameters") == "Linear linear1"
    assert right(LENET, "most:flops") == "Conv conv1"


ENTRIES = ncd.catalogue
ALL, SAME, LATER = (
    "all of them",
    "the same place only",
    "the same place and all later ones",
)
COMPUTED = [
    # who reaches whom: what everyone knows of these systems
    ("decoder-only-block", {}, "mixes:t", LATER, "A change at place 7 reaches places 7 to 12 of t"),
    ("encoder-block", {}, "mixes:t", ALL, "A change at place 7 reaches all 12 places of t"),
    ("pointwise-feed-forward", {}, "mixes:t", SAME, "reaches place 3 of t, and no other"),
    ("multi-head-attention", {}, "mixes:x,y", ALL, "reaches all 20 places of y"),
    ("multi-head-attention", {}, "mixes:h@v7,h@v10", SAME, "reaches place 3 of h, and no other"),
    ("sliding-window", {"n": 1}, "mixes:t", "the same place and some near it",
     "A change at place 11 reaches places 11 to 14 of t, and no others"),
    ("convolution", {"k": 3}, "mixes:x,y", "the same place and some near it",
     "reaches 9 of the 1,024 places of y"),
    ("batch-norm", {}, "mixes:b", ALL, "reaches all 8 places of b"),
    ("gpt-2", {}, "mixes:t", LATER, "reaches places 7 to 12 of t"),
    ("sampling", {}, "mixes:b", SAME, "reaches place 4 of b, and no other"),
    ("sampling", {}, "cut:v1", "on the input scores only", "the same for another input z."),
    # what is left when something is cut
    ("multi-head-attention", {}, "cut:n6", "on nothing: it is the same for every input",
     "Whatever goes in, the same comes out."),
    ("multi-head-attention", {}, "cut:n2", "on the input x m only",
     "The result is the same for another input y m."),
    ("encoder-block", {"n": 1}, "cut:f1", "each place on its own place of the input only",
     "A change at place 7 reaches place 7 of the result, and no other."),
    ("encoder-block", {}, "cut:f1", "on all that it did before", "reaches all 12 places"),
    ("lora", {}, "cut:f1", "on all that it did before", "reaches place 4"),
    # what changes
    ("rotary", {}, "changes:s=50", "none", "None of the 384 numbers changes."),
    ("rotary", {}, "changes:s=50,v9", "all", "All of the 384 numbers change."),
    ("scaled-dot-product-attention", {"y": 6, "x": 6}, "changes:causal=1", "some",
     "numbers change."),
    # published sizes, known by heart
    ("gpt-2", {}, "most:parameters:gpt-2-small", "Param wte", "Param wte has 38,597,376"),
    ("gpt-2", {}, "estimate:parameters:gpt-2-small", "120 million", "There are 124,439,808."),
    ("gpt-2", {}, "order:parameters:gpt-2-small,gpt-2-xl", "GPT-2 XL", "1,557,611,200"),
    ("multi-head-attention", {}, "order:parameters:n1,n2", "both just as many", "Linear Q: 8,192"),
    ("encoder-block", {"n": 1}, "order:flops:n3,n6", "Linear q", "Einsum scores: 18,432"),
    ("grouped-queries", {}, "cache:g=1", "half as many", "There are 128 then."),
    # what becomes of numbers in a format
    ("low-precision", {}, "format:float16:2048+1", "2048", "Numbers of float16 are 2 apart there, "
     "and of two that are as near it becomes the one whose last bit is 0."),
    ("low-precision", {}, "format:bfloat16:256+1", "256", "are 2 apart there, and of two"),
    ("low-precision", {}, "format:float16:65504*2", "∞",
     "The largest number is 65504: more becomes infinite."),
    ("low-precision", {}, "format:e4m3:448*2", "448",
     "The largest number is 448: more becomes that number, as there is no infinity."),
    ("low-precision", {}, "format:float16:1e-8", "0",
     "The smallest number is 5.96046448 × 10⁻⁸: up to half of it becomes 0."),
    ("low-precision", {}, "format:e5m2:0.1", "0.09375",
     "Numbers of float8 E5M2 are 0.015625 apart there."),
    ("low-precision", {}, "format:float32:2048+1", "2049", "It is a number of float32."),
    ("low-precision", {}, "format:float16:-2048+-1", "−2048", "are 2 apart there, and of two"),
    # how many words a pass writes
    ("sampling", {}, "pass:0.8,4", "3.36",
     "One of its own, and the n-th of the draft if all before it stay, with 0.8 to the power of n: "
     "(1 − 0.8^5) / (1 − 0.8) = 3.36."),
    ("sampling", {}, "pass:0.5,1", "1.5", "(1 − 0.5^2) / (1 − 0.5) = 1.5."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sizes", "ask", "answer", "why"), COMPUTED)
def test_what_is_computed_is_what_is_known(name: str, sizes, ask: str, answer: str, why) -> None:
    found = asked(ENTRIES[name], ask, **sizes)
    assert found.answer == answer
    assert why in found.explanation


def test_each_wrong_answer_is_told_why() -> None:
    """In a sentence of its own; the right one has none."""
    asks = [
        *(("multi-head-attention", ask) for ask in ("shape:v7", "numbers:v7", "gone:n4",
          "along:n6", "parameters:h=8", "flops:x=44")),
        *((name, ask) for name, sizes, ask, *_ in COMPUTED if not sizes),
    ]  # fmt: skip
    for name, ask in asks:
        found = asked(ENTRIES[name], ask)
        for n, fault in enumerate(found.feedback):
            if n == found.answer_index:
                assert fault == ""
            else:
                assert fault[0] == fault[0].upper() and fault[-1] == ".", (ask, fault)
        assert len(found.feedback) == len(found.answers) == len(set(map(str, found.answers)))


@pytest.mark.parametrize(
    ("ask", "wrong", "fault"),
    [
        ("shape:v7", "x k h", "The axis k 16 does not leave Einsum scores, and y 20 does."),
        ("numbers:v7", "46", "That is the sum of the sizes; places are counted by their product."),
        ("numbers:v7", "88", "That leaves out y."),
        ("gone:n4", "h", "The axis h goes in and leaves again."),
        ("along:n6", "h", "At each place of h the same is done again."),
        ("parameters:h=8", "just as many",
         "Some of them depend on h, so their number changes."),
        ("parameters:x=44", "twice as many", "None of them depends on x."),
        ("flops:x=44", "twice as many", "Only a part of them grows with x: the rest stays."),
        ("mixes:x,y", "none of them", "A change at place 1 reaches place 1 of y."),
        ("cut:n2", "on the input y m only", "The input y m no longer changes the result."),
    ],
)  # fmt: skip
def test_why_an_answer_is_wrong(ask: str, wrong: str, fault: str) -> None:
    found = asked(MHA, ask)
    words = [" ".join(a.names) if isinstance(a, Array) else str(a) for a in found.answers]
    named = [a.display_name if isinstance(a, Axis) else w
             for a, w in zip(found.answers, words, strict=True)]  # fmt: skip
    assert found.feedback[named.index(wrong)] == fault


AROUND = "Another input still gives another result, by a way around."
LESS = "It was on the way of something: less arrives now than before."
ARRIVES = "Nothing of the input arrives any more."
OTHER_NUMBER = "That is a number of float16, but not the one to which it is rounded."


@pytest.mark.parametrize(
    ("name", "sizes", "ask", "text", "faults"),
    [
        ("rotary", {}, "changes:s=50,v9",
         "s goes from 0 to 50. How many numbers that leave Group change?",
         ["They do change.", "Some stay.", ""]),
        ("rotary", {}, "changes:s=50",
         "s goes from 0 to 50. How many numbers of the result change?",
         ["", "Each stays.", "Each stays."]),
        ("scaled-dot-product-attention", {"y": 6, "x": 6}, "changes:causal=1",
         "“causal mask” is switched on. How many numbers of the result change?",
         ["They do change.", "", "Some stay."]),
        ("multi-head-attention", {}, "cut:n2",
         "Linear K gives zeros. What does the result still depend on?",
         [AROUND, "The input y m no longer changes the result.", "", LESS]),
        ("multi-head-attention", {}, "cut:v3",
         "A wire of Copy gives zeros. What does the result still depend on?",
         ["", ARRIVES, ARRIVES, ARRIVES]),
        ("encoder-block", {"n": 1}, "cut:f1",
         "Self-Attention gives zeros. What does the result still depend on?", [AROUND, "", LESS]),
        ("encoder-block", {}, "cut:f1",
         "Self-Attention gives zeros. What does the result still depend on?",
         [AROUND, "Places still reach each other.", ""]),
        ("gpt-2", {}, "order:parameters:gpt-2-small,gpt-2-xl",
         "Which has more parameters: GPT-2 small or GPT-2 XL?",
         ["It has only 124,439,808.", "", "One has 12.5 times as many."]),
        ("gpt-2", {}, "estimate:parameters:gpt-2-small",
         "About how many parameters are there at the sizes of GPT-2 small?",
         ["10 times too few.", "", "10 times too many.", "100 times too many."]),
        ("low-precision", {}, "format:float16:2048+1", "What is 2048 + 1 in float16?",
         [OTHER_NUMBER, "", "There is no such number in float16.", OTHER_NUMBER]),
        ("low-precision", {}, "format:float16:65504*2", "What is 65504 × 2 in float16?",
         ["It is above half of the smallest number, 5.96046448 × 10⁻⁸.", OTHER_NUMBER,
          "There is no such number in float16.", ""]),
        ("low-precision", {}, "format:float16:1e-8", "What does 10⁻⁸ become in float16?",
         ["", "There is no such number in float16.", OTHER_NUMBER,
          "It is not above the largest number, 65504."]),
        ("sampling", {}, "pass:0.8,4",
         "A draft proposes 4 words, and each stays with a chance of 0.8. How many words does a "
         "pass of the model write on average?",
         ["None stays behind a rejected word, and the model adds one.", "",
          "None stays behind a word that is rejected.", "So many only if all of them stay."]),
    ],
)  # fmt: skip
def test_a_question_and_what_each_answer_is_told(name: str, sizes, ask: str, text, faults) -> None:
    found = asked(ENTRIES[name], ask, **sizes)
    assert (found.text, list(found.feedback)) == (text, faults)


@pytest.mark.parametrize(
    ("ask", "answers"),
    [("format:float16:2048+1", ["2046", "2048", "2049", "2050"]),
     ("format:float16:65504*2", ["0", "65504", "131008", "∞"]),
     ("format:float16:1e-8", ["0", "10⁻⁸", "5.96046448 × 10⁻⁸", "∞"]),
     ("format:float16:-2048+-1", ["−2050", "−2049", "−2048", "−2046"]),
     ("format:e4m3:448*2", ["416", "448", "480", "896"])],
)  # fmt: skip
def test_the_answers_about_a_format_are_near_and_in_order(ask: str, answers: list[str]) -> None:
    assert [*asked(ENTRIES["low-precision"], ask).answers] == answers


def test_a_model_that_is_too_large_is_not_run() -> None:
    gpt = ENTRIES["gpt-2"]
    small = gpt.settings(gpt.preset("gpt-2-small").knobs)
    assert question(gpt, small, "mixes:t") is None
    assert question(gpt, small, "most:parameters") is not None


@pytest.mark.parametrize(
    "ask",
    [
        *("order:parameters:n1", "order:parameters:n1,n2,n1", "order:money:n1,n2"),
        *("order:cache:n1,n2", "order:flops:n1,n99"),
        *("estimate:money", "estimate:parameters:gpt-9", "most:parameters:gpt-9", "most:bytes"),
        *("mixes:z", "mixes:x,z", "mixes:h", "mixes:h@v99", "cut:", "cut:n99", "cut:v99"),
        *("changes:y=8", "changes:z=3", "changes:x=22", "changes:", "cache:h=4"),
        *("", "shape", "shape:v0", "shape:v99", "shape:n4", "gone:n6", "along:n4", "most:money"),
        *("most:parameters", "parameters:", "parameters:h", "parameters:h=4", "parameters:h=0"),
        *("format:float64:1", "format:float16:x", "format:float16", "format:float16:1e-8*65536"),
        *("pass:", "pass:0.8", "pass:1,4", "pass:0.8,0", "pass:0.8,20", "pass:x,4"),
        *("parameters:h=4.5", "flops:z=3", "flops:causal=1", "flops:h=99999999", "numbers:v7:v8"),
    ],
)
def test_what_cannot_be_asked_is_no_question(ask: str) -> None:
    assert question(MHA, MHA.settings({}), ask) is None


@pytest.mark.parametrize(
    ("rows", "shape", "words"),
    [
        ({0: "110", 2: "011"}, (3,), "the same place and some near it"),
        ({0: "110", 2: "101"}, (3,), "some of them"),  # with a gap
        ({0: "011", 2: "011"}, (3,), "some of them"),  # without the place itself
        ({0: "100", 2: "001"}, (3,), SAME),
        ({0: "111", 1: "011", 2: "001"}, (3,), LATER),
        ({0: "100", 1: "110", 2: "111"}, (3,), "the same place and all earlier ones"),
        ({0: "000", 2: "000"}, (3,), "none of them"),
        ({0: "111", 2: "111"}, (3,), ALL),
        ({0: "10", 2: "01"}, (3,), "some of them"),  # of another number of places
        ({0: "110110000", 8: "000011011"}, (3, 3), "the same place and some near it"),
        ({0: "111000000"}, (3, 3), "the same place and some near it"),
        ({0: "110100000"}, (3, 3), "some of them"),  # no window
    ],
)
def test_how_places_are_related(rows: dict[int, str], shape: tuple[int, ...], words: str) -> None:
    reached = {place: [sign == "1" for sign in row] for place, row in rows.items()}
    assert relation(reached, shape) == words
