"""What the lessons on training and on deep networks claim, computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import torch

import ncd
from ncd.app.panels.images.shortcuts import PANEL_SIZES
from ncd.app.panels.learning.dropout_gap import EXAMPLES, loss_curves
from ncd.app.panels.learning.dropout_masks import MaskedSum, masked_sum
from ncd.app.panels.learning.number_ranges import (
    GRADIENTS,
    Losses,
    backward_module,
    losses_of_run,
)
from ncd.app.panels.learning.running_sum import addends, running_sum
from ncd.app.panels.learning.signal_depth import SignalDepth, signal_depth, verdict
from ncd.app.panels.learning.vanishing_update import RATES as UPDATE_RATES
from ncd.app.panels.learning.vanishing_update import descent
from ncd.rewrite.device_costs import WAYS, WayCosts, way_costs
from ncd.run.calculation import read_calculation
from ncd.run.float_formats import FORMATS
from ncd.run.seeding import generator
from ncd.systems.images.published_resnet import SIZES, TITLES
from ncd.systems.inputs.run_inputs import opening_inputs
from ncd.systems.networks.dropout_layer import EVAL, RATES, TRAIN
from ncd.systems.networks.low_precision_step import BATCHES, SCALES
from ncd.systems.networks.weight_initialisation import INITS
from tests.app.panels.views import scene
from tests.systems.lessons.facts import Claim, Facts, answer

# --- initialisation


def signal(f: Facts) -> SignalDepth:
    """Deviations layer by layer, as the page opens."""
    term = f.circuit.term
    return signal_depth(ncd.compile(term), *ncd.example_inputs(term), seed=0)


def kept(f: Facts) -> bool:
    """Whether numbers and gradients arrive."""
    return verdict(signal(f)).startswith("✓")


# --- dropout


def masks(f: Facts) -> list[float]:
    """What each hidden unit that is not 0 is multiplied by."""
    before, after = f.value("relu"), f.value("Dropout")
    return (after / before)[before != 0].round(decimals=4).tolist()


def masked(f: Facts, example: int = 0) -> MaskedSum:
    """The first result under many masks, as the page opens."""
    module = ncd.compile(f.circuit.term)
    weight, bias = module.W_2.weight[0], float(module.W_2.bias[0].detach())
    rate = float(RATES[f.settings["p"]])
    return masked_sum(f.value("relu")[example], weight, bias, rate, generator(0, "masks"))


def unseen_ratio(f: Facts) -> float:
    """The loss of unseen examples with dropout, over that without."""
    own, without = loss_curves(f.settings["p"], TRAIN, 0), loss_curves(0, EVAL, 0)
    return own.unseen[-1] / without.unseen[-1]


# --- low precision


def in_format(key: str, text: str) -> float:
    """What a calculation gives in a format."""
    return read_calculation(text).result_in(FORMATS[key])


def losses_in(f: Facts, key: str) -> list[Losses]:
    """What is lost of the gradients of activations, and of weights, in a format."""
    term = f.circuit.term
    found = losses_of_run(backward_module(ncd.compile(term)), ncd.example_inputs(term))[key]
    return [found[group] for group in GRADIENTS]


def arrive(f: Facts, key: str) -> bool:
    """Whether less than a thousandth of the gradients is lost in a format."""
    return all(sum(own.lost_counts) * 1000 < sum(own.kept_counts) for own in losses_in(f, key))


def unchanged(f: Facts, key: str) -> float:
    """The share of the weights that the step of the view leaves as they are."""
    rate = UPDATE_RATES[int(f.query["learning_rate"])]
    return descent(scene(f.entry.name, **f.settings)).unchanged_share(rate, FORMATS[key])


def added_up(f: Facts, key: str) -> float:
    """The sum of the panel's numbers in a format."""
    return running_sum(addends(scene(f.entry.name, **f.settings)), FORMATS[key])[-1]


# --- resnet


def blocks(f: Facts) -> SignalDepth:
    """Deviations block by block, as the page opens."""
    term = f.circuit.term
    feed = opening_inputs(f.entry, term, f.settings).tensors(term, 0, "cpu")
    return signal_depth(ncd.compile(term), *feed, seed=0, titles=TITLES)


def grown(f: Facts, skip: int) -> float:
    """How many times as large the gradient becomes with or without shortcuts."""
    return blocks(f.at(**{**f.settings, **PANEL_SIZES, "skip": skip})).gradients[0]


# --- parallelism


def costs(f: Facts, way: str, devices: int = 4) -> WayCosts:
    """What a way to put the layer on devices costs."""
    term = f.circuit.term
    found = way_costs(term, ncd.gradient(term, "parameters"), WAYS[way], devices)
    assert isinstance(found, WayCosts)
    return found


def forward(f: Facts, way: str) -> list[tuple[str, str]]:
    """What is sent forward, and behind or before which op."""
    return [
        (message.collective, one.op.cell.op.display_name)
        for one in costs(f, way).plan.ops
        for message in one.messages
    ]


def sums_weights(f: Facts, way: str) -> bool:
    """Whether the gradients of all weights are summed in the backward pass."""
    summed = Counter(
        message.array.numel
        for message in costs(f, way).backward_messages
        if message.collective == "all-reduce" and "t" not in message.array.names
    )
    return summed >= Counter(x.numel() for x in ncd.compile(f.circuit.term).parameters())


LESSONS: Mapping[str, Mapping[str, Claim]] = {
    "parallelism": {
        "A layer of a decoder, on a batch of 8 texts.": lambda f: f.size("b") == 8,
        "It is put on several devices, each of which gets a part of some axis.": lambda f: (
            len(WAYS) == 3
        ),
        "One example changes: which results change?": answer("the same place only"),
        "So nothing is sent forward.": lambda f: forward(f, "data") == [],
        "Backward, the gradients of all weights are summed over the batch: 4 devices send each of "
        "them 6 times.": lambda f: (
            sums_weights(f, "data")
            and costs(f, "data").backward_numbers == 6 * f.count("parameters")
        ),
        "Which axis does the second map of the feed-forward sum over?": answer("d"),
        "Each device has a quarter of these weights.": lambda f: (
            WAYS["tensor"].axes == ("h", "d")
            and 0.25 < costs(f, "tensor").plan.weights_held / f.count("parameters") < 0.26
        ),
        "Forward there are two all-reduces, one behind attention and one behind the "
        "feed-forward.": lambda f: (
            forward(f, "tensor") == [("all-reduce", "Linear out"), ("all-reduce", "Linear linear2")]
        ),
        "One of them changes: at which does the result change?": answer(
            "the same place and all later ones"
        ),
        "At later ones as well, through attention alone.": lambda f: len(f.ops("Softmax")) == 1,
        "So only keys and values are gathered forward.": lambda f: (
            forward(f, "sequence") == [("all-gather", "Einsum scores"), ("all-gather", "Einsum")]
        ),
        "Backward, the gradients of all weights are summed, as with the batch.": lambda f: (
            sums_weights(f, "sequence")
        ),
        "With 8 devices in place of 4, each holds about half of the weights.": lambda f: (
            0.5
            < costs(f, "tensor", 8).plan.weights_held / costs(f, "tensor").plan.weights_held
            < 0.55
        ),
        "But all of them together send more than twice as much: each number of a sum passes all "
        "links but one, twice.": lambda f: (
            costs(f, "tensor", 8).plan.numbers_sent * 3 == costs(f, "tensor").plan.numbers_sent * 7
        ),
    },
    "initialisation": {
        "Twenty layers, each a map of 64 features and a ReLU.": lambda f: (
            len(f.ops("Linear")) == len(f.ops("relu")) == 20 and f.size("m") == 64
        ),
        "What do twice as many features cost?": answer("4 times as many"),
        "Each layer makes numbers 0.41 times as large, and after twenty a hundred-millionth is "
        "left.": lambda f: (
            round(signal(f).growth, 2) == 0.41 and 0.3e-8 < signal(f).activations[-1] < 3e-8
        ),
        "The gradient shrinks as much on its way back.": lambda f: (
            0.5 < signal(f).gradients[0] / signal(f).activations[-1] < 2
        ),
        "Kaiming’s weights are 2.4 times as large, √6: what a ReLU takes away is put back in each "
        "layer, and both arrive.": lambda f: (
            abs(signal(f).weight / signal(f.at()).weight - 6**0.5) < 0.03 and kept(f)
        ),
        "Xavier’s are smaller than those by √2.": lambda f: (
            abs(signal(f.at(init=3)).weight / signal(f).weight - 2**0.5) < 0.02
        ),
        "That much is lost in every layer, and after twenty a thousandth is left.": lambda f: (
            0.5e-3 < signal(f).activations[-1] < 2e-3
        ),
        "If one of the maps gives zeros, what is left of the input?": answer(
            "on nothing: it is the same for every input"
        ),
        "All of it, as it passes beside the map.": lambda f: f.settings["residual"] == 1,
        "With a norm as well every choice of weights arrives at both ends.": lambda f: all(
            kept(f.at(residual=1, norm=1, init=kind)) for kind in range(len(INITS))
        ),
        "For a tanh it is right: near 0 a tanh is a straight line, and lets all of it through.": (
            kept
        ),
    },
    "dropout": {
        "A hidden layer of 16 units, and a dropout of 0.5 behind it.": lambda f: (
            f.size("d") == 16 and RATES[f.settings["p"]] == "0.5"
        ),
        "What shape is left?": lambda f: f.answer == "b d",
        "The shape stays: what is left out is 0, and what is kept is doubled.": lambda f: (
            {*masks(f)} == {0.0, 2.0}
        ),
        "The mean under all masks is what evaluation gives, but for chance.": lambda f: (
            abs(masked(f, 1).mean - masked(f, 1).full_sum)
            < 3 * masked(f, 1).deviation / len(masked(f, 1).under_masks) ** 0.5
        ),
        "If 0.8 is left out, what is kept is five times as large.": lambda f: (
            RATES[f.settings["p"]] == "0.8" and {*masks(f)} == {0.0, 5.0}
        ),
        "The masks scatter the result twice as far.": lambda f: (
            abs(masked(f).expected_deviation / masked(f.at()).expected_deviation - 2) < 1e-6
            and abs(masked(f).deviation / masked(f.at()).deviation - 2) < 0.2
        ),
        "And if a mask left out everything, on what would the result still depend?": answer(
            "on nothing: it is the same for every input"
        ),
        "In evaluation nothing is left out and nothing is divided: each number passes as it is.": (
            lambda f: {*masks(f)} == {1.0}
        ),
        "What it is for: without dropout 24 examples are learned by heart, and the loss of unseen "
        "ones rises again.": lambda f: (
            (own := loss_curves(0, EVAL, 0)).training[-1] < 0.01
            and own.unseen[-1] > min(own.unseen) + 0.2
            and EXAMPLES == 24
        ),
        "With it that loss ends a quarter smaller.": lambda f: abs(unseen_ratio(f) - 0.75) < 0.02,
        "If 0.8 is left out, it can no longer learn its own examples, and gains nothing with the "
        "others.": lambda f: (
            RATES[f.settings["p"]] == "0.8"
            and loss_curves(3, TRAIN, 0).training[-1] > 0.6
            and unseen_ratio(f) > 1
        ),
    },
    "low-precision": {
        "A small network with two layers, a loss that is the mean over a million examples, and a "
        "loss scale, which is 1 at first.": lambda f: (
            len(f.ops("Linear")) == 2
            and BATCHES[f.settings["n"]] == 2**20
            and SCALES[f.settings["s"]] == 1
        ),
        "What is 2048 + 1 in float16?": answer("2048"),
        "It stays 2048: with ten bits of mantissa, only even numbers follow.": lambda f: (
            FORMATS["float16"].mantissa == 10
            and FORMATS["float16"].spacing(2048) == 2
            and in_format("float16", f.query["calculation"]) == 2048
        ),
        "In bfloat16, with seven, this happens at 256 already.": lambda f: (
            FORMATS["bfloat16"].mantissa == 7
            and in_format("bfloat16", "255+1") == in_format("bfloat16", "256+1") == 256
        ),
        "What is twice the largest number of float16?": lambda f: (
            f.answer == "∞" and FORMATS["float16"].largest == 65504
        ),
        "Infinite: five bits of exponent reach no further.": lambda f: (
            FORMATS["float16"].exponent == 5
        ),
        "bfloat16 has eight, like float32, and keeps 10³⁸, with two or three digits.": lambda f: (
            FORMATS["bfloat16"].exponent == FORMATS["float32"].exponent == 8
            and abs(in_format("bfloat16", f.query["calculation"]) / 1e38 - 1) < 0.005
            and 1e-3 < FORMATS["bfloat16"].epsilon < 1e-2
        ),
        "Each example counts for a millionth of the mean, so gradients are small: 42% of those of "
        "activations become 0 in float16, and no error tells of it.": lambda f: (
            round(100 * losses_in(f, "float16")[0].zero_share) == 42
            and BATCHES[f.settings["n"]] == 2**20
        ),
        "So the loss is multiplied, and every gradient with it, before it is rounded: with 65,536 "
        "all of them arrive, and the step divides by that again.": lambda f: (
            SCALES[f.settings["s"]] == 65_536 and arrive(f, "float16")
        ),
        "With too large a scale all gradients are infinite.": lambda f: all(
            own.overflow_share == 1 for own in losses_in(f, "float16")
        ),
        "torch’s GradScaler then leaves out the step, and halves its scale.": lambda f: (
            torch.amp.GradScaler("cpu").get_backoff_factor() == 0.5
        ),
        "bfloat16 needs none.": lambda f: arrive(f.at(), "bfloat16"),
        "A learning rate of 0.001: in bfloat16, the step leaves 97% of the weights as they were.": (
            lambda f: (
                UPDATE_RATES[int(f.query["learning_rate"])] == 0.001
                and round(100 * unchanged(f, "bfloat16")) == 97
            )
        ),
        "So a copy of them is kept in float32, where less than 1% stays.": lambda f: (
            unchanged(f, "float32") < 0.01
        ),
        "A sum stops growing as well: these 1,024 numbers give 233, and 16 in E5M2.": lambda f: (
            len(addends(scene(f.entry.name))) == 1024
            and round(added_up(f, "float32")) == 233
            and added_up(f, "e5m2") == 16
        ),
        "So products of matrices are added up in float32, whatever they multiply.": lambda f: (
            abs(added_up(f, "float32") / addends(scene(f.entry.name)).double().sum() - 1) < 1e-6
        ),
    },
    "resnet": {
        "A picture becomes a quarter as long along each side, and goes through four stages of "
        "blocks.": lambda f: (
            4 * f.shape("x/4")[0] == f.shape("x")[0]
            and sum(fence.title.startswith("Stage") for fence in f.circuit.fences) == 4
        ),
        "The stem makes the sides half as long, and the pooling halves them again.": lambda f: (
            f.ins("MaxPool") == ["b n_1 x_1"] and 2 * f.shape("x/2")[0] == f.shape("x")[0]
        ),
        "What shape do the blocks get?": lambda f: f.answer == "b n_1 x_2",
        "Without shortcuts, if the first block gives zeros: what is left of the picture?": answer(
            "on nothing: it is the same for every input"
        ),
        "With them, if what the first block computes is zeros: what is left of it now?": answer(
            "on all that it did before"
        ),
        "The gradient has the same way back: in eight blocks it becomes 1.7 times as large with "
        "shortcuts, and 5.5 times without.": lambda f: (
            [round(grown(f, skip), 1) for skip in (1, 0)] == [1.7, 5.5]
            and len(blocks(f).gradients) == 8
        ),
        "In the 50 blocks of 152 layers it becomes a thousand times as large, and without "
        "shortcuts a million million times.": lambda f: (
            0.5e3 < grown(f, 1) < 2e3 and 0.5e12 < grown(f, 0) < 2e12
        ),
        "From 50 layers on a block is a bottleneck.": lambda f: (
            [size.narrows for size in SIZES] == [int(size.name) >= 50 for size in SIZES]
        ),
        "Which of its convolutions costs more?": answer("Conv conv2"),
        "The one of 3 × 3, even where there are only a quarter of the channels.": lambda f: (
            4 * f.size("n_1") == f.size("4n_1")
        ),
        "How large is the whole network?": answer("26 million"),
        "It has 25.6 million parameters, and 34 layers of basic blocks have 21.8 million.": (
            lambda f: (
                [round(f.published(f"resnet-{n}").cost.parameters / 1e6, 1) for n in (50, 34)]
                == [25.6, 21.8]
            )
        ),
        "Both cost about as much: 4.1 and 3.7 thousand million products.": lambda f: (
            [round(f.published(f"resnet-{n}").cost.flops / 2e9, 1) for n in (50, 34)] == [4.1, 3.7]
        ),
    },
}
