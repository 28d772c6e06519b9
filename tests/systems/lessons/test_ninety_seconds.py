"""The steps of "Read it in 90 seconds": answers and sentences against plain torch."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor

import ncd
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.lessons.ninety_seconds import (
    ALONE,
    ARRAY,
    DOT_PRODUCT,
    NUMBER,
    QUERY,
    SIDE_BY_SIDE,
    SOFTMAX,
    STEPS,
    WIRE,
    WORDS,
    Step,
    signed_number,
    trained_arrays,
)
from ncd.systems.training.trained_weights import proofreading, read_weights

NAMES = ("number", "wire", "array", "dot product", "softmax", "heads", "alone")
EACH = pytest.mark.parametrize("step", STEPS, ids=NAMES)
COUNT = re.compile(r"(?<![\d.+−])\d+(?![\d.]*\d|%)")


def weights(heads: int = 1, words: int = 5, features: int = 16) -> Tensor:
    """The attention of the first heads to the first words by the first features, in plain torch."""
    q, k, _ = (array[:, :features, :heads] for array in trained_arrays())
    return torch.einsum("ykh, xkh -> yxh", q, k[:words]).softmax(1)


def test_the_numbers_are_those_of_trained_attention() -> None:
    """Of its four heads the one that finds the subject is the first here."""
    entry = ncd.catalogue["multi-head-attention"]
    term = entry.build(**entry.settings({"y": 5, "x": 5}))
    module = read_weights(ncd.compile(term), proofreading(4, 0).weights)
    spec = InputSpec({"y": WORDS, "x": WORDS}, trained=True)
    run = ncd.trace(module, *spec.tensors(term, 0, "cpu"))
    (softmax,) = (cell for cell in module.circuit.cells if cell.op.role == "softmax")
    own = run.values[softmax.outputs[0].id]
    torch.testing.assert_close(weights(4), own[..., [3, 0, 1, 2]], atol=1e-5, rtol=1e-4)
    assert WORDS[int(weights()[QUERY, :, 0].argmax())] == "keys"


def test_each_step_runs_as_plain_torch_does() -> None:
    q, k, v = trained_arrays()
    plain = {
        "number": q[QUERY, :1, 0],
        "wire": q[QUERY, :8, 0],
        "array": q[..., 0],
        "dot product": q[..., 0] @ k[..., 0].T,
        "softmax": weights()[..., 0],
        "heads": weights(4),
        "alone": torch.einsum("yxh, xkh -> ykh", weights(), v[..., :1]),
    }
    for name, step in zip(NAMES, STEPS, strict=True):
        torch.testing.assert_close(step.run().first_output, plain[name], atol=1e-5, rtol=1e-4)


@EACH
def test_the_right_answer_is_that_of_plain_torch(step: Step) -> None:
    q = trained_arrays()[0][QUERY, :, 0]
    half = torch.einsum("yk, xk -> yx", *(array[:, :8, 0] for array in trained_arrays()[:2]))
    summed = weights(words=3)[..., 0].sum(1)
    torch.testing.assert_close(summed, torch.ones(5))
    right = {
        NUMBER: signed_number(min(q.tolist())),
        WIRE: str(q.dim()),
        ARRAY: str(trained_arrays()[0][..., 0].numel()),
        DOT_PRODUCT: str(half.numel()),
        SOFTMAX: f"{summed[QUERY].item():.3g}",
        SIDE_BY_SIDE: str(weights(4).sum(1).numel()),
        ALONE: "*x̄*",
    }
    guess = step.guess()
    assert guess.answers[guess.answer_index] == right[step]


def test_each_step_asks_and_offers_a_plain_mistake_beside_the_answer() -> None:
    """Such as 5 + 16 for 5 × 16, 3 / 5 for a sum of shares, and a number near 0."""
    asked = [(step.guess().question, step.guess().answers) for step in STEPS]
    assert asked == [
        ("Which of these numbers has the strongest blue?", ("+0.01", "+0.69", "−0.48")),
        ("At *k* = 16, how many wires are drawn?", ("1", "2", "16")),
        ("5 words, 16 numbers each: how many in all?", ("21", "80", "160")),
        ("*k* goes from 16 to 8. How many scores come out then?", ("25", "40", "200")),
        ("*x̄* goes from 5 words to 3. What does each row sum to then?", ("0.6", "1", "3")),
        ("With 4 heads, how many rows sum to 1?", ("4", "20", "100")),
        ("Which wire ends at the last cap ⊃?", ("*k*", "*x̄*", "*h*")),
    ]
    numbers = sorted(trained_arrays()[0][QUERY, :, 0].tolist())
    assert asked[0][1] == tuple(
        map(signed_number, (min(numbers, key=abs), numbers[-1], numbers[0]))
    )


@EACH
def test_each_answer_has_a_sentence_and_the_right_one_alone_is_called_right(step: Step) -> None:
    guess = step.guess()
    assert len(guess.answers) == len({*guess.answers}) == len(guess.feedback) == 3
    called = [said.startswith("Right: ") for said in guess.feedback]
    assert called == [n == guess.answer_index for n in range(3)]
    for said in (guess.question, *guess.feedback):
        assert len(said) < 90 and said[-1] in ".?" and said.count("*") % 2 == 0


@EACH
def test_every_count_in_a_sentence_is_a_size_of_what_is_shown(step: Step) -> None:
    """At each size that one can drag to."""
    for size in step.range:
        run = step.run(size)
        sizes = {0, *run.first_output.shape, *run.sizes.values()}  # 0 parts the colours
        words = step.words(run)
        assert {int(n) for n in COUNT.findall(words)} <= sizes, words
        assert size in sizes and len(words.replace("*", "")) < 170


def test_sentences_name_the_number_and_the_word_that_the_step_shows() -> None:
    for place in NUMBER.range:
        number = trained_arrays()[0][QUERY, place - 1, 0].item()
        side = "above 0: orange" if number > 0 else "below 0: blue"
        assert f"Number {place} is {signed_number(number)}, {side}." in NUMBER.words(
            NUMBER.run(place)
        )
    for size in SOFTMAX.range:
        row = weights(words=size)[QUERY, :, 0]
        end = f"gives {row.max().item():.0%} of its attention to “{WORDS[int(row.argmax())]}”."
        assert SOFTMAX.words(SOFTMAX.run(size)).endswith(end)


def test_arithmetic_in_feedback_is_right() -> None:
    """Such as 5 + 16, whose sum is the answer that it is about, and 5 × 16 = 80."""
    for step in STEPS:
        for answer, said in zip(step.guess().answers, step.guess().feedback, strict=True):
            for a, sign, b, _, total in re.findall(r"(\d+) ([+×]) (\d+)( = (\d+))?", said):
                value = int(a) + int(b) if sign == "+" else int(a) * int(b)
                assert value == int(total or answer), said
