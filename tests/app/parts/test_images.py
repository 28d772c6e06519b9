"""Pictures as inputs: samples, files that visitors send, and what they draw."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

import ncd
import ncd.systems.inputs.picture_inputs  # named by the code of a feed
from ncd.app.panels.attention.picture_attention import Windows
from ncd.app.parts import image_picker
from ncd.app.parts import input_feed as inputs
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs import picture_inputs
from ncd.systems.inputs.picture_inputs import DISTINCT, UnreadableError, as_text, parse, valid
from ncd.systems.inputs.run_inputs import RANDOM, InputSpec
from ncd.systems.training.training_loop import TaskTraining
from tests.app.page.test_pages import fine, page

SPATIAL = [
    entry for entry in ncd.catalogue.values() if picture_inputs.takes_pictures(entry.build())
]
BY_NAME = pytest.mark.parametrize("entry", SPATIAL, ids=lambda entry: entry.name)
VISUAL = ncd.catalogue["visual-attention"]
CROSS = "4040c0c0.c04040c0"


def file(image: Image.Image, form: str = "png", **options: object) -> bytes:
    data = io.BytesIO()
    image.save(data, form, **options)
    return data.getvalue()


def pixels(data: bytes) -> np.ndarray:
    """What is kept of a file."""
    made = picture_inputs.read_upload(data).data
    assert isinstance(made, bytes)
    return np.asarray(Image.open(io.BytesIO(made)))


# --- where they go -------------------------------------------------------------------------------


def test_which_systems_take_pictures() -> None:
    names = {entry.name for entry in SPATIAL}
    assert {"image-recogniser", "unet", "residual-block", "visual-attention"} <= names
    assert not {"multi-head-attention", "scaled-dot-product-attention"} & names


@BY_NAME
def test_every_sample_goes_into_every_system_at_any_size(entry: Entry) -> None:
    ends = [{knob.name: value} for knob in entry.knobs for value in (knob.min, knob.max)]
    for knobs in ({}, *ends):
        term = entry.build(**entry.with_clamped_indexes(entry.settings(knobs)))
        for name in picture_inputs.samples(term):
            held = picture_inputs.image_inputs(term)  # others may be words or noise
            feed = InputSpec(pictures=(picture_inputs.sample(name),) * len(held))
            for x, array in zip(feed.tensors(term, 0, "cpu"), held, strict=False):
                assert x.shape == array.shape and x.dtype == torch.float32 and x.std() > 0


@pytest.mark.parametrize("name", [*picture_inputs.SCENES, *picture_inputs.DIGITS])
def test_pixels_lie_between_0_and_1(name: str) -> None:
    seen = picture_inputs.sample(name).pixels(3, 20, 30, 0)
    assert seen.shape == (3, 20, 30) and seen.min() >= 0 and 0.5 < seen.max() <= 1


def test_more_channels_are_the_colours_again_and_one_is_grey() -> None:
    boat = picture_inputs.sample("boat")
    colours, grey = boat.pixels(7, 16, 16, 0), boat.pixels(1, 16, 16, 0)
    assert torch.equal(colours[3:6], colours[:3]) and torch.equal(colours[6], colours[0])
    assert not torch.equal(colours[0], colours[1])
    luma = torch.einsum("c h w, c -> h w", colours[:3], torch.tensor([0.299, 0.587, 0.114]))
    assert torch.allclose(grey[0], luma, atol=0.01)


def test_the_images_of_a_batch_are_different_and_the_first_is_the_one_chosen() -> None:
    term = ncd.catalogue["residual-block"].build(b=4)
    (x,) = picture_inputs.tensors(term, (picture_inputs.drawing(CROSS),), 0)
    assert torch.equal(x[0], picture_inputs.drawing(CROSS).pixels(16, 16, 16, 0))
    assert len({image.numpy().tobytes() for image in x}) == 4


def test_a_large_jpeg_and_a_large_png_are_read() -> None:
    for form in ("jpeg", "png"):
        found = pixels(file(Image.new("RGB", (5400, 5400), (200, 30, 30)), form))
        assert found.shape == (512, 512, 3) and np.abs(found - (200.0, 30, 30)).max() < 4


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_a_picture_made_in_bands_is_the_whole_picture(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its mode, and where the last band is not whole."""
    ramp = np.add.outer(np.arange(1300), np.arange(1100)) / 2400 * 255
    if mode == "I;16":
        image = Image.fromarray((ramp * 257).astype(np.uint16))
    else:
        image = Image.fromarray(ramp.astype(np.uint8)).convert(mode)
    assert image.mode == mode
    data = file(image, "png")
    made = pixels(data)
    monkeypatch.setattr(picture_inputs, "BAND", 10_000)
    assert np.array_equal(made, pixels(data))
    assert np.abs(np.diff(made[..., 0], axis=0)).max() <= 2


def test_a_batch_repeats_after_some_images() -> None:
    """A batch of thousands costs no more than the images that differ."""
    term = ncd.catalogue["batch-norm"].build(b=2 * DISTINCT + 1)
    (x,) = picture_inputs.tensors(term, (picture_inputs.sample("boat"),), 0)
    assert len(x) == 2 * DISTINCT + 1
    assert torch.equal(x[:DISTINCT], x[DISTINCT : 2 * DISTINCT]) and torch.equal(x[0], x[-1])
    assert not torch.equal(x[0], x[1])


def test_an_image_is_cut_to_its_middle_and_never_squeezed() -> None:
    wide = Image.new("RGB", (300, 100), "black")
    wide.paste("white", (100, 0, 200, 100))
    seen = picture_inputs.read_upload(file(wide)).pixels(1, 10, 10, 0)
    assert seen.min() > 0.9


def test_pictures_are_told_apart_and_made_again_from_their_code() -> None:
    every = [
        picture_inputs.sample("boat"),
        picture_inputs.sample("cat"),
        picture_inputs.drawing(CROSS),
    ]
    feeds = [InputSpec(pictures=(one, other)) for one in every for other in every]
    assert len({feed.key for feed in (*feeds, InputSpec())}) == 10
    for feed in feeds:
        again = eval(f"Feed({feed.code})", {"Feed": InputSpec, "ncd": ncd})
        assert again == feed and again.pictures


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["png", "jpeg", "webp", "gif", "bmp"])
def test_a_file_in_any_of_the_formats_is_read(form: str) -> None:
    red = Image.new("RGB", (60, 40), (200, 30, 30))
    found = pixels(file(red, form))
    assert found.shape == (40, 60, 3)
    assert np.abs(found.astype(int) - (200, 30, 30)).max() < 12


@pytest.mark.parametrize("form", ["png", "jpeg", "webp", "gif", "bmp"])
def test_a_damaged_file_is_refused_or_read_and_never_more(form: str) -> None:
    whole = bytearray(file(Image.effect_noise((64, 48), 60).convert("RGB"), form))
    random = np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(whole[: random.integers(1, len(whole))])
        for at in random.integers(0, len(broken), 6):
            broken[at] = random.integers(256)
        try:
            assert picture_inputs.read_upload(bytes(broken)).kind == "upload"
        except UnreadableError as error:
            assert str(error)


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def bomb(width: int, height: int) -> bytes:
    """A small file that says it is a picture of this size."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 99))


def test_too_much_of_a_picture_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(UnreadableError, match=r"^The picture has more than 30 million pixels\.$"):
        picture_inputs.read_upload(bomb(6000, 6000))
    with pytest.raises(UnreadableError, match="is no picture that can be read here"):
        picture_inputs.read_upload(bomb(60_000, 60_000))
    with pytest.raises(UnreadableError, match=r"^The file has more than 10 MB\.$"):
        picture_inputs.read_upload(b"\0" * 10_000_001)


@pytest.mark.parametrize("data", [b"", b"<svg onload='x()'/>", b"%PDF-1.7", b"GIF89a", b"BM"])
def test_what_is_no_picture_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(UnreadableError, match=r"^The file is no picture .* PNG, JPEG, WEBP"):
        picture_inputs.read_upload(data)


def test_a_picture_is_small_upright_and_on_white() -> None:
    assert (
        max(pixels(file(Image.new("RGB", (3000, 1000)), "jpeg")).shape)
        <= picture_inputs.MAX_UPLOAD_SIDE
    )
    exif = Image.Exif()
    exif[0x112] = 6  # a camera that was turned
    assert pixels(file(Image.new("RGB", (60, 20)), "jpeg", exif=exif)).shape == (60, 20, 3)
    assert pixels(file(Image.new("RGBA", (9, 9), (0, 0, 0, 0)))).min() == 255
    half = Image.fromarray(np.full((9, 9), 32_768, np.uint16))
    assert np.unique(pixels(file(half))).tolist() == [128]


# --- drawings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["", "xyz", "40", "4040c0", "<b>", "4040.<b>", "٤٠٤٠", None, 7, "." * 9000, "4040\n"]
)
def test_no_text_is_too_odd_for_a_drawing(text: object) -> None:
    said = valid(text)
    assert valid(said) == said and set(said) <= set("0123456789abcdef.")
    assert picture_inputs.drawing(said).pixels(1, 8, 8, 0).shape == (1, 8, 8)


def test_a_drawing_is_where_its_strokes_are_at_every_size() -> None:
    line = as_text([[(0.25, 0.25), (0.25, 0.75)]])
    for side in (8, 28, 64):
        (seen,) = picture_inputs.drawing(line).pixels(1, side, side, 0)
        at = (torch.arange(side) + 0.5) / side
        across, down = ((seen.sum(dim) * at).sum() / seen.sum() for dim in (0, 1))
        assert (across, down) == pytest.approx((0.25, 0.5), abs=0.02)
        assert seen[:, side // 2 :].max() == 0


def test_a_small_drawing_in_a_corner_is_recognised_as_a_large_one() -> None:
    large = parse((picture_inputs.FOLDER / "digits.txt").read_text().split()[4])
    small = [[(0.6 + 0.3 * x, 0.05 + 0.3 * y) for x, y in stroke] for stroke in large]
    seen = [picture_inputs.drawing(as_text(s)).pixels(1, 28, 28, 0, True) for s in (large, small)]
    assert (seen[0] - seen[1]).abs().mean() < 0.02


def test_ink_on_paper_is_light_on_dark_for_a_recogniser_of_digits() -> None:
    paper = Image.new("L", (60, 60), 250)
    paper.paste(5, (25, 5, 35, 55))
    sent = picture_inputs.read_upload(file(paper))
    (seen,) = picture_inputs.tensors(ncd.catalogue["image-recogniser"].build(), [sent], 0)
    assert seen.mean() < 0.3 and seen[14, 14] > 0.9
    assert sent.pixels(1, 28, 28, 0).mean() > 0.7


def test_drawn_digits_are_recognised_after_training() -> None:
    """They are like the digits that it learns from."""
    fit = TaskTraining("image-recogniser", {"n": 64}, seed=0, steps=200)
    assert [*fit]
    term = ncd.catalogue["image-recogniser"].build(n=64)
    drawn = [
        picture_inputs.tensors(term, [picture_inputs.sample(name)], 0)[0]
        for name in picture_inputs.DIGITS
    ]
    with torch.no_grad():
        found = [int(fit.module(image).argmax()) for image in drawn]
    assert sum(one == i for i, one in enumerate(found)) >= 8, found


# --- patches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "kernel", "stride"),
    [((9, 9), 3, 3), ((16, 16), 3, 3), ((11, 8), 4, 2), ((9, 7), 2, 4)],
)
def test_the_weights_lie_on_the_pixels_of_their_windows(
    shape: tuple[int, int], kernel: int, stride: int
) -> None:
    """As torch folds windows back into an image."""
    windows = Windows(shape, kernel, stride)
    numbers = np.random.default_rng(0).random(windows.count, dtype=np.float32)

    def folded(numbers: np.ndarray) -> torch.Tensor:
        columns = torch.from_numpy(numbers).reshape(1, 1, -1).expand(1, kernel**2, -1)
        return F.fold(columns, shape, kernel, stride=stride)[0, 0]

    count = folded(np.ones_like(numbers))
    expected = torch.where(count > 0, folded(numbers) / count, torch.nan)
    torch.testing.assert_close(
        torch.from_numpy(windows.spread(numbers)), expected, equal_nan=True, rtol=1e-5, atol=1e-6
    )
    assert windows.uncovered_count == int((count == 0).sum())


def test_the_run_of_the_notebook_drops_a_row_and_a_column() -> None:
    term = VISUAL.build(**VISUAL.preset("notebook").knobs)
    (out,) = term.cod
    assert out.shape == (33, 15, 15)
    assert Windows((16, 16), 3, 3).uncovered_count == 16 + 15


# --- the page ------------------------------------------------------------------------------------


def test_a_system_that_takes_a_picture_begins_with_one() -> None:
    begins = {entry.name: inputs.choices(entry, entry.build())[0] for entry in SPATIAL}
    assert begins["visual-attention"] == begins["unet"] == image_picker.SAMPLE
    assert begins["residual-block"] == RANDOM  # of 16 channels, which are no colours


@pytest.mark.parametrize(
    "query",
    [
        {"sample": "cat", "sample_x": "balloons"},
        {"input": "drawing", "drawing": CROSS},
        {"input": "upload"},
        {"input": RANDOM, "h": "1", "w": "1", "s": "1"},
        {"input": "sentences", "sample": "nothing", "drawing": "<script>", "patch": "999.x"},
        {"patch": "999.999", "head": "99", "w": "8", "s": "1"},
    ],
    ids=str,
)
def test_a_link_says_what_goes_in(query: dict[str, str]) -> None:
    fine(page("visual-attention", **query))


@BY_NAME
def test_every_system_with_pictures_takes_a_drawing(entry: Entry) -> None:
    fine(page(entry.name, input="drawing", drawing=CROSS))


def test_reset_brings_the_sample_back() -> None:
    app = page("visual-attention", input="drawing", drawing=CROSS, sample_x="cat")
    fine(app.button(key="reset").click().run())
    state = app.session_state
    assert (state["input"], state["drawing"], state["sample_x"]) == (image_picker.SAMPLE, "", "")


@pytest.mark.parametrize("n", [1, 3])
def test_a_line_and_a_volume_get_random_numbers_where_the_page_opens_with_a_picture(n: int) -> None:
    fine(page("convolution", n=n, x=8))
