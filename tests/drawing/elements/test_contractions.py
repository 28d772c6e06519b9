"""Where the wires of a contraction meet: caps nested or apart, and dots before or after."""

from __future__ import annotations

import pytest

from ncd.drawing.elements import style
from ncd.drawing.elements.routing import chains, contraction, contracts, fall_width
from ncd.language.op import Glyph, Mark

NEST, RADIUS = style.CAP_NEST, style.CAP_RADIUS[1]


def test_a_chain_of_caps_is_one_contraction() -> None:
    assert set(chains(Glyph(caps=((0, 1), (2, 3))))) == {(0, 1), (2, 3)}
    assert chains(Glyph(caps=((0, 2), (2, 4)))) == ((0, 2, 4),)
    assert set(chains(Glyph(caps=((0, 3), (1, 2), (3, 5))))) == {(0, 3, 5), (1, 2)}


@pytest.mark.parametrize(
    ("caps", "rows", "levels"),
    [
        (((0, 1), (2, 3)), (0, 10, 20, 30), {(0, 1): 0, (2, 3): 0}),
        (((0, 3), (1, 2)), (0, 10, 20, 30), {(1, 2): 0, (0, 3): 1}),
        (((0, 5), (1, 4), (2, 3)), (0, 10, 20, 30, 40, 50), {(2, 3): 0, (1, 4): 1, (0, 5): 2}),
        (((0, 1), (2, 3)), (0, 10, 10, 30), {(0, 1): 0, (2, 3): 0}),  # they touch in a row
        (((0, 2), (1, 3)), (0, 10, 20, 40), {(0, 2): 0, (1, 3): 1}),
    ],
)
def test_caps_within_another_are_nested_and_others_stand_apart(
    caps: tuple[tuple[int, int], ...], rows: tuple[float, ...], levels: dict[tuple[int, ...], int]
) -> None:
    found = contraction(Glyph(caps=caps), rows, ())
    apexes = {cap.ports: cap.apex for cap in found.caps}
    least = min(apexes.values())
    assert least == style.CAP_LEAD + RADIUS
    assert {ports: round((x - least) / NEST) for ports, x in apexes.items()} == levels
    assert found.end == max(apexes.values())
    assert found.bend_start == found.end + style.CAP_CLEAR
    for cap in found.caps:
        own = [rows[i] for i in cap.ports]
        assert (cap.upper, cap.lower) == (min(own), max(own))
        assert cap.middle == (cap.upper + cap.lower) / 2
        assert (
            cap.encloses(cap.middle) and not cap.encloses(cap.upper) and not cap.encloses(cap.lower)
        )


def test_caps_may_cross_rows_in_any_order() -> None:
    (cap,) = contraction(Glyph(caps=((0, 1),)), (30.0, 10.0), ()).caps
    assert (cap.upper, cap.lower) == (10, 30)


def test_wires_that_join_do_so_from_the_nearest_on() -> None:
    """Two wires above fall onto one that goes on, and one below rises."""
    glyph = Glyph(through=((2, 0),), joins=((0, 0), (1, 0), (3, 0)))
    found = contraction(glyph, (0, 10, 20, 30), (20,))
    first = style.JOIN_TURN
    assert list(found.falls) == [1, 0, 3]
    steps = [found.falls[i] for i in (1, 0, 3)]
    assert steps == pytest.approx([first + style.JOIN_STEP * n for n in range(3)])
    assert found.bend_start == pytest.approx(steps[-1] + style.DOT_INSET)
    assert (found.end, list(found.joining_wires), found.behind) == (0, [], 0)


def test_a_wire_between_those_of_a_cap_joins_before_it() -> None:
    glyph = Glyph(through=((3, 0),), joins=((1, 0),), caps=((0, 2),))
    found = contraction(glyph, (0, 10, 20, 30), (30,))
    assert found.falls[1] == style.CAP_LEAD + style.JOIN_IN
    assert found.falls[1] < found.caps[0].apex
    apart = contraction(glyph, (10, 0, 20, 30), (30,))
    assert apart.falls[1] == apart.end + style.CAP_STEM + style.JOIN


def test_a_wire_joins_last_if_it_crosses_fewer_then() -> None:
    """The one that goes on moves up past two others: below them, a third would cross them."""
    glyph = Glyph(through=((0, 1), (1, 2), (2, 0)), joins=((3, 0),))
    far = contraction(glyph, (40, 60, 80, 0), (20, 60, 80))
    assert list(far.joining_wires) == [3]
    assert far.behind == style.JOIN_RADIUS + style.DOT_INSET
    assert 3 not in far.falls
    level = contraction(glyph, (40, 60, 80, 20), (20, 60, 80))
    assert list(level.joining_wires) == []  # it would not have to bend


def test_what_contracts() -> None:
    assert contracts(Glyph(caps=((0, 1),)))
    assert contracts(Glyph(joins=((0, 0),)))
    assert not contracts(Glyph(through=((0, 0),)))
    assert not contracts(Glyph(joins=((0, 0),), marks=(Mark("plus", outs=(0,)),)))
    assert contracts(Glyph(joins=((0, 0),), marks=(Mark("plus", ins=(0,)),)))


def test_a_steep_fall_needs_more_room_up_to_a_limit() -> None:
    assert fall_width(0) == style.FALL
    assert fall_width(10) == pytest.approx(min(style.FALLS, style.FALL + 10 * style.STEEP))
    assert fall_width(1e6) == style.FALLS
