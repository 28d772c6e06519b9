"""What the sentences of the written lessons claim, computed at the settings of their views."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import torch
from torch import Tensor
from torch.nn import functional as F

import ncd
from ncd.app.panels.images.convolution_window import TransposedSizes
from ncd.app.panels.learning.cross_entropy import TIMES
from ncd.systems.images.convolution_layers import field_sizes, stack_of
from ncd.systems.images.image_filters import stamp_weights
from tests.systems.lessons.facts import Claim, Facts, growth_factor


def ones(weights: Tensor, axis: int) -> bool:
    """Whether the weights are positive and sum to 1 along an axis."""
    total = weights.sum(axis)
    return bool((weights >= 0).all()) and torch.allclose(total, torch.ones_like(total))


def softmax_ops(f: Facts) -> int:
    return len(f.ops("Softmax"))


def fields(f: Facts) -> list[int]:
    """How many places along a side each layer of a stack sees."""
    return field_sizes(stack_of(**f.settings))


def spread(f: Facts) -> TransposedSizes:
    """How a transposed convolution spreads the places along a side."""
    return TransposedSizes(**{name: f.settings[name] for name in "xkspdo"})


def levelled(f: Facts) -> bool:
    """Whether the first weights of a transposed convolution keep an even picture even inside."""
    own = f.settings
    weight = stamp_weights(own["filter"], 1, own["c"], own["k"], own["s"], own["n"])
    made = F.conv_transpose2d(torch.ones(1, 8, 8), weight, stride=own["s"], padding=own["k"])
    return bool(made.max() - made.min() < 1e-6)


def classes(f: Facts) -> Tensor:
    """The right class of each example."""
    return f.value("class")


def gradient_sum(f: Facts) -> float:
    """The largest sum over the classes that a gradient of the scores has, beside p − q."""
    scores, term = f.value("scores").requires_grad_(), f.circuit.term
    (found,) = torch.autograd.grad(ncd.compile(term)(scores, classes(f)), scores)
    wanted = (f.value("Softmax") - f.value("q")) / f.size("b")
    return float(torch.stack((found.sum(1).abs().max(), (found - wanted).abs().max())).max())


def halved(f: Facts) -> bool:
    return all(2 * n == m for n, m in zip(f.shape("v_1"), f.shape("u_1"), strict=True))


LESSONS: Mapping[str, Mapping[str, Claim]] = {
    "batch-norm": {
        "Two norms of one array: the same formula, over other numbers.": lambda f: (
            len(f.ops()) == 3 and f.ins("batch") == f.ins("layer")
        ),
        "The same shape.": lambda f: f.ins("batch") == f.outs("batch") == f.outs("layer"),
        "Images are now twice as wide and high.": lambda f: growth_factor(f, "x") == 2,
        "Just as many: a scale and a shift belong to a channel, not to a pixel.": lambda f: (
            f.grows("parameters") == 1
        ),
        "And with twice as many channels?": lambda f: growth_factor(f, "c") == 2,
        "Twice as many: two numbers for each channel in each of the norms.": lambda f: (
            f.grows("parameters") == 2
            and f.count("parameters", "batch") == f.count("parameters", "layer") == 2 * f.size("c")
        ),
    },
    "broadcasting": {
        "Map all rows and choose one, or choose one and map it: the numbers are the same.": (
            lambda f: (
                torch.equal(f.value("Index"), f.value("Function", 1))
                or torch.allclose(f.value("Index", 1), f.value("Function", 1))
            )
        ),
    },
    "convolution": {
        "A window of 3 × 3 pixels moves over the picture.": lambda f: f.settings["k"] == 3,
        "At each place nine products are added up, and give one number of a map.": lambda f: (
            f.count("flops") == 2 * 9 * f.size("f") * f.size("y")
        ),
        "Without padding the window never leaves the picture of 32 × 32.": lambda f: (
            f.settings["p"] == 0 and f.shape("x") == (32, 32)
        ),
        "30 places on each side: 32 − 3 + 1.": lambda f: f.shape("y") == (30, 30),
        "Now the picture is twice as wide and high.": lambda f: growth_factor(f, "x") == 2,
        "Just as many: nine and a bias for each filter.": lambda f: (
            f.grows("parameters") == 1 and f.count("parameters") == (9 + 1) * f.size("f")
        ),
        "The window now moves by two pixels at a time.": lambda f: f.then.settings["s"] == 2,
        "A quarter is left: half as many windows along each side.": lambda f: (
            f.grows("flops") == Fraction(1, 4) and f.shape("y") == (16, 16)
        ),
        "With a stride of 3 and no padding the last two rows and columns are in no window: no "
        "filter will ever see them.": lambda f: (
            (f.settings["s"], f.settings["p"], (f.shape("x")[0] - 3) % 3) == (3, 0, 2)
        ),
        "Only the edge of each map changes: 124 of 1,024 numbers.": lambda f: (
            f.settings["mode"] == 1
            and [int(map.sum()) for map in f.value("Conv") != f.at().value("Conv")] == [124] * 4
            and f.value("Conv")[0].numel() == 1024
            and torch.equal(f.value("Conv")[:, 1:-1, 1:-1], f.at().value("Conv")[:, 1:-1, 1:-1])
        ),
    },
    "cross-entropy": {
        "Scores for six classes go in, and the class that is right.": lambda f: f.size("v") == 6,
        "Along which wire do they sum to 1?": lambda f: (
            f.answer == "v" and ones(f.value("Softmax"), 1)
        ),
        "A temperature of 2 halves the scores.": lambda f: torch.equal(
            2 * f.value("2"), f.value("scores")
        ),
        "The largest chance becomes smaller, and the smallest one larger.": lambda f: (
            bool((f.value("Softmax").amax(1) < f.at().value("Softmax").amax(1)).all())
            and bool((f.value("Softmax").amin(1) > f.at().value("Softmax").amin(1)).all())
        ),
        "Label smoothing of 0.1: a tenth is shared among all classes, so that no chance is asked "
        "to be 1.": lambda f: (
            ones(f.value("q"), 1) and torch.allclose(f.value("q").amin(1), torch.tensor(0.1 / 6))
        ),
        "The gradient is still p − q, and sums to 0.": lambda f: gradient_sum(f) < 1e-6,
        "Scores 300 times as large: op after op, a chance becomes 0, and its logarithm infinite.": (
            lambda f: (
                TIMES[int(f.query["times"])] == 300
                and float((300 * f.value("scores")).softmax(1).min()) == 0
                and torch.isfinite(F.cross_entropy(300 * f.value("scores"), classes(f)))
            )
        ),
        "This is how: the largest score is subtracted first, so that exp gives at most 1.": (
            lambda f: f.value("exp").amax(1).tolist() == [1] * f.size("b")
        ),
    },
    "decoder-only-block": {
        "Each query has a row of its own: along which wire do its weights sum to 1?": lambda f: (
            ones(f.value("Softmax"), 1) and f.answer == "x"
        ),
        "After attention each position goes through two linear maps alone.": lambda f: (
            f.ins("linear1") == ["t m"] and f.outs("linear2") == ["t m"]
        ),
        "m features become d, wide enough to tell many cases apart, and m again.": lambda f: (
            f.size("d") > f.size("m") and f.outs("linear1") == ["t d"]
        ),
        "Two layers become four.": lambda f: (f.settings["n"], f.then.settings["n"]) == (2, 4),
        "Twice as many: every layer has weights of its own, though all are drawn as one.": (
            lambda f: f.grows("parameters") == 2
        ),
    },
    "depthwise-separable": {
        "First each channel is convolved for itself, then a window of one pixel mixes the "
        "channels.": lambda f: len(f.ops("Conv")) == 2,
        "Two steps: one looks at windows of 3 × 3, the other at single pixels.": lambda f: (
            f.count("parameters", "spatial") == 9 * f.size("c")
            and f.count("parameters", "pointwise") == f.size("c") * f.size("f")
        ),
        "Which has more weights?": lambda f: f.answer.endswith("pointwise"),
        "The single pixels: 48, for each pair of channels one.": lambda f: (
            f.count("parameters", "pointwise") == 48
        ),
        "The windows of all three channels have 27.": lambda f: (
            f.count("parameters", "spatial") == 27 and f.size("c") == 3
        ),
        "Twice as many channels go in.": lambda f: growth_factor(f, "c") == 2,
        "Twice as many, and a convolution at once would have twice as many too.": lambda f: (
            f.grows("parameters") == 2 == f.size("c") / f.at().size("c")
        ),
        "It is with large windows that the two steps save most.": lambda f: (
            f.count("parameters") / (49 * 3 * 16) < f.at().count("parameters") / (9 * 3 * 16)
        ),
        "Here they have 195 weights where one would have 2,352.": lambda f: (
            f.count("parameters") == 195 and 49 * f.size("c") * f.size("f") == 2352
        ),
    },
    "einsum-attention": {
        "Two ways to the same scores: four small steps, or one line of einsum.": lambda f: (
            [len(f.ops(label)) for label in ("Einsum", "Inner", "Scale")] == [2 + 1, 1, 1 + 1]
        ),
        "480 numbers, for a result of 30.": lambda f: (
            f.lit == ["Einsum"]
            and f.value("Einsum", 2).numel() == 480
            and f.value("Inner").numel() == f.value("Einsum", 1).numel() == 30
        ),
        "Both sides from the same queries and keys: equal, up to rounding.": lambda f: (
            torch.allclose(f.value("Inner"), f.value("Einsum", 1), atol=1e-5)
        ),
    },
    "encoder-block": {
        "Each layer has two parts: attention, where positions exchange something, and a "
        "feed-forward part, where each works alone.": lambda f: (
            len(f.ops("norm1")) == len(f.ops("norm2")) == f.settings["n"]
        ),
        "Everything else happens at each of them alike.": lambda f: (
            softmax_ops(f) == f.settings["n"]
        ),
        "The same axes as at the beginning, or there would be no sum.": lambda f: (
            f.lit == ["Add"] and f.ins("Add") == ["t m", "t m"]
        ),
        "Which map has the most parameters?": lambda f: f.answer == "Linear linear1",
        "A map of the feed-forward part, as its inner axis d is wider than m: twice here, four "
        "times in the paper.": lambda f: (
            "Linear linear1" in f.lit
            and f.size("d") == 2 * f.size("m")
            and f.published("transformer-base", n=1).size("d")
            == 4 * f.published("transformer-base", n=1).size("m")
        ),
        "There this part has two thirds of a layer.": lambda f: (
            abs(
                f.published("transformer-base", n=1).share("parameters", "linear1", "linear2") * 3
                - 2
            )
            < 0.01
        ),
        "Twice as many words.": lambda f: growth_factor(f, "t") == 2,
        "The linear maps have twice the work, the scores four times.": lambda f: (
            f.then.grows("flops", "Linear") == 2 and f.then.grows("flops", "scores") == 4
        ),
        "A little over twice: at this length the linear maps outweigh the scores.": lambda f: (
            2 < f.grows("flops") < 2.2 and f.share("flops", "Linear") > 0.9
        ),
    },
    "gat": {
        "A node n shares the weight 1 among its neighbours u.": lambda f: (
            ones(f.value("Softmax"), 1) and f.outs("Softmax") == ["n u h"]
        ),
        "Where there is no edge the weight is 0: that is the whole difference from attention in a "
        "text.": lambda f: bool((f.value("Softmax") == 0).any()),
        "A graph with twice as many nodes.": lambda f: growth_factor(f, "n") == 2,
        "Just as many: the weights know features, not nodes.": lambda f: f.grows("parameters") == 1,
        "And with twice as many heads?": lambda f: growth_factor(f, "h") == 2,
        "Twice as many: each head has a map and two vectors of its own.": lambda f: (
            f.grows("parameters") == f.grows("parameters", "W", "a1", "a2") == 2
        ),
    },
    "lenet": {
        "Two convolutions find small shapes everywhere in a picture.": lambda f: (
            len(f.ops("Conv")) == 2
        ),
        "Two linear maps decide what it shows.": lambda f: len(f.ops("Linear")) == 2,
        "A window of 5 × 5 slides over 32 × 32 pixels, and never over the edge.": lambda f: (
            f.shape("x") == (32, 32) and f.count("parameters", "conv1") == 6 * (3 * 5 * 5 + 1)
        ),
        "28 places on each side: 32 − 5 + 1.": lambda f: f.shape("u") == (28, 28),
        "Two convolutions and two poolings later: how many numbers describe the picture?": (
            lambda f: len(f.ops("Conv")) == len(f.ops("MaxPool")) == 2
        ),
        "e·5·5 of them, laid in one row, so that a linear map can read all.": lambda f: (
            f.lit == ["Group"] and f.size("f") == f.size("e") * 5 * 5
        ),
        "Four operations learn.": lambda f: sum(op.parameters > 0 for op in f.cost.ops) == 4,
        "Which one has the most parameters?": lambda f: f.answer == "Linear linear1",
        "The first linear map has nearly all of them, and the convolutions do nearly all of the "
        "work: they reuse their few.": lambda f: (
            f.lit == ["Linear linear1"]
            and f.share("parameters", "linear1") > 0.9
            and f.share("flops", "Conv") > 0.9
        ),
    },
    "llama": {
        "Twice as many query heads for each head of keys.": lambda f: growth_factor(f, "q") == 2,
        "Far from twice: only the maps of queries and of the result grow.": lambda f: (
            1 < f.grows("parameters") < 1.3
            and f.grows("parameters", "q_proj", "o_proj") == 2
            and f.grows("parameters", "k_proj", "v_proj", "gate_proj") == 1
        ),
        "Twice as many words in the vocabulary.": lambda f: growth_factor(f, "v") == 2,
    },
    "lstm": {
        "One linear map makes four gates from the word at once.": lambda f: f.answer == "4h",
        "4h features, cut into four: what to take in, what to keep, what to propose, and what to "
        "say.": lambda f: f.lit == ["Cut"] and f.outs("Cut") == ["h"] * 4,
        "The text is twice as long.": lambda f: growth_factor(f, "t") == 2,
        "Just as many: the same weights read every word.": lambda f: f.grows("parameters") == 1,
        "Where the forget gate is near 1 the memory stays, and near 0 it is erased.": lambda f: (
            "'$1 * $3 + $2 * $4'" in repr(f.ops("cell")[0].op)
        ),
        "The memory is twice as wide.": lambda f: growth_factor(f, "h") == 2,
        "More than twice: the map from memory to memory has twice the features on both of its "
        "sides.": lambda f: f.grows("parameters") > 2 and 3.5 < f.grows("parameters", "hh") < 4,
    },
    "mixture-of-experts": {
        "The best c are kept, and a softmax shares 1 among them.": lambda f: (
            f.outs("Top")[0] == "t c" and ones(f.value("Softmax"), 1)
        ),
        "Twice as many experts.": lambda f: growth_factor(f, "e") == 2,
        "Twice as many, as each expert has its own.": lambda f: f.then.grows("parameters") == 2,
        "Hardly more: still c experts compute, and only the router has more to score.": lambda f: (
            1 < f.grows("flops") < 1.05 and f.grows("flops", "gate") == 2
        ),
        "Now four experts for each position instead of two.": lambda f: (
            (f.settings["c"], f.then.settings["c"]) == (2, 4)
        ),
        "Almost twice the work, with not one parameter more.": lambda f: (
            1.9 < f.grows("flops") < 2 and f.grows("parameters") == 1
        ),
    },
    "multi-head-attention": {
        "Both bring k and h: which wires are left after the product?": lambda f: (
            f.ins("scores") == ["y k h", "x k h"] and f.answer == "y x h"
        ),
        "h stays on both sides: each head has scores of its own.": lambda f: (
            f.lit == ["Einsum scores"] and "h" in f.outs("scores")[0]
        ),
        "The scores become weights that sum to 1.": lambda f: ones(f.value("Softmax"), 1),
        "Twice as many heads, each as wide as before.": lambda f: growth_factor(f, "h") == 2,
        "Twice as much.": lambda f: f.grows("parameters") == 2,
        "A paper keeps k·h equal to m: then more heads are narrower heads, at the same cost.": (
            lambda f: f.at(h=8, k=8).grows("parameters") == f.at(h=8, k=8).grows("flops", "Q") == 1
        ),
    },
    "optimisers": {
        "Adam takes a parameter, its gradient, and two states of the same size.": lambda f: (
            len(f.circuit.inputs) == 2 + 2 and len({v.array for v in f.circuit.inputs}) == 1
        ),
        "The plainest step: the gradient times a learning rate is taken off, and nothing is "
        "kept.": (
            lambda f: (
                len(f.circuit.inputs) == 2
                and torch.allclose(f.value("step"), f.value("θ") - 0.001 * f.value("g"))
            )
        ),
        "Momentum sums gradients up: what points to and fro cancels, and what points the same way "
        "adds up.": lambda f: torch.allclose(f.value("sum"), f.value("v") * 0.9 + f.value("g")),
        "It keeps one array, where Adam keeps two.": lambda f: (
            len(f.circuit.inputs) == 2 + 1 and len(f.at().circuit.inputs) == 2 + 2
        ),
        "AdamW is Adam, and the parameter is made a little smaller besides, apart from its "
        "gradient.": lambda f: torch.allclose(
            f.value("step") - f.at().value("step"), -0.001 * 0.01 * f.value("θ"), atol=1e-6
        ),
    },
    "pooling": {
        "Of each window of 2 × 2 the largest number goes on, and three are left out.": lambda f: (
            f.settings["k"] == 2 and len(f.ops("MaxPool")) == 1
        ),
        "A map of 32 × 32 is pooled.": lambda f: f.shape("x") == (32, 32),
        "16 × 16, a quarter of the numbers.": lambda f: (
            f.shape("y") == (16, 16) and 4 * f.size("y") == f.size("x")
        ),
        "Now the window moves by one pixel only.": lambda f: f.settings["s"] == 1,
        "How many numbers are left of 1,024?": lambda f: f.size("x") == 1024,
        "31 on each side, nearly all.": lambda f: f.shape("y") == (31, 31),
        "It is the stride that makes a map smaller, not the window.": lambda f: (
            f.at(k=3).size("y") < f.at(k=3, s=1, p=1).size("y") == f.size("x")
        ),
        "The mean is a convolution: four weights, each a quarter, that nobody learns.": lambda f: (
            f.size("w") == 4 and f.count("parameters") == 0
        ),
    },
    "receptive-field": {
        "The framed square is what the middle of the result sees of the picture, after four "
        "layers of 3 × 3.": lambda f: (f.settings["n"], f.settings["k"]) == (4, 3),
        "One layer sees its window, 3 × 3, and nothing else.": lambda f: fields(f) == [3],
        "Two layers of 3 × 3 see 5 × 5: each adds one pixel at every side.": lambda f: (
            fields(f) == [3, 5]
        ),
        "One layer of 5 × 5 sees as much as two of 3 × 3.": lambda f: (
            fields(f)[0] == fields(f.at(n=2))[1]
        ),
        "With a stride of 2 three layers see 15 × 15, where they saw 7 × 7: a step of a late layer "
        "is several pixels.": lambda f: (fields(f)[-1], fields(f.at(n=3))[-1]) == (15, 7),
        "Four layers with a stride of 2 see 31 of the 32 pixels along a side.": lambda f: (
            (fields(f)[-1], f.settings["x"]) == (31, 32)
        ),
        "Dilations that double see as far, 63 pixels, and the picture keeps its size.": lambda f: (
            fields(f)[-1] == 63 and f.shape("x_5") == f.shape("x")
        ),
        "The gradient is strong in the middle and hardly there at the border.": lambda f: (
            f.settings["double"] == 1
        ),
    },
    "residual-block": {
        "An image takes two ways at once, through three convolutions and through one.": lambda f: (
            len(f.ops("Conv")) == 4
        ),
        "The same axes and sizes that leave the long way: a sum needs both alike.": lambda f: (
            f.ins("Add") == ["b n_1 x", "b n_1 x"]
        ),
        "Now the stride is 2.": lambda f: f.settings["s"] == 2,
        "Half of each side: both ways take every second place, so that they still fit.": lambda f: (
            [2 * n for n in f.shape("x/s")] == [*f.shape("x")]
        ),
        "Twice as many channels out, and with them a middle that is twice as wide.": lambda f: (
            f.then.size("n_1") == 2 * f.size("n_1")
            and f.then.count("parameters", "norm_1") == 2 * f.count("parameters", "norm_1")
        ),
        "More than twice: the 3 × 3 convolution in the middle has twice the channels on both of "
        "its sides.": lambda f: (
            f.grows("parameters") > 2 and 3.9 < f.grows("parameters", "conv_2") < 4
        ),
    },
    "scaled-dot-product-attention": {
        "The more two vectors agree along k, the larger their score.": lambda f: (
            f.ins("scores") == ["y k", "x k"]
        ),
        "Softmax turns each row into positive weights with sum 1.": lambda f: (
            ones(f.value("Softmax"), 1) and bool((f.value("Softmax") > 0).all())
        ),
        "Twice as many queries, and twice as many keys.": lambda f: (
            growth_factor(f, "y") == growth_factor(f, "x") == 2
        ),
        "It is four times the work: this is why long texts are expensive.": lambda f: (
            f.grows("flops") == 4
        ),
        "With a causal mask a query reads no later key, and half of the map is empty.": lambda f: (
            0.45 < float((f.value("Softmax") == 0).float().mean()) < 0.55
        ),
    },
    "transposed-convolution": {
        "Each pixel is spread over a window of 3 × 3 places, and the next one two places further "
        "on.": lambda f: (f.settings["k"], f.settings["s"]) == (3, 2),
        "A picture of 16 × 16 pixels goes in.": lambda f: f.shape("x") == (16, 16),
        "32 × 32: 15 steps of two places and a window of three, less one place cut off at each "
        "end, and one added at the far end.": lambda f: (
            f.shape("y") == (32, 32) and spread(f) == TransposedSizes(x=16, k=3, s=2, p=1, d=1, o=1)
        ),
        "A kernel of two strides: inner places are all in two windows along each side, and the "
        "checkerboard is gone.": lambda f: (
            f.settings["k"] == 2 * f.settings["s"]
            and spread(f).inner_overlaps == {2}
            and spread(f.at()).inner_overlaps == {1, 2}
        ),
        "A tent as the weights: what a kernel of three adds up unevenly, its smaller outer weights "
        "make even again.": lambda f: f.settings["k"] == 3 and levelled(f) and not levelled(f.at()),
        "What becomes of the 256 numbers?": lambda f: f.size("x") == 256,
        "Sixteen times as many: each pixel has a square of its own.": lambda f: (
            f.size("y") == 16 * f.size("x") and spread(f).inner_overlaps == {1}
        ),
        "A convolution from 32 places to 16 is a matrix; turned over, it leads from 16 to 32.": (
            lambda f: (f.shape("y")[0], f.shape("x")[0]) == (32, 16)
        ),
    },
    "unet": {
        "Down, the image gets smaller and its channels more.": lambda f: (
            halved(f) and f.size("q_2") == 2 * f.size("q_1")
        ),
        "Pooling keeps the largest of each window of 2 × 2.": lambda f: halved(f),
        "What is left of 32 × 32?": lambda f: f.shape("u_1") == (32, 32),
        "Half of each side, so a quarter of the pixels.": lambda f: (
            f.lit == ["MaxPool"] and halved(f) and 4 * f.size("v_1") == f.size("u_1")
        ),
        "On the way up the picture of the same level is joined to what comes from below.": (
            lambda f: f.ins("Concat")[0] == f.ins("Concat")[1]
        ),
        "Which axis grows?": lambda f: f.ins("Concat")[0] != f.outs("Concat")[0] == f.answer,
        "The channels: 2c of them.": lambda f: (
            f.lit == ["Concat"] and f.size("t_4") == 2 * f.size("r_4")
        ),
        "The next convolution decides what to take from which half.": lambda f: (
            f.ins("Concat")[0] == f.ins("Concat")[1]
        ),
        "Twice as many channels at every level.": lambda f: all(
            f.then.size(f"q_{i}") == 2 * f.size(f"q_{i}") for i in range(1, 5)
        ),
        "Almost four times: twice the channels in, times twice the channels out.": lambda f: (
            3.9 < f.grows("parameters") < 4
        ),
    },
}
