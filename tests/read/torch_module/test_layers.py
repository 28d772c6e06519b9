"""Every layer of torch with unusual settings: none is read as another one without a word."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import ncd
from ncd import from_torch

Shape = tuple[int, ...]
IMAGE, ROW, PAIR = (2, 6, 8, 8), (2, 6, 8), (4, 6)
SOLID = (2, 4, 4, 4, 4)

# Settings that are not the usual ones, with the shapes of the inputs.
LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[Shape, ...]]] = {
    "convolution": (lambda: nn.Conv2d(6, 4, 3, 2, 1, 2, 2), (IMAGE,)),
    "convolution of one length": (lambda: nn.Conv2d(6, 4, (3, 1), padding="same"), (IMAGE,)),
    "reflected convolution": (
        lambda: nn.Conv2d(6, 6, 3, padding=1, padding_mode="reflect"),
        (IMAGE,),
    ),
    "depthwise convolution": (lambda: nn.Conv1d(6, 6, 3, groups=6), (ROW,)),
    "convolution without a batch": (lambda: nn.Conv1d(6, 4, 3), (ROW[1:],)),
    "solid convolution": (lambda: nn.Conv3d(4, 2, 2, stride=(1, 2, 1), bias=False), (SOLID,)),
    "transposed convolution": (lambda: nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, 2), (IMAGE,)),
    "transposed to an odd size": (lambda: nn.ConvTranspose2d(6, 4, 3, 2, (1, 0), (0, 1)), (IMAGE,)),
    "transposed with gaps": (lambda: nn.ConvTranspose1d(6, 4, 3, dilation=2), (ROW,)),
    "max pooling rounded up": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), (IMAGE,)),
    "max pooling with gaps": (lambda: nn.MaxPool2d(2, dilation=2), (IMAGE,)),
    "max pooling with places": (lambda: nn.MaxPool1d(2, return_indices=True), (ROW,)),
    "mean without the border": (
        lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        (IMAGE,),
    ),
    "mean over a number": (lambda: nn.AvgPool2d(3, 2, 1, divisor_override=5), (IMAGE,)),
    "mean rounded up": (lambda: nn.AvgPool1d(3, 2, ceil_mode=True), (ROW,)),
    "mean to other sizes": (lambda: nn.AdaptiveAvgPool2d((3, 5)), (IMAGE,)),
    "mean to one side": (lambda: nn.AdaptiveAvgPool2d((1, None)), (IMAGE,)),
    "maximum to a size": (lambda: nn.AdaptiveMaxPool2d(2), (IMAGE,)),
    "power pooling": (lambda: nn.LPPool2d(2, 2), (IMAGE,)),
    "layer norm": (lambda: nn.LayerNorm([8, 8], 1e-2, bias=False), (IMAGE,)),
    "plain layer norm": (lambda: nn.LayerNorm(8, 0.5, elementwise_affine=False), (ROW,)),
    "group norm": (lambda: nn.GroupNorm(3, 6, 1e-2), (IMAGE,)),
    "plain group norm": (lambda: nn.GroupNorm(2, 6, affine=False), (IMAGE,)),
    "instance norm": (lambda: nn.InstanceNorm2d(6, affine=True), (IMAGE,)),
    "kept instance norm": (lambda: nn.InstanceNorm1d(6, track_running_stats=True), (ROW,)),
    "plain batch norm": (lambda: nn.BatchNorm2d(6, 1e-2, affine=False), (IMAGE,)),
    "batch norm of rows": (lambda: nn.BatchNorm1d(6), (ROW,)),
    "batch norm without statistics": (
        lambda: nn.BatchNorm1d(6, track_running_stats=False),
        (ROW,),
    ),
    "root mean square": (lambda: nn.RMSNorm(8, eps=1e-2), (ROW,)),
    "plain root mean square": (lambda: nn.RMSNorm(8, elementwise_affine=False), (ROW,)),
    "root mean square of several": (lambda: nn.RMSNorm((6, 8)), (ROW,)),
    "local response norm": (lambda: nn.LocalResponseNorm(3), (IMAGE,)),
    "lstm both ways": (
        lambda: nn.LSTM(8, 5, 2, batch_first=True, bidirectional=True),
        (ROW,),
    ),
    "projected lstm": (lambda: nn.LSTM(8, 5, proj_size=3), (ROW,)),
    "lstm of one sequence": (lambda: nn.LSTM(8, 5), (ROW[1:],)),
    "gru without bias": (lambda: nn.GRU(8, 5, bias=False), (ROW,)),
    "rnn with relu": (lambda: nn.RNN(8, 5, nonlinearity="relu"), (ROW,)),
    "lstm cell": (lambda: nn.LSTMCell(6, 5), (PAIR,)),
    "gru cell": (lambda: nn.GRUCell(6, 5), (PAIR,)),
    "encoder layer": (
        lambda: nn.TransformerEncoderLayer(
            8, 2, 16, activation="gelu", norm_first=True, batch_first=True
        ),
        (ROW,),
    ),
    "encoder layer without bias": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, bias=False),
        (ROW,),
    ),
    "decoder layer": (lambda: nn.TransformerDecoderLayer(8, 2, 16), (ROW, ROW)),
    "attention with more keys": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True, add_zero_attn=True),
        (ROW, ROW, ROW),
    ),
    "attention of other widths": (
        lambda: nn.MultiheadAttention(8, 2, kdim=6, vdim=6),
        (ROW, (3, 6, 6), (3, 6, 6)),
    ),
    "slopes": (lambda: nn.PReLU(6), (IMAGE,)),
    "hard tanh": (lambda: nn.Hardtanh(-2, 0.5), (IMAGE,)),
    "softplus": (lambda: nn.Softplus(2, 5), (IMAGE,)),
    "softplus with a line": (lambda: nn.Softplus(1, 0.5), (IMAGE,)),
    "leaky": (lambda: nn.LeakyReLU(0.3), (IMAGE,)),
    "elu": (lambda: nn.ELU(0.5), (IMAGE,)),
    "celu": (lambda: nn.CELU(0.5), (IMAGE,)),
    "gated": (lambda: nn.GLU(1), (IMAGE,)),
    "softmax of channels": (nn.Softmax2d, (IMAGE,)),
    "log softmax": (lambda: nn.LogSoftmax(1), (IMAGE,)),
    "softmin": (lambda: nn.Softmin(1), (IMAGE,)),
    "threshold": (lambda: nn.Threshold(0.1, -1), (IMAGE,)),
    "gelu by a tanh": (lambda: nn.GELU("tanh"), (IMAGE,)),
    "hard shrink": (lambda: nn.Hardshrink(0.2), (IMAGE,)),
    "soft shrink": (lambda: nn.Softshrink(0.2), (IMAGE,)),
    "random slopes": (lambda: nn.RReLU(0.1, 0.4), (IMAGE,)),
    "channels as places": (lambda: nn.PixelShuffle(2), ((2, 8, 3, 3),)),
    "places as channels": (lambda: nn.PixelUnshuffle(2), (IMAGE,)),
    "bilinear sampling": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (IMAGE,)),
    "nearest sampling": (lambda: nn.Upsample(size=(5, 16)), (IMAGE,)),
    "reflection": (lambda: nn.ReflectionPad2d(2), (IMAGE,)),
    "replication": (lambda: nn.ReplicationPad2d(1), (IMAGE,)),
    "circle": (lambda: nn.CircularPad2d(1), (IMAGE,)),
    "zeros, and cut": (lambda: nn.ZeroPad2d((1, 0, -1, 2)), (IMAGE,)),
    "a number": (lambda: nn.ConstantPad1d((2, 1), 0.5), (ROW,)),
    "folded": (lambda: nn.Fold((4, 4), 2), ((2, 24, 9),)),
    "unfolded": (lambda: nn.Unfold(3, 1, 1, 2), (IMAGE,)),
    "flat": (lambda: nn.Flatten(1, 2), (IMAGE,)),
    "unflattened": (lambda: nn.Unflatten(1, (2, 3)), (IMAGE,)),
    "bilinear": (lambda: nn.Bilinear(6, 6, 3), (PAIR, PAIR)),
    "linear without bias": (lambda: nn.Linear(8, 1, bias=False), (IMAGE,)),
    "cosine": (lambda: nn.CosineSimilarity(1), (PAIR, PAIR)),
    "distance": (lambda: nn.PairwiseDistance(1, keepdim=True), (PAIR, PAIR)),
    "shuffled channels": (lambda: nn.ChannelShuffle(3), (IMAGE,)),
    "dropped": (lambda: nn.Dropout2d(0.5), (IMAGE,)),
    "dropped alike": (lambda: nn.AlphaDropout(0.5), (IMAGE,)),
    "embedding": (lambda: nn.Embedding(9, 4, padding_idx=2, max_norm=0.5), ()),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.few(16)
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_its_term(name: str) -> None:
    make, shapes = LAYERS[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module, inputs = make().eval(), [torch.randn(shape) for shape in shapes]
        for x in module.parameters():
            nn.init.normal_(x)
        for key, x in module.named_buffers():
            x.copy_(torch.rand(x.shape) + 0.5) if "running" in key else None
    found = from_torch(module, *(inputs or [torch.tensor([[1, 2, 8], [0, 2, 5]])]))
    assert [note for note in found.notes if "evaluation mode" not in note] == []
    given = [x for x in found.exported_module.inputs if isinstance(x, Tensor)]
    ours, theirs = (listed(each(*given)) for each in (found.module(), module))
    assert [x.shape for x in ours] == [x.shape for x in theirs]
    torch.testing.assert_close(ours, theirs, check_dtype=False, rtol=1e-4, atol=1e-5)
    real = [x.is_floating_point() for x in theirs]
    assert [x.is_floating_point() for x in ours] == real


def listed(x: object) -> list[Tensor]:
    """Returns all tensors of an output."""
    return [each for each in tree_leaves(x) if isinstance(each, Tensor)]


class Reshaped(nn.Module):
    """A linear map whose matrix is held with one more side of size 1."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(shape))

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.linear(x, self.w.view(8, 4))


@pytest.mark.parametrize(
    ("shape", "layer"), [((8, 4), True), ((8, 4, 1), True), ((8, 1, 4), True), ((1, 8, 4), False)]
)
def test_a_matrix_with_a_side_of_1_is_that_of_a_layer_if_its_rows_come_first(
    shape: tuple[int, ...], layer: bool
) -> None:
    found = from_torch(Reshaped(*shape), torch.ones(3, 4))
    assert ("Linear('m:4 -> d:8', 'w')" in repr(found.term)) == layer
    assert found.difference == 0


def test_a_transposed_convolution_keeps_its_settings() -> None:
    layer = nn.ConvTranspose2d(6, 4, 3, 2, 1, (0, 1), dilation=2)
    found = from_torch(layer, torch.randn(IMAGE))
    (op,) = (cell.op for cell in found.module().circuit.cells if cell.op.role == "convolution")
    settings = (op.kernel, op.stride, op.padding, op.output_padding, op.dilation)  # type: ignore[attr-defined]
    assert settings == (3, 2, 1, (0, 1), 2) and not found.boxes


class Turned(nn.Module):
    """A layer on the dimensions of its input in another order."""

    def __init__(self, layer: nn.Module, *order: int) -> None:
        super().__init__()
        self.layer, self.order = layer, order

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.permute(self.order))


BATCHES: dict[str, tuple[Callable[[], nn.Module], Shape]] = {
    "one": (lambda: nn.BatchNorm1d(6), PAIR),
    "two that are merged": (lambda: nn.Sequential(nn.Flatten(0, 1), nn.BatchNorm1d(8)), ROW),
    "two that were one": (
        lambda: nn.Sequential(nn.Unflatten(0, (2, 2)), nn.Flatten(0, 1), nn.BatchNorm1d(6)),
        PAIR,
    ),
    "rows of a picture": (
        lambda: nn.Sequential(
            nn.Conv2d(6, 4, 3), nn.Flatten(0, 1), Turned(nn.BatchNorm1d(8), 1, 0, 2)
        ),
        IMAGE,
    ),
    "places of a picture": (
        lambda: nn.Sequential(
            nn.Conv2d(6, 4, 3), Turned(nn.Flatten(0, 2), 0, 2, 3, 1), nn.BatchNorm1d(4)
        ),
        IMAGE,
    ),
    "merged pictures": (
        lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Flatten(0, 1), nn.BatchNorm2d(3)),
        IMAGE,
    ),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_norm_takes_its_mean_over_any_batch(name: str, training: bool) -> None:
    make, shape = BATCHES[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module, x = make().train(training), torch.randn(shape)
    found = from_torch(module, x)
    assert found.difference < 1e-5 and not found.boxes
    torch.testing.assert_close(found.module()(2 * x), module(2 * x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_padding_mode_is_one_step_before_the_convolution(mode: str, n: int) -> None:
    layer = [nn.Conv1d, nn.Conv2d, nn.Conv3d][n - 1](3, 4, 3, padding=2, padding_mode=mode)
    x = torch.randn(2, 3, *[5] * n)
    found = from_torch(layer, x)
    assert found.difference < 1e-5
    steps = [type(cell.op).__name__ for cell in ncd.elaborate(found.term).cells]
    assert steps == (["Conv"] if mode == "zeros" else ["Pad", "Conv"])
    line = f'F.pad(x, {(2, 2) * n}, mode="{mode}")'
    assert (line in ncd.source(found.term)) == (mode != "zeros")


@pytest.mark.parametrize(
    ("sides", "steps"), [((1, 1, 1, 1), 1), ((0, 1, 0, 1), 1), ((2, 0, 2, 0), 1), ((1, 1, 2, 2), 2)]
)
def test_even_zeros_around_a_picture_are_one_step(sides: tuple[int, ...], steps: int) -> None:
    found = from_torch(nn.Sequential(nn.ZeroPad2d(sides), nn.Conv2d(6, 4, 3)), torch.randn(IMAGE))
    names = [type(cell.op).__name__ for cell in ncd.elaborate(found.term).cells]
    assert names.count("Pad") == steps and names[-1] == "Conv"
    assert found.difference < 1e-5
