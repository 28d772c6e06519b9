"""Pictures as inputs: their pixels, the limits of uploads, and the systems that take them."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from ncd import Id, Linear
from ncd.language.terms import Term
from ncd.run.seeding import example_inputs
from ncd.systems.inputs import picture_inputs
from ncd.systems.inputs.picture_inputs import (
    DIGITS,
    DISTINCT,
    MADE_UP,
    MAX_UPLOAD_SIDE,
    SCENES,
    SIX,
    UnreadableError,
)
from ncd.systems.training.captions import CAPTION_WORDS, LONGEST_CAPTION, TEMPLATES, caption

HALVES = np.zeros((4, 8, 3), np.uint8)
HALVES[:, 4:] = (255, 128, 0)


def file(pixels: np.ndarray, kind: str = "png", **more: object) -> bytes:
    out = BytesIO()
    Image.fromarray(pixels).save(out, kind, **more)
    return out.getvalue()


def test_pixels_are_colours_from_0_to_1_and_more_channels_repeat_them() -> None:
    picture = picture_inputs.read_upload(file(HALVES))
    seen = picture.pixels(5, 4, 8, 0)
    assert seen.shape == (5, 4, 8)
    assert seen[:, 0, 7].tolist() == pytest.approx([1, 128 / 255, 0, 1, 128 / 255])
    assert seen[:, 0, 0].tolist() == [0] * 5
    (grey,) = picture.pixels(1, 4, 8, 0)
    assert grey[0, 7].item() == pytest.approx((299 * 255 + 587 * 128) / 255000, abs=0.01)
    assert picture.pixels(3, 4, 4, 0)[0, 0].tolist() == [0, 0, 1, 1]  # the centre


@pytest.mark.parametrize("light", [120, 140])
def test_ink_on_paper_is_turned_light_on_dark_where_it_is_to_fit(light: int) -> None:
    picture = picture_inputs.read_upload(file(np.full((4, 4, 3), light, np.uint8)))
    shown = light / 255
    assert picture.pixels(1, 4, 4, 0)[0, 0, 0].item() == pytest.approx(shown)
    fitted = picture.pixels(1, 4, 4, 0, fit=True)[0, 0, 0].item()
    assert fitted == pytest.approx(1 - shown if light > 128 else shown)


def test_an_upload_is_scaled_down_and_upright_and_white_behind() -> None:
    wide = picture_inputs.read_upload(file(np.zeros((600, 1200, 3), np.uint8)))
    assert isinstance(wide.data, bytes)
    assert Image.open(BytesIO(wide.data)).size == (MAX_UPLOAD_SIDE, MAX_UPLOAD_SIDE // 2)
    turned = Image.Exif()
    turned[0x0112] = 6
    stood = picture_inputs.read_upload(file(HALVES, "jpeg", exif=turned))
    assert isinstance(stood.data, bytes)
    assert Image.open(BytesIO(stood.data)).size == (4, 8)
    clear = np.zeros((4, 4, 4), np.uint8)
    assert picture_inputs.read_upload(file(clear)).pixels(3, 4, 4, 0).min() == 1
    deep = np.full((4, 4), 32768, np.uint16)
    assert picture_inputs.read_upload(file(deep)).pixels(1, 4, 4, 0)[
        0, 0, 0
    ].item() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("size", [(1023, 1100), (2048, 2049), (3000, 2100)])
def test_a_large_upload_is_reduced_in_bands_without_a_seam(size: tuple[int, int]) -> None:
    high, wide = size
    ramp = np.broadcast_to(np.linspace(0, 255, high)[:, None, None], (high, wide, 3))
    found = picture_inputs.read_upload(file(ramp.astype(np.uint8)))
    assert isinstance(found.data, bytes)
    shown = np.asarray(Image.open(BytesIO(found.data)))[:, 0, 0].astype(int)
    assert max(Image.open(BytesIO(found.data)).size) == MAX_UPLOAD_SIDE
    assert (shown[0] <= 2, shown[-1] >= 253) == (True, True)
    assert (np.diff(shown) >= 0).all()
    assert np.diff(shown).max() <= 2


def test_the_limits_of_an_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_inputs, "MEGAPIXELS", 0.0001)
    picture_inputs.read_upload(file(np.zeros((10, 10, 3), np.uint8)))
    with pytest.raises(UnreadableError, match="more than"):
        picture_inputs.read_upload(file(np.zeros((10, 11, 3), np.uint8)))
    data = file(np.zeros((10, 10, 3), np.uint8))
    monkeypatch.setattr(picture_inputs, "MEGABYTES", len(data) / 10**6)
    picture_inputs.read_upload(data)
    with pytest.raises(UnreadableError, match="MB"):
        picture_inputs.read_upload(data + b"\0")
    with pytest.raises(UnreadableError, match="no picture"):
        picture_inputs.read_upload(b"nothing")


# --- strokes --------------------------------------------------------------------------------------


def test_a_drawing_that_is_to_fit_fills_the_picture() -> None:
    for points in ([(0.1, 0.1), (0.4, 0.25)], [(0.7, 0.2), (0.75, 0.9)]):
        (moved,) = picture_inputs.centre_strokes([points])
        xs, ys = [x for x, _ in moved], [y for _, y in moved]
        assert (min(xs) + max(xs)) / 2 == pytest.approx(0.5)
        assert (min(ys) + max(ys)) / 2 == pytest.approx(0.5)
        room = 1 - picture_inputs.PEN - 2 * picture_inputs.MARGIN
        assert max(max(xs) - min(xs), max(ys) - min(ys)) == pytest.approx(room)
        slope = (points[1][1] - points[0][1]) / (points[1][0] - points[0][0])
        assert (moved[1][1] - moved[0][1]) / (moved[1][0] - moved[0][0]) == pytest.approx(slope)
    near = picture_inputs.centre_strokes([[(0.3, 0.9), (0.31, 0.9)]])[0]  # no wider than a pen
    assert near[1][0] - near[0][0] == pytest.approx(0.01 * room / picture_inputs.PEN)
    assert picture_inputs.centre_strokes([[(0.3, 0.9)]]) == [[(0.5, 0.5)]]
    assert picture_inputs.centre_strokes([]) == []


def test_a_line_is_as_thick_as_the_pen() -> None:
    drawn = np.asarray(picture_inputs.picture([[(0.0, 0.5), (1.0, 0.5)]], 100, 100))
    column = drawn[:, 50] / 255
    assert column.sum() == pytest.approx(100 * picture_inputs.PEN, abs=1)
    assert (column * np.arange(100)).sum() / column.sum() == pytest.approx(49.5, abs=0.6)
    dot = np.asarray(picture_inputs.picture([[(0.25, 0.75)]], 80, 40)) / 255
    assert dot.shape == (80, 40)
    assert dot.sum() == pytest.approx(np.pi * (40 * picture_inputs.PEN / 2) ** 2, rel=0.1)
    ys, xs = np.nonzero(dot > 0.5)
    assert (xs.mean(), ys.mean()) == pytest.approx((9.5, 59.5), abs=0.6)


# --- which systems take them ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dom", "count", "channels"),
    [
        ("c:3 x:8x8", 1, 3),
        ("b:2 c:3 x:8x8", 1, 3),
        ("x:8x8", 1, 1),
        ("~y:8 ~x:8", 1, 0),
        ("c:3 x:8x8, k:4", 1, 3),
        ("c:3 x:8x8, c:3 y:8x8", 2, 3),
        ("c:3 x:8x8, b:4 ~t:5#v:9", 1, 3),
        ("c:3 x:8x8, ~t:5#v:9", 0, 3),
        ("c:3 x:8x8, ~t:5", 0, 3),
        ("c:3 x:8x8, k:4 l:2", 0, 3),
        ("a:1 b:2 c:3 x:8x8", 0, 3),
        ("c:3 x", 0, 3),
        ("~c:3 x:8x8", 0, 3),
        ("z:2x2 x:8x8", 0, 3),
        ("c:3 x:8x8x8", 0, 3),
        ("c:3 x:8x8#v:9", 0, 3),
        ("~y:8 x:8", 0, 1),
        ("k:8", 0, 1),
    ],
)
def test_pictures_come_first_and_only_small_arrays_beside_them(
    dom: str, count: int, channels: int
) -> None:
    term = Id(dom)
    assert len(picture_inputs.image_inputs(term)) == count
    assert picture_inputs.takes_pictures(term) == bool(count)
    if count:
        assert picture_inputs.channels(term) == channels
        assert picture_inputs.opens_with_sample(term) == (channels in (0, 1, 3))
        assert len(picture_inputs.names(term)) == count


@pytest.mark.parametrize(
    ("term", "wanted"),
    [
        (Id("~y:8 ~x:8"), True),
        (Linear("c:3 x:64x64 -> k:4", "W"), True),
        (Linear("c:3 x:64x65 -> k:4", "W"), False),
        (Id("b:2 c:3 x:8x8") >> Linear("c x -> k:4", "W"), True),
        (Linear("x:8x8 -> k:4", "W"), False),  # no channels
        (Linear("c:3 x:8x8 -> k:4 l:2", "W"), False),
        (Linear("c:3 x:8x8 -> y:4x4", "W"), False),
        (Linear("b:2 c:3 x:8x8 -> a:2 k:4", "W"), False),  # the pictures are mixed
        (Linear("c:3 x:8x8 -> k:4", "W") @ Id("k:4"), False),
        (Linear("c:3 x:8x8 -> k:4", "W") >> Linear("k -> k", "V") @ Id("()"), False),
        (Id("c:3 x:8x8"), False),
        (Id(""), False),
    ],
    ids=str,
)
def test_a_system_that_gives_a_vector_for_a_small_picture_classifies(
    term: Term, wanted: bool
) -> None:
    assert picture_inputs.classifies(term) is wanted


WORDS, LONG = len(CAPTION_WORDS), LONGEST_CAPTION


@pytest.mark.parametrize(
    ("dom", "wanted"),
    [
        (f"i:6 c:3 u:64x64, j:6 ~s:{LONG}#v:{WORDS}", True),
        (f"i:6 c:3 u:64x65, j:6 ~s:{LONG}#v:{WORDS}", False),
        (f"i:6 c:3 u:8x8, j:6 ~s:{LONG - 1}#v:{WORDS}", False),
        (f"i:6 c:3 u:8x8, j:6 ~s:{LONG}#v:{WORDS - 1}", False),
        (f"c:3 u:8x8, j:6 ~s:{LONG}#v:{WORDS}", False),
        (f"i:6 c:3 u:8x8, ~s:{LONG}#v:{WORDS}", False),
        (f"i:6 c:3 u:8x8, j:6 ~s:{LONG}#v:{WORDS}, k:3", False),
        (f"i:6 c:3 u:8x8, j:6 ~s:{LONG}", False),
        (f"i:6 c:3 ~u:8, j:6 ~s:{LONG}#v:{WORDS}", False),
        ("i:6 c:3 u:8x8", False),
        ("", False),
    ],
)
def test_sentences_beside_small_pictures_are_captions_if_they_can_hold_one(
    dom: str, wanted: bool
) -> None:
    assert picture_inputs.takes_captions(Id(dom)) is wanted


@pytest.mark.parametrize("first", [7, 3, None])
def test_captions_name_the_digits_and_say_it_otherwise_after_all_ten(first: int | None) -> None:
    own = (
        picture_inputs.drawing("4020c020")
        if first is None
        else picture_inputs.sample(f"digit {first}")
    )
    term = Id(f"i:23 c:3 u:4x4, j:23 ~s:{LONG}#v:{WORDS}")
    pictures, said = picture_inputs.tensors(term, (own,), 0)
    assert pictures.shape == (23, 3, 4, 4)
    begin = 6 if first is None else first  # the samples begin with 7
    wanted = [caption((begin + n) % 10, n // 10 % len(TEMPLATES), LONG) for n in range(23)]
    assert said.tolist() == wanted
    fourth = picture_inputs.sample(f"digit {(begin + 3) % 10}").pixels(3, 4, 4, 3, fit=True)
    assert torch.equal(pictures[3], fourth)


def test_two_channels_open_with_no_sample() -> None:
    assert not picture_inputs.opens_with_sample(Id("c:2 x:8x8"))
    assert not picture_inputs.opens_with_sample(Id("c:4 x:8x8"))


def test_samples_begin_with_those_that_suit() -> None:
    assert picture_inputs.samples(Id("c:3 x:8x8"))[0] == SCENES[0]
    assert picture_inputs.samples(Id("c:1 x:8x8"))[0] == MADE_UP
    assert picture_inputs.samples(Id("~y:8 ~x:8"))[:4] == (
        "digit 7",
        "digit 8",
        "digit 9",
        "digit 0",
    )
    assert set(picture_inputs.samples(Id("~y:8 ~x:8"))) == set(DIGITS)


def test_a_batch_goes_through_all_scenes_and_repeats_after_many() -> None:
    term = Id("b:70 c:3 x:4x4")
    (batch,) = picture_inputs.tensors(term, (picture_inputs.sample("cat"),), 0)
    assert batch.shape == (70, 3, 4, 4)
    assert torch.equal(batch[0], picture_inputs.sample("cat").pixels(3, 4, 4, 0))
    shown = {tuple(picture.flatten().tolist()) for picture in batch[:7]}
    assert len(shown) == 7
    assert torch.equal(batch[DISTINCT], batch[0])
    assert torch.equal(batch[69], batch[5])
    order = [*picture_inputs.samples(term), *SIX[3:]]
    after = picture_inputs.sample(order[order.index("cat") + 1]).pixels(3, 4, 4, 1)
    assert torch.equal(batch[1], after)


def test_other_inputs_are_drawn_beside_the_picture() -> None:
    term = Id("c:3 x:4x4, k:5")
    picture, other = picture_inputs.tensors(term, (picture_inputs.sample("boat"),), 3)
    assert (picture.shape, other.shape) == ((3, 4, 4), (5,))
    assert torch.equal(other, example_inputs(term, 3)[1])
