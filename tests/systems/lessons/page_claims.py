"""What the numbers in the prose of the pages claim, computed; or who says so, where it is cited."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import exp, log

import torch
from torch.nn import functional as F

import ncd
from ncd.rewrite.sharding import Message
from ncd.run.float_formats import FORMATS
from ncd.systems.images.convolution_layers import field_sizes, stack_of
from ncd.systems.language_models.llama import GEMMA_2
from ncd.systems.training.losses import answer_loss
from ncd.systems.training.sequence_data import PROOFREADER_WORDS
from ncd.systems.training.story_grammar import STORY_WORDS
from ncd.systems.training.tasks import data, task
from ncd.systems.training.trained_weights import read_note, read_weights, shipped_file
from ncd.systems.training.training_loop import answer_unseen
from ncd.systems.training.written_dates import iso_date
from ncd.systems.transformers.position_encoding import BASE
from tests.systems.lessons.facts import Claim, Facts
from tests.systems.lessons.language_lesson_claims import written
from tests.systems.lessons.training_lesson_claims import signal

# A text beside a piece of a sentence is the source of what cannot be computed here.
Said = Claim | str
RESNET_50 = Facts.of("resnet").published("resnet-50")
NOTEBOOK = "the notebook's code, which does not belong to this project"


def cache(f: Facts, *maps: str) -> int:
    """How many numbers the maps of keys and values make of a token in the first layer."""
    ops = [f.ops(name)[0] for name in maps]
    return sum(op.outputs[0].array.numel // f.settings["t"] for op in ops)


def pairs(patches: int) -> int:
    """The work of a ViT-B/16's scores for so many patches along a side."""
    return Facts.of("vit").published("vit-b-16", n=1, x=patches).count("flops", "scores")


def shipped_well(f: Facts) -> bool:
    """`tests/systems/training/test_shipped.py` scores these weights; here are their notes."""
    file = shipped_file(f.entry, f.settings)
    return file is not None and read_note(file)["system"] == f.entry.name


def perplexity(f: Facts) -> float:
    """The perplexity of the shipped weights on stories that they have not learned from."""
    own, file = task(f.entry.name), shipped_file(f.entry, f.settings)
    settings = {**f.settings, **own.training_sizes}
    assert file is not None
    module = read_weights(ncd.compile(f.entry.build(**settings)), file)
    found, wanted = answer_unseen(own, settings, module, data(own, settings, seed=0))
    return exp(answer_loss(found, wanted))


SCALER = torch.amp.GradScaler("cpu")


def autocast_dtypes() -> list[torch.dtype]:
    """The dtypes of a linear map, a convolution and a loss under torch's autocast."""
    x = torch.ones(1, 1, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        linear, moved = F.linear(x, torch.ones(4, 4)), F.conv1d(x, torch.ones(1, 1, 2))
        return [linear.dtype, moved.dtype, F.mse_loss(linear, x).dtype]


def experts(f: Facts, *names: str) -> int:
    """The parameters of all experts."""
    return sum(f.count("parameters", name) for name in names)


PAGES: Mapping[str, Mapping[str, Said]] = {
    "merged-qkv": {
        "Of 3*hk* features": lambda f: f.size("3hk") == 3 * f.settings["h"] * f.settings["k"],
    },
    "grouped-queries": {
        "the cache is *q* times smaller": lambda f: (
            f.settings["q"] * cache(f, "K", "V") == 2 * f.size("g") * f.size("q") * f.size("k")
        ),
    },
    "rotary": {
        "is turned by its position times an angle": lambda f: "t * " in repr(f.ops("angle")[0].op),
        "1/3,162 for *k* = 16, and for larger *k* by ever less, down to 1/10,000": lambda f: (
            round(BASE ** (14 / 16)) == 3162 and BASE ** (1 - 2 / 4096) < BASE == 10_000
        ),
    },
    "latent-attention": {
        "576 numbers for each token and layer, where its 128 heads would have 32,768": lambda f: (
            (d := f.published("deepseek-v2", t=1))
            and cache(d, "DKV", "KR") == 576
            and d.settings["h"] == 128
            and cache(d, "UK", "UV") == 32_768
        ),
    },
    "sliding-window": {
        "twice the text is four times the work": "all pairs of positions: (2t)² = 4t²",
    },
    "delta-rule": {
        "times a strength": lambda f: bool(f.ops("sigmoid")),
    },
    "swiglu": {
        "fewer by a third: 8/3 of the features in place of 4 times as many": lambda f: (
            f.at(m=12, d=32).count("parameters") == 3 * 12 * 32 == 2 * 12 * 4 * 12
        ),
    },
    "gpt-2": {
        "38.6 million of the small model's 124.4 million parameters": lambda f: (
            (small := f.published("gpt-2-small"))
            and round(small.count("parameters", "wte") / 1e6, 1) == 38.6
            and round(small.count("parameters") / 1e6, 1) == 124.4
        ),
        "the 1,025th": lambda f: f.published("gpt-2-small").size("u") == 1024,
        "small stories of 201 words": lambda f: len(STORY_WORDS) == 201,
        "its perplexity is 1.81": lambda f: round(perplexity(f), 2) == 1.81,
        "between 1.81 words": "what a perplexity is: the exponential of the mean loss",
    },
    "t5": {
        "share 32 buckets": lambda f: f.size("z") == 32,
        "beyond 128 all are one": lambda f: (
            f"/ 8) / {log(128 / 8):.10f}"[:18] in repr(f.ops("distance")[0].op)
        ),
    },
    "llama": {
        "in Llama 3 8B, a quarter": lambda f: f.published("llama-3-8b").size("q") == 4,
        "perplexity is 1.75": lambda f: round(perplexity(f), 2) == 1.75,
    },
    "gemma": {
        "50 · tanh(*s* / 50), and the scores of words likewise with 30": lambda f: (
            (GEMMA_2.heads.cap, GEMMA_2.word_cap) == (50, 30)
        ),
    },
    "mixtral": {
        "Eight feed-forwards stand ready in every layer, and each word is sent to two": lambda f: (
            (f.size("e"), f.size("c")) == (8, 2)
            and (f.published("mixtral-8x7b").size("e"), f.settings["c"]) == (8, 2)
        ),
        "stores 46.7 billion parameters, and a word passes through 12.9 billion": lambda f: (
            (p := f.published("mixtral-8x7b"))
            and round(p.count("parameters") / 1e9, 1) == 46.7
            and round((p.count("parameters") - 6 / 8 * experts(p, "w1", "w2", "w3")) / 1e9, 1)
            == 12.9
        ),
    },
    "deepseek": {
        "576 numbers for a word and layer, where 16 heads with keys and values of their own would "
        "need 4,096": lambda f: (
            (d := f.published("deepseek-v2-lite", n=2, t=1))
            and cache(d, "kv_a_proj", "k_rope") == 576
            and d.settings["h"] == 16
            and cache(d, "k", "v") == 4096
        ),
    },
    "lenet": {
        "A window of 5 × 5 pixels": lambda f: f.count("parameters", "conv1") == 6 * (3 * 5 * 5 + 1),
        "the largest of each 2 × 2": lambda f: f.size("u") == 4 * f.size("u/2"),
    },
    "initialisation": {
        "√m σ times as large as what went in; and if that is half, twenty layers leave a "
        "millionth": lambda f: (
            abs(signal(f.at(g=0)).growth / signal(f).weight / f.size("m") ** 0.5 - 1) < 0.05
            and abs(1e6 / 2**20 - 1) < 0.05
        ),
        "half of the numbers zero, so that half of the mean square": lambda f: (
            abs(float((f.value("relu") == 0).float().mean()) - 0.5) < 0.05
        ),
        "asks for √(2 / m)": lambda f: (
            abs(signal(f.at(init=3)).weight - (2 / f.size("m")) ** 0.5) < 2e-3
        ),
        "a factor of 1.4 only, and after twenty layers by a thousand": lambda f: (
            abs(signal(f.at(init=3)).weight / signal(f.at(init=2)).weight - 1.4) < 0.05
            and 2**10 / 2
            < signal(f.at(init=3)).squares[1] ** 0.5 / signal(f.at(init=2)).squares[1] ** 0.5
            < 2**10 * 2
        ),
        "a deviation of 1 / √(3 m)": lambda f: (
            abs(signal(f).weight - (3 * f.size("m")) ** -0.5) < 1e-3
        ),
        "weights of deviation 0.02": "Radford et al. 2018, section 4.1",
    },
    "vgg": {
        "Windows of 3 × 3": lambda f: {cell.op.kernel for cell in f.ops("Conv")} == {3},
        "11 × 11 pixels in the first layer of AlexNet": lambda f: (
            Facts.of("convolution").published("alexnet-conv1").settings["k"] == 11
        ),
        "of 3 × 3 in a row see 5 × 5 pixels, three see 7 × 7": lambda f: (
            field_sizes(stack_of(n=3, k=3, s=1, d=1, double=0)) == [3, 5, 7]
        ),
        "a [pooling](pooling) that halves them": lambda f: (
            f.size("x") == 4 * f.size("x_1") and f.size("x_4") == 4 * f.size("x_5")
        ),
        "twice the channels, until there are eight times as many as at first": lambda f: (
            [f.size(f"n_{i}") // f.size("n_1") for i in range(1, 6)] == [1, 2, 4, 8, 8]
        ),
        "Where the sides halve and the channels double, a convolution costs as much": lambda f: (
            f.count("flops", "conv1_2")
            == f.count("flops", "conv2_2")
            == f.count("flops", "conv3_2")
            == f.count("flops", "conv4_2")
            == 4 * f.count("flops", "conv5_2")
        ),
        "it has 103 of 138 million parameters, and less than a hundredth of the work": lambda f: (
            round(f.published("vgg-16").count("parameters", "fc1") / 1e6) == 103
            and round(f.published("vgg-16").count("parameters") / 1e6) == 138
            and f.published("vgg-16").share("flops", "fc1") < 0.01
        ),
        "almost four times the products of a ResNet-50": lambda f: (
            3.7 < f.published("vgg-16").cost.flops / RESNET_50.cost.flops < 4
        ),
        "more than five times its parameters": lambda f: (
            5 < f.published("vgg-16").cost.parameters / RESNET_50.cost.parameters < 6
        ),
        "half of the features behind each hidden dense map": (
            "torchvision’s models of VGG: a dropout of 0.5 behind both hidden maps"
        ),
    },
    "parallelism": {
        "an all-reduce among *n* devices sends 2 (*n* − 1) times the array": lambda f: all(
            Message("all-reduce", f.circuit.outputs[0].array, "v").numbers_sent(n)
            == 2 * (n - 1) * f.circuit.outputs[0].array.numel
            for n in (1, 2, 8)
        ),
    },
    "low-precision": {
        "Numbers of 16 or 8 bits take less memory than those of 32, and are multiplied faster": (
            "PyTorch's documentation of torch.amp; Micikevicius et al. 2022, section 1"
        ),
        "has 5 and 10 of them, *bfloat16* 8 and 7": lambda f: (
            [(FORMATS[key].exponent, FORMATS[key].mantissa) for key in ("float16", "bfloat16")]
            == [(5, 10), (8, 7)]
            and FORMATS["bfloat16"].smallest_normal == FORMATS["float32"].smallest_normal
        ),
        "Of the formats of 8 bits": lambda f: FORMATS["e4m3"].width == FORMATS["e5m2"].width == 8,
        "Torch's `GradScaler` begins with 65,536": lambda f: SCALER.get_scale() == 65_536,
        "halves the scale, and after 2,000 good steps it doubles it": lambda f: (
            (SCALER.get_backoff_factor(), SCALER.get_growth_interval(), SCALER.get_growth_factor())
            == (0.5, 2000, 2)
        ),
        "less than half of the spacing of numbers there, w + Δ is w": lambda f: all(
            own.round_number(1 + 0.49 * own.spacing(1)) == 1 for own in FORMATS.values()
        ),
        "runs linear maps and convolutions in 16 bits, and losses in": lambda f: (
            autocast_dtypes() == [torch.bfloat16, torch.bfloat16, torch.float32]
        ),
        "of which products read 10 bits of the mantissa": (
            "PyTorch's documentation, Numerical accuracy, section TensorFloat-32"
        ),
    },
    "efficientnet": {
        "makes the channels six times more": lambda f: (
            f.size("d_2") == 6 * f.size("c_2") and f.ops("expand")[0].op.kernel == 1
        ),
        "lets all three grow by fixed factors, 1.2, 1.1 and 1.15": (
            "Tan and Le 2019: α = 1.2, β = 1.1, γ = 1.15"
        ),
        "each step makes about twice the work": lambda f: 1.9 < 1.2 * 1.1**2 * 1.15**2 < 2,
    },
    "resnet": {
        "has two convolutions of 3 × 3": lambda f: (
            [cell.op.kernel for cell in f.ops("Conv")[1:3]] == [3, 3]
        ),
        "narrows the channels to a quarter, has its 3 × 3 convolution there": lambda f: (
            4 * f.at(depth=2).size("n_1") == f.at(depth=2).size("4n_1")
            and f.at(depth=2).ops("conv2")[0].op.kernel == 3
        ),
        "a network of 50 layers costs about as much as one of 34": lambda f: (
            1 < f.published("resnet-50").cost.flops / f.published("resnet-34").cost.flops < 1.15
        ),
    },
    "optimisers": {
        "Adam keeps twice its numbers": lambda f: (
            sum(v.array.numel for v in f.circuit.inputs[2:]) == 2 * f.size("o") * f.size("i")
        ),
    },
    "receptive-field": {
        "dilations that double": lambda f: (
            field_sizes(stack_of(**f.at(double=1).settings)) == [3, 7, 15, 31]
        ),
    },
    "residual-block": {
        "a quarter of the channels for the costly 3 × 3 convolution": lambda f: (
            4 * (f.count("parameters", "norm_2") // 2) == f.size("n_1")
            and f.count("parameters", "conv_2") == 16 * (9 * 16 + 1)
        ),
        "75,008 for the first block, 74,752 here": lambda f: (
            f.published("resnet-50-conv2", n0=64).count("parameters") == 74_752
        ),
    },
    "identity-resnet": {
        "the paper has 333": "He et al. 2016, section 4: ResNet-1001 has 333 residual units",
        "learned from three digits at a time": lambda f: f.settings["b"] == 3,
        "read about 98 of 100": shipped_well,
        "of two images the statistics are poor, and 91 of 100": shipped_well,
        "99 of 100 are right": shipped_well,
        "*N* times, so that its weights are shared": NOTEBOOK,
    },
    "unet": {
        "Every level halves the image": lambda f: f.size("u_1") == 4 * f.size("v_1"),
        "each also doubles the channels": lambda f: (
            f.size("q_2") == 2 * f.size("q_1") and f.size("q_3") == 2 * f.size("q_2")
        ),
        "a level larger than half": NOTEBOOK,
        "twice the published number": lambda f: (
            2 * f.published("ronneberger-2015").settings["c"]
            == f.published("figure-27").settings["c"]
        ),
    },
    "visual-attention": {
        "3 × 3 and a stride of 3, an image of 16 × 16 comes back as 15 × 15": lambda f: (
            f.at(w=3, s=3, x=16, y=16).shape("y′") == (15, 15)
        ),
        "16 is not a multiple of 3": lambda f: 16 % 3 != 0,
    },
    "vit": {
        "with a million pictures such networks were better, with hundreds of millions": (
            "Dosovitskiy et al. 2021, section 4.3"
        ),
    },
    "convnext": {
        "four times wider": lambda f: (
            f.published("convnext-t").size("d_1") == 4 * f.published("convnext-t").size("c_1")
        ),
        "7 × 7": lambda f: f.count("parameters", "dwconv") > 0 and 2 * f.settings["r"] + 1 == 7,
        "its 3 × 3 convolution": lambda f: (
            Facts.of("residual-block").count("parameters", "conv_2") == 16 * (9 * 16 + 1)
        ),
    },
    "swin": {
        "moves the windows by half": lambda f: repr(f.ops("Roll")[0].op).endswith(
            f", -{f.settings['w'] // 2})"
        ),
        "twice the height and width cost sixteen times as much": lambda f: (
            15.5 < pairs(patches := 28) / pairs(patches // 2) < 16
        ),
        "moved by half a window": lambda f: len(f.ops("Roll")) > 0,
        "four patches become one with twice the features": lambda f: (
            f.size("x_1") == 4 * f.size("x_2") and 2 * f.size("m_1") == f.size("m_2")
        ),
    },
    "dit": {
        "eight times smaller along each side": "Peebles and Xie 2023, section 3.1",
    },
    "mamba": {
        "between 0.001 and 0.1": lambda f: (
            bool((step := torch.nn.functional.softplus(f.value("dt_bias"))).min() >= 0.00099)
            and bool(step.max() <= 0.101)
        ),
    },
    "induction": {
        "about a quarter of the answers": shipped_well,  # and test_shipped.py: below 0.4
    },
    "proofreader": {
        "a small grammar with 78 words": lambda f: len(PROOFREADER_WORDS) == 78 == f.size("v"),
    },
    "seq2seq-attention": {
        "reads *november 3 1998*, another writes *1998-11-03*": lambda f: (
            iso_date("november 3 1998") == "1998-11-03" == written(f).symbols
        ),
    },
    "tensors": {
        "a table of 4 × 2 numbers and a row of 6": lambda f: (
            (f.size("b"), f.size("c"), f.size("d")) == (4, 2, 6)
        ),
    },
    "einops": {
        "to pool is to split an axis and end one half": "the axis is split in two",
    },
    "matrix-product": {
        "twice the fast memory does not halve what moves": "Hong and Kung 1981, as 1/√M: by 1/√2",
    },
    "streamed-norm": {
        "read all features twice": "once for the norm and once for the map",
    },
}

NUMBER = re.compile(
    r"\d[\d,.]*\d|[2-9]|\b(twice|half|quarter|a third|thirds|times|doubles?|doubled|halves?|"
    r"billion|million|sixteen|eight)\b",
    re.IGNORECASE,
)
NO_NUMBER = re.compile(  # formulas, code, years, names of models, and words that count nothing
    r"\$[^$]*\$|`[^`]*`|et al\. \d+|[A-Z]\w*-[V\d][\w-]*|\(gpt-2\)|seq2seq|Llama \d|\d+x\d+B|"
    r"\d+B\b|W₂|\bb?float\d+|\btf32|\bE\dM\d|"
    r"Conv1d|double-click|(at|all) times?|many times|hundred times|times those|[Bb]ent twice|"
    r"used twice|comes twice|\btimes ones|[Aa] third map|of 2015"
)
