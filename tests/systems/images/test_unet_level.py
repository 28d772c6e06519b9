"""One level of the U-Net of figure 27: down, middle, up, with the skip array that waits between."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd import Block, Concat, Conv, ConvTranspose, Copy, Elementwise, Id, MaxPool, Term, space


def double(c0: str, c1: str, x: str, name: str) -> Term:
    """Figure 27's double convolution."""
    return Block(
        Conv(f"{c0} {x} -> {c1} {x}", f"{name}_1", 3)
        >> Elementwise("relu")
        >> Conv(f"{c1} {x} -> {c1} {x}", f"{name}_2", 3)
        >> Elementwise("relu"),
        "Double Convolution",
        "convolution",
    )


DOWN = double("c_0", "c_1", "x", "down") >> Copy("c_1 x") >> MaxPool("x -> x_2")
MIDDLE = double("c_1", "c_2", "x_2", "middle") >> ConvTranspose("c_2 x_2 -> c_1 x", "up")
UP = Id("c_1 x, c_1 x") >> Concat("c_1, c_1 -> 2c_1") >> double("2c_1", "c_1", "x", "join")


def unet(c0: int = 1, c1: int = 4, c2: int = 8, height: int = 8, width: int = 6) -> Term:
    sizes = ncd.Axes(c_0=c0, c_1=c1, c_2=c2, y=2, x=space(height, width))
    return sizes(DOWN >> MIDDLE >> UP >> Conv("c_1 x -> y x", "final"))


class ByHand(nn.Module):
    """The notebook's modules, with its slips put right."""

    def __init__(self, c0: int = 1, c1: int = 4, c2: int = 8) -> None:
        super().__init__()
        self.down_1 = nn.Conv2d(c0, c1, 3, padding=1)
        self.down_2 = nn.Conv2d(c1, c1, 3, padding=1)
        self.middle_1 = nn.Conv2d(c1, c2, 3, padding=1)
        self.middle_2 = nn.Conv2d(c2, c2, 3, padding=1)
        self.up = nn.ConvTranspose2d(c2, c1, 2, 2)
        self.join_1 = nn.Conv2d(2 * c1, c1, 3, padding=1)
        self.join_2 = nn.Conv2d(c1, c1, 3, padding=1)
        self.final = nn.Conv2d(c1, 2, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        skip = self.down_2(self.down_1(x).relu()).relu()
        x = self.middle_2(self.middle_1(self.pool(skip)).relu()).relu()
        x = torch.cat((self.up(x), skip), dim=-3)
        return self.final(self.join_2(self.join_1(x).relu()).relu())


def test_it_types() -> None:
    term = unet()
    assert (term.dom.spec, term.cod.spec) == ("c_0:1 x:8x6", "y:2 x:8x6")
    assert (str(DOWN.dom), str(DOWN.cod)) == ("c_0 x", "c_1 x_2, c_1 x")
    assert (str(UP.dom), str(UP.cod)) == ("c_1 x, c_1 x", "c_1 x")


def test_the_skip_array_waits_from_the_copy_to_the_concatenation() -> None:
    circuit = ncd.elaborate(unet())
    copy = next(c for c in circuit.cells if isinstance(c.op, Copy))
    concat = next(c for c in circuit.cells if isinstance(c.op, Concat))
    skip = copy.outputs[1]
    assert concat.inputs[1] == skip
    waits = [skip in state for state in circuit.states]
    assert waits == [False] * 5 + [True] * 7 + [False] * 6  # pool, middle's four, up: six steps


@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_it_equals_plain_torch(batch: tuple[int, ...]) -> None:
    term = unet()
    module, hand = ncd.compile(term, seed=3), ByHand()
    hand.load_state_dict(module.state_dict())
    shape = (*batch, *term.dom[0].shape)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).requires_grad_()
    ours = module(x)
    theirs = hand(x.flatten(0, 1)).unflatten(0, batch) if len(batch) == 2 else hand(x)
    assert tuple(ours.shape) == (*batch, 2, 8, 6)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1))
    own, other = dict(module.named_parameters()), dict(hand.named_parameters())
    assert set(own) == set(other)
    for one, two in zip(
        torch.autograd.grad(ours, [x, *own.values()], upstream),
        torch.autograd.grad(theirs, [x, *(other[name] for name in own)], upstream),
        strict=True,
    ):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_its_cost_is_what_torch_counts() -> None:
    term = unet(c0=3, c1=5, c2=7, height=4, width=10)
    module, stated = ncd.compile(term), ncd.cost(term)
    with FlopCounterMode(display=False) as counted:
        module(*ncd.example_inputs(term))
    assert stated.flops == counted.get_total_flops()
    assert stated.parameters == sum(p.numel() for p in module.parameters())


def test_its_source_runs_and_equals_it() -> None:
    term = unet()
    space_of_names: dict[str, object] = {}
    exec(ncd.source(term), space_of_names)
    classes = [v for v in space_of_names.values() if isinstance(v, type)]
    (kind,) = [c for c in classes if issubclass(c, nn.Module) and c.__module__ != "torch.nn"]
    module, written = ncd.compile(term), kind()
    written.load_state_dict(module.state_dict())
    x = ncd.example_inputs(term)
    torch.testing.assert_close(written(*x), module(*x))


@pytest.mark.parametrize("labels", ["names", "sizes", "both"])
def test_it_draws_without_lint(labels: str) -> None:
    from ncd.drawing.lint.lint import lint

    drawing = ncd.draw(unet(), labels=labels)
    assert lint(drawing) == []
    assert drawing.svg().startswith("<svg")


def test_an_odd_image_is_refused_where_it_does_not_fit() -> None:
    with pytest.raises(ncd.MismatchError) as caught:
        unet(height=7, width=6)
    assert str(caught.value) == (
        "ConvTranspose up (c_2 x_2 -> c_1 x): axis x is 7×6 on one side and 6×6 on the other. "
        "Bound so far: c_2 8, x_2 3×3, c_1 4, x 7×6. Try x = 6×6 on both."
    )
    unet(height=6, width=6)


def test_two_levels_take_the_latest_skip_first() -> None:
    """Each up takes the array that the down nearest to it left behind."""
    term = ncd.Axes(c=2, x=space(8, 8))(
        Copy("c x")
        >> MaxPool("x -> x_2")
        >> Copy("c x_2")
        >> MaxPool("x_2 -> x_4")
        >> ConvTranspose("c x_4 -> c x_2", "up_2")
        >> Concat("c, c -> d")
        >> ConvTranspose("d x_2 -> c x", "up_1")
        >> Concat("c, c -> e")
    )
    assert term.cod.spec == "e:4 x:8x8"
    (x,) = ncd.example_inputs(term)
    torch.testing.assert_close(ncd.compile(term)(x)[2:], x)
