"""The cached pass equals the whole pass, position by position; what is not causal is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ncd
from ncd import (
    Block,
    LookAheadError,
    MismatchError,
    NCDError,
    Repeat,
    SizeError,
    Term,
    UnknownNameError,
    catalogue,
    decode,
)
from tests.rewrite.causal_terms import CAUSAL, LENGTH, NOT_CAUSAL

ALONG_T = """
    decoder-block decoder-only-block encoder-decoder grouped-queries latent-attention sliding-window
    linear-attention delta-rule gpt-2 llama gemma mixtral deepseek t5 mamba lstm gru recall
    induction brackets lora swiglu mixture-of-experts pointwise-feed-forward layer-norm
"""
ALONG_Y = """
    scaled-dot-product-attention multi-head-attention torch-multihead-attention flash-attention
"""
QUERIES = decode(catalogue["grouped-queries"].build())
CAUSAL_SYSTEMS = dict.fromkeys(ALONG_T.split(), "t") | dict.fromkeys(ALONG_Y.split(), "y")
NOT_CAUSAL_SYSTEMS = """
    encoder-block merged-qkv positional-embedding rotary bert reversal proofreader
"""


def run_both(term: Term, axis: str, keep: str, prompt: int) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the outputs of the whole pass and of the cached one, in float64."""
    found = decode(term, axis, keep)
    module = ncd.compile(term).double().eval()
    inputs = [x.double() if x.is_floating_point() else x for x in ncd.example_inputs(term)]
    with torch.no_grad():
        whole = module(*inputs)
    made = found.run(inputs, module.state_dict(), min(prompt, found.length))
    return [*whole] if isinstance(whole, tuple) else [whole], [*made]


def check(term: Term, axis: str, keep: str, prompt: int) -> None:
    for whole, made in zip(*run_both(term, axis, keep, prompt), strict=True):
        torch.testing.assert_close(made, whole, atol=1e-10, rtol=1e-10, equal_nan=True)


@pytest.mark.parametrize("keep", ["fast", "small"])
@pytest.mark.parametrize("name", CAUSAL_SYSTEMS)
def test_a_causal_system_is_run_one_position_after_the_other(name: str, keep: str) -> None:
    check(catalogue[name].build(), CAUSAL_SYSTEMS[name], keep, 3)


@pytest.mark.parametrize("sizes", [{"w": 1}, {"t": 1}, {"t": 2}, {"w": 12, "t": 12}])
def test_windows_and_sequences_at_their_least(sizes: dict[str, int]) -> None:
    term = catalogue["sliding-window"].build(**sizes)
    check(term, "t", "fast", 1)
    found = decode(term)
    assert found.placement.flops(found.length) == ncd.cost(found.step).flops


@pytest.mark.parametrize("prompt", [1, 2, LENGTH - 1, LENGTH])
@pytest.mark.parametrize("keep", ["fast", "small"])
@pytest.mark.parametrize("name", CAUSAL)
def test_a_hard_term_that_is_causal(name: str, keep: str, prompt: int) -> None:
    check(CAUSAL[name], "t", keep, prompt)


@pytest.mark.parametrize("name", NOT_CAUSAL)
def test_a_term_that_is_not_causal_is_refused(name: str) -> None:
    term, message = NOT_CAUSAL[name]
    with pytest.raises(LookAheadError) as refusal:
        decode(term, "t")
    assert str(refusal.value).startswith(f"{message}. Try a mask so that no position sees later")
    units = {unit.id: unit for unit in ncd.elaborate(term).units}
    unit = units[refusal.value.op_id]
    assert refusal.value.wire in {value.id for value in (*unit.inputs, *unit.outputs)}


@pytest.mark.parametrize("name", NOT_CAUSAL_SYSTEMS.split())
def test_a_system_that_is_not_causal_is_refused(name: str) -> None:
    with pytest.raises(LookAheadError, match="sees place"):
        decode(catalogue[name].build(), "t")


def blocks_of(term: Term) -> list[Term]:
    """The blocks and repetitions of a term, of a repetition those of its first layer."""
    own = [term] if isinstance(term, Block | Repeat) else []
    inner = term.children[:1] if isinstance(term, Repeat) else term.children
    return [*own, *(block for part in inner for block in blocks_of(part))]


@pytest.mark.parametrize(
    ("name", "preset"), [("llama", "llama-3-8b"), ("gpt-2", "gpt-2-xl"), ("mixtral", "")]
)
def test_both_terms_have_the_blocks_and_the_equal_layers_of_the_system(
    name: str, preset: str
) -> None:
    entry = catalogue[name]
    sizes = {**entry.preset(preset).knobs, "t": 16} if preset else {}
    term = entry.build(**sizes)
    found = decode(term)
    titles = [getattr(block, "title", "") for block in blocks_of(term)]
    for one in (found.step, found.prefill):
        own = blocks_of(one)
        (layers,) = (block for block in own if isinstance(block, Repeat))
        assert len({*layers.bodies}) == 1 and len(layers.bodies) == sizes.get("n", 2)
        assert [getattr(block, "title", "") for block in own] == titles
        paths = {cell.path for cell in ncd.elaborate(term).cells if cell.initial_values}
        assert {cell.path for cell in ncd.elaborate(one).cells if cell.initial_values} == paths
    assert all(cache.layers == sizes.get("n", 2) for cache in found.caches)
    assert all(cache.array[0].size == cache.layers for cache in found.caches)


def test_the_axis_of_layers_has_a_name_that_no_other_axis_has() -> None:
    found = decode(catalogue["llama"].build())
    kept = [f"layers.self_attn.{name}_proj ({array})" for name in "kv" for array in ("l x g k",)]
    assert [f"{cache.name} ({cache.array})" for cache in found.caches] == kept
    assert repr(found) == f"<CachedPass: t#v -> t v along t; keeps {', '.join(kept)}>"
    layer = Repeat((ncd.Id("t:6 l:3") >> ncd.Linear("l -> l", "A") >> ncd.Cumulative("t"),) * 2)
    (cache,) = decode(layer).caches
    assert cache.array[0].name == "l2"


def test_layers_that_keep_different_arrays_are_written_one_by_one() -> None:
    """The first layer works its keys out again from the words, the others keep their inputs."""
    found = decode(catalogue["llama"].build(n=3), keep="small")
    (layers,) = (block for block in blocks_of(found.step) if isinstance(block, Repeat))
    assert len(layers.bodies) == 3 and len({*layers.bodies}) > 1
    check(catalogue["llama"].build(n=3), "t", "small", 2)


def test_what_is_kept_of_published_models() -> None:
    """Llama 3 8B keeps 128 KiB a token in bfloat16, and latent attention 1,152 bytes a layer."""
    llama = catalogue["llama"]
    found = decode(llama.build(**{**llama.preset("llama-3-8b").knobs, "t": 16}))
    assert found.placements[0].bytes_per_position("bfloat16") == 131_072
    deepseek = catalogue["deepseek"]
    sizes = {**deepseek.preset("deepseek-v2-lite").knobs, "t": 16}
    small = decode(deepseek.build(**sizes), keep=["kv_a_proj", "k_rope"])
    assert small.placement.bytes_per_position("bfloat16") == 1152 * 27


@pytest.mark.parametrize("name", ["gpt-2", "llama", "gemma", "latent-attention", "t5", "mamba"])
def test_the_operations_of_a_position_are_those_of_the_step(name: str) -> None:
    found = decode(catalogue[name].build())
    assert found.placement.flops(found.length) == ncd.cost(found.step).flops


def test_a_placement_may_be_chosen_by_names() -> None:
    term = catalogue["latent-attention"].build()
    found = decode(term, keep=["DKV", "KR"])
    assert [(cache.name, cache.numbers) for cache in found.caches] == [("DKV", 16), ("KR", 8)]
    with pytest.raises(MismatchError) as refusal:
        decode(term, keep=["DKV"])
    wanted = "decode: the others cannot be computed from DKV alone. Try KR as well."
    assert str(refusal.value) == wanted
    with pytest.raises(UnknownNameError, match="there is no array to keep 'K'"):
        decode(term, keep=["K"])


def test_the_longest_context_fits_beside_the_weights() -> None:
    found = decode(catalogue["grouped-queries"].build())
    (placement,) = found.placements
    longest = placement.longest_context(100_000)
    assert longest is not None
    assert 2 * (placement.parameters + placement.count(longest)) <= 100_000
    assert 2 * (placement.parameters + placement.count(longest + 1)) > 100_000
    assert placement.longest_context(10) == 0
    state = decode(catalogue["lstm"].build()).placements[0]
    assert state.longest_context(100_000) is None


def test_little_memory_to_move_makes_the_small_placement_the_best() -> None:
    found = decode(catalogue["latent-attention"].build())
    fast, small = found.placements
    assert found.best(1, intensity=1e-3) == fast
    assert found.best(10**6, intensity=1e6) == small


def test_a_prompt_that_does_not_fit() -> None:
    term = catalogue["grouped-queries"].build(t=6)
    with pytest.raises(SizeError) as refusal:
        decode(term, prompt=7)
    assert str(refusal.value) == ("decode: prefill takes 1 to 6 positions, not 7. Try prompt = 1.")


def test_the_bytes_of_a_context_are_those_of_its_numbers() -> None:
    """Two heads of keys and two of values of 16 numbers each, in two bytes a number."""
    (placement,) = decode(catalogue["grouped-queries"].build()).placements
    assert placement.numbers == 64 and placement.count(3) == 192
    assert (placement.bytes_per_position(), placement.bytes(3)) == (128, 384)
    assert (placement.bytes(3, "float32"), placement.bytes(3, "int8")) == (768, 192)
    moved = placement.weights + 3 * 64 + 64  # all that is kept, and what is added
    assert placement.bytes_moved(3) == 2 * moved and placement.bytes_moved(3, "int8") == moved


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: decode(ncd.Id("t:2x3 c:2") >> ncd.Elementwise("relu"), "t"),
            "decode: the axis t is a group of dimensions, which has no single order. Try one "
            "dimension.",
        ),
        (
            lambda: QUERIES.run(ncd.example_inputs(QUERIES.term), {}, 3),
            "decode: the weights lack Q.weight. Try weights=ncd.compile(term).state_dict().",
        ),
        (
            lambda: QUERIES.placement.bytes(3, "float99"),
            "decode: there is no format 'float99'. Try float32.",
        ),
        (
            lambda: decode(QUERIES.term, keep="slow"),  # type: ignore[arg-type]
            'decode: keep is \'slow\'. Try "fast", "small", or names of layers.',
        ),
        (
            lambda: decode(QUERIES.term, keep=3),  # type: ignore[arg-type]
            'decode: keep is 3, but it is "fast", "small" or several names. Try keep=[\'k_proj\'].',
        ),
        (
            lambda: decode(QUERIES.term, prompt=0),
            "decode: prefill takes 1 to 12 positions, not 0. Try prompt = 1.",
        ),
    ],
)
def test_what_is_not_decoded_says_why(work: Callable[[], object], message: str) -> None:
    with pytest.raises(NCDError) as refusal:
        work()
    assert str(refusal.value) == message


def test_an_axis_that_no_input_has() -> None:
    with pytest.raises(UnknownNameError, match="no input has an axis q"):
        decode(catalogue["gpt-2"].build(), "q")
