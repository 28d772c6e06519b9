"""Claims of the lessons on pictures and graphs."""

from __future__ import annotations

from collections.abc import Mapping

import torch

import ncd
from ncd.app.panels.images.diffusion_steps import NAMES
from ncd.app.panels.images.network_blocks import BlockMap, block_maps
from ncd.circuit.circuit import Cell
from ncd.run.seeding import example_inputs
from ncd.systems.images.convolution_layers import field_sizes, stack_of
from ncd.systems.images.efficientnet import SIZES, STAGES
from ncd.systems.images.efficientnet import one_block as mbconv
from tests.systems.lessons.facts import Claim, Facts, answer, growth_factor


def work(f: Facts, label: str) -> list[int]:
    """The FLOPs of each op of a label, in order."""
    return [op.flops for op in f.cost.ops if op.label == label]


def reached_in_two_steps(f: Facts) -> bool:
    """Whether a node reaches those that read it, and those that read them, and no others."""
    links = (f.value("links") != 0).float()
    share = f.value("share")
    return torch.equal(links @ links != 0, share @ share != 0)


def reads_mixed_pixels(f: Facts) -> bool:
    """Whether mixed pixels give the same answer, if the first map's weights are mixed alike."""
    module, (picture,) = ncd.compile(f.circuit.term), example_inputs(f.circuit.term)
    first = next(w for w in module.parameters() if w.shape[-1] == picture.numel())
    order = torch.randperm(picture.numel(), generator=torch.Generator().manual_seed(0))
    right = module(picture)
    with torch.no_grad():
        first.copy_(first[:, order].clone())
    return torch.allclose(right, module(picture.flatten()[order].view_as(picture)), atol=1e-6)


def mbconv_maps(f: Facts, *names: str) -> tuple[BlockMap, ...]:
    """The maps of a block of stage 2 for one image."""
    term = mbconv(2, **{**f.settings, "b": 1})
    return block_maps(ncd.elaborate(term), *(names or ("expand", "depthwise", "project")))


def gate_maps(f: Facts) -> tuple[BlockMap, ...]:
    return mbconv_maps(f, "squeeze", "excite")


def _last_of_block(f: Facts, cell: Cell) -> bool:
    """Whether no later op is in the same block."""
    later = f.circuit.cells[f.circuit.cells.index(cell) + 1 :]
    return not any(cell.fences[-1] in other.fences for other in later)


LESSONS: Mapping[str, Mapping[str, Claim]] = {
    "gcn": {
        "At which nodes does the result change?": answer("some of them"),
        "At some: those that read it, and, after the second layer, those that read them.": (
            lambda f: f.lit == ["Einsum mix"] and reached_in_two_steps(f)
        ),
        "The graph gets twice as many nodes, and no more edges.": lambda f: (
            growth_factor(f, "n") == 2 and f.then.settings["e"] == f.settings["e"]
        ),
        "3.4 times, as this drawing has a table of all pairs, and most of it is 0.": lambda f: (
            round(float(f.grows("flops")), 1) == 3.4
            and float((f.value("share") == 0).float().mean()) > 0.5
        ),
        "There are just as many weights.": lambda f: f.grows("parameters") == 1,
    },
    "image-recogniser": {
        "The plainest network that reads digits: a picture becomes a row of numbers, and three "
        "learned maps turn it into ten probabilities.": lambda f: (
            len(f.ops("Linear")) == 3 and f.size("k") == 10
        ),
        "The thick bar lays the 28 rows of the picture end to end.": lambda f: f.size("x") == 28,
        "784, and no wire says which pixels were neighbours.": lambda f: (
            f.lit == ["Group"] and f.size("d") == 784
        ),
        "Mix the pixels of all pictures in one way, and it learns to read them just as well.": (
            reads_mixed_pixels
        ),
        "A picture twice as wide and high.": lambda f: growth_factor(f, "x") == 2,
        "3.5 times: the first map has a weight for each pixel and hidden feature.": lambda f: (
            round(float(f.grows("parameters")), 1) == 3.5
            and f.cost.ops[2].parameters == (f.size("d") + 1) * f.size("n")
        ),
        "A convolution would have no weight more.": lambda f: (
            Facts.of("convolution").at(x=64).grows("parameters") == 1
        ),
        "Without a relu between them, three maps would be one.": lambda f: (
            len(f.ops("relu")) == len(f.ops("Linear")) - 1 == 2
        ),
    },
    "vgg": {
        "Convolutions of 3 × 3 in five stages, and three dense maps.": lambda f: (
            {cell.op.kernel for cell in f.ops("Conv")} == {3}
            and sum(fence.title.startswith("Stage") for fence in f.circuit.fences) == 5
            and len(f.ops("Linear")) == 3
        ),
        "Each stage ends with a pooling, which keeps the largest of 2 × 2 numbers.": lambda f: (
            [(cell.op.kernel, cell.op.stride) for cell in f.ops("MaxPool")] == [(2, 2)] * 5
            and all(_last_of_block(f, cell) for cell in f.ops("MaxPool"))
        ),
        "32 maps of 6 × 6 numbers are left of the picture.": lambda f: (
            (f.size("n_5"), f.shape("x_5")) == (32, (6, 6)) and f.ins("Group") == ["n_5 x_5"]
        ),
        "Which operation has the most weights?": answer("Linear fc1"),
        "The first dense map, fc1: 70% of all.": lambda f: (
            round(f.share("parameters", "fc1"), 2) == 0.7 and f.ops("Linear")[0].name == "fc1"
        ),
        "Stage 1 has 260 parameters, and the dense maps have 363,530.": lambda f: (
            f.count("parameters", "conv1_1", "conv1_2") == 260
            and f.count("parameters", "Linear") == 363_530
        ),
        "Which takes more operations?": answer("Stage 1"),
        "Stage 1, 26 times as many: each of its weights is used at 36,864 places of a map, and one "
        "of a dense map once.": lambda f: (
            {"Conv conv1_1", "Conv conv1_2"} < {*f.lit}
            and round(f.count("flops", "conv1_1", "conv1_2") / f.count("flops", "Linear")) == 26
            and f.count("flops", "conv1_2") == 2 * 36_864 * 9 * f.size("n_1") ** 2
            and f.count("flops", "fc2") == 2 * f.size("m") ** 2
        ),
        "Two windows of 3 × 3 in a row see 5 × 5 pixels.": lambda f: (
            field_sizes(stack_of(n=2, k=3, s=1, d=1, double=0)) == [3, 5]
        ),
        "They have 18 weights for each pair of channels, and one window of 5 × 5 has 25.": (
            lambda f: (2 * 3**2, 5**2) == (18, 25)
        ),
        "The published VGG-16 has 16 times the channels.": lambda f: (
            f.published("vgg-16").size("n_1") == 16 * f.size("n_1")
        ),
        "How many parameters does it have?": answer("140 million"),
        "138 million, 103 million of them in fc1.": lambda f: (
            [round(f.published("vgg-16").count("parameters", *ops) / 1e6) for ops in ((), ("fc1",))]
            == [138, 103]
        ),
        "Three more convolutions, as in VGG-19, add 5 million.": lambda f: (
            len(f.published("vgg-19").ops("Conv")) == len(f.published("vgg-16").ops("Conv")) + 3
            and 5.0
            < (
                f.published("vgg-19").count("parameters")
                - f.published("vgg-16").count("parameters")
            )
            / 1e6
            < 5.5
        ),
    },
    "efficientnet": {
        "Seven stages of blocks.": lambda f: (
            sum(fence.title.startswith("Stage") for fence in f.circuit.fences) == 7
        ),
        "The second block of stage 2 has 6 channels at both ends, and 36 inside.": lambda f: (
            [(one.channels_in, one.channels_out) for one in mbconv_maps(f)]
            == [(6, 36), (36, 36), (36, 6)]
        ),
        "The first block has 24 inside.": lambda f: f.size("d_1") == 24,
        "We change one before its 3 × 3 convolution.": lambda f: (
            f.circuit.producers["v20"].op.display_name == "Conv depthwise" and STAGES[1].kernel == 3
        ),
        "Which channels change behind it?": lambda f: (
            f.answer == ("all of them" if "v30" in f.query["ask"] else "the same place only")
        ),
        "So for 36 channels the windows have 324 weights; if they mixed the channels, it would be "
        "11,664.": lambda f: (
            mbconv_maps(f)[1].parameters == 9 * 36 == 324 and 9 * 36 * 36 == 11_664
        ),
        "For 36 channels its two maps have 109 parameters, and take 144 operations beside 387 "
        "thousand.": (
            lambda f: (
                sum(m.parameters for m in gate_maps(f)) == 109
                and sum(m.flops for m in gate_maps(f)) == 144
                and round(sum(m.flops for m in mbconv_maps(f)) / 1e3) == 387
            )
        ),
        "The picture becomes twice as wide and high.": lambda f: growth_factor(f, "x") == 2,
        "Almost four times as much.": lambda f: 3.9 < f.at(x=128).grows("flops") < 4,
        "From B0 to B7 sides, channels and depth grow together, and the products a hundredfold.": (
            lambda f: (
                all(sorted(part) == [*part] for part in zip(*SIZES, strict=True))
                and 90
                < f.published("efficientnet-b7").cost.flops
                / f.published("efficientnet-b0").cost.flops
                < 110
            )
        ),
    },
    "identity-resnet": {
        "On what does the result still depend?": answer("on all that it did before"),
        "The gradient comes back the same way, unharmed.": lambda f: (
            f.lit == ["Add"]
            and [str(value.array) for value in f.ops("Add")[1].inputs]
            == [str(f.ops("Add")[1].outputs[0].array)] * 2
        ),
        "Three pictures are read at once, each for itself, it seems.": lambda f: f.size("b") == 3,
        "We change one of them: the answers for which ones change?": answer("all of them"),
        "Where a block changes the channels or the size, the short way needs a convolution.": (
            lambda f: (
                f.lit == ["Conv conv"]
                and [2 * n for n in f.shape("x/2")] == [*f.shape("x")]
                and [cell.op.display_name for cell in f.circuit.cells].count("Conv conv") == 1 + 3
            )
        ),
    },
    "visual-attention": {
        "Q is a convolution: windows of 3 × 3 pixels, one every 3 pixels.": lambda f: (
            (f.settings["w"], f.settings["s"]) == (3, 3)
        ),
        "What does it make of 32 × 32 pixels?": lambda f: f.shape("y") == (32, 32),
        "10 × 10 patches, each with k features for each of h heads.": lambda f: (
            f.lit == ["Conv Q"] and f.shape("y/s") == (10, 10) and f.outs("Q") == ["h k y/s"]
        ),
        "The last two rows and columns are in no patch: nobody reads them.": lambda f: (
            f.shape("y")[0] - 3 * f.shape("y/s")[0] == 2
        ),
        "Both pictures become twice as wide and high.": lambda f: (
            growth_factor(f, "y") == growth_factor(f, "x") == 2
        ),
        "14 times: each picture has 4.41 times as many patches, and each patch is compared with "
        "each.": lambda f: (
            round(float(f.grows("flops"))) == 14
            and f.size("y/s") / f.at().size("y/s") == f.size("x/s") / f.at().size("x/s") == 4.41
        ),
    },
    "vit": {
        "The patches are 7 × 7 pixels of a picture of 28 × 28.": lambda f: (
            f.settings["s"] == 7 and f.shape("u") == (28, 28)
        ),
        "4 × 4 patches, so 16 words.": lambda f: f.shape("x") == (4, 4) and f.size("q") == 16,
        "One more vector is put before them, which belongs to no patch: the classes are read from "
        "it at the end.": lambda f: f.lit == ["Concat"] and f.size("t") == 16 + 1,
        "Twice as many patches along each side.": lambda f: growth_factor(f, "x") == 2,
        "Hardly more: only the table of positions grows.": lambda f: (
            1 < f.grows("parameters") < 1.05
            and f.count("parameters") - f.count("parameters", "position_embeddings")
            == f.at().count("parameters") - f.at().count("parameters", "position_embeddings")
        ),
        "But the work is 4.4 times as much, and the longer the row, the more the comparing "
        "weighs.": lambda f: (
            round(float(f.grows("flops")), 1) == 4.4
            and f.share("flops", "scores") > f.at().share("flops", "scores")
        ),
    },
    "swin": {
        "24 × 24 patches, in windows of 3 × 3, and each patch scores those in its window.": (
            lambda f: f.shape("x_1") == (24, 24) and f.settings["w"] == 3
        ),
        "5,184, nine for each patch.": lambda f: (
            f.lit == ["Einsum scores"]
            and f.size("n_1") * f.size("t") ** 2 == 9 * f.size("x_1") == 5184
        ),
        "All with all would be 331,776.": lambda f: f.size("x_1") ** 2 == 331_776,
        "Which ones have changed after its attention?": answer("the same place and some near it"),
        "So the next layer moves all windows by a patch, across the old borders: layer by layer, "
        "news crosses the picture.": lambda f: (
            f.lit[0] == "Roll" and repr(f.ops("Roll")[0].op).endswith(", -1)")
        ),
        "After a stage four patches become one, with twice the features: first details, then whole "
        "things.": lambda f: (
            (f.size("x_1"), f.size("m_2")) == (4 * f.size("x_2"), 2 * f.size("m_1"))
        ),
    },
    "convnext": {
        "Which channels change behind it?": answer("the same place only"),
        "Two maps mix the channels later, at each place alone, and widen them four times in "
        "between.": lambda f: (
            f.size("d_1") == 4 * f.size("c_1") and f.outs("pwconv2") == f.ins("pwconv1")
        ),
        "The windows have 7 × 7 pixels.": lambda f: 2 * f.settings["r"] + 1 == 7,
        "What becomes of the parameters with windows of 3 × 3?": lambda f: (
            2 * f.then.settings["r"] + 1 == 3
        ),
        "Hardly fewer: as no window mixes channels, even wide ones are cheap, and the maps have "
        "most of the weights.": lambda f: (
            0.9 < f.grows("parameters") < 1
            and f.at().cost.ops[3].parameters == f.at().size("c_1") * (7 * 7 + 1)
            and f.share("parameters", "pwconv1", "pwconv2") > 0.5
        ),
        "If this window mixed all 64 channels as well, it would have 200,704 weights in place of "
        "3,136.": lambda f: (
            f.lit == ["Conv dwconv"]
            and f.size("c_4") == 64
            and (64 * 64 * 7 * 7, 64 * 7 * 7) == (200_704, 3136)
            and max(op.parameters for op in f.cost.ops if op.label == "Conv dwconv") == 3136 + 64
        ),
    },
    "clip": {
        "6 pictures and 6 sentences are points with z numbers each.": lambda f: (
            f.ins("similarity") == ["i z", "j z"] and f.size("i") == f.size("j") == 6
        ),
        "Twice as many pictures and sentences: four times as many pairs.": lambda f: (
            growth_factor(f, "i") == growth_factor(f, "j") == 2
            and f.then.grows("flops", "similarity") == 4
        ),
        "Hardly more than twice: nearly all work is to read, and the table is almost free.": (
            lambda f: 2 < f.grows("flops") < 2.01 and f.share("flops", "similarity") < 0.001
        ),
    },
    "diffusion-unet": {
        "Ten times as many steps from picture to noise.": lambda f: growth_factor(f, "T") == 10,
        "Just as many: one network serves all steps.": lambda f: f.grows("parameters") == 1,
    },
    "dit": {
        "One map makes six numbers for each of m features, from the time step and the class.": (
            lambda f: f.outs("modulation") == ["j m"] and f.size("j") == 6
        ),
        "A shift, a scale and a gate for attention, and three more for the feed-forward part.": (
            lambda f: [name.split()[0] for name in NAMES.values()] == ["shift", "scale", "gate"] * 2
        ),
        "All patches get the same six.": lambda f: (
            f.lit == ["Linear modulation"] and "t" not in f.outs("modulation")[0].split()
        ),
        "Attention has four maps, the feed-forward part two larger ones.": lambda f: (
            len({*"qkv", "out"}) * f.settings["n"]
            == sum(len(f.ops(f"Linear {name}")) for name in (*"qkv", "out"))
            and min(f.count("parameters", "fc1"), f.count("parameters", "fc2"))
            > f.count("parameters", "q")
        ),
        "Which operation has the most parameters in the published model?": (
            answer("Linear modulation")
        ),
        "The modulation: a third of them there, and 29% here.": lambda f: (
            round(3 * f.published("dit-xl-2").share("parameters", "modulation"), 1) == 1
            and round(f.share("parameters", "modulation"), 2) == 0.29
        ),
        "But it does only 3% of the work: it runs once for a picture, not once for a patch.": (
            lambda f: round(f.share("flops", "modulation"), 2) == 0.03
        ),
    },
    "vae": {
        "A picture has 64 pixels.": lambda f: f.size("p") == 64,
        "2: a point of a plane.": lambda f: f.lit == ["Map point"] and f.size("k") == 2,
        "Twice as many numbers for a point.": lambda f: growth_factor(f, "k") == 2,
        "Hardly more: nearly all of them lie between pixels and hidden features.": lambda f: (
            1 < f.grows("parameters") < 1.05 and f.share("parameters", "encode", "pixels") > 0.9
        ),
    },
}
