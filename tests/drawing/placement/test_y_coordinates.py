"""Rows: straight lanes, gaps that are kept, and the same answer however often it is asked for."""

import random
from itertools import pairwise

import pytest

import ncd
from ncd import Add, Axes, Block, Copy, Einsum, Id, Linear, Then, Wire
from ncd.drawing.elements import style
from ncd.drawing.elements.plan_columns import Plan, Rows
from ncd.drawing.placement import coordinates
from ncd.drawing.placement.coordinates import GAP, Bend, levels, rows
from ncd.drawing.placement.fences import titles
from ncd.drawing.placement.layout import lay
from ncd.drawing.placement.wire_order import Gaps
from ncd.drawing.plan.build_plan import plan
from ncd.systems.transformers.encoder_decoder import decoder_layer, encoder_layer
from tests.drawing.hard_terms import TERMS as NASTY
from tests.drawing.hard_terms import cross_attention
from tests.systems.each_system.transformer import sized

NAMES = (*ncd.catalogue, *NASTY)


def term(name: str) -> ncd.Term:
    return NASTY[name]() if name in NASTY else ncd.catalogue[name].build()


def planned(term: ncd.Term) -> Plan:
    return plan(ncd.elaborate(term))


def placed(term: ncd.Term) -> list[Rows]:
    made = planned(term)
    return rows(made, Gaps(made, titles(made, None)))


def height(term: ncd.Term) -> float:
    return lay(planned(term), "names").box.height


# --- the program ---------------------------------------------------------------------------------


def problem(seed: int) -> tuple[int, list[Bend], list[Bend]]:
    """Stacks of a few things, each tied to some of the stack before."""
    dice = random.Random(seed)
    stacks, count = [], 0
    for _ in range(dice.randint(2, 6)):
        stacks.append(list(range(count, count := count + dice.randint(1, 5))))
    gaps = [(a, b, dice.choice([20, 36, 58]), *GAP) for s in stacks for a, b in pairwise(s)]
    bends = [
        (dice.choice(before), b, dice.choice([0, 0, 20]), cost * 0.99, cost)
        for before, here in pairwise(stacks)
        for b in here
        for cost in dice.choices([0.5, 1, 4], k=2)
    ]
    bends += [(s[0], s[-1], 0, 0.02, 0.02) for s in stacks if len(s) > 1]
    return count, bends, gaps


def cost(found: tuple[float, ...], bends: list[Bend]) -> float:
    off = [(found[b] - found[a] - apart, down, up) for a, b, apart, down, up in bends]
    return sum(down * max(0, x) + up * max(0, -x) for x, down, up in off)


@pytest.mark.parametrize("seed", range(20))
def test_no_shift_of_any_part_makes_fewer_bends(seed):
    count, bends, gaps = problem(seed)
    found = levels(count, (*bends, *gaps))
    assert all(found[b] - found[a] >= least - 1e-6 for a, b, least, *_ in gaps)
    best, dice = cost(found, bends), random.Random(seed)
    for _ in range(200):
        part = {n for n in range(count) if dice.random() < 0.5}
        by = dice.choice([-40, -7, -1, 1, 7, 40])
        moved = tuple(y + by * (n in part) for n, y in enumerate(found))
        if all(moved[b] - moved[a] >= least - 1e-6 for a, b, least, *_ in gaps):
            assert cost(moved, bends) >= best - 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_to_solve_again_from_the_answer_changes_nothing(seed):
    """With the wish to stay where it is, as in one more sweep, everything stays."""
    count, bends, gaps = problem(seed)
    found = levels(count, (*bends, *gaps))
    stay = [(0, n, found[n], 0.001, 0.001) for n in range(1, count)]
    assert levels(count, (*bends, *stay, *gaps)) == found


def test_where_two_would_do_the_one_further_down_bends():
    ways = (0, 2, 0, 0.99, 1), (1, 2, 0, 0.99, 1)
    assert levels(3, (*ways, (0, 1, 36, *GAP), (1, 0, -36, *GAP))) == (0, 36, 36)


def test_a_very_large_program_is_not_solved_but_keeps_its_gaps(monkeypatch):
    count, bends, gaps = problem(3)
    everything = (*bends, *gaps)
    levels.cache_clear()
    monkeypatch.setattr(coordinates, "MAX_BENDS", len(everything) - 1)
    monkeypatch.setattr(coordinates, "_solved_levels", None)
    found = levels(count, everything)
    over = {b: [found[a] + least for a, x, least, *_ in gaps if x == b] for b in range(count)}
    assert found == tuple(max([0.0, *over[n]]) for n in range(count))  # as high as they can be
    with pytest.raises(ValueError, match="the gaps contradict each other"):
        levels(count, (*everything, (1, 0, 1.0, *GAP)))
    levels.cache_clear()


@pytest.mark.parametrize(
    ("depths", "wishes", "found"),
    [
        ([10.0], [], (0, 10, 0)),
        ([10.0, 3.0], [(2, 3, 5)], (0, 10, 0, 5)),
        ([10.0, 3.0], [(2, 3, 7)], (0, 10, 0, 7)),  # as low as fits
        ([10.0, 3.0], [(2, 3, 7.5)], ()),
        ([10.0, 10.0, 3.0], [(2, 3, -1), (3, 4, 7)], ()),  # higher above than the total
        ([10.0, 3.0, 3.0], [(2, 3, 5), (3, 4, -2)], (0, 10, 0, 5, 3)),
        ([10.0, 3.0, 3.0], [(2, 3, 5), (2, 4, 5), (3, 4, 0)], ()),  # not in order
        ([10.0, 3.0], [(2, 3, 5), (2, 3, 6)], ()),  # two wishes that differ
        ([10.0, 3.0, 3.0], [(2, 3, 5), (3, 4, 0), (2, 4, 5)], ()),
        ([10.0, 3.0], [], ()),  # a level that nothing asks for
        ([10.0, 3.0, 3.0], [(2, 4, 5)], ()),
    ],
)
def test_single_arrays_that_ask_for_one_place_each_need_no_program(
    depths: list[float], wishes: list[tuple[int, int, float]], found: tuple[float, ...]
) -> None:
    part = coordinates._LevelProblem(0)
    part.depths, part.count = depths, 2 + len(depths)
    part.bends |= dict.fromkeys(wishes, (1.0, 1.0))
    assert part.straight() == found
    part.alone = False
    assert part.straight() == ()


# --- drawings ------------------------------------------------------------------------------------


@pytest.mark.few(40)
@pytest.mark.parametrize("name", NAMES)
def test_gaps_are_kept(name):
    made = planned(term(name))
    gaps = Gaps(made, titles(made, None))
    found = rows(made, gaps)
    for here, stack in zip(found, map(gaps.items, range(len(found))), strict=True):
        for item in stack:
            ys = [here[wire] for wire in item.wires]
            assert ys == pytest.approx([ys[0] + offset for offset in item.offsets])
        for above, below in pairwise(stack):
            assert here[below.wires[0]] - here[above.wires[-1]] >= below.min_gap - 1e-6


@pytest.mark.few(30)
@pytest.mark.parametrize("name", NAMES)
def test_the_rows_are_a_function_of_the_term(name):
    one = placed(term(name))
    levels.cache_clear()
    assert placed(term(name)) == one


def test_what_passes_beside_is_one_level_lane():
    """A residual connection goes down once, and up once."""
    body = Block(Then(*[Linear("m -> m:4", f"L{n}") for n in range(6)]), "Body")
    found = placed(Id("x:2 m:4") >> Copy("x m") >> body @ Id("x m") >> Add())
    (skip,) = {wire[0] for wire in found[-2]} & {wire[0] for wire in found[1]}
    assert len({state[skip, 0] for state in found if (skip, 0) in state}) == 1


def test_rows_are_moved_as_a_whole_by_what_is_before_them():
    """A layer behind another has the same rows, but for one number."""
    layer = sized(encoder_layer(False), 5, 3, 5, 7)
    one, two = placed(layer), placed(layer >> layer)
    shift = min(two[len(one) - 1].values()) - min(two[0].values())
    for here, there in zip(one, two[len(one) - 1 :], strict=True):
        assert sorted(there.values()) == pytest.approx([y + shift for y in sorted(here.values())])


def test_layers_behind_each_other_are_no_higher_than_one():
    layer = sized(encoder_layer(True), 5, 3, 5, 7)
    assert height(Then(*[layer] * 6)) == pytest.approx(height(layer))


@pytest.mark.parametrize("layers", [2, 12])
def test_layers_that_see_the_same_memory_are_no_higher_than_one(layers):
    assert height(cross_attention(layers)) == height(cross_attention(1))
    made, found = planned(cross_attention(layers)), placed(cross_attention(layers))
    starts = [f.first_column for f in made.fences if f.title == "Decoder Layer"]
    assert len({tuple(sorted(found[s].values())) for s in starts}) == 1


def test_a_copy_stays_near_what_it_is_copied_from():
    """The last residual of a decoder layer passes under its feed-forward, not by the memory."""
    whole = Block(decoder_layer(True), "Decoder Layer")
    keep = Wire("t m, s m -> t m, s m, s m") >> whole @ Id("s m")
    layer = sized(Id("t m, s m") >> keep, 5, 3, 5, 7, 7)
    found, made = placed(layer), planned(layer)
    inside = next(f for f in reversed(made.fences) if f.title == "Feed-Forward")
    state = made.states[inside.first_column + 1]
    skip = [found[inside.first_column + 1][port] for port in made.array_wires(state[1])]
    held = [found[inside.first_column + 1][port] for port in made.array_wires(state[0])]
    assert min(skip) - max(held) < 50


def test_what_stands_between_single_wires_is_level():
    """The lane bends where it is joined to another one, not at the letters in it."""
    found, made = placed(NASTY["n31_beside_unequal"]()), planned(NASTY["n31_beside_unequal"]())
    assert len({found[s][made.states[s][0].id, 0] for s in range(5)}) == 1


def test_what_a_contraction_keeps_goes_straight_on():
    found = placed(Axes(a=2, b=3, c=4)(Id("b, b c") >> Einsum("b, b c -> c")))
    assert found[1]["v2", 0] == found[0]["v1", 1]


def test_a_layer_with_cross_attention_is_as_high_as_it_must_be():
    """Its memory begins late, and sinks no further than the attention that takes it."""
    layer = sized(Id("t m, s m") >> decoder_layer(False), 5, 3, 5, 7, 7)
    assert height(layer) < 360
    assert height(NASTY["cross_attention"]()) < 450


def test_multi_head_attention_has_its_published_shape():
    attention = term("multi-head-attention")
    found = placed(attention)
    assert height(attention) < 320
    assert lay(planned(attention), "names").box.width < 640
    tops = [min(state.values()) for state in found]
    assert tops[:-2] == [tops[0]] * len(tops[:-2])  # y is level until behind the second product
    assert tops[-1] == tops[-2] == min(y for (id, _), y in found[2].items() if id == "v6")


# --- inputs that begin late ----------------------------------------------------------------------


def test_an_input_that_waits_for_long_begins_late():
    states = planned(sized(Id("t m, s m") >> decoder_layer(False), 5, 3, 5, 7, 7)).states
    memory = [s for s, state in enumerate(states) if "v1" in {value.id for value in state}]
    assert 0 not in memory
    assert memory == list(range(memory[0], memory[-1] + 1))


@pytest.mark.parametrize("name", ["multi-head-attention", "scaled-dot-product-attention"])
def test_the_inputs_of_the_published_figures_begin_at_the_left(name):
    made = planned(term(name))
    assert made.states[0] == made.circuit.inputs


@pytest.mark.parametrize("array", ["a:2 x:3x3 b:2", "x:3x3 a:2 b:2", "a:2 b:2 x:3x3"])
def test_a_double_wire_has_room_above_it(array: str) -> None:
    """Its name stands over both its lines; below it wires are as near as elsewhere."""
    wires = ncd.draw(Id(array)).wires
    for one, two in pairwise(sorted(wires, key=lambda wire: wire.path[0].a.y)):
        apart = two.path[0].a.y - one.path[0].a.y
        more = style.DOUBLE if two.double else 0.0
        assert apart == pytest.approx(style.AXIS_GAP + more)
