"""What is said of one line that fails, whole, and the first edit that cures it."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from ncd.findings.search import findings

FEATURES, CHANNELS = "the features of the input, line 1", "the channels of the input, line 1"
BATCH = "the batch of the input, line 1"
LAYERS = (
    ("nn.Conv2d(3, 8, 3)(torch.randn(2, 5, 9, 9))",
     f"Conv2d gets 5 channels ({CHANNELS}): batch 2, channels 5, height 9, width 9; it takes 3 (in_channels, line 1).",
     "nn.Conv2d(5, 8, 3)(torch.randn(2, 5, 9, 9))", ((2, 8, 7, 7),)),
    ("nn.Conv2d(3, 8, 3)(torch.randn(2, 9, 9, 3))",
     f"Conv2d gets 9 channels ({CHANNELS}): batch 2, channels 9, height 9, width 3; it takes 3 (in_channels, line 1). "
     "The last axis has 3: the channels stand last, not second.",
     "nn.Conv2d(3, 8, 3)(torch.randn(2, 9, 9, 3).permute(0, 3, 1, 2))", ((2, 8, 7, 7),)),
    ("nn.Conv2d(3, 8, (3, 5), padding=(0, 1))(torch.randn(2, 3, 9, 2))",
     "Conv2d has a kernel of 3 × 5, but its input is only 9 × 2 and 1 of padding on both sides.",
     "nn.Conv2d(3, 8, (3, 4), padding=(0, 1))(torch.randn(2, 3, 9, 2))", ((2, 8, 7, 1),)),
    ("nn.Conv1d(4, 8, 5)(torch.randn(4, 3))",
     "Conv1d has a kernel of 5, but its input is only 3.",
     "nn.Conv1d(4, 8, 5)(torch.randn(4, 5))", ((8, 1),)),
    ("nn.MaxPool2d(3)(torch.randn(1, 2, 2, 5))",
     "MaxPool2d has a kernel of 3 × 3, but its input is only 2 × 5.",
     "nn.MaxPool2d(3)(torch.randn(1, 2, 3, 5))", ((1, 2, 1, 1),)),
    ("nn.MaxPool2d(2, padding=1)(torch.randn(1, 2, 0, 5))",
     "MaxPool2d makes nothing of its input of 0 × 5: the result would be empty.", "", ()),
    ("nn.BatchNorm1d(4)(torch.randn(2, 5))",
     f"BatchNorm1d gets 5 channels ({FEATURES}): batch 2, channels 5; it takes 4 (num_features, line 1).",
     "nn.BatchNorm1d(5)(torch.randn(2, 5))", ((2, 5),)),
    ("nn.BatchNorm2d(4)(torch.randn(2, 4))",
     "BatchNorm2d takes an array of 4 axes, but gets one of 2 (2 × 4).",
     "nn.BatchNorm1d(4)(torch.randn(2, 4))", ((2, 4),)),
    ("nn.BatchNorm2d(4)(torch.randn(4, 5, 6))",
     "BatchNorm2d takes an array of 4 axes, but gets one of 3 (4 × 5 × 6).",
     "nn.BatchNorm2d(4)(torch.randn(4, 5, 6).unsqueeze(0))", ((1, 4, 5, 6),)),
    ("nn.BatchNorm1d(4)(torch.randn(4))",
     "BatchNorm1d takes an array of 2 or 3 axes, but gets one of 1 (4).",
     "nn.BatchNorm1d(4)(torch.randn(2, 4))", ((2, 4),)),
    ("nn.MaxPool2d(2)(torch.randn(8))",
     "MaxPool2d takes an array of 3 or 4 axes, but gets one of 1 (8).", "", ()),
    ("nn.LSTM(8, 5)(torch.randn(8))",
     "LSTM takes an array of 2 or 3 axes, but gets one of 1 (8).", "", ()),
    ("nn.BatchNorm1d(4)(torch.randn(2, 4, 5, 6))",
     "BatchNorm1d takes an array of 2 or 3 axes, but gets one of 4 (2 × 4 × 5 × 6).",
     "nn.BatchNorm2d(4)(torch.randn(2, 4, 5, 6))", ((2, 4, 5, 6),)),
    ("nn.LayerNorm(8)(torch.randn(2, 5))",
     f"LayerNorm normalises the last axes of 2 × 5, which are 5 ({FEATURES}); it takes 8 (normalized_shape, line 1).",
     "nn.LayerNorm(5)(torch.randn(2, 5))", ((2, 5),)),
    ("nn.LayerNorm((3, 8))(torch.randn(2, 3, 5))",
     "LayerNorm normalises the last axes of 2 × 3 × 5, which are 3 × 5; it takes 3 × 8.",
     "nn.LayerNorm((3, 5))(torch.randn(2, 3, 5))", ((2, 3, 5),)),
    ("nn.GroupNorm(2, 6)(torch.randn(2, 4, 3))",
     "GroupNorm gets 4 channels (the channels of the input, line 1); it takes 6 (num_channels, line 1).",
     "nn.GroupNorm(2, 4)(torch.randn(2, 4, 3))", ((2, 4, 3),)),
    ("nn.LSTM(8, 5)(torch.randn(7, 2, 6))",
     f"LSTM gets 6 features a step ({FEATURES}); it takes 8 (input_size, line 1).",
     "nn.LSTM(6, 5)(torch.randn(7, 2, 6))", ((7, 2, 5), (1, 2, 5), (1, 2, 5))),
    ("nn.LSTM(8, 5)(torch.randn(7, 2, 3, 8))",
     "LSTM takes an array of 3 axes, but gets one of 4 (7 × 2 × 3 × 8).", "", ()),
    ("nn.GRUCell(8, 5)(torch.randn(7, 8), torch.zeros(6, 5))",
     "GRUCell reads 7 × 8 (batch, features), so its first state has to be 7 × 5 (batch, hidden), but it is 6 × 5.",
     "nn.GRUCell(8, 5)(torch.randn(7, 8), torch.zeros(7, 5))", ((7, 5),)),
    ("nn.GRU(8, 5)(torch.randn(7, 8), torch.zeros(2, 5))",
     "GRU reads 7 × 8 (steps, features), so its first state has to be 1 × 5 (layers · directions, hidden), but it is 2 × 5.",
     "nn.GRU(8, 5)(torch.randn(7, 8), torch.zeros(1, 5))", ((7, 5), (1, 5))),
    ("nn.MultiheadAttention(8, 2)(torch.randn(5, 2, 8), torch.randn(5, 2, 6), torch.randn(5, 2, 8))",
     f"MultiheadAttention gets a key of 6 features ({FEATURES}); it takes 8.",
     "nn.MultiheadAttention(8, 2, kdim=6, vdim=8)(torch.randn(5, 2, 8), torch.randn(5, 2, 6), torch.randn(5, 2, 8))",
     ((5, 2, 8), (2, 5, 5))),
    ("nn.Linear(8, 3)(torch.randn(8, 5))",
     f"Linear gets 5 features ({FEATURES}); it takes 8 (in_features, line 1).",
     "nn.Linear(5, 3)(torch.randn(8, 5))", ((8, 3),)),
    ("nn.Bilinear(4, 5, 3)(torch.randn(2, 4), torch.randn(2, 6))",
     f"Bilinear gets 2 × 4 and 2 × 6: 6 ({FEATURES}) and 5 (in2_features, line 1) must be equal.",
     "nn.Bilinear(4, 6, 3)(torch.randn(2, 4), torch.randn(2, 6))", ((2, 3),)),
    ("nn.PixelShuffle(2)(torch.randn(1, 6, 4, 4))",
     f"PixelShuffle gets 1 × 6 × 4 × 4: 6 ({CHANNELS}) is not divisible by 4. It works where the channels is "
     "divisible by 4, such as 4 or 8.",
     "nn.PixelShuffle(2)(torch.randn(1, 6, 4, 4).permute(0, 3, 1, 2))", ((1, 1, 12, 8),)),
    ("nn.Embedding(10, 3)(torch.tensor([1, 12]))",
     "Embedding has 10 rows, 0 to 9 (num_embeddings, line 1), but is asked for row 12.",
     "nn.Embedding(13, 3)(torch.tensor([1, 12]))", ((2, 3),)),
    ("nn.Embedding(10, 3)(torch.full((2, 4), 12))",
     "Embedding has 10 rows, 0 to 9 (num_embeddings, line 1), but is asked for row 12.",
     "nn.Embedding(13, 3)(torch.full((2, 4), 12))", ((2, 4, 3),)),
    ("nn.EmbeddingBag(10, 3)(torch.randint(0, 20, (2, 4)))",
     "EmbeddingBag has 10 rows, 0 to 9 (num_embeddings, line 1), but is asked for row 19.",
     "nn.EmbeddingBag(20, 3)(torch.randint(0, 20, (2, 4)))", ((2, 3),)),
    ("nn.Conv2d(4, 9, 3, groups=2)(torch.randn(1, 4, 5, 5))",
     "`nn.Conv2d(4, 9, 3, groups=2)` cannot be made: 9 (out_channels, line 1) is not divisible by 2 (groups, line 1), "
     "its groups.",
     "nn.Conv2d(4, 10, 3, groups=2)(torch.randn(1, 4, 5, 5))", ((1, 10, 3, 3),)),
)  # fmt: skip
CALLS = (
    ("torch.randn(2, 3) @ torch.randn(4, 5)",
     f"2 × 3 times 4 × 5: the last axis of the first (3 ({FEATURES})) must equal the last but one of the second (4 ({BATCH})).",
     "torch.randn(2, 4) @ torch.randn(4, 5)", ((2, 5),)),
    ("torch.randn(2, 3) + torch.randn(4)",
     f"2 × 3 and 4 do not meet: in the last axis one has 3 ({FEATURES}) and the other 4 ({FEATURES}), and neither is 1.",
     "torch.randn(2, 4) + torch.randn(4)", ((2, 4),)),
    ("torch.bmm(torch.randn(2, 3, 4), torch.randn(3, 4, 5))",
     f"2 × 3 × 4 times 3 × 4 × 5: 2 ({BATCH}) and 3 ({BATCH}) do not meet.",
     "torch.bmm(torch.randn(3, 3, 4), torch.randn(3, 4, 5))", ((3, 3, 5),)),
    ("torch.randn(2, 3).view(4, 2)", "2 × 3 has 6 numbers, but 4 · 2 = 8 are asked for.",
     "torch.randn(2, 3).view(3, 2)", ((3, 2),)),
    ("torch.randn(2, 3).reshape(5, -1)",
     "2 × 3 has 6 numbers, which is no multiple of 5, the product of the sizes asked for.",
     "torch.randn(2, 3).reshape(6, -1)", ((6, 1),)),
    ("torch.randn(2, 3).expand(4, 3)",
     f"2 × 3 cannot be expanded so: 4 (line 1) and 2 ({BATCH}) must be equal.",
     "torch.randn(2, 3).expand(2, 3)", ((2, 3),)),
    ("torch.cat([torch.randn(2, 3), torch.randn(2, 4)])",
     f"2 × 3 and 2 × 4 must be equal in all axes but axis 0; axis 1 has 3 ({FEATURES}) and 4 ({FEATURES}).",
     "torch.cat([torch.randn(2, 3), torch.randn(2, 3)])", ((4, 3),)),
    ("torch.randn(2, 3).split([1, 1], dim=1)",
     f"2 × 3 cannot be split so: 3 ({FEATURES}) and 2 must be equal.",
     "torch.randn(2, 3).transpose(0, 1).split([1, 1], dim=1)", ((3, 1), (3, 1))),
    ("torch.randn(2, 3)[:, 5]",
     f"this axis has 3 places, 0 to 2 ({FEATURES}), but 5 is asked for.",
     "torch.randn(2, 3)[:, 2]", ((2,),)),
    ("F.embedding(torch.tensor([1, 12]), torch.randn(10, 3))",
     f"the table has 10 rows, 0 to 9 ({BATCH}), but 12 is asked for.",
     "F.embedding(torch.tensor([1, 9]), torch.randn(10, 3))", ((2, 3),)),
    ("torch.randn(10, 3)[torch.arange(12)]",
     f"this axis has 10 places, 0 to 9 ({BATCH}), but 11 is asked for.",
     "torch.randn(10, 3)[torch.arange(10)]", ((10, 3),)),
    ("torch.randn(4, 10)[:, torch.randint(0, 9, (5,)) + 3]",
     f"this axis has 10 places, 0 to 9 ({FEATURES}), but 11 is asked for.",
     "torch.randn(4, 10)[:, torch.randint(0, 7, (5,)) + 3]", ((4, 5),)),
    ("torch.randn(10, 3).gather(1, torch.full((10, 1), 5))",
     f"this axis has 3 places, 0 to 2 ({FEATURES}), but 5 is asked for.",
     "torch.randn(10, 3).gather(1, torch.full((10, 1), 2))", ((10, 1),)),
    ("F.one_hot(torch.tensor([1, 5]), 3)",
     "there are 3 classes, 0 to 2 (line 1), but 5 is asked for.",
     "F.one_hot(torch.tensor([1, 2]), 3)", ((2, 3),)),
    ("F.one_hot(torch.tensor([1, -1]))", "a number below 0 names no class.", "", ()),
    ("torch.randn(2, 3).unflatten(1, (2, 2))",
     f"2 × 3 cannot be split so: 3 ({FEATURES}) and 4 (2 · 2) must be equal.",
     "torch.randn(2, 4).unflatten(1, (2, 2))", ((2, 2, 2),)),
    ("torch.einsum('ij->ik', torch.randn(2, 3))",
     "2 × 3 does not fit: einsum(): output subscript k does not appear in the equation for any input operand.",
     "", ()),
    ("F.cross_entropy(torch.randn(4, 3), torch.randn(4, 2))",
     "scores of 4 × 3 (batch, classes …) take a target of 4 whole numbers, or probabilities of 4 × 3; it is 4 × 2.",
     "", ()),
    ("F.mse_loss(torch.randn(4, 3), torch.randn(5, 3))",
     "the prediction is 4 × 3 and the target 5 × 3.",
     "F.mse_loss(torch.randn(5, 3), torch.randn(5, 3))", ((),)),
)  # fmt: skip


def check(text: str, says: str, cured: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    (found,) = findings(text)
    assert (found.kind, found.line, found.layer) == ("failure", 1, "")
    assert found.says == says
    cures = [(cure.text, cure.shapes) for cure in found.cures[:1]]
    assert cures == ([(cured, shapes)] if cured else [])


@pytest.mark.parametrize(("text", "says", "cured", "shapes"), LAYERS, ids=[c[0] for c in LAYERS])
def test_a_layer_says_what_it_gets_and_what_it_takes(text, says, cured, shapes) -> None:
    check(text, says, cured, shapes)


@pytest.mark.parametrize(("text", "says", "cured", "shapes"), CALLS, ids=[c[0] for c in CALLS])
def test_a_call_says_what_does_not_fit(text, says, cured, shapes) -> None:
    check(text, f"`{text}`: {says}", cured, shapes)


def test_a_place_or_a_class_may_be_had_by_an_axis_that_has_it() -> None:
    """The second cure keeps what is asked for, and makes room for it."""
    for text, cured in (
        ("torch.randn(2, 3)[:, 5]", "torch.randn(2, 6)[:, 5]"),
        ("F.one_hot(torch.tensor([1, 5]), 3)", "F.one_hot(torch.tensor([1, 5]), 6)"),
    ):
        (found,) = findings(text)
        assert [cure.text for cure in found.cures[1:2]] == [cured]
