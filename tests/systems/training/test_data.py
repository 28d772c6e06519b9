"""The data of tasks: the same from the same seed, and read from files as they are published."""

import gzip
from itertools import product
from pathlib import Path

import pytest
import torch

from ncd.errors import ParseError, SizeError
from ncd.systems.training.labelled_images import digits, mnist, shapes
from ncd.systems.training.losses import class_loss, iou
from ncd.systems.training.tasks import TASKS, data, task

KNOBS = {
    "image-recogniser": {"x": 8, "n": 8, "k": 10},
    "lenet": {"c": 1, "x": 8, "k": 10},
    "identity-resnet": {"b": 3, "x": 8, "y": 10},
    "vae": {"x": 8, "h": 16},
    "diffusion-unet": {"x": 8, "o": 1, "T": 20},
    "clip": {"i": 6, "j": 6, "x": 2, "p": 4, "s": 6, "v": 64},
    "unet": {"depth": 2, "c": 2, "x": 16, "y": 3},
    "reversal": {"t": 12, "v": 12},
    "recall": {"t": 24, "v": 16},
    "induction": {"t": 24, "v": 26},
    "brackets": {"t": 24, "v": 6},
    "proofreader": {"t": 24, "v": 78},
    "gpt-2": {"t": 64, "v": 256},
    "llama": {"t": 64, "v": 256},
    "seq2seq-attention": {"s": 18, "t": 10},
}
# all of them have the same digits, whatever is made of these
DIGITS = ("image-recogniser", "lenet", "identity-resnet", "vae", "diffusion-unet", "clip")


@pytest.mark.parametrize("name", TASKS)
def test_the_seed_decides_what_is_learned_from(name):
    one, again, other = (data(task(name), KNOBS[name], seed) for seed in (0, 0, 1))
    assert torch.equal(one.inputs, again.inputs) and torch.equal(one.answers, again.answers)
    assert torch.equal(one.targets, other.targets) == (name in DIGITS)


@pytest.mark.parametrize("name", TASKS)
def test_what_is_unseen_is_in_no_batch(name):
    found = data(task(name), KNOBS[name], 0)
    seen = {x.numpy().tobytes() for x in found.inputs}
    shared = sum(x.numpy().tobytes() in seen for x in found.unseen)
    assert shared <= 2  # of the digits, two were written alike
    assert len(found.inputs) > 3 * len(found.unseen)


def test_the_digits_are_those_of_scikit_learn():
    images, labels, source = digits(8)
    assert images.shape == (1797, 8, 8) and labels.shape == (1797,)
    assert (float(images.min()), float(images.max())) == (0, 1)
    assert labels.bincount().min() > 170
    assert source == "the digits of scikit-learn"
    assert digits(28)[0].shape == (1797, 28, 28)


def test_noisy_digits_are_from_minus_one_to_one_in_equal_colours():
    found = data(task("diffusion-unet"), {**KNOBS["diffusion-unet"], "o": 3}, 0)
    grey, *_ = digits(8)
    for images in (found.inputs, found.unseen):
        assert images.shape[1:] == (3, 8, 8)
        assert (float(images.min()), float(images.max())) == (-1, 1)
        assert images[:, 0].equal(images[:, 1]) and images[:, 0].equal(images[:, 2])
    every = {x.numpy().tobytes() for x in 2 * grey - 1}
    assert {x[0].contiguous().numpy().tobytes() for x in found.unseen} <= every


def idx(array: torch.Tensor) -> bytes:
    """An array as MNIST's files hold it."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + bytes(array.flatten().tolist())


@pytest.fixture
def folder(tmp_path):
    images = torch.arange(3 * 28 * 28).remainder(256).view(3, 28, 28)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(images))
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(
        gzip.compress(idx(torch.tensor([7, 0, 9])))
    )
    return tmp_path


def test_a_local_copy_of_mnist_is_read(folder, monkeypatch):
    images, labels = mnist(folder)
    assert images.shape == (3, 28, 28) and images[0, 0, 51 % 28] == 23 / 255
    assert labels.tolist() == [7, 0, 9]
    monkeypatch.setenv("NCD_MNIST", str(folder))
    assert digits(14)[0].shape == (3, 14, 14) and digits(28)[2] == "MNIST"


def test_a_folder_without_mnist_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParseError) as error:
        mnist(Path("."))
    assert str(error.value) == (
        ". has no train-images-idx3-ubyte, gzipped or not. Try the files of MNIST there."
    )


def test_a_file_that_is_cut_off_is_told(folder):
    path = folder / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ParseError, match="is no such file of MNIST"):
        mnist(folder)


def test_shapes_are_those_of_their_formulas_in_the_middle_of_each_pixel():
    """Restated pixel by pixel, the shapes of a picture one over the other."""
    n, x = 6, 16
    pictures, classes = shapes(n, x, 4, torch.Generator().manual_seed(3))
    draw = torch.Generator().manual_seed(3)
    lies = {
        0: lambda d, r: False,
        1: lambda d, r: d * d + r * r < 1,
        2: lambda d, r: max(abs(d), abs(r)) < 0.85,
        3: lambda d, r: d < 0.7 and 2 * abs(r) < d + 1.1,
    }
    light, found = torch.zeros(n, x, x), torch.zeros(n, x, x, dtype=torch.long)
    for _ in range(3):
        kind = torch.randint(0, 4, (n,), generator=draw).tolist()
        radius, down, right = (
            (x * (low + (high - low) * torch.rand(n, generator=draw))).tolist()
            for low, high in ((0.1, 0.25), (0.15, 0.85), (0.15, 0.85))
        )
        bright = 0.5 + 0.5 * torch.rand(n, generator=draw)
        for i, r, c in product(range(n), range(x), range(x)):
            at = ((r + 0.5 - down[i]) / radius[i], (c + 0.5 - right[i]) / radius[i])
            if lies[kind[i]](*at):
                light[i, r, c], found[i, r, c] = bright[i], kind[i]
    assert classes.equal(found)
    noise = 0.15 * torch.randn(n, x, x, generator=draw)
    torch.testing.assert_close(pictures[:, 0], light + noise)


def test_every_pixel_of_a_shape_has_its_class():
    pictures, classes = shapes(40, 32, 4, torch.Generator().manual_seed(0))
    assert sorted(classes.unique().tolist()) == [0, 1, 2, 3]
    bright = pictures[:, 0][classes > 0].mean() - pictures[:, 0][classes == 0].mean()
    assert bright > 0.6


def test_fewer_than_ten_classes_are_refused():
    with pytest.raises(SizeError, match=r"k is 3, but there are ten digits. Try k = 10."):
        data(task("image-recogniser"), {"x": 8, "n": 8, "k": 3}, 0)
    few = {"b": 300, "x": 8, "y": 10}
    with pytest.raises(SizeError, match=r"y is 3, but there are ten digits. Try y = 10."):
        data(task("identity-resnet"), {**few, "y": 3}, 0)
    with pytest.raises(
        SizeError, match=r"b is 300, but there are 299 digits to test with. Try b = 299."
    ):
        data(task("identity-resnet"), few, 0)


def test_the_likelihood_is_torch_s_of_scores():
    scores, labels = torch.randn(5, 10), torch.arange(5)
    expected = torch.nn.functional.cross_entropy(scores, labels)
    assert torch.allclose(class_loss(scores.softmax(-1), labels), expected)


def test_iou_counts_each_class():
    classes = torch.tensor([[[1, 1, 2, 0]]])
    found = torch.nn.functional.one_hot(torch.tensor([[[1, 0, 2, 2]]]), 3).movedim(-1, 1)
    assert iou(found, classes) == pytest.approx((1 / 2 + 1 / 2) / 2)
