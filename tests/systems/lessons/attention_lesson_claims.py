"""Claims of the lessons on transformers, language models, learned attention and memory levels."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import comb

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ncd
from ncd.language.number_formats import Formats
from ncd.run.seeding import example_inputs
from ncd.systems.lessons.dependence import DependenceProbe
from ncd.systems.training.tasks import data, task
from ncd.systems.training.trained_weights import read_weights, shipped_file
from tests.systems.lessons.facts import Claim, Facts


def cache(f: Facts) -> int:
    """The bytes that a cache keeps of a position."""
    return ncd.cost(f.circuit.term, Formats(cached=f.entry.cached)).cache_bytes


def grows(f: Facts, knob: str) -> float:
    """How many times as large the question makes a size."""
    return f.then.settings[knob] / f.settings[knob]


def ones(weights: Tensor, axis: int) -> bool:
    """Whether weights are positive and sum to 1 along an axis."""
    total = weights.sum(axis)
    return bool((weights >= 0).all()) and torch.allclose(total, torch.ones_like(total))


def million(number: int) -> int:
    return round(number / 1e6)


def billion(number: int, digits: int = 1) -> float:
    return round(number / 1e9, digits)


def window(f: Facts, ahead: int) -> bool:
    """Whether a change in the middle reaches so many places behind it, as the lesson says."""
    (source,), (target,) = f.circuit.inputs, f.circuit.outputs
    reached = DependenceProbe(f.circuit).reach((source.id, "t"), (target.id, "t"))
    row = reached[f.size("t") // 2]
    first = f.size("t") // 2
    return [n for n, there in enumerate(row) if there] == list(range(first, first + ahead + 1))


def like_torch(f: Facts) -> bool:
    """Whether ``nn.MultiheadAttention`` gives the same numbers on the same weights."""
    own, (y, x) = ncd.compile(f.circuit.term), example_inputs(f.circuit.term)
    layer = nn.MultiheadAttention(f.size("m"), f.settings["h"], batch_first=True)
    parts = [own.get_submodule(name) for name in ("q", "k", "v")]
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        layer.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        layer.out_proj.weight.copy_(own.out.weight)
        layer.out_proj.bias.copy_(own.out.bias)
        return torch.allclose(layer(y[None], x[None], x[None])[0][0], own(y, x), atol=1e-6)


def permutes(f: Facts) -> bool:
    """Whether permuted positions give the same results, permuted."""
    own, (x,) = ncd.compile(f.circuit.term), example_inputs(f.circuit.term)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    return torch.allclose(own(x[order]), own(x)[order], atol=1e-6)


def bag_of_words(f: Facts) -> bool:
    """Whether the order of what is read counts, and no longer when the lit op gives zeros."""
    cell = next(cell for cell in f.circuit.cells if cell.id == f.query["select"])
    source = f.circuit.inputs[0].id
    found = []
    for cut in ((), {cell.outputs[0].id}):
        probe = DependenceProbe(f.circuit, cut=cut)
        turned = probe.run({source: probe.inputs[source].flip(0)})
        found.append(all(torch.allclose(turned[v.id], probe.base[v.id]) for v in f.circuit.outputs))
    return found == [False, True]


def active(f: Facts, *experts: str) -> int:
    """The parameters that work on a word: of the experts only those that are chosen."""
    every = f.count("parameters", *experts)
    return f.count("parameters") - every * (f.size("e") - f.size("c")) // f.size("e")


def replaced(f: Facts) -> bool:
    """Whether a memory corrected with strength 1 at a key of length 1 answers with the value."""
    assert f.ins("write") == ["h k v", "h k", "h v"]
    random = torch.Generator().manual_seed(0)
    state, value = torch.randn(8, 5, generator=random), torch.randn(5, generator=random)
    key = F.normalize(torch.randn(8, generator=random), dim=0)
    return torch.allclose(key @ (state + torch.outer(key, value - key @ state)), value, atol=1e-5)


def late_division(f: Facts) -> bool:
    """Whether a norm and a map are the map of raw features, divided at the end."""
    own, (x,) = ncd.compile(f.circuit.term), example_inputs(f.circuit.term)
    raw = F.linear(x * own.norm.weight, own.L.weight)
    divisor = (x.square().mean(-1, keepdim=True) + torch.finfo(x.dtype).eps).sqrt()
    return torch.allclose(raw / divisor, own(x), atol=1e-5)


def trained_score(f: Facts, *zero: str) -> float:
    """The share of right answers of the shipped weights, with some ops or blocks giving zeros."""
    own, file = task(f.entry.name), shipped_file(f.entry, f.settings)
    assert file is not None
    module = read_weights(ncd.compile(f.circuit.term), file)
    blocks = {fence.id: {v.id for v in fence.states[-1]} for fence in f.circuit.fences}
    ops = {cell.id: {v.id for v in cell.outputs} for cell in f.circuit.cells}
    off = set().union(*((blocks | ops)[id] for id in zero))
    found = data(own, f.settings, seed=0)
    with torch.no_grad():
        (scores,) = module.execute(
            (found.unseen[:64],),
            watch=lambda cell, given, made: tuple(
                torch.zeros_like(x) if v.id in off else x
                for v, x in zip(cell.outputs, made, strict=True)
            ),
        )
    return own.score(scores, found.answers[:64])


def lost(f: Facts) -> bool:
    """Whether the trained model answers well, and fails when what is lit gives zeros."""
    return trained_score(f) > 0.95 and trained_score(f, f.query["select"]) < 0.5


def half(f: Facts, label: str) -> Fraction:
    return Fraction(f.count("parameters", label), f.count("parameters"))


SMALL_EXPERTS = ("Param gate_proj", "Param up_proj", "Param down_proj")

LESSONS: Mapping[str, Mapping[str, Claim | str]] = {
    "decoder-block": {
        "Each layer attends twice: to its own text so far, and to the text that was read.": (
            lambda f: len(f.ops("Softmax")) == 2 * f.settings["n"]
        ),
    },
    "encoder-decoder": {
        "The paper's base model has 44 million parameters in its layers.": lambda f: (
            million(f.published("transformer-base").count("parameters")) == 44
        ),
        "Its parts live on: the encoder in BERT, the decoder in GPT, the whole in T5.": lambda f: (
            [len(Facts.of(name).ops("CausalMask")) for name in ("bert", "gpt-2", "t5")] == [0, 2, 2]
            and [len(Facts.of(name).ops("Softmax")) for name in ("bert", "gpt-2", "t5")]
            == [2, 2, 6]
        ),
    },
    "torch-multihead-attention": {
        "nn.MultiheadAttention of torch as a diagram: with the same weights both give the same "
        "numbers.": like_torch,
        "Two heads of three features in place of one head of six.": lambda f: (
            [f.settings[n] for n in "hk"] == [1, 6] and [f.then.settings[n] for n in "hk"] == [2, 3]
        ),
        "Not one more.": lambda f: f.grows("parameters") == 1,
        "torch shares embed_dim out among the heads, so more heads are narrower heads.": (
            lambda f: f.size("m") == f.settings["h"] * f.settings["k"] == f.at().size("m")
        ),
        "It sets those of padding to −∞, so their weights are 0, and each row still sums to 1.": (
            lambda f: (
                ones(f.value("Softmax"), 1) and not f.value("Softmax")[:, -1].any()
            )
        ),
    },
    "merged-qkv": {
        "One axis of 3·h·k features.": lambda f: (
            f.size("3hk") == 3 * f.settings["h"] * f.settings["k"] and f.lit == ["Linear qkv"]
        ),
        "The weights are kept, but the axis is read as (3k, h) in place of (h, 3k).": lambda f: (
            f.outs("Split") == ["t h c"] and f.then.outs("Split") == ["t c h"]
        ),
        "GPT-2 and many vision transformers store their weights so.": (
            "c_attn in OpenAI's GPT-2, and qkv of ViT in timm"
        ),
    },
    "pointwise-feed-forward": {
        "The other part of a transformer's layer: at each position the features are mixed, "
        "widened, cut off at 0 and mixed again.": lambda f: bool((f.value("relu") >= 0).all()),
        "There alone: the window is 1 wide.": lambda f: (
            f.count("parameters", "conv1") == f.size("d") * (f.size("m") + 1)
        ),
        "A convolution of width 1 is a linear map of the channels, the same one at every "
        "position.": lambda f: f.count("parameters") == f.at(conv=0).count("parameters"),
        "The text is twice as long.": lambda f: grows(f, "t") == 2,
        "Just as many: weights belong to features, not to positions.": lambda f: (
            f.grows("parameters") == 1
        ),
        "As linear maps it has the same numbers, and no wires cross.": lambda f: (
            len(f.ops("Linear")) == 2 and not f.ops("Einsum")
        ),
        "Every transformer has it after attention, with two thirds of a layer's weights.": (
            lambda f: (
                abs(
                    Facts.of("encoder-block")
                    .published("transformer-base", n=1)
                    .share("parameters", "linear1", "linear2")
                    * 3
                    - 2
                )
                < 0.01
            )
        ),
    },
    "positional-embedding": {
        "The text is twice as long, and each position has a row of its own in a table.": (
            lambda f: grows(f, "t") == 2 and f.outs("Map") == ["t m"]
        ),
        "Just as many: the rows are sines and cosines, worked out and not learned.": lambda f: (
            f.grows("parameters") == 1 and not f.count("parameters", "Map")
        ),
        "And with twice as many positions?": lambda f: grows(f, "t") == 2,
        "Each new position costs m numbers, and nothing can be read past the last row: GPT-2 ends "
        "at 1,024 positions.": lambda f: (
            f.count("parameters", "wpe") == f.size("t") * f.size("m")
            and f.lit == ["Param wpe"]
            and Facts.of("gpt-2").published("gpt-2-small").size("u") == 1024
        ),
        "Without positions a permuted text gives the same results, permuted: “dog bites man” is "
        "“man bites dog”.": lambda f: permutes(f) and not permutes(f.at()),
    },
    "grouped-queries": {
        "Here groups of q query heads share one head of them, so that less has to be kept.": (
            lambda f: cache(f) < cache(f.at(g=8, q=1))
        ),
        "16 query heads in place of 8.": lambda f: (
            f.size("g") * f.size("q") == 8 and f.then.size("g") * f.then.size("q") == 16
        ),
        "Now each of the 8 query heads gets keys and values of its own, as in multi-head "
        "attention.": lambda f: f.size("g") * f.size("q") == 8 == f.then.size("g"),
        "Four times as large, and every new word has to read all of it.": lambda f: (
            cache(f) == 4 * cache(f.at())
        ),
        "In Llama 2 70B 64 query heads share 8 of keys and values, so the cache is an eighth.": (
            lambda f: (
                [f.published("llama-2-70b").size(n) for n in "gq"] == [8, 8]
                and 8 * cache(f.published("llama-2-70b"))
                == cache(f.published("llama-2-70b", g=64, q=1))
            )
        ),
    },
    "rotary": {
        "A page is put before the text: it begins at position 50 in place of 0.": lambda f: (
            (f.settings["s"], f.answer) == (0, "all")
        ),
        "But the keys have turned by the same steps.": lambda f: torch.equal(
            f.value("Map", 0), f.value("Map", 1)
        ),
        "Not one number changes.": lambda f: torch.allclose(
            f.value("O"), f.at().value("O"), atol=1e-4
        ),
    },
    "latent-attention": {
        "Twice as many heads, each with keys and values of its own.": lambda f: grows(f, "h") == 2,
        "DeepSeek-V2 has 128 heads of 128 features.": lambda f: (
            [f.published("deepseek-v2").size(n) for n in "hk"] == [128, 128]
        ),
        "All their keys and values would take 131,072 bytes a word.": lambda f: (
            2 * 128 * 128 * 4 == 131_072
        ),
        "2,304 bytes: 576 numbers, where there would be 32,768.": lambda f: (
            cache(f.published("deepseek-v2")) == 2304 == 4 * 576 and 131_072 == 4 * 32_768
        ),
        "DeepSeek-V2 and V3 use it.": lambda f: (
            [preset.title for preset in f.entry.presets] == ["DeepSeek-V2", "DeepSeek-V3"]
        ),
    },
    "sliding-window": {
        "Each word looks at itself and at the w − 1 words before it.": lambda f: (
            int((f.value("Softmax")[-1, :, 0] > 0).sum()) == f.settings["w"]
        ),
        "One layer with a window of 4.": lambda f: (f.settings["n"], f.settings["w"]) == (1, 4),
        "Its own and those of the 3 words after it.": lambda f: window(f, 3),
        "Seven such layers, one after the other, each with the same window of 4.": lambda f: (
            (f.settings["n"], f.settings["w"]) == (7, 4)
        ),
        "All later results: each layer hands on what it saw, 3 places further.": lambda f: (
            window(f, 9) and f.settings["w"] - 1 == 3
        ),
        "Mistral 7B has windows of 4,096 in 32 layers, and Gemma 2 in every other layer.": (
            lambda f: (
                [f.published("mistral-7b").settings[n] for n in "wn"] == [4096, 32]
                and 2 * len(Facts.of("gemma").ops("window")) == Facts.of("gemma").settings["n"]
            )
        ),
    },
    "linear-attention": {
        "Twelve words have been read.": lambda f: f.size("t") == 12,
        "128, and as many after a million words: k × v numbers a head.": lambda f: (
            f.value("write").numel() == f.at(t=48).value("write").numel() == 128
            and f.outs("write") == ["h k v"]
        ),
        "The text is twice as long.": lambda f: grows(f, "t") == 2,
        "Softmax attention would then have four times the scores.": lambda f: (
            Facts.of("multi-head-attention", "y=24&x=24").value("scores").numel()
            == 4 * Facts.of("multi-head-attention", "y=12&x=12").value("scores").numel()
        ),
        "Twice the work: a step costs the same at every word.": lambda f: f.grows("flops") == 2,
    },
    "delta-rule": {
        "With a strength of 1 and keys of length 1 a new value replaces the old one.": replaced,
    },
    "lora": {
        "Its map W stays as it is, and beside it learn two thin maps, A and B, with only r "
        "features between them.": lambda f: (
            f.outs("A") == ["t r"] and f.ins("B") == ["t r"] and f.size("r") < f.size("m")
        ),
        "In GPT-2 medium the update of a map has rank 4, and the map 1,024 features on each "
        "side.": lambda f: (
            [f.published("gpt-2-medium").size(n) for n in "rmd"] == [4, 1024, 1024]
        ),
        "Which has more numbers?": lambda f: f.answer == "Pretrained",
        "W has 128 times as many: 1,048,576 beside 8,192.": lambda f: (
            f.published("gpt-2-medium").count("parameters", "W") == 1_048_576
            and f.published("gpt-2-medium").count("parameters", "A", "B") == 8192
            and 128 * 8192 == 1_048_576
            and f.lit == ["Linear A", "Linear B", "Map scale"]
        ),
    },
    "swiglu": {
        "A feed-forward with a gate: two maps read the same word.": lambda f: (
            f.ins("W") == f.ins("V") == ["t m"]
        ),
        "The third map costs numbers, so Llama 2 7B has 11,008 such features in place of "
        "16,384.": lambda f: (
            f.published("llama-2-7b").size("d") == 11_008
            and 4 * f.published("llama-2-7b").size("m") == 16_384
            and million(f.published("llama-2-7b").count("parameters"))
            == million(2 * 4096 * 16_384) + 1
        ),
    },
    "gpt-2": {
        "GPT-2 small has 12 layers of attention and wide feed-forwards.": lambda f: (
            f.published("gpt-2-small").settings["n"] == 12
        ),
        "Where are the most parameters?": lambda f: f.answer == "Param wte",
        "In the table of words: 50,257 rows of 768 numbers, 31% of all.": lambda f: (
            f.lit == ["Param wte"]
            and f.published("gpt-2-small").count("parameters", "wte") == 50_257 * 768
            and round(100 * f.published("gpt-2-small").share("parameters", "wte")) == 31
        ),
        "The plan of all GPTs: GPT-2 XL has 12.5 times as many parameters and no new part.": (
            lambda f: (
                round(
                    f.published("gpt-2-xl").count("parameters")
                    / f.published("gpt-2-small").count("parameters"),
                    1,
                )
                == 12.5
            )
        ),
        "It reads 1,024 positions, as its second table ends there.": lambda f: (
            f.published("gpt-2-xl").size("u") == 1024
        ),
    },
    "bert": {
        "BERT base has 109 million parameters.": lambda f: (
            million(f.published("bert-base").count("parameters")) == 109
        ),
    },
    "t5": {
        "Each of 4 heads learns a number for the distance of two words.": lambda f: (
            f.size("h") == 4 and f.outs("relative_attention_bias") == ["z h"]
        ),
        "32 buckets for each of 4 heads.": lambda f: (f.size("z"), f.size("h")) == (32, 4),
        "On all that it did, yet the encoder now reads a bag of words: permute what is read, and "
        "nothing changes.": bag_of_words,
        "T5 base has 223 million parameters.": lambda f: (
            million(f.published("t5-base").count("parameters")) == 223
        ),
    },
    "gemma": {
        "The first layer has a window of 4.": lambda f: (
            (f.settings["n"], f.settings["w"], len(f.ops("window"))) == (1, 4, 1)
        ),
        "Its own and those of the 3 words after it.": lambda f: window(f, 3),
        "Such a layer never keeps more than w keys and values, however long the text.": lambda f: (
            int((f.value("Softmax")[-1, :, 0, 0] > 0).sum()) == f.settings["w"]
        ),
        "Gemma 2 2B has 23% of its 2.6 billion parameters in one table of 256,000 words.": (
            lambda f: (
                billion(f.published("gemma-2-2b").count("parameters")) == 2.6
                and round(100 * f.published("gemma-2-2b").share("parameters", "embed_tokens")) == 23
                and f.published("gemma-2-2b").size("v") == 256_000
            )
        ),
    },
    "mixtral": {
        "Eight feed-forwards stand ready in every layer, and a small router sends each word to two "
        "of them: much is known, and little is computed.": lambda f: (
            (f.size("e"), f.size("c")) == (8, 2)
        ),
        "16 experts in place of 8.": lambda f: (f.settings["e"], f.then.settings["e"]) == (8, 16),
        "Hardly more: still two of them compute, and only the router has more to score.": (
            lambda f: (
                1 < f.grows("flops") < 1.01
                and f.size("c") == 2
                and f.count("flops") - f.at().count("flops")
                == f.count("flops", "gate") - f.at().count("flops", "gate")
            )
        ),
        "The parameters are 1.87 times as many.": lambda f: (
            round(float(f.grows("parameters")), 2) == 1.87
        ),
        "It is called 8x7B.": lambda f: f.entry.preset("mixtral-8x7b").title == "Mixtral 8x7B",
        "47 billion, not 8 · 7: the experts are eightfold, attention is not.": lambda f: (
            billion(f.published("mixtral-8x7b").count("parameters"), 0) == 47
            and f.outs("w1") == ["e m d"]
        ),
        "A word passes 12.9 billion: memory is paid for all, arithmetic for two.": lambda f: (
            billion(active(f.published("mixtral-8x7b"), "w1", "w2", "w3")) == 12.9
        ),
    },
    "deepseek": {
        "Twice as many heads.": lambda f: grows(f, "h") == 2,
        "In DeepSeek-V2-Lite 2.7 billion parameters work on a word.": lambda f: (
            billion(active(f.published("deepseek-v2-lite"), *SMALL_EXPERTS)) == 2.7
        ),
        "16 billion: 6 of 64 small experts a layer are chosen.": lambda f: (
            billion(f.published("deepseek-v2-lite").count("parameters"), 0) == 16
            and [f.published("deepseek-v2-lite").size(n) for n in "ce"] == [6, 64]
        ),
        "So many small ones can be combined in more ways than a few large ones.": lambda f: (
            comb(64, 6) > comb(8, 2)
        ),
        "V3 and R1 are built so.": "DeepSeek-AI 2024 and 2025, DeepSeek-V3 and DeepSeek-R1",
    },
    "reversal": {
        "Place 1 has to say what stands at place 12.": lambda f: f.size("t") == 12,
        "All symbols, as before, and still it fails: no query can ask for “the last place” if "
        "places have no vectors.": lost,
    },
    "recall": {
        "On all that they did, and yet they are lost.": lost,
    },
    "induction": {
        "On all that they did, and yet it fails: the first layer tells each place which letter "
        "stands before it, and that is what the second looks for.": lost,
        "One layer in place of two.": lambda f: (
            (f.settings["n"], f.then.settings["n"]) == (2, 1)
        ),
        "More than half of them are left, and fewer than half of the answers: one step cannot find "
        "a place and look beside it.": lambda f: (
            f.grows("parameters") > Fraction(1, 2) and trained_score(f) < 0.5
        ),
    },
    "brackets": {
        "Brackets of three kinds are nested, and at each place the network says which closing one "
        "would fit.": lambda f: f.size("v") == 2 * 3,
        "On all that they did, and 9 of 10 stay right.": lambda f: (
            round(10 * trained_score(f, "f1")) == 9 and trained_score(f) > 0.99
        ),
        "With no attention at all 3 of 4 would: often the bracket just opened is the one to "
        "close.": lambda f: round(4 * trained_score(f, "f1", "f4")) == 3,
    },
    "proofreader": {
        "A softmax can look for one kind of word, so there are 4 heads, each with a kind of its "
        "own.": lambda f: f.size("h") == 4,
    },
    "matrix-product": {
        "All three sides are doubled.": lambda f: [grows(f, n) for n in "abc"] == [2, 2, 2],
        "8 times the work, on 4 times the numbers: each number is used twice as often.": lambda f: (
            f.grows("flops") == 8
            and f.value("product").numel() == 4 * f.at().value("product").numel()
        ),
    },
    "flash-attention": {
        "Flash attention gives the same result, and never stores the scores in slow memory.": (
            "Dao et al. 2022, FlashAttention, theorem 1; the equation is checked by its page"
        ),
        "64 queries and 64 keys of 16 features.": lambda f: (
            [f.size(n) for n in "yxk"] == [64, 64, 16]
        ),
        "Which array is larger: the scores or the result?": lambda f: f.answer == "scores",
        "The scores, 4 times: y · x numbers beside y · k.": lambda f: (
            f.value("scores").numel() == 4 * f.value("out").numel()
            and (f.outs("scores"), f.outs("out")) == (["y x"], ["y k"])
            and f.lit == ["Einsum scores"]
        ),
        "At 4,096 positions they are 256 times as large.": lambda f: 4096 // f.size("k") == 256,
    },
    "fused-mlp": {
        "The wide layer between two linear maps is made tile by tile, used at once, and never "
        "stored: a GPU waits for memory, and hardly for arithmetic.": lambda f: (
            len(f.ops("Linear")) == 2 and f.size("f") > f.size("m")
        ),
        "Which array is larger: what leaves the first map, or the result?": lambda f: (
            f.answer == "up"
        ),
        "The hidden one, 4 times.": lambda f: (
            f.size("f") == 4 * f.size("m") and f.lit == ["Linear up"]
        ),
    },
    "streamed-norm": {
        "So it seems to take two passes over them: one to measure, one to divide.": (
            "once for the norm and once for the map"
        ),
        "And as a linear map only adds up, the division can come last: raw features and their "
        "squares are summed in the same pass.": late_division,
    },
}  # fmt: skip

# The right answer of each question of these lessons: the line after it was written for that one.
ANSWERS: Mapping[str, tuple[str, ...]] = {
    "decoder-block": ("the same place and all later ones", "on the input t m only"),
    "encoder-decoder": ("all of them", "on the input t m only"),
    "torch-multihead-attention": ("just as many", "none"),
    "merged-qkv": ("t e", "all"),
    "pointwise-feed-forward": ("the same place only", "just as many"),
    "positional-embedding": ("just as many", "1.16 times as many"),
    "grouped-queries": ("just as many", "4 times as many"),
    "rotary": ("all", "none"),
    "latent-attention": ("just as many", "2.3 thousand"),
    "sliding-window": ("the same place and some near it", "the same place and all later ones"),
    "linear-attention": ("128", "twice as many"),
    "delta-rule": ("on all that it did before", "on nothing: it is the same for every input"),
    "lora": ("Pretrained", "on all that it did before"),
    "swiglu": ("on nothing: it is the same for every input", "the same place only"),
    "gpt-2": ("Param wte", "the same place and all later ones"),
    "bert": ("all of them", "m"),
    "t5": ("128", "on all that it did before"),
    "gemma": ("the same place and some near it", "the same place and all later ones"),
    "mixtral": ("slightly more", "47 billion"),
    "deepseek": ("just as many", "16 billion"),
    "reversal": ("each place on its own place of the input only", "on all that it did before"),
    "recall": ("on all that it did before", "the same place and all later ones"),
    "induction": ("on all that it did before", "0.612 times as many"),
    "brackets": ("on all that it did before", "the same place and all later ones"),
    "proofreader": ("each place on its own place of the input only", "all of them"),
    "matrix-product": ("8 times as many", "the same place only"),
    "flash-attention": ("scores", "the same place only"),
    "fused-mlp": ("up", "the same place only"),
    "streamed-norm": ("all of them", "the same place only"),
}
