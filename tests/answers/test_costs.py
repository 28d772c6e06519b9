"""What a text takes is said in numbers that torch and the papers have."""

from __future__ import annotations

import json

import pytest
import torch

import ncd
from ncd.answers.answer_sentences import GIGA, _fits, memory_sentences
from ncd.answers.model_memory import ModelMemory, model_memory
from ncd.read.configs.config_reader import read_config
from tests.read.configs.decoder_models import DECODERS, decoder
from tests.read.configs.published_counts import COUNTS
from tests.read.configs.test_published_sizes import LLAMA, SIZES

NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.Linear(8, 10)
    def forward(self, x):
        return self.fc(self.conv(x).mean((2, 3)))
Net()(torch.randn(2, 3, 8, 8))"""
WORDS = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(50, 8), nn.Linear(8, 50, bias=False)
    def forward(self, x):
        return {}
Net()(torch.randint(0, 50, (2, 6)))"""


def test_a_multiply_add_is_two_operations() -> None:
    pairs = 2 * 64 * 8 * 27 + 2 * 8 * 10
    said = f"306 parameters · {2 * pairs / 1000:.1f} kFLOP ({pairs / 1000:.1f} k multiply–adds)"
    assert ncd.ask(NET).costs == (said,)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ("self.head(self.wte(x))", "800 parameters · 9.6 kFLOP (4.8 k multiply–adds) · "
         "head and wte are not tied: 400 each"),
        ("self.wte(x) @ self.wte.weight.T", "400 parameters · 9.6 kFLOP (4.8 k multiply–adds) · "
         "wte is also the map to the scores, counted once"),
    ],
)  # fmt: skip
def test_tied_words_are_counted_once(scores: str, said: str) -> None:
    assert ncd.ask(WORDS.format(scores)).costs == (said,)


BOXED = """from other import Block
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.fc = nn.ModuleList(Block(8) for _ in range({})), nn.Linear(8, 10)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.fc(x)
Net()(torch.randn(2, 8))"""


@pytest.mark.parametrize(("count", "words"), [(1, "the box"), (2, "the boxes")])
def test_what_is_in_boxes_is_not_counted(count: int, words: str) -> None:
    said = f"90 parameters · 320 FLOP (160 multiply–adds) · without what is in {words}"
    assert ncd.ask(BOXED.format(count)).costs == (said,)


def test_a_text_that_fails_has_no_costs() -> None:
    failing = ncd.ask(NET.replace("nn.Linear(8, 10)", "nn.Linear(9, 10)"))
    assert failing.findings[0].kind == "failure" and failing.costs == ()


def _memory(config: dict[str, object]) -> ModelMemory:
    model = read_config(json.dumps(config))
    return model_memory(ncd.elaborate(model.system(**model.sizes)), model.cached)


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("Llama 3 8B", 128 * 1024),
        ("Llama 3 70B", 320 * 1024),
        ("Mistral 7B", 128 * 1024),
        ("GPT-2", 36 * 1024),
        ("DeepSeek-V2-Lite", 27 * 576 * 2),  # 512 compressed features and 64 that turn
    ],
)
def test_a_token_keeps_what_is_published(name: str, token: int) -> None:
    assert _memory(dict(SIZES[name][0])).cache(1) == token


@pytest.mark.parametrize("name", ["gemma2", "qwen3_moe", "glm4"])
def test_weights_and_cache_are_the_bytes_of_the_library(name: str) -> None:
    config, theirs = decoder(name)
    found = _memory(json.loads(config.to_json_string(use_diff=False)))
    weights = theirs.to(torch.bfloat16).parameters()
    assert found.weights["bfloat16"] == sum(weight.nbytes for weight in weights)
    kept = theirs(torch.arange(7)[None], use_cache=True).past_key_values
    near = DECODERS[name].get("sliding_window")  # of every second layer
    held = [min(7, near) if near and i % 2 == 0 else 7 for i in range(len(kept.layers))]
    arrays = [(layer.keys, layer.values) for layer in kept.layers]
    each = [sum(x.nbytes // x.shape[-2] for x in pair) for pair in arrays]
    assert found.cache(7) == sum(n * tokens for n, tokens in zip(each, held, strict=True))


def test_what_fits_fits_and_one_more_does_not() -> None:
    found = _memory(LLAMA)
    memory = 24 * 10**9
    for weights in ("bfloat16", "int8", "int4"):
        tokens = found.longest(memory, 4, weights)
        assert found.total(tokens, 4, weights) <= memory < found.total(tokens + 1, 4, weights)
        texts = found.most_texts(memory, 512, weights)
        assert found.total(512, texts, weights) <= memory < found.total(512, texts + 1, weights)
    assert found.longest(10**9) == found.most_texts(10**9, 1) == 0


def test_a_configuration_says_what_it_keeps_and_what_fits() -> None:
    assert ncd.ask(json.dumps(LLAMA)).costs[1:] == (
        "A token keeps 131 kB in a cache of 16 bits (32 layers × 2 × 8 heads × 128), "
        "8,192 tokens 1.07 GB.",
        "Its weights take 16.1 GB at 16 bits: in 24 GB fit 36,572 tokens; in 80 GB fit 294,532 "
        "tokens.",
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "gpt-oss 20B",  # every second of 24 layers sees 128 tokens
            "A token keeps 49.2 kB in a cache of 16 bits (24 layers × 2 × 8 heads × 64), "
            "8,192 tokens 204 MB.",
        ),
        (
            "BART base",
            "A token that is written keeps 18.4 kB in a cache of 16 bits (6 layers × 1,536 "
            "numbers), 8,192 tokens 151 MB; one that is read keeps as much.",
        ),
        (  # 28 layers with 8,192 × (16 numbers and the 3 positions before) in 2 bytes each
            "Jamba",
            "Its layers with a state keep 8.72 MB of a text at 16 bits, however long it is.",
        ),
    ],
)
def test_windows_states_and_both_texts_are_counted(name: str, said: str) -> None:
    words = memory_sentences(read_config(json.dumps(COUNTS[name][0])))
    assert said == words[1]
    assert words[0].count("are not tied") == (name != "BART base")  # no table of experts is words


def test_a_model_of_states_alone_says_what_a_text_keeps() -> None:
    assert ncd.ask('{"model_type": "mamba"}').costs[1:] == (
        "Its layers with a state keep 1.87 MB of a text at 16 bits, however long it is.",
        "Its weights take 319 MB at 16 bits, and 81.2 MB at 4.",
    )


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (10, "10 GB at 16 bits: in 24 GB fit 14 tokens; in 80 GB fit 70 tokens."),
        (30, "30 GB at 16 bits: in 24 GB fit 9 tokens with weights in int8; "
         "in 80 GB fit 50 tokens."),
        (60, "60 GB at 16 bits: in 24 GB fit 9 tokens with weights in int4; "
         "in 80 GB fit 20 tokens."),
        (999, "999 GB at 16 bits: 24 GB are too few, even with weights in int4; "
         "80 GB are too few, even with weights in int4."),
    ],
)  # fmt: skip
def test_the_longest_text_that_fits_beside_the_weights(weights: int, said: str) -> None:
    """A token takes a billion bytes, of cache and arrays together."""
    sizes = {name: weights * GIGA * bits // 16 for name, bits in FORMATS.items()}
    assert _fits(ModelMemory(sizes, {0: GIGA // 4}, GIGA // 4)) == f"Its weights take {said}"
    without = ModelMemory(sizes, {}, 0)
    assert _fits(without).startswith(f"Its weights take {weights} GB at 16 bits, and ")


FORMATS = {"bfloat16": 16, "int8": 8, "int4": 4}
