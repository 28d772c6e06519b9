"""The einops page's systems against einops itself: the document's lines, and its small LeNet."""

import einops
import pytest
import torch
from einops.layers.torch import Rearrange
from torch import Tensor, nn

import ncd
from ncd.errors import SizeError
from ncd.systems.tensors.einops_patterns import CALLS, LONGEST, TEXTS, CallError, read
from ncd.systems.tensors.einops_patterns import term as term_of
from tests.systems.retyped import given, in_order, layers, same

SIZES = {"b": 4, "h": 6, "w": 8, "c": 3}
NAMES = {"rearrange": einops.rearrange, "reduce": einops.reduce, "repeat": einops.repeat}


def by_hand(text: str, tensor: Tensor) -> Tensor:
    """A line as Python runs it, on whichever of its arrays this is."""
    names = dict.fromkeys(("ims", "x", "y"), tensor)
    result: Tensor = eval(text, {**NAMES, **names})
    return result


@pytest.mark.parametrize("number", range(len(TEXTS)), ids=CALLS)
def test_every_line_of_the_document(number: int) -> None:
    term = ncd.catalogue["einops"].build(pattern=number, **SIZES)
    (tensor,) = ncd.example_inputs(term, seed=number)
    ways = (lambda x: by_hand(TEXTS[number], x), ncd.compile(term))
    found = []
    for way in ways:
        own = tensor.clone().requires_grad_()
        result = way(own)
        slope = torch.linspace(-1, 1, max(1, result.numel())).reshape(result.shape)
        found.append((result, *torch.autograd.grad((result * slope).sum(), own)))
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('rearrange(x, "b 1 h w -> w b h")', "w b h"),
        ('rearrange(x, "b () h w -> () (h b) 1 w")', "one_2 h·b one_3 w"),
        ('rearrange(ims, "b ... c -> c ... b")', "c rest rest b"),
        ('rearrange(ims, "(b b1) ... -> b (b1 ...)", b1=2)', "b b1·rest·rest·rest"),
        ('reduce(ims, "b (h 2) (w 2) c -> w h b", "min")', "w h b"),
        ('repeat(ims[0], "h w c -> (2 h) 3 (w 2)c")', "2·h n3 w·2 c"),
        ('reduce(rearrange(ims, "b h w c -> (w b) (h c)"), "(a b) c -> b", "sum", a=8)', "b"),
    ],
)
def test_lines_with_numbers_ellipses_and_axes_of_one(text: str, names: str) -> None:
    term = term_of(text, {**SIZES, "c": 1})
    assert " ".join(axis.display_name for axis in term.cod[0]) == names
    (tensor,) = ncd.example_inputs(term)
    torch.testing.assert_close(ncd.compile(term)(tensor), by_hand(text, tensor))


@pytest.mark.parametrize("count", [300, 301])
def test_a_line_has_three_hundred_letters(count: int) -> None:
    text = f'rearrange(ims, "b h w c -> c{" " * (count - 30)}")'
    assert len(text) == count
    if count == LONGEST:
        assert read(text, ["ims"]).calls[0].pattern.startswith("b h w c -> c ")
    else:
        with pytest.raises(CallError) as error:
            read(text, ["ims"])
        assert error.value.spans == ((300, 301),)


def test_depth_to_space_undoes_space_to_depth() -> None:
    there, back = (
        ncd.compile(ncd.catalogue["einops"].build(pattern=[*CALLS].index(name), **SIZES))
        for name in ("space-to-depth", "depth-to-space")
    )
    x = torch.randn(4, 3, 6, 8)
    assert torch.equal(back(there(x)), x)


@pytest.mark.parametrize(
    ("text", "fact", "place"),
    [
        ("", "it is not one line with one value", ""),
        ("ims; x", "it is not one line with one value", "ims; x"),
        ("del ims", "it is not one line with one value", "del ims"),
        ("ims", "nothing is done with it", "ims"),
        ("rearrange(ims)", "rearrange takes an array and a pattern", "rearrange(ims)"),
        ("rearrange(ims, b)", "the pattern is a text in quotes", "b"),
        ('sort(ims, "a -> a")', "there is no such function here", "sort"),
        ('rearrange(üb, "a -> a")', "there is no such array here", "üb"),
        ('rearrange(ims[1], "a -> a")', "of all parts there is only ims[0]", "ims[1]"),
        ('reduce(ims, "a ->", "var")', "it is none of the reductions here", '"var"'),
        ('rearrange(x[0], "a -> a")', "of all parts there is only ims[0]", "x[0]"),
        ('rearrange(ims[False], "a -> a")', "of all parts there is only ims[0]", "ims[False]"),
        (
            'repeat(ims, "a -> a n", n=0)',
            "the length of n is a whole number from 1 to 100,000",
            "0",
        ),
        (
            'repeat(ims, "a -> a n", n=True)',
            "the length of n is a whole number from 1 to 100,000",
            "True",
        ),
        ('rearrange(ims, "a -> a", **{})', "lengths are given one by one", "{}"),
        (
            'repeat(ims, "a -> a n", n=10**9)',
            "the length of n is a whole number from 1 to 100,000",
            "10**9",
        ),
        ("a" * 999, f"it has 999 letters, and {LONGEST} are read", "a" * 699),
        ('__import__("os")', "there is no such function here", "__import__"),
        ("rearrange(ims, 'a -> a'", "Python cannot read it: '(' was never closed", "("),
        ("(" * 299, "Python cannot read it: too many nested parentheses", "("),
    ],
)
def test_what_is_no_call_of_einops_is_refused_at_its_place(
    text: str, fact: str, place: str
) -> None:
    with pytest.raises(CallError) as error:
        read(text, ("ims", "x", "y"))
    assert error.value.fact == fact
    assert [text[slice(*span)] for span in error.value.spans] == [place]


def test_calls_stand_in_each_other_only_so_deep() -> None:
    text = "ims"
    for _ in range(4):
        text = f'rearrange({text}, "b h w c -> b h w c")'
    assert len(read(text, ["ims"]).calls) == 4
    with pytest.raises(CallError, match="more than 4 calls stand in each other"):
        read(f'rearrange({text}, "b h w c -> b h w c")', ["ims"])


def test_names_of_one_call_are_not_those_of_another() -> None:
    """An h that was a w before is shown as h, and is an axis of its own."""
    term = term_of('rearrange(rearrange(ims[0], "h w c -> w h c"), "h w c -> c (h w)")', SIZES)
    assert [axis.display_name for axis in term.cod[0]] == ["c", "h·w"]
    arrays = [value.array for value in ncd.elaborate(term).values.values()]
    sizes = {(axis.name, axis.size) for array in arrays for axis in array}
    assert len(sizes) == len({name for name, _ in sizes})


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"x": 16, "c": 1, "d": 4},
        {"x": 21, "e": 5},
        {"w": 3, "s": 2, "p": 3},
        {"w": 7, "p": 1, "x": 29},
    ],
    ids=str,
)
def test_lenet(sizes: dict[str, int]) -> None:
    """The document's Sequential, with the softmax that its loss would take behind it."""
    n = ncd.catalogue["lenet"].settings(sizes)
    window = {"kernel_size": n["w"], "stride": n["s"], "padding": n["p"]}
    side = n["x"]
    for _ in range(2):
        side = ((side + 2 * n["p"] - n["w"]) // n["s"] + 1) // 2
    hand = nn.Sequential(
        nn.Conv2d(n["c"], n["d"], **window),
        nn.MaxPool2d(kernel_size=2),
        nn.Conv2d(n["d"], n["e"], **window),
        nn.MaxPool2d(kernel_size=2),
        Rearrange("b c h w -> b (c h w)"),
        nn.Linear(n["e"] * side * side, n["n"]),
        nn.ReLU(),
        nn.Linear(n["n"], n["k"]),
        nn.Softmax(-1),
    )
    module = ncd.compile(ncd.catalogue["lenet"].build(**n), seed=1)
    inputs = given([3, n["c"], n["x"], n["x"]])
    same(module, hand, inputs, in_order(layers(module), layers(hand)))


def test_a_picture_too_small_for_lenet_is_refused_with_the_least() -> None:
    with pytest.raises(SizeError, match="16 or more"):
        ncd.catalogue["lenet"].build(x=15)
