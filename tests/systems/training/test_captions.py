"""Captions of digits, and the losses and scores of pictures beside sentences."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from torch.nn import functional as F

import ncd
from ncd.errors import SizeError
from ncd.systems.inputs import picture_inputs
from ncd.systems.inputs.run_inputs import InputSpec, opening_inputs
from ncd.systems.training.captions import (
    CAPTION_WORDS,
    DIGIT_NAMES,
    LONGEST_CAPTION,
    TEMPLATES,
    caption,
    caption_text,
    random_captions,
)
from ncd.systems.training.labelled_images import rewrite_digits
from ncd.systems.training.losses import best_sentence_digits, pair_accuracy, pair_loss
from ncd.systems.training.task_data import as_other_hands
from ncd.systems.training.tasks import data, task
from ncd.systems.training.training_loop import TaskTraining

CLIP = ncd.catalogue["clip"]


@pytest.mark.parametrize("line", range(len(TEMPLATES)))
def test_a_caption_ends_in_its_end_and_begins_with_blanks(line: int) -> None:
    for digit, name in enumerate(DIGIT_NAMES):
        words = [CAPTION_WORDS[n] for n in caption(digit, line, LONGEST_CAPTION + 2)]
        assert len(words) == LONGEST_CAPTION + 2 and words[:2] == ["·", "·"]
        assert " ".join(words).lstrip("· ") == TEMPLATES[line].format(name)
        assert caption_text(caption(digit, line, LONGEST_CAPTION)) == " ".join(words[:-1]).lstrip(
            "· "
        )
    assert len(CAPTION_WORDS) == len({*CAPTION_WORDS})


def test_captions_by_chance_name_the_digit_in_every_way() -> None:
    digits = torch.arange(10).repeat(30)
    made = random_captions(digits, 7, torch.Generator().manual_seed(0))
    found = [caption_text(row) for row in made.tolist()]
    for digit, line in zip(digits.tolist(), found, strict=True):
        assert DIGIT_NAMES[digit] in line.split()
    assert {line for line in found if "seven" in line} == {
        template.format("seven").removesuffix(" .") for template in TEMPLATES
    }


def test_other_hands_turn_move_and_sharpen_a_digit() -> None:
    images = data(task("image-recogniser"), {"x": 16, "n": 8, "k": 10}, 0).inputs[:50]
    one, again, other = (
        rewrite_digits(images, torch.Generator().manual_seed(n)) for n in (0, 0, 1)
    )
    assert one.equal(again) and not one.equal(other) and one.shape == images.shape
    assert float(one.min()) == 0 and float(one.max()) == 1
    same = [
        torch.corrcoef(torch.stack((a.flatten(), b.flatten())))[0, 1]
        for a, b in zip(images, one, strict=True)
    ]
    assert min(same) > 0.4 and max(same) < 0.99
    assert one.std() > images.std()  # its edges are sharper
    coloured = as_other_hands(
        images[:, None].expand(-1, 3, -1, -1), torch.Generator().manual_seed(0)
    )
    assert all(coloured[:, c].equal(one) for c in range(3))


def test_each_step_of_its_training_has_other_pictures_and_captions() -> None:
    fit = TaskTraining("clip", {"x": 2, "p": 4}, seed=0)
    given: list[tuple[torch.Tensor, ...]] = []

    def step(inputs: tuple[torch.Tensor, ...], answers: torch.Tensor) -> torch.Tensor:
        given.append((*inputs, answers))
        return torch.zeros(())

    fit._backward = step  # type: ignore[method-assign]
    [*islice(fit.losses(), 94)]  # two rounds of the 1,498 digits, 32 at a time
    pictures = torch.cat([own for own, *_ in given])
    assert {own.shape for own, *_ in given} == {(32, 3, 8, 8)}
    assert len({own.numpy().tobytes() for own in pictures}) == len(pictures)
    for _, sentences, answers in given:
        for row, digit in zip(sentences.tolist(), answers.tolist(), strict=True):
            assert DIGIT_NAMES[digit] in caption_text(row).split()


# --- what is learned ------------------------------------------------------------------------------


def test_the_loss_of_pairs_is_that_of_each_side_where_all_are_different() -> None:
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    right = torch.arange(5)
    wanted = (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2
    assert pair_loss(scores, torch.tensor([3, 1, 4, 0, 5])) == pytest.approx(wanted.item())


def test_pairs_of_one_digit_share_what_is_right() -> None:
    scores = torch.tensor([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    rows = scores.log_softmax(1)  # symmetric, so rows and columns are alike
    wanted = -((rows[0, 0] + rows[0, 1]) / 2 + (rows[1, 0] + rows[1, 1]) / 2 + rows[2, 2]) / 3
    assert pair_loss(scores, torch.tensor([7, 7, 1])).item() == pytest.approx(wanted.item())


def test_a_picture_is_right_where_its_best_sentence_names_its_digit() -> None:
    scores = torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    digits = torch.tensor([3, 8, 5, 5])  # two runs of two
    assert best_sentence_digits(scores, digits).tolist() == [8, 8, 5, 5]
    assert pair_accuracy(scores, digits) == 0.75


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"i": 4}, "there are 4 pictures and 6 sentences, not one for each. Try j = 4."),
        ({"i": 8}, "there are 8 pictures and 6 sentences, not one for each. Try j = 8."),
        (
            {"v": 12},
            f"the captions have {len(CAPTION_WORDS)} words, and v is 12. "
            f"Try v = {len(CAPTION_WORDS)}.",
        ),
        ({"s": 5}, "a caption has up to 6 words, and s is 5. Try s = 6."),
    ],
)
def test_sizes_without_a_sentence_for_each_picture_are_refused(
    knobs: dict[str, int], message: str
) -> None:
    with pytest.raises(SizeError) as error:
        data(task("clip"), CLIP.settings(knobs), 0)
    assert str(error.value) == message
    assert error.value.axis and error.value.nearest


# --- what the page opens with ---------------------------------------------------------------------


def opened(pictures: InputSpec | None = None, **knobs: int) -> tuple[torch.Tensor, torch.Tensor]:
    term = CLIP.build(**knobs)
    feed = pictures or opening_inputs(CLIP, term, CLIP.settings(knobs))
    one, other = feed.tensors(term, 0, "cpu")
    return one, other


def test_each_digit_stands_beside_its_caption() -> None:
    pictures, sentences = opened(i=12, j=12)
    said = [caption_text(row) for row in sentences.tolist()]
    order = [7, 8, 9, 0, 1, 2, 3, 4, 5, 6]
    assert said[:10] == [f"the digit {DIGIT_NAMES[n]}" for n in order]
    assert said[10:] == ["a picture of a seven", "a picture of a eight"]
    for n, digit in enumerate((*order, 7, 8)):
        own = picture_inputs.sample(f"digit {digit}").pixels(3, 32, 32, 0, fit=True)
        assert pictures[n].equal(own)


def test_a_drawing_leaves_its_place_to_the_digit_before_those_that_follow() -> None:
    drawn = InputSpec(pictures=(picture_inputs.drawing("4020c020.80208ff0"),))
    pictures, sentences = opened(drawn)
    said = [caption_text(row) for row in sentences.tolist()]
    assert said == [
        f"the digit {name}" for name in ("six", "seven", "eight", "nine", "zero", "one")
    ]
    assert pictures[1].equal(picture_inputs.sample("digit 7").pixels(3, 32, 32, 0, fit=True))


@pytest.mark.parametrize("knobs", [{"p": 16, "x": 5}, {"v": len(CAPTION_WORDS) - 1}, {"s": 5}])
def test_other_sizes_have_scenes_and_random_words(knobs: dict[str, int]) -> None:
    term = CLIP.build(**knobs)
    assert not picture_inputs.takes_captions(term)
    assert picture_inputs.samples(term)[0] == "boat"
    _, sentences = opened(**knobs)
    assert len({*sentences.flatten().tolist()}) > 5


def test_no_other_system_of_pictures_takes_captions() -> None:
    taken = [n for n, own in ncd.catalogue.items() if picture_inputs.takes_captions(own.build())]
    assert taken == ["clip"]
