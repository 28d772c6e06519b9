"""A line of PyTorch gives the shapes, the number of weights and the refusals that torch gives."""

import pytest
import torch
from torch import nn

import ncd
from ncd.lang.errors import NCDError
from ncd.text import TextError, read

MODULES = [
    ("nn.Linear(8, 3)", (5, 8)),
    ("nn.Linear(8, 3, bias=False)", (2, 4, 8)),
    ("nn.Conv1d(3, 6, 5, padding=2)", (2, 3, 20)),
    ("nn.Conv2d(3, 64, 7, stride=2, padding=3)", (1, 3, 56, 56)),
    ("nn.Conv2d(8, 8, (3, 3), 1, 1, groups=8)", (2, 8, 9, 9)),
    ("nn.Conv2d(4, 6, 3, dilation=2, bias=False)", (2, 4, 12, 10)),
    ("nn.Conv3d(2, 4, 3)", (1, 2, 6, 7, 8)),
    ("nn.Conv2d(3, 6, (3, 5), (1, 2), (1, 0))", (2, 3, 8, 9)),
    ("nn.Conv2d(4, 6, (1, 3), padding=(0, 2), dilation=(1, 2), groups=2)", (2, 4, 5, 6)),
    ("nn.Conv1d(3, 6, (5,), stride=(2,))", (2, 3, 20)),
    ("nn.ConvTranspose2d(8, 4, 2, stride=2)", (1, 8, 5, 5)),
    ("nn.ConvTranspose2d(2, 4, (2, 3), (2, 1), (0, 1))", (1, 2, 5, 4)),
    ("nn.MaxPool2d((3, 2), (2, 1), (1, 0))", (1, 4, 9, 9)),
    ("nn.AvgPool2d((2, 3), padding=(1, 0))", (2, 4, 8, 9)),
    ("nn.AvgPool1d(2)", (2, 4, 8)),
    ("nn.GroupNorm(2, 6)", (3, 6, 5, 4)),
    ("nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(4, 4, 1e-3))", (3, 2, 9)),
    ("nn.MaxPool2d(3, 2, 1)", (1, 4, 9, 9)),
    ("nn.MaxPool2d(2)", (4, 8, 8)),
    ("nn.Embedding(50, 12)", (2, 7)),
    ("nn.LayerNorm(12)", (3, 12)),
    ("nn.BatchNorm2d(6)", (4, 6, 5, 5)),
    ("nn.Softmax(dim=-1)", (3, 5)),
    ("nn.Flatten()", (3, 4, 5)),
    (
        "nn.Sequential(nn.Linear(4, 9), nn.GELU(), nn.Sequential(nn.Linear(9, 2), nn.Tanh()))",
        (3, 4),
    ),
    (
        "nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), "
        "nn.Linear(6 * 12 * 12, 10))".replace("6 * 12 * 12", "864"),
        (2, 1, 28, 28),
    ),
]


@pytest.mark.parametrize(("text", "shape"), MODULES)
def test_the_shape_and_the_weights_are_torch_s(text: str, shape: tuple[int, ...]) -> None:
    theirs = eval(text, {"nn": nn})
    whole = "Embedding" in text
    given = torch.zeros(shape, dtype=torch.long) if whole else torch.randn(shape)
    term = read(f"{text}(torch.randn{shape})")
    ours = ncd.compile(term)
    assert tuple(ours(*ncd.example_inputs(term)).shape) == tuple(theirs(given).shape)
    assert ncd.cost(term).parameters == sum(p.numel() for p in theirs.parameters())
    assert read(f"{text}\n{'x'.join(map(str, shape))}") == term
    assert read(f"torch.{text}{shape}") == term


@pytest.mark.parametrize("text", [text for text, _ in MODULES])
def test_without_a_shape_a_usual_one_is_taken(text: str) -> None:
    if "864" not in text:
        term = read(text)
        assert ncd.compile(term)(*ncd.example_inputs(term)).numel()


def test_the_numbers_are_torch_s() -> None:
    text = "nn.Sequential(nn.Conv2d(2, 4, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 5))"
    theirs = eval(text, {"nn": nn})
    term = read(f"{text}(3, 2, 8, 8)")
    ours = ncd.compile(term)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        mine.data.copy_(other.data)
    x = torch.randn(3, 2, 8, 8)
    torch.testing.assert_close(ours(x), theirs(x))


SIDED = (
    "nn.Sequential(nn.Conv2d(2, 4, (3, 1), (2, 1), (0, 1), (1, 2), 2), nn.GroupNorm(2, 4), "
    "nn.AvgPool2d((1, 2), (1, 3)), nn.MaxPool2d((2, 1)))"
)


def test_numbers_for_each_side_are_torch_s() -> None:
    theirs, term = eval(SIDED, {"nn": nn}), read(f"{SIDED}(3, 2, 9, 8)")
    ours = ncd.compile(term)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        mine.data.copy_(other.data)
    x = torch.randn(3, 2, 9, 8)
    one, two = ours(x), theirs(x)
    torch.testing.assert_close(one, two)
    for module, y in ((ours, one), (theirs, two)):
        y.sin().sum().backward()
        assert all(w.grad is not None for w in module.parameters())
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad)
    assert ncd.parse(repr(term)) == term and ncd.from_json(ncd.to_json(term)) == term


@pytest.mark.parametrize(
    "text", ["b h i d, b h j d -> b h i j", "bhid,bhjd->bhij", "einsum('bhid,bhjd->bhij', q, k)"]
)
def test_an_einsum_is_read_in_both_spellings(text: str) -> None:
    term = read(text)
    q, k = torch.randn(2, 8, 8, 8, 8).unbind()
    torch.testing.assert_close(ncd.compile(term)(q, k), torch.einsum("bhid,bhjd->bhij", q, k))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nn.Linear(8, 3)(4, 5, 7)",
            "line 1, column 1: nn.Linear: in_features is 8, but the array has 7 along m. "
            "Try in_features=7.",
        ),
        ("nn.Linear(8, 3)(4, 9)", "in_features is 8, but the array has 9 along m."),
        (
            "nn.Conv2d(3, 6, (3, 2.5))",
            "line 1, column 1: nn.Conv2d: kernel_size is (3, 2.5), but it is a whole number, or "
            "one for each dimension. Try kernel_size=3.",
        ),
        (
            "nn.Conv2d(3, 6, (3, 5, 7))",
            "line 1, column 1: nn.Conv2d: the kernel is 3×5×7, but x has 2 dimensions. "
            "Try kernel = 3.",
        ),
        (
            "nn.GroupNorm(4, 6)(1, 6, 5, 5)",
            "line 1, column 1: nn.GroupNorm: c = 6 channels are not 4 groups of one size. "
            "Try c = 8, or groups = 1.",
        ),
        (
            "nn.Sequential(nn.Linear(8, 6), nn.GroupNorm(2, 6))",
            "line 1, column 32: nn.GroupNorm: it stands behind no image. "
            "Try nn.GroupNorm behind nn.Conv2d.",
        ),
        ("nn.Conv2d(3, 6, 3)(3, 8)", "nn.Conv2d takes 3 or 4 dimensions, not 2."),
        ("nn.Linaer(3, 6)", "nn.Linaer is not known here. Try nn.Linear."),
        (
            f"nn.Sequential({'nn.ReLU(), ' * 101})",
            "it has 101 modules. Try 100 modules at most.",
        ),
        ("nn.Linear(3)", "nn.Linear lacks an argument, or has a wrong one."),
        ("nn.Linear(3, 4, True, 5)", "nn.Linear takes 3 arguments in order."),
        ("nn.Linear(a, 4)", "'a' is not a number."),
        ("nn.Linear(3, 4)(0, 3)", "a shape is several whole numbers."),
        ("nn.Linear(3, ", "was never closed"),
        ("nn.Sequential(nn.ReLU(), nn.Embedding(3, 4))", "it stands behind another module."),
        ("nn.Conv2d(3, 4, 9)(1, 3, 5, 5)", "nn.Conv2d: "),
    ],
)
def test_what_does_not_fit_is_told(text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        read(text)
    assert message in str(error.value)


def test_a_wrong_einsum_is_told() -> None:
    with pytest.raises(NCDError, match="einsum"):
        read("b i, b j -> b k")
