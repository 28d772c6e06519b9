"""A line of einops gives the shape that einops gives, with a shape of one's own or a usual one."""

import einops
import pytest
import torch

import ncd
from ncd.notation.term_reader import TextError
from ncd.read.recognise import read_any

LINES = [
    ('rearrange(x, "b (h w) c -> b h w c", h=4)', (2, 12, 3)),
    ('einops.rearrange(x, "b c h w -> b (c h w)")', (2, 3, 4, 5)),
    ('reduce(x, "b (h p) c -> b h c", "mean", p=2)', (2, 8, 3)),
    ('repeat(x, "h w -> h (w r)", r=3)', (4, 5)),
]


@pytest.mark.parametrize(("line", "shape"), LINES)
def test_the_numbers_are_those_of_einops(line: str, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    term = read_any(f"{line}\n{' '.join(map(str, shape))}").term
    wanted = eval(line, {**vars(einops), "einops": einops, "x": x})
    torch.testing.assert_close(ncd.compile(term)(x), wanted)


@pytest.mark.parametrize("line", [line for line, _ in LINES])
def test_without_a_shape_a_usual_one_is_taken(line: str) -> None:
    term = read_any(line).term
    assert ncd.compile(term)(*ncd.example_inputs(term)).numel()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('rearrange(x, "b (h w) -> b h w", h=5)\n2x12', "einops: "),
        ('rearrange(x, "b c -> b")\n2x3', "einops: "),
        ('rearrange(x, "b c -> c b", 3)', "line 1, column 1: "),
        ('rearrange(x, "b c")', "a pattern has one arrow."),
        ('rearrange(x, "b -> c -> b")\n2x3', "a pattern has one arrow."),
        (f'rearrange(x, "b c d -> c b d")\n{"999999999x" * 2}999999999', "line 1, column 1: "),
        ('rearrange(__import__("os"), "b c -> c b")', "line 1, column 1: "),
    ],
)
def test_what_einops_refuses_is_told(text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        read_any(text)
    assert message in str(error.value)
