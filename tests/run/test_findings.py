"""What once gave wrong numbers, failed at use or hung, each by the case that showed it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
import torch
import torch.nn.functional as F

import ncd
from ncd import (
    Axes,
    BatchNorm,
    Block,
    CausalMask,
    Concat,
    Copy,
    Einsum,
    Group,
    Id,
    LimitError,
    Linear,
    Map,
    MismatchError,
    Param,
    ParseError,
    Repeat,
    Scale,
    SizeError,
    Softmax,
    Split,
    Term,
    Then,
    Wire,
)
from tests.support.effort import calls
from tests.support.properties import PROPERTIES, Skipped
from tests.support.written_source import written


def holds(term: Term, *names: str) -> None:
    """The module, both sources, the evaluator and the picture agree."""
    for name in names or ("shapes", "evaluator", "source", "drawing", "text and JSON"):
        try:
            PROPERTIES[name](term)
        except Skipped:
            continue


# --- wrong without an error ----------------------------------------------------------------------


def test_a_batch_norm_on_a_group_normalises_the_channel() -> None:
    term = Id("q:3x3 g:3") >> BatchNorm("q g")
    x = torch.randn(3, 3, 3)
    expected = F.batch_norm(x.flatten(0, 1), None, None, training=True).view(3, 3, 3)
    torch.testing.assert_close(ncd.compile(term)(x), expected)
    holds(term)


@pytest.mark.parametrize(
    ("one", "two"), [("2c", "n2c"), ("x/s", "x_s"), ("x_1", "x/1"), ("fi", "ﬁ"), ("n_m", "m")]
)
def test_axes_whose_python_names_meet_stay_apart(one: str, two: str) -> None:
    term = Id(f"{one}:2 {two}:3, {two}:3 a:4") >> Einsum(f"{one} {two}, {two} a -> a {one}")
    x, y = torch.randn(2, 3), torch.randn(3, 4)
    torch.testing.assert_close(ncd.compile(term)(x, y), (x @ y).T)
    holds(term)


def test_a_group_and_an_axis_called_like_its_side_stay_apart() -> None:
    term = Id("x:2x2 x_h:2 x_w:3") >> Einsum("x x_h x_w -> x_w x")
    x = torch.randn(2, 2, 2, 3)
    torch.testing.assert_close(ncd.compile(term)(x), x.sum(2).permute(2, 0, 1))
    holds(term)


def test_a_pattern_that_drops_an_axis_drops_it_in_every_array() -> None:
    with pytest.raises(MismatchError) as caught:
        Id("k:3, k:3 m:2") >> Einsum("k, m -> m")
    assert str(caught.value) == (
        "Einsum (k, m -> m): the array (k m) has axis k, but the pattern takes (m) there and "
        "names k elsewhere. Bound so far: k 3, m 2. "
        "Try k in the pattern of this array too, or another name for it."
    )


def test_a_causal_mask_wants_axes_with_an_order() -> None:
    with pytest.raises(ncd.SizeError) as caught:
        Id("y:2x3 x:2x3") >> CausalMask("y x")
    assert str(caught.value) == (
        "CausalMask (y x -> y x): axis x is a group of 2 dimensions, which has no single position. "
        'Bound so far: y 2×3, x 2×3. Try Group("x -> …") before it.'
    )


def test_a_group_is_not_put_one_after_the_other() -> None:
    with pytest.raises(SizeError, match="axis x is a group of 2 dimensions"):
        Id("x:2x2, x:2x2") >> Concat("x, x -> n")


def test_arrays_of_one_shape_and_two_kinds_are_wired_apart() -> None:
    term = Id("y:3, y:3#v:9") >> Wire("y, y#v -> y#v, y")
    ids, x = torch.tensor([7, 0, 3]), torch.randn(3)
    assert ncd.compile(term)(x, ids)[0].tolist() == [7, 0, 3]
    holds(term)


def test_layers_after_an_equation_do_not_take_the_names_of_its_first_side() -> None:
    side = Id("m:3") >> Linear("m -> k:3", "down") >> Linear("k -> m:3", "up")
    inner = Block(Id("m:3") >> Linear("m -> k:3", "up") >> Linear("k -> m:3", "K"))
    term = ncd.Equation(side, inner) >> Linear("m -> n:2", "down") @ Linear("m -> n:2", "down")
    paths = [cell.path for cell in ncd.elaborate(term).cells if cell.name]
    assert sorted(paths) == ["K", "down", "down_2", "down_3", "up", "up"]
    holds(term)


def test_the_names_of_a_local_block_have_no_size_from_outside() -> None:
    attend = Block(Softmax("x") >> Einsum("y x, x m -> y m"), "Attend", local=True)
    term = Axes(t=3, s=4, y=7, m=2)(Id("t s, s m") >> attend >> Linear("m -> y", "head"))
    assert term.cod.spec == "t:3 y:7"
    holds(term)


# --- what types can run --------------------------------------------------------------------------


def test_bodies_that_share_their_layers_are_alike() -> None:
    one, two = (Id("m:3") >> Linear(f"m -> k:{n}", "W") >> Linear("k -> m:3", "V") for n in (2, 4))
    with pytest.raises(MismatchError) as caught:
        ncd.elaborate(Repeat((one, two), shared=True))
    assert str(caught.value) == (
        "Linear W: the layer layers.W is Linear 2×3 at one place and Linear 4×3 at another. "
        "Try another name for one of them, or one body for all."
    )


def test_the_sides_of_an_equation_take_one_size_by_one_name() -> None:
    side = Id("m:2") @ Id("m:3")
    with pytest.raises(MismatchError, match=r"^Equation: axis m is 2 on one side and 3 on the "):
        ncd.Equation(side, side)


def test_the_bound_of_whole_numbers_is_not_taken_for_an_axis_of_its_name() -> None:
    with pytest.raises(ncd.SizeError) as caught:
        Id("c:2#v:5") >> Split("c -> v t:2")
    assert str(caught.value) == (
        "Split (c -> v t): axis c has size 2, but v·t = 10. Bound so far: c 2, v 5, t 2. "
        "Try c = 10."
    )
    with pytest.raises(MismatchError, match="axis v is 3 on one side and 5 on the other"):
        Id("v:3 y:2#v:5") >> Group("y -> n")


@pytest.mark.parametrize(
    "make", [lambda: Group("z -> z"), lambda: Split("z -> z k:1"), lambda: Group("a z -> z")]
)
def test_one_name_cannot_be_the_several_and_the_one(make: object) -> None:
    with pytest.raises(ParseError, match="axis z stands on both sides"):
        make()  # type: ignore[operator]


def test_an_array_from_python_has_no_axis_twice_either() -> None:
    (q,) = ncd.Array.parse("q:2")
    with pytest.raises(ParseError, match=r"axis q stands twice in \(q q\)"):
        Param(ncd.Array((q, q)), "p")


@pytest.mark.parametrize(
    "term",
    [
        Id("b:2 c:3 p:2 q:2 r:2 s:2") >> BatchNorm("b c"),
        Id("x:2x6 c:2") >> Split("x -> h:3 k"),
        Id("x:2x2x2x2x2x2x2x2") >> Group("x -> n"),
        Id("a_:2 ½:3 b_1:2") >> Einsum("a_ ½ b_1 -> ½ a_") >> Group("½ a_ -> b__"),
        Map("-> y:3 x:2", "x <= y"),
        Id("y:3, x:2") >> Wire("y, x ->"),
        Id("d:5") >> ncd.Cut("d -> a:2, b"),
    ],
    ids=lambda term: repr(term)[:40],
)
def test_it_runs(term: Term) -> None:
    holds(term)


@pytest.mark.parametrize("stride", [10**30, 0, -1, True])
def test_a_stride_is_a_number_of_places(stride: int) -> None:
    with pytest.raises(ncd.SizeError, match="the stride is"):
        ncd.Conv("c x -> d:2 y", stride=stride)


# --- source that reads ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", ["class None", "range float", "self torch", "print x", "forward Tensor", "nn F"]
)
def test_source_is_python_whatever_axes_are_called(names: str) -> None:
    one, two = names.split()
    holds(Id(f"{one}:2 {two}:3") >> Linear(f"{one} {two} -> {two}2:4 k:2", "Q") >> Group("k -> d"))


def test_a_long_pattern_is_not_cut_inside_its_text() -> None:
    names = [f"a_very_long_name_of_an_axis_{i}" for i in range(6)]
    dom = " ".join(f"{name}:2" for name in names)
    holds(Id(dom) >> Group(f"{' '.join(names)} -> d"), "shapes", "source")


def test_an_einsum_of_nothing() -> None:
    holds(Id("(), ()") >> Einsum("(), () -> ()"))


@pytest.mark.parametrize(
    "name", ["forward", "training", "state_dict", "circuit", "execute", "register_buffer", "T"]
)
def test_a_layer_may_be_called_like_a_part_of_a_module(name: str) -> None:
    body = Id("m:2") >> Linear("m -> k:3", name) >> Linear("k -> m:2", name)
    holds(Repeat((body, body), "layers") >> Linear("m -> m", name))


@pytest.mark.parametrize("name", ["_parameters", "_steps", "__class__", "a b", "if", ""])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ParseError, match="is no name for a layer"):
        Linear("m -> k", name)


# --- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", [" ", "  ", "\u00a0", "x" * 200, "<&\"'>", "\\frac"])
def test_any_title_that_can_be_printed_is_drawn(title: str) -> None:
    try:
        term = Id("m:2") >> Block(Softmax("m"), title)
    except ParseError:
        assert not title.isprintable()
        return
    ElementTree.fromstring(ncd.draw(term).svg())


def test_control_characters_are_refused() -> None:
    with pytest.raises(ParseError, match="which cannot be printed"):
        Block(Softmax("m"), "a\x00b")
    with pytest.raises(ParseError, match="which cannot be printed"):
        Block(Softmax("m"), "a", "linear\x01")


# --- time and memory -----------------------------------------------------------------------------


def test_inputs_are_counted_before_they_are_made() -> None:
    with pytest.raises(LimitError, match="the inputs take 4,000,000,000,000 bytes"):
        ncd.example_inputs(Id("m:1000000000000"))


def test_steps_that_each_want_one_array_more_are_typed_in_good_time() -> None:
    def made(n: int) -> Term:
        return Then(*(Id(", ".join(["a:2"] * i)) for i in range(1, n)))

    text = ncd.to_json(made(200))
    assert calls(lambda: ncd.from_json(text)) < 2 * 10**6


def test_blocks_that_carry_two_arrays_grow_with_their_depth() -> None:
    def made(depth: int) -> Term:
        term: Term = Id("a:2, b:3")
        for _ in range(depth):
            term = Block(Id("a:2, b:3") >> term >> Id("a:2, b:3"), "")
        return term

    few, many = (calls(lambda depth=depth: ncd.elaborate(made(depth))) for depth in (15, 60))
    assert many < 4.4 * few


def test_source_of_many_steps_is_written_in_good_time() -> None:
    pair = [Scale("y:3", "1"), Scale("y:3", "-1")]
    few, many = (Then(Id("y:3"), *pair * count) for count in (50, 500))
    effort = [calls(lambda term=term: ncd.source(term)) for term in (few, many)]
    assert effort[1] < 11 * effort[0]
    assert written(many)(torch.ones(3)).tolist() == [1, 1, 1]


def test_nesting_is_refused_before_python_gives_up() -> None:
    def made(depth: int) -> Term:
        term: Term = Softmax("x:3")
        for _ in range(depth):
            term = Block(term, "")
        return term

    holds(made(150), "text and JSON", "shapes", "source")
    with pytest.raises(LimitError, match="the term is nested more than 200 deep"):
        made(250)


def test_a_copy_of_a_copy_is_free() -> None:
    term: Term = Id("m:4")
    for _ in range(10):
        term = term >> Copy("m") >> Wire("m, m -> m")
    (x,) = ncd.example_inputs(term)
    assert ncd.compile(term)(x) is x
